//! The effect of each number in the automatic method's budget division that no theory determines:
//! one at a time is halved and doubled.
//!
//! All variants of a cell use the same tables and the same seeds, so that lengths are compared
//! table by table. Coverage must not depend on any of them.

use std::collections::BTreeMap;

use dplm::plan::Choices;

use super::{
    Experiment, Finished, Measures, Point, Table, all, cell as shown,
    honest::{Block, Cell, Populations, Trial},
};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Series},
    record::Values,
    stats::percentile,
    trial::seed,
};

/// Length and coverage with one choice changed.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChoicesStudy {
    grid: Vec<Block>,
    /// The factors by which a choice is multiplied.
    factors: Vec<f64>,
    /// Coverage below the first or above the second, over all cells, fails.
    band: (f64, f64),
    /// Intervals shorter than this share of the default ones would show that a choice is bad.
    shortest: f64,
    population_rows: u64,
    tables: String,
    seed: u64,
    #[serde(skip)]
    populations: Populations,
}

/// A choice and its factor; the first variant changes none.
struct Variant {
    name: &'static str,
    factor: f64,
}

impl ChoicesStudy {
    fn cells(&self) -> Vec<Cell> {
        self.grid.iter().flat_map(Block::cells).collect()
    }

    fn variants(&self) -> Vec<Variant> {
        let of = |name| self.factors.iter().map(move |&factor| Variant { name, factor });
        let unchanged = Variant { name: "as they are", factor: 1.0 };
        std::iter::once(unchanged).chain(Choices::NAMES.into_iter().flat_map(of)).collect()
    }

    /// The results of a variant over all cells: lengths relative to the default, as a geometric
    /// mean, and coverage.
    fn over_cells(&self, done: &[Finished], variant: usize) -> (f64, f64) {
        let of = |variant: usize| done.iter().filter(move |one| one.point.whole("variant") as usize == variant);
        let ratios: Vec<f64> = of(variant)
            .zip(of(0))
            .map(|(one, usual)| (one.value("length") / usual.value("length")).ln())
            .filter(|ratio| ratio.is_finite())
            .collect();
        let covered: Vec<f64> = of(variant).map(|one| one.value("coverage")).filter(|one| one.is_finite()).collect();
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
        (mean(&ratios).exp(), mean(&covered))
    }
}

impl Experiment for ChoicesStudy {
    fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for (place, cell) in self.cells().iter().enumerate() {
            for (index, Variant { name, factor }) in self.variants().iter().enumerate() {
                let about = cell.in_words();
                let (rows, repetitions, seed) = (self.population_rows, cell.repetitions, self.seed);
                points.push(Point {
                    key: format!(
                        "choices {about} choice={name} factor={factor} population_rows={rows} repetitions={repetitions} seed={seed}"
                    ),
                    repetitions,
                    cells: cell.n * 5,
                    parameters: BTreeMap::from([("cell", place as f64), ("variant", index as f64), ("n", cell.n as f64)]),
                });
            }
        }
        points
    }

    fn prepare(&self, point: &Point) -> Result<(), LabError> {
        let cell = &self.cells()[point.whole("cell") as usize];
        self.populations.of(cell, &self.tables, self.population_rows, self.seed).map(|_| ())
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let cell = &self.cells()[point.whole("cell") as usize];
        let known = self.populations.of(cell, &self.tables, self.population_rows, self.seed)?;
        let variant = &self.variants()[point.whole("variant") as usize];
        let choices = Choices::DEFAULT.times(variant.name, variant.factor).unwrap_or(Choices::DEFAULT);
        let trial = Trial { world: &known.world, population: &known.population, cell, choices };
        let about = [point.whole("cell"), repetition];
        trial.fit_once(seed(self.seed, "data", &about), seed(self.seed, "noise", &about))
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let finite = |name: &str| -> Vec<f64> {
            all(repetitions, name).into_iter().filter(|number| number.is_finite()).collect()
        };
        let mean = |numbers: Vec<f64>| numbers.iter().sum::<f64>() / numbers.len() as f64;
        let lengths = finite("length");
        let mut values = Values::new();
        values.insert("printed".to_owned(), mean(all(repetitions, "printed")));
        if !lengths.is_empty() {
            values.insert("coverage".to_owned(), mean(finite("covered")));
            values.insert("length".to_owned(), percentile(&lengths, 0.5));
        }
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let (cells, variants) = (self.cells(), self.variants());
        let row = |one: &Finished| {
            let cell = &cells[one.point.whole("cell") as usize];
            let Variant { name, factor } = variants[one.point.whole("variant") as usize];
            let numbers = [cell.n as f64, cell.rho].map(shown);
            let found = ["printed", "coverage", "length"].map(|measure| shown(one.value(measure)));
            let words = [cell.design.clone(), cell.errors.clone()].into_iter().chain(numbers);
            let choice = [name.to_owned(), shown(factor), one.point.repetitions.to_string()];
            words.chain(choice).chain(found).collect()
        };
        Table {
            columns: &["design", "errors", "n", "rho", "choice", "factor", "reps", "printed", "coverage", "length"],
            rows: done.iter().map(row).collect(),
        }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let variants = self.variants();
        let mut quiet = Vec::new();
        let mut series = Vec::new();
        for name in Choices::NAMES {
            let found: Vec<(f64, f64)> = variants
                .iter()
                .enumerate()
                .filter(|(_, variant)| variant.name == name)
                .map(|(index, variant)| (variant.factor, self.over_cells(done, index).0))
                .collect();
            if found.iter().all(|(_, ratio)| (ratio - 1.0).abs() < WORTH_A_LINE) {
                quiet.push(name.replace('_', " "));
                continue;
            }
            let mut marks: Vec<(f64, f64)> = found.into_iter().chain([(1.0, 1.0)]).collect();
            marks.sort_by(|a, b| a.0.total_cmp(&b.0));
            let marks = marks.into_iter().map(|(x, y)| Mark::between(x, y, y, y)).collect();
            series.push(Series::new(name.replace('_', " "), marks));
        }
        let caption = format!(
            "Length of intervals with one choice multiplied, over the usual length; geometric mean over {} cells, {} each. Within {} %: {}.",
            self.cells().len(),
            self.repetitions_in_words(),
            100.0 * WORTH_A_LINE,
            quiet.join(", ")
        );
        let y = Axis::linear("length over the usual");
        Figure::plot(caption, Plot { x: Axis::log("multiplied by"), y, series, ..Plot::default() })
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let variants = self.variants();
        let found: Vec<(String, f64, f64)> = variants
            .iter()
            .enumerate()
            .map(|(index, variant)| {
                let (ratio, coverage) = self.over_cells(done, index);
                (format!("{} times {}", variant.name.replace('_', " "), variant.factor), ratio, coverage)
            })
            .collect();
        let worst = |number: &dyn Fn(&(String, f64, f64)) -> f64| {
            found.iter().min_by(|a, b| number(a).total_cmp(&number(b))).expect("there is a variant")
        };
        let (low, high) = (worst(&|one| one.2), worst(&|one| -one.2));
        claims.add(
            "coverage does not depend on what was chosen",
            format!("{:.3} ({}) to {:.3} ({})", low.2, low.0, high.2, high.0),
            format!("{} to {} %", 100.0 * self.band.0, 100.0 * self.band.1),
            self.band.0 <= low.2 && high.2 <= self.band.1,
        );
        let shortest = worst(&|one| one.1);
        claims.add(
            "no single choice, halved or doubled, makes intervals much shorter",
            format!("at best {:.3} times the usual length ({})", shortest.1, shortest.0),
            format!("at least {}", self.shortest),
            shortest.1 >= self.shortest,
        );
    }
}

/// A choice that changes lengths by less than this is named and not drawn.
const WORTH_A_LINE: f64 = 0.005;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Changes, Definition};

    const GRID: &str =
        "grid=[{designs=[\"controls 2\"],errors=[\"normal\"],n=[2000],rho=[0.5],targets=[\"default\"],repetitions=3}]";

    /// The default numbers come first, every choice is changed both ways, and a changed choice
    /// gives other numbers on the same tables.
    #[test]
    fn every_choice_is_changed_on_the_same_tables() {
        let set = [GRID, "population_rows=20000"].map(str::to_owned).to_vec();
        let definition = Definition::built_in("choices", &Changes { set, ..Changes::default() }).unwrap();
        let mut record = crate::record::Record::read("", "choices").unwrap();
        let done = crate::run::measure(&definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap();
        assert_eq!(done.len(), 1 + 2 * Choices::NAMES.len());
        let length = |choice: &str, factor: &str| -> f64 {
            let table = definition.experiment.table(&done);
            let row = table.rows.iter().find(|row| row[4] == choice && row[5] == factor).expect("a row").clone();
            row[9].parse().expect("a length")
        };
        // There is one round more than necessary for columns like these, and no second start, so
        // those choices change nothing.
        assert_eq!(length("second_start", "2"), length("as they are", "1"));
        assert_ne!(length("start", "2"), length("as they are", "1"));
        let picture = definition.experiment.figure(&done).svg(&definition.title);
        assert!(picture.contains("multiplied by") && crate::run::judge(&definition, &done).len() == 2);
    }
}
