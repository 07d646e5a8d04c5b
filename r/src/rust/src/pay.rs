//! What pays for a fit: the ledger that was named, or the user, who keeps account in another way.

use std::sync::OnceLock;

use dplm::{table::DataError, Charge, Error, Receipt};
use dplm_ledger::{LedgerError, Payer, Tally};

use crate::{
    failure::{Kind, Refusal},
    request::Options,
    work::Signals,
};

/// What some work was charged so far. It stays with R's thread, since work that is interrupted
/// gives nothing back.
///
/// Work that opens no payer costs nothing: a prediction, a plan, a fit of simulated rows.
#[derive(Default)]
pub struct Charged(OnceLock<Tally>);

impl Charged {
    /// Opens what pays, and refuses what it could not pay for before a row is read.
    pub fn payer(&self, options: &Options) -> Result<Payer, Refusal> {
        if options.is_pretended() {
            return Ok(Payer::caller());
        }
        let payer = options.payer()?;
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

/// Pays a charge, unless the user has interrupted the work by now.
pub fn pay(payer: &mut Payer, charge: Charge, signals: &Signals) -> Result<Receipt, Refusal> {
    if signals.is_stopped() {
        return Err(DataError::Interrupted.into());
    }
    let is_first = payer.tally().spent().is_none();
    payer.pay(charge).map_err(|error| if is_first { not_paid(error) } else { error.into() })
}

/// Why a ledger did not pay for a fit, of which nothing was charged before.
pub fn not_paid(error: LedgerError) -> Refusal {
    match error {
        LedgerError::Storage { .. } | LedgerError::Busy | LedgerError::Damaged | LedgerError::Broken { .. } => {
            Kind::Ledger.because(format!("nothing was released: {error}"))
        }
        LedgerError::Seed | LedgerError::NoDataset | LedgerError::NoLedger => error.into(),
        error => Kind::Ledger.because(format!("{error}; nothing was spent")),
    }
}
