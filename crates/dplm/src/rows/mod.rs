//! Where rows live.
//!
//! Encoded rows answer a handful of queries with exact integers, each sealed with how far one row,
//! or one person's rows, can move it. Exact sums make engines interchangeable: the same rows give
//! the same bits on each.

mod answer;
mod person;
mod held;
mod custom;
mod query;
mod region;
mod through;
mod store;
mod coarse;
mod screen;
mod clipped;
mod encoded;
mod memory;
mod batch;
mod file;
pub mod engine;
mod builder;
mod group;
mod usable;

pub use answer::{OuterProducts, OuterSum, Tail, TailCounts};
pub use builder::Builder;
pub use clipped::ClippedRows;
pub use custom::{BatchMoments, CustomQuery, CustomRows, Shape, Term};
pub use encoded::Encoded;
pub use engine::DeviceError;
pub(crate) use group::{GroupBuilder, group_sizes};
pub use memory::MemoryBuilder;
pub use person::{Persons, Together};
pub use through::Seen;
#[doc(hidden)]
pub use usable::{CellCounts, usable_units};

use crate::{
    Error,
    lattice::{Clip, Ladder, Outer, SecondMoments, Whitening},
    privacy::{Neighbours, NotPrivate},
};

/// What is publicly known of the gradients that will be asked for. It may change how long answers
/// take, but never the answers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedSteps {
    /// How many there will be.
    pub steps: u32,
    /// The step size `eta`.
    pub step_size: f64,
    /// The standard deviation `lambda` of the noise in each coordinate of each mean gradient, in
    /// standardised units.
    pub noise_sd: f64,
}

/// Rows encoded on the lattice, wherever they are kept.
///
/// Where the privacy unit is a person, "row" below means "person": a person contributes the sum
/// over their rows, clipped or shortened as a whole.
///
/// # Guarantee
/// A fit's queries are answered with [`Sensitive`](crate::privacy::Sensitive): integers that cannot
/// be read, with a claim made beside the bound that proves it for the relation between neighbours
/// that was passed in. What a custodian may see is [`NotPrivate`]. No other number computed from
/// rows is returned.
pub trait Rows: Sync {
    /// How many privacy units there are, rows or persons; public. If these are the units of one of
    /// several groups, the number that was stated for the group.
    fn count(&self) -> u64;

    /// The most rows of a person, if the unit is a person; public. The total number of rows is not
    /// public then.
    fn rows_in_unit(&self) -> Option<u32> {
        None
    }

    /// How many coefficients a row has; public.
    fn features(&self) -> usize;

    /// These rows with their gradients clipped: computes each row's bound `B_i`, unless the last
    /// clip was the same. A forecast says what
    /// [`negative_gradient_sum`](ClippedRows::negative_gradient_sum) will be asked for; an engine
    /// may ignore it.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn clipped(&mut self, clip: Clip, forecast: Option<ExpectedSteps>) -> Result<Box<dyn ClippedRows + '_>, Error>;

    /// `sum_i v_i v_i'` for the vectors that `outer` describes; the sum and its smallest eigenvalue
    /// can be asked for.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn outer_sum(&self, outer: &Outer<'_>, neighbours: Neighbours) -> Result<OuterSum, Error>;

    /// For each threshold of the ladder, how many rows are above it.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn tail_counts(&self, ladder: &Ladder<'_>, neighbours: Neighbours) -> Result<TailCounts, Error>;

    /// The entry for queries of other crates.
    ///
    /// # Errors
    /// When rows are on other machines, which answer the queries of this crate only.
    fn custom(&self) -> Result<&dyn CustomRows, Error>;

    /// The exact second moments `[X y]' [X y]`.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn moments(&self) -> Result<NotPrivate<SecondMoments>, Error>;

    /// The same rows re-encoded through a released matrix, not clipped. Rows in memory take as much
    /// memory again.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error>;

    /// The same rows re-encoded, for a caller who will ask nothing more of these: rows in memory
    /// that were given up are re-encoded in their place, and are gone here.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn whitened_at_last(&mut self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        self.whitened(whitening)
    }

    /// The same rows re-encoded, for questions about their lengths and second moments: these do not
    /// need the re-encoded rows to be kept.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn through<'a>(&'a self, whitening: &'a Whitening) -> Result<Box<dyn Seen + 'a>, Error> {
        Ok(Box::new(self.whitened(whitening)?))
    }
}
