//! What needs no private data: plans, simulated data, and the columns a formula names.

use std::{ffi::OsString, fs::File, io, path::PathBuf, str::FromStr};

use arrow_array::RecordBatch;
use dplm::{
    formula::Column,
    method::{Asked, Asks, Request, Target, Tuning, forecast},
    plan::Question,
    privacy::Rho,
};
use dplm_simulate::{Format, Setting, fresh_seed, record_batch, write_table};
use pyo3::{prelude::*, types::PyCapsule};

use crate::{
    arrow::exported,
    failure::{Kind, OrRaise},
    request::{self, BudgetOptions, GivenMoments, Keywords, WHOLE, word},
};

/// The columns a formula reads, the response first; `None` where `.` leaves them to the table.
#[pyfunction]
pub fn columns(model: &str, model_is_file: bool) -> PyResult<Option<Vec<String>>> {
    let formula = request::formula(model, model_is_file)?;
    Ok(formula.names().map(|names| names.into_iter().map(str::to_owned).collect()))
}

/// Does what a command line says, the name of the program first, and gives the exit status.
#[pyfunction]
pub fn command_line(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| dplm_cli::command_line(words))
}

/// The name of a column that is given with what is publicly known of it.
#[pyfunction]
pub fn column_name(text: &str) -> PyResult<String> {
    Ok(Column::parse(text).map_err(dplm::Error::from).or_raise()?.name)
}

/// The rho that a budget comes to.
#[pyfunction]
pub fn rho(budget: BudgetOptions) -> PyResult<f64> {
    Ok(budget.checked(None)?.0.to_f64())
}

/// The options of a plan as Python gives them.
pub struct PlanOptions {
    rows: u64,
    features: Option<u32>,
    formula: Option<String>,
    method: Option<String>,
    target: Option<String>,
    clip: Option<f64>,
    steps: Option<u32>,
    noise_sd: f64,
    level: f64,
    share: f64,
    assume: Vec<String>,
    want: Vec<String>,
    effect: Vec<String>,
    moments: Option<GivenMoments>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for PlanOptions {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<PlanOptions> {
        let given = Keywords(given);
        Ok(PlanOptions {
            rows: given.get("rows", WHOLE)?,
            features: given.get("features", WHOLE)?,
            formula: given.get("formula", "a text")?,
            method: given.get("method", "a text")?,
            target: given.get("target", "a text")?,
            clip: given.number("clip")?,
            steps: given.get("steps", WHOLE)?,
            noise_sd: given.get("noise_sd", "a number")?,
            level: given.get("level", "a number")?,
            share: given.get("share", "a number")?,
            assume: given.get("assume", "a list of texts")?,
            want: given.get("want", "a list of texts")?,
            effect: given.get("effect", "a list of texts")?,
            moments: given.get("moments", "a path or a mapping")?,
        })
    }
}

impl PlanOptions {
    fn asked(&self, rho: Rho) -> PyResult<Asked> {
        let model = match (self.features, &self.formula) {
            (Some(features), None) => Asks::White { features, error_sd: self.noise_sd },
            (None, Some(formula)) => Asks::Formula {
                formula: request::formula(formula, false)?,
                standardised: true,
                assumptions: parsed(&self.assume)?,
            },
            _ => return Err(Kind::Request.because("give a formula, or a number of features, and not both")),
        };
        let target = self.target.as_deref().map(str::parse::<Target>).transpose();
        let moments = request::moments(self.moments.as_ref())?;
        let target = target.map_err(|error| Kind::Request.because(error))?;
        let request = Request { target, moments, ..Request::new(rho) };
        let tuning = Tuning { clip: self.clip, steps: self.steps, step_size: None };
        Ok(Asked { method: None, request, tuning, model })
    }
}

fn parsed<T: FromStr>(texts: &[String]) -> PyResult<Vec<T>>
where
    T::Err: std::fmt::Display,
{
    texts.iter().map(|text| text.parse().map_err(|error: T::Err| Kind::Request.because(error))).collect()
}

/// What accuracy to expect, as the JSON of `dplm plan`.
#[pyfunction]
pub fn plan(py: Python<'_>, budget: BudgetOptions, options: PlanOptions) -> PyResult<String> {
    let method = options.method.as_deref().map(request::method).transpose()?;
    let (rho, delta) = budget.checked(method)?;
    let asked = Asked { method, ..options.asked(rho)? };
    let (wants, effects) = (parsed(&options.want)?, parsed(&options.effect)?);
    let PlanOptions { rows, level, share, .. } = options;
    let question = Question { rows, rho, delta, level, share, wants, effects, curve: false };
    // Every number a plan is refused for was given here.
    let forecast = py.detach(|| forecast(&asked, &question)).map_err(|error| Kind::Request.because(error))?;
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
