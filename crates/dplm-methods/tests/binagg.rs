//! Sums of bins: the correction for noise in the features, and errors near those of least squares
//! on bins in the clear.

use crate::common::{Data, SLOPES, design, distance, estimates, fit_rows, prediction};

fn fitted(data: &Data, rho: f64, seed: u64) -> Vec<f64> {
    let formula = data.formula("");
    let mut rows = data.rows(&design(&formula, data.features()));
    estimates(
        &fit_rows("binagg", (prediction(rho), dplm::method::Tuning::default()), &formula, &mut rows, seed)
            .expect("a fit"),
    )
}

/// Bins of a few hundred rows keep most of what columns vary by, so that errors are little above
/// `sqrt(p / n)`.
#[test]
fn a_large_budget_comes_near_the_truth() {
    let data = Data::normal(20_000, 2, 1);
    assert!(distance(&fitted(&data, 100.0, 2), &SLOPES[..2]) < 0.03);
}

/// At a budget where noise in the sums is a good part of what bins differ by, the mean over fits is
/// still the truth: without its correction it would be shrunk. Two hundred fits, four standard
/// errors.
#[test]
fn noise_in_the_features_shrinks_nothing() {
    let fits = 200;
    let found: Vec<f64> = (0..fits).map(|seed| fitted(&Data::normal(3000, 1, 500 + seed), 0.01, seed)[0]).collect();
    let mean = found.iter().sum::<f64>() / fits as f64;
    let variance = found.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (fits - 1) as f64;
    let error = (variance / fits as f64).sqrt();
    assert!((mean - SLOPES[0]).abs() < 4.0 * error && error < 0.02, "{mean} {error}");
}
