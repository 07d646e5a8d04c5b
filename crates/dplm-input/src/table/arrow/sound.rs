//! Validates arrays from other libraries.
//!
//! The C data interface hands over unchecked buffers: offsets, keys and types may point anywhere,
//! and texts may not be UTF-8, for instance from a file read without validation.
//!
//! # Guarantee
//! A text that is not UTF-8 counts as missing, and changes no other cell. An array that points
//! outside a buffer is refused.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, GenericBinaryArray, GenericStringArray, OffsetSizeTrait, StringViewArray,
    UnionArray, cast::AsArray,
};
use arrow_schema::DataType;

/// The array with every readable cell; `None` if its layout is broken.
pub fn sound(array: &ArrayRef) -> Option<ArrayRef> {
    match array.data_type() {
        DataType::Utf8 => texts(array.as_string::<i32>()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>()),
        DataType::Utf8View => viewed_texts(array.as_string_view()),
        DataType::Dictionary(..) => {
            let coded = checked(array)?.as_any_dictionary_opt()?;
            Some(coded.with_values(sound(coded.values())?))
        }
        DataType::Union(..) => union(checked(array)?.as_union()),
        // No model reads nested values, and one person could make all the texts in them invalid.
        nested if nested.is_nested() => Some(array.clone()),
        _ => checked(array).cloned(),
    }
}

/// The array, if none of its own offsets, keys or types points outside it.
fn checked<A: Array>(array: &A) -> Option<&A> {
    array.to_data().validate_data().is_ok().then_some(array)
}

fn texts<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> Option<ArrayRef> {
    if checked(array).is_some() {
        return Some(Arc::new(array.clone()));
    }
    let bytes = GenericBinaryArray::<O>::from(array.clone());
    let texts: GenericStringArray<O> = checked(&bytes)?.iter().map(text).collect();
    Some(Arc::new(texts))
}

fn viewed_texts(array: &StringViewArray) -> Option<ArrayRef> {
    if checked(array).is_some() {
        return Some(Arc::new(array.clone()));
    }
    let bytes: BinaryViewArray = array.clone().to_binary_view();
    let texts: StringViewArray = checked(&bytes)?.iter().map(text).collect();
    Some(Arc::new(texts))
}

fn text(cell: Option<&[u8]>) -> Option<&str> {
    cell.and_then(|bytes| str::from_utf8(bytes).ok())
}

fn union(array: &UnionArray) -> Option<ArrayRef> {
    let (fields, types, offsets, children) = array.clone().into_parts();
    let children = children.iter().map(sound).collect::<Option<_>>()?;
    Some(Arc::new(UnionArray::try_new(fields, types, offsets, children).ok()?))
}
