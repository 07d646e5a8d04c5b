//! A point deep among the fits of many batches (TukeyEM; Amin, Joseph, Ribero and Vassilvitskii
//! 2022).
//!
//! Rows are divided into batches, least squares is fitted to each, and a vector is drawn by the
//! exponential mechanism whose score is its approximate Tukey depth among these: the least, over
//! coefficients, of how many fits lie on either side of it. Nothing is clipped and no scale need be
//! known.
//!
//! # Where this differs from what was published
//! - There, vectors are anywhere in space, and a test that may fail with probability delta must
//!   first show that there is enough depth (propose-test-release). The public code draws the noise
//!   of that test with scale `epsilon / 2` in the place of `2 / epsilon`, and weighs depth by
//!   `exp(epsilon / 2)` where replacing a fit costs twice that. Here vectors lie in a public box of
//!   16 standardised units either way, on a grid of 2^-16: the mechanism is private without a test,
//!   delta or a failure, and its draw is exact.
//! - What the test would find, that there are too few batches for the budget, follows from public
//!   numbers, and such a fit is refused before it is paid for.
//! - Rows go to batches by their place in the table. Where tables are sorted by what matters,
//!   batches still differ little: neighbours in the table are in different ones.

use dplm::{
    Design, Error,
    method::{self, ConfigError, Entry},
    privacy::convert::Conversion,
};

use crate::{
    asked::Asked,
    batches::{Batches, LIMIT, coefficients},
    estimate::{Estimate, Given, Recipe, Run, estimates},
};

/// The method as it is listed.
pub const ENTRY: Entry = estimates(
    "tukey",
    "a vector deep among least-squares fits of many batches; estimates only",
    Conversion::Cks,
    |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
);

/// Batches have at least this many rows for each coefficient: with fewer, their fits scatter much
/// more than those of larger ones together.
const ROWS_PER_COEFFICIENT: u64 = 4;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Tukey(Batches);

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    asked.estimating(rows, design, |given| {
        let (rows_each, readings) = (ROWS_PER_COEFFICIENT * given.features as u64, coefficients(given.features));
        Ok(Tukey(Batches::plan(rows, rows_each, readings, given.features, given.request.rho.to_f64())))
    })
}

impl Recipe for Tukey {
    fn check(&self, given: &Given) -> Result<(), ConfigError> {
        self.0.check(given)
    }

    fn estimate(&self, _: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let what = format!("a deep point of {} fits", self.0.batching.batches);
        Ok(Estimate::at_once(self.0.middle(&what, run)?, LIMIT, 0.0))
    }
}
