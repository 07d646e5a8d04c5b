//! The figures of a plan.

use dplm::{
    formula::{Column, Kind, Model},
    interval::{
        IntervalError,
        expect::{Expected, Setting, Shares},
    },
    lattice::Design,
    method::{ConfigError, Request, dpgd},
    privacy::{
        Rho,
        convert::{self, Conversion},
    },
};
use rayon::prelude::*;
use serde::Serialize;

use crate::{
    args::PlanArgs,
    exit::Failure,
    settings::{budget, checked_clip, checked_steps},
};

/// The standard deviation of the errors that `dplm fit` takes a standardised response to have.
const ASSUMED_ERROR_SD: f64 = 1.0;

/// The coefficients are taken to be at this distance from zero, in standardised units: the paper's unit sphere.
const SIGNAL: f64 = 1.0;

/// Budgets beside the asked one, as powers of two of it.
const TABLE: std::ops::RangeInclusive<i32> = -4..=4;

/// Half octaves of the picture, either side of the budget asked for.
const PICTURE: std::ops::RangeInclusive<i32> = -14..=14;

/// A budget beyond this buys nothing; the library looks for one up to a million.
const ANY_BUDGET: f64 = 1e5;

/// What to expect.
#[derive(Serialize)]
pub struct Forecast {
    pub dplm: &'static str,
    pub rows: u64,
    pub features: u32,
    pub rho: f64,
    pub epsilon: f64,
    pub delta: f64,
    pub noise_sd: f64,
    pub level: f64,
    /// With the clip and the steps asked for, or those `dplm fit` takes by itself.
    pub fit: Outlook,
    /// With the clip and the steps that promise the smallest error; the same as `fit` when that is already so.
    pub recommended: Outlook,
    /// Least squares without privacy.
    pub classical: Classical,
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
#[derive(Clone, Copy, Serialize)]
pub struct Outlook {
    pub clip: f64,
    pub steps: usize,
    pub step_size: f64,
    /// The share of rows clipped at the optimum.
    pub clipped: f64,
    pub privacy_error: f64,
    pub sampling_error: f64,
    pub std_error: f64,
    /// The length of an interval.
    pub length: f64,
    /// Against the classical length.
    pub times_classical: f64,
}

/// Least squares without privacy.
#[derive(Serialize)]
pub struct Classical {
    pub std_error: f64,
    pub length: f64,
}

/// The budget at which privacy adds a given share of the sampling error.
#[derive(Serialize)]
pub struct Share {
    pub share: f64,
    /// None when no budget does.
    pub rho: Option<f64>,
}

/// What an interval for the true coefficients needs beside the descent, as parts of the budget.
#[derive(Serialize)]
pub struct Extras {
    pub curvature: f64,
    pub gradient_spread: f64,
}

/// What to expect at another budget.
#[derive(Serialize)]
pub struct AtBudget {
    pub rho: f64,
    pub epsilon: f64,
    pub std_error: f64,
    pub length: f64,
    pub times_classical: f64,
}

impl Forecast {
    /// Computes everything.
    ///
    /// # Errors
    /// When the numbers make no sense.
    pub fn new(args: &PlanArgs) -> Result<Forecast, Failure> {
        let (rho, delta) = budget(&args.budget)?;
        check_level(args.level)?;
        let setting = setting(args, rho)?;
        let expected = setting.expected().map_err(Failure::usage)?;
        let fit = outlook(&setting, args.level)?;
        let others = |factors: Vec<f64>| at_budgets(args, factors.iter().map(|factor| factor * setting.rho), delta);
        let octaves = TABLE.map(|power| 2f64.powi(power)).collect();
        let half_octaves =
            PICTURE.filter(|_| args.picture.is_some()).map(|half| 2f64.powf(f64::from(half) / 2.0)).collect();
        let rho = setting.rho;
        Ok(Forecast {
            dplm: env!("CARGO_PKG_VERSION"),
            rows: args.rows,
            features: args.features,
            rho,
            epsilon: convert::epsilon(Conversion::Exact, rho, delta).map_err(Failure::usage)?,
            delta,
            noise_sd: args.noise_sd,
            level: args.level,
            recommended: recommended(&setting, fit, args.level)?,
            fit,
            classical: Classical {
                std_error: expected.classical_error,
                length: 2.0 * expected.classical_half_length(args.level),
            },
            share: share(&setting, args.share)?,
            extras: Extras { curvature: setting.shares.curvature, gradient_spread: setting.shares.gradient_spread },
            budgets: others(octaves)?,
            curve: others(half_octaves)?,
        })
    }
}

/// The setting asked for; what was left open is what `dplm fit` would choose for columns without bounds.
fn setting(args: &PlanArgs, rho: Rho) -> Result<Setting, Failure> {
    let config = dpgd::Config {
        clip: checked_clip(args.clip.given())?,
        steps: checked_steps(args.steps.given())?,
        ..dpgd::Config::new(Request::new(rho))
    };
    // Every number a plan is refused for was typed here.
    let planned = config.plan(args.rows, &standard_design(args.features)).map_err(Failure::usage)?.summary();
    let (rows, features) = (args.rows as usize, args.features as usize);
    Ok(Setting {
        rows,
        features,
        rho: rho.to_f64(),
        gamma: planned.clip,
        steps: planned.steps as usize,
        step_size: planned.step_size,
        error_sd: args.noise_sd,
        signal: SIGNAL,
        shares: Shares::recommended(rows, features, rho.to_f64(), planned.clip, ASSUMED_ERROR_SD),
    })
}

fn standard_design(features: u32) -> Design {
    let column = |name: String| Column { name, kind: Kind::Standard };
    let features = (1..=features).map(|j| column(format!("x{j}"))).collect();
    Design::new(&Model { response: column("y".to_owned()), features, intercept: false })
}

fn check_level(level: f64) -> Result<(), Failure> {
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(Failure::usage(ConfigError::Level)) }
}

fn outlook(setting: &Setting, level: f64) -> Result<Outlook, Failure> {
    let expected = setting.expected().map_err(Failure::usage)?;
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
fn recommended(setting: &Setting, planned: Outlook, level: f64) -> Result<Outlook, Failure> {
    let best = outlook(&setting.with_best_clip_and_steps().map_err(Failure::usage)?, level)?;
    Ok(if best.std_error < planned.std_error { best } else { planned })
}

fn times_classical(expected: &Expected, level: f64) -> f64 {
    expected.half_length(level) / expected.classical_half_length(level)
}

/// The plan at other budgets, those left out that no fit can have.
fn at_budgets(args: &PlanArgs, rhos: impl Iterator<Item = f64>, delta: f64) -> Result<Vec<AtBudget>, Failure> {
    let rhos: Vec<Rho> = rhos.filter_map(|rho| Rho::checked_from_f64(rho).ok()).collect();
    rhos.into_par_iter().map(|rho| at_budget(&setting(args, rho)?, delta, args.level)).collect()
}

fn at_budget(setting: &Setting, delta: f64, level: f64) -> Result<AtBudget, Failure> {
    let expected = setting.expected().map_err(Failure::usage)?;
    Ok(AtBudget {
        rho: setting.rho,
        epsilon: convert::epsilon(Conversion::Exact, setting.rho, delta).map_err(Failure::usage)?,
        std_error: expected.std_error(),
        length: 2.0 * expected.half_length(level),
        times_classical: times_classical(&expected, level),
    })
}

fn share(setting: &Setting, share: f64) -> Result<Share, Failure> {
    let rho = setting.rho_for_privacy_share(share).map_err(|error| match error {
        IntervalError::Range { .. } => Failure::usage("the share must be a positive number, for instance 0.5"),
        other => Failure::usage(other),
    })?;
    Ok(Share { share, rho: (rho < ANY_BUDGET).then_some(rho) })
}
