//! `dplm ledger`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand};

use super::BudgetArgs;
use crate::output::Destination;

/// `dplm ledger`.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Open a data set with its budget, in a new file or in one that is there
    Init(LedgerInitArgs),
    /// Add to the budget of a data set
    Grant(LedgerGrantArgs),
    /// What was granted and spent, and what is left
    Show(LedgerShowArgs),
    /// Write every entry as JSON or CSV
    Export(LedgerExportArgs),
    /// Check the entries, and that they are those of fits that were kept
    Verify(LedgerVerifyArgs),
}

/// The file of a ledger.
#[derive(Debug, Group)]
pub struct LedgerFile {
    /// The ledger
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// `dplm ledger init`.
#[derive(Debug, Group)]
pub struct LedgerInitArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// What the data set will be called
    #[arg(long, value_name = "NAME")]
    pub dataset: String,
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Who keeps it, and why so much
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub note: String,
}

/// `dplm ledger grant`.
#[derive(Debug, Group)]
pub struct LedgerGrantArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// The data set
    #[arg(long, value_name = "NAME")]
    pub dataset: String,
    /// How much to add
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub rho: f64,
    /// Who grants it, and why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub note: String,
}

/// `dplm ledger show`.
#[derive(Debug, Group)]
pub struct LedgerShowArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// Only this data set
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,
    /// Write it as JSON; - for standard output, instead of the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<Destination>,
}

/// `dplm ledger export`.
#[derive(Debug, Group)]
pub struct LedgerExportArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// Only this data set
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,
    #[command(flatten)]
    pub formats: ExportFormats,
}

/// At least one format.
#[derive(Debug, Group)]
#[group(required = true, multiple = true)]
pub struct ExportFormats {
    /// Write every data set as JSON; - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<Destination>,
    /// Write every entry as CSV; - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<Destination>,
}

/// `dplm ledger verify`.
#[derive(Debug, Group)]
pub struct LedgerVerifyArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// A hash that was kept elsewhere: the ledger must go on from there
    #[arg(long, value_name = "HASH")]
    pub since: Option<String>,
    /// Fits that were kept: the JSON of each names its entry, which must be there unchanged
    #[arg(long, value_name = "FIT.json", num_args = 1..)]
    pub against: Vec<PathBuf>,
}
