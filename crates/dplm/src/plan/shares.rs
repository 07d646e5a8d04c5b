//! What the paper's method spends beside its descent.

use super::{noise::matrix_rho, white::row_bound_sq};
use crate::privacy::Neighbours;

/// Shares of the budget spent on releases other than the descent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// On the matrix of curvature,
    /// [`Curvature::of_scaled_columns`](crate::interval::Curvature::of_scaled_columns).
    pub curvature: f64,
    /// On the mean of `||clip(g_i)||^2`,
    /// [`Sampling::from_trace`](crate::interval::Sampling::from_trace).
    pub gradient_spread: f64,
}

/// Noise in the released curvature, as an operator, that is worth paying for; and the share it may
/// cost.
const CURVATURE_NOISE: f64 = 0.3;
const CURVATURE_SHARE: (f64, f64) = (0.02, 0.15);
/// Relative error of the whole variance that the released gradient spread may leave, and the share
/// it may cost.
const VARIANCE_ERROR: f64 = 0.05;
const SPREAD_SHARE: (f64, f64) = (0.002, 0.10);

impl Shares {
    /// Nothing but the descent: the paper's algorithm, for the data set itself as target or for
    /// prediction.
    pub const NONE: Shares = Shares { curvature: 0.0, gradient_spread: 0.0 };

    /// Shares for a population interval, from public numbers.
    ///
    /// The curvature gets what brings its noise (operator norm, `R^2 sqrt(2p) / (n sqrt rho_c)`) to
    /// 0.3, within 2 % and 15 % of `rho`. The gradient spread gets what leaves 5 % uncertainty in
    /// the whole variance for errors of standard deviation `error_sd`, within 0.2 % and 10 %.
    pub fn recommended(rows: u64, features: usize, rho: f64, gamma: f64, error_sd: f64) -> Self {
        let (n, p) = (rows as f64, features as f64);
        let entry = CURVATURE_NOISE / (2.0 * p).sqrt();
        let curvature = matrix_rho(rows, row_bound_sq(features), Neighbours::ReplaceOne, entry) / rho;
        let variance_times_n = error_sd.powi(2) + 2.0 * gamma.powi(2) / (n * rho);
        let spread = (gamma.powi(2) / (p * n * VARIANCE_ERROR * variance_times_n)).powi(2) / (2.0 * rho);
        Shares {
            curvature: curvature.clamp(CURVATURE_SHARE.0, CURVATURE_SHARE.1),
            gradient_spread: spread.clamp(SPREAD_SHARE.0, SPREAD_SHARE.1),
        }
    }

    /// What is left for the descent.
    pub fn descent(&self) -> f64 {
        1.0 - self.curvature - self.gradient_spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_with_rows_within_their_bounds() {
        let shares = [2_000, 10_000, 30_000, 1_000_000].map(|n| Shares::recommended(n, 10, 0.015, 6.0, 1.0));
        assert_eq!((shares[0].curvature, shares[3].curvature), (0.15, 0.02));
        assert!(shares[1].curvature > 0.1 && shares[2].curvature < shares[1].curvature);
        assert!(shares.iter().all(|s| s.descent() > 0.74 && s.gradient_spread >= 0.002));
    }
}
