//! Mechanisms beside the Gaussian one, each with its argument: how what was computed from rows is
//! released by other noise, or by a choice.
//!
//! Each is a [`CustomMechanism`](dplm::privacy::CustomMechanism) of `dplm`, exactly sampled, and
//! pays in rho. The functions beside them are the same on numbers that are no one's: for tests, and
//! for audits of the mechanisms themselves.

#![cfg_attr(
    not(test),
    deny(
        clippy::cast_lossless,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a number that changes its value breaks the guarantee"
    )
)]

mod laplace;
mod select;
mod point;
mod tested;
mod fits;
mod eigenvalue;

pub use eigenvalue::LeastEigenvalue;
pub use fits::{BatchFits, Batching, Deepest, DeepestTested, Medians};
pub use laplace::Laplace;
pub use point::{IntegerBox, Nested, select_point};
pub use select::{Nearest, Scores, select};
pub use tested::{Depths, Failure, select_tested_point};
