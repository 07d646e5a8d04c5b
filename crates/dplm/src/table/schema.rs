//! The columns of a table: names and types.

use std::collections::HashMap;

use arrow_schema::{DataType, Fields};

use super::DataError;
use crate::formula::{Column, Kind};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// Numbers.
    Number,
    /// True or false; 1 and 0 when read as a number.
    Boolean,
    /// Text.
    Text,
    /// Dates, times, or spans of time; not usable in a model.
    Date,
    /// Anything else, such as lists and raw bytes; not usable in a model.
    Unsupported,
    /// Cannot be told: no cell to tell it from.
    Unknown,
}

/// One column of a [`Schema`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// What it holds.
    pub kind: Type,
    /// Whether the file itself states the type (Parquet, Arrow) or its cells were looked at (CSV).
    declared: bool,
    /// Whether the numbers may have a fractional part, as far as the file states it.
    fractional: bool,
}

impl Field {
    /// A column whose type is stated by the file's own metadata.
    pub fn declared(name: impl Into<String>, kind: Type) -> Self {
        Self { name: name.into(), kind, declared: true, fractional: false }
    }

    /// A column whose type was told from its cells, so that it binds nobody.
    pub fn guessed(name: impl Into<String>, kind: Type) -> Self {
        Self { declared: false, ..Self::declared(name, kind) }
    }

    fn from_arrow(field: &arrow_schema::Field) -> Self {
        let fractional = is_fractional(field.data_type());
        Self { fractional, ..Self::declared(field.name(), type_of(field.data_type())) }
    }

    /// Whether two files state types that cannot be read as one column.
    fn contradicts(&self, other: &Self) -> bool {
        let states = |field: &Self| field.declared && field.kind != Type::Unknown;
        states(self) && states(other) && (self.kind, self.fractional) != (other.kind, other.fractional)
    }

    fn check(&self, kind: &Kind) -> Result<(), DataError> {
        let column = || self.name.clone();
        match (self.kind, kind) {
            _ if !self.declared => Ok(()),
            (Type::Date, _) => Err(DataError::Date { column: column() }),
            (Type::Unsupported, _) => Err(DataError::UnsupportedType { column: column() }),
            (Type::Text, Kind::Standard | Kind::Bounded { .. }) => Err(DataError::TextAsNumber { column: column() }),
            (Type::Number, Kind::Levels(_)) if self.fractional => {
                Err(DataError::FractionsAsLevels { column: column() })
            }
            _ => Ok(()),
        }
    }
}

/// The columns of a table, in file order.
///
/// # Guarantee
/// Names and types are taken as public. Parquet and Arrow files declare both. A CSV file declares names only; whether
/// a column holds numbers is then told by a majority of its first thousand rows. The answer is used in two places:
/// by `.` in a formula, and in the template of `dplm init`. Where even that must not come from the data, name the
/// columns in the formula.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    fields: Vec<Field>,
}

impl Schema {
    /// A schema with these columns.
    pub fn new(fields: Vec<Field>) -> Self {
        Self { fields }
    }

    pub(super) fn from_arrow(fields: &Fields) -> Self {
        Self::new(fields.iter().map(|field| Field::from_arrow(field)).collect())
    }

    /// The columns, in file order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether the types were told from the first rows, as in text files, and not declared by the file.
    pub fn is_guessed(&self) -> bool {
        self.fields().iter().any(|field| !field.declared)
    }

    /// The names of the columns, in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// The column of this name.
    ///
    /// # Errors
    /// Says that there is none, and suggests the closest name when it is close.
    pub fn find(&self, name: &str) -> Result<&Field, DataError> {
        self.fields.iter().find(|field| field.name == name).ok_or_else(|| DataError::UnknownColumn {
            column: name.to_owned(),
            suggestion: self.closest(name).map(str::to_owned),
        })
    }

    /// Checks that a column exists and can be read as the formula says.
    ///
    /// # Errors
    /// Says what is in the way, naming the column.
    pub fn check(&self, column: &Column) -> Result<(), DataError> {
        self.find(&column.name)?.check(&column.kind)
    }

    /// Where each name stands. Looking names up one by one would take for ever in a table of many columns.
    pub(super) fn positions(&self) -> HashMap<&str, usize> {
        self.names().zip(0..).collect()
    }

    /// As [`Schema::check`], for many columns.
    pub(super) fn check_all(&self, columns: &[Column]) -> Result<(), DataError> {
        let positions = self.positions();
        columns.iter().try_for_each(|column| match positions.get(column.name.as_str()) {
            Some(&position) => self.fields[position].check(&column.kind),
            None => self.check(column),
        })
    }

    /// The name nearest to a mistyped one, if at most a third of its letters differ.
    fn closest(&self, name: &str) -> Option<&str> {
        let lower = name.to_lowercase();
        let near = self.names().map(|candidate| (edits(&lower, &candidate.to_lowercase()), candidate));
        let (distance, candidate) = near.min_by_key(|(distance, _)| *distance)?;
        (distance <= lower.chars().count().div_ceil(3)).then_some(candidate)
    }

    /// The first name that occurs twice.
    pub(super) fn duplicate(&self) -> Option<&str> {
        let mut seen = std::collections::HashSet::new();
        self.names().find(|name| !seen.insert(*name))
    }

    /// A name that only one of the two schemas has.
    pub(super) fn difference<'a>(&'a self, other: &'a Self) -> Option<&'a str> {
        let missing = |from: &'a Self, to: &'a Self| {
            let names: std::collections::HashSet<&str> = to.names().collect();
            from.names().find(|name| !names.contains(name))
        };
        missing(self, other).or_else(|| missing(other, self))
    }

    /// Takes over what another file with the same names declares; gives the name of a column on which they disagree.
    pub(super) fn merge(&mut self, other: &Self) -> Result<(), String> {
        for field in &mut self.fields {
            let Some(theirs) = other.fields.iter().find(|theirs| theirs.name == field.name) else { continue };
            if field.contradicts(theirs) {
                return Err(field.name.clone());
            }
            let says_more = theirs.declared && !field.declared;
            if says_more || field.kind == Type::Unknown {
                *field = theirs.clone();
            }
        }
        Ok(())
    }
}

fn type_of(data_type: &DataType) -> Type {
    match data_type {
        DataType::Null => Type::Unknown,
        DataType::Boolean => Type::Boolean,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Type::Text,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Type::Date,
        DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) | DataType::Interval(_) => Type::Date,
        DataType::Dictionary(_, values) => type_of(values),
        number if number.is_numeric() => Type::Number,
        _ => Type::Unsupported,
    }
}

fn is_fractional(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_fractional(values),
        other => other.is_numeric() && !other.is_integer(),
    }
}

/// How many letters must be put in, taken out or changed to turn one text into the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in to.iter().enumerate() {
            let change = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}
