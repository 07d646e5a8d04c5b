//! Rows that stay on a cluster: packed there, asked from here. Python carries the bytes
//! (`dplm.spark`).

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
    CheckedFit, Progress, RunOptions,
    formula::Column,
    options::Device,
    table::{ReadOptions, Schema, Source},
};
use dplm_cluster::{Answering, Executor, Packer, RemoteError};
use dplm_ledger::RowsFrom;
use pyo3::{prelude::*, types::PyBytes};

use crate::{
    arrow,
    failure::{Kind, OrRaise},
    request::{Asked, Keywords},
    table::NativeTable,
    work::{self, Signals},
};

/// How often it is looked whether a question should end.
const POLL: Duration = Duration::from_millis(50);

/// Who each row of a table is of: 16 bytes for each, all of them zero where the identifier is
/// missing. The same key gives the same person the same bytes on every machine.
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
    fit: CheckedFit,
    run: RunOptions,
    part: u32,
    packer: Option<(Packer, Vec<Column>)>,
}

/// The group of a block, and its bytes.
type PackedBlock<'py> = (Option<u32>, Bound<'py, PyBytes>);

#[pymethods]
impl NativePacker {
    #[new]
    fn new(said: Keywords, part: u32) -> PyResult<NativePacker> {
        let Asked { fit, run, .. } = said.fit()?;
        Ok(NativePacker { fit, run, part, packer: None })
    }

    /// Takes the next rows of the part, and what `identified` says of them where persons are
    /// protected; gives the blocks that are full.
    fn add<'py>(
        &mut self,
        py: Python<'py>,
        table: &NativeTable,
        persons: Option<&[u8]>,
    ) -> PyResult<Vec<PackedBlock<'py>>> {
        let persons: Option<Vec<u128>> =
            persons.map(|bytes| bytes.as_chunks().0.iter().map(|hash| u128::from_be_bytes(*hash)).collect());
        let packed = work::run(py, Some(1), None, |signals| {
            let (mut packer, columns) = match self.packer.take() {
                Some(packer) => packer,
                None => dplm_cluster::packer(&self.fit, table.source().schema(), self.part)?,
            };
            let watched = |done, total| signals.reading(done, total);
            let (strict, progress) = (self.run.strict, Progress::new(&watched));
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
            self.packer = Some((packer, columns));
            Ok(full)
        })?;
        Ok(packed.into_iter().map(|block| (block.group, PyBytes::new(py, &block.bytes))).collect())
    }

    /// The remaining blocks.
    fn finish<'py>(&mut self, py: Python<'py>) -> Vec<PackedBlock<'py>> {
        let blocks = self.packer.take().map_or(Vec::new(), |(packer, _)| packer.finish());
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

/// Two functions of Python: one puts a question to all blocks and gives their answers, the other
/// ends it.
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
pub fn cancelled_by<T>(signals: &Signals, executor: &dyn Executor, work: impl FnOnce() -> T) -> T {
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

/// Rows that were packed on a cluster: the functions that carry questions and cancel them, and a
/// table of the same types without a row.
#[pyclass(name = "Cluster", module = "dplm._native", frozen)]
pub struct NativeCluster {
    carrier: Arc<Carrier>,
    schema: Schema,
}

#[pymethods]
impl NativeCluster {
    #[new]
    fn new(ask: Py<PyAny>, cancel: Py<PyAny>, columns: &Bound<'_, PyAny>) -> PyResult<NativeCluster> {
        Ok(NativeCluster { carrier: Arc::new(Carrier { ask, cancel }), schema: schema(columns)? })
    }
}

impl NativeCluster {
    /// Who carries questions.
    pub fn executor(&self) -> Arc<dyn Executor> {
        self.carrier.clone()
    }

    /// The rows of a fit.
    pub fn rows(&self, run: &RunOptions) -> PyResult<RowsFrom<'_>> {
        if run.device != Device::Cpu {
            return Err(Kind::Request.because("rows on a cluster are summed where they are: leave device out"));
        }
        let (carrier, schema) = (self.carrier.clone(), &self.schema);
        Ok(RowsFrom::Elsewhere(Box::new(move |fit, run| dplm_cluster::data(fit, carrier, schema, run))))
    }
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
