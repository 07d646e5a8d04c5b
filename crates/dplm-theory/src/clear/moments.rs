//! Means and covariances of the terms of a model, from a table that is public itself.

use dplm::{
    Design, Error,
    formula::Model,
    lattice::Slot,
    method::ConfigError,
    moments::{Moments, MomentsError},
    privacy::NotPrivate,
    table::{ReadOptions, Source},
};
use faer::Mat;

/// Sums of products of the rows minus the first one: differences avoid cancellation.
struct Sums {
    first: Option<Vec<f64>>,
    rows: f64,
    sums: Vec<f64>,
    products: Mat<f64>,
}

impl Sums {
    fn new(size: usize) -> Sums {
        Sums { first: None, rows: 0.0, sums: vec![0.0; size], products: Mat::zeros(size, size) }
    }

    fn add(&mut self, row: &[f64]) {
        let first = self.first.get_or_insert_with(|| row.to_vec());
        let apart: Vec<f64> = row.iter().zip(first.iter()).map(|(value, first)| value - first).collect();
        self.rows += 1.0;
        for (j, value) in apart.iter().enumerate() {
            self.sums[j] += value;
            (0..=j).for_each(|k| self.products[(j, k)] += value * apart[k]);
        }
    }

    fn mean(&self, j: usize) -> f64 {
        self.first.as_ref().map_or(0.0, |first| first[j]) + self.sums[j] / self.rows
    }

    fn covariance(&self, j: usize, k: usize) -> f64 {
        self.products[(j.max(k), j.min(k))] / self.rows - self.sums[j] * self.sums[k] / (self.rows * self.rows)
    }
}

/// Means and covariances of the terms of a model, without the constant, over rows without a missing
/// cell, with cells clamped to their bounds as in a fit: for a public table, and for fits of other
/// tables.
///
/// # Errors
/// When the table cannot be read, or no row is complete.
pub fn moments(source: &Source, model: &Model, options: &ReadOptions<'_>) -> Result<NotPrivate<Moments>, Error> {
    super::check_instrument(model)?;
    let design = Design::new(model);
    if design.is_within() {
        return Err(ConfigError::MomentsWithin.into());
    }
    let mut sums = Sums::new(design.features());
    source.for_each_block(&design.predictors(), options, &mut |block| {
        design.for_each_row(block, &mut |row| row.into_iter().for_each(|(values, _)| sums.add(values)));
        Ok(())
    })?;
    let intercept = matches!(design.slots().first(), Some(Slot::Intercept));
    let terms: Vec<usize> = (usize::from(intercept)..design.features()).collect();
    if sums.rows == 0.0 {
        return Err(MomentsError::NoRows.into());
    }
    let row = |&j: &usize| terms.iter().map(|&k| sums.covariance(j, k)).collect();
    let covariance: Vec<Vec<f64>> = terms.iter().map(row).collect();
    let names = terms.iter().map(|&j| design.names()[j].clone()).collect();
    Ok(NotPrivate::new(Moments::new(names, terms.iter().map(|&j| sums.mean(j)).collect(), &covariance)?))
}
