//! Rows from Python: files, Arrow streams, and columns.

use std::collections::BTreeSet;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use dplm::{
    Progress,
    formula::{Column, Kind as Facts},
    table::{Cells, DataError, Dialect, ReadOptions, Source, Type},
};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    arrow,
    column::NativeColumn,
    failure::{Kind, OrRaise},
    work,
};

/// What messages call a table that came from Python.
const NAME: &str = "the data";

/// A table: the library's own source of rows.
#[pyclass(name = "Table", module = "dplm._native", frozen)]
pub struct NativeTable {
    source: Source,
}

impl NativeTable {
    /// The rows.
    pub fn source(&self) -> &Source {
        &self.source
    }
}

impl From<Source> for NativeTable {
    fn from(source: Source) -> NativeTable {
        NativeTable { source }
    }
}

#[pymethods]
impl NativeTable {
    /// Files, folders and patterns, as on the command line; `csv` says how text is written.
    #[staticmethod]
    #[pyo3(signature = (paths, csv=None))]
    fn open(py: Python<'_>, paths: Vec<String>, csv: Option<&str>) -> PyResult<NativeTable> {
        let dialect: Result<Dialect, _> = csv.map_or(Ok(Dialect::default()), str::parse);
        let dialect = dialect.map_err(|unknown| Kind::Request.because(unknown))?;
        Ok(py.detach(|| Source::open_as(&paths, dialect)).or_raise()?.into())
    }

    /// Anything with `__arrow_c_stream__`; its buffers are shared, not copied.
    #[staticmethod]
    fn from_arrow(data: &Bound<'_, PyAny>) -> PyResult<NativeTable> {
        let (schema, batches) = arrow::imported(data)?;
        Ok(Source::from_batches(schema, batches, NAME).or_raise()?.into())
    }

    /// Columns by name.
    #[staticmethod]
    fn from_columns(columns: Vec<(String, PyRef<'_, NativeColumn>)>) -> PyResult<NativeTable> {
        let field =
            |(name, column): &(String, PyRef<'_, NativeColumn>)| Field::new(name, column.data_type().clone(), true);
        let schema = SchemaRef::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let columns: Vec<&NativeColumn> = columns.iter().map(|(_, column)| &**column).collect();
        let batches = batches(&schema, &columns)
            .ok_or_else(|| Kind::Data.because("the columns of the data do not all have the same number of rows"))?;
        Ok(Source::from_batches(schema, batches, NAME).or_raise()?.into())
    }

    /// Every column as numbers, one column after another in the machine's byte order, for the
    /// estimator, whose rows are an array. Cells are read as in a fit; those that say no number are
    /// not-a-number.
    fn numbers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let columns: Vec<Column> =
            self.names().into_iter().map(|name| Column { name, kind: Facts::Standard }).collect();
        let numbers = work::run(py, None, None, |signals| {
            let mut numbers = vec![Vec::new(); columns.len()];
            let reading = |done, total| signals.reading(done, total);
            let options = ReadOptions { progress: Progress::new(&reading), ..ReadOptions::default() };
            self.source.for_each_block(&columns, &options, &mut |block| {
                for (numbers, cells) in numbers.iter_mut().zip(block.columns) {
                    if let Cells::Numbers(cells) = cells {
                        numbers.extend(cells.into_iter().flat_map(f64::to_ne_bytes));
                    }
                }
                Ok::<(), DataError>(())
            })?;
            Ok(numbers.concat())
        })?;
        Ok(PyBytes::new(py, &numbers))
    }

    /// The names of the columns that are declared as texts.
    #[getter]
    fn texts(&self) -> Vec<String> {
        let fields = self.source.schema().fields().iter();
        fields.filter(|field| field.kind == Type::Text).map(|field| field.name.clone()).collect()
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.source.schema().names().map(str::to_owned).collect()
    }
}

/// Batches of rows, cut wherever an array of a column ends; `None` if the columns are not of the
/// same length.
fn batches(schema: &SchemaRef, columns: &[&NativeColumn]) -> Option<Vec<RecordBatch>> {
    let rows = columns.first().map_or(0, |column| column.rows());
    if columns.iter().any(|column| column.rows() != rows) {
        return None;
    }
    let ends: BTreeSet<usize> = columns.iter().flat_map(|column| column.ends()).filter(|&end| end > 0).collect();
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let batch = |(start, end): (usize, usize)| {
        let cells: Vec<ArrayRef> = columns.iter().map(|column| column.slice(start, end)).collect();
        RecordBatch::try_new(schema.clone(), cells).ok()
    };
    starts.zip(ends.iter().copied()).map(batch).collect()
}
