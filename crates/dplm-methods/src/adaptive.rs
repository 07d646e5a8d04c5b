//! Separate clips that are found privately: one for rows, and one for residuals at every step (Liu,
//! Jain, Kong, Oh and Suggala 2023).
//!
//! `theta <- theta + eta mean(clip_R(x_i) clamp(r_i, -c_t, c_t)) + noise`. The radius `R` is a
//! multiple of the median length of rows and `c_t` one of the median residual, each chosen from a
//! public ladder by the exponential mechanism. Thresholds that follow the residuals make the noise
//! smaller as the fit gets better, so nothing need be known of scales.
//!
//! # Where this differs from what was published
//! - The sample is not split in three: composition pays for reading it again. Medians are chosen by
//!   the exponential mechanism in the place of histograms of grouped quantiles, whose failure
//!   probability would enter delta.
//! - Medians and not high quantiles: with fewer rows above a quantile than the error of its rank,
//!   every threshold beyond the largest row looks as good, and the draw lands anywhere.
//! - Thresholds change from step to step, so iterates are not stationary and no interval is made
//!   from them.

use dplm::{
    Design, Error,
    method::{self, Entry},
    privacy::{Mechanism, convert::Conversion},
};

use crate::{
    asked::Asked,
    estimate::{Estimate, Given, Recipe, Run, estimates},
    query::Weight,
    thresholds::{Medians, RESIDUAL_OVER_MEDIAN, ROW_OVER_MEDIAN},
};

/// The method as it is listed.
pub const ENTRY: Entry = estimates(
    "adaptive-clips",
    "descent with separate clips for rows and residuals, found privately; estimates only",
    Conversion::Cks,
    |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
);

/// Steps are short, since the largest curvature is only bounded: a direction of average strength
/// among ten takes this many.
const STEPS: u32 = 60;

/// Hundredths of the budget for choosing thresholds.
const CHOICES: u32 = 10;

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    asked.estimating(rows, design, |given| {
        Ok(Medians::plan(rows, given.features, given.bounds, given.request.neighbours)?)
    })
}

impl Recipe for Medians {
    fn estimate(&self, given: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let Run { rows, budget, rng, progress, .. } = run;
        let choices = budget.spend_on(Mechanism::Exponential, "clip thresholds", given.request.rho.percent(CHOICES))?;
        let gradients = budget.spend_rest(format!("bounded gradients, {STEPS} steps"))?;
        let mut choices = choices.in_parts(STEPS + 1).into_iter();
        let mut next = || choices.next().expect("one for the rows and one for each step");
        let median_row = self.of_rows(*rows, next(), rng)?;
        // The largest curvature is at most the mean squared length of rows, so that any step
        // shorter than twice its inverse is stable.
        let step_size = 1.5 / (ROW_OVER_MEDIAN * median_row).powi(2);
        let (mut theta, mut iterates, mut last) = (vec![0.0; given.features], Vec::new(), (0.0, 0.0));
        for (step, part) in (1u32..).zip(gradients.in_parts(STEPS)) {
            let residual = RESIDUAL_OVER_MEDIAN * self.of_residuals(*rows, &theta, next(), rng)?;
            let bounds = self.arithmetic.bounds(ROW_OVER_MEDIAN * median_row, residual, Weight::Shrink);
            let released = self.arithmetic.release(*rows, &theta, &bounds, part, rng)?;
            theta = self.arithmetic.stepped(&theta, &released.gradient, step_size);
            iterates.push(theta.clone());
            last = (ROW_OVER_MEDIAN * median_row * residual, released.noise_sd);
            progress.report(step, STEPS)?;
        }
        Ok(Estimate::of_late(&iterates, last.0, step_size, last.1))
    }
}
