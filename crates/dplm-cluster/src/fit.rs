//! A fit of rows on other machines: how they are packed for it, and its data.

use std::sync::Arc;

use dplm::{CheckedFit, Data, Error, Person, RunOptions, formula::By, formula::Column, table::Schema};

use crate::{Executor, Packer, open, open_groups};

/// Packs a part of a table for a fit of rows that stay on other machines, and the columns that it
/// wants.
///
/// # Errors
/// When columns are missing, or persons may have more rows than can be packed.
pub fn packer(fit: &CheckedFit, schema: &Schema, part: u32) -> Result<(Packer, Vec<Column>), Error> {
    let design = fit.design(schema)?;
    let columns = design.columns().iter().cloned().chain(fit.by().map(By::column)).collect();
    let groups = fit.by().map(|by| by.levels().len());
    Ok((Packer::new(design, part, groups, fit.person())?, columns))
}

/// The data of a fit whose rows were packed by [`packer`]; `schema` is what the table declares.
///
/// # Errors
/// When columns are missing, or the rows cannot be asked.
pub fn data(fit: &CheckedFit, executor: Arc<dyn Executor>, schema: &Schema, run: &RunOptions) -> Result<Data, Error> {
    let (features, memory) = (fit.design(schema)?.kept_features(), run.memory.map(|bytes| bytes.0));
    let rows_in_unit = fit.person().map(Person::most_rows);
    let rows = match fit.by() {
        None => {
            let rows = open(executor, features, rows_in_unit, memory)?;
            let units = dplm::rows::Rows::count(&rows);
            (vec![rows], units)
        }
        Some(by) => open_groups(executor, features, by.levels().len(), rows_in_unit, memory)?,
    };
    fit.elsewhere(rows, schema, run)
}
