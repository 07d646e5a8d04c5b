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
    Dataset, GroupedDataset, Person, Progress, Reading,
    formula::{By, Column, Formula, Weights},
    method::Method,
    options::Device,
    rows::{Answering, Executor, Packer, RemoteError},
    table::{ReadOptions, Schema, Source},
};
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    account::{AccountOptions, affordable, paying},
    arrow,
    failure::{Kind, OrRaise},
    fit::NativeFit,
    groups::{NativeGroupedFit, without_groups},
    request::{BudgetOptions, FitOptions, formula},
    table::NativeTable,
    work::{self, Signals},
};

/// How often it is looked whether a question should end.
const POLL: Duration = Duration::from_millis(50);

/// Who each row of a table is of: 16 bytes for each, all of them zero where the identifier is missing. The same key gives the same person the same bytes on every
/// machine.
#[pyfunction]
pub fn identified<'py>(
    py: Python<'py>,
    table: &NativeTable,
    person: &str,
    strict: bool,
    key: [u8; 32],
) -> PyResult<Bound<'py, PyBytes>> {
    let hashes = work::run(py, Some(1), None, |_| Ok(table.source().identified(person, strict, key)?))?;
    let bytes: Vec<u8> = hashes.into_iter().flat_map(u128::to_be_bytes).collect();
    Ok(PyBytes::new(py, &bytes))
}

/// Packs the rows of a part of the data.
#[pyclass(name = "Packer", module = "dplm._native")]
pub struct NativePacker {
    formula: Formula,
    options: FitOptions,
    part: u32,
    packer: Option<Packer>,
}

/// The group of a block, and its bytes.
type PackedBlock<'py> = (Option<u32>, Bound<'py, PyBytes>);

#[pymethods]
impl NativePacker {
    #[new]
    fn new(model: &str, model_is_file: bool, options: FitOptions, part: u32) -> PyResult<NativePacker> {
        Ok(NativePacker { formula: formula(model, model_is_file)?, options, part, packer: None })
    }

    /// Takes the next rows of the part, and what `identified` says of them where persons are protected; gives the blocks that are full.
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        table: &NativeTable,
        persons: Option<&[u8]>,
    ) -> PyResult<Vec<PackedBlock<'py>>> {
        let persons: Option<Vec<u128>> =
            persons.map(|bytes| bytes.as_chunks().0.iter().map(|hash| u128::from_be_bytes(*hash)).collect());
        let (person, weights, by) = (self.options.person()?, self.options.weights()?, self.options.groups()?);
        let by = by.map(|(by, _)| by);
        let packed = work::run(py, Some(1), None, |signals| {
            let reading = Reading { person, weights, ..Reading::default() };
            let schema = table.source().schema();
            let design = match &by {
                None => reading.design(&reading.model(&self.formula, schema)?),
                Some(by) => reading.model_by(&self.formula, schema, by)?.1,
            };
            let columns: Vec<Column> = design.columns().iter().cloned().chain(by.as_ref().map(By::column)).collect();
            let groups = by.as_ref().map(|by| by.levels().len());
            let mut packer = match self.packer.take() {
                Some(packer) => packer,
                None => Packer::new(design, self.part, groups, reading.person.as_ref()).map_err(dplm::Error::from)?,
            };
            let watched = |done, total| signals.reading(done, total);
            let (strict, progress) = (self.options.strict, Progress::new(&watched));
            let options = ReadOptions { strict, progress, ..ReadOptions::default() };
            let (mut refusal, mut row) = (Ok(()), 0);
            table.source().for_each_block(&columns, &options, &mut |block| {
                let of_block = persons.as_ref().map(|persons| &persons[row..row + block.rows]);
                row += block.rows;
                if refusal.is_ok() {
                    refusal = packer.push(block, of_block);
                }
                Ok(())
            })?;
            refusal.map_err(dplm::Error::from)?;
            let full = packer.take();
            self.packer = Some(packer);
            Ok(full)
        })?;
        Ok(packed.into_iter().map(|block| (block.group, PyBytes::new(py, &block.bytes))).collect())
    }

    /// The remaining blocks.
    fn finish<'py>(&mut self, py: Python<'py>) -> Vec<PackedBlock<'py>> {
        let blocks = self.packer.take().map_or(Vec::new(), Packer::finish);
        blocks.into_iter().map(|block| (block.group, PyBytes::new(py, &block.bytes))).collect()
    }
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
    fn ask(&self, question: &[u8], group: Option<u32>) -> Result<Vec<Vec<u8>>, RemoteError> {
        Python::attach(|py| {
            let answers = self.ask.call1(py, (PyBytes::new(py, question), group));
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

/// What is fitted on a cluster, read from Python.
struct Asked {
    carrier: Arc<Carrier>,
    schema: Schema,
    formula: Formula,
    config: Box<dyn Method>,
    person: Option<Person>,
    weights: Option<Weights>,
}

impl Asked {
    fn new(
        carrier: (Py<PyAny>, Py<PyAny>),
        columns: &Bound<'_, PyAny>,
        (model, is_file): (&str, bool),
        budget: &BudgetOptions,
        options: &FitOptions,
    ) -> PyResult<Asked> {
        let formula = formula(model, is_file)?;
        let config = options.config(budget, &formula, is_file)?;
        if options.device()? != Device::Cpu {
            return Err(Kind::Request.because("rows on a cluster are summed where they are: leave device out"));
        }
        let carrier = Arc::new(Carrier { ask: carrier.0, cancel: carrier.1 });
        let (person, weights) = (options.person()?, options.weights()?);
        Ok(Asked { carrier, schema: schema(columns)?, formula, config, person, weights })
    }

    fn reading(&self, memory: Option<u64>) -> Reading<'static> {
        Reading { memory, person: self.person.clone(), weights: self.weights.clone(), ..Reading::default() }
    }
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
    account: AccountOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeFit> {
    let asked = Asked::new(carrier, columns, (model, model_is_file), &budget, &options)?;
    let payer = account.payer(options.noise())?;
    // Python asks for groups elsewhere; sizes without them are a mistake.
    options.groups()?;
    let fit = work::run_paid(py, options.threads, progress.as_ref(), payer, |signals, payer| {
        affordable(payer, asked.config.request().rho)?;
        cancelled_by(signals, &*asked.carrier, || {
            let reading = asked.reading(options.memory);
            let mut dataset = Dataset::remote(asked.carrier.clone(), &asked.schema, &asked.formula, &reading)?;
            let prepared = dataset.prepare(asked.config.as_ref(), options.noise())?;
            payer.check_charge(&prepared.charge())?;
            let fitting = |done, total| signals.fitting(done, total);
            prepared.run_paid_by(&mut paying(payer, signals), Progress::new(&fitting))
        })
    })?;
    Ok(NativeFit::new(fit))
}

/// Fits every group of rows that were packed on a cluster, as `fit_on_cluster` does one.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, by position")]
pub fn fit_groups_on_cluster(
    py: Python<'_>,
    carrier: (Py<PyAny>, Py<PyAny>),
    columns: &Bound<'_, PyAny>,
    model: &str,
    model_is_file: bool,
    budget: BudgetOptions,
    options: FitOptions,
    account: AccountOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeGroupedFit> {
    let asked = Asked::new(carrier, columns, (model, model_is_file), &budget, &options)?;
    let payer = account.payer(options.noise())?;
    let (by, sizes) = options.groups()?.ok_or_else(without_groups)?;
    let fit = work::run_paid(py, options.threads, progress.as_ref(), payer, |signals, payer| {
        affordable(payer, asked.config.request().rho)?;
        cancelled_by(signals, &*asked.carrier, || {
            let (carrier, reading) = (asked.carrier.clone(), asked.reading(options.memory));
            let mut groups =
                GroupedDataset::remote(carrier, &asked.schema, &asked.formula, &reading, &by, sizes.clone())?;
            let prepared = groups.prepare(asked.config.as_ref(), options.noise())?;
            payer.check_charge(&prepared.charge())?;
            let fitting = |done, total| signals.fitting(done, total);
            prepared.run_paid_by(&mut paying(payer, signals), Progress::new(&fitting))
        })
    })?;
    Ok(NativeGroupedFit::new(fit))
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
