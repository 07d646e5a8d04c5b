//! Whole fits on neighbouring tables: along every path the releases together cost no more than their budget.
//!
//! This is the guarantee that is printed, of the program that runs: every question of every method, those that depend on earlier answers too,
//! with the claims that set their noise.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::{Method, Purpose, Request, Target, adassp, auto, dpgd};
use crate::{
    Dataset, NoiseSource, Progress, Reading,
    formula::Formula,
    privacy::{Neighbours, Rho, transcript},
    table::Source,
};

const ROWS: usize = 300;
const RHO: f64 = 3.0;
const FORMULA: &str = "y[-4..4] ~ a[-2..2] + b[0..10] + g{u,v,w}";

/// Rows as hostile as cells can be, and rows that are not: at the bounds, in corners where columns agree, missing.
const OTHERS: [&str; 8] =
    ["4,2,10,w", "-4,-2,0,w", "4,-2,10,v", "-4,2,0,u", "0,0,5,u", "1e300,-1e300,NA,w", "4,2,10,q", "NA,NA,NA,NA"];

fn row(rng: &mut ChaCha8Rng) -> String {
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let (a, b) = (4.0 * uniform() - 2.0, 3.0 + 4.0 * uniform());
    let level = ["u", "v", "w"][(3.0 * uniform()) as usize];
    let y = 0.5 * a - 0.2 * (b - 5.0) + f64::from(level == "v") + 2.0 * (uniform() - 0.5);
    format!("{y},{a},{b},{level}")
}

fn table(rows: &[String]) -> Dataset {
    let text = format!("y,a,b,g\n{}\n", rows.join("\n"));
    let source = Source::from_csv_stream(&mut text.as_bytes(), "a table").expect("a table");
    let formula = Formula::parse(FORMULA).expect("a formula");
    Dataset::read(&source, &formula, &Reading::default()).expect("rows")
}

fn methods(neighbours: Neighbours) -> Vec<Box<dyn Method>> {
    let rho = Rho::checked_from_f64(RHO).expect("a budget");
    let request = || Request { neighbours, ..Request::new(rho) };
    let prediction = || Request { purpose: Purpose::Prediction, ..request() };
    let robust = Request { target: Some(Target::Robust), ..request() };
    let sample = Request { target: Some(Target::Sample), ..request() };
    vec![
        Box::new(auto::Config::new(request())),
        Box::new(auto::Config::new(robust)),
        Box::new(auto::Config::new(sample)),
        Box::new(auto::Config::new(prediction())),
        Box::new(dpgd::Config::new(request())),
        Box::new(adassp::Config::new(prediction())),
    ]
}

/// The largest loss of a method over these neighbours, as a share of its budget.
fn largest_loss(method: &dyn Method, rows: &[String], others: &[&str]) -> f64 {
    let fit = |rows: &[String], seed: u64| {
        table(rows).fit(method, NoiseSource::Seed(seed), Progress::NONE).expect("a fit");
    };
    let mut largest = 0f64;
    for (seed, other) in (0..).zip(others) {
        let ((), heard) = transcript::recorded(|| fit(rows, seed));
        let mut neighbour = rows.to_vec();
        neighbour[17 * (1 + seed as usize)] = (*other).to_owned();
        let losses = transcript::losses(&heard, || fit(&neighbour, seed));
        largest = largest.max(losses.iter().sum::<f64>() / RHO);
    }
    largest
}

#[test]
fn no_neighbour_costs_more_than_the_budget() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut rows: Vec<String> = (0..ROWS).map(|_| row(&mut rng)).collect();
    // The row that is replaced is itself at the bounds, against the others' trend.
    (1..=OTHERS.len()).for_each(|place| rows[17 * place] = "-4,2,0,v".to_owned());
    for (neighbours, others) in [(Neighbours::ReplaceOne, &OTHERS[..]), (Neighbours::ZeroOut, &OTHERS[7..])] {
        for method in methods(neighbours) {
            let loss = largest_loss(method.as_ref(), &rows, others);
            assert!(loss <= 1.0, "{}, {neighbours:?}: {loss} of the budget", method.name());
            // A clipped gradient at full length in every step costs a good part of the budget, so that a claim too small by half would show.
            assert!(loss > 0.15, "{}, {neighbours:?}: only {loss} of the budget", method.name());
        }
    }
}
