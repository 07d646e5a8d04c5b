//! How much to clip where predictions are wanted and no intervals, and whether they are worth more
//! than a mean.
//!
//! Bias by clipping adds to squared errors. At a clip `c` predictions are off by
//! `2 p c^2 / (n^2 rho) + |bias|^2` on average, and clipping takes at most `B(c)` from the length
//! of a mean gradient: the integral from `c` on of the share of gradients that are longer. Errors
//! that are independent of the columns bias the constant alone, by `B / sqrt(p)`; the rule allows
//! for twice its square, and is free of scale.

use super::{
    Plan,
    ask::Ask,
    sequence::Sequence,
    start::{Start, constant},
    whiten::White,
};
use crate::{
    Error,
    descend::Trajectory,
    interval::nearest_in_order,
    lattice::{Design, Lattice},
    matrix::dot,
    method::Purpose,
    plan::noise::{count_noise_sd, reach_sq},
    warning::Warning,
};

/// The share of the budget that goes to counts of the gradients above a ladder of wider clips, and
/// that ladder.
const COUNTS_SHARE: f64 = 0.02;
const COUNTS: u32 = 10;
const PER_DOUBLING: f64 = 2.0;
/// Clips are tried between the counts too.
const TRIED_BETWEEN: u32 = 4;
/// How much bias by clipping is allowed for, in units of the bias that errors independent of the
/// columns make.
const BENT: f64 = 2.0;

impl<A: Ask> Sequence<'_, A> {
    /// The start with the clip that predictions want: at least as wide as the one that was found.
    pub(super) fn for_purpose(&mut self, start: Start<A::Point>, features: usize) -> Result<Start<A::Point>, Error> {
        if self.plan.request.purpose != Purpose::Prediction {
            return Ok(start);
        }
        let (least, most) = Lattice::CLIP_RANGE.into_inner();
        let gamma = |j: u32| (start.threshold.gamma * factor(f64::from(j))).clamp(least, most);
        let gammas: Vec<f64> = (0..COUNTS).map(gamma).collect();
        let spend = self.spend("gradients above wider clips", COUNTS_SHARE)?;
        let rows = self.plan.rows as f64;
        let noise_sd = count_noise_sd(COUNTS, self.plan.request.worth_in_counts(spend.to_f64())) / rows;
        let shares = self.ask.shares_above(&start.point, &gammas, spend)?;
        let tails = Tails::of(&shares, noise_sd);
        let wider = tails.best_place(self.plan.noise_per_clip(self.budget.left().to_f64(), features), features);
        Ok(start.with_clip(factor(wider), tails.at(wider)))
    }
}

/// How many times wider the clip is at a place on the ladder.
fn factor(place: f64) -> f64 {
    (place / PER_DOUBLING).exp2()
}

impl Plan {
    /// What noise adds to squared errors of predictions at a clip of 1: `2 p / (n^2 rho)` where
    /// rows are replaced.
    fn noise_per_clip(&self, rho: f64, features: usize) -> f64 {
        0.5 * reach_sq(self.request.neighbours) * features as f64 / ((self.rows as f64).powi(2) * rho)
    }
}

/// Shares of gradients, or of rows, above what is on a ladder.
pub(super) struct Tails(pub(super) Vec<f64>);

impl Tails {
    /// Noisy shares, put in order, less a standard deviation of their noise: what cannot be told
    /// from nothing is nothing.
    pub(super) fn of(noisy: &[f64], noise_sd: f64) -> Tails {
        let mut shares = nearest_in_order(noisy.iter().rev().copied());
        shares.reverse();
        Tails(shares.iter().map(|share| (share - noise_sd).clamp(0.0, 1.0)).collect())
    }

    /// The share above a clip, on straight lines between those of the ladder.
    pub(super) fn at(&self, place: f64) -> f64 {
        let (low, part) = (place.floor() as usize, place.fract());
        let next = self.0[(low + 1).min(self.0.len() - 1)];
        self.0[low] + part * (next - self.0[low])
    }

    /// `B` over the first clip of the ladder: what is above a clip, on average.
    fn beyond(&self, place: f64) -> f64 {
        let next = place.floor() + 1.0;
        if next > (self.0.len() - 1) as f64 {
            return 0.0;
        }
        0.5 * (factor(next) - factor(place)) * (self.at(place) + self.at(next)) + self.beyond(next)
    }

    /// The place of the clip at which predictions are off by least.
    fn best_place(&self, noise: f64, features: usize) -> f64 {
        let off = |place: &f64| noise * factor(*place).powi(2) + BENT / features as f64 * self.beyond(*place).powi(2);
        let places = (0..=TRIED_BETWEEN * (COUNTS - 1)).map(|step| f64::from(step) / f64::from(TRIED_BETWEEN));
        places.min_by(|a, b| off(a).total_cmp(&off(b))).expect("a ladder has places")
    }
}

/// What to say of slopes `theta`, in white coordinates, that predict no better than the mean of the
/// response would, as far as released numbers show.
///
/// Slopes with noise of variance `v` in each of `k` directions are off by `k v` in squares, and the
/// mean of the response by their own true square, which their square less `k v` is on average. A
/// single round of whitening leaves coordinates that are too far from white to say even that.
pub(super) fn worth(
    plan: &Plan,
    theta: &[f64],
    run: &Trajectory,
    tail: f64,
    (design, white): (&Design, &White),
) -> Option<Warning> {
    let along = constant(design, white);
    let taken = along.as_ref().map_or(0.0, |direction| dot(direction, theta).powi(2));
    let free = (theta.len() - usize::from(along.is_some())) as f64;
    let noise_var = run.noise_sd.powi(2) / run.steps() as f64 / (1.0 - tail).powi(2);
    let (found, noise) = (dot(theta, theta) - taken, free * noise_var);
    // The variance of the square of a vector of Gaussian entries.
    let uncertain = (2.0 * noise_var * (noise + 2.0 * (found - noise).max(0.0))).sqrt();
    let is_within = plan.rules().has_one_round() || found - 2.0 * noise <= uncertain;
    is_within.then_some(Warning::SlopesWithinNoise)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a tail the clip stays, with a heavy one it is as wide as what is beyond is worth its
    /// noise.
    #[test]
    fn a_heavy_tail_widens_the_clip_as_far_as_noise_allows() {
        let none = Tails::of(&[0.3, 0.01, -0.01, 0.01, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.01);
        assert!(none.best_place(0.02, 5) < 1.0);
        let heavy = Tails::of(&[0.3, 0.25, 0.2, 0.16, 0.12, 0.1, 0.08, 0.06, 0.03, 0.0], 0.001);
        let places = [1e-1, 1e-2, 1e-4, 1e-6].map(|noise| heavy.best_place(noise, 5));
        assert!(places.is_sorted() && places[0] < 3.0 && places[3] > 8.0, "{places:?}");
    }

    /// A share that falls by a line from 1 at the first clip to 0 at twice it: half of it is beyond
    /// the first.
    #[test]
    fn what_is_beyond_is_an_integral() {
        let middle = 2.0 - std::f64::consts::SQRT_2;
        let tails = Tails(vec![1.0, middle, 0.0, 0.0]);
        assert!((tails.beyond(0.0) - 0.5).abs() < 1e-12 && tails.beyond(2.0) == 0.0);
        assert_eq!(tails.at(0.5), 0.5 * (1.0 + middle));
    }
}
