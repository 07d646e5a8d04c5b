//! The first release of a fit is the number of usable rows, and a fit with hardly any usable row
//! stops and gives the reason.

use std::sync::Arc;

use dplm::{
    Charge, Dataset, Error, ErrorKind, Fit, GroupedDataset, NoiseSource, Progress, Reading, Receipt, Refinement,
    RunOptions, Warning,
    formula::Formula,
    method::{self, Asked, Asks, Request, Tuning, auto, forecast},
    plan::Question,
    privacy::{PrivacyError, Promise, Rho},
    report::{grouped_to_json, to_json},
    study::Study,
    table::{ReadOptions, Source},
};
use dplm_cluster::{BlockId, pack};
use dplm_report::{Cover, to_html};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal, StandardUniform};
use rayon::prelude::*;

use crate::common::cluster::{Cluster, remote};

const MODEL: &str = "y[-9..9] ~ x[-5..5] + race{white,black,other}";
const RACES: [&str; 3] = ["white", "black", "other"];

/// Rows of `y = 1 + x / 2 + error` and a race, with cells changed by `change`; persons have two
/// rows each.
fn table(rows: usize, seed: u64, change: impl Fn(usize, [String; 3]) -> [String; 3]) -> Source {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,x,race,id\n".to_owned();
    for row in 0..rows {
        let x = normal();
        let cells = [format!("{:.4}", 1.0 + x / 2.0 + normal()), format!("{x:.4}"), RACES[row % 3].to_owned()];
        text += &format!("{},{}\n", change(row, cells).join(","), row / 2);
    }
    Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("a table")
}

/// Races coded 1, 2, 3, which the formula does not know.
fn coded(rows: usize) -> Source {
    table(rows, 1, |row, [y, x, _]| [y, x, (1 + row % 3).to_string()])
}

fn rho(rho: f64) -> Rho {
    Rho::checked_from_f64(rho).expect("a budget")
}

fn auto_at(budget: f64) -> auto::Config {
    auto::Config::new(Request::new(rho(budget)))
}

fn read(source: &Source, formula: &str, reading: &Reading<'_>) -> Dataset {
    Dataset::read(source, &Formula::parse(formula).expect("a formula"), reading).expect("rows")
}

fn fit(source: &Source, formula: &str, budget: f64, seed: u64) -> Result<Fit, Error> {
    let mut data = read(source, formula, &Reading::default());
    data.fit(&auto_at(budget), NoiseSource::Seed(seed), Progress::NONE)
}

/// The message of a fit that stops, and its charge.
fn stopped<T>(result: Result<T, Error>) -> String {
    let error = result.err().expect("stopped");
    assert_eq!(error.kind(), ErrorKind::Fit, "{error}");
    let Error::Unusable(why) = error else { panic!("{error}") };
    format!("{why} (rho = {})", why.spent)
}

/// The count is that of the complete rows, with the noise implied by the ends of its interval: of
/// 400 counts the mean is off by 4.9 standard errors, or more than 45 intervals of 95 % miss, with
/// probability below 1e-6.
#[test]
fn the_count_is_unbiased_and_as_noisy_as_it_says() {
    let source = table(2000, 3, |row, [y, x, race]| [if row % 5 == 0 { String::new() } else { y }, x, race]);
    let used: Vec<_> = (0..400)
        .into_par_iter()
        .map(|seed| fit(&source, MODEL, 1.0, seed).expect("a fit").rows_used.expect("counted"))
        .collect();
    // 20000 / n^2 of the budget buys n / 200.
    let (n, sd) = (used.len() as f64, 10.0);
    let mean = used.iter().map(|one| one.estimate - 1600.0).sum::<f64>() / n;
    let variance = used.iter().map(|one| (one.estimate - 1600.0).powi(2)).sum::<f64>() / n;
    assert!(mean.abs() < 4.9 * sd / n.sqrt(), "{mean}");
    assert!((variance / (sd * sd) - 1.0).abs() < 4.9 * (2.0 / n).sqrt(), "{variance}");
    assert!(used.iter().all(|one| one.high - one.low >= 39.0 && one.high - one.low <= 42.0), "{:?}", used[0]);
    assert!(used.iter().filter(|one| one.low > 1600.0 || one.high < 1600.0).count() <= 45);
}

/// With the largest noise a count may have, a tenth of usable rows stops a fit with probability
/// 0.00135, and a fit without usable rows continues with the same probability: of 400 more than 6
/// with probability 3e-6.
#[test]
fn false_alarms_and_misses_are_as_rare_as_is_said() {
    let stops = |usable: usize| {
        let source = table(2000, 5, |row, [y, x, race]| [if row % 10 < usable { y } else { String::new() }, x, race]);
        let is_stopped =
            |seed: &u64| matches!(fit(&source, "y[-9..9] ~ x[-5..5]", 0.024, *seed), Err(Error::Unusable(_)));
        (0..400u64).into_par_iter().filter(is_stopped).count()
    };
    let (a_tenth, nothing) = (stops(1), stops(0));
    assert!(a_tenth <= 6 && nothing >= 394, "{a_tenth} {nothing}");
}

#[test]
fn coded_levels_stop_the_fit_and_are_named() {
    let said = stopped(fit(&coded(12_000), MODEL, 0.1, 1));
    let known =
        "the column 'race' holds none of its declared levels white, black, other; correct the formula or the table";
    assert!(said.starts_with("about ") && said.contains(&format!(" of 12,000 rows can be used: {known}")), "{said}");
    // 20000 / n^2 for the number of rows, and (2 + 2) times that for two columns of numbers and one
    // of levels.
    assert!(said.ends_with("(rho = 0.0007)"), "{said}");
}

#[test]
fn words_in_a_column_of_numbers_stop_the_fit() {
    let words = table(6000, 2, |_, [y, _, race]| [y, "low".to_owned(), race]);
    let said = stopped(fit(&words, MODEL, 0.5, 1));
    assert!(said.contains("can be used: the column 'x' holds no plain numbers, as text"), "{said}");
}

#[test]
fn one_misspelt_column_of_ten_is_the_one_that_is_named() {
    let row = |i: usize| {
        let cells = (0..9).map(|j| ["a", "b"][i * (j + 3) / 7 % 2].to_owned());
        cells.chain([format!("{}", i % 9)]).collect::<Vec<_>>().join(",")
    };
    let header = (0..9).map(|j| format!("g{j},")).collect::<String>() + "y\n";
    let text = header + &(0..20_000).map(row).collect::<Vec<_>>().join("\n");
    let source = Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("a table");
    let terms: Vec<String> = (0..9).map(|j| format!("g{j}{{a,{}}}", if j == 4 { "B" } else { "b" })).collect();
    let terms: Vec<String> = terms.iter().map(|term| term.replace("g4{a,B}", "g4{A,B}")).collect();
    let said = stopped(fit(&source, &format!("y[0..9] ~ {}", terms.join(" + ")), 0.5, 1));
    assert!(said.contains("the column 'g4' holds none of its declared levels A, B; correct"), "{said}");
    assert!((0..9).filter(|j| *j != 4).all(|j| !said.contains(&format!("g{j}"))), "{said}");
}

/// A rare level, beside one that is misspelt.
#[test]
fn a_level_that_no_row_has_is_named() {
    let source = table(20_000, 2, |row, [y, x, _]| [y, x, if row % 25 == 0 { "white" } else { "black" }.to_owned()]);
    let said = stopped(fit(&source, "y[-9..9] ~ x[-5..5] + race{white,blakc}", 0.5, 1));
    let named = "holds hardly any of its declared levels white, blakc (no row has the level 'blakc' that can be told from noise)";
    assert!(said.contains(named), "{said}");
}

#[test]
fn missing_cells_that_are_everywhere_are_no_columns_fault() {
    let source = table(20_000, 2, |row, cells| {
        let mut index = 0;
        cells.map(|cell| {
            index += 1;
            if row % 3 == index - 1 { String::new() } else { cell }
        })
    });
    assert!(stopped(fit(&source, MODEL, 0.5, 1)).contains("missing cells are spread over the columns, so that"));
}

/// With three columns, each with 15 % of its cells missing, 61 % of the rows remain: 62 standard
/// deviations from a stop.
#[test]
fn ordinary_missing_cells_stop_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut missing = || -> Vec<f64> { (0..3).map(|_| StandardUniform.sample(&mut rng)).collect() };
    let gaps: Vec<Vec<f64>> = (0..8000).map(|_| missing()).collect();
    let source = table(8000, 4, |row, cells| {
        let mut gap = gaps[row].iter();
        cells.map(|cell| if *gap.next().expect("three") < 0.15 { String::new() } else { cell })
    });
    let complete = gaps.iter().filter(|row| row.iter().all(|one| *one >= 0.15)).count() as f64;
    for seed in 0..20 {
        let fit = fit(&source, MODEL, 0.2, seed).expect("a fit");
        let used = fit.rows_used.expect("counted");
        assert!(
            (used.estimate - complete).abs() < 6.0 * 40.0 && used.low <= used.estimate && used.estimate <= used.high
        );
        assert!(!fit.warnings.iter().any(|warning| matches!(warning, Warning::FewRowsUsed { .. })));
    }
}

#[test]
fn few_rows_are_the_first_that_a_reader_is_told() {
    let source = table(8000, 4, |row, [y, x, race]| [if row % 10 < 6 { String::new() } else { y }, x, race]);
    let fit = fit(&source, MODEL, 0.2, 3).expect("a fit");
    let Warning::FewRowsUsed { used, most, of, .. } = &fit.warnings[0] else { panic!("{:?}", fit.warnings) };
    assert!(used.abs_diff(3200) < 250 && most > used && *of == 8000);
    assert!(fit.to_string().contains(&format!("8,000 rows, about {},{:03} used;", used / 1000, used % 1000)), "{fit}");
    assert!(to_html(&fit, &Cover::default()).contains("<dt>Used</dt><dd>about 3,"));
    let document: serde_json::Value = serde_json::from_str(&to_json(&fit)).expect("JSON");
    assert_eq!(document["rows_used"]["estimate"].as_f64(), Some(*used as f64));
    assert_eq!(Fit::from_json(&to_json(&fit)).expect("the same"), fit);
}

/// Zeros are not missing cells if a model has no constant, and neither are weights of 0.
#[test]
fn rows_that_may_be_zeros_stop_nothing_unless_all_are() {
    let zeros = |share: usize| {
        table(20_000, 6, move |row, [y, x, race]| [y, if row % 100 < share { x } else { "0".to_owned() }, race])
    };
    let without = "y[-9..9] ~ x[-5..5] + 0";
    assert!(fit(&zeros(6), without, 0.5, 1).is_ok());
    assert!(stopped(fit(&zeros(0), without, 0.5, 1)).contains("or weights or all terms are 0"));
}

/// The requests to a payer, and its answers.
#[derive(Default)]
struct Payer {
    charges: Vec<Charge>,
    refuses_after: Option<usize>,
}

/// An error of the payer itself.
#[derive(Debug)]
enum Refusal {
    Own,
    Fit(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Fit(error)
    }
}

impl Payer {
    fn pay(&mut self, charge: Charge) -> Result<Receipt, Refusal> {
        if self.refuses_after == Some(self.charges.len()) {
            return Err(Refusal::Own);
        }
        self.charges.push(charge.clone());
        Ok(Receipt::by_caller(charge))
    }

    fn units(&self) -> Vec<u64> {
        self.charges.iter().map(|charge| charge.rho.units()).collect()
    }
}

#[test]
fn a_fit_is_paid_for_as_it_goes() {
    let source = table(4000, 1, |_, cells| cells);
    let mut data = read(&source, MODEL, &Reading::default());
    let whole = data.fit(&auto_at(0.1), NoiseSource::Seed(3), Progress::NONE).expect("a fit");
    let mut payer = Payer::default();
    let prepared = data.prepare(&auto_at(0.1), NoiseSource::Seed(3)).expect("a plan");
    let charged = prepared.charge();
    let fit = prepared.run_paid_by(&mut |charge| payer.pay(charge), Progress::NONE).expect("a fit");
    assert_eq!(fit, whole, "the same numbers, with either payer");
    let of_fit: Vec<u64> = fit.guarantee.releases.iter().map(|one| one.rho.units()).collect();
    assert_eq!((payer.units().len(), payer.units()[0]), (2, of_fit[0]));
    assert_eq!(payer.units().iter().sum::<u64>(), rho(0.1).units());
    assert_eq!(of_fit.iter().sum::<u64>(), rho(0.1).units());
    assert_eq!(fit.guarantee.releases[0].what, "number of usable rows");
    let [first, rest] = &payer.charges[..] else { panic!("two charges") };
    assert_eq!(first.formula, format!("usable rows of: {}", rest.formula));
    assert!(first.plan != rest.plan && first.table.is_empty() && !rest.table.is_empty() && rest.plan == charged.plan);
    // A payer's refusal stops the fit, and nothing is drawn for what it refuses.
    for paid in [0, 1] {
        let mut payer = Payer { refuses_after: Some(paid), ..Payer::default() };
        let prepared = data.prepare(&auto_at(0.1), NoiseSource::Seed(3)).expect("a plan");
        let refused = prepared.run_paid_by(&mut |charge| payer.pay(charge), Progress::NONE);
        assert!(matches!(refused, Err(Refusal::Own)) && payer.charges.len() == paid);
    }
}

/// The receipt of the whole covers no part, and the statement is that of the last charge.
#[test]
fn each_charge_has_its_own_receipt() {
    let source = table(4000, 1, |_, cells| cells);
    let mut data = read(&source, MODEL, &Reading::default());
    let prepared = data.prepare(&auto_at(0.1), NoiseSource::Seed(3)).expect("a plan");
    let whole = prepared.charge();
    let refused = prepared.run_paid_by(&mut |_| Ok::<_, Error>(Receipt::by_caller(whole.clone())), Progress::NONE);
    assert!(matches!(refused, Err(Error::Privacy(PrivacyError::OtherCharge))), "{refused:?}");
    let other = Charge::new(rho(0.1), Promise::default(), "another");
    let prepared = data.prepare(&auto_at(0.1), NoiseSource::Seed(3)).expect("a plan");
    assert!(prepared.run(Receipt::by_caller(other), Progress::NONE).is_err());
}

#[test]
fn a_fit_that_stops_pays_for_the_count_and_for_the_reason() {
    let mut data = read(&coded(12_000), MODEL, &Reading::default());
    let mut payer = Payer::default();
    let prepared = data.prepare(&auto_at(0.1), NoiseSource::Seed(3)).expect("a plan");
    let refused = prepared.run_paid_by(&mut |charge| payer.pay(charge), Progress::NONE).expect_err("stopped");
    let Refusal::Fit(Error::Unusable(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(payer.units(), [140_000_000_000, 560_000_000_000]);
    assert_eq!(error.spent.units(), payer.units().iter().sum::<u64>());
    assert!(payer.charges[1].formula.starts_with("usable cells of the columns of: y[-9..9] ~ "));
    // If the charge for the reason is refused, the error is the payer's refusal.
    let mut payer = Payer { refuses_after: Some(1), ..Payer::default() };
    let prepared = data.prepare(&auto_at(0.1), NoiseSource::Seed(3)).expect("a plan");
    let refused = prepared.run_paid_by(&mut |charge| payer.pay(charge), Progress::NONE);
    assert!(matches!(refused, Err(Refusal::Own)));
    // One receipt for the whole covers both.
    assert!(stopped(data.fit(&auto_at(0.1), NoiseSource::Seed(3), Progress::NONE)).contains("'race'"));
}

#[test]
fn where_the_count_would_cost_too_much_it_is_not_made() {
    let source = table(400, 1, |_, cells| cells);
    let mut data = read(&source, "y[-9..9] ~ x[-5..5]", &Reading::default());
    let mut payer = Payer::default();
    let prepared = data.prepare(&auto_at(0.3), NoiseSource::Seed(3)).expect("a plan");
    let fit = prepared.run_paid_by(&mut |charge| payer.pay(charge), Progress::NONE).expect("a fit");
    assert_eq!((fit.rows_used, payer.units()), (None, vec![rho(0.3).units()]));
    assert!(to_json(&fit).contains("\"rows_used\": null"));
}

/// In memory, in a file, on a cluster, by person with one row each: the same count, and the same
/// stop.
#[test]
fn engines_count_alike_and_stop_alike() {
    let gaps = table(6000, 4, |row, [y, x, race]| [if row % 10 < 3 { String::new() } else { y }, x, race]);
    let in_memory = fit(&gaps, MODEL, 0.2, 3).expect("a fit");
    let in_a_file = Reading { memory: Some(1), ..Reading::default() };
    let fit = |data: &mut Dataset| data.fit(&auto_at(0.2), NoiseSource::Seed(3), Progress::NONE);
    assert_eq!(fit(&mut read(&gaps, MODEL, &in_a_file)).expect("a fit"), in_memory);
    assert_eq!(fit(&mut on_a_cluster(&gaps)).expect("a fit"), in_memory);
    let coded = coded(12_000);
    let here = stopped(fit(&mut read(&coded, MODEL, &Reading::default())));
    assert_eq!(stopped(fit(&mut read(&coded, MODEL, &in_a_file))), here);
    let there = stopped(fit(&mut on_a_cluster(&coded)));
    let same = |said: &str| said.split_once(':').expect("a reason").0.to_owned();
    assert!(same(&there) == same(&here) && there.contains("check that columns of numbers"), "{there}");
    assert!(there.ends_with("(rho = 0.00014)"), "{there}");
}

fn on_a_cluster(source: &Source) -> Dataset {
    let (formula, reading) = (Formula::parse(MODEL).expect("a formula"), Reading::default());
    let design = reading.design(&reading.model(&formula, source.schema()).expect("a model"));
    let (mut blocks, options) = (Vec::new(), ReadOptions { block_rows: 700, ..ReadOptions::default() });
    let mut packed = |block: dplm::table::Block| {
        blocks.push(pack(&block, &design, BlockId::new(0, blocks.len() as u32)));
        Ok(())
    };
    source.for_each_block(design.columns(), &options, &mut packed).expect("blocks");
    remote(Arc::new(Cluster::new(blocks)), source.schema(), &formula, &reading).expect("rows")
}

/// Persons count if any of their rows does: here each has two, one of them with a missing cell.
#[test]
fn persons_are_counted_and_their_columns_named() {
    let lm = |source: &Source| dplm::lm(MODEL).rho(0.5).person("id").seed(2).fit_table(source);
    let one_of_two = table(8000, 4, |row, [y, x, race]| [if row % 2 == 0 { String::new() } else { y }, x, race]);
    let fit = lm(&one_of_two).expect("a fit");
    assert!(fit.rows == 4000 && fit.rows_used.expect("counted").estimate > 3850.0, "{:?}", fit.rows_used);
    let said = stopped(lm(&coded(8000)));
    let known =
        "of 4,000 persons can be used: the column 'race' holds none of its declared levels white, black, other;";
    assert!(said.contains(known), "{said}");
}

#[test]
fn groups_are_counted_once_over_all_and_what_they_are_by_may_be_to_blame() {
    let source = table(9000, 4, |row, [y, x, race]| [if row % 5 == 0 { String::new() } else { y }, x, race]);
    let read = |source: &Source, by: &str| {
        let formula = Formula::parse("y[-9..9] ~ x[-5..5]").expect("a formula");
        GroupedDataset::read(source, &formula, &Reading::default(), &by.parse().expect("groups"), None).expect("rows")
    };
    let mut payer = Payer::default();
    let mut data = read(&source, "race{white,black,other}");
    let prepared = data.prepare(&auto_at(1.0), NoiseSource::Seed(1)).expect("a plan");
    let fit = prepared.run_paid_by(&mut |charge| payer.pay(charge), Progress::NONE).expect("fits");
    assert!((fit.rows_used.expect("counted").estimate - 7200.0).abs() < 6.0 * 45.0);
    assert!(payer.units().len() == 2 && payer.units().iter().sum::<u64>() == rho(1.0).units());
    for of_fit in fit.fits().map(|(_, one)| &one.guarantee).chain([&fit.guarantee]) {
        assert_eq!(of_fit.releases.iter().map(|one| one.rho.units()).sum::<u64>(), rho(1.0).units());
    }
    assert!(fit.to_string().contains("9,000 rows, about 7,") && fit.fits().all(|(_, one)| one.rows_used.is_none()));
    assert!(grouped_to_json(&fit).contains("\"rows_used\": {"));
    let stop = read(&source, "race{1,2,3}").fit(&auto_at(1.0), NoiseSource::Seed(1), Progress::NONE);
    assert!(stopped(stop).contains("the column 'race' holds none of its declared levels 1, 2, 3"));
}

#[test]
fn a_study_counts_the_rows_of_all_its_specifications_once() {
    let text = |races: &str| {
        format!(
            "rho = 0.5\n[[specification]]\nname = 'main'\nformula = 'y[-9..9] ~ x[-5..5]'\n\
             [[specification]]\nname = 'races'\nformula = 'y ~ x + race{{{races}}}'\n"
        )
        .replace("'y ~ x", "'y[-9..9] ~ x[-5..5]")
    };
    let source = table(6000, 4, |row, [y, x, race]| [if row % 5 == 0 { String::new() } else { y }, x, race]);
    let run = |races: &str| {
        let study = Study::from_toml(&text(races)).expect("a study");
        let prepared = study.prepare(&source, &RunOptions::default().seed(1), Progress::NONE).expect("a plan");
        let mut payer = Payer::default();
        let fit = prepared.run_paid_by(&mut |charge| payer.pay(charge), Progress::NONE);
        (fit, payer.units())
    };
    let (fit, paid) = run("white,black,other");
    let fit = fit.expect("fits");
    assert!((fit.rows_used.expect("counted").estimate - 4800.0).abs() < 6.0 * 30.0);
    assert!(paid.len() == 2 && paid.iter().sum::<u64>() == rho(0.5).units());
    for of_fit in fit.parts.iter().map(|part| &part.fit.guarantee).chain([&fit.guarantee]) {
        assert_eq!(of_fit.releases.iter().map(|one| one.rho.units()).sum::<u64>(), rho(0.5).units());
        assert_eq!(of_fit.releases.iter().filter(|one| one.what.starts_with("number of usable rows")).count(), 1);
    }
    let (stop, paid) = run("1,2,3");
    let Err(Refusal::Fit(Error::Unusable(error))) = stop else { panic!("it stops") };
    assert!(error.to_string().contains("the column 'race'") && error.spent.units() == paid.iter().sum::<u64>());
}

#[test]
fn a_refinement_counts_on_its_own_budget() {
    let source = table(4000, 1, |_, cells| cells);
    let first = fit(&source, MODEL, 0.2, 3).expect("a fit");
    let refinement = Refinement::new(first, rho(0.1)).expect("one that can be refined");
    let mut data = read(&source, MODEL, &Reading::default());
    let second = data.fit(refinement.method(), NoiseSource::Seed(4), Progress::NONE).expect("a fit");
    let used = second.rows_used;
    assert!(used.is_some());
    let fit = refinement.join(second).expect("pooled");
    assert_eq!(fit.rows_used, used);
    assert_eq!(fit.guarantee.releases.iter().map(|one| one.rho.units()).sum::<u64>(), rho(0.3).units());
}

/// The planned cost of the count is its actual cost, and shares still add up.
#[test]
fn a_plan_knows_the_price_of_the_count() {
    let formula = Formula::parse("y[-9..9] ~ x[-5..5]").expect("a formula");
    let model = Asks::Formula { formula, standardised: false, weights: None, assumptions: Vec::new() };
    let asked = Asked { method: None, request: Request::new(rho(0.1)), tuning: Tuning::default(), model };
    let forecast = forecast(&asked, &Question::new(4000, rho(0.1), method::DELTA, 0.95)).expect("a forecast");
    let fit = fit(&table(4000, 1, |_, cells| cells), "y[-9..9] ~ x[-5..5]", 0.1, 3).expect("a fit");
    let (planned, made) = (&forecast.releases[0], &fit.guarantee.releases[0]);
    assert_eq!(planned.what, made.what);
    assert!((planned.share * 0.1 / made.rho.to_f64() - 1.0).abs() < 1e-9);
    assert!((forecast.releases.iter().map(|one| one.share).sum::<f64>() - 1.0).abs() < 1e-9);
}
