//! A lower bound on epsilon from runs on worst-case neighbours, compared with the claim.
//!
//! Two tables differ in one row, which moves the fit as far as a row can in one direction or in the
//! opposite one. The real mechanism is run many times on each, and a number is computed from its
//! releases. How well that number distinguishes the tables bounds epsilon from below, whatever the
//! number is: with an event of probability `p` on one table and `q` on the other,
//! `epsilon >= ln((p - delta) / q)`, and a Gaussian mechanism has `mu >= Phi^-1(p) - Phi^-1(q)`.
//!
//! The event is chosen on the first repetition and judged on the others, by Clopper and Pearson's
//! bounds. A mechanism that is broken on purpose must be caught. Half the noise is that of four
//! times the budget; a clip threshold twice as wide as the noise allows is a threshold of `2 gamma`
//! at four times the budget.

use super::{
    Experiment, Finished, Measures, Point, Table, cell,
    evidence::{best_event, bounds, epsilon_from, mu_from},
};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Reference, Series},
    record::Values,
    trial::seed,
};
use dplm::{
    Error, Progress,
    formula::{Column, Kind, Model},
    lattice::Design,
    method::{Outcome, Purpose, Request, Tuning, auto, dpgd},
    privacy::{
        Budget, PrivacyError, Rho, Sensitive,
        convert::{self, Conversion},
        noise::FixedSeed,
        release,
    },
    rows::{Encoded, MemoryBuilder},
    table::{Block, Cells},
};
use dplm_methods::adassp;

/// Lower bounds on epsilon by mechanism and budget.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    rho: Vec<f64>,
    delta: f64,
    gamma: f64,
    steps: u32,
    step_size: f64,
    rows: u32,
    runs: u32,
    repetitions: u32,
    /// The allowed probability of a false alarm.
    alarm: f64,
    noise_scale: f64,
    seed: u64,
}

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mechanism {
    /// One integer through `release`.
    Release,
    /// Every gradient of a descent.
    Gradients,
    /// A whole fit by the paper's method, intervals included.
    Fit,
    /// A fit from second moments.
    Adassp,
    /// A whole automatic fit.
    Auto,
}

/// The deliberate fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    HalfNoise,
    DoubleClip,
}

/// The cases, in the order of the table; the first is drawn on top.
const CASES: [(&str, Mechanism, Fault); 9] = [
    ("dpgd, gradients", Mechanism::Gradients, Fault::None),
    ("dpgd, whole fit", Mechanism::Fit, Fault::None),
    ("auto, whole fit", Mechanism::Auto, Fault::None),
    ("adassp", Mechanism::Adassp, Fault::None),
    ("one release", Mechanism::Release, Fault::None),
    ("dpgd, half the noise", Mechanism::Gradients, Fault::HalfNoise),
    ("dpgd, double clip", Mechanism::Gradients, Fault::DoubleClip),
    ("one release, half the noise", Mechanism::Release, Fault::HalfNoise),
    ("one release, double clip", Mechanism::Release, Fault::DoubleClip),
];

/// The response of the row that differs: far beyond the range of any parameters, so that its
/// gradient is always clipped.
const EXTREME: f64 = 128.0;

impl Audit {
    fn case(point: &Point) -> (&'static str, Mechanism, Fault) {
        CASES[point.whole("case") as usize]
    }

    /// The budget that is actually spent, and how much further than claimed a row reaches.
    fn broken(&self, point: &Point, fault: Fault) -> Result<(Rho, f64), LabError> {
        let (noise, reach) = match fault {
            Fault::None => (1.0, 1.0),
            Fault::HalfNoise => (0.5, 1.0),
            // A clip threshold twice as wide doubles the noise with it, unless the budget is four
            // times as large.
            Fault::DoubleClip => (0.5, 2.0),
        };
        let scale = noise * self.noise_scale;
        let rho = Rho::checked_from_f64(point.get("rho") / (scale * scale));
        Ok((rho.map_err(|error: PrivacyError| Error::from(error))?, reach))
    }

    /// The numbers from `runs` runs on the table whose last row moves the fit in the direction of
    /// `sign`.
    fn numbers(&self, point: &Point, repetition: u64, sign: f64) -> Result<Vec<f64>, LabError> {
        let (_, mechanism, fault) = Audit::case(point);
        let (rho, reach) = self.broken(point, fault)?;
        let words = [point.whole("case"), point.get("rho").to_bits(), repetition, u64::from(sign > 0.0)];
        let mut rng = FixedSeed::new(seed(self.seed, "audit", &words));
        let many = |mut one: Box<dyn FnMut() -> Result<f64, Error> + '_>| (0..self.runs).map(|_| one()).collect();
        let found: Result<Vec<f64>, Error> = match mechanism {
            Mechanism::Release => many(Box::new(|| one_release(rho, reach * sign, fault, &mut rng))),
            Mechanism::Gradients | Mechanism::Fit => {
                let purpose = if mechanism == Mechanism::Fit { Purpose::Inference } else { Purpose::Prediction };
                let (mut rows, design) = self.table(Kind::Standard, EXTREME * sign);
                let plan = self.dpgd(Request { purpose, ..Request::new(rho) }, reach).plan(self.count(), &design)?;
                many(Box::new(|| plan.run(&mut rows, &design, &mut rng, Progress::NONE).map(|run| moved(&run))))
            }
            Mechanism::Adassp => {
                let (mut rows, design) = self.table(Kind::Standard, sign);
                let (row_bound, response_bound) = (Some(1.0), Some(1.0));
                let config = adassp::Config { row_bound, response_bound, ..adassp::Config::new(Request::new(rho)) };
                let plan = config.plan(self.count(), &design)?;
                many(Box::new(|| plan.run(&mut rows, &mut rng).map(|run| run.theta[0])))
            }
            Mechanism::Auto => {
                let (mut rows, design) = self.table(Kind::Bounded { low: -1.0, high: 1.0 }, sign);
                let config = auto::Config::new(Request { purpose: Purpose::Prediction, ..Request::new(rho) });
                let plan = config.plan(self.count(), &design)?;
                many(Box::new(|| plan.run(&mut rows, &design, &mut rng, Progress::NONE).map(|run| moved(&run))))
            }
        };
        Ok(found?)
    }

    /// The paper's method as defined, with a clip threshold that reaches this much further.
    fn dpgd(&self, request: Request, reach: f64) -> dpgd::Config {
        let (clip, steps, step_size) = (Some(reach * self.gamma), Some(self.steps), Some(self.step_size));
        dpgd::Config { request, tuning: Tuning { clip, steps, step_size } }
    }

    fn count(&self) -> u64 {
        u64::from(self.rows.max(1))
    }

    /// Rows that move nothing, and one that does.
    fn table(&self, kind: Kind, response: f64) -> (Encoded, Design) {
        let column = |name: &str| Column { name: name.into(), kind: kind.clone() };
        let design = Design::new(&Model::of_columns(column("y"), vec![column("x")], false));
        let mut builder = MemoryBuilder::new(&design);
        let rows = self.count() as usize;
        let cells = |last: f64| Cells::Numbers(std::iter::repeat_n(0.0, rows - 1).chain([last]).collect());
        builder.push(&Block { rows, columns: vec![cells(response), cells(1.0)] });
        (builder.finish(), design)
    }

    fn of_case(done: &[Finished], case: usize) -> impl Iterator<Item = &Finished> {
        done.iter().filter(move |one| one.at("case") as usize == case)
    }
}

/// The amount by which one row moves the integer: so large that rounding the scale of the noise up
/// to an integer is negligible.
const UNIT: f64 = 1000.0;

/// One integer through `release`: 0, or as far from it as a row may move it; further if the clip
/// threshold is doubled.
fn one_release(rho: Rho, value: f64, fault: Fault, rng: &mut FixedSeed) -> Result<f64, Error> {
    // The doubled threshold takes its noise with it; the larger budget reverses that.
    let claimed = UNIT * if fault == Fault::DoubleClip { 2.0 } else { 1.0 };
    let query = Sensitive::claim(vec![(UNIT * value.max(0.0)) as i128], ((claimed * claimed) as u128).into());
    let spend = Budget::new(rho).spend_rest("audit")?;
    Ok(release(query, spend, rng)?.values[0] as f64)
}

/// The first coordinate of all noisy gradients together: no number distinguishes the two tables
/// better.
fn moved(run: &Outcome) -> f64 {
    -run.trajectories[0].gradient.iter().map(|gradient| gradient[0]).sum::<f64>()
}

impl Experiment for Audit {
    fn points(&self) -> Vec<Point> {
        let point = |case: usize, rho: f64| {
            let parameters = [
                ("case", case as f64),
                ("rho", rho),
                ("delta", self.delta),
                ("gamma", self.gamma),
                ("steps", f64::from(self.steps)),
                ("step_size", self.step_size),
                ("n", f64::from(self.rows)),
                ("runs", f64::from(self.runs)),
                ("alarm", self.alarm),
                ("noise_scale", self.noise_scale),
            ];
            Point::new("audit", &parameters, self.repetitions, self.seed)
        };
        (0..CASES.len()).flat_map(|case| self.rho.iter().map(move |&rho| point(case, rho))).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let numbers = |sign| self.numbers(point, repetition, sign);
        Ok(Measures::from([("plus".to_owned(), numbers(1.0)?), ("minus".to_owned(), numbers(-1.0)?)]))
    }

    fn summarise(&self, point: &Point, repetitions: &[Measures]) -> Values {
        let (pilot, judged) = repetitions.split_at(1.min(repetitions.len()));
        let sample = |of: &[Measures], name| super::all(of, name);
        let [first, rest] = [pilot, judged].map(|part| [sample(part, "plus"), sample(part, "minus")]);
        let [first, rest] = [&first, &rest].map(|[plus, minus]| [plus.as_slice(), minus.as_slice()]);
        // Two bounds are stated, so each may fail half as often.
        let alarm = self.alarm / 2.0;
        let prove = |proof: &dyn Fn((f64, f64)) -> f64| {
            let event = best_event(first, 0.1, proof);
            proof(bounds(event, rest, alarm))
        };
        let rho = point.get("rho");
        let claimed = convert::epsilon(Conversion::Exact, rho, self.delta).unwrap_or(f64::NAN);
        Values::from([
            ("epsilon".to_owned(), claimed),
            ("epsilon_lo".to_owned(), prove(&|bounds| epsilon_from(bounds, self.delta))),
            ("mu".to_owned(), (2.0 * rho).sqrt()),
            ("mu_lo".to_owned(), prove(&mu_from)),
            ("runs".to_owned(), (rest[0].len() + rest[1].len()) as f64),
        ])
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let (name, _, _) = Audit::case(&one.point);
            let numbers = [one.at("rho"), one.value("runs"), self.delta].map(cell);
            let found = ["epsilon", "epsilon_lo", "mu", "mu_lo"].map(|name| cell(one.value(name)));
            std::iter::once(name.replace(',', ";"))
                .chain(numbers)
                .chain(found)
                .chain([verdict(one).to_owned()])
                .collect()
        };
        let columns = &["mechanism", "rho", "runs", "delta", "epsilon", "epsilon_lo", "mu", "mu_lo", "verdict"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let series = |case: usize| {
            let mark = |one: &Finished| {
                let share = 100.0 * one.value("mu_lo") / one.value("mu");
                Mark::between(one.at("rho"), share, share, share)
            };
            Series::new(CASES[case].0, Audit::of_case(done, case).map(mark).collect())
        };
        Figure::plot(
            format!(
                "Lower bound on μ = √(2ρ) from {} repetitions of {} runs on each of two neighbouring tables, wrong with probability {:e}, as a \
                 share of the claim. Above 100 % the claim is refuted; bounds at δ = {} are in the table.",
                self.repetitions, self.runs, self.alarm, self.delta
            ),
            Plot {
                x: Axis::log("budget ρ"),
                y: Axis::linear("proved, % of the claim").from(0.0),
                series: (0..CASES.len()).map(series).collect(),
                references: vec![Reference::new("the claim", 100.0)],
                ..Plot::default()
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        for (case, (name, _, fault)) in CASES.iter().enumerate() {
            let points: Vec<&Finished> = Audit::of_case(done, case).collect();
            let words: Vec<String> = points.iter().map(|one| in_words(one)).collect();
            let refuted = points.iter().filter(|one| is_refuted(one)).count();
            let confidence = format!("wrong with probability {:e} for each budget", self.alarm);
            match fault {
                Fault::None => claims.add(
                    format!("{name}: runs on worst-case neighbours prove no more than is claimed"),
                    words.join("; "),
                    format!("no bound above its claim, {confidence}"),
                    refuted == 0,
                ),
                Fault::HalfNoise | Fault::DoubleClip => claims.add(
                    format!("{name}, broken on purpose, is caught"),
                    words.join("; "),
                    format!("a bound above its claim at every budget, {confidence}"),
                    refuted == points.len(),
                ),
            }
        }
    }
}

/// Whether either bound is above its claim.
fn is_refuted(one: &Finished) -> bool {
    one.value("epsilon_lo") > one.value("epsilon") || one.value("mu_lo") > one.value("mu")
}

fn verdict(one: &Finished) -> &'static str {
    if is_refuted(one) { "refuted" } else { "not refuted" }
}

fn in_words(one: &Finished) -> String {
    let [epsilon, epsilon_lo, mu, mu_lo] = ["epsilon", "epsilon_lo", "mu", "mu_lo"].map(|name| one.value(name));
    format!("ρ = {}: ε ≥ {epsilon_lo:.2} of {epsilon:.2}, μ ≥ {mu_lo:.2} of {mu:.2}", one.at("rho"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        claim::Claim,
        definition::{Changes, Definition},
    };

    fn judged(set: &[&str]) -> Vec<Claim> {
        let set = set.iter().map(|&one| one.to_owned()).collect();
        let definition = Definition::built_in("audit", &Changes { quick: true, set, ..Changes::default() }).unwrap();
        let mut record = crate::record::Record::read("", "audit").unwrap();
        let done = crate::run::measure(&definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap();
        let table = definition.experiment.table(&done);
        assert!(table.rows.len() == CASES.len() && table.rows.iter().all(|row| row.len() == table.columns.len()));
        crate::run::judge(&definition, &done)
    }

    /// False-alarm rate: 1e-6 for each of the five sound mechanisms.
    #[test]
    fn sound_mechanisms_pass_and_broken_ones_are_caught() {
        for claim in judged(&[]) {
            assert!(claim.holds, "{}: {}", claim.claim, claim.measured);
        }
    }

    #[test]
    fn half_the_noise_everywhere_is_seen_where_the_whole_budget_is() {
        let claims = judged(&["noise_scale=0.5"]);
        let fails = |name: &str| claims.iter().any(|claim| claim.claim.starts_with(name) && !claim.holds);
        assert!(fails("dpgd, gradients: ") && fails("one release: "), "{claims:?}");
    }
}
