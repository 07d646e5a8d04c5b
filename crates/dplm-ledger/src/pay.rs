//! Who pays for a fit: a ledger, or the caller, who keeps account in another way.
//!
//! Every interface that spends opens a [`Payer`] before it reads a row and gives it every charge of
//! the fit. What was charged is counted in a [`Tally`], from which every sentence about spending is
//! made, however the fit ended.

use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use dplm::{
    Charge, Receipt, Statement,
    privacy::{Provenance, Rho},
};

use crate::{Attribution, Caution, Ledger, LedgerError, mandatory};

/// The account that is asked to pay: a data set in a ledger, and who asks.
#[derive(Clone, Debug, Default)]
pub struct AccountName {
    /// The ledger; the mandatory one where none is named.
    pub ledger: Option<PathBuf>,
    /// What it calls the data.
    pub dataset: Option<String>,
    /// Who asks, and why.
    pub attribution: Attribution,
    /// Whether a table of another shape than those before it is meant.
    pub another_table: bool,
}

/// Who pays for a fit.
pub struct Payer {
    account: Option<(PathBuf, Ledger, String)>,
    tally: Tally,
}

/// What was charged for a fit so far. It can be read while the fit runs, and after it was
/// interrupted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    units: Arc<AtomicU64>,
    has_ledger: bool,
}

impl AccountName {
    /// The ledger and the data set that pay, with what is mandatory on this machine; none where the
    /// caller pays.
    ///
    /// # Errors
    /// When one of the two is missing, or another ledger than the mandatory one is named.
    pub fn resolved(&self) -> Result<Option<(PathBuf, String)>, LedgerError> {
        let mandatory = mandatory::mandatory_ledger()?;
        match (mandatory, &self.ledger, &self.dataset) {
            (None, None, None) => Ok(None),
            (None, Some(file), Some(dataset)) => Ok(Some((file.clone(), dataset.clone()))),
            (None, Some(_), None) => Err(LedgerError::NoDataset),
            (None, None, Some(_)) => Err(LedgerError::NoLedger),
            (Some(file), Some(other), _) if !mandatory::is_same(&file, other) => {
                Err(LedgerError::OtherLedger { file: file.display().to_string() })
            }
            (Some(file), _, None) => Err(LedgerError::Mandatory { file: file.display().to_string() }),
            (Some(file), _, Some(dataset)) => Ok(Some((file, dataset.clone()))),
        }
    }
}

impl Payer {
    /// Opens the account, or leaves the payment to the caller where none is named and none is
    /// mandatory.
    ///
    /// # Errors
    /// As [`AccountName::resolved`]; when the ledger cannot be opened, or the analyst's name cannot
    /// be shown.
    pub fn open(name: &AccountName) -> Result<Payer, LedgerError> {
        let Some((file, dataset)) = name.resolved()? else { return Ok(Payer::caller()) };
        let ledger = Ledger::open(&file)?.attributed_to(name.attribution.clone())?;
        let account = Some((file, ledger.allowing_another_table(name.another_table), dataset));
        Ok(Payer { account, tally: Tally { has_ledger: true, ..Tally::default() } })
    }

    /// The caller pays: for fits of simulated rows, which cost nothing, and where no ledger is
    /// kept.
    pub fn caller() -> Payer {
        Payer { account: None, tally: Tally::default() }
    }

    /// Whether a ledger pays.
    pub fn has_ledger(&self) -> bool {
        self.account.is_some()
    }

    /// The ledger's file and what it calls the data, where one pays.
    pub fn name(&self) -> Option<(&PathBuf, &str)> {
        self.account.as_ref().map(|(file, _, dataset)| (file, dataset.as_str()))
    }

    /// Refuses, before a row is read, a budget that the account does not have.
    ///
    /// # Errors
    /// As [`Ledger::check`].
    pub fn check(&self, rho: Rho) -> Result<(), LedgerError> {
        self.account.as_ref().map_or(Ok(()), |(_, ledger, dataset)| ledger.check(dataset, rho))
    }

    /// Refuses to refine a fit from another account than the one that paid for it: a ledger that
    /// knows only one of two fits of the same rows would state too little.
    ///
    /// # Errors
    /// [`LedgerError::OtherAccount`], and when the ledger cannot be read.
    pub fn check_refinement(&self, first: Option<&Statement>) -> Result<(), LedgerError> {
        let Some(first) = first else { return Ok(()) };
        let other = || LedgerError::OtherAccount { dataset: first.dataset.clone(), entry: first.entry };
        let (_, ledger, dataset) = self.account.as_ref().ok_or_else(other)?;
        let is_there = ledger.entries()?.iter().any(|entry| entry.id == first.entry && entry.hash == first.hash);
        if is_there && *dataset == first.dataset { Ok(()) } else { Err(other()) }
    }

    /// What should be looked at before a charge is paid.
    ///
    /// # Errors
    /// As [`Ledger::cautions`].
    pub fn cautions(&self, charge: &Charge) -> Result<Vec<Caution>, LedgerError> {
        self.account.as_ref().map_or(Ok(Vec::new()), |(_, ledger, dataset)| ledger.cautions(dataset, charge))
    }

    /// Refuses what could not be paid now, and records nothing.
    ///
    /// # Errors
    /// As [`Ledger::spend`].
    pub fn check_charge(&self, charge: &Charge) -> Result<(), LedgerError> {
        self.account.as_ref().map_or(Ok(()), |(_, ledger, dataset)| ledger.check_charge(dataset, charge))
    }

    /// Pays: when this returns, a ledger has the charge on disk.
    ///
    /// # Errors
    /// As [`Ledger::charge`]; then nothing more may be drawn.
    pub fn pay(&mut self, charge: Charge) -> Result<Receipt, LedgerError> {
        let units = match charge.promise.provenance {
            Provenance::System | Provenance::Seed => charge.rho.units(),
            // They are nobody's, and cost nothing.
            Provenance::Simulated => 0,
        };
        let receipt = match &mut self.account {
            Some((_, ledger, dataset)) => ledger.charge(dataset, charge)?,
            None => Receipt::by_caller(charge),
        };
        self.tally.units.fetch_add(units, SeqCst);
        Ok(receipt)
    }

    /// What was charged so far; it goes on counting.
    pub fn tally(&self) -> Tally {
        self.tally.clone()
    }
}

impl Tally {
    /// Everything charged; none where nothing was.
    pub fn spent(&self) -> Option<Rho> {
        Rho::from_units(self.units.load(SeqCst)).filter(|rho| rho.units() > 0)
    }
}

impl Tally {
    /// The sentence of a failure, and what was spent when it happened; `is_refusal` where the
    /// ledger itself refused.
    pub fn told(&self, sentence: &str, is_refusal: bool) -> String {
        if is_refusal || self.spent().is_some() { format!("{sentence}; {self}") } else { sentence.to_owned() }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.spent(), self.has_ledger) {
            (None, _) => f.write_str("nothing was spent"),
            (Some(rho), true) => write!(f, "the ledger has recorded rho = {rho} as spent"),
            (Some(rho), false) => write!(f, "rho = {rho} counts as spent"),
        }
    }
}
