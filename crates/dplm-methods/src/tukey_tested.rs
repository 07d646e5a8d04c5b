//! A point deep among the fits of many batches, drawn after a test (TukeyEM as published; Amin,
//! Joseph, Ribero and Vassilvitskii 2022).
//!
//! As [`crate::tukey`], but without a public box: a test first shows that there is so much depth
//! that a draw from the deeper half reveals nothing by its edge (propose, test, release; Dwork and
//! Lei 2009). Where it fails nothing but that is released, and the budget is spent.
//!
//! # Where this differs from what was published
//! - The public code draws the noise of the test with scale `epsilon / 2` in the place of
//!   `2 / epsilon`, weighs depth by `exp(epsilon / 2)` where replacing a fit costs twice that, and
//!   counts volumes a layer off. Here everything follows from one argument, at
//!   [`select_tested_point`](crate::mechanism::select_tested_point), and is decided in exact
//!   integers.
//! - The draw pays in rho and not in epsilon: what can be drawn on one of two neighbouring tables
//!   only has half of delta, and the rest is of bounded range.
//! - A test that public numbers show will hardly pass is refused before it is paid for.
//! - Readings saturate at 2^30 standardised units, so that they are integers.

use dplm::{
    Design, Error,
    method::{self, ConfigError, Entry},
    privacy::convert::Conversion,
};

use crate::{
    asked::Asked,
    batches::{Batches, FAR, coefficients},
    estimate::{Estimate, Given, Recipe, Run, estimates},
};

/// The method as it is listed.
pub const ENTRY: Entry = estimates(
    "tukey-tested",
    "a vector deep among least-squares fits of many batches, after a test; estimates only",
    Conversion::Tested,
    |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
);

/// Batches have at least this many rows for each coefficient: a test needs many batches.
const ROWS_PER_COEFFICIENT: u64 = 2;

/// Hundredths of the budget for the test. What it must be sure of and what the choice needs to be
/// sharp add up to the number of batches, which this makes about least.
const TEST: u32 = 40;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Tested(Batches);

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    asked.estimating(rows, design, |given| {
        let (rows_each, readings) = (ROWS_PER_COEFFICIENT * given.features as u64, coefficients(given.features));
        let share = |percent: u32| given.request.rho.percent(percent).to_f64();
        let rho = (share(TEST), share(100 - TEST));
        Ok(Tested(Batches::plan_tested(rows, rows_each, readings, given.request.delta, rho)))
    })
}

impl Recipe for Tested {
    fn check(&self, given: &Given) -> Result<(), ConfigError> {
        self.0.check(given)
    }

    fn estimate(&self, given: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let theta = self.0.tested_middle(TEST, given, run)?;
        Ok(Estimate { theta, ..Estimate::at_once(Vec::new(), FAR, 0.0) })
    }
}
