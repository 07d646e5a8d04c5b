//! Looking at the rows: what a custodian may see and nobody may publish.
//!
//! Everything here is [`NotPrivate`] by type.

mod ols;

pub use ols::{Ols, OlsError, OlsFit};

use crate::{
    Error,
    descend::Descent,
    formula::{Column, Kind, Model},
    lattice::{BLOCK_ROWS, CELL_SCALE_BITS},
    privacy::NotPrivate,
    rows::Encoded,
    table::{Block, Cells, DataError, MISSING, ReadOptions, Source},
};

/// Encoded rows, seen in the clear.
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

    /// The rows as the descent sees them. A row with a missing cell is all zeros.
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

    /// The share of rows that the descent clips at `theta`, in standardised units.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn clipped_fraction(&mut self, theta: &[f64], descent: &Descent) -> Result<NotPrivate<f64>, Error> {
        let lattice = descent.lattice();
        let rows = self.rows.rows_mut();
        rows.set_clip(descent.clip())?;
        let clipped = rows.clipped_count(&lattice.theta(theta), lattice)?.into_inner();
        Ok(NotPrivate::new(clipped as f64 / rows.count() as f64))
    }
}

/// Ordinary least squares on the cells as written, rows with a missing cell left out, as `lm` does.
///
/// # Errors
/// When the table cannot be read, or the columns do not determine the coefficients.
pub fn least_squares(source: &Source, model: &Model, options: &ReadOptions<'_>) -> Result<NotPrivate<OlsFit>, Error> {
    let width = model.coefficient_names().len();
    let mut ols = Ols::new(width);
    if model.intercept {
        ols = ols.constant_column(0);
    }
    let mut failed = None;
    source.for_each_block(&model.columns(), options, &mut |block| {
        let (x, y) = complete_rows(&block, model);
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

fn complete_rows(block: &Block, model: &Model) -> (Vec<f64>, Vec<f64>) {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for row in (0..block.rows).filter(|&row| is_complete(block, row)) {
        x.extend(model.intercept.then_some(1.0));
        for (column, cells) in model.features.iter().zip(&block.columns[1..]) {
            extend_row(&mut x, column, cells, row);
        }
        y.push(number(&block.columns[0], row));
    }
    (x, y)
}

fn is_complete(block: &Block, row: usize) -> bool {
    block.columns.iter().all(|cells| match cells {
        Cells::Numbers(numbers) => numbers[row].is_finite(),
        Cells::Levels(codes) => codes[row] != MISSING,
    })
}

fn extend_row(x: &mut Vec<f64>, column: &Column, cells: &Cells, row: usize) {
    match (&column.kind, cells) {
        (Kind::Levels(levels), Cells::Levels(codes)) => {
            x.extend((1..levels.len() as u32).map(|level| f64::from(u8::from(codes[row] == level))));
        }
        _ => x.push(number(cells, row)),
    }
}

fn number(cells: &Cells, row: usize) -> f64 {
    match cells {
        Cells::Numbers(numbers) => numbers[row],
        Cells::Levels(codes) => f64::from(codes[row]),
    }
}
