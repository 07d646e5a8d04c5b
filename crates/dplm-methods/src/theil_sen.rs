//! Medians of the lines through pairs of rows: private Theil-Sen (Dwork and Lei 2009; Alabi,
//! McMillan, Sarathy, Smith and Vadhan 2022).
//!
//! Rows are paired, the line through each pair is read at a quarter and at three quarters of the
//! range of the feature, and the median of each reading is released by the exponential mechanism
//! over a grid. The line through the two medians is the estimate. One outlier spoils one pair. For
//! one feature, with an intercept or without.
//!
//! # Where this differs from what was published
//! - The public code releases both medians at the whole epsilon, twice what it states, and converts
//!   to rho with a decimal logarithm. Here each median pays half.
//! - Each row is in one pair. With `k` pairs for each row a median costs `k` times as much, and for
//!   symmetric errors gains less.
//! - A pair with equal features has no line. There it is dropped, so that how many pairs are left
//!   depends on rows (in another library the row without a partner is dropped, and the true epsilon
//!   is twice the stated one). Here such a pair is read as zero, like one with a missing cell.
//! - Readings saturate at 16 standardised units.

use dplm::{
    Design, Error,
    method::{self, ConfigError, Entry},
    privacy::convert::Conversion,
};

use crate::{
    asked::Asked,
    batches::{Batches, LIMIT},
    estimate::{Estimate, Given, Recipe, Run, estimates},
};

/// The method as it is listed.
pub const ENTRY: Entry = estimates(
    "theil-sen",
    "medians of lines through pairs of rows, for one feature; estimates only",
    Conversion::Cks,
    |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
);

/// Where lines are read: a quarter and three quarters of the range of a feature that was scaled to
/// -1 to 1.
const CUT: f64 = 0.5;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct TheilSen(Batches);

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    asked.estimating(rows, design, |given| {
        // The intercept is the first coefficient.
        let readings = match (given.features, design.model().intercept()) {
            (2, true) => vec![vec![1.0, -CUT], vec![1.0, CUT]],
            (1, false) => vec![vec![1.0]],
            _ => return Err(ConfigError::OneFeature { method: ENTRY.name }.into()),
        };
        let rho = given.request.rho.to_f64() / given.features as f64;
        Ok(TheilSen(Batches::plan(rows, 2, readings, 1, rho)))
    })
}

impl Recipe for TheilSen {
    fn check(&self, given: &Given) -> Result<(), ConfigError> {
        self.0.check(given)
    }

    fn estimate(&self, _: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let read = self.0.medians("lines through pairs", run)?;
        let theta = match read[..] {
            [low, high] => vec![0.5 * (low + high), (high - low) / (2.0 * CUT)],
            _ => read,
        };
        Ok(Estimate::at_once(theta, LIMIT, 0.0))
    }
}
