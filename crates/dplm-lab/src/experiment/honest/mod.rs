//! Coverage of the intervals that are printed, over designs, errors, sizes, budgets and targets.
//!
//! An analyst sees only the printed intervals, so these must cover at their level *given that they
//! were printed*, and cover the target that the fit states: the least-squares coefficients of the
//! population, or of the table, of the model without the terms that the fit left out; those of
//! maximum likelihood where there are two outcomes; or the robust ones. A cell whose coverage lies
//! outside the band beyond chance fails, unless the definition has a reason.
//!
//! Robust coefficients are known if they are the least-squares ones: with errors that are symmetric
//! for all values of the features. Otherwise a robust fit is reported and not judged.

mod grid;
mod line;
mod trial;

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

use super::{Experiment, Finished, Measures, Point, Table, cell as shown};
use crate::{
    LabError,
    claim::Claims,
    draw::{Dot, DotRow, DotSeries, Dots, Figure},
    record::Values,
    stats::percentile,
    trial::seed,
    world::{Design, Errors, Population, World},
};
use dplm::plan::Choices;
pub(super) use grid::{Block, Cell, Target};
use grid::{Limit, Measure, Reason, Side};
pub(super) use line::Coverage;
use line::{COLUMNS, Line};
pub(super) use trial::Trial;

/// Coverage given printed, cell by cell.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Honest {
    grid: Vec<Block>,
    /// Coverage below the first or above the second fails.
    band: (f64, f64),
    /// The probability with which a cell on an edge of the band may fail.
    alarm: f64,
    /// Cells that may lie outside, and the reasons.
    reasons: Vec<Reason>,
    /// Further requirements.
    limits: Vec<Limit>,
    /// Rows from which the moments of a population are computed.
    population_rows: u64,
    /// The folder of real tables.
    tables: String,
    /// A table of an earlier run, drawn beside this one; empty for none.
    before: String,
    seed: u64,
    #[serde(skip)]
    populations: Populations,
}

/// A population with what is known of it.
#[derive(Clone)]
pub(super) struct Known {
    pub world: Arc<World>,
    pub population: Arc<Population>,
}

/// Populations, their moments computed once.
#[derive(Debug, Default)]
pub(super) struct Populations(Mutex<BTreeMap<String, Known>>);

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Known")
    }
}

impl Populations {
    /// The population of a cell.
    pub(super) fn of(&self, cell: &Cell, tables: &str, rows: u64, from: u64) -> Result<Known, LabError> {
        let key = format!("{}; {}", Design::identity(&cell.design, cell.n), cell.errors);
        let lock = || self.0.lock().expect("nobody panics while holding it");
        if let Some(known) = lock().get(&key) {
            return Ok(known.clone());
        }
        // Does not hold the lock: this runs on all threads, and they may need it.
        let design = Design::named(&cell.design, cell.n, Some(Path::new(tables)))?;
        let errors = Errors::named(&cell.errors).ok_or(LabError::Setting { given: cell.errors.clone() })?;
        let world = World::new(design, errors);
        let population = world.known(rows, seed(from, "population", &words(&key)));
        let known = Known { world: Arc::new(world), population: Arc::new(population) };
        lock().insert(key, known.clone());
        Ok(known)
    }
}

impl Honest {
    fn known(&self, cell: &Cell) -> Result<Known, LabError> {
        self.populations.of(cell, &self.tables, self.population_rows, self.seed)
    }

    fn cells(&self) -> Vec<Cell> {
        self.grid.iter().flat_map(Block::cells).collect()
    }

    fn cell_of(&self, point: &Point) -> Cell {
        self.cells().swap_remove(point.whole("cell") as usize)
    }

    fn lines(&self, done: &[Finished]) -> Vec<Line> {
        done.iter().flat_map(|one| self.lines_of(one)).collect()
    }

    fn lines_of(&self, one: &Finished) -> Vec<Line> {
        let cell = self.cell_of(&one.point);
        let value = |name: &str| one.value(name);
        terms(&one.values)
            .into_iter()
            .map(|term| {
                let of = |name: &str| value(&format!("{term}.{name}"));
                Line {
                    cell: cell.clone(),
                    printed: of("printed"),
                    coverage: Coverage { judged: of("judged"), covered: of("covered"), effect: of("effect") },
                    length: of("length"),
                    rmse: of("rmse"),
                    prediction: value("prediction"),
                    contradictions: of("contradictions"),
                    robust: value("robust"),
                    misfit: value("misfit"),
                    passes: value("passes"),
                    level_changes: value("level_changes"),
                    bare_numbers: value("bare_numbers"),
                    refused: value("refused"),
                    term,
                }
            })
            .collect()
    }

    fn outside(&self, line: &Line) -> Option<Side> {
        line.coverage.outside(self.band, self.alarm)
    }

    fn reason(&self, line: &Line, side: Side) -> Option<&Reason> {
        self.reasons.iter().find(|reason| reason.allows == side && reason.which.is(&line.cell, &line.term))
    }

    fn verdict(&self, line: &Line) -> String {
        match self.outside(line) {
            _ if line.printed == 0.0 => "nothing printed".to_owned(),
            _ if line.coverage.judged == 0.0 => "reported".to_owned(),
            None => "holds".to_owned(),
            Some(side) => match self.reason(line, side) {
                Some(reason) => format!("allowed: {}", reason.why),
                None if side == Side::Low => "too low".to_owned(),
                None => "too high".to_owned(),
            },
        }
    }

    /// Lines that fail on a side, the worst first.
    fn failures<'a>(&self, lines: &'a [Line], side: Side) -> Vec<&'a Line> {
        let fails = |line: &&Line| self.outside(line) == Some(side) && self.reason(line, side).is_none();
        let mut found: Vec<&Line> = lines.iter().filter(fails).collect();
        found.sort_by(|a, b| a.coverage.share().total_cmp(&b.coverage.share()));
        found
    }

    /// Coverage over all coefficients that are printed occasionally: there are few in each cell,
    /// and a selection effect shows only over all of them.
    fn rarely_printed(&self, lines: &[Line]) -> (String, Option<Side>) {
        let rare = lines.iter().filter(|line| line.printed < 0.5 && line.coverage.judged > 0.0);
        let sum = rare.fold(Coverage { judged: 0.0, covered: 0.0, effect: 1.0 }, |sum, line| {
            let Coverage { judged, covered, effect } = line.coverage;
            // Weighted by their effective numbers.
            Coverage { judged: sum.judged + judged / effect, covered: sum.covered + covered / effect, effect: 1.0 }
        });
        if sum.judged == 0.0 {
            return ("there are none".to_owned(), None);
        }
        let shown = format!("{:.1} of {:.0} intervals", 100.0 * sum.share(), sum.judged).replacen(' ', " % ", 1);
        (shown, sum.outside(self.band, self.alarm))
    }

    fn judge_limit(&self, limit: &Limit, lines: &[Line], claims: &mut Claims) {
        let name = match limit.measure {
            Measure::Printed => "share printed",
            Measure::Length => "length against a fit without privacy",
            Measure::Rmse => "root mean square error against a fit without privacy",
            Measure::Misfit => "share of fits that say that a logit is not the whole truth",
            Measure::Prediction => "excess squared error of predictions against that of the coefficients",
        };
        let number = |line: &Line| match limit.measure {
            Measure::Printed => line.printed,
            Measure::Length => line.length,
            Measure::Rmse => line.rmse,
            Measure::Misfit => line.misfit,
            Measure::Prediction => line.prediction,
        };
        let chosen = lines.iter().filter(|line| limit.which.is(&line.cell, &line.term));
        let numbers: Vec<f64> = chosen.map(number).filter(|number| number.is_finite()).collect();
        let (low, high) = numbers.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let (least, most) = (limit.least.unwrap_or(f64::NEG_INFINITY), limit.most.unwrap_or(f64::INFINITY));
        if !numbers.is_empty() {
            let required = [limit.least.map(|v| format!("at least {v}")), limit.most.map(|v| format!("at most {v}"))];
            let required: Vec<String> = required.into_iter().flatten().collect();
            let measured = format!("{} to {}", shown(low), shown(high));
            let holds = least <= low && high <= most;
            claims.add(format!("{name}: {}", limit.which.in_words()), measured, required.join(" and "), holds);
        }
    }
}

/// Text as words of a seed.
fn words(text: &str) -> Vec<u64> {
    text.bytes().map(u64::from).collect()
}

/// The terms with numbers in a record, in formula order.
fn terms(values: &Values) -> Vec<String> {
    let mut found: Vec<(f64, String)> =
        values.iter().filter_map(|(name, &place)| Some((place, name.strip_suffix(".place")?.to_owned()))).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, term)| term).collect()
}

/// The finite numbers of a measure, for the coefficients at `places`, over all repetitions.
fn numbers(repetitions: &[Measures], name: &str, places: &[usize]) -> Vec<f64> {
    let found = repetitions.iter().filter_map(|one| one.get(name));
    found.flat_map(|all| places.iter().map(|&place| all[place])).filter(|number| number.is_finite()).collect()
}

/// A number of each table, where there is one.
fn numbers_of(repetitions: &[Measures], name: &str) -> Vec<f64> {
    repetitions.iter().filter_map(|one| one.get(name).map(|all| all[0])).collect()
}

/// The mean of the second numbers over that of the first, table by table; two Monte-Carlo standard
/// errors of their difference count for nothing.
fn excess_ratio(own: &[f64], others: &[f64]) -> Option<f64> {
    let more: Vec<f64> = others.iter().zip(own).map(|(other, own)| other - own).collect();
    let (mean_more, mean_own) = (mean(&more)?, mean(own)?);
    let variance = mean(&more.iter().map(|one| (one - mean_more).powi(2)).collect::<Vec<_>>())?;
    Some(1.0 + (mean_more - 2.0 * (variance / more.len() as f64).sqrt()) / mean_own)
}

fn mean(numbers: &[f64]) -> Option<f64> {
    (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / numbers.len() as f64)
}

impl Experiment for Honest {
    fn points(&self) -> Vec<Point> {
        let point = |(index, cell): (usize, Cell)| {
            let (of, n, repetitions) = (cell.in_words(), cell.n, cell.repetitions);
            let (rows, seed) = (self.population_rows, self.seed);
            Point {
                key: format!("honest {of} population_rows={rows} repetitions={repetitions} seed={seed}"),
                repetitions,
                cells: n * 5,
                parameters: BTreeMap::from([("cell", index as f64), ("n", n as f64)]),
            }
        };
        self.cells().into_iter().enumerate().map(point).collect()
    }

    fn prepare(&self, point: &Point) -> Result<(), LabError> {
        self.known(&self.cell_of(point)).map(|_| ())
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let cell = self.cell_of(point);
        let Known { world, population } = self.known(&cell)?;
        // The same tables for every budget and target, so that these can be compared.
        let mut about = words(&format!("{}; {}", cell.design, cell.errors));
        about.extend([cell.n, repetition]);
        let data = seed(self.seed, "data", &about);
        about.extend([cell.rho.to_bits(), cell.target as u64]);
        let noise = seed(self.seed, "noise", &about);
        let choices = Choices::DEFAULT;
        Trial { world: &world, population: &population, cell: &cell, choices }.run(data, noise, repetition)
    }

    fn summarise(&self, point: &Point, repetitions: &[Measures]) -> Values {
        let cell = self.cell_of(point);
        let design = Design::named(&cell.design, cell.n, None).expect("the cell was run");
        let world = World::new(design, Errors::Normal);
        let (terms, names) = (world.terms(), world.coefficients());
        let mut values = Values::new();
        let mut put = |name: String, value: Option<f64>| value.and_then(|value| values.insert(name, value));
        for name in ["robust", "misfit", "passes", "level_changes", "bare_numbers", "refused"] {
            put(name.to_owned(), mean(&numbers(repetitions, name, &[0])));
        }
        put(
            "prediction".to_owned(),
            excess_ratio(&numbers_of(repetitions, "excess"), &numbers_of(repetitions, "predicted")),
        );
        for (place, term) in terms.iter().enumerate().filter(|(place, term)| !terms[..*place].contains(term)) {
            let is_shown = |&j: &usize| terms[j] == *term && cell.reports(&names[j]);
            let places: Vec<usize> = (0..terms.len()).filter(is_shown).collect();
            if places.is_empty() {
                continue;
            }
            let of = |name: &str| numbers(repetitions, name, &places);
            let mut put = |name: &str, value: Option<f64>| put(format!("{term}.{name}"), value);
            put("place", Some(place as f64));
            put("printed", mean(&of("printed")));
            let tables: Vec<(f64, f64)> = repetitions
                .iter()
                .map(|one| numbers(std::slice::from_ref(one), "covered", &places))
                .map(|covered| (covered.len() as f64, covered.iter().sum()))
                .collect();
            let Coverage { judged, covered, effect } = Coverage::of(&tables);
            put("judged", Some(judged));
            put("covered", Some(covered));
            put("effect", Some(effect));
            let lengths = of("length");
            put("length", (!lengths.is_empty()).then(|| percentile(&lengths, 0.5)));
            let squares = mean(&of("error_sq")).zip(mean(&of("ols_sq")));
            put("rmse", squares.map(|(own, ols)| (own / ols).sqrt()));
            put("contradictions", mean(&of("contradictions")));
        }
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let lines = self.lines(done);
        Table { columns: &COLUMNS, rows: lines.iter().map(|line| line.cells(&self.verdict(line))).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let now = self.table(done).rows;
        let before = read_rows(&self.before);
        let mut labels: Vec<String> = now.iter().map(|row| row_label(row)).collect();
        let mut seen = std::collections::BTreeSet::new();
        labels.retain(|label| seen.insert(label.clone()));
        let targets = Target::ALL.map(Target::name);
        let mut series = Vec::new();
        for (style, target) in targets.into_iter().enumerate() {
            // The earlier run is below in the same colour, hollow.
            for (rows, label, style) in
                [(&now, target.to_owned(), style), (&before, format!("{target}, before"), style + HOLLOW)]
            {
                if rows.iter().any(|row| row[4] == *target) {
                    series.push((DotSeries { label, style }, rows, target));
                }
            }
        }
        let row = |label: &String| DotRow {
            label: label.clone(),
            dots: series
                .iter()
                .map(|(_, rows, target)| {
                    pooled(rows.iter().filter(|row| row[4] == *target && row_label(row) == *label))
                })
                .collect(),
        };
        let caption = format!(
            "Coverage of nominal 95 % intervals given that they were printed, over all sizes, budgets and terms of a design, with 95 % Monte-Carlo \
             intervals; the small mark is the worst term of a single size and budget with at least {LEAST_SHOWN} intervals. The band is {} to {} %. \
             {}, {} cells.",
            100.0 * self.band.0,
            100.0 * self.band.1,
            self.repetitions_in_words(),
            now.len()
        );
        let dots = Dots {
            label: "coverage given printed, %".into(),
            series: series.iter().map(|(one, ..)| one.clone()).collect(),
            rows: labels.iter().map(row).collect(),
            band: self.band,
        };
        Figure::dots(caption, dots)
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let lines = self.lines(done);
        let judged = lines.iter().filter(|line| line.coverage.judged > 0.0).count();
        let chance = format!("none, where an interval at the edge is named with probability {}", self.alarm);
        for (side, edge) in [(Side::Low, self.band.0), (Side::High, self.band.1)] {
            let failures = self.failures(&lines, side);
            let words = if side == Side::Low { "less" } else { "more" };
            let worst: Vec<String> = failures
                .iter()
                .take(SHOWN)
                .map(|line| format!("{} ({})", line.in_words(), shown(line.coverage.share())))
                .collect();
            let measured = format!(
                "{} of {judged}{}{}",
                failures.len(),
                if worst.is_empty() { "" } else { ": " },
                worst.join("; ")
            );
            let claim = format!("no printed interval covers {words} than {} % without a stated reason", 100.0 * edge);
            claims.add(claim, measured, chance.clone(), failures.is_empty());
        }
        let (rarely, verdict) = self.rarely_printed(&lines);
        let claim = "what is printed in less than half of the fits is covered as well";
        claims.add(claim, rarely, format!("{} to {} %", 100.0 * self.band.0, 100.0 * self.band.1), verdict.is_none());
        let mut none = |claim: &str, number: &dyn Fn(&Line) -> f64| {
            let found: Vec<&Line> = lines.iter().filter(|line| number(line) > 0.0).collect();
            let worst = found.first().map_or(String::new(), |line| format!(", for instance {}", line.in_words()));
            claims.add(claim, format!("{} of {} cells{worst}", found.len(), lines.len()), "none", found.is_empty());
        };
        none("a p-value never contradicts its interval", &|line| line.contradictions);
        none("what is identified does not depend on the level", &|line| line.level_changes);
        none("what is not identified has no number in the JSON", &|line| line.bare_numbers);
        let falls = falling(&lines);
        let worst = falls.first().map_or(String::new(), |line| format!(": {}", line.in_words()));
        let claim = "what is printed grows with the budget";
        claims.add(
            claim,
            format!("{} falls{worst}", falls.len()),
            "none beyond three standard errors",
            falls.is_empty(),
        );
        self.limits.iter().for_each(|limit| self.judge_limit(limit, &lines, claims));
    }
}

/// The failures named in a claim, and the intervals that a single mark of the picture needs.
const SHOWN: usize = 8;
const LEAST_SHOWN: f64 = 20.0;

/// The offset of hollow styles.
const HOLLOW: usize = 6;

/// Lines that are printed less often than the same at a smaller budget.
fn falling(lines: &[Line]) -> Vec<&Line> {
    let same = |a: &Line, b: &Line| {
        let (x, y) = (&a.cell, &b.cell);
        (&x.design, &x.errors, x.n, x.target, &a.term) == (&y.design, &y.errors, y.n, y.target, &b.term)
    };
    let error = |line: &Line| (line.printed * (1.0 - line.printed)).max(0.01) / f64::from(line.cell.repetitions);
    let falls = |line: &&Line| {
        let mut smaller = lines.iter().filter(|other| same(line, other) && other.cell.rho < line.cell.rho);
        smaller.any(|other| other.printed - line.printed > 3.0 * (error(line) + error(other)).sqrt())
    };
    lines.iter().filter(falls).collect()
}

fn row_label(row: &[String]) -> String {
    if row[1] == "normal" { row[0].clone() } else { format!("{}, {}", row[0], row[1]) }
}

/// The rows of a table from an earlier run; empty if there is no such file.
fn read_rows(path: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let rows = text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    rows.filter(|row| row.len() == COLUMNS.len()).collect()
}

/// Coverage over rows of the table, and the worst of them.
fn pooled<'a>(rows: impl Iterator<Item = &'a Vec<String>>) -> Option<Dot> {
    let number = |cell: &str| cell.parse::<f64>().unwrap_or(f64::NAN);
    let (mut judged, mut covered, mut variance, mut worst) = (0.0, 0.0, 0.0, None::<f64>);
    for row in rows {
        let (count, share, error) = (number(&row[8]), number(&row[9]), number(&row[10]));
        if count > 0.0 && share.is_finite() {
            judged += count;
            covered += count * share;
            variance += (count * error).powi(2);
            if count >= LEAST_SHOWN {
                worst = Some(worst.unwrap_or(1.0).min(share));
            }
        }
    }
    let (share, half) = (covered / judged, 1.96 * variance.sqrt() / judged);
    (judged > 0.0).then_some(Dot { value: share, low: share - half, high: (share + half).min(1.0), worst })
}

#[cfg(test)]
mod tests;
