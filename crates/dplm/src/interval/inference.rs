//! The data from which a fit computes intervals, for any contrast at any level, also after it was
//! saved.

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::{
    Contrast, Instrumented, Interval, IntervalError, Joint, Newton, Overidentified, check_contrasts, check_level, paper,
};

/// The inputs of intervals: released and public numbers only, so they may be saved and used any
/// number of times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Inference {
    /// One Newton step from the mean iterate, with noise of known scale.
    Newton(Box<Newton>),
    /// The spread of several estimates of the standardised parameters, by Student's t: the paper's
    /// three methods.
    Student {
        /// The estimates.
        estimates: Vec<Vec<f64>>,
    },
    /// The products of an instrument.
    Instrument(Box<Instrumented>),
    /// The products of several instruments.
    Instruments(Box<Overidentified>),
}

impl From<Overidentified> for Inference {
    fn from(found: Overidentified) -> Inference {
        Inference::Instruments(Box::new(found))
    }
}

impl From<Instrumented> for Inference {
    fn from(found: Instrumented) -> Inference {
        Inference::Instrument(Box::new(found))
    }
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
            Inference::Instrument(found) => {
                check_contrasts(contrasts, found.parameters)?;
                Ok(found.intervals(contrasts, level))
            }
            Inference::Instruments(found) => {
                check_contrasts(contrasts, found.parameters)?;
                Ok(found.intervals(contrasts, level))
            }
        }
    }

    /// The joint test that all contrasts are zero. For one contrast it is the test whose inversion
    /// is its interval.
    ///
    /// # Errors
    /// When a contrast is for another number of features, contrasts are not independent, or there
    /// are too many for the number of estimates.
    pub fn joint(&self, contrasts: &[Contrast]) -> Result<Joint, IntervalError> {
        match self {
            Inference::Newton(newton) => newton.joint(contrasts),
            Inference::Student { estimates } => {
                check_contrasts(contrasts, estimates[0].len())?;
                paper::joint(estimates, contrasts)
            }
            Inference::Instrument(found) => {
                check_contrasts(contrasts, found.parameters)?;
                found.joint(contrasts)
            }
            Inference::Instruments(found) => {
                check_contrasts(contrasts, found.parameters)?;
                found.joint(contrasts)
            }
        }
    }

    /// The estimates of all standardised parameters; zero for those not in the model.
    pub fn parameters(&self) -> Vec<f64> {
        match self {
            Inference::Newton(newton) => newton.parameters(),
            Inference::Student { estimates } => paper::mean(estimates),
            Inference::Instrument(found) => found.values(),
            Inference::Instruments(found) => found.values(),
        }
    }

    /// The covariance of the estimates of all standardised parameters; zero for those not in the
    /// model.
    pub fn covariance(&self) -> Mat<f64> {
        match self {
            Inference::Newton(newton) => newton.covariance_of_all(),
            Inference::Student { estimates } => paper::covariance_of_mean(estimates),
            Inference::Instrument(found) => found.covariance_of_all(),
            Inference::Instruments(found) => found.covariance_of_all(),
        }
    }

    /// Whether every part has `parameters` standardised parameters, as is the case unless a file
    /// was edited by hand.
    pub(crate) fn is_for(&self, parameters: usize) -> bool {
        match self {
            Inference::Newton(newton) => newton.is_for(parameters),
            Inference::Student { estimates } => {
                estimates.len() > 1 && estimates.iter().all(|one| one.len() == parameters)
            }
            Inference::Instrument(found) => found.is_for(parameters),
            Inference::Instruments(found) => found.is_for(parameters),
        }
    }
}
