//! The Gaussian mechanism's own curve.
//!
//! With `mu = sqrt(2 rho)`, `a = (epsilon - rho) / mu` and `b = (epsilon + rho) / mu`,
//!
//! ```text
//! delta = Phi(-a) - e^epsilon Phi(-b) = phi(a) (M(a) - M(b)),     M(x) = Phi(-x) / phi(x) = integral of e^(-x s - s^2/2)
//!       = phi(a) integral over s > 0 of e^(-a s - s^2/2) (1 - e^(-mu s)).
//! ```
//!
//! The last form has no difference of nearly equal numbers, whatever `mu`: it is summed as it
//! stands, by the double-exponential rule, whose terms are all positive. For `a < -1` the integrand
//! has a narrow peak, but delta is above 0.68 there and `delta = 1 - phi(a) (M(-a) + M(b))` loses
//! nothing.

use std::f64::consts::{PI, SQRT_2};
use std::sync::LazyLock;

use super::{
    ConvertError, Evaluated, UNIT, checked_log_inverse, delta_simple, epsilon_simple, rho_simple, turning_point,
};

/// `delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)`, `mu = sqrt(2 rho)`,
/// rounded up.
///
/// # Guarantee
///
/// Exact for one Gaussian mechanism, hence for any adaptive composition of Gaussian mechanisms with
/// this total rho and for what is computed from their results (Balle and Wang 2018; Dong, Roth and
/// Su 2022). Not for other mechanisms.
///
/// # Errors
///
/// [`ConvertError`] unless `rho` is positive and finite and `epsilon` is zero or positive and
/// finite.
pub fn delta_exact(rho: f64, epsilon: f64) -> Result<f64, ConvertError> {
    let simple = delta_simple(rho, epsilon)?;
    Ok(log_delta(rho, epsilon).exp_up().min(simple))
}

/// The least epsilon with `delta_exact(rho, epsilon) <= delta`, rounded up; 0 when `delta` is large
/// enough for that.
///
/// # Guarantee
///
/// As for [`delta_exact`].
///
/// # Errors
///
/// [`ConvertError`] unless `rho` is positive and finite and `0 < delta < 1`.
pub fn epsilon_exact(rho: f64, delta: f64) -> Result<f64, ConvertError> {
    // Valid for every zCDP mechanism, so it needs no proof here.
    let simple = epsilon_simple(rho, delta)?;
    let log = checked_log_inverse(delta)?;
    let is_too_small = |epsilon| !holds(rho, epsilon, log, 1.0);
    if !is_too_small(0.0) {
        return Ok(0.0);
    }
    let (_, least) = turning_point(0.0, simple, is_too_small);
    Ok(least)
}

/// The largest rho with `delta_exact(rho, epsilon) <= delta`, rounded down.
///
/// # Guarantee
///
/// As for [`delta_exact`].
///
/// # Errors
///
/// [`ConvertError`] unless `epsilon` is positive and finite and `0 < delta < 1`.
pub fn rho_exact(epsilon: f64, delta: f64) -> Result<f64, ConvertError> {
    let simple = rho_simple(epsilon, delta)?;
    let log = checked_log_inverse(delta)?;
    // Four errors instead of one: then epsilon_exact finds every epsilon from this one on large
    // enough.
    let is_small_enough = |rho| holds(rho, epsilon, log, 4.0);
    let mut beyond = simple.max(f64::MIN_POSITIVE);
    while beyond < f64::MAX / 2.0 && is_small_enough(beyond) {
        beyond *= 2.0;
    }
    let (largest, _) = turning_point(simple, beyond, is_small_enough);
    Ok(largest)
}

/// Whether `delta(rho, epsilon) <= e^(-log)`, with `errors` times the error of the evaluation to
/// spare.
fn holds(rho: f64, epsilon: f64, log: f64, errors: f64) -> bool {
    let log_delta = log_delta(rho, epsilon);
    log_delta.value + errors * log_delta.error <= -log
}

/// The logarithm of delta.
///
/// The error counts: 305 additions, the nodes and exponentials of each term, the rule itself, and
/// the relative error of `a`, which `a^2 / 2` carries into the logarithm, as do the logarithms
/// themselves.
fn log_delta(rho: f64, epsilon: f64) -> Evaluated {
    // 2 rho and epsilon + rho would overflow at the end of the range; epsilon - rho is rounded
    // once.
    let mu = SQRT_2 * rho.sqrt();
    let (a, b) = ((epsilon - rho) / mu, epsilon / mu + rho / mu);
    let log_density = -a * a / 2.0 - (2.0 * PI).ln() / 2.0;
    let value = if a < -1.0 {
        (-log_density.exp() * (mills_difference(-a, f64::INFINITY) + mills_difference(b, f64::INFINITY))).ln_1p()
    } else {
        let log_integral = mills_difference(a, mu).ln();
        // A logarithm too low to write is as good as none.
        if log_density.is_finite() { log_density + log_integral } else { f64::NEG_INFINITY }
    };
    let size = if a < -1.0 { 1.0 } else { a * a / 2.0 + value.abs() };
    let error = if value.is_finite() { UNIT * (512.0 + 24.0 * size) } else { 0.0 };
    Evaluated { value, error }
}

/// `M(a) - M(a + mu)`, the integral of `e^(-a s - s^2/2) (1 - e^(-mu s))` over `s > 0`, for
/// `a >= -1`.
///
/// An infinite `mu` gives Mills' ratio `M(a)` itself.
fn mills_difference(a: f64, mu: f64) -> f64 {
    // The integrand lives on the scale 1/a for a large a, on 1 otherwise.
    let scale = a.max(1.0).recip();
    let term = |&(node, weight): &(f64, f64)| {
        let s = node * scale;
        weight * scale * (-a * s - s * s / 2.0).exp() * -(-mu * s).exp_m1()
    };
    RULE.iter().map(term).sum()
}

/// Nodes and weights of the double-exponential rule on `(0, infinity)`: `s = exp(t - e^(-t))`, `t`
/// in steps of `1/32`.
///
/// From `t = -4.5`, where `s < 1e-40`, to `t = 5`, where `s > 148` and the integrand is below
/// `e^(-148)`. Steps of `1/24` already give all digits of a double for `mu` from `1e-7` to `1e5`.
static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| {
    const STEPS: f64 = 32.0;
    let node = |step: i32| {
        let t = f64::from(step) / STEPS;
        let s = (t - (-t).exp()).exp();
        (s, s * (1.0 + (-t).exp()) / STEPS)
    };
    (-144..=160).map(node).collect()
});
