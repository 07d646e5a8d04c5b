//! The budget of a data set over time, as its ledger states it to a fit.

use serde::{Deserialize, Serialize};

use crate::privacy::Rho;

/// The grants and charges of a data set, up to and including the fit that holds this. Public.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// The name of the data set in the ledger.
    pub dataset: String,
    /// Every grant and every charge, in order.
    pub entries: Vec<LedgerEntry>,
    /// The number of the ledger entry that records the fit.
    pub entry: i64,
    /// The hash of that entry, which covers every entry up to it.
    pub hash: String,
    /// Whether an earlier fit under this name was on a table with other columns or another number
    /// of rows.
    pub other_table: bool,
}

/// A recorded charge or grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The time, in UTC, for display.
    pub time: String,
    /// The time, in seconds since 1970.
    pub seconds: i64,
    /// Whether it spends or grants.
    pub spends: bool,
    /// The amount.
    #[serde(with = "crate::privacy::decimal")]
    pub rho: Rho,
}

impl Statement {
    /// Everything granted.
    pub fn total(&self) -> f64 {
        in_rho(self.units(false))
    }

    /// Everything spent.
    pub fn spent(&self) -> f64 {
        in_rho(self.units(true))
    }

    /// What is left.
    pub fn left(&self) -> f64 {
        in_rho(self.units(false).saturating_sub(self.units(true)))
    }

    /// The charge that the fit's entry records: the last one that spends.
    pub fn charged(&self) -> Option<Rho> {
        self.entries.iter().rfind(|one| one.spends).map(|one| one.rho)
    }

    fn units(&self, spent: bool) -> u128 {
        self.entries.iter().filter(|one| one.spends == spent).map(|one| u128::from(one.rho.units())).sum()
    }
}

fn in_rho(units: u128) -> f64 {
    units as f64 / Rho::UNITS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_decimals() {
        let ledger_entry = |spends: bool, rho: f64| LedgerEntry {
            time: String::new(),
            seconds: 0,
            spends,
            rho: Rho::checked_from_f64(rho).unwrap(),
        };
        let entries = vec![
            ledger_entry(false, 0.1),
            ledger_entry(true, 0.015),
            ledger_entry(false, 0.2),
            ledger_entry(true, 0.015),
        ];
        let statement =
            Statement { dataset: "wages".into(), entries, entry: 4, hash: "f".repeat(64), other_table: false };
        assert_eq!((statement.total(), statement.spent(), statement.left()), (0.3, 0.03, 0.27));
    }
}
