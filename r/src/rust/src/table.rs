//! Rows from R: files, data frames, and Arrow streams.
#![allow(unsafe_code)] // Vectors and streams are handed over by pointers.

use arrow_array::{ffi_stream::FFI_ArrowArrayStream, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use dplm::table::{read_stream, Dialect, Source};
use savvy::{ListSexp, Sexp, TypedSexp};

use crate::{
    column,
    failure::{Kind, Refusal},
    given::Given,
};

/// What messages call a table that came from R.
const NAME: &str = "the data";

/// The table that `r/R/data.R` describes: `files` and their `csv` dialect, `columns` and how many
/// `rows` they have, or a `stream`.
///
/// # Safety
/// Columns are shared: the table must not outlive the call that `described` is an argument of,
/// during which R keeps it.
pub unsafe fn source(described: ListSexp) -> Result<Source, Refusal> {
    let described = Given(described);
    if let Some(TypedSexp::ExternalPointer(pointer)) = described.get("stream") {
        // SAFETY: R has checked that the pointer is that of a stream; reading it leaves it marked
        // as released.
        let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.cast_mut_unchecked()) };
        let (schema, batches) = read_stream(stream).ok_or_else(unreadable)?;
        return Ok(Source::from_batches(schema, batches, NAME)?);
    }
    match described.get("columns") {
        // SAFETY: as promised.
        Some(TypedSexp::List(columns)) => unsafe { frame(&columns, described.whole("rows")?.unwrap_or(0)) },
        _ => opened(&described),
    }
}

fn opened(described: &Given) -> Result<Source, Refusal> {
    let dialect: Result<Dialect, _> = described.text("csv")?.map_or(Ok(Dialect::default()), str::parse);
    let dialect = dialect.map_err(|unknown| Kind::Request.because(unknown))?;
    Ok(Source::open_as(&described.texts("files")?, dialect)?)
}

/// # Safety
/// As [`source`].
unsafe fn frame(columns: &ListSexp, rows: usize) -> Result<Source, Refusal> {
    // SAFETY: as promised.
    let array = |cells: Sexp| unsafe { column::array(cells, rows) };
    let arrays: Vec<ArrayRef> = columns.values_iter().map(array).collect();
    let field = |(name, array): (&str, &ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let schema = SchemaRef::new(Schema::new(columns.names_iter().zip(&arrays).map(field).collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)
        .map_err(|_| Kind::Data.because("the columns of the data do not all have the same number of rows"))?;
    Ok(Source::from_batches(schema, vec![batch], NAME)?)
}

fn unreadable() -> Refusal {
    Kind::Data.because(
        "the Arrow stream of the data could not be read: one of its columns may be of a type that is not supported",
    )
}
