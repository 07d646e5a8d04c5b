//! Columns of data frames as Arrow's arrays.
//!
//! # Guarantee
//! What a cell becomes depends on that cell alone. A vector's type declares that of every cell;
//! factors are texts.
#![allow(unsafe_code)] // R's vectors are shared by pointers.

use std::{ptr::NonNull, sync::Arc};

use arrow_array::{
    new_null_array, types::Int32Type, ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float64Array, Int32Array,
    Int64Array, LargeStringArray, PrimitiveArray,
};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::DataType;
use savvy::{IntegerSexp, NotAvailableValue, RealSexp, Sexp, StringSexp, TypedSexp};

/// The cells of a vector; of a type that no model can use where it is no column.
///
/// # Safety
/// Numbers are shared: the vector must live as long as the array.
pub unsafe fn array(cells: Sexp, rows: usize) -> ArrayRef {
    let class = cells.get_class().unwrap_or_default();
    let is = |name: &str| class.contains(&name);
    match cells.into_typed() {
        TypedSexp::Integer(codes) if is("factor") => categories(&codes),
        TypedSexp::Integer(integers) => Arc::new(integers.as_slice().iter().map(present).collect::<Int32Array>()),
        TypedSexp::Real(days) if is("Date") => Arc::new(days.as_slice().iter().map(day).collect::<Date32Array>()),
        TypedSexp::Real(integers) if is("integer64") => {
            Arc::new(integers.as_slice().iter().map(integer64).collect::<Int64Array>())
        }
        // SAFETY: as promised.
        TypedSexp::Real(numbers) => Arc::new(Float64Array::new(unsafe { shared(&numbers) }, None)),
        TypedSexp::Logical(truths) => {
            let truth = |truth: &i32| present(truth).map(|truth| truth != 0);
            Arc::new(truths.as_slice_raw().iter().map(truth).collect::<BooleanArray>())
        }
        TypedSexp::String(cells) => texts(&cells),
        _ => new_null_array(&DataType::Binary, rows),
    }
}

fn present(integer: &i32) -> Option<i32> {
    Some(*integer).filter(|integer| !integer.is_na())
}

/// Days after 1970-01-01; the part of a day that R allows is cut off.
fn day(days: &f64) -> Option<i32> {
    let whole = days.floor();
    (whole >= i32::MIN.into() && whole <= i32::MAX.into()).then_some(whole as i32)
}

/// The package bit64 keeps integers in the bits of numbers.
fn integer64(bits: &f64) -> Option<i64> {
    Some(bits.to_bits().cast_signed()).filter(|&integer| integer != i64::MIN)
}

/// # Safety
/// The vector must live as long as the buffer.
unsafe fn shared(numbers: &RealSexp) -> ScalarBuffer<f64> {
    let slice = numbers.as_slice();
    if slice.is_empty() {
        return ScalarBuffer::default();
    }
    let start = NonNull::from(slice).cast();
    // SAFETY: the numbers lie side by side and, as promised, live long enough; nobody writes to
    // them.
    let buffer = unsafe { Buffer::from_custom_allocation(start, size_of_val(slice), Arc::new(())) };
    ScalarBuffer::new(buffer, 0, slice.len())
}

fn texts(cells: &StringSexp) -> ArrayRef {
    let texts = cells.iter().map(|cell| Some(cell).filter(|cell| !cell.is_na()));
    Arc::new(texts.collect::<LargeStringArray>())
}

/// For each row the number of its level, from 1 on.
fn categories(codes: &IntegerSexp) -> ArrayRef {
    let levels = match codes.get_attrib("levels").ok().flatten().map(Sexp::into_typed) {
        Some(TypedSexp::String(levels)) => levels,
        _ => return new_null_array(&DataType::Binary, codes.len()),
    };
    let known = 1..=i32::try_from(levels.len()).unwrap_or(i32::MAX);
    let key = |code: &i32| known.contains(code).then(|| code - 1);
    let keys: PrimitiveArray<Int32Type> = codes.as_slice().iter().map(key).collect();
    Arc::new(DictionaryArray::try_new(keys, texts(&levels)).expect("every key is that of a level"))
}
