//! Ways to fit, each in a file or a folder of its own.
//!
//! A method is what is asked of it (a [`Method`]), then a checked plan of public numbers (a
//! [`Plan`]), then an [`Outcome`] of released ones. The two here are what the paper is about. To
//! add another, write its file in the crate `dplm-methods`, with these two traits and an [`Entry`],
//! and add that entry to the list there: the command line, Python, the ledger and the experiments
//! find it. A method asks [`Rows`] and opens what they answer by
//! [`release`](crate::privacy::release); [`NoisyMatrix`] and [`Descent`](crate::descend::Descent)
//! do both for the usual questions.

mod error;
mod request;
mod outcome;
mod noisy;
mod bounds;
pub mod dpgd;
pub mod auto;
mod forecast;
mod registry;
#[cfg(test)]
mod audit;

pub use crate::options::{Family, IntervalMethod, Purpose, Target};
pub use bounds::PublicBounds;
use error::is_of_term;
pub(crate) use error::without_strength;
pub use error::{ConfigError, NotKeptError};
pub use forecast::{Asked, Asks, forecast, forecast_for, forecast_groups};
pub use noisy::{NoisyMatrix, release_spread, solve_floored};
pub use outcome::{Outcome, budget_warnings, mean_of_late};
pub use registry::{Entry, choose, find};
pub use request::{DELTA, Request, Tuning, budget};

use outcome::{bare, with_precision};

use crate::{
    Error, Progress,
    lattice::Design,
    plan::{Assumed, Planned, usable},
    privacy::{Rho, convert::Conversion, noise::NoiseRng},
    rows::Rows,
    warning::{Enough, Warning},
};

/// A method and what is asked of it.
pub trait Method: std::fmt::Debug + Send + Sync {
    /// Its name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// What is asked of any method.
    fn request(&self) -> &Request;

    /// How epsilon follows from its budget: exactly where everything it releases is Gaussian.
    fn conversion(&self) -> Conversion {
        Conversion::Exact
    }

    /// What was set by hand.
    fn tuning(&self) -> Tuning {
        Tuning::default()
    }

    /// The same method with something else asked of it.
    fn with_request(&self, request: Request) -> Box<dyn Method>;

    /// Whether it fits responses of a family.
    fn fits(&self, family: Family) -> bool {
        family == Family::Gaussian
    }

    /// Refuses what cannot be meant, before a row is read.
    ///
    /// # Errors
    /// One sentence on the first option that makes no sense.
    fn check(&self) -> Result<(), Error> {
        Ok(self.request().check()?)
    }

    /// Fills in what was not asked for and checks the whole, from public numbers only.
    ///
    /// # Errors
    /// When options make no sense together, or the arithmetic cannot be made exact.
    fn plan(&self, rows: u64, design: &Design) -> Result<Box<dyn Plan>, Error>;
}

/// The first release of a fit says how many of its units can be used. Returns the method with the
/// budget that this leaves, and the budget of the release, `None` if it is not made.
pub fn after_count(method: &dyn Method, units: u64) -> (Box<dyn Method>, Option<Rho>) {
    let request = method.request();
    let count = usable::price(units, 1, request.rho);
    let rest = count.map_or(request.rho, |count| request.rho.checked_sub(count).expect("a part is less"));
    (method.with_request(Request { rho: rest, ..request.clone() }), count)
}

/// A checked plan: every number in it is public.
pub trait Plan: std::fmt::Debug + Send + Sync {
    /// Refuses a fit that public numbers already show cannot give what was asked.
    ///
    /// # Errors
    /// Says what would be enough.
    fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// What public numbers already tell a reader, before anything is spent.
    fn warn(&self) -> Vec<Warning>;

    /// What to expect of the fit, for what is assumed of its columns; nothing is read.
    ///
    /// # Errors
    /// When the method has no forecast for such a design.
    fn foresee(&self, design: &Design, assumed: &Assumed) -> Result<Planned, Error> {
        let _ = (design, assumed);
        Err(ConfigError::NoForecast.into())
    }

    /// Runs the plan.
    ///
    /// # Guarantee
    /// Spends exactly the budget of the request. Rows are read only through releases.
    ///
    /// # Errors
    /// When rows cannot be read, the noise does not fit, or the run is interrupted.
    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error>;
}
