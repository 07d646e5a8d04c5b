//! What is said of an event study beside its coefficients.

use serde::Serialize;

use crate::{
    EventEffects, Fit, PeriodEffect,
    number::{degrees, p_value, short, significant},
    options::Purpose,
};

/// The event studies of a fit with intervals.
pub fn studies(fit: &Fit) -> Vec<EventEffects> {
    match fit.purpose {
        Purpose::Inference => fit.event_studies(fit.level).unwrap_or_default(),
        Purpose::Prediction => Vec::new(),
    }
}

/// What the coefficients before the reference say of the treated and the others.
pub fn trend(event: &EventEffects) -> String {
    let study = &event.study;
    let Some(place) = study.reference else { return trend_of_cohorts(event) };
    let reference = format!("{} {}", study.period, study.levels[place]);
    match (&event.before, place) {
        (_, 0) => format!(
            "No period of '{}' is before the reference, so that nothing tests for a trend before it.",
            study.period
        ),
        (None, _) => format!(
            "Not all coefficients before the reference ({reference}) are identified, so that nothing tests for a trend before it."
        ),
        (Some(joint), _) => format!(
            "That all coefficients{} before the reference ({reference}) are 0: chi-square {} on {}, p-value {}. A large p-value does not \
             show that there was no trend.",
            of_cohort(event),
            short(joint.statistic),
            degrees(joint.equations),
            p_value(joint.p_value),
        ),
    }
}

/// Which cohort's coefficients these are, if those of several stand side by side.
fn of_cohort(event: &EventEffects) -> String {
    let cohort = event.study.of.as_ref().filter(|of| of.contains("::"));
    cohort.map_or(String::new(), |of| format!(" of {of}"))
}

/// The same of averages over cohorts, and how to weigh these otherwise.
fn trend_of_cohorts(event: &EventEffects) -> String {
    let study = &event.study;
    let before = event.before.map_or(String::new(), |joint| {
        format!(
            " That all averages before are 0: chi-square {} on {}, p-value {}.",
            short(joint.statistic),
            degrees(joint.equations),
            p_value(joint.p_value)
        )
    });
    let (counted, weighed) = match study.has_shares {
        true => ("by their shares", ""),
        false => (
            "each counted alike",
            " To count them by their shares of those treated, if these are public, write 'shares' in i(...).",
        ),
    };
    format!(
        "Averages over the cohorts of '{}', {counted}, by periods since theirs.{before}{weighed}",
        study.of.as_deref().unwrap_or_default()
    )
}

/// Averages over cohorts as lines of a table: the periods since, the estimate and the ends of the
/// interval.
pub fn averages(event: &EventEffects) -> Vec<Vec<String>> {
    let cells = |(level, one): (&String, &PeriodEffect)| {
        let numbers = [one.estimate, one.interval.0, one.interval.1].map(significant);
        std::iter::once(level.clone()).chain(numbers).collect()
    };
    let known = event.study.levels.iter().zip(&event.effects).filter_map(|(level, one)| Some((level, one.as_ref()?)));
    known.map(cells).collect()
}

/// Where those who are treated are one group: what is taken for granted of them.
pub fn same_time(event: &EventEffects) -> Option<String> {
    let of = event.study.of.as_ref().filter(|of| !of.contains("::") && !event.study.is_average())?;
    Some(format!(
        "All with '{of}' are taken to be treated at the same time. Where some were treated later, these coefficients mix effects of different \
         lengths: list the cohorts instead, each by the period from which it is treated, as in i({}, cohort{{never,2004,2006}}, ref = ...).",
        event.study.period,
    ))
}

/// An event study in a document.
#[derive(Serialize)]
pub(super) struct Study<'a> {
    period: &'a str,
    reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'a str>,
    effects: Vec<Effect<'a>>,
    before: Option<Before>,
}

#[derive(Serialize)]
struct Effect<'a> {
    level: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<&'a [f64]>,
    name: Option<&'a str>,
    estimate: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    low_together: Option<f64>,
    high_together: Option<f64>,
}

#[derive(Serialize)]
struct Before {
    statistic: f64,
    df: usize,
    p_value: f64,
}

impl<'a> Study<'a> {
    pub fn of(event: &'a EventEffects) -> Study<'a> {
        let study = &event.study;
        let effects = study.levels.iter().zip(study.averages()).zip(&event.effects);
        Study {
            period: &study.period,
            reference: study.reference.map(|place| study.levels[place].as_str()),
            of: study.of.as_deref(),
            effects: effects.map(|((level, average), effect)| Effect::of(level, average, effect.as_ref())).collect(),
            before: event.before.map(|joint| Before {
                statistic: joint.statistic,
                df: joint.equations,
                p_value: joint.p_value,
            }),
        }
    }
}

impl<'a> Effect<'a> {
    /// The reference has no coefficient, and the effect 0 by definition.
    fn of(level: &'a str, (names, weights): (&'a [String], &'a [f64]), effect: Option<&PeriodEffect>) -> Effect<'a> {
        // An end that is infinite is no end.
        let end = |of: fn(&PeriodEffect) -> f64| effect.map(of).filter(|end| end.is_finite());
        Effect {
            level,
            names: (names.len() > 1).then_some(names),
            weights: (names.len() > 1).then_some(weights),
            name: if let [one] = names { Some(one) } else { None },
            estimate: effect.map(|effect| effect.estimate).or(names.is_empty().then_some(0.0)),
            low: end(|effect| effect.interval.0),
            high: end(|effect| effect.interval.1),
            low_together: end(|effect| effect.together.0),
            high_together: end(|effect| effect.together.1),
        }
    }
}
