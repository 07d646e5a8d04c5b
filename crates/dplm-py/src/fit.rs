//! A fit, and what may be asked of it.

use std::{collections::BTreeMap, fs, path::PathBuf};

use dplm::{
    Covariance, Coverage, Dataset, Design, Ends, Equation, Fit, Hypothesis, OverValue, Prediction, Progress, Reading,
    TTest, Warning,
    method::{Request, forecast_for},
    plan::Question,
    privacy::{Promise, Provenance},
    report::{Cover, FitFileError, facts_json, summary, summary_html, to_html, to_json},
    table::ReadOptions,
};
use dplm_ledger::Payer;
use dplm_simulate::pretend;
use pyo3::prelude::*;

use crate::{
    account::{AccountOptions, affordable, paying},
    failure::{Kind, OrRaise},
    request::{BudgetOptions, FitOptions, formula},
    table::NativeTable,
    work,
};

/// A fit: released and public numbers only.
#[pyclass(name = "Fit", module = "dplm._native", frozen)]
pub struct NativeFit {
    fit: Fit,
}

impl NativeFit {
    /// A fit of data, for Python.
    pub fn new(fit: Fit) -> NativeFit {
        NativeFit { fit }
    }

    /// The fit itself.
    pub fn fit(&self) -> &Fit {
        &self.fit
    }
}

/// The mean, its standard error, its interval, and where a person's response falls.
type Predicted = (f64, Option<f64>, Ends, Ends);

/// A value of a column.
#[derive(IntoPyObject)]
pub enum Place {
    Number(f64),
    Level(String),
}

impl From<OverValue> for Place {
    fn from(value: OverValue) -> Place {
        match value {
            OverValue::Number(number) => Place::Number(number),
            OverValue::Level(level) => Place::Level(level),
        }
    }
}

/// What is predicted over a column, and where the other columns are held.
type Band = (Vec<(Place, Predicted)>, Vec<String>);

/// The weights of each equation, what it is called, and its value.
type Rows = Vec<(String, Vec<f64>, f64)>;

/// The estimate, and the standard error, the ends, the statistic, the degrees of freedom and the p-value.
type Tested = (f64, Option<f64>, Ends, Option<f64>, Option<f64>, Option<f64>);

fn predicted(one: &Prediction) -> Predicted {
    (one.estimate, one.std_error, one.interval, one.person)
}

fn hypothesis(rows: Rows) -> PyResult<Hypothesis> {
    let equation = |(text, weights, value)| Equation { text, weights, value };
    Hypothesis::new(rows.into_iter().map(equation).collect()).map_err(dplm::Error::from).or_raise()
}

/// Reads and fits. Where a ledger pays, it has the budget on disk as spent before noise is drawn.
/// `progress` is called with the stage, how much is done, and how much there is.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, by position")]
pub fn fit(
    py: Python<'_>,
    table: &NativeTable,
    model: &str,
    model_is_file: bool,
    budget: BudgetOptions,
    options: FitOptions,
    account: AccountOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeFit> {
    let formula = formula(model, model_is_file)?;
    let config = options.config(&budget, &formula, model_is_file)?;
    // Python asks for groups elsewhere; sizes without them are a mistake.
    options.groups()?;
    let (person, weights, device) = (options.person()?, options.weights()?, options.device()?);
    // Simulated rows cost nothing.
    let payer = if table.source().is_simulated() { Payer::caller() } else { account.payer(options.noise())? };
    let fit = work::run_paid(py, options.threads, progress.as_ref(), payer, |signals, payer| {
        affordable(payer, config.request().rho)?;
        let reading = |done, total| signals.reading(done, total);
        let table_options =
            ReadOptions { strict: options.strict, progress: Progress::new(&reading), ..ReadOptions::default() };
        let (person, weights) = (person.clone(), weights.clone());
        let reading = Reading { table: table_options, memory: options.memory, person, weights, device };
        let mut dataset = Dataset::read(table.source(), &formula, &reading)?;
        let prepared = dataset.prepare(config.as_ref(), options.noise())?.giving_up_rows();
        payer.check_charge(&prepared.charge())?;
        let fitting = |done, total| signals.fitting(done, total);
        prepared.run_paid_by(&mut paying(payer, signals), Progress::new(&fitting))
    })?;
    Ok(NativeFit::new(fit))
}

/// The plan of a fit that is not made, as the JSON of `dplm plan`: no cell is looked at and nothing is spent.
#[pyfunction]
pub fn dry_run(
    py: Python<'_>,
    table: &NativeTable,
    model: &str,
    model_is_file: bool,
    budget: BudgetOptions,
    options: FitOptions,
    account: AccountOptions,
) -> PyResult<String> {
    let formula = formula(model, model_is_file)?;
    let asked = options.asked(&budget, &formula, model_is_file)?;
    options.config(&budget, &formula, model_is_file)?;
    if options.person()?.is_some() {
        return Err(Kind::Request.because("there is no forecast for persons with several rows: leave dry_run out"));
    }
    if options.groups()?.is_some() {
        return Err(Kind::Request.because("there is no forecast for groups: leave dry_run out"));
    }
    if options.weights()?.is_some() {
        return Err(Kind::Request.because("there is no forecast for weighted rows: leave dry_run out"));
    }
    affordable(&account.payer_of_dry_run()?, asked.request.rho).or_raise()?;
    let forecast = work::run(py, options.threads, None, |signals| {
        let schema = table.source().schema();
        let design = Design::new(&formula.resolve(schema).map_err(dplm::Error::from)?);
        let reading = |done, total| signals.reading(done, total);
        let reading = ReadOptions { progress: Progress::new(&reading), ..ReadOptions::default() };
        let rows = table.source().count_rows(&design.columns()[0], &reading).map_err(dplm::Error::from)?;
        let Request { rho, delta, level, .. } = asked.request;
        Ok(forecast_for(&asked, schema, &Question::new(rows, rho, delta, level))?)
    })?;
    Ok(serde_json::to_string(&forecast).expect("plain data serialise"))
}

/// A promise, a word for each part; parts that nothing is said of are left out.
pub fn words_of(promise: &Promise) -> BTreeMap<&'static str, String> {
    let Promise { unit, person, neighbours, conversion, delta_spent, provenance } = promise;
    let conversion = serde_json::to_value(conversion).ok().and_then(|word| word.as_str().map(str::to_owned));
    let said = [
        ("unit", Some(unit.to_string())),
        ("person", person.clone()),
        ("neighbours", Some(neighbours.to_string())),
        ("conversion", conversion),
        ("delta_spent", Some(delta_spent.to_string())),
        ("provenance", Some(provenance.to_string())),
    ];
    said.into_iter().filter_map(|(part, word)| word.map(|word| (part, word))).collect()
}

/// Writes a document to a file.
pub fn saved(path: PathBuf, json: &str) -> PyResult<()> {
    let unwritten = |error: std::io::Error| FitFileError::Unwritten { kind: error.kind() };
    fs::write(path, json).map_err(unwritten).map_err(dplm::Error::from).or_raise()
}

/// What a reader should know; of simulated rows first of all that they are.
pub fn warned(pretended: bool, of_fit: impl Iterator<Item = (bool, String)>) -> Vec<(bool, String)> {
    pretended.then(|| (false, pretend::WARNING.to_owned())).into_iter().chain(of_fit).collect()
}

#[pymethods]
impl NativeFit {
    /// A fit that was saved.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<NativeFit> {
        Ok(NativeFit::new(Fit::load(path).or_raise()?))
    }

    /// A fit from its JSON.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<NativeFit> {
        let fit = Fit::from_json(text).map_err(dplm::Error::from).or_raise()?;
        Ok(NativeFit::new(fit))
    }

    /// Writes the JSON of the command line to a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        saved(path, &self.json())
    }

    /// The JSON of the command line.
    fn json(&self) -> String {
        pretend::marked_if(self.pretended(), to_json(&self.fit), pretend::mark_json)
    }

    /// Whether its rows were simulated.
    #[getter]
    pub fn pretended(&self) -> bool {
        self.fit.guarantee.promise.provenance == Provenance::Simulated
    }

    /// What is promised, in words.
    fn promise(&self) -> BTreeMap<&'static str, String> {
        words_of(&self.fit.guarantee.promise)
    }

    /// The JSON without what is long.
    fn facts(&self) -> String {
        facts_json(&self.fit)
    }

    /// The covariance of the identified coefficients, with their names.
    fn covariance(&self) -> Option<(Vec<String>, Vec<Vec<f64>>)> {
        self.fit.covariance().map(|Covariance { names, values, .. }| (names, values))
    }

    /// The coefficients that predictions are made with.
    fn predictor(&self) -> Vec<f64> {
        self.fit.predictor()
    }

    /// The columns that a prediction needs.
    fn predictors(&self) -> Vec<String> {
        self.fit.design.predictors().into_iter().map(|column| column.name).collect()
    }

    /// The summary of the command line.
    fn summary(&self) -> String {
        pretend::marked_if(self.pretended(), summary(&self.fit), pretend::mark_text)
    }

    /// The summary as a piece of HTML.
    fn summary_html(&self) -> String {
        pretend::marked_if(self.pretended(), summary_html(&self.fit), pretend::mark_piece)
    }

    /// The page of `--report`.
    fn page(&self, title: Option<String>, author: Option<String>, dataset: Option<String>) -> String {
        pretend::marked_if(self.pretended(), to_html(&self.fit, &Cover { title, author, dataset }), pretend::mark_page)
    }

    /// The released iterates of each run, in standardised units.
    fn trajectories(&self) -> Vec<Vec<Vec<f64>>> {
        self.fit.trajectories.iter().map(|run| run.theta.clone()).collect()
    }

    /// The ends of each coefficient's interval; `None` for one that is not identified.
    fn intervals(&self, level: f64) -> PyResult<Vec<Ends>> {
        self.fit.intervals(level).or_raise()
    }

    /// What a reader should know, each with whether it is about privacy itself.
    fn warnings(&self) -> Vec<(bool, String)> {
        let of_fit = self.fit.warnings.iter().map(|one| (matches!(one, Warning::FixedSeed), one.to_string()));
        warned(self.pretended(), of_fit)
    }

    /// The equations of a hypothesis that is written as text.
    fn hypothesis(&self, text: &str) -> PyResult<Rows> {
        let found = self.fit.hypothesis(text).or_raise()?;
        Ok(found.equations().iter().map(|one| (one.text.clone(), one.weights.clone(), one.value)).collect())
    }

    /// The test of each equation by itself.
    fn t_test(&self, rows: Rows, level: f64) -> PyResult<Vec<Tested>> {
        let found = self.fit.t_test(&hypothesis(rows)?, level).or_raise()?;
        let tested = |one: &TTest| {
            let precision = one.precision;
            (
                one.estimate.unwrap_or(f64::NAN),
                precision.map(|one| one.std_error),
                precision.map(|one| (one.low, one.high)),
                precision.map(|one| one.statistic),
                precision.and_then(|one| one.df),
                precision.map(|one| one.p_value),
            )
        };
        Ok(found.iter().map(tested).collect())
    }

    /// The statistic, the degrees of freedom of F's denominator and the p-value of all equations at once; `None` where one is not identified.
    fn wald_test(&self, rows: Rows) -> PyResult<Option<(f64, Option<f64>, f64)>> {
        let found = self.fit.wald_test(&hypothesis(rows)?).or_raise()?.found;
        Ok(found.map(|joint| (joint.statistic, joint.df, joint.p_value)))
    }

    /// The mean response over a column, and where the others are held.
    fn over(
        &self,
        py: Python<'_>,
        column: &str,
        at: Vec<(String, String)>,
        level: f64,
        simultaneous: bool,
    ) -> PyResult<Band> {
        let coverage = if simultaneous { Coverage::Simultaneous } else { Coverage::Pointwise };
        let found = py.detach(|| self.fit.over(column, &at, level, coverage)).or_raise()?;
        let points = found.points.into_iter().map(|one| (one.value.into(), predicted(&one.prediction)));
        Ok((points.collect(), found.held))
    }

    /// The mean response of each row.
    fn predict(&self, py: Python<'_>, table: &NativeTable) -> PyResult<Vec<f64>> {
        work::run(py, None, None, |signals| {
            let reading = |done, total| signals.reading(done, total);
            let options = ReadOptions { progress: Progress::new(&reading), ..ReadOptions::default() };
            Ok(self.fit.predict(table.source(), &options)?)
        })
    }

    /// The mean response of each row, with its standard error, its interval, and where a person's response falls.
    fn predict_intervals(&self, py: Python<'_>, table: &NativeTable, level: f64) -> PyResult<Vec<Predicted>> {
        let found = work::run(py, None, None, |signals| {
            let reading = |done, total| signals.reading(done, total);
            let options = ReadOptions { progress: Progress::new(&reading), ..ReadOptions::default() };
            Ok(self.fit.predict_intervals(table.source(), &options, level)?)
        })?;
        Ok(found.iter().map(predicted).collect())
    }
}
