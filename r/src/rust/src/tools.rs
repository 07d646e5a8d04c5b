//! What needs no private data: plans, and the columns a fit reads.
#![allow(unsafe_code)] // `#[savvy]` writes it.

use dplm::FitRequest;
use savvy::{savvy, ListSexp, NullSexp, Sexp};

use crate::{
    failure::{answer, Kind},
    request::{plan, Asked},
    value::{parsed, texts},
};

/// The columns that a fit reads; `NULL` where `.` leaves them to the table.
#[savvy]
fn native_columns(said: ListSexp) -> savvy::Result<Sexp> {
    answer(|| match Asked::read(said)?.fit.columns() {
        Some(names) => Ok(texts(names)?),
        None => Ok(NullSexp.into()),
    })
}

/// The formula of a model file, given as its text; it says of each column without bounds that it is
/// standardised.
#[savvy]
fn native_model_file(text: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(texts([FitRequest::from_model_file(text)?.formula])?))
}

/// What accuracy to expect, as the document of `dplm plan`.
#[savvy]
fn native_plan(said: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        let (request, question) = plan(said)?;
        let forecast = request.forecast(&question, false, dplm_methods::METHODS);
        // Every number a plan is refused for was given here.
        let forecast = forecast.map_err(Kind::of_request)?;
        Ok(parsed(&serde_json::to_string(&forecast).expect("plain data serialise"))?)
    })
}
