//! What is asked of any method.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::ConfigError;
use crate::{
    Error,
    lattice::{Lattice, LatticeError},
    moments::Moments,
    options::{IntervalMethod, Purpose, Target},
    privacy::{
        Neighbours, Person, PrivacyError, Rho, Unit,
        convert::{self, Conversion},
    },
};

/// The delta of a budget given as epsilon alone, and the one at which epsilon is stated when
/// nothing is asked.
pub const DELTA: f64 = 1e-6;

/// More steps than anyone needs.
pub(super) const MOST_STEPS: u32 = 1_000_000;

/// A budget as a person gives it: rho, or epsilon with delta, by the conversion that holds for the
/// [method](super::Entry::conversion). Also gives the delta at which epsilon is stated.
///
/// # Errors
/// When no budget is given, more than one, or one that means nothing.
///
/// # Examples
/// ```
/// use dplm::{method::{DELTA, budget}, privacy::convert::Conversion};
/// let (rho, delta) = budget(None, Some(1.0), None, Conversion::Exact)?;
/// assert!((rho.to_f64() - 0.02801).abs() < 1e-5 && delta == DELTA);
/// # Ok::<(), dplm::Error>(())
/// ```
pub fn budget(
    rho: Option<f64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    conversion: Conversion,
) -> Result<(Rho, f64), Error> {
    let delta = delta.unwrap_or(DELTA);
    if !(delta > 0.0 && delta < 1.0) {
        return Err(ConfigError::Delta.into());
    }
    let rho = match (rho, epsilon) {
        (Some(_), Some(_)) => return Err(ConfigError::TwoBudgets.into()),
        (None, None) => return Err(ConfigError::NoBudget.into()),
        (Some(rho), None) => rho,
        // It is rounded down, and so is the decimal below.
        (None, Some(epsilon)) => convert::rho(conversion, epsilon, delta).map_err(PrivacyError::from)?,
    };
    Ok((Rho::checked_from_f64(rho)?, delta))
}

/// What is asked of any method: the budget, the guarantee, and the kind of answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The whole budget.
    pub rho: Rho,
    /// The delta at which epsilon is stated.
    pub delta: f64,
    /// Which data sets must be hard to tell apart.
    pub neighbours: Neighbours,
    /// Whether intervals are wanted.
    pub purpose: Purpose,
    /// How intervals are made.
    pub interval: IntervalMethod,
    /// What intervals are for; by default the population where the interval method allows it.
    pub target: Option<Target>,
    /// The coverage asked for.
    pub level: f64,
    /// Batches, checkpoints or runs of the paper's interval methods.
    pub batches: u32,
    /// Steps dropped at the start by the paper's intervals.
    pub burn_in: Option<u32>,
    /// Who is protected, where it is not each row: as the table was read.
    pub person: Option<Person>,
    /// The coefficients of interest, where only some are: terms or coefficients, the others being
    /// controls.
    pub focus: Vec<String>,
    /// What is publicly known of the columns' means and covariances, for a method that whitens.
    pub moments: Option<Arc<Moments>>,
    /// Terms that must stay in the model, for a method that leaves some out.
    pub keep: Vec<String>,
    /// Whether the rows are those of one of several groups that are fitted alike: noise on counts
    /// is then larger by `sqrt 2`.
    pub one_of_groups: bool,
}

/// Parameters that a user may set by hand where the method is
/// [tunable](super::Entry::tunable); `None` chooses from public numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// The clip `gamma`, in standardised units.
    pub clip: Option<f64>,
    /// Steps of each run.
    pub steps: Option<u32>,
    /// The step size `eta`.
    pub step_size: Option<f64>,
}

impl Tuning {
    /// Refuses what cannot be meant.
    ///
    /// # Errors
    /// One sentence on the first parameter that makes no sense.
    pub fn check(&self) -> Result<(), Error> {
        if self.step_size.is_some_and(|size| !(size > 0.0 && size <= 2.0)) {
            return Err(ConfigError::StepSize.into());
        }
        let (least, most) = Lattice::CLIP_RANGE.into_inner();
        if self.clip.is_some_and(|clip| !Lattice::CLIP_RANGE.contains(&clip)) {
            return Err(LatticeError::ClipOutOfRange { least, most }.into());
        }
        if self.steps.is_some_and(|steps| !(1..=MOST_STEPS).contains(&steps)) {
            return Err(ConfigError::Steps.into());
        }
        Ok(())
    }
}

impl Request {
    /// The paper's defaults for a budget: replace-one neighbours, delta 1e-6, 95 % Newton intervals
    /// for the population.
    pub fn new(rho: Rho) -> Request {
        Request {
            rho,
            delta: DELTA,
            neighbours: Neighbours::default(),
            purpose: Purpose::default(),
            interval: IntervalMethod::default(),
            target: None,
            level: 0.95,
            batches: 10,
            burn_in: None,
            person: None,
            focus: Vec::new(),
            moments: None,
            keep: Vec::new(),
            one_of_groups: false,
        }
    }

    /// The budget at which noisy counts of a whole table are as precise as those that this one
    /// buys.
    pub(super) fn worth_in_counts(&self, rho: f64) -> f64 {
        if self.one_of_groups && self.neighbours == Neighbours::ReplaceOne { rho / 2.0 } else { rho }
    }

    /// Whose data are protected.
    pub fn unit(&self) -> Unit {
        if self.person.is_some() { Unit::Person } else { Unit::Row }
    }

    /// Whether persons are protected who may have several rows.
    pub(super) fn has_several_rows(&self) -> bool {
        self.person.as_ref().is_some_and(|person| person.rows != Some(1))
    }

    /// How many rows' worth a person is said to count, for methods whose parameters are public and
    /// scale with it; 1 where nothing is said.
    pub fn rows_per_person(&self) -> u32 {
        match &self.person {
            Some(person) if !person.counts_once => person.rows.unwrap_or(1),
            _ => 1,
        }
    }

    /// What intervals are for, asked or by default.
    pub fn target(&self) -> Target {
        self.target.unwrap_or(match self.interval {
            IntervalMethod::Newton => Target::Population,
            _ => Target::Sample,
        })
    }

    /// Refuses what cannot be meant.
    ///
    /// # Errors
    /// One sentence on the first option that makes no sense.
    pub fn check(&self) -> Result<(), ConfigError> {
        let inside = |value: f64| value > 0.0 && value < 1.0;
        if !inside(self.level) {
            return Err(ConfigError::Level);
        }
        if !inside(self.delta) {
            return Err(ConfigError::Delta);
        }
        if self.target() == Target::Person && self.person.as_ref().is_none_or(|person| !person.counts_once) {
            return Err(ConfigError::TargetNeedsPerson);
        }
        if self.person.as_ref().is_some_and(|person| !person.is_sound()) {
            return Err(ConfigError::RowsPerPerson);
        }
        if self.batches < 2 {
            return Err(ConfigError::Batches);
        }
        if self.target() != Target::Sample && self.interval != IntervalMethod::Newton {
            return Err(ConfigError::PopulationNeedsNewton { interval: self.interval });
        }
        Ok(())
    }
}
