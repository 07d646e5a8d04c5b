//! What is asked, from Python keywords to the library's own types, checked before a row is read.

use std::{collections::HashMap, sync::Arc};

use dplm::{
    NoiseSource, Person,
    formula::{By, Formula, Weights},
    method::{self, Asked, Asks, Entry, Method, Request, Tuning},
    moments::Moments,
    options::{Choice, Device},
    privacy::{Rho, convert::Conversion},
};
use pyo3::prelude::*;

use crate::failure::{Kind, OrRaise};

/// Keywords as Python gives them: every key is there, `None` where nothing was asked.
pub struct Keywords<'a, 'py>(pub Borrowed<'a, 'py, PyAny>);

impl<'py> Keywords<'_, 'py> {
    /// The value of a keyword, or a sentence on what it must be.
    pub fn get<T: for<'b> FromPyObject<'b, 'py>>(&self, name: &str, wanted: &str) -> PyResult<T> {
        let value = self.0.get_item(name)?;
        value.extract().map_err(|_| {
            // The type is public; the value may be anything.
            let given = value.get_type().name().map_or_else(|_| "something else".to_owned(), |name| name.to_string());
            Kind::Request.because(format!("{name} must be {wanted}, not {given}"))
        })
    }

    /// A number, or none where nothing was asked.
    pub fn number(&self, name: &str) -> PyResult<Option<f64>> {
        self.get(name, "a number")
    }
}

/// What an option that counts something must be.
pub const WHOLE: &str = "a whole number that is not negative";

/// The budget as Python gives it.
pub struct BudgetOptions {
    rho: Option<f64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
}

impl<'a, 'py> FromPyObject<'a, 'py> for BudgetOptions {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<BudgetOptions> {
        let given = Keywords(given);
        let [rho, epsilon, delta] = ["rho", "epsilon", "delta"].map(|name| given.number(name));
        Ok(BudgetOptions { rho: rho?, epsilon: epsilon?, delta: delta? })
    }
}

impl BudgetOptions {
    /// The budget and the delta at which epsilon is stated, of the method that is asked for.
    pub fn checked(&self, method: Option<Entry>) -> PyResult<(Rho, f64)> {
        self.checked_by(Entry::conversion_of(method))
    }

    /// The same where epsilon follows by this conversion.
    pub fn checked_by(&self, conversion: Conversion) -> PyResult<(Rho, f64)> {
        method::budget(self.rho, self.epsilon, self.delta, conversion).map_err(|error| Kind::Request.because(error))
    }
}

/// The options of a fit as Python gives them.
pub struct FitOptions {
    method: Option<String>,
    clip: Option<f64>,
    steps: Option<u32>,
    step_size: Option<f64>,
    interval: String,
    target: Option<String>,
    level: f64,
    batches: u32,
    burn_in: Option<u32>,
    neighbours: String,
    purpose: String,
    /// The seed of the noise, where it is fixed.
    pub seed: Option<u64>,
    /// Whether columns without bounds or levels are said to be centred and of about unit variance.
    standardised: bool,
    /// Whether an unusable cell is refused.
    pub strict: bool,
    /// Threads to use; all where nothing is asked.
    pub threads: Option<usize>,
    /// The most bytes the rows may take.
    pub memory: Option<u64>,
    device: String,
    person: Option<String>,
    rows_per_person: Option<u32>,
    moments: Option<GivenMoments>,
    weights: Option<String>,
    by: Option<String>,
    group_sizes: Option<HashMap<String, u64>>,
}

/// Moments as Python gives them: whether it is the path of a file, and that or the JSON of one.
pub type GivenMoments = (bool, String);

/// The moments.
pub fn moments(given: Option<&GivenMoments>) -> PyResult<Option<Arc<Moments>>> {
    let Some((is_file, text)) = given else { return Ok(None) };
    let read = if *is_file { Moments::read(text) } else { Moments::from_json(text) };
    read.map(|moments| Some(Arc::new(moments))).map_err(|error| Kind::Request.because(error))
}

impl<'a, 'py> FromPyObject<'a, 'py> for FitOptions {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<FitOptions> {
        let (name, truth) = ("a name", "True or False");
        let given = Keywords(given);
        Ok(FitOptions {
            method: given.get("method", name)?,
            clip: given.number("clip")?,
            steps: given.get("steps", WHOLE)?,
            step_size: given.number("step_size")?,
            interval: given.get("interval", name)?,
            target: given.get("target", name)?,
            level: given.get("level", "a number")?,
            batches: given.get("batches", WHOLE)?,
            burn_in: given.get("burn_in", WHOLE)?,
            neighbours: given.get("neighbours", name)?,
            purpose: given.get("purpose", name)?,
            seed: given.get("seed", WHOLE)?,
            standardised: given.get("standardised", truth)?,
            strict: given.get("strict", truth)?,
            threads: given.get("threads", WHOLE)?,
            memory: given.get("memory", WHOLE)?,
            device: given.get("device", name)?,
            person: given.get("person", name)?,
            rows_per_person: given.get("rows_per_person", WHOLE)?,
            moments: given.get("moments", "a path or a mapping")?,
            by: given.get("by", "a column with its levels, such as 'region{north,south}'")?,
            group_sizes: given.get("group_sizes", "a whole number for each level")?,
            weights: given.get("weights", "a column with its bounds, such as 'w[0..50]'")?,
        })
    }
}

impl FitOptions {
    /// What computes sums over rows.
    pub fn device(&self) -> PyResult<Device> {
        word(&self.device)
    }

    /// What is asked of the method, checked as far as it can be without a row. A model file says of each column without bounds that it
    /// is standard.
    pub fn config(&self, budget: &BudgetOptions, formula: &Formula, is_file: bool) -> PyResult<Box<dyn Method>> {
        let Asked { method, request, tuning, .. } = self.asked(budget, formula, is_file)?;
        method::choose(method, request, tuning, formula, self.standardised || is_file).or_raise()
    }

    /// What is asked, for a forecast.
    pub fn asked(&self, budget: &BudgetOptions, formula: &Formula, is_file: bool) -> PyResult<Asked> {
        let method = self.method.as_deref().map(method).transpose()?;
        let (rho, delta) = budget.checked(method)?;
        let request = Request {
            delta,
            neighbours: word(&self.neighbours)?,
            purpose: word(&self.purpose)?,
            interval: word(&self.interval)?,
            target: self.target.as_deref().map(word).transpose()?,
            level: self.level,
            batches: self.batches,
            burn_in: self.burn_in,
            person: self.person()?,
            moments: moments(self.moments.as_ref())?,
            ..Request::new(rho)
        };
        let &FitOptions { clip, steps, step_size, .. } = self;
        let tuning = Tuning { clip, steps, step_size };
        let standardised = self.standardised || is_file;
        let model = Asks::Formula { formula: formula.clone(), standardised, assumptions: Vec::new() };
        Ok(Asked { method, request, tuning, model })
    }

    /// Who a row is of.
    pub fn person(&self) -> PyResult<Option<Person>> {
        match (&self.person, self.rows_per_person) {
            (None, Some(_)) => {
                Err(Kind::Request.because("rows_per_person needs person=, the column that identifies persons"))
            }
            (None, None) => Ok(None),
            (Some(column), rows) => Ok(Some(Person {
                column: column.clone(),
                rows,
                counts_once: self.target.as_deref() == Some(method::Target::Person.name()),
            })),
        }
    }

    /// What rows are weighted by.
    pub fn weights(&self) -> PyResult<Option<Weights>> {
        let parsed = self.weights.as_deref().map(str::parse::<Weights>).transpose();
        parsed.map_err(dplm::Error::from).or_raise()
    }

    /// What groups are by, and their sizes where those are public.
    pub fn groups(&self) -> PyResult<Option<(By, Option<Vec<u64>>)>> {
        let Some(by) = &self.by else {
            let without = "group_sizes needs by=, the column that groups are by";
            return if self.group_sizes.is_some() { Err(Kind::Request.because(without)) } else { Ok(None) };
        };
        let by: By = by.parse().map_err(dplm::Error::from).or_raise()?;
        let pairs = self.group_sizes.as_ref().map(|sizes| sizes.clone().into_iter().collect::<Vec<_>>());
        let sizes = pairs.map(|pairs| by.sizes_of(&pairs)).transpose().map_err(dplm::Error::from).or_raise()?;
        Ok(Some((by, sizes)))
    }

    /// Where the noise comes from.
    pub fn noise(&self) -> NoiseSource {
        self.seed.map_or(NoiseSource::System, NoiseSource::Seed)
    }
}

/// A formula, or the text of a model file.
pub fn formula(text: &str, is_file: bool) -> PyResult<Formula> {
    let parsed = if is_file { Formula::from_toml(text) } else { Formula::parse(text) };
    parsed.map_err(dplm::Error::from).or_raise()
}

/// The method of a name; names are those of the command line.
pub fn method(name: &str) -> PyResult<Entry> {
    dplm_methods::find(name).map_err(|unknown| Kind::Request.because(unknown))
}

/// The value a word stands for; words are those of the command line.
pub fn word<T: Choice>(given: &str) -> PyResult<T> {
    given.parse().map_err(|unknown| Kind::Request.because(unknown))
}
