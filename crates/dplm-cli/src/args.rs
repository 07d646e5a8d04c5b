//! What was typed: names and shapes only. What it means is checked in [`settings`](crate::settings).

use std::{path::PathBuf, str::FromStr};

use clap::{
    ArgAction, Args as Group, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use dplm::table::Dialect;
use dplm::{
    formula::{By, Weights},
    method,
    options::{Choice, IntervalMethod, Purpose, Target},
    plan::{Assumption, Stated},
    privacy::Neighbours,
};
use dplm_simulate::{Design, Errors};

use crate::output::Destination;

/// Linear regression under differential privacy, with honest error bars.
#[derive(Debug, Parser)]
#[command(
    name = "dplm",
    version,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    disable_help_flag = true,
    after_help = "Start with 'dplm demo'. Each command explains itself: 'dplm fit --help'.\n\n\
                  Exit status: 0 done; 1 refused or failed (data, budget, files); 2 the command was wrong."
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print results and errors only: no progress, notes or warnings, but for a seed's
    #[arg(long, short, global = true, display_order = 1000)]
    pub quiet: bool,
    /// Print this help
    // The short form for both spellings: one line an option fits on a screen.
    #[arg(long, short, global = true, display_order = 1001, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

impl Args {
    /// Reads the command line.
    ///
    /// # Errors
    /// The parser's own answer: help, the version, or what is wrong.
    pub fn from_command_line() -> Result<Args, clap::Error> {
        Args::try_parse()
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Fit data it makes itself, and explain what comes out
    #[command(after_help = DEMO)]
    Demo(DemoArgs),
    /// Fit a linear regression privately
    #[command(after_help = FIT)]
    Fit(Box<FitArgs>),
    /// Spend more on a model that was fitted before, and pool both fits
    #[command(after_help = REFINE)]
    Refine(RefineArgs),
    /// Fit a main specification and its checks under one budget
    #[command(after_help = STUDY)]
    Study(StudyArgs),
    /// Test hypotheses about the coefficients of a saved fit
    #[command(after_help = TEST)]
    Test(TestArgs),
    /// Predict the mean response of new rows, or over a column, from a saved fit
    #[command(after_help = PREDICT)]
    Predict(PredictArgs),
    /// What accuracy to expect, from public numbers only
    #[command(after_help = PLAN)]
    Plan(PlanArgs),
    /// Write the means and covariances of a table that is public, for fits of other tables
    #[command(after_help = MOMENTS)]
    Moments(MomentsArgs),
    /// Write simulated data to a file
    #[command(after_help = SIMULATE)]
    Simulate(SimulateArgs),
    /// Look at the data without privacy: least squares, clipping, the law of the iterates
    #[command(after_help = DIAGNOSE)]
    Diagnose(DiagnoseArgs),
    /// Keep the privacy budget of data sets in a file
    #[command(subcommand, after_help = LEDGER)]
    Ledger(LedgerCommand),
    /// Print a model file for a person to fill in
    #[command(after_help = INIT)]
    Init(InitArgs),
    /// The paper's experiments: data, pictures, and a verdict for each claim
    #[command(subcommand, after_help = LAB)]
    Lab(LabCommand),
    /// Print what a shell needs to complete commands and options
    #[command(after_help = COMPLETIONS)]
    Completions(CompletionsArgs),
}

const DEMO: &str = "\
Simulates 10,000 rows with 10 features, fits them privately at rho = 0.015, and explains the result.
Takes about a second and writes no file.";

const FIT: &str = "\
The formula is R's, with the public facts about each column written into it:
  name[lo..hi]   a number with public bounds; values outside are moved to the bound
  name{a,b,c}    a category with public levels; the first is the reference
  + 0            leaves out the intercept
Bounds and levels must come from public knowledge, never from the data. With --standardised also:
  name           a number that is already centred and of about unit variance
  .              every other numeric column of a Parquet or Arrow file, taken as such

Examples:
  dplm fit survey.csv --formula 'earnings[0..200000] ~ age[18..90] + region{north,south}' --rho 0.015
  dplm fit survey.parquet --model model.toml --epsilon 1 --json fit.json";

const REFINE: &str = "\
Fits the model of a saved fit again on the same data, from where that fit ended, and pools both by their precision. The
result promises what both budgets together promise, is about as precise as one fit at that budget, and can be refined
again. A ledger is charged for the second fit only: the first was paid for.

Example:
  dplm fit wages.csv --formula 'wage[0..60] ~ educ[0..20] + exper[0..45]' --rho 0.01 --json fit.json
  dplm refine fit.json wages.csv --rho 0.02 --json refined.json";

const STUDY: &str = "\
A study is a TOML file: a budget, and a [[specification]] with a name, a formula and (if it should not be the usual one)
a share for each model. What is known of columns is written in the formulas or once under [columns.NAME]. Second moments
are released once for all specifications; of the rest the first one, the main one, gets half and the others what is left,
unless shares say otherwise. A ledger is charged once, for the whole study, before any noise is drawn. The file may also
say person, rows_per_person, weights and target, as the options of 'dplm fit' do; or they are given here.

Example of a file:
  rho = 0.1
  interest = 'educ'       # followed across specifications
  simultaneous = true     # its intervals hold in all of them at once
  person = 'id'           # protects persons with all their rows
  [[specification]]
  name = 'main'
  formula = 'wage[0..60] ~ educ[0..20] + exper[0..45]'
  [[specification]]
  name = 'without exper'
  formula = 'wage[0..60] ~ educ[0..20]'

Example:
  dplm study wages.toml wages.csv --report study.html";

const COMPLETIONS: &str = "\
Examples:
  dplm completions bash > ~/.local/share/bash-completion/completions/dplm
  dplm completions zsh > ~/.zfunc/_dplm";

const TEST: &str = "\
A hypothesis is a linear equation in the coefficients, named as the fit prints them; without '=' it is tested against 0.
Equations separated by commas are tested together, by a chi-square test. Nothing is spent and no data are read. Of the
fits of several groups (--by) each is tested, or that of one --group.

Examples:
  dplm fit wages.csv --formula 'wage[0..60] ~ educ[0..20] + exper[0..45] + union{no,yes}' --rho 0.1 --json fit.json
  dplm test fit.json 'educ = 1' 'educ - 2*exper' 'exper = 0, union[yes] = 0'";

const PREDICT: &str = "\
The rows need the model's features and not its response, and cells are read as they were in the fit. The result is a
table (CSV) with a line for each row: the mean response of all rows like it, its standard error and its interval. Lines
are empty where a cell is missing. With --over no rows are read: a number goes over its public bounds, a category over
its levels. Other numbers are held at the middle of their bounds and other categories averaged, each level alike, unless
--at says otherwise. Nothing is spent, and the data of the fit are not needed. With the fits of several groups (--by)
each row is predicted by that of its own group, or all rows by that of one --group; --over goes through all of them.

Examples:
  dplm predict fit.json new.csv --out predicted.csv
  dplm predict fit.json --over exper --at educ=12 --at union=yes --picture exper.svg";

const PLAN: &str = "\
No data are read and nothing is spent: the method that would run says what it would do with the budget. How far columns
spread within their bounds nobody knows beforehand. Assumed are, and printed: three standard deviations from the
middle of the bounds to either end, equally common levels, no correlation, and errors as spread as the response. Say
better with --assume: 'NAME sd S', 'NAME mean M sd S', 'NAME shares A B ...', 'correlation R', 'R2 R', 'errors sd S'.
With --features, figures are for the paper's method on columns of unit variance that are not correlated.

Examples:
  dplm plan --formula 'pay[0..200000] ~ age[18..90]' --rows 10000 --rho 0.015 --assume 'pay sd 30000' --page plan.html
  dplm plan --formula 'pay[0..200000] ~ age[18..90]' --rows 10000 --rho 0.015 --want 'age 40' --effect 'age 300'
  dplm plan --features 10 --rows 10000 --rho 0.015 --picture plan.svg";

const MOMENTS: &str = "\
Second moments that are public spare a fit what it would spend to find them: at a weak budget that is the difference
between intervals and none. This writes those of the terms of a model from a table that is public itself: an earlier
wave, a public-use file, another country. Nothing about it is private: never use the table that the fit is to protect.

Example:
  dplm moments public-2019.csv --formula 'pay[0..200000] ~ age[18..90] + educ[0..20]' --not-private --out pay.toml
  dplm fit survey-2024.csv --formula 'pay[0..200000] ~ age[18..90] + educ[0..20]' --rho 0.005 --moments pay.toml";

const SIMULATE: &str = "\
Writes a table with columns x1 to xP and y = x'theta + error, and prints the true coefficients theta. The setting is the
paper's: theta uniform on the unit sphere, Gaussian features, independent errors of mean zero. Rows are written as they
are drawn, so any number of them fits in little memory. Student errors have 4 degrees of freedom, skewed ones are
exponential; both are scaled to the standard deviation asked for.

Example:
  dplm simulate --rows 10000 --features 10 --out sim.parquet
  dplm fit sim.parquet --formula 'y ~ . + 0' --standardised --rho 0.015";

const DIAGNOSE: &str = "\
For whoever may see the rows anyway: nothing it prints may be published. Shows least squares as lm would, then a fit
with the options given (rho 0.015 if none is): how many rows each step clipped, the paper's No-Clipping Condition item
by item, and the exact law of the iterates beside what happened.

Example:
  dplm diagnose sim.parquet --formula 'y ~ . + 0' --standardised --rho 0.015 --not-private";

const INIT: &str = "\
The template holds the names of the columns, and their types where the file declares them, with every bound and level
left blank. Fill it in from public knowledge and give it to 'dplm fit --model'. No value of the data is printed.";

const LEDGER: &str = "\
A budget outlives any one fit. Open a ledger once, and name it in every fit of the data: what a fit spends is recorded
on disk before any noise is drawn, more than is left is refused, and every run spends, a repeated one too.

Examples:
  dplm ledger init budget.db --dataset wages --rho 0.1
  dplm fit wages.csv --formula 'pay[0..200000] ~ age[18..90]' --rho 0.015 --ledger budget.db --dataset wages
  dplm ledger show budget.db";

const LAB: &str = "\
Runs the experiments of the paper on simulated data: a table, a picture and a verdict for each claim. Stopped, it goes
on where it was when run again with the same folder. Definitions are small files; --set changes any number in them.

Examples:
  dplm lab run pn coverage --quick --out results
  dplm lab run cost-low --set rho=0.1 --set repetitions=20 --out mine
  dplm lab check";

/// `dplm demo`.
#[derive(Debug, Group)]
pub struct DemoArgs {
    /// Make the noise reproducible
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
}

/// `dplm fit`.
#[derive(Debug, Group)]
pub struct FitArgs {
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub model: ModelArgs,
    /// Means and covariances that are public (TOML, JSON or CSV), so that nothing is spent on them
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub moments: Option<PathBuf>,
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
    /// Spend from this ledger: recorded before any noise is drawn
    #[arg(long, value_name = "FILE", requires = "dataset", help_heading = "Privacy")]
    pub ledger: Option<PathBuf>,
    /// What the ledger calls the data
    #[arg(long, value_name = "NAME", requires = "ledger", help_heading = "Privacy")]
    pub dataset: Option<String>,
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

/// The data.
#[derive(Debug, Group)]
pub struct DataArgs {
    /// Files (.csv .tsv .parquet .arrow), a folder or pattern of them, or - for CSV on standard input
    #[arg(required = true, value_name = "DATA")]
    pub inputs: Vec<String>,
    /// How text is written: comma, semicolon, tab or pipe, and decimal-comma; joined by commas
    #[arg(long, value_name = "WORDS")]
    pub csv: Option<Dialect>,
    /// Refuse data with a missing or unusable cell, instead of letting its row contribute nothing
    #[arg(long)]
    pub strict: bool,
}

/// The model: a formula or a file.
#[derive(Debug, Group)]
pub struct ModelArgs {
    /// The model, for instance 'pay[0..200000] ~ age[18..90] + region{north,south}'
    #[arg(
        long,
        short,
        value_name = "F",
        required_unless_present = "model",
        conflicts_with = "model",
        help_heading = "Model"
    )]
    pub formula: Option<String>,
    /// The model in a TOML file; 'dplm init' prints a template
    #[arg(long, value_name = "FILE", help_heading = "Model")]
    pub model: Option<PathBuf>,
    /// Say that columns without bounds or levels are centred and of about unit variance
    #[arg(long, help_heading = "Model")]
    pub standardised: bool,
}

/// The privacy budget.
#[derive(Debug, Group)]
pub struct BudgetArgs {
    /// The whole budget in zero-concentrated differential privacy (zCDP), for instance 0.015
    #[arg(long, value_name = "R", allow_negative_numbers = true, conflicts_with = "epsilon", help_heading = "Privacy")]
    pub rho: Option<f64>,
    /// The whole budget as (epsilon, delta): the largest rho that keeps this promise is used
    #[arg(long, value_name = "E", allow_negative_numbers = true, help_heading = "Privacy")]
    pub epsilon: Option<f64>,
    /// With --epsilon, part of the budget; with --rho, where epsilon is stated [default: 1e-6]
    #[arg(long, value_name = "D", allow_negative_numbers = true, help_heading = "Privacy")]
    pub delta: Option<f64>,
}

/// What is promised, and how the noise is drawn.
#[derive(Debug, Group)]
pub struct PromiseArgs {
    /// What is hidden: replace-one, or zero-out (a row adds nothing)
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = words::<Neighbours>(),
        default_value = "replace-one",
        hide_possible_values = true,
        help_heading = "Privacy"
    )]
    pub neighbours: Neighbours,
    /// Protect persons, each with all their rows: the column that identifies them
    #[arg(long, value_name = "ID", help_heading = "Privacy")]
    pub person: Option<String>,
    /// Of each person the first so many rows count [default: 1024]
    #[arg(long, value_name = "K", requires = "person", help_heading = "Privacy")]
    pub rows_per_person: Option<u32>,
    /// Make the noise reproducible: for tests only, the result is then not private
    #[arg(long, value_name = "S", help_heading = "Privacy")]
    pub seed: Option<u64>,
}

/// How to fit.
#[derive(Debug, Group)]
pub struct MethodArgs {
    /// auto, dpgd (the paper's), adassp, or one of docs/methods.md [default: auto with bounds]
    #[arg(long, value_name = "M", value_parser = methods(), hide_possible_values = true, help_heading = "Method")]
    pub method: Option<method::Entry>,
    /// Largest norm of a row's gradient, standardised (gamma): a number or auto
    #[arg(long, value_name = "GAMMA", default_value = "auto", allow_negative_numbers = true, help_heading = "Method")]
    pub clip: Auto<f64>,
    /// How many gradient steps: a number or auto
    #[arg(long, value_name = "T", default_value = "auto", allow_negative_numbers = true, help_heading = "Method")]
    pub steps: Auto<u32>,
    /// How far a step goes (eta): a number or auto
    #[arg(long, value_name = "ETA", default_value = "auto", allow_negative_numbers = true, help_heading = "Method")]
    pub step_size: Auto<f64>,
}

/// What the intervals are.
#[derive(Debug, Group)]
pub struct IntervalArgs {
    /// newton, or one of the paper's: batched, checkpoints, independent
    #[arg(long, value_name = "HOW", default_value = "newton", value_parser = words::<IntervalMethod>(), hide_possible_values = true, help_heading = "Intervals")]
    pub interval: IntervalMethod,
    /// What intervals are for: population, sample, robust (Huber) or person (each counts once)
    #[arg(long, value_name = "WHAT", value_parser = words::<Target>(), hide_possible_values = true, help_heading = "Intervals")]
    pub target: Option<Target>,
    /// How often an interval should cover
    #[arg(
        long,
        value_name = "LEVEL",
        default_value_t = 0.95,
        allow_negative_numbers = true,
        help_heading = "Intervals"
    )]
    pub level: f64,
    /// Batches, checkpoints or runs of the paper's intervals
    #[arg(long, value_name = "M", default_value_t = 10, allow_negative_numbers = true, help_heading = "Intervals")]
    pub batches: u32,
    /// Steps left out at the start: a number or auto
    #[arg(long, value_name = "K", default_value = "auto", allow_negative_numbers = true, help_heading = "Intervals")]
    pub burn_in: Auto<u32>,
    /// inference, or prediction: estimates only, and nothing spent on intervals
    #[arg(
        long,
        alias = "for",
        value_name = "WHY",
        value_parser = words::<Purpose>(),
        default_value = "inference",
        hide_possible_values = true,
        help_heading = "Intervals"
    )]
    pub purpose: Purpose,
}

/// What the machine may use.
#[derive(Debug, Group)]
pub struct MachineArgs {
    /// Threads to use [default: one for each processor]; the result does not depend on it
    #[arg(long, value_name = "K", help_heading = "Machine")]
    pub threads: Option<usize>,
    /// The most memory the rows may take, for instance 2GB or 500MiB
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Machine")]
    pub memory: Option<u64>,
}

/// `dplm simulate`.
#[derive(Debug, Group)]
pub struct SimulateArgs {
    /// How many rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub rows: u64,
    /// How many features
    #[arg(long, value_name = "P")]
    pub features: usize,
    /// Where to: a name ending in .csv, .tsv, .parquet or .arrow, or - for CSV on standard output
    #[arg(long, short, value_name = "FILE")]
    pub out: Destination,
    /// isotropic, or anisotropic: a random covariance, eigenvalues from 1 to 2
    #[arg(long, value_name = "KIND", default_value = "isotropic", value_parser = words::<Design>(), hide_possible_values = true)]
    pub design: Design,
    /// Standard deviation of the errors
    #[arg(long, value_name = "SD", default_value_t = 1.0, allow_negative_numbers = true)]
    pub noise_sd: f64,
    /// Law of the errors: gaussian, student (heavy tails) or skewed
    #[arg(long, value_name = "LAW", default_value = "gaussian", value_parser = words::<Errors>(), hide_possible_values = true)]
    pub errors: Errors,
    /// The true coefficients, separated by commas [default: drawn]
    #[arg(long, value_name = "T1,T2,...", value_delimiter = ',', allow_negative_numbers = true)]
    pub theta: Option<Vec<f64>>,
    /// The same seed gives the same file, byte for byte [default: a fresh one, which is printed]
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
}

/// `dplm init`.
#[derive(Debug, Group)]
pub struct InitArgs {
    /// Files (.csv .tsv .parquet .arrow), a folder or pattern of them, or - for CSV on standard input
    #[arg(required = true, value_name = "DATA")]
    pub inputs: Vec<String>,
    /// How text is written: comma, semicolon, tab or pipe, and decimal-comma; joined by commas
    #[arg(long, value_name = "WORDS")]
    pub csv: Option<Dialect>,
    /// Write the template to a new file instead
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

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

/// `dplm lab`.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Name the figures
    List,
    /// Run figures: a table, a picture and verdicts for each
    Run(LabRunArgs),
    /// Judge every claim from the committed record, or from a folder that 'lab run' wrote
    Check {
        /// The folder [default: the record that ships with the program]
        #[arg(value_name = "DIR")]
        record: Option<PathBuf>,
    },
    /// Draw the figures of a record again
    Draw {
        /// The folder of the record
        #[arg(value_name = "DIR")]
        record: PathBuf,
        /// Where to
        #[arg(long, short, value_name = "DIR")]
        out: PathBuf,
    },
}

/// `dplm lab run`.
#[derive(Debug, Group)]
pub struct LabRunArgs {
    /// Which figures, as 'dplm lab list' names them; all for every one
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Where tables, pictures and verdicts go
    #[arg(long, short, value_name = "DIR", default_value = "lab-results")]
    pub out: PathBuf,
    /// Fewer points and repetitions: seconds instead of minutes
    #[arg(long)]
    pub quick: bool,
    /// Another seed than the definition's; the same seed gives the same numbers
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Change a parameter of the definition, for instance rho=0.1 or p=[10,50]
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// A fit in a file.
#[derive(Debug, Group)]
pub struct SavedFit {
    /// What 'dplm fit --json' has written
    #[arg(value_name = "FIT.json")]
    pub fit: PathBuf,
}

/// A fit in a file, or those of several groups.
#[derive(Debug, Group)]
pub struct SavedFits {
    /// What 'dplm fit --json' has written
    #[arg(value_name = "FIT.json")]
    pub fit: PathBuf,
    /// With the fits of several groups, only that of this one [default: each of them]
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
}

/// `dplm refine`.
#[derive(Debug, Group)]
pub struct RefineArgs {
    #[command(flatten)]
    pub saved: SavedFit,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// Make the noise reproducible: for tests only, the result is then not private
    #[arg(long, value_name = "S", help_heading = "Privacy")]
    pub seed: Option<u64>,
    /// Spend from this ledger: recorded before any noise is drawn
    #[arg(long, value_name = "FILE", requires = "dataset", help_heading = "Privacy")]
    pub ledger: Option<PathBuf>,
    /// What the ledger calls the data
    #[arg(long, value_name = "NAME", requires = "ledger", help_heading = "Privacy")]
    pub dataset: Option<String>,
    /// Write the result as JSON; - for standard output, instead of the summary
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<Destination>,
    /// Write a self-contained page for readers of the release
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub report: Option<Destination>,
    #[command(flatten)]
    pub cover: CoverArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// `dplm study`.
#[derive(Debug, Group)]
pub struct StudyArgs {
    /// The study: its budget and its specifications
    #[arg(value_name = "FILE.toml")]
    pub study: PathBuf,
    #[command(flatten)]
    pub data: DataArgs,
    #[command(flatten)]
    pub beside: StudyBeside,
    /// Make the noise reproducible: for tests only, the result is then not private
    #[arg(long, value_name = "S", help_heading = "Privacy")]
    pub seed: Option<u64>,
    /// Spend from this ledger: recorded before any noise is drawn
    #[arg(long, value_name = "FILE", requires = "dataset", help_heading = "Privacy")]
    pub ledger: Option<PathBuf>,
    /// What the ledger calls the data
    #[arg(long, value_name = "NAME", requires = "ledger", help_heading = "Privacy")]
    pub dataset: Option<String>,
    /// Write all fits as JSON; - for standard output, instead of the summary
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub json: Option<Destination>,
    /// Write a self-contained page with all specifications side by side
    #[arg(long, value_name = "FILE.html", help_heading = "Output")]
    pub report: Option<Destination>,
    #[command(flatten)]
    pub cover: CoverArgs,
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// What a study's file may leave to the command line.
#[derive(Debug, Group)]
pub struct StudyBeside {
    /// Protect persons, each with all their rows: the column that identifies them
    #[arg(long, value_name = "ID", help_heading = "Privacy")]
    pub person: Option<String>,
    /// Of each person the first so many rows count [default: 1024]
    #[arg(long, value_name = "K", help_heading = "Privacy")]
    pub rows_per_person: Option<u32>,
    /// Weigh rows by a column with a public bound, for instance 'w[0..50]'
    #[arg(long, value_name = "W", help_heading = "Model")]
    pub weights: Option<Weights>,
    /// What intervals are for: population, sample, robust (Huber) or person (each counts once)
    #[arg(long, value_name = "WHAT", value_parser = words::<Target>(), hide_possible_values = true, help_heading = "Model")]
    pub target: Option<Target>,
}

/// `dplm test`.
#[derive(Debug, Group)]
pub struct TestArgs {
    #[command(flatten)]
    pub saved: SavedFits,
    /// What to test, for instance 'educ = 0' or 'educ = 0, exper = 0'
    #[arg(required = true, value_name = "HYPOTHESIS")]
    pub hypotheses: Vec<String>,
    /// How often an interval should cover [default: that of the fit]
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true)]
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
    /// Rows to predict: files, a folder or pattern of them, or - for CSV on standard input
    #[arg(required_unless_present = "over", conflicts_with = "over", value_name = "DATA")]
    pub inputs: Vec<String>,
    /// How text is written: comma, semicolon, tab or pipe, and decimal-comma; joined by commas
    #[arg(long, value_name = "WORDS")]
    pub csv: Option<Dialect>,
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
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true)]
    pub level: Option<f64>,
    /// Also say where a single person's response falls, if the spread of errors was released
    #[arg(long)]
    pub person_interval: bool,
    /// Refuse rows with an unusable cell, instead of leaving their lines empty
    #[arg(long)]
    pub strict: bool,
    /// Write the table to a file [default: standard output]
    #[arg(long, short, value_name = "FILE.csv")]
    pub out: Option<Destination>,
    /// With --over: draw it
    #[arg(long, value_name = "FILE.svg", conflicts_with = "inputs")]
    pub picture: Option<Destination>,
}

/// `dplm completions`.
#[derive(Debug, Group)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `dplm plan`.
#[derive(Debug, Group)]
pub struct PlanArgs {
    /// How many rows the data will have
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
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
    pub model: Option<PathBuf>,
    /// Instead of a model: how many coefficients it will have, of columns with unit variance
    #[arg(long, value_name = "P", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Model")]
    pub features: Option<u32>,
    /// What a code book says of columns: 'educ sd 3', 'region shares 0.6 0.4', 'R2 0.3'
    #[arg(long, value_name = "WHAT", conflicts_with = "features", help_heading = "Model")]
    pub assume: Vec<Assumption>,
    /// Means and covariances that are public, as 'dplm fit' takes them
    #[arg(long, value_name = "FILE", conflicts_with = "features", help_heading = "Model")]
    pub moments: Option<PathBuf>,
    /// With --features, the standard deviation of the errors [default: 1]
    #[arg(long, value_name = "SD", allow_negative_numbers = true, requires = "features", help_heading = "Model")]
    pub noise_sd: Option<f64>,
    #[command(flatten)]
    pub budget: BudgetArgs,
    /// What is hidden: replace-one, or zero-out (a row adds nothing)
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = words::<Neighbours>(),
        default_value = "replace-one",
        hide_possible_values = true,
        help_heading = "Privacy"
    )]
    pub neighbours: Neighbours,
    #[command(flatten)]
    pub method: MethodArgs,
    /// What intervals are for: population, sample (these rows) or robust (Huber)
    #[arg(long, value_name = "WHAT", value_parser = words::<Target>(), hide_possible_values = true, help_heading = "Intervals")]
    pub target: Option<Target>,
    /// How often an interval should cover
    #[arg(
        long,
        value_name = "LEVEL",
        default_value_t = 0.95,
        allow_negative_numbers = true,
        help_heading = "Intervals"
    )]
    pub level: f64,
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

/// A value, or the word `auto`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Auto<T> {
    /// Chosen from public numbers.
    Auto,
    /// As typed.
    Given(T),
}

impl<T> Auto<T> {
    /// The value typed, if any.
    pub fn given(self) -> Option<T> {
        match self {
            Auto::Auto => None,
            Auto::Given(value) => Some(value),
        }
    }
}

impl<T: FromStr> FromStr for Auto<T> {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Auto<T>, Self::Err> {
        match text {
            "auto" => Ok(Auto::Auto),
            number => number.parse().map(Auto::Given).map_err(|_| "give a number or auto"),
        }
    }
}

/// The words of an option, as the library lists them.
fn words<T: Choice>() -> impl TypedValueParser<Value = T> {
    let listed = |value: &T| PossibleValue::new(value.word()).aliases(value.synonyms().iter().copied());
    PossibleValuesParser::new(T::ALL.iter().map(listed)).try_map(|word| word.parse())
}

/// The names of all methods, the library's own and others.
fn methods() -> impl TypedValueParser<Value = method::Entry> {
    PossibleValuesParser::new(dplm_methods::all().map(|entry| entry.name)).try_map(|name| dplm_methods::find(&name))
}

/// A size such as `2GB`, in bytes.
fn bytes(text: &str) -> Result<u64, &'static str> {
    const HELP: &str = "give a size such as 2GB or 500MiB";
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(HELP),
    };
    let bytes = number.parse::<f64>().map_err(|_| HELP)? * unit as f64;
    if bytes >= 1.0 && bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(HELP) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn words_are_those_of_the_library_and_old_ones_are_accepted() {
        let parsed = |more: &[&str]| Args::try_parse_from([&["dplm", "fit", "rows.csv", "-f", "y ~ x"], more].concat());
        let typed = ["--target", "ols", "--for", "prediction", "--method", "adassp", "--neighbours", "zero-out"];
        let Ok(Args { command: Command::Fit(fit), .. }) = parsed(&typed) else { panic!("a fit") };
        assert_eq!((fit.interval.target, fit.interval.purpose), (Some(Target::Sample), Purpose::Prediction));
        assert_eq!(
            (fit.method.method.map(Choice::word), fit.promise.neighbours),
            (Some("adassp"), Neighbours::ZeroOut)
        );
        let refusal = parsed(&["--target", "truth"]).expect_err("no such word").to_string();
        assert!(refusal.contains("population, sample, robust, person"), "{refusal}");
    }

    #[test]
    fn sizes() {
        for (text, size) in
            [("2GB", 2_000_000_000), ("1.5kb", 1500), ("3 MiB", 3 << 20), ("1GiB", 1 << 30), ("7", 7), ("10B", 10)]
        {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "GB", "-1GB", "1XB", "nan", "0", "0.1B", "1e3", "99999999999TB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn auto_or_a_number() {
        assert_eq!("auto".parse(), Ok(Auto::<u32>::Auto));
        assert_eq!("12".parse(), Ok(Auto::Given(12u32)));
        assert!("-3".parse::<Auto<u32>>().is_err());
        assert!("automatic".parse::<Auto<f64>>().is_err());
    }
}
