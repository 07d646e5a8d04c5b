//! Arrow's C data interface, by which other libraries hand over tables and columns and take them.
#![allow(unsafe_code)] // It is made of pointers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{
    Array, ArrayReader, ArrayRef, RecordBatch, RecordBatchIterator, RecordBatchOptions,
    cast::AsArray,
    ffi_stream::{ArrayStreamReader, FFI_ArrowArrayStream},
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods},
};

use crate::{failure::Kind, sound::sound};

/// The name that the Arrow PyCapsule interface gives to streams.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// The table of whatever has `__arrow_c_stream__`, its buffers shared: any column may have missing cells, whatever the exporter declares.
pub fn imported(data: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let stream = stream(data)?;
    // The import panics on some of what no exporter should hand over.
    let read = || catch_unwind(AssertUnwindSafe(|| table(stream))).ok().flatten();
    data.py().detach(read).ok_or_else(unreadable)
}

fn stream(data: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = data.call_method0("__arrow_c_stream__").map_err(|_| unreadable())?;
    let pointer = capsule.cast::<PyCapsule>().ok().and_then(|capsule| capsule.pointer_checked(Some(STREAM)).ok());
    let pointer = pointer.ok_or_else(unreadable)?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream (the Arrow PyCapsule interface); reading it leaves it marked as released.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
}

fn table(stream: FFI_ArrowArrayStream) -> Option<(SchemaRef, Vec<RecordBatch>)> {
    let reader = ArrayStreamReader::try_new(stream).ok()?;
    let DataType::Struct(fields) = reader.field().data_type() else { return None };
    let nullable = |field: &Field| field.clone().with_nullable(true);
    let schema = SchemaRef::new(Schema::new(fields.iter().map(|field| nullable(field)).collect::<Vec<_>>()));
    let batches = reader.map(|rows| batch(&schema, &rows.ok()?)).collect::<Option<_>>()?;
    Some((schema, batches))
}

fn batch(schema: &SchemaRef, rows: &ArrayRef) -> Option<RecordBatch> {
    let columns = rows.as_struct_opt()?.columns().iter().map(sound).collect::<Option<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).ok()
}

/// The refusal of a stream. The exporter's own words are not passed on, since they may hold cells.
pub fn unreadable() -> PyErr {
    Kind::Data.because(
        "the Arrow stream of the data could not be read: one of its columns may be of a type that is not supported",
    )
}

/// One batch as a stream for other libraries.
pub fn exported<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}
