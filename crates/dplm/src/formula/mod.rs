//! The model and its public facts.

/// What is publicly known about one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Numeric, taken as already centred and scaled to about unit variance.
    Standard,
    /// Numeric with public bounds; values outside are clamped.
    Bounded {
        /// The smallest value the column may take.
        low: f64,
        /// The largest value the column may take.
        high: f64,
    },
    /// Categorical with public levels; the first is the reference.
    Levels(Vec<String>),
}

/// One column of the table, with what is publicly known about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// The column's name in the table.
    pub name: String,
    /// Its public facts.
    pub kind: Kind,
}

/// A model with every column named: what [`Formula::resolve`](Formula) gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The column on the left of `~`; never [`Kind::Levels`].
    pub response: Column,
    /// The columns on the right, in formula order.
    pub features: Vec<Column>,
    /// Whether a constant is fitted.
    pub intercept: bool,
}

/// A formula as written; `.` is not yet expanded.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {}

/// Why a formula was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {}
