//! Clip thresholds, found by noisy counts of the gradients above each of a ladder of them.

use crate::privacy::noise::RandomWords;

use super::{Plan, threshold};
use crate::{
    Error,
    lattice::{Clip, Ladder, Lattice},
    plan::counts::{self, CLIP_THRESHOLDS},
    privacy::Spend,
    rows::Rows,
};

/// The second ladder starts this far above the first threshold, and ends as far below it.
const TOP_OF_SECOND: f64 = 11.314;

/// A geometric ladder of clip thresholds.
pub(super) struct GammaLadder {
    pub top: f64,
    pub thresholds: u32,
    pub per_doubling: f64,
}

impl GammaLadder {
    /// The thresholds, ascending, within what the lattice resolves.
    fn gammas(&self) -> Vec<f64> {
        let (least, most) = Lattice::CLIP_RANGE.into_inner();
        let threshold = |i: u32| (self.top * (-f64::from(i) / self.per_doubling).exp2()).clamp(least, most);
        (0..self.thresholds).rev().map(threshold).collect()
    }

    /// Thresholds around one that was found before.
    pub(super) fn around(gamma: f64) -> GammaLadder {
        GammaLadder { top: TOP_OF_SECOND * gamma, thresholds: CLIP_THRESHOLDS, per_doubling: 8.0 }
    }
}

/// A clip threshold, and the share of rows it was meant to leave above it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    pub gamma: f64,
    pub at_edge: bool,
    pub tail: f64,
}

impl Plan {
    /// The threshold that about a share `tail` of the gradients at `theta` exceeds.
    pub(super) fn threshold<R: RandomWords>(
        &self,
        rows: &dyn Rows,
        theta: &[f64],
        ladder: &GammaLadder,
        tail: f64,
        spend: Spend,
        rng: &mut R,
    ) -> Result<Threshold, Error> {
        let gammas = ladder.gammas();
        let rho = self.request.rho.to_f64();
        let lattice = *self.descent(theta.len(), ladder.top, self.rules().most_steps(), rho)?.lattice();
        let clips: Vec<Clip> = gammas.iter().map(|&gamma| lattice.clip(gamma)).collect();
        let theta = lattice.theta(theta);
        let ladder = Ladder::Gradients { theta: &theta, theta_unit: lattice.theta_unit(), clips: &clips };
        let counts = rows.tail_counts(&ladder, self.request.neighbours)?;
        let worth = self.request.worth_in_counts(spend.to_f64());
        let target = counts::target(tail, self.rows, clips.len(), worth);
        let found = threshold::search(&counts, target, spend, rng)?;
        Ok(Threshold { gamma: gammas[found.index], at_edge: found.at_edge, tail: target / self.rows as f64 })
    }
}
