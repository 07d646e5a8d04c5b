//! More than one fit of a table: a second release pooled with the first, and several specifications under one budget.

use dplm::{
    NoiseSource, Progress, Reading, Refinement, Warning,
    privacy::Rho,
    report::{Cover, study_html, study_json, study_summary},
    study::{Beside, Study, StudyFit},
    table::ReadOptions,
};
use pyo3::prelude::*;

use crate::{
    account::{AccountOptions, affordable, paying},
    failure::{Kind, OrRaise},
    fit::NativeFit,
    request::{Keywords, WHOLE, word},
    table::NativeTable,
    work,
};

/// How a table is read and where noise comes from, as Python gives it.
pub struct WorkOptions {
    strict: bool,
    seed: Option<u64>,
    threads: Option<usize>,
    memory: Option<u64>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for WorkOptions {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<WorkOptions> {
        let given = Keywords(given);
        Ok(WorkOptions {
            strict: given.get("strict", "True or False")?,
            seed: given.get("seed", WHOLE)?,
            threads: given.get("threads", WHOLE)?,
            memory: given.get("memory", WHOLE)?,
        })
    }
}

impl WorkOptions {
    /// Where the noise comes from.
    fn noise(&self) -> NoiseSource {
        self.seed.map_or(NoiseSource::System, NoiseSource::Seed)
    }
}

/// Fits the model of a fit again on the same data and pools both.
#[pyfunction]
pub fn refine(
    py: Python<'_>,
    first: &NativeFit,
    table: &NativeTable,
    rho: f64,
    options: WorkOptions,
    account: AccountOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeFit> {
    let rho = Rho::checked_from_f64(rho).map_err(|error| Kind::Request.because(error))?;
    let refinement = Refinement::new(first.fit().clone(), rho).map_err(|error| Kind::Request.because(error))?;
    let noise = options.noise();
    refinement.check_noise(noise).map_err(|error| Kind::Request.because(error))?;
    let payer = account.payer(noise)?;
    let fit = work::run_paid(py, options.threads, progress.as_ref(), payer, |signals, payer| {
        affordable(payer, rho)?;
        payer.check_refinement(refinement.statement())?;
        let reading = |done, total| signals.reading(done, total);
        let read = ReadOptions { strict: options.strict, progress: Progress::new(&reading), ..ReadOptions::default() };
        let reading = Reading { table: read, memory: options.memory, ..Reading::default() };
        let mut dataset = refinement.read(table.source(), &reading)?;
        let prepared = refinement.prepare(&mut dataset, noise)?.giving_up_rows();
        payer.check_charge(&prepared.charge())?;
        let fitting = |done, total| signals.fitting(done, total);
        let second = prepared.run_paid_by(&mut paying(payer, signals), Progress::new(&fitting))?;
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
        let said = of_parts.filter(|(_, one)| !matches!(one, Warning::PartOfStudy { .. }));
        said.map(|(part, one)| (matches!(one, Warning::FixedSeed), format!("{}: {one}", part.name))).collect()
    }
}

/// What is said of a study beside its file, as Python gives it.
pub struct BesideOptions(Beside);

impl<'a, 'py> FromPyObject<'a, 'py> for BesideOptions {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<BesideOptions> {
        let given = Keywords(given);
        let weights: Option<String> = given.get("weights", "a column with its bound, as 'w[0..50]'")?;
        let target: Option<String> = given.get("target", "a word")?;
        Ok(BesideOptions(Beside {
            person: given.get("person", "the name of a column")?,
            rows_per_person: given.get("rows_per_person", WHOLE)?,
            weights: weights.map(|weights| weights.parse()).transpose().map_err(dplm::Error::from).or_raise()?,
            target: target.map(|target| word(&target)).transpose()?,
        }))
    }
}

/// Fits every specification of a study, given as TOML, under one budget that is charged once.
#[pyfunction]
pub fn study(
    py: Python<'_>,
    text: &str,
    beside: BesideOptions,
    table: &NativeTable,
    options: WorkOptions,
    account: AccountOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeStudy> {
    let plan = Study::from_toml_beside(text, beside.0).map_err(|error| Kind::Request.because(error))?;
    let noise = options.noise();
    let payer = account.payer(noise)?;
    let study = work::run_paid(py, options.threads, progress.as_ref(), payer, |signals, payer| {
        affordable(payer, plan.request().rho)?;
        let reading = |done, total| signals.reading(done, total);
        let read = ReadOptions { strict: options.strict, progress: Progress::new(&reading), ..ReadOptions::default() };
        let reading = Reading { table: read, memory: options.memory, ..Reading::default() };
        let prepared = plan.prepare(table.source(), &reading, noise)?;
        payer.check_charge(&prepared.charge())?;
        let fitting = |done, total| signals.fitting(done, total);
        prepared.run_paid_by(&mut paying(payer, signals), Progress::new(&fitting))
    })?;
    Ok(NativeStudy { study })
}
