//! Conversions that hold for every zCDP mechanism.

use super::{
    ConvertError, Evaluated, UNIT, checked_epsilon, checked_epsilon_or_zero, checked_log_inverse, checked_rho,
    turning_point,
};

/// `epsilon = rho + 2 sqrt(rho ln(1/delta))`, rounded up.
///
/// # Paper
///
/// The conversion the paper states its budgets with: `rho = 0.015` at `delta = 1e-6` is
/// `epsilon = 0.925`.
///
/// # Errors
///
/// [`ConvertError`] unless `rho` is positive and finite and `0 < delta < 1`.
pub fn epsilon_simple(rho: f64, delta: f64) -> Result<f64, ConvertError> {
    let (rho, log) = (checked_rho(rho)?, checked_log_inverse(delta)?);
    // Roots apart, so that a tiny rho does not underflow. All terms are positive: the error is
    // below 6 UNIT.
    let value = rho + 2.0 * rho.sqrt() * log.sqrt();
    Ok((value * (1.0 + 8.0 * UNIT)).next_up())
}

/// `rho = (sqrt(epsilon + L) - sqrt(L))^2`, `L = ln(1/delta)`, rounded down.
///
/// # Errors
///
/// [`ConvertError`] unless `epsilon` is positive and finite and `0 < delta < 1`.
pub fn rho_simple(epsilon: f64, delta: f64) -> Result<f64, ConvertError> {
    let (epsilon, log) = (checked_epsilon(epsilon)?, checked_log_inverse(delta)?);
    // The difference of roots, without its cancellation.
    let root = epsilon / ((epsilon + log).sqrt() + log.sqrt());
    // Epsilon moves by at least half of this in relative terms, more than epsilon_simple rounds up.
    Ok((root * root * (1.0 - 48.0 * UNIT)).next_down().max(0.0))
}

/// `delta = exp(-(epsilon - rho)^2 / (4 rho))` for `epsilon > rho`, else 1; rounded up.
///
/// # Errors
///
/// [`ConvertError`] unless `rho` is positive and finite and `epsilon` is zero or positive and
/// finite.
pub fn delta_simple(rho: f64, epsilon: f64) -> Result<f64, ConvertError> {
    let (rho, epsilon) = (checked_rho(rho)?, checked_epsilon_or_zero(epsilon)?);
    if epsilon <= rho {
        return Ok(1.0);
    }
    // A root beyond this one gives a delta of 0 all the same, and its square would overflow.
    let root = ((epsilon - rho) / (2.0 * rho.sqrt())).min(1e150);
    Ok(Evaluated { value: -root * root, error: 12.0 * UNIT * root * root }.exp_up())
}

/// The least epsilon of Canonne, Kamath and Steinke's bound, rounded up.
///
/// `epsilon = inf over alpha > 1 of alpha rho + ln(1 - 1/alpha) + (ln(1/delta) - ln alpha) / (alpha - 1)`,
/// and not below 0.
///
/// # Guarantee
///
/// Every alpha gives a valid epsilon ("The discrete Gaussian for differential privacy", 2020), so
/// an error in finding the best one costs tightness only. The least lies where
/// `rho (alpha - 1)^2 + ln alpha = ln(1/delta)`.
///
/// # Errors
///
/// [`ConvertError`] unless `rho` is positive and finite and `0 < delta < 1`.
pub fn epsilon_cks(rho: f64, delta: f64) -> Result<f64, ConvertError> {
    let simple = epsilon_simple(rho, delta)?;
    let log = checked_log_inverse(delta)?;
    // x = alpha - 1, which keeps its digits when alpha is near 1.
    let beyond = (log.sqrt() / rho.sqrt()).min(f64::MAX).next_up();
    let (_, x) = turning_point(0.0, beyond, |x| rho * x * x + x.ln_1p() < log);
    let value = rho + rho * x - x.recip().ln_1p() + (log - x.ln_1p()) / x;
    let bound = Evaluated { value, error: cks_error(rho + rho * x, x, log) }.up();
    // The simple conversion is valid too; min and max also take it when the bound overflowed to
    // NaN.
    Ok(bound.min(simple).max(0.0))
}

/// The largest rho of the same bound, rounded down.
///
/// `rho = sup over alpha > 1 of (epsilon - ln(1 - 1/alpha) - (ln(1/delta) - ln alpha) / (alpha - 1)) / alpha`.
///
/// # Errors
///
/// [`ConvertError`] unless `epsilon` is positive and finite and `0 < delta < 1`.
pub fn rho_cks(epsilon: f64, delta: f64) -> Result<f64, ConvertError> {
    let simple = rho_simple(epsilon, delta)?;
    let log = checked_log_inverse(delta)?;
    let rising = |x: f64| (log - x.ln_1p()) * (2.0 + x.recip()) / x > epsilon + x.recip().ln_1p();
    let (_, x) = turning_point(1e-150, log.exp_m1().min(f64::MAX), rising);
    let value = epsilon + x.recip().ln_1p() - (log - x.ln_1p()) / x;
    // One error for this evaluation; the rest leaves room for epsilon_cks to come back at or below
    // epsilon.
    let certain = value - 4.0 * cks_error(epsilon + x.recip().ln_1p(), x, log);
    // The simple conversion is valid too; max also takes it when the bound overflowed to NaN.
    Ok((certain / (1.0 + x) * (1.0 - 4.0 * UNIT)).max(simple))
}

/// What rounding does to the terms of the bound: `first`, `ln(1 - 1/alpha)` and the quotient.
fn cks_error(first: f64, x: f64, log: f64) -> f64 {
    8.0 * UNIT * (first + x.recip().ln_1p() + (log + x.ln_1p()) / x)
}

/// The least delta of the same bound, rounded up.
///
/// `delta = inf over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1)`,
/// at most 1.
///
/// # Errors
///
/// [`ConvertError`] unless `rho` is positive and finite and `epsilon` is zero or positive and
/// finite.
pub fn delta_cks(rho: f64, epsilon: f64) -> Result<f64, ConvertError> {
    let simple = delta_simple(rho, epsilon)?;
    let beyond = ((epsilon + 1.0) / (2.0 * rho) + 1.0).min(f64::MAX);
    let falling = |x: f64| (2.0 * x + 1.0) * rho < epsilon + x.recip().ln_1p();
    let (_, x) = turning_point(1e-300, beyond, falling);
    // ln of (1 - 1/alpha)^alpha / (alpha - 1) is (alpha - 1) ln(1 - 1/alpha) - ln alpha.
    let shrink = x * x.recip().ln_1p() + x.ln_1p();
    let value = x * (rho + rho * x - epsilon) - shrink;
    let error = 8.0 * UNIT * (x * (rho + rho * x + epsilon) + shrink);
    Ok(Evaluated { value, error }.exp_up().min(simple))
}
