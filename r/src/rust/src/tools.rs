//! What needs no private data: plans, and the columns a formula names.
#![allow(unsafe_code)] // `#[savvy]` writes it.

use std::{fmt::Display, str::FromStr};

use dplm::{
    formula::Formula,
    method::{forecast, Asked, Asks, Request, Target, Tuning},
    plan::Question,
    privacy::Rho,
};
use savvy::{savvy, ListSexp, NullSexp, Sexp};

use crate::{
    failure::{answer, Kind, Refusal},
    given::Given,
    request::{budget, columns, method, moments, Model},
    value::{parsed, texts},
};

/// The columns that a fit reads; `NULL` where `.` leaves them to the table.
#[savvy]
fn native_columns(model: ListSexp, options: ListSexp) -> savvy::Result<Sexp> {
    answer(|| match columns(&Given(options), &Model::parse(model)?)? {
        Some(names) => Ok(texts(names)?),
        None => Ok(NullSexp.into()),
    })
}

/// What accuracy to expect, as the document of `dplm plan`.
#[savvy]
fn native_plan(options: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        let given = &Given(options);
        let method = method(given)?;
        let (rho, delta) = budget(given, method)?;
        let asked = Asked { method, ..planned(given, rho)? };
        let rows =
            given.whole("rows")?.ok_or_else(|| Kind::Request.because("rows must say how many rows there are"))?;
        let (level, share) = (given.usual("level")?, given.usual("share")?);
        let (wants, effects) = (all(given, "want")?, all(given, "effect")?);
        let question = Question { rows, rho, delta, level, share, wants, effects, curve: false };
        // Every number a plan is refused for was given here.
        let forecast = forecast(&asked, &question).map_err(|error| Kind::Request.because(error))?;
        Ok(parsed(&serde_json::to_string(&forecast).expect("plain data serialise"))?)
    })
}

fn planned(given: &Given, rho: Rho) -> Result<Asked, Refusal> {
    let model = match (given.whole("features")?, given.text("formula")?) {
        (Some(features), None) => Asks::White { features, error_sd: given.usual("noise_sd")? },
        (None, Some(formula)) => Asks::Formula {
            formula: Formula::parse(formula).map_err(dplm::Error::from)?,
            standardised: true,
            assumptions: all(given, "assume")?,
        },
        _ => return Err(Kind::Request.because("give a formula, or a number of features, and not both")),
    };
    let target = given.text("target")?.map(str::parse::<Target>).transpose();
    let target = target.map_err(|unknown| Kind::Request.because(unknown))?;
    let request = Request { target, moments: moments(given)?, ..Request::new(rho) };
    let tuning = Tuning { clip: given.number("clip")?, steps: given.whole("steps")?, step_size: None };
    Ok(Asked { method: None, request, tuning, model })
}

fn all<T: FromStr<Err: Display>>(given: &Given, name: &str) -> Result<Vec<T>, Refusal> {
    let parse = |text: &str| text.parse().map_err(|error: T::Err| Kind::Request.because(error));
    given.texts(name)?.into_iter().map(parse).collect()
}
