//! One pass over disjoint batches, with clips found on each (Varshney, Thakurta and Jain 2022).
//!
//! Rows are divided into batches by their place in the table. Each batch finds the medians of its rows' lengths and of its residuals, and gives one gradient, clipped at
//! multiples of these; the estimate is the mean of the later iterates. A row is read for one step, so that steps do not add up:
//! [batches compose in parallel](dplm::rows::Rows::batches), and each has the whole budget.
//!
//! # Where this differs from what was published
//! - There, batches are many and small, and thresholds found by noisy counts; a median of few rows is mostly noise, and steps with a wild clip never come back. Here there are
//!   few, so that a median is found up to an eighth of the rows of its batch, and medians are chosen by the exponential mechanism. Rows and residuals are clipped each by itself, as in [`crate::adaptive`].
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

/// The fewest and the most batches, and so steps: with fewer the first steps, which are far off, are most of them, and more are not needed to get there.
const FEWEST: f64 = 8.0;
const MOST: f64 = 32.0;

/// A median of a batch is off by no more than this part of its rows.
const RANKS_OFF: f64 = 0.125;

/// Hundredths of the budget of a batch for choosing thresholds.
const CHOICES: u32 = 10;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    batches: u32,
    /// The size of steps, where columns are known to be standard.
    step_size: Option<f64>,
    medians: Medians,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    let request = asked.request.clone();
    let (features, bounds) = (design.features(), PublicBounds::of(rows, design, &request));
    let choice_rho = request.rho.percent(CHOICES).to_f64() / 2.0;
    let batches = (RANKS_OFF * rows as f64 / Medians::ranks_off(choice_rho)).clamp(FEWEST, MOST) as u32;
    let medians = Medians::plan(rows.div_ceil(u64::from(batches)), features, bounds, request.neighbours)?;
    // Standard columns have a curvature near 1; that of others is bounded by the length of rows.
    let step_size = design.row_norm_sq().is_none().then_some(0.5);
    Ok(Box::new(Plan { request, rows, features, batches, step_size, medians }))
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
        let (rho, batches) = (self.request.rho, self.batches);
        let (mut theta, mut iterates, mut releases) = (vec![0.0; self.features], Vec::new(), Vec::new());
        let mut last = (0.0, 0.0, 0.0);
        for (step, batch) in (1u32..).zip(rows.batches(batches as usize)?) {
            // The whole budget for each batch: they compose in parallel.
            let mut budget = Budget::new(rho);
            let what = format!("clip thresholds, on each of {batches} batches");
            let choices = budget.spend_on(Mechanism::Exponential, what, rho.percent(CHOICES))?;
            let gradient = budget.spend_rest(format!("a bounded gradient, on each of {batches} batches"))?;
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
            progress.report(step, batches)?;
        }
        let summary = MethodSummary::new(ENTRY.name, last.0, batches, last.1, last.2);
        let outcome = Outcome::of(Target::Sample, summary, releases, Vec::new());
        let late = &iterates[iterates.len() / 2..];
        let mean = |j: usize| late.iter().map(|theta| theta[j]).sum::<f64>() / late.len() as f64;
        Ok(outcome.with_estimates(design, &(0..self.features).map(mean).collect::<Vec<f64>>()))
    }
}
