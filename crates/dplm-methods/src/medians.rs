//! Medians of the fits of many batches, coefficient by coefficient (Knop and Steinke 2022).
//!
//! Least squares is fitted to disjoint batches of rows, and the median of each coefficient over the batches is released by the exponential mechanism
//! (Smith 2011 over a grid). One row changes one fit, so that each median moves by one rank.
//!
//! # Where this differs from what was published
//! - There, batches have as many rows as coefficients, so that fits are exact solutions; these have no mean, and a median of few of them is far off. Here
//!   batches have at least twice as many rows.
//! - Each median is paid for in rho: as a choice of bounded range it costs `epsilon^2 / 8`, and `p` of them cost `p` times that, where pure
//!   composition divides epsilon by `p`.

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
    name: "medians",
    about: "medians of the coefficients of many small fits; estimates only",
    intervals: &[],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Cks,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// Batches have at least so many rows for each coefficient.
const ROWS_PER_COEFFICIENT: u64 = 2;

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
    let (rows_each, rho) = (ROWS_PER_COEFFICIENT * features as u64, request.rho.to_f64() / features as f64);
    let batches = Batches::plan(rows, rows_each, readings, 1, rho);
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
        let what = format!("medians of {} fits", batching.batches);
        let parts = budget.spend_on(Mechanism::Exponential, what, budget.total())?.in_parts(self.features as u32);
        let fits = rows.batch_fits(batching, self.request.neighbours)?;
        let median = |(j, spend)| Ok(self.batches.middle(&fits, j..j + 1, spend, rng)?[0]);
        let theta: Vec<f64> = parts.into_iter().enumerate().map(median).collect::<Result<_, Error>>()?;
        let summary = MethodSummary::new(ENTRY.name, LIMIT, 1, 1.0, 0.0);
        let outcome = Outcome::of(Target::Sample, summary, budget.releases().to_vec(), Vec::new());
        Ok(outcome.with_estimates(design, &theta))
    }
}
