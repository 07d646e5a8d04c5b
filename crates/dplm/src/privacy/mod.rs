//! The only way from rows to the outside.
//!
//! [`Rows`](crate::rows::Rows) answer a query with a [`Sensitive`]: integers, and a claim about how
//! far one row can move them. [`release`] takes the query and a [`Spend`], adds exactly rounded
//! Gaussian noise, and gives a [`Released`] value. Nothing else turns one into the other. What is
//! computed from rows without passing `release` has the type [`NotPrivate`].
//!
//! A release with claim `sum_j w_j D_j^2 <= delta_sq` and budget `rho` gets noise of integer
//! standard deviation `sigma_j >= sqrt(delta_sq / (2 w_j rho))`, so its privacy loss
//! `sum_j D_j^2 / (2 sigma_j^2)` is at most `rho`. The noise is `round(sigma_j Z)` on integers,
//! which is post-processing of a real Gaussian: the whole run is `sqrt(2 rho)`-GDP, and the exact
//! (epsilon, delta) conversion holds.
//!
//! Other mechanisms are in the crates of the methods that need them: a [`CustomMechanism`] is shown
//! a [`Sealed`] answer by [`release_by`], and costs rho, and delta too if it tests. A run that uses
//! one is not Gaussian, and its guarantee is converted by a bound that holds for any zCDP
//! mechanism. A share of the budget is cut for one [`Mechanism`], which is recorded in the result.

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

pub mod noise;
pub mod convert;
mod not_private;
mod rho;
mod mechanism;
mod drawn;
mod budget;
mod unit;
mod neighbours;
mod promise;
mod sensitivity;
mod sensitive;
mod release;
mod custom;
mod guarantee;
#[cfg(test)]
pub(crate) mod transcript;

pub use budget::{Budget, Release, Spend};
pub use custom::{CustomMechanism, release_by};
pub use drawn::Noise;
pub use guarantee::{Epsilon, Guarantee, guess};
pub use mechanism::Mechanism;
pub use neighbours::Neighbours;
pub use not_private::NotPrivate;
pub use promise::{Mechanisms, Promise, Provenance, Unlike};
pub use release::{Noisy, Released, release, sigma_up};
pub use rho::Rho;
pub(crate) use rho::decimal;
pub use sensitive::{Claim, Sealed, Sensitive};
pub use sensitivity::Sensitivity;
pub use unit::{Person, Unit};

/// Why the guarantee cannot be given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PrivacyError {
    /// The operating system gives no randomness.
    #[error(transparent)]
    Entropy(#[from] noise::EntropyError),
    /// An (epsilon, delta) pair that is not a guarantee.
    #[error(transparent)]
    Convert(#[from] convert::ConvertError),
    /// The budget is not a positive finite number.
    #[error("the privacy budget rho must be a positive number, for instance 0.015")]
    RhoNotPositive,
    /// The budget is too large to mean anything.
    #[error("the privacy budget rho must be between {smallest} and {largest}", smallest = Rho::SMALLEST, largest = Rho::LARGEST)]
    RhoOutOfRange,
    /// Less of the budget is left than was asked for.
    #[error("this needs rho = {asked} and only {left} is left of the budget")]
    Overdraft {
        /// What was asked.
        asked: Rho,
        /// What is left.
        left: Rho,
    },
    /// What was recorded is the charge of another fit.
    #[error("what was recorded is the charge of another fit: record that of this one")]
    OtherCharge,
    /// The noise would not fit the lattice.
    #[error("the budget is so small that the noise does not fit the number format; give a larger rho or fewer steps")]
    NoiseTooLarge,
}
