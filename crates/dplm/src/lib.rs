//! Linear regression under differential privacy, with honest error bars.
//!
//! ```no_run
//! let fit = dplm::lm("pay[0..200000] ~ age[18..90] + region{north,south}").rho(0.015)?.fit("people.csv")?;
//! println!("{fit}");
//! # Ok::<(), dplm::Error>(())
//! ```
//!
//! A [formula](formula) says what is publicly known of each column, a budget `rho` how much may be told about any one row.
//! [`lm`] lists the options; the [`Fit`] it gives holds released and public numbers only, so it may be printed, kept, and asked for other
//! levels and for predictions as often as one likes. `report` writes it as text, JSON and a page; [`forecast`] says what accuracy to
//! expect before anything is read.
//!
//! Those who keep a privacy ledger, or fit one table several times, take the steps one by one: [`table::Source`] opens a table,
//! [`Dataset::read`] encodes it, a [`method`] says what is asked, [`Dataset::prepare`] plans and checks, and [`Prepared::run`] wants the
//! [`Receipt`] that shows that the [`Charge`] was recorded.
//!
//! # How it works
//! Modules are declared in the order data flows through them, and none uses a later one; a test keeps that true.
//!
//! ```text
//! rows --encode--> lattice --sum--> Sensitive --release(Spend, rng)--> Released --> iterates --> intervals --> report
//! ```
//!
//! Left of [`privacy::release`] there are only integers computed from rows; right of it only released numbers.
//!
//! The modules `lattice`, `rows` and `descend` are the engine. They can be reached for benchmarks and experiments, and promise no
//! stability.

mod error;
pub mod number;
pub mod options;
mod progress;
mod contrast;
mod schema;
pub mod formula;
pub mod table;
#[doc(hidden)]
pub mod lattice;
pub mod privacy;
#[doc(hidden)]
pub mod rows;
#[doc(hidden)]
pub mod descend;
pub mod theory;
pub mod interval;
mod warning;
mod statement;
mod fit;
mod predict;
pub mod method;
pub mod diagnose;
mod dataset;
mod lm;
pub mod forecast;
pub mod report;

pub use contrast::Contrast;
pub use dataset::{Charge, Dataset, Prepared, Reading, Receipt};
pub use descend::Trajectory;
pub use error::Error;
pub use fit::{Coefficient, Fit, MethodSummary, Precision};
pub use lattice::Design;
pub use lm::{Lm, lm};
pub use predict::{Ends, Prediction};
pub use privacy::noise::NoiseSource;
pub use progress::{Interrupted, Progress};
pub use statement::{LedgerEntry, Statement};
pub use warning::{Enough, Warning};

/// The README's Rust example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
