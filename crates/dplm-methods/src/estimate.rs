//! What methods that give estimates only share: each is a [`Recipe`], public numbers and how rows
//! are asked, and the rest is the same for all of them.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    method::{self, ConfigError, Entry, Outcome, PublicBounds, Request, Target, budget_warnings},
    privacy::{Budget, Release, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};

use crate::asked::Asked;

/// A method without intervals and without tuning, as it is listed; a file changes what is
/// otherwise.
pub(crate) const fn estimates(
    name: &'static str,
    about: &'static str,
    conversion: Conversion,
    configure: fn(Request, method::Tuning) -> Box<dyn method::Method>,
) -> Entry {
    Entry {
        name,
        about,
        intervals: &[],
        tunable: false,
        assumes_standard: false,
        conversion,
        whitens: false,
        suits: |_| false,
        configure,
    }
}

/// What is asked and publicly known of a table.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub request: Request,
    pub rows: u64,
    pub features: usize,
    pub bounds: PublicBounds,
}

/// How estimates are made: a plan whose every number is public.
pub(crate) trait Recipe: std::fmt::Debug + Send + Sync + 'static {
    /// Refuses a fit that public numbers already show cannot give what was asked.
    fn check(&self, _given: &Given) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Asks rows, and pays for every answer from the budget.
    fn estimate(&self, given: &Given, run: &mut Run<'_>) -> Result<Estimate, Error>;
}

/// What a recipe reads, pays from and draws from.
pub(crate) struct Run<'a> {
    pub rows: &'a mut dyn Rows,
    pub design: &'a Design,
    pub budget: Budget,
    pub rng: &'a mut NoiseRng,
    pub progress: Progress<'a>,
}

/// What a recipe found, in standardised units, and the numbers that a report shows of how.
pub(crate) struct Estimate {
    /// The parameters; `None` if a test failed.
    pub theta: Option<Vec<f64>>,
    pub clip: f64,
    pub steps: u32,
    pub step_size: f64,
    pub noise_sd: f64,
    /// What another method paid for with what was left of the budget.
    pub also: Vec<Release>,
}

impl Estimate {
    /// Of a method that takes no steps.
    pub(crate) fn at_once(theta: Vec<f64>, clip: f64, noise_sd: f64) -> Estimate {
        Estimate { theta: Some(theta), clip, steps: 1, step_size: 1.0, noise_sd, also: Vec::new() }
    }

    /// Of a method whose iterates come near in the first half of its steps: the mean of the others.
    pub(crate) fn of_late(iterates: &[Vec<f64>], clip: f64, step_size: f64, noise_sd: f64) -> Estimate {
        let late = &iterates[iterates.len() / 2..];
        let mean = |j: usize| late.iter().map(|theta| theta[j]).sum::<f64>() / late.len() as f64;
        let theta = (0..late[0].len()).map(mean).collect();
        Estimate { theta: Some(theta), clip, steps: iterates.len() as u32, step_size, noise_sd, also: Vec::new() }
    }
}

/// A recipe for a table.
#[derive(Debug)]
struct Planned<R> {
    name: &'static str,
    given: Given,
    recipe: R,
}

impl Asked {
    /// The plan of a method that gives estimates only, by its recipe for what is given.
    pub(crate) fn estimating<R: Recipe>(
        &self,
        rows: u64,
        design: &Design,
        recipe: impl FnOnce(&Given) -> Result<R, Error>,
    ) -> Result<Box<dyn method::Plan>, Error> {
        let (request, bounds) = (self.request.clone(), PublicBounds::of(rows, design, &self.request));
        let given = Given { request, rows, features: design.features(), bounds };
        Ok(Box::new(Planned { name: self.entry.name, recipe: recipe(&given)?, given }))
    }
}

impl<R: Recipe> method::Plan for Planned<R> {
    fn check(&self) -> Result<(), ConfigError> {
        self.recipe.check(&self.given)
    }

    fn warn(&self) -> Vec<Warning> {
        budget_warnings(&self.given.request, self.given.rows)
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let mut run = Run { rows, design, budget: Budget::new(self.given.request.rho), rng, progress };
        let Estimate { theta, clip, steps, step_size, noise_sd, also } = self.recipe.estimate(&self.given, &mut run)?;
        let summary = MethodSummary::new(self.name, clip, steps, step_size, noise_sd);
        let releases = run.budget.releases().into_iter().chain(also).collect();
        let outcome = Outcome::of(Target::Sample, summary, releases, Vec::new());
        Ok(match theta {
            Some(theta) => outcome.with_estimates(design, &theta),
            None => outcome.of_failed_test(design),
        })
    }
}
