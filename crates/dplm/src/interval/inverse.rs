//! The inverse of a curvature that is known up to noise.
//!
//! An estimate is off by `H^-1 z`, where `z` is the noise of the gradient, and `H = M + E` is known
//! up to `E`. In a fixed direction the noise of `E` is small. But the weakest direction of `H` is
//! not fixed: it is the direction in which `E` happens to be smallest, where many small entries of
//! `E` add up. The relevant quantities are moments of `H^-1` over the distribution of `E`. With
//! independent entries of variance `S_ij` they follow from Dyson's equation (Mehta, "Random
//! Matrices"): the mean of `H^-1` for `M = diag(e)` is `diag(1/h)` with
//! `h_i = e_i - sum_k S_ik / h_k`, and second moments solve a linear equation.

use faer::{Mat, linalg::solvers::Solve};

use super::Curvature;

/// Iterations until the equation converges: each halves the error, and convergence is slower only
/// if a direction is about to be lost.
const ROUNDS: usize = 200;
/// A curvature that noise would reduce below this share of itself counts as lost, whatever share is
/// left.
const LOST: f64 = 0.05;

/// The `h` above, for entries of these standard deviations. A direction below its noise keeps that
/// noise as its curvature, so that it does not pass for resolved.
pub(super) fn of_mean_inverse(values: &[f64], entry_sd: &Mat<f64>) -> Vec<f64> {
    let shift = |i: usize, h: &[f64]| h.iter().enumerate().map(|(k, h)| entry_sd[(i, k)].powi(2) / h).sum::<f64>();
    let least = |i: usize| entry_sd[(i, i)].max(LOST * values[i]);
    let mut h: Vec<f64> = (0..values.len()).map(|i| values[i].max(least(i))).collect();
    for _ in 0..ROUNDS {
        h = (0..h.len()).map(|i| 0.5 * (h[i] + (values[i] - shift(i, &h)).max(least(i)))).collect();
    }
    h
}

/// The variances of the estimates around the coefficients, in each coordinate of the descent.
pub(super) struct Apart {
    /// The variances of `d = B (b - beta)`.
    pub variances: Vec<f64>,
    /// Whether they are infinite; those given then ignore the uncertainty of the curvature.
    pub is_lost: bool,
}

impl Apart {
    /// From the curvature, `G = B A^-1 B'` (the inverse of its mean if `B` is square), and the
    /// covariance of the noise `z`.
    ///
    /// `d = G (z - E d)`, and the rows of `E d` have variances `S x` if `d` has variances `x`: so
    /// `x = diag(G Cov(z) G) + (G * G) S x`, where `G * G` holds the squared entries of `G`.
    pub fn of(curvature: &Curvature, inverse: &Mat<f64>, noise: &Mat<f64>) -> Self {
        let p = curvature.features();
        let known = inverse * noise * inverse.transpose();
        let known: Vec<f64> = (0..p).map(|j| known[(j, j)]).collect();
        let squares = Mat::from_fn(p, p, |j, k| inverse[(j, k)].powi(2));
        let feedback = squares * Mat::from_fn(p, p, |j, k| curvature.entry_sd[(j, k)].powi(2));
        let equation = Mat::<f64>::identity(p, p) - feedback;
        let found = equation.partial_piv_lu().solve(Mat::from_fn(p, 1, |j, _| known[j]));
        let found = found.col_as_slice(0);
        // The solution is a sum of positive terms: if it is negative, the sum is infinite.
        let is_lost = found.iter().zip(&known).any(|(x, known)| x.is_nan() || x < known);
        Apart { variances: if is_lost { known } else { found.to_vec() }, is_lost }
    }
}

impl Curvature {
    /// The covariance of `E d` for a `d` of independent entries with these variances.
    pub(super) fn covariance_of_product(&self, variances: &[f64]) -> Mat<f64> {
        let p = variances.len();
        let own = |j: usize| (0..p).map(|k| self.entry_sd[(j, k)].powi(2) * variances[k]).sum::<f64>();
        Mat::from_fn(p, p, |j, k| if j == k { own(j) } else { 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::super::simulate::normal;
    use super::*;
    use crate::matrix::{diagonal, inverse};

    const VALUES: [f64; 12] = [0.5, 0.8, 0.9, 0.9, 1.0, 1.0, 1.0, 1.0, 1.1, 1.1, 1.2, 1.3];

    fn entries(sd: f64) -> Mat<f64> {
        Mat::from_fn(VALUES.len(), VALUES.len(), |j, k| if j == k { sd } else { sd / 2f64.sqrt() })
    }

    /// Means over 4000 draws of `E`. In the weakest direction the inverse of the mean is 2 and the
    /// mean of the inverse 2.3; the second moments are larger by half. Draws have a standard error
    /// of 1 % there, so by chance alone the test fails with a probability of one in a million; the
    /// equations neglect terms of relative order `1/p`.
    #[test]
    fn moments_of_the_inverse_are_those_of_draws() {
        let (p, entry_sd) = (VALUES.len(), entries(0.08));
        let h = of_mean_inverse(&VALUES, &entry_sd);
        let found = apart(&h, 0.08);
        assert!(!found.is_lost);
        let (mut mean, mut square, mut rng) = (vec![0.0; p], vec![0.0; p], ChaCha8Rng::seed_from_u64(1));
        for _ in 0..4000 {
            let draws = Mat::from_fn(p, p, |_, _| normal(&mut rng));
            let matrix = Mat::from_fn(p, p, |j, k| {
                let value = if j == k { VALUES[j] } else { 0.0 };
                value + entry_sd[(j, k)] * draws[(j.max(k), j.min(k))]
            });
            let drawn = inverse(&matrix);
            for j in 0..p {
                mean[j] += drawn[(j, j)] / 4000.0;
                square[j] += (0..p).map(|k| drawn[(j, k)].powi(2)).sum::<f64>() / 4000.0;
            }
        }
        for j in 0..p {
            let close =
                |found: f64, drawn: f64, naive: f64| (found - drawn).abs() < 0.06 * drawn + 0.1 * (drawn - naive);
            let variance = found.variances[j];
            assert!(close(1.0 / h[j], mean[j], 1.0 / VALUES[j]), "mean {j}: {} {}", 1.0 / h[j], mean[j]);
            assert!(close(variance, square[j], VALUES[j].powi(-2)), "square {j}: {variance} {}", square[j]);
        }
        assert!(mean[0] > 2.15 && square[0] > 1.2 * 4.0, "{} {}", mean[0], square[0]);
    }

    fn apart(h: &[f64], sd: f64) -> Apart {
        let inverse = diagonal(&h.iter().map(|h| 1.0 / h).collect::<Vec<_>>());
        Apart::of(&Curvature::of_entries(diagonal(h), entries(sd)), &inverse, &Mat::identity(12, 12))
    }

    #[test]
    fn without_noise_nothing_changes() {
        assert_eq!(of_mean_inverse(&VALUES, &entries(0.0)), VALUES);
        let found = apart(&VALUES, 0.0);
        assert!(!found.is_lost && (found.variances[0] - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_direction_that_noise_swallows_is_lost() {
        let h = of_mean_inverse(&VALUES, &entries(0.4));
        assert!(h[0] <= 0.4 && apart(&h, 0.4).is_lost, "{h:?}");
    }
}
