//! What several commands take beside the options of the table.

use clap::Args as Group;

use crate::{
    output::Destination,
    places::{DataInput, InputFile},
};

/// The data.
#[derive(Debug, Group)]
pub struct DataArgs {
    /// Files (.csv .tsv .parquet .arrow), a folder or pattern of them, or - for CSV or Arrow on
    /// standard input
    #[arg(required = true, value_name = "DATA")]
    pub inputs: Vec<DataInput>,
}

/// What is said of the page.
#[derive(Debug, Default, Group)]
pub struct CoverArgs {
    /// With --report: its title
    #[arg(long, value_name = "TEXT", requires = "report", help_heading = "Output")]
    pub title: Option<String>,
    /// With --report: who publishes it
    #[arg(long, value_name = "TEXT", requires = "report", help_heading = "Output")]
    pub author: Option<String>,
    /// With --report: what the data are called [default: what the ledger calls them]
    #[arg(long, value_name = "TEXT", requires = "report", help_heading = "Output")]
    pub data_name: Option<String>,
}

/// A fit in a file, or those of several groups.
#[derive(Debug, Group)]
pub struct SavedFits {
    /// What 'dplm fit --json' has written
    #[arg(value_name = "FIT.json")]
    pub fit: InputFile,
    /// With the fits of several groups, only that of this one [default: each of them]
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
}

/// Where the results go, of the commands that spend on a model that is in a file.
#[derive(Debug, Group)]
pub struct ResultArgs {
    /// Write the result as JSON; - for standard output, instead of the summary
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<Destination>,
    /// Write a self-contained page for readers of the release
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub report: Option<Destination>,
    #[command(flatten)]
    pub cover: CoverArgs,
}
