//! The privacy budget of data sets, kept in a file.

use std::path::{Path, PathBuf};

use dplm::privacy::Rho;
use dplm_ledger::{Account, FitRecord, Ledger, LedgerError};
use pyo3::prelude::*;
use serde_json::Value;

use crate::failure::{Kind, OrRaise};

/// A ledger file. It is opened for each call, so that other processes see one another's entries at once.
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
    fn init(file: PathBuf, dataset: &str, rho: f64, delta: Option<f64>, note: &str) -> PyResult<NativeLedger> {
        let rho = checked(rho)?;
        let ledger = match Ledger::create(&file) {
            Err(LedgerError::Exists { .. }) => Ledger::open(&file),
            made => made,
        };
        ledger.or_raise()?.open_account(dataset, rho, delta, note).or_raise()?;
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
        Ok(document(&self.open()?.account(dataset).or_raise()?).to_string())
    }

    /// Checks the whole file: how many entries there are, and the hash of the last. `against` are fits: the name of each, and its JSON
    /// unless the name is that of a file that holds it.
    fn verify(&self, against: Vec<(String, Option<String>)>) -> PyResult<(usize, String)> {
        let record = |(name, json): (String, Option<String>)| match json {
            Some(json) => FitRecord::from_json(name, &json),
            None => FitRecord::read(Path::new(&name)),
        };
        let fits: Vec<FitRecord> = against.into_iter().map(record).collect();
        let verdict = self.open()?.verify_against(&fits).or_raise()?;
        Ok((verdict.entries, verdict.last_hash))
    }
}

impl NativeLedger {
    fn open(&self) -> PyResult<Ledger> {
        Ledger::open(&self.file).or_raise()
    }
}

fn checked(rho: f64) -> PyResult<Rho> {
    Rho::checked_from_f64(rho).map_err(|error| Kind::Request.because(error))
}

/// The document of `dplm ledger show --json`.
fn document(account: &Account) -> Value {
    let mut document = serde_json::to_value(account).expect("plain data serialise");
    document["neighbours"] = account.neighbours().into();
    document["epsilon_spent"] = account.epsilon_spent().into();
    document["epsilon_total"] = account.epsilon_total().into();
    document
}
