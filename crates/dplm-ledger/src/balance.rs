//! The sums over entries, and the rules that each entry keeps.

use std::collections::BTreeMap;

use dplm::privacy::{Promise, Unlike, convert::Conversion};

use crate::{Allowance, Amount, Entry, Kind};

/// The name under which a limit holds for all analysts together who have no limit of their own. No
/// analyst can have this name.
pub(crate) const OTHERS: &str = "*";

/// The budget of one data set after some of its entries, in units of 10^-15.
pub(crate) struct Balance<'a> {
    /// What the account promises.
    pub promise: Promise,
    delta: f64,
    pub granted: u128,
    /// Everything spent, each release at its cost under the account's promise.
    pub spent: u128,
    /// The part of delta that tests have spent.
    delta_spent: f64,
    /// Why nothing more can be spent.
    pub frozen: Option<Frozen>,
    /// By analyst, with names compared without case: the name's first spelling, and the amount
    /// spent.
    spent_by: BTreeMap<String, (&'a str, u128)>,
    /// The latest limit of each analyst; under the empty name, the limit of each analyst without
    /// one of their own.
    limits: BTreeMap<String, (&'a str, u128)>,
    /// The entries that can be reversed: those that grant or spend and were not reversed yet.
    standing: BTreeMap<i64, (Kind, u128)>,
}

/// A recorded release that the account cannot add to the others.
#[derive(Clone, Debug, thiserror::Error)]
#[error("entry {entry} cannot be added up ({why}), so the account pays nothing more: open a data set of another name")]
pub(crate) struct Frozen {
    entry: i64,
    why: Unlike,
    /// The weaker conversion that holds for the sum; `None` if there is no sum.
    conversion: Option<Conversion>,
}

impl<'a> Balance<'a> {
    /// The sums over entries that keep the rules.
    pub fn of(entries: &'a [Entry]) -> Balance<'a> {
        let mut balance = Balance::new(entries);
        for entry in entries {
            // Entries that break a rule were refused when the file was verified.
            let _ = balance.add(entry);
        }
        balance
    }

    /// The empty balance of the account with these entries.
    pub fn new(entries: &[Entry]) -> Balance<'a> {
        Balance {
            promise: Balance::promise_of(entries),
            delta: entries.first().and_then(|entry| entry.delta).unwrap_or(0.0),
            granted: 0,
            spent: 0,
            delta_spent: 0.0,
            frozen: None,
            spent_by: BTreeMap::new(),
            limits: BTreeMap::new(),
            standing: BTreeMap::new(),
        }
    }

    /// The promise of the account with these entries: the one its first entry states. Older
    /// versions stated none there, so what they recorded is read as the weakest promise of the
    /// fits; the first fit determines whether rows or persons are protected.
    pub fn promise_of(entries: &[Entry]) -> Promise {
        if let Some(stated) = entries.first().and_then(|entry| entry.promise.clone()) {
            return stated;
        }
        let mut fits =
            entries.iter().filter(|entry| entry.stated.is_empty()).filter_map(|entry| entry.promise.as_ref());
        let Some(first) = fits.next() else { return Promise::default() };
        fits.fold(first.clone(), |weakest, fit| Promise {
            neighbours: if fit.neighbours == weakest.neighbours {
                weakest.neighbours
            } else {
                dplm::privacy::Neighbours::ZeroOut
            },
            conversion: weakest.conversion.or_weaker(fit.conversion),
            ..weakest
        })
    }

    /// Adds the next entry.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn add(&mut self, entry: &'a Entry) -> Result<(), &'static str> {
        let Amount(units) = entry.rho;
        let analyst = entry.attribution.analyst.as_str();
        match entry.kind {
            Kind::Init | Kind::Grant => self.granted += units,
            Kind::Spend => {
                self.check(entry, units)?;
                self.spend(entry, units);
            }
            Kind::Record => self.spend(entry, units),
            Kind::Limit => {
                self.limits.insert(key(analyst), (analyst, units));
            }
            Kind::Reverse => self.reverse(entry.about, units)?,
        }
        match entry.kind {
            Kind::Init | Kind::Grant | Kind::Spend | Kind::Record => {
                self.standing.insert(entry.id, (entry.kind, units));
            }
            Kind::Limit | Kind::Reverse => {}
        }
        Ok(())
    }

    /// The rules of a charge, which is refused if it breaks them.
    fn check(&self, entry: &Entry, units: u128) -> Result<(), &'static str> {
        let analyst = entry.attribution.analyst.as_str();
        // Older versions did not compare promises; if their records do not add up, the account is
        // frozen.
        let is_compared = !entry.stated.is_empty();
        if is_compared && self.left() < units || self.granted.saturating_sub(self.spent) < units {
            return Err("it spends more than was granted");
        }
        if is_compared && entry.promise.as_ref().is_none_or(|promise| self.adds(promise).is_err()) {
            return Err("it promises something else than the account");
        }
        if self.has_limits() && analyst.is_empty() {
            return Err("it names no analyst, but analysts have limits");
        }
        if self.left_of(analyst).is_some_and(|left| left < units) {
            return Err("it spends more than its analyst may");
        }
        Ok(())
    }

    /// Refuses a promise that does not add to the account's.
    ///
    /// # Errors
    /// Why it does not.
    pub fn adds(&self, promise: &Promise) -> Result<(), Unlike> {
        promise.adds_to(&self.promise)?;
        let spent = if promise.delta_spent > 0.0 { (self.delta_spent + promise.delta_spent).next_up() } else { 0.0 };
        // The sum is rounded up; the first test may use all of the reserve.
        let is_first = self.delta_spent == 0.0 && promise.delta_spent <= self.promise_of_tests();
        if is_first || spent <= self.promise_of_tests() { Ok(()) } else { Err(Unlike::Tests) }
    }

    /// The part of delta reserved for tests: half of it, as the conversion assumes.
    fn promise_of_tests(&self) -> f64 {
        match self.promise.conversion {
            Conversion::Exact | Conversion::Cks | Conversion::Simple => 0.0,
            Conversion::Tested => self.delta / 2.0,
        }
    }

    fn spend(&mut self, entry: &'a Entry, units: u128) {
        let promise = entry.promise.clone().unwrap_or_default();
        let cost = match self.cost_of(&promise) {
            Ok(cost) => cost,
            Err(why) => self.freeze(entry.id, &promise, why),
        };
        let (analyst, units) = (entry.attribution.analyst.as_str(), units * u128::from(cost));
        self.spent += units;
        if promise.delta_spent > 0.0 {
            self.delta_spent = (self.delta_spent + promise.delta_spent).next_up();
        }
        self.spent_by.entry(key(analyst)).or_insert((analyst, 0)).1 += units;
    }

    fn cost_of(&self, promise: &Promise) -> Result<u32, Unlike> {
        let cost = promise.cost_in(&self.promise)?;
        let over = promise.delta_spent > 0.0 && self.adds(promise) == Err(Unlike::Tests);
        if over { Err(Unlike::Tests) } else { Ok(cost) }
    }

    /// Stops the account after a release that does not add to the others. The sum may still hold,
    /// by a weaker conversion.
    fn freeze(&mut self, entry: i64, promise: &Promise, why: Unlike) -> u32 {
        let weaker = self.promise.conversion.or_weaker(promise.conversion);
        let under_weaker = Promise { conversion: weaker, ..self.promise.clone() };
        // No conversion covers deltas of tests beyond the reserve.
        let cost = promise.cost_in(&under_weaker).ok().filter(|_| promise.delta_spent == 0.0);
        let earlier = self.frozen.as_ref().map_or(Some(weaker), |frozen| frozen.conversion);
        let conversion = earlier.filter(|_| cost.is_some()).map(|earlier| earlier.or_weaker(weaker));
        match &mut self.frozen {
            Some(frozen) => frozen.conversion = conversion,
            none => *none = Some(Frozen { entry, why, conversion }),
        }
        cost.unwrap_or(1)
    }

    /// The conversion to the epsilon of everything spent; `None` if there is no sum.
    pub fn spent_by(&self) -> Option<Conversion> {
        self.frozen.as_ref().map_or(Some(self.promise.conversion), |frozen| frozen.conversion)
    }

    fn reverse(&mut self, about: Option<i64>, units: u128) -> Result<(), &'static str> {
        let about = about.ok_or("it does not say what it reverses")?;
        if self.most_taken_back(about).is_none_or(|most| units != most) {
            return Err("it reverses an entry that cannot be reversed, or by another amount");
        }
        self.granted -= units;
        self.standing.remove(&about);
        Ok(())
    }

    /// The amount that reversing an entry takes back: of a grant, what is left of the budget; of a
    /// release, nothing. `None` if it cannot be reversed.
    pub fn most_taken_back(&self, about: i64) -> Option<u128> {
        self.standing.get(&about).map(|(kind, units)| match kind.spends() {
            true => 0,
            false => self.granted.saturating_sub(self.spent).min(*units),
        })
    }

    /// The budget left.
    pub fn left(&self) -> u128 {
        if self.frozen.is_some() { 0 } else { self.granted.saturating_sub(self.spent) }
    }

    /// Whether more was recorded than was granted.
    pub fn is_overdrawn(&self) -> bool {
        self.spent > self.granted
    }

    /// Whether analysts are limited, so that a fit must name its analyst.
    pub fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// What an analyst may still spend under their limit; `None` without a limit.
    pub fn left_of(&self, analyst: &str) -> Option<u128> {
        let spent = self.spent_by.get(&key(analyst)).map_or(0, |(_, units)| *units);
        let of_each = self.limit_of(analyst).map(|limit| limit.saturating_sub(spent));
        let together = self.limit_of_others_together().filter(|_| !self.limits.contains_key(&key(analyst)));
        let together = together.map(|limit| limit.saturating_sub(self.spent_by_others()));
        of_each.into_iter().chain(together).min()
    }

    /// The limit of each analyst without one of their own.
    pub fn limit_of_others(&self) -> Option<u128> {
        self.limits.get("").map(|(_, units)| *units)
    }

    /// The limit of all analysts together who have none of their own.
    pub fn limit_of_others_together(&self) -> Option<u128> {
        self.limits.get(OTHERS).map(|(_, units)| *units)
    }

    fn limit_of(&self, analyst: &str) -> Option<u128> {
        self.limits.get(&key(analyst)).map(|(_, units)| *units).or_else(|| self.limit_of_others())
    }

    /// What all analysts without a limit of their own have spent.
    fn spent_by_others(&self) -> u128 {
        let others = self.spent_by.iter().filter(|(key, _)| key.is_empty() || !self.limits.contains_key(*key));
        others.map(|(_, (_, units))| units).sum()
    }

    /// Every analyst who has spent or is limited, by name.
    pub fn allowances(&self) -> Vec<Allowance> {
        let limited = self.limits.iter().filter(|(key, _)| !["", OTHERS].contains(&key.as_str()));
        let mut names: BTreeMap<&String, &str> = limited.map(|(key, (name, _))| (key, *name)).collect();
        names.extend(self.spent_by.iter().map(|(key, (name, _))| (key, *name)));
        let spent = |key: &String| self.spent_by.get(key).map_or(0, |(_, units)| *units);
        let allowance = |(key, name): (&String, &str)| Allowance {
            analyst: name.to_owned(),
            spent: Amount(spent(key)),
            limit: self.limit_of(name).filter(|_| !name.is_empty()).map(Amount),
        };
        names.into_iter().map(allowance).collect()
    }
}

/// The form in which names are compared: without case.
pub(crate) fn key(name: &str) -> String {
    name.to_lowercase()
}
