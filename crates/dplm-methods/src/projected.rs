//! Noisy projected descent on bounded rows (Cai, Wang and Zhang 2021; the full-batch form of
//! Bassily, Smith and Thakurta 2014).
//!
//! `theta <- P(theta + eta mean(x_i (y_i - x_i' theta)) + noise)`, with `P` the projection onto a
//! ball. Rows, responses and the ball are bounded, and these bounds together bound every gradient,
//! so that nothing is clipped on the way: what the noise must hide is the worst row at the worst
//! parameters.
//!
//! # Where this differs from what was published
//! - Each step pays its share of rho. There, each is `(epsilon / T, delta / T)`-private, which
//!   takes `sqrt T` times as much noise.
//! - Rows of standard columns have no bound; the few beyond the public one have their gradient
//!   clipped, which is private all the same.
//! - The estimate is the mean of the later iterates.

use dplm::{
    Design, Error, Progress,
    descend::Descent,
    method::{self, Entry},
    privacy::convert::Conversion,
};

use crate::{
    asked::Asked,
    estimate::{Estimate, Given, Recipe, Run, estimates},
};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    tunable: true,
    ..estimates(
        "projected",
        "descent within a ball, with noise for the worst gradient there; estimates only",
        Conversion::Exact,
        |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
    )
};

/// The radius of the ball, in standardised units: the coefficients of the paper's simulations have
/// norm 1.
const BALL: f64 = 2.0;

/// Steps where none are asked for.
const STEPS: u32 = 20;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Projected {
    steps: u32,
    step_size: f64,
    gradient: Descent,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    let tuning = asked.tuning;
    asked.estimating(rows, design, |given| {
        let worst = given.bounds.row * (given.bounds.response + BALL * given.bounds.row);
        // Standard columns have a curvature near 1; nothing but the length of rows bounds that of
        // others.
        let step_size = tuning.step_size.unwrap_or_else(|| design.row_norm_sq().map_or(0.5, f64::recip));
        let (steps, clip) = (tuning.steps.unwrap_or(STEPS), tuning.clip.unwrap_or(worst));
        let rho = given.request.rho.to_f64() / f64::from(steps);
        let gradient = Descent::plan(rows, given.features, clip, 1, step_size, given.request.neighbours, rho)?;
        Ok(Projected { steps, step_size, gradient })
    })
}

impl Recipe for Projected {
    fn estimate(&self, given: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let Run { rows, budget, rng, progress, .. } = run;
        let gradients = budget.spend_rest(format!("gradients within the ball, {} steps", self.steps))?;
        let (mut theta, mut iterates, mut noise_sd) = (vec![0.0; given.features], Vec::new(), 0.0);
        for (step, part) in (1u32..).zip(gradients.in_parts(self.steps)) {
            let found = self.gradient.run(*rows, &theta, part, rng, Progress::NONE)?;
            theta = into_ball(found.theta.last().expect("one step"));
            iterates.push(theta.clone());
            noise_sd = found.noise_sd;
            progress.report(step, self.steps)?;
        }
        Ok(Estimate::of_late(&iterates, self.gradient.gamma(), self.step_size, noise_sd))
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
