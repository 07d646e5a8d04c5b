//! What is asked: Python's keywords, understood by the table of options.

use dplm::{
    CheckedFit, FitRequest, RunOptions,
    method::Entry,
    moments::Moments,
    options::{self, Choice, Interface},
    privacy::Rho,
    request::{AccountOptions, Instead, OPTIONS, OptionKind, OptionSpec, PlanQuestion, Said, Sizes, Value},
    table::Source,
};
use dplm_ledger::{Payer, Tally};
use dplm_simulate::pretend;
use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyBool, PyDict, PyMapping, PyTuple},
};

use crate::failure::{Failure, Kind, OrRaise};

/// Keywords as Python gives them, by the names of their options; those that are left out have their
/// defaults.
pub struct Keywords(Said);

impl<'a, 'py> FromPyObject<'a, 'py> for Keywords {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Keywords> {
        let given = given.cast::<PyDict>()?;
        let mut said = Said::new();
        for spec in OPTIONS {
            if let Some(value) = given.get_item(spec.option.name())? {
                said.insert(spec.option, read(spec, &value)?);
            }
        }
        Ok(Keywords(said))
    }
}

/// The value of an option, or a sentence on what it must be.
fn read(spec: &OptionSpec, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    if given.is_none() && matches!((spec.default)(), Value::Nothing) {
        return Ok(Value::Nothing);
    }
    if let (Some(usual), Ok(truth)) = (spec.flags.usual, given.cast::<PyBool>()) {
        return Ok(if truth.is_true() { Value::Whole(usual) } else { Value::Nothing });
    }
    if let OptionKind::Moments = spec.kind {
        return moments(given.extract()?);
    }
    understood(spec.kind, given).map_err(|_| {
        // The type is public; the value may be anything.
        let given = given.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
        Kind::Request.because(format!("{} must be {}, not {given}", spec.option.name(), wanted(spec.kind)))
    })
}

fn understood(kind: OptionKind, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    Ok(match kind {
        OptionKind::Truth => Value::Truth(given.extract()?),
        OptionKind::Number => Value::Number(given.extract()?),
        OptionKind::Whole | OptionKind::Bytes => Value::Whole(given.extract()?),
        OptionKind::Text | OptionKind::Word(..) | OptionKind::Moments => Value::Text(given.extract()?),
        OptionKind::Texts => Value::Texts(given.extract()?),
        OptionKind::Sizes => {
            Value::Sizes(Sizes(given.cast::<PyMapping>()?.items()?.extract::<Vec<_>>()?.into_iter().collect()))
        }
        OptionKind::Path => Value::Path(given.extract()?),
    })
}

/// What an option must be, as Python writes it.
fn wanted(kind: OptionKind) -> String {
    match kind {
        OptionKind::Truth => "True or False".to_owned(),
        OptionKind::Sizes => "a mapping with a whole number for each level".to_owned(),
        OptionKind::Texts => "a list of texts".to_owned(),
        kind => kind.wanted(),
    }
}

/// Moments as `dplm._moments` gives them: whether it is the path of a file, and that or the JSON of
/// one.
fn moments((is_file, text): (bool, String)) -> PyResult<Value> {
    let read = if is_file { Moments::read(text) } else { Moments::from_json(&text) };
    read.map(|moments| Value::Moments(Box::new(moments))).map_err(|error| Kind::Request.because(error))
}

/// A fit as Python asks for it, checked as far as it can be without rows.
pub struct Asked {
    /// The fit.
    pub fit: CheckedFit,
    /// How it is carried out.
    pub run: RunOptions,
    /// Who pays.
    pub account: AccountOptions,
    instead: Instead,
}

impl Keywords {
    /// What is asked of a fit, unchecked.
    pub fn request(&mut self) -> PyResult<FitRequest> {
        let request = FitRequest::from_said(&mut self.0).or_raise()?;
        // The refusal says why a method runs in the lab only.
        request.method.as_deref().map(dplm_methods::find).transpose().or_raise()?;
        Ok(request)
    }

    /// How work is carried out, and who pays for it.
    pub fn work(&mut self) -> PyResult<(RunOptions, AccountOptions)> {
        Ok((RunOptions::from_said(&mut self.0).or_raise()?, AccountOptions::from_said(&mut self.0).or_raise()?))
    }

    /// A fit.
    pub fn fit(mut self) -> PyResult<Asked> {
        let request = self.request()?;
        let (run, account) = self.work()?;
        let instead = Instead::from_said(&mut self.0).or_raise()?;
        // Every number a request is refused for was given here.
        let fit = request.check_among(dplm_methods::METHODS).map_err(Kind::of_request)?;
        let question = PlanQuestion::from_said(&mut self.0).or_raise()?;
        let fit = fit.assuming(&question, &instead).map_err(Kind::of_request)?;
        Ok(Asked { fit, run, account, instead })
    }

    /// A fit that is planned, and what is asked of the plan.
    pub fn plan(mut self) -> PyResult<(FitRequest, PlanQuestion)> {
        let request = self.request()?;
        let question = PlanQuestion::from_said(&mut self.0).or_raise()?;
        match request.formula.is_empty() == question.features.is_some() {
            true => Ok((request, question)),
            false => Err(Kind::Request.because("give a formula, or a number of features, and not both")),
        }
    }

    /// The budget and the delta at which epsilon is stated, of the method that is asked for.
    pub fn budget(mut self) -> PyResult<(Rho, f64)> {
        let request = self.request()?;
        let method = request.method.as_deref().map(dplm_methods::find).transpose().or_raise()?;
        request.budget(Entry::conversion_of(method)).map_err(Kind::of_request)
    }

    /// What is said beside a file.
    pub fn beside(&self) -> &Said {
        &self.0
    }
}

impl Asked {
    /// Simulated rows, where they are asked for in place of the data.
    pub fn simulated(&self, py: Python<'_>) -> PyResult<Option<Source>> {
        let Some(rows) = self.instead.pretend else { return Ok(None) };
        if self.account.ledger.is_some() || self.account.dataset.is_some() {
            return Err(Kind::Request.because(pretend::NO_LEDGER));
        }
        let (formula, person, weights, by) = (self.fit.formula(), self.fit.person(), self.fit.weights(), self.fit.by());
        let asked = pretend::Asked { formula, person, weights, by };
        py.detach(|| pretend::source(&asked, rows, self.run.seed)).map(Some).or_raise()
    }

    /// What pays for the fit; simulated rows cost nothing.
    pub fn payer(&self) -> PyResult<Payer> {
        match self.instead.pretend {
            Some(_) => Ok(Payer::caller()),
            None => payer(&self.account, &self.run),
        }
    }
}

/// Opens what pays. No budget pays for noise from a seed.
pub fn payer(account: &AccountOptions, run: &RunOptions) -> PyResult<Payer> {
    Payer::open(account, run.noise()).map_err(|error| Failure::from(error).told(&Tally::default())).or_raise()
}

/// The columns that a fit reads, the response first; `None` where `.` leaves them to the table.
#[pyfunction]
pub fn columns(said: Keywords) -> PyResult<Option<Vec<String>>> {
    Ok(said.fit()?.fit.columns())
}

/// The formula of a model file, given as its text; it says of each column without bounds that it is
/// standardised.
#[pyfunction]
pub fn model_file(text: &str) -> PyResult<String> {
    Ok(FitRequest::from_model_file(text).or_raise()?.formula)
}

/// Of each option by its name: its kind, what it must be, and its default.
#[pyfunction]
pub fn option_kinds(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let kinds = PyDict::new(py);
    for spec in OPTIONS {
        let described = (kind(spec.kind), wanted(spec.kind), python(py, (spec.default)())?);
        kinds.set_item(spec.option.name(), described)?;
    }
    Ok(kinds)
}

/// What to do in place of an argument that other packages have; `None` if none is known to have it.
#[pyfunction]
pub fn of_other_programs(name: &str) -> Option<String> {
    options::of_other_programs(name, Interface::Python)
}

fn kind(kind: OptionKind) -> &'static str {
    match kind {
        OptionKind::Truth => "truth",
        OptionKind::Number => "number",
        OptionKind::Whole | OptionKind::Bytes => "whole",
        OptionKind::Text | OptionKind::Word(..) => "text",
        OptionKind::Texts => "texts",
        OptionKind::Sizes => "sizes",
        OptionKind::Moments => "moments",
        OptionKind::Path => "path",
    }
}

/// A default as Python writes it.
fn python(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    match value {
        Value::Truth(truth) => truth.into_bound_py_any(py),
        Value::Number(number) => number.into_bound_py_any(py),
        Value::Whole(whole) => whole.into_bound_py_any(py),
        Value::Text(text) => text.into_bound_py_any(py),
        Value::Texts(texts) => PyTuple::new(py, texts)?.into_bound_py_any(py),
        Value::Nothing | Value::Sizes(_) | Value::Moments(_) | Value::Path(_) => Ok(py.None().into_bound(py)),
    }
}

/// The value a word stands for; words are those of the command line.
pub fn word<T: Choice>(given: &str) -> PyResult<T> {
    given.parse().map_err(|unknown| Kind::Request.because(unknown))
}
