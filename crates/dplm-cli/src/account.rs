//! What pays for a fit: the ledger that was named, or the user, who keeps account in another way.

use std::{ops::ControlFlow, sync::OnceLock};

use dplm::{NoiseSource, privacy::Rho, request::AccountOptions};
use dplm_ledger::{Caution, LedgerError, PaidError, Payer, Tally, Watch};

use crate::{exit::Failure, printer::Printer, progress::Bar};

/// Opens the account, and refuses what it could not pay for before a row is read.
///
/// # Errors
/// When there is no such account, or it has too little.
pub fn open(account: &AccountOptions, noise: NoiseSource, rho: Rho) -> Result<Payer, Failure> {
    let payer = Payer::open(account, noise).map_err(not_paid)?;
    payer.check(rho).map_err(not_paid)?;
    Ok(payer)
}

/// Shows how far a fit has come, and what was paid for it.
pub struct Watching<'a> {
    printer: &'a Printer,
    reading: Bar,
    fitting: OnceLock<Bar>,
}

impl<'a> Watching<'a> {
    /// Starts the clock.
    pub fn new(printer: &'a Printer) -> Watching<'a> {
        Watching { printer, reading: Bar::new(printer, "reading"), fitting: OnceLock::new() }
    }
}

impl Watch for Watching<'_> {
    fn reading(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.reading.update(done, total)
    }

    fn fitting(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.reading.clear();
        self.fitting.get_or_init(|| Bar::new(self.printer, "fitting")).update(done, total)
    }

    /// That the same was paid for before. Another table is warned of with the result.
    fn caution(&self, caution: &Caution) {
        if let Caution::SamePlan { .. } = caution {
            self.printer.warning(&caution.to_string(), false);
        }
    }

    fn paid(&self, payer: &Payer, rho: Rho) {
        if let Some((file, dataset)) = payer.name() {
            self.printer.note(&format!("{} records rho = {rho} of '{dataset}' as spent", file.display()));
        }
    }
}

/// What came of a fit; where it failed after something was charged, the sentence says what.
///
/// # Errors
/// Those of the fit.
pub fn told<T>(outcome: Result<T, PaidError>, tally: &Tally) -> Result<T, Failure> {
    outcome.map_err(|error| match (tally.spent(), Failure::from(error)) {
        (None, failure) | (_, failure @ Failure::Closed) => failure,
        (Some(_), failure) => Failure::Refused(format!("{failure}; {tally}")),
    })
}

impl From<PaidError> for Failure {
    fn from(error: PaidError) -> Failure {
        match error {
            PaidError::NotPaid(error) => not_paid(error),
            PaidError::PartlyPaid(error) => error.into(),
            PaidError::Fit(error) => error.into(),
            _ => Failure::refused(error),
        }
    }
}

/// A fit that its ledger did not pay for.
pub fn not_paid(error: LedgerError) -> Failure {
    match error {
        LedgerError::Storage { .. } | LedgerError::Busy | LedgerError::Damaged | LedgerError::Broken { .. } => {
            Failure::Refused(format!("nothing was released: {error}"))
        }
        error => match error.into() {
            Failure::Usage(sentence) => Failure::Usage(format!("{sentence}; nothing was spent")),
            Failure::Refused(sentence) => Failure::Refused(format!("{sentence}; nothing was spent")),
            other => other,
        },
    }
}
