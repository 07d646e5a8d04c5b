//! Tests with a variance that is itself known up to noise, on the Gaussian scale.
//!
//! A squared distance `t^2` over a variance that is as precise as one estimated with `v` degrees of
//! freedom follows Student's distribution, and one over a covariance of `q` contrasts Hotelling's
//! (1931). Bartlett's correction (1954) converts both to the printed scale:
//!
//! ```text
//! (v - q/2) ln(1 + t^2 / v)
//! ```
//!
//! is chi-square with `q` degrees of freedom, z squared for one contrast. One z value, p-value and
//! interval therefore agree exactly, however well the variance is known. The 95 % quantile equals
//! Student's to 1 % from six degrees of freedom on, and is larger below.

/// The statistic on the chi-square scale, with as many degrees of freedom as there are equations.
pub(super) fn chi_square(distance_sq: f64, equations: usize, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return distance_sq;
    }
    (freedom - equations as f64 / 2.0).max(0.0) * (distance_sq / freedom).ln_1p()
}

/// The squared distance of one contrast at which that statistic is `z_sq`; infinite if no distance
/// suffices.
pub(super) fn distance_sq(z_sq: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return z_sq;
    }
    if freedom > 0.5 { freedom * (z_sq / (freedom - 0.5)).exp_m1() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::student::{normal_quantile, t_quantile};

    #[test]
    fn quantiles_are_those_of_student_or_larger() {
        for level in [0.9, 0.975, 0.995] {
            let z_sq = normal_quantile(level).powi(2);
            for freedom in [2.0, 6.0, 20.0, 100.0, 1e9] {
                let ratio = distance_sq(z_sq, freedom).sqrt() / t_quantile(level, freedom);
                assert!((1.0 - 1e-3..1.3).contains(&ratio), "{freedom} at {level}: {ratio}");
                assert!(freedom < 6.0 || ratio < 1.02, "{freedom} at {level}: {ratio}");
            }
        }
    }

    #[test]
    fn a_distance_has_its_statistic() {
        for freedom in [0.7, 3.0, 1e6, f64::INFINITY] {
            assert!((chi_square(distance_sq(3.84, freedom), 1, freedom) - 3.84).abs() < 1e-9);
        }
        assert_eq!((chi_square(1e9, 1, 0.4), distance_sq(3.84, 0.5)), (0.0, f64::INFINITY));
    }

    /// Hotelling's distribution for two contrasts has a closed form:
    /// `(1 + t^2 / v)^(-(v - 1) / 2)`.
    #[test]
    fn two_contrasts_are_exact() {
        for (distance_sq, freedom) in [(3.0, 9.0), (20.0, 30.0f64)] {
            let p = (-chi_square(distance_sq, 2, freedom) / 2.0).exp();
            let exact = (1.0 + distance_sq / freedom).powf(-(freedom - 1.0) / 2.0);
            assert!((p / exact - 1.0).abs() < 1e-12);
        }
    }
}
