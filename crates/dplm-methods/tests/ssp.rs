//! Sufficient statistics: least squares without noise, and intervals that cover with it.

use dplm::method::{Request, Target};

use crate::common::{Data, SLOPES, distance, estimates, fit, prediction, request};

/// Cells are rounded to the lattice, to 2^-12, and that is all.
#[test]
fn a_large_budget_gives_least_squares() {
    let data = Data::normal(3000, 4, 1);
    let outcome = fit("ssp", prediction(900.0), &data, 2);
    assert!(distance(&estimates(&outcome), &data.least_squares()) < 4e-3);
}

/// How often intervals of fresh fits hold the values, in hundredths of all.
fn coverage(rho: f64, target: Target, fits: u64) -> f64 {
    let mut held = 0usize;
    for seed in 0..fits {
        let data = Data::normal(1500, 3, 1000 + seed);
        let outcome = fit("ssp", Request { target: Some(target), ..request(rho) }, &data, seed);
        let truth = if target == Target::Sample { data.least_squares() } else { SLOPES.to_vec() };
        let within = |(one, value): (&dplm::Coefficient, &f64)| {
            one.precision.is_some_and(|precision| precision.low <= *value && *value <= precision.high)
        };
        held += outcome.coefficients.iter().zip(&truth).filter(|&pair| within(pair)).count();
    }
    held as f64 / (fits as usize * SLOPES.len()) as f64
}

/// 1200 intervals at 95 %: by chance below 0.92 or above 0.977 less often than once in a hundred
/// thousand.
#[test]
fn intervals_cover_the_population_and_the_sample() {
    for target in [Target::Population, Target::Sample] {
        let found = coverage(1.0, target, 400);
        assert!((0.92..0.977).contains(&found), "{target}: {found}");
    }
}

#[test]
fn a_budget_that_drowns_the_moments_is_refused_and_spends_nothing() {
    let data = Data::normal(100, 3, 1);
    let formula = data.formula("");
    let mut rows = data.rows(&crate::common::design(&formula, data.features()));
    let refusal =
        crate::common::fit_rows("ssp", (request(1e-4), dplm::method::Tuning::default()), &formula, &mut rows, 1);
    assert!(refusal.err().expect("refused").to_string().contains("too small"));
}

#[test]
fn other_targets_are_refused() {
    let data = Data::normal(100, 3, 1);
    let formula = data.formula("");
    let mut rows = data.rows(&crate::common::design(&formula, data.features()));
    let robust = Request { target: Some(Target::Robust), ..request(1.0) };
    let refusal = crate::common::fit_rows("ssp", (robust, dplm::method::Tuning::default()), &formula, &mut rows, 1);
    assert!(refusal.err().expect("refused").to_string().contains("no intervals for the target robust"));
}
