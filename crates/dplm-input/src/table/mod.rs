//! Rows from CSV, Parquet and Arrow files, or from Arrow memory: columns in, blocks of cells out.
//!
//! [`Source::open`] finds the files and their columns; [`Source::for_each_block`] reads the wanted
//! columns, one block of rows at a time, any number of times. Every format gives the same blocks
//! for the same table.
//!
//! # Guarantee
//! A cell's value never leaves through an error: messages name a file, a column, or a line whose
//! *structure* is broken, and messages of the decoding libraries are never passed on.

#![cfg_attr(
    not(all(feature = "csv", feature = "parquet")),
    allow(dead_code, reason = "only the formats that are left out use it")
)]

mod error;
mod dialect;
mod spool;
mod bytes;
mod identifier;
mod cells;
mod projection;
mod format;
#[cfg(feature = "csv")]
mod csv;
#[cfg(feature = "arrow")]
mod inflate;
#[cfg(feature = "arrow")]
mod arrow;
#[cfg(feature = "parquet")]
mod parquet;
mod files;
mod source;

pub use crate::schema::{Field, Schema, SchemaError, Type};
#[cfg(feature = "arrow")]
pub use arrow::read_stream;
pub use dialect::{Delimiter, Dialect, UnknownDialect};
pub use error::DataError;
pub use files::{files_named, would_be_named};
pub use source::{ReadOptions, Source};

/// A block of rows: one entry per requested column, all of the same length.
pub struct Block {
    /// How many rows the block holds.
    pub rows: usize,
    /// The cells, in the order the columns were asked for.
    pub columns: Vec<Cells>,
}

/// The cells of one column in a [`Block`].
pub enum Cells {
    /// Numbers as written; NaN or infinite for a missing, unparsable or non-finite cell. Not yet
    /// clamped.
    Numbers(Vec<f64>),
    /// Indices into the column's levels; [`MISSING`] for a missing cell, and for an unlisted value.
    Levels(Vec<u32>),
}

impl Block {
    /// The same rows in fewer blocks, of at most `most_rows` rows unless they were larger before.
    fn joined(blocks: impl Iterator<Item = Block>, most_rows: usize) -> Vec<Block> {
        let mut joined: Vec<Block> = Vec::new();
        for block in blocks {
            match joined.last_mut().filter(|last| last.rows + block.rows <= most_rows) {
                Some(last) => last.append(block),
                None => joined.push(block),
            }
        }
        joined
    }

    /// Some of the rows, in the given order.
    pub fn only(&self, rows: &[usize]) -> Block {
        let of_column = |column: &Cells| match column {
            Cells::Numbers(cells) => Cells::Numbers(rows.iter().map(|&row| cells[row]).collect()),
            Cells::Levels(codes) => Cells::Levels(rows.iter().map(|&row| codes[row]).collect()),
        };
        Block { rows: rows.len(), columns: self.columns.iter().map(of_column).collect() }
    }

    /// Appends rows.
    pub fn append(&mut self, other: Block) {
        self.rows += other.rows;
        for pair in self.columns.iter_mut().zip(other.columns) {
            match pair {
                (Cells::Numbers(mine), Cells::Numbers(theirs)) => mine.extend(theirs),
                (Cells::Levels(mine), Cells::Levels(theirs)) => mine.extend(theirs),
                _ => unreachable!("blocks of one table have the same columns"),
            }
        }
    }
}

/// The code of a missing cell in [`Cells::Levels`].
pub const MISSING: u32 = u32::MAX;

/// Shared by the tests of the formats.
#[cfg(all(test, feature = "csv", feature = "parquet"))]
mod kit;
#[cfg(all(test, feature = "csv", feature = "parquet"))]
mod tests;
