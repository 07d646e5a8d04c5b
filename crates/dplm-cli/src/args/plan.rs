//! `dplm plan`.

use clap::Args as Group;
use dplm::plan::{Assumption, Stated};

use super::{AimArgs, BudgetArgs, MethodArgs, NeighboursArgs, features, number, rows};
use crate::{output::Destination, places::InputFile};

/// `dplm plan`.
#[derive(Debug, Group)]
pub struct PlanArgs {
    /// How many rows the data will have
    #[arg(long, value_name = "N", value_parser = rows)]
    pub rows: u64,
    /// The model that will be fitted, with its public facts
    #[arg(
        long,
        short,
        value_name = "F",
        required_unless_present_any = ["model", "features"],
        conflicts_with_all = ["model", "features"],
        help_heading = "Model"
    )]
    pub formula: Option<String>,
    /// The model in a TOML file; 'dplm init' prints a template
    #[arg(long, value_name = "FILE", conflicts_with = "features", help_heading = "Model")]
    pub model: Option<InputFile>,
    /// Instead of a model: how many coefficients it will have, of columns with unit variance
    #[arg(long, value_name = "P", value_parser = features, help_heading = "Model")]
    pub features: Option<u32>,
    /// What a code book says of columns: 'educ sd 3', 'region shares 0.6 0.4', 'R2 0.3'
    #[arg(long, value_name = "WHAT", conflicts_with = "features", help_heading = "Model")]
    pub assume: Vec<Assumption>,
    /// Means and covariances that are public, as 'dplm fit' takes them
    #[arg(long, value_name = "FILE", conflicts_with = "features", help_heading = "Model")]
    pub moments: Option<InputFile>,
    /// With --features, the standard deviation of the errors [default: 1]
    #[arg(long, value_name = "SD", value_parser = number, allow_negative_numbers = true, requires = "features", help_heading = "Model")]
    pub noise_sd: Option<f64>,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub neighbours: NeighboursArgs,
    #[command(flatten)]
    pub method: MethodArgs,
    #[command(flatten)]
    pub aim: AimArgs,
    /// Find the budget that gives a coefficient this standard error: 'educ 0.01'
    #[arg(long, value_name = "NAME SE", conflicts_with = "features", help_heading = "Questions")]
    pub want: Vec<Stated>,
    /// How often a coefficient of this size has the right sign and is significant
    #[arg(
        long,
        value_name = "NAME SIZE",
        conflicts_with = "features",
        allow_negative_numbers = true,
        help_heading = "Questions"
    )]
    pub effect: Vec<Stated>,
    /// Find the budget at which privacy adds this share of the sampling error
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = number,
        default_value_t = 0.5,
        allow_negative_numbers = true,
        help_heading = "Questions"
    )]
    pub share: f64,
    /// Write the plan as JSON; - for standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<Destination>,
    /// Draw interval length against rho
    #[arg(long, value_name = "FILE.svg")]
    pub picture: Option<Destination>,
    /// Write a page with a slider over rho, which needs no network
    #[arg(long, value_name = "FILE.html")]
    pub page: Option<Destination>,
}
