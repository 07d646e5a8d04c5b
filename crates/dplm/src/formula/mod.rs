//! The model and its public facts.
//!
//! A formula names the columns of a regression and writes down what is *publicly* known about each: bounds of a
//! number, levels of a category. Nothing here reads a row. The way in is [`Formula::parse`] (one line of text) or
//! [`Formula::from_toml`] (the same facts in a file); [`Formula::resolve`] checks it against the columns of a table
//! and gives a [`Model`].
//!
//! ```
//! use dplm::formula::Formula;
//!
//! let formula = Formula::parse("earnings[0..200000] ~ age[18..90] + region{north,south,east}")?;
//! assert_eq!(formula.to_string(), "earnings[0..200000] ~ age[18..90] + region{north,south,east}");
//! # Ok::<(), dplm::formula::FormulaError>(())
//! ```

mod error;
mod write;
mod parse;
mod model_file;
mod template;
mod resolve;

use std::collections::HashSet;

pub use crate::schema::{Column, Kind};
pub use error::FormulaError;
pub use template::template;

/// A model with every column named: what [`Formula::resolve`] gives.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Model {
    /// The column on the left of `~`; never [`Kind::Levels`].
    pub response: Column,
    /// The columns on the right, in formula order.
    pub features: Vec<Column>,
    /// Whether a constant is fitted.
    pub intercept: bool,
}

impl Model {
    /// Every column the model reads, the response first, then the features in formula order.
    pub fn columns(&self) -> Vec<Column> {
        self.each_column().cloned().collect()
    }

    /// Whether any column has public bounds (`name[lo..hi]`); levels do not count.
    pub fn has_bounds(&self) -> bool {
        self.each_column().any(|column| matches!(column.kind, Kind::Bounded { .. }))
    }

    /// Names of the columns taken, never measured, to be centred with unit variance; the response first.
    pub fn assumed_standard(&self) -> impl Iterator<Item = &str> {
        self.each_column().filter(|column| column.kind == Kind::Standard).map(|column| column.name.as_str())
    }

    /// Names of the coefficients in formula order: `(Intercept)`, `column`, `column[level]`.
    ///
    /// The reference level of a category has no coefficient.
    pub fn coefficient_names(&self) -> Vec<String> {
        let constant = self.intercept.then(|| "(Intercept)".to_owned());
        constant.into_iter().chain(self.features.iter().flat_map(Column::coefficients)).collect()
    }

    fn each_column(&self) -> impl Iterator<Item = &Column> {
        std::iter::once(&self.response).chain(&self.features)
    }
}

/// A formula as written; `.` is not yet expanded.
///
/// Two formulas are equal when they state the same facts in the same order. [`Display`](std::fmt::Display) prints one
/// that [`Formula::parse`] reads back as an equal formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    response: Column,
    terms: Vec<Term>,
    /// Columns that `.` leaves out.
    except: Vec<String>,
    intercept: bool,
}

/// One summand on the right of `~`.
#[derive(Clone, Debug, PartialEq)]
enum Term {
    Column(Column),
    /// `.`: every other numeric column.
    Others,
}

impl Formula {
    /// Whether the formula holds `.`, so that its columns are those that the table declares to be numeric.
    pub fn uses_dot(&self) -> bool {
        self.terms.contains(&Term::Others)
    }

    /// The names of the columns it reads, the response first; none where `.` leaves them to the table.
    pub fn names(&self) -> Option<Vec<&str>> {
        let named = std::iter::once(&self.response).chain(self.named_columns());
        (!self.uses_dot()).then(|| named.map(|column| column.name.as_str()).collect())
    }

    /// The columns with neither bounds nor levels as a formula writes them, the response first; `.` for those it stands for.
    pub fn without_bounds(&self) -> Vec<String> {
        let bare = |column: &Column| (column.kind == Kind::Standard).then(|| write::Name(&column.name).to_string());
        let term = |term: &Term| match term {
            Term::Column(column) => bare(column),
            Term::Others => Some(DOT.to_owned()),
        };
        bare(&self.response).into_iter().chain(self.terms.iter().filter_map(term)).collect()
    }

    /// Whether any column has public bounds (`name[lo..hi]`); levels do not count.
    pub fn has_bounds(&self) -> bool {
        let columns = self.terms.iter().filter_map(|term| match term {
            Term::Column(column) => Some(column),
            Term::Others => None,
        });
        std::iter::once(&self.response).chain(columns).any(|column| matches!(column.kind, Kind::Bounded { .. }))
    }

    /// The rules that hold however the formula was written; every way of making one ends here.
    fn checked(self) -> Result<Self, FormulaError> {
        if matches!(self.response.kind, Kind::Levels(_)) {
            return Err(FormulaError::CategoricalResponse { column: self.response.name });
        }
        check_facts(&self.response)?;
        self.check_terms()?;
        self.check_except()?;
        if self.terms.is_empty() && !self.intercept {
            return Err(FormulaError::NoTerms);
        }
        Ok(self)
    }

    fn check_terms(&self) -> Result<(), FormulaError> {
        let mut seen = HashSet::new();
        let mut dots = 0;
        for term in &self.terms {
            match term {
                Term::Others => dots += 1,
                Term::Column(column) if column.name == self.response.name => {
                    return Err(FormulaError::ResponseOnRight { column: column.name.clone() });
                }
                Term::Column(column) if !seen.insert(&column.name) => {
                    return Err(FormulaError::DuplicateColumn { column: column.name.clone() });
                }
                Term::Column(column) => check_facts(column)?,
            }
        }
        if dots > 1 { Err(FormulaError::DuplicateDot) } else { Ok(()) }
    }

    fn check_except(&self) -> Result<(), FormulaError> {
        let mut seen = HashSet::new();
        for name in &self.except {
            let column = || name.clone();
            if !self.uses_dot() {
                return Err(FormulaError::RemovedWithoutDot { column: column() });
            }
            if *name == self.response.name {
                return Err(FormulaError::ResponseOnRight { column: column() });
            }
            if self.named_columns().any(|named| named.name == *name) {
                return Err(FormulaError::RemovedAndNamed { column: column() });
            }
            if !seen.insert(name) {
                return Err(FormulaError::DuplicateColumn { column: column() });
            }
        }
        Ok(())
    }

    /// The columns on the right that are written out by name.
    fn named_columns(&self) -> impl Iterator<Item = &Column> {
        self.terms.iter().filter_map(|term| match term {
            Term::Column(column) => Some(column),
            Term::Others => None,
        })
    }
}

/// The name that stands for every other numeric column, in formulas and model files alike.
const DOT: &str = ".";

fn check_facts(column: &Column) -> Result<(), FormulaError> {
    if column.name == DOT {
        return Err(FormulaError::ReservedName);
    }
    match &column.kind {
        Kind::Standard => Ok(()),
        Kind::Bounded { low, high } => check_bounds(&column.name, *low, *high),
        Kind::Levels(levels) => check_levels(&column.name, levels),
    }
}

/// Bounds are at most so large, so that the ratio of two scales is a number; beyond them units should be changed.
const LARGEST_BOUND: f64 = 1e150;
/// Bounds are at least so far apart, likewise.
const LEAST_WIDTH: f64 = 1e-150;
/// Bounds are at least so far apart against their size: between them lie 2^20 numbers then, more than the 2^13 points of the lattice.
const LEAST_RELATIVE_WIDTH: f64 = 1.0 / (1u64 << 32) as f64;

fn check_bounds(column: &str, low: f64, high: f64) -> Result<(), FormulaError> {
    let column = || column.to_owned();
    if !low.is_finite() || !high.is_finite() {
        return Err(FormulaError::NonFiniteBounds { column: column() });
    }
    if low > high {
        return Err(FormulaError::ReversedBounds { column: column(), low, high });
    }
    if low == high {
        return Err(FormulaError::EqualBounds { column: column(), bound: low });
    }
    let size = low.abs().max(high.abs());
    if size > LARGEST_BOUND {
        return Err(FormulaError::LargeBounds { column: column() });
    }
    // Cells are divided by half the width, which must be a normal number, and one that rounding leaves intact.
    if high - low < LEAST_WIDTH || high - low < LEAST_RELATIVE_WIDTH * size {
        return Err(FormulaError::CloseBounds { column: column() });
    }
    Ok(())
}

fn check_levels(column: &str, levels: &[String]) -> Result<(), FormulaError> {
    let mut seen = HashSet::new();
    for level in levels {
        if level.is_empty() {
            return Err(FormulaError::EmptyLevel { column: column.to_owned() });
        }
        if !seen.insert(level) {
            return Err(FormulaError::DuplicateLevel { column: column.to_owned(), level: level.clone() });
        }
    }
    if levels.len() < 2 {
        return Err(FormulaError::TooFewLevels { column: column.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
