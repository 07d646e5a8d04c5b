//! What clipping does to lognormal errors, which incomes about are: the distribution that a fit
//! must withstand to be called least squares.

use crate::theory::student::{normal_cdf, normal_quantile};

/// What clipping takes from the mean of such errors where a share `tail` of them is above the clip,
/// in their standard deviations. For a standard Gaussian `Z` it is `E (exp Z - exp z)+` with `z`
/// the clip.
pub(crate) fn excess(tail: f64) -> f64 {
    let clip = -normal_quantile(tail.clamp(1e-12, 0.999));
    let excess = mean() * normal_cdf(1.0 - clip) - clip.exp() * tail;
    excess / ((1f64.exp() - 1.0) * 1f64.exp()).sqrt()
}

/// The share of such errors above a clip `factor` times as wide as one that a share `tail` exceeds;
/// `None` if that clip is below their mean.
pub(crate) fn tail_beyond(tail: f64, factor: f64) -> Option<f64> {
    let clip = (-normal_quantile(tail.clamp(1e-12, 0.999))).exp() - mean();
    (clip > 0.0).then(|| normal_cdf(-(mean() + factor * clip).ln()))
}

/// Of `exp Z`.
fn mean() -> f64 {
    0.5f64.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By numerical integration elsewhere.
    #[test]
    fn what_clipping_takes_from_skewed_errors() {
        for (tail, expected) in [(0.0042, 0.011769), (0.05, 0.078127), (0.25, 0.251705)] {
            assert!((excess(tail) - expected).abs() < 1e-6, "{tail}: {}", excess(tail));
        }
    }

    /// `P(exp Z > m + 2 (exp z - m))`, `m` the mean and `z` the upper hundredth.
    #[test]
    fn a_wider_clip_has_fewer_errors_beyond_it() {
        let twice = mean() + 2.0 * (2.326_347_874_040_841f64.exp() - mean());
        let found = tail_beyond(0.01, 2.0).expect("above the mean");
        assert!((found - normal_cdf(-twice.ln())).abs() < 1e-12 && found < 0.002, "{found}");
        assert!((tail_beyond(0.01, 1.0).expect("above the mean") - 0.01).abs() < 1e-12);
        assert_eq!(tail_beyond(0.4, 2.0), None);
    }
}
