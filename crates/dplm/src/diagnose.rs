//! Encoded rows without noise: a custodian may see them, but must not publish them.
//!
//! Everything here is [`NotPrivate`] by type. Results that are computed from rows without noise,
//! such as least squares, are in the crate `dplm-theory`.

use crate::{
    Error,
    descend::Descent,
    lattice::{BLOCK_ROWS, CELL_SCALE_BITS},
    privacy::NotPrivate,
    rows::{Encoded, Rows},
};

/// Encoded rows, in the clear.
pub struct View<'a> {
    rows: &'a mut Encoded,
}

/// Rows in the clear, in standardised units: `x` row by row, and `y`.
pub struct StandardisedRows {
    /// `x[i * p + j]` is row i, coefficient j.
    pub x: Vec<f64>,
    /// The responses.
    pub y: Vec<f64>,
}

impl<'a> View<'a> {
    pub(crate) fn new(rows: &'a mut Encoded) -> View<'a> {
        View { rows }
    }

    /// The rows as the descent sees them. A row with a missing cell is all zeros; when persons
    /// are protected, padding rows of zeros stand between the others.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn standardised_rows(&self) -> Result<NotPrivate<StandardisedRows>, Error> {
        let unit = f64::from(CELL_SCALE_BITS).exp2();
        let mut rows = StandardisedRows { x: Vec::new(), y: Vec::new() };
        self.rows.for_each_block(&mut |block, count| {
            let columns: Vec<&[f32; BLOCK_ROWS]> = block.columns().collect();
            for row in 0..count {
                rows.x.extend(columns.iter().map(|column| f64::from(column[row]) / unit));
                rows.y.push(f64::from(block.response()[row]) / unit);
            }
        })?;
        Ok(NotPrivate::new(rows))
    }

    /// The share of rows, or of persons, that the descent clips at `theta`, in standardised units.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn clipped_fraction(&mut self, theta: &[f64], descent: &Descent) -> Result<NotPrivate<f64>, Error> {
        let lattice = descent.lattice();
        let rows = self.rows.clipped(descent.clip(), None)?;
        let clipped = rows.clipped_count(&lattice.theta(theta), lattice)?.into_inner();
        Ok(NotPrivate::new(clipped as f64 / rows.count() as f64))
    }
}
