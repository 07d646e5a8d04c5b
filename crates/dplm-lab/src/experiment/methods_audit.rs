//! The audit of every mechanism other than the Gaussian, and of every method built on them: bounds
//! from runs on worst-case neighbours, compared with the claims.
//!
//! A mechanism gets the two answers that a row moves furthest apart, and its claim is a pure
//! epsilon. A method gets two tables that differ in one row, replaced by its opposite or zeroed
//! out, and its claim is that of a fit: epsilon at delta by the conversion of the method, and `mu`
//! if everything is Gaussian. Whichever rows a method reads in whichever order, its estimate is a
//! function of its releases, so it may not reveal more. Mechanisms broken on purpose must be
//! caught: see [`super::Audit`].

use dplm::{
    Design, Error, Progress,
    formula::{Column, Formula, Kind, Model},
    method::{self, Entry, IntervalMethod, Purpose, Request, Tuning},
    privacy::{
        Budget, Mechanism, Neighbours, PrivacyError, Rho, Sensitive,
        convert::{self, Conversion},
        noise::{FixedSeed, NoiseSource},
        release_by,
    },
    rows::{Encoded, MemoryBuilder},
    table::{Block, Cells},
};
use dplm_methods::mechanism::{Depths, Failure, Laplace, Nested, Scores, select, select_point, select_tested_point};

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

/// Lower bounds on epsilon by mechanism, method and budget.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodsAudit {
    rho: Vec<f64>,
    /// The delta at which epsilon of a method is claimed and bounded.
    delta: f64,
    rows: u32,
    /// Runs on each of the two tables, in one repetition: of a method, and of a mechanism alone.
    runs: u32,
    mechanism_runs: u32,
    repetitions: u32,
    /// The allowed probability of a false alarm.
    alarm: f64,
    /// Less than 1 breaks everything.
    noise_scale: f64,
    seed: u64,
}

/// What is run.
#[derive(Clone, Copy)]
enum Audited {
    /// One integer with discrete Laplace noise.
    Laplace,
    /// A choice among candidates.
    Choice,
    /// A point of a public box.
    Point,
    /// A test of the depth of points.
    Test,
    /// A whole fit.
    Fit(&'static Entry, Neighbours),
}

/// The mechanism or method, and the share of its noise.
#[derive(Clone, Copy)]
struct Case {
    audited: Audited,
    noise: f64,
}

const MECHANISMS: [Audited; 4] = [Audited::Laplace, Audited::Choice, Audited::Point, Audited::Test];

impl Case {
    /// Every mechanism, and every method for both relations, sound and broken.
    fn all() -> Vec<Case> {
        let relations = [Neighbours::ReplaceOne, Neighbours::ZeroOut];
        let alone = [1.0, 0.5].into_iter().flat_map(|noise| MECHANISMS.map(|audited| Case { audited, noise }));
        // An estimate reveals little of the releases, so only less noise can be caught.
        let fits = [1.0, 0.1].into_iter().flat_map(move |noise| {
            dplm_methods::METHODS.iter().flat_map(move |entry| {
                relations.map(|neighbours| Case { audited: Audited::Fit(entry, neighbours), noise })
            })
        });
        alone.chain(fits).collect()
    }

    fn name(self) -> String {
        let name = match self.audited {
            Audited::Laplace => "discrete Laplace".to_owned(),
            Audited::Choice => "exponential, candidates".to_owned(),
            Audited::Point => "exponential, points".to_owned(),
            Audited::Test => "propose-test-release, test".to_owned(),
            Audited::Fit(entry, neighbours) => format!("{}, {neighbours}", entry.name),
        };
        match self.noise {
            1.0 => name,
            0.5 => format!("{name}, half the noise"),
            _ => format!("{name}, a tenth of the noise"),
        }
    }

    /// The claimed epsilon and its delta; `mu` if everything is Gaussian.
    fn claim(self, rho: f64, delta: f64) -> (f64, f64, Option<f64>) {
        match self.audited {
            Audited::Laplace => ((2.0 * rho).sqrt(), 0.0, None),
            Audited::Test => ((2.0 * rho * TEST_SHARE).sqrt(), 0.0, None),
            Audited::Choice | Audited::Point => ((8.0 * rho).sqrt(), 0.0, None),
            Audited::Fit(entry, _) => {
                let mu = (entry.conversion == Conversion::Exact).then(|| (2.0 * rho).sqrt());
                (convert::epsilon(entry.conversion, rho, delta).unwrap_or(f64::NAN), delta, mu)
            }
        }
    }
}

/// The amount by which one row moves an integer: so large that rounding the scale of the noise up
/// to an integer is negligible.
const UNIT: i128 = 1000;

/// Candidates of a choice: with many, both the chosen one and all others gain from the row, and
/// nearly all of the claimed range is used.
const CANDIDATES: i64 = 40;

/// Fits whose test is audited, and the test's share of the budget: the scale of its noise is an
/// integer, and at a small budget it is hardly rounded.
const FITS: usize = 12;
const TEST_SHARE: f64 = 0.04;

/// The position of the deciding row, and the lengths of the others.
const DECIDES: usize = 7;
const SHORT: [f64; 2] = [0.04, 0.06];

impl MethodsAudit {
    fn case(point: &Point) -> Case {
        Case::all()[point.whole("case") as usize]
    }

    /// The budget that is actually spent.
    fn spent(&self, point: &Point, case: Case) -> Result<Rho, LabError> {
        let scale = self.noise_scale * case.noise;
        let rho = Rho::checked_from_f64(point.get("rho") / (scale * scale));
        Ok(rho.map_err(|error: PrivacyError| Error::from(error))?)
    }

    /// The numbers of many runs, on the table with large numbers or on the other.
    fn numbers(&self, point: &Point, repetition: u64, large: bool) -> Result<Vec<f64>, LabError> {
        let case = MethodsAudit::case(point);
        let rho = self.spent(point, case)?;
        let words = [point.get("rho").to_bits(), repetition, u64::from(large)];
        let seed = seed(self.seed, &case.name(), &words);
        let mut rng = FixedSeed::new(seed);
        let found: Result<Vec<f64>, Error> = match case.audited {
            Audited::Fit(entry, neighbours) => {
                self.fits(*entry, Request { neighbours, ..Request::new(rho) }, large, seed)
            }
            alone => (0..self.mechanism_runs).map(|_| alone.run(rho, large, &mut rng)).collect(),
        };
        Ok(found?)
    }

    /// Estimates of many fits of one table.
    fn fits(&self, entry: Entry, request: Request, large: bool, seed: u64) -> Result<Vec<f64>, Error> {
        let has_intervals = entry.intervals.contains(&IntervalMethod::Newton);
        let purpose = if has_intervals { Purpose::Inference } else { Purpose::Prediction };
        let formula = Formula::parse("y[-1..1] ~ x[-1..1] + 0").expect("a formula");
        let other = match request.neighbours {
            Neighbours::ReplaceOne => (1.0, -1.0),
            Neighbours::ZeroOut => (f64::NAN, f64::NAN),
        };
        let (mut rows, design) = self.table(if large { (1.0, 1.0) } else { other });
        let method = method::choose(Some(entry), Request { purpose, ..request }, Tuning::default(), &formula, false)?;
        let plan = method.plan(u64::from(self.rows), &design)?;
        let mut rng = NoiseSource::Seed(seed).open().map_err(PrivacyError::from)?;
        let mut one = || -> Result<f64, Error> {
            let outcome = plan.run(&mut rows, &design, &mut rng, Progress::NONE)?;
            let late = outcome.predictor(&design)[0];
            Ok(if late.is_nan() { f64::MIN } else { late })
        };
        (0..self.runs).map(|_| one()).collect()
    }

    /// A row that decides, among others that are short and of alternating slope. Any batch of an
    /// even number of rows by position has half of its rows with either slope, and in its own batch
    /// the deciding row outweighs others of the opposite slope. Of eight batches it is in the last,
    /// which an estimate remembers best.
    fn table(&self, decides: (f64, f64)) -> (Encoded, Design) {
        let column = |name: &str| Column { name: name.into(), kind: Kind::Bounded { low: -1.0, high: 1.0 } };
        let design = Design::new(&Model::of_columns(column("y"), vec![column("x")], false));
        let mut builder = MemoryBuilder::new(&design);
        let rows = self.rows as usize;
        let other = |row: usize| {
            // Two lengths, so that medians are well defined.
            let length = SHORT[row / 16 % 2];
            (length, if row.is_multiple_of(2) { length } else { -length })
        };
        let cells: Vec<(f64, f64)> = (0..rows).map(|row| if row == DECIDES { decides } else { other(row) }).collect();
        let (x, y) = cells.into_iter().unzip();
        builder.push(&Block { rows, columns: vec![Cells::Numbers(y), Cells::Numbers(x)] });
        (builder.finish(), design)
    }

    fn of_case(done: &[Finished], case: usize) -> impl Iterator<Item = &Finished> {
        done.iter().filter(move |one| one.at("case") as usize == case)
    }
}

impl Audited {
    /// One run of a mechanism alone on the answer of one of two neighbours.
    fn run(self, rho: Rho, large: bool, rng: &mut FixedSeed) -> Result<f64, Error> {
        let mut budget = Budget::new(rho);
        match self {
            Audited::Laplace => {
                let query = Sensitive::claim(vec![if large { UNIT } else { 0 }], (UNIT.unsigned_abs().pow(2)).into());
                let spend = budget.spend_on(Mechanism::Laplace, "audit", rho)?;
                Ok(release_by(&query.sealed(), &Laplace, [spend], rng)?.values[0] as f64)
            }
            Audited::Choice => {
                let (first, others) = if large { (1, 0) } else { (0, 1) };
                let scores = std::iter::once(first).chain((1..CANDIDATES).map(|_| others)).collect();
                let spend = budget.spend_on(Mechanism::Exponential, "audit", rho)?;
                Ok(f64::from(u8::from(select(&Scores::claim(scores, 1), &spend, rng)? == 0)))
            }
            Audited::Point => {
                let inner = if large { (0, 0) } else { (1, CANDIDATES - 1) };
                let boxes = vec![vec![(0, CANDIDATES - 1)], vec![inner]];
                let spend = budget.spend_on(Mechanism::Exponential, "audit", rho)?;
                Ok(f64::from(u8::from(select_point(&Nested::claim(boxes, 1), &spend, rng)?[0] == 0)))
            }
            Audited::Test => {
                let test = budget.spend_on(Mechanism::Test, "audit", rho.share(TEST_SHARE))?;
                let mut other = Budget::new(Rho::checked_from_f64(2.0)?);
                let choice = other.spend_on(Mechanism::Exponential, "audit", other.total())?;
                let passed = select_tested_point(&agreeing(large), Failure::half_of(0.5), (&test, &choice), rng)?;
                Ok(f64::from(u8::from(passed.is_some())))
            }
            Audited::Fit(..) => unreachable!("a fit is no mechanism alone"),
        }
    }
}

/// Depths among fits that agree except for one outlier on either side, one change from unsafe; or
/// except for two on one side, which is unsafe.
fn agreeing(safe: bool) -> Depths {
    let far = 1i64 << 50;
    let mut readings = [0i64; FITS];
    (readings[0], readings[FITS - 1]) = (-far, far);
    if !safe {
        readings[1] = -far;
    }
    Depths::claim((1..=FITS / 2).map(|depth| vec![(readings[depth - 1], readings[FITS - depth])]).collect())
}

impl Experiment for MethodsAudit {
    fn points(&self) -> Vec<Point> {
        let point = |case: usize, rho: f64| {
            let name = Case::all()[case].name();
            let parameters = [("case", case as f64), ("rho", rho), ("n", f64::from(self.rows))];
            let point = Point::new("methods-audit", &parameters, self.repetitions, self.seed);
            // Names rather than positions in a list that may grow.
            let key = format!(
                "methods-audit case={name} rho={rho} delta={} n={} runs={} alone={} alarm={} noise_scale={} repetitions={} seed={}",
                self.delta,
                self.rows,
                self.runs,
                self.mechanism_runs,
                self.alarm,
                self.noise_scale,
                self.repetitions,
                self.seed
            );
            Point { key, ..point }
        };
        (0..Case::all().len()).flat_map(|case| self.rho.iter().map(move |&rho| point(case, rho))).collect()
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let numbers = |large| self.numbers(point, repetition, large);
        Ok(Measures::from([("large".to_owned(), numbers(true)?), ("small".to_owned(), numbers(false)?)]))
    }

    fn summarise(&self, point: &Point, repetitions: &[Measures]) -> Values {
        let (pilot, judged) = repetitions.split_at(1.min(repetitions.len()));
        let sample = |of: &[Measures], name| super::all(of, name);
        let [first, rest] = [pilot, judged].map(|part| [sample(part, "large"), sample(part, "small")]);
        let [first, rest] = [&first, &rest].map(|[large, small]| [large.as_slice(), small.as_slice()]);
        let (epsilon, delta, mu) = MethodsAudit::case(point).claim(point.get("rho"), self.delta);
        // If two bounds are stated, each may fail half as often.
        let alarm = if mu.is_some() { self.alarm / 2.0 } else { self.alarm };
        let prove = |proof: &dyn Fn((f64, f64)) -> f64| {
            let event = best_event(first, 0.1, proof);
            proof(bounds(event, rest, alarm))
        };
        let mut values = Values::from([
            ("epsilon".to_owned(), epsilon),
            ("epsilon_lo".to_owned(), prove(&|bounds| epsilon_from(bounds, delta))),
            ("delta".to_owned(), delta),
            ("runs".to_owned(), (rest[0].len() + rest[1].len()) as f64),
        ]);
        if let Some(mu) = mu {
            values.extend([("mu".to_owned(), mu), ("mu_lo".to_owned(), prove(&mu_from))]);
        }
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let name = MethodsAudit::case(&one.point).name().replace(", ", "; ");
            let numbers = ["runs", "delta", "epsilon", "epsilon_lo", "mu", "mu_lo"].map(|name| cell(one.value(name)));
            let verdict = if is_refuted(one) { "refuted" } else { "not refuted" };
            [name, cell(one.at("rho"))].into_iter().chain(numbers).chain([verdict.to_owned()]).collect()
        };
        let columns = &["mechanism", "rho", "runs", "delta", "epsilon", "epsilon_lo", "mu", "mu_lo", "verdict"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let series = |(case, of): (usize, &Case)| {
            let mark = |one: &Finished| {
                let share = proved(one);
                Mark::between(one.at("rho"), share, share, share)
            };
            Series::new(of.name(), MethodsAudit::of_case(done, case).map(mark).collect())
        };
        // The table lists the methods: two dozen lines in a figure are illegible.
        let all = Case::all();
        let alone = all.iter().enumerate().filter(|(_, case)| !matches!(case.audited, Audited::Fit(..)));
        Figure::plot(
            format!(
                "Lower bound on ε from {} repetitions of {} runs on each of the two answers that a row moves furthest apart, wrong with probability {:e}, as a share of the claim. \
                 Above 100 % the claim is refuted. Whole fits by every method are in the table.",
                self.repetitions, self.mechanism_runs, self.alarm
            ),
            Plot {
                x: Axis::log("budget ρ"),
                y: Axis::linear("proved, % of the claim").from(0.0),
                series: alone.map(series).collect(),
                references: vec![Reference::new("the claim", 100.0)],
                ..Plot::default()
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        for (case, of) in Case::all().iter().enumerate() {
            let points: Vec<&Finished> = MethodsAudit::of_case(done, case).collect();
            let words: Vec<String> = points.iter().map(|one| in_words(one)).collect();
            let refuted = points.iter().filter(|one| is_refuted(one)).count();
            let confidence = format!("wrong with probability {:e} for each budget", self.alarm);
            let (claim, required, holds) = match of.noise < 1.0 {
                false => ("runs on neighbours prove no more than is claimed", "no bound above its claim", refuted == 0),
                true => (
                    "what is broken on purpose is caught",
                    "a bound above its claim at every budget",
                    refuted == points.len(),
                ),
            };
            claims.add(format!("{}: {claim}", of.name()), words.join("; "), format!("{required}, {confidence}"), holds);
        }
    }
}

/// The bound as a share of the claim, in hundredths: that on mu if there is one.
fn proved(one: &Finished) -> f64 {
    let share = |found: &str, claimed: &str| 100.0 * one.value(found) / one.value(claimed);
    let of_mu = share("mu_lo", "mu");
    if of_mu.is_finite() { of_mu } else { share("epsilon_lo", "epsilon") }
}

/// Whether either bound is above its claim.
fn is_refuted(one: &Finished) -> bool {
    one.value("epsilon_lo") > one.value("epsilon") || one.value("mu_lo") > one.value("mu")
}

fn in_words(one: &Finished) -> String {
    let mu = match one.value("mu") {
        mu if mu.is_finite() => format!(", μ ≥ {:.2} of {mu:.2}", one.value("mu_lo")),
        _ => String::new(),
    };
    format!("ρ = {}: ε ≥ {:.2} of {:.2}{mu}", one.at("rho"), one.value("epsilon_lo"), one.value("epsilon"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        claim::Claim,
        definition::{Changes, Definition},
    };

    fn judged() -> Vec<Claim> {
        let definition = Definition::built_in("audit-methods", &Changes { quick: true, ..Changes::default() }).unwrap();
        let mut record = crate::record::Record::read("", "audit-methods").unwrap();
        let done = crate::run::measure(&definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap();
        let table = definition.experiment.table(&done);
        assert!(table.rows.len() == Case::all().len() && table.rows.iter().all(|row| row.len() == table.columns.len()));
        crate::run::judge(&definition, &done)
    }

    /// False-alarm rate: 1e-6 for each of the sound mechanisms and methods. Half the noise of a
    /// mechanism and a tenth of that of a whole fit are caught, for both relations.
    #[test]
    fn sound_mechanisms_pass_and_broken_ones_are_caught() {
        for claim in judged() {
            assert!(claim.holds, "{}: {}", claim.claim, claim.measured);
        }
    }
}
