//! One pass over batches: its budget is that of one batch, and its error that of an eighth of the rows.

use dplm::privacy::Mechanism;

use crate::common::{Data, SLOPES, distance, estimates, fit, prediction};

/// Eight steps of one half come within `2^-8` of where they go; each is of an eighth of the rows, whose sampling error is about `sqrt(3 / 2500)`, and the mean of four
/// has half of that.
#[test]
fn a_large_budget_comes_near_the_truth() {
    let data = Data::normal(20_000, 3, 1);
    let outcome = fit("one-pass", prediction(100.0), &data, 2);
    assert!(distance(&estimates(&outcome), &SLOPES) < 0.1, "{:?}", estimates(&outcome));
}

/// Each batch has the whole budget: noise is that of one release on an eighth of the rows, `2 clip / (n / 8) / sqrt(2 rho 0.9)`.
#[test]
fn batches_do_not_share_the_budget() {
    let (rows, rho) = (8000, 0.5f64);
    let outcome = fit("one-pass", prediction(rho), &Data::normal(rows, 3, 1), 2);
    let expected = 2.0 * outcome.summary.clip / (rows as f64 / 8.0) / (2.0 * rho * 0.9).sqrt();
    assert!((outcome.summary.noise_sd / expected - 1.0).abs() < 0.01, "{} {expected}", outcome.summary.noise_sd);
    let kinds: Vec<Mechanism> = outcome.releases.iter().map(|release| release.mechanism).collect();
    assert_eq!(kinds, [Mechanism::Exponential, Mechanism::Gaussian]);
}
