//! The privacy budget of data sets, kept in a file. It is opened for each call, so that other
//! processes see one another's entries at once.
#![allow(unsafe_code)] // `#[savvy]` writes it.

use std::path::Path;

use dplm::{
    privacy::{Mechanisms, Promise, Provenance, Rho},
    Charge,
};
use dplm_ledger::{to_html, Amount, Attribution, Kept, Ledger, LedgerError};
use savvy::{savvy, ListSexp, NullSexp, Sexp};

use crate::{
    failure::{answer, Failure, Kind, Refusal},
    given::Given,
    request::{request, said, word},
    value::{document, list, numbers, texts},
};

fn open(file: &str) -> Result<Ledger, LedgerError> {
    Ledger::open(Path::new(file))
}

fn checked(rho: f64) -> Result<Rho, Refusal> {
    Rho::checked_from_f64(rho).map_err(|error| Kind::Request.because(error))
}

/// A budget, and what is promised of what is paid from it: `rho`, or `epsilon` and `delta`;
/// `person`, `neighbours` and `mechanisms`.
fn promised(given: &Given) -> Result<(Rho, f64, Promise), Refusal> {
    let request = request(&mut said(&given.0)?)?;
    let conversion = word::<Mechanisms>(given, "mechanisms")?.conversion();
    let (rho, delta) = request.budget(conversion).map_err(Kind::of_request)?;
    let promise = Promise { neighbours: request.neighbours, ..Promise::about(request.person.as_deref()) };
    Ok((rho, delta, promise.converted_by(conversion, delta)))
}

/// Adds a data set, making the file where there is none. `asked` is its budget and what it
/// promises.
#[savvy]
fn native_ledger_init(file: &str, dataset: &str, asked: ListSexp, note: &str) -> savvy::Result<Sexp> {
    answer(|| {
        let (rho, delta, promise) = promised(&Given(asked))?;
        let ledger = match Ledger::create(Path::new(file)) {
            Err(LedgerError::Exists { .. }) => open(file),
            made => made,
        };
        ledger?.open_account_for(promise, dataset, rho, Some(delta), note)?;
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

/// The state of a data set, as the document of `dplm ledger show`, with a word for the `mechanisms`
/// of its promise.
#[savvy]
fn native_ledger_show(file: &str, dataset: &str) -> savvy::Result<Sexp> {
    answer(|| {
        let account = open(file)?.account(dataset)?;
        let mut shown = account.document();
        shown["promise"]["mechanisms"] = Mechanisms::of(account.promise.conversion).name().into();
        Ok(document(&shown)?)
    })
}

/// Says how much an analyst may spend; the empty name is each who has no limit of their own, and
/// `others` all of them together.
#[savvy]
fn native_ledger_limit(
    file: &str,
    dataset: &str,
    analyst: &str,
    rho: f64,
    note: &str,
    others: bool,
) -> savvy::Result<Sexp> {
    answer(|| {
        let most = Amount::checked_from_f64(rho).map_err(|error| Kind::Request.because(error))?;
        let mut ledger = open(file)?;
        match others {
            true => ledger.limit_others(dataset, most, note)?,
            false => ledger.limit(dataset, analyst, most, note)?,
        }
        Ok(NullSexp.into())
    })
}

/// Records what was released without this ledger, or lost from it: it happened, whether there is
/// budget for it or not. `asked` is what was spent and promised, and at which `delta` a mechanism
/// with a test was run; nothing was promised where it is `void`.
#[savvy]
fn native_ledger_record(
    file: &str,
    dataset: &str,
    asked: ListSexp,
    what: &str,
    analyst: &str,
    note: &str,
) -> savvy::Result<Sexp> {
    answer(|| {
        let given = Given(asked);
        let (rho, _, promise) = promised(&given)?;
        let provenance = if given.truth("void")? { Provenance::Seed } else { Provenance::System };
        let charge = Charge::new(rho, Promise { provenance, ..promise }, what);
        let [analyst, note] = [analyst, note].map(str::to_owned);
        let mut ledger = open(file)?.attributed_to(Attribution { analyst, purpose: String::new(), note })?;
        ledger.record(dataset, &charge)?;
        Ok(NullSexp.into())
    })
}

/// Marks an entry as a mistake; gives what was taken back of a grant.
#[savvy]
fn native_ledger_reverse(file: &str, entry: f64, reason: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(numbers([open(file)?.reverse(entry as i64, reason)?.to_f64()])?))
}

/// The page of one data set, or of all.
#[savvy]
fn native_ledger_report(file: &str, dataset: Option<&str>) -> savvy::Result<Sexp> {
    answer(|| {
        let ledger = open(file)?;
        let names = dataset.map_or_else(|| ledger.datasets(), |name| Ok(vec![name.to_owned()]))?;
        let accounts = names.iter().map(|name| ledger.account(name)).collect::<Result<Vec<_>, _>>()?;
        Ok(texts([to_html(&accounts, &ledger.verify()?.last_hash)])?)
    })
}

/// Writes a copy, and gives its last hash.
#[savvy]
fn native_ledger_back_up(file: &str, copy: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(texts([open(file)?.back_up(Path::new(copy))?.last_hash])?))
}

/// Checks the whole file: how many `entries` there are, and the `hash` of the last. `against` are
/// fits and copies, each with its `name` and the `json` of a fit, or `NULL` where the name is that
/// of a file that holds it.
#[savvy]
fn native_ledger_verify(file: &str, against: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        let kept = against.values_iter().map(record).collect::<Result<Vec<_>, Failure>>()?;
        let verdict = open(file)?.verify_against(&kept)?;
        Ok(list([("entries", &|| numbers([verdict.entries as f64])), ("hash", &|| texts([&verdict.last_hash]))])?)
    })
}

fn record(kept: Sexp) -> Result<Kept, Failure> {
    let kept = Given(ListSexp::try_from(kept)?);
    let name = kept.word("name")?;
    Ok(match kept.text("json")? {
        Some(json) => Kept::from_json(name.to_owned(), json),
        None => Kept::read(Path::new(name)),
    })
}
