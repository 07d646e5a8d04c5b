//! Ways to fit. Each is `Config` (asked) -> `Plan` (checked, public, printable) -> [`Fit`](crate::Fit).

pub mod dpgd;
pub mod ols;
pub mod adassp;
mod request;

pub use request::{Construction, Goal, Purpose, Request};

/// Why options were refused, before a row was looked at.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Nothing would be iterated.
    #[error("the number of steps must be between 1 and {most}", most = dpgd::MOST_STEPS)]
    Steps,
    /// The descent would not move, or run away.
    #[error("the step size must be a positive number of at most 2, for instance 0.25")]
    StepSize,
    /// The level is not a probability.
    #[error("the level must lie between 0 and 1, for instance 0.95")]
    Level,
    /// Delta is not a probability.
    #[error("delta must lie between 0 and 1 and be small, for instance 1e-6")]
    Delta,
    /// A spread needs two estimates.
    #[error("an interval from the spread of estimates needs at least 2 batches; ask for 10")]
    Batches,
    /// The burn-in eats the run.
    #[error("the burn-in of {burn_in} leaves nothing of a run of {steps} steps; shorten it or take more steps")]
    BurnIn {
        /// The burn-in asked for.
        burn_in: u32,
        /// The steps planned.
        steps: u32,
    },
    /// Batches would be empty.
    #[error("{kept} steps after the burn-in cannot fill {batches} batches; take more steps or fewer batches")]
    TooFewSteps {
        /// Steps left after the burn-in.
        kept: u32,
        /// Batches asked for.
        batches: u32,
    },
    /// The paper's constructions know nothing of the population.
    #[error(
        "the {construction} interval covers the optimum on this data set only; ask for --target empirical, or for --interval newton"
    )]
    PopulationNeedsNewton {
        /// What was asked.
        construction: &'static str,
    },
    /// A bound that bounds nothing, or everything.
    #[error("bounds on rows and responses must be between 0.001 and 100000, in standardised units")]
    Bounds,
    /// Fewer rows than unknowns.
    #[error("the model has {features} coefficients and the data {rows} rows; a fit needs more rows than coefficients")]
    TooFewRows {
        /// Coefficients.
        features: usize,
        /// Rows.
        rows: u64,
    },
}
