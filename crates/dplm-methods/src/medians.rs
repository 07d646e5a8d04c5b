//! Medians of the fits of many batches, coefficient by coefficient (Knop and Steinke 2022).
//!
//! Least squares is fitted to disjoint batches of rows, and the median of each coefficient over the
//! batches is released by the exponential mechanism (Smith 2011 over a grid). One row changes one
//! fit, so that each median moves by one rank.
//!
//! # Where this differs from what was published
//! - There, batches have as many rows as coefficients, so that fits are exact solutions; these have
//!   no mean, and a median of few of them is far off. Here batches have at least twice as many
//!   rows.
//! - Each median is paid for in rho: as a choice of bounded range it costs `epsilon^2 / 8`, and `p`
//!   of them cost `p` times that, where pure composition divides epsilon by `p`.

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
    "medians",
    "medians of the coefficients of many small fits; estimates only",
    Conversion::Cks,
    |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
);

/// Batches have at least this many rows for each coefficient.
const ROWS_PER_COEFFICIENT: u64 = 2;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Medians(Batches);

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    asked.estimating(rows, design, |given| {
        let rho = given.request.rho.to_f64() / given.features as f64;
        let (rows_each, readings) = (ROWS_PER_COEFFICIENT * given.features as u64, coefficients(given.features));
        Ok(Medians(Batches::plan(rows, rows_each, readings, 1, rho)))
    })
}

impl Recipe for Medians {
    fn check(&self, given: &Given) -> Result<(), ConfigError> {
        self.0.check(given)
    }

    fn estimate(&self, _: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        Ok(Estimate::at_once(self.0.medians("fits", run)?, LIMIT, 0.0))
    }
}
