//! The commands that read rows.

use clap::Args as Group;

use super::{CoverArgs, DataArgs, Options, ResultArgs, SavedFits, options};
use crate::{output::Destination, places::InputFile};

/// `dplm fit`.
#[derive(Debug, Group)]
#[command(mut_arg("inputs", |data| data.required(false).required_unless_present("pretend")))]
pub struct FitArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub options: Options<options::Fit>,
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
}

/// `dplm refine`.
#[derive(Debug, Group)]
pub struct RefineArgs {
    #[command(flatten)]
    pub saved: SavedFits,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub options: Options<options::Refine>,
    #[command(flatten)]
    pub results: ResultArgs,
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
    pub options: Options<options::Study>,
    #[command(flatten)]
    pub results: ResultArgs,
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
    pub options: Options<options::Moments>,
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
    pub options: Options<options::Diagnose>,
    /// Write everything as JSON; - for standard output, instead of the text
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<Destination>,
}
