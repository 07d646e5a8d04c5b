//! What a ledger holds.

use dplm::{
    LedgerEntry, Statement,
    privacy::{
        Neighbours, PrivacyError, Rho, Unit,
        convert::{self, Conversion},
    },
};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::balance::Balance;

/// Who asked for a fit, and why: public words, each empty where nothing was said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// Who asked; of a limit, whom it binds.
    pub analyst: String,
    /// What the result is for.
    pub purpose: String,
    /// Anything else that should be remembered.
    pub note: String,
}

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
    /// The budget it grants or spends; of a limit, the most that may be spent; of a reversal, what it takes back.
    pub rho: Amount,
    /// The delta at which the data set's epsilon is shown; given when it is opened.
    pub delta: Option<f64>,
    /// Which data sets the fit makes hard to tell apart, and of whom where that is not rows; empty for grants.
    pub neighbours: String,
    /// The formula of a fit, the reason of a reversal, or a note.
    pub text: String,
    /// A fingerprint of the public plan of the fit; empty for grants.
    pub plan: String,
    /// A fingerprint of the table's columns and its number of rows, never of its cells; empty for grants.
    pub table: String,
    /// Who asked, and why.
    #[serde(flatten)]
    pub attribution: Attribution,
    /// The entry that a reversal is about.
    pub about: Option<i64>,
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
    /// Says how much an analyst may spend, or whoever has no limit of their own.
    Limit,
    /// Says that an entry was a mistake, and why. Of a grant it takes back what is left; what was spent stays spent.
    Reverse,
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
    /// What each analyst has spent, and may spend.
    pub analysts: Vec<Allowance>,
    /// The most that each may spend who has no limit of their own, if there is such a limit.
    pub limit_of_others: Option<Amount>,
    /// Every entry of this data set.
    pub entries: Vec<Entry>,
}

/// What one analyst has spent, and may spend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Allowance {
    /// The analyst; empty for fits that name nobody.
    pub analyst: String,
    /// What they have spent.
    pub spent: Amount,
    /// The most they may spend, if there is a limit.
    pub limit: Option<Amount>,
}

/// A sum of budgets, which may be nothing: units of 10^-15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u128);

impl From<Rho> for Amount {
    fn from(rho: Rho) -> Amount {
        Amount(rho.units().into())
    }
}

impl Amount {
    /// A budget that may be nothing.
    ///
    /// # Errors
    /// When it is neither nothing nor a budget.
    pub fn checked_from_f64(rho: f64) -> Result<Amount, PrivacyError> {
        if rho == 0.0 { Ok(Amount(0)) } else { Ok(Rho::checked_from_f64(rho)?.into()) }
    }

    /// The nearest number.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / Rho::UNITS as f64
    }
}

impl Account {
    /// The account of a data set, whose entries these are.
    pub(crate) fn of(dataset: &str, entries: Vec<Entry>) -> Option<Account> {
        let delta = entries.first().and_then(|entry| entry.delta)?;
        let balance = Balance::of(&entries);
        let [total, spent, left] = [balance.granted, balance.spent, balance.left()].map(Amount);
        let (analysts, limit_of_others) = (balance.allowances(), balance.limit_of_others().map(Amount));
        Some(Account { dataset: dataset.to_owned(), delta, total, spent, left, analysts, limit_of_others, entries })
    }

    /// The account as JSON, with what it means at its delta.
    pub fn document(&self) -> Value {
        let mut document = json!(self);
        document["neighbours"] = self.neighbours().into();
        document["epsilon_spent"] = self.epsilon_spent().into();
        document["epsilon_total"] = self.epsilon_total().into();
        document
    }

    /// The reversal of an entry, if there is one.
    pub fn reversal_of(&self, entry: &Entry) -> Option<&Entry> {
        self.entries.iter().find(|other| other.about == Some(entry.id))
    }

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
    /// However fits are chosen after earlier results, all of them satisfy it, if the budget was fixed before the first, so that neither a grant nor its
    /// reversal was decided after results: the ledger is a privacy filter (Smith and Thakurta 2022).
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
            entries: earlier.iter().chain([self]).filter_map(|entry| entry.ledger_entry(earlier)).collect(),
            entry: self.id,
            hash: self.hash.clone(),
            other_table: fits_in_force(earlier).any(|entry| entry.is_of_other_table(&self.table)),
        }
    }

    /// Whether it is a fit of another table than the one with this fingerprint; what is not known differs from nothing.
    pub(crate) fn is_of_other_table(&self, table: &str) -> bool {
        ![self.table.as_str(), table].contains(&"") && self.table != table
    }

    /// What it granted or spent, as a fit shows it: of a grant that was reversed, what was not taken back.
    fn ledger_entry(&self, all: &[Entry]) -> Option<LedgerEntry> {
        let spends = self.kind == Kind::Spend;
        let taken_back = all.iter().find(|other| other.about == Some(self.id)).map_or(0, |reversal| reversal.rho.0);
        let stands = spends || matches!(self.kind, Kind::Init | Kind::Grant);
        let units = self.rho.0.saturating_sub(taken_back);
        let rho = u64::try_from(units).ok().and_then(Rho::from_units).filter(|_| stands)?;
        let seconds = self.time.parse().map_or(0, |time: jiff::Timestamp| time.as_second());
        Some(LedgerEntry { time: self.time.clone(), seconds, spends, rho })
    }
}

/// The fits among entries that no later one calls a mistake.
pub(crate) fn fits_in_force(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    let is_reversed = |id: i64| entries.iter().any(|other| other.about == Some(id));
    entries.iter().filter(move |entry| entry.kind == Kind::Spend && !is_reversed(entry.id))
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
            Kind::Limit => "limit",
            Kind::Reverse => "reverse",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Kind> {
        [Kind::Init, Kind::Grant, Kind::Spend, Kind::Limit, Kind::Reverse].into_iter().find(|kind| kind.name() == name)
    }
}
