//! Arrays of other libraries, made safe to read.
//!
//! The C data interface hands buffers over unchecked: offsets, keys and types may lead anywhere, and texts may not be UTF-8, as those of a
//! file whose reader was told not to look.
//!
//! # Guarantee
//! A text that is not UTF-8 is missing, and changes nothing about any other cell. What would lead out of a buffer is refused.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, GenericBinaryArray, GenericStringArray, OffsetSizeTrait, StringViewArray,
    UnionArray, cast::AsArray,
};
use arrow_schema::DataType;

/// The array with every cell that can be read; nothing where its layout is broken.
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
        // No model reads what is nested, and whether all the texts in it are UTF-8 would be one person's doing.
        nested if nested.is_nested() => Some(array.clone()),
        _ => checked(array).cloned(),
    }
}

/// The array, if no offset, key or type of its own leads out of it.
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
