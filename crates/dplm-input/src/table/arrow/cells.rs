//! Arrow arrays to cells.

use std::{collections::HashMap, fmt::Display, sync::Arc};

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Float64Array, RecordBatch,
    cast::AsArray,
    types::{
        Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
        Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
        TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    },
};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::{DataType, TimeUnit};
use rayon::prelude::*;

use crate::table::{
    Block, Cells, DataError, SchemaError,
    cells::{Coding, Extractor, Wanted, days, parsed},
    projection::Projection,
};

impl Projection<'_> {
    /// The cells of a batch of the decoded columns.
    pub fn batch(&self, batch: RecordBatch) -> Result<Block, DataError> {
        let (_, columns, rows) = batch.into_parts();
        self.arrays(rows, columns)
    }

    /// The cells of the decoded columns, `rows` of each.
    pub fn arrays(&self, rows: usize, columns: Vec<ArrayRef>) -> Result<Block, DataError> {
        let wanted: Vec<(ArrayRef, &Extractor)> =
            self.wanted().map(|(slot, extractor)| (columns[slot].clone(), extractor)).collect();
        drop(columns);
        let cells = wanted.into_par_iter().map(|(array, extractor)| extractor.array(array));
        // The first error in the order of the columns, whichever thread finished first.
        let cells: Vec<Result<Cells, DataError>> = cells.collect();
        Ok(Block { rows, columns: cells.into_iter().collect::<Result<_, _>>()? })
    }
}

impl Extractor {
    /// The cells of an array.
    ///
    /// # Errors
    /// Refuses the first bad cell when strict, and a type that a model cannot use.
    fn array(&self, array: ArrayRef) -> Result<Cells, DataError> {
        let unsupported = || DataError::from(SchemaError::UnsupportedType { column: self.column.clone() });
        match &self.wanted {
            Wanted::Number => self.checked_numbers(numbers(array).ok_or_else(unsupported)?),
            Wanted::Day => self.checked_numbers(days_of(&array).ok_or_else(unsupported)?),
            Wanted::Level(levels) => self.checked_codes(codes(levels, &array).ok_or_else(unsupported)?),
            Wanted::Person(persons) => self.checked_persons(persons, &codes(persons, &array).ok_or_else(unsupported)?),
            Wanted::Written(written) => self.checked_codes(codes(written, &array).ok_or_else(unsupported)?),
        }
    }
}

/// An array as codes; `None` for a type that the coding does not cover.
fn codes<C: Coding>(coding: &C, array: &dyn Array) -> Option<Vec<C::Code>> {
    match array.data_type() {
        DataType::Null => Some(vec![C::MISSING; array.len()]),
        DataType::Utf8 => Some(coding.texts(array.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Some(coding.texts(array.as_string::<i64>().iter())),
        DataType::Utf8View => Some(coding.texts(array.as_string_view().iter())),
        DataType::Boolean => Some(codes_of::<C, _>(array.as_boolean().iter(), |truth| coding.truth(truth))),
        DataType::Dictionary(..) => by_key(array, C::MISSING, |entries| codes(coding, entries)),
        DataType::Union(..) => by_type(array, C::MISSING, |child| codes(coding, child)),
        DataType::Int8 => Some(integer_codes::<C, Int8Type>(coding, array)),
        DataType::Int16 => Some(integer_codes::<C, Int16Type>(coding, array)),
        DataType::Int32 => Some(integer_codes::<C, Int32Type>(coding, array)),
        DataType::Int64 => Some(integer_codes::<C, Int64Type>(coding, array)),
        DataType::UInt8 => Some(integer_codes::<C, UInt8Type>(coding, array)),
        DataType::UInt16 => Some(integer_codes::<C, UInt16Type>(coding, array)),
        DataType::UInt32 => Some(integer_codes::<C, UInt32Type>(coding, array)),
        DataType::UInt64 => Some(integer_codes::<C, UInt64Type>(coding, array)),
        DataType::Decimal32(_, 0) => Some(integer_codes::<C, Decimal32Type>(coding, array)),
        DataType::Decimal64(_, 0) => Some(integer_codes::<C, Decimal64Type>(coding, array)),
        DataType::Decimal128(_, 0) => Some(integer_codes::<C, Decimal128Type>(coding, array)),
        DataType::Decimal256(_, 0) => {
            // Wider than the other integers; the text holds the same number.
            let digits = array.as_primitive::<Decimal256Type>().iter();
            Some(codes_of::<C, _>(digits, |digits| coding.text(&digits.to_string())))
        }
        _ => Some(codes_of::<C, _>(widened(array)?.iter(), |number| coding.number(number))),
    }
}

fn integer_codes<C: Coding, T: ArrowPrimitiveType>(coding: &C, array: &dyn Array) -> Vec<C::Code>
where
    i128: From<T::Native>,
{
    codes_of::<C, _>(array.as_primitive::<T>().iter(), |integer| coding.integer(integer.into()))
}

fn codes_of<C: Coding, T>(cells: impl Iterator<Item = Option<T>>, code: impl Fn(T) -> C::Code) -> Vec<C::Code> {
    cells.map(|cell| cell.map_or(C::MISSING, &code)).collect()
}

/// An array as numbers, NaN for a missing cell; `None` for a type that holds no numbers.
fn numbers(array: ArrayRef) -> Option<Vec<f64>> {
    match array.data_type() {
        DataType::Null => Some(vec![f64::NAN; array.len()]),
        DataType::Utf8 => Some(parsed(array.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Some(parsed(array.as_string::<i64>().iter())),
        DataType::Utf8View => Some(parsed(array.as_string_view().iter())),
        DataType::Dictionary(..) => by_key(&array, f64::NAN, |entries| numbers(entries.clone())),
        DataType::Union(..) => by_type(&array, f64::NAN, |child| numbers(child.clone())),
        DataType::Boolean => Some(array.as_boolean().iter().map(|cell| cell.map_or(f64::NAN, f64::from)).collect()),
        DataType::Float64 => {
            let floats = array.as_primitive::<Float64Type>().clone();
            // The numbers then have a single owner and need not be copied.
            drop(array);
            let (_, values, nulls) = floats.into_parts();
            Some(blank_nulls(values.into(), nulls.as_ref()))
        }
        _ => numbers(Arc::new(widened(&array)?)),
    }
}

/// An array as days after 1970-01-01, NaN for a missing cell; `None` for a type that holds no
/// dates. The time of day is ignored.
fn days_of(array: &dyn Array) -> Option<Vec<f64>> {
    let whole = |instants: Float64Array| blank_nulls(instants.values().to_vec(), instants.nulls());
    let per_day = |unit: &TimeUnit| match unit {
        TimeUnit::Second => 86_400,
        TimeUnit::Millisecond => 86_400_000,
        TimeUnit::Microsecond => 86_400_000_000,
        TimeUnit::Nanosecond => 86_400_000_000_000,
    };
    let day = |length: i64| move |instant: i64| instant.div_euclid(length) as f64;
    Some(match array.data_type() {
        DataType::Null => vec![f64::NAN; array.len()],
        DataType::Utf8 => days(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => days(array.as_string::<i64>().iter()),
        DataType::Utf8View => days(array.as_string_view().iter()),
        DataType::Dictionary(..) => by_key(array, f64::NAN, |entries| days_of(entries))?,
        DataType::Union(..) => by_type(array, f64::NAN, |child| days_of(child))?,
        DataType::Date32 => whole(widened_by::<Date32Type>(array, f64::from)),
        DataType::Date64 => whole(widened_by::<Date64Type>(array, day(per_day(&TimeUnit::Millisecond)))),
        DataType::Timestamp(unit @ TimeUnit::Second, _) => {
            whole(widened_by::<TimestampSecondType>(array, day(per_day(unit))))
        }
        DataType::Timestamp(unit @ TimeUnit::Millisecond, _) => {
            whole(widened_by::<TimestampMillisecondType>(array, day(per_day(unit))))
        }
        DataType::Timestamp(unit @ TimeUnit::Microsecond, _) => {
            whole(widened_by::<TimestampMicrosecondType>(array, day(per_day(unit))))
        }
        DataType::Timestamp(unit @ TimeUnit::Nanosecond, _) => {
            whole(widened_by::<TimestampNanosecondType>(array, day(per_day(unit))))
        }
        _ => return None,
    })
}

/// A dictionary's cells: each entry is read once, then the keys are looked up. A null key is
/// `missing`.
fn by_key<T: Copy>(array: &dyn Array, missing: T, read: impl Fn(&ArrayRef) -> Option<Vec<T>>) -> Option<Vec<T>> {
    let dictionary = array.as_any_dictionary_opt()?;
    let entries = read(dictionary.values())?;
    if entries.is_empty() {
        return Some(vec![missing; array.len()]);
    }
    let keys = dictionary.normalized_keys();
    let cell = |(row, &key): (usize, &usize)| if dictionary.keys().is_null(row) { missing } else { entries[key] };
    Some(keys.iter().enumerate().map(cell).collect())
}

/// A union's cells, each read as its own type; those of a type that a model cannot use are
/// `missing`.
fn by_type<T: Copy>(array: &dyn Array, missing: T, read: impl Fn(&ArrayRef) -> Option<Vec<T>>) -> Option<Vec<T>> {
    let union = array.as_union_opt()?;
    let (DataType::Union(types, _), children) = (union.data_type(), HashMap::new()) else { return None };
    let children = types.iter().fold(children, |mut children: HashMap<i8, Vec<T>>, (id, _)| {
        children.insert(id, read(union.child(id)).unwrap_or_default());
        children
    });
    let cell = |row: usize| children[&union.type_id(row)].get(union.value_offset(row)).copied().unwrap_or(missing);
    Some((0..array.len()).map(cell).collect())
}

/// Numbers of any type, each as the nearest `f64`; `None` for a type that holds no numbers.
fn widened(array: &dyn Array) -> Option<Float64Array> {
    Some(match array.data_type() {
        DataType::Int8 => widened_by::<Int8Type>(array, f64::from),
        DataType::Int16 => widened_by::<Int16Type>(array, f64::from),
        DataType::Int32 => widened_by::<Int32Type>(array, f64::from),
        DataType::Int64 => widened_by::<Int64Type>(array, |number| number as f64),
        DataType::UInt8 => widened_by::<UInt8Type>(array, f64::from),
        DataType::UInt16 => widened_by::<UInt16Type>(array, f64::from),
        DataType::UInt32 => widened_by::<UInt32Type>(array, f64::from),
        DataType::UInt64 => widened_by::<UInt64Type>(array, |number| number as f64),
        DataType::Float16 => widened_by::<Float16Type>(array, |number| number.to_f64()),
        DataType::Float32 => widened_by::<Float32Type>(array, f64::from),
        DataType::Float64 => array.as_primitive::<Float64Type>().clone(),
        DataType::Decimal32(_, scale) => widened_by::<Decimal32Type>(array, |digits| decimal(digits, *scale)),
        DataType::Decimal64(_, scale) => widened_by::<Decimal64Type>(array, |digits| decimal(digits, *scale)),
        DataType::Decimal128(_, scale) => widened_by::<Decimal128Type>(array, |digits| decimal(digits, *scale)),
        DataType::Decimal256(_, scale) => widened_by::<Decimal256Type>(array, |digits| decimal(digits, *scale)),
        _ => return None,
    })
}

fn widened_by<T: ArrowPrimitiveType>(array: &dyn Array, widen: impl Fn(T::Native) -> f64) -> Float64Array {
    array.as_primitive::<T>().unary(widen)
}

/// The `f64` nearest to `digits / 10^scale`.
fn decimal(digits: impl ArrowNativeType + Display, scale: i8) -> f64 {
    const EXACT: u64 = 1 << f64::MANTISSA_DIGITS;
    const EXACT_POWERS: u8 = 22;
    let scale = i32::from(scale);
    match digits.to_i64().filter(|digits| digits.unsigned_abs() <= EXACT) {
        // Both are exact, so their ratio or product is rounded once.
        Some(digits) if scale.unsigned_abs() <= EXACT_POWERS.into() => match scale {
            0.. => digits as f64 / 10f64.powi(scale),
            _ => digits as f64 * 10f64.powi(-scale),
        },
        _ => format!("{digits}e{}", -scale).parse().expect("digits and an exponent are a number"),
    }
}

fn blank_nulls(mut numbers: Vec<f64>, nulls: Option<&NullBuffer>) -> Vec<f64> {
    if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
        for (number, valid) in numbers.iter_mut().zip(nulls) {
            *number = if valid { *number } else { f64::NAN };
        }
    }
    numbers
}

#[cfg(test)]
mod tests {
    use arrow_buffer::i256;

    use super::*;

    /// The nearest number is the one that Rust's standard parser gives for the same decimal.
    #[test]
    fn decimals_are_rounded_once() {
        for scale in [-30i8, -22, -3, 0, 2, 7, 22, 23, 40] {
            for digits in [0i64, 1, -3, 150, 999_999_999_999_999, (1 << 53) + 1, i64::MAX, i64::MIN] {
                let expected: f64 = format!("{digits}e{}", -i32::from(scale)).parse().unwrap();
                assert_eq!(decimal(digits, scale).to_bits(), expected.to_bits(), "{digits} {scale}");
                assert_eq!(decimal(i256::from_i128(digits.into()), scale), expected, "{digits} {scale}");
            }
        }
        assert_eq!(decimal(i128::MAX, 38), 1.7014118346046923);
    }
}
