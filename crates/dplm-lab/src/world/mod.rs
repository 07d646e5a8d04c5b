//! Populations from which tables are drawn, with what an analyst would publicly know of each
//! column.
//!
//! A [`World`] is a *design* (the distribution of the features, and the mean of the response) with
//! *errors*. Both have short names that definitions use: `correlated 0.9 100` with
//! `heteroskedastic`, for instance. [`Moments`] has the coefficients that a fit should find: the
//! least-squares coefficients of the columns that a fit kept, clamped to their bounds, in their own
//! units.

mod design;
mod controls;
mod errors;
mod moments;
mod outcomes;
mod table;

pub use design::Design;
pub use errors::Errors;
pub use moments::{LeastSquares, Moments};
pub use outcomes::Logits;

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use dplm::{Index, Person, method::Family};
use outcomes::Chance;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// Rows of which moments are summed by one thread at a time.
const BLOCK_ROWS: u64 = 1 << 15;

/// The column that identifies persons.
const PERSON: &str = "who";

/// The public knowledge of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// Its bounds.
    Within(f64, f64),
    /// Its levels; the first is the reference.
    Levels(Vec<String>),
}

/// A column of features.
#[derive(Clone, Debug, PartialEq)]
pub struct Feature {
    name: String,
    known: Known,
}

impl Feature {
    fn within(name: impl Into<String>, low: f64, high: f64) -> Feature {
        Feature { name: name.into(), known: Known::Within(low, high) }
    }

    fn levels(name: &str, levels: &[&str]) -> Feature {
        Feature { name: name.into(), known: Known::Levels(levels.iter().map(|&level| level.to_owned()).collect()) }
    }

    fn coefficients(&self) -> Vec<String> {
        match &self.known {
            Known::Within(..) => vec![self.name.clone()],
            Known::Levels(levels) => levels[1..].iter().map(|level| format!("{}[{level}]", self.name)).collect(),
        }
    }

    fn in_formula(&self) -> String {
        match &self.known {
            Known::Within(low, high) => format!("{}[{low}..{high}]", self.name),
            Known::Levels(levels) => format!("{}{{{}}}", self.name, levels.join(",")),
        }
    }
}

/// A population: a design with errors.
pub struct World {
    design: Design,
    errors: Errors,
    error_sd: f64,
    response: (f64, f64),
    /// How probable outcomes are, where there are two.
    chance: Option<Chance>,
}

/// The coefficients of a model in the columns' own units, and their standard errors; `None` where a
/// column was left out or repeats earlier ones, or where there is no such number.
#[derive(Clone, Debug)]
pub struct Coefficients {
    /// One for each coefficient, in formula order.
    pub values: Vec<Option<f64>>,
    /// By the sandwich formula.
    pub std_errors: Vec<Option<f64>>,
}

/// What is known of a population: moments, or rows where outcomes are two.
pub enum Population {
    /// The moments of numbers.
    Numbers(Moments),
    /// Rows with outcomes.
    Outcomes(Logits),
}

impl Population {
    /// The coefficients without the columns that are left out: those of least squares, or of
    /// maximum likelihood.
    pub fn coefficients(&self, left_out: &[String]) -> Coefficients {
        match self {
            Population::Numbers(moments) => moments.least_squares(left_out).told(),
            Population::Outcomes(rows) => rows.coefficients(left_out),
        }
    }

    /// The coefficients of some columns given indices of the others that a fit released.
    ///
    /// # Panics
    /// Where outcomes are two.
    pub fn given(&self, columns: &[usize], indices: &[&Index]) -> Coefficients {
        match self {
            Population::Numbers(moments) => moments.given(columns, indices),
            Population::Outcomes(_) => unreachable!("indices are for numbers"),
        }
    }

    /// The share of rows whose response lies beyond its bounds.
    pub fn share_cut(&self) -> f64 {
        match self {
            Population::Numbers(moments) => moments.share_cut(),
            Population::Outcomes(_) => 0.0,
        }
    }

    /// By how much the mean squared error of predictions with these coefficients exceeds that of
    /// least squares; NaN for outcomes.
    pub fn excess(&self, coefficients: &[f64]) -> f64 {
        match self {
            Population::Numbers(moments) => moments.excess(coefficients),
            Population::Outcomes(_) => f64::NAN,
        }
    }
}

/// A table in the clear; a missing cell is NaN, a level is its position in the list.
pub struct Sample {
    /// One vector for each feature.
    columns: Vec<Vec<f64>>,
    response: Vec<f64>,
}

impl World {
    /// The design with these errors. Bounds of the response grow with its spread.
    pub fn new(design: Design, errors: Errors) -> World {
        let usual = design.error_sd;
        let error_sd = errors.sd(design.signal_sd, usual);
        let (low, high) = design.response;
        let wider = (design.signal_sd.hypot(error_sd) / design.signal_sd.hypot(usual)).max(0.1);
        let (centre, half) = ((low + high) / 2.0, (high - low) / 2.0 * wider);
        let chance = errors.outcomes().map(|law| Chance::of(law, &design.causes()));
        World { design, errors, error_sd, response: (centre - half, centre + half), chance }
    }

    /// The family of the response.
    pub fn family(&self) -> Family {
        if self.chance.is_some() { Family::Binomial } else { Family::Gaussian }
    }

    /// The persons, if they have several rows.
    pub fn person(&self) -> Option<Person> {
        self.rows_of_person().map(|rows| Person { rows: Some(rows), ..Person::new(PERSON) })
    }

    fn rows_of_person(&self) -> Option<u32> {
        self.errors.outcomes().and_then(|law| law.rows_of_person)
    }

    fn features(&self) -> &[Feature] {
        &self.design.features
    }

    /// The formula an analyst would type.
    pub fn formula(&self) -> String {
        let features: Vec<String> = self.design.features.iter().map(Feature::in_formula).collect();
        let (low, high) = if self.chance.is_some() { (0.0, 1.0) } else { self.response };
        format!("y[{low}..{high}] ~ {}", features.join(" + "))
    }

    /// The names of the coefficients, in formula order.
    pub fn coefficients(&self) -> Vec<String> {
        let slopes = self.design.features.iter().flat_map(Feature::coefficients);
        std::iter::once("(Intercept)".to_owned()).chain(slopes).collect()
    }

    /// The name under which a coefficient is judged: exchangeable coefficients share one.
    pub fn terms(&self) -> Vec<String> {
        let alike = self.design.alike;
        let term = |(place, name): (usize, String)| if alike && place > 1 { "others".to_owned() } else { name };
        self.coefficients().into_iter().enumerate().map(term).collect()
    }

    /// Whether the robust coefficients are the least-squares ones if `left_out` columns are left
    /// out: errors are symmetric for all values of the features, and remain so with the part of a
    /// column that the others do not explain.
    pub fn robust_is_least_squares(&self, left_out: usize) -> bool {
        self.errors.are_symmetric() && (left_out == 0 || self.design.elliptical)
    }

    /// A different table for each seed.
    pub fn sample(&self, rows: u64, seed: u64) -> Sample {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut sample = Sample {
            columns: vec![Vec::with_capacity(rows as usize); self.design.features.len()],
            response: Vec::with_capacity(rows as usize),
        };
        let (mut cells, mut shared) = (vec![0.0; self.design.features.len()], 0.0);
        for row in 0..rows {
            shared = self.chance.map_or(0.0, |chance| chance.shared(row, shared, &mut rng));
            let response = self.draw(&mut rng, &mut cells, shared);
            sample.columns.iter_mut().zip(&cells).for_each(|(column, &cell)| column.push(cell));
            sample.response.push(response);
        }
        sample
    }

    /// One row: fills the cells and gives the response.
    fn draw(&self, rng: &mut ChaCha8Rng, cells: &mut [f64], shared: f64) -> f64 {
        let drawn = (self.design.draw)(rng, cells);
        let mut response = match &self.chance {
            None => drawn.mean + self.error_sd * self.errors.draw(drawn.drive, rng),
            Some(chance) => chance.draw(self.design.cause(&drawn, cells), shared, rng),
        };
        if self.errors.missing() > 0.0 && uniform(rng) < self.errors.missing() {
            let place = (uniform(rng) * (cells.len() + 1) as f64) as usize;
            *cells.get_mut(place).unwrap_or(&mut response) = f64::NAN;
        }
        response
    }

    /// The second moments of a sample, of the rows without a missing cell.
    pub fn moments(&self, sample: &Sample) -> Moments {
        let mut moments = Moments::new(&self.design.features);
        self.for_each_row(sample, |row, response| moments.add(row, response));
        moments
    }

    /// The second moments of the population, from `rows` rows.
    pub fn population(&self, rows: u64, seed: u64) -> Moments {
        let blocks = 0..rows.div_ceil(BLOCK_ROWS);
        let parts = blocks.into_par_iter().map(|block| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(block);
            let mut moments = Moments::new(&self.design.features);
            let (mut cells, mut row) = (vec![0.0; self.design.features.len()], Vec::new());
            for _ in 0..BLOCK_ROWS.min(rows - block * BLOCK_ROWS) {
                let response = self.draw(&mut rng, &mut cells, 0.0);
                if self.expand(&cells, &mut row) && response.is_finite() {
                    let clamped = self.clamped(response);
                    moments.add(&row, clamped);
                    if clamped != response {
                        moments.note_cut();
                    }
                }
            }
            moments
        });
        parts.reduce(|| Moments::new(&self.design.features), Moments::plus)
    }

    /// What is known of the population from `rows` rows of it.
    pub fn known(&self, rows: u64, seed: u64) -> Population {
        match self.chance {
            None => Population::Numbers(self.population(rows, seed)),
            Some(_) => Population::Outcomes(Logits::new(self, &self.sample(rows, seed))),
        }
    }

    /// The coefficients of a sample without the columns that are left out, with standard errors: of
    /// least squares, or of maximum likelihood.
    pub fn coefficients_of(&self, sample: &Sample, left_out: &[String]) -> Coefficients {
        match self.chance {
            None => self.least_squares(sample, left_out).told(),
            Some(_) => Logits::new(self, sample).coefficients(left_out),
        }
    }

    /// Least squares of the columns not left out on a sample, with heteroskedasticity-robust
    /// standard errors.
    pub fn least_squares(&self, sample: &Sample, left_out: &[String]) -> LeastSquares {
        let mut fit = self.moments(sample).least_squares(left_out);
        self.for_each_row(sample, |row, response| fit.add_residual(row, response));
        fit.finish();
        fit
    }

    /// Rows without a missing cell, clamped, levels as indicators, after a 1 for the intercept.
    pub(crate) fn for_each_row(&self, sample: &Sample, mut each: impl FnMut(&[f64], f64)) {
        let (mut cells, mut row) = (vec![0.0; sample.columns.len()], Vec::new());
        for (index, &response) in sample.response.iter().enumerate() {
            cells.iter_mut().zip(&sample.columns).for_each(|(cell, column)| *cell = column[index]);
            if response.is_finite() && self.expand(&cells, &mut row) {
                each(&row, self.clamped(response));
            }
        }
    }

    /// False when a cell is missing.
    fn expand(&self, cells: &[f64], row: &mut Vec<f64>) -> bool {
        row.clear();
        row.push(1.0);
        for (feature, &cell) in self.design.features.iter().zip(cells) {
            match &feature.known {
                Known::Within(low, high) => row.push(cell.clamp(*low, *high)),
                Known::Levels(levels) => {
                    row.extend((1..levels.len()).map(|level| f64::from(u8::from(cell == level as f64))));
                }
            }
        }
        cells.iter().all(|cell| cell.is_finite())
    }

    fn clamped(&self, response: f64) -> f64 {
        if self.chance.is_some() {
            return response;
        }
        response.clamp(self.response.0, self.response.1)
    }

    /// The sample as a table that a fit reads.
    pub fn table(&self, sample: &Sample) -> RecordBatch {
        let numbers = |column: &[f64]| -> ArrayRef {
            Arc::new(column.iter().map(|cell| cell.is_finite().then_some(*cell)).collect::<Float64Array>())
        };
        let words = |column: &[f64], levels: &[String]| -> ArrayRef {
            let word = |cell: &f64| cell.is_finite().then(|| levels[*cell as usize].as_str());
            Arc::new(column.iter().map(word).collect::<StringArray>())
        };
        let features = self.design.features.iter().zip(&sample.columns).map(|(feature, column)| {
            let cells = match &feature.known {
                Known::Within(..) => numbers(column),
                Known::Levels(levels) => words(column, levels),
            };
            (feature.name.clone(), cells, true)
        });
        let response = ("y".to_owned(), numbers(&sample.response), true);
        let who = self.rows_of_person().map(|rows| {
            let persons = (0..sample.response.len()).map(|row| (row / rows as usize) as i64);
            (PERSON.to_owned(), Arc::new(persons.collect::<Int64Array>()) as ArrayRef, false)
        });
        RecordBatch::try_from_iter_with_nullable(std::iter::once(response).chain(features).chain(who))
            .expect("columns of the same length with names of their own")
    }
}

/// Uniform on `[0, 1)`, in steps of 2^-53.
fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests;
