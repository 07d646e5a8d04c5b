//! Least squares and moments of a table without privacy: a custodian may see them, but must not
//! publish them.

mod ols;
mod persons;
mod moments;

pub use moments::moments;
pub use ols::{Ols, OlsError, OlsFit};
pub use persons::least_squares_of_persons;

use dplm::{
    Design, Error,
    formula::Model,
    method::ConfigError,
    privacy::NotPrivate,
    table::{DataError, ReadOptions, Source},
};

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
