//! Rows under a clip: what is asked of their gradients.

use super::OuterSum;
use crate::{
    Error,
    lattice::{ClippedOuter, Lattice, Theta},
    privacy::{Neighbours, NotPrivate, Sensitive},
};

/// Rows whose gradients are clipped; [`Rows::clipped`](super::Rows::clipped) makes them.
///
/// # Guarantee
/// As [`Rows`](super::Rows).
pub trait ClippedRows {
    /// How many privacy units there are, as [`Rows::count`](super::Rows::count) says.
    fn count(&self) -> u64;

    /// `sum_i X_i clamp(r_i, -B_i, B_i)` at `theta`: minus the sum of clipped gradients.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn negative_gradient_sum(
        &mut self,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error>;

    /// `sum_i floor(||X_i clamp(r_i, -B_i, B_i)||^2 / 2^shift)` at `theta`, with the shift of [`Clip::square_shift`](crate::lattice::Clip::square_shift).
    ///
    /// # Errors
    /// When rows cannot be read.
    fn square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error>;

    /// `sum_i v_i v_i'` for the vectors `outer` describes.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn outer_sum(&self, outer: &ClippedOuter<'_>, neighbours: Neighbours) -> Result<OuterSum, Error>;

    /// How many rows are clipped at `theta`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<NotPrivate<u64>, Error>;
}
