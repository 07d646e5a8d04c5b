//! The paper's theorem on coverage with its constants, and the numbers of steps it asks for.
//!
//! Everything here is a function of public numbers.

use super::OutOfRange;

/// `||I - eta Sigma||` under item (i) of the No-Clipping Condition.
pub const CONTRACTION: f64 = 7.0 / 8.0;

/// The free constants of the coverage theorem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoverageConstants {
    /// `||I - eta Sigma||`; 7/8 under the No-Clipping Condition.
    pub contraction: f64,
    /// The condition's multiplier, used only in the bound `1 + 2 c0^2 sigma sqrt(p)` on the
    /// distance from the start to theta_hat. The default 1 already gives several times the distance
    /// that Gaussian data have.
    pub c0: f64,
    /// Total variation per unit of mean difference. 1/2 is valid: `2 Phi(d/2) - 1 <= d/2`.
    pub mean_factor: f64,
    /// Total variation per unit of `||S1^-1/2 S2 S1^-1/2 - I||_F`. 3/2 is valid (Devroye, Mehrabian
    /// and Reddad 2018).
    pub covariance_factor: f64,
}

impl Default for CoverageConstants {
    fn default() -> Self {
        Self { contraction: CONTRACTION, c0: 1.0, mean_factor: 0.5, covariance_factor: 1.5 }
    }
}

/// How much coverage may be lost because the m estimates are not quite independent draws around
/// theta_hat; at most 1.
///
/// `separation` is T, the steps of each independent run or between checkpoints. With r the
/// contraction, against m independent draws from the stationary distribution the mean is off by
/// `sqrt(m) r^T S / (eta lambda)` in that distribution's own units, `S = 1 + 2 c0^2 sigma sqrt(p)`,
/// and the covariance by `sqrt(p) m r^T` in relative Frobenius norm: the diagonal blocks differ by
/// `D^(lT)` and the block (l, k) by `(I - eta Sigma)^(|l-k|T)` times a contraction. So
///
/// ```text
/// shortfall = r^T (sqrt(m) S / (2 eta lambda) + 3/2 m sqrt(p))
/// ```
///
/// # Guarantee
/// Intervals at level `1 - alpha` from independent runs or checkpoints, without clipping and on
/// data satisfying the condition, cover theta_hat with probability at least
/// `1 - alpha - shortfall`.
///
/// # Paper
/// Theorem "Coverage", with the constants of its proof. Independent runs do better (`r^2T` and
/// `sqrt(m p)`); both are covered by this bound. The 1 in S is `||theta*||`, which the paper's
/// proof leaves out.
///
/// # Errors
/// When m or p is zero, a parameter is not positive or the contraction is not below one.
pub fn coverage_shortfall(
    constants: &CoverageConstants,
    batches: usize,
    features: usize,
    sigma: f64,
    eta: f64,
    lambda: f64,
    separation: usize,
) -> Result<f64, OutOfRange> {
    let at_zero = shortfall_at_zero(constants, batches, features, sigma, eta, lambda)?;
    Ok((at_zero * constants.contraction.powf(separation as f64)).min(1.0))
}

/// Steps between checkpoints (or in each independent run) after which at most beta of the coverage
/// is lost.
///
/// ```text
/// T = ceil( ln((sqrt(m) S / (2 eta lambda) + 3/2 m sqrt(p)) / beta) / ln(8/7) )
/// ```
///
/// # Paper
/// Theorem "Coverage": `T >= c log(sigma m p / (eta lambda beta))`.
///
/// # Errors
/// As [`coverage_shortfall`], and when beta is not a probability.
pub fn coverage_steps(
    constants: &CoverageConstants,
    batches: usize,
    features: usize,
    sigma: f64,
    eta: f64,
    lambda: f64,
    beta: f64,
) -> Result<usize, OutOfRange> {
    OutOfRange::unless(beta > 0.0 && beta < 1.0, "beta", "strictly between 0 and 1")?;
    let at_zero = shortfall_at_zero(constants, batches, features, sigma, eta, lambda)?;
    Ok(steps_to_reach(constants.contraction, beta / at_zero))
}

fn shortfall_at_zero(
    constants: &CoverageConstants,
    batches: usize,
    features: usize,
    sigma: f64,
    eta: f64,
    lambda: f64,
) -> Result<f64, OutOfRange> {
    for (name, value) in [
        ("the number of estimates", batches as f64),
        ("the number of features", features as f64),
        ("sigma", sigma),
        ("the step size", eta),
        ("the noise", lambda),
        ("c0", constants.c0),
    ] {
        OutOfRange::unless_positive(name, value)?;
    }
    let r = constants.contraction;
    OutOfRange::unless((0.0..1.0).contains(&r), "the contraction", "at least 0 and below 1")?;
    let (m, root_p) = (batches as f64, (features as f64).sqrt());
    let distance = 1.0 + 2.0 * constants.c0.powi(2) * sigma * root_p;
    Ok(constants.mean_factor * m.sqrt() * distance / (eta * lambda) + constants.covariance_factor * m * root_p)
}

/// The smallest t with `factor^t <= target`, for a factor in [0, 1) and a positive target.
fn steps_to_reach(factor: f64, target: f64) -> usize {
    if target >= 1.0 {
        return 0;
    }
    if factor == 0.0 {
        return 1;
    }
    let guess = (target.ln() / factor.ln()).ceil() as usize;
    // The logarithms may be off by a rounding; the power decides.
    (guess.saturating_sub(1)..=guess).find(|&t| factor.powf(t as f64) <= target).unwrap_or(guess + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_number_of_steps() {
        for (factor, target) in
            [(0.5, 0.25), (0.5, 0.2), (0.875, 1e-9), (0.99, 0.37), (0.0, 0.1), (0.3, 1.0), (0.3, 4.0)]
        {
            let t = steps_to_reach(factor, target);
            assert!(f64::powf(factor, t as f64) <= target, "{factor} {target} {t}");
            assert!(t == 0 || f64::powf(factor, (t - 1) as f64) > target, "{factor} {target} {t}");
        }
    }

    #[test]
    fn coverage_steps_are_the_smallest_that_do() {
        let constants = CoverageConstants { c0: 2.0, ..CoverageConstants::default() };
        let steps = coverage_steps(&constants, 10, 5, 1.0, 0.25, 0.1, 0.01).expect("valid");
        let at = |t| coverage_shortfall(&constants, 10, 5, 1.0, 0.25, 0.1, t).expect("valid");
        assert!(at(steps) <= 0.01 && at(steps - 1) > 0.01);
        assert_eq!(at(0), 1.0);
        assert!(coverage_steps(&CoverageConstants::default(), 10, 5, 1.0, 0.25, 0.1, 0.01).expect("valid") < steps);
        assert!(coverage_steps(&constants, 10, 5, 1.0, 0.25, 0.1, 1.5).is_err());
    }
}
