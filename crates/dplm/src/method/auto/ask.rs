//! The questions of the stages of a fit. Stages decide and spend; interpreters answer, and never
//! see the budget.
//!
//! There are two interpreters: [`OnRows`](super::on_rows::OnRows) answers with noise, and
//! [`OnAssumptions`](super::on_assumptions::OnAssumptions) with what is expected and the noise that
//! it would have. Both are asked by the same [`Sequence`](super::sequence::Sequence), so that a
//! forecast divides a budget as the fit does.

use super::{
    clip::{GammaLadder, Threshold},
    focus::{Estimate, Scores},
    infer::Rights,
    sequence::Descended,
    whiten::White,
};
use crate::{Error, Progress, descend::Descent, lattice::Whitening, method::noisy::NoisyMatrix, privacy::Spend};

/// The questions of a fit by the automatic method.
pub(super) trait Ask: Sized {
    /// A point in the coordinates of the descent.
    type Point;
    /// A descent that was made.
    type Run;
    /// What intervals are made from.
    type Inferred;

    /// The most rows of a person, where persons are the unit; public.
    fn rows_in_unit(&self) -> Option<u32>;

    /// The original rows in other coordinates, for looking only.
    fn through<'s>(&'s mut self, to: &'s Whitening) -> Result<Box<dyn Look + 's>, Error>;

    /// Takes the original rows to the coordinates of the descent, where all later questions are
    /// asked. The original rows are not needed again where these coordinates are the `last`.
    fn whiten(&mut self, to: &Whitening, last: bool) -> Result<(), Error>;

    /// The rows in the coordinates of the descent.
    fn look(&mut self) -> Box<dyn Look + '_>;

    /// The point zero.
    fn origin(&self, features: usize) -> Self::Point;

    /// Where an earlier fit of the same rows ended.
    fn resume(&self, theta: Vec<f64>) -> Self::Point;

    /// The threshold on the ladder that about `target` gradients at a point exceed.
    fn threshold(
        &mut self,
        at: &Self::Point,
        ladder: &GammaLadder,
        target: f64,
        spend: Spend,
    ) -> Result<Threshold, Error>;

    /// The shares of gradients at a point that are above each of some clips.
    fn shares_above(&mut self, at: &Self::Point, gammas: &[f64], spend: Spend) -> Result<Vec<f64>, Error>;

    /// Steps of clipped gradients from a point.
    fn descend(
        &mut self,
        by: &Descent,
        from: &Self::Point,
        spend: Spend,
        progress: Progress<'_>,
    ) -> Result<Self::Run, Error>;

    /// Where a few steps from a point end.
    fn reached(&self, run: &Self::Run, from: &Self::Point, white: &White) -> Reached<Self::Point>;

    /// Releases what intervals need at the end of the descent.
    fn infer(&mut self, white: &White, last: &Descended<Self>, rights: Rights) -> Result<Self::Inferred, Error>;

    /// The estimates of the coefficients by a descent.
    fn estimate(&self, last: &Descended<Self>, white: &White) -> Estimate;

    /// Releases what the intervals of scores need; `None` if no coefficient is identified.
    fn infer_scores(
        &mut self,
        scores: &Scores,
        last: &Descended<Self>,
        rights: Rights,
    ) -> Result<Option<Self::Inferred>, Error>;
}

/// Questions about the length of rows in some coordinates, and about their second moments.
pub(super) trait Look {
    /// The length that about `cut` rows exceed, on a ladder that ends at `top`.
    fn length(&mut self, top: f64, cut: f64, spend: Spend) -> Result<Length, Error>;

    /// The shares of rows that are longer than each of some lengths, which ascend.
    fn shares_longer(&mut self, radii: &[f64], spend: Spend) -> Result<Vec<f64>, Error>;

    /// Second moments of rows shortened to this length.
    fn second_moments(&mut self, radius: f64, spend: Spend) -> Result<NoisyMatrix, Error>;
}

/// A length that few rows exceed.
pub(super) struct Length {
    pub radius: f64,
    /// Whether it may be smaller still.
    pub at_edge: bool,
    /// Whether more than a few rows exceed it after all.
    pub is_beyond: bool,
}

/// Where a start ended, and the variance of its noise in each coordinate.
pub(super) struct Reached<P> {
    pub point: P,
    pub noise_var: f64,
}
