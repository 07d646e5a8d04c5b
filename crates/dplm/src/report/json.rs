//! The fit for programs.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{
    event,
    text::{attack, promise},
};
use crate::{
    Bounded, Coefficient, EqualityTest, FirstStage, Fit, FittedGroup, GroupOutcome, GroupedFit, MarginalEffect,
    MethodSummary, OddsRatio, Statement,
    options::{Family, Purpose},
    privacy::{self, Epsilon, Mechanism, Noise, Promise, Provenance, Rho, Unit, convert::Conversion},
};

/// The number of this form of the document. A form that older programs would misread gets the next
/// one.
pub const SCHEMA: u32 = 3;

/// What readers and programs look for.
#[derive(Serialize)]
struct Facts<'a> {
    dplm: &'static str,
    schema: u32,
    date: &'a str,
    private: bool,
    promise: &'a Promise,
    formula: &'a str,
    family: &'static str,
    /// Which of several groups it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<HashMap<&'a str, &'a str>>,
    guarantee: Guarantee<'a>,
    /// Left out where a person may have several.
    rows: Option<u64>,
    /// How many of the units contribute anything, where that was released.
    rows_used: Option<Bounded>,
    units: Units,
    /// What rows were weighted by, as a formula writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed_effects: Option<FixedEffects<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_stage: Option<&'a FirstStage>,
    purpose: &'static str,
    target: &'static str,
    target_text: String,
    level: f64,
    interval: Option<&'static str>,
    coefficients: Vec<Entry<'a>>,
    #[serde(flatten)]
    controls: Option<Controls<'a>>,
    left_out: Vec<&'a str>,
    residual_sd: Option<Bounded>,
    r_squared: Option<Bounded>,
    /// What follows from a binary response.
    #[serde(skip_serializing_if = "Option::is_none", flatten)]
    binary: Option<Binary<'a>>,
    method: &'a MethodSummary,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<Ledger<'a>>,
}

/// What is stated for a binary response only.
#[derive(Serialize)]
struct Binary<'a> {
    odds_ratios: Vec<OddsRatio>,
    marginal_effects: &'a [MarginalEffect],
}

impl<'a> Binary<'a> {
    fn of(fit: &'a Fit) -> Option<Binary<'a>> {
        let odds_ratios = fit.odds_ratios(fit.level).unwrap_or_default();
        let is_binary = fit.family() == Family::Binomial;
        is_binary.then_some(Binary { odds_ratios, marginal_effects: &fit.marginal_effects })
    }
}

/// The facts, and what is long: each matrix, and the fit as [`Fit::load`] reads it, on one line.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    facts: Facts<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_studies: Option<Box<RawValue>>,
    covariance: Option<Box<RawValue>>,
    fit: Box<RawValue>,
}

/// Who has a constant of their own.
#[derive(Serialize)]
struct FixedEffects<'a> {
    person: &'a str,
}

/// Whose data are protected, and how many of them there are.
#[derive(Serialize)]
pub(super) struct Units {
    pub unit: Unit,
    pub count: u64,
}

/// The ledger entry of this fit, and the data set's budget with this fit in it.
#[derive(Serialize)]
pub(super) struct Ledger<'a> {
    dataset: &'a str,
    entry: i64,
    hash: &'a str,
    /// What the entry records, where it is not the guarantee's rho: a fit may be paid for in parts,
    /// or together with others.
    #[serde(skip_serializing_if = "Option::is_none")]
    charged: Option<Box<RawValue>>,
    total: f64,
    spent: f64,
    left: f64,
}

impl<'a> Ledger<'a> {
    pub(super) fn of(statement: &'a Statement, rho: Rho) -> Ledger<'a> {
        Ledger {
            dataset: &statement.dataset,
            entry: statement.entry,
            hash: &statement.hash,
            charged: statement.charged().filter(|charged| *charged != rho).map(exact),
            total: statement.total(),
            spent: statement.spent(),
            left: statement.left(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct Guarantee<'a> {
    definition: &'static str,
    neighbours: &'static str,
    rho: Box<RawValue>,
    epsilon: Epsilon,
    delta: f64,
    guess: f64,
    /// Named where it is not that of Gaussian mechanisms.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversion: Option<Conversion>,
    text: String,
    releases: Vec<Release<'a>>,
}

impl<'a> Guarantee<'a> {
    pub(super) fn of(guarantee: &'a privacy::Guarantee) -> Guarantee<'a> {
        let releases = guarantee.releases.iter().map(|one| Release {
            what: &one.what,
            rho: exact(one.rho),
            mechanism: Some(one.mechanism).filter(|&mechanism| mechanism != Mechanism::Gaussian),
            noise: &one.noise,
        });
        Guarantee {
            definition: "zCDP",
            neighbours: guarantee.promise.neighbours.name(),
            rho: exact(guarantee.rho),
            epsilon: guarantee.epsilon,
            delta: guarantee.delta,
            guess: guarantee.guess,
            conversion: Some(guarantee.promise.conversion).filter(|&conversion| conversion != Conversion::Exact),
            text: format!("{}{} {}", void(guarantee.promise.provenance), promise(guarantee), attack(guarantee)),
            releases: releases.collect(),
        }
    }
}

/// A guarantee as documents state it.
pub(super) fn stated_of(guarantee: &privacy::Guarantee) -> impl Serialize {
    Guarantee::of(guarantee)
}

#[derive(Serialize)]
struct Release<'a> {
    what: &'a str,
    rho: Box<RawValue>,
    /// Named where it is not Gaussian.
    #[serde(skip_serializing_if = "Option::is_none")]
    mechanism: Option<Mechanism>,
    /// The Gaussian noise that was drawn.
    #[serde(skip_serializing_if = "<[Noise]>::is_empty")]
    noise: &'a [Noise],
}

#[derive(Serialize)]
struct Entry<'a> {
    name: &'a str,
    estimate: Option<f64>,
    std_error: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    statistic: Option<f64>,
    df: Option<f64>,
    p_value: Option<f64>,
    identified: bool,
}

impl<'a> Entry<'a> {
    fn of(coefficient: &'a Coefficient) -> Entry<'a> {
        let precision = coefficient.precision.as_ref();
        // An end that is infinite is no end.
        let end = |end: f64| Some(end).filter(|end| end.is_finite());
        Entry {
            name: &coefficient.name,
            estimate: coefficient.estimate,
            std_error: precision.map(|precision| precision.std_error),
            low: precision.and_then(|precision| end(precision.low)),
            high: precision.and_then(|precision| end(precision.high)),
            statistic: precision.map(|precision| precision.statistic),
            df: precision.and_then(|precision| precision.df),
            p_value: precision.map(|precision| precision.p_value),
            identified: coefficient.identified,
        }
    }
}

/// What is said of the coefficients that are not of interest.
#[derive(Serialize)]
struct Controls<'a> {
    controls: Count,
    controls_status: &'static str,
    not_controlled_for: &'a [String],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    indices: Vec<&'a str>,
    controls_text: String,
}

#[derive(Serialize)]
struct Count {
    count: usize,
}

impl<'a> Controls<'a> {
    fn of(fit: &'a Fit) -> Option<Controls<'a>> {
        let focus = fit.focus.as_ref()?;
        Some(Controls {
            controls: Count { count: fit.controls() },
            controls_status: focus.status(),
            not_controlled_for: &focus.not_controlled_for,
            indices: focus.indices.iter().map(|index| &*index.name).collect(),
            controls_text: fit.controls_text()?,
        })
    }
}

/// What precedes a guarantee that does not hold, or that nobody needs.
fn void(provenance: Provenance) -> &'static str {
    match provenance {
        Provenance::System => "",
        Provenance::Seed => "Void, since the noise is reproducible: ",
        Provenance::Simulated => "About nobody, since the rows were simulated: ",
    }
}

impl<'a> Facts<'a> {
    fn of(fit: &'a Fit) -> Facts<'a> {
        let unit = fit.guarantee.promise.unit;
        Facts {
            dplm: env!("CARGO_PKG_VERSION"),
            schema: SCHEMA,
            date: &fit.date,
            private: fit.is_private(),
            promise: &fit.guarantee.promise,
            family: fit.family().name(),
            formula: &fit.formula,
            by: fit.group.as_ref().map(|group| HashMap::from([(group.by.name(), group.level.as_str())])),
            guarantee: Guarantee::of(&fit.guarantee),
            rows: (unit == Unit::Row).then_some(fit.rows),
            rows_used: fit.rows_used,
            units: Units { unit, count: fit.rows },
            weights: fit.weights.as_ref().map(ToString::to_string),
            first_stage: fit.first_stage.as_ref(),
            fixed_effects: fit.design.model().within().map(|person| FixedEffects { person }),
            purpose: fit.purpose.name(),
            target: fit.target.name(),
            target_text: fit.target_text(),
            level: fit.level,
            interval: (fit.purpose == Purpose::Inference).then_some(fit.interval.name()),
            coefficients: fit.reported().map(Entry::of).collect(),
            controls: Controls::of(fit),
            left_out: fit.left_out.iter().map(|one| one.name.as_str()).collect(),
            residual_sd: fit.residual_sd,
            r_squared: fit.r_squared,
            binary: Binary::of(fit),
            method: &fit.method,
            warnings: fit.warnings.iter().map(ToString::to_string).collect(),
            ledger: fit.statement.as_ref().map(|statement| Ledger::of(statement, fit.guarantee.rho)),
        }
    }
}

/// The fit as JSON, every number at full precision: what readers look for, and under `fit` all that
/// [`Fit::load`] needs.
pub fn to_json(fit: &Fit) -> String {
    let document = Document {
        facts: Facts::of(fit),
        event_studies: event_studies(fit),
        covariance: fit.covariance().as_ref().map(on_one_line),
        fit: on_one_line(fit),
    };
    pretty(&document)
}

fn event_studies(fit: &Fit) -> Option<Box<RawValue>> {
    let found = event::studies(fit);
    (!found.is_empty()).then(|| on_one_line(&found.iter().map(event::Study::of).collect::<Vec<_>>()))
}

/// The fits of all groups: what holds for all of them, and the document of each.
#[derive(Serialize)]
struct GroupedDocument<'a> {
    dplm: &'static str,
    schema: u32,
    date: &'a str,
    private: bool,
    promise: &'a Promise,
    formula: &'a str,
    guarantee: Guarantee<'a>,
    /// Left out where a person may have several.
    rows: Option<u64>,
    /// How many of the units contribute anything, where that was released.
    rows_used: Option<Bounded>,
    units: Units,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<String>,
    purpose: &'static str,
    level: f64,
    by: By<'a>,
    groups: Vec<GroupDocument<'a>>,
    equality: Vec<EqualityTest>,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<Ledger<'a>>,
    grouped_fit: Box<RawValue>,
}

/// What groups are by.
#[derive(Serialize)]
struct By<'a> {
    column: &'a str,
    levels: &'a [String],
}

/// A group: its fit, or why there is none.
#[derive(Serialize)]
#[serde(untagged)]
enum GroupDocument<'a> {
    Fitted {
        #[serde(flatten)]
        facts: Box<Facts<'a>>,
        size_sd: Option<f64>,
        covariance: Option<Box<RawValue>>,
    },
    NotFitted {
        by: HashMap<&'a str, &'a str>,
        units: Units,
        size_sd: Option<f64>,
        coefficients: Vec<Entry<'a>>,
        not_fitted: &'a str,
    },
}

impl<'a> GroupDocument<'a> {
    fn of(whole: &'a GroupedFit, group: &'a FittedGroup) -> GroupDocument<'a> {
        let size_sd = group.size_sd;
        match &group.outcome {
            GroupOutcome::Fitted(fit) => {
                let covariance = fit.covariance().as_ref().map(on_one_line);
                GroupDocument::Fitted { facts: Box::new(Facts::of(fit)), size_sd, covariance }
            }
            GroupOutcome::NotFitted(why) => GroupDocument::NotFitted {
                by: HashMap::from([(whole.by.name(), group.level.as_str())]),
                units: Units { unit: whole.guarantee.promise.unit, count: group.size },
                size_sd,
                coefficients: Vec::new(),
                not_fitted: why,
            },
        }
    }
}

/// The fits of all groups as JSON, every number at full precision.
pub fn grouped_to_json(fit: &GroupedFit) -> String {
    let unit = fit.guarantee.promise.unit;
    pretty(&GroupedDocument {
        dplm: env!("CARGO_PKG_VERSION"),
        schema: SCHEMA,
        date: &fit.date,
        private: fit.guarantee.promise.is_private(),
        promise: &fit.guarantee.promise,
        formula: &fit.formula,
        guarantee: Guarantee::of(&fit.guarantee),
        rows: (unit == Unit::Row).then_some(fit.rows),
        rows_used: fit.rows_used,
        units: Units { unit, count: fit.rows },
        weights: fit.weights.as_ref().map(ToString::to_string),
        purpose: fit.purpose.name(),
        level: fit.level,
        by: By { column: fit.by.name(), levels: fit.by.levels() },
        groups: fit.groups.iter().map(|group| GroupDocument::of(fit, group)).collect(),
        equality: fit.equality(),
        warnings: fit.warnings.iter().map(ToString::to_string).collect(),
        ledger: fit.statement.as_ref().map(|statement| Ledger::of(statement, fit.guarantee.rho)),
        grouped_fit: on_one_line(fit),
    })
}

/// [`to_json`] without what is long: the covariance, and what loading needs.
pub fn facts_json(fit: &Fit) -> String {
    pretty(&Facts::of(fit))
}

/// Every digit of a budget, as a number: the least double that is not below it may have none of its
/// digits, and decimals add up.
pub(super) fn exact(rho: Rho) -> Box<RawValue> {
    RawValue::from_string(rho.to_string()).expect("a decimal is JSON")
}

fn on_one_line(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("plain data serialises")
}

fn pretty(document: &impl Serialize) -> String {
    serde_json::to_string_pretty(document).expect("plain data serialises") + "\n"
}
