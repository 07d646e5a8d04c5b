//! Clip levels, found by noisy counts of the gradients above the rungs of a ladder.

use rand_core::CryptoRng;

use super::{Plan, level, start::Start, whiten::Whitened};
use crate::{
    Error,
    lattice::{Clip, Ladder, Lattice},
    privacy::{Budget, Spend},
    rows::Rows,
};

/// Rungs of the second ladder, eight to a factor of two.
pub(super) const RUNGS: u32 = 57;
/// The second ladder starts this far above the first level, and ends as far below it.
const TOP_OF_SECOND: f64 = 11.314;

/// A geometric ladder of clip levels.
pub(super) struct GammaLadder {
    pub top: f64,
    pub rungs: u32,
    pub per_doubling: f64,
}

impl GammaLadder {
    /// The rungs, ascending, within what the lattice resolves.
    fn gammas(&self) -> Vec<f64> {
        let (least, most) = Lattice::CLIP_RANGE.into_inner();
        let rung = |i: u32| (self.top * (-f64::from(i) / self.per_doubling).exp2()).clamp(least, most);
        (0..self.rungs).rev().map(rung).collect()
    }
}

/// A clip level, and the share of rows it was meant to leave above it.
pub(super) struct ClipLevel {
    pub gamma: f64,
    pub at_edge: bool,
    pub tail: f64,
}

impl Plan {
    /// The clip of the descent.
    pub(super) fn clip<R: CryptoRng>(
        &self,
        white: &Whitened,
        start: &Start,
        budget: &mut Budget,
        rng: &mut R,
    ) -> Result<ClipLevel, Error> {
        let spend = budget.spend("clip level", self.request.rho.share(self.shares().level))?;
        let ladder = GammaLadder { top: TOP_OF_SECOND * start.gamma, rungs: RUNGS, per_doubling: 8.0 };
        self.clip_level(white.rows.as_ref(), &start.theta, &ladder, self.tail(), spend, rng)
    }

    /// The rung of a ladder that about a share `tail` of the gradients at `theta` exceeds.
    pub(super) fn clip_level<R: CryptoRng>(
        &self,
        rows: &dyn Rows,
        theta: &[f64],
        ladder: &GammaLadder,
        tail: f64,
        spend: Spend,
        rng: &mut R,
    ) -> Result<ClipLevel, Error> {
        let gammas = ladder.gammas();
        let lattice = *self.descent(ladder.top, self.most_steps(), self.request.rho.to_f64())?.lattice();
        let clips: Vec<Clip> = gammas.iter().map(|&gamma| lattice.clip(gamma)).collect();
        let theta = lattice.theta(theta);
        let ladder = Ladder::Gradients { theta: &theta, theta_unit: lattice.theta_unit(), clips: &clips };
        let counts = rows.tail_counts(&ladder, self.request.neighbours)?;
        let target = level::target(tail, self.rows, clips.len(), spend.to_f64());
        let found = level::search(&counts, target, spend, rng)?;
        Ok(ClipLevel { gamma: gammas[found.rung], at_edge: found.at_edge, tail: target / self.rows as f64 })
    }
}
