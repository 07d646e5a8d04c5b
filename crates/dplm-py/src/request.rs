//! What is asked, from Python keywords to the library's own types, checked before a row is read.

use dplm::{
    NoiseSource,
    formula::Formula,
    method::{Config, ConfigError, Construction, Goal, Method, Purpose, Request, dpgd},
    privacy::{
        Neighbours, PrivacyError, Rho,
        convert::{self, Conversion},
    },
};
use pyo3::prelude::*;

use crate::failure::{Kind, OrRaise};

/// Where epsilon is stated when nothing is asked.
const DELTA: f64 = 1e-6;

/// The budget as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct BudgetOptions {
    rho: Option<f64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
}

/// The options of a fit as Python gives them: every key is there, `None` where nothing was asked.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
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
    seed: Option<u64>,
    /// Whether an unusable cell is refused.
    pub strict: bool,
    /// Threads to use; all where nothing is asked.
    pub threads: Option<usize>,
    /// The most bytes the rows may take.
    pub memory: Option<u64>,
}

impl BudgetOptions {
    /// The budget and the delta at which epsilon is stated.
    pub fn checked(&self) -> PyResult<(Rho, f64)> {
        let delta = self.delta.unwrap_or(DELTA);
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Kind::Request.because(ConfigError::Delta));
        }
        let refuse = |sentence: &str| Err(Kind::Request.because(sentence));
        let rho = match (self.rho, self.epsilon) {
            (Some(_), Some(_)) => return refuse("give the privacy budget once: rho, or epsilon and delta"),
            (None, Some(_)) if self.delta.is_none() => {
                return refuse("epsilon alone is no budget: give delta too, for instance delta=1e-6");
            }
            (Some(rho), None) => rho,
            // Every release is Gaussian, so the exact curve applies; it is rounded down, and so is the decimal below.
            (None, Some(epsilon)) => {
                convert::rho(Conversion::Exact, epsilon, delta).map_err(|error| Kind::Request.because(error))?
            }
            (None, None) => return refuse("give the privacy budget: rho, or epsilon and delta"),
        };
        let rho = Rho::checked_from_f64(rho).map_err(|error: PrivacyError| Kind::Request.because(error))?;
        Ok((rho, delta))
    }
}

impl FitOptions {
    /// What is asked of the method, checked as far as it can be without a row.
    pub fn config(&self, budget: &BudgetOptions, formula: &Formula) -> PyResult<Config> {
        let (rho, delta) = budget.checked()?;
        let request = Request {
            delta,
            neighbours: one_of("neighbours", &self.neighbours, NEIGHBOURS, Neighbours::name)?,
            purpose: one_of("purpose", &self.purpose, PURPOSES, Purpose::name)?,
            construction: one_of("interval", &self.interval, CONSTRUCTIONS, Construction::name)?,
            goal: self.target.as_ref().map(|goal| one_of("target", goal, GOALS, Goal::name)).transpose()?,
            level: self.level,
            batches: self.batches,
            burn_in: self.burn_in,
            ..Request::new(rho)
        };
        let &FitOptions { clip, steps, step_size, .. } = self;
        let asked = dpgd::Config { request, clip, steps, step_size };
        asked.check().or_raise()?;
        let method = self.method.as_ref().map(|name| one_of("method", name, METHODS, Method::name)).transpose()?;
        Config::choose(method, asked, formula).map_err(dplm::Error::from).or_raise()
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

const NEIGHBOURS: &[Neighbours] = &[Neighbours::ReplaceOne, Neighbours::ZeroOut];
const PURPOSES: &[Purpose] = &[Purpose::Inference, Purpose::Prediction];
const CONSTRUCTIONS: &[Construction] =
    &[Construction::Newton, Construction::Batched, Construction::Checkpoints, Construction::Independent];
const GOALS: &[Goal] = &[Goal::Population, Goal::Empirical, Goal::Ols];
const METHODS: &[Method] = &[Method::Dpgd, Method::Auto, Method::Adassp];

/// The choice of this name; names are those of the command line.
pub fn one_of<T: Copy>(option: &str, given: &str, choices: &[T], name: impl Fn(T) -> &'static str) -> PyResult<T> {
    choices.iter().copied().find(|&choice| name(choice) == given).ok_or_else(|| {
        let names: Vec<&str> = choices.iter().map(|&choice| name(choice)).collect();
        Kind::Request.because(format!("{option} must be one of {}", names.join(", ")))
    })
}
