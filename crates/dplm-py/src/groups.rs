//! The fits of several groups, and what may be asked of them.

use std::path::PathBuf;

use dplm::{
    Fit, FittedGroup, GroupOutcome, GroupedFit, Warning,
    privacy::Provenance,
    report::{grouped_summary, grouped_to_json},
};
use dplm_report::{Cover, grouped_to_html};
use dplm_simulate::pretend;
use pyo3::prelude::*;

use crate::{
    failure::OrRaise,
    fit::{NativeFit, saved, warned},
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
        let told = self.fit.notes().into_iter().filter(|(_, warning)| !warning.is_note());
        warned(self.pretended(), told.map(sentence))
    }
}
