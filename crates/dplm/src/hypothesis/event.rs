//! An event study as its readers want it: effects by period, intervals that hold for all of them at
//! once, and a test that there was no effect before the event.

use super::{Equation, Hypothesis};
use crate::{
    Error, Fit,
    formula::EventStudy,
    interval::{Contrast, Interval, Joint},
    predict::level_of_each,
};

/// The effects of an event study.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EventEffects {
    /// The periods, and what the coefficients are called.
    pub study: EventStudy,
    /// The effect in each period; none in the reference, or where the budget cannot identify it.
    pub effects: Vec<Option<PeriodEffect>>,
    /// The joint test that all effects before the reference are 0; `None` if there are
    /// no such effects, or one is not identified.
    pub before: Option<Joint>,
}

/// The effect in one period.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PeriodEffect {
    /// The coefficient.
    pub estimate: f64,
    /// Its interval.
    pub interval: (f64, f64),
    /// Its interval in a band that holds for all periods at once.
    pub together: (f64, f64),
}

impl Fit {
    /// The event studies of the model, one for each `i(...)` and for each group of the treated;
    /// empty if nothing was released to make intervals from. It reads no data.
    ///
    /// # Errors
    /// When the level is not a probability.
    pub fn event_studies(&self, level: f64) -> Result<Vec<EventEffects>, Error> {
        let studies = self.design.model().event_studies();
        match &self.inference {
            None => Ok(Vec::new()),
            Some(_) => studies.into_iter().map(|study| self.event_effects(study, level)).collect(),
        }
    }

    fn event_effects(&self, study: EventStudy, level: f64) -> Result<EventEffects, Error> {
        let inference = self.inference_for_tests()?;
        let parts = self.design.contrasts();
        let places = study.coefficients.iter().map(|name| {
            let place = self.coefficients.iter().position(|one| Some(&one.name) == name.as_ref());
            place.filter(|&place| self.coefficients[place].identified)
        });
        let places: Vec<Option<usize>> = places.collect();
        let contrasts: Vec<Contrast> = places.iter().flatten().map(|&place| parts[place].clone()).collect();
        let alone = inference.intervals(&contrasts, level)?;
        let together = inference.intervals(&contrasts, level_of_each(&contrasts, &alone, level))?;
        let effect = |(one, all): (Interval, Interval)| PeriodEffect {
            estimate: one.estimate,
            interval: (one.low, one.high),
            together: (all.low, all.high),
        };
        let mut found = alone.into_iter().zip(together).map(effect);
        let effects = places.iter().map(|place| place.and_then(|_| found.next())).collect();
        Ok(EventEffects { before: self.before(&study)?, study, effects })
    }

    fn before(&self, study: &EventStudy) -> Result<Option<Joint>, Error> {
        let equation = |name: &str| Equation {
            text: format!("{name} = 0"),
            weights: self.coefficients.iter().map(|one| f64::from(u8::from(one.name == name))).collect(),
            value: 0.0,
        };
        match Hypothesis::new(study.before().map(equation).collect()) {
            Ok(hypothesis) => Ok(self.wald_test(&hypothesis)?.found),
            Err(_) => Ok(None),
        }
    }
}
