//! Designs that people run, with an identification of their own: constants of persons, event
//! studies and instruments. How often intervals are printed, how long they are beside those of the
//! same estimator in the clear, and how often they cover.

mod panels;
mod instruments;

use dplm::{Fit, Lm, method::ConfigError, table::Source};

use super::{Experiment, Finished, Measures, Point, Table, all, cell, grouped, put, put_mean};
use crate::{
    LabError,
    claim::Claims,
    draw::{Axis, Figure, Mark, Plot, Reference, Series},
    record::Values,
    stats::{Estimate, percentile},
    trial::seed,
};

/// Fits of simulated tables of some kinds, over sizes and budgets.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Designs {
    cases: Vec<Case>,
    /// Persons, or rows where each is a person's.
    units: Vec<u64>,
    rho: Vec<f64>,
    repetitions: u32,
    seed: u64,
}

/// A kind of table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Case {
    /// Constants of persons that go with a regressor, errors that follow each other, one to eight
    /// rows a person.
    Persons,
    /// The same where half of the persons have one row.
    Singletons,
    /// Four periods, the treated from the third on.
    EventStudy,
    /// One strong instrument.
    Strong,
    /// One that moves the regressor by about three of its standard errors.
    Weak,
    /// One that does not move it.
    Irrelevant,
    /// Three strong instruments.
    ThreeStrong,
    /// Three of which each moves the regressor by about two standard errors.
    ThreeWeak,
    /// Three that do not move it.
    ThreeIrrelevant,
}

/// A table, and what is asked of it.
struct Trial {
    source: Source,
    formula: String,
    /// The column of persons and the most rows of each, where persons have several.
    persons: Option<(&'static str, u32)>,
    /// Each coefficient that is judged: its name, its true value, and its standard error in the
    /// clear.
    judged: Vec<(String, f64, f64)>,
}

impl Case {
    const ALL: [Case; 9] = [
        Case::Persons,
        Case::Singletons,
        Case::EventStudy,
        Case::Strong,
        Case::Weak,
        Case::Irrelevant,
        Case::ThreeStrong,
        Case::ThreeWeak,
        Case::ThreeIrrelevant,
    ];

    fn words(self) -> &'static str {
        match self {
            Case::Persons => "constants of persons",
            Case::Singletons => "half of the persons with one row",
            Case::EventStudy => "event study",
            Case::Strong => "one strong instrument",
            Case::Weak => "one weak instrument",
            Case::Irrelevant => "one irrelevant instrument",
            Case::ThreeStrong => "three strong instruments",
            Case::ThreeWeak => "three weak instruments",
            Case::ThreeIrrelevant => "three irrelevant instruments",
        }
    }

    fn trial(self, units: u64, seed: u64) -> Result<Trial, dplm::Error> {
        match self {
            Case::Persons => panels::panel(units, seed, false),
            Case::Singletons => panels::panel(units, seed, true),
            Case::EventStudy => panels::event_study(units, seed),
            Case::Strong => instruments::table(units, seed, &[0.8]),
            Case::Weak => instruments::table(units, seed, &[0.03]),
            Case::Irrelevant => instruments::table(units, seed, &[0.0]),
            Case::ThreeStrong => instruments::table(units, seed, &[0.6, 0.3, 0.3]),
            Case::ThreeWeak => instruments::table(units, seed, &[0.02; 3]),
            Case::ThreeIrrelevant => instruments::table(units, seed, &[0.0; 3]),
        }
    }

    /// Whether intervals are to be bounded where the budget is ample: `None` where it depends.
    fn is_bounded(self) -> Option<bool> {
        match self {
            Case::Weak | Case::ThreeWeak => None,
            Case::Irrelevant | Case::ThreeIrrelevant => Some(false),
            _ => Some(true),
        }
    }
}

impl Trial {
    /// The fit; `None` if it is refused because the budget is too small.
    fn fit(&self, rho: f64, seed: u64) -> Result<Option<Fit>, LabError> {
        let mut lm = Lm::from(dplm::FitRequest::new(&self.formula)).rho(rho).seed(seed);
        if let Some((person, rows)) = self.persons {
            lm = lm.person(person).rows_per_person(rows);
        }
        match lm.fit_table(&self.source) {
            Ok(fit) => Ok(Some(fit)),
            Err(dplm::Error::Config(ConfigError::NoIntervals { .. } | ConfigError::NothingButNoise { .. })) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the interval, or the set, of each judged coefficient is bounded, how long it is over
    /// that in the clear where it is, and whether it covers; no cover where nothing is printed.
    fn judge(&self, fit: Option<&Fit>) -> Vec<(bool, f64, Option<bool>)> {
        let one = |(name, truth, error): &(String, f64, f64)| {
            let found = fit.and_then(|fit| fit.coefficients.iter().find(|one| one.name == *name));
            let Some(precision) = found.and_then(|one| one.precision) else { return (false, f64::NAN, None) };
            let stage = fit.and_then(|fit| fit.first_stage.as_ref());
            let covers = match stage {
                Some(stage) => stage.set.iter().any(|piece| piece.holds(*truth)),
                None => (precision.low..=precision.high).contains(truth),
            };
            let length = precision.high - precision.low;
            // An empty set is bounded and has no length.
            (length < f64::INFINITY, length.max(0.0) / (2.0 * 1.96 * error), Some(covers))
        };
        self.judged.iter().map(one).collect()
    }
}

impl Designs {
    fn of_case(done: &[Finished], case: Case) -> impl Iterator<Item = &Finished> {
        done.iter().filter(move |one| one.at("case") as usize == place(case))
    }
}

/// The place among all cases.
fn place(case: Case) -> usize {
    Case::ALL.iter().position(|one| *one == case).expect("a case")
}

/// What is allowed of a coverage of 95 %.
const BAND: (f64, f64) = (0.93, 0.97);

/// Whether a coverage with this standard error may be one within the band: a false alarm of one in
/// thirty thousand at each end.
fn may_be_covered(found: &Estimate) -> bool {
    found.value + 4.0 * found.error >= BAND.0 && found.value - 4.0 * found.error <= BAND.1
}

impl Experiment for Designs {
    fn points(&self) -> Vec<Point> {
        let mut points = Vec::new();
        for &case in &self.cases {
            for &units in &self.units {
                for &rho in &self.rho {
                    let parameters = [("case", place(case) as f64), ("n", units as f64), ("p", 8.0), ("rho", rho)];
                    points.push(Point::new("designs", &parameters, self.repetitions, self.seed));
                }
            }
        }
        points
    }

    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let (case, units) = (Case::ALL[point.whole("case") as usize], point.whole("n"));
        let words = [point.whole("case"), units, repetition];
        let trial = case.trial(units, seed(self.seed, "table", &words))?;
        let fit = trial.fit(point.get("rho"), seed(self.seed, "noise", &words))?;
        let judged = trial.judge(fit.as_ref());
        let share = |hits: usize, of: usize| if of == 0 { vec![] } else { vec![hits as f64 / of as f64] };
        let covered: Vec<bool> = judged.iter().filter_map(|(.., covered)| *covered).collect();
        let bounded = judged.iter().filter(|(bounded, ..)| *bounded);
        Ok(Measures::from([
            ("bounded".to_owned(), share(bounded.clone().count(), judged.len())),
            ("length".to_owned(), bounded.map(|(_, length, _)| *length).collect()),
            // Coefficients of one table share it, so that errors are over tables.
            ("covered".to_owned(), share(covered.iter().filter(|one| **one).count(), covered.len())),
        ]))
    }

    fn summarise(&self, _: &Point, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        put_mean(&mut values, repetitions, "bounded");
        put_mean(&mut values, repetitions, "covered");
        let lengths = all(repetitions, "length");
        let median = if lengths.is_empty() { f64::NAN } else { percentile(&lengths, 0.5) };
        put(&mut values, "length", Estimate { value: median, error: 0.0 });
        values.retain(|_, value| value.is_finite());
        values
    }

    fn table(&self, done: &[Finished]) -> Table {
        let row = |one: &Finished| {
            let words = Case::ALL[one.at("case") as usize].words().to_owned();
            let (low, high) = one.estimate("covered").interval();
            let numbers = [one.at("n"), one.at("rho"), f64::from(one.point.repetitions), one.value("length")];
            let shares = [one.value("bounded"), one.value("covered"), low, high];
            std::iter::once(words).chain(numbers.into_iter().chain(shares).map(cell)).collect()
        };
        let columns = &["case", "units", "rho", "reps", "length", "bounded", "coverage", "coverage_lo", "coverage_hi"];
        Table { columns, rows: done.iter().map(row).collect() }
    }

    fn figure(&self, done: &[Finished]) -> Figure {
        let units = self.units.last().copied().unwrap_or(0);
        let series = |case: &Case| {
            let along = Designs::of_case(done, *case).filter(|one| one.at("n") as u64 == units);
            let mark = |one: &Finished| {
                let (low, high) = one.estimate("covered").interval();
                let note = format!("{:.2}", one.value("length"));
                let mark =
                    Mark::between(one.at("rho"), 100.0 * one.value("covered"), 100.0 * low, 100.0 * high.min(1.0));
                if one.value("length").is_finite() { mark.noted(note) } else { mark }
            };
            Series::new(case.words(), along.map(mark).collect())
        };
        Figure::plot(
            format!(
                "{} persons, or rows of one each; {}. Numbers: median length over that of the same estimator in the clear, \
                 where intervals are bounded. Bars: 95 % intervals over tables.",
                grouped(units as f64),
                self.repetitions_in_words()
            ),
            Plot {
                x: Axis::log("budget ρ"),
                y: Axis::linear("coverage, %"),
                series: self.cases.iter().map(series).collect(),
                references: vec![Reference::new("nominal 95 %", 95.0)],
                dodge: true,
            },
        )
    }

    fn claims(&self, done: &[Finished], claims: &mut Claims) {
        for &case in &self.cases {
            let points: Vec<&Finished> = Designs::of_case(done, case).collect();
            let covered: Vec<Estimate> = points.iter().map(|one| one.estimate("covered")).collect();
            let measured: Vec<&Estimate> = covered.iter().filter(|one| one.value.is_finite()).collect();
            let (low, high) = measured
                .iter()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(one.value), high.max(one.value)));
            claims.add(
                format!("95 % intervals cover where they are printed: {}", case.words()),
                format!("from {low:.3} to {high:.3} over {} points", measured.len()),
                "0.93 to 0.97: no point surely outside",
                !measured.is_empty() && measured.iter().all(|one| may_be_covered(one)),
            );
            let bounded: Vec<f64> = points.iter().map(|one| one.value("bounded")).collect();
            let most = bounded.iter().copied().fold(0.0, f64::max);
            match case.is_bounded() {
                Some(true) => claims.add(
                    format!("where the budget is ample, every interval is bounded: {}", case.words()),
                    format!("{most:.3} of them at the best point"),
                    "at least 0.99",
                    most >= 0.99,
                ),
                Some(false) => claims.add(
                    format!("sets of instruments that do not move the regressor are unbounded: {}", case.words()),
                    format!("at most {most:.3} of them bounded"),
                    "at most 0.15",
                    most <= 0.15,
                ),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Changes, Definition};

    /// A small grid of each: pictures, and claims that can be judged. Of 12 tables with six slopes
    /// or more, or of 16 sets, no more than three quarters cover with probability below 1e-2.
    #[test]
    fn small_grids_cover() {
        for (name, set, cases) in [
            ("panels", "cases=['persons', 'singletons', 'event-study'] units=[1500] rho=[0.5] repetitions=12", 3),
            (
                "instruments",
                "cases=['strong', 'three-strong', 'three-irrelevant'] units=[4000] rho=[0.5] repetitions=16",
                3,
            ),
        ] {
            let set = set.replace("', '", "','");
            let changes = Changes { set: set.split(' ').map(str::to_owned).collect(), ..Changes::default() };
            let definition = Definition::built_in(name, &changes).unwrap();
            let mut record = crate::record::Record::read("", name).unwrap();
            let done = crate::run::measure(&definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap();
            assert_eq!(done.len(), cases, "{name}");
            for one in &done {
                assert!(one.value("covered") > 0.75, "{name}: {:?}", one.values);
            }
            assert_eq!(definition.experiment.table(&done).rows.len(), cases);
            assert!(!definition.experiment.figure(&done).svg(&definition.title).contains("NaN"));
            assert!(crate::run::judge(&definition, &done).len() >= cases);
        }
    }

    #[test]
    fn coverages_far_from_the_level_are_no_coverage() {
        let at = |value: f64| may_be_covered(&Estimate { value, error: 0.01 });
        assert_eq!([0.88, 0.9, 0.95, 1.0].map(at), [false, true, true, true]);
        assert!(!may_be_covered(&Estimate { value: 1.0, error: 0.005 }));
    }
}
