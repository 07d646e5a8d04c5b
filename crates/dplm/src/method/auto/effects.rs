//! Average marginal effects: how much a probability changes with a column, on average over rows.
//!
//! The derivative of a row's probability along a coefficient's column is the coefficient times the
//! variance `v = mu (1 - mu)` of its response, so that the average is `b m` with `m = mean v`. The
//! mean is released at a point near the estimate, with how it changes from there,
//! `d = mean v (1 - 2 mu) z`, so that
//!
//! ```text
//! var(b m) = (m c + b d)' Cov (m c + b d) + b^2 (var of the noise of m + var v / n)
//! ```
//!
//! for the coefficient `c' theta` (the delta method). A score has mean zero given its row, so that
//! the sampling errors of `b` and of `m` are not correlated. A number between 0 and 1/4 with mean
//! `m` has a variance of at most `m (1/4 - m)` (Bhatia and Davis 2000), which is a small part.

use super::deviance::Noisy;
use crate::{
    Error, MarginalEffect,
    interval::{Coordinates, Inference},
    lattice::{Design, Slot},
    matrix::{dot, quadratic, times, transposed_times},
};

/// The largest variance of a binary response.
const MOST_VARIANCE: f64 = 0.25;

/// What was released of the variances of all rows.
pub(super) struct Averages {
    /// Their mean, and the standard deviation of its noise.
    pub variance: f64,
    pub noise_sd: f64,
    /// How the mean changes with the point, in the coordinates of the descent.
    pub change: Vec<f64>,
    /// The mean entropy of the responses, in bits.
    pub entropy: Noisy,
    /// How many rows there are.
    pub rows: f64,
}

/// What average marginal effects are made from.
pub(super) struct Effects {
    /// Where the averages were taken.
    pub there: Vec<f64>,
    pub averages: Averages,
    pub coordinates: Coordinates,
}

impl Averages {
    /// The same over complete rows alone, of which there is this share; the others count as zero.
    pub(super) fn among(self, complete: f64) -> Averages {
        Averages {
            variance: self.variance / complete,
            noise_sd: self.noise_sd / complete,
            change: self.change.into_iter().map(|change| change / complete).collect(),
            entropy: Noisy { value: self.entropy.value / complete, noise_sd: self.entropy.noise_sd / complete },
            rows: self.rows * complete,
        }
    }
}

impl Effects {
    /// The effects of all identified coefficients but the constant.
    pub(super) fn of(&self, inference: &Inference, design: &Design, level: f64) -> Result<Vec<MarginalEffect>, Error> {
        let contrasts = design.contrasts();
        let found = inference.intervals(&contrasts, level)?;
        let (parameters, covariance) = (inference.parameters(), inference.covariance());
        let change = self.change_of(parameters.len());
        let mean = self.mean_at(&parameters);
        let effect = |place: usize| {
            let (coefficient, contrast) = (found[place].estimate, &contrasts[place]);
            let slope: Vec<f64> =
                contrast.weights.iter().zip(&change).map(|(c, d)| mean * c + coefficient * d).collect();
            let of_mean = self.averages.noise_sd.powi(2) + mean * (MOST_VARIANCE - mean).max(0.0) / self.averages.rows;
            let std_error = (quadratic(&covariance, &slope) + coefficient.powi(2) * of_mean).sqrt();
            let name = design.names()[place].clone();
            MarginalEffect::of(name, coefficient * mean, std_error, level)
        };
        let is_told = |place: &usize| found[*place].identified && design.slots()[*place] != Slot::Intercept;
        Ok((0..contrasts.len()).filter(is_told).map(effect).collect())
    }

    /// How the mean variance changes with each standardised parameter.
    fn change_of(&self, parameters: usize) -> Vec<f64> {
        let mut all = vec![0.0; parameters];
        let of_kept = transposed_times(&self.coordinates.basis, &self.averages.change);
        self.coordinates.kept.iter().zip(of_kept).for_each(|(&j, change)| all[j] = change);
        all
    }

    /// The mean variance at the estimate, to first order.
    fn mean_at(&self, parameters: &[f64]) -> f64 {
        let kept: Vec<f64> = self.coordinates.kept.iter().map(|&j| parameters[j]).collect();
        let moved = times(&self.coordinates.basis, &kept);
        let moved: Vec<f64> = moved.iter().zip(&self.there).map(|(to, from)| to - from).collect();
        (self.averages.variance + dot(&self.averages.change, &moved)).clamp(0.0, MOST_VARIANCE)
    }
}
