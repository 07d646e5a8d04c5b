//! The columns of a table: what the table declares about them, and what is publicly known.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{
    date::date_of,
    number::short,
    options::{Advice, Advised},
};

/// What is publicly known about one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Numeric, assumed to be already centred and scaled to about unit variance.
    Standard,
    /// Numeric with public bounds; values outside are clamped.
    Bounded {
        /// The smallest value the column may take.
        low: f64,
        /// The largest value the column may take.
        high: f64,
    },
    /// Dates with public bounds, as days after 1970-01-01; dates outside are clamped.
    Dates {
        /// The first day the column may hold.
        low: i32,
        /// The last day the column may hold.
        high: i32,
    },
    /// Categorical with public levels; the first is the reference. A level `*` stands for every
    /// unlisted value; without it an unlisted value is missing.
    Levels(Vec<String>),
}

/// One column of the table, with what is publicly known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// The column's name in the table.
    pub name: String,
    /// Its public facts.
    pub kind: Kind,
}

impl Kind {
    /// The public bounds of a number or date, if any.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match *self {
            Kind::Bounded { low, high } => Some((low, high)),
            Kind::Dates { low, high } => Some((low.into(), high.into())),
            Kind::Standard | Kind::Levels(_) => None,
        }
    }

    /// The midpoint of the public bounds of a number or date, and 0 for a number without them;
    /// `None` for a category.
    pub fn middle(&self) -> Option<f64> {
        match self {
            Kind::Levels(_) => None,
            Kind::Standard => Some(0.0),
            Kind::Bounded { .. } | Kind::Dates { .. } => self.bounds().map(|(low, high)| low + (high - low) / 2.0),
        }
    }

    /// A number of the column for display: a day as its date.
    pub fn shown(&self, number: f64) -> String {
        match self {
            Kind::Dates { .. } => date_of(number.round() as i32),
            Kind::Standard | Kind::Bounded { .. } | Kind::Levels(_) => short(number),
        }
    }
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// Numbers.
    Number,
    /// Integers, which a model reads as any other numbers.
    Integer,
    /// True or false; 1 and 0 when read as a number.
    Boolean,
    /// Text.
    Text,
    /// Dates, with or without a time.
    Date,
    /// Any other type, such as durations, lists and raw bytes; not usable in a model.
    Unsupported,
    /// No declared type, as in text files and Python lists: each cell is read on its own, as the
    /// formula says.
    Undeclared,
}

impl Type {
    fn is_number(self) -> bool {
        matches!(self, Type::Number | Type::Integer)
    }
}

/// One column of a [`Schema`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The column's name.
    pub name: String,
    /// What it holds.
    pub kind: Type,
}

impl Field {
    /// A column of this name and type.
    pub fn new(name: impl Into<String>, kind: Type) -> Self {
        Self { name: name.into(), kind }
    }

    /// Whether something declares the type.
    pub fn is_declared(&self) -> bool {
        self.kind != Type::Undeclared
    }

    /// Whether two files declare types that cannot be read as one column.
    fn contradicts(&self, other: &Self) -> bool {
        let are_numbers = self.kind.is_number() && other.kind.is_number();
        self.is_declared() && other.is_declared() && self.kind != other.kind && !are_numbers
    }

    /// Takes over the type that another, consistent file declares for the column.
    fn merge(&mut self, other: &Self) {
        if !self.is_declared() || (self.kind == Type::Integer && other.kind == Type::Number) {
            self.kind = other.kind;
        }
    }

    fn check(&self, kind: &Kind) -> Result<(), SchemaError> {
        let column = || self.name.clone();
        match (self.kind, kind) {
            (Type::Date | Type::Text | Type::Undeclared, Kind::Dates { .. }) => Ok(()),
            (Type::Date, _) => Err(SchemaError::Date { column: column() }),
            (Type::Number | Type::Integer | Type::Boolean, Kind::Dates { .. }) => {
                Err(SchemaError::NumberAsDate { column: column() })
            }
            (Type::Unsupported, _) => Err(SchemaError::UnsupportedType { column: column() }),
            (Type::Text, Kind::Standard | Kind::Bounded { .. }) => Err(SchemaError::TextAsNumber { column: column() }),
            _ => Ok(()),
        }
    }

    /// Whether the type can identify persons: only integers and texts are kept as they were
    /// written.
    fn check_identifier(&self) -> Result<(), SchemaError> {
        let held = match self.kind {
            Type::Integer | Type::Text | Type::Undeclared => return Ok(()),
            Type::Number => "floating-point numbers or decimals",
            Type::Boolean => "booleans",
            Type::Date => "dates",
            Type::Unsupported => "neither integers nor text",
        };
        Err(SchemaError::Identifier { column: self.name.clone(), held })
    }
}

/// The columns of a table, in file order.
///
/// # Guarantee
/// Nothing in a schema is inferred from cells. Parquet and Arrow files, and typed columns in
/// memory, declare names and types, which are taken as public. A text file has only names, on its
/// first line; a first line that may be a row is never printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    fields: Vec<Field>,
    /// Whether the names are the file's own metadata, rather than the first line of a text that
    /// should name the columns.
    names_are_declared: bool,
}

impl Schema {
    /// A schema with these columns, names and types declared.
    pub fn new(fields: Vec<Field>) -> Self {
        Self { fields, names_are_declared: true }
    }

    /// The columns of a text, named by its first line.
    #[cfg(feature = "csv")]
    pub(crate) fn of_text(names: Vec<String>) -> Self {
        let fields = names.into_iter().map(|name| Field::new(name, Type::Undeclared)).collect();
        Self { fields, names_are_declared: false }
    }

    /// The columns, in file order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The names of the columns, in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// All columns except one.
    pub fn without(&self, name: &str) -> Schema {
        let others = self.fields.iter().filter(|field| field.name != name).cloned().collect();
        Self { fields: others, ..*self }
    }

    /// Checks that every column exists and can be read as the formula says.
    ///
    /// # Errors
    /// Names the column and the problem. Suggests the closest name only if it cannot be a cell: if
    /// names are declared, or if the first line of a text has at least one of the requested names
    /// and so is a header.
    pub fn check_all(&self, columns: &[Column]) -> Result<(), SchemaError> {
        let positions = self.positions();
        let has = |column: &Column| positions.contains_key(column.name.as_str());
        let is_header = self.names_are_declared || columns.iter().any(has);
        let missing = columns.iter().find(|column| !has(column));
        missing.map_or(Ok(()), |column| Err(self.unknown(&column.name, is_header)))?;
        columns.iter().try_for_each(|column| self.fields[positions[column.name.as_str()]].check(&column.kind))
    }

    /// Checks that columns of these names exist, once [`Schema::check_all`] has found others and so
    /// shown that the names are a header.
    ///
    /// # Errors
    /// Names the first missing column.
    pub(crate) fn check_present(&self, names: &[String]) -> Result<(), SchemaError> {
        let positions = self.positions();
        let missing = names.iter().find(|name| !positions.contains_key(name.as_str()));
        missing.map_or(Ok(()), |name| Err(self.unknown(name, true)))
    }

    /// Checks that a column, if it exists, can identify persons.
    ///
    /// # Errors
    /// When its declared type does not keep identifiers as they were written.
    pub fn check_identifier(&self, name: &str) -> Result<(), SchemaError> {
        self.fields.iter().filter(|field| field.name == name).try_for_each(Field::check_identifier)
    }

    /// The error for `.` if a column has no declared type.
    pub(crate) fn undeclared(&self, field: &Field) -> SchemaError {
        match self.names_are_declared {
            true => SchemaError::UndeclaredType { column: field.name.clone() },
            false => SchemaError::DotOnText,
        }
    }

    fn unknown(&self, name: &str, is_header: bool) -> SchemaError {
        let suggestion = self.closest(name).filter(|_| is_header).map(str::to_owned);
        SchemaError::UnknownColumn { column: name.to_owned(), suggestion }
    }

    /// The position of each name. A linear search would be quadratic in the number of columns.
    pub(crate) fn positions(&self) -> HashMap<&str, usize> {
        self.names().zip(0..).collect()
    }

    /// The name nearest to a mistyped one, if at most a third of its letters differ.
    fn closest(&self, name: &str) -> Option<&str> {
        let lower = name.to_lowercase();
        let near = self.names().map(|candidate| (edits(&lower, &candidate.to_lowercase()), candidate));
        let (distance, candidate) = near.min_by_key(|(distance, _)| *distance)?;
        (distance <= lower.chars().count().div_ceil(3)).then_some(candidate)
    }

    /// Two columns of one name, by position.
    pub(crate) fn duplicate(&self) -> Option<(usize, usize)> {
        let mut seen = HashMap::new();
        self.names().zip(0..).find_map(|(name, position)| Some((seen.insert(name, position)?, position)))
    }

    /// What messages call a column: its name if that cannot be a cell, else its position, counted
    /// from 1.
    pub(crate) fn in_words(&self, position: usize) -> String {
        match self.names_are_declared {
            true => format!("'{}'", self.fields[position].name),
            false => format!("number {}", position + 1),
        }
    }

    /// The position of a column that the other schema does not have.
    pub(crate) fn missing_from(&self, other: &Self) -> Option<usize> {
        let known = other.positions();
        self.names().position(|name| !known.contains_key(name))
    }

    /// Takes over the types that another file with the same names declares; gives the position of a
    /// column on which they disagree.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), usize> {
        let theirs = other.positions();
        for (position, field) in self.fields.iter_mut().enumerate() {
            let Some(theirs) = theirs.get(field.name.as_str()).map(|&position| &other.fields[position]) else {
                continue;
            };
            if field.contradicts(theirs) {
                return Err(position);
            }
            field.merge(theirs);
        }
        Ok(())
    }
}

/// The Levenshtein distance of two texts.
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

/// Why the columns of a table are not those that a formula needs. Never holds a cell's value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The table has no such column.
    #[error("the data have no column '{column}'{}", suggest(suggestion))]
    UnknownColumn {
        /// The name asked for.
        column: String,
        /// The closest name, if there is a close one.
        suggestion: Option<String>,
    },
    /// A column of dates that is read as another type.
    #[error("column '{column}' holds dates: write its bounds as dates, as in {column}[2020-01-01..2020-12-31]")]
    Date {
        /// The column.
        column: String,
    },
    /// A column declared as numbers that is read as dates.
    #[error("column '{column}' holds numbers, not dates: write its bounds as numbers, as in {column}[0..100]")]
    NumberAsDate {
        /// The column.
        column: String,
    },
    /// A column of a type that a model cannot use.
    #[error("column '{column}' has a type that a model cannot use: store it as numbers or text")]
    UnsupportedType {
        /// The column.
        column: String,
    },
    /// A column declared as text that is read as a number.
    #[error("column '{column}' holds text or categories")]
    TextAsNumber {
        /// The column.
        column: String,
    },
    /// The column that identifies persons has a type that does not keep identifiers as they were
    /// written.
    #[error("column '{column}' holds {held}, and identifiers are compared as they were written")]
    Identifier {
        /// The column.
        column: String,
        /// A description of its type.
        held: &'static str,
    },
    /// `.` cannot be expanded for a text file.
    #[error(
        "'.' needs columns with declared types, which a text file does not have: name the columns in the \
         formula, or store the table as Parquet or Arrow"
    )]
    DotOnText,
    /// `.` cannot be expanded over a column of mixed cells.
    #[error(
        "'.' needs columns with declared types, and '{column}' has none: name the columns in the formula, \
         exclude it with '. - {column}', or give it a type"
    )]
    UndeclaredType {
        /// The column.
        column: String,
    },
    /// `.` stands for no column.
    #[error("the data have no other numeric column for '.' to stand for: name the columns")]
    NothingForDot,
}

impl Advised for SchemaError {
    fn advice(&self) -> Option<Advice> {
        match self {
            SchemaError::TextAsNumber { column } => {
                Some(Advice::new(format!("give its levels, as in {column}{{a,b}}, or ")).numbers(column))
            }
            SchemaError::Identifier { column, .. } => Some(Advice::default().identifiers(column)),
            _ => None,
        }
    }
}

fn suggest(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(name) => format!(": did you mean '{name}'?"),
        None => ": check the formula against the header".to_owned(),
    }
}
