//! One pass over batches: its budget is that of one batch.

use dplm::privacy::Mechanism;

use crate::common::{Data, SLOPES, distance, estimates, fit, prediction};

/// At this budget there are 32 steps of one half, each of 625 rows, whose sampling error is about `sqrt(3 / 625)`; the mean of the last 16 has a quarter of that and a little
/// more, as they remember each other.
#[test]
fn a_large_budget_comes_near_the_truth() {
    let data = Data::normal(20_000, 3, 1);
    let outcome = fit("one-pass", prediction(100.0), &data, 2);
    assert!(distance(&estimates(&outcome), &SLOPES) < 0.1, "{:?}", estimates(&outcome));
}

/// Each batch has the whole budget: noise is that of one release on its rows, `2 clip / (n / steps) / sqrt(2 rho 0.9)`.
#[test]
fn batches_do_not_share_the_budget() {
    let (rows, rho) = (8000, 0.5f64);
    let outcome = fit("one-pass", prediction(rho), &Data::normal(rows, 3, 1), 2);
    let steps = f64::from(outcome.summary.steps);
    assert!(steps >= 8.0);
    let expected = 2.0 * outcome.summary.clip / (rows as f64 / steps).ceil() / (2.0 * rho * 0.9).sqrt();
    assert!((outcome.summary.noise_sd / expected - 1.0).abs() < 0.01, "{} {expected}", outcome.summary.noise_sd);
    let kinds: Vec<Mechanism> = outcome.releases.iter().map(|release| release.mechanism).collect();
    assert_eq!(kinds, [Mechanism::Exponential, Mechanism::Gaussian]);
}
