//! Error and length of intervals as p and n grow together, on ordinary columns: correlated, with
//! known bounds and nothing else, in units of least squares.

use super::{
    Experiment, Finished, Measures, Point, Repetitions, Table, all, cell, grouped,
    honest::{Cell, Coverage, Populations, Target, Trial},
};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Panel, Panels},
    record::Values,
    stats::{Estimate, percentile},
    trial::seed,
};
use dplm::plan::Choices;

/// All coefficients, and one of interest with the others as controls.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ordinary {
    /// The correlation of neighbouring columns.
    correlation: f64,
    p: Vec<u32>,
    rows_per_feature: Vec<u64>,
    rho: Vec<f64>,
    /// The least share of intervals that must cover, and the probability with which that many fail
    /// to by chance.
    coverage: f64,
    alarm: f64,
    population_rows: u64,
    repetitions: Repetitions,
    seed: u64,
    #[serde(skip)]
    populations: Populations,
}

/// The column of interest: neither the first nor the last, which have one neighbour each.
const OF_INTEREST: &str = "x2";
/// Whether one coefficient is of interest, and the series in words.
const WAYS: [(bool, &str); 2] = [(false, "all coefficients"), (true, "one of interest")];

impl Ordinary {
    fn cell_of(&self, point: &Point) -> Cell {
        Cell {
            design: format!("ar {} {}", self.correlation, point.whole("p")),
            errors: "normal".to_owned(),
            n: point.whole("n"),
            rho: point.get("rho"),
            target: Target::Robust,
            focus: (point.get("focus") > 0.0).then(|| OF_INTEREST.to_owned()),
            repetitions: point.repetitions,
            predicts: false,
        }
    }

    /// The points of a series along p.
    fn along(done: &[Finished], ratio: u64, rho: f64, focus: bool) -> impl Iterator<Item = &Finished> {
        let focus = f64::from(u8::from(focus));
        done.iter().filter(move |one| {
            one.at("ratio") as u64 == ratio && one.at("rho").total_cmp(&rho).is_eq() && one.at("focus") == focus
        })
    }

    /// Every series: rows for each feature, a budget, and whether one coefficient is of interest.
    fn series(&self) -> Vec<(u64, f64, bool)> {
        let of_ratio = |&ratio: &u64| self.rho.iter().flat_map(move |&rho| WAYS.map(|(focus, _)| (ratio, rho, focus)));
        self.rows_per_feature.iter().flat_map(of_ratio).collect()
    }
}

fn is_printed(one: &Finished) -> bool {
    one.value("printed") > 0.5
}

impl Experiment for Ordinary {
    fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for (ratio, rho, focus) in self.series() {
            for (index, &p) in self.p.iter().enumerate() {
                let parameters = [
                    ("correlation", self.correlation),
                    ("p", f64::from(p)),
                    ("n", (u64::from(p) * ratio) as f64),
                    ("ratio", ratio as f64),
                    ("rho", rho),
                    ("focus", f64::from(u8::from(focus))),
                ];
                points.push(Point::new("ordinary", &parameters, self.repetitions.at(index), self.seed));
            }
        }
        points
    }

    fn prepare(&self, point: &Point) -> Result<(), LabError> {
        self.populations.of(&self.cell_of(point), "", self.population_rows, self.seed).map(|_| ())
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let cell = self.cell_of(point);
        let known = self.populations.of(&cell, "", self.population_rows, self.seed)?;
        let words = [point.whole("p"), point.whole("n"), repetition];
        let noise = [point.get("rho").to_bits(), point.whole("focus")];
        let (data, noise) = (seed(self.seed, "data", &words), seed(self.seed, "noise", &[&words[..], &noise].concat()));
        let choices = Choices::DEFAULT;
        Trial { world: &known.world, population: &known.population, cell: &cell, choices }.fit_once(data, noise)
    }

    fn summarise(&self, point: &Point, repetitions: &[Measures]) -> Values {
        let is_focus = point.get("focus") > 0.0;
        // Of the constant nothing is asked; the column of interest comes after it and the first.
        let of = |one: &Measures, name: &str| -> Vec<f64> {
            let found = one.get(name).map_or(&[][..], |found| if is_focus { &found[2..3] } else { &found[1..] });
            found.iter().copied().filter(|number| number.is_finite()).collect()
        };
        let pooled = |name: &str| repetitions.iter().flat_map(|one| of(one, name)).collect::<Vec<f64>>();
        let mut values = Values::from([("printed".to_owned(), Estimate::mean(&pooled("printed")).value)]);
        let tables: Vec<(f64, f64)> = repetitions
            .iter()
            .map(|one| of(one, "covered"))
            .map(|covered| (covered.len() as f64, covered.iter().sum()))
            .collect();
        let Coverage { judged, covered, effect } = Coverage::of(&tables);
        if judged > 0.0 {
            let lengths = pooled("length");
            // The chance error of a ratio of squares, each table by itself.
            let ratio = |one: &Measures| Estimate::mean(&of(one, "error_sq")).value;
            let squares: Vec<f64> = repetitions.iter().map(ratio).filter(|square| square.is_finite()).collect();
            let clear = Estimate::mean(&pooled("ols_sq")).value;
            let error = Estimate::mean(&squares);
            values.extend([
                ("judged".to_owned(), judged),
                ("covered".to_owned(), covered),
                ("effect".to_owned(), effect),
                ("length".to_owned(), percentile(&lengths, 0.5)),
                ("rmse".to_owned(), (error.value / clear).sqrt()),
                ("rmse.se".to_owned(), error.error / (2.0 * (error.value * clear).sqrt())),
            ]);
        }
        values.insert("refused".to_owned(), Estimate::mean(&all(repetitions, "refused")).value);
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let words = if one.at("focus") > 0.0 { WAYS[1].1 } else { WAYS[0].1 };
            let covered = one.value("covered") / one.value("judged");
            let numbers = [one.value("printed"), covered, one.value("rmse"), one.value("length")];
            let place = ["p", "n", "rho"].map(|name| cell(one.at(name)));
            let start = place.into_iter().chain([words.to_owned(), one.point.repetitions.to_string()]);
            start.chain(numbers.map(cell)).collect()
        };
        let columns = &["p", "n", "rho", "coefficients", "reps", "printed", "coverage", "rmse", "length"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let labels = |rho: &f64| WAYS.map(|(_, words)| format!("{words}, ρ = {rho}"));
        let marks = |ratio: u64, of: &dyn Fn(&Finished) -> Mark| -> Vec<Vec<Mark>> {
            let series = self.series().into_iter().filter(|one| one.0 == ratio);
            series
                .map(|(ratio, rho, focus)| {
                    Ordinary::along(done, ratio, rho, focus).filter(|one| is_printed(one)).map(of).collect()
                })
                .collect()
        };
        let panels = |&ratio: &u64| {
            let error = |one: &Finished| Mark::with_error(one.at("p"), &one.estimate("rmse"));
            let length = |one: &Finished| {
                Mark::between(one.at("p"), one.value("length"), one.value("length"), one.value("length"))
            };
            let of = |title: &str, of: &dyn Fn(&Finished) -> Mark| Panel {
                title: format!("{title}, n = {}p", grouped(ratio as f64)),
                series: marks(ratio, of),
            };
            [of("root mean square error", &error), of("length of intervals", &length)]
        };
        Figure::panels(
            format!(
                "Columns with correlation {} between neighbours and known bounds, intervals for robust coefficients; both over those of least squares. A line ends where fits are refused. \
                 {}.",
                self.correlation,
                self.repetitions_in_words()
            ),
            Panels {
                x: Axis::log("number of features p"),
                y: Axis::log("over least squares"),
                labels: self.rho.iter().flat_map(labels).collect(),
                panels: self.rows_per_feature.iter().flat_map(panels).collect(),
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let printed: Vec<&Finished> = done.iter().filter(|one| is_printed(one)).collect();
        let sum = |name: &str| printed.iter().map(|one| one.value(name) / one.value("effect")).sum::<f64>();
        let pooled = Coverage { judged: sum("judged"), covered: sum("covered"), effect: 1.0 };
        claims.add(
            "intervals cover, at every p at which they are printed",
            format!("{:.1} % of {:.0}", 100.0 * pooled.share(), pooled.judged),
            format!("{} to 98 %, beyond chance with probability {}", 100.0 * self.coverage, self.alarm),
            pooled.judged > 0.0 && pooled.outside((self.coverage, 0.98), self.alarm).is_none(),
        );
        let both: Vec<f64> = self
            .series()
            .into_iter()
            .filter(|one| one.2)
            .flat_map(|(ratio, rho, _)| {
                let all = Ordinary::along(done, ratio, rho, false);
                Ordinary::along(done, ratio, rho, true).zip(all).filter(|(one, all)| is_printed(one) && is_printed(all))
            })
            .map(|(one, all)| one.value("length") / all.value("length"))
            .collect();
        let longest = both.iter().copied().fold(0.0, f64::max);
        claims.add(
            "a coefficient of interest has no longer an interval than it has among all",
            format!("at most {longest:.2} times as long, at {} points with both", both.len()),
            "at most 1.02 times, for the chance of medians",
            !both.is_empty() && longest <= 1.02,
        );
        let ends = |(ratio, rho, focus): (u64, f64, bool)| {
            let along: Vec<&Finished> = Ordinary::along(done, ratio, rho, focus).collect();
            let last = along.iter().rposition(|one| is_printed(one)).map_or(0, |place| place + 1);
            let words = WAYS[usize::from(focus)].1;
            let until =
                last.checked_sub(1).map_or("never".to_owned(), |place| format!("to p = {}", along[place].at("p")));
            (format!("{words}, n = {ratio}p, ρ = {rho}: {until}"), along[..last].iter().all(|one| is_printed(one)))
        };
        let ends: Vec<(String, bool)> = self.series().into_iter().map(ends).collect();
        claims.add(
            "n must grow faster than p: what is refused at some p is refused beyond it",
            ends.iter().map(|(words, _)| words.as_str()).collect::<Vec<_>>().join("; "),
            "every series is printed up to some p, and not beyond it",
            ends.iter().all(|(_, is_whole)| *is_whole),
        );
    }
}
