//! The commands that read rows.

use clap::Args as Group;
use dplm::{
    formula::{By, Weights},
    options::Target,
};

use super::{
    AccountArgs, BudgetArgs, CoverArgs, DataArgs, IntervalArgs, MachineArgs, MethodArgs, ModelArgs, PromiseArgs,
    RunArgs, SavedFits, whole, words,
};
use crate::{output::Destination, places::InputFile};

/// `dplm fit`.
#[derive(Debug, Group)]
#[command(mut_arg("inputs", |data| data.required(false).required_unless_present("pretend")))]
pub struct FitArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Means and covariances that are public (TOML, JSON or CSV), so that nothing is spent on them
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub moments: Option<InputFile>,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub promise: PromiseArgs,
    #[command(flatten)]
    pub method: MethodArgs,
    #[command(flatten)]
    pub interval: IntervalArgs,
    /// Weigh rows by a column with a public bound, for instance 'w[0..50]'
    #[arg(long, value_name = "W", help_heading = "Model")]
    pub weights: Option<Weights>,
    /// Fit each of several groups under one budget: 'region{north,south}'
    #[arg(long, value_name = "G", help_heading = "Model")]
    pub by: Option<By>,
    /// With --by: public sizes of the groups, as north=1000,south=800
    #[arg(long, value_name = "SIZES", requires = "by", help_heading = "Model")]
    pub group_sizes: Option<String>,
    #[command(flatten)]
    pub account: AccountArgs,
    /// Fit simulated rows [10000] that know the formula only: nothing is read or spent
    #[arg(
        long,
        value_name = "ROWS",
        value_parser = whole::<u64>,
        num_args = 0..=1,
        require_equals = true,
        conflicts_with = "ledger",
        help_heading = "Output"
    )]
    pub pretend: Option<Option<u64>>,
    /// Show the plan, the checks and the cost, and stop; nothing is spent
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// Write the result as JSON; - for standard output, instead of the summary
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<Destination>,
    /// Write the released iterates as CSV, in standardised units; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trajectory: Option<Destination>,
    /// Write a self-contained page for readers of the release
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub report: Option<Destination>,
    #[command(flatten)]
    pub cover: CoverArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// `dplm refine`.
#[derive(Debug, Group)]
pub struct RefineArgs {
    #[command(flatten)]
    pub saved: SavedFits,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub run: RunArgs,
}

/// `dplm study`.
#[derive(Debug, Group)]
pub struct StudyArgs {
    /// The study: its budget and its specifications
    #[arg(value_name = "FILE.toml")]
    pub study: InputFile,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub beside: StudyBeside,
    #[command(flatten)]
    pub run: RunArgs,
}

/// What a study's file may leave to the command line.
#[derive(Debug, Group)]
pub struct StudyBeside {
    /// Protect persons, each with all their rows: the column that identifies them
    #[arg(long, value_name = "ID", help_heading = "Privacy")]
    pub person: Option<String>,
    /// Of each person the first so many rows count [default: 1024]
    #[arg(long, value_name = "K", value_parser = whole::<u32>, help_heading = "Privacy")]
    pub rows_per_person: Option<u32>,
    /// Weigh rows by a column with a public bound, for instance 'w[0..50]'
    #[arg(long, value_name = "W", help_heading = "Model")]
    pub weights: Option<Weights>,
    /// What intervals are for: population, sample, robust (Huber) or person (each counts once)
    #[arg(long, value_name = "WHAT", value_parser = words::<Target>(), hide_possible_values = true, help_heading = "Model")]
    pub target: Option<Target>,
}

/// `dplm moments`.
#[derive(Debug, Group)]
pub struct MomentsArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// Say that the table is public, and that what is written of it may be published
    #[arg(long)]
    pub not_private: bool,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Write the moments to a file [default: standard output]
    #[arg(long, short, value_name = "FILE.toml")]
    pub out: Option<Destination>,
}

/// `dplm diagnose`.
#[derive(Debug, Group)]
pub struct DiagnoseArgs {
    #[command(flatten)]
    pub data: DataArgs,
    /// Say that you may see the rows, and that nothing printed will be published
    #[arg(long)]
    pub not_private: bool,
    #[command(flatten)]
    pub model: ModelArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    #[command(flatten)]
    pub promise: PromiseArgs,
    #[command(flatten)]
    pub method: MethodArgs,
    #[command(flatten)]
    pub interval: IntervalArgs,
    /// Write everything as JSON; - for standard output, instead of the text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<Destination>,
    #[command(flatten)]
    pub machine: MachineArgs,
}
