//! A study as JSON.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::json::{self, SCHEMA, to_json};
use crate::{
    Bounded,
    privacy::Promise,
    study::{StudyFit, StudyPart},
};

#[derive(Serialize)]
struct Document<'a> {
    dplm: &'static str,
    schema: u32,
    private: bool,
    promise: &'a Promise,
    formula: &'a str,
    guarantee: json::Guarantee<'a>,
    /// How many of them contribute to all specifications, where that was released.
    rows_used: Option<Bounded>,
    units: json::Units,
    level: f64,
    interest: Option<&'a str>,
    interest_stated: bool,
    simultaneous: bool,
    interest_level: f64,
    specifications: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<json::Ledger<'a>>,
    /// The guarantee as [`of_study`](super::file::SavedStudy) reads it, on one line.
    study_guarantee: Box<RawValue>,
}

#[derive(Serialize)]
struct Part<'a> {
    name: &'a str,
    formula: &'a str,
    share: f64,
    rho: Box<RawValue>,
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    fit: Box<RawValue>,
}

impl<'a> Part<'a> {
    fn of(study: &StudyFit, part: &'a StudyPart) -> Part<'a> {
        let found = study.followed(part).ok().flatten();
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        Part {
            name: &part.name,
            formula: &part.fit.formula,
            share: part.share,
            rho: json::exact(part.rho),
            estimate: found.map(|(estimate, _)| estimate),
            low: found.and_then(|(_, (low, _))| finite(low)),
            high: found.and_then(|(_, (_, high))| finite(high)),
            fit: RawValue::from_string(to_json(&part.fit).trim_end().to_owned()).expect("a fit is JSON"),
        }
    }
}

/// The study as JSON: each fit as `dplm fit --json` would write it.
pub fn study_json(study: &StudyFit) -> String {
    let first = &study.parts[0].fit;
    let document = Document {
        dplm: env!("CARGO_PKG_VERSION"),
        schema: SCHEMA,
        private: study.guarantee.promise.is_private(),
        promise: &study.guarantee.promise,
        formula: &study.words,
        guarantee: json::Guarantee::of(&study.guarantee),
        rows_used: study.rows_used,
        units: json::Units { unit: study.guarantee.promise.unit, count: first.rows },
        level: first.level,
        interest: study.interest.as_ref().map(|interest| interest.name.as_str()),
        interest_stated: study.interest.as_ref().is_some_and(|interest| interest.stated),
        simultaneous: study.simultaneous,
        interest_level: study.interest_level(),
        specifications: study.parts.iter().map(|part| Part::of(study, part)).collect(),
        ledger: study.statement.as_ref().map(|statement| json::Ledger::of(statement, study.guarantee.rho)),
        study_guarantee: to_raw_value(&study.guarantee).expect("plain data serialises"),
    };
    serde_json::to_string_pretty(&document).expect("plain data serialises") + "\n"
}
