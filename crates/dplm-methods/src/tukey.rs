//! A point deep among the fits of many batches (TukeyEM; Amin, Joseph, Ribero and Vassilvitskii 2022).
//!
//! Rows are divided into batches, least squares is fitted to each, and a vector is drawn by the exponential mechanism whose score is its approximate
//! Tukey depth among these: the least, over coefficients, of how many fits lie on either side of it. Nothing is clipped and no scale need be known.
//!
//! # Where this differs from what was published
//! - There, vectors are anywhere in space, and a test that may fail with probability delta must first show that there is enough depth
//!   (propose-test-release). The public code draws the noise of that test with scale `epsilon / 2` in the place of `2 / epsilon`, and weighs depth by `exp(epsilon / 2)` where
//!   replacing a fit costs twice that. Here vectors lie in a public box of 16 standardised units either way, on a grid of 2^-16: the mechanism is private
//!   without a test, delta or a failure, and its draw is exact.
//! - What the test would find, that there are too few batches for the budget, follows from public numbers, and such a fit is refused before it is paid for.
//! - Rows go to batches by their place in the table. Where tables are sorted by what matters, batches still differ little: neighbours in
//!   the table are in different ones.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    method::{self, ConfigError, Entry, Outcome, Request, Target, budget_warnings},
    privacy::{Budget, Mechanism, convert::Conversion, noise::NoiseRng},
    rows::{Batching, Rows},
};

use crate::{
    asked::Asked,
    batches::{Batches, LIMIT},
};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    name: "tukey",
    about: "a vector deep among least-squares fits of many batches; estimates only",
    intervals: &[],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Cks,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// Batches have at least so many rows for each coefficient: with fewer, their fits scatter much more than those of larger ones together.
const ROWS_PER_COEFFICIENT: u64 = 4;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    batches: Batches,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    let (request, features) = (asked.request.clone(), design.features());
    let Batching { readings, .. } = Batching::of_coefficients(1, features, 1.0, 1);
    let rows_each = ROWS_PER_COEFFICIENT * features as u64;
    let batches = Batches::plan(rows, rows_each, readings, features, request.rho.to_f64());
    Ok(Box::new(Plan { request, rows, features, batches }))
}

impl method::Plan for Plan {
    fn check(&self) -> Result<(), ConfigError> {
        self.batches.check(&self.request, self.features, self.rows)
    }

    fn warn(&self) -> Vec<Warning> {
        budget_warnings(&self.request, self.rows)
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        _progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let mut budget = Budget::new(self.request.rho);
        let batching = &self.batches.batching;
        let what = format!("a deep point of {} fits", batching.batches);
        let spend = budget.spend_on(Mechanism::Exponential, what, budget.total())?;
        let fits = rows.batch_fits(batching, self.request.neighbours)?;
        let theta = self.batches.middle(&fits, 0..self.features, spend, rng)?;
        let summary = MethodSummary::new(ENTRY.name, LIMIT, 1, 1.0, 0.0);
        let outcome = Outcome::of(Target::Sample, summary, budget.releases().to_vec(), Vec::new());
        Ok(outcome.with_estimates(design, &theta))
    }
}
