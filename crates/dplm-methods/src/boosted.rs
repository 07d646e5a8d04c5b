//! BoostedAdaSSP: steps preconditioned by noisy second moments (Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu 2023).
//!
//! `theta <- theta + (A + w I)^-1 g`, with `A` the noisy second moments and `g` the noisy sum of clipped gradients at `theta`. Boosting settles where
//! the clipped gradients vanish, whatever the preconditioner is, so clips can be tight and the ridge does not shrink the estimate.
//!
//! # Where this differs from what was published
//! - The public code of the authors' company sets the noise to `mu` in place of `sqrt(T + 2) / mu`: at epsilon 1 and a hundred rounds it is 180
//!   times too small. Here each round pays its share of rho.
//! - The least eigenvalue is not released. Its purpose in AdaSSP is a smaller ridge, which here would buy nothing: the ridge `w` is the edge of the
//!   noise, so that `A + w I` is above the true moments and every step a contraction.
//! - The estimate is the mean of the later iterates, whose noise averages out.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    descend::Descent,
    lattice::Outer,
    method::{self, Entry, NoisyMatrix, Outcome, PublicBounds, Request, Target, budget_warnings},
    privacy::{Budget, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};

use crate::asked::{Asked, cell_unit, radius};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    name: "boosted-adassp",
    about: "gradient steps preconditioned by noisy second moments; estimates only",
    intervals: &[],
    tunable: true,
    assumes_standard: false,
    conversion: Conversion::Exact,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// Rounds where none are asked for: after ten, a direction four times as strong as the ridge has settled to one part in a million.
const ROUNDS: u32 = 10;

/// Hundredths of the budget for the second moments; the rounds share the rest.
const MOMENTS: u32 = 30;

/// Residuals are clipped at so many of their assumed standard deviations on a row at its bound.
const CLIPPED_AT: f64 = 2.0;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    bounds: PublicBounds,
    rounds: u32,
    shrinkage: f64,
    gradient: Descent,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    let Asked { request, tuning, .. } = asked.clone();
    let (features, bounds) = (design.features(), PublicBounds::of(rows, design, &request));
    let clip = tuning.clip.unwrap_or(bounds.row * bounds.response.min(CLIPPED_AT * bounds.error_sd));
    let (rounds, shrinkage) = (tuning.steps.unwrap_or(ROUNDS), tuning.step_size.unwrap_or(1.0));
    let rho = request.rho.to_f64() / f64::from(rounds);
    let gradient = Descent::plan(rows, features, clip, 1, shrinkage, request.neighbours, rho)?;
    Ok(Box::new(Plan { request, rows, features, bounds, rounds, shrinkage, gradient }))
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
        let Request { rho, neighbours, .. } = self.request;
        let mut budget = Budget::new(rho);
        let moments = budget.spend("second moments", rho.percent(MOMENTS))?;
        let gradients = budget.spend_rest(format!("clipped gradients, {} rounds", self.rounds))?;
        let shrunk = Outer::Shrunk { radius: radius(self.bounds.row) };
        let moments = NoisyMatrix::release(rows, &shrunk, cell_unit(), neighbours, moments, rng)?;
        let mut theta = vec![0.0; self.features];
        let (mut iterates, mut noise_sd) = (Vec::new(), 0.0);
        for (round, part) in (1u32..).zip(gradients.in_parts(self.rounds)) {
            let step = self.gradient.run(rows, &theta, part, rng, Progress::NONE)?;
            let move_by = moments.solve(moments.edge(), &step.gradient[0]);
            // The gradient was taken at the start rounded to the lattice.
            theta = step.theta[0].iter().zip(move_by).map(|(theta, by)| theta - self.shrinkage * by).collect();
            iterates.push(theta.clone());
            noise_sd = step.noise_sd;
            progress.report(round, self.rounds)?;
        }
        let summary = MethodSummary::new(ENTRY.name, self.gradient.gamma(), self.rounds, self.shrinkage, noise_sd);
        let outcome = Outcome::of(Target::Sample, summary, budget.releases().to_vec(), Vec::new());
        Ok(outcome.with_estimates(design, &mean_of_last_half(&iterates)))
    }
}

/// The first half of the rounds brings the iterates there.
fn mean_of_last_half(iterates: &[Vec<f64>]) -> Vec<f64> {
    let late = &iterates[iterates.len() / 2..];
    (0..late[0].len()).map(|j| late.iter().map(|theta| theta[j]).sum::<f64>() / late.len() as f64).collect()
}
