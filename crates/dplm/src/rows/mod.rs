//! Where rows live.
//!
//! An engine answers a handful of questions with exact integers; nothing else of the rows can be asked. Exact sums make engines
//! interchangeable: the same rows give the same bits on each.

mod store;
mod screen;
mod engine;
mod memory;
mod file;

pub use engine::Engine;
pub use file::{Builder, Encoded, FileRows};
pub use memory::{MemoryBuilder, MemoryRows};

use crate::{
    Error,
    lattice::{Clip, Ladder, Lattice, Moments, Outer, Theta, Whitening},
};

/// What is publicly known of the gradients that will be asked for. It may change how long answers take, never what they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// How many there will be.
    pub steps: u32,
    /// The step size `eta`.
    pub step_size: f64,
    /// The standard deviation `lambda` of the noise in each coordinate of each mean gradient, in standardised units.
    pub noise_sd: f64,
}

/// Rows encoded on the lattice, wherever they are.
///
/// Every answer is computed from rows and has not been released: callers hand it to
/// [`Sensitive::claim`](crate::privacy::Sensitive::claim) or wrap it as not private.
pub trait Rows: Sync {
    /// How many rows there are; public.
    fn count(&self) -> u64;

    /// How many coefficients a row has; public.
    fn features(&self) -> usize;

    /// Fixes the clip: computes each row's bound `B_i`. Later questions use it.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn set_clip(&mut self, clip: Clip) -> Result<(), Error>;

    /// Says what [`clipped_pull`](Self::clipped_pull) will be asked for, after the clip is set. An engine need not listen.
    fn expect(&mut self, _forecast: Forecast) {}

    /// `sum_i X_i clamp(r_i, -B_i, B_i)` at `theta`: minus the sum of clipped gradients. Each row's term has norm at most `gamma`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn clipped_pull(&self, theta: &Theta, lattice: &Lattice) -> Result<Vec<i128>, Error>;

    /// `sum_i floor(||X_i clamp(r_i, -B_i, B_i)||^2 / 2^shift)` at `theta`. Each row's term is between 0 and `gamma^2 / 2^shift`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn clipped_square(&self, theta: &Theta, lattice: &Lattice, shift: u32) -> Result<i128, Error>;

    /// How many rows are clipped at `theta`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<u64, Error>;

    /// `sum_i v_i v_i'` for the vectors `outer` describes.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn outer(&self, outer: &Outer<'_>) -> Result<Moments, Error>;

    /// The exact second moments `[X y]' [X y]`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn moments(&self) -> Result<Moments, Error>;

    /// For each level of the ladder, how many rows are above it. Needs no clip.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn counts(&self, ladder: &Ladder<'_>) -> Result<Vec<u64>, Error>;

    /// The same rows re-encoded through a released matrix, without a clip. Rows in memory take as much memory again.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error>;
}
