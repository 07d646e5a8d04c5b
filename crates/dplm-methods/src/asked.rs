//! What is asked of a method of this crate: the same for each of them.

use dplm::{
    Design, Error,
    lattice::CELL_SCALE_BITS,
    method::{ConfigError, Entry, Method, Plan, Purpose, Request, Target, Tuning},
    privacy::convert::Conversion,
};

/// From what is asked to a plan, by the number of rows and the design: public numbers only.
pub(crate) type Planner = fn(&Asked, u64, &Design) -> Result<Box<dyn Plan>, Error>;

/// A method and what is asked of it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub entry: &'static Entry,
    pub request: Request,
    pub tuning: Tuning,
    pub plan: Planner,
}

impl Asked {
    /// What an entry configures.
    pub(crate) fn boxed(entry: &'static Entry, request: Request, tuning: Tuning, plan: Planner) -> Box<dyn Method> {
        Box::new(Asked { entry, request, tuning, plan })
    }

    /// Whether intervals are wanted.
    pub(crate) fn wants_intervals(&self) -> bool {
        self.request.purpose == Purpose::Inference
    }

    /// Refuses persons.
    pub(crate) fn rows_only(&self) -> Result<(), ConfigError> {
        let method = self.entry.name;
        if self.request.person.is_some() { Err(ConfigError::RowsOnly { method }) } else { Ok(()) }
    }

    /// Refuses targets other than least squares, of the population or of the data set.
    pub(crate) fn least_squares_only(&self) -> Result<(), ConfigError> {
        let (method, target) = (self.entry.name, self.request.target());
        match target {
            Target::Population | Target::Sample | Target::Person => Ok(()),
            _ if !self.wants_intervals() => Ok(()),
            _ => Err(ConfigError::OtherTarget { method, target, offered: Target::Population }),
        }
    }
}

impl Method for Asked {
    fn name(&self) -> &'static str {
        self.entry.name
    }

    fn request(&self) -> &Request {
        &self.request
    }

    fn tuning(&self) -> Tuning {
        self.tuning
    }

    fn with_request(&self, request: Request) -> Box<dyn Method> {
        Box::new(Asked { request, ..self.clone() })
    }

    fn conversion(&self) -> Conversion {
        self.entry.conversion
    }

    fn check(&self) -> Result<(), Error> {
        self.tuning.check()?;
        Ok(self.request.check()?)
    }

    fn plan(&self, rows: u64, design: &Design) -> Result<Box<dyn Plan>, Error> {
        self.check()?;
        self.entry.check(&self.request, &self.tuning)?;
        let features = design.features();
        if rows <= features as u64 {
            return Err(ConfigError::TooFewRows { features, rows, unit: self.request.unit() }.into());
        }
        (self.plan)(self, rows, design)
    }
}

/// One standardised unit of a cell, in lattice units.
pub(crate) fn cell_unit() -> f64 {
    f64::from(CELL_SCALE_BITS).exp2()
}

/// A norm in standardised units as an integer of the lattice, rounded up: a row at the bound is not
/// shrunk.
pub(crate) fn radius(norm: f64) -> u64 {
    (norm * cell_unit()).ceil() as u64
}
