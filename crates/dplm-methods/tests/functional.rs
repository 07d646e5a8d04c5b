//! The functional mechanism: least squares without noise, Laplace noise of the size its accounting
//! asks for, and an epsilon that says so.

use dplm::privacy::Mechanism;

use crate::common::{Data, distance, estimates, fit, prediction};

#[test]
fn a_large_budget_gives_least_squares() {
    let data = Data::normal(3000, 3, 1);
    let outcome = fit("functional", prediction(900.0), &data, 2);
    assert!(distance(&estimates(&outcome), &data.least_squares()) < 0.02);
}

/// Replacing a row moves the products by `2 Bx By`, in three coordinates by `sqrt(3)` of that in
/// sum; epsilon is `sqrt(2 rho)`.
#[test]
fn noise_is_what_the_sum_of_coordinates_asks_for() {
    let data = Data::normal(1000, 3, 1);
    let outcome = fit("functional", prediction(0.5), &data, 2);
    let rho = outcome.releases[1].rho.to_f64();
    let scale = 2.0 * outcome.summary.clip * 3f64.sqrt() / (2.0 * rho).sqrt();
    let sd = 2f64.sqrt() * scale / 1000.0;
    assert!((outcome.summary.noise_sd / sd - 1.0).abs() < 1e-6, "{} {sd}", outcome.summary.noise_sd);
    assert!(outcome.releases.iter().all(|release| release.mechanism == Mechanism::Laplace));
}
