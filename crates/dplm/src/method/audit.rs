//! Whole fits on neighbouring tables: along every path the releases together cost no more than
//! their budget.
//!
//! This is the guarantee that is printed, of the program that runs: every question of every method,
//! those that depend on earlier answers too, with the claims that set their noise; for rows, for
//! persons, for weighted rows, and for groups, of which a unit may leave one and come into another.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::{Method, Purpose, Request, Target, auto, dpgd};
use crate::{
    Dataset, GroupOutcome, GroupedDataset, NoiseSource, Person, Progress, Reading, Receipt,
    formula::{Formula, Weights},
    options::Family,
    privacy::{Neighbours, Rho, transcript},
    study::{Specification, Study},
    table::Source,
};

const UNITS: usize = 400;
const RHO: f64 = 3.0;
const FORMULA: &str = "y[-4..4] ~ a[-2..2] + b[0..10] + g{u,v,w}";

/// Rows as hostile as cells can be, and rows that are not: at the bounds, in corners where columns
/// agree, missing.
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

/// What is the unit, and whether rows are weighted, and in groups.
#[derive(Clone, Copy, Debug)]
struct Kind {
    persons: bool,
    weighted: bool,
    grouped: bool,
}

impl Kind {
    fn all() -> impl Iterator<Item = Kind> {
        (0..8).map(|bits| Kind { persons: bits & 1 > 0, weighted: bits & 2 > 0, grouped: bits & 4 > 0 })
    }

    fn person(self) -> Option<Person> {
        self.persons.then(|| Person { rows: Some(4), ..Person::new("id") })
    }

    /// Units with one row, or with one to three, of two groups.
    fn units(self, rng: &mut ChaCha8Rng) -> Vec<Unit> {
        let rows = |unit: usize| if self.persons { 1 + unit % 3 } else { 1 };
        let group = |unit: usize| ["n", "s"][unit / 5 % 2];
        (0..UNITS).map(|unit| (0..rows(unit)).map(|_| format!("{},{}", row(rng), group(unit))).collect()).collect()
    }

    /// A unit of this row in a group, or of several like it: what is as hostile as rows can be is
    /// more so four times.
    fn unit(self, row: &str, group: &str) -> Unit {
        vec![format!("{row},{group}"); if self.persons { 4 } else { 1 }]
    }

    /// Units in the place of one in the group `n`: in that group, and where there are groups in the
    /// other, in none, and with rows in both.
    fn others(self, rows: &[&str]) -> Vec<Unit> {
        let groups: &[&str] = if self.grouped { &["n", "s", "q"] } else { &["n"] };
        let of_row = |row: &&str| groups.iter().map(|group| self.unit(row, group)).collect::<Vec<Unit>>();
        let mut others: Vec<Unit> = rows.iter().flat_map(of_row).collect();
        if self.grouped && self.persons {
            others.push([self.unit(rows[0], "s"), self.unit(rows[0], "n")].concat());
        }
        others
    }

    fn table(units: &[Unit]) -> Source {
        let of_unit = |(id, rows): (usize, &Unit)| rows.iter().map(|row| format!("{row},{id}\n")).collect::<String>();
        let text: String = units.iter().enumerate().map(of_unit).collect();
        Source::from_csv_stream(&mut format!("y,a,b,g,w,r,id\n{text}").as_bytes(), "a table").expect("a table")
    }

    /// Two specifications under one budget.
    fn study(self, units: &[Unit], neighbours: Neighbours, seed: u64) {
        let specifications = [("main", FORMULA), ("short", "y[-4..4] ~ a[-2..2] + g{u,v,w}")].map(|(name, formula)| {
            let formula = Formula::parse(formula).expect("a formula");
            Specification { name: name.to_owned(), formula, share: None }
        });
        let rho = Rho::checked_from_f64(RHO).expect("a budget");
        let request = Request { neighbours, person: self.person(), ..Request::new(rho) };
        let study = Study::new(specifications.to_vec(), request).expect("a study").weighted(self.weights());
        let source = Self::table(units);
        let prepared =
            study.prepare(&source, &crate::RunOptions::default().seed(seed), Progress::NONE).expect("a plan");
        let receipt = Receipt::by_caller(prepared.charge());
        prepared.run(receipt, Progress::NONE).expect("fits");
    }

    fn weights(self) -> Option<Weights> {
        self.weighted.then(|| "w[0..9]".parse().expect("weights"))
    }

    fn fit(self, units: &[Unit], method: &dyn Method, seed: u64) {
        self.fit_of(&Formula::parse(FORMULA).expect("a formula"), units, method, seed);
    }

    fn fit_of(self, formula: &Formula, units: &[Unit], method: &dyn Method, seed: u64) {
        let (source, weights) = (Self::table(units), self.weights());
        let reading = Reading { person: self.person(), weights, ..Reading::default() };
        if !self.grouped {
            let mut rows = Dataset::read(&source, formula, &reading).expect("rows");
            rows.fit(method, NoiseSource::Seed(seed), Progress::NONE).expect("a fit");
            return;
        }
        let by = "r{n,s}".parse().expect("groups");
        let mut groups = GroupedDataset::read(&source, formula, &reading, &by, None).expect("rows");
        let fit = groups.fit(method, NoiseSource::Seed(seed), Progress::NONE).expect("fits");
        assert!(fit.groups.iter().all(|group| matches!(group.outcome, GroupOutcome::Fitted(_))), "{fit}");
    }

    fn methods(self, neighbours: Neighbours) -> Vec<Box<dyn Method>> {
        let rho = Rho::checked_from_f64(RHO).expect("a budget");
        let request = || Request { neighbours, person: self.person(), ..Request::new(rho) };
        let prediction = || Request { purpose: Purpose::Prediction, ..request() };
        let robust = Request { target: Some(Target::Robust), ..request() };
        let focused = Request { focus: vec!["a".to_owned()], ..robust.clone() };
        let sample = Request { target: Some(Target::Sample), ..request() };
        vec![
            Box::new(auto::Config::new(request())),
            Box::new(auto::Config::new(robust)),
            Box::new(auto::Config::new(focused.clone())),
            Box::new(auto::Config::new(focused).by_indices()),
            Box::new(auto::Config::new(sample)),
            Box::new(auto::Config::new(prediction())),
            Box::new(dpgd::Config::new(request())),
        ]
    }
}

/// The largest loss of what `runs` releases over these neighbours, as a share of its budget.
fn largest_loss(runs: impl Fn(&[Unit], u64), units: &[Unit], others: &[Unit]) -> f64 {
    let mut largest = 0f64;
    for (case, other) in others.iter().enumerate() {
        let seed = 10 * case as u64;
        let ((), heard) = transcript::recorded(|| runs(units, seed));
        let mut neighbour = units.to_vec();
        neighbour[replaced(case)].clone_from(other);
        let losses = transcript::losses(&heard, || runs(&neighbour, seed));
        largest = largest.max(losses.iter().sum::<f64>() / RHO);
    }
    largest
}

/// Which unit another takes the place of; all of them are in the group `n`.
fn replaced(case: usize) -> usize {
    10 * (1 + case)
}

#[test]
fn no_neighbour_costs_more_than_the_budget() {
    for kind in Kind::all() {
        let mut units = kind.units(&mut ChaCha8Rng::seed_from_u64(4));
        let missing = kind.unit(OTHERS[7], if kind.grouped { "NA" } else { "n" });
        let all = kind.others(if kind.grouped { &OTHERS[..3] } else { &OTHERS });
        // What is replaced is itself at the bounds, against the others' trend.
        (0..all.len()).for_each(|case| units[replaced(case)] = kind.unit("-4,2,0,v,9", "n"));
        for (neighbours, others) in [(Neighbours::ReplaceOne, &all[..]), (Neighbours::ZeroOut, &[missing][..])] {
            if !kind.grouped {
                let loss = largest_loss(|units, seed| kind.study(units, neighbours, seed), &units, others);
                assert!((0.15..=1.0).contains(&loss), "{kind:?}, a study, {neighbours:?}: {loss} of the budget");
            }
            for method in kind.methods(neighbours) {
                let loss = largest_loss(|units, seed| kind.fit(units, method.as_ref(), seed), &units, others);
                assert!(loss <= 1.0, "{kind:?}, {}, {neighbours:?}: {loss} of the budget", method.name());
                // A clipped gradient at full length in every step costs a good part of the budget,
                // so that a claim too small by half would show.
                assert!(loss > 0.15, "{kind:?}, {}, {neighbours:?}: only {loss} of the budget", method.name());
            }
        }
    }
}

/// Models beside least squares: their formula, whether responses are binary, and whether units must
/// be persons.
const MODELS: [(&str, bool, bool); 4] = [
    ("r{n,s} ~ a[-2..2] + b[0..10] + g{u,v,w}", true, false),
    ("y[-4..4] ~ g{u,v,w} | a[-2..2] ~ b[0..10]", false, false),
    ("y[-4..4] ~ 1 | a[-2..2] ~ b[0..10] + g{u,v,w}", false, false),
    ("y[-4..4] ~ a[-2..2] + b[0..10] | id", false, true),
];

/// Logits with their average effects and pseudo R^2, one instrument and several, and constants of
/// persons: a replaced unit is as far off as cells can be, with the other outcome.
#[test]
fn no_neighbour_costs_more_than_the_budget_in_any_model() {
    for (formula, binary, of_persons) in MODELS {
        let family = if binary { Family::Binomial } else { Family::Gaussian };
        let formula = Formula::parse_for(formula, family).expect("a formula");
        for kind in Kind::all().filter(|kind| !kind.grouped && (kind.persons || !of_persons)) {
            // Nothing is left of a person whose rows are all alike once their means are taken out.
            let unit = |row: &str, group: &str| match of_persons {
                false => kind.unit(row, group),
                true => [row, "-4,-2,0,v,9"].iter().flat_map(|row| kind.unit(row, group).split_off(2)).collect(),
            };
            let mut units = kind.units(&mut ChaCha8Rng::seed_from_u64(6));
            let others: Vec<Unit> = OTHERS.iter().map(|row| unit(row, "s")).collect();
            (0..others.len()).for_each(|case| units[replaced(case)] = unit("-4,2,0,v,9", "n"));
            let missing = [kind.unit(OTHERS[7], "NA")];
            for (neighbours, others) in [(Neighbours::ReplaceOne, &others[..]), (Neighbours::ZeroOut, &missing[..])] {
                let rho = Rho::checked_from_f64(RHO).expect("a budget");
                let method = auto::Config::new(Request { neighbours, person: kind.person(), ..Request::new(rho) });
                let loss = largest_loss(|units, seed| kind.fit_of(&formula, units, &method, seed), &units, others);
                assert!((0.15..=1.0).contains(&loss), "{kind:?}, {formula}, {neighbours:?}: {loss} of the budget");
            }
        }
    }
}
