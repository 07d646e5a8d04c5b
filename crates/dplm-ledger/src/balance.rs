//! What entries add up to, and the rules that each of them keeps.

use std::collections::BTreeMap;

use crate::{Allowance, Amount, Entry, Kind};

/// The budget of one data set after some of its entries, in units of 10^-15.
#[derive(Default)]
pub(crate) struct Balance<'a> {
    pub granted: u128,
    pub spent: u128,
    spent_by: BTreeMap<&'a str, u128>,
    /// The latest limit of each analyst; of the empty name, that of whoever has none of their own.
    limits: BTreeMap<&'a str, u128>,
    /// What can be reversed: entries that grant or spend and were not reversed yet.
    standing: BTreeMap<i64, (Kind, u128)>,
}

impl<'a> Balance<'a> {
    /// The sums over entries that keep the rules.
    pub fn of(entries: &'a [Entry]) -> Balance<'a> {
        let mut balance = Balance::default();
        for entry in entries {
            // What breaks a rule was refused when the file was verified.
            let _ = balance.add(entry);
        }
        balance
    }

    /// Adds the next entry.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn add(&mut self, entry: &'a Entry) -> Result<(), &'static str> {
        let Amount(units) = entry.rho;
        match entry.kind {
            Kind::Init | Kind::Grant => self.granted += units,
            Kind::Spend => self.spend(&entry.attribution.analyst, units)?,
            Kind::Limit => {
                self.limits.insert(&entry.attribution.analyst, units);
            }
            Kind::Reverse => self.reverse(entry.about, units)?,
        }
        if matches!(entry.kind, Kind::Init | Kind::Grant | Kind::Spend) {
            self.standing.insert(entry.id, (entry.kind, units));
        }
        Ok(())
    }

    fn spend(&mut self, analyst: &'a str, units: u128) -> Result<(), &'static str> {
        if self.left() < units {
            return Err("it spends more than was granted");
        }
        if self.has_limits() && analyst.is_empty() {
            return Err("it names nobody, and there are limits for analysts");
        }
        if self.left_of(analyst).is_some_and(|left| left < units) {
            return Err("it spends more than its analyst may");
        }
        self.spent += units;
        *self.spent_by.entry(analyst).or_default() += units;
        Ok(())
    }

    fn reverse(&mut self, about: Option<i64>, units: u128) -> Result<(), &'static str> {
        let about = about.ok_or("it does not say what it reverses")?;
        if self.most_taken_back(about).is_none_or(|most| units != most) {
            return Err("it reverses what cannot be, or by another amount");
        }
        self.granted -= units;
        self.standing.remove(&about);
        Ok(())
    }

    /// What reversing an entry takes back: of a grant what is left of the budget, of a fit nothing. None where it cannot be reversed.
    pub fn most_taken_back(&self, about: i64) -> Option<u128> {
        self.standing.get(&about).map(|(kind, units)| match kind {
            Kind::Spend => 0,
            _ => self.left().min(*units),
        })
    }

    /// What is left of the budget.
    pub fn left(&self) -> u128 {
        self.granted.saturating_sub(self.spent)
    }

    /// Whether analysts are limited, so that a fit must say whose it is.
    pub fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// What an analyst may still spend by their limit; none where there is no limit.
    pub fn left_of(&self, analyst: &str) -> Option<u128> {
        Some(self.limit_of(analyst)?.saturating_sub(self.spent_by(analyst)))
    }

    /// What each may spend who has no limit of their own.
    pub fn limit_of_others(&self) -> Option<u128> {
        self.limits.get("").copied()
    }

    fn limit_of(&self, analyst: &str) -> Option<u128> {
        self.limits.get(analyst).copied().or_else(|| self.limit_of_others())
    }

    fn spent_by(&self, analyst: &str) -> u128 {
        self.spent_by.get(analyst).copied().unwrap_or(0)
    }

    /// Everybody who has spent or is limited, by name.
    pub fn allowances(&self) -> Vec<Allowance> {
        let mut names: Vec<&str> = self.spent_by.keys().chain(self.limits.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        // Fits that name nobody were made before there were limits.
        names.retain(|name| !name.is_empty() || self.spent_by(name) > 0);
        let allowance = |name: &&str| Allowance {
            analyst: (*name).to_owned(),
            spent: Amount(self.spent_by(name)),
            limit: self.limit_of(name).filter(|_| !name.is_empty()).map(Amount),
        };
        names.iter().map(allowance).collect()
    }
}
