//! What pays for a fit, as Python names it.

use std::path::PathBuf;

use dplm::{Charge, NoiseSource, Receipt, privacy::Rho, table::DataError};
use dplm_ledger::{AccountName, Attribution, LedgerError, Payer, Tally};
use pyo3::prelude::*;

use crate::{
    failure::{Failure, Kind, OrRaise},
    work::Signals,
};

/// The ledger and what it calls the data, each where it is named; whether another table is meant;
/// and who asks, what for, with what note.
pub struct AccountOptions(AccountName);

type Said = (Option<PathBuf>, Option<String>, bool, (String, String, String));

impl<'a, 'py> FromPyObject<'a, 'py> for AccountOptions {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<AccountOptions> {
        let wrong = |_| Kind::Request.because("dataset must be a name, and other_table True or False");
        let (ledger, dataset, another_table, (analyst, purpose, note)): Said = given.extract().map_err(wrong)?;
        let attribution = Attribution { analyst, purpose, note };
        Ok(AccountOptions(AccountName { ledger, dataset, attribution, another_table }))
    }
}

impl AccountOptions {
    /// Whether a ledger is asked to pay, or must.
    pub fn is_named(&self) -> PyResult<bool> {
        Ok(self.0.resolved().or_raise()?.is_some())
    }

    /// Opens what pays. No budget pays for noise from a seed.
    pub fn payer(&self, noise: NoiseSource) -> PyResult<Payer> {
        match noise {
            NoiseSource::Seed(_) if self.is_named()? => Err(Kind::Request.because(LedgerError::Seed)),
            NoiseSource::Seed(_) | NoiseSource::System => {
                Payer::open(&self.0).map_err(|error| Failure::from(error).told(&Tally::default())).or_raise()
            }
        }
    }

    /// The payer of a fit that is not made: none is needed where no data set is named.
    pub fn payer_of_dry_run(&self) -> PyResult<Payer> {
        match (&self.0.ledger, &self.0.dataset) {
            (None, None) => Ok(Payer::caller()),
            _ => self.payer(NoiseSource::System),
        }
    }
}

/// Refuses, before a row is read, what the account could not pay for.
pub fn affordable(payer: &Payer, rho: Rho) -> Result<(), Failure> {
    Ok(payer.check(rho)?)
}

/// What a fit asks for its payment; nothing is charged once the user has interrupted it.
pub fn paying(payer: &mut Payer, signals: &Signals) -> impl FnMut(Charge) -> Result<Receipt, Failure> {
    |charge| match signals.is_stopped() {
        true => Err(DataError::Interrupted.into()),
        false => Ok(payer.pay(charge)?),
    }
}
