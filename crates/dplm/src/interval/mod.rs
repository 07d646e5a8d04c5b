//! Intervals from a released trajectory; nothing here can see a row.
//!
//! Everything in this module is post-processing: its inputs are the released [`Trajectory`],
//! released matrices and scalars with the standard deviation of their noise, and public numbers. It
//! therefore costs no budget and may be run any number of times.
//!
//! | method | what it needs | covers |
//! |---|---|---|
//! | [`Newton`] | a [`Curvature`], released or read off the iterates | from the first steps on |
//! | [`batched_means`] | one run, batches longer than the autocorrelation | once the run is long |
//! | [`checkpoints`] | one run, checkpoints far apart | once the run is long |
//! | [`independent_runs`] | several runs, each paying its own burn-in | once every run is long |
//!
//! The last three are the paper's. [`Newton`] is the default: it uses the known scale of the noise
//! instead of estimating it, and only it can cover the population, through [`Sampling`].
//!
//! # Examples
//! ```
//! use dplm::descend::Trajectory;
//! use dplm::interval::{Contrast, Coordinates, Curvature, Inference, Newton};
//!
//! // One feature, curvature 1, optimum 2, step size 0.5, and (to be checked by eye) no noise in the gradients.
//! let theta = vec![vec![0.0], vec![1.0], vec![1.5], vec![1.75]];
//! let gradient = vec![vec![-2.0], vec![-1.0], vec![-0.5]];
//! let run = Trajectory { theta, gradient, step_size: 0.5, noise_sd: 0.1 };
//! let curvature = Curvature::scalar(1.0, 0.0, 1)?;
//! let newton = Newton::new(&run, &Coordinates::identity(1), &curvature, None)?;
//! let found = Inference::from(newton).intervals(&[Contrast::coordinate(0, 1)], 0.95)?;
//! assert!((found[0].estimate - 2.0).abs() < 1e-12);
//! # Ok::<(), dplm::interval::IntervalError>(())
//! ```

#[allow(clippy::module_inception)] // One file, one idea: this one is the interval itself.
mod interval;
mod score;
mod paper;
mod eigenvalues;
mod inverse;
mod curvature;
mod resolve;
mod sampling;
mod weights;
mod joint;
mod newton;
mod pool;
mod instrument;
mod ratio;
mod instruments;
mod inference;
mod evidence;
#[cfg(test)]
mod simulate;
#[cfg(test)]
mod coverage;

pub use crate::contrast::Contrast;
pub use curvature::Curvature;
pub(crate) use curvature::{bend_at, expected_uncertainty_sq};
pub(crate) use eigenvalues::{nearest_in_order, without_noise};
pub use evidence::Evidence;
pub(crate) use evidence::{Noisy, Sparse};
pub use inference::Inference;
pub use instrument::Instrumented;
pub use instruments::Overidentified;
pub(crate) use instruments::Variance;
pub use interval::Interval;
pub(crate) use interval::{lengthening, normal_quantile};
pub use joint::Joint;
pub(crate) use joint::{chi_square_tail, f_tail};
pub use newton::{Coordinates, Newton};
pub(crate) use newton::{SpreadRatio, SpreadRatios};
pub use paper::{Batching, batched_means, checkpoints, independent_runs};
pub(crate) use resolve::{Floor, Pivot, Resolved, resolve};
pub use sampling::Sampling;
pub(crate) use weights::Transient;

use crate::descend::Trajectory;

/// Why an interval cannot be computed from the released numbers.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum IntervalError {
    /// The level is not a probability.
    #[error("the level {level} is not between 0 and 1: ask for something like 0.95")]
    Level {
        /// The level asked for.
        level: f64,
    },
    /// The run has no steps.
    #[error("the run has no steps, so it gives no interval: ask for at least one step")]
    NoSteps,
    /// A variance needs two values.
    #[error(
        "an interval from the spread of estimates needs at least 2 of them, but {batches} was requested: ask for 10"
    )]
    TooFewBatches {
        /// The number requested or given.
        batches: usize,
    },
    /// The burn-in is as long as the run.
    #[error("the burn-in of {burn_in} leaves nothing of a run of {steps} steps: shorten it or take more steps")]
    BurnInTooLong {
        /// The burn-in asked for.
        burn_in: usize,
        /// The steps of the run.
        steps: usize,
    },
    /// Some batches would have no iterate.
    #[error("{kept} iterates after the burn-in cannot fill {batches} batches: take more steps or fewer batches")]
    TooFewIterates {
        /// Iterates left after the burn-in.
        kept: usize,
        /// Batches asked for.
        batches: usize,
    },
    /// Averaging no iterates is not an estimate.
    #[error("an average of the last 0 iterates is not an estimate: ask for at least 1")]
    NothingToAverage,
    /// Two inputs have different numbers of features.
    #[error("{what} has {found} features, but the run has {expected}: use the one released with this run")]
    Features {
        /// Which input.
        what: &'static str,
        /// Features of the run.
        expected: usize,
        /// Features of the input.
        found: usize,
    },
    /// The fit spent nothing on intervals.
    #[error("this fit released nothing to make intervals from: fit again for inference, or at a larger budget")]
    NotReleased,
    /// A joint test of at least as many equations as there are estimates.
    #[error(
        "a joint test of {equations} equations needs more than the {batches} batches of this fit: test fewer at a time"
    )]
    TooManyEquations {
        /// Equations of the hypothesis.
        equations: usize,
        /// Estimates of the fit.
        batches: usize,
    },
    /// Equations of a joint test that are not independent.
    #[error("the equations repeat or contradict each other: leave out those that follow from the others")]
    RepeatedEquations,
    /// A public or released number is outside its range.
    #[error("{what} must be a {range} number: check the value given")]
    Range {
        /// Which number.
        what: &'static str,
        /// What it must be.
        range: &'static str,
    },
}

/// Refuses a level outside (0, 1).
fn check_level(level: f64) -> Result<(), IntervalError> {
    if level > 0.0 && level < 1.0 { Ok(()) } else { Err(IntervalError::Level { level }) }
}

/// Refuses an empty run and one whose vectors differ in length; returns the number of features.
fn check_run(run: &Trajectory) -> Result<usize, IntervalError> {
    if run.gradient.is_empty() || run.theta.len() < 2 {
        return Err(IntervalError::NoSteps);
    }
    let p = run.theta[0].len();
    for vector in run.theta.iter().chain(&run.gradient) {
        check_features("a vector of the run", p, vector.len())?;
    }
    check_features("the list of gradients", run.theta.len() - 1, run.gradient.len())?;
    Ok(p)
}

/// Refuses an input made for another number of features.
fn check_features(what: &'static str, expected: usize, found: usize) -> Result<(), IntervalError> {
    if expected == found { Ok(()) } else { Err(IntervalError::Features { what, expected, found }) }
}

/// Refuses contrasts made for another number of features.
fn check_contrasts(contrasts: &[Contrast], p: usize) -> Result<(), IntervalError> {
    contrasts.iter().try_for_each(|c| check_features("a contrast", p, c.weights.len()))
}

/// Refuses a number that is negative, infinite or not a number.
fn check_not_negative(what: &'static str, value: f64) -> Result<(), IntervalError> {
    let range = "finite, not negative";
    if value >= 0.0 && value.is_finite() { Ok(()) } else { Err(IntervalError::Range { what, range }) }
}

/// Refuses a number that is zero, negative, infinite or not a number.
pub(crate) fn check_positive(what: &'static str, value: f64) -> Result<(), IntervalError> {
    let range = "finite, positive";
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(IntervalError::Range { what, range }) }
}
