//! The privacy budget of data sets, kept in a file. It is opened for each call, so that other processes see one another's entries at once.
#![allow(unsafe_code)] // `#[savvy]` writes it.

use std::path::Path;

use dplm::privacy::Rho;
use dplm_ledger::{FitRecord, Ledger, LedgerError};
use savvy::{savvy, ListSexp, NullSexp, Sexp};

use crate::{
    failure::{answer, Failure, Kind, Refusal},
    given::Given,
    value::{document, list, numbers, texts},
};

fn open(file: &str) -> Result<Ledger, LedgerError> {
    Ledger::open(Path::new(file))
}

fn checked(rho: f64) -> Result<Rho, Refusal> {
    Rho::checked_from_f64(rho).map_err(|error| Kind::Request.because(error))
}

/// Adds a data set, making the file where there is none.
#[savvy]
fn native_ledger_init(file: &str, dataset: &str, rho: f64, note: &str, delta: Option<f64>) -> savvy::Result<Sexp> {
    answer(|| {
        let rho = checked(rho)?;
        let ledger = match Ledger::create(Path::new(file)) {
            Err(LedgerError::Exists { .. }) => open(file),
            made => made,
        };
        ledger?.open_account(dataset, rho, delta, note)?;
        Ok(NullSexp.into())
    })
}

/// Adds to a budget.
#[savvy]
fn native_ledger_grant(file: &str, dataset: &str, rho: f64, note: &str) -> savvy::Result<Sexp> {
    answer(|| {
        open(file)?.grant(dataset, checked(rho)?, note)?;
        Ok(NullSexp.into())
    })
}

/// The names of the data sets.
#[savvy]
fn native_ledger_datasets(file: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(texts(open(file)?.datasets()?)?))
}

/// The state of a data set, as the document of `dplm ledger show`.
#[savvy]
fn native_ledger_show(file: &str, dataset: &str) -> savvy::Result<Sexp> {
    answer(|| {
        let account = open(file)?.account(dataset)?;
        let mut shown = serde_json::to_value(&account).expect("plain data serialise");
        shown["neighbours"] = account.neighbours().into();
        shown["epsilon_spent"] = account.epsilon_spent().into();
        shown["epsilon_total"] = account.epsilon_total().into();
        Ok(document(&shown)?)
    })
}

/// Checks the whole file: how many `entries` there are, and the `hash` of the last. `against` are fits, each with its `name` and its `json`,
/// or `NULL` where the name is that of a file that holds it.
#[savvy]
fn native_ledger_verify(file: &str, against: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        let fits = against.values_iter().map(record).collect::<Result<Vec<_>, Failure>>()?;
        let verdict = open(file)?.verify_against(&fits)?;
        Ok(list([("entries", &|| numbers([verdict.entries as f64])), ("hash", &|| texts([&verdict.last_hash]))])?)
    })
}

fn record(kept: Sexp) -> Result<FitRecord, Failure> {
    let kept = Given(ListSexp::try_from(kept)?);
    let name = kept.word("name")?;
    Ok(match kept.text("json")? {
        Some(json) => FitRecord::from_json(name.to_owned(), json),
        None => FitRecord::read(Path::new(name)),
    })
}
