//! More than one fit of a table: a second release pooled with the first, and several specifications
//! under one budget.

use dplm::{
    Progress, Refinement, Warning,
    privacy::Rho,
    report::study_json,
    study::{Study, StudyFit},
};
use dplm_report::{Cover, study_html, study_summary};
use pyo3::prelude::*;

use crate::{
    failure::{Kind, OrRaise},
    fit::NativeFit,
    request::{Keywords, payer},
    table::NativeTable,
    work,
};

/// What a fit is refined with: its columns, the response first, where the formula names them, and
/// how the text of its table was written.
#[pyfunction]
pub fn again(first: &NativeFit, said: Keywords) -> PyResult<(Option<Vec<String>>, String)> {
    let refinement = refinement(first, said.budget()?.0)?;
    Ok((refinement.columns().or_raise()?, refinement.csv().to_string()))
}

fn refinement(first: &NativeFit, rho: Rho) -> PyResult<Refinement> {
    Refinement::new(first.fit().clone(), rho).map_err(Kind::of_request)
}

/// Fits the model of a fit again on the same data and pools both.
#[pyfunction]
pub fn refine(
    py: Python<'_>,
    first: &NativeFit,
    table: &NativeTable,
    mut said: Keywords,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeFit> {
    let (run, account) = said.work()?;
    let (rho, _) = said.budget()?;
    let refinement = refinement(first, rho)?;
    refinement.check_noise(run.noise()).map_err(Kind::of_request)?;
    let payer = payer(&account, &run)?;
    let fit = work::run_paid(py, run.threads, progress.as_ref(), payer, |signals, payer| {
        payer.check(rho)?;
        payer.check_refinement(refinement.statement())?;
        let watched = |done, total| signals.reading(done, total);
        let mut dataset = refinement.read(table.source(), &run, Progress::new(&watched))?;
        let prepared = refinement.prepare(&mut dataset, run.noise())?.giving_up_rows();
        let whole = prepared.charge();
        let second = payer.pay_for(&whole, signals, |pay, progress| prepared.run_paid_by(pay, progress))?;
        Ok(refinement.join(second)?)
    })?;
    Ok(NativeFit::new(fit))
}

/// What came of a study.
#[pyclass(name = "StudyFit", module = "dplm._native", frozen)]
pub struct NativeStudy {
    study: StudyFit,
}

/// The estimate of the coefficient that is followed, and the ends of its interval.
type Followed = Option<(f64, (f64, f64))>;

#[pymethods]
impl NativeStudy {
    fn json(&self) -> String {
        study_json(&self.study)
    }

    fn summary(&self) -> String {
        study_summary(&self.study)
    }

    fn page(&self, title: Option<String>, author: Option<String>, dataset: Option<String>) -> String {
        study_html(&self.study, &Cover { title, author, dataset })
    }

    /// The coefficient that is followed, if there is one.
    fn interest(&self) -> Option<String> {
        self.study.interest.as_ref().map(|interest| interest.name.clone())
    }

    /// The name, the share, the fit and the followed coefficient of each specification.
    fn parts(&self) -> PyResult<Vec<(String, f64, NativeFit, Followed)>> {
        let part = |part: &dplm::study::StudyPart| {
            let followed = self.study.followed(part).or_raise()?;
            Ok((part.name.clone(), part.share, NativeFit::new(part.fit.clone()), followed))
        };
        self.study.parts.iter().map(part).collect()
    }

    /// Whether it is about privacy, and the sentence, of every warning.
    fn warnings(&self) -> Vec<(bool, String)> {
        let of_parts = self.study.parts.iter().flat_map(|part| part.fit.warnings.iter().map(move |one| (part, one)));
        let said = of_parts.filter(|(_, one)| !one.is_note());
        said.map(|(part, one)| (matches!(one, Warning::FixedSeed), format!("{}: {one}", part.name))).collect()
    }
}

/// Fits every specification of a study, given as TOML, under one budget that is charged once.
#[pyfunction]
pub fn study(
    py: Python<'_>,
    text: &str,
    table: &NativeTable,
    mut said: Keywords,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeStudy> {
    let plan = Study::from_toml_beside(text, said.beside()).map_err(Kind::of_request)?;
    let (run, account) = said.work()?;
    let payer = payer(&account, &run)?;
    let study = work::run_paid(py, run.threads, progress.as_ref(), payer, |signals, payer| {
        payer.check(plan.request().rho)?;
        let watched = |done, total| signals.reading(done, total);
        let prepared = plan.prepare(table.source(), &run, Progress::new(&watched))?;
        let whole = prepared.charge();
        Ok(payer.pay_for(&whole, signals, |pay, progress| prepared.run_paid_by(pay, progress))?)
    })?;
    Ok(NativeStudy { study })
}
