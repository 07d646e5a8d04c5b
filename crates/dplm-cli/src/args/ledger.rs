//! `dplm ledger`.

use clap::{Args as Group, Subcommand};

use dplm::privacy::Mechanisms;

use super::{FitArgs, Options, number, options, whole, words};
use crate::{
    output::Destination,
    places::{InputFile, LedgerInput, NewFile},
};

/// `dplm ledger`.
#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Open a data set with its budget, in a new file or in one that is there
    Init(LedgerInitArgs),
    /// Add to the budget of a data set
    Grant(LedgerGrantArgs),
    /// Say how much an analyst may spend of a data set
    Limit(LedgerLimitArgs),
    /// Record what was released without this ledger, or lost from it
    Record(LedgerRecordArgs),
    /// Say that an entry was a mistake, and why; what was spent stays spent
    Reverse(LedgerReverseArgs),
    /// Look at a fit before it is paid for: the same plan paid twice, another table
    #[command(after_help = CHECK)]
    Check(Box<FitArgs>),
    /// What was granted and spent, and what is left
    Show(LedgerShowArgs),
    /// Write a page: what was released to whom, when, from which data, and what is left
    Report(LedgerReportArgs),
    /// Write every entry as JSON or CSV
    Export(LedgerExportArgs),
    /// Write a copy that is complete even if others write to the ledger meanwhile
    Backup(LedgerBackupArgs),
    /// Check the entries, and that they are those of fits and copies that were kept
    Verify(LedgerVerifyArgs),
}

const CHECK: &str = "\
The options are those of 'dplm fit', with --ledger and --dataset: a fit is checked by putting 'ledger check' in place
of 'fit'. The data are read and the fit is planned, up to where it would be paid for; nothing is spent or released.
Status 0 says that there is nothing to look at, status 1 that there is, or that the fit would be refused. Tables are
told apart by their columns and their number of rows, never by their cells.

Example:
  dplm ledger check wages.csv --formula 'pay[0..200000] ~ age[18..90]' --rho 0.015 --ledger budget.db --dataset wages";

/// The file of a ledger.
#[derive(Debug, Group)]
pub struct LedgerFile {
    /// The ledger
    #[arg(value_name = "FILE")]
    pub file: LedgerInput,
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
    pub options: Options<options::Account>,
    #[command(flatten)]
    pub promise: PromiseOf,
    /// Who keeps it, and why so much
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub note: String,
}

/// What an account promises, or something that was released.
#[derive(Debug, Group)]
pub struct PromiseOf {
    /// Persons are protected, each with all their rows: the column that identifies them
    #[arg(long, value_name = "ID", help_heading = "Privacy")]
    pub person: Option<String>,
    /// Which noise: gaussian, zcdp (any such), or tested (with tests)
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = words::<Mechanisms>(),
        default_value = "gaussian",
        hide_possible_values = true,
        help_heading = "Privacy"
    )]
    pub mechanisms: Mechanisms,
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
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true)]
    pub rho: f64,
    /// Who grants it, and why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub note: String,
}

/// `dplm ledger limit`.
#[derive(Debug, Group)]
pub struct LedgerLimitArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// The data set
    #[arg(long, value_name = "NAME")]
    pub dataset: String,
    /// Whom it binds [default: each who has no limit of their own]
    #[arg(long, value_name = "WHO", default_value = "", hide_default_value = true)]
    pub analyst: String,
    /// It binds all together who have no limit of their own
    #[arg(long, conflicts_with = "analyst")]
    pub others: bool,
    /// The most they may spend in all, what they have spent before included; 0 for nothing
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true)]
    pub rho: f64,
    /// Who decided it, and why
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub note: String,
}

/// `dplm ledger record`.
#[derive(Debug, Group)]
pub struct LedgerRecordArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// The data set
    #[arg(long, value_name = "NAME")]
    pub dataset: String,
    /// How much was spent
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true)]
    pub rho: f64,
    /// What was released
    #[arg(long, value_name = "TEXT")]
    pub what: String,
    #[command(flatten)]
    pub options: Options<options::Record>,
    #[command(flatten)]
    pub promise: PromiseOf,
    /// The delta at which a mechanism with a test was run; half of it was the test's
    #[arg(
        long,
        value_name = "D",
        value_parser = number,
        default_value_t = dplm::method::DELTA,
        hide_default_value = true,
        help_heading = "Privacy"
    )]
    pub delta: f64,
    /// The noise came from a fixed seed, so that nothing was promised
    #[arg(long, help_heading = "Privacy")]
    pub void: bool,
    /// Who asked for it, as the ledger knows them
    #[arg(long, value_name = "WHO", default_value = "", hide_default_value = true)]
    pub analyst: String,
    /// Why it is recorded here
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub note: String,
}

/// `dplm ledger reverse`.
#[derive(Debug, Group)]
pub struct LedgerReverseArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// The number of the entry, a grant or a fit; 'dplm ledger show' lists them
    #[arg(value_name = "ENTRY", value_parser = whole::<i64>)]
    pub entry: i64,
    /// Why it was a mistake
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
}

/// `dplm ledger report`.
#[derive(Debug, Group)]
pub struct LedgerReportArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// Only this data set
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,
    /// Where the page goes; - for standard output
    #[arg(long, short, value_name = "FILE.html")]
    pub out: Destination,
}

/// `dplm ledger backup`.
#[derive(Debug, Group)]
pub struct LedgerBackupArgs {
    #[command(flatten)]
    pub ledger: LedgerFile,
    /// The copy, a file that is not there yet
    #[arg(value_name = "COPY")]
    pub copy: NewFile,
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
    /// Fits (JSON) and copies of the ledger that were kept, which must agree with it
    #[arg(long, value_name = "FIT.json|COPY", num_args = 1..)]
    pub against: Vec<InputFile>,
}
