//! How far a point lies from a Gaussian law.

use dplm::theory::student::normal_cdf;

/// `d' C^-1 d`, by the Cholesky factor of C (p x p row-major); none when C is not positive definite.
pub fn distance_sq(difference: &[f64], covariance: &[f64]) -> Option<f64> {
    let p = difference.len();
    let mut factor = vec![0.0; p * p];
    let mut whitened = vec![0.0; p];
    for i in 0..p {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| factor[i * p + k] * factor[j * p + k]).sum();
            let left = covariance[i * p + j] - known;
            factor[i * p + j] = if i == j { left.sqrt() } else { left / factor[j * p + j] };
        }
        if factor[i * p + i].is_nan() || factor[i * p + i] <= 0.0 {
            return None;
        }
        let known: f64 = (0..i).map(|k| factor[i * p + k] * whitened[k]).sum();
        whitened[i] = (difference[i] - known) / factor[i * p + i];
    }
    Some(whitened.iter().map(|one| one * one).sum())
}

/// `P(chi-square >= value)` with `df` degrees of freedom.
///
/// By `Q(a + 1, y) = Q(a, y) + y^a e^-y / Gamma(a + 1)` from a = 1/2, where it is two normal tails, or from a = 1.
pub fn chi_square_tail(value: f64, df: usize) -> f64 {
    let y = value / 2.0;
    let (mut tail, mut term, start) = if df % 2 == 1 {
        let term = 2.0 * (y / std::f64::consts::PI).sqrt() * (-y).exp();
        (2.0 * normal_cdf(-value.sqrt()), term, 0.5)
    } else {
        ((-y).exp(), y * (-y).exp(), 1.0)
    };
    for k in 0..df.saturating_sub(1) / 2 {
        tail += term;
        term *= y / (start + 1.0 + k as f64);
    }
    tail.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_in_the_units_of_the_law() {
        // C = [[4, 2], [2, 3]], C^-1 = [[3, -2], [-2, 4]] / 8.
        let found = distance_sq(&[1.0, 2.0], &[4.0, 2.0, 2.0, 3.0]).expect("positive definite");
        assert!((found - (3.0 - 8.0 + 16.0) / 8.0).abs() < 1e-14);
        assert_eq!(distance_sq(&[1.0, 1.0], &[1.0, 1.0, 1.0, 1.0]), None);
    }

    #[test]
    fn tails_of_chi_square() {
        // Reference: the usual 5 % points, from R's qchisq(0.95, df) to ten figures.
        for (df, value) in [
            (1, 3.841_458_820_7),
            (2, 5.991_464_547_1),
            (3, 7.814_727_903_3),
            (10, 18.307_038_053_3),
            (11, 19.675_137_572_7),
            (101, 125.458_419_408),
        ] {
            assert!((chi_square_tail(value, df) - 0.05).abs() < 1e-10, "{df}: {}", chi_square_tail(value, df));
        }
        assert_eq!(chi_square_tail(0.0, 4), 1.0);
    }
}
