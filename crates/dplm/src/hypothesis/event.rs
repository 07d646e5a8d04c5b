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
    /// The effect in each period; `None` in the reference, or if the budget cannot identify it.
    pub effects: Vec<Option<PeriodEffect>>,
    /// The joint test that all effects before the event are 0; `None` if there are
    /// no such effects, or one is not identified.
    pub before: Option<Joint>,
}

/// The effect in one period.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PeriodEffect {
    /// The coefficient, or the average of those of cohorts.
    pub estimate: f64,
    /// Its interval.
    pub interval: (f64, f64),
    /// Its interval in a band that holds for all periods at once.
    pub together: (f64, f64),
}

impl Fit {
    /// The event studies of the model, one for each `i(...)` and for each group of the treated, and
    /// the averages over cohorts; empty if nothing was released to make intervals from. It reads no
    /// data.
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
        let is_known = |names: &[String]| !names.is_empty() && names.iter().all(|name| self.identifies(name));
        let known: Vec<bool> = study.averages().map(|(names, _)| is_known(names)).collect();
        let averaged = study.averages().filter(|(names, _)| is_known(names));
        let contrasts: Vec<Contrast> =
            averaged.map(|average| Contrast::combined(&parts, &self.average_of(average))).collect();
        let alone = inference.intervals(&contrasts, level)?;
        let together = inference.intervals(&contrasts, level_of_each(&contrasts, &alone, level))?;
        let effect = |(one, all): (Interval, Interval)| PeriodEffect {
            estimate: one.estimate,
            interval: (one.low, one.high),
            together: (all.low, all.high),
        };
        let mut found = alone.into_iter().zip(together).map(effect);
        let effects = known.iter().map(|known| if *known { found.next() } else { None }).collect();
        Ok(EventEffects { before: self.before(&study)?, study, effects })
    }

    fn identifies(&self, name: &str) -> bool {
        self.coefficients.iter().any(|one| one.name == name && one.identified)
    }

    /// The weights of all coefficients in the average of some.
    fn average_of(&self, (names, weights): (&[String], &[f64])) -> Vec<f64> {
        let weight = |name: &String| names.iter().position(|one| one == name).map_or(0.0, |place| weights[place]);
        self.coefficients.iter().map(|one| weight(&one.name)).collect()
    }

    fn before(&self, study: &EventStudy) -> Result<Option<Joint>, Error> {
        let equation = |average: (&[String], &[f64])| Equation {
            text: format!("{} = 0", average.0.join(" + ")),
            weights: self.average_of(average),
            value: 0.0,
        };
        let before = study.averages().take(study.before).filter(|(names, _)| !names.is_empty());
        match Hypothesis::new(before.map(equation).collect()) {
            Ok(hypothesis) => Ok(self.wald_test(&hypothesis)?.found),
            Err(_) => Ok(None),
        }
    }
}
