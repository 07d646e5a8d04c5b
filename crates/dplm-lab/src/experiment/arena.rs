//! Every method on the same rows: accuracy, intervals and time.

use std::time::Instant;

use dplm::{
    Design, NoiseSource, Progress,
    formula::{Column, Formula, Kind, Model},
    method::{self, ConfigError, Entry, IntervalMethod, Outcome, Purpose, Request, Tuning},
    privacy::Rho,
    rows::{MemoryBuilder, MemoryRows, Rows},
    table::{Block, Cells},
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::{Experiment, Finished, Measures, Point, Table, all, cell, grouped, measure};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Panel, Panels},
    record::Values,
    stats::percentile,
    trial::{least_squares_of, seed},
};

/// Methods against each other, on tables of several kinds.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arena {
    tables: Vec<Kinds>,
    n: Vec<u64>,
    p: Vec<u32>,
    rho: Vec<f64>,
    /// Columns of bounded tables lie within so much of zero.
    bound: f64,
    repetitions: u32,
    seed: u64,
}

/// A kind of table: how columns vary together, and what is publicly known of them.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "String")]
struct Kinds {
    /// The condition number of the second moments.
    condition: f64,
    /// Whether it is known that columns are centred and of unit variance.
    standard: bool,
}

impl TryFrom<String> for Kinds {
    type Error = String;

    fn try_from(name: String) -> Result<Kinds, String> {
        let condition = name.strip_prefix("condition-").and_then(|number| number.parse().ok());
        match (name.as_str(), condition) {
            ("standard", _) => Ok(Kinds { condition: 1.0, standard: true }),
            ("bounded", _) => Ok(Kinds { condition: 1.0, standard: false }),
            (_, Some(condition)) if condition >= 1.0 => Ok(Kinds { condition, standard: true }),
            _ => Err(format!("`{name}` is no table: it is standard, bounded or condition-NUMBER")),
        }
    }
}

impl Kinds {
    fn name(self) -> String {
        match (self.standard, self.condition) {
            (false, _) => "bounded".to_owned(),
            (true, 1.0) => "standard".to_owned(),
            (true, condition) => format!("condition-{condition}"),
        }
    }

    /// The correlation of every pair of columns: with `p` of them, eigenvalues are `1 + (p-1) r` once and `1 - r` for the others.
    fn correlation(self, p: usize) -> f64 {
        (self.condition - 1.0) / (self.condition + p as f64 - 1.0)
    }
}

/// What is compared: a method, or least squares in the clear.
#[derive(Clone, Copy)]
enum Contender {
    LeastSquares,
    Method(&'static Entry),
}

impl Contender {
    fn all() -> Vec<Contender> {
        dplm_methods::all().map(Contender::Method).chain([Contender::LeastSquares]).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Contender::LeastSquares => "ols",
            Contender::Method(entry) => entry.name,
        }
    }
}

/// Rows in memory, and what they were drawn from.
struct Rowed {
    rows: MemoryRows,
    design: Design,
    formula: Formula,
    theta: Vec<f64>,
    correlation: f64,
}

/// What a contender gave.
struct Answer {
    theta: Vec<f64>,
    /// Ends of intervals, where there are any.
    ends: Vec<Option<(f64, f64)>>,
}

impl Arena {
    fn simulate(&self, point: &Point, repetition: u64) -> Rowed {
        let kinds = self.tables[point.whole("table") as usize];
        let (n, p) = (point.whole("n") as usize, point.whole("p") as usize);
        let words = [point.whole("table"), n as u64, p as u64, repetition];
        let mut rng = ChaCha20Rng::seed_from_u64(seed(self.seed, "arena", &words));
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let direction: Vec<f64> = (0..p).map(|_| normal()).collect();
        let length = direction.iter().map(|one| one * one).sum::<f64>().sqrt();
        let theta: Vec<f64> = direction.iter().map(|one| one / length).collect();
        let correlation = kinds.correlation(p);
        let mut columns = vec![Vec::with_capacity(n); p + 1];
        for _ in 0..n {
            let common = correlation.sqrt() * normal();
            let row: Vec<f64> = (0..p).map(|_| common + (1.0 - correlation).sqrt() * normal()).collect();
            columns[0].push(row.iter().zip(&theta).map(|(x, theta)| x * theta).sum::<f64>() + normal());
            row.into_iter().zip(&mut columns[1..]).for_each(|(x, column)| column.push(x));
        }
        let (design, formula) = self.described(kinds, p);
        let mut builder = MemoryBuilder::new(&design);
        builder.push(&Block { rows: n, columns: columns.into_iter().map(Cells::Numbers).collect() });
        Rowed { rows: builder.finish(), design, formula, theta, correlation }
    }

    /// What is publicly known of a table.
    fn described(&self, kinds: Kinds, p: usize) -> (Design, Formula) {
        let kind = match kinds.standard {
            true => Kind::Standard,
            false => Kind::Bounded { low: -self.bound, high: self.bound },
        };
        let known = if kinds.standard { String::new() } else { format!("[-{0}..{0}]", self.bound) };
        let names: Vec<String> = (1..=p).map(|j| format!("x{j}{known}")).collect();
        let formula = Formula::parse(&format!("y{known} ~ {} + 0", names.join(" + "))).expect("a formula");
        let column = |name: String| Column { name, kind: kind.clone() };
        let features = (1..=p).map(|j| column(format!("x{j}"))).collect();
        (Design::new(&Model::of_columns(column("y".to_owned()), features, false)), formula)
    }

    fn panels(&self) -> impl Iterator<Item = (usize, u32, f64)> + '_ {
        let of_table = move |table| self.p.iter().flat_map(move |&p| self.rho.iter().map(move |&rho| (table, p, rho)));
        (0..self.tables.len()).flat_map(of_table)
    }
}

impl Rowed {
    /// What a contender finds; none where it refuses.
    fn answer(&mut self, contender: Contender, rho: f64, seed: u64) -> Result<Option<Answer>, LabError> {
        let Contender::Method(entry) = contender else { return Ok(Some(self.least_squares()?)) };
        let has_intervals = entry.intervals.contains(&IntervalMethod::Newton);
        let purpose = if has_intervals { Purpose::Inference } else { Purpose::Prediction };
        let rho = Rho::checked_from_f64(rho).map_err(dplm::Error::from)?;
        let request = Request { purpose, ..Request::new(rho) };
        match self.fit(*entry, request, seed) {
            Ok(outcome) => Ok(Some(self.of_outcome(&outcome))),
            // Where no interval would be identified, an estimate may still be.
            Err(dplm::Error::Config(
                ConfigError::NoIntervals { .. } | ConfigError::NothingButNoise { .. } | ConfigError::OneFeature { .. },
            )) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn fit(&mut self, entry: Entry, request: Request, seed: u64) -> Result<Outcome, dplm::Error> {
        let method = method::choose(Some(entry), request, Tuning::default(), &self.formula, true)?;
        let plan = method.plan(self.rows.count(), &self.design)?;
        plan.check()?;
        let mut rng = NoiseSource::Seed(seed).open().map_err(dplm::privacy::PrivacyError::from)?;
        plan.run(&mut self.rows, &self.design, &mut rng, Progress::NONE)
    }

    fn of_outcome(&self, outcome: &Outcome) -> Answer {
        let ends = outcome.coefficients.iter().map(|one| one.precision.map(|found| (found.low, found.high)));
        // A coefficient that is left out predicts nothing.
        let theta = outcome.predictor(&self.design).into_iter().map(|one| if one.is_nan() { 0.0 } else { one });
        Answer { theta: theta.collect(), ends: ends.collect() }
    }

    fn least_squares(&self) -> Result<Answer, LabError> {
        let found = least_squares_of(&self.rows)?;
        let halves = found.lengths(LEVEL).into_iter().map(|length| length / 2.0);
        // Standardised units are those of the columns but for bounded ones.
        let unit: Vec<f64> = self.design.contrasts().iter().enumerate().map(|(j, one)| one.weights[j]).collect();
        let ends = found
            .theta
            .iter()
            .zip(halves)
            .zip(&unit)
            .map(|((theta, half), unit)| Some(((theta - half) * unit, (theta + half) * unit)));
        Ok(Answer {
            ends: ends.collect(),
            theta: found.theta.iter().zip(&unit).map(|(theta, unit)| theta * unit).collect(),
        })
    }

    /// The numbers of an answer. Excess is the mean squared error of predictions beyond that of the truth: `d' Sigma d`.
    fn score(&self, answer: &Answer) -> Measures {
        let off: Vec<f64> = answer.theta.iter().zip(&self.theta).map(|(found, truth)| found - truth).collect();
        let (squares, sum) = (off.iter().map(|d| d * d).sum::<f64>(), off.iter().sum::<f64>());
        let held =
            answer.ends.iter().zip(&self.theta).filter_map(|(ends, truth)| {
                ends.map(|(low, high)| f64::from(u8::from(low <= *truth && *truth <= high)))
            });
        let widths = answer.ends.iter().flatten().map(|(low, high)| high - low).filter(|width| width.is_finite());
        Measures::from([
            measure("excess", (1.0 - self.correlation) * squares + self.correlation * sum * sum),
            measure("error", squares.sqrt()),
            ("covered".to_owned(), held.collect()),
            ("width".to_owned(), widths.collect()),
        ])
    }
}

const LEVEL: f64 = 0.95;

/// What intervals at that level must cover, as a share of all that are given: chance and finite numbers of repetitions are within the rest.
const LEAST_COVERAGE: f64 = 0.93;

impl Experiment for Arena {
    fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for (table, p, rho) in self.panels() {
            for &n in &self.n {
                for (index, contender) in Contender::all().into_iter().enumerate() {
                    let parameters = [
                        ("table", table as f64),
                        ("contender", index as f64),
                        ("n", n as f64),
                        ("p", f64::from(p)),
                        ("rho", rho),
                    ];
                    let point = Point::new("arena", &parameters, self.repetitions, self.seed);
                    // Names, and not places in a list that may grow.
                    let (data, name) = (self.tables[table].name(), contender.name());
                    let key = format!(
                        "arena data={data} bound={} method={name} n={n} p={p} rho={rho} repetitions={} seed={}",
                        self.bound, self.repetitions, self.seed
                    );
                    points.push(Point { key, ..point });
                }
            }
        }
        points
    }

    /// Everything but the time is the same for the same arguments.
    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let mut rows = self.simulate(point, repetition);
        let contender = Contender::all()[point.whole("contender") as usize];
        let words = [point.whole("table"), point.whole("n"), point.whole("p"), point.get("rho").to_bits(), repetition];
        let started = Instant::now();
        let answer = rows.answer(contender, point.get("rho"), seed(self.seed, contender.name(), &words))?;
        let seconds = started.elapsed().as_secs_f64();
        let Some(answer) = answer else { return Ok(Measures::new()) };
        let mut measures = rows.score(&answer);
        measures.extend([measure("seconds", seconds)]);
        Ok(measures)
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        // A method that divides by noise has no mean error.
        for name in ["excess", "error", "width", "seconds"] {
            let found = all(repetitions, name);
            if !found.is_empty() {
                values.insert(name.to_owned(), percentile(&found, 0.5));
            }
        }
        let covered = all(repetitions, "covered");
        if !covered.is_empty() {
            values.insert("coverage".to_owned(), covered.iter().sum::<f64>() / covered.len() as f64);
            values.insert("intervals".to_owned(), covered.len() as f64);
        }
        values.insert("fits".to_owned(), all(repetitions, "error").len() as f64);
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let contenders = Contender::all();
        let row = |one: &Finished| {
            let mut row = vec![self.tables[one.at("table") as usize].name()];
            row.extend(["n", "p", "rho"].map(|name| cell(one.at(name))));
            row.push(contenders[one.at("contender") as usize].name().to_owned());
            row.push(cell(one.value("fits")));
            row.extend(["excess", "error", "coverage", "width", "seconds"].map(|name| cell(one.value(name))));
            row
        };
        let columns = &["data", "n", "p", "rho", "method", "reps", "excess", "error", "coverage", "width", "seconds"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let contenders = Contender::all();
        let label = |contender: &Contender| match contender.name() {
            "auto" => "auto (ours)".to_owned(),
            "ols" => "least squares, not private".to_owned(),
            name => name.to_owned(),
        };
        let panel = |(table, p, rho): (usize, u32, f64)| {
            let is_here =
                |one: &&Finished| (one.at("table"), one.at("p"), one.at("rho")) == (table as f64, f64::from(p), rho);
            let marks = |index: usize| {
                let mine = done.iter().filter(is_here).filter(|one| one.at("contender") == index as f64);
                let mark = |one: &Finished| {
                    let excess = one.value("excess");
                    Mark::between(one.at("n"), excess, excess, excess)
                };
                mine.map(mark).collect()
            };
            let title = format!("{}, p = {p}, ρ = {rho}", self.tables[table].name());
            Panel { title, series: (0..contenders.len()).map(marks).collect() }
        };
        Figure::panels(
            format!(
                "Mean squared error of predictions beyond that of the truth, against rows, the median of {}. Unit variances, errors of sd 1, \
                 coefficients on the unit sphere: predicting nothing costs about 1 on independent columns. The columns of the bounded table \
                 are known to lie within {}, the others to be standard.",
                self.repetitions_in_words(),
                self.bound,
            ),
            Panels {
                x: Axis::log("rows n"),
                y: Axis::log("excess error").from(1e-5).to(10.0),
                labels: contenders.iter().map(label).collect(),
                panels: self.panels().map(panel).collect(),
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let contenders = Contender::all();
        let name = |one: &Finished| contenders[one.at("contender") as usize].name();
        let settings = done.chunks(contenders.len());
        let ratios: Vec<f64> = settings.filter_map(|setting| auto_to_best(setting, &name)).collect();
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let typical = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp();
        claims.add(
            "where the automatic method gives intervals, its error is near that of the best method",
            format!(
                "{typical:.2} times the best excess error on average, {worst:.1} times at worst, of {} settings",
                ratios.len()
            ),
            "at most 1.5 times on average",
            !ratios.is_empty() && typical <= 1.5,
        );
        let mut covering = true;
        let mut found = Vec::new();
        for (index, contender) in contenders.iter().enumerate() {
            let mine = done.iter().filter(|one| one.at("contender") == index as f64 && one.value("intervals") > 0.0);
            let (held, count) = mine.fold((0.0, 0.0), |(held, count), one| {
                (held + one.value("coverage") * one.value("intervals"), count + one.value("intervals"))
            });
            if count > 0.0 {
                covering &= held / count >= LEAST_COVERAGE;
                found.push(format!("{} {:.3} of {}", contender.name(), held / count, grouped(count)));
            }
        }
        claims.add(
            "intervals cover at their level, whatever the method",
            found.join(", "),
            format!("at least {LEAST_COVERAGE} of the intervals that are given"),
            covering && !found.is_empty(),
        );
        let private = |one: &&Finished| name(one) != "ols" && one.value("excess") > 0.0;
        let below = done.chunks(contenders.len()).flat_map(|setting| {
            let clear = setting.iter().find(|one| name(one) == "ols").map_or(f64::NAN, |one| one.value("excess"));
            setting.iter().filter(private).map(move |one| one.value("excess") < 0.7 * clear)
        });
        let (count, better) = below.fold((0, 0), |(count, better), below| (count + 1, better + usize::from(below)));
        claims.add(
            "privacy has a price: no method predicts much better than least squares in the clear",
            format!("{better} of {count} have an excess error below 0.7 times its"),
            "at most 5 %, where shrinking helps",
            count > 0 && better * 20 <= count,
        );
    }
}

/// How many times the best private method's excess error the automatic one has; none where it refuses.
fn auto_to_best(setting: &[Finished], name: &dyn Fn(&Finished) -> &'static str) -> Option<f64> {
    let excess = |one: &Finished| Some(one.value("excess")).filter(|value| value.is_finite());
    let ours = setting.iter().find(|one| name(one) == "auto").and_then(excess)?;
    let best = setting.iter().filter(|one| name(one) != "ols").filter_map(excess).fold(f64::INFINITY, f64::min);
    Some(ours / best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Changes, Definition};

    fn small() -> Definition {
        let set = ["tables=[\"standard\",\"condition-100\"]", "n=[600]", "p=[2]", "rho=[1.0]", "repetitions=3"];
        Definition::built_in("arena", &Changes { set: set.map(str::to_owned).to_vec(), ..Changes::default() }).unwrap()
    }

    #[test]
    fn every_method_is_measured_in_the_columns_people_read() {
        let definition = small();
        let mut record = crate::record::Record::read("", "arena").unwrap();
        let done = crate::run::measure(&definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap();
        let table = definition.experiment.table(&done);
        assert_eq!(table.columns.join(","), "data,n,p,rho,method,reps,excess,error,coverage,width,seconds");
        assert_eq!(table.rows.len(), 2 * Contender::all().len());
        for row in &table.rows {
            let (method, reps, coverage) = (&row[4], &row[5], &row[8]);
            if method == "theil-sen" {
                // It is for one feature, and there are two.
                assert!(reps == "0" && row[6].is_empty(), "{row:?}");
                continue;
            }
            let gives_none = dplm_methods::find(method).is_ok_and(|entry| entry.intervals.is_empty());
            assert!(reps == "3" && row[6].parse::<f64>().unwrap() < 2.0, "{row:?}");
            // On correlated columns a method may identify nothing.
            assert!(coverage.is_empty() == gives_none || row[0] != "standard", "{row:?}");
        }
        let picture = crate::draw::png("arena", &definition.experiment.figure(&done).svg(&definition.title)).unwrap();
        assert!(picture.len() > 10_000);
        assert_eq!(crate::run::judge(&definition, &done).len(), 3);
    }

    /// The eigenvalues of equally correlated columns are `1 + (p-1) r` and `1 - r`.
    #[test]
    fn tables_have_their_condition_number() {
        let kinds = Kinds::try_from("condition-100".to_owned()).unwrap();
        let (p, r) = (4, kinds.correlation(4));
        assert!(((1.0 + (p as f64 - 1.0) * r) / (1.0 - r) - 100.0).abs() < 1e-9);
        assert_eq!(kinds.name(), "condition-100");
        assert!(Kinds::try_from("condition-0.5".to_owned()).is_err() && Kinds::try_from("odd".to_owned()).is_err());
    }

    #[test]
    fn the_same_rows_for_every_method() {
        let standard = Kinds { condition: 1.0, standard: true };
        let (n, p, rho) = (vec![50], vec![2], vec![1.0]);
        let arena = Arena { tables: vec![standard], n, p, rho, bound: 6.0, repetitions: 1, seed: 1 };
        let points = arena.points();
        assert!(points.len() > 2 && points.iter().all(|point| point.key.contains("method=")));
        let least_squares = |point: &Point| least_squares_of(&arena.simulate(point, 0).rows).unwrap().theta;
        assert_eq!(least_squares(&points[0]), least_squares(&points[1]));
        assert_ne!(least_squares(&points[0]), least_squares_of(&arena.simulate(&points[0], 1).rows).unwrap().theta);
    }
}
