//! What pays for a fit: the ledger that was named, or the user, who keeps account in another way.

use dplm::{Charge, Receipt, privacy::Rho};
use dplm_ledger::{AccountName, Caution, LedgerError, Payer, Tally};

use crate::{exit::Failure, printer::Printer};

/// Opens the account, and refuses what it could not pay for before a row is read.
///
/// # Errors
/// When there is no such account, or it has too little.
pub fn open(name: &AccountName, rho: Rho) -> Result<Payer, Failure> {
    let payer = Payer::open(name).map_err(not_paid)?;
    payer.check(rho).map_err(not_paid)?;
    Ok(payer)
}

/// Refuses a fit that the account could not pay for as a whole, before a part of it is paid. Gives
/// what its payer should know once it is paid: that the same was paid for before. (Another table is
/// warned of with the result.)
///
/// # Errors
/// When the ledger would refuse.
pub fn check(payer: &Payer, whole: &Charge) -> Result<Vec<Caution>, Failure> {
    payer.check_charge(whole).map_err(not_paid)?;
    let mut cautions = payer.cautions(whole).map_err(not_paid)?;
    cautions.retain(|caution| matches!(caution, Caution::SamePlan { .. }));
    Ok(cautions)
}

/// Pays a charge, and says what the ledger recorded.
///
/// # Errors
/// When the ledger refuses.
pub fn pay(payer: &mut Payer, charge: Charge, printer: &Printer) -> Result<Receipt, Failure> {
    let (rho, is_first) = (charge.rho, payer.tally().spent().is_none());
    let receipt = payer.pay(charge).map_err(|error| if is_first { not_paid(error) } else { error.into() })?;
    if let Some((file, dataset)) = payer.name() {
        printer.note(&format!("{} records rho = {rho} of '{dataset}' as spent", file.display()));
    }
    Ok(receipt)
}

/// What came of a fit; where it failed after something was charged, the sentence says what.
///
/// # Errors
/// Those of the fit.
pub fn told<T>(outcome: Result<T, Failure>, tally: &Tally) -> Result<T, Failure> {
    outcome.map_err(|failure| match (tally.spent(), failure) {
        (None, failure) | (_, failure @ Failure::Closed) => failure,
        (Some(_), failure) => Failure::Refused(format!("{failure}; {tally}")),
    })
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
