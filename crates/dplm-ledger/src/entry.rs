//! The contents of a ledger.

use dplm::{
    LedgerEntry, Statement,
    privacy::{PrivacyError, Promise, Rho, Unit, convert, convert::Conversion},
};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::balance::{Balance, Frozen};

/// Who asked for a fit, and why: public text, each part empty if it was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attribution {
    /// The analyst; of a limit, the analyst it binds.
    pub analyst: String,
    /// The purpose of the result.
    pub purpose: String,
    /// Any other remark.
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
    /// Its kind.
    pub kind: Kind,
    /// The budget it grants or spends; of a limit, the most that may be spent; of a reversal, the
    /// amount it takes back.
    pub rho: Amount,
    /// The delta at which the data set's epsilon is shown; given by the entry that opens it.
    pub delta: Option<f64>,
    /// The promise of a fit, in a few words; of the first entry, that of the account. Empty for
    /// grants.
    pub neighbours: String,
    /// The promise as a value; `None` for grants, and if an older version opened the data set.
    pub promise: Option<Promise>,
    /// The promise as it stands in the file and in the hash; empty if an older version recorded the
    /// entry.
    #[serde(skip)]
    pub(crate) stated: String,
    /// The formula of a fit, the reason of a reversal, or a note.
    pub text: String,
    /// A fingerprint of the public plan of the fit; empty for grants.
    pub plan: String,
    /// A fingerprint of the table's columns and its number of rows, never of its cells; empty for
    /// grants.
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
    /// Records a release that was made without this ledger, or is missing from it. It is recorded
    /// even without budget, since it happened.
    Record,
    /// Limits what an analyst may spend, or each analyst without a limit of their own.
    Limit,
    /// Records that an entry was a mistake, and why. Of a grant it takes back what is left; what
    /// was spent stays spent.
    Reverse,
}

/// The state of a data set's budget. Sums are in units of 10^-15, exactly.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Account {
    /// The data set.
    pub dataset: String,
    /// The delta at which epsilon is shown.
    pub delta: f64,
    /// The promise about everything that is spent: fixed when the data set was opened.
    pub promise: Promise,
    /// Everything granted.
    pub total: Amount,
    /// Everything spent.
    pub spent: Amount,
    /// What is left; nothing if the account is frozen.
    pub left: Amount,
    /// Whether more was recorded than was granted, so that the granted promise does not hold.
    pub overdrawn: bool,
    /// Why nothing more can be spent, if an entry was recorded that cannot be added to the others.
    pub frozen: Option<String>,
    /// What each analyst has spent, and may spend.
    pub analysts: Vec<Allowance>,
    /// The limit of each analyst without one of their own, if there is one.
    pub limit_of_others: Option<Amount>,
    /// The limit of all of them together, if there is one.
    pub limit_of_others_together: Option<Amount>,
    /// Every entry of this data set.
    pub entries: Vec<Entry>,
    /// The conversion to the epsilon of everything spent; `None` if there is no sum.
    #[serde(skip)]
    spent_by: Option<Conversion>,
}

/// What one analyst has spent, and may spend.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Allowance {
    /// The analyst; empty for fits without one.
    pub analyst: String,
    /// What they have spent.
    pub spent: Amount,
    /// The most they may spend, if there is a limit.
    pub limit: Option<Amount>,
}

/// A sum of budgets, possibly zero, in units of 10^-15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(pub u128);

impl From<Rho> for Amount {
    fn from(rho: Rho) -> Amount {
        Amount(rho.units().into())
    }
}

impl Amount {
    /// A budget, possibly zero.
    ///
    /// # Errors
    /// When it is neither zero nor a budget.
    pub fn checked_from_f64(rho: f64) -> Result<Amount, PrivacyError> {
        if rho == 0.0 { Ok(Amount(0)) } else { Ok(Rho::checked_from_f64(rho)?.into()) }
    }

    /// The nearest number.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / Rho::UNITS as f64
    }
}

impl Account {
    /// The account of a data set with these entries.
    pub(crate) fn of(dataset: &str, entries: Vec<Entry>) -> Option<Account> {
        let delta = entries.first().and_then(|entry| entry.delta)?;
        let balance = Balance::of(&entries);
        let [total, spent, left] = [balance.granted, balance.spent, balance.left()].map(Amount);
        let (overdrawn, frozen) = (balance.is_overdrawn(), balance.frozen.as_ref().map(Frozen::to_string));
        let (limit_of_others, together) = (balance.limit_of_others(), balance.limit_of_others_together());
        let [limit_of_others, limit_of_others_together] = [limit_of_others, together].map(|limit| limit.map(Amount));
        let (analysts, promise, spent_by) = (balance.allowances(), balance.promise.clone(), balance.spent_by());
        let dataset = dataset.to_owned();
        Some(Account {
            dataset,
            delta,
            promise,
            total,
            spent,
            left,
            overdrawn,
            frozen,
            analysts,
            limit_of_others,
            limit_of_others_together,
            entries,
            spent_by,
        })
    }

    /// The account as JSON, with its meaning at its delta.
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

    /// The epsilon of everything spent so far at the account's delta; `None` if nothing was spent,
    /// or if the entries have no sum.
    ///
    /// # Guarantee
    /// The conversion is that of the account's promise, or the weaker one of its entries. It holds
    /// for fits that were fixed in advance; if later fits are chosen after earlier results,
    /// [`Account::epsilon_total`] holds for all of them together.
    pub fn epsilon_spent(&self) -> Option<f64> {
        self.epsilon(self.spent_by?, self.spent)
    }

    /// The epsilon of everything granted.
    ///
    /// # Guarantee
    /// All fits together satisfy it, even if each is chosen after earlier results, provided that
    /// the budget was fixed before the first, so that neither a grant nor its reversal was decided
    /// after results: the ledger is a privacy filter (Smith and Thakurta 2022).
    pub fn epsilon_total(&self) -> Option<f64> {
        self.epsilon(self.promise.conversion, self.total)
    }

    fn epsilon(&self, conversion: Conversion, amount: Amount) -> Option<f64> {
        (amount.0 > 0).then(|| convert::epsilon(conversion, amount.to_f64(), self.delta).ok()).flatten()
    }

    /// What the sums are about, in a few words.
    pub fn neighbours(&self) -> String {
        in_words(&self.promise)
    }
}

const OF_PERSONS: &str = " of persons";

const NOT_GAUSSIAN: &str = " not gaussian";

const TESTED: &str = " with a test";

/// The neighbour relation, a word for mechanisms that have no exact conversion, and the privacy
/// unit unless it is a row.
pub(crate) fn in_words(promise: &Promise) -> String {
    let mechanism = match promise.conversion {
        Conversion::Exact => "",
        Conversion::Cks | Conversion::Simple => NOT_GAUSSIAN,
        Conversion::Tested => TESTED,
    };
    let of_whom = match promise.unit {
        Unit::Row => "",
        Unit::Person => OF_PERSONS,
    };
    format!("{}{mechanism}{of_whom}", promise.neighbours)
}

/// The promise of an entry that an older version recorded in words alone; it did not record the
/// column that identifies persons.
pub(crate) fn from_words(words: &str) -> Option<Promise> {
    let (words, unit) = words.strip_suffix(OF_PERSONS).map_or((words, Unit::Row), |words| (words, Unit::Person));
    let (relation, conversion) =
        words.strip_suffix(NOT_GAUSSIAN).map_or((words, Conversion::Exact), |words| (words, Conversion::Cks));
    Some(Promise { unit, neighbours: relation.parse().ok()?, conversion, ..Promise::default() })
}

impl Entry {
    /// The statement for a fit about its own entry and the earlier ones of its data set.
    pub(crate) fn statement(&self, earlier: &[Entry]) -> Statement {
        Statement {
            dataset: self.dataset.clone(),
            entries: self.in_account(earlier),
            entry: self.id,
            hash: self.hash.clone(),
            other_table: fits_in_force(earlier).any(|entry| entry.is_of_other_table(&self.table)),
        }
    }

    /// Whether it is a fit of another table than the one with this fingerprint; an unknown
    /// fingerprint differs from none.
    pub(crate) fn is_of_other_table(&self, table: &str) -> bool {
        ![self.table.as_str(), table].contains(&"") && self.table != table
    }

    /// What every entry up to this one granted or spent, as a fit shows it.
    fn in_account(&self, earlier: &[Entry]) -> Vec<LedgerEntry> {
        let account = Balance::promise_of(earlier);
        earlier.iter().chain([self]).filter_map(|entry| entry.ledger_entry(&account, earlier)).collect()
    }

    /// The amount granted or spent, as a fit shows it: of a reversed grant, what was not taken
    /// back; of a weaker promise, its cost.
    fn ledger_entry(&self, account: &Promise, all: &[Entry]) -> Option<LedgerEntry> {
        let taken_back = all.iter().find(|other| other.about == Some(self.id)).map_or(0, |reversal| reversal.rho.0);
        let (spends, units) = match self.kind {
            Kind::Init | Kind::Grant => (false, self.rho.0.saturating_sub(taken_back)),
            Kind::Spend | Kind::Record => {
                let cost = self.promise.as_ref().map_or(Ok(1), |promise| promise.cost_in(account)).unwrap_or(1);
                (true, self.rho.0 * u128::from(cost))
            }
            Kind::Limit | Kind::Reverse => return None,
        };
        let rho = u64::try_from(units).ok().and_then(Rho::from_units)?;
        let seconds = self.time.parse().map_or(0, |time: jiff::Timestamp| time.as_second());
        Some(LedgerEntry { time: self.time.clone(), seconds, spends, rho })
    }
}

/// The fits that no later entry reverses.
pub(crate) fn fits_in_force(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    let is_reversed = |id: i64| entries.iter().any(|other| other.about == Some(id));
    entries.iter().filter(move |entry| entry.kind.spends() && !is_reversed(entry.id))
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
    /// Whether such an entry is about a release.
    pub const fn spends(self) -> bool {
        match self {
            Kind::Spend | Kind::Record => true,
            Kind::Init | Kind::Grant | Kind::Limit | Kind::Reverse => false,
        }
    }

    /// As stored and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Init => "init",
            Kind::Grant => "grant",
            Kind::Spend => "spend",
            Kind::Record => "record",
            Kind::Limit => "limit",
            Kind::Reverse => "reverse",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Kind> {
        [Kind::Init, Kind::Grant, Kind::Spend, Kind::Record, Kind::Limit, Kind::Reverse]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}
