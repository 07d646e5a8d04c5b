//! What is said of an event study beside its coefficients.

use serde::Serialize;

use crate::{
    EventEffects, Fit, PeriodEffect,
    number::{p_value, short},
    options::Purpose,
};

/// The event studies of a fit with intervals.
pub(super) fn studies(fit: &Fit) -> Vec<EventEffects> {
    match fit.purpose {
        Purpose::Inference => fit.event_studies(fit.level).unwrap_or_default(),
        Purpose::Prediction => Vec::new(),
    }
}

/// What the coefficients before the reference say of the treated and the others.
pub(super) fn trend(event: &EventEffects) -> String {
    let study = &event.study;
    let reference = format!("{} {}", study.period, study.levels[study.reference]);
    match (&event.before, study.reference) {
        (_, 0) => format!(
            "No period of '{}' is before the reference, so that nothing tests for a trend before it.",
            study.period
        ),
        (None, _) => format!(
            "Not all coefficients before the reference ({reference}) are identified, so that nothing tests for a trend before it."
        ),
        (Some(joint), _) => format!(
            "That all coefficients before the reference ({reference}) are 0: chi-square {} on {} degrees of freedom, p-value {}. A large \
             p-value does not show that there was no trend.",
            short(joint.statistic),
            joint.equations,
            p_value(joint.p_value),
        ),
    }
}

/// Where those who are treated are one group: what is taken for granted of them.
pub(super) fn same_time(event: &EventEffects) -> Option<String> {
    let of = event.study.of.as_ref().filter(|of| !of.contains("::"))?;
    Some(format!(
        "All with '{of}' are taken to be treated at the same time. Where some were treated later, these coefficients mix effects of different \
         lengths: list the cohorts instead, as in i({}, cohort{{never,2004,2006}}, ref = ...).",
        event.study.period,
    ))
}

/// An event study in a document.
#[derive(Serialize)]
pub(super) struct Study<'a> {
    period: &'a str,
    reference: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'a str>,
    effects: Vec<Effect<'a>>,
    before: Option<Before>,
}

#[derive(Serialize)]
struct Effect<'a> {
    level: &'a str,
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
    pub(super) fn of(event: &'a EventEffects) -> Study<'a> {
        let study = &event.study;
        let effects = study.levels.iter().zip(&study.coefficients).zip(&event.effects);
        Study {
            period: &study.period,
            reference: &study.levels[study.reference],
            of: study.of.as_deref(),
            effects: effects
                .map(|((level, name), effect)| Effect::of(level, name.as_deref(), effect.as_ref()))
                .collect(),
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
    fn of(level: &'a str, name: Option<&'a str>, effect: Option<&PeriodEffect>) -> Effect<'a> {
        // An end that is infinite is no end.
        let end = |of: fn(&PeriodEffect) -> f64| effect.map(of).filter(|end| end.is_finite());
        Effect {
            level,
            name,
            estimate: effect.map(|effect| effect.estimate).or(name.is_none().then_some(0.0)),
            low: end(|effect| effect.interval.0),
            high: end(|effect| effect.interval.1),
            low_together: end(|effect| effect.together.0),
            high_together: end(|effect| effect.together.1),
        }
    }
}
