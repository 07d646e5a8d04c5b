//! Columns from Python: typed where something declares a type, else cell by cell.
#![allow(unsafe_code)] // The buffer protocol is made of pointers.

use std::{ptr::NonNull, sync::Arc};

use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, new_null_array,
    types::{ArrowPrimitiveType, Date32Type, Float64Type, Int32Type, Int64Type, UInt64Type},
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use pyo3::{
    buffer::{Element, PyBuffer},
    prelude::*,
    types::PyList,
};

use crate::{arrow, cells, failure::Kind};

/// A column: arrays of one type, one after another.
#[pyclass(name = "Column", module = "dplm._native", frozen)]
pub struct NativeColumn {
    data_type: DataType,
    arrays: Vec<ArrayRef>,
}

#[pymethods]
impl NativeColumn {
    /// Numbers: a buffer of `float64`, `int64` or `uint64`, shared where it is contiguous.
    /// `missing` has a byte for each, not 0 where there is none.
    #[staticmethod]
    #[pyo3(signature = (values, missing = None))]
    fn numbers(values: &Bound<'_, PyAny>, missing: Option<PyBuffer<u8>>) -> PyResult<NativeColumn> {
        let nulls = missing.map(|missing| nulls(values.py(), &missing)).transpose()?;
        if let Ok(floats) = PyBuffer::<f64>::get(values) {
            return typed::<Float64Type>(values.py(), floats, nulls);
        }
        if let Ok(integers) = PyBuffer::<i64>::get(values) {
            return typed::<Int64Type>(values.py(), integers, nulls);
        }
        typed::<UInt64Type>(values.py(), PyBuffer::get(values)?, nulls)
    }

    /// Booleans: a byte for each, 0 for false.
    #[staticmethod]
    #[pyo3(signature = (values, missing = None))]
    fn truths(py: Python<'_>, values: PyBuffer<u8>, missing: Option<PyBuffer<u8>>) -> PyResult<NativeColumn> {
        let nulls = missing.map(|missing| nulls(py, &missing)).transpose()?;
        let truths: BooleanBuffer = values.to_vec(py)?.into_iter().map(|byte| byte != 0).collect();
        same_length(truths.len(), nulls.as_ref())?;
        Ok(NativeColumn::of(Arc::new(BooleanArray::new(truths, nulls))))
    }

    /// Dates: the days after 1970-01-01 as a buffer of `int64`, and a byte for each, not 0 where
    /// there is none.
    #[staticmethod]
    fn days(py: Python<'_>, days: PyBuffer<i64>, missing: PyBuffer<u8>) -> PyResult<NativeColumn> {
        let (days, nulls) = (days.to_vec(py)?, nulls(py, &missing)?);
        same_length(days.len(), Some(&nulls))?;
        let day = |(day, is_there): (i64, bool)| i32::try_from(day).ok().filter(|_| is_there);
        let days: PrimitiveArray<Date32Type> = days.into_iter().zip(nulls.iter()).map(day).collect();
        Ok(NativeColumn::of(Arc::new(days)))
    }

    /// Objects of any kind, each read by itself.
    #[staticmethod]
    fn cells(cells: &Bound<'_, PyList>) -> PyResult<NativeColumn> {
        Ok(NativeColumn { data_type: cells::data_type(), arrays: cells::arrays(cells)? })
    }

    /// Texts, which something declares.
    #[staticmethod]
    fn texts(cells: &Bound<'_, PyList>) -> PyResult<NativeColumn> {
        Ok(NativeColumn::of(cells::texts(cells)?))
    }

    /// Categories, which are declared whatever they are called, and for each row the number of its
    /// category: a buffer of `int32`, below 0 where there is none.
    #[staticmethod]
    fn categories(codes: PyBuffer<i32>, categories: &Bound<'_, PyList>) -> PyResult<NativeColumn> {
        let keys = codes.to_vec(categories.py())?.into_iter().map(|code| (code >= 0).then_some(code));
        let keys: PrimitiveArray<Int32Type> = keys.collect();
        let coded = DictionaryArray::try_new(keys, cells::texts(categories)?)
            .map_err(|_| Kind::Data.because("a column of the data has a code without a category"))?;
        Ok(NativeColumn::of(Arc::new(coded)))
    }

    /// The only column of an Arrow table; its buffers are shared.
    #[staticmethod]
    fn arrow(table: &Bound<'_, PyAny>) -> PyResult<NativeColumn> {
        let (schema, batches) = arrow::imported(table)?;
        let data_type = schema.fields().first().ok_or_else(arrow::unreadable)?.data_type().clone();
        Ok(NativeColumn { data_type, arrays: batches.iter().map(|batch| batch.column(0).clone()).collect() })
    }

    /// Whether something declares texts or categories.
    #[getter]
    fn is_text(&self) -> bool {
        let of_cells = match &self.data_type {
            DataType::Dictionary(_, categories) => categories,
            of_cells => of_cells,
        };
        of_cells.is_string()
    }

    /// A column of a type that no model can use.
    #[staticmethod]
    fn unusable(rows: usize) -> NativeColumn {
        NativeColumn::of(new_null_array(&DataType::Binary, rows))
    }
}

impl NativeColumn {
    fn of(array: ArrayRef) -> NativeColumn {
        NativeColumn { data_type: array.data_type().clone(), arrays: vec![array] }
    }

    /// The type of every cell.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// How many cells there are.
    pub fn rows(&self) -> usize {
        self.arrays.iter().map(|array| array.len()).sum()
    }

    /// The rows at which its arrays end.
    pub fn ends(&self) -> impl Iterator<Item = usize> {
        self.arrays.iter().scan(0, |end, array| {
            *end += array.len();
            Some(*end)
        })
    }

    /// Rows from `start` on that all lie in the array that reaches `end` or beyond.
    pub fn slice(&self, start: usize, end: usize) -> ArrayRef {
        let (array, last) = self
            .arrays
            .iter()
            .zip(self.ends())
            .find(|(_, last)| *last >= end)
            .expect("the column reaches its last row");
        array.slice(start - (last - array.len()), end - start)
    }
}

fn typed<T>(py: Python<'_>, buffer: PyBuffer<T::Native>, nulls: Option<NullBuffer>) -> PyResult<NativeColumn>
where
    T: ArrowPrimitiveType<Native: Element + std::panic::RefUnwindSafe>,
{
    let values = values(py, buffer)?;
    same_length(values.len(), nulls.as_ref())?;
    Ok(NativeColumn::of(Arc::new(PrimitiveArray::<T>::new(values, nulls))))
}

fn nulls(py: Python<'_>, missing: &PyBuffer<u8>) -> PyResult<NullBuffer> {
    Ok(missing.to_vec(py)?.into_iter().map(|byte| byte == 0).collect::<Vec<bool>>().into())
}

fn same_length(values: usize, nulls: Option<&NullBuffer>) -> PyResult<()> {
    match nulls {
        Some(nulls) if nulls.len() != values => {
            Err(Kind::Data.because("a column of the data has a mask of another length"))
        }
        _ => Ok(()),
    }
}

/// The values of a buffer of one dimension: shared where they lie side by side, else copied.
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
            // SAFETY: `count` aligned numbers lie from `start` on, and the exporter keeps them
            // there until the buffer, which the allocation owns, is released.
            let bytes =
                unsafe { Buffer::from_custom_allocation(start.cast(), count * size_of::<T>(), Arc::new(buffer)) };
            Ok(ScalarBuffer::new(bytes, 0, count))
        }
        _ => Ok(buffer.to_vec(py)?.into()),
    }
}
