//! Whether a document says what can be computed from what it holds.

use serde_json::{Map, Value};

use crate::{
    Coefficient, Fit, GroupedFit, Person, Precision, Warning,
    interval::{Evidence, Interval, Sparse},
    privacy::{Guarantee, Provenance},
};

/// What loading reads, and is the other side of the comparison.
const KEPT: [&str; 3] = ["fit", "grouped_fit", "study_guarantee"];
/// Keys that are left out where there is nothing to say: one that is there and should not be is no
/// unknown key.
const OPTIONAL: [&str; 11] = [
    "by",
    "weights",
    "fixed_effects",
    "first_stage",
    "indices",
    "event_studies",
    "ledger",
    "charged",
    "conversion",
    "mechanism",
    "noise",
];
/// Sentences, which other versions word otherwise.
const WORDS: [&str; 3] = ["text", "target_text", "warnings"];
/// What schemas before the third did not have, or say otherwise.
const SINCE_THREE: [&str; 4] = ["schema", "promise", "private", "statistic"];
/// Numbers that are computed once more when a document is written, and may differ by rounding from
/// machine to machine.
const RECOMPUTED: [&str; 3] = ["covariance", "equality", "event_studies"];
/// By how much, of the largest number beside them.
const ROUNDING: f64 = 1e-6;

/// A document that was found, beside one that is made of what it holds.
pub(super) struct Comparison {
    /// Whether the same version wrote both, so that sentences are the same too.
    pub same_version: bool,
    /// Whether the document that was found is of an older form.
    pub is_older: bool,
}

impl Comparison {
    /// Whether all that is made is also found; keys that are only found, as a newer version may
    /// write them, are ignored.
    pub fn agree(&self, found: &Value, made: &Value) -> bool {
        match (found, made) {
            (Value::Object(found), Value::Object(made)) => self.objects_agree(found, made),
            (Value::Array(found), Value::Array(made)) => {
                found.len() == made.len() && found.iter().zip(made).all(|(one, other)| self.agree(one, other))
            }
            (Value::Number(one), Value::Number(other)) if self.is_older => {
                one.as_f64().zip(other.as_f64()).is_some_and(|(one, other)| (one - other).abs() <= 1e-12 * other.abs())
            }
            (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
            (one, other) => one == other,
        }
    }

    fn objects_agree(&self, found: &Map<String, Value>, made: &Map<String, Value>) -> bool {
        let is_added = |key: &&str| found.contains_key(*key) && !made.contains_key(*key);
        !OPTIONAL.iter().any(is_added) && made.iter().all(|(key, made)| self.key_agrees(key, found, made))
    }

    fn key_agrees(&self, key: &str, found: &Map<String, Value>, made: &Value) -> bool {
        let is_skipped = key == "dplm"
            || KEPT.contains(&key)
            || (!self.same_version && WORDS.contains(&key))
            || (self.is_older && (SINCE_THREE.contains(&key) || !found.contains_key(key)));
        match found.get(key) {
            _ if is_skipped => true,
            None => false,
            Some(found) if RECOMPUTED.contains(&key) => nearly_agree(found, made, ROUNDING * largest(made)),
            Some(found) => self.agree(found, made),
        }
    }
}

/// Whether numbers differ by no more than rounding, and all else is the same.
fn nearly_agree(found: &Value, made: &Value, by: f64) -> bool {
    match (found, made) {
        (Value::Number(found), Value::Number(made)) => {
            found.as_f64().zip(made.as_f64()).is_some_and(|(found, made)| (found - made).abs() <= by)
        }
        (Value::Array(found), Value::Array(made)) => {
            found.len() == made.len() && found.iter().zip(made).all(|(found, made)| nearly_agree(found, made, by))
        }
        (Value::Object(found), Value::Object(made)) => {
            made.iter().all(|(key, made)| found.get(key).is_some_and(|found| nearly_agree(found, made, by)))
        }
        (found, made) => found == made,
    }
}

fn largest(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.as_f64().unwrap_or(0.0).abs(),
        Value::Array(values) => values.iter().map(largest).fold(0.0, f64::max),
        Value::Object(values) => values.values().map(largest).fold(0.0, f64::max),
        _ => 0.0,
    }
}

/// Whether a guarantee follows from its promise, and the promise is about these units and this
/// noise.
pub(super) fn is_promised(guarantee: &Guarantee, person: Option<&Person>, warnings: &[Warning]) -> bool {
    let promise = &guarantee.promise;
    let says_seed = warnings.contains(&Warning::FixedSeed);
    let of_noise = match promise.provenance {
        Provenance::System => !says_seed,
        Provenance::Seed => says_seed,
        Provenance::Simulated => true,
    };
    guarantee.is_sound() && of_noise && promise.person.as_ref() == person.map(|person| &person.column)
}

/// Whether all parts are for the same coefficients, so that no question can go wrong, and the
/// guarantee is sound.
pub(super) fn is_whole(fit: &Fit) -> bool {
    let names = fit.design.names();
    let features = names.len();
    let named = fit.coefficients.iter().map(|one| &one.name).eq(names);
    let left_out = fit.left_out.iter().all(|one| names.contains(&one.name));
    let inference = fit.inference.as_ref().is_none_or(|inference| inference.is_for(features));
    let runs = fit.trajectories.iter().all(|run| {
        let all_for = |vectors: &[Vec<f64>]| vectors.iter().all(|one| one.len() == features);
        !run.theta.is_empty()
            && run.theta.len() == run.gradient.len() + 1
            && all_for(&run.theta)
            && all_for(&run.gradient)
    });
    let focus = fit.focus.as_ref().is_none_or(|focus| focus.is_for(features));
    let level = fit.level > 0.0 && fit.level < 1.0;
    let promised = is_promised(&fit.guarantee, fit.person.as_ref(), &fit.warnings);
    named && left_out && inference && runs && focus && level && promised && follows(fit)
}

/// Whether the coefficients are those that follow from what is held for intervals, and that from
/// what was released.
fn follows(fit: &Fit) -> bool {
    let (Some(inference), contrasts) = (&fit.inference, fit.design.contrasts()) else { return fit.evidence.is_none() };
    let Ok(found) = inference.intervals(&contrasts, fit.level) else { return false };
    let of_run = |evidence: &Evidence| match &fit.trajectories[..] {
        [run] => evidence.contrasts == Sparse::of(&contrasts) && evidence.is_of(inference, run, fit.rows),
        _ => false,
    };
    fit.evidence.as_ref().is_none_or(of_run)
        && fit.coefficients.iter().zip(&found).all(|(one, found)| is_of(one, found))
}

/// Whether the numbers of a coefficient, where it has any, are those of an interval.
fn is_of(stated: &Coefficient, found: &Interval) -> bool {
    let by = |end: f64| ROUNDING * (found.std_error + (end - found.estimate).abs());
    let near = |one: f64, other: f64| one == other || (one - other).abs() <= by(other);
    let precise = |one: &Precision| {
        near(one.std_error, found.std_error) && near(one.low, found.low) && near(one.high, found.high)
    };
    stated.estimate.is_none_or(|estimate| near(estimate, found.estimate))
        && stated.precision.as_ref().is_none_or(precise)
}

/// Whether the fits are those of the groups, alike, and under the guarantee of all.
pub(super) fn are_whole(grouped: &GroupedFit) -> bool {
    let names = grouped.names();
    let of_levels = grouped.groups.iter().map(|group| &group.level).eq(grouped.by.levels());
    let of_one = |fit: &Fit| {
        let (one, all) = (&fit.guarantee, &grouped.guarantee);
        let promised = (&one.promise, one.rho, one.delta) == (&all.promise, all.rho, all.delta);
        is_whole(fit) && promised && fit.reported().map(|one| &one.name).eq(&names)
    };
    let promised = is_promised(&grouped.guarantee, grouped.person.as_ref(), &grouped.warnings);
    of_levels && promised && grouped.fits().all(|(_, fit)| of_one(fit))
}
