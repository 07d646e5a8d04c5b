//! Every method on the same rows: accuracy, intervals and time.

mod tables;

use std::{path::Path, sync::OnceLock, time::Instant};

use dplm::{
    NoiseSource, Progress, Warning,
    method::{self, ConfigError, Entry, IntervalMethod, Outcome, Purpose, Request, Tuning},
    privacy::Rho,
    rows::Rows,
};
use tables::{Kinds, Trial};

use super::{Experiment, Finished, Measures, Point, Table, all, cell, grouped, measure};
use crate::{
    LabError,
    claim::Claims,
    draw::{Figure, Look, Strip, Strips},
    peers::{Answer, PEERS, Peer},
    real::bench::Bench,
    record::Values,
    stats::percentile,
    trial::seed,
};

/// Methods against each other, on tables of several kinds.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arena {
    /// Kinds of simulated tables.
    tables: Vec<String>,
    /// Real tables, by their names in the lists of `lists`.
    real: Vec<String>,
    /// The folder that `real/fetch.py` writes.
    lists: String,
    n: Vec<u64>,
    p: Vec<u32>,
    /// Simulated tables with more cells than this are left out.
    most_cells: u64,
    rho: Vec<f64>,
    /// The delta at which methods without a rho keep the same promise.
    delta: f64,
    /// Columns of bounded tables lie within this of zero.
    bound: f64,
    repetitions: u32,
    /// Tables with more cells than this are repeated less often.
    large: u64,
    large_repetitions: u32,
    /// For real tables.
    real_repetitions: u32,
    seed: u64,
    #[serde(skip)]
    fetched: OnceLock<Vec<Fetched>>,
}

/// A real table that was fetched.
struct Fetched {
    name: String,
    formula: String,
    bench: Bench,
}

/// A method under comparison.
#[derive(Clone, Copy)]
enum Contender {
    LeastSquares,
    Method(&'static Entry),
    /// The automatic method with one coefficient of interest, the others being controls.
    Focus,
    Peer(&'static Peer),
}

impl Contender {
    fn all() -> Vec<Contender> {
        let methods = dplm_methods::all().map(Contender::Method);
        methods
            .chain([Contender::Focus])
            .chain(PEERS.iter().map(Contender::Peer))
            .chain([Contender::LeastSquares])
            .collect()
    }

    /// Its name in the table; methods of the lab are marked.
    fn name(self) -> String {
        match self {
            Contender::LeastSquares => "ols".to_owned(),
            Contender::Method(entry) => entry.name.to_owned(),
            Contender::Focus => "auto --focus".to_owned(),
            Contender::Peer(peer) => format!("lab:{}", peer.name),
        }
    }

    /// Its name and its look in the picture.
    fn shown(self) -> (String, Look) {
        match self {
            Contender::LeastSquares => ("least squares".to_owned(), Look::Reference),
            Contender::Method(entry) if entry.name == "auto" => ("auto (ours)".to_owned(), Look::Ours),
            Contender::Method(entry) => (entry.name.to_owned(), Look::Plain),
            Contender::Focus => (self.name(), Look::Ours),
            Contender::Peer(peer) => (peer.name.to_owned(), Look::Hollow),
        }
    }
}

/// A table of the grid: simulated of a kind, or real.
#[derive(Clone, Copy)]
enum Of<'a> {
    Simulated(Kinds),
    Real(&'a Fetched),
}

impl Arena {
    /// The table of this number: simulated ones first.
    fn of(&self, table: usize) -> Of<'_> {
        match self.tables.get(table) {
            Some(name) => Of::Simulated(Kinds::named(name).expect("checked when points were made")),
            None => Of::Real(&self.fetched()[table - self.tables.len()]),
        }
    }

    fn name(&self, table: usize) -> &str {
        match self.tables.get(table) {
            Some(name) => name,
            None => &self.fetched()[table - self.tables.len()].name,
        }
    }

    /// The real tables that were found.
    fn fetched(&self) -> &[Fetched] {
        self.fetched.get_or_init(|| {
            let lists = ["known.txt", "unseen.txt", "fresh.txt"].map(|list| Path::new(&self.lists).join(list));
            let text: String = lists.iter().filter_map(|list| std::fs::read_to_string(list).ok()).collect();
            let open = |name: &String| {
                let line = text.lines().find(|line| line.split(';').next() == Some(name))?;
                let [_, file, formula] = line.splitn(3, ';').collect::<Vec<_>>()[..] else { return None };
                let bench = Bench::open(file, formula).ok()?;
                Some(Fetched { name: name.clone(), formula: formula.to_owned(), bench })
            };
            self.real.iter().filter_map(open).collect()
        })
    }

    /// Every setting: a table, rows, columns and a budget.
    fn settings(&self) -> Vec<(usize, u64, u32, f64)> {
        let mut settings = Vec::new();
        for table in 0..self.tables.len() + self.fetched().len() {
            let sizes: Vec<(u64, u32)> = match self.of(table) {
                Of::Simulated(kinds) => {
                    // A single column has no correlation.
                    let columns = self.p.iter().filter(|&&p| p > 1 || kinds.condition == Some(1.0));
                    let sizes = columns.flat_map(|&p| self.n.iter().map(move |&n| (n, p)));
                    sizes.filter(|&(n, p)| n * u64::from(p) <= self.most_cells).collect()
                }
                Of::Real(Fetched { bench, .. }) => vec![(bench.y.len() as u64, bench.ols.len() as u32)],
            };
            for (n, p) in sizes {
                settings.extend(self.rho.iter().map(|&rho| (table, n, p, rho)));
            }
        }
        settings
    }

    fn trial(&self, point: &Point, repetition: u64) -> Result<Trial<'_>, LabError> {
        let table = point.whole("table") as usize;
        let (n, p) = (point.whole("n"), point.whole("p"));
        let words = [table as u64, n, p, repetition];
        match self.of(table) {
            Of::Simulated(kinds) => {
                Trial::simulated(kinds, n as usize, p as usize, self.bound, seed(self.seed, "arena", &words))
            }
            Of::Real(Fetched { bench, formula, .. }) => Trial::real(bench, formula, seed(self.seed, "arena", &words)),
        }
    }
}

/// What a contender's answer is worth; `None` if it refuses.
fn scored(
    trial: &mut Trial<'_>,
    contender: Contender,
    (rho, delta): (f64, f64),
    seed: u64,
) -> Result<Option<Measures>, LabError> {
    let answer = match contender {
        Contender::LeastSquares => Some(trial.least_squares(LEVEL)?),
        Contender::Peer(peer) => trial.ask(peer, rho, delta, seed)?,
        Contender::Method(entry) => answer(trial, entry, rho, seed)?,
        Contender::Focus => return focused(trial, rho, seed),
    };
    Ok(answer.map(|answer| trial.score(&answer)))
}

/// The interval for the first slope, where that is the coefficient of interest.
fn focused(trial: &mut Trial<'_>, rho: f64, seed: u64) -> Result<Option<Measures>, LabError> {
    let place = usize::from(trial.design.model().intercept());
    let focus = vec![trial.design.names()[place].clone()];
    let rho = Rho::checked_from_f64(rho).map_err(dplm::Error::from)?;
    let auto = dplm_methods::all().find(|entry| entry.name == "auto").expect("the automatic method is listed");
    match fit(trial, *auto, Request { focus, ..Request::new(rho) }, seed) {
        Ok((outcome, robust)) => Ok(Some(trial.score_of(&outcome, robust, place))),
        Err(dplm::Error::Config(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The answer of a method; `None` if it refuses.
fn answer(trial: &mut Trial<'_>, entry: &Entry, rho: f64, seed: u64) -> Result<Option<Answer>, LabError> {
    let has_intervals = entry.intervals.contains(&IntervalMethod::Newton);
    let purpose = if has_intervals { Purpose::Inference } else { Purpose::Prediction };
    let rho = Rho::checked_from_f64(rho).map_err(dplm::Error::from)?;
    let request = Request { purpose, ..Request::new(rho) };
    match fit(trial, *entry, request, seed) {
        Ok((outcome, _)) if outcome.warnings.contains(&Warning::TestFailed) => Ok(None),
        Ok((outcome, robust)) => Ok(Some(trial.of_outcome(&outcome, robust))),
        // If no interval would be identified, an estimate may still be.
        Err(dplm::Error::Config(
            ConfigError::NoIntervals { .. } | ConfigError::NothingButNoise { .. } | ConfigError::OneFeature { .. },
        )) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// A fit, and whether its plan makes its intervals robust.
fn fit(trial: &mut Trial<'_>, entry: Entry, request: Request, seed: u64) -> Result<(Outcome, bool), dplm::Error> {
    let method = method::choose(Some(entry), request, Tuning::default(), &trial.formula, true)?;
    let plan = method.plan(trial.rows.count(), &trial.design)?;
    plan.check()?;
    let mut rng = NoiseSource::Seed(seed).open().map_err(dplm::privacy::PrivacyError::from)?;
    // The plan's statement about its intervals holds whatever the rows are.
    let robust = plan.warn().iter().any(|warning| matches!(warning, Warning::Robust { .. }));
    Ok((plan.run(&mut trial.rows, &trial.design, &mut rng, Progress::NONE)?, robust))
}

const LEVEL: f64 = 0.95;

/// The least coverage, over all intervals given, at that level: the rest allows for chance and for
/// the number of repetitions.
const LEAST_COVERAGE: f64 = 0.93;

impl Experiment for Arena {
    fn points(&self) -> Vec<Point> {
        let contenders = Contender::all();
        let mut points = Vec::new();
        for (table, n, p, rho) in self.settings() {
            let repetitions = match self.of(table) {
                Of::Real(_) => self.real_repetitions,
                Of::Simulated(_) if n * u64::from(p) > self.large => self.large_repetitions,
                Of::Simulated(_) => self.repetitions,
            };
            for (index, contender) in contenders.iter().enumerate() {
                let parameters = [
                    ("table", table as f64),
                    ("contender", index as f64),
                    ("n", n as f64),
                    ("p", f64::from(p)),
                    ("rho", rho),
                ];
                let point = Point::new("arena", &parameters, repetitions, self.seed);
                // Names rather than positions in a list that may grow.
                let (data, name) = (self.name(table), contender.name());
                let key = format!(
                    "arena data={data} bound={} method={name} n={n} p={p} rho={rho} repetitions={repetitions} seed={}",
                    self.bound, self.seed
                );
                points.push(Point { key, ..point });
            }
        }
        points
    }

    /// Everything except the time is the same for the same arguments.
    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let mut trial = self.trial(point, repetition)?;
        let contender = Contender::all()[point.whole("contender") as usize];
        let words = [point.whole("table"), point.whole("n"), point.whole("p"), point.get("rho").to_bits(), repetition];
        let started = Instant::now();
        let budget = (point.get("rho"), self.delta);
        let scored = scored(&mut trial, contender, budget, seed(self.seed, &contender.name(), &words))?;
        let seconds = started.elapsed().as_secs_f64();
        let Some(mut measures) = scored else { return Ok(Measures::new()) };
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
        if let Some(off) = median_off(&all(repetitions, "excess")) {
            values.insert("excess_off".to_owned(), off);
        }
        let covered = all(repetitions, "covered");
        if !covered.is_empty() {
            values.insert("coverage".to_owned(), covered.iter().sum::<f64>() / covered.len() as f64);
            values.insert("intervals".to_owned(), covered.len() as f64);
        }
        values.insert("fits".to_owned(), all(repetitions, "seconds").len() as f64);
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let contenders = Contender::all();
        let row = |one: &Finished| {
            let mut row = vec![self.name(one.at("table") as usize).to_owned()];
            row.extend(["n", "p", "rho"].map(|name| cell(one.at(name))));
            row.push(contenders[one.at("contender") as usize].name());
            row.push(cell(one.value("fits")));
            row.extend(["excess", "error", "coverage", "width", "seconds"].map(|name| cell(one.value(name))));
            row
        };
        let columns = &["data", "n", "p", "rho", "method", "reps", "excess", "error", "coverage", "width", "seconds"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let contenders = Contender::all();
        let (p, rho) = (self.shown_columns(), self.rho[self.rho.len() / 2]);
        let excess = |one: &Finished| Some(one.value("excess")).filter(|excess| excess.is_finite());
        let tables = 0..self.tables.len() + self.fetched().len();
        // From the best to the worst, by the geometric mean over the settings in which a contender
        // has a fit, each relative to least squares there: a method that fits only large tables
        // gains nothing by that.
        let is_shown = |one: &Finished| {
            let real = matches!(self.of(one.at("table") as usize), Of::Real(_));
            one.at("rho") == rho && (real || one.at("p") == f64::from(p))
        };
        let shown: Vec<&[Finished]> = done.chunks(contenders.len()).filter(|setting| is_shown(&setting[0])).collect();
        let values = |table: usize, index: usize| -> Vec<f64> {
            let here = shown.iter().filter(|setting| setting[0].at("table") == table as f64);
            here.filter_map(|setting| excess(&setting[index])).collect()
        };
        let over_clear = |setting: &[Finished], index: usize| {
            let clear = setting.iter().find(|one| contenders[one.at("contender") as usize].name() == "ols")?;
            Some((excess(&setting[index])? / excess(clear)?).ln())
        };
        let mut order: Vec<(f64, usize)> = (0..contenders.len())
            .map(|index| {
                let logs: Vec<f64> = shown.iter().filter_map(|setting| over_clear(setting, index)).collect();
                (logs.iter().sum::<f64>() / logs.len() as f64, index)
            })
            .filter(|(mean, _)| mean.is_finite())
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let strip = |table: usize| Strip {
            title: self.name(table).to_owned(),
            values: order.iter().map(|&(_, index)| values(table, index)).collect(),
        };
        Figure::strips(
            format!(
                "Mean squared error of predictions beyond that of the truth, over the variance of the errors, at ρ = {rho}; the median of {} ({}). Left is better. Simulated \
                 tables: p = {p}, a mark for each of n = {}, the largest n the largest mark; predicting nothing costs about 1 on independent columns. Real tables: rows are \
                 drawn from the table, whose least squares is the truth. Hollow marks: methods that are private on real numbers only, at the same (ε, δ); they run in the lab only.",
                self.repetitions_in_words(),
                Arena::off_in_words(done),
                self.n.iter().map(|&n| grouped(n as f64)).collect::<Vec<_>>().join(", "),
            ),
            Strips {
                label: "excess error".to_owned(),
                range: (1e-5, 10.0),
                names: order.iter().map(|&(_, index)| contenders[index].shown()).collect(),
                panels: tables.clone().map(strip).collect(),
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let contenders = Contender::all();
        let name = |one: &Finished| contenders[one.at("contender") as usize].name();
        let missing: Vec<&str> = self.real.iter().map(String::as_str).filter(|name| !self.is_fetched(name)).collect();
        if !missing.is_empty() {
            claims.add(
                "real tables are left out where they were not fetched",
                format!(
                    "without {}; `python crates/dplm-lab/real/fetch.py {}` fetches them",
                    missing.join(", "),
                    self.lists
                ),
                "none must be there",
                true,
            );
        }
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
                // Published methods need not cover; intervals printed by `dplm fit` must.
                covering &= held / count >= LEAST_COVERAGE || matches!(contender, Contender::Peer(_));
                found.push(format!("{} {:.3} of {}", contender.name(), held / count, grouped(count)));
            }
        }
        claims.add(
            "intervals that a fit prints cover at their level, whatever the method",
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

impl Arena {
    /// The number of columns in the picture: the second if there are several.
    fn shown_columns(&self) -> u32 {
        self.p.get(1).or(self.p.first()).copied().unwrap_or(1)
    }

    /// The chance error of the medians, in words: a typical standard error, and the largest of the
    /// most precise nine in ten.
    fn off_in_words(done: &[Finished]) -> String {
        let off: Vec<f64> = done.iter().map(|one| one.value("excess_off")).filter(|off| off.is_finite()).collect();
        let percent = |share: f64| 100.0 * percentile(&off, share).exp_m1();
        match off.is_empty() {
            true => "of one repetition".to_owned(),
            false => format!(
                "a standard error of {:.0} % typically, and of at most {:.0} % for nine in ten",
                percent(0.5),
                percent(0.9)
            ),
        }
    }

    fn is_fetched(&self, name: &str) -> bool {
        self.fetched().iter().any(|one| one.name == name)
    }
}

/// The standard error of the logarithm of a median of these numbers, from the spread of their
/// logarithms: that of a mean times `sqrt(pi / 2)`.
fn median_off(numbers: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = numbers.iter().map(|number| number.ln()).collect();
    let (count, mean) = (logs.len() as f64, logs.iter().sum::<f64>() / logs.len() as f64);
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    Some((std::f64::consts::FRAC_PI_2 * variance / count).sqrt()).filter(|off| off.is_finite())
}

/// The automatic method's excess error relative to the best private method's; `None` if it refuses.
fn auto_to_best(setting: &[Finished], name: &dyn Fn(&Finished) -> String) -> Option<f64> {
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
        let set =
            ["tables=[\"standard\",\"condition-100\"]", "real=[]", "n=[1300]", "p=[2]", "rho=[1.0]", "repetitions=3"];
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
            if method.starts_with("lab:") {
                continue;
            }
            if method == "auto --focus" {
                // One coefficient of two, and no predictions.
                assert!(reps == "3" && row[6].is_empty() && !row[9].is_empty(), "{row:?}");
                continue;
            }
            let gives_none = dplm_methods::all().any(|entry| entry.name == method && entry.intervals.is_empty());
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
        let (p, r) = (4, Kinds::correlation(100.0, 4));
        assert!(((1.0 + (p as f64 - 1.0) * r) / (1.0 - r) - 100.0).abs() < 1e-9);
        assert_eq!(Kinds::named("condition-100").unwrap().condition, Some(100.0));
        assert!(Kinds::named("condition-0.5").is_none() && Kinds::named("odd").is_none());
    }

    #[test]
    fn the_same_rows_for_every_method() {
        let definition = small();
        let points = definition.experiment.points();
        assert!(points.len() > 2 && points.iter().all(|point| point.key.contains("method=")));
        let arena: Arena = toml::from_str(
            "tables=['standard']\nreal=[]\nlists=''\nn=[50]\np=[2]\nmost_cells=1000\nrho=[1.0]\ndelta=1e-6\nbound=6.0\nrepetitions=1\nlarge=1000\nlarge_repetitions=1\nreal_repetitions=1\nseed=1",
        )
        .unwrap();
        let points = arena.points();
        let least_squares =
            |point: &Point, repetition| arena.trial(point, repetition).unwrap().least_squares(LEVEL).unwrap().theta;
        assert_eq!(least_squares(&points[0], 0), least_squares(&points[1], 0));
        assert_ne!(least_squares(&points[0], 0), least_squares(&points[0], 1));
    }

    /// A table of 400 rows on a line: every sample of it has that line, and a missing table is
    /// reported.
    #[test]
    fn real_tables_are_drawn_from_and_missing_ones_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let rows: String = (0..400).map(|i| format!("{},{}\n", 1.0 + 0.5 * f64::from(i % 20), i % 20)).collect();
        std::fs::write(at("line.csv"), format!("y,x\n{rows}")).unwrap();
        let list = format!("line;{};y[0..12] ~ x[0..20]\n", at("line.csv").display());
        std::fs::write(at("known.txt"), list).unwrap();
        let set = [
            "tables=[]".to_owned(),
            "real=[\"line\",\"lost\"]".to_owned(),
            format!("lists=\"{}\"", folder.path().display()),
            "rho=[5.0]".to_owned(),
            "real_repetitions=2".to_owned(),
        ];
        let definition = Definition::built_in("arena", &Changes { set: set.to_vec(), ..Changes::default() }).unwrap();
        let mut record = crate::record::Record::read("", "arena").unwrap();
        let done = crate::run::measure(&definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap();
        let table = definition.experiment.table(&done);
        let clear = table.rows.iter().find(|row| row[4] == "ols").unwrap();
        assert!(clear[0] == "line" && clear[1] == "400" && clear[3] == "5", "{clear:?}");
        assert!(clear[7].parse::<f64>().unwrap() < 1e-3, "{clear:?}");
        assert!(crate::run::judge(&definition, &done)[0].measured.contains("without lost"));
    }
}
