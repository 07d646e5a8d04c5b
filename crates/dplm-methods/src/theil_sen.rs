//! Medians of the lines through pairs of rows: private Theil-Sen (Dwork and Lei 2009; Alabi, McMillan, Sarathy, Smith and Vadhan 2022).
//!
//! Rows are paired, the line through each pair is read at a quarter and at three quarters of the range of the feature, and the median of each reading is
//! released by the exponential mechanism over a grid. The line through the two medians is the estimate. One outlier spoils one pair. For one
//! feature, with an intercept or without.
//!
//! # Where this differs from what was published
//! - The public code releases both medians at the whole epsilon, twice what it states, and converts to rho with a decimal logarithm. Here each
//!   median pays half.
//! - Each row is in one pair. With `k` pairs for each row a median costs `k` times as much, and for symmetric errors gains less.
//! - A pair with equal features has no line. There it is dropped, so that how many pairs are left depends on rows (in another library
//!   the row without a partner is dropped, and the true epsilon is twice the stated one). Here such a pair is read as zero, like one with a missing cell.
//! - Readings saturate at 16 standardised units.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    method::{self, ConfigError, Entry, Outcome, Request, Target, budget_warnings},
    privacy::{Budget, Mechanism, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};

use crate::{
    asked::Asked,
    batches::{Batches, LIMIT},
};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    name: "theil-sen",
    about: "medians of lines through pairs of rows, for one feature; estimates only",
    intervals: &[],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Cks,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// Where lines are read: a quarter and three quarters of the range of a feature that was scaled to -1 to 1.
const CUT: f64 = 0.5;

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
    let request = asked.request.clone();
    // The intercept is the first coefficient.
    let (features, readings) = match (design.features(), design.model().intercept()) {
        (2, true) => (2, vec![vec![1.0, -CUT], vec![1.0, CUT]]),
        (1, false) => (1, vec![vec![1.0]]),
        _ => return Err(ConfigError::OneFeature { method: ENTRY.name }.into()),
    };
    let batches = Batches::plan(rows, 2, readings, 1, request.rho.to_f64() / features as f64);
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
        let what = format!("medians of lines through {} pairs", batching.batches);
        let parts = budget.spend_on(Mechanism::Exponential, what, budget.total())?.in_parts(self.features as u32);
        let fits = rows.batch_fits(batching, self.request.neighbours)?;
        let median = |(j, spend)| Ok(self.batches.middle(&fits, j..j + 1, spend, rng)?[0]);
        let read: Vec<f64> = parts.into_iter().enumerate().map(median).collect::<Result<_, Error>>()?;
        let theta = match read[..] {
            [low, high] => vec![0.5 * (low + high), (high - low) / (2.0 * CUT)],
            _ => read,
        };
        let summary = MethodSummary::new(ENTRY.name, LIMIT, 1, 1.0, 0.0);
        let outcome = Outcome::of(Target::Sample, summary, budget.releases().to_vec(), Vec::new());
        Ok(outcome.with_estimates(design, &theta))
    }
}
