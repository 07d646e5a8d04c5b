//! Whole fits on neighbouring tables: along every path the releases together cost no more than their budget.
//!
//! This is the guarantee that is printed, of the program that runs: every question of every method, those that depend on earlier answers too,
//! with the claims that set their noise; for rows, for persons, and for weighted rows.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::{Method, Purpose, Request, Target, adassp, auto, dpgd};
use crate::{
    Dataset, NoiseSource, Person, Progress, Reading,
    formula::Formula,
    privacy::{Neighbours, Rho, transcript},
    table::Source,
};

const UNITS: usize = 300;
const RHO: f64 = 3.0;
const FORMULA: &str = "y[-4..4] ~ a[-2..2] + b[0..10] + g{u,v,w}";

/// Rows as hostile as cells can be, and rows that are not: at the bounds, in corners where columns agree, missing.
const OTHERS: [&str; 8] = [
    "4,2,10,w,9",
    "-4,-2,0,w,9",
    "4,-2,10,v,9",
    "-4,2,0,u,1e300",
    "0,0,5,u,0.01",
    "1e300,-1e300,NA,w,9",
    "4,2,10,q,-1",
    "NA,NA,NA,NA,NA",
];

/// The rows of one unit: a row, or all of a person.
type Unit = Vec<String>;

fn row(rng: &mut ChaCha8Rng) -> String {
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let (a, b, weight) = (4.0 * uniform() - 2.0, 3.0 + 4.0 * uniform(), 3.0 * uniform());
    let level = ["u", "v", "w"][(3.0 * uniform()) as usize];
    let y = 0.5 * a - 0.2 * (b - 5.0) + f64::from(level == "v") + 2.0 * (uniform() - 0.5);
    format!("{y},{a},{b},{level},{weight}")
}

/// What is the unit, and what rows are weighted by.
#[derive(Clone, Copy, Debug)]
struct Kind {
    persons: bool,
    weighted: bool,
}

impl Kind {
    const ALL: [Kind; 4] = [
        Kind { persons: false, weighted: false },
        Kind { persons: false, weighted: true },
        Kind { persons: true, weighted: false },
        Kind { persons: true, weighted: true },
    ];

    fn person(self) -> Option<Person> {
        self.persons.then(|| Person { rows: Some(4), ..Person::new("id") })
    }

    /// Units with one row, or with one to three.
    fn units(self, rng: &mut ChaCha8Rng) -> Vec<Unit> {
        let rows = |unit: usize| if self.persons { 1 + unit % 3 } else { 1 };
        (0..UNITS).map(|unit| (0..rows(unit)).map(|_| row(rng)).collect()).collect()
    }

    /// A unit of this row, or of several like it: what is as hostile as rows can be is more so four times.
    fn unit(self, row: &str) -> Unit {
        vec![row.to_owned(); if self.persons { 4 } else { 1 }]
    }

    fn table(self, units: &[Unit]) -> Dataset {
        let of_unit = |(id, rows): (usize, &Unit)| rows.iter().map(|row| format!("{row},{id}\n")).collect::<String>();
        let text: String = units.iter().enumerate().map(of_unit).collect();
        let source =
            Source::from_csv_stream(&mut format!("y,a,b,g,w,id\n{text}").as_bytes(), "a table").expect("a table");
        let weights = self.weighted.then(|| "w[0..9]".parse().expect("weights"));
        let reading = Reading { person: self.person(), weights, ..Reading::default() };
        Dataset::read(&source, &Formula::parse(FORMULA).expect("a formula"), &reading).expect("rows")
    }

    fn methods(self, neighbours: Neighbours) -> Vec<Box<dyn Method>> {
        let rho = Rho::checked_from_f64(RHO).expect("a budget");
        let request = || Request { neighbours, person: self.person(), ..Request::new(rho) };
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
    fn largest_loss(self, method: &dyn Method, units: &[Unit], others: &[&str]) -> f64 {
        let fit = |units: &[Unit], seed: u64| {
            self.table(units).fit(method, NoiseSource::Seed(seed), Progress::NONE).expect("a fit");
        };
        let mut largest = 0f64;
        for (seed, other) in (0..).zip(others) {
            let ((), heard) = transcript::recorded(|| fit(units, seed));
            let mut neighbour = units.to_vec();
            neighbour[replaced(seed as usize)] = self.unit(other);
            let losses = transcript::losses(&heard, || fit(&neighbour, seed));
            largest = largest.max(losses.iter().sum::<f64>() / RHO);
        }
        largest
    }
}

/// Which unit another takes the place of.
fn replaced(case: usize) -> usize {
    17 * (1 + case)
}

#[test]
fn no_neighbour_costs_more_than_the_budget() {
    for kind in Kind::ALL {
        let mut units = kind.units(&mut ChaCha8Rng::seed_from_u64(4));
        // What is replaced is itself at the bounds, against the others' trend.
        (0..OTHERS.len()).for_each(|case| units[replaced(case)] = kind.unit("-4,2,0,v,9"));
        for (neighbours, others) in [(Neighbours::ReplaceOne, &OTHERS[..]), (Neighbours::ZeroOut, &OTHERS[7..])] {
            for method in kind.methods(neighbours) {
                let loss = kind.largest_loss(method.as_ref(), &units, others);
                assert!(loss <= 1.0, "{kind:?}, {}, {neighbours:?}: {loss} of the budget", method.name());
                // A clipped gradient at full length in every step costs a good part of the budget, so that a claim too small by half would show.
                assert!(loss > 0.15, "{kind:?}, {}, {neighbours:?}: only {loss} of the budget", method.name());
            }
        }
    }
}
