//! How a fit makes its intervals, as data: for any contrast at any level, long after the fit.

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::{Contrast, Interval, IntervalError, Joint, Newton, check_contrasts, check_level, paper};

/// What a fit makes its intervals from: released and public numbers only, so it may be saved, and asked as often as one likes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Inference {
    /// One Newton step from the mean iterate, with noise of known scale.
    Newton(Box<Newton>),
    /// The spread of several estimates of the standardised parameters, by Student's t: the paper's three constructions.
    Student {
        /// The estimates.
        estimates: Vec<Vec<f64>>,
    },
}

impl From<Newton> for Inference {
    fn from(newton: Newton) -> Inference {
        Inference::Newton(Box::new(newton))
    }
}

impl Inference {
    /// One interval for each contrast of the standardised parameters.
    ///
    /// # Errors
    /// When the level is not a probability, or a contrast is for another number of features.
    pub fn intervals(&self, contrasts: &[Contrast], level: f64) -> Result<Vec<Interval>, IntervalError> {
        check_level(level)?;
        match self {
            Inference::Newton(newton) => newton.intervals(contrasts, level),
            Inference::Student { estimates } => paper::student_intervals(estimates, contrasts, level),
        }
    }

    /// The test that all contrasts are zero at once. For one contrast it is the test whose inversion is its interval.
    ///
    /// # Errors
    /// When a contrast is for another number of features, contrasts are not independent, or there are too many for the spread of estimates.
    pub fn joint(&self, contrasts: &[Contrast]) -> Result<Joint, IntervalError> {
        match self {
            Inference::Newton(newton) => newton.joint(contrasts),
            Inference::Student { estimates } => {
                check_contrasts(contrasts, estimates[0].len())?;
                paper::joint(estimates, contrasts)
            }
        }
    }

    /// Degrees of freedom of Student's t; `None` where the scale of the noise is known and the normal law serves.
    pub(crate) fn df(&self) -> Option<f64> {
        match self {
            Inference::Newton(_) => None,
            Inference::Student { estimates } => Some(estimates.len() as f64 - 1.0),
        }
    }

    /// The estimates of all standardised parameters; zero for those that are not in the model.
    pub fn parameters(&self) -> Vec<f64> {
        match self {
            Inference::Newton(newton) => newton.parameters(),
            Inference::Student { estimates } => paper::mean(estimates),
        }
    }

    /// The covariance of the estimates of all standardised parameters; zero for those that are not in the model.
    pub fn covariance(&self) -> Mat<f64> {
        match self {
            Inference::Newton(newton) => newton.covariance_of_all(),
            Inference::Student { estimates } => paper::covariance_of_mean(estimates),
        }
    }

    /// Whether every part is for so many standardised parameters, as it is unless a file was changed by hand.
    pub(crate) fn is_for(&self, parameters: usize) -> bool {
        match self {
            Inference::Newton(newton) => newton.is_for(parameters),
            Inference::Student { estimates } => {
                estimates.len() > 1 && estimates.iter().all(|one| one.len() == parameters)
            }
        }
    }
}
