//! Methods whose guarantee is about real numbers, for comparison: one file each, in floating point,
//! on rows of the lab only.
//!
//! Their proofs compare densities on real numbers, or are about exact minimisers, and a program
//! rounds: none of these is private bit for bit, so `dplm fit` refuses them by name. Here they are
//! accounted as their proofs require, on the same terms as the others: a table of publicly bounded
//! rows, neighbours that replace one row, and the (epsilon, delta) that the arena's rho implies
//! ([`Promise`]).
//!
//! | name | from | gives |
//! |---|---|---|
//! | [`wishart`] | Sheffet 2019 | least squares from second moments with Wishart noise |
//! | [`projection`] | Sheffet 2017 | least squares from random projections of the rows |
//! | [`hessian`] | iterative Hessian mixing, 2026 | Newton steps whose Hessians are random projections |
//! | [`objective`] | Chaudhuri et al. 2011; Wang et al. 2019 | the minimiser of a perturbed loss; intervals from a noisy Hessian and covariance |
//! | [`sampled`] | Abadi et al. 2016; Bassily et al. 2014 | clipped steps on random samples of rows |
//! | [`tested`] | Dwork and Lei 2009 | least squares with noise of a proposed size, after a test |
//! | [`insufficient`] | Brown et al. 2024 | least squares of stably weighted rows, with noise of their shape |
//! | [`parametric`] | Ferrando et al. 2022 | intervals by a parametric bootstrap over second moments |
//! | [`bootstrap`] | Brawner and Honaker 2018; Wang et al. 2022 | intervals from private bootstrap replicates |
//! | [`little`] | Covington et al. 2021 | intervals from a bag of little bootstraps |
//! | [`checkpoints`] | Shejwalkar et al. 2022, Rabanser et al. 2023; Chen et al. 2020 | intervals from the spread of iterates |
//! | [`ranks`] | Sarathy and Vadhan 2022 | intervals between private order statistics of small fits |

mod promise;
mod linear;
pub mod wishart;
pub mod projection;
pub mod hessian;
pub mod objective;
pub mod sampled;
pub mod tested;
pub mod insufficient;
pub mod parametric;
pub mod bootstrap;
pub mod little;
pub mod checkpoints;
pub mod ranks;
#[cfg(test)]
mod tests;

use dplm::{
    Design,
    method::{PublicBounds, Request},
    privacy::Rho,
    table::Block,
};
use rand_chacha::ChaCha20Rng;

use crate::LabError;

pub use promise::Promise;

/// A method that runs in the lab only: it is not private bit for bit.
#[derive(Clone, Copy)]
pub struct Peer {
    /// Its name in tables.
    pub name: &'static str,
    /// Whether it gives intervals.
    pub intervals: bool,
    /// Its answer, in standardised units; `None` if it refuses, or fails its own test.
    pub fit: fn(&Task, &mut ChaCha20Rng) -> Option<Answer>,
}

/// All of them.
pub const PEERS: &[Peer] = &[
    wishart::PEER,
    projection::PEER,
    hessian::PEER,
    objective::PEER,
    objective::WITH_INTERVALS,
    sampled::PEER,
    tested::PEER,
    insufficient::PEER,
    parametric::PEER,
    bootstrap::PEER,
    little::PEER,
    checkpoints::SPREAD,
    checkpoints::GROWING,
    ranks::PEER,
];

/// The answer of a peer, in standardised units.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The coefficients.
    pub theta: Vec<f64>,
    /// Ends of intervals for them at 95 %, if any.
    pub ends: Vec<Option<(f64, f64)>>,
}

impl Answer {
    /// Estimates without intervals.
    fn bare(theta: Vec<f64>) -> Answer {
        Answer { ends: vec![None; theta.len()], theta }
    }

    /// Estimates, and intervals of `reach` standard errors to either side.
    fn with_errors(theta: Vec<f64>, errors: &[f64], reach: f64) -> Answer {
        let ends = theta.iter().zip(errors).map(|(theta, sd)| Some((theta - reach * sd, theta + reach * sd)));
        Answer { ends: ends.collect(), theta }
    }
}

impl Answer {
    /// From standardised units to those of the columns; an interval only if a coefficient is one
    /// standardised coefficient in another unit.
    #[must_use]
    pub fn in_own_units(&self, design: &Design) -> Answer {
        let contrasts = design.contrasts();
        let own = |(j, contrast): (usize, &dplm::Contrast)| {
            let alone = contrast.weights.iter().enumerate().all(|(k, weight)| k == j || *weight == 0.0);
            let turn = |end: f64| contrast.weights[j] * end + contrast.offset;
            let (low, high) = self.ends[j].filter(|_| alone)?;
            let (one, other) = (turn(low), turn(high));
            Some((one.min(other), one.max(other)))
        };
        Answer {
            theta: contrasts.iter().map(|contrast| contrast.of(&self.theta)).collect(),
            ends: contrasts.iter().enumerate().map(own).collect(),
        }
    }
}

/// The Gaussian quantile for 95 %.
const NORMAL: f64 = 1.959964;

/// Bounded rows in the clear, the public knowledge of them, and the promise.
pub struct Task {
    /// Rows one after the other, each no longer than `bounds.row`.
    x: Vec<f64>,
    /// Responses, none larger than `bounds.response`.
    y: Vec<f64>,
    features: usize,
    bounds: PublicBounds,
    /// The assumed curvature of an otherwise unknown column: 1 if columns are standard.
    curvature: f64,
    promise: Promise,
}

impl Task {
    /// Shortens rows and clamps responses to their public bounds. `standard` says that columns are
    /// known to be centred and of unit variance.
    #[must_use]
    pub fn new(mut x: Vec<f64>, mut y: Vec<f64>, bounds: PublicBounds, standard: bool, promise: Promise) -> Task {
        let features = x.len() / y.len().max(1);
        for row in x.chunks_exact_mut(features.max(1)) {
            let norm = row.iter().map(|cell| cell * cell).sum::<f64>().sqrt();
            let scale = (bounds.row / norm).min(1.0);
            row.iter_mut().for_each(|cell| *cell *= scale);
        }
        y.iter_mut().for_each(|response| *response = response.clamp(-bounds.response, bounds.response));
        // A bounded column is assumed to spread over a tenth of its bounds at least.
        let curvature = if standard { 1.0 } else { 0.01 };
        Task { x, y, features, bounds, curvature, promise }
    }

    /// The rows of a table as on the lattice, except for rounding.
    ///
    /// # Errors
    /// When rho is not a budget.
    pub fn of_table(design: &Design, blocks: &[Block], standard: bool, promise: Promise) -> Result<Task, LabError> {
        let rho = Rho::checked_from_f64(promise.rho).map_err(dplm::Error::from)?;
        let count: usize = blocks.iter().map(|block| block.rows).sum();
        let bounds = PublicBounds::of(count as u64, design, &Request::new(rho));
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for block in blocks {
            for (row, response) in (0..block.rows).filter_map(|row| design.standardised_row(block, row)) {
                x.extend(row);
                y.push(response);
            }
        }
        Ok(Task::new(x, y, bounds, standard, promise))
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.x.chunks_exact(self.features).zip(self.y.iter().copied())
    }

    fn count(&self) -> f64 {
        self.y.len() as f64
    }

    /// The assumed length of an average row: `sqrt p` standardised units, bounded or not.
    fn usual_row(&self) -> f64 {
        (self.features as f64).sqrt().min(self.bounds.row)
    }

    /// A step size that is stable for rows of usual length if columns are not known to be
    /// uncorrelated.
    fn step_size(&self) -> f64 {
        if self.curvature < 1.0 { self.usual_row().powi(-2) } else { 0.5 }
    }
}
