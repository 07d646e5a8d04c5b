//! Rows from Python: files, Arrow streams, and columns of numbers or texts.
#![allow(unsafe_code)] // The Arrow C data interface and the buffer protocol are pointers.

use std::{ptr::NonNull, sync::Arc};

use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, RecordBatchIterator, RecordBatchReader,
    StringArray,
    ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader},
    types::{Float64Type, Int64Type},
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{Field, Schema, SchemaRef};
use dplm::table::Source;
use pyo3::{
    buffer::{Element, PyBuffer},
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods},
};

use crate::failure::{Kind, OrRaise};

/// What messages call a table that came from Python.
const NAME: &str = "the data";

/// The name that the Arrow PyCapsule interface gives to streams.
const STREAM: &std::ffi::CStr = c"arrow_array_stream";

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

#[pymethods]
impl NativeTable {
    /// Files, folders and patterns, as on the command line.
    #[staticmethod]
    fn open(py: Python<'_>, paths: Vec<String>) -> PyResult<NativeTable> {
        let source = py.detach(|| Source::open(&paths)).or_raise()?;
        Ok(NativeTable { source })
    }

    /// Anything with `__arrow_c_stream__`; its buffers are shared, not copied.
    #[staticmethod]
    fn from_arrow(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<NativeTable> {
        let capsule = data.call_method0("__arrow_c_stream__")?;
        let stream = taken(capsule.cast::<PyCapsule>()?)?;
        let source = py.detach(|| {
            let reader = RecordBatchStreamReader::try_new(stream).ok()?;
            let schema = reader.schema();
            let batches = reader.collect::<Result<Vec<_>, _>>().ok()?;
            Some(Source::from_batches(schema, batches, NAME))
        });
        // The exporter's own words are not passed on, since they may hold cells.
        let source = source.ok_or_else(|| Kind::Data.because("the Arrow stream of the data could not be read"))?;
        Ok(NativeTable { source: source.or_raise()? })
    }

    /// Columns by name: buffers of `float64` or `int64`, shared where they are contiguous, or lists.
    #[staticmethod]
    fn from_columns(columns: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<NativeTable> {
        let arrays = columns.iter().map(|(name, cells)| array(name, cells)).collect::<PyResult<Vec<ArrayRef>>>()?;
        let field = |((name, _), array): (&(String, Bound<'_, PyAny>), &ArrayRef)| {
            Field::new(name, array.data_type().clone(), true)
        };
        let schema = SchemaRef::new(Schema::new(columns.iter().zip(&arrays).map(field).collect::<Vec<_>>()));
        let batch = RecordBatch::try_new(schema.clone(), arrays)
            .map_err(|_| Kind::Data.because("the columns of the data do not all have the same number of rows"))?;
        Ok(NativeTable { source: Source::from_batches(schema, vec![batch], NAME).or_raise()? })
    }

    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.source.schema().names().map(str::to_owned).collect()
    }
}

/// Takes the stream out of a capsule, which is left empty.
fn taken(capsule: &Bound<'_, PyCapsule>) -> PyResult<FFI_ArrowArrayStream> {
    let pointer = capsule.pointer_checked(Some(STREAM))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a stream (the Arrow PyCapsule interface); reading it marks it as released.
    Ok(unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr()) })
}

/// One batch as a stream for other libraries.
pub fn exported<'py>(py: Python<'py>, batch: &RecordBatch) -> PyResult<Bound<'py, PyCapsule>> {
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
}

/// A column as an Arrow array.
fn array(name: &str, cells: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(buffer) = PyBuffer::<f64>::get(cells) {
        return Ok(Arc::new(PrimitiveArray::<Float64Type>::new(values(cells.py(), buffer)?, None)));
    }
    if let Ok(buffer) = PyBuffer::<i64>::get(cells) {
        return Ok(Arc::new(PrimitiveArray::<Int64Type>::new(values(cells.py(), buffer)?, None)));
    }
    listed(cells).ok_or_else(|| {
        Kind::Data.because(format!("column '{name}' holds neither numbers, texts nor truth values: convert it first"))
    })
}

/// A list of one kind of cell, `None` where there is none.
fn listed(cells: &Bound<'_, PyAny>) -> Option<ArrayRef> {
    if let Ok(cells) = cells.extract::<Vec<Option<bool>>>() {
        return Some(Arc::new(BooleanArray::from(cells)));
    }
    if let Ok(cells) = cells.extract::<Vec<Option<i64>>>() {
        return Some(Arc::new(Int64Array::from(cells)));
    }
    if let Ok(cells) = cells.extract::<Vec<Option<f64>>>() {
        return Some(Arc::new(PrimitiveArray::<Float64Type>::from(cells)));
    }
    let texts = cells.extract::<Vec<Option<String>>>().ok()?;
    Some(Arc::new(StringArray::from(texts)))
}

/// The numbers of a buffer of one dimension: shared where they lie side by side, else copied.
fn values<T>(py: Python<'_>, buffer: PyBuffer<T>) -> PyResult<ScalarBuffer<T>>
where
    T: Element + arrow_buffer::ArrowNativeType + std::panic::RefUnwindSafe,
{
    if buffer.dimensions() != 1 {
        return Err(Kind::Data.because("a column of the data has more than one dimension"));
    }
    let count = buffer.item_count();
    let start = NonNull::new(buffer.buf_ptr().cast::<T>()).filter(|start| start.is_aligned());
    match start {
        Some(start) if count > 0 && buffer.is_c_contiguous() => {
            // SAFETY: `count` aligned numbers lie from `start` on, and the exporter keeps them there until the buffer, which the
            // allocation owns, is released.
            let bytes =
                unsafe { Buffer::from_custom_allocation(start.cast(), count * size_of::<T>(), Arc::new(buffer)) };
            Ok(ScalarBuffer::new(bytes, 0, count))
        }
        _ => Ok(buffer.to_vec(py)?.into()),
    }
}
