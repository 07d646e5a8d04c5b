//! Results computed from the rows in the clear: a custodian may see them, but must not publish
//! them.
//!
//! Everything here is [`NotPrivate`] by type.

mod ols;
mod persons;
mod moments;

pub use moments::moments;
pub use ols::{Ols, OlsError, OlsFit};
pub use persons::least_squares_of_persons;

use crate::{
    Error,
    descend::Descent,
    formula::Model,
    lattice::{BLOCK_ROWS, CELL_SCALE_BITS, Design},
    method::ConfigError,
    privacy::NotPrivate,
    rows::{Encoded, Rows},
    table::{DataError, ReadOptions, Source},
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

/// Refuses models that are not least squares.
fn check_instrument(model: &Model) -> Result<(), ConfigError> {
    match model.endogenous() {
        None => Ok(()),
        Some(_) => Err(ConfigError::WithInstrument { what: "diagnosis" }),
    }
}

/// Ordinary least squares on the cells as written, without rows with a missing cell, as `lm` does.
///
/// # Errors
/// When the table cannot be read, or the columns do not determine the coefficients.
pub fn least_squares(source: &Source, model: &Model, options: &ReadOptions<'_>) -> Result<NotPrivate<OlsFit>, Error> {
    check_instrument(model)?;
    let design = Design::new(model);
    let mut ols = Ols::new(design.features());
    if model.intercept() {
        ols = ols.constant_column(0);
    }
    let mut failed = None;
    source.for_each_block(design.columns(), options, &mut |block| {
        let rows = (0..block.rows).filter_map(|row| design.row_as_written(&block, row));
        let (x, y): (Vec<Vec<f64>>, Vec<f64>) = rows.unzip();
        let x = x.concat();
        if failed.is_none() {
            failed = ols.push(&x, &y).err();
        }
        Ok::<(), DataError>(())
    })?;
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(NotPrivate::new(ols.finish()?)),
    }
}
