//! Second moments, and least squares of any of the columns.

use dplm::Index;
use faer::{Mat, linalg::solvers::Solve};

use super::{Coefficients, Feature, Known};

/// A column whose part that earlier columns do not explain has less than this share of its mean
/// square repeats them.
const REPEATS: f64 = 1e-10;

/// Sums of products of all columns and the response, in units in which public bounds are -1 and 1.
///
/// Powers of a bounded column would lose all their digits in their own units.
#[derive(Clone, Debug)]
pub struct Moments {
    /// The names of the coefficients.
    names: Vec<String>,
    /// The zero and the unit of each coefficient's scale.
    scales: Vec<(f64, f64)>,
    /// Row-major, the response last; only `j >= k` is kept.
    sums: Vec<f64>,
    scaled: Vec<f64>,
    rows: f64,
    cut: f64,
}

/// Least squares of some of the columns.
#[derive(Clone, Debug)]
pub struct LeastSquares {
    /// The coefficient of every column in its own units; `None` if it was left out or repeats
    /// earlier ones.
    pub coefficients: Vec<Option<f64>>,
    /// Their standard errors by the sandwich formula (White, 1980); empty until residuals were
    /// added.
    pub std_errors: Vec<Option<f64>>,
    scales: Vec<(f64, f64)>,
    kept: Vec<usize>,
    inverse: Mat<f64>,
    scaled: Vec<f64>,
    meat: Vec<f64>,
}

impl Moments {
    pub(super) fn new(features: &[Feature]) -> Moments {
        let scales = features.iter().flat_map(|feature| match &feature.known {
            Known::Within(low, high) => vec![((low + high) / 2.0, (high - low) / 2.0)],
            Known::Levels(levels) => vec![(0.0, 1.0); levels.len() - 1],
        });
        let scales: Vec<(f64, f64)> = std::iter::once((0.0, 1.0)).chain(scales).collect();
        let slopes = features.iter().flat_map(Feature::coefficients);
        let size = scales.len() + 1;
        Moments {
            names: std::iter::once("(Intercept)".to_owned()).chain(slopes).collect(),
            scales,
            sums: vec![0.0; size * size],
            scaled: vec![0.0; size],
            rows: 0.0,
            cut: 0.0,
        }
    }

    /// The share of rows whose response lies beyond its bounds.
    pub fn share_cut(&self) -> f64 {
        self.cut / self.rows
    }

    /// Notes that the response of a row lies beyond its bounds.
    pub(super) fn note_cut(&mut self) {
        self.cut += 1.0;
    }

    /// Adds a row: 1, the clamped cells, and the response.
    pub(super) fn add(&mut self, row: &[f64], response: f64) {
        let size = self.scaled.len();
        scale(&self.scales, row, &mut self.scaled);
        self.scaled[size - 1] = response;
        for j in 0..size {
            let cell = self.scaled[j];
            let sums = &mut self.sums[j * size..j * size + j + 1];
            sums.iter_mut().zip(&self.scaled).for_each(|(sum, other)| *sum += cell * other);
        }
        self.rows += 1.0;
    }

    pub(super) fn plus(mut self, other: Moments) -> Moments {
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, more)| *sum += more);
        self.rows += other.rows;
        self.cut += other.cut;
        self
    }

    /// A row in units in which public bounds are -1 and 1.
    pub(super) fn scaled<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        row.iter().zip(&self.scales).map(|(cell, (centre, unit))| (cell - centre) / unit)
    }

    /// The columns that are not left out and do not repeat earlier ones.
    pub(super) fn kept(&self, left_out: &[String]) -> Vec<usize> {
        self.least_squares(left_out).kept
    }

    /// Coefficients of the kept columns from those of scaled ones, where these have any, and from
    /// the covariance of their estimates.
    pub(super) fn in_own_units(
        &self,
        kept: &[usize],
        theta: &[f64],
        covariance: &Mat<f64>,
        exist: &[bool],
    ) -> Coefficients {
        // The constant takes up the centres of the others, and exists only with those that have
        // one.
        let is_there = |(&column, &exists): (&usize, &bool)| exists || self.scales[column].0 == 0.0;
        let has_constant = kept.iter().zip(exist).all(is_there);
        let exists = |column: usize| {
            let place = kept.iter().position(|&kept| kept == column);
            place.is_some_and(|place| exist[place] && (column > 0 || has_constant))
        };
        let values = own_units(&self.scales, kept, |j| theta[j]);
        let std_errors = std_errors(&self.scales, kept, covariance);
        let only = |all: Vec<Option<f64>>| {
            all.into_iter().enumerate().map(|(column, one)| one.filter(|_| exists(column))).collect()
        };
        Coefficients { values: only(values), std_errors: only(std_errors) }
    }

    /// By how much the mean squared error of predictions with these coefficients, in their own
    /// units, exceeds that of least squares.
    pub fn excess(&self, coefficients: &[f64]) -> f64 {
        let least = self.least_squares(&[]).coefficients;
        let away: Vec<f64> = coefficients.iter().zip(least).map(|(own, least)| own - least.unwrap_or(0.0)).collect();
        // In units in which bounds are -1 and 1.
        let shift: f64 = away.iter().zip(&self.scales).skip(1).map(|(away, (zero, _))| away * zero).sum();
        let mut scaled: Vec<f64> = away.iter().zip(&self.scales).map(|(away, (_, unit))| away * unit).collect();
        scaled[0] += shift;
        let pairs = (0..scaled.len()).flat_map(|j| (0..scaled.len()).map(move |k| (j, k)));
        pairs.map(|(j, k)| scaled[j] * scaled[k] * self.entry(j, k)).sum()
    }

    /// Least squares of some columns, and a constant, given indices of the others. A row stands
    /// beside a copy of it that is zero for half of the rows, whichever these are.
    pub fn given(&self, columns: &[usize], indices: &[&Index]) -> Coefficients {
        let (p, own) = (self.scales.len(), 1 + columns.len());
        let weight = |j: usize, k: usize| match k {
            0 => f64::from(u8::from(j == 0)),
            k if k < own => f64::from(u8::from(j == columns[k - 1])),
            k => indices[k - own].weights[j],
        };
        let weights = Mat::from_fn(2 * p, own + indices.len(), weight);
        let half = |j: usize| if j < p { 1.0f64 } else { 0.5 };
        let moments = Mat::from_fn(2 * p, 2 * p, |j, k| half(j).min(half(k)) * self.entry(j % p, k % p));
        let with_response = Mat::from_fn(2 * p, 1, |j, _| half(j) * self.entry(j % p, p));
        let factor = (weights.transpose() * moments * &weights).full_piv_lu();
        let solved = factor.solve(weights.transpose() * with_response);
        let of_column = |j: usize| {
            let place = columns.iter().position(|&column| column == j)?;
            Some(solved[(1 + place, 0)] / self.scales[j].1)
        };
        Coefficients { values: (0..p).map(of_column).collect(), std_errors: vec![None; p] }
    }

    fn entry(&self, j: usize, k: usize) -> f64 {
        self.sums[j.max(k) * self.scaled.len() + j.min(k)] / self.rows
    }

    /// Least squares without the columns that are left out; a level that is left out joins the
    /// reference.
    ///
    /// Columns that repeat earlier ones exactly have no coefficient, as in R.
    pub fn least_squares(&self, left_out: &[String]) -> LeastSquares {
        let p = self.scales.len();
        let wanted = (0..p).filter(|&j| !left_out.contains(&self.names[j]));
        let mut kept: Vec<usize> = Vec::new();
        for j in wanted {
            if self.unexplained(&kept, j) > REPEATS * self.entry(j, j) {
                kept.push(j);
            }
        }
        let factor = self.matrix(&kept).full_piv_lu();
        let solved = factor.solve(Mat::from_fn(kept.len(), 1, |j, _| self.entry(kept[j], p)));
        let inverse = factor.solve(Mat::<f64>::identity(kept.len(), kept.len()));
        LeastSquares {
            coefficients: own_units(&self.scales, &kept, |j| solved[(j, 0)]),
            std_errors: vec![None; p],
            scales: self.scales.clone(),
            meat: vec![0.0; kept.len() * kept.len()],
            scaled: vec![0.0; p + 1],
            inverse: inverse * faer::Scale(1.0 / self.rows),
            kept,
        }
    }

    /// The mean square of the part of column `j` that columns `kept` do not explain.
    fn unexplained(&self, kept: &[usize], j: usize) -> f64 {
        let across = Mat::from_fn(kept.len(), 1, |k, _| self.entry(kept[k], j));
        let weights = self.matrix(kept).full_piv_lu().solve(&across);
        self.entry(j, j) - (0..kept.len()).map(|k| weights[(k, 0)] * across[(k, 0)]).sum::<f64>()
    }

    fn matrix(&self, kept: &[usize]) -> Mat<f64> {
        Mat::from_fn(kept.len(), kept.len(), |j, k| self.entry(kept[j], kept[k]))
    }
}

impl LeastSquares {
    /// The numbers alone.
    pub fn told(self) -> Coefficients {
        Coefficients { values: self.coefficients, std_errors: self.std_errors }
    }

    /// Adds the gradient of a row to the middle of the sandwich.
    pub(super) fn add_residual(&mut self, row: &[f64], response: f64) {
        let fitted: f64 = row.iter().zip(&self.coefficients).map(|(cell, one)| cell * one.unwrap_or(0.0)).sum();
        let residual_sq = (response - fitted).powi(2);
        scale(&self.scales, row, &mut self.scaled);
        let size = self.kept.len();
        for (j, &column) in self.kept.iter().enumerate() {
            let weight = residual_sq * self.scaled[column];
            for (k, &other) in self.kept.iter().enumerate() {
                self.meat[j * size + k] += weight * self.scaled[other];
            }
        }
    }

    pub(super) fn finish(&mut self) {
        let size = self.kept.len();
        let meat = Mat::from_fn(size, size, |j, k| self.meat[j * size + k]);
        let covariance = &self.inverse * meat * &self.inverse;
        self.std_errors = std_errors(&self.scales, &self.kept, &covariance);
    }
}

/// The standard errors of coefficients in their own units from the covariance of scaled ones.
fn std_errors(scales: &[(f64, f64)], kept: &[usize], covariance: &Mat<f64>) -> Vec<Option<f64>> {
    let size = kept.len();
    let error = |column: usize| {
        let place = kept.iter().position(|&kept| kept == column)?;
        // One coefficient in its own units as a combination of the scaled ones.
        let unit = |j: usize| own_units(scales, kept, |k| f64::from(u8::from(k == j)))[column];
        let weights: Vec<f64> = (0..size).map(|j| unit(j).unwrap_or(0.0)).collect();
        debug_assert!(weights[place] != 0.0);
        let row = |j: usize| (0..size).map(|k| covariance[(j, k)] * weights[k]).sum::<f64>();
        Some((0..size).map(|j| weights[j] * row(j)).sum::<f64>().sqrt())
    };
    (0..scales.len()).map(error).collect()
}

fn scale(scales: &[(f64, f64)], row: &[f64], scaled: &mut [f64]) {
    let places = scaled.iter_mut().zip(row).zip(scales);
    places.for_each(|((scaled, cell), (centre, unit))| *scaled = (cell - centre) / unit);
}

/// Coefficients of scaled columns in the columns' own units: the intercept absorbs the centres.
fn own_units(scales: &[(f64, f64)], kept: &[usize], scaled: impl Fn(usize) -> f64) -> Vec<Option<f64>> {
    let mut own = vec![None; scales.len()];
    let mut shift = 0.0;
    for (place, &column) in kept.iter().enumerate() {
        let (centre, unit) = scales[column];
        own[column] = Some(scaled(place) / unit);
        shift += scaled(place) * centre / unit;
    }
    if let Some(intercept) = own.first_mut() {
        *intercept = intercept.map(|value| value - shift);
    }
    own
}
