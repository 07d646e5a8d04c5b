//! What is promised about whom, as one value.
//!
//! A fit, the charge that pays for it, a ledger's account and every document hold the same
//! [`Promise`]. Two budgets add up only if their promises do: [`Promise::cost_in`] is the one place
//! that says so, with the lemma beside it.

use serde::{Deserialize, Serialize};

use super::{Neighbours, Unit, convert::Conversion};

crate::choice! {
    "provenance";
    /// Where the noise of a result came from, and whether its rows are data of anybody.
    #[derive(Default)]
    pub enum Provenance {
        /// The operating system's random generator: the promise holds.
        #[default]
        System = "system",
        /// A fixed seed: anyone who knows it can subtract the noise, so nothing is promised.
        Seed = "seed",
        /// Simulated rows: the result is about nobody, so there is nothing to protect.
        Simulated = "simulated",
    }
}

/// What is promised: about whom, against which change, by which kind of noise.
///
/// How much is promised is a budget beside it: `rho`, which means something only together with
/// this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Promise {
    /// The privacy unit.
    pub unit: Unit,
    /// The column that identifies persons, where they are the unit.
    #[serde(default)]
    pub person: Option<String>,
    /// The relation between neighbouring data sets.
    pub neighbours: Neighbours,
    /// The conversion to epsilon that holds for every mechanism used.
    #[serde(default)]
    pub conversion: Conversion,
    /// The part of delta that is kept for tests that may fail to protect.
    #[serde(default)]
    pub delta_spent: f64,
    /// Where noise and rows came from.
    #[serde(default)]
    pub provenance: Provenance,
}

/// Why one promise does not add to another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unlike {
    /// The noise can be subtracted, since it has a seed.
    #[error("a fit with a fixed seed is not private whatever it spends, so it is not recorded: leave the seed out")]
    Seed,
    /// The rows are simulated.
    #[error("simulated rows cost nothing, so no ledger pays for them: leave out the ledger")]
    Simulated,
    /// The account protects rows, the fit persons.
    #[error(
        "it protects rows and this fit protects persons by '{column}', which promises nothing about rows at \
         the same price: a replaced row may carry another identifier, so that two persons change, and their number too"
    )]
    PersonsForRows {
        /// The column that identifies them.
        column: String,
    },
    /// The account protects persons, the fit rows.
    #[error(
        "it protects persons by '{column}' and this fit protects single rows, which is less for a person \
         with several: fit with person '{column}'"
    )]
    RowsForPersons {
        /// The column that identifies them.
        column: String,
    },
    /// The account's persons are identified by another column.
    #[error("it protects persons by '{account}' and this fit protects persons by '{fit}': fit with person '{account}'")]
    OtherPersons {
        /// The column of the account.
        account: String,
        /// That of the fit.
        fit: String,
    },
    /// The fit promises a weaker relation between neighbours.
    #[error(
        "it promises replace-one neighbours and this fit zero-out, the weaker promise, which would cost four \
         times its rho there: fit with replace-one neighbours"
    )]
    ZeroOut,
    /// The fit's noise has a weaker conversion to epsilon.
    #[error(
        "it was opened for {account} mechanisms and this method uses {fit} ones, of which the same rho is a larger \
         epsilon: choose another method, such as auto, or open a data set for {fit} mechanisms"
    )]
    Mechanism {
        /// What the account was opened for.
        account: Mechanisms,
        /// What the fit uses.
        fit: Mechanisms,
    },
    /// The tests of the fits would take more than half of the account's delta.
    #[error(
        "the tests of this fit would spend more of delta than the account keeps for tests: choose a method without a test, such as auto"
    )]
    Tests,
}

crate::choice! {
    "mechanisms";
    /// The mechanisms that an account of a ledger pays for: the wider the family, the weaker the
    /// conversion to epsilon.
    #[derive(Default)]
    pub enum Mechanisms {
        /// Gaussian noise only: epsilon follows exactly.
        #[default]
        Gaussian = "gaussian",
        /// Any mechanism of zero-concentrated differential privacy.
        Zcdp = "zcdp",
        /// Those, and mechanisms with a test that may fail to protect; half of delta is kept for
        /// tests.
        Tested = "tested",
    }
}

impl Mechanisms {
    /// The conversion that holds for all of them.
    pub const fn conversion(self) -> Conversion {
        match self {
            Mechanisms::Gaussian => Conversion::Exact,
            Mechanisms::Zcdp => Conversion::Cks,
            Mechanisms::Tested => Conversion::Tested,
        }
    }

    /// The narrowest family for which a conversion holds.
    pub const fn of(conversion: Conversion) -> Mechanisms {
        match conversion {
            Conversion::Exact => Mechanisms::Gaussian,
            Conversion::Cks | Conversion::Simple => Mechanisms::Zcdp,
            Conversion::Tested => Mechanisms::Tested,
        }
    }
}

impl Promise {
    /// What is promised about rows, or about persons by a column.
    pub fn about(person: Option<&str>) -> Promise {
        let unit = if person.is_some() { Unit::Person } else { Unit::Row };
        Promise { unit, person: person.map(str::to_owned), ..Promise::default() }
    }

    /// Whether anything is promised: the noise cannot be subtracted, and the rows are data.
    pub fn is_private(&self) -> bool {
        match self.provenance {
            Provenance::System => true,
            Provenance::Seed | Provenance::Simulated => false,
        }
    }

    /// The same after mechanisms for which only this conversion holds; `delta` is that of the
    /// whole.
    #[must_use]
    pub fn converted_by(self, conversion: Conversion, delta: f64) -> Promise {
        let conversion = self.conversion.or_weaker(conversion);
        let delta_spent = match conversion {
            Conversion::Exact | Conversion::Cks | Conversion::Simple => 0.0,
            Conversion::Tested => delta / 2.0,
        };
        Promise { conversion, delta_spent, ..self }
    }

    /// By how much a budget of this promise is multiplied where it is spent from an account that
    /// makes the promise `account`.
    ///
    /// # Guarantee
    /// If a release is `rho`-zCDP by this promise, it is `cost * rho`-zCDP by that of the account.
    ///
    /// - *Like promises*: 1.
    /// - *Replace-one in a zero-out account*: 1. A unit that contributes nothing is one whose cells
    ///   are all missing, so zero-out neighbours are replace-one neighbours.
    /// - *Zero-out in a replace-one account*: 4. Replaced is removed, then added: two steps, and
    ///   two steps of `rho`-zCDP are `4 rho`-zCDP (Bun and Steinke 2016, proposition 27). A ledger
    ///   charges for no such fit, and records what was made elsewhere. That proposition is not for
    ///   mechanisms with a test.
    /// - *Persons and rows*: never. A replaced row may carry another identifier; a person may have
    ///   any number of rows.
    /// - *Mechanisms*: Gaussian noise is zCDP, and zCDP is what a test allows with nothing of
    ///   delta; not the reverse.
    ///
    /// # Errors
    /// Why no such number exists.
    pub fn cost_in(&self, account: &Promise) -> Result<u32, Unlike> {
        match self.provenance {
            Provenance::System => {}
            Provenance::Seed => return Err(Unlike::Seed),
            Provenance::Simulated => return Err(Unlike::Simulated),
        }
        let column = |promise: &Promise| promise.person.clone().unwrap_or_default();
        match (account.unit, self.unit) {
            (Unit::Row, Unit::Row) => {}
            (Unit::Person, Unit::Person) if account.person == self.person => {}
            (Unit::Person, Unit::Person) => {
                return Err(Unlike::OtherPersons { account: column(account), fit: column(self) });
            }
            (Unit::Row, Unit::Person) => return Err(Unlike::PersonsForRows { column: column(self) }),
            (Unit::Person, Unit::Row) => return Err(Unlike::RowsForPersons { column: column(account) }),
        }
        if account.conversion.or_weaker(self.conversion) != account.conversion {
            let [account, fit] = [account, self].map(|promise| Mechanisms::of(promise.conversion));
            return Err(Unlike::Mechanism { account, fit });
        }
        match (account.neighbours, self.neighbours) {
            (Neighbours::ReplaceOne, Neighbours::ReplaceOne) | (Neighbours::ZeroOut, _) => Ok(1),
            (Neighbours::ReplaceOne, Neighbours::ZeroOut) => match self.conversion {
                Conversion::Exact | Conversion::Cks | Conversion::Simple => Ok(4),
                Conversion::Tested => Err(Unlike::ZeroOut),
            },
        }
    }

    /// Refuses to spend from an account that makes another promise, unless this one is as strong
    /// there at the same price.
    ///
    /// # Errors
    /// Why they do not add up.
    pub fn adds_to(&self, account: &Promise) -> Result<(), Unlike> {
        match self.cost_in(account)? {
            1 => Ok(()),
            _ => Err(Unlike::ZeroOut),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_promise() -> Vec<Promise> {
        let mut all = Vec::new();
        for person in [None, Some("id"), Some("household")] {
            for neighbours in [Neighbours::ReplaceOne, Neighbours::ZeroOut] {
                for conversion in [Conversion::Exact, Conversion::Cks, Conversion::Tested] {
                    all.push(Promise { neighbours, ..Promise::about(person) }.converted_by(conversion, 1e-6));
                }
            }
        }
        all
    }

    #[test]
    fn a_promise_adds_to_itself_and_addition_is_transitive() {
        for one in every_promise() {
            assert_eq!(one.adds_to(&one), Ok(()));
            for two in every_promise() {
                for three in every_promise().iter().filter(|three| two.adds_to(three).is_ok()) {
                    assert!(one.adds_to(&two).is_err() || one.adds_to(three).is_ok(), "{one:?} {two:?} {three:?}");
                }
            }
        }
    }

    #[test]
    fn what_is_void_or_about_nobody_adds_to_nothing() {
        for one in every_promise() {
            for (provenance, why) in [(Provenance::Seed, Unlike::Seed), (Provenance::Simulated, Unlike::Simulated)] {
                assert_eq!(Promise { provenance, ..one.clone() }.adds_to(&one), Err(why));
            }
        }
    }

    #[test]
    fn persons_rows_and_other_persons_never_add_up() {
        let [rows, persons, households] = [None, Some("id"), Some("household")].map(Promise::about);
        for (one, other) in [(&rows, &persons), (&persons, &rows), (&persons, &households)] {
            assert!(one.cost_in(other).is_err());
        }
    }

    #[test]
    fn a_weaker_relation_costs_four_times_and_is_not_charged() {
        let (replaced, removed) =
            (Promise::default(), Promise { neighbours: Neighbours::ZeroOut, ..Promise::default() });
        assert_eq!((replaced.cost_in(&removed), removed.cost_in(&replaced)), (Ok(1), Ok(4)));
        assert_eq!(removed.adds_to(&replaced), Err(Unlike::ZeroOut));
    }

    #[test]
    fn gaussian_noise_adds_to_any_account_and_other_noise_not_to_a_gaussian_one() {
        let of = |conversion| Promise::default().converted_by(conversion, 1e-6);
        let [gaussian, zcdp, tested] = [Conversion::Exact, Conversion::Cks, Conversion::Tested].map(of);
        assert!(gaussian.adds_to(&zcdp).is_ok() && zcdp.adds_to(&tested).is_ok());
        assert!(zcdp.adds_to(&gaussian).is_err() && tested.adds_to(&zcdp).is_err());
        assert_eq!(tested.delta_spent, 5e-7);
    }
}
