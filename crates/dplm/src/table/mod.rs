//! Rows from CSV, Parquet and Arrow files: columns in, blocks of cells out.

/// A block of rows: one entry per requested column, all of the same length.
pub struct Block {
    /// How many rows the block holds.
    pub rows: usize,
    /// The cells, in the order the columns were asked for.
    pub columns: Vec<Cells>,
}

/// The cells of one column in a [`Block`].
pub enum Cells {
    /// Numbers as written; NaN or infinite for a missing, unparsable or non-finite cell. Not yet clamped.
    Numbers(Vec<f64>),
    /// Indices into the column's levels (an unknown value is the reference, 0); [`MISSING`] for a missing cell.
    Levels(Vec<u32>),
}

/// The code of a missing cell in [`Cells::Levels`].
pub const MISSING: u32 = u32::MAX;

/// Why data could not be read. Never holds a cell's value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {}
