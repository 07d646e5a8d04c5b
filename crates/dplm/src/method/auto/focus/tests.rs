//! Fits of coefficients of interest, against least squares in the clear.

use faer::Mat;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::super::{Choices, Config, IndexRule};
use crate::{
    Dataset, Fit, NoiseSource, Person, Precision, Progress, Reading, Receipt, Refinement,
    formula::Formula,
    lattice::Design,
    matrix::{inverse, times, transposed_times},
    method::{self, Request, Target},
    plan::{Assumed, Foretold, Way},
    privacy::Rho,
    table::Source,
};

/// How columns go together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    Independent,
    Chain,
}

impl Shape {
    fn row(self, normal: &mut dyn FnMut() -> f64, p: usize) -> Vec<f64> {
        let mut row: Vec<f64> = (0..p).map(|_| normal()).collect();
        if self == Shape::Chain {
            (1..p).for_each(|j| row[j] = 0.8 * row[j - 1] + 0.6 * row[j]);
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
    fit_by(same, drawn, focus, rho, target, seed)
}

fn fit_by(by: fn(Config) -> Config, drawn: &Drawn, focus: &[&str], rho: f64, target: Option<Target>, seed: u64) -> Fit {
    let request = Request {
        focus: focus.iter().map(|one| (*one).to_owned()).collect(),
        target,
        ..Request::new(Rho::checked_from_f64(rho).expect("a budget"))
    };
    let mut data = Dataset::read(&drawn.source, &drawn.formula, &Reading::default()).expect("rows");
    let config = Config { choices: Choices::DEFAULT, ..Config::new(request) };
    data.fit(&by(config), NoiseSource::Seed(seed), Progress::NONE).expect("a fit")
}

/// Among controls that explain it, a coefficient is covered and its interval short: as short as the
/// two limits say, which are a tenth above what 160 other tables gave. Of 40 intervals of 95 % more
/// than 7 fail with a probability of 7e-4; the sum of the squares of 40 errors, in standard errors,
/// is outside of what it may be with a probability of 1e-3, on either side.
#[test]
fn a_coefficient_of_interest_is_covered() {
    for (shape, rows, p, rho, longest) in
        [(Shape::Chain, 10_000, 10, 0.05, 1.2), (Shape::Independent, 10_000, 10, 0.015, 1.3)]
    {
        let found: Vec<(f64, Precision)> = (0..40u64)
            .into_par_iter()
            .map(|seed| {
                let fit = fit(&drawn(shape, rows, p, seed), &["x2"], rho, Some(Target::Robust), seed);
                let one = &fit.coefficients[2];
                let precision = one.precision.unwrap_or_else(|| panic!("identified: {:?}", fit.warnings));
                (one.estimate.expect("identified"), precision)
            })
            .collect();
        let missed = found.iter().filter(|(_, ends)| ends.low > beta(1) || ends.high < beta(1)).count();
        let off: f64 = found.iter().map(|(one, ends)| ((one - beta(1)) / ends.std_error).powi(2)).sum();
        let length = found.iter().map(|(_, ends)| ends.high - ends.low).sum::<f64>() / found.len() as f64;
        let variance = if shape == Shape::Chain { 0.36 / (1.0 + 0.64) } else { 1.0 };
        let classical = 2.0 * 1.96 / (rows as f64 * variance).sqrt();
        println!("{shape:?} {rows} {p} {rho}: missed {missed} of 40, {off:.1}, length {:.3}", length / classical);
        assert!(missed <= 7, "{shape:?}: {missed} of 40");
        assert!((16.8..76.2).contains(&off), "{shape:?}: {off}");
        assert!(length / classical < longest, "{shape:?}: {}", length / classical);
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
    assert!(refused("x11", 1.0).contains("name 1 of the focus is not a term or a coefficient"));
    assert!(refused("(Intercept)", 1.0).contains("the constant"));
    assert!(refused("x1, x2, x3, x4, x5, x6, x7, x8, x9, x10", 1.0).contains("no controls"));
    assert!(refused("x1", 0.001).contains("too small to tell 10 controls apart"));
}

/// A person's score is the sum over their rows, clipped as a whole, so that its variance is that of
/// persons, and weights multiply rows. Of 12 intervals of 95 % more than 4 fail with a probability
/// below 1e-3.
#[test]
fn persons_weights_and_levels_are_covered() {
    let by_indices: fn(Config) -> Config = Config::by_indices;
    let cases = [(None, true), (Some("w[0..5]"), false)];
    for ((weights, person), by) in
        cases.into_iter().flat_map(|case| [(case, same as fn(Config) -> Config), (case, by_indices)])
    {
        let missed: usize = (0..6u64)
            .into_par_iter()
            .map(|seed| {
                let fit = panel(400 + seed, weights, person, by);
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
fn panel(seed: u64, weights: Option<&str>, person: bool, by: fn(Config) -> Config) -> Fit {
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
    data.fit(&by(Config::new(request)), NoiseSource::Seed(seed), Progress::NONE).expect("a fit")
}

/// As it is chosen.
fn same(config: Config) -> Config {
    config
}

/// A second fit asks for the mean score of the same rows once more. Both are pooled by the noise of
/// each, while what they share, the sample and what the regressions left, is counted once. The sum
/// of the squares of 24 errors, in standard errors, is outside of what it may be with a probability
/// of 1e-3, on either side, and intervals are as short as those of one fit on the whole budget,
/// within a tenth.
#[test]
fn a_second_mean_score_is_pooled_with_the_first() {
    let target = Some(Target::Robust);
    let found: Vec<[(f64, Precision); 3]> = (0..24u64)
        .into_par_iter()
        .map(|seed| {
            let drawn = drawn(Shape::Chain, 4000, 6, 600 + seed);
            let first = fit(&drawn, &["x2"], 0.05, target, seed);
            assert!(first.trajectories.is_empty(), "by partialling out");
            let again = Fit::from_json(&crate::report::to_json(&first)).expect("a fit");
            let refinement = Refinement::new(again, Rho::checked_from_f64(0.1).expect("a budget")).expect("it can be");
            let mut data = Dataset::read(&drawn.source, &drawn.formula, &Reading::default()).expect("rows");
            let prepared = refinement.prepare(&mut data, NoiseSource::Seed(1000 + seed)).expect("a plan");
            let receipt = Receipt::by_caller(prepared.charge());
            let both = refinement.join(prepared.run(receipt, Progress::NONE).expect("a fit")).expect("one fit");
            assert_eq!(both.focus, first.focus);
            let whole = fit(&drawn, &["x2"], 0.15, target, 2000 + seed);
            let of = |fit: &Fit| {
                let one = &fit.coefficients[2];
                (one.estimate.expect("identified"), one.precision.expect("identified"))
            };
            [of(&first), of(&both), of(&whole)]
        })
        .collect();
    let off = |which: usize| {
        let error = |found: &[(f64, Precision); 3]| (found[which].0 - beta(1)) / found[which].1.std_error;
        found.iter().map(|found| error(found).powi(2)).sum::<f64>()
    };
    let length = |which: usize| found.iter().map(|found| found[which].1.high - found[which].1.low).sum::<f64>();
    let ratios = [length(1) / length(0), length(1) / length(2)];
    println!("{:.1} {:.1} {:.1}; {ratios:?}", off(0), off(1), off(2));
    assert!((7.3..53.7).contains(&off(1)), "{}", off(1));
    assert!(ratios[0] < 0.97 && ratios[1] < 1.1, "{ratios:?}");
}

/// A plan says which way is shorter, and the fit takes it: also where the column of interest is a
/// level, whose scores are made of the rows that have it.
#[test]
fn the_way_that_is_taken_is_the_one_that_a_plan_finds_shorter() {
    let controls = (1..=20).map(|j| format!("x{j}[-6..6]")).collect::<Vec<_>>().join(" + ");
    let formula = Formula::parse(&format!("y[-9..9] ~ treated{{no,yes}} + {controls}")).expect("a formula");
    let design = Design::new(&formula.into_model().expect("a model"));
    let request = Request {
        focus: vec!["treated".to_owned()],
        target: Some(Target::Population),
        ..Request::new(Rho::checked_from_f64(0.03).expect("a budget"))
    };
    let plan = Config::new(request).plan(30_000, &design).expect("a plan");
    let assumed = Assumed::of(&design, &[]).expect("nothing is assumed that could be wrong");
    let planned = method::Plan::foresee(&plan, &design, &assumed).expect("a forecast");
    let (other, foretold) = planned.other_way.expect("there are two ways");
    assert_eq!(other, Way::AllCoefficients);
    let length = |one: &Foretold| one.errors.std_error() * one.errors.widening;
    assert!(length(&planned.descent) < 0.8 * length(&foretold), "{:?} {foretold:?}", planned.descent);
}

/// The coefficient of `x2` in the population given the indices that a fit released: columns have a
/// sixth of the spread of their bounds, the response a twelfth, and half of the rows have a copy.
fn given_indices(fit: &Fit, shape: Shape, p: usize) -> f64 {
    let indices = &fit.focus.as_ref().expect("coefficients of interest").indices;
    assert_eq!(indices.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["index for y", "index for x2"]);
    let size = p + 1;
    let moment = |j: usize, k: usize| match (j, k, shape) {
        (0, 0, _) => 1.0,
        (0, ..) | (_, 0, _) => 0.0,
        (_, _, Shape::Chain) => 0.8f64.powi(j.abs_diff(k) as i32) / 36.0,
        (..) => f64::from(u8::from(j == k)) / 36.0,
    };
    let with_response = |j: usize| (1..size).map(|k| moment(j, k) * beta(k - 1) * 6.0).sum::<f64>();
    let half = |j: usize| if j < size { 1.0f64 } else { 0.5 };
    let weight = |j: usize, k: usize| match k {
        0 => f64::from(u8::from(j == 0)),
        1 => f64::from(u8::from(j == 2)),
        k => indices[k - 2].weights[j],
    };
    let weights = Mat::from_fn(2 * size, 4, weight);
    let moments = Mat::from_fn(2 * size, 2 * size, |j, k| half(j).min(half(k)) * moment(j % size, k % size));
    let response: Vec<f64> = (0..2 * size).map(|j| half(j) * with_response(j % size)).collect();
    let solved = times(&inverse(&(weights.transpose() * moments * &weights)), &transposed_times(&weights, &response));
    solved[1] / 6.0
}

/// Where the budget cannot tell the controls apart, intervals are for the coefficient given indices
/// of them, and are said to be. The sum of the squares of 24 errors, in standard errors, is outside
/// of what it may be with a probability of 1e-3, on either side.
#[test]
fn a_coefficient_given_indices_is_covered() {
    let (p, rows, rho) = (50, 4000, 0.3);
    let found: Vec<(f64, f64)> = (0..24u64)
        .into_par_iter()
        .map(|seed| {
            let drawn = drawn(Shape::Chain, rows, p, 700 + seed);
            let fit = fit_by(as_needed, &drawn, &["x2"], rho, None, seed);
            let one = &fit.coefficients[2];
            let precision = one.precision.unwrap_or_else(|| panic!("identified: {:?}", fit.warnings));
            let off = one.estimate.expect("identified") - given_indices(&fit, Shape::Chain, p);
            (off / precision.std_error, precision.std_error)
        })
        .collect();
    let off: f64 = found.iter().map(|(off, _)| off.powi(2)).sum();
    let classical = 1.0 / (rows as f64 * 0.36 / 1.64).sqrt();
    let length = found.iter().map(|(_, error)| error / classical).sum::<f64>() / 24.0;
    assert!((7.3..53.7).contains(&off), "{off}");
    assert!(length < 1.3, "{length}");
}

/// Such a fit says so, keeps saying so once it was saved, and is not refined. No interface makes
/// one.
#[test]
fn indices_are_told_and_kept() {
    let drawn = drawn(Shape::Independent, 4000, 50, 9);
    let first = fit_by(as_needed, &drawn, &["x2"], 0.3, None, 9);
    let text = first.to_string().replace('\n', " ");
    assert!(text.contains("2 released indices") && text.contains("not those given every control"), "{text}");
    let document = crate::report::to_json(&first);
    let facts: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(
        (facts["controls_status"].as_str(), facts["indices"].as_array().map(Vec::len)),
        (Some("indices"), Some(2))
    );
    let again = Fit::from_json(&document).expect("a fit");
    assert_eq!(again, first);
    assert!(Refinement::new(again, Rho::checked_from_f64(0.3).expect("a budget")).is_err());
    let request =
        Request { focus: vec!["x2".to_owned()], ..Request::new(Rho::checked_from_f64(0.3).expect("a budget")) };
    let mut data = Dataset::read(&drawn.source, &drawn.formula, &Reading::default()).expect("rows");
    let refused = data.fit(&Config::new(request), NoiseSource::Seed(9), Progress::NONE).expect_err("refused");
    assert!(refused.to_string().contains("controls"), "{refused}");
}

/// As it is chosen, indices included.
fn as_needed(config: Config) -> Config {
    Config { indices: IndexRule::WhereNeeded, ..config }
}
