//! A coefficient for each period but one: event studies and difference-in-differences, as fixest
//! has them.

/// `i(period, treated, ref = 3)`: for each level of a category but the reference, 1 for the rows
/// that have it and are treated.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The category that is passed through.
    pub period: String,
    /// The category whose levels but the first are treated; all rows are where there is none.
    pub of: Option<String>,
    /// The level of the period that has no coefficient.
    pub reference: String,
    /// What the levels of the treated, the cohorts, count in averages; all alike where there are
    /// none.
    pub shares: Vec<f64>,
}

/// The rows that one column of an event is 1 for: those with a level of the period and, where only
/// some rows are treated, a level of that category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCell {
    /// The level of the period.
    pub period: u32,
    /// The level of what is treated.
    pub of: Option<u32>,
}

impl Event {
    /// The columns that are read.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        [&self.period].into_iter().chain(&self.of).map(String::as_str)
    }
}
