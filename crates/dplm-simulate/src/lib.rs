//! Simulated regressions: the paper's generative setting, and some departures from it.
//!
//! A [`Setting`] says what to draw; [`Setting::draw`] fixes the unknowns from a seed and gives a [`Population`], from which any
//! number of rows can be taken, in memory ([`Population::sample`]) or to a file ([`write_table`]). [`pretend`] makes a table for a formula.
//!
//! Every row is a function of the setting, the seed and the row's own number. So the first thousand rows are the same
//! whether a thousand or a million are asked for, on one thread or on many.
//!
//! # Examples
//! ```
//! use dplm_simulate::Setting;
//! let population = Setting::new(3).draw(7)?;
//! let sample = population.sample(100);
//! assert_eq!((sample.x.len(), sample.y.len()), (300, 100));
//! # Ok::<(), dplm_simulate::SettingError>(())
//! ```

mod setting;
mod population;
mod write;
pub mod pretend;

pub use population::{Population, Sample, fresh_seed};
pub use setting::{Design, Errors, Setting, SettingError};
pub use write::{Format, record_batch, write_table};

#[cfg(test)]
mod tests;
