//! The way in for queries of other crates.
//!
//! A query of this crate claims what a proof beside it says. A query of another crate says what one
//! row adds to a sum, and of which [`Shape`] that term is. Here each term is held against its
//! shape, in exact integers, before it counts: the claim follows from the shape alone. All that a
//! query is trusted with is that its term is a function of the row.

use num_bigint::BigUint;

use super::Rows;
use crate::{
    Error,
    lattice::SecondMoments,
    privacy::{Neighbours, Sealed, Sensitive, Sensitivity},
};

/// What the term of a row is like, whatever the row holds; public. The numbers are below 2^63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A vector of at most this norm.
    Vector {
        /// The norm.
        norm: u128,
    },
    /// The same, without negative numbers.
    Nonnegative {
        /// The norm.
        norm: u128,
    },
    /// One number, from 0 to this.
    Number {
        /// The largest number.
        most: u128,
    },
}

/// Numbers of a term that are not 0, each with its place in the sum, in ascending order.
pub type Term = Vec<(usize, i64)>;

/// A sum over rows: what one row adds, as a function of its cells and of public numbers, and of
/// nothing else.
pub trait CustomQuery: Sync {
    /// How many numbers the sum has; public.
    fn len(&self, features: usize) -> usize;

    /// Whether the sum has no numbers.
    fn is_empty(&self, features: usize) -> bool {
        self.len(features) == 0
    }

    /// What the term of a row is like. A term of another shape counts as nothing.
    fn shape(&self) -> Shape;

    /// Adds the term of a row to an empty one. A row is its features and then its response: whole
    /// numbers of at most 2^19, in lattice units of a cell. Rows of zeros, as those with a missing
    /// cell are, are not asked about, and add nothing.
    fn term(&self, row: &[i64], term: &mut Term);
}

/// What queries of other crates may ask of rows on this machine.
pub trait CustomRows {
    /// The exact sum of the terms of all rows.
    ///
    /// # Guarantee
    /// The claim is that of the query's [`Shape`], which every term is held against.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn sum(&self, query: &dyn CustomQuery, neighbours: Neighbours) -> Result<Sensitive, Error>;

    /// The second moments `[X y]' [X y]` of each of `batches` batches. Row `i` of the table is in
    /// batch `i mod batches`, whatever it holds.
    ///
    /// # Errors
    /// When rows cannot be read.
    ///
    /// # Panics
    /// When the unit is a person, or these are the rows of a group: batches go by the place of a
    /// row in the table.
    fn batch_moments(&self, batches: usize) -> Result<Sealed<BatchMoments>, Error>;

    /// The rows of each of `batches` batches by themselves, in memory; they take as much memory
    /// again. Row `i` of the table is in batch `i mod batches`, whatever it holds.
    ///
    /// # Guarantee
    /// Batches compose in parallel: where the releases of each spend at most `rho`, all of them
    /// together are `rho`-zCDP, and `sqrt(2 rho)`-GDP where they are Gaussian. A row that is
    /// replaced, or zeroed out, keeps its place and so its batch, and each batch claims for its
    /// rows what a table does for its own; the answers of all others are the same in both tables,
    /// whatever they were asked after what was released before.
    ///
    /// # Errors
    /// When rows cannot be read.
    ///
    /// # Panics
    /// When the unit is a person, or these are the rows of a group: batches go by the place of a
    /// row in the table.
    fn batches(&self, batches: usize) -> Result<Vec<Box<dyn Rows>>, Error>;
}

/// The second moments of each of several batches.
///
/// # Guarantee
/// Which batch a row is in is public: whatever a row holds, it changes the moments of one batch,
/// for both relations between neighbours.
pub struct BatchMoments(pub Vec<SecondMoments>);

impl Shape {
    /// The square of how far a unit of `rows_in_unit` rows may move the sum of its terms.
    ///
    /// The terms of a unit add up to one of the same shape, `rows_in_unit` times as large. Vectors
    /// without negative numbers are at most `sqrt(2)` times their norm apart, since
    /// `||v - u||^2 = ||v||^2 + ||u||^2 - 2 v.u`.
    pub(super) fn claimed(self, rows_in_unit: u32, sensitivity: Sensitivity) -> BigUint {
        let of_unit = |most: u128| BigUint::from(most) * rows_in_unit;
        match self {
            Shape::Vector { norm } => sensitivity.of_vector_sum(&of_unit(norm).pow(2)),
            Shape::Nonnegative { norm } => sensitivity.of_nonnegative_sum(&of_unit(norm).pow(2)),
            Shape::Number { most } => sensitivity.of_number(&of_unit(most)),
        }
    }

    /// Whether a term is of this shape, for a sum of `len` numbers.
    pub(super) fn holds(self, term: &Term, len: usize) -> bool {
        let are_places = term.is_sorted_by(|one, next| one.0 < next.0) && term.last().is_none_or(|last| last.0 < len);
        let is_nonnegative = || term.iter().all(|(_, number)| *number >= 0);
        // Sums that saturate are too long for any norm below 2^63.
        let norm_sq =
            || term.iter().fold(0u128, |sum, (_, number)| sum.saturating_add(u128::from(number.unsigned_abs()).pow(2)));
        are_places
            && match self {
                Shape::Vector { norm } => norm_sq() <= norm * norm,
                Shape::Nonnegative { norm } => is_nonnegative() && norm_sq() <= norm * norm,
                Shape::Number { most } => len == 1 && is_nonnegative() && norm_sq() <= most * most,
            }
    }

    /// Stops a program whose sums might not fit: with at most 2^40 rows they are below 2^103.
    pub(super) fn must_fit(self) {
        let (Shape::Vector { norm: most } | Shape::Nonnegative { norm: most } | Shape::Number { most }) = self;
        assert!(most < 1 << 63, "terms are below 2^63");
    }
}
