//! BoostedAdaSSP: it settles at least squares, and its error is what noise makes it.

use dplm::method::Tuning;

use crate::common::{Data, SLOPES, design, distance, estimates, fit, fit_rows, prediction};

/// At a large budget the ridge slows the steps and does not move the point where they settle;
/// hardly any gradient is clipped at 100.
#[test]
fn a_large_budget_gives_least_squares() {
    let data = Data::normal(3000, 4, 1);
    let formula = data.formula("");
    let tuning = Tuning { clip: Some(100.0), steps: Some(30), step_size: None };
    let outcome = fit_rows(
        "boosted-adassp",
        (prediction(900.0), tuning),
        &formula,
        &mut data.rows(&design(&formula, data.features())),
        2,
    );
    assert!(distance(&estimates(&outcome.expect("a fit")), &data.least_squares()) < 0.02);
}

/// The mean error over seeds is that of the noise in the mean of the last five rounds, which the
/// summary states, and of the draw of the rows.
#[test]
fn its_error_is_that_of_its_noise() {
    let (rows, fits) = (4000, 60);
    let error_sq = (0..fits).map(|seed| {
        let data = Data::normal(rows, 3, 50 + seed);
        let outcome = fit("boosted-adassp", prediction(0.5), &data, seed);
        let noise_sq = outcome.summary.noise_sd.powi(2) / 5.0 * 3.0;
        (distance(&estimates(&outcome), &SLOPES).powi(2), noise_sq + 3.0 / rows as f64)
    });
    let (found, expected) = error_sq.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    // A sum of 180 squares: its relative sd is 0.1, and clipping, correlated rounds and the ridge
    // are within the rest.
    assert!((0.5..2.0).contains(&(found / expected)), "{found} {expected}");
}
