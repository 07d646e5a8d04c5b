//! What a fit will do with its budget, and what accuracy to expect of it, from public numbers only.
//! No data are read.
//!
//! Methods take their rules from here (how the budget is divided, how many steps, how much to
//! clip), and a [`Forecast`] takes the same rules from the method that would run, so that what is
//! promised is what is then done.
//!
//! | file | one idea |
//! |---|---|
//! | `noise.rs` | how much noise a budget buys |
//! | `strength.rs` | whether rows and budget are enough for the number of columns |
//! | `counts.rs` | how precise noisy counts are, and so how many rows a threshold may leave above it |
//! | `steps.rs` | how many steps forget a start |
//! | `shares.rs` | what the paper's method spends beside its descent |
//! | `white.rs` | the errors of a descent on white rows, given its clip and its steps |
//! | `weighing.rs` | what weights do to such a descent |
//! | `choices.rs` | what that division rests on and no theory gives |
//! | `skewed.rs` | what clipping does to skewed errors |
//! | `division.rs` | how the automatic method divides its budget |
//! | `assume.rs` | what is assumed of columns before they are read |
//! | `usable.rs` | what the count of usable rows costs, and where it stops a fit |
//! | `planned.rs` | what a method says of itself: releases, clip, steps, errors |
//! | `forecast.rs` | all of that for a model, and at other budgets |

pub(crate) mod noise;
pub(crate) mod strength;
pub(crate) mod counts;
pub(crate) mod steps;
mod shares;
mod weighing;
pub mod white;
mod choices;
pub(crate) mod skewed;
pub(crate) mod division;
mod assume;
pub(crate) mod usable;
mod planned;
mod forecast;

pub use assume::{AssumeError, Assumed, Assumption};
pub use choices::Choices;
pub use forecast::{
    AtBudget, Classical, Forecast, ForecastError, ForeseenCoefficient, OtherWay, Outlook, Plans, Question, Share,
    Stated, StatedEffect, Want,
};
pub(crate) use planned::USABLE;
pub use planned::{Foretold, Planned, PlannedRelease, Way};
