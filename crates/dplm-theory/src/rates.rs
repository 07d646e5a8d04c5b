//! What no private method can do better than, up to constants and logarithms: rates of the
//! literature, as numbers to compare with.

/// Rows at which noise on second moments is at most a share `accuracy` of those of standard
/// columns, in every direction at once.
///
/// With rows of norm `sqrt p`, replacing one moves `X'X / n` by `sqrt(2) p / n` in Frobenius norm;
/// symmetric Gaussian noise for that has standard deviation `s = p / (n sqrt rho)` on the diagonal
/// and largest eigenvalue `s sqrt(2p)` (Dwork, Talwar, Thakurta and Zhang 2014). So `n = sqrt(2)
/// p^(3/2) / (accuracy sqrt rho)`. That power of p is not a weakness of the noise: no private
/// estimate of second moments does with fewer rows, up to logarithms (Kamath, Mouzakis and Singhal
/// 2022; Narayanan 2023). It is why sufficient statistics need more rows than descent does.
pub fn rows_for_moments(features: usize, rho: f64, accuracy: f64) -> f64 {
    let p = features as f64;
    (2.0 * p.powi(3) / rho).sqrt() / accuracy
}

/// The squared error `p / n + p^2 / (n^2 rho)` of standardised coefficients, in units of the
/// variance of the errors.
///
/// The first term is that of least squares. No private method has a smaller second one, up to
/// constants and logarithms (Cai, Wang and Zhang 2021, with epsilon in the place of `sqrt rho`),
/// and a method of exponential time attains it for any covariance (Liu, Kong and Oh 2022).
pub fn error_rate(rows: u64, features: usize, rho: f64) -> f64 {
    let share = features as f64 / rows as f64;
    share + share * share / rho
}

#[cfg(test)]
mod tests {
    use faer::{Mat, Side};
    use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// The largest eigenvalue of simulated noise is the share of the identity that was asked for;
    /// at sixty columns it is 5 % from its limit.
    #[test]
    fn noise_on_moments_is_as_small_as_asked_for() {
        let (p, rho, accuracy) = (60, 0.1, 0.25);
        let sd = p as f64 / (rows_for_moments(p, rho, accuracy) * rho.sqrt());
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let draws = Mat::from_fn(p, p, |_, _| -> f64 { StandardNormal.sample(&mut rng) });
        // Standard deviation `sd` on the diagonal, smaller by `sqrt 2` off it.
        let noise = Mat::from_fn(p, p, |i, j| 0.5 * sd * (draws[(i, j)] + draws[(j, i)]));
        let values = noise.self_adjoint_eigenvalues(Side::Lower).unwrap();
        let largest = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        assert!((largest / accuracy - 1.0).abs() < 0.15, "{largest}");
    }

    /// Twice the columns need 2^1.5 times the rows for moments, and twice as many for the error
    /// that descent has.
    #[test]
    fn moments_need_a_higher_power_of_columns() {
        assert!((rows_for_moments(20, 0.1, 0.5) / rows_for_moments(10, 0.1, 0.5) - 8f64.sqrt()).abs() < 1e-12);
        assert!((error_rate(2000, 20, 0.1) / error_rate(1000, 10, 0.1) - 1.0).abs() < 1e-12);
        assert!((error_rate(1000, 10, 0.1) - 0.011).abs() < 1e-12);
    }
}
