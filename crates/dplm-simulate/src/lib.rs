//! Simulated regressions: the paper's generative setting, and some departures from it.
//!
//! A [`Setting`] describes what to draw; [`Setting::draw`] fixes the unknowns from a seed and gives
//! a [`Population`], which provides any number of rows, in memory ([`Population::sample`]) or in a
//! file ([`write_table`]). [`pretend`] makes a table for a formula.
//!
//! Every row is a function of the setting, the seed and the row's own number. The first thousand
//! rows are therefore the same for a thousand or a million rows, on one thread or on many.
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
