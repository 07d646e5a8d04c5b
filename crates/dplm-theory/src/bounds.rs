//! The paper's main theorem with every constant written out.
//!
//! Everything here is a function of public numbers. The theorems' constants are far from tight: use
//! them to see what is guaranteed, and [`IterateLaw`](super::law::IterateLaw) to see what happens.

use dplm::{descend::noise_sd, privacy::Neighbours, theory::coverage::CONTRACTION};

use super::{
    TheoryError, check_positive, check_probability, check_rule,
    no_clipping::{NoClippingBound, no_clipping_bound, paper_c0},
};

/// The step size of the accuracy theorem.
pub const THEOREM_STEP_SIZE: f64 = 0.25;

/// What the main accuracy theorem gives, term by term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AccuracyBound {
    /// The multiplier, `12 ln^1.5(20 n T / beta)`.
    pub c0: f64,
    /// The clip threshold the proof uses.
    pub gamma: f64,
    /// The noise that clip threshold costs.
    pub lambda: f64,
    /// What is left of the start: `(7/8)^T (1 + 2 c0^2 sigma sqrt(p))`.
    pub bias: f64,
    /// The noise of the last iterate: `eta lambda sqrt(32 p ln(4/beta))`.
    pub noise: f64,
    /// The two together: `||theta_T - theta_hat||` is at most this with probability `1 - beta`,
    /// when `applies`.
    pub error: f64,
    /// Rows the spectrum needs, see [`rows_for_spectrum`].
    pub rows_needed: usize,
    /// The lemma that nothing is clipped, at this gamma and lambda.
    pub no_clipping: NoClippingBound,
    /// Whether n is large enough for every step of the proof.
    pub applies: bool,
}

/// The main accuracy theorem with its constants: Gaussian rows, `||theta*|| <= 1`, `eta = 1/4`,
/// start at zero.
///
/// ```text
/// c0     = 12 ln^1.5(20 n T / beta)
/// gamma  = 4 c0^2 max(sigma, 1) sqrt(p)
/// lambda = gamma sqrt(2 T / rho) / n
/// ||theta_T - theta_hat|| <= (7/8)^T (1 + 2 c0^2 sigma sqrt(p)) + eta lambda sqrt(32 p ln(4/beta))
/// ```
///
/// # Guarantee
/// With probability `1 - beta` the bound holds when `applies`: beta/4 each for the data, for
/// clipping and for the noise.
///
/// # Paper
/// Theorem "Main accuracy claim". The paper's gamma has sigma where this has `max(sigma, 1)`; see
/// [`no_clipping_bound`] for why. The paper's `||A|| <= 16` is `64/15`, since the eigenvalues of D
/// are at most `(7/8)^2`; with it, `||z|| <= lambda ||A||^(1/2) (sqrt(p) + sqrt(2 ln(4/beta)))` is
/// below the stated noise term for every p and beta.
///
/// # Errors
/// When a count is zero, p is below 2, rho or sigma is not positive or beta is not a probability.
pub fn accuracy_bound(
    rows: usize,
    features: usize,
    rho: f64,
    sigma: f64,
    steps: usize,
    beta: f64,
) -> Result<AccuracyBound, TheoryError> {
    check_positive("rho", rho)?;
    check_positive("sigma", sigma)?;
    check_rule(features >= 2, "the number of features", "at least 2")?;
    let c0 = paper_c0(rows, steps, beta / 4.0)?;
    let root_p = (features as f64).sqrt();
    let gamma = 4.0 * c0 * c0 * sigma.max(1.0) * root_p;
    let lambda = noise_sd(rows as u64, gamma, steps as u32, Neighbours::ReplaceOne, rho);
    let bias = CONTRACTION.powf(steps as f64) * (1.0 + 2.0 * c0 * c0 * sigma * root_p);
    let noise = THEOREM_STEP_SIZE * lambda * (32.0 * features as f64 * (4.0 / beta).ln()).sqrt();
    let no_clipping = no_clipping_bound(rows, features, gamma, lambda, THEOREM_STEP_SIZE, steps, c0, sigma)?;
    let rows_needed = rows_for_spectrum(features, beta / 20.0)?;
    let applies = rows >= rows_needed && no_clipping.beta <= beta / 4.0;
    Ok(AccuracyBound { c0, gamma, lambda, bias, noise, error: bias + noise, rows_needed, no_clipping, applies })
}

/// Rows at which Gaussian data have `I/2 <= Sigma <= 2I` with probability `1 - beta`.
///
/// The singular values of `X / sqrt(n)` lie within `(sqrt(p) + sqrt(2 ln(2/beta))) / sqrt(n)` of
/// one (Davidson and Szarek), and `1 - 1/sqrt(2)` is the distance allowed, so `n >= (sqrt(p) +
/// sqrt(2 ln(2/beta)))^2 / (1 - 1/sqrt(2))^2`.
///
/// # Paper
/// Claim "Concentration of covariance", `n >= c (p + ln 1/beta)`, with its constant.
///
/// # Errors
/// When `features` is zero or beta is not a probability.
pub fn rows_for_spectrum(features: usize, beta: f64) -> Result<usize, TheoryError> {
    check_positive("the number of features", features as f64)?;
    check_probability("beta", beta)?;
    let spread = (features as f64).sqrt() + (2.0 * (2.0 / beta).ln()).sqrt();
    Ok((spread / (1.0 - std::f64::consts::FRAC_1_SQRT_2)).powi(2).ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{law::IterateLaw, simulated};

    /// The two distances behind the shortfall, computed from the exact law, never exceed what the
    /// proof allows.
    #[test]
    fn shortfall_bounds_the_exact_distances() {
        let (eta, lambda, m, theta_hat) = (0.25, 0.2, 4, [0.5, -0.4, 0.6]);
        // Diagonal covariance inside the condition, so the laws are products over coordinates.
        let sigma = [0.5, 0.0, 0.0, 0.0, 1.1, 0.0, 0.0, 0.0, 2.0];
        let law = IterateLaw::new(&sigma, &theta_hat, &[0.0; 3], eta, lambda).expect("valid");
        let limit = law.stationary_covariance().expect("stable");
        for t in [1, 3, 10, 25] {
            let (mut mean_sq, mut frobenius_sq) = (0.0, 0.0);
            for j in 0..3 {
                let unit = limit[4 * j];
                for l in 1..=m {
                    mean_sq += (law.mean(l * t)[j] - theta_hat[j]).powi(2) / unit;
                    for k in 1..=m {
                        let ideal = if l == k { 1.0 } else { 0.0 };
                        frobenius_sq += (law.cross_covariance(l * t, k * t)[4 * j] / unit - ideal).powi(2);
                    }
                }
            }
            let r = CONTRACTION.powi(t as i32);
            let start = theta_hat.iter().map(|v| v * v).sum::<f64>().sqrt();
            assert!(mean_sq.sqrt() <= (m as f64).sqrt() * r * start / (eta * lambda), "mean at {t}");
            assert!(frobenius_sq.sqrt() <= 3f64.sqrt() * m as f64 * r, "covariance at {t}");
        }
    }

    #[test]
    fn accuracy_bound_adds_up_and_says_when_it_applies() {
        let bound = accuracy_bound(100_000, 5, 0.5, 1.0, 100, 0.05).expect("valid");
        assert_eq!(bound.error, bound.bias + bound.noise);
        assert_eq!(bound.gamma, 4.0 * bound.c0.powi(2) * 5f64.sqrt());
        // Lambda costs exactly rho: T releases of sensitivity 2 gamma / n.
        let spent = 100.0 * (2.0 * bound.gamma / 1e5).powi(2) / (2.0 * bound.lambda.powi(2));
        assert!((spent / 0.5 - 1.0).abs() < 1e-12);
        assert!(!accuracy_bound(1_000, 5, 0.5, 1.0, 100, 0.05).expect("valid").applies);
        assert!(accuracy_bound(1_000_000_000_000, 5, 0.5, 1.0, 400, 0.05).expect("valid").applies);
        // With a budget without end nothing is clipped, but a hundred rows do not settle the
        // spectrum.
        let few = accuracy_bound(100, 5, 1e18, 1.0, 100, 0.05).expect("valid");
        assert!(few.no_clipping.beta < 1e-6 && few.rows_needed > 100 && !few.applies);
        assert!(accuracy_bound(1_000, 1, 0.5, 1.0, 100, 0.05).is_err());
    }

    /// The noise term is above the Gaussian norm bound with `||A|| = 64/15` for every p and beta
    /// tried.
    #[test]
    fn noise_term_covers_the_norm_of_the_noise() {
        for p in [1, 2, 3, 10, 1000] {
            for beta in [0.9999, 0.5, 0.05, 1e-6, 1e-300] {
                let log = f64::ln(4.0 / beta);
                let norm = (64.0f64 / 15.0).sqrt() * (f64::from(p).sqrt() + (2.0 * log).sqrt());
                assert!(norm <= (32.0 * f64::from(p) * log).sqrt(), "p {p}, beta {beta}");
            }
        }
    }

    /// Spectrum of 200 Gaussian data sets at the stated size; each fails with probability at most
    /// 5e-9, so 1e-6 in all.
    #[test]
    fn spectrum_holds_at_the_stated_size() {
        let rows = rows_for_spectrum(4, 5e-9).expect("valid");
        for seed in 0..200 {
            let x = simulated::normals(seed, rows * 4);
            let check = crate::no_clipping::check_condition(&x, &vec![0.0; rows], &[0.0; 4], 1.0, 0.25, 1);
            let spectrum = check.expect("valid").into_inner().spectrum;
            assert!(spectrum.holds, "{rows} rows: {spectrum:?}");
        }
    }
}
