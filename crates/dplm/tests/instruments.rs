//! Instruments: the ratio of two products of moments, with Anderson-Rubin sets that cover however
//! weak the instrument is.

use std::fmt::Write;

use dplm::{
    FirstStage, Fit, Lm, Precision, Progress, RunOptions, Unforeseen,
    report::{summary, to_json},
    table::{ReadOptions, Source},
};
use dplm_report::{Cover, to_html};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

const SLOPE: f64 = 0.5;
const FORMULA: &str = "y[-12..12] ~ w[-4..4] | x[-9..9] ~ z[-4..4]";
const TWO: &str = "y[-12..12] ~ w[-4..4] | x[-9..9] ~ z[-4..4] + v[-5..5]";

/// A row: the person, the weight, and the numbers.
struct Row {
    person: u32,
    weight: f64,
    w: f64,
    z: f64,
    /// Another instrument, which goes with `z`.
    v: f64,
    x: f64,
    y: f64,
}

/// A regressor that goes with the errors, which an instrument moves by `pi`; persons have three
/// rows each, with an error and a level of the instrument of their own.
fn rows(count: u32, pi: f64, seed: u64) -> Vec<Row> {
    rows_of_two(count, (pi, 0.0), seed)
}

/// The same with two instruments.
fn rows_of_two(count: u32, (pi, of_other): (f64, f64), seed: u64) -> Vec<Row> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut rng_of_other = ChaCha20Rng::seed_from_u64(seed + (1 << 40));
    let mut other = || -> f64 { StandardNormal.sample(&mut rng_of_other) };
    let (mut of_person, mut level) = (0.0, 0.0);
    let row = |row: u32| {
        if row.is_multiple_of(3) {
            (of_person, level) = (normal(), normal());
        }
        let (w, shared, weight) = (normal(), normal(), f64::from(1 + row % 4));
        let z = 0.3 * w + 0.6 * level + 0.7 * normal();
        let v = 0.5 * z + 0.8 * other();
        let x = pi * z + of_other * v + 0.5 * w + shared + 0.5 * normal();
        // Weights go with the spread of the errors.
        let y = SLOPE * x + 0.3 * w - shared + 0.5 * of_person + 0.3 * weight * normal();
        Row { person: row / 3, weight, w, z, v, x, y }
    };
    (0..count).map(row).collect()
}

fn table(rows: &[Row]) -> Source {
    let mut text = "y,x,w,z,v,weight,id\n".to_owned();
    for Row { person, weight, w, z, v, x, y } in rows {
        writeln!(text, "{y},{x},{w},{z},{v},{weight},{person}").unwrap();
    }
    Source::from_csv_stream(&mut text.as_bytes(), "instrument").expect("a table")
}

/// Two-stage least squares in plain arithmetic, with errors that are alike within clusters, and the
/// values that its own test at 5 % does not reject with the error of each value: the Anderson-Rubin
/// set of one instrument, and that of several where they are strong.
struct ByHand {
    slope: f64,
    error: f64,
    ends: (f64, f64),
}

impl ByHand {
    /// Of rows `w, z, ..., x, y`; `roots` are those of weights.
    fn of(rows: &[Vec<f64>], roots: &[f64], clusters: &[u32], constant: bool) -> ByHand {
        let size = rows[0].len();
        let column = |k: usize| -> Vec<f64> { rows.iter().zip(roots).map(|(row, root)| row[k] * root).collect() };
        let mut basis: Vec<Vec<f64>> = Vec::new();
        if constant {
            basis.push(white(roots.to_vec()));
        }
        basis.push(white(rest(&basis, column(0))));
        let controls = basis.len();
        for k in 1..size - 2 {
            basis.push(white(rest(&basis, column(k))));
        }
        let [x, y] = [size - 2, size - 1].map(|k| rest(&basis[..controls], column(k)));
        let z = &basis[controls..];
        let [with_x, with_y] = [&x, &y].map(|one| z.iter().map(|z| dot(z, one)).collect::<Vec<f64>>());
        let strength = dot(&with_x, &with_x);
        let slope = dot(&with_x, &with_y) / strength;
        let covariance = |at: f64| -> Vec<Vec<f64>> {
            let mut scores = vec![vec![0.0; z.len()]; 1 + *clusters.iter().max().unwrap() as usize];
            for (row, cluster) in clusters.iter().enumerate() {
                for (sum, z) in scores[*cluster as usize].iter_mut().zip(z) {
                    *sum += z[row] * (y[row] - at * x[row]);
                }
            }
            let entry = |j: usize, k: usize| scores.iter().map(|score| score[j] * score[k]).sum::<f64>();
            (0..z.len()).map(|j| (0..z.len()).map(|k| entry(j, k)).collect()).collect()
        };
        let error = |at: f64| {
            let along: Vec<f64> = covariance(at).iter().map(|row| dot(row, &with_x)).collect();
            dot(&with_x, &along).sqrt() / strength
        };
        let end = |sign: f64| {
            let (mut inside, mut outside) = (slope, slope + sign * 8.0 * error(slope));
            for _ in 0..40 {
                let middle = 0.5 * (inside + outside);
                let is_inside = (middle - slope).abs() < 1.959_964 * error(middle);
                *(if is_inside { &mut inside } else { &mut outside }) = middle;
            }
            inside
        };
        ByHand { slope, error: error(slope), ends: (end(-1.0), end(1.0)) }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn white(column: Vec<f64>) -> Vec<f64> {
    let length = dot(&column, &column).sqrt();
    column.iter().map(|one| one / length).collect()
}

/// What a basis leaves of a column.
fn rest(basis: &[Vec<f64>], mut column: Vec<f64>) -> Vec<f64> {
    for one in basis {
        let share = dot(one, &column);
        column.iter_mut().zip(one).for_each(|(cell, one)| *cell -= share * one);
    }
    column
}

fn numbers(rows: &[Row]) -> Vec<Vec<f64>> {
    rows.iter().map(|row| vec![row.w, row.z, row.x, row.y]).collect()
}

fn numbers_of_two(rows: &[Row]) -> Vec<Vec<f64>> {
    rows.iter().map(|row| vec![row.w, row.z, row.v, row.x, row.y]).collect()
}

/// Less the means of persons with three rows each.
fn within(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let of_person = |person: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let mean = |k: usize| person.iter().map(|row| row[k]).sum::<f64>() / person.len() as f64;
        person.iter().map(|row| (0..row.len()).map(|k| row[k] - mean(k)).collect()).collect()
    };
    rows.chunks(3).flat_map(of_person).collect()
}

fn asked(formula: &str, rho: f64) -> Lm<'_> {
    dplm::lm(formula).rho(rho).seed(3)
}

fn slope_of(fit: &Fit) -> (f64, Precision) {
    let one = fit.coefficients.iter().find(|one| one.name == "x").expect("a coefficient");
    (one.estimate.expect("an estimate"), one.precision.expect("an interval"))
}

/// At a budget whose noise does not count, with one instrument and with two: of rows, of weighted
/// rows, of persons, within persons.
#[test]
fn fits_are_two_stage_least_squares() {
    let rows = rows_of_two(9000, (0.8, 0.3), 1);
    let source = table(&rows);
    let ones = vec![1.0; rows.len()];
    let roots: Vec<f64> = rows.iter().map(|row| row.weight.sqrt()).collect();
    let (each, persons): (Vec<u32>, Vec<u32>) = (0..).zip(&rows).map(|(row, one)| (row, one.person)).unzip();
    for (formula, all) in [(FORMULA, numbers(&rows)), (TWO, numbers_of_two(&rows))] {
        let of_persons = formula.replace("| x", "| id | x");
        let alone = of_persons.replace("w[-4..4]", "1");
        let less_means = within(&all);
        // A control that says nothing, in place of none.
        let mut without_control = less_means.clone();
        (0..).zip(&mut without_control).for_each(|(row, numbers)| numbers[0] = f64::from(row % 2));
        let of_three = |lm: Lm<'static>| lm.person("id").rows_per_person(3);
        let leak = |text: String| -> &'static str { text.leak() };
        let (of_persons, alone) = (leak(of_persons), leak(alone));
        let cases = [
            (asked(formula, 1000.0), ByHand::of(&all, &ones, &each, true)),
            (asked(formula, 1000.0).weights("weight[0..4]"), ByHand::of(&all, &roots, &each, true)),
            (of_three(asked(formula, 1000.0)), ByHand::of(&all, &ones, &persons, true)),
            (of_three(asked(of_persons, 1000.0)), ByHand::of(&less_means, &ones, &persons, false)),
            (of_three(asked(alone, 1000.0)), ByHand::of(&without_control, &ones, &persons, false)),
        ];
        for (place, (lm, ByHand { slope, error, ends })) in cases.into_iter().enumerate() {
            let fit = lm.fit_table(&source).unwrap();
            let (found, precision) = slope_of(&fit);
            assert!((found - slope).abs() < 0.05 * error, "{formula}, case {place}: {found}, {slope} +- {error}");
            let ratio = precision.std_error / error;
            assert!((0.97..1.03).contains(&ratio), "{formula}, case {place}: {ratio}");
            for (end, expected) in [(precision.low, ends.0), (precision.high, ends.1)] {
                assert!((end - expected).abs() < 0.1 * error, "{formula}, case {place}: {end} {expected} {error}");
            }
            assert_eq!(fit.first_stage.unwrap().set.len(), 1);
        }
    }
}

/// Of 60 sets of 95 % more than 9 miss with probability 1e-3.
#[test]
fn sets_cover_however_weak_the_instruments_are() {
    for (formula, pi, bounded) in [
        (FORMULA, (0.8, 0.0), 60..=60),
        (FORMULA, (0.04, 0.0), 0..=58),
        (FORMULA, (0.0, 0.0), 0..=15),
        (TWO, (0.6, 0.3), 60..=60),
        (TWO, (0.03, 0.03), 0..=58),
        (TWO, (0.0, 0.0), 0..=15),
    ] {
        let tried = |seed: u64| -> (bool, bool) {
            let rows = rows_of_two(4000, pi, 100 + seed);
            let fit = asked(formula, 0.5).seed(seed).fit_table(&table(&rows)).unwrap();
            let set = fit.first_stage.expect("a first stage").set;
            let is_bounded = set.iter().all(|piece| piece.low.is_some() && piece.high.is_some());
            (set.iter().any(|piece| piece.holds(SLOPE)), is_bounded)
        };
        let found: Vec<(bool, bool)> = (0..60).into_par_iter().map(tried).collect();
        let missed = found.iter().filter(|(is_in, _)| !is_in).count();
        let finite = found.iter().filter(|(_, finite)| *finite).count();
        println!("{formula}, {pi:?}: {missed} of 60 missed, {finite} bounded");
        assert!(missed <= 9, "{formula}, {pi:?}: {missed} missed");
        assert!(bounded.contains(&finite), "{formula}, {pi:?}: {finite} bounded");
    }
}

#[test]
fn results_tell_of_the_first_stage() {
    let source = table(&rows(6000, 0.8, 2));
    let fit = asked(FORMULA, 0.5).fit_table(&source).unwrap();
    let FirstStage { regressor, instruments, statistic, .. } = fit.first_stage.clone().unwrap();
    assert_eq!((regressor.as_str(), &instruments[..]), ("x", &["z".to_owned()][..]));
    assert!(statistic > 50.0, "{statistic}");
    assert_eq!(fit.coefficients.iter().map(|one| one.identified).collect::<Vec<_>>(), [false, false, true]);
    let document: serde_json::Value = serde_json::from_str(&to_json(&fit)).unwrap();
    assert_eq!(document["first_stage"]["instruments"], serde_json::json!(["z"]));
    assert_eq!(Fit::from_json(&to_json(&fit)).unwrap(), fit);
    let shown = summary(&fit);
    assert!(shown.contains("First stage, that 'z' does not move 'x'") && shown.contains("a control"), "{shown}");
    assert!(shown.contains("instrumental-variables coefficients of the population"), "{shown}");
    let page = to_html(&fit, &Cover::default());
    assert!(page.contains("Anderson-Rubin") && page.contains("<td>instrument</td>"), "{page}");
    // A test is the inversion of the interval, and costs nothing.
    let (found, precision) = slope_of(&fit);
    let test = fit.t_test(&fit.hypothesis("x = 0").unwrap(), 0.95).unwrap().remove(0);
    assert_eq!((test.estimate, test.precision.unwrap().p_value), (Some(found), precision.p_value));
    assert!(fit.t_test(&fit.hypothesis("w = 0").unwrap(), 0.95).unwrap()[0].estimate.is_none());
    let refusal = fit.predict(&source, &ReadOptions::default()).unwrap_err().to_string();
    assert!(refusal.contains("only the coefficient of 'x'"), "{refusal}");
    // The budget is spent to its last digit.
    let spent: f64 = fit.guarantee.releases.iter().map(|one| one.rho.to_f64()).sum();
    assert!((spent - 0.5).abs() < 1e-12);
}

/// Two instruments: a saved fit tests, and one that has another way to the response disagrees.
#[test]
fn several_instruments_may_disagree() {
    let mut rows = rows_of_two(6000, (0.6, 0.5), 4);
    let fit = asked(TWO, 0.5).fit_table(&table(&rows)).unwrap();
    let FirstStage { df, set, disagreement, .. } = fit.first_stage.clone().unwrap();
    let disagreement = disagreement.expect("two instruments");
    assert_eq!((df, disagreement.df, set.len()), (2, 1, 1));
    assert!(disagreement.p_value > 1e-3, "{disagreement:?}");
    assert_eq!(Fit::from_json(&to_json(&fit)).unwrap(), fit);
    let shown = summary(&fit);
    assert!(shown.contains("'z', 'v' do not move 'x'") && shown.contains("on 2 degrees of freedom"), "{shown}");
    assert!(to_html(&fit, &Cover::default()).contains("<code>z</code> and <code>v</code> as instruments of"));
    let (_, precision) = slope_of(&fit);
    let test = |text: &str| fit.t_test(&fit.hypothesis(text).unwrap(), 0.95).unwrap().remove(0).precision.unwrap();
    let at_end = test(&format!("2 * x = {}", 2.0 * precision.high));
    assert!((at_end.p_value - 0.05).abs() < 1e-9 && test("x = 9").p_value < 1e-9, "{at_end:?}");
    let joint = fit.wald_test(&fit.hypothesis("x = 0").unwrap()).unwrap().found.unwrap();
    assert_eq!((joint.equations, joint.p_value), (1, precision.p_value));
    // The second instrument moves the response by itself.
    rows.iter_mut().for_each(|row| row.y += row.v);
    let fit = asked(TWO, 0.5).fit_table(&table(&rows)).unwrap();
    let disagreement = fit.first_stage.clone().unwrap().disagreement.unwrap();
    assert!(disagreement.p_value < 1e-6, "{disagreement:?}");
    assert_eq!(Fit::from_json(&to_json(&fit)).unwrap(), fit);
    assert!(summary(&fit).contains("disagree: one of them"), "{}", summary(&fit));
    assert!(!to_html(&fit, &Cover::default()).contains("NaN"));
    // A category is as many instruments as it has levels beside its first.
    let of_levels = TWO.replace("v[-5..5]", "id{0,1,2,3}");
    asked(&of_levels, 0.5).check().unwrap();
}

#[test]
fn what_instruments_cannot_do_is_refused() {
    let refused = |lm: Lm<'_>| lm.check().unwrap_err().to_string();
    assert!(refused(asked(FORMULA, 0.1).method("dpgd")).contains("does not fit models with an instrument"));
    let source = table(&rows(300, 0.8, 1));
    let dry = asked(FORMULA, 0.5).check().unwrap().dry_run(&source, &RunOptions::default(), Progress::NONE).unwrap();
    assert!(matches!(dry.foreseen.unwrap_err(), Unforeseen::Instrument { longer: Some(_) }) && dry.units == 300);
    let refused = |lm: Lm<'_>| lm.fit_table(&source).unwrap_err().to_string();
    for (lm, what) in [
        (asked(FORMULA, 0.1).purpose(dplm::method::Purpose::Prediction), "no predictions"),
        (asked(FORMULA, 0.1).target(dplm::method::Target::Robust), "no robust coefficients"),
    ] {
        let refusal = refused(lm);
        assert!(refusal.contains(what), "{refusal}");
    }
}

/// What is expected of a strong instrument beforehand is near what sets come to: within a sixth of
/// the mean over 12 tables.
#[test]
fn what_is_expected_of_strong_instruments_is_what_they_come_to() {
    for (formula, rho) in [(FORMULA, 0.02), (FORMULA, 0.5), (TWO, 0.1)] {
        let lengths = (0..12u64).into_par_iter().map(|seed| {
            let rows = rows_of_two(6000, (0.8, 0.4), 500 + seed);
            let all = if formula == TWO { numbers_of_two(&rows) } else { numbers(&rows) };
            let each: Vec<u32> = (0..6000).collect();
            let by_hand = ByHand::of(&all, &vec![1.0; rows.len()], &each, true);
            let fit = asked(formula, rho).seed(seed).fit_table(&table(&rows)).unwrap();
            let (_, precision) = slope_of(&fit);
            (precision.high - precision.low) / (2.0 * 1.96 * by_hand.error)
        });
        let mean = lengths.sum::<f64>() / 12.0;
        let source = table(&rows_of_two(6000, (0.8, 0.4), 1));
        let dry = asked(formula, rho).check().unwrap().dry_run(&source, &RunOptions::default(), Progress::NONE);
        let Unforeseen::Instrument { longer } = dry.unwrap().foreseen.unwrap_err() else { panic!("an instrument") };
        let expected = 1.0 + f64::from(longer.unwrap()) / 100.0;
        println!("{formula}, {rho}: {mean:.3}, expected {expected:.3}");
        assert!((mean / expected).ln().abs() < 7f64.ln() - 6f64.ln(), "{formula}, {rho}: {mean} {expected}");
    }
}
