//! Decoded values to cells: numbers as `f64`, categories as indices into their levels. This file
//! reads text; `arrow/cells.rs` reads Arrow arrays.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    sync::{Mutex, PoisonError},
};

use super::{Cells, DataError, MISSING, identifier::Identifiers};
use crate::{
    date::day_of,
    schema::{Column, Kind},
};

/// The longest text that is parsed, in bytes; a longer cell counts as unparsable.
pub(super) const LONGEST_CELL: usize = 1 << 20;

/// The level that stands for every unlisted value.
const OTHER: &str = "*";

/// Turns the decoded values of one column into cells.
pub(super) struct Extractor {
    pub column: String,
    pub wanted: Wanted,
    strict: bool,
}

/// What the formula makes of a cell.
pub(super) enum Wanted {
    Number,
    /// A date, as its day number.
    Day,
    Level(LevelMap),
    /// The person a row belongs to.
    Person(Identifiers),
    /// What was written, for a table that is made of these rows.
    Written(Written),
}

/// Maps a value of any type to a code, cell by cell.
pub(super) trait Coding {
    type Code: Copy;
    const MISSING: Self::Code;

    fn text(&self, cell: &str) -> Self::Code;
    fn truth(&self, truth: bool) -> Self::Code;
    fn integer(&self, integer: i128) -> Self::Code;
    fn number(&self, number: f64) -> Self::Code;

    /// The codes of texts.
    fn texts<'a>(&self, cells: impl Iterator<Item = Option<&'a str>>) -> Vec<Self::Code> {
        cells.map(|cell| cell.map_or(Self::MISSING, |text| self.text(text))).collect()
    }
}

impl Extractor {
    pub fn new(column: &Column, strict: bool) -> Self {
        let wanted = match &column.kind {
            Kind::Levels(levels) => Wanted::Level(LevelMap::new(levels)),
            Kind::Dates { .. } => Wanted::Day,
            Kind::Standard | Kind::Bounded { .. } => Wanted::Number,
        };
        Self { column: column.name.clone(), wanted, strict }
    }

    /// For the column that identifies persons.
    pub fn of_persons(column: &str, strict: bool) -> Self {
        Self { column: column.to_owned(), wanted: Wanted::Person(Identifiers::default()), strict }
    }

    /// For the same column, when other machines read other rows of it.
    pub fn of_identifiers(column: &str, strict: bool, key: [u8; 32]) -> Self {
        Self { column: column.to_owned(), wanted: Wanted::Person(Identifiers::keyed(key)), strict }
    }

    /// For a column that is handed on as it was written.
    pub fn of_written(column: &str) -> Self {
        Self { column: column.to_owned(), wanted: Wanted::Written(Written::default()), strict: false }
    }

    /// The different cells that were read, in the order of their codes; empty for other columns.
    pub fn into_written(self) -> Vec<String> {
        match self.wanted {
            Wanted::Written(written) => written.into_cells(),
            _ => Vec::new(),
        }
    }

    /// The hashes of all persons so far, in the order of their numbers; empty for other columns.
    pub fn hashes(&self) -> Vec<u128> {
        match &self.wanted {
            Wanted::Person(persons) => persons.hashes(),
            _ => Vec::new(),
        }
    }

    /// The cells of a column of text, `None` for a missing cell.
    ///
    /// # Errors
    /// Refuses the first bad cell when strict.
    pub fn texts<'a>(
        &self,
        texts: impl Iterator<Item = Option<&'a str>>,
        decimal_comma: bool,
    ) -> Result<Cells, DataError> {
        match &self.wanted {
            Wanted::Number if decimal_comma => self.checked_numbers(parsed_with_comma(texts)),
            Wanted::Number => self.checked_numbers(parsed(texts)),
            Wanted::Day => self.checked_numbers(days(texts)),
            Wanted::Level(levels) => self.checked_codes(levels.texts(texts)),
            Wanted::Person(persons) => self.checked_persons(persons, &persons.texts(texts)),
            Wanted::Written(written) => self.checked_codes(written.texts(texts)),
        }
    }

    /// The numbers of persons.
    pub fn checked_persons(&self, persons: &Identifiers, hashes: &[u128]) -> Result<Cells, DataError> {
        let numbers = persons.numbered(hashes).ok_or(DataError::TooManyPersons)?;
        if self.strict && numbers.contains(&MISSING) {
            return Err(self.bad_cell());
        }
        Ok(Cells::Levels(numbers))
    }

    pub fn checked_numbers(&self, numbers: Vec<f64>) -> Result<Cells, DataError> {
        if self.strict && !numbers.iter().all(|number| number.is_finite()) {
            return Err(self.bad_cell());
        }
        Ok(Cells::Numbers(numbers))
    }

    pub fn checked_codes(&self, codes: Vec<u32>) -> Result<Cells, DataError> {
        if self.strict && codes.contains(&MISSING) {
            return Err(self.bad_cell());
        }
        Ok(Cells::Levels(codes))
    }

    /// Names what the formula expects the column to hold, and nothing about the cell.
    fn bad_cell(&self) -> DataError {
        let wanted = match self.wanted {
            Wanted::Number => "plain numbers without thousands separators",
            Wanted::Day => "dates such as 2020-12-31",
            Wanted::Level(_) => "levels that the formula lists",
            Wanted::Person(_) => "an identifier in every row",
            Wanted::Written(_) => "anything",
        };
        DataError::BadCell { column: self.column.clone(), wanted }
    }
}

/// The numbers that texts hold, NaN for a text that holds none.
pub(super) fn parsed<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<f64> {
    let number = |cell| match parse(cell) {
        number if number.is_nan() => truth(cell).map_or(f64::NAN, f64::from),
        number => number,
    };
    texts.map(|cell| cell.map_or(f64::NAN, number)).collect()
}

/// The same for decimal commas. A point makes a text unparsable: it would separate thousands, or be
/// a mistake.
fn parsed_with_comma<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<f64> {
    let number = |cell: &str| match (cell.contains('.'), cell.contains(',')) {
        (true, _) => f64::NAN,
        (false, true) => parse(&cell.replace(',', ".")),
        (false, false) => parsed(std::iter::once(Some(cell)))[0],
    };
    texts.map(|cell| cell.map_or(f64::NAN, number)).collect()
}

/// The days that texts hold, NaN for a text that holds none. A time after the date is ignored.
pub(super) fn days<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<f64> {
    let date = |cell: &'a str| {
        let cell = cell.trim();
        cell.split_once(['T', ' ']).map_or(cell, |(date, _)| date)
    };
    let day = |cell: &'a str| day_of(date(cell)).map_or(f64::NAN, f64::from);
    texts.map(|cell| cell.map_or(f64::NAN, day)).collect()
}

/// The boolean that a text holds. Some programs store booleans as such texts when another cell of
/// the column is text.
pub(super) fn truth(cell: &str) -> Option<bool> {
    let says = |word: &str| cell.trim().eq_ignore_ascii_case(word);
    says("true").then_some(true).or_else(|| says("false").then_some(false))
}

/// The number that a text holds, if it begins as programs print numbers (1, 1.0, -0.5, 1e-05): 01
/// and +1 stay texts.
pub(super) fn printed(cell: &str) -> Option<f64> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let begins_so = digits == "0" || digits.starts_with("0.") || digits.starts_with(|first| matches!(first, '1'..='9'));
    cell.parse().ok().filter(|number: &f64| begins_so && number.is_finite())
}

/// The number that a cell of text holds; NaN when it holds none.
///
/// Blanks around the number are ignored. Every marker of a missing value (`NA`, `null`, an empty
/// cell) gives NaN.
pub(super) fn parse(cell: &str) -> f64 {
    if cell.len() > LONGEST_CELL {
        return f64::NAN;
    }
    // Nearly every cell parses as it stands, so blanks are trimmed only when it does not.
    cell.parse().or_else(|_| cell.trim().parse()).unwrap_or(f64::NAN)
}

/// Whether a cell of text is empty or one of the usual markers of a missing value.
pub(super) fn is_missing(cell: &str) -> bool {
    let cell = cell.trim();
    cell.is_empty() || ["NA", "N/A", "NaN", "null"].iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// The cells of a column as they were written; each different one has a code.
#[derive(Default)]
pub(super) struct Written {
    known: Mutex<HashMap<String, u32>>,
}

impl Written {
    fn code(&self, cell: String) -> u32 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let next = u32::try_from(known.len()).unwrap_or(MISSING);
        *known.entry(cell).or_insert(next)
    }

    /// Each goes to the place of its code, in whatever order they are visited.
    fn into_cells(self) -> Vec<String> {
        let known = self.known.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut cells = vec![String::new(); known.len()];
        known.into_iter().for_each(|(cell, code)| cells[code as usize] = cell);
        cells
    }
}

impl Coding for Written {
    type Code = u32;
    const MISSING: u32 = MISSING;

    fn text(&self, cell: &str) -> u32 {
        if cell.len() > LONGEST_CELL { MISSING } else { self.code(cell.to_owned()) }
    }

    fn truth(&self, truth: bool) -> u32 {
        self.code(truth.to_string())
    }

    fn integer(&self, integer: i128) -> u32 {
        self.code(integer.to_string())
    }

    fn number(&self, number: f64) -> u32 {
        self.code(number.to_string())
    }
}

/// Maps a value to its index among the levels, whatever type the column is stored in.
pub(super) struct LevelMap {
    texts: HashMap<String, u32, BuildHasherDefault<Fnv>>,
    /// Levels that are whole numbers, for numeric columns.
    integers: HashMap<i128, u32>,
    /// Levels that are printed numbers, by their bits, for numeric columns.
    numbers: HashMap<u64, u32>,
    /// The levels that stand for `false` and `true`, or else 0 and 1, in boolean columns.
    truths: [u32; 2],
    /// The level `*` for every unlisted value; without it such a value is missing.
    other: u32,
}

impl LevelMap {
    fn new(levels: &[String]) -> Self {
        let numbered = || levels.iter().zip(0..);
        let other = numbered().find(|(level, _)| *level == OTHER).map_or(MISSING, |(_, code)| code);
        let whole = |level: &String| level.parse::<i128>().ok().filter(|number| number.to_string() == *level);
        let says = |truth_value: bool| {
            let is = |(level, _): &(&String, u32)| truth(level) == Some(truth_value);
            let is_number = |(level, _): &(&String, u32)| printed(level) == Some(f64::from(truth_value));
            numbered().find(is).or_else(|| numbered().find(is_number)).map_or(other, |(_, code)| code)
        };
        Self {
            texts: numbered().map(|(level, code)| (level.clone(), code)).collect(),
            integers: numbered().filter_map(|(level, code)| Some((whole(level)?, code))).collect(),
            numbers: numbered().filter_map(|(level, code)| Some((bits(printed(level)?), code))).collect(),
            truths: [says(false), says(true)],
            other,
        }
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

    /// A boolean or a number means the same when it is stored as text, because another cell of its
    /// column may force text.
    fn other_text_code(&self, cell: &str) -> u32 {
        match (truth(cell), printed(cell)) {
            (Some(truth), _) => self.truth_code(truth),
            (None, Some(number)) => self.number_code(number),
            (None, None) => self.other,
        }
    }

    fn truth_code(&self, truth: bool) -> u32 {
        self.truths[usize::from(truth)]
    }

    /// A whole number means the same whether it is stored as an integer or as a float, because
    /// another cell of its column may be missing; 0 and 1 mean the same as the booleans they may be
    /// stored for.
    fn integer_code(&self, integer: i128) -> u32 {
        let exact = || (integer.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS).then_some(integer as f64);
        let found = self.integers.get(&integer).or_else(|| self.numbers.get(&bits(exact()?)));
        let truth = || usize::try_from(integer).ok().and_then(|integer| self.truths.get(integer));
        found.or_else(truth).copied().unwrap_or(self.other)
    }

    fn number_code(&self, number: f64) -> u32 {
        let is_exact_integer = number.trunc() == number && number.abs() <= (1u64 << f64::MANTISSA_DIGITS) as f64;
        match number {
            _ if number.is_nan() => MISSING,
            _ if is_exact_integer => self.integer_code(number as i128),
            _ => self.numbers.get(&bits(number)).copied().unwrap_or(self.other),
        }
    }
}

impl Coding for LevelMap {
    type Code = u32;
    const MISSING: u32 = MISSING;

    fn text(&self, cell: &str) -> u32 {
        self.text_code(cell)
    }

    fn truth(&self, truth: bool) -> u32 {
        self.truth_code(truth)
    }

    fn integer(&self, integer: i128) -> u32 {
        self.integer_code(integer)
    }

    fn number(&self, number: f64) -> u32 {
        self.number_code(number)
    }
}

/// The bits of a number, with both zeros the same.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// The FNV-1a hash: fast for short texts. The keys are public levels, so an attacker cannot force
/// collisions.
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
