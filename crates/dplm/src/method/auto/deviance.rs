//! How much of the deviance a logit explains: the pseudo R^2 of McFadden (1974), with an interval.
//!
//! The log-likelihood is not bounded by a row, but its value at the maximum is: the score is zero
//! there, `sum (y - mu) z = 0`, so that `sum (y - mu) eta = 0` too, and
//!
//! ```text
//! -log L = sum (log(1 + e^eta) - y eta) = sum (log(1 + e^eta) - mu eta) = sum h(mu)
//! ```
//!
//! with the entropy `h(mu) = -mu log mu - (1 - mu) log(1 - mu)`, whatever the outcomes are and
//! whether the logit is right or not. A row adds at most one bit to it. Its mean is released at a
//! point near the estimate, from where it changes by `-M theta` with each step, `M` the curvature.
//! A model with the constant alone has `h(m)`, `m` the mean of the response:
//! `R^2 = 1 - A / B`, `A = mean h(mu)`, `B = h(m)`.
//!
//! With `c = A/B log((1 - m)/m)` and `q` the direction in which every row is 1, a row moves
//! `A - (A/B) B` by `-(y - mu)(eta + c) + h(mu) - c mu` less its mean. The first part has the
//! variance `(theta + c q)' V (theta + c q)`, `V` the released covariance of gradients; under the
//! logit the second is not correlated with it. It lies between `min(0, -c)` and `log(1 + e^-c)`
//! with a known mean, and so has at most the variance of Bhatia and Davis (2000): intervals cover
//! at least as often as they say. Noise adds the square of `theta` times that of a gradient, and
//! those of the entropy and of `m`.

use std::f64::consts::LN_2;

use super::quality::Quality;
use crate::{
    Bounded,
    interval::normal_quantile,
    matrix::{dot, quadratic},
    method::noisy::NoisyMatrix,
};

/// The rarer outcome must stand this many standard deviations above the noise of its share.
const NOISE_BELOW: f64 = 5.0;

/// A mean over complete rows, and the standard deviation of its noise.
#[derive(Clone, Copy)]
pub(super) struct Noisy {
    pub value: f64,
    pub noise_sd: f64,
}

/// What was released, and public numbers; vectors are in the coordinates of the descent.
pub(super) struct Deviance<'a> {
    /// The mean of the responses.
    pub response: Noisy,
    /// The mean entropy in bits, and how it changes to where the estimate is.
    pub entropy: Noisy,
    pub change: f64,
    /// The estimate, and the direction in which every complete row is 1.
    pub theta: &'a [f64],
    pub constant: &'a [f64],
    /// The variance of the noise of a coordinate of the mean gradient, of all rows.
    pub gradient_noise_var: f64,
    /// The mean square of gradients over all rows, where the population is meant.
    pub spread: Option<&'a NoisyMatrix>,
    /// How many rows there are, and the share of complete ones.
    pub rows: f64,
    pub complete: f64,
}

impl Deviance<'_> {
    /// `None` if one outcome is so rare that its share is mostly noise.
    pub(super) fn quality(&self, level: f64) -> Option<Quality> {
        let Noisy { value: share, noise_sd } = self.response;
        if share.min(1.0 - share) < NOISE_BELOW * noise_sd {
            return None;
        }
        let own = LN_2 * self.entropy.value + self.change / self.complete;
        let steepness = ((1.0 - share) / share).ln();
        let of_constant = share * steepness - (1.0 - share).ln();
        let unexplained = (own / of_constant).clamp(0.0, 1.0);
        let shift = unexplained * steepness;
        let variance = self.of_noise(shift) + self.spread.map_or(0.0, |spread| self.of_rows(spread, own, shift));
        let half = normal_quantile(level) * variance.sqrt() / of_constant;
        let estimate = 1.0 - unexplained;
        let r_squared = Bounded { estimate, low: (estimate - half).max(0.0), high: (estimate + half).min(1.0) };
        Some(Quality { residual_sd: None, r_squared })
    }

    fn of_noise(&self, shift: f64) -> f64 {
        let gradient = self.gradient_noise_var * dot(self.theta, self.theta) / self.complete.powi(2);
        gradient + (LN_2 * self.entropy.noise_sd).powi(2) + (shift * self.response.noise_sd).powi(2)
    }

    /// What the draw of the rows adds.
    fn of_rows(&self, spread: &NoisyMatrix, own: f64, shift: f64) -> f64 {
        let along: Vec<f64> = self.theta.iter().zip(self.constant).map(|(theta, q)| theta + shift * q).collect();
        let of_outcomes = quadratic(&spread.mean, &along).max(0.0) / self.complete;
        let (least, most) = ((-shift).min(0.0), (-shift).exp().ln_1p());
        let mean = (own - shift * self.response.value).clamp(least, most);
        (of_outcomes + (most - mean) * (mean - least)) / (self.rows * self.complete)
    }
}
