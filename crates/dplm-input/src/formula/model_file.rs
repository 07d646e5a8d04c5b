//! The same facts in a TOML file.
//!
//! ```toml
//! response = "earnings"
//! intercept = true            # the default
//!
//! [columns.earnings]          # columns come in the order of the file
//! low = 0
//! high = 200000
//!
//! [columns.region]
//! levels = ["north", "south"] # the first is the reference
//!
//! [columns.z]
//! standard = true             # already centred, about unit variance
//!
//! [columns."."]               # every other numeric column, taken as standard
//! except = ["id"]
//! ```
//!
//! Or the terms in one line, with tables that state only what is known of the columns; columns that
//! the formula does not name are ignored:
//!
//! ```toml
//! formula = "log(earnings) ~ poly(age, 2) + region"
//! ```

use std::{collections::HashMap, fmt::Write};

use toml::de::{DeTable, DeValue};

use crate::{
    date::{date_of, day_of},
    options::Family,
};

use super::{Column, DOT, Formula, FormulaError, Kind, Model, model::Facts, write::Number};

impl Formula {
    /// Reads the facts from TOML; the order of the `[columns]` tables is the order of the formula.
    ///
    /// # Errors
    /// Refuses what [`Formula::parse`] refuses, unknown keys, and a template with blanks.
    ///
    /// # Examples
    /// ```
    /// use dplm::formula::Formula;
    /// let text = "response = 'y'\n[columns.y]\nlow = 0\nhigh = 10\n[columns.g]\nlevels = ['a', 'b']";
    /// assert_eq!(Formula::from_toml(text)?, Formula::parse("y[0..10] ~ g{a,b}")?);
    /// # Ok::<(), dplm::formula::FormulaError>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, FormulaError> {
        Formula::from_toml_for(text, Family::Gaussian)
    }

    /// The same for a family of responses, as [`Formula::parse_for`].
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml), and when the response is not of the family.
    pub fn from_toml_for(text: &str, family: Family) -> Result<Self, FormulaError> {
        let document = DeTable::parse(text).map_err(|error| FormulaError::NotToml {
            line: line_of(text, error.span().map_or(0, |span| span.start)),
            problem: error.message().to_owned(),
        })?;
        read_document(text, document.get_ref())?.checked()?.of_family(family)
    }

    /// Writes the formula and its facts as TOML that [`Formula::from_toml`] reads back as an equal
    /// formula.
    pub fn to_toml(&self) -> String {
        let mut text = format!("formula = {}\n", quote(&self.without_facts()));
        self.model.columns.iter().for_each(|column| write_column(&mut text, column));
        text
    }
}

fn write_column(text: &mut String, column: &Column) {
    let facts = match &column.kind {
        Kind::Standard => "standard = true\n".to_owned(),
        Kind::Bounded { low, high } => format!("low = {}\nhigh = {}\n", TomlNumber(*low), TomlNumber(*high)),
        Kind::Dates { low, high } => format!("low = {}\nhigh = {}\n", date_of(*low), date_of(*high)),
        Kind::Levels(levels) => format!("levels = {}\n", quote_list(levels)),
    };
    write_table(text, &column.name, &facts);
}

fn write_table(text: &mut String, name: &str, facts: &str) {
    write!(text, "\n[columns.{}]\n{facts}", key(name)).expect("writing to a String cannot fail");
}

/// A number as TOML: small whole numbers as integers, the rest as floats.
struct TomlNumber(f64);

impl std::fmt::Display for TomlNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // From 2^53 on, Rust may print digits without a point, which TOML would read as an integer
        // that overflows.
        if self.0.abs() < 9e15 { write!(f, "{}", Number(self.0)) } else { write!(f, "{:?}", self.0) }
    }
}

/// A name as a TOML key, bare if possible.
pub(super) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quote(name) }
}

/// A TOML basic string.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            _ if character.is_control() => {
                write!(quoted, "\\u{:04X}", u32::from(character)).expect("writing to a String cannot fail");
            }
            _ => quoted.push(character),
        }
    }
    quoted + "\""
}

fn quote_list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
    format!("[{}]", items.join(", "))
}

/// A bound of a column.
#[derive(Clone, Copy)]
enum Bound {
    Number(f64),
    Day(i32),
}

/// A value of the document with its key and line, for error messages.
#[derive(Clone, Copy)]
struct Entry<'a> {
    key: &'a str,
    value: &'a DeValue<'a>,
    line: usize,
}

impl<'a> Entry<'a> {
    fn wrong(&self, wanted: &'static str) -> FormulaError {
        FormulaError::WrongType { key: self.key.to_owned(), wanted, line: self.line }
    }

    fn unknown(&self, allowed: &'static str) -> FormulaError {
        FormulaError::UnknownKey { key: self.key.to_owned(), allowed, line: self.line }
    }

    fn boolean(&self) -> Result<bool, FormulaError> {
        self.value.as_bool().ok_or_else(|| self.wrong("true or false"))
    }

    fn string(&self) -> Result<&'a str, FormulaError> {
        self.value.as_str().ok_or_else(|| self.wrong("text in quotes"))
    }

    fn table(&self) -> Result<&'a DeTable<'a>, FormulaError> {
        self.value.as_table().ok_or_else(|| self.wrong("a table"))
    }

    /// A number or a day, or `None` for the blank (`""`) that a template leaves.
    fn bound(&self) -> Result<Option<Bound>, FormulaError> {
        let wrong = || self.wrong("a number, or a date as 2020-12-31");
        match self.value {
            DeValue::String(text) if text.trim().is_empty() => Ok(None),
            DeValue::String(text) => day_of(text).map(|day| Some(Bound::Day(day))).ok_or_else(wrong),
            DeValue::Datetime(date) => day_of(&date.to_string()).map(|day| Some(Bound::Day(day))).ok_or_else(wrong),
            DeValue::Float(float) => {
                float.as_str().parse().map(|float| Some(Bound::Number(float))).map_err(|_| wrong())
            }
            DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(whole) => Ok(Some(Bound::Number(whole as f64))),
                Err(_) => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }

    /// A list of texts; whole numbers and booleans become their text.
    fn texts(&self) -> Result<Vec<String>, FormulaError> {
        let wrong = || self.wrong("a list of texts");
        let text = |item: &DeValue<'_>| match item {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(truth) => Some(truth.to_string()),
            DeValue::Integer(whole) if whole.radix() == 10 => Some(whole.as_str().to_owned()),
            _ => None,
        };
        let items = self.value.as_array().ok_or_else(wrong)?;
        items.iter().map(|item| text(item.get_ref()).ok_or_else(wrong)).collect()
    }
}

/// The entries of a table in the order they were written.
fn entries<'a>(text: &str, table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut spanned: Vec<_> = table.iter().collect();
    spanned.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&'a toml::Spanned<_>, &'a toml::Spanned<DeValue<'a>>)| {
        let name: &'a std::borrow::Cow<'a, str> = key.get_ref();
        Entry { key: name, value: value.get_ref(), line: line_of(text, key.span().start) }
    };
    spanned.into_iter().map(entry).collect()
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&byte| byte == b'\n').count() + 1
}

fn read_document(text: &str, document: &DeTable<'_>) -> Result<Formula, FormulaError> {
    let (mut formula, mut response, mut intercept) = (None, None, None);
    let mut columns = Vec::new();
    for entry in entries(text, document) {
        match entry.key {
            "formula" => formula = Some(entry),
            "response" => response = Some(entry.string()?).filter(|name| !name.is_empty()),
            "intercept" => intercept = Some(entry.boolean()?),
            "columns" => columns = entries(text, entry.table()?),
            _ => return Err(entry.unknown("formula, or response and intercept, and [columns.NAME]")),
        }
    }
    match formula {
        Some(entry) if response.is_some() || intercept.is_some() => Err(FormulaError::TwoModels { line: entry.line }),
        Some(entry) => described(Formula::read(entry.string()?)?, text, &columns),
        None => sum_of(response.ok_or(FormulaError::NoResponse)?, intercept.unwrap_or(true), text, &columns),
    }
}

/// A formula with the facts that the tables state about its columns.
fn described(mut formula: Formula, text: &str, tables: &[Entry<'_>]) -> Result<Formula, FormulaError> {
    let tables: HashMap<&str, &Entry<'_>> = tables.iter().map(|table| (table.key, table)).collect();
    let mut columns = formula.model.columns();
    for column in &mut columns {
        if let Some(table) = tables.get(column.name.as_str()) {
            column.learn(read_column(table.key, &entries(text, table.table()?))?.kind)?;
        }
    }
    formula.model.columns = Facts::of(columns);
    Ok(formula)
}

/// The sum of the columns that the tables describe.
fn sum_of(response: &str, intercept: bool, text: &str, tables: &[Entry<'_>]) -> Result<Formula, FormulaError> {
    let (mut features, mut dot, mut except, mut of_response) = (Vec::new(), None, Vec::new(), None);
    for entry in tables {
        let facts = entries(text, entry.table()?);
        match entry.key {
            DOT => (dot, except) = (Some(features.len()), read_except(&facts)?),
            name if name == response => of_response = Some(read_column(name, &facts)?),
            name => features.push(read_column(name, &facts)?),
        }
    }
    let response = of_response.ok_or_else(|| FormulaError::ResponseNotDescribed { column: response.to_owned() })?;
    Ok(Formula { model: Box::new(Model::of_columns(response, features, intercept)), dot, except })
}

fn read_except(facts: &[Entry<'_>]) -> Result<Vec<String>, FormulaError> {
    let mut except = Vec::new();
    for fact in facts {
        match fact.key {
            "except" => except = fact.texts()?,
            _ => return Err(fact.unknown("except")),
        }
    }
    Ok(except)
}

fn read_column(name: &str, facts: &[Entry<'_>]) -> Result<Column, FormulaError> {
    let (mut low, mut high, mut levels, mut standard) = (None, None, None, false);
    for fact in facts {
        match fact.key {
            "low" => low = Some(fact.bound()?),
            "high" => high = Some(fact.bound()?),
            "levels" => levels = Some(fact.texts()?),
            "standard" => standard = fact.boolean()?,
            _ => return Err(fact.unknown("low and high, levels, or standard")),
        }
    }
    let column = name.to_owned();
    let kind = match (low, high, levels, standard) {
        (Some(Some(Bound::Number(low))), Some(Some(Bound::Number(high))), None, false) => Kind::Bounded { low, high },
        (Some(Some(Bound::Day(low))), Some(Some(Bound::Day(high))), None, false) => Kind::Dates { low, high },
        (None, None, Some(levels), false) if levels.is_empty() => return Err(FormulaError::UnfilledLevels { column }),
        (None, None, Some(levels), false) => Kind::Levels(levels),
        (None, None, None, true) => Kind::Standard,
        (Some(_), _, None, false) | (_, Some(_), None, false) => return Err(FormulaError::UnfilledBounds { column }),
        _ => return Err(FormulaError::UnclearFacts { column }),
    };
    Ok(Column { name: column, kind })
}
