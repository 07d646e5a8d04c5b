//! What a ledger holds.

use dplm::privacy::Rho;
use serde::Serialize;

/// One line of the ledger. Lines are only ever added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Its number in the file, from 1.
    pub id: i64,
    /// The data set.
    pub dataset: String,
    /// When it was recorded, in UTC.
    pub time: String,
    /// What it is.
    pub kind: Kind,
    /// The budget it grants or spends.
    pub rho: Rho,
    /// A note, or the formula of the fit.
    pub text: String,
    /// A fingerprint of the public plan of the fit; empty for grants.
    pub plan: String,
    /// A fingerprint of the table's columns and its number of rows, never of its cells; empty for grants.
    pub table: String,
    /// The hash that chains it to the entry before.
    pub hash: String,
}

/// What an entry does to the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Opens a data set with its first budget.
    Init,
    /// Adds budget.
    Grant,
    /// Spends budget.
    Spend,
}

/// What a fit is about to spend.
#[derive(Clone, Debug, PartialEq)]
pub struct Spending {
    /// How much.
    pub rho: Rho,
    /// The formula.
    pub formula: String,
    /// The public plan in words; its fingerprint is kept.
    pub plan: String,
    /// The columns and number of rows in words; their fingerprint is kept.
    pub table: String,
}

/// The state of a data set's budget. Sums are in units of 10^-15, exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// The data set.
    pub dataset: String,
    /// The delta at which epsilon is shown.
    pub delta: f64,
    /// Everything granted.
    pub total: Amount,
    /// Everything spent.
    pub spent: Amount,
    /// What is left.
    pub left: Amount,
    /// Every entry of this data set.
    pub entries: Vec<Entry>,
}

/// A sum of budgets, which may be nothing: units of 10^-15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u128);

impl Amount {
    /// The nearest number.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / Rho::UNITS as f64
    }
}

impl std::fmt::Display for Amount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let units = u128::from(Rho::UNITS);
        let (whole, fraction) = (self.0 / units, self.0 % units);
        let digits = format!("{fraction:015}");
        match digits.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            digits => write!(f, "{whole}.{digits}"),
        }
    }
}

impl Spending {
    /// A spending without plan and table, for callers that have none.
    pub fn new(rho: Rho, formula: impl Into<String>) -> Spending {
        Spending { rho, formula: formula.into(), plan: String::new(), table: String::new() }
    }
}

impl Kind {
    /// As stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Init => "init",
            Kind::Grant => "grant",
            Kind::Spend => "spend",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Kind> {
        [Kind::Init, Kind::Grant, Kind::Spend].into_iter().find(|kind| kind.name() == name)
    }
}
