//! What needs no private data: plans, simulated data, and the columns a formula names.

use std::{fs::File, io, path::PathBuf};

use arrow_array::RecordBatch;
use dplm::forecast::{Forecast, Question};
use dplm_simulate::{Format, Setting, fresh_seed, record_batch, write_table};
use pyo3::{prelude::*, types::PyCapsule};

use crate::{
    arrow::exported,
    failure::{Kind, OrRaise},
    request::{self, BudgetOptions, Keywords, WHOLE, word},
};

/// The columns a formula reads, the response first; `None` where `.` leaves them to the table.
#[pyfunction]
pub fn columns(model: &str, model_is_file: bool) -> PyResult<Option<Vec<String>>> {
    let formula = request::formula(model, model_is_file)?;
    Ok(formula.names().map(|names| names.into_iter().map(str::to_owned).collect()))
}

/// The rho that a budget comes to.
#[pyfunction]
pub fn rho(budget: BudgetOptions) -> PyResult<f64> {
    Ok(budget.checked()?.0.to_f64())
}

/// The options of a plan as Python gives them.
pub struct PlanOptions {
    rows: u64,
    features: u32,
    clip: Option<f64>,
    steps: Option<u32>,
    noise_sd: f64,
    level: f64,
    share: f64,
}

impl<'a, 'py> FromPyObject<'a, 'py> for PlanOptions {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<PlanOptions> {
        let given = Keywords(given);
        Ok(PlanOptions {
            rows: given.get("rows", WHOLE)?,
            features: given.get("features", WHOLE)?,
            clip: given.number("clip")?,
            steps: given.get("steps", WHOLE)?,
            noise_sd: given.get("noise_sd", "a number")?,
            level: given.get("level", "a number")?,
            share: given.get("share", "a number")?,
        })
    }
}

/// What accuracy to expect, as the JSON of `dplm plan`.
#[pyfunction]
pub fn plan(py: Python<'_>, budget: BudgetOptions, options: PlanOptions) -> PyResult<String> {
    let (rho, delta) = budget.checked()?;
    let PlanOptions { rows, features, clip, steps, noise_sd, level, share } = options;
    let asked = Question { rows, features, rho, delta, clip, steps, noise_sd, level, share, curve: false };
    // Every number a plan is refused for was given here.
    let forecast = py.detach(|| Forecast::new(&asked)).map_err(|error| Kind::Request.because(error))?;
    Ok(serde_json::to_string(&forecast).expect("plain data serialise"))
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
