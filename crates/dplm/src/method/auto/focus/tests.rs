//! Fits of coefficients of interest, against least squares in the clear.

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::super::{Choices, Config};
use crate::{
    Dataset, Fit, NoiseSource, Person, Progress, Reading,
    formula::Formula,
    method::{Request, Target},
    privacy::Rho,
    table::Source,
};

/// How columns go together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Independent,
    Chain,
    Pairs,
    Alike,
    Twins,
}

impl Shape {
    fn row(self, normal: &mut dyn FnMut() -> f64, p: usize) -> Vec<f64> {
        let mut row: Vec<f64> = (0..p).map(|_| normal()).collect();
        let own = normal();
        match self {
            Shape::Independent => {}
            Shape::Chain => (1..p).for_each(|j| row[j] = 0.8 * row[j - 1] + 0.6 * row[j]),
            Shape::Pairs => (1..p).step_by(2).for_each(|j| row[j] = 0.9 * row[j - 1] + 0.19f64.sqrt() * row[j]),
            Shape::Alike => row.iter_mut().for_each(|x| *x = 0.5f64.sqrt() * (own + *x)),
            Shape::Twins => row[p - 1] = row[p - 2] + 0.1 * row[p - 1],
        }
        row
    }
}

/// A table, its model, and the least-squares estimate and standard error of `x1`.
struct Drawn {
    source: Source,
    formula: Formula,
}

fn drawn(shape: Shape, rows: usize, p: usize, seed: u64) -> Drawn {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = (0..=p).map(|j| if j == 0 { "y".to_owned() } else { format!("x{j}") }).collect::<Vec<_>>().join(",");
    for _ in 0..rows {
        let row = shape.row(&mut normal, p);
        let signal: f64 = row.iter().enumerate().map(|(j, x)| beta(j) * x).sum();
        text += &format!("\n{}", signal + normal());
        row.iter().for_each(|x| text += &format!(",{x}"));
    }
    let columns: Vec<String> = (1..=p).map(|j| format!("x{j}[-6..6]")).collect();
    let source = Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("a table");
    Drawn { source, formula: Formula::parse(&format!("y[-12..12] ~ {}", columns.join(" + "))).expect("a formula") }
}

/// The coefficients.
fn beta(j: usize) -> f64 {
    [0.5, -0.3, 0.2, 0.0][j % 4]
}

fn fit(drawn: &Drawn, focus: &[&str], rho: f64, target: Option<Target>, seed: u64) -> Fit {
    let request = Request {
        focus: focus.iter().map(|one| (*one).to_owned()).collect(),
        target,
        ..Request::new(Rho::checked_from_f64(rho).expect("a budget"))
    };
    let mut data = Dataset::read(&drawn.source, &drawn.formula, &Reading::default()).expect("rows");
    let config = Config { choices: Choices::DEFAULT, ..Config::new(request) };
    data.fit(&config, NoiseSource::Seed(seed), Progress::NONE).expect("a fit")
}

/// Among controls that explain it, a coefficient is covered and its interval short. Of 40 intervals
/// of 95 % more than 9 fail with a probability below 1e-4.
#[test]
fn a_coefficient_of_interest_is_covered() {
    for (shape, rows, p, rho) in [(Shape::Chain, 10_000, 10, 0.05), (Shape::Independent, 10_000, 10, 0.015)] {
        let found: Vec<(f64, f64, f64)> = (0..40u64)
            .into_par_iter()
            .map(|seed| {
                let fit = fit(&drawn(shape, rows, p, seed), &["x2"], rho, Some(Target::Robust), seed);
                let one = &fit.coefficients[2];
                let precision = one.precision.unwrap_or_else(|| panic!("identified: {:?}", fit.warnings));
                (one.estimate.expect("identified"), precision.low, precision.high)
            })
            .collect();
        let missed = found.iter().filter(|(_, low, high)| *low > beta(1) || *high < beta(1)).count();
        let length = found.iter().map(|(_, low, high)| high - low).sum::<f64>() / found.len() as f64;
        let variance = if shape == Shape::Chain { 0.36 / (1.0 + 0.64) } else { 1.0 };
        let classical = 2.0 * 1.96 / (rows as f64 * variance).sqrt();
        println!("{shape:?} {rows} {p} {rho}: missed {missed} of 40, length {:.3}", length / classical);
        assert!(missed <= 9, "{shape:?}: {missed} of 40");
        assert!(length / classical < 1.5, "{shape:?}: {}", length / classical);
    }
}

/// A direction of the controls that the budget cannot resolve, and that matters both for the
/// response and for the column of interest, would bias the coefficient by many standard errors, and
/// nothing released could show it: in every fit it is in the model, or the control that it belongs
/// to is named. Of 16 intervals of 95 % more than 5 fail with a probability below 1e-3.
#[test]
fn a_direction_of_the_controls_is_resolved_or_named() {
    for apart in [0.3f64, 0.03] {
        let fits: Vec<Fit> = (0..16u64)
            .into_par_iter()
            .map(|seed| fit(&confounded(apart, 300 + seed), &["x"], 0.05, Some(Target::Robust), seed))
            .collect();
        let (named, controlled): (Vec<&Fit>, Vec<&Fit>) =
            fits.iter().partition(|fit| fit.focus.as_ref().is_some_and(|focus| !focus.not_controlled_for.is_empty()));
        let missed = |fit: &&&Fit| {
            let precision = fit.coefficients[1].precision.expect("identified");
            precision.low > 0.3 || precision.high < 0.3
        };
        assert!(controlled.iter().filter(missed).count() <= 5, "{apart}: {} with all controls", controlled.len());
        let says_so = |fit: &&&Fit| fit.focus.as_ref().is_some_and(|focus| focus.not_controlled_for == ["c8"]);
        assert_eq!(named.iter().filter(says_so).count(), named.len(), "{apart}");
        println!("{apart}: {} of 16 with a control that is named, the others with all", named.len());
    }
}

/// Eight controls, of which the last two differ in a direction `d` alone, which
/// `y = 0.3 x + 0.7 d + error` and `x = 0.6 d + ...` both depend on.
fn confounded(apart: f64, seed: u64) -> Drawn {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let controls: Vec<String> = (1..=8).map(|j| format!("c{j}")).collect();
    let mut text = format!("y,x,{}", controls.join(","));
    for _ in 0..10_000 {
        let mut row: Vec<f64> = (0..8).map(|_| normal()).collect();
        let d = normal();
        row[7] = row[6] + apart * d;
        let x = 0.6 * d + 0.8 * normal();
        text += &format!("\n{},{x}", 0.3 * x + 0.7 * d + 0.2 * row[0] + normal());
        row.iter().for_each(|cell| text += &format!(",{cell}"));
    }
    let source = Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("a table");
    let bounded: Vec<String> = controls.iter().map(|name| format!("{name}[-6..6]")).collect();
    let formula = format!("y[-12..12] ~ x[-6..6] + {}", bounded.join(" + "));
    Drawn { source, formula: Formula::parse(&formula).expect("a formula") }
}

/// Controls are in the model and nowhere in what is said of the fit, also once it was saved.
#[test]
fn controls_are_not_reported() {
    let drawn = drawn(Shape::Independent, 10_000, 10, 7);
    let fit = fit(&drawn, &["x2, x3"], 0.1, Some(Target::Robust), 7);
    let names: Vec<&str> = fit.reported().map(|one| one.name.as_str()).collect();
    assert_eq!((names, fit.controls()), (vec!["x2", "x3"], 9));
    let document = crate::report::to_json(&fit);
    let facts: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(facts["coefficients"].as_array().map(Vec::len), Some(2));
    assert_eq!((facts["controls"]["count"].as_u64(), facts["controls_status"].as_str()), (Some(9), Some("all")));
    let text = fit.to_string();
    assert!(text.contains("The other 9 coefficients are controls") && !text.contains("x4  "), "{text}");
    assert_eq!(Fit::from_json(&document).expect("a fit"), fit);
    let test = |text: &str| fit.wald_test(&fit.hypothesis(text).expect("a hypothesis"));
    assert!(test("x2 = x3").expect("a test").found.is_some());
    assert!(test("x2 = x4").expect_err("refused").to_string().contains("'x4' is a control"));
    let refused = fit.predict(&drawn.source, &crate::table::ReadOptions::default()).expect_err("refused");
    assert!(refused.to_string().contains("cannot predict"), "{refused}");
    assert_eq!(fit.intervals(0.9).expect("intervals").len(), 2);
}

/// What cannot be meant, and what public numbers show to be too little, is refused before anything
/// is spent.
#[test]
fn what_makes_no_sense_is_refused() {
    let drawn = drawn(Shape::Independent, 2000, 10, 8);
    let mut data = Dataset::read(&drawn.source, &drawn.formula, &Reading::default()).expect("rows");
    let mut refused = |focus: &str, rho: f64| {
        let focus = vec![focus.to_owned()];
        let request = Request { focus, ..Request::new(Rho::checked_from_f64(rho).expect("a budget")) };
        let prepared = data.prepare(&Config::new(request), NoiseSource::Seed(1)).err();
        prepared.expect("refused").to_string()
    };
    assert!(refused("x11", 1.0).contains("name 1 of the focus is no term or coefficient"));
    assert!(refused("(Intercept)", 1.0).contains("the constant"));
    assert!(refused("x1, x2, x3, x4, x5, x6, x7, x8, x9, x10", 1.0).contains("no controls"));
    assert!(refused("x1", 0.001).contains("too small to tell 10 controls apart"));
}

/// A table of what fits give, to look at when a rule is changed:
/// `cargo test -p dplm --lib focus::tests::grid -- --ignored --nocapture`.
#[test]
#[ignore = "takes minutes"]
fn grid() {
    let draws = std::env::var("DRAWS").ok().and_then(|draws| draws.parse().ok()).unwrap_or(40u64);
    for (rows, p, rho) in [(10_000, 20, 0.05), (10_000, 10, 0.015)] {
        for shape in [Shape::Independent, Shape::Chain, Shape::Pairs, Shape::Alike, Shape::Twins] {
            for target in [Some(Target::Robust), Some(Target::Population)] {
                grid_cell(shape, rows, p, rho, target, draws);
            }
        }
    }
}

fn grid_cell(shape: Shape, rows: usize, p: usize, rho: f64, target: Option<Target>, draws: u64) {
    let fits: Vec<Fit> = (0..draws)
        .into_par_iter()
        .map(|seed| fit(&drawn(shape, rows, p, 100 + seed), &["x2"], rho, target, seed))
        .collect();
    let printed: Vec<(f64, f64, f64)> = fits
        .iter()
        .filter_map(|fit| Some((fit.coefficients[2].estimate?, fit.coefficients[2].precision?)))
        .map(|(estimate, precision)| (estimate, precision.low, precision.high))
        .collect();
    let n = printed.len().max(1) as f64;
    let covered = printed.iter().filter(|(_, low, high)| *low <= beta(1) && beta(1) <= *high).count() as f64 / n;
    let classical = 1.0 / (rows as f64 * shape.partial_variance(p)).sqrt();
    let length = printed.iter().map(|(_, low, high)| high - low).sum::<f64>() / n / (2.0 * 1.96 * classical);
    let rmse = (printed.iter().map(|(one, ..)| (one - beta(1)).powi(2)).sum::<f64>() / n).sqrt() / classical;
    let dropped = fits.iter().filter(|fit| !fit.left_out.is_empty()).count();
    let least = fits.iter().filter(|fit| fit.target == Target::Population).count();
    let ways = fits.iter().filter(|fit| fit.trajectories.is_empty()).count();
    println!(
        "{shape:?} n {rows} p {p} rho {rho} {target:?}: {} printed, covered {:.1} %, length {length:.3}, rmse {rmse:.3}, \
         {dropped} with columns left out, {least} least squares, {ways} by partialling out",
        printed.len(),
        100.0 * covered,
    );
    if std::env::var("SHOW").is_ok() {
        for release in &fits[0].guarantee.releases {
            println!("    {:60} {:.4}", release.what, release.rho.to_f64() / rho);
        }
        println!("    {:?}", fits[0].warnings);
    }
}

impl Shape {
    /// The variance of `x2` given all others.
    fn partial_variance(self, p: usize) -> f64 {
        match self {
            Shape::Independent | Shape::Twins => 1.0,
            Shape::Chain => 0.36 / 1.64,
            Shape::Pairs => 0.19,
            Shape::Alike => 0.5 * (p as f64 + 1.0) / p as f64,
        }
    }
}

/// A person's score is the sum over their rows, clipped as a whole, so that its variance is that of
/// persons, and weights multiply rows. Of 12 intervals of 95 % more than 4 fail with a probability
/// below 1e-3.
#[test]
fn persons_weights_and_levels_are_covered() {
    for (weights, person) in [(None, true), (Some("w[0..5]"), false)] {
        let missed: usize = (0..6u64)
            .into_par_iter()
            .map(|seed| {
                let fit = panel(400 + seed, weights, person);
                let truths = [(1, 1.0), (3, 3.0)];
                let is_missed = |&(place, truth): &(usize, f64)| {
                    let one = fit.coefficients[place].precision;
                    let precision = one.unwrap_or_else(|| panic!("identified: {:?}", fit.warnings));
                    precision.low > truth || precision.high < truth
                };
                truths.iter().filter(|one| is_missed(one)).count()
            })
            .sum();
        assert!(missed <= 4, "{weights:?} {person}: {missed} of 12");
    }
}

/// 4,000 persons with four rows each, whose errors are alike:
/// `y = educ + exper / 5 + 3 union + person + error`.
fn panel(seed: u64, weights: Option<&str>, person: bool) -> Fit {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = move || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "id,w,y,educ,exper,union,region".to_owned();
    for id in 0..4000 {
        let (own, educ) = (2.0 * normal(), (13.0 + 3.0 * normal()).clamp(0.0, 26.0));
        for row in 0..4 {
            let (exper, union, w) = ((20.0 + 6.0 * normal()).clamp(0.0, 40.0), normal() > 0.5, 1 + row % 3);
            let shared = if person { own } else { 0.0 };
            let y = educ + exper / 5.0 + 3.0 * f64::from(union) + shared + 4.0 * normal();
            let (union, region) = (if union { "yes" } else { "no" }, ["n", "s"][row % 2]);
            text += &format!("\n{id},{w},{y},{educ},{exper},{union},{region}");
        }
    }
    let source = Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("a table");
    let formula = "y[-30..70] ~ educ[0..26] + exper[0..40] + union{no,yes} + region{n,s}";
    let person = person.then(|| Person { rows: Some(4), ..Person::new("id") });
    let weights = weights.map(|weights| weights.parse().expect("weights"));
    let reading = Reading { person: person.clone(), weights, ..Reading::default() };
    let formula = Formula::parse(formula).expect("a formula");
    let mut data = Dataset::read(&source, &formula, &reading).expect("rows");
    let focus = vec!["educ".to_owned(), "union".to_owned()];
    let request = Request { focus, person, ..Request::new(Rho::checked_from_f64(0.3).expect("a budget")) };
    data.fit(&Config::new(request), NoiseSource::Seed(seed), Progress::NONE).expect("a fit")
}
