//! One pass over disjoint batches, with clips found on each (Varshney, Thakurta and Jain 2022).
//!
//! Rows are divided into batches by their place in the table. Each batch finds the medians of its rows' lengths and of its residuals, and gives one gradient, clipped at
//! multiples of these; the estimate is the mean of the later iterates. A row is read for one step, so that steps do not add up:
//! [batches compose in parallel](dplm::rows::Rows::batches), and each has the whole budget.
//!
//! # Where this differs from what was published
//! - There, batches are many and small, and thresholds found by noisy counts; a median of few rows is mostly noise, and steps with a wild clip never come back. Here there are
//!   [`BATCHES`] of them, and medians are chosen by the exponential mechanism. Rows and residuals are clipped each by itself, as in [`crate::adaptive`].
//! - Rows are not shuffled: neighbours in a table are in different batches anyway, and an order that is drawn would not make it more private.
//! - The variant with one row to a step, whose privacy is by shuffling, is stated for budgets below `1 / sqrt(n)` and left out.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    lattice::Weight,
    method::{self, Entry, Outcome, PublicBounds, Request, Target, budget_warnings},
    privacy::{Budget, Mechanism, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};

use crate::{
    asked::Asked,
    thresholds::{Medians, RESIDUAL_OVER_MEDIAN, ROW_OVER_MEDIAN},
};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    name: "one-pass",
    about: "one step on each of a few disjoint batches, with clips found privately; estimates only",
    intervals: &[],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Cks,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// Batches, and so steps.
pub const BATCHES: u32 = 8;

/// Hundredths of the budget of a batch for choosing thresholds.
const CHOICES: u32 = 10;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    /// The size of steps, where columns are known to be standard.
    step_size: Option<f64>,
    medians: Medians,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    let request = asked.request.clone();
    let (features, bounds) = (design.features(), PublicBounds::of(rows, design, &request));
    let medians = Medians::plan(rows.div_ceil(u64::from(BATCHES)), features, bounds, request.neighbours)?;
    // Standard columns have a curvature near 1; that of others is bounded by the length of rows.
    let step_size = design.row_norm_sq().is_none().then_some(0.5);
    Ok(Box::new(Plan { request, rows, features, step_size, medians }))
}

impl method::Plan for Plan {
    fn warn(&self) -> Vec<Warning> {
        budget_warnings(&self.request, self.rows)
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let rho = self.request.rho;
        let (mut theta, mut iterates, mut releases) = (vec![0.0; self.features], Vec::new(), Vec::new());
        let mut last = (0.0, 0.0, 0.0);
        for (step, batch) in (1u32..).zip(rows.batches(BATCHES as usize)?) {
            // The whole budget for each batch: they compose in parallel.
            let mut budget = Budget::new(rho);
            let what = format!("clip thresholds, on each of {BATCHES} batches");
            let choices = budget.spend_on(Mechanism::Exponential, what, rho.percent(CHOICES))?;
            let gradient = budget.spend_rest(format!("a bounded gradient, on each of {BATCHES} batches"))?;
            let [of_rows, of_residuals]: [_; 2] = choices.in_parts(2).try_into().expect("two parts");
            let row = ROW_OVER_MEDIAN * self.medians.of_rows(batch.as_ref(), of_rows, rng)?;
            let residual =
                RESIDUAL_OVER_MEDIAN * self.medians.of_residuals(batch.as_ref(), &theta, of_residuals, rng)?;
            let arithmetic = &self.medians.arithmetic;
            let bounds = arithmetic.bounds(row, residual, Weight::Shrink);
            let released = arithmetic.release(batch.as_ref(), &theta, &bounds, gradient, rng)?;
            let step_size = self.step_size.unwrap_or(1.5 / (row * row));
            let moved: Vec<f64> = theta.iter().zip(released.gradient).map(|(theta, g)| theta - step_size * g).collect();
            theta = arithmetic.rounded(&moved);
            iterates.push(theta.clone());
            last = (row * residual, step_size, released.noise_sd);
            releases = budget.releases().to_vec();
            progress.report(step, BATCHES)?;
        }
        let summary = MethodSummary::new(ENTRY.name, last.0, BATCHES, last.1, last.2);
        let outcome = Outcome::of(Target::Sample, summary, releases, Vec::new());
        let late = &iterates[iterates.len() / 2..];
        let mean = |j: usize| late.iter().map(|theta| theta[j]).sum::<f64>() / late.len() as f64;
        Ok(outcome.with_estimates(design, &(0..self.features).map(mean).collect::<Vec<f64>>()))
    }
}
