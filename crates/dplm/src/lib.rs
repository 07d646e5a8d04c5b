//! Linear regression under differential privacy, with honest error bars.
//!
//! ```no_run
//! let fit = dplm::lm("pay[0..200000] ~ age[18..90] + region{north,south}").rho(0.015).fit("people.csv")?;
//! println!("{fit}");
//! # Ok::<(), dplm::Error>(())
//! ```
//!
//! A [`formula`] states what is publicly known of each column, and a budget `rho` how much may be
//! revealed about any one row. [`lm`] lists the options. The [`Fit`] that it returns holds released
//! and public numbers only, so it may be printed, kept, and asked for other levels and for
//! predictions any number of times.
//!
//! # Where to look
//! | to | see |
//! |---|---|
//! | write a model | [`formula::Formula`]: bounds `[low..high]`, levels `{a,b}` |
//! | choose a method and its options | [`Lm`]; [`method`]: [`auto`](method::auto), [`dpgd`](method::dpgd) (the paper's); more in the crate `dplm-methods` |
//! | know beforehand how accurate a fit will be | [`plan`]; no data are read |
//! | read a result | [`Fit`], [`Coefficient`], [`report`]; pages and tables in the crate `dplm-report`; for new rows [`Fit::predict`]; tests of hypotheses [`Fit::t_test`], [`Fit::wald_test`] |
//! | read CSV, Parquet and Arrow files, or Arrow memory | [`table::Source`] |
//! | fit one table several times, or keep a privacy ledger | [`Dataset::read`] encodes it, [`Dataset::prepare`] plans and checks, and [`Prepared::run`] takes the [`Receipt`] that shows that the [`Charge`] was recorded; the crate `dplm-ledger` makes one |
//! | look at the data without noise, as their custodian | [`Dataset::not_private`], where everything is [`NotPrivate`](privacy::NotPrivate); the crate `dplm-theory` |
//! | check the guarantee | [`privacy`]: the budget, the exact noise and its proof, the only way from rows to the outside |
//!
//! # How it works
//! Modules are declared in the order data flows through them, and none uses a later one; a test
//! checks that. What is asked and read, and holds no privacy, is the crate `dplm-input` below this
//! one, whose modules are offered here; pages, pictures and tables are `dplm-report` above it.
//!
//! ```text
//! rows --encode--> lattice --sum--> Sensitive --release(Spend, rng)--> Released --> iterates --> intervals --> report
//! ```
//!
//! Left of [`privacy::release`] there are only integers computed from rows; right of it only
//! released numbers. One row can move a sum of integers only so far, exactly, and the noise is an
//! exactly rounded Gaussian: the guarantee holds for the program, and not only for its
//! idealisation.
//!
//! The modules `lattice`, `rows` and `descend` are the engine. They are accessible for benchmarks
//! and experiments, without a promise of stability.
//!
//! # Features
//! `csv`, `parquet` and `arrow` read the formats of these names, and all are on. `parquet` needs
//! `arrow`, since its columns are decoded to Arrow's arrays. A program that embeds this crate can
//! leave out what it does not read, and with it most of the dependencies.
//!
//! Rows can be kept by other crates: `dplm-gpu` keeps them on an NVIDIA GPU where one is asked for,
//! once the program has called `dplm_gpu::install()`, and `dplm-cluster` on other machines.
//!
//! # Platforms
//! Unix systems and Windows. It is tested on Linux; the module `system` has what differs.

mod error;
mod matrix;
mod contrast;
#[doc(hidden)]
pub mod lattice;
pub mod privacy;
#[doc(hidden)]
pub mod rows;
#[doc(hidden)]
pub mod descend;
pub mod theory;
pub mod moments;
pub mod request;
pub mod interval;
mod warning;
mod statement;
mod fit;
mod predict;
mod hypothesis;
mod grouped;
pub mod plan;
pub mod method;
pub mod diagnose;
mod dataset;
mod checked;
mod refine;
pub mod study;
mod lm;
pub mod report;

pub use checked::{CheckedFit, Data, DryRun, Foreseen, ForeseenGroup, PreparedFit, Unforeseen};
pub use contrast::Contrast;
pub use dataset::{Charge, Dataset, GroupedDataset, Prepared, PreparedGroups, Reading, Receipt};
pub use descend::Trajectory;
#[doc(hidden)]
pub use dplm_input::{choice, option_table};
use dplm_input::{date, schema, system};
#[doc(inline)]
pub use dplm_input::{formula, number, options, progress, table};
pub use error::{Error, ErrorKind, OtherError};
pub use fit::{
    Bounded, Coefficient, Disagreement, FirstStage, Fit, Focus, Group, Index, MarginalEffect, MethodSummary, OddsRatio,
    Piece, Precision,
};
pub use grouped::{EqualityTest, Fitted, FittedGroup, GroupError, GroupOutcome, GroupedFit};
pub use hypothesis::{Equation, EventEffects, Hypothesis, HypothesisError, PeriodEffect, TTest, WaldTest};
pub use lattice::Design;
pub use lm::{Lm, lm};
pub use predict::{
    Covariance, Coverage, DesignRow, Effect, Ends, Over, OverPoint, OverValue, Prediction, PredictionError,
};
pub use privacy::{Person, noise::NoiseSource};
pub use progress::{Interrupted, Progress};
pub use refine::Refinement;
pub use request::{FitRequest, RunOptions};
pub use statement::{LedgerEntry, Statement};
pub use warning::{Cause, Enough, LeftOut, Warning};

/// The README's Rust example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
