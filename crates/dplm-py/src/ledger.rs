//! The privacy budget of data sets, kept in a file.

use std::path::{Path, PathBuf};

use dplm::{
    Charge, FitRequest,
    privacy::{Mechanisms, Promise, Provenance, Rho},
};
use dplm_ledger::{Amount, Attribution, Kept, Ledger, LedgerError, to_html};
use pyo3::prelude::*;

use crate::{
    failure::{Kind, OrRaise},
    request::{Keywords, word},
};

/// A ledger file. It is opened for each call, so that other processes see one another's entries at
/// once.
#[pyclass(name = "Ledger", module = "dplm._native", frozen)]
pub struct NativeLedger {
    file: PathBuf,
}

#[pymethods]
impl NativeLedger {
    /// An existing file.
    #[new]
    fn new(file: PathBuf) -> PyResult<NativeLedger> {
        Ledger::open(&file).or_raise()?;
        Ok(NativeLedger { file })
    }

    /// Adds a data set, making the file where there is none.
    #[staticmethod]
    fn init(file: PathBuf, dataset: &str, mut said: Keywords, mechanisms: &str, note: &str) -> PyResult<NativeLedger> {
        let (request, mechanisms) = (said.request()?, word::<Mechanisms>(mechanisms)?);
        let (rho, delta) = request.budget(mechanisms.conversion()).map_err(Kind::of_request)?;
        let ledger = match Ledger::create(&file) {
            Err(LedgerError::Exists { .. }) => Ledger::open(&file),
            made => made,
        };
        let promise = promise(&request, mechanisms, delta);
        ledger.or_raise()?.open_account_for(promise, dataset, rho, Some(delta), note).or_raise()?;
        Ok(NativeLedger { file })
    }

    /// Adds to a budget.
    fn grant(&self, dataset: &str, rho: f64, note: &str) -> PyResult<()> {
        self.open()?.grant(dataset, checked(rho)?, note).or_raise()
    }

    /// The names of the data sets.
    fn datasets(&self) -> PyResult<Vec<String>> {
        self.open()?.datasets().or_raise()
    }

    /// The state of a data set, as the JSON of `dplm ledger show`.
    fn show(&self, dataset: &str) -> PyResult<String> {
        Ok(self.open()?.account(dataset).or_raise()?.document().to_string())
    }

    /// Says how much an analyst may spend; the empty name is each who has no limit of their own,
    /// and no name all of them together.
    fn limit(&self, dataset: &str, analyst: Option<&str>, rho: f64, note: &str) -> PyResult<()> {
        let most = Amount::checked_from_f64(rho).map_err(|error| Kind::Request.because(error))?;
        match analyst {
            Some(analyst) => self.open()?.limit(dataset, analyst, most, note).or_raise(),
            None => self.open()?.limit_others(dataset, most, note).or_raise(),
        }
    }

    /// Records what was released without this ledger, or lost from it.
    #[expect(clippy::too_many_arguments, reason = "called from one place, by position")]
    fn record(
        &self,
        dataset: &str,
        mut said: Keywords,
        mechanisms: &str,
        what: &str,
        void: bool,
        analyst: String,
        note: String,
    ) -> PyResult<()> {
        let (request, mechanisms) = (said.request()?, word::<Mechanisms>(mechanisms)?);
        let (rho, delta) = request.budget(mechanisms.conversion()).map_err(Kind::of_request)?;
        let attribution = Attribution { analyst, purpose: String::new(), note };
        let mut ledger = self.open()?.attributed_to(attribution).or_raise()?;
        let provenance = if void { Provenance::Seed } else { Provenance::System };
        let promise = Promise { provenance, ..promise(&request, mechanisms, delta) };
        ledger.record(dataset, &Charge::new(rho, promise, what)).or_raise()?;
        Ok(())
    }

    /// Marks an entry as a mistake; gives what was taken back of a grant.
    fn reverse(&self, entry: i64, reason: &str) -> PyResult<f64> {
        Ok(self.open()?.reverse(entry, reason).or_raise()?.to_f64())
    }

    /// The page of one data set, or of all.
    fn report(&self, dataset: Option<String>) -> PyResult<String> {
        let ledger = self.open()?;
        let names = dataset.map_or_else(|| ledger.datasets(), |name| Ok(vec![name])).or_raise()?;
        let accounts = names.iter().map(|name| ledger.account(name)).collect::<Result<Vec<_>, _>>().or_raise()?;
        Ok(to_html(&accounts, &ledger.verify().or_raise()?.last_hash))
    }

    /// Writes a copy, and gives its last hash.
    fn back_up(&self, copy: PathBuf) -> PyResult<String> {
        Ok(self.open()?.back_up(copy).or_raise()?.last_hash)
    }

    /// Checks the whole file: how many entries there are, and the hash of the last. `against` are
    /// fits and copies: the name of each, and the JSON of a fit unless the name is that of a file
    /// that holds it.
    fn verify(&self, against: Vec<(String, Option<String>)>) -> PyResult<(usize, String)> {
        let record = |(name, json): (String, Option<String>)| match json {
            Some(json) => Kept::from_json(name, &json),
            None => Kept::read(Path::new(&name)),
        };
        let kept: Vec<Kept> = against.into_iter().map(record).collect();
        let verdict = self.open()?.verify_against(&kept).or_raise()?;
        Ok((verdict.entries, verdict.last_hash))
    }
}

/// What is promised, where epsilon is stated at this delta.
fn promise(request: &FitRequest, mechanisms: Mechanisms, delta: f64) -> Promise {
    Promise { neighbours: request.neighbours, ..Promise::about(request.person.as_deref()) }
        .converted_by(mechanisms.conversion(), delta)
}

impl NativeLedger {
    fn open(&self) -> PyResult<Ledger> {
        Ledger::open(&self.file).or_raise()
    }
}

fn checked(rho: f64) -> PyResult<Rho> {
    Rho::checked_from_f64(rho).map_err(|error| Kind::Request.because(error))
}
