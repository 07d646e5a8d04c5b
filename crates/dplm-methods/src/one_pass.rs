//! One pass over disjoint batches, with clips found on each (Varshney, Thakurta and Jain 2022).
//!
//! Rows are divided into batches by their place in the table. Each batch finds the medians of its
//! rows' lengths and of its residuals, and gives one gradient, clipped at multiples of these; the
//! estimate is the mean of the later iterates. A row is read for one step, so that steps do not add
//! up: [batches compose in parallel](dplm::rows::CustomRows::batches), and each has the whole
//! budget.
//!
//! # Where this differs from what was published
//! - There, batches are many and small, and thresholds found by noisy counts; a median of few rows
//!   is mostly noise, and steps with a wild clip never come back. Here there are few, so that a
//!   median is found up to an eighth of the rows of its batch, and medians are chosen by the
//!   exponential mechanism. Rows and residuals are clipped each by itself, as in
//!   [`crate::adaptive`].
//! - Rows are not shuffled: neighbours in a table are in different batches anyway, and an order
//!   that is drawn would not make it more private.
//! - The variant with one row to a step, whose privacy is by shuffling, is stated for budgets below
//!   `1 / sqrt(n)` and left out.

use dplm::{
    Design, Error,
    method::{self, Entry},
    privacy::{Budget, Mechanism, convert::Conversion},
};

use crate::{
    asked::Asked,
    estimate::{Estimate, Given, Recipe, Run, estimates},
    query::Weight,
    thresholds::{Medians, RESIDUAL_OVER_MEDIAN, ROW_OVER_MEDIAN},
};

/// The method as it is listed.
pub const ENTRY: Entry = estimates(
    "one-pass",
    "one step on each of a few disjoint batches, with clips found privately; estimates only",
    Conversion::Cks,
    |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
);

/// The fewest and the most batches, and so steps: with fewer the first steps, which are far off,
/// are most of them, and more are not needed to get there.
const FEWEST: f64 = 8.0;
const MOST: f64 = 32.0;

/// A median of a batch is off by no more than this part of its rows.
const RANKS_OFF: f64 = 0.125;

/// Hundredths of the budget of a batch for choosing thresholds.
const CHOICES: u32 = 10;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct OnePass {
    batches: u32,
    /// The size of steps, where columns are known to be standard.
    step_size: Option<f64>,
    medians: Medians,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    asked.estimating(rows, design, |given| {
        let choice_rho = given.request.rho.percent(CHOICES).to_f64() / 2.0;
        let batches = (RANKS_OFF * rows as f64 / Medians::ranks_off(choice_rho)).clamp(FEWEST, MOST) as u32;
        let rows_each = rows.div_ceil(u64::from(batches));
        let medians = Medians::plan(rows_each, given.features, given.bounds, given.request.neighbours)?;
        // Standard columns have a curvature near 1; that of others is bounded by the length of
        // rows.
        let step_size = design.row_norm_sq().is_none().then_some(0.5);
        Ok(OnePass { batches, step_size, medians })
    })
}

impl Recipe for OnePass {
    fn estimate(&self, given: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let (rho, batches) = (given.request.rho, self.batches);
        let (mut theta, mut iterates, mut last) = (vec![0.0; given.features], Vec::new(), (0.0, 0.0, 0.0));
        let Run { rows, budget, rng, progress, .. } = run;
        for (step, batch) in (1u32..).zip(rows.custom()?.batches(batches as usize)?) {
            // The whole budget for each batch: they compose in parallel.
            *budget = Budget::new(rho);
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
            theta = arithmetic.stepped(&theta, &released.gradient, step_size);
            iterates.push(theta.clone());
            last = (row * residual, step_size, released.noise_sd);
            progress.report(step, batches)?;
        }
        Ok(Estimate::of_late(&iterates, last.0, last.1, last.2))
    }
}
