//! The commands that ask a fit in a file.

use clap::{Args as Group, ValueEnum};
use dplm::table::Dialect;
use dplm_report::TableForm;

use super::{SavedFits, number, words};
use crate::{
    output::Destination,
    places::{DataInput, InputFile},
};

/// `dplm test`.
#[derive(Debug, Group)]
pub struct TestArgs {
    #[command(flatten)]
    pub saved: SavedFits,
    /// What to test, for instance 'educ = 0' or 'educ = 0, exper = 0'
    #[arg(required = true, value_name = "HYPOTHESIS")]
    pub hypotheses: Vec<String>,
    /// How often an interval should cover [default: that of the fit]
    #[arg(long, value_name = "LEVEL", value_parser = number, allow_negative_numbers = true)]
    pub level: Option<f64>,
    /// Write the tests as JSON; - for standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<Destination>,
}

/// `dplm predict`.
#[derive(Debug, Group)]
pub struct PredictArgs {
    #[command(flatten)]
    pub saved: SavedFits,
    /// Rows to predict: files, a folder or pattern of them, or - for CSV or Arrow on standard input
    #[arg(required_unless_present = "over", conflicts_with = "over", value_name = "DATA")]
    pub inputs: Vec<DataInput>,
    /// How text is written: comma, semicolon, tab or pipe, and decimal-comma; joined by commas
    #[arg(long, value_name = "WORDS")]
    pub csv: Option<Dialect>,
    /// A column to write before the predictions as it is, to tell rows apart; may be repeated
    #[arg(long, value_name = "COLUMN", conflicts_with = "over")]
    pub id: Vec<String>,
    /// Instead of rows: go over the bounds, or the levels, of this column
    #[arg(long, value_name = "COLUMN")]
    pub over: Option<String>,
    /// With --over: hold another column at this value
    #[arg(long, value_name = "COLUMN=VALUE", conflicts_with = "inputs")]
    pub at: Vec<String>,
    /// With --over: make the intervals hold all at once, not each for its own point
    #[arg(long, conflicts_with_all = ["inputs", "person_interval"])]
    pub simultaneous: bool,
    /// How often an interval should cover [default: that of the fit]
    #[arg(long, value_name = "LEVEL", value_parser = number, allow_negative_numbers = true)]
    pub level: Option<f64>,
    /// Also say where a single person's response falls, if the spread of errors was released
    #[arg(long)]
    pub person_interval: bool,
    /// Refuse rows with an unusable cell, instead of leaving their lines empty
    #[arg(long)]
    pub strict: bool,
    /// Write the table to a file [default: standard output]
    // A default, so that a picture beside it is seen to go elsewhere.
    #[arg(long, short, value_name = "FILE.csv", default_value = "-", hide_default_value = true)]
    pub out: Destination,
    /// With --over: draw it
    #[arg(long, value_name = "FILE.svg", conflicts_with = "inputs")]
    pub picture: Option<Destination>,
}

/// `dplm table`.
#[derive(Debug, Group)]
pub struct TableArgs {
    /// What 'dplm fit --json', 'dplm refine --json' or 'dplm study --json' has written
    #[arg(required = true, value_name = "FIT.json")]
    pub results: Vec<InputFile>,
    /// What it is written as: latex, markdown, html, csv, docx, or svg, a picture
    #[arg(long, value_name = "FORM", value_parser = words::<TableForm>(), hide_possible_values = true, default_value = "markdown")]
    pub to: TableForm,
    /// Mark estimates by stars, at p-values below 0.05, 0.01 and 0.001
    #[arg(long)]
    pub stars: bool,
    /// Put intervals below the estimates, not standard errors
    #[arg(long)]
    pub intervals: bool,
    /// What each column is called, joined by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub names: Vec<String>,
    /// What stands above the table
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Where it goes [default: standard output]
    #[arg(long, short, value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub out: Destination,
}

/// `dplm export`.
#[derive(Debug, Group)]
pub struct ExportArgs {
    /// What 'dplm fit --json' or 'dplm study --json' has written
    #[arg(value_name = "FIT.json")]
    pub fit: InputFile,
    /// Whose words to use
    #[arg(long = "for", value_name = "LIBRARY")]
    pub library: Library,
    /// Where it goes [default: standard output]
    #[arg(long, short, value_name = "FILE.json")]
    pub out: Option<Destination>,
}

/// A library that keeps account of privacy.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Library {
    /// Google's dp-accounting
    DpAccounting,
    /// OpenDP
    #[value(name = "opendp")]
    OpenDp,
}
