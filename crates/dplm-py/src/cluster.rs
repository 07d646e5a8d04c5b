//! Rows that stay on a cluster: packed there, asked from here. Python carries the bytes (`dplm.spark`).

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use dplm::{
    Dataset, NoiseSource, Progress, Reading,
    formula::Weights,
    rows::{Answering, BlockId, Executor, RemoteError, most_rows, pack},
    table::{ReadOptions, Schema, Source},
};
use dplm_ledger::LedgerError;
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    arrow,
    failure::{Failure, Kind, OrRaise},
    fit::{AccountName, NativeFit, affordable, receipt},
    request::{BudgetOptions, FitOptions, formula},
    table::NativeTable,
    work::{self, Signals},
};

/// How often it is looked whether a question should end.
const POLL: Duration = Duration::from_millis(50);

/// Encodes the rows of a table and packs them into blocks, numbered from `place` on, of a part of the data.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, by position")]
pub fn packed<'py>(
    py: Python<'py>,
    table: &NativeTable,
    model: &str,
    model_is_file: bool,
    weights: Option<&str>,
    strict: bool,
    part: u32,
    place: u32,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let formula = formula(model, model_is_file)?;
    let weights = weights.map(str::parse::<Weights>).transpose().map_err(dplm::Error::from).or_raise()?;
    let blocks = work::run(py, Some(1), None, |signals| {
        let reading = Reading { weights, ..Reading::default() };
        let design = reading.design(&reading.model(&formula, table.source().schema())?);
        let watched = |done, total| signals.reading(done, total);
        let block_rows = most_rows(design.features());
        let options = ReadOptions { strict, block_rows, progress: Progress::new(&watched), ..ReadOptions::default() };
        let mut blocks = Vec::new();
        table.source().for_each_block(design.columns(), &options, &mut |block| {
            blocks.push(pack(&block, &design, BlockId::new(part, place + blocks.len() as u32)));
            Ok(())
        })?;
        Ok(blocks)
    })?;
    Ok(blocks.iter().map(|block| PyBytes::new(py, block)).collect())
}

/// A question that blocks answer one after another.
#[pyclass(name = "Answering", module = "dplm._native")]
pub struct NativeAnswering(Option<Answering>);

#[pymethods]
impl NativeAnswering {
    #[new]
    fn new(question: &[u8]) -> PyResult<NativeAnswering> {
        Ok(NativeAnswering(Some(Answering::new(question).map_err(dplm::Error::from).or_raise()?)))
    }

    /// Adds what a block answers.
    fn add(&mut self, py: Python<'_>, block: &[u8]) -> PyResult<()> {
        let Some(answering) = &mut self.0 else { return Err(finished()) };
        work::run(py, Some(1), None, |_| Ok(answering.add(block)?))
    }

    /// The answer of all blocks that were added.
    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let answering = self.0.take().ok_or_else(finished)?;
        Ok(PyBytes::new(py, &answering.finish()))
    }
}

fn finished() -> PyErr {
    Kind::Request.because("the answer is finished: ask again")
}

/// Two functions of Python: one puts a question to all blocks and gives their answers, the other ends it.
struct Carrier {
    ask: Py<PyAny>,
    cancel: Py<PyAny>,
}

impl Executor for Carrier {
    fn ask(&self, question: &[u8]) -> Result<Vec<Vec<u8>>, RemoteError> {
        Python::attach(|py| {
            let answers = self.ask.call1(py, (PyBytes::new(py, question),));
            answers.and_then(|answers| answers.extract::<Vec<Vec<u8>>>(py)).map_err(|_| RemoteError::Failed)
        })
    }

    fn cancel(&self) {
        // A question that cannot be ended is waited for.
        let _ = Python::attach(|py| self.cancel.call0(py));
    }
}

/// Does `work`, and cancels the question it waits for once it should end.
fn cancelled_by<T>(signals: &Signals, executor: &dyn Executor, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Relaxed) && !signals.is_stopped() {
                thread::park_timeout(POLL);
            }
            if !is_done.load(Relaxed) {
                executor.cancel();
            }
        });
        let result = work();
        is_done.store(true, Relaxed);
        result
    })
}

/// Fits rows that were packed on a cluster. The functions of `carrier` carry questions and cancel them, and `columns` is a table of the same types
/// without a row.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, by position")]
pub fn fit_on_cluster(
    py: Python<'_>,
    carrier: (Py<PyAny>, Py<PyAny>),
    columns: &Bound<'_, PyAny>,
    model: &str,
    model_is_file: bool,
    budget: BudgetOptions,
    options: FitOptions,
    account_name: Option<AccountName>,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeFit> {
    let formula = formula(model, model_is_file)?;
    let config = options.config(&budget, &formula, model_is_file)?;
    let (person, weights, schema) = (options.person()?, options.weights()?, schema(columns)?);
    if account_name.is_some() && options.noise() != NoiseSource::System {
        return Err(Kind::Request.because(LedgerError::Seed));
    }
    let carrier = Arc::new(Carrier { ask: carrier.0, cancel: carrier.1 });
    let fit = work::run(py, options.threads, progress.as_ref(), |signals| {
        affordable(account_name.as_ref(), config.request().rho)?;
        cancelled_by(signals, &*carrier, || {
            let reading = Reading { memory: options.memory, person, weights, ..Reading::default() };
            let mut dataset = Dataset::remote(carrier.clone(), &schema, &formula, &reading)?;
            let prepared = dataset.prepare(config.as_ref(), options.noise())?;
            let receipt = receipt(prepared.charge(), account_name.as_ref())?;
            let fitting = |done, total| signals.fitting(done, total);
            prepared.run(receipt, Progress::new(&fitting)).map_err(Failure::after_spending)
        })
    })?;
    Ok(NativeFit::new(fit))
}

/// The columns of the table, refused where two have one name.
fn schema(columns: &Bound<'_, PyAny>) -> PyResult<Schema> {
    let (schema, _) = arrow::imported(columns)?;
    let names: BTreeSet<&String> = schema.fields().iter().map(|field| field.name()).collect();
    match names.len() == schema.fields().len() {
        true => Ok(Source::schema_of(&schema)),
        false => Err(Kind::Data.because("two columns of the data have the same name: rename one of them")),
    }
}
