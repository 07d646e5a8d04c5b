//! Linear regression under differential privacy, with honest error bars.
//!
//! # A fit
//! A formula says what is publicly known of each column, a budget says how much may be learned about any one row, and the result may be
//! published:
//!
//! ```
//! use dplm::{Dataset, NoiseSource, Reading, formula::Formula, method::{Request, auto}, privacy::Rho, table::Source};
//!
//! # let text: String = (0..4000).map(|i| format!("{},{}\n", i % 7, 2 * (i % 7) + i % 3)).collect();
//! # let mut file = std::io::Cursor::new(format!("x,y\n{text}"));
//! let table = Source::from_csv_stream(&mut file, "people.csv")?;
//! let formula = Formula::parse("y[0..20] ~ x[0..10]")?;
//! let mut data = Dataset::read(&table, &formula, &Reading::default())?;
//! let config = auto::Config { request: Request::new(Rho::checked_from_f64(1.0)?) };
//! let fit = data.fit(config, NoiseSource::System, &mut |_, _| Ok(()))?;
//! print!("{}", dplm::report::summary(&fit));
//! # Ok::<(), dplm::Error>(())
//! ```
//!
//! # Where to look
//! | to | see |
//! |---|---|
//! | write a model | [`formula::Formula`], its bounds `[low..high]` and its levels `{a,b}` |
//! | read CSV, Parquet and Arrow files, or Arrow memory | [`table::Source`] |
//! | choose a method and its options | [`method`]: [`auto`](method::auto), [`dpgd`](method::dpgd) (the paper's), [`adassp`](method::adassp) |
//! | know beforehand how accurate a fit will be | [`forecast`] |
//! | record what is spent before it is | [`Prepared`], [`Charge`], [`Receipt`], and the crate `dplm-ledger` |
//! | read a result | [`Fit`], [`Coefficient`], [`report`]; new rows: [`Fit::predict`] |
//! | look at the data in the clear, as their custodian | [`diagnose`], where everything is [`NotPrivate`](privacy::NotPrivate) |
//! | check the guarantee | [`privacy`]: the budget, the exact noise and its proof, the one way out |
//!
//! # How it works
//! The modules below are declared in the order data flows through them:
//!
//! ```text
//! rows --encode--> lattice --sum--> Sensitive --release(Spend, rng)--> Released --> iterates --> intervals --> report
//! ```
//!
//! Left of [`privacy::release`] there are only integers computed from rows; right of it only released numbers. One row can move a sum of
//! integers only so far, exactly; the noise is an exactly rounded Gaussian; so the guarantee holds for the program and not only for its
//! idealisation.
//!
//! # Features
//! `csv`, `parquet` and `arrow` read the formats of these names, and all are on. `parquet` needs `arrow`, since its columns are decoded to
//! Arrow's arrays. A program that embeds this crate can leave out what it does not read, and with it most of the dependencies.
//!
//! # Platforms
//! Linux and other Unix systems are tested. On others a file of rows that memory does not hold is used without asking first how much room
//! the disk has.

mod error;
pub mod number;
pub mod formula;
pub mod table;
pub mod lattice;
pub mod rows;
pub mod privacy;
pub mod descend;
pub mod interval;
pub mod theory;
pub mod method;
mod statement;
mod fit;
mod predict;
mod dataset;
mod prepared;
pub mod diagnose;
pub mod forecast;
pub mod report;

pub use dataset::{Dataset, NoiseSource, Reading};
pub use error::Error;
pub use fit::{Coefficient, Fit, MethodSummary, Precision};
pub use predict::{Ends, Prediction};
pub use prepared::{Charge, Prepared, Receipt};
pub use statement::{LedgerEntry, Statement};

/// The README's Rust example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
