//! The coefficient of a regressor with an instrument: a ratio of two released products.

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::{Contrast, Interval, IntervalError, Joint};

/// The products of an instrument with a response and with a regressor, and how sure they are.
///
/// A value of the coefficient is not rejected if the product with the response less that value
/// times the regressor is within its own error of zero (Anderson and Rubin 1949). Such a set covers
/// at its level however weak the instrument is, and it is unbounded if it is too weak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instrumented {
    /// Which of the standardised parameters is the coefficient.
    pub(crate) place: usize,
    /// How many of them there are.
    pub(crate) parameters: usize,
    /// The product with the response, and that with the regressor.
    pub(crate) moments: [f64; 2],
    /// The variance of the first, their covariance, and the variance of the second.
    pub(crate) covariance: [f64; 3],
    /// The standard deviation with which the variance at the estimate is known.
    pub(crate) covariance_sd: f64,
}

impl Instrumented {
    /// The estimate in standardised units.
    pub(super) fn estimate(&self) -> f64 {
        self.moments[0] / self.moments[1]
    }

    /// The variance of the estimate's error if the coefficient exceeds it by `t`.
    fn variance(&self) -> [f64; 3] {
        let (b, [yy, yx, xx], square) = (self.estimate(), self.covariance, self.moments[1].powi(2));
        [yy - 2.0 * b * yx + b * b * xx, 2.0 * (b * xx - yx), xx].map(|one| one / square)
    }

    /// The statistic of the test that the instrument does not move the regressor: chi-square with
    /// one degree of freedom.
    pub(crate) fn strength(&self) -> f64 {
        self.moments[1].powi(2) / self.covariance[2]
    }

    /// One interval for each contrast. Only a multiple of the coefficient has one, and it is
    /// printed although it may be unbounded.
    pub(super) fn intervals(&self, contrasts: &[Contrast], level: f64) -> Vec<Interval> {
        contrasts.iter().map(|contrast| self.interval(contrast, level)).collect()
    }

    fn interval(&self, contrast: &Contrast, level: f64) -> Interval {
        let Some(weight) = contrast.only(self.place) else {
            return Interval::by_inversion(f64::NAN, [f64::NAN, 0.0, 0.0], f64::INFINITY, level);
        };
        let [v0, v1, v2] = self.variance();
        let estimate = weight * self.estimate() + contrast.offset;
        let variance = [weight * weight * v0, weight * v1, v2];
        Interval::by_inversion(estimate, variance, self.freedom(), level).although_unbounded()
    }

    /// The degrees of freedom with which the variance at the estimate is known.
    fn freedom(&self) -> f64 {
        let variance = self.variance()[0] * self.moments[1].powi(2);
        2.0 * (variance / self.covariance_sd).powi(2)
    }

    pub(super) fn joint(&self, contrasts: &[Contrast]) -> Result<Joint, IntervalError> {
        match contrasts {
            [one] => {
                let interval = self.interval(one, 0.95);
                let statistic = interval.statistic(0.0).powi(2);
                Ok(Joint { statistic, equations: 1, df: None, p_value: interval.p_value(0.0) })
            }
            _ => Err(IntervalError::RepeatedEquations),
        }
    }

    pub(super) fn values(&self) -> Vec<f64> {
        (0..self.parameters).map(|place| if place == self.place { self.estimate() } else { 0.0 }).collect()
    }

    pub(super) fn covariance_of_all(&self) -> Mat<f64> {
        let at = |j: usize, k: usize| j == self.place && k == self.place;
        Mat::from_fn(self.parameters, self.parameters, |j, k| if at(j, k) { self.variance()[0] } else { 0.0 })
    }

    pub(super) fn is_for(&self, parameters: usize) -> bool {
        self.parameters == parameters && self.place < parameters
    }
}
