//! What a ledger holds.

use dplm::{
    LedgerEntry, Statement,
    privacy::{
        Neighbours, Rho, Unit,
        convert::{self, Conversion},
    },
};
use serde::{Serialize, Serializer};

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
    /// The delta at which the data set's epsilon is shown; given when it is opened.
    pub delta: Option<f64>,
    /// Which data sets the fit makes hard to tell apart, and of whom where that is not rows; empty for grants.
    pub neighbours: String,
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

/// The state of a data set's budget. Sums are in units of 10^-15, exactly.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

impl Account {
    /// The epsilon of everything spent so far at the account's delta; none when nothing is spent.
    ///
    /// # Guarantee
    /// Where every release of every fit is a Gaussian mechanism the exact conversion holds for the sum, rounded up; else one that holds for any zCDP mechanism. It holds for fits that were fixed
    /// in advance; where later ones are chosen after earlier results, [`Account::epsilon_total`] holds for all together.
    pub fn epsilon_spent(&self) -> Option<f64> {
        self.epsilon(self.spent)
    }

    /// The epsilon of everything granted.
    ///
    /// # Guarantee
    /// However fits are chosen after earlier results, all of them satisfy it, if the budget was fixed before the first: the ledger is a privacy filter
    /// (Smith and Thakurta 2022).
    pub fn epsilon_total(&self) -> Option<f64> {
        self.epsilon(self.total)
    }

    fn epsilon(&self, amount: Amount) -> Option<f64> {
        let is_other = |entry: &Entry| entry.neighbours.contains(NOT_GAUSSIAN);
        let conversion = if self.entries.iter().any(is_other) { Conversion::Cks } else { Conversion::Exact };
        (amount.0 > 0).then(|| convert::epsilon(conversion, amount.to_f64(), self.delta).ok()).flatten()
    }

    /// The weakest promise that a fit of this data set made: what the sums speak of. What is promised about persons is promised about rows.
    pub fn neighbours(&self) -> String {
        let mut fits = self.entries.iter().filter(|entry| entry.kind == Kind::Spend).peekable();
        let of_persons = fits.peek().is_some() && fits.clone().all(|entry| entry.neighbours.ends_with(OF_PERSONS));
        let weaker = fits.any(|entry| entry.neighbours.starts_with(Neighbours::ZeroOut.name()));
        let neighbours = if weaker { Neighbours::ZeroOut } else { Neighbours::ReplaceOne };
        promise(neighbours.name(), if of_persons { Unit::Person } else { Unit::Row }.name(), Conversion::Exact)
    }
}

const OF_PERSONS: &str = " of persons";

const NOT_GAUSSIAN: &str = " not gaussian";

/// The words for a relation between neighbours, for mechanisms that have no exact conversion, and for the privacy unit it is about.
pub(crate) fn promise(neighbours: &str, unit: &str, conversion: Conversion) -> String {
    let mechanism = if conversion == Conversion::Exact { "" } else { NOT_GAUSSIAN };
    format!("{neighbours}{mechanism}{}", if unit == Unit::Person.name() { OF_PERSONS } else { "" })
}

impl Entry {
    /// What a fit is told of its own entry and of those before it that share its data set.
    pub(crate) fn statement(&self, earlier: &[Entry]) -> Statement {
        Statement {
            dataset: self.dataset.clone(),
            entries: earlier.iter().chain([self]).map(Entry::ledger_entry).collect(),
            entry: self.id,
            hash: self.hash.clone(),
            other_table: earlier.iter().any(|entry| entry.kind == Kind::Spend && entry.table != self.table),
        }
    }

    fn ledger_entry(&self) -> LedgerEntry {
        LedgerEntry {
            time: self.time.clone(),
            seconds: self.time.parse().map_or(0, |time: jiff::Timestamp| time.as_second()),
            spends: self.kind == Kind::Spend,
            rho: self.rho,
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
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
