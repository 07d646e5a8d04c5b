//! Constants of persons: their own means are taken out of their rows, exactly; fits are those of
//! the within estimator, with intervals that cover.

use std::fmt::Write;

use dplm::{
    Cause, Error, Fit, GroupOutcome, Lm, Person, Progress, Receipt, RunOptions,
    formula::Formula,
    report::to_json,
    rows::{Encoded, Rows, engine::Place},
    study::Study,
    table::{ReadOptions, Source},
};
use dplm_report::{Cover, to_html};
use dplm_theory::clear::{OlsFit, least_squares_of_persons};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use crate::{
    common::{Data, within_design},
    persons::answers,
};

/// Rows of 400 persons with one to six rows each, in mixed order; every ninth row misses a cell.
fn mixed(seed: u64) -> (Data, Vec<u32>) {
    let of_rows: Vec<u32> = (0..6).flat_map(|row| (0..400).filter(move |person| row <= (person * 7 + 3) % 6)).collect();
    let mut data = Data::isotropic(of_rows.len(), 3, seed).on_lattice();
    data.x.iter_mut().step_by(9).for_each(|row| row[1] = f64::NAN);
    (data, of_rows)
}

/// The integer nearest to `numerator / denominator`, ties to even.
fn nearest(numerator: i128, denominator: i128) -> i128 {
    let (whole, left) = (numerator.div_euclid(denominator), numerator.rem_euclid(denominator));
    whole + i128::from(2 * left > denominator || 2 * left == denominator && whole % 2 != 0)
}

/// The second moments of all columns and the response, each cell the integer nearest to what is
/// left of it without the mean over the complete rows among a person's first few: by plain loops.
fn moments_by_hand(data: &Data, of_rows: &[u32], most: usize) -> Vec<i128> {
    let size = data.features() + 1;
    let mut sums = vec![vec![0; size]; size];
    for person in 0..=of_rows.iter().copied().max().unwrap() {
        let first = (0..of_rows.len()).filter(|&row| of_rows[row] == person).take(most);
        let cells = |row: usize| data.x[row].iter().chain([&data.y[row]]).map(|cell| (cell * 4096.0) as i128).collect();
        let rows: Vec<Vec<i128>> = first.filter(|&row| data.x[row].iter().all(|x| !x.is_nan())).map(cells).collect();
        let (count, total) = (rows.len() as i128, |j: usize| rows.iter().map(|row| row[j]).sum::<i128>());
        for row in &rows {
            let left: Vec<i128> = (0..size).map(|j| nearest(count * row[j] - total(j), count)).collect();
            (0..size).for_each(|j| (0..=j).for_each(|k| sums[j][k] += left[j] * left[k]));
        }
    }
    (0..size).flat_map(|j| sums[j][..=j].to_vec()).collect()
}

#[test]
fn means_are_taken_out_to_the_nearest_integer() {
    for most in [6, 3, 2] {
        let (data, of_rows) = mixed(u64::from(most));
        let rows = data.within_persons(&of_rows, most, u64::MAX);
        let found = rows.moments().unwrap().into_inner().into_upper();
        assert_eq!(found, moments_by_hand(&data, &of_rows, most as usize), "{most}");
    }
    // With one row of each, nothing is left.
    let (data, of_rows) = mixed(1);
    let rows = data.within_persons(&of_rows, 1, u64::MAX);
    assert!(rows.moments().unwrap().into_inner().into_upper().iter().all(|sum| *sum == 0));
}

#[test]
fn engines_and_order_do_not_matter() {
    let (data, of_rows) = mixed(5);
    let turned: Vec<usize> = (0..of_rows.len()).rev().collect();
    let backwards = Data {
        x: turned.iter().map(|&row| data.x[row].clone()).collect(),
        y: turned.iter().map(|&row| data.y[row]).collect(),
    };
    let of_backwards: Vec<u32> = turned.iter().map(|&row| of_rows[row]).collect();
    let design = within_design(3);
    for (gamma, step_noise) in [(6.0, 1.0), (6.0, 1e-12), (0.5, 1.0)] {
        let ask = |mut rows: Encoded| answers(&mut rows, gamma, step_noise);
        let expected = ask(data.within_persons(&of_rows, 6, u64::MAX));
        assert_eq!(ask(backwards.within_persons(&of_backwards, 6, u64::MAX)), expected);
        for bytes in [1, 20_000] {
            let file = data.within_persons(&of_rows, 6, bytes);
            assert_eq!(file.place(), Place::File);
            assert_eq!(ask(file), expected, "{bytes} bytes");
        }
        assert_eq!(ask(data.on_a_cluster_by(&design, &of_rows, 6, 2)), expected, "on a cluster");
    }
}

/// A panel: constants of persons that go with `x`, errors that follow each other, up to eight rows.
struct Panel {
    persons: u32,
    seed: u64,
}

const SLOPES: [f64; 2] = [0.6, -0.4];
/// What the third and the fifth wave add.
const WAVES: [f64; 8] = [0.0, 0.0, 0.3, 0.0, -0.5, 0.0, 0.0, 0.0];
const FORMULA: &str = "y[-12..12] ~ x[-6..6] + z[-4..4] + wave{0,1,2,3,4,5,6,7} | id";

impl Panel {
    fn table(&self) -> Source {
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let mut text = "y,x,z,wave,id,fixed\n".to_owned();
        for person in 0..self.persons {
            let (constant, mut error) = (normal(), normal());
            // Every eighth person has one row, and the others start at different waves.
            let (from, rows) = ((person / 8) % 3, 1 + person % 8);
            for wave in from..(from + rows).min(8) {
                let (x, z) = (0.8 * constant + normal(), normal());
                let y = 2.0 * constant + SLOPES[0] * x + SLOPES[1] * z + WAVES[wave as usize] + error;
                let z = if (person + wave) % 23 == 5 { String::new() } else { z.to_string() };
                writeln!(text, "{y},{x},{z},{wave},p{person},{}", person % 5).unwrap();
                error = 0.5 * error + 0.75f64.sqrt() * normal();
            }
        }
        Source::from_csv_stream(&mut text.as_bytes(), "panel").expect("a table")
    }

    fn least_squares(&self, formula: &str, counts_once: bool) -> OlsFit {
        let source = self.table();
        let model = Formula::parse(formula).unwrap().resolve(source.schema()).unwrap();
        let person = Person { counts_once, ..Person::new("id") };
        least_squares_of_persons(&source, &model, &person, &ReadOptions::default()).unwrap().into_inner()
    }
}

fn asked(rho: f64) -> Lm<'static> {
    dplm::lm(FORMULA).person("id").rows_per_person(8).rho(rho).seed(3)
}

/// A constant for each person is the same as a level for each.
#[test]
fn least_squares_within_persons_is_that_with_a_level_for_each() {
    let panel = Panel { persons: 60, seed: 1 };
    let levels: Vec<String> = (0..60).map(|person| format!("p{person}")).collect();
    let all = panel.least_squares(&FORMULA.replace("| id", &format!("+ id{{{}}}", levels.join(","))), false);
    let within = panel.least_squares(FORMULA, false);
    for (j, coefficient) in within.coefficients.iter().enumerate() {
        assert!((all.coefficients[j + 1] - coefficient).abs() < 1e-9, "{j}");
    }
}

/// At a budget whose noise does not count: also where each person counts once.
#[test]
fn a_fit_is_the_within_estimator() {
    let panel = Panel { persons: 4000, seed: 2 };
    let source = panel.table();
    for counts_once in [false, true] {
        let lm = if counts_once { asked(1000.0).target(dplm::method::Target::Person) } else { asked(1000.0) };
        let (fit, by_hand) = (lm.fit_table(&source).unwrap(), panel.least_squares(FORMULA, counts_once));
        assert!(fit.left_out.is_empty(), "{:?}", fit.left_out);
        for (j, one) in fit.coefficients.iter().enumerate() {
            let (precision, error) = (one.precision.as_ref().expect("identified"), by_hand.std_errors[j]);
            let moved = (one.estimate.unwrap() - by_hand.coefficients[j]) / error;
            assert!(moved.abs() < 0.05, "{}: {moved}", one.name);
            let ratio = precision.std_error / error;
            assert!((0.97..1.03).contains(&ratio), "{}: {ratio}", one.name);
        }
    }
}

/// Weights that are the same for all rows of a person, and weights that are not.
#[test]
fn means_are_weighted() {
    let mut text = "y,x,w,id\n".to_owned();
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut rows = Vec::new();
    for row in 0..12_000 {
        let (person, weight) = (row / 4, f64::from(1 + (row * 7) % 5));
        let x = normal() + f64::from(person % 3);
        // The slope of rows is larger where they weigh more.
        let y = f64::from(person % 7) + 0.2 * weight * x + 0.5 * normal();
        rows.push((person, weight, x, y));
        writeln!(text, "{y},{x},{weight},{person}").unwrap();
    }
    let source = Source::from_csv_stream(&mut text.as_bytes(), "weighted").unwrap();
    let lm = dplm::lm("y[-12..20] ~ x[-6..8] | id").person("id").rows_per_person(4).weights("w[0..5]");
    let fit = lm.rho(1000.0).seed(3).fit_table(&source).unwrap();
    let (mut xx, mut xy) = (0.0, 0.0);
    for rows in rows.chunks(4) {
        let sum = |cell: fn(&(i32, f64, f64, f64)) -> f64| rows.iter().map(|row| row.1 * cell(row)).sum::<f64>();
        let total = sum(|_| 1.0);
        let (of_x, of_y) = (sum(|row| row.2) / total, sum(|row| row.3) / total);
        for (_, weight, x, y) in rows {
            xx += weight * (x - of_x).powi(2);
            xy += weight * (x - of_x) * (y - of_y);
        }
    }
    let found = fit.coefficients[0].estimate.unwrap();
    assert!((found / (xy / xx) - 1.0).abs() < 0.002, "{found} {}", xy / xx);
}

/// What is the same in all rows of a person cannot be told from their constant, and is named.
#[test]
fn columns_that_do_not_vary_within_persons_are_left_out() {
    let source = Panel { persons: 3000, seed: 4 }.table();
    let formula = "y[-12..12] ~ x[-6..6] + fixed[0..4] | id";
    let fit = dplm::lm(formula).person("id").rows_per_person(8).rho(0.5).seed(3).fit_table(&source).unwrap();
    assert_eq!(fit.left_out.len(), 1);
    assert_eq!((fit.left_out[0].name.as_str(), &fit.left_out[0].cause), ("fixed", &Cause::Within));
    assert!(fit.coefficients[0].identified);
}

/// Of 120 intervals of 95 % more than 16 fail with probability below 1e-3, fewer than 1 with 2e-3.
#[test]
fn intervals_cover_slopes_within_persons() {
    let fits = 60;
    let covered = |seed: u64| -> [bool; 2] {
        let source = Panel { persons: 1500, seed: 100 + seed }.table();
        let fit = asked(0.5).seed(seed).fit_table(&source).unwrap();
        std::array::from_fn(|j| {
            let precision = fit.coefficients[j].precision.expect("identified");
            (precision.low..precision.high).contains(&SLOPES[j])
        })
    };
    let missed: usize =
        (0..fits).into_par_iter().map(|seed| covered(seed).iter().filter(|covered| !**covered).count()).sum();
    assert!((1..=16).contains(&missed), "{missed} of {}", 2 * fits);
}

/// What is known of the coefficients is said, and no response is predicted.
#[test]
fn results_say_what_the_constants_are() {
    let source = Panel { persons: 3000, seed: 6 }.table();
    let fit = asked(0.5).fit_table(&source).unwrap();
    let document: serde_json::Value = serde_json::from_str(&to_json(&fit)).unwrap();
    assert_eq!(document["fixed_effects"], serde_json::json!({ "person": "id" }));
    assert!(document["target_text"].as_str().unwrap().contains("with a constant for each 'id'"));
    assert_eq!(Fit::from_json(&to_json(&fit)).unwrap(), fit);
    assert!(to_html(&fit, &Cover::default()).contains("with a constant for each <code>id</code>"));
    let refusal = fit.predict(&source, &ReadOptions::default()).unwrap_err();
    assert!(matches!(refusal, Error::Prediction(_)) && refusal.to_string().contains("'id'"), "{refusal}");
    assert!(fit.predict_intervals(&source, &ReadOptions::default(), 0.95).is_err());
    let effects = fit.effects(0.95).unwrap();
    let of_x = effects.iter().find(|effect| effect.column == "x").unwrap();
    assert!((of_x.estimate - 12.0 * fit.coefficients[0].estimate.unwrap()).abs() < 1e-9);
}

#[test]
fn other_constants_are_refused_before_anything_is_read() {
    let refused = |lm: Lm<'_>| lm.check().unwrap_err().to_string();
    let formula = "y[0..1] ~ x[0..1] | id";
    let without = refused(dplm::lm(formula).rho(0.1));
    assert!(without.contains("a constant for each 'id'"), "{without}");
    let other = refused(dplm::lm(formula).rho(0.1).person("firm"));
    assert!(other.contains("write `| firm`, or list the levels of 'id' as in id{a,b}"), "{other}");
    let single = refused(dplm::lm(formula).rho(0.1).person("id").rows_per_person(1));
    assert!(single.contains("at least two rows"), "{single}");
    dplm::lm(formula).rho(0.1).person("id").check().unwrap();
}

/// All groups together, and all specifications of a study.
#[test]
fn groups_and_studies_have_constants_of_persons_too() {
    let source = Panel { persons: 6000, seed: 8 }.table();
    let lm = dplm::lm("y[-12..12] ~ x[-6..6] | id").person("id").rows_per_person(8).by("fixed{0,1,2}");
    let groups = lm.rho(1.0).seed(3).fit_groups_of(&source).unwrap();
    for group in &groups.groups {
        let GroupOutcome::Fitted(fit) = &group.outcome else { panic!("{}: not fitted", group.level) };
        let precision = fit.coefficients[0].precision.expect("identified");
        assert_eq!(fit.coefficients.len(), 1);
        assert!((fit.coefficients[0].estimate.unwrap() - SLOPES[0]).abs() < 5.0 * precision.std_error);
    }
    let study = |second: &str| {
        let head = "rho = 0.5\nperson = 'id'\nrows_per_person = 8\n[columns.y]\nlow = -12\nhigh = 12\n\
                    [columns.x]\nlow = -6\nhigh = 6\n[columns.z]\nlow = -4\nhigh = 4\n";
        let one = |name: &str, formula: &str| format!("[[specification]]\nname = '{name}'\nformula = '{formula}'\n");
        Study::from_toml(&(head.to_owned() + &one("main", "y ~ x + z | id") + &one("second", second)))
    };
    let refusal = study("y ~ x").unwrap_err().to_string();
    assert!(refusal.contains("the same fixed effects"), "{refusal}");
    let prepared =
        study("y ~ x | id").unwrap().prepare(&source, &RunOptions::default().seed(3), Progress::NONE).unwrap();
    let receipt = Receipt::by_caller(prepared.charge());
    for part in prepared.run(receipt, Progress::NONE).unwrap().parts {
        assert_eq!(part.fit.coefficients[0].name, "x");
        let precision = part.fit.coefficients[0].precision.expect("identified");
        assert!((part.fit.coefficients[0].estimate.unwrap() - SLOPES[0]).abs() < 5.0 * precision.std_error);
    }
}
