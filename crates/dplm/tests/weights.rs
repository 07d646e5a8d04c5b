//! Weighted rows: weighted least squares, with intervals for the population behind a sample with
//! unequal probabilities.

use dplm::{Coefficient, Fit, Lm, Warning, method::Target, report::to_json, table::Source};
use dplm_report::{Cover, to_html};
use rand_chacha::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// One row of the tables below.
#[derive(Clone, Copy)]
struct Row {
    y: f64,
    x: f64,
    b: bool,
    w: f64,
}

fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A sample in which a tenth of the population, with a line of its own, is drawn ten times as
/// often; weights are one over the probability.
fn sample(rows: usize, seed: u64) -> Vec<Row> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut found = Vec::new();
    while found.len() < rows {
        let rare = uniform(&mut rng) < 0.1;
        let probability = (0.5 + 0.5 * uniform(&mut rng)) * if rare { 1.0 } else { 0.1 };
        let [x, error]: [f64; 2] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
        let x = x.clamp(-3.0, 3.0);
        let (intercept, slope) = if rare { (3.0, 1.5) } else { (1.0, 0.5) };
        if uniform(&mut rng) < probability {
            let b = uniform(&mut rng) < 0.4;
            found.push(Row { y: intercept + slope * x + f64::from(b) + error, x, b, w: 1.0 / probability });
        }
    }
    found
}

/// The coefficients of the population that is sampled: of the intercept, of `x`, of the level.
const POPULATION: [f64; 3] = [1.2, 0.6, 1.0];

const FORMULA: &str = "y[-12..15] ~ x[-3..3] + g{a,b}";

fn table(rows: &[Row], weight: impl Fn(usize, f64) -> String) -> Source {
    let line = |(i, row): (usize, &Row)| {
        let level = if row.b { "b" } else { "a" };
        format!("{},{},{level},{},{}\n", row.y, row.x, weight(i, row.w), i / 2)
    };
    let text: String = rows.iter().enumerate().map(line).collect();
    Source::from_csv_stream(&mut format!("y,x,g,w,id\n{text}").as_bytes(), "rows").expect("a table")
}

fn as_is(_: usize, weight: f64) -> String {
    weight.to_string()
}

fn asked(rho: f64) -> Lm<'static> {
    dplm::lm(FORMULA).rho(rho).seed(3)
}

/// Weighted least squares by the normal equations, in plain arithmetic.
fn weighted_least_squares(rows: &[Row], weight: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut equations = [[0.0; 4]; 3];
    for (i, row) in rows.iter().enumerate() {
        let x = [1.0, row.x, f64::from(row.b), row.y];
        equations.iter_mut().zip(x).for_each(|(line, a)| {
            line.iter_mut().zip(x).for_each(|(sum, b)| *sum += weight(i) * a * b);
        });
    }
    for pivot in 0..3 {
        let line = equations[pivot].map(|value| value / equations[pivot][pivot]);
        for (other, equation) in equations.iter_mut().enumerate() {
            let factor = equation[pivot];
            let cleared = |j: usize| equation[j] - factor * line[j];
            *equation = if other == pivot { line } else { std::array::from_fn(cleared) };
        }
    }
    equations.iter().map(|line| line[3]).collect()
}

fn estimates(fit: &Fit) -> Vec<f64> {
    fit.coefficients.iter().map(|one| one.estimate.expect("identified")).collect()
}

/// Whole weights, also with a bound far above them: clipping is beyond every row, and noise below a
/// thousandth.
#[test]
fn with_a_huge_budget_a_fit_is_weighted_least_squares() {
    let rows = sample(4000, 1);
    let whole = |i: usize, _: f64| (i % 7).to_string();
    let source = table(&rows, whole);
    let expected = weighted_least_squares(&rows, |i| (i % 7) as f64);
    let unweighted = weighted_least_squares(&rows, |_| 1.0);
    assert!(expected.iter().zip(&unweighted).any(|(a, b)| (a - b).abs() > 0.01), "weights must matter");
    for (method, bound, tolerance) in [("auto", "w[0..6]", 0.002), ("auto", "w[0..1000]", 0.002)] {
        let lm = asked(900.0).method(method).weights(bound);
        let fit = lm.target(Target::Sample).fit_table(&source).expect("a fit");
        for (found, expected) in estimates(&fit).iter().zip(&expected) {
            assert!((found - expected).abs() < tolerance, "{method} {bound}: {found} for {expected}");
        }
    }
}

/// The paper's method takes weights of mean one, on standard columns.
#[test]
fn the_papers_method_weighs_rows_too() {
    let rows = sample(4000, 2);
    let weight = |i: usize| if rows[i].x * rows[i].y > 0.0 { 1.5 } else { 0.5 };
    let source = table(&rows, |i, _| weight(i).to_string());
    let sums: Vec<f64> = rows.iter().enumerate().fold(vec![0.0; 2], |sums, (i, row)| {
        vec![sums[0] + weight(i) * row.x * row.y, sums[1] + weight(i) * row.x * row.x]
    });
    let lm = dplm::lm("y ~ x + 0").rho(900.0).method("dpgd").weights("w[0..2]");
    let fit = lm.clip(200.0).seed(1).fit_table(&source).expect("a fit");
    let found = fit.coefficients[0].estimate.expect("identified");
    assert!((found - sums[0] / sums[1]).abs() < 0.005, "{found} {}", sums[0] / sums[1]);
}

fn covers(one: &Coefficient, truth: f64) -> bool {
    one.precision.as_ref().is_some_and(|found| found.low <= truth && truth <= found.high)
}

/// With coverage of 95 %, fewer than 65 of 80 intervals cover with probability 2e-6. The same rows
/// without weights are for another population, whose slope is 0.4 away.
#[test]
fn weighted_intervals_cover_the_population_that_was_sampled() {
    let fits = 80;
    let covered = |bound: Option<&'static str>| -> [usize; 3] {
        let found = (0..fits).into_par_iter().map(|seed| {
            let lm = dplm::lm(FORMULA).rho(1.0).seed(seed);
            let lm = bound.map_or(lm.clone(), |bound| lm.weights(bound));
            let fit = lm.fit_table(&table(&sample(3000, seed), as_is)).expect("a fit");
            std::array::from_fn(|j| usize::from(covers(&fit.coefficients[j], POPULATION[j])))
        });
        found.reduce(|| [0; 3], |a, b| std::array::from_fn(|j| a[j] + b[j]))
    };
    for bound in ["w[0..20]", "w[0..5000]"] {
        let found = covered(Some(bound));
        assert!(found.iter().all(|&covered| covered >= 65), "{bound}: {found:?} of {fits}");
    }
    let unweighted = covered(None);
    assert!(unweighted[1] < 8, "{unweighted:?} of {fits}");
}

/// A bound far above the weights costs little, as scales are found privately.
#[test]
fn a_bound_that_is_too_large_costs_little() {
    let source = table(&sample(6000, 5), as_is);
    let errors = |bound: &str| {
        let fit = asked(1.0).weights(bound).fit_table(&source).expect("a fit");
        fit.coefficients[1].precision.expect("identified").std_error
    };
    let near = errors("w[0..20]");
    for bound in ["w[0..500]", "w[0..50000]"] {
        let far = errors(bound);
        assert!(far < 1.25 * near, "{bound}: {far} against {near}");
    }
}

/// A row whose weight is missing, negative, not finite or 0 adds nothing, as if a cell of it were
/// missing. Weights above the bound count as the bound.
#[test]
fn a_weight_that_cannot_be_is_a_row_that_contributes_nothing() {
    let rows = sample(2000, 6);
    let json = |weight: &dyn Fn(usize, f64) -> String, lm: Lm<'static>| {
        to_json(&lm.weights("w[0..20]").fit_table(&table(&rows, weight)).expect("a fit"))
    };
    for lm in [asked(1.0), asked(1.0).person("id"), asked(1.0).memory(1)] {
        let missing = json(&|i, w| if i % 5 == 0 { String::new() } else { w.to_string() }, lm.clone());
        for other in ["-3", "-inf", "inf", "nan", "0", "x"] {
            let found = json(&|i, w| if i % 5 == 0 { other.to_owned() } else { w.to_string() }, lm.clone());
            assert!(found == missing, "{other}");
        }
        assert!(json(&as_is, lm.clone()) != missing);
        let at =
            |weight: &'static str| json(&|i, w| if i % 5 == 0 { weight.to_owned() } else { w.to_string() }, lm.clone());
        assert!(at("20") == at("1e9"));
    }
    assert!(json(&as_is, asked(1.0)) == json(&as_is, asked(1.0).memory(1)));
}

/// A person's rows are weighted one by one and clipped together; with one row each it is the fit of
/// the rows.
#[test]
fn persons_have_weighted_rows() {
    let rows = sample(3000, 7);
    let line = |(i, row): (usize, &Row)| format!("{},{},{},{}\n", row.y, row.x, row.w, (i * 7) % 3000);
    let text: String = rows.iter().enumerate().map(line).collect();
    let source = Source::from_csv_stream(&mut format!("y,x,w,id\n{text}").as_bytes(), "rows").expect("a table");
    let lm = || dplm::lm("y[-12..15] ~ x[-3..3]").rho(1.0).weights("w[0..20]").seed(3);
    let (of_rows, of_persons) =
        (lm().fit_table(&source).expect("a fit"), lm().person("id").fit_table(&source).expect("a fit"));
    assert_eq!(of_rows.coefficients, of_persons.coefficients);
    let two_each = asked(1.0).weights("w[0..20]").person("id").fit_table(&table(&rows, as_is)).expect("a fit");
    // The estimate is off by more than five standard errors with probability 6e-7.
    let (found, std_error) =
        (estimates(&two_each)[1], two_each.coefficients[1].precision.expect("identified").std_error);
    assert!((found - POPULATION[1]).abs() < 5.0 * std_error && std_error < 0.05, "{two_each}");
}

/// The fit stops, and names weights among the things to check.
#[test]
fn weights_that_are_all_zero_stop_the_fit() {
    let zeros = table(&sample(2000, 8), |_, _| "0".to_owned());
    let stopped = asked(1.0).weights("w[0..20]").fit_table(&zeros).expect_err("stopped").to_string();
    assert!(stopped.contains("weights or all terms are 0 in most rows"), "{stopped}");
}

/// The text for readers.
#[test]
fn a_weighted_fit_says_so() {
    let source = table(&sample(3000, 9), as_is);
    let fit = asked(1.0).weights("w[0..20]").fit_table(&source).expect("a fit");
    assert!(fit.target_text().starts_with("the weighted "));
    assert_eq!((fit.residual_sd, fit.r_squared), (None, None));
    let page = to_html(&fit, &Cover::default());
    assert!(page.contains("--weights 'w[0..20]'") && to_json(&fit).contains("\"weights\": \"w[0..20]\""));
    assert!(fit.to_string().contains("3,000 rows weighted by w[0..20]"), "{fit}");
    assert!(fit.to_string().replace('\n', " ").contains("a large weight counts for less than it says"), "{fit}");
    let refused = |weights: &str| asked(1.0).weights(weights).check().expect_err("refused").to_string();
    assert!(refused("w[1..20]").contains("w[0..50]") && refused("w").contains("w[0..50]"));
    let far = asked(1.0).weights("w[0..1e9]").fit_table(&source).expect("a fit");
    assert!(far.warnings.iter().any(|warning| matches!(warning, Warning::WeightBound { .. })), "{far}");
    let unknown = asked(1.0).weights("v[0..20]").fit_table(&source).expect_err("refused").to_string();
    assert!(unknown.contains("'v'"), "{unknown}");
}

/// `.` stands for data columns, not for weights.
#[test]
fn a_dot_leaves_weights_out() {
    use dplm::{
        Reading,
        formula::Formula,
        table::{Field, Schema, Type},
    };
    let schema = Schema::new(["y", "x", "w"].map(|name| Field::new(name, Type::Number)).into());
    let reading = Reading { weights: Some("w[0..5]".parse().expect("weights")), ..Reading::default() };
    let model = reading.model(&Formula::parse("y ~ .").expect("a formula"), &schema).expect("a model");
    assert_eq!(model.coefficient_names(), ["(Intercept)", "x"]);
    assert_eq!(reading.design(&model).columns().len(), 3);
}
