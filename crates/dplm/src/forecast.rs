//! What accuracy to expect of a fit, from public numbers only. No data are read.

use rayon::prelude::*;
use serde::Serialize;

use crate::{
    Error,
    formula::{Column, Kind, Model},
    interval::{
        IntervalError,
        expect::{Expected, Setting, Shares},
    },
    lattice::Design,
    method::{ConfigError, DELTA, Request, Tuning, dpgd},
    privacy::{Epsilon, PrivacyError, Rho, guess},
};

/// The standard deviation of the errors that a fit takes a standardised response to have.
const ASSUMED_ERROR_SD: f64 = 1.0;

/// The coefficients are taken to be at this distance from zero, in standardised units: the paper's unit sphere.
const SIGNAL: f64 = 1.0;

/// Budgets beside the asked one, as powers of two of it.
const TABLE: std::ops::RangeInclusive<i32> = -4..=4;

/// Half octaves of the picture, either side of the budget asked for.
const PICTURE: std::ops::RangeInclusive<i32> = -14..=14;

/// A budget beyond this buys nothing; the library looks for one up to a million.
const ANY_BUDGET: f64 = 1e5;

/// What is asked: a fit by the paper's method on columns of unit variance that are not correlated.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// How many rows the data will have.
    pub rows: u64,
    /// How many coefficients the model will have.
    pub features: u32,
    /// The whole budget.
    pub rho: Rho,
    /// The delta at which epsilon is stated.
    pub delta: f64,
    /// The clip `gamma`; none for what a fit takes by itself.
    pub clip: Option<f64>,
    /// Steps; none for what a fit takes by itself.
    pub steps: Option<u32>,
    /// The standard deviation of the errors, in standardised units.
    pub noise_sd: f64,
    /// The coverage of the intervals.
    pub level: f64,
    /// The share of the sampling error that privacy may add, for which a budget is looked for.
    pub share: f64,
    /// Whether a curve over budgets is wanted, for a picture.
    pub curve: bool,
}

impl Question {
    /// The usual question: errors of unit variance, 95 % intervals, and the budget at which privacy adds half the sampling error.
    pub fn new(rows: u64, features: u32, rho: Rho) -> Question {
        let (delta, clip, steps) = (DELTA, None, None);
        Question { rows, features, rho, delta, clip, steps, noise_sd: 1.0, level: 0.95, share: 0.5, curve: false }
    }
}

/// What to expect.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Forecast {
    /// The version that made the forecast.
    pub dplm: &'static str,
    /// Rows asked about.
    pub rows: u64,
    /// Coefficients asked about.
    pub features: u32,
    /// The budget.
    pub rho: f64,
    /// What it is at `delta`.
    pub epsilon: Epsilon,
    /// Where epsilon is stated.
    pub delta: f64,
    /// How often whoever knows all other rows guesses right, at most: see [`guess`].
    pub guess: f64,
    /// The standard deviation of the errors.
    pub noise_sd: f64,
    /// The coverage of the intervals.
    pub level: f64,
    /// With the clip and the steps asked for, or those a fit takes by itself.
    pub fit: Outlook,
    /// With the clip and the steps that promise the smallest error; the same as `fit` when that is already so.
    pub recommended: Outlook,
    /// Least squares without privacy.
    pub classical: Classical,
    /// The budget at which privacy adds the share asked for.
    pub share: Share,
    /// The parts of the budget spent beside the descent.
    pub extras: Extras,
    /// The first outlook at other budgets.
    pub budgets: Vec<AtBudget>,
    /// The same over a wider range, for the picture; empty when there is none.
    #[serde(skip)]
    pub curve: Vec<AtBudget>,
}

/// What a choice of clip and steps should come to, in standardised units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// The clip `gamma`.
    pub clip: f64,
    /// Steps.
    pub steps: usize,
    /// Their size.
    pub step_size: f64,
    /// The share of rows clipped at the optimum.
    pub clipped: f64,
    /// The part of the standard error that privacy makes.
    pub privacy_error: f64,
    /// The part that sampling makes.
    pub sampling_error: f64,
    /// Both together.
    pub std_error: f64,
    /// The length of an interval.
    pub length: f64,
    /// Against the classical length.
    pub times_classical: f64,
}

/// Least squares without privacy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Classical {
    /// Its standard error.
    pub std_error: f64,
    /// The length of its interval.
    pub length: f64,
}

/// The budget at which privacy adds a given share of the sampling error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub share: f64,
    /// The budget; none when no budget does.
    pub rho: Option<f64>,
}

/// What an interval for the true coefficients needs beside the descent, as parts of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Extras {
    /// For the curvature of the loss.
    pub curvature: f64,
    /// For the covariance of the gradients.
    pub gradient_spread: f64,
}

/// What to expect at another budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtBudget {
    /// The budget.
    pub rho: f64,
    /// What it is at the delta asked about.
    pub epsilon: Epsilon,
    /// The guess there, as [`Forecast::guess`].
    pub guess: f64,
    /// The standard error there.
    pub std_error: f64,
    /// The length of an interval there.
    pub length: f64,
    /// Against the classical length.
    pub times_classical: f64,
}

impl Forecast {
    /// Computes everything.
    ///
    /// # Errors
    /// When the numbers make no sense.
    pub fn new(asked: &Question) -> Result<Forecast, Error> {
        let Question { rho, delta, .. } = *asked;
        check_probabilities(asked)?;
        let setting = setting(asked, rho)?;
        let expected = setting.expected()?;
        let fit = outlook(&setting, asked.level)?;
        let others = |factors: Vec<f64>| at_budgets(asked, factors.iter().map(|factor| factor * setting.rho), delta);
        let octaves = TABLE.map(|power| 2f64.powi(power)).collect();
        let half_octaves = PICTURE.filter(|_| asked.curve).map(|half| 2f64.powf(f64::from(half) / 2.0)).collect();
        let rho = setting.rho;
        Ok(Forecast {
            dplm: env!("CARGO_PKG_VERSION"),
            rows: asked.rows,
            features: asked.features,
            rho,
            epsilon: Epsilon::exact(rho, delta).map_err(PrivacyError::from)?,
            delta,
            guess: guess(rho).map_err(PrivacyError::from)?,
            noise_sd: asked.noise_sd,
            level: asked.level,
            recommended: recommended(&setting, fit, asked.level)?,
            fit,
            classical: Classical {
                std_error: expected.classical_error,
                length: 2.0 * expected.classical_half_length(asked.level),
            },
            share: share(&setting, asked.share)?,
            extras: Extras { curvature: setting.shares.curvature, gradient_spread: setting.shares.gradient_spread },
            budgets: others(octaves)?,
            curve: others(half_octaves)?,
        })
    }
}

/// The setting asked for; what was left open is what a fit would choose for columns without bounds.
fn setting(asked: &Question, rho: Rho) -> Result<Setting, Error> {
    let tuning = Tuning { clip: asked.clip, steps: asked.steps, step_size: None };
    let config = dpgd::Config { request: Request::new(rho), tuning };
    let planned = config.plan(asked.rows, &standard_design(asked.features))?.summary();
    let (rows, features) = (asked.rows as usize, asked.features as usize);
    Ok(Setting {
        rows,
        features,
        rho: rho.to_f64(),
        gamma: planned.clip,
        steps: planned.steps as usize,
        step_size: planned.step_size,
        error_sd: asked.noise_sd,
        signal: SIGNAL,
        shares: Shares::recommended(rows, features, rho.to_f64(), planned.clip, ASSUMED_ERROR_SD),
    })
}

fn standard_design(features: u32) -> Design {
    let column = |name: String| Column { name, kind: Kind::Standard };
    let features = (1..=features).map(|j| column(format!("x{j}"))).collect();
    Design::new(&Model::of_columns(column("y".to_owned()), features, false))
}

fn check_probabilities(asked: &Question) -> Result<(), ConfigError> {
    let inside = |value: f64| value > 0.0 && value < 1.0;
    match (inside(asked.level), inside(asked.delta)) {
        (false, _) => Err(ConfigError::Level),
        (_, false) => Err(ConfigError::Delta),
        _ => Ok(()),
    }
}

fn outlook(setting: &Setting, level: f64) -> Result<Outlook, Error> {
    let expected = setting.expected()?;
    Ok(Outlook {
        clip: setting.gamma,
        steps: setting.steps,
        step_size: setting.step_size,
        clipped: expected.clipped,
        privacy_error: expected.privacy_error,
        sampling_error: expected.sampling_error,
        std_error: expected.std_error(),
        length: 2.0 * expected.half_length(level),
        times_classical: times_classical(&expected, level),
    })
}

/// The best clip and steps for errors of the size given, where they are better than what is planned.
fn recommended(setting: &Setting, planned: Outlook, level: f64) -> Result<Outlook, Error> {
    let best = outlook(&setting.with_best_clip_and_steps()?, level)?;
    Ok(if best.std_error < planned.std_error { best } else { planned })
}

fn times_classical(expected: &Expected, level: f64) -> f64 {
    expected.half_length(level) / expected.classical_half_length(level)
}

/// The plan at other budgets, those left out that no fit can have.
fn at_budgets(asked: &Question, rhos: impl Iterator<Item = f64>, delta: f64) -> Result<Vec<AtBudget>, Error> {
    let rhos: Vec<Rho> = rhos.filter_map(|rho| Rho::checked_from_f64(rho).ok()).collect();
    rhos.into_par_iter().map(|rho| at_budget(&setting(asked, rho)?, delta, asked.level)).collect()
}

fn at_budget(setting: &Setting, delta: f64, level: f64) -> Result<AtBudget, Error> {
    let expected = setting.expected()?;
    Ok(AtBudget {
        rho: setting.rho,
        epsilon: Epsilon::exact(setting.rho, delta).map_err(PrivacyError::from)?,
        guess: guess(setting.rho).map_err(PrivacyError::from)?,
        std_error: expected.std_error(),
        length: 2.0 * expected.half_length(level),
        times_classical: times_classical(&expected, level),
    })
}

fn share(setting: &Setting, share: f64) -> Result<Share, Error> {
    let rho = setting.rho_for_privacy_share(share).map_err(|error| match error {
        IntervalError::Range { .. } => Error::from(ConfigError::Share),
        other => other.into(),
    })?;
    Ok(Share { share, rho: (rho < ANY_BUDGET).then_some(rho) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Question {
        Question::new(10_000, 10, Rho::checked_from_f64(0.015).expect("a budget"))
    }

    #[test]
    fn more_budget_promises_a_smaller_error_and_never_one_below_least_squares() {
        let forecast = Forecast::new(&asked()).expect("a forecast");
        assert!(forecast.budgets.is_sorted_by(|a, b| a.rho < b.rho && a.std_error > b.std_error));
        assert!(forecast.fit.std_error > forecast.classical.std_error && forecast.curve.is_empty());
        assert!(forecast.recommended.std_error <= forecast.fit.std_error);
    }

    #[test]
    fn senseless_questions_are_refused() {
        for wrong in [
            Question { level: 1.0, ..asked() },
            Question { delta: 0.0, ..asked() },
            Question { share: -1.0, ..asked() },
            Question { steps: Some(0), ..asked() },
            Question { clip: Some(-1.0), ..asked() },
            Question { rows: 5, ..asked() },
        ] {
            assert!(Forecast::new(&wrong).is_err(), "{wrong:?}");
        }
    }
}
