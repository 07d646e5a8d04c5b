//! What pays for a fit: the ledger that was named, or the user, who keeps account in another way.

use std::sync::OnceLock;

use dplm::{
    options::{Advised, Interface},
    request::AccountOptions,
    table::DataError,
    Error, NoiseSource,
};
use dplm_ledger::{LedgerError, Payer, Tally};

use crate::{
    failure::{Kind, Refusal},
    request::Asked,
};

/// What some work was charged so far. It stays with R's thread, since work that is interrupted
/// gives nothing back.
///
/// Work that opens no payer costs nothing: a prediction, a plan, a fit of simulated rows.
#[derive(Default)]
pub struct Charged(OnceLock<Tally>);

impl Charged {
    /// Opens what pays; simulated rows cost nothing.
    pub fn payer(&self, asked: &Asked) -> Result<Payer, Refusal> {
        if asked.is_pretended() {
            return Ok(Payer::caller());
        }
        self.payer_of(&asked.account, asked.run.noise())
    }

    /// Opens what pays. No budget pays for noise from a seed.
    pub fn payer_of(&self, account: &AccountOptions, noise: NoiseSource) -> Result<Payer, Refusal> {
        let payer = Payer::open(account, noise).map_err(not_paid)?;
        // Only this work opens a payer, and only once.
        let _ = self.0.set(payer.tally());
        Ok(payer)
    }

    /// What was charged so far; nothing before a payer was opened.
    pub fn tally(&self) -> Tally {
        self.0.get().cloned().unwrap_or_default()
    }

    /// What an interruption cost.
    pub fn interrupted(&self) -> Refusal {
        let tally = self.tally();
        let when = match tally.spent() {
            None => DataError::Interrupted.to_string(),
            Some(_) => Error::Interrupted.to_string(),
        };
        Kind::Interrupt.because(format!("{when}; {tally}"))
    }
}

/// Refuses what the account that is named could not pay for. A plan alone needs none, even where a
/// ledger is mandatory.
pub fn check_account(asked: &Asked) -> Result<(), Refusal> {
    let payer = Payer::of_dry_run(&asked.account).map_err(not_paid)?;
    payer.check(asked.fit.rho()).map_err(not_paid)
}

/// Why a ledger did not pay for a fit, of which nothing was charged before.
pub fn not_paid(error: LedgerError) -> Refusal {
    match error {
        LedgerError::Storage { .. } | LedgerError::Busy | LedgerError::Damaged | LedgerError::Broken { .. } => {
            Kind::Ledger.because(format!("nothing was released: {}", error.sentence(Interface::R)))
        }
        LedgerError::Seed | LedgerError::NoDataset | LedgerError::NoLedger => error.into(),
        error => Kind::Ledger.because(format!("{}; nothing was spent", error.sentence(Interface::R))),
    }
}
