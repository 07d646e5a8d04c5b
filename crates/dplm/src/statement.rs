//! The budget of a data set over time, as the ledger that keeps it tells a fit.

use crate::privacy::Rho;

/// What was granted to a data set and spent from it, up to and with the fit it is given to. Public.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The data set, as its custodian names it.
    pub dataset: String,
    /// Every grant and every spending, in order.
    pub movements: Vec<Movement>,
    /// The number of the ledger entry that records the fit.
    pub entry: i64,
    /// The hash of that entry, which stands for every entry up to it.
    pub hash: String,
    /// Whether an earlier fit under this name was on a table with other columns or another number of rows.
    pub other_table: bool,
}

/// One grant or one spending.
#[derive(Clone, Debug, PartialEq)]
pub struct Movement {
    /// When, in UTC, as it is shown.
    pub time: String,
    /// When, in seconds since 1970.
    pub seconds: i64,
    /// Whether it spends, or grants.
    pub spends: bool,
    /// How much.
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

    fn units(&self, spent: bool) -> u128 {
        self.movements.iter().filter(|one| one.spends == spent).map(|one| u128::from(one.rho.units())).sum()
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
        let movement = |spends: bool, rho: f64| Movement {
            time: String::new(),
            seconds: 0,
            spends,
            rho: Rho::checked_from_f64(rho).unwrap(),
        };
        let movements = vec![movement(false, 0.1), movement(true, 0.015), movement(false, 0.2), movement(true, 0.015)];
        let statement =
            Statement { dataset: "wages".into(), movements, entry: 4, hash: "f".repeat(64), other_table: false };
        assert_eq!((statement.total(), statement.spent(), statement.left()), (0.3, 0.03, 0.27));
    }
}
