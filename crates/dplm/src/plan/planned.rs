//! What a method says of itself before it runs.

use super::white::Expected;
use crate::{
    options::Target,
    privacy::{Release, Rho},
    warning::LeftOut,
};

/// A fit as it is planned, for what is assumed of the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The method that will run.
    pub method: &'static str,
    /// What its intervals will be for.
    pub target: Target,
    /// Its descent.
    pub descent: Foretold,
    /// A descent that would be more precise, where clip or steps were given by hand.
    pub recommended: Option<Foretold>,
    /// What is spent on what, as it will be released.
    pub releases: Vec<Release>,
    /// The parameters that the budget can resolve, ascending.
    pub kept: Vec<usize>,
    /// Where only some coefficients are of interest, those.
    pub of_interest: Option<Vec<usize>>,
    /// How else these could be had, and what that would come to, if there are two ways.
    pub other_way: Option<(Way, Foretold)>,
    /// The others, and why.
    pub left_out: Vec<LeftOut>,
}

impl Planned {
    /// The plan of what the count of usable rows leaves, as a plan of the whole budget.
    pub(crate) fn after_count(mut self, count: Option<Rho>) -> Planned {
        self.releases.splice(..0, count.map(|rho| Release::planned(USABLE, rho)));
        self
    }
}

/// The name of the first release of a fit in reports of the budget.
pub(crate) const USABLE: &str = "number of usable rows";

/// How coefficients of interest are had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The controls are partialled out.
    PartiallingOut,
    /// All coefficients are fitted, and those of interest shown.
    AllCoefficients,
}

/// A descent and its errors, for a column of unit variance that is not correlated with others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Foretold {
    /// The clip `gamma`.
    pub clip: f64,
    /// Steps.
    pub steps: u32,
    /// Their size.
    pub step_size: f64,
    /// What they come to.
    pub errors: Expected,
}

/// A part of the budget.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PlannedRelease {
    /// What it is spent on.
    pub what: String,
    /// Its share of the budget.
    pub share: f64,
}

impl PlannedRelease {
    pub(super) fn of(release: &Release, whole: Rho) -> PlannedRelease {
        PlannedRelease { what: release.what.clone(), share: release.rho.to_f64() / whole.to_f64() }
    }
}
