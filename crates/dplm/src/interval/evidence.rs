//! What the intervals of a descent were computed from, as it was released, so that estimates can be
//! computed once more from a fit that was saved.

use std::collections::BTreeMap;

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::{Contrast, Coordinates, Curvature, Inference, IntervalError, Newton, Sampling};
use crate::{
    descend::Trajectory,
    matrix::{by_row, inverse, times, transposed_times},
};

/// Two computations of one number, on two machines, differ by less than this share of its standard
/// error.
const ROUNDING: f64 = 1e-6;

/// A symmetric matrix as it was released, and the standard deviation of the noise on its diagonal;
/// off it the noise is smaller by `sqrt 2`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Noisy {
    #[serde(with = "by_row")]
    pub mean: Mat<f64>,
    pub noise_sd: f64,
}

/// A coefficient as a linear function of standardised parameters: the weights that are not zero, by
/// the numbers of their parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sparse {
    offset: f64,
    weights: BTreeMap<usize, f64>,
}

impl Sparse {
    pub(crate) fn of(contrasts: &[Contrast]) -> Vec<Sparse> {
        let weights = |all: &[f64]| all.iter().copied().enumerate().filter(|(_, weight)| *weight != 0.0).collect();
        contrasts.iter().map(|one| Sparse { offset: one.offset, weights: weights(&one.weights) }).collect()
    }
}

/// The coordinates of a descent in whitened columns, and what was released in them beside the
/// steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The standardised parameters that make the coordinates, ascending, and one column for each.
    pub(crate) kept: Vec<usize>,
    #[serde(with = "by_row")]
    pub(crate) basis: Mat<f64>,
    /// The mean of `z z'` over rows that are not clipped.
    pub(crate) curvature: Noisy,
    /// The mean of `g g'` over clipped gradients; `None` if the target is the sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) spread: Option<Noisy>,
    /// How standardised parameters make coefficients; public.
    pub(crate) contrasts: Vec<Sparse>,
}

impl Evidence {
    /// The curvature that follows.
    ///
    /// # Errors
    /// As [`Curvature::of_scaled_columns`].
    pub(crate) fn curvature(&self) -> Result<Curvature, IntervalError> {
        Curvature::of_scaled_columns(self.curvature.mean.clone(), self.curvature.noise_sd)
    }

    /// What follows from a run in the same coordinates, for the parameters of `coordinates`.
    ///
    /// # Errors
    /// As [`Newton::new`].
    pub(crate) fn newton(
        &self,
        run: &Trajectory,
        coordinates: &Coordinates,
        curvature: &Curvature,
        rows: u64,
    ) -> Result<Newton, IntervalError> {
        let of = |spread: &Noisy| Sampling::from_matrix(rows, spread.mean.clone(), spread.noise_sd);
        Newton::new(run, coordinates, curvature, self.spread.as_ref().map(of).transpose()?.as_ref())
    }

    /// Whether the estimates, their covariance and how well it is known are those that follow from
    /// a run in standardised parameters, which is how a fit shows it.
    pub(crate) fn is_of(&self, found: &Inference, run: &Trajectory, rows: u64) -> bool {
        let Inference::Newton(found) = found else { return false };
        self.recomputed(found, run, rows).is_some_and(|made| {
            let (found_var, made_var) = (found.covariance(), made.covariance());
            let (held, follows) = (&found.noise_uncertainty, &made.noise_uncertainty);
            let is_as_certain = |j: usize| (held[(j, j)] - follows[(j, j)]).abs() <= ROUNDING * follows[(j, j)];
            (0..found.kept.len()).all(|j| {
                let sd = made_var[(j, j)].sqrt();
                let is_near =
                    |k| (found_var[(j, k)] - made_var[(j, k)]).abs() <= ROUNDING * sd * made_var[(k, k)].sqrt();
                let is_estimate = (found.estimate[j] - made.estimate[j]).abs() <= ROUNDING * sd;
                is_estimate && is_as_certain(j) && (0..found.kept.len()).all(is_near)
            })
        })
    }

    fn recomputed(&self, found: &Newton, run: &Trajectory, rows: u64) -> Option<Newton> {
        let places =
            found.kept.iter().map(|j| self.kept.iter().position(|one| one == j)).collect::<Option<Vec<_>>>()?;
        let size = self.kept.len();
        let matrices = [Some(&self.basis), Some(&self.curvature.mean), self.spread.as_ref().map(|spread| &spread.mean)];
        let square = matrices.into_iter().flatten().all(|one| (one.nrows(), one.ncols()) == (size, size));
        if !square || self.kept.iter().any(|&j| j >= found.parameters) {
            return None;
        }
        let all = Coordinates { parameters: found.parameters, kept: self.kept.clone(), basis: self.basis.clone() };
        self.newton(&self.in_coordinates(run), &all.only(&places), &self.curvature().ok()?, rows).ok()
    }

    /// A run in the coordinates, from one in standardised parameters.
    fn in_coordinates(&self, run: &Trajectory) -> Trajectory {
        let (of_kept, turned) =
            (|all: &Vec<f64>| self.kept.iter().map(|&j| all[j]).collect::<Vec<_>>(), inverse(&self.basis));
        Trajectory {
            theta: run.theta.iter().map(|theta| times(&self.basis, &of_kept(theta))).collect(),
            gradient: run.gradient.iter().map(|gradient| transposed_times(&turned, &of_kept(gradient))).collect(),
            ..*run
        }
    }
}
