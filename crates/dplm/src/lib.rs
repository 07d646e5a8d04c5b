//! Linear regression under differential privacy, with honest error bars.
//!
//! The modules below are declared in the order data flows through them:
//!
//! ```text
//! rows --encode--> lattice --sum--> Sensitive --release(Spend, rng)--> Released --> iterates --> intervals --> report
//! ```
//!
//! Left of [`privacy::release`] there are only integers computed from rows; right of it only released numbers.

mod error;
pub mod number;
mod matrix;
pub mod options;
mod progress;
pub mod schema;
mod contrast;
pub mod formula;
pub mod table;
pub mod lattice;
pub mod rows;
pub mod privacy;
pub mod descend;
pub mod interval;
pub mod theory;
mod warning;
pub mod method;
mod statement;
mod fit;
mod predict;
pub mod diagnose;
mod dataset;
pub mod forecast;
pub mod report;

pub use contrast::Contrast;
pub use dataset::{Charge, Dataset, Prepared, Reading, Receipt};
pub use error::Error;
pub use fit::{Coefficient, Fit, MethodSummary, Precision};
pub use predict::{Ends, Prediction};
pub use privacy::noise::NoiseSource;
pub use progress::{Interrupted, Progress};
pub use statement::{LedgerEntry, Statement};
pub use warning::{Cause, Enough, LeftOut, Warning};

/// The README's Rust example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
