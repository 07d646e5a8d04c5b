//! Decoded arrays to cells: numbers as `f64`, categories as indices into their levels.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

use arrow_array::{Array, ArrayRef, BooleanArray, cast::AsArray, types};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::{Cells, DataError, MISSING};
use crate::schema::{Column, Kind, SchemaError};

/// The longest text, in bytes, that is looked at; a longer cell counts as unparsable.
const LONGEST_CELL: usize = 1 << 20;

/// The code of a value that is not a level, until it is known what to do with it.
const UNKNOWN: u32 = MISSING - 1;

/// Turns the arrays of one column into cells.
pub(super) struct Extractor {
    column: String,
    levels: Option<LevelMap>,
    strict: bool,
}

impl Extractor {
    pub fn new(column: &Column, strict: bool) -> Self {
        let levels = match &column.kind {
            Kind::Levels(levels) => Some(LevelMap::new(levels)),
            Kind::Standard | Kind::Bounded { .. } => None,
        };
        Self { column: column.name.clone(), levels, strict }
    }

    /// The cells of an array.
    ///
    /// # Errors
    /// Refuses the first bad cell when strict, and a type that has no place in a model.
    pub fn cells(&self, array: ArrayRef) -> Result<Cells, DataError> {
        let unsupported = || DataError::from(SchemaError::UnsupportedType { column: self.column.clone() });
        match &self.levels {
            None => self.checked_numbers(numbers(array).ok_or_else(unsupported)?),
            Some(levels) => self.checked_codes(levels.codes(&array).ok_or_else(unsupported)?),
        }
    }

    /// The cells of a column of text, nothing where there is none.
    ///
    /// # Errors
    /// Refuses the first bad cell when strict.
    pub fn texts<'a>(&self, texts: impl Iterator<Item = Option<&'a str>>) -> Result<Cells, DataError> {
        match &self.levels {
            None => self.checked_numbers(parsed(texts)),
            Some(levels) => self.checked_codes(levels.text_codes(texts)),
        }
    }

    fn checked_numbers(&self, numbers: Vec<f64>) -> Result<Cells, DataError> {
        if self.strict && !numbers.iter().all(|number| number.is_finite()) {
            return Err(self.bad_cell());
        }
        Ok(Cells::Numbers(numbers))
    }

    fn checked_codes(&self, mut codes: Vec<u32>) -> Result<Cells, DataError> {
        if self.strict && codes.iter().any(|&code| code >= UNKNOWN) {
            return Err(self.bad_cell());
        }
        for code in codes.iter_mut().filter(|code| **code == UNKNOWN) {
            *code = 0;
        }
        Ok(Cells::Levels(codes))
    }

    fn bad_cell(&self) -> DataError {
        DataError::BadCell { column: self.column.clone() }
    }
}

/// An array as numbers, NaN where there is none; `None` for a type that holds no numbers.
fn numbers(array: ArrayRef) -> Option<Vec<f64>> {
    match array.data_type() {
        DataType::Null => Some(vec![f64::NAN; array.len()]),
        DataType::Utf8 => Some(parsed(array.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Some(parsed(array.as_string::<i64>().iter())),
        DataType::Utf8View => Some(parsed(array.as_string_view().iter())),
        DataType::Dictionary(..) => by_key(&array, f64::NAN, |entries| numbers(entries.clone())),
        DataType::Union(..) => by_type(&array, f64::NAN, |child| numbers(child.clone())),
        DataType::Boolean => Some(truth_values(array.as_boolean())),
        DataType::Float64 => {
            let floats = array.as_primitive::<types::Float64Type>().clone();
            // Nobody else holds the numbers then, and they need not be copied.
            drop(array);
            let (_, values, nulls) = floats.into_parts();
            Some(blank_nulls(values.into(), nulls.as_ref()))
        }
        other if other.is_numeric() => numbers(arrow_cast::cast(&array, &DataType::Float64).ok()?),
        _ => None,
    }
}

/// A dictionary's cells: each entry is read once, then the keys are followed. A null key is `missing`.
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

/// A union's cells, each read as its own type says; those of a type that has no place in a model are `missing`.
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

fn parsed<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<f64> {
    let number = |cell| match parse(cell) {
        number if number.is_nan() => truth(cell).map_or(f64::NAN, f64::from),
        number => number,
    };
    texts.map(|cell| cell.map_or(f64::NAN, number)).collect()
}

/// The truth value a text says. Truth values become such texts when a program stores one other text among them.
fn truth(cell: &str) -> Option<bool> {
    let says = |word: &str| cell.trim().eq_ignore_ascii_case(word);
    says("true").then_some(true).or_else(|| says("false").then_some(false))
}

/// The number a text says, if it begins as programs print numbers (1, 1.0, -0.5, 1e-05): 01 and +1 stay texts.
fn printed(cell: &str) -> Option<f64> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let begins_so = digits == "0" || digits.starts_with("0.") || digits.starts_with(|first| matches!(first, '1'..='9'));
    cell.parse().ok().filter(|number: &f64| begins_so && number.is_finite())
}

/// What a cell of text says as a number; NaN when it says none.
///
/// Blanks around the number are free. Every marker of a missing value (`NA`, `null`, nothing) says no number.
pub(super) fn parse(cell: &str) -> f64 {
    if cell.len() > LONGEST_CELL {
        return f64::NAN;
    }
    // Nearly every cell parses as it stands, so blanks are looked for only when it does not.
    cell.parse().or_else(|_| cell.trim().parse()).unwrap_or(f64::NAN)
}

/// Whether a cell of text holds nothing, or one of the usual words for it.
pub(super) fn is_missing(cell: &str) -> bool {
    let cell = cell.trim();
    cell.is_empty() || ["NA", "N/A", "NaN", "null"].iter().any(|word| cell.eq_ignore_ascii_case(word))
}

fn truth_values(array: &BooleanArray) -> Vec<f64> {
    array.iter().map(|cell| cell.map_or(f64::NAN, f64::from)).collect()
}

fn blank_nulls(mut numbers: Vec<f64>, nulls: Option<&NullBuffer>) -> Vec<f64> {
    if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
        for (number, valid) in numbers.iter_mut().zip(nulls) {
            *number = if valid { *number } else { f64::NAN };
        }
    }
    numbers
}

/// From a value to its index among the levels, whatever type the column is stored in.
struct LevelMap {
    texts: HashMap<String, u32, BuildHasherDefault<Fnv>>,
    /// Levels that are whole numbers, for columns of numbers.
    integers: HashMap<i128, u32>,
    /// Levels that are numbers as they are printed, by their bits, likewise.
    numbers: HashMap<u64, u32>,
    /// The levels that say `false` and `true`, or else 0 and 1, for truth values.
    truths: [u32; 2],
}

impl LevelMap {
    fn new(levels: &[String]) -> Self {
        let numbered = || levels.iter().zip(0..);
        let whole = |level: &String| level.parse::<i128>().ok().filter(|number| number.to_string() == *level);
        let says = |truth_value: bool| {
            let is = |(level, _): &(&String, u32)| truth(level) == Some(truth_value);
            let is_number = |(level, _): &(&String, u32)| printed(level) == Some(f64::from(truth_value));
            numbered().find(is).or_else(|| numbered().find(is_number)).map_or(UNKNOWN, |(_, code)| code)
        };
        Self {
            texts: numbered().map(|(level, code)| (level.clone(), code)).collect(),
            integers: numbered().filter_map(|(level, code)| Some((whole(level)?, code))).collect(),
            numbers: numbered().filter_map(|(level, code)| Some((bits(printed(level)?), code))).collect(),
            truths: [says(false), says(true)],
        }
    }

    /// An array as codes; `None` for a type that cannot hold levels.
    fn codes(&self, array: &dyn Array) -> Option<Vec<u32>> {
        let data_type = array.data_type();
        match data_type {
            DataType::Null => Some(vec![MISSING; array.len()]),
            DataType::Utf8 => Some(self.text_codes(array.as_string::<i32>().iter())),
            DataType::LargeUtf8 => Some(self.text_codes(array.as_string::<i64>().iter())),
            DataType::Utf8View => Some(self.text_codes(array.as_string_view().iter())),
            DataType::Boolean => Some(self.truth_codes(array.as_boolean())),
            DataType::Dictionary(..) => by_key(array, MISSING, |entries| self.codes(entries)),
            DataType::Union(..) => by_type(array, MISSING, |child| self.codes(child)),
            DataType::UInt64 => Some(
                self.integer_codes(array.as_primitive::<types::UInt64Type>().iter().map(|cell| cell.map(i128::from))),
            ),
            _ if data_type.is_integer() => {
                let wide = arrow_cast::cast(array, &DataType::Int64).ok()?;
                Some(
                    self.integer_codes(wide.as_primitive::<types::Int64Type>().iter().map(|cell| cell.map(i128::from))),
                )
            }
            _ if data_type.is_numeric() => {
                let wide = arrow_cast::cast(array, &DataType::Float64).ok()?;
                let cells = wide.as_primitive::<types::Float64Type>().iter();
                Some(cells.map(|cell| cell.map_or(MISSING, |number| self.number_code(number))).collect())
            }
            _ => None,
        }
    }

    fn text_codes<'a>(&self, cells: impl Iterator<Item = Option<&'a str>>) -> Vec<u32> {
        cells.map(|cell| cell.map_or(MISSING, |text| self.text_code(text))).collect()
    }

    fn text_code(&self, cell: &str) -> u32 {
        if cell.len() > LONGEST_CELL {
            return MISSING;
        }
        // A word such as NA may be a level, so levels come first.
        match self.texts.get(cell).or_else(|| self.texts.get(cell.trim())) {
            Some(&code) => code,
            None if is_missing(cell) => MISSING,
            None => self.other_text_code(cell.trim()),
        }
    }

    /// A truth value or a number means the same when it is stored as text, since another cell of its column is no such thing.
    fn other_text_code(&self, cell: &str) -> u32 {
        match (truth(cell), printed(cell)) {
            (Some(truth), _) => self.truths[usize::from(truth)],
            (None, Some(number)) => self.number_code(number),
            (None, None) => UNKNOWN,
        }
    }

    fn truth_codes(&self, cells: &BooleanArray) -> Vec<u32> {
        cells.iter().map(|cell| cell.map_or(MISSING, |truth| self.truths[usize::from(truth)])).collect()
    }

    fn integer_codes(&self, cells: impl Iterator<Item = Option<i128>>) -> Vec<u32> {
        cells.map(|cell| cell.map_or(MISSING, |integer| self.integer_code(integer))).collect()
    }

    /// A whole number means the same whether it is stored as an integer or, since another cell of its column is missing, as a float; and
    /// 0 and 1 the same as the truth values they may be stored for.
    fn integer_code(&self, integer: i128) -> u32 {
        let exact = || (integer.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS).then_some(integer as f64);
        let found = self.integers.get(&integer).or_else(|| self.numbers.get(&bits(exact()?)));
        let truth = || usize::try_from(integer).ok().and_then(|integer| self.truths.get(integer));
        found.or_else(truth).copied().unwrap_or(UNKNOWN)
    }

    fn number_code(&self, number: f64) -> u32 {
        let is_exact_integer = number.trunc() == number && number.abs() <= (1u64 << f64::MANTISSA_DIGITS) as f64;
        match number {
            _ if number.is_nan() => MISSING,
            _ if is_exact_integer => self.integer_code(number as i128),
            _ => self.numbers.get(&bits(number)).copied().unwrap_or(UNKNOWN),
        }
    }
}

/// The bits of a number, the same for both zeros.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// The FNV-1a hash: quick for short texts. The keys are public levels, so nobody can force collisions.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
