//! The model and its public facts.
//!
//! A formula names the terms of a regression and states what is *publicly* known about each column:
//! the bounds of a number, the levels of a category. Nothing here reads a row. Start from
//! [`Formula::parse`] (one line of text) or [`Formula::from_toml`] (the same in a file);
//! [`Formula::resolve`] checks a formula against the columns of a table and gives a [`Model`].
//!
//! ```
//! use dplm::formula::Formula;
//!
//! let formula = Formula::parse("log(pay[1..5000]) ~ age[18..90] * union{no,yes}")?;
//! assert_eq!(formula.to_string(), "log(pay[1..5000]) ~ age[18..90] + union{no,yes} + age:union");
//! # Ok::<(), dplm::formula::FormulaError>(())
//! ```
//!
//! | file | does |
//! |---|---|
//! | `expression.rs`, `range.rs` | numbers computed from cells, and their bounds by interval arithmetic |
//! | `curve.rs` | polynomials and splines on public bounds |
//! | `term.rs`, `model.rs` | products of variables; the columns of the design matrix and their names, as R has them |
//! | `event.rs`, `periods.rs` | a coefficient for each period of an event study |
//! | `within.rs`, `instrument.rs`, `endogenous.rs` | what follows `|`: whose own means are taken out; what is instrumented by what |
//! | `scan.rs`, `parse.rs`, `write.rs` | text to formula and back |
//! | `foreign.rs` | terms of other programs, answered with what to type |
//! | `model_file.rs`, `template.rs` | the same in a file |
//! | `resolve.rs` | a formula against a table |
//! | `union.rs` | one model with the terms of several |
//! | `weights.rs`, `by.rs` | what rows are weighted by, and grouped by |

mod error;
mod expression;
mod range;
mod curve;
mod event;
mod term;
mod instrument;
mod model;
mod periods;
mod within;
mod endogenous;
mod write;
mod scan;
mod foreign;
mod parse;
mod model_file;
mod template;
mod resolve;
mod union;
mod weights;
mod by;

use std::collections::{HashMap, HashSet};

use crate::options::Family;
pub use crate::schema::{Column, Kind};
pub use by::By;
pub use curve::{Curve, CurveShape, legendre_in_powers};
pub use endogenous::MomentNames;
pub use error::FormulaError;
pub use event::{Event, EventCell};
pub use expression::{Expression, Function, Operator};
use instrument::Instrument;
use model::Facts;
pub use model::Model;
pub use periods::EventStudy;
pub use range::Range;
pub use template::template;
pub use term::{Part, Regressor, Variable};
pub use weights::Weights;

/// A formula as written: `.` is not yet expanded, products are expanded.
///
/// Two formulas are equal when they state the same facts in the same order.
/// [`Display`](std::fmt::Display) prints one that [`Formula::parse`] reads back as an equal
/// formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    model: Box<Model>,
    /// The position of `.` among the terms.
    dot: Option<usize>,
    /// Columns that `.` leaves out.
    except: Vec<String>,
}

impl Formula {
    /// Whether the formula holds `.`, which stands for the columns that the table declares to be
    /// numeric.
    pub fn uses_dot(&self) -> bool {
        self.dot.is_some()
    }

    /// The names of the columns it reads, the response first; `None` if `.` leaves them to the
    /// table.
    pub fn names(&self) -> Option<Vec<&str>> {
        (!self.uses_dot()).then(|| self.model.columns.iter().map(|column| column.name.as_str()).collect())
    }

    /// The columns with neither bounds nor levels, as a formula writes them, the response first;
    /// `.` for the columns it stands for.
    pub fn without_bounds(&self) -> Vec<String> {
        let dot = self.dot.map(|_| DOT.to_owned());
        self.model.assumed_standard().map(|name| write::Name(name).to_string()).chain(dot).collect()
    }

    /// Whether any column has public bounds (`name[lo..hi]`); levels do not count.
    pub fn has_bounds(&self) -> bool {
        self.model.has_bounds()
    }

    /// The column of the persons who each have a constant of their own, where they have.
    pub fn within(&self) -> Option<&str> {
        self.model.within()
    }

    /// The regressor that instruments are for, where there are any.
    pub fn endogenous(&self) -> Option<String> {
        self.model.endogenous()
    }

    /// Puts the columns in order and checks the rules of every formula; every constructor ends
    /// here.
    fn checked(mut self) -> Result<Self, FormulaError> {
        self.model.settle_within()?;
        self.model.put_in_order();
        // `.` may be the only term.
        match (self.model.check(), self.dot) {
            (Err(FormulaError::NoTerms), Some(_)) | (Ok(()), _) => self.check_except()?,
            (Err(error), _) => return Err(error),
        }
        Ok(self)
    }

    fn check_except(&self) -> Result<(), FormulaError> {
        let is_response = |name: &&String| self.model.response.columns().contains(&name.as_str());
        let response = self.except.iter().find(is_response);
        response.map_or(Ok(()), |name| Err(FormulaError::ResponseOnRight { column: name.clone() }))
    }
}

impl Formula {
    /// The same for a response that is a number, or for one of two levels: a number between 0 and 1
    /// then has the levels 0 and 1.
    ///
    /// # Errors
    /// When the response is not of the family.
    fn of_family(mut self, family: Family) -> Result<Formula, FormulaError> {
        let binary = self.model.binary_response().map(str::to_owned);
        match (family, binary) {
            (Family::Gaussian, None) | (Family::Binomial, Some(_)) => Ok(self),
            (Family::Gaussian, Some(column)) => Err(FormulaError::CategoricalResponse { column }),
            (Family::Binomial, None) if self.model.within().is_some() => Err(FormulaError::WithinOfBinary),
            (Family::Binomial, None) => {
                self.model.make_response_binary()?;
                self.checked()
            }
        }
    }

    /// Whether the response is one of two levels.
    pub fn is_binary(&self) -> bool {
        self.model.binary_response().is_some()
    }
}

impl Model {
    /// A response that is 0 or 1, as the levels of those names. Other cells are missing then.
    fn make_response_binary(&mut self) -> Result<(), FormulaError> {
        let Expression::Column(response) = &self.response else {
            return Err(FormulaError::NotBinary { response: self.response.to_string() });
        };
        let columns = self.columns.iter().map(|column| match (&column.kind, column.name == *response) {
            (Kind::Bounded { low: 0.0, high: 1.0 }, true) => {
                let levels = ["0", "1"].map(str::to_owned).into();
                Ok(Column { kind: Kind::Levels(levels), ..column.clone() })
            }
            (_, true) => Err(FormulaError::NotBinary { response: column.name.clone() }),
            (_, false) => Ok(column.clone()),
        });
        self.columns = Facts::of(columns.collect::<Result<_, _>>()?);
        Ok(())
    }

    /// Keeps the columns that are read, in the order of their first mention.
    fn put_in_order(&mut self) {
        let mut facts: HashMap<String, Column> =
            self.columns.iter().map(|column| (column.name.clone(), column.clone())).collect();
        let of_terms = self.terms.iter().flat_map(|term| &term.0).flat_map(Variable::columns);
        let of_offsets = self.offsets.iter().flat_map(Expression::columns);
        let of_instrument = self.instrument.iter().flat_map(Instrument::columns);
        let all = self.response.columns().into_iter().chain(of_terms).chain(of_offsets).chain(of_instrument);
        self.columns = Facts::of(all.filter_map(|name| facts.remove(name)).collect());
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
        Kind::Dates { low, high } if low < high => Ok(()),
        Kind::Dates { .. } => Err(FormulaError::ReversedDates { column: column.name.clone() }),
        Kind::Levels(levels) => check_levels(&column.name, levels),
    }
}

/// The largest absolute bound: the ratio of two scales stays finite. Larger columns need other
/// units.
const LARGEST_BOUND: f64 = 1e150;
/// The smallest distance of two bounds, for the same reason.
const LEAST_WIDTH: f64 = 1e-150;
/// The smallest distance of two bounds relative to their size: at least 2^20 floating-point numbers
/// then lie between them, more than the 2^13 points of the lattice.
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
    // Cells are divided by half the width, which must be a normal number that survives rounding.
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
