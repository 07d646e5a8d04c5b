//! Charges a fit to a ledger, or to the caller, who keeps account in another way.
//!
//! Every interface that spends opens a [`Payer`] before it reads a row and passes it every charge
//! of the fit. A [`Tally`] counts the charges; every sentence about spending is made from it,
//! however the fit ended.

use std::{
    fmt,
    ops::ControlFlow,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use dplm::{
    Charge, CheckedFit, Data, Error, Fitted, NoiseSource, Progress, Receipt, RunOptions, Statement,
    privacy::{Provenance, Rho},
    progress::background,
    request::AccountOptions,
    table::{DataError, Source},
};

use crate::{Attribution, Caution, Ledger, LedgerError, mandatory};

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

/// The ledger and the data set that pay, with what is mandatory on this machine; `None` if
/// the caller pays.
fn resolved(account: &AccountOptions) -> Result<Option<(PathBuf, String)>, LedgerError> {
    let mandatory = mandatory::mandatory_ledger()?;
    match (mandatory, &account.ledger, &account.dataset) {
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

impl Payer {
    /// Opens the account, or leaves the payment to the caller where none is named and none is
    /// mandatory. No budget pays for noise from a seed.
    ///
    /// # Errors
    /// When the ledger or the data set is missing, another ledger than the mandatory one is named,
    /// the noise comes from a seed, the ledger cannot be opened, or the analyst's name cannot be
    /// shown.
    pub fn open(account: &AccountOptions, noise: NoiseSource) -> Result<Payer, LedgerError> {
        let Some((file, dataset)) = resolved(account)? else { return Ok(Payer::caller()) };
        if matches!(noise, NoiseSource::Seed(_)) {
            return Err(LedgerError::Seed);
        }
        let AccountOptions { analyst, stated_purpose, note, other_table, .. } = account.clone();
        let [analyst, purpose, note] = [analyst, stated_purpose, note].map(Option::unwrap_or_default);
        let ledger = Ledger::open(&file)?.attributed_to(Attribution { analyst, purpose, note })?;
        let account = Some((file, ledger.allowing_another_table(other_table), dataset));
        Ok(Payer { account, tally: Tally { has_ledger: true, ..Tally::default() } })
    }

    /// The payer of a fit that is not made: none is needed where no data set is named, even where a
    /// ledger is mandatory.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn of_dry_run(account: &AccountOptions) -> Result<Payer, LedgerError> {
        match (&account.ledger, &account.dataset) {
            (None, None) => Ok(Payer::caller()),
            _ => Payer::open(account, NoiseSource::System),
        }
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

    /// The ledger's file and the name of the data set, if a ledger pays.
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

    /// Refuses to refine a fit from another account than the one that paid for it: a ledger with
    /// only one of two fits of the same rows would understate the loss.
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

    /// The warnings before a charge is recorded.
    ///
    /// # Errors
    /// As [`Ledger::cautions`].
    pub fn cautions(&self, charge: &Charge) -> Result<Vec<Caution>, LedgerError> {
        self.account.as_ref().map_or(Ok(Vec::new()), |(_, ledger, dataset)| ledger.cautions(dataset, charge))
    }

    /// Refuses a charge that could not be paid now, and records nothing.
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
            // Simulated rows belong to nobody, and cost nothing.
            Provenance::Simulated => 0,
        };
        let receipt = match &mut self.account {
            Some((_, ledger, dataset)) => ledger.charge(dataset, charge)?,
            None => Receipt::by_caller(charge),
        };
        self.tally.units.fetch_add(units, SeqCst);
        Ok(receipt)
    }

    /// The charges so far; the returned tally continues to count.
    pub fn tally(&self) -> Tally {
        self.tally.clone()
    }
}

/// Who follows a fit while it is paid for and made.
pub trait Watch: Sync {
    /// `done` of `total` bytes have been read; may interrupt the reading.
    fn reading(&self, done: u64, total: u64) -> ControlFlow<()>;

    /// `done` of `total` steps of the fit are made; may interrupt it.
    fn fitting(&self, done: u64, total: u64) -> ControlFlow<()>;

    /// Whether the user wants no more of it: then nothing more is paid.
    fn is_stopped(&self) -> bool {
        false
    }

    /// What the payer should look at, before anything is paid.
    fn caution(&self, _caution: &Caution) {}

    /// A charge is on disk.
    fn paid(&self, _payer: &Payer, _rho: Rho) {}
}

impl Watch for background::Signals {
    fn reading(&self, done: u64, total: u64) -> ControlFlow<()> {
        background::Signals::reading(self, done, total)
    }

    fn fitting(&self, done: u64, total: u64) -> ControlFlow<()> {
        background::Signals::fitting(self, done, total)
    }

    fn is_stopped(&self) -> bool {
        background::Signals::is_stopped(self)
    }
}

/// Where the rows of a fit are.
pub enum RowsFrom<'a> {
    /// In a table.
    Table(&'a Source),
    /// Elsewhere, such as on a cluster: they are opened once the account is found to have the
    /// budget.
    Elsewhere(OpenRows<'a>),
}

/// Opens the rows of a fit that are kept elsewhere.
pub type OpenRows<'a> = Box<dyn FnOnce(&CheckedFit, &RunOptions) -> Result<Data, Error> + Send + 'a>;

/// Why a fit was not made, or not finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaidError {
    /// The ledger refused, and nothing of the fit was paid.
    #[error(transparent)]
    NotPaid(LedgerError),
    /// The ledger refused once a part of the fit was paid.
    #[error(transparent)]
    PartlyPaid(LedgerError),
    /// The fit was refused or failed.
    #[error(transparent)]
    Fit(#[from] Error),
}

/// Reads, charges and fits: every interface makes its fits so. What can be refused is refused
/// before anything is charged, and what is charged is on disk before noise is drawn.
///
/// # Errors
/// When the account could not pay for the fit, the fit is refused, or it fails; the payer's tally
/// has what was charged by then.
pub fn paid_fit(
    fit: &CheckedFit,
    rows: RowsFrom<'_>,
    run: &RunOptions,
    payer: &mut Payer,
    watch: &dyn Watch,
) -> Result<Fitted, PaidError> {
    payer.check(fit.rho()).map_err(PaidError::NotPaid)?;
    let mut data = match rows {
        RowsFrom::Table(table) => fit.read(table, run, Progress::new(&|done, total| watch.reading(done, total)))?,
        RowsFrom::Elsewhere(open) => open(fit, run)?,
    };
    let prepared = data.prepare(run.noise())?;
    let whole = prepared.charge();
    payer.pay_for(&whole, watch, |pay, progress| prepared.run_paid_by(pay, progress))
}

/// How a fit asks for its payment.
pub type Pay<'a> = &'a mut dyn FnMut(Charge) -> Result<Receipt, PaidError>;

impl Payer {
    /// Pays for what `fit` asks to be paid, part by part. Where the account could not pay for the
    /// `whole`, it pays for none.
    ///
    /// # Errors
    /// What the ledger refuses, and what `fit` fails with.
    pub fn pay_for<T>(
        &mut self,
        whole: &Charge,
        watch: &dyn Watch,
        fit: impl FnOnce(Pay<'_>, Progress<'_>) -> Result<T, PaidError>,
    ) -> Result<T, PaidError> {
        self.check_charge(whole).map_err(PaidError::NotPaid)?;
        let mut cautions = self.cautions(whole).map_err(PaidError::NotPaid)?;
        let mut pay = |charge: Charge| {
            if watch.is_stopped() {
                return Err(PaidError::Fit(DataError::Interrupted.into()));
            }
            let rho = charge.rho;
            let refused = if self.tally.spent().is_none() { PaidError::NotPaid } else { PaidError::PartlyPaid };
            let receipt = self.pay(charge).map_err(refused)?;
            watch.paid(self, rho);
            // Not before: a refusal, should another process be quicker, stays one sentence.
            cautions.drain(..).for_each(|caution| watch.caution(&caution));
            Ok(receipt)
        };
        fit(&mut pay, Progress::new(&|done, total| watch.fitting(done, total)))
    }
}

impl Tally {
    /// Everything charged; `None` if nothing was.
    pub fn spent(&self) -> Option<Rho> {
        Rho::from_units(self.units.load(SeqCst)).filter(|rho| rho.units() > 0)
    }
}

impl Tally {
    /// The sentence of a failure, with what was spent when it happened; `is_refusal` if the ledger
    /// itself refused.
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
