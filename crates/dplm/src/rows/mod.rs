//! Where rows live.
//!
//! An engine answers a handful of queries with exact integers, each sealed with how far one row, or one person's rows, can move it. Exact sums make engines
//! interchangeable: the same rows give the same bits on each.

mod answer;
mod batch;
mod bin;
mod person;
mod store;
mod query;
mod region;
mod through;
mod coarse;
mod screen;
mod engine;
mod memory;
mod file;
mod remote;
mod device;
mod group;
mod usable;

pub use answer::{OuterSum, TailCounts};
pub use batch::{BatchFits, Batching};
pub use bin::{BinSums, Bins};
pub use device::DeviceError;
#[cfg(feature = "cuda")]
pub use device::{Card, DeviceRows};
pub use engine::Engine;
pub use file::{Builder, Encoded, FileRows};
pub(crate) use group::{GroupBuilder, group_sizes};
pub use memory::{MemoryBuilder, MemoryRows};
pub use person::Persons;
#[doc(hidden)]
pub use remote::sealed;
pub use remote::{
    Answering, BlockId, Executor, Packed, Packer, RemoteError, RemoteRows, answer, most_rows, most_rows_of_person, pack,
};
pub use through::Seen;
#[doc(hidden)]
pub use usable::{CellCounts, usable_units};

use crate::{
    Error,
    lattice::{Clip, Ladder, Lattice, Moments, Outer, Separate, Theta, Whitening},
    privacy::{Neighbours, NotPrivate, Sensitive},
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
/// Where the privacy unit is a person, "row" below is to be read as "person": a person contributes the sum over their rows, clipped or
/// shortened as a whole.
///
/// # Guarantee
/// What a fit may ask is answered with [`Sensitive`]: integers that cannot be read, with a claim made beside the bound that proves it
/// for the relation between neighbours that was handed in. What a custodian may see is [`NotPrivate`]. No other number computed from rows
/// comes out, and nothing else of the rows can be asked.
pub trait Rows: Sync {
    /// How many privacy units there are, rows or persons; public. Where these are the units of one of several groups, how many there are said to be.
    fn count(&self) -> u64;

    /// Where the unit is a person, the most rows that one has; public. How many rows there are in all is not.
    fn rows_in_unit(&self) -> Option<u32> {
        None
    }

    /// How many coefficients a row has; public.
    fn features(&self) -> usize;

    /// Fixes the clip: computes each row's bound `B_i`. Later questions use it.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn set_clip(&mut self, clip: Clip) -> Result<(), Error>;

    /// Says what [`negative_gradient_sum`](Self::negative_gradient_sum) will be asked for, after the clip is set. An engine need not listen.
    fn expect(&mut self, _forecast: Forecast) {}

    /// `sum_i X_i clamp(r_i, -B_i, B_i)` at `theta`: minus the sum of clipped gradients.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn negative_gradient_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error>;

    /// `sum_i floor(||X_i clamp(r_i, -B_i, B_i)||^2 / 2^shift)` at `theta`, with the shift of [`Clip::square_shift`].
    ///
    /// # Errors
    /// When rows cannot be read.
    fn clipped_square_sum(&self, theta: &Theta, lattice: &Lattice, neighbours: Neighbours) -> Result<Sensitive, Error>;

    /// `sum_i w_i X_i clamp(r_i)` at `theta`, the row and its residual bounded each by itself. Needs no clip.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn separate_gradient_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        bounds: &Separate,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error>;

    /// `sum_i floor(||w_i X_i clamp(r_i)||^2 / 2^shift)` at `theta`, with the shift of [`Separate::square_shift`]. Needs no clip.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn separate_square_sum(
        &self,
        theta: &Theta,
        lattice: &Lattice,
        bounds: &Separate,
        neighbours: Neighbours,
    ) -> Result<Sensitive, Error>;

    /// `sum_i v_i v_i'` for the vectors `outer` describes, ready to be asked for itself and for its least eigenvalue.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn outer_sum(&self, outer: &Outer<'_>, neighbours: Neighbours) -> Result<OuterSum, Error>;

    /// For each threshold of the ladder, how many rows are above it. Needs no clip.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn tail_counts(&self, ladder: &Ladder<'_>, neighbours: Neighbours) -> Result<TailCounts, Error>;

    /// What is read off least squares on each of many batches of rows. Needs no clip.
    ///
    /// # Errors
    /// When rows cannot be read, or are on other machines.
    ///
    /// # Panics
    /// When the unit is a person, or these are the rows of a group: batches go by the place of a row in the table.
    fn batch_fits(&self, batching: &Batching, neighbours: Neighbours) -> Result<BatchFits, Error>;

    /// The rows of each of so many batches by themselves, in memory; they take as much again. Row `i` of the table is in batch `i mod batches`, whatever it
    /// holds.
    ///
    /// # Guarantee
    /// Batches compose in parallel: where the releases of each spend at most `rho`, all of them together are `rho`-zCDP, and `sqrt(2 rho)`-GDP where they are
    /// Gaussian. A row that is replaced, or zeroed out, keeps its place and so its batch, and each batch claims for its rows what a table does for its own; the
    /// answers of all others are the same in both tables, whatever they were asked after what was released before.
    ///
    /// # Errors
    /// When rows cannot be read, or are on other machines.
    ///
    /// # Panics
    /// When the unit is a person, or these are the rows of a group: batches go by the place of a row in the table.
    fn batches(&self, batches: usize) -> Result<Vec<Box<dyn Rows>>, Error>;

    /// How many rows are in each bin of a partition, and the sums of their features and responses, each row shortened to a norm of at most `radius`, in
    /// lattice units of a cell. Needs no clip.
    ///
    /// # Errors
    /// When rows cannot be read, or are on other machines.
    ///
    /// # Panics
    /// When the unit is a person.
    fn bin_sums(&self, bins: &Bins, radius: u64, neighbours: Neighbours) -> Result<BinSums, Error>;

    /// How many rows are clipped at `theta`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<NotPrivate<u64>, Error>;

    /// The exact second moments `[X y]' [X y]`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn moments(&self) -> Result<NotPrivate<Moments>, Error>;

    /// The same rows re-encoded through a released matrix, without a clip. Rows in memory take as much memory again.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error>;

    /// The same rows re-encoded, where nothing will be asked of these any more: rows in memory that were given up are re-encoded in their place, and are gone here.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn whitened_at_last(&mut self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        self.whitened(whitening)
    }

    /// The same rows re-encoded, for questions about their lengths and second moments: what they become need not be kept for these.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn through<'a>(&'a self, whitening: &'a Whitening) -> Result<Box<dyn Seen + 'a>, Error> {
        Ok(Box::new(self.whitened(whitening)?))
    }
}
