//! Noisy projected descent on bounded rows (Cai, Wang and Zhang 2021; the full-batch form of Bassily, Smith and Thakurta 2014).
//!
//! `theta <- P(theta + eta mean(x_i (y_i - x_i' theta)) + noise)`, with `P` the projection onto a ball. Rows, responses and the ball are bounded, and these
//! bounds together bound every gradient, so that nothing is clipped on the way: what the noise must hide is the worst row at the worst parameters.
//!
//! # Where this differs from what was published
//! - Each step pays its share of rho. There, each is `(epsilon / T, delta / T)`-private, which takes `sqrt T` times as much noise.
//! - Rows of standard columns have no bound; the few beyond the public one have their gradient clipped, which is private all the same.
//! - The estimate is the mean of the later iterates.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    descend::Descent,
    method::{self, Entry, Outcome, PublicBounds, Request, Target, budget_warnings},
    privacy::{Budget, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};

use crate::asked::Asked;

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    name: "projected",
    about: "descent within a ball, with noise for the worst gradient there; estimates only",
    intervals: &[],
    tunable: true,
    assumes_standard: false,
    conversion: Conversion::Exact,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// The radius of the ball, in standardised units: the coefficients of the paper's simulations have norm 1.
const BALL: f64 = 2.0;

/// Steps where none are asked for.
const STEPS: u32 = 20;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    steps: u32,
    step_size: f64,
    gradient: Descent,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    let Asked { request, tuning, .. } = asked.clone();
    let (features, bounds) = (design.features(), PublicBounds::of(rows, design, &request));
    let worst = bounds.row * (bounds.response + BALL * bounds.row);
    // Standard columns have a curvature near 1; nothing but the length of rows bounds that of others.
    let step_size = tuning.step_size.unwrap_or_else(|| design.row_norm_sq().map_or(0.5, f64::recip));
    let steps = tuning.steps.unwrap_or(STEPS);
    let rho = request.rho.to_f64() / f64::from(steps);
    let clip = tuning.clip.unwrap_or(worst);
    let gradient = Descent::plan(rows, features, clip, 1, step_size, request.neighbours, rho)?;
    Ok(Box::new(Plan { request, rows, features, steps, step_size, gradient }))
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
        let mut budget = Budget::new(self.request.rho);
        let gradients = budget.spend_rest(format!("gradients within the ball, {} steps", self.steps))?;
        let (mut theta, mut iterates, mut noise_sd) = (vec![0.0; self.features], Vec::new(), 0.0);
        for (step, part) in (1u32..).zip(gradients.in_parts(self.steps)) {
            let run = self.gradient.run(rows, &theta, part, rng, Progress::NONE)?;
            theta = into_ball(run.theta.last().expect("one step"));
            iterates.push(theta.clone());
            noise_sd = run.noise_sd;
            progress.report(step, self.steps)?;
        }
        let late = &iterates[iterates.len() / 2..];
        let mean = |j: usize| late.iter().map(|theta| theta[j]).sum::<f64>() / late.len() as f64;
        let theta: Vec<f64> = (0..self.features).map(mean).collect();
        let summary = MethodSummary::new(ENTRY.name, self.gradient.gamma(), self.steps, self.step_size, noise_sd);
        let outcome = Outcome::of(Target::Sample, summary, budget.releases().to_vec(), Vec::new());
        Ok(outcome.with_estimates(design, &theta))
    }
}

/// The nearest point of the ball.
fn into_ball(theta: &[f64]) -> Vec<f64> {
    let norm = theta.iter().map(|one| one * one).sum::<f64>().sqrt();
    theta.iter().map(|one| one * (BALL / norm).min(1.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_outside_are_brought_to_the_surface() {
        assert_eq!(into_ball(&[0.6, -0.8]), [0.6, -0.8]);
        let [x, y] = into_ball(&[6.0, -8.0])[..] else { panic!("two coordinates") };
        assert!((x - 1.2).abs() < 1e-12 && (y + 1.6).abs() < 1e-12);
        assert_eq!(into_ball(&[0.0]), [0.0]);
    }
}
