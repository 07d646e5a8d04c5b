//! The paper's lemmas as functions: what the iterates' law is, when nothing is clipped, how far off
//! the answer may be.
//!
//! Two kinds of function live here, and their types keep them apart. Those of public numbers (the
//! law of the iterates given a covariance, the bounds) return plain values. Those that look at rows
//! return [`NotPrivate`]: they are for `dplm diagnose`, for tests and for the lab. What a private
//! fit is planned with is in `dplm::theory`.
//!
//! [`clear`] has what a custodian computes from a table: least squares, and moments.
//!
//! Matrices are row-major slices throughout: `x[i * p + j]` is row i, column j.

pub mod law;
pub mod no_clipping;
pub mod bounds;
pub mod rates;
pub mod huber;
pub mod clear;

pub use dplm::privacy::NotPrivate;
use dplm::theory::OutOfRange;

/// Why a question of theory has no answer. No message holds anything computed from rows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TheoryError {
    /// A slice does not have the length its matrix or vector needs.
    #[error("{what} must hold {expected} numbers, but {found} were given")]
    Shape {
        /// Which argument.
        what: &'static str,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        found: usize,
    },
    /// A parameter is outside its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// A number among the rows or the moments is infinite or not a number.
    #[error("{what} must hold finite numbers only")]
    NotFinite {
        /// Which argument.
        what: &'static str,
    },
    /// There are too few rows for the number of columns.
    #[error("{columns} columns need at least as many rows, but there are {rows}; give more rows or fewer columns")]
    TooFewRows {
        /// Rows given.
        rows: usize,
        /// Columns given.
        columns: usize,
    },
    /// More than one parameter is optimal.
    #[error("the optimum is not unique; leave out columns that repeat others, or clip less")]
    NotUnique,
    /// The solver stopped before its accuracy was reached.
    #[error("the solver did not reach its accuracy; rescale the columns to comparable size")]
    NoConvergence,
}

/// Checks the length of a slice.
fn check_len(what: &'static str, values: &[f64], expected: usize) -> Result<(), TheoryError> {
    if values.len() == expected { Ok(()) } else { Err(TheoryError::Shape { what, expected, found: values.len() }) }
}

/// Checks that every number of a slice is finite.
fn check_finite(what: &'static str, values: &[f64]) -> Result<(), TheoryError> {
    if values.iter().all(|v| v.is_finite()) { Ok(()) } else { Err(TheoryError::NotFinite { what }) }
}

/// Checks that a parameter is positive and finite.
fn check_positive(name: &'static str, value: f64) -> Result<(), TheoryError> {
    Ok(OutOfRange::unless_positive(name, value)?)
}

/// Checks that a parameter lies strictly between 0 and 1.
fn check_probability(name: &'static str, value: f64) -> Result<(), TheoryError> {
    check_rule(value > 0.0 && value < 1.0, name, "strictly between 0 and 1")
}

fn check_rule(holds: bool, name: &'static str, rule: &'static str) -> Result<(), TheoryError> {
    Ok(OutOfRange::unless(holds, name, rule)?)
}

/// Checks a data set of `p` columns: shapes, finite numbers, at least as many rows as columns.
/// Gives the number of rows.
fn check_rows(x: &[f64], y: &[f64], p: usize) -> Result<usize, TheoryError> {
    check_rule(p > 0, "the number of columns", "at least 1")?;
    check_len("the rows", x, y.len() * p)?;
    check_finite("the rows", x)?;
    check_finite("the responses", y)?;
    if y.len() < p { Err(TheoryError::TooFewRows { rows: y.len(), columns: p }) } else { Ok(y.len()) }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

/// Numbers for tests: Gaussian rows and responses from a fixed seed.
#[cfg(test)]
mod simulated {
    use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
    use rand_distr::{Distribution, StandardNormal};

    pub fn normals(seed: u64, count: usize) -> Vec<f64> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        (0..count).map(|_| StandardNormal.sample(&mut rng)).collect()
    }

    /// `n` standard Gaussian rows of `theta.len()` columns and `y = x'theta + sigma * noise`.
    pub fn regression(seed: u64, n: usize, theta: &[f64], sigma: f64) -> (Vec<f64>, Vec<f64>) {
        let x = normals(seed, n * theta.len());
        let noise = normals(seed ^ 0x5eed, n);
        let y = x.chunks(theta.len()).zip(noise).map(|(row, z)| super::dot(row, theta) + sigma * z).collect();
        (x, y)
    }
}
