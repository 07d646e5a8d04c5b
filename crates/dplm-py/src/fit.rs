//! A fit, and what may be asked of it.

use std::{collections::BTreeMap, fs, path::PathBuf};

use dplm::{
    Covariance, Coverage, Ends, Equation, Fit, Fitted, Hypothesis, OverValue, Prediction, Progress, TTest, Warning,
    privacy::{Promise, Provenance},
    report::{FitFileError, facts_json, summary, to_json},
    table::ReadOptions,
};
use dplm_ledger::{Payer, RowsFrom, Tally, paid_fit};
use dplm_report::{Cover, summary_html, to_html};
use dplm_simulate::pretend;
use pyo3::prelude::*;

use crate::{
    cluster::{NativeCluster, cancelled_by},
    failure::{Failure, Kind, OrRaise},
    groups::NativeGroupedFit,
    request::Keywords,
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

/// The estimate, and the standard error, the ends, the statistic, the degrees of freedom and the
/// p-value.
type Tested = (f64, Option<f64>, Ends, Option<f64>, Option<f64>, Option<f64>);

fn predicted(one: &Prediction) -> Predicted {
    (one.estimate, one.std_error, one.interval, one.person)
}

fn hypothesis(rows: Rows) -> PyResult<Hypothesis> {
    let equation = |(text, weights, value)| Equation { text, weights, value };
    Hypothesis::new(rows.into_iter().map(equation).collect()).map_err(dplm::Error::from).or_raise()
}

/// Where the rows of a fit are.
#[derive(FromPyObject)]
pub enum TableRows<'py> {
    Table(PyRef<'py, NativeTable>),
    Cluster(PyRef<'py, NativeCluster>),
}

/// What comes of a fit.
#[derive(IntoPyObject)]
#[expect(clippy::large_enum_variant, reason = "it is handed over to Python at once")]
pub enum NativeFitted {
    One(NativeFit),
    Groups(NativeGroupedFit),
}

/// Reads and fits, each group where groups are asked for. Where a ledger pays, it has the budget on
/// disk as spent before noise is drawn. `progress` is called with the stage, how much is done, and
/// how much there is. No rows are needed where simulated ones are asked for.
#[pyfunction]
pub fn fit(
    py: Python<'_>,
    rows: Option<TableRows<'_>>,
    said: Keywords,
    progress: Option<Py<PyAny>>,
) -> PyResult<NativeFitted> {
    let asked = said.fit()?;
    let simulated = asked.simulated(py)?;
    let (rows, executor) = match (&simulated, &rows) {
        (Some(simulated), _) => (RowsFrom::Table(simulated), None),
        (None, Some(TableRows::Table(table))) => (RowsFrom::Table(table.source()), None),
        (None, Some(TableRows::Cluster(cluster))) => (cluster.rows(&asked.run)?, Some(cluster.executor())),
        (None, None) => return Err(without_rows()),
    };
    let fitted = work::run_paid(py, asked.run.threads, progress.as_ref(), asked.payer()?, |signals, payer| {
        let fit = || paid_fit(&asked.fit, rows, &asked.run, payer, signals);
        Ok(match executor {
            Some(executor) => cancelled_by(signals, &*executor, fit)?,
            None => fit()?,
        })
    })?;
    Ok(match fitted {
        Fitted::One(fit) => NativeFitted::One(NativeFit::new(*fit)),
        Fitted::Groups(fit) => NativeFitted::Groups(NativeGroupedFit::new(*fit)),
    })
}

fn without_rows() -> PyErr {
    Kind::Request.because("give the data, or pretend=True to fit simulated rows in their place")
}

/// The plan of a fit that is not made, as the JSON of `dplm plan` where there is a forecast, and
/// what it warns of. No cell is read, except identifiers of persons, and nothing is spent.
#[pyfunction]
pub fn dry_run(py: Python<'_>, table: Option<&NativeTable>, said: Keywords) -> PyResult<(String, Vec<String>)> {
    let asked = said.fit()?;
    let simulated = asked.simulated(py)?;
    let source = simulated.as_ref().or(table.map(NativeTable::source)).ok_or_else(without_rows)?;
    let payer = Payer::of_dry_run(&asked.account);
    let checked = payer.and_then(|payer| payer.check(asked.fit.rho()));
    checked.map_err(|error| Failure::from(error).told(&Tally::default())).or_raise()?;
    let found = work::run(py, asked.run.threads, None, |signals| {
        let reading = |done, total| signals.reading(done, total);
        Ok(asked.fit.dry_run(source, &asked.run, Progress::new(&reading))?)
    })?;
    Ok((found.document().to_string(), found.warnings.iter().map(ToString::to_string).collect()))
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
        let told = self.fit.warnings.iter().filter(|one| !one.is_note());
        let of_fit = told.map(|one| (matches!(one, Warning::FixedSeed), one.to_string()));
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

    /// The statistic, the degrees of freedom of F's denominator and the p-value of all equations at
    /// once; `None` where one is not identified.
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

    /// The mean response of each row, with its standard error, its interval, and where a person's
    /// response falls.
    fn predict_intervals(&self, py: Python<'_>, table: &NativeTable, level: f64) -> PyResult<Vec<Predicted>> {
        let found = work::run(py, None, None, |signals| {
            let reading = |done, total| signals.reading(done, total);
            let options = ReadOptions { progress: Progress::new(&reading), ..ReadOptions::default() };
            Ok(self.fit.predict_intervals(table.source(), &options, level)?)
        })?;
        Ok(found.iter().map(predicted).collect())
    }
}
