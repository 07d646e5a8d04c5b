//! The paper's experiments, one kind per file: the points, the measures, the table, the picture and
//! the claims.

mod ratio;
mod cost;
mod clipping;
mod tradeoff;
mod intervals;
mod tolerance;
mod population;
mod evidence;
mod audit;
mod methods_audit;
mod optimum;
mod oracle;
mod honest;
mod choices;
mod arena;
mod study;
mod ordinary;
mod designs;

use std::collections::BTreeMap;

use dplm::interval::Interval;
use dplm_simulate::{Design, Setting};

pub use arena::Arena;
pub use audit::Audit;
pub use choices::ChoicesStudy;
pub use clipping::Clipping;
pub use cost::Cost;
pub use designs::Designs;
pub use honest::Honest;
pub use intervals::{Intervals, Shown};
pub use methods_audit::MethodsAudit;
pub use oracle::Oracle;
pub use ordinary::Ordinary;
pub use population::Population;
pub use ratio::Ratio;
pub use study::Study;
pub use tolerance::Tolerance;
pub use tradeoff::Tradeoff;

use crate::{LabError, claim::Claims, draw::Figure, record::Values, stats::Estimate};

/// One kind of experiment with its parameters.
pub trait Experiment: Send + Sync {
    /// The points, in the order of the table.
    fn points(&self) -> Vec<Point>;

    /// Prepares a point once before all its repetitions.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn prepare(&self, _: &Point) -> Result<(), LabError> {
        Ok(())
    }

    /// One repetition of a point; always the same numbers for the same arguments.
    ///
    /// # Errors
    /// When a fit is refused.
    fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError>;

    /// The values that the record keeps of all repetitions of a point.
    fn summarise(&self, point: &Point, repetitions: &[Measures]) -> Values;

    /// The table, in the columns that are fixed for the figure.
    fn table(&self, done: &[Finished]) -> Table;

    /// The picture.
    fn figure(&self, done: &[Finished]) -> Figure;

    /// Judges the claims.
    fn claims(&self, done: &[Finished], claims: &mut Claims);

    /// The number of repetitions, in words for captions.
    fn repetitions_in_words(&self) -> String {
        let counts: Vec<u32> = self.points().iter().map(|point| point.repetitions).collect();
        match (counts.iter().min(), counts.iter().max()) {
            (Some(least), Some(most)) if least < most => format!("{least} to {most} repetitions"),
            (Some(count), _) => format!("{count} repetitions"),
            _ => "no repetitions".to_owned(),
        }
    }
}

/// Numbers of one repetition, by name.
pub type Measures = BTreeMap<String, Vec<f64>>;

/// A point of a figure: parameters and the number of repetitions.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Everything that determines the numbers, as text.
    pub key: String,
    /// The number of repetitions.
    pub repetitions: u32,
    /// Cells of one data set: large ones are repeated one after the other.
    pub cells: u64,
    parameters: BTreeMap<&'static str, f64>,
}

/// A point with its numbers.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The point.
    pub point: Point,
    /// Its numbers.
    pub values: Values,
}

/// A table in long form.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: &'static [&'static str],
    /// The cells, as written.
    pub rows: Vec<Vec<String>>,
}

/// The same number of repetitions at every point, or one for each.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
pub enum Repetitions {
    /// Everywhere the same.
    Same(u32),
    /// One for each point of the first axis.
    Each(Vec<u32>),
}

/// The distribution of the features, as definitions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DesignName {
    /// Standard Gaussian.
    Isotropic,
    /// The appendix's.
    Anisotropic,
}

impl DesignName {
    /// The setting of this design with `features` features; otherwise the paper's.
    pub fn setting(self, features: u32) -> Setting {
        let design = match self {
            DesignName::Isotropic => Design::Isotropic,
            DesignName::Anisotropic => Design::Anisotropic,
        };
        Setting { design, ..Setting::new(features as usize) }
    }

    /// A number that enters keys and seeds.
    fn code(self) -> u64 {
        match self {
            DesignName::Isotropic => 0,
            DesignName::Anisotropic => 1,
        }
    }

    /// In words, for captions.
    fn words(self) -> &'static str {
        match self {
            DesignName::Isotropic => "x ~ N(0, I)",
            DesignName::Anisotropic => "x ~ N(0, UΛU′), Λ from 1 to 2",
        }
    }
}

impl Repetitions {
    /// The repetitions of the point at this position of the first axis; the last number applies to
    /// all beyond it.
    pub fn at(&self, index: usize) -> u32 {
        match self {
            Repetitions::Same(count) => *count,
            Repetitions::Each(counts) => counts.get(index).or(counts.last()).copied().unwrap_or(1),
        }
    }
}

impl Point {
    /// A point of a kind of experiment with all its parameters; `n` and `p` among them give its
    /// size.
    fn new(kind: &str, parameters: &[(&'static str, f64)], repetitions: u32, seed: u64) -> Point {
        let parameters: BTreeMap<&'static str, f64> = parameters.iter().copied().collect();
        let words: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let size = |name| parameters.get(name).copied().unwrap_or(1.0) as u64;
        Point {
            key: format!("{kind} {} repetitions={repetitions} seed={seed}", words.join(" ")),
            repetitions,
            cells: size("n") * size("p"),
            parameters,
        }
    }

    /// A parameter.
    fn get(&self, name: &str) -> f64 {
        self.parameters.get(name).copied().expect("a point has the parameters it was made with")
    }

    fn whole(&self, name: &str) -> u64 {
        self.get(name) as u64
    }
}

impl Finished {
    /// A parameter of the point.
    fn at(&self, name: &str) -> f64 {
        self.point.get(name)
    }

    /// A measured number; NaN if it was not measured.
    fn value(&self, name: &str) -> f64 {
        self.values.get(name).copied().unwrap_or(f64::NAN)
    }

    /// A number with its standard error.
    fn estimate(&self, name: &str) -> Estimate {
        Estimate { value: self.value(name), error: self.value(&format!("{name}.se")) }
    }
}

/// The measure of this name over all repetitions, concatenated.
fn all(repetitions: &[Measures], name: &str) -> Vec<f64> {
    repetitions.iter().filter_map(|one| one.get(name)).flatten().copied().collect()
}

/// The mean of a measure and its standard error, under its name.
fn put_mean(values: &mut Values, repetitions: &[Measures], name: &str) {
    put(values, name, Estimate::mean(&all(repetitions, name)));
}

fn put(values: &mut Values, name: &str, estimate: Estimate) {
    values.insert(name.to_owned(), estimate.value);
    values.insert(format!("{name}.se"), estimate.error);
}

fn measure(name: &str, value: f64) -> (String, Vec<f64>) {
    (name.to_owned(), vec![value])
}

/// The ends of intervals, one for each coefficient.
type Ends = Vec<(f64, f64)>;

fn ends(intervals: &[Interval]) -> Ends {
    intervals.iter().map(|interval| (interval.low, interval.high)).collect()
}

/// Six significant digits, in their shortest form.
fn cell(value: f64) -> String {
    if !value.is_finite() {
        return if value.is_nan() { String::new() } else { "inf".to_owned() };
    }
    let rounded: f64 = format!("{value:.5e}").parse().expect("a printed number reads back");
    format!("{rounded}")
}

/// `gamma = c sqrt(p)`.
fn gamma(over_root: f64, p: f64) -> f64 {
    over_root * p.sqrt()
}

/// A number for captions, with thousands separated.
fn grouped(value: f64) -> String {
    let digits = format!("{}", value as u64);
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{Changes, Definition};

    const RATIO: &str = "p,n,method,reps,error_true,error_ols,clipped";
    const COST: &str = "n,p,rho,reps,privacy_error,sampling_error,total_error";
    const COVERAGE: &str = "total_steps,method,reps,coverage,coverage_lo,coverage_hi";
    const LENGTH: &str = "total_steps,method,length,length_lo,length_hi,ols_length";

    const POPULATION: &str =
        "case,n,gamma_over_sqrtp,total_steps,reps,coverage,coverage_lo,coverage_hi,length_ratio,identified";

    const ORDINARY: &str = "p,n,rho,coefficients,reps,printed,coverage,rmse,length";

    const ORACLE: &str = "n,reps,error_inference,error_prediction,error_oracle,error_oracle_with_steps,error_default_clip,\
error_ols,ratio_inference,ratio_prediction,ratio_with_steps,oracle_gamma_over_sqrtp";

    /// The figures with their published columns, and a grid small enough for a test.
    const FIGURES: [(&str, &str, &str); 15] = [
        ("pn", RATIO, "p=[2,4] rows_per_feature=50"),
        ("pn-aniso", RATIO, "p=[2,4] rows_per_feature=50"),
        ("cost-low", COST, "n=[200,400]"),
        ("cost-high-p10", COST, "n=[200,400]"),
        ("cost-high-p100", COST, "n=[200,400]"),
        ("sqrtp", "p,n,gamma_over_sqrtp,clipped", "p=[2,4] clip=[0.5,5.0] lemma_n=200 lemma_repetitions=2"),
        ("bias-variance", "gamma_over_sqrtp,bias_sq,variance,mse,clipped", "n=200 clip=[0.1,1.0,5.0]"),
        ("coverage", COVERAGE, "n=500 total_steps=[40,250]"),
        ("coverage-aniso", COVERAGE, "n=500 total_steps=[40,250]"),
        ("length", LENGTH, "n=500 total_steps=[40,250]"),
        ("length-aniso", LENGTH, "n=500 total_steps=[40,250]"),
        ("error-clip", "total_steps,gamma_over_sqrtp,clipped,error", "n=200 total_steps=[5,10] clip=[5.0,0.5,0.05]"),
        ("intervals", POPULATION, "n=[10000] clip=[2.0] optimum_n=500 optimum_steps=[5,40] optimum_repetitions=2"),
        ("oracle", ORACLE, "n=[1000,2000] clips=2"),
        ("pn-ordinary", ORDINARY, "p=[2,4] rows_per_feature=[500] rho=[0.5,1.0] population_rows=100000"),
    ];

    fn small(name: &str, grid: &str) -> Definition {
        let set = grid.split(' ').chain(["repetitions=2"]).map(str::to_owned).collect();
        Definition::built_in(name, &Changes { set, ..Changes::default() }).unwrap()
    }

    #[test]
    fn every_figure_has_its_columns_its_picture_and_its_claims() {
        for (name, columns, grid) in FIGURES {
            let definition = small(name, grid);
            let mut record = crate::record::Record::read("", name).unwrap();
            let done = crate::run::measure(&definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap();
            let table = definition.experiment.table(&done);
            assert_eq!(table.columns.join(","), columns, "{name}");
            assert!(!table.rows.is_empty() && table.rows.iter().all(|row| row.len() == table.columns.len()), "{name}");
            let picture = crate::draw::png(name, &definition.experiment.figure(&done).svg(&definition.title)).unwrap();
            assert!((10_000..200_000).contains(&picture.len()), "{name}: {}", picture.len());
            assert!(crate::run::judge(&definition, &done).len() >= 3, "{name}");
        }
    }

    #[test]
    fn a_point_measured_again_gives_the_same_numbers() {
        for (name, _, grid) in FIGURES {
            let definition = small(name, grid);
            let experiment = definition.experiment.as_ref();
            let point = experiment.points().remove(0);
            assert_eq!(experiment.repeat(&point, 1).unwrap(), experiment.repeat(&point, 1).unwrap(), "{name}");
            assert_ne!(experiment.repeat(&point, 0).unwrap(), experiment.repeat(&point, 2).unwrap(), "{name}");
        }
    }

    #[test]
    fn keys_hold_every_parameter() {
        let point = Point::new("cost", &[("n", 100.0), ("p", 3.0), ("rho", 0.015)], 7, 2);
        assert_eq!(point.key, "cost n=100 p=3 rho=0.015 repetitions=7 seed=2");
        assert_eq!(point.cells, 300);
    }

    #[test]
    fn cells_are_short_and_read_back() {
        assert_eq!(cell(0.1 + 0.2), "0.3");
        assert_eq!(cell(1e5), "100000");
        assert_eq!(cell(f64::NAN), "");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(1000.0), "1000");
        assert_eq!(grouped(2_000_000.0), "2\u{202f}000\u{202f}000");
    }
}
