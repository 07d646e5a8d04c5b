//! The true coefficients of a population, compared with closed forms.

use super::*;

fn world(design: &str, errors: &str) -> World {
    World::new(Design::named(design, 10_000, None).expect("a design"), Errors::named(errors).expect("errors"))
}

/// With 400,000 rows a coefficient of unit errors and columns has a standard error of .0016.
const ROWS: u64 = 400_000;

fn coefficients(world: &World, left_out: &[&str]) -> Vec<Option<f64>> {
    let left_out: Vec<String> = left_out.iter().map(|&name| name.to_owned()).collect();
    world.population(ROWS, 1).least_squares(&left_out).coefficients
}

/// False-alarm rate below 1e-6 for each number: five standard errors of the sandwich formula on as
/// many rows.
fn assert_near(found: Option<f64>, expected: f64, error: f64) {
    let found = found.expect("a coefficient");
    assert!((found - expected).abs() < 5.0 * error, "{found} is not {expected}");
}

#[test]
fn the_whole_model_has_the_coefficients_it_was_made_with() {
    let found = coefficients(&world("correlated 0.9 100", "normal"), &[]);
    [(1.0, 0.0016), (1.0, 0.0037), (100.0, 0.37)]
        .iter()
        .zip(found)
        .for_each(|(&(truth, error), found)| assert_near(found, truth, error));
    let found = coefficients(&world("powers", "normal"), &[]);
    let truth = [(4.2, 0.02), (0.086, 3e-4), (0.12, 6e-4), (-0.0046, 3e-5), (5.5e-5, 4e-7), (-0.18, 0.0033)];
    truth.iter().zip(found).for_each(|(&(truth, error), found)| assert_near(found, truth, error));
}

/// Without z, x absorbs what it explains of it: 1 + .9.
#[test]
fn a_column_left_out_is_taken_up_by_the_others() {
    let found = coefficients(&world("correlated 0.9 100", "normal"), &["z"]);
    assert_near(found[1], 1.9, 0.0018);
    assert_eq!(found[2], None);
}

/// The mean of the levels that share the reference, and the differences from it.
#[test]
fn a_level_left_out_joins_the_reference() {
    let world = world("rare 1000", "normal");
    let found = coefficients(&world, &["group[second]"]);
    assert_near(found[0], 0.25, 0.003);
    assert_near(found[3], -0.75, 0.005);
    assert_eq!(world.coefficients(), ["(Intercept)", "x", "group[second]", "group[third]", "group[rare]"]);
}

#[test]
fn a_column_that_repeats_another_has_no_coefficient() {
    let found = coefficients(&world("duplicate", "normal"), &[]);
    assert_eq!(found[3], None);
    assert_near(found[1], 0.7, 0.0016);
    let found = coefficients(&world("duplicate", "normal"), &["x"]);
    assert_eq!(found[1], None);
    assert_near(found[3], 0.7, 0.0016);
}

/// A row with a missing cell counts for nothing.
#[test]
fn missing_cells_leave_the_coefficients_alone() {
    let world = world("controls 2", "missing 0.2");
    assert_near(coefficients(&world, &[])[1], 0.5f64.sqrt(), 0.0018);
    let sample = world.sample(5000, 3);
    let missing = |cells: &[f64]| cells.iter().filter(|cell| cell.is_nan()).count();
    let gone: usize = sample.columns.iter().map(|cells| missing(cells)).sum::<usize>() + missing(&sample.response);
    // Binomial with 5,000 rows and .2: five standard deviations are 141.
    assert!((859..=1141).contains(&gone), "{gone}");
    let table = world.table(&sample);
    assert_eq!(table.columns().iter().map(|column| column.null_count()).sum::<usize>(), gone);
}

/// White's formula if the error variance depends on the column: the variance of the slope is
/// `E[x^2 e^2] / n`, with `E[x^2 (1 + 2 x^2) / 3] = 7/3`.
#[test]
fn standard_errors_allow_for_the_spread() {
    let world = world("controls 1", "heteroskedastic");
    let rows = 40_000;
    let fit = world.least_squares(&world.sample(rows, 5), &[]);
    let [intercept, slope] = [fit.std_errors[0], fit.std_errors[1]].map(|error| error.expect("a standard error"));
    let unit = (rows as f64).sqrt().recip();
    assert!((intercept / unit - 1.0).abs() < 0.05, "{intercept}");
    assert!((slope / unit - (7.0f64 / 3.0).sqrt()).abs() < 0.15, "{slope}");
}

/// Standardised columns of any units: standard errors are in the columns' own.
#[test]
fn standard_errors_are_in_own_units() {
    let world = world("correlated 0.9 100", "normal");
    let fit = world.least_squares(&world.sample(40_000, 5), &[]);
    let slope = fit.std_errors[2].expect("a standard error");
    let expected = 100.0 / (40_000.0 * (1.0 - 0.81f64)).sqrt();
    assert!((slope / expected - 1.0).abs() < 0.05, "{slope}, {expected}");
}

/// Cells beyond their bounds are clamped before anything is computed.
#[test]
fn bounds_cut_what_is_beyond_them() {
    let world = world("incomes", "normal");
    let sample = world.sample(2000, 1);
    assert!(sample.columns[0].iter().any(|&cell| cell > 100.0));
    world.for_each_row(&sample, |row, _| assert!(row[1] <= 100.0 && row[2] <= 100.0));
}

#[test]
fn every_error_has_mean_zero_and_its_spread() {
    let names =
        ["normal", "heteroskedastic", "exponential", "lognormal", "skew by x", "outliers", "t3", "missing 0.05"];
    for name in names {
        let errors = Errors::named(name).expect("errors");
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let draws: Vec<f64> = (0..400_000)
            .map(|_| {
                let s = normal(&mut rng);
                errors.draw(s, &mut rng)
            })
            .collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|e| e * e).sum::<f64>() / n;
        // One in a hundred with a variance of 100 adds .99.
        let expected = if name == "outliers" { 1.99 } else { 1.0 };
        assert!(mean.abs() < 5.0 * (expected / n).sqrt(), "{name}: {mean}");
        // The fourth moment of the heaviest does not exist; the others are within 3 %.
        let within = if matches!(name, "t3" | "lognormal") { 0.3 } else { 0.06 };
        assert!((variance / expected - 1.0).abs() < within, "{name}: {variance}");
    }
}

#[test]
fn a_share_of_variance_is_explained_as_its_name_says() {
    for r2 in [0.001, 0.5, 0.999] {
        let world = world("controls 5", &format!("r2 {r2}"));
        let sample = world.sample(20_000, 2);
        let total: f64 = sample.response.iter().map(|y| (y - 0.5).powi(2)).sum::<f64>() / 20_000.0;
        assert!((world.error_sd.powi(2) / total / (1.0 - r2) - 1.0).abs() < 0.06, "{r2}");
        let outside = sample.response.iter().filter(|y| **y != world.clamped(**y)).count();
        assert_eq!(outside, 0, "{r2}");
    }
}

/// The mean of the response is a sum of two columns over the root of 2, which has variance 1; a
/// share of 20,000 rows, and a coefficient, is off by less than 5 of its errors.
#[test]
fn a_logit_has_the_coefficients_it_was_made_with() {
    let world = world("controls 2", "logit 0.3");
    let sample = world.sample(20_000, 3);
    let found = world.coefficients_of(&sample, &[]);
    for (value, error) in found.values.iter().zip(&found.std_errors).skip(1) {
        assert_near(*value, 0.5f64.sqrt(), error.expect("a standard error") + 0.005);
        assert!((0.015..0.02).contains(&error.unwrap()), "{error:?}");
    }
    let share = sample.response.iter().sum::<f64>() / 20_000.0;
    assert!((share - 0.3).abs() < 0.02, "{share}");
    let without = world.known(50_000, 4).coefficients(&["x2".to_owned()]);
    assert!(without.values[2].is_none() && without.values[1].is_some());
}

#[test]
fn rows_of_a_person_say_less_than_as_many_of_others() {
    let error = |name: &str| {
        let world = world("controls 1", name);
        world.coefficients_of(&world.sample(12_000, 5), &[]).std_errors[0].expect("a standard error")
    };
    let ratio = error("persons 4 logit 0.5") / error("logit 0.5");
    assert!((1.1..1.5).contains(&ratio), "{ratio}");
}

/// Neither a slope that tells every outcome, nor that of a level in which all are one.
#[test]
fn what_is_separated_has_no_coefficient() {
    let coefficients = |design: &str, errors: &str| {
        let world = world(design, errors);
        world.coefficients_of(&world.sample(5000, 6), &[]).values
    };
    assert_eq!(coefficients("controls 2", "separated 0.5")[1..], [None, None]);
    let of_levels = coefficients("rare 300", "certain logit 0.3");
    assert!(of_levels[4].is_none() && of_levels[..4].iter().all(Option::is_some), "{of_levels:?}");
}

#[test]
fn names_that_mean_nothing_are_refused() {
    for name in ["controls", "controls many", "nothing 3", "cps1988 fresh"] {
        assert!(Design::named(name, 100, None).is_err(), "{name}");
    }
    for name in ["", "r2 0", "r2 1.5", "skew", "logit", "logit 1", "persons logit 0.5"] {
        assert!(Errors::named(name).is_none(), "{name}");
    }
}

#[test]
fn the_formula_is_one_the_program_reads() {
    for design in ["controls 3", "powers", "rare 100", "months", "hours", "cps1988 wide", "far corner"] {
        let world = world(design, "r2 0.3");
        let parsed = dplm::formula::Formula::parse(&world.formula()).expect("a formula");
        assert!(parsed.without_bounds().is_empty());
    }
}

/// A tenth more for a column of variance 36, whose mean the constant makes up for.
#[test]
fn predictions_are_off_by_what_coefficients_are() {
    let moments = world("far corner", "normal").population(ROWS, 1);
    let mut found: Vec<f64> = moments.least_squares(&[]).coefficients.into_iter().map(Option::unwrap).collect();
    assert!(moments.excess(&found).abs() < 1e-9);
    found[0] -= 98.0;
    found[1] += 0.1;
    assert!((moments.excess(&found) - 0.36).abs() < 0.01);
}
