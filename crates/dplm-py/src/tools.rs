//! What needs no private data: plans and simulated data.

use std::{ffi::OsString, fs::File, io, path::PathBuf};

use arrow_array::RecordBatch;
use dplm_report::{Table, TableOptions, plan_page as plan_page_of};
use dplm_simulate::{Format, Setting, fresh_seed, record_batch, write_table};
use pyo3::{prelude::*, types::PyCapsule};

use crate::{
    arrow::exported,
    failure::{Kind, OrRaise},
    request::{Keywords, word},
};

/// Does what a command line says, the name of the program first, and gives the exit status.
#[pyfunction]
pub fn command_line(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| dplm_cli::command_line(words))
}

/// The rho that a budget comes to.
#[pyfunction]
pub fn rho(said: Keywords) -> PyResult<f64> {
    Ok(said.budget()?.0.to_f64())
}

/// What accuracy to expect, as the JSON of `dplm plan`.
#[pyfunction]
pub fn plan(py: Python<'_>, said: Keywords) -> PyResult<String> {
    let (request, question) = said.plan()?;
    // Every number a plan is refused for was given here.
    let forecast = py.detach(|| request.forecast(&question, false, dplm_methods::METHODS));
    let forecast = forecast.map_err(Kind::of_request)?;
    Ok(serde_json::to_string(&forecast).expect("plain data serialise"))
}

/// The page of `dplm plan --page`, which calls the model by this name.
#[pyfunction]
pub fn plan_page(py: Python<'_>, said: Keywords, model: &str) -> PyResult<String> {
    let (request, question) = said.plan()?;
    let forecast = py.detach(|| request.forecast(&question, true, dplm_methods::METHODS));
    Ok(plan_page_of(&forecast.map_err(Kind::of_request)?, model))
}

/// Results side by side, from their documents.
#[pyfunction]
pub fn table(
    documents: Vec<String>,
    to: &str,
    title: Option<String>,
    names: Vec<String>,
    stars: bool,
    intervals: bool,
) -> PyResult<Vec<u8>> {
    let options = TableOptions { title, names, stars, intervals };
    let made = Table::of(&documents, &options).map_err(|error| Kind::Request.because(error))?;
    Ok(made.to_bytes(word(to)?))
}

/// The options of a simulation as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SimulateOptions {
    rows: u64,
    features: usize,
    design: String,
    noise_sd: f64,
    errors: String,
    theta: Option<Vec<f64>>,
    seed: Option<u64>,
    out: Option<PathBuf>,
}

/// Simulated rows: a table for other libraries.
#[pyclass(name = "Simulated", module = "dplm._native", frozen)]
pub struct NativeSimulated {
    batch: Option<RecordBatch>,
    #[pyo3(get)]
    theta: Vec<f64>,
    #[pyo3(get)]
    seed: u64,
}

#[pymethods]
impl NativeSimulated {
    /// The rows by the Arrow PyCapsule interface.
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let written = || Kind::Request.because("the rows were written to a file: read them from there");
        exported(py, self.batch.as_ref().ok_or_else(written)?)
    }
}

/// Draws rows from the paper's model, in memory or to a file.
#[pyfunction]
pub fn simulate(py: Python<'_>, options: SimulateOptions) -> PyResult<NativeSimulated> {
    let SimulateOptions { rows, features, noise_sd, theta, seed, out, .. } = options;
    if rows == 0 {
        return Err(Kind::Request.because("the number of rows must be at least 1"));
    }
    let design = word(&options.design)?;
    let errors = word(&options.errors)?;
    let seed = seed.map_or_else(fresh_seed, Ok).map_err(|error| Kind::Fit.because(error))?;
    let population = Setting { features, design, errors, noise_sd, theta }.draw(seed).or_raise()?;
    let batch = match &out {
        None => Some(py.detach(|| record_batch(&population.sample(rows), features))),
        Some(path) => {
            let format = Format::of(path).ok_or_else(|| {
                let ask = "its name must end in .csv, .tsv, .parquet or .arrow";
                Kind::Request.because(format!("the format of {} is not known: {ask}", path.display()))
            })?;
            py.detach(|| {
                let file = io::BufWriter::new(File::create(path)?);
                write_table(&population, rows, format, file, &mut |_, _| ())
            })?;
            None
        }
    };
    Ok(NativeSimulated { batch, theta: population.theta().to_vec(), seed })
}
