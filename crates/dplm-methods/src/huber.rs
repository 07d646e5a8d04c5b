//! Noisy descent on Huber's loss with Mallows weights, and its sandwich (Avella-Medina, Bradshaw
//! and Loh 2021).
//!
//! `theta <- theta + eta mean(w_i x_i psi(r_i)) + noise`, with `psi` the residual clamped at
//! `k = 1.345` standard deviations and `w_i = min(1, (m / ||x_i||)^2)`. Rows and residuals are
//! bounded each by itself, where the paper that this library is about clips their product. For
//! symmetric errors it estimates what least squares does, and outliers matter little.
//!
//! # Where this differs from what was published
//! - Their code makes the noise of both matrices of the sandwich for add/remove neighbours and that
//!   of the gradients for replacement. Here every release has the noise of the one relation that is
//!   asked for.
//! - They add the noise of one step to the variance. Iterates remember earlier steps; the
//!   [Newton interval](dplm::interval::Newton) takes one Newton step from their mean, whose noise
//!   is known, and inverts the distribution, which includes the uncertainty of the curvature.
//! - The middle of the sandwich is its trace: it has the shape of the curvature where errors do not
//!   depend on the features.
//! - The size of steps is the inverse of the norm of noisy second moments, since nothing public
//!   bounds the curvature closely.
//! - The scale of the errors is the public one that the response's bounds give; estimating it
//!   jointly would cost a share of every step.

use dplm::{
    Design, Error, MethodSummary, Progress, Trajectory, Warning,
    interval::{Coordinates, Curvature, Inference, Newton, Sampling},
    lattice::Outer,
    method::{
        self, Entry, IntervalMethod, NoisyMatrix, Outcome, PublicBounds, Request, Target, budget_warnings, mean_of_late,
    },
    privacy::{Budget, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};

use crate::{
    asked::{Asked, cell_unit, radius},
    estimate::estimates,
    query::{Separate, Weight},
    steps::Steps,
};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    intervals: &[IntervalMethod::Newton],
    tunable: true,
    ..estimates("huber", "descent on Huber's loss with Mallows weights", Conversion::Exact, |request, tuning| {
        Asked::boxed(&ENTRY, request, tuning, plan)
    })
};

/// Where residuals are clamped, in standard deviations of the errors: 95 % efficient where these
/// are normal (Huber 1981).
const TURN: f64 = 1.345;

/// Steps where none are asked for.
const STEPS: u32 = 20;

/// Hundredths of the budget for the size of steps, for the curvature and for the spread of the
/// gradients.
const STEP_SIZE: u32 = 5;
const CURVATURE: u32 = 15;
const SPREAD: u32 = 5;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    intervals: bool,
    population: bool,
    row: f64,
    residual: f64,
    error_sd: f64,
    steps: u32,
    /// The size of steps, where it is given.
    step_size: Option<f64>,
    arithmetic: Steps,
    bounds: Separate,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    let Asked { request, tuning, .. } = asked.clone();
    let (features, public) = (design.features(), PublicBounds::of(rows, design, &request));
    // Half of all standard rows are longer than sqrt(p), and lose little weight for it.
    let row = design.row_norm_sq().map_or((features as f64).sqrt(), f64::sqrt);
    let residual = tuning.clip.map_or(TURN * public.error_sd, |clip| clip / row);
    let arithmetic = Steps::plan(rows, features, row * residual, request.neighbours)?;
    let bounds = arithmetic.bounds(row, residual, Weight::Mallows);
    let intervals = asked.wants_intervals();
    let population = intervals && request.target() != Target::Sample;
    Ok(Box::new(Plan {
        request,
        rows,
        features,
        intervals,
        population,
        row,
        residual,
        error_sd: public.error_sd,
        steps: tuning.steps.unwrap_or(STEPS),
        step_size: tuning.step_size,
        arithmetic,
        bounds,
    }))
}

impl method::Plan for Plan {
    fn warn(&self) -> Vec<Warning> {
        let robust = self.intervals.then_some(Warning::Robust { clip: self.row * self.residual });
        robust.into_iter().chain(budget_warnings(&self.request, self.rows)).collect()
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let rho = self.request.rho;
        let mut budget = Budget::new(rho);
        let sizing = self.step_size.is_none().then(|| budget.spend("size of steps", rho.percent(STEP_SIZE)));
        let curvature = self.intervals.then(|| budget.spend("curvature of the loss", rho.percent(CURVATURE)));
        let spread = self.population.then(|| budget.spend("spread of the gradients", rho.percent(SPREAD)));
        let (sizing, curvature, spread) = (sizing.transpose()?, curvature.transpose()?, spread.transpose()?);
        let gradients = budget.spend_rest(format!("bounded gradients, {} steps", self.steps))?;
        let found = sizing.map(|spend| self.find_step_size(rows, spend, rng)).transpose()?;
        let step_size = self.step_size.or(found).expect("given or found");
        let start = vec![vec![0.0; self.features]];
        let mut run = Trajectory { theta: start, gradient: Vec::new(), step_size, noise_sd: 0.0 };
        for (step, part) in (1u32..).zip(gradients.in_parts(self.steps)) {
            let here = run.theta.last().expect("a start");
            let released = self.arithmetic.release(rows, here, &self.bounds, part, rng)?;
            // Iterates are points of the lattice, where gradients are taken.
            let next = self.arithmetic.stepped(here, &released.gradient, step_size);
            run.noise_sd = released.noise_sd;
            run.gradient.push(released.gradient);
            run.theta.push(next);
            progress.report(step, self.steps)?;
        }
        let late = mean_of_late(&run);
        let curvature = curvature.map(|spend| self.curvature(rows, &late, spend, rng)).transpose()?;
        let spread = spread
            .map(|spend| self.arithmetic.release_square(rows, &late, &self.bounds, spend, rng))
            .transpose()?
            .map(|(mean, noise_sd)| Sampling::from_trace(self.rows, mean, noise_sd))
            .transpose()?;
        let clip = self.row * self.residual;
        let summary = MethodSummary::new(ENTRY.name, clip, self.steps, step_size, run.noise_sd);
        let releases = budget.releases();
        let outcome = Outcome::of(self.request.target(), summary, releases, vec![run.clone()]);
        let Some(curvature) = curvature else { return Ok(outcome.with_estimates(design, &late)) };
        let newton = Newton::new(&run, &Coordinates::identity(self.features), &curvature, spread.as_ref())?;
        Ok(outcome.with_inference(design, Inference::from(newton), self.request.level)?)
    }
}

impl Plan {
    /// The inverse of the norm of `mean(w x x')`, which is no smaller than any curvature of the
    /// loss: such steps are stable, and on columns that are alike and not correlated only `sqrt(p)`
    /// times shorter than the best.
    fn find_step_size(&self, rows: &dyn Rows, spend: dplm::privacy::Spend, rng: &mut NoiseRng) -> Result<f64, Error> {
        let shrunk = Outer::Shrunk { radius: radius(self.row) };
        let noisy = NoisyMatrix::release(rows, &shrunk, cell_unit(), self.request.neighbours, spend, rng)?;
        let entries = (0..self.features).flat_map(|i| (0..self.features).map(move |j| (i, j)));
        let norm_sq: f64 = entries.map(|at| noisy.mean[at].powi(2)).sum();
        Ok(norm_sq.sqrt().max(noisy.noise_sd).recip())
    }

    /// `mean(1{|r| <= k} w x x')` at the late iterates.
    fn curvature(
        &self,
        rows: &dyn Rows,
        theta: &[f64],
        spend: dplm::privacy::Spend,
        rng: &mut NoiseRng,
    ) -> Result<Curvature, Error> {
        let (theta, theta_unit) = (self.arithmetic.theta(theta), self.arithmetic.theta_unit());
        let residual = (self.residual * self.arithmetic.residual_unit()).floor() as u64;
        let within = Outer::Within { theta: &theta, theta_unit, radius: radius(self.row), residual };
        let noisy = NoisyMatrix::release(rows, &within, cell_unit(), self.request.neighbours, spend, rng)?;
        let released = Curvature::of_scaled_columns(noisy.mean, noisy.noise_sd)?;
        Ok(released.with_clip(self.residual / self.error_sd))
    }
}
