//! From rho-zCDP to (epsilon, delta) and back, rounded against the user.
//!
//! Three conversions, each valid for more mechanisms and less tight than the next. At
//! `rho = 0.015`, `delta = 1e-6`:
//!
//! | | valid for | epsilon |
//! |---|---|---|
//! | [`Conversion::Simple`] | any zCDP mechanism | 0.9255 |
//! | [`Conversion::Cks`] | any zCDP mechanism | 0.7717 |
//! | [`Conversion::Exact`] | Gaussian mechanisms, their compositions and post-processing | 0.7147 |
//!
//! [`Conversion::Tested`] is for mechanisms whose test fails to protect with a probability of at
//! most delta / 2, and that are zCDP otherwise: it is the second conversion at the other half of
//! delta, 0.7877 here.
//!
//! # Guarantee
//!
//! Epsilon and delta are rounded up and rho is rounded down, by more than the error of the
//! evaluation. What is returned is therefore true of the stated mechanism, not only close to the
//! truth. The slack is below a relative `1e-11` wherever `rho` lies in `1e-12 ..= 1e4` and `delta`
//! in `1e-300 ..= 0.9`. This assumes that `exp`, `expm1`, `ln` and `ln_1p` of the platform are
//! within one unit in the last place, as those of the usual C libraries are. Converting there and
//! back is conservative: `epsilon(c, rho(c, e, d), d) <= e`.

mod exact;
mod general;
#[cfg(test)]
mod tests;

pub use exact::{delta_exact, epsilon_exact, rho_exact};
pub use general::{delta_cks, delta_simple, epsilon_cks, epsilon_simple, rho_cks, rho_simple};

/// Half a unit in the last place of 1: the relative error of one rounded operation.
const UNIT: f64 = f64::EPSILON / 2.0;

/// Which argument turns rho into (epsilon, delta).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Conversion {
    /// `epsilon = rho + 2 sqrt(rho ln(1/delta))`, the paper's; any zCDP mechanism.
    Simple,
    /// Canonne, Kamath and Steinke (2020), the tightest known for any zCDP mechanism.
    Cks,
    /// The Gaussian mechanism's own curve. Only when every access to the data is Gaussian, or
    /// post-processing of that.
    #[default]
    Exact,
    /// Canonne, Kamath and Steinke at half of delta. The other half is kept for a test that may
    /// fail to protect, in a mechanism that is zCDP otherwise: a `d`-approximately `rho`-zCDP
    /// mechanism is `(epsilon, d + delta)`-DP where `rho`-zCDP is `(epsilon, delta)`-DP (Bun and
    /// Steinke 2016).
    Tested,
}

impl Conversion {
    /// The one that holds for releases of which each has one of two.
    #[must_use]
    pub fn or_weaker(self, other: Conversion) -> Conversion {
        match (self, other) {
            (Conversion::Tested, _) | (_, Conversion::Tested) => Conversion::Tested,
            (Conversion::Simple, _) | (_, Conversion::Simple) => Conversion::Simple,
            (Conversion::Cks, _) | (_, Conversion::Cks) => Conversion::Cks,
            (Conversion::Exact, Conversion::Exact) => Conversion::Exact,
        }
    }
}

/// A number no conversion can be made of. All of them are public numbers.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// Rho is not a positive number.
    #[error("rho must be a positive number, not {given}: give the privacy budget in zCDP, such as 0.015")]
    Rho {
        /// What was given.
        given: f64,
    },
    /// Epsilon is not a positive number (or zero, where a delta is asked for).
    #[error("epsilon must be a positive number, not {given}: give one such as 1")]
    Epsilon {
        /// What was given.
        given: f64,
    },
    /// Delta is not inside (0, 1).
    #[error("delta must lie strictly between 0 and 1, not {given}: give one far below 1 / rows, such as 1e-6")]
    Delta {
        /// What was given.
        given: f64,
    },
}

/// The epsilon that `rho`-zCDP promises at `delta`, rounded up.
///
/// # Errors
///
/// [`ConvertError`] unless `rho` is positive and finite and `0 < delta < 1`.
///
/// # Examples
///
/// ```
/// use dplm::privacy::convert::{Conversion, epsilon};
///
/// let promised = epsilon(Conversion::Exact, 0.015, 1e-6)?;
/// assert!((promised - 0.7147).abs() < 1e-4);
/// # Ok::<(), dplm::privacy::convert::ConvertError>(())
/// ```
pub fn epsilon(conversion: Conversion, rho: f64, delta: f64) -> Result<f64, ConvertError> {
    match conversion {
        Conversion::Simple => epsilon_simple(rho, delta),
        Conversion::Cks => epsilon_cks(rho, delta),
        Conversion::Exact => epsilon_exact(rho, delta),
        Conversion::Tested => epsilon_cks(rho, delta / 2.0),
    }
}

/// The largest rho that keeps the promise (`epsilon`, `delta`), rounded down; 0 when below the
/// smallest number.
///
/// # Errors
///
/// [`ConvertError`] unless `epsilon` is positive and finite and `0 < delta < 1`.
pub fn rho(conversion: Conversion, epsilon: f64, delta: f64) -> Result<f64, ConvertError> {
    match conversion {
        Conversion::Simple => rho_simple(epsilon, delta),
        Conversion::Cks => rho_cks(epsilon, delta),
        Conversion::Exact => rho_exact(epsilon, delta),
        Conversion::Tested => rho_cks(epsilon, delta / 2.0),
    }
}

/// The delta that `rho`-zCDP promises at `epsilon`, rounded up; never below the smallest normal
/// number, `2.2e-308`. Where a test is made, half of it is the test's.
///
/// # Errors
///
/// [`ConvertError`] unless `rho` is positive and finite and `epsilon` is zero or positive and
/// finite.
pub fn delta(conversion: Conversion, rho: f64, epsilon: f64) -> Result<f64, ConvertError> {
    match conversion {
        Conversion::Simple => delta_simple(rho, epsilon),
        Conversion::Cks => delta_cks(rho, epsilon),
        Conversion::Exact => delta_exact(rho, epsilon),
        Conversion::Tested => Ok((2.0 * delta_cks(rho, epsilon)?).min(1.0)),
    }
}

fn checked_rho(given: f64) -> Result<f64, ConvertError> {
    if given > 0.0 && given.is_finite() { Ok(given) } else { Err(ConvertError::Rho { given }) }
}

fn checked_epsilon(given: f64) -> Result<f64, ConvertError> {
    if given > 0.0 && given.is_finite() { Ok(given) } else { Err(ConvertError::Epsilon { given }) }
}

/// As [`checked_epsilon`], zero included: a delta is defined there.
fn checked_epsilon_or_zero(given: f64) -> Result<f64, ConvertError> {
    if given == 0.0 { Ok(0.0) } else { checked_epsilon(given) }
}

/// `ln(1 / delta)`, within a relative `2 UNIT`.
fn checked_log_inverse(delta: f64) -> Result<f64, ConvertError> {
    if delta > 0.0 && delta < 1.0 { Ok(-delta.ln()) } else { Err(ConvertError::Delta { given: delta }) }
}

/// A number known up to an absolute error.
#[derive(Clone, Copy)]
struct Evaluated {
    value: f64,
    error: f64,
}

impl Evaluated {
    /// An upper bound of the number.
    fn up(self) -> f64 {
        self.value + self.error
    }

    /// An upper bound of the exponential of the number, as a probability.
    fn exp_up(self) -> f64 {
        // Two steps cover the unit in the last place that exp may be off.
        let bound = self.up().exp().next_up().next_up();
        bound.clamp(f64::MIN_POSITIVE, 1.0)
    }
}

/// The neighbouring numbers between which `is_low` turns from true to false, searched from `low` to
/// `high`.
///
/// Bisects over the order of non-negative doubles, so it takes at most 63 steps whatever the range.
/// Neither end is tried.
fn turning_point(low: f64, high: f64, is_low: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut low, mut high) = (low.to_bits(), high.to_bits());
    while high.saturating_sub(low) > 1 {
        let middle = low + (high - low) / 2;
        *(if is_low(f64::from_bits(middle)) { &mut low } else { &mut high }) = middle;
    }
    (f64::from_bits(low), f64::from_bits(high))
}
