//! Random histories: after any sequence of grants, charges, refusals, records, reversals,
//! interruptions and kills, the ledger's sums equal those of an independent account of what was
//! released.

use std::collections::BTreeMap;

use dplm::{
    Charge, NoiseSource,
    privacy::{Neighbours, Promise, Provenance, Rho, convert::Conversion},
    request::AccountOptions,
};
use dplm_ledger::{Amount, Attribution, Ledger, Payer};
use proptest::prelude::*;

/// The number of histories: `DPLM_HISTORIES=10000` tries more.
fn histories() -> u32 {
    std::env::var("DPLM_HISTORIES").ok().and_then(|number| number.parse().ok()).unwrap_or(60)
}

/// A step of a history. Budgets are in thousandths.
#[derive(Clone, Debug)]
enum Step {
    Grant(u64),
    /// The number of the grant, among those so far, that is taken back.
    ReverseGrant(usize),
    Limit(&'static str, u64),
    LimitOthers(u64),
    /// A fit that is charged in two parts and may be interrupted, or its process killed, before
    /// either part or at the end.
    Fit {
        analyst: &'static str,
        parts: [u64; 2],
        promise: Promise,
        stops_after: usize,
    },
    Record {
        analyst: &'static str,
        rho: u64,
        promise: Promise,
    },
}

fn promises() -> impl Strategy<Value = Promise> {
    let conversions =
        prop_oneof![4 => Just(Conversion::Exact), 1 => Just(Conversion::Cks), 1 => Just(Conversion::Tested)];
    let persons = prop_oneof![4 => Just(None), 1 => Just(Some("id"))];
    let sources = prop_oneof![9 => Just(Provenance::System), 1 => Just(Provenance::Seed)];
    (conversions, persons, any::<bool>(), sources).prop_map(|(conversion, person, is_weaker, provenance)| {
        let neighbours = if is_weaker { Neighbours::ZeroOut } else { Neighbours::ReplaceOne };
        Promise { neighbours, provenance, ..Promise::about(person) }.converted_by(conversion, 1e-6)
    })
}

fn steps() -> impl Strategy<Value = Step> {
    let analyst = || prop_oneof![Just(""), Just("Ada"), Just("ADA"), Just("Bob"), Just("Löwe")];
    prop_oneof![
        2 => (1u64..80).prop_map(Step::Grant),
        1 => (0usize..4).prop_map(Step::ReverseGrant),
        1 => (analyst(), 0u64..120).prop_map(|(analyst, most)| Step::Limit(analyst, most)),
        1 => (0u64..120).prop_map(Step::LimitOthers),
        6 => (analyst(), [1u64..20, 1u64..60], promises(), 0usize..4)
            .prop_map(|(analyst, parts, promise, stops_after)| Step::Fit { analyst, parts, promise, stops_after }),
        1 => (analyst(), 1u64..60, promises()).prop_map(|(analyst, rho, promise)| Step::Record { analyst, rho, promise }),
    ]
}

/// An independent account by an auditor who sees every release and every decision on the budget.
#[derive(Default)]
struct Auditor {
    granted: u64,
    /// The grants by entry that were not taken back.
    grants: Vec<(i64, u64)>,
    spent: u64,
    by_analyst: BTreeMap<String, u64>,
    limits: BTreeMap<String, u64>,
    others: Option<u64>,
    cannot_add: bool,
    entries: i64,
}

impl Auditor {
    /// Whether a charge must be accepted.
    fn allows(&self, account: &Promise, analyst: &str, rho: u64, promise: &Promise) -> bool {
        let key = analyst.to_lowercase();
        let has_limits = !self.limits.is_empty() || self.others.is_some();
        let own = self.limits.get(&key).or_else(|| self.limits.get(""));
        let spent = self.by_analyst.get(&key).copied().unwrap_or(0);
        let by_others: u64 = self
            .by_analyst
            .iter()
            .filter(|(name, _)| name.is_empty() || !self.limits.contains_key(*name))
            .map(|(_, units)| units)
            .sum();
        let is_other = !self.limits.contains_key(&key);
        promise.adds_to(account).is_ok()
            && !self.cannot_add
            && self.spent + rho <= self.granted
            && !(has_limits && analyst.is_empty())
            && own.is_none_or(|most| spent + rho <= *most)
            && (!is_other || self.others.is_none_or(|most| by_others + rho <= most))
    }

    fn released(&mut self, account: &Promise, analyst: &str, rho: u64, promise: &Promise) {
        // A promise that adds only by a weaker conversion is still part of the sum.
        let weakest = Promise { conversion: Conversion::Tested, ..account.clone() };
        self.cannot_add |= promise.cost_in(account).is_err() || promise.delta_spent > 0.0;
        let has_sum = promise.cost_in(&weakest).is_ok() && promise.delta_spent == 0.0;
        let cost = if has_sum && promise.neighbours != account.neighbours { 4 } else { 1 };
        self.spent += cost * rho;
        *self.by_analyst.entry(analyst.to_lowercase()).or_default() += cost * rho;
        self.entries += 1;
    }
}

fn thousandths(units: u64) -> Rho {
    Rho::from_units(units * (Rho::UNITS / 1000)).expect("a budget")
}

fn amount(units: u64) -> Amount {
    Amount(u128::from(units) * u128::from(Rho::UNITS / 1000))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: histories(), ..ProptestConfig::default() })]

    #[test]
    fn the_ledger_is_what_an_auditor_counts(history in proptest::collection::vec(steps(), 1..14)) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("budget.db");
        let account = Promise::default();
        Ledger::create(&file).unwrap().open_account("rows", thousandths(100), None, "").unwrap();
        let mut auditor = Auditor { granted: 100, grants: vec![(1, 100)], entries: 1, ..Auditor::default() };
        for step in &history {
            let mut ledger = Ledger::open(&file).unwrap();
            match step {
                Step::Grant(rho) => {
                    ledger.grant("rows", thousandths(*rho), "more").unwrap();
                    auditor.entries += 1;
                    auditor.granted += rho;
                    auditor.grants.push((auditor.entries, *rho));
                }
                Step::ReverseGrant(which) => {
                    let Some(&(entry, rho)) = auditor.grants.get(*which) else { continue };
                    auditor.grants.remove(*which);
                    let left = auditor.granted.saturating_sub(auditor.spent).min(rho);
                    prop_assert_eq!(ledger.reverse(entry, "a mistake").unwrap(), amount(left));
                    auditor.granted -= left;
                    auditor.entries += 1;
                }
                Step::Limit(analyst, most) => {
                    ledger.limit("rows", analyst, amount(*most), "").unwrap();
                    auditor.limits.insert(analyst.to_lowercase(), *most);
                    auditor.entries += 1;
                }
                Step::LimitOthers(most) => {
                    ledger.limit_others("rows", amount(*most), "").unwrap();
                    auditor.others = Some(*most);
                    auditor.entries += 1;
                }
                Step::Fit { analyst, parts, promise, stops_after } => {
                    let named = AccountOptions::default().ledger(file.clone()).dataset("rows").analyst(*analyst);
                    let mut payer = Payer::open(&named, NoiseSource::System).unwrap();
                    let mut charged = 0;
                    // Nothing is drawn for a part before it is charged; what was charged stays
                    // charged when the fit fails.
                    for rho in parts.iter().take(*stops_after) {
                        let is_due = auditor.allows(&account, analyst, *rho, promise);
                        let paid = payer.pay(Charge::new(thousandths(*rho), promise.clone(), "y ~ x")).is_ok();
                        prop_assert_eq!(paid, is_due, "{:?}", step);
                        if !paid {
                            break;
                        }
                        charged += rho;
                        auditor.released(&account, analyst, *rho, promise);
                    }
                    let said = payer.tally().to_string();
                    prop_assert_eq!(payer.tally().spent(), (charged > 0).then(|| thousandths(charged)));
                    prop_assert_eq!(said.contains("nothing was spent"), charged == 0);
                }
                Step::Record { analyst, rho, promise } => {
                    let attribution = Attribution { analyst: (*analyst).to_owned(), ..Attribution::default() };
                    let mut ledger = ledger.attributed_to(attribution).unwrap();
                    ledger.record("rows", &Charge::new(thousandths(*rho), promise.clone(), "elsewhere")).unwrap();
                    auditor.released(&account, analyst, *rho, promise);
                }
            }
        }
        let ledger = Ledger::open(&file).unwrap();
        prop_assert_eq!(ledger.verify().unwrap().entries as i64, auditor.entries);
        let found = ledger.account("rows").unwrap();
        prop_assert_eq!((found.total, found.spent), (amount(auditor.granted), amount(auditor.spent)));
        prop_assert_eq!((found.frozen.is_some(), found.overdrawn), (auditor.cannot_add, auditor.spent > auditor.granted));
        let left = if auditor.cannot_add { 0 } else { auditor.granted.saturating_sub(auditor.spent) };
        prop_assert_eq!(found.left, amount(left));
    }
}
