//! The automatic method as any method is: its entry in the registry, and the two traits.

use super::{Config, Plan};
use crate::{
    Error, Progress, Warning,
    formula::Formula,
    lattice::Design,
    method::{self, ConfigError, Entry, IntervalMethod, Method, Outcome, Request},
    plan::{Assumed, Planned},
    privacy::{convert::Conversion, noise::NoiseRng},
    rows::Rows,
};

/// The method as the registry lists it.
pub(in crate::method) const ENTRY: Entry = Entry {
    name: "auto",
    about: "scales and clips found privately, for columns with bounds",
    intervals: &[IntervalMethod::Newton],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Exact,
    whitens: true,
    suits: Formula::has_bounds,
    configure: |request, _| Box::new(Config::new(request)),
};

impl Method for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn request(&self) -> &Request {
        &self.request
    }

    fn with_request(&self, request: Request) -> Box<dyn Method> {
        Box::new(Config { request, ..self.clone() })
    }

    fn plan(&self, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
        Ok(Box::new(self.clone().plan(rows, design)?))
    }
}

impl method::Plan for Plan {
    fn check(&self) -> Result<(), ConfigError> {
        self.check_intervals()
    }

    fn warn(&self) -> Vec<Warning> {
        self.warnings()
    }

    fn foresee(&self, design: &Design, assumed: &Assumed) -> Result<Planned, Error> {
        self.foresee(design, assumed)
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        self.run(rows, design, rng, progress)
    }
}
