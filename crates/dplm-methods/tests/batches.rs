//! Methods that fit many batches: the middle of the fits, found as exactly as the budget says, and
//! hardly moved by outliers.

use dplm::{method::Tuning, privacy::Mechanism};

use crate::common::{Data, SLOPES, design, distance, estimates, fit, fit_rows, prediction, request};

/// The median of each coefficient over the fits of `batches` batches, in floats and in the clear;
/// row `i` is in batch `i mod batches`.
fn medians(data: &Data, batches: usize) -> Vec<f64> {
    let of_batch = |batch: usize| {
        let take = |row: usize| row % batches == batch;
        let x = (0..data.y.len()).filter(|row| take(*row)).map(|row| data.x[row].clone()).collect();
        let y = (0..data.y.len()).filter(|row| take(*row)).map(|row| data.y[row]).collect();
        Data { x, y }.least_squares()
    };
    let fits: Vec<Vec<f64>> = (0..batches).map(of_batch).collect();
    let median = |j: usize| {
        let mut values: Vec<f64> = fits.iter().map(|fit| fit[j]).collect();
        values.sort_by(f64::total_cmp);
        0.5 * (values[(batches - 1) / 2] + values[batches / 2])
    };
    (0..data.features()).map(median).collect()
}

/// The release says how many batches there were.
fn batches(outcome: &dplm::method::Outcome) -> usize {
    let what = &outcome.releases[0].what;
    what.split(' ').find_map(|word| word.parse().ok()).expect("a number of batches")
}

/// At a large budget the deepest points are drawn: medians of the fits, up to half of the gap
/// between the two in the middle. Forty fits scatter by 0.1, so that the gap is about 0.01.
#[test]
fn a_large_budget_gives_medians_of_the_fits() {
    let data = Data::normal(4000, 3, 1);
    for (name, first) in
        [("tukey", Mechanism::Exponential), ("tukey-tested", Mechanism::Test), ("medians", Mechanism::Exponential)]
    {
        let outcome = fit(name, prediction(900.0), &data, 2);
        let expected = medians(&data, batches(&outcome));
        assert!(distance(&estimates(&outcome), &expected) < 0.03, "{name}: {:?} {expected:?}", estimates(&outcome));
        assert_eq!(outcome.releases[0].mechanism, first);
    }
}

/// Medians of normal fits are 1.57 times as variable as their mean, small batches up to 1.5 times
/// as large ones, and the choice adds as much again.
#[test]
fn the_error_is_that_of_medians() {
    for (name, most) in [("tukey", 6.0), ("tukey-tested", 6.0), ("medians", 6.0)] {
        let (fits, rows) = (30, 20_000);
        let found = (0..fits).map(|seed| {
            let data = Data::normal(rows, 3, 90 + seed);
            distance(&estimates(&fit(name, prediction(0.5), &data, seed)), &SLOPES).powi(2)
        });
        let ratio = found.sum::<f64>() / fits as f64 / (3.0 / rows as f64);
        assert!((1.0..most).contains(&ratio), "{name}: {ratio}");
    }
}

/// One row in a hundred has a slope of 100: it spoils its pair, and nearly all pairs are whole.
#[test]
fn outliers_spoil_batches_and_not_the_fit() {
    let mut data = Data::normal(20_000, 1, 9);
    (0..200).for_each(|k| data.y[k * 100] = 100.0 * data.x[k * 100][0]);
    let outcome = fit("theil-sen", prediction(1.0), &data, 1);
    let (robust, plain) = (distance(&estimates(&outcome), &SLOPES[..1]), distance(&data.least_squares(), &SLOPES[..1]));
    assert!(robust < 0.05 && plain > 0.5, "{robust} {plain}");
}

#[test]
fn theil_sen_says_what_it_needs() {
    let data = Data::normal(1000, 2, 1);
    let formula = data.formula("");
    let mut rows = data.rows(&design(&formula, 2));
    let asked = (prediction(1.0), Tuning::default());
    let refusal = fit_rows("theil-sen", asked, &formula, &mut rows, 1).err().expect("refused").to_string();
    assert!(refusal.contains("one feature"), "{refusal}");
}

/// What the published test would spend budget on follows from public numbers.
#[test]
fn too_few_batches_for_the_budget_are_refused() {
    let data = Data::normal(300, 3, 1);
    let formula = data.formula("");
    for name in ["tukey", "tukey-tested", "medians"] {
        let mut rows = data.rows(&design(&formula, 3));
        let asked = (prediction(0.01), Tuning::default());
        let refusal = fit_rows(name, asked, &formula, &mut rows, 1).err().expect("refused").to_string();
        assert!(refusal.contains("budget is too small"), "{refusal}");
    }
    assert!(
        fit_rows("tukey", (request(1.0), Tuning::default()), &formula, &mut data.rows(&design(&formula, 3)), 1)
            .is_err()
    );
}

/// With about as many batches as a plan asks for at the least, the test passes on normal fits: of
/// 60, none fails but once in a thousand such tests, where one fit in a thousand may. Nothing is
/// known of scales: a response ten times as large does not matter.
#[test]
fn a_test_that_is_planned_passes() {
    for seed in 0..60 {
        let mut data = Data::normal(1300, 2, 700 + seed);
        data.y.iter_mut().for_each(|y| *y *= 10.0);
        let outcome = fit("tukey-tested", prediction(1.0), &data, seed);
        let tens: Vec<f64> = SLOPES[..2].iter().map(|slope| 10.0 * slope).collect();
        assert!(outcome.warnings.is_empty() && distance(&estimates(&outcome), &tens) < 3.0, "{:?}", outcome.warnings);
    }
}

/// Slopes of eight columns spread evenly over nineteen doublings either way, so that each layer
/// holds many times the points of the next: the fit says that the test failed, and gives no
/// estimate.
#[test]
fn fits_that_agree_on_nothing_fail_the_test() {
    let (rows, features) = (4000, 8);
    let mut data = Data::normal(rows, features, 3);
    let batches = batches(&fit("tukey-tested", prediction(2.0), &data, 1));
    let cell = 1.0 / 4096.0;
    for row in 0..rows {
        let middle = (row % batches) as f64 - 0.5 * batches as f64;
        data.x[row] = vec![0.0; features];
        data.x[row][row / batches % features] = cell;
        data.y[row] = cell * middle.signum() * (38.0 * middle.abs() / batches as f64).exp2().floor();
    }
    for seed in 0..20 {
        let outcome = fit("tukey-tested", prediction(2.0), &data, seed);
        assert!(outcome.coefficients.iter().all(|one| one.estimate.is_none() && !one.identified));
        assert_eq!(outcome.warnings, [dplm::Warning::TestFailed]);
    }
}
