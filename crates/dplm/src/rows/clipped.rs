//! Rows under a clip, and the queries on their gradients.

use super::OuterSum;
use crate::{
    Error,
    lattice::{ClippedOuter, Lattice, Number, Theta},
    privacy::{Neighbours, NotPrivate, Sensitive},
};

/// Rows whose gradients are clipped; [`Rows::clipped`](super::Rows::clipped) makes them.
///
/// # Guarantee
/// As [`Rows`](super::Rows).
pub trait ClippedRows {
    /// How many privacy units there are, as [`Rows::count`](super::Rows::count) says.
    fn count(&self) -> u64;

    /// `sum_i X_i clamp(r_i, -B_i, B_i)` at `theta`: minus the sum of clipped gradients. Where the
    /// lattice has the logistic link it is `sum_i X_i w_i r_i` with `w_i = min(1, B_i / m_i)`,
    /// `m_i` the largest residual that a binary response could have.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn negative_gradient_sum(
        &mut self,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error>;

    /// `sum_i X_i clamp(b_i, -B_i, B_i)` at `theta`, `b_i` how the variance of a binary response
    /// changes along its linear function: what the mean variance changes by where parameters do.
    ///
    /// # Errors
    /// When rows cannot be read.
    ///
    /// # Panics
    /// When persons have several rows.
    fn bend_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error>;

    /// The sum of a number of each row at `theta`, in parts of [`Number::UNIT`]; of a person with
    /// several rows, the mean over them.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn number_sum(
        &self,
        number: Number,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error>;

    /// `sum_i floor(||X_i clamp(r_i, -B_i, B_i)||^2 / 2^shift)` at `theta`, with the shift of
    /// [`Clip::square_shift`](crate::lattice::Clip::square_shift).
    ///
    /// # Errors
    /// When rows cannot be read.
    fn square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error>;

    /// `sum_i v_i v_i'` for the vectors that `outer` describes.
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
