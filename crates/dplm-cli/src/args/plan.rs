//! `dplm plan`.

use clap::Args as Group;

use super::{Options, options};
use crate::output::Destination;

/// `dplm plan`.
#[derive(Debug, Group)]
pub struct PlanArgs {
    #[command(flatten)]
    pub options: Options<options::Plan>,
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
