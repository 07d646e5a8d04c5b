//! Rows in the clear, for the package's own tests: what one person's row may never change.

use dplm::{Dataset, NoiseSource, Progress};
use pyo3::prelude::*;

use crate::{
    failure::OrRaise,
    request::{Asked, Keywords},
    table::NativeTable,
};

/// What a fit would work on. It is read from rows without noise: never for publication.
#[pyclass(name = "NotPrivate", module = "dplm._native", frozen, get_all)]
pub struct NotPrivate {
    /// The columns of the table: each with its name and its type in words.
    schema: Vec<(String, String)>,
    /// What the fit would cost and how it would go about it, in words.
    plan: String,
    /// The rows as they are encoded, the response first.
    rows: Vec<Vec<f64>>,
}

/// Reads a table and plans a fit as [`fit`](crate::fit::fit) does; nothing is spent.
#[pyfunction]
pub fn encoded(table: &NativeTable, said: Keywords) -> PyResult<NotPrivate> {
    let Asked { fit, run, .. } = said.fit()?;
    let fields = table.source().schema().fields().iter();
    let schema = fields.map(|field| (field.name.clone(), format!("{:?}", field.kind))).collect();
    let mut dataset = Dataset::read(table.source(), fit.formula(), &fit.reading(&run, Progress::NONE)).or_raise()?;
    let plan = format!("{:?}", dataset.prepare(fit.method(), NoiseSource::System).or_raise()?.charge());
    let rows = dataset.not_private().standardised_rows().or_raise()?.into_inner();
    let width = rows.x.len() / rows.y.len();
    let row = |(y, x): (&f64, &[f64])| std::iter::once(*y).chain(x.iter().copied()).collect();
    Ok(NotPrivate { schema, plan, rows: rows.y.iter().zip(rows.x.chunks(width)).map(row).collect() })
}
