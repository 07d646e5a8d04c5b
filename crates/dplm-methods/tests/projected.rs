//! Projected descent: the truth at a large budget, and the noise that its worst gradient asks for.

use dplm::method::Tuning;

use crate::common::{Data, SLOPES, design, distance, estimates, fit, fit_rows, prediction};

#[test]
fn a_large_budget_gives_least_squares() {
    let data = Data::normal(3000, 3, 1);
    let formula = data.formula("");
    let tuning = Tuning { steps: Some(40), ..Tuning::default() };
    let mut rows = data.rows(&design(&formula, 3));
    let outcome = fit_rows("projected", (prediction(900.0), tuning), &formula, &mut rows, 2).expect("a fit");
    assert!(
        distance(&estimates(&outcome), &data.least_squares()) < 0.01 && distance(&estimates(&outcome), &SLOPES) < 0.1
    );
}

/// `2 gamma / (n sqrt(2 rho / T))`, with the gradient of the longest row at the edge of the ball as
/// `gamma`.
#[test]
fn noise_is_what_the_worst_gradient_asks_for() {
    let data = Data::normal(1000, 3, 1);
    let outcome = fit("projected", prediction(0.5), &data, 2);
    let (row, response) = (3f64.sqrt() + (2.0 * 20_000f64.ln()).sqrt(), 2.0 * 40_000f64.ln().sqrt());
    let gamma = row * (response + 2.0 * row);
    let sd = 2.0 * gamma / 1000.0 / (2.0 * 0.5 / 20.0f64).sqrt();
    assert!((outcome.summary.noise_sd / sd - 1.0).abs() < 1e-3, "{} {sd}", outcome.summary.noise_sd);
}
