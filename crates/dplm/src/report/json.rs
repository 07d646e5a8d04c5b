//! The fit for programs.

use serde::Serialize;

use super::text::{attack, promise};
use crate::{
    Coefficient, Fit, MethodSummary, Statement,
    options::Purpose,
    privacy::{Epsilon, Release},
};

#[derive(Serialize)]
struct Document<'a> {
    dplm: &'static str,
    private: bool,
    formula: &'a str,
    guarantee: Guarantee<'a>,
    rows: u64,
    purpose: &'static str,
    target: &'static str,
    level: f64,
    interval: Option<&'static str>,
    coefficients: Vec<Entry<'a>>,
    method: &'a MethodSummary,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<Ledger<'a>>,
}

/// The ledger entry of this fit, and the data set's budget with this fit in it.
#[derive(Serialize)]
struct Ledger<'a> {
    dataset: &'a str,
    entry: i64,
    hash: &'a str,
    total: f64,
    spent: f64,
    left: f64,
}

impl<'a> Ledger<'a> {
    fn of(statement: &'a Statement) -> Ledger<'a> {
        Ledger {
            dataset: &statement.dataset,
            entry: statement.entry,
            hash: &statement.hash,
            total: statement.total(),
            spent: statement.spent(),
            left: statement.left(),
        }
    }
}

#[derive(Serialize)]
struct Guarantee<'a> {
    definition: &'static str,
    neighbours: &'static str,
    rho: f64,
    epsilon: Epsilon,
    delta: f64,
    guess: f64,
    text: String,
    releases: &'a [Release],
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    estimate: f64,
    std_error: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    p_value: Option<f64>,
    identified: bool,
}

impl<'a> Entry<'a> {
    fn of(coefficient: &'a Coefficient) -> Entry<'a> {
        let precision = coefficient.precision.as_ref();
        Entry {
            name: &coefficient.name,
            estimate: coefficient.estimate,
            std_error: precision.map(|precision| precision.std_error),
            low: precision.map(|precision| precision.low),
            high: precision.map(|precision| precision.high),
            p_value: precision.map(|precision| precision.p_value),
            identified: coefficient.identified,
        }
    }
}

/// What goes before a guarantee that does not hold.
const VOID: &str = "Void, since the noise is reproducible: ";

/// The fit as JSON, every number at full precision.
pub fn to_json(fit: &Fit) -> String {
    let guarantee = &fit.guarantee;
    let document = Document {
        dplm: env!("CARGO_PKG_VERSION"),
        private: fit.private,
        formula: &fit.formula,
        guarantee: Guarantee {
            definition: "zCDP",
            neighbours: guarantee.neighbours.name(),
            rho: guarantee.rho.to_f64(),
            epsilon: guarantee.epsilon,
            delta: guarantee.delta,
            guess: guarantee.guess,
            text: format!("{}{} {}", if fit.private { "" } else { VOID }, promise(guarantee), attack(guarantee)),
            releases: &guarantee.releases,
        },
        rows: fit.rows,
        purpose: fit.purpose.name(),
        target: fit.target.name(),
        level: fit.level,
        interval: (fit.purpose == Purpose::Inference).then_some(fit.interval.name()),
        coefficients: fit.coefficients.iter().map(Entry::of).collect(),
        method: &fit.method,
        warnings: fit.warnings.iter().map(ToString::to_string).collect(),
        ledger: fit.statement.as_ref().map(Ledger::of),
    };
    serde_json::to_string_pretty(&document).expect("plain data serialises") + "\n"
}
