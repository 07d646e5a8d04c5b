//! What a fit promises, in numbers.

use super::{Neighbours, Release, Rho};

/// The guarantee of a whole fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Guarantee {
    /// Which data sets it speaks about.
    pub neighbours: Neighbours,
    /// The whole budget, in zCDP.
    pub rho: Rho,
    /// The delta at which `epsilon` is stated.
    pub delta: f64,
    /// The exact epsilon at `delta`, rounded up.
    pub epsilon: f64,
    /// What the budget was spent on; adds up to exactly `rho`.
    pub releases: Vec<Release>,
}
