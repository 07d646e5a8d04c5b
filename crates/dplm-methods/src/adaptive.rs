//! Separate clips that are found privately: one for rows, and one for residuals at every step (Liu, Jain, Kong, Oh and Suggala 2023).
//!
//! `theta <- theta + eta mean(clip_R(x_i) clamp(r_i, -c_t, c_t)) + noise`. The radius `R` is a multiple of the median length of rows and `c_t` one of the
//! median residual, each chosen from a public ladder by the exponential mechanism. Thresholds that follow the residuals make the noise smaller as the
//! fit gets better, so nothing need be known of scales.
//!
//! # Where this differs from what was published
//! - The sample is not split in three: composition pays for reading it again. Medians are chosen by the exponential mechanism in the place of histograms of
//!   grouped quantiles, whose failure probability would enter delta.
//! - Medians and not high quantiles: with fewer rows above a quantile than the error of its rank, every threshold beyond the largest row looks as good, and
//!   the draw lands anywhere.
//! - Thresholds change from step to step, so iterates are not stationary and no interval is made from them.

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
    name: "adaptive-clips",
    about: "descent with separate clips for rows and residuals, found privately; estimates only",
    intervals: &[],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Cks,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// Steps are short, since the largest curvature is only bounded: a direction of average strength among ten takes so many.
const STEPS: u32 = 60;

/// Hundredths of the budget for choosing thresholds.
const CHOICES: u32 = 10;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    medians: Medians,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    let request = asked.request.clone();
    let (features, bounds) = (design.features(), PublicBounds::of(rows, design, &request));
    let medians = Medians::plan(rows, features, bounds, request.neighbours)?;
    Ok(Box::new(Plan { request, rows, features, medians }))
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
        let mut budget = Budget::new(rho);
        let choices = budget.spend_on(Mechanism::Exponential, "clip thresholds", rho.percent(CHOICES))?;
        let gradients = budget.spend_rest(format!("bounded gradients, {STEPS} steps"))?;
        let mut choices = choices.in_parts(STEPS + 1).into_iter();
        let mut next = || choices.next().expect("one for the rows and one for each step");
        let median_row = self.medians.of_rows(rows, next(), rng)?;
        // The largest curvature is at most the mean squared length of rows, so that any step shorter than twice its inverse is stable.
        let step_size = 1.5 / (ROW_OVER_MEDIAN * median_row).powi(2);
        let (mut theta, mut iterates, mut last) = (vec![0.0; self.features], Vec::new(), (0.0, 0.0));
        for (step, part) in (1u32..).zip(gradients.in_parts(STEPS)) {
            let residual = RESIDUAL_OVER_MEDIAN * self.medians.of_residuals(rows, &theta, next(), rng)?;
            let bounds = self.medians.arithmetic.bounds(ROW_OVER_MEDIAN * median_row, residual, Weight::Shrink);
            let released = self.medians.arithmetic.release(rows, &theta, &bounds, part, rng)?;
            let moved: Vec<f64> = theta.iter().zip(released.gradient).map(|(theta, g)| theta - step_size * g).collect();
            theta = self.medians.arithmetic.rounded(&moved);
            iterates.push(theta.clone());
            last = (ROW_OVER_MEDIAN * median_row * residual, released.noise_sd);
            progress.report(step, STEPS)?;
        }
        let summary = MethodSummary::new(ENTRY.name, last.0, STEPS, step_size, last.1);
        let outcome = Outcome::of(Target::Sample, summary, budget.releases().to_vec(), Vec::new());
        Ok(outcome.with_estimates(design, &mean(&iterates[iterates.len() / 2..])))
    }
}

fn mean(iterates: &[Vec<f64>]) -> Vec<f64> {
    let count = iterates.len() as f64;
    (0..iterates[0].len()).map(|j| iterates.iter().map(|theta| theta[j]).sum::<f64>() / count).collect()
}
