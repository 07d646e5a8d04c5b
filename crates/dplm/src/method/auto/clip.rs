//! Clip thresholds, found by noisy counts of the gradients above each of a ladder of them.

use crate::{lattice::Lattice, plan::counts::CLIP_THRESHOLDS};

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
    pub(super) fn gammas(&self) -> Vec<f64> {
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
