//! More than one fit of a table: a second release pooled with the first, and several specifications
//! under one budget; and results side by side.
#![allow(unsafe_code)] // `#[savvy]` writes it, and tables are shared.

use dplm::{
    method::Entry,
    report::{study_json, to_json},
    request::{AccountOptions, Said},
    study::{Study, StudyFit},
    Fit, Progress, Refinement, RunOptions, Warning,
};
use dplm_report::{study_summary, Table, TableForm, TableOptions};
use savvy::{savvy, ListSexp, NullSexp, OwnedLogicalSexp, Sexp};

use crate::{
    failure::{answer, Kind, Refusal},
    fit::told,
    given::{function, Given},
    pay::{not_paid, Charged},
    request::{request, said},
    table,
    value::{list, texts},
    work,
};

/// The second fit of a model that was fitted before.
fn refinement(json: &str, said: &mut Said) -> Result<Refinement, Refusal> {
    let first = Fit::from_json(json).map_err(dplm::Error::from)?;
    let (rho, _) = request(said)?.budget(Entry::conversion_of(None)).map_err(Kind::of_request)?;
    Refinement::new(first, rho).map_err(Kind::of_request)
}

/// How work is carried out, and who pays for it.
fn work_of(said: &mut Said) -> Result<(RunOptions, AccountOptions), Refusal> {
    Ok((RunOptions::from_said(said)?, AccountOptions::from_said(said)?))
}

/// What a fit is refined with: its `columns`, `NULL` where `.` leaves them to the table, and how
/// its text was written, as `csv`.
#[savvy]
fn native_again(json: &str, given: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        let refinement = refinement(json, &mut said(&given)?)?;
        let columns = refinement.columns()?;
        let names = || columns.as_ref().map_or(Ok(NullSexp.into()), texts);
        Ok(list([("columns", &names), ("csv", &|| texts([refinement.csv().to_string()]))])?)
    })
}

/// Fits the model of a fit again on the same data and pools both.
#[savvy]
fn native_refine(json: &str, described: ListSexp, given: ListSexp, progress: Sexp) -> savvy::Result<Sexp> {
    answer(|| {
        let mut said = said(&given)?;
        let (run, account) = work_of(&mut said)?;
        let refinement = refinement(json, &mut said)?;
        refinement.check_noise(run.noise()).map_err(Kind::of_request)?;
        // SAFETY: the table is gone when this function returns.
        let source = unsafe { table::source(described) }?;
        let charged = Charged::default();
        let fit = work::run_charged(run.threads, function(progress).as_ref(), &charged, |signals| {
            let mut payer = charged.payer_of(&account, run.noise())?;
            payer.check_refinement(refinement.statement()).map_err(not_paid)?;
            let reading = |done, total| signals.reading(done, total);
            let mut dataset = refinement.read(&source, &run, Progress::new(&reading))?;
            let prepared = refinement.prepare(&mut dataset, run.noise())?.giving_up_rows();
            let whole = prepared.charge();
            let second = payer.pay_for(&whole, signals, |pay, progress| prepared.run_paid_by(pay, progress))?;
            Ok(refinement.join(second)?)
        })?;
        let warnings = fit.warnings.iter().filter(|one| !one.is_note());
        let warnings = warnings.map(|one| (matches!(one, Warning::FixedSeed), one.to_string()));
        told(to_json(&fit), warnings.collect(), false, &charged)
    })
}

/// Fits every specification of a study under one budget that is charged once: `specifications` has
/// the text of a study file as `toml`, or `names`, `formulas` and `shares`, and what is followed.
/// Gives the `json` of the study, its `summary`, and what a fit gives.
#[savvy]
fn native_study(specifications: ListSexp, described: ListSexp, given: ListSexp, progress: Sexp) -> savvy::Result<Sexp> {
    answer(|| {
        let mut said = said(&given)?;
        let study = Study::from_toml_beside(&toml(&Given(specifications))?, &said).map_err(Kind::of_request)?;
        let (run, account) = work_of(&mut said)?;
        // SAFETY: the table is gone when this function returns.
        let source = unsafe { table::source(described) }?;
        let charged = Charged::default();
        let found = work::run_charged(run.threads, function(progress).as_ref(), &charged, |signals| {
            let mut payer = charged.payer_of(&account, run.noise())?;
            payer.check(study.request().rho).map_err(not_paid)?;
            let reading = |done, total| signals.reading(done, total);
            let prepared = study.prepare(&source, &run, Progress::new(&reading))?;
            let whole = prepared.charge();
            Ok(payer.pay_for(&whole, signals, |pay, progress| prepared.run_paid_by(pay, progress))?)
        })?;
        let fits: Vec<String> = found.parts.iter().map(|part| to_json(&part.fit)).collect();
        let names: Vec<&str> = found.parts.iter().map(|part| part.name.as_str()).collect();
        let (sentences, about_privacy): (Vec<String>, Vec<bool>) = warnings_of(&found).into_iter().unzip();
        Ok(list([
            ("json", &|| texts([study_json(&found)])),
            ("summary", &|| texts([study_summary(&found)])),
            ("fits", &|| texts(&fits)),
            ("names", &|| texts(&names)),
            ("about_privacy", &|| OwnedLogicalSexp::try_from_slice(&about_privacy)?.into()),
            ("warnings", &|| texts(&sentences)),
            ("spent", &|| texts([charged.tally().to_string()])),
        ])?)
    })
}

/// What each fit says of itself, and whether it is about privacy.
fn warnings_of(study: &StudyFit) -> Vec<(String, bool)> {
    let of_parts = study.parts.iter().flat_map(|part| part.fit.warnings.iter().map(move |one| (part, one)));
    let said = of_parts.filter(|(_, one)| !one.is_note());
    said.map(|(part, one)| (format!("{}: {one}", part.name), matches!(one, Warning::FixedSeed))).collect()
}

/// A study file that says what arguments say. JSON strings are TOML strings too.
fn toml(given: &Given) -> Result<String, Refusal> {
    if let Some(text) = given.text("toml")? {
        return Ok(text.to_owned());
    }
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let interest = given.text("interest")?.map(|name| format!("interest = {}\n", quoted(name)));
    let simultaneous = given.truth("simultaneous")?.then(|| "simultaneous = true\n".to_owned());
    let (names, formulas, shares) = (given.texts("names")?, given.texts("formulas")?, given.texts("shares")?);
    let parts = names.iter().zip(&formulas).zip(&shares).map(|((name, formula), share)| {
        let share = if share.is_empty() { String::new() } else { format!("share = {share}\n") };
        format!("[[specification]]\nname = {}\nformula = {}\n{share}", quoted(name), quoted(formula))
    });
    Ok(interest.into_iter().chain(simultaneous).chain(parts).collect())
}

/// Results side by side, from their documents: the `text` of the table, or `NULL` if it was written
/// to a `path`.
#[savvy]
fn native_table(documents: savvy::StringSexp, asked: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        let asked = Given(asked);
        let form: TableForm = crate::request::word(&asked, "to")?;
        let options = TableOptions {
            title: asked.text("title")?.map(str::to_owned),
            names: asked.texts("names")?.into_iter().map(str::to_owned).collect(),
            stars: asked.truth("stars")?,
            intervals: asked.truth("intervals")?,
        };
        let documents = documents.to_vec();
        let table = Table::of(&documents, &options).map_err(|error| Kind::Request.because(error))?;
        if let Some(path) = asked.text("path")? {
            let unwritten =
                |error: std::io::Error| dplm::Error::from(dplm::report::FitFileError::Unwritten { kind: error.kind() });
            std::fs::write(path, table.to_bytes(form)).map_err(unwritten)?;
        }
        let shown = table.to_text(form).or_else(|| table.to_text(TableForm::Markdown)).unwrap_or_default();
        Ok(texts([shown])?)
    })
}
