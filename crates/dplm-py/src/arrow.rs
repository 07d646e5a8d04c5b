//! Arrow's C data interface, by which other libraries hand over tables and columns and take them.
#![allow(unsafe_code)] // It is made of pointers.

use arrow_array::{RecordBatch, RecordBatchIterator, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::SchemaRef;
use dplm::table::read_stream;
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods},
};

use crate::failure::Kind;

/// The name that the Arrow PyCapsule interface gives to streams.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

/// The table of whatever has `__arrow_c_stream__`, its buffers shared.
pub fn imported(data: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let stream = stream(data)?;
    data.py().detach(|| read_stream(stream)).ok_or_else(unreadable)
}

fn stream(data: &Bound<'_, PyAny>) -> PyResult<FFI_ArrowArrayStream> {
    let capsule = data.call_method0("__arrow_c_stream__").map_err(|_| unreadable())?;
    let pointer = capsule.cast::<PyCapsule>().ok().and_then(|capsule| capsule.pointer_checked(Some(STREAM)).ok());
    let pointer = pointer.ok_or_else(unreadable)?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream (the Arrow PyCapsule interface); reading it
    // leaves it marked as released.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
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
