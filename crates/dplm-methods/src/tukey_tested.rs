//! A point deep among the fits of many batches, drawn after a test (TukeyEM as published; Amin, Joseph, Ribero and Vassilvitskii 2022).
//!
//! As [`crate::tukey`], but without a public box: a test first shows that there is so much depth that a draw from the deeper half reveals nothing by its edge
//! (propose, test, release; Dwork and Lei 2009). Where it fails nothing but that is released, and the budget is spent.
//!
//! # Where this differs from what was published
//! - The public code draws the noise of the test with scale `epsilon / 2` in the place of `2 / epsilon`, weighs depth by `exp(epsilon / 2)` where replacing a fit costs twice that, and counts
//!   volumes a layer off. Here everything follows from one argument, at [`dplm::privacy::select_tested_point`], and is decided in exact integers.
//! - The draw pays in rho and not in epsilon: what can be drawn on one of two neighbouring tables only has half of delta, and the rest is of bounded range.
//! - A test that public numbers show will hardly pass is refused before it is paid for.
//! - Readings saturate at 2^30 standardised units, so that they are integers.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    method::{self, ConfigError, Entry, Outcome, Request, Target, budget_warnings},
    privacy::{Budget, Mechanism, convert::Conversion, noise::NoiseRng},
    rows::{Batching, Rows},
};

use crate::{asked::Asked, batches::Batches};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    name: "tukey-tested",
    about: "a vector deep among least-squares fits of many batches, after a test; estimates only",
    intervals: &[],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Tested,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// Batches have at least so many rows for each coefficient: a test needs many batches.
const ROWS_PER_COEFFICIENT: u64 = 2;

/// Hundredths of the budget for the test. What it must be sure of and what the choice needs to be sharp add up to the number of batches, which this makes about least.
const TEST: u32 = 40;

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
    let rho = (request.rho.percent(TEST).to_f64(), request.rho.percent(100 - TEST).to_f64());
    let batches = Batches::plan_tested(rows, ROWS_PER_COEFFICIENT * features as u64, readings, request.delta, rho);
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
        let Request { rho, delta, neighbours, .. } = self.request;
        let mut budget = Budget::new(rho);
        let batching = &self.batches.batching;
        let what = format!("a test of the depth of {} fits", batching.batches);
        let test = budget.spend_on(Mechanism::Test, what, rho.percent(TEST))?;
        let choice = budget.spend_on(Mechanism::Exponential, "a deep point of them", budget.left())?;
        let fits = rows.batch_fits(batching, neighbours)?;
        let theta = self.batches.tested_middle(&fits, delta, (test, choice), rng)?;
        let summary = MethodSummary::new(ENTRY.name, batching.limit as f64 / batching.unit, 1, 1.0, 0.0);
        let outcome = Outcome::of(Target::Sample, summary, budget.releases().to_vec(), Vec::new());
        Ok(match theta {
            Some(theta) => outcome.with_estimates(design, &theta),
            None => outcome.of_failed_test(design),
        })
    }
}
