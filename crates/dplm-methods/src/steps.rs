//! Gradients whose rows and residuals are bounded separately, released one at a time.

use dplm::{
    Error,
    lattice::{Lattice, LatticeError, Theta},
    privacy::{Neighbours, Noisy, Spend, noise::NoiseRng, release},
    rows::Rows,
};

use crate::{
    asked::{cell_unit, radius},
    query::{At, Separate, SeparateGradients, SeparateSquares, Weight},
};

/// Noise that is smaller than any: parameters are kept on the finest grid that leaves sums exact.
const FINEST: f64 = 1e-9;

/// The public arithmetic of such gradients.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    rows: u64,
    lattice: Lattice,
    neighbours: Neighbours,
}

/// A released mean gradient.
pub(crate) struct Step {
    pub gradient: Vec<f64>,
    pub noise_sd: f64,
}

impl Steps {
    /// Arithmetic for gradients of norm at most `largest`, and parameters on the finest grid it
    /// leaves room for.
    pub(crate) fn plan(
        rows: u64,
        features: usize,
        largest: f64,
        neighbours: Neighbours,
    ) -> Result<Steps, LatticeError> {
        Ok(Steps { rows, lattice: Lattice::plan(rows, features, largest, FINEST)?, neighbours })
    }

    /// Bounds on rows and residuals in standardised units; that on residuals is rounded down.
    pub(crate) fn bounds(&self, row: f64, residual: f64, weight: Weight) -> Separate {
        Separate::new(radius(row), (residual * self.residual_unit()).floor() as u64, weight)
    }

    /// Parameters on the lattice.
    pub(crate) fn theta(&self, standardised: &[f64]) -> Theta {
        self.lattice.theta(standardised)
    }

    /// Parameters rounded to the lattice, in standardised units.
    fn rounded(&self, standardised: &[f64]) -> Vec<f64> {
        self.lattice.standardised(&self.theta(standardised))
    }

    /// A point of the lattice near one step down a gradient.
    pub(crate) fn stepped(&self, from: &[f64], gradient: &[f64], step_size: f64) -> Vec<f64> {
        let moved: Vec<f64> = from.iter().zip(gradient).map(|(theta, g)| theta - step_size * g).collect();
        self.rounded(&moved)
    }

    pub(crate) fn theta_unit(&self) -> f64 {
        self.lattice.theta_unit()
    }

    /// One standardised unit of a residual, in lattice units.
    pub(crate) fn residual_unit(&self) -> f64 {
        self.lattice.gradient_unit() / cell_unit()
    }

    /// The mean gradient at a point.
    pub(crate) fn release(
        &self,
        rows: &dyn Rows,
        theta: &[f64],
        bounds: &Separate,
        spend: Spend,
        rng: &mut NoiseRng,
    ) -> Result<Step, Error> {
        let at = At { theta: &self.theta(theta), lattice: &self.lattice, bounds };
        let query = rows.custom()?.sum(&SeparateGradients(at), self.neighbours)?;
        let noisy = release(query, spend, rng)?;
        let mean = |value: f64| value / self.lattice.gradient_unit() / self.rows as f64;
        Ok(Step {
            gradient: noisy.values.iter().map(|&sum| -mean(sum as f64)).collect(),
            noise_sd: mean(noisy.sigma[0] as f64),
        })
    }

    /// The mean squared norm of the gradients at a point, and the standard deviation of its noise.
    pub(crate) fn release_square(
        &self,
        rows: &dyn Rows,
        theta: &[f64],
        bounds: &Separate,
        spend: Spend,
        rng: &mut NoiseRng,
    ) -> Result<(f64, f64), Error> {
        let at = At { theta: &self.theta(theta), lattice: &self.lattice, bounds };
        let query = rows.custom()?.sum(&SeparateSquares(at), self.neighbours)?;
        let noisy: Noisy = release(query, spend, rng)?.into_inner();
        let unit = self.lattice.gradient_unit().powi(2) / f64::from(bounds.square_shift()).exp2();
        let mean = |value: f64| value / unit / self.rows as f64;
        Ok((mean(noisy.values[0] as f64), mean(noisy.sigma[0] as f64)))
    }
}
