//! The fits of several groups, and what may be asked of them.

use std::path::PathBuf;

use dplm::{
    Fit, FittedGroup, GroupOutcome, GroupedDataset, GroupedFit, Progress, Reading, Warning,
    privacy::Provenance,
    report::{Cover, grouped_summary, grouped_to_html, grouped_to_json},
    table::ReadOptions,
};
use dplm_ledger::Payer;
use dplm_simulate::pretend;
use pyo3::prelude::*;

use crate::{
    account::{AccountOptions, affordable, paying},
    failure::{Kind, OrRaise},
    fit::{NativeFit, saved, warned},
    request::{BudgetOptions, FitOptions, formula},
    table::NativeTable,
    work,
};

/// The fits of several groups: released and public numbers only.
#[pyclass(name = "GroupedFit", module = "dplm._native", frozen)]
pub struct NativeGroupedFit {
    fit: GroupedFit,
}

impl NativeGroupedFit {
    /// Fits for Python.
    pub fn new(fit: GroupedFit) -> NativeGroupedFit {
        NativeGroupedFit { fit }
    }
}

/// The refusal of groups that nothing says.
pub fn without_groups() -> PyErr {
    Kind::Request.because("groups need by=, a column with its levels")
}

/// Reads and fits every group, as `fit` does one.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, by position")]
pub fn fit_groups(
    py: Python<'_>,
    table: &NativeTable,
    model: &str,
    model_is_file: bool,
    budget: BudgetOptions,
    options: FitOptions,
    account: AccountOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeGroupedFit> {
    let formula = formula(model, model_is_file)?;
    let config = options.config(&budget, &formula, model_is_file)?;
    let (person, weights) = (options.person()?, options.weights()?);
    let (by, sizes) = options.groups()?.ok_or_else(without_groups)?;
    let device = options.device()?;
    // Simulated rows cost nothing.
    let payer = if table.source().is_simulated() { Payer::caller() } else { account.payer(options.noise())? };
    let fit = work::run_paid(py, options.threads, progress.as_ref(), payer, |signals, payer| {
        affordable(payer, config.request().rho)?;
        let reading = |done, total| signals.reading(done, total);
        let table_options =
            ReadOptions { strict: options.strict, progress: Progress::new(&reading), ..ReadOptions::default() };
        let (person, weights) = (person.clone(), weights.clone());
        let reading = Reading { table: table_options, memory: options.memory, person, weights, device };
        let mut groups = GroupedDataset::read(table.source(), &formula, &reading, &by, sizes.clone())?;
        let prepared = groups.prepare(config.as_ref(), options.noise())?;
        payer.check_charge(&prepared.charge())?;
        let fitting = |done, total| signals.fitting(done, total);
        prepared.run_paid_by(&mut paying(payer, signals), Progress::new(&fitting))
    })?;
    Ok(NativeGroupedFit { fit })
}

#[pymethods]
impl NativeGroupedFit {
    /// Fits that were saved.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<NativeGroupedFit> {
        Ok(NativeGroupedFit { fit: GroupedFit::load(path).or_raise()? })
    }

    /// Fits from their JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<NativeGroupedFit> {
        let fit = GroupedFit::from_json(text).map_err(dplm::Error::from).or_raise()?;
        Ok(NativeGroupedFit { fit })
    }

    /// Writes the JSON of the command line to a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        saved(path, &self.json())
    }

    /// The JSON of the command line.
    fn json(&self) -> String {
        pretend::marked_if(self.pretended(), grouped_to_json(&self.fit), pretend::mark_json)
    }

    /// Whether its rows were simulated.
    #[getter]
    fn pretended(&self) -> bool {
        self.fit.guarantee.promise.provenance == Provenance::Simulated
    }

    /// The summary of the command line.
    fn summary(&self) -> String {
        pretend::marked_if(self.pretended(), grouped_summary(&self.fit), pretend::mark_text)
    }

    /// The page of `--report`.
    fn page(&self, title: Option<String>, author: Option<String>, dataset: Option<String>) -> String {
        let page = grouped_to_html(&self.fit, &Cover { title, author, dataset });
        pretend::marked_if(self.pretended(), page, pretend::mark_page)
    }

    /// Each level with its fit, or with why there is none.
    fn groups(&self) -> Vec<(String, Option<NativeFit>, Option<String>)> {
        let fit_of = |fit: &Fit| NativeFit::new(fit.clone());
        let group = |group: &FittedGroup| match &group.outcome {
            GroupOutcome::Fitted(fit) => (group.level.clone(), Some(fit_of(fit)), None),
            GroupOutcome::NotFitted(why) => (group.level.clone(), None, Some(why.clone())),
        };
        self.fit.groups.iter().map(group).collect()
    }

    /// What a reader should know, each with whether it is about privacy itself.
    fn warnings(&self) -> Vec<(bool, String)> {
        let sentence = |(levels, warning): (Vec<&str>, &Warning)| {
            let of = if levels.is_empty() { String::new() } else { format!("{}: ", levels.join(", ")) };
            (matches!(warning, Warning::FixedSeed), format!("{of}{warning}"))
        };
        warned(self.pretended(), self.fit.notes().into_iter().map(sentence))
    }
}
