//! What several commands take.

use clap::Args as Group;
use dplm::{
    method,
    options::{Device, IntervalMethod, Purpose, Target},
    privacy::Neighbours,
    table::Dialect,
};

use super::{Auto, bytes, methods, number, whole, words};
use crate::{
    output::Destination,
    places::{DataInput, InputFile, LedgerInput},
};

/// The data.
#[derive(Debug, Group)]
pub struct DataArgs {
    /// Files (.csv .tsv .parquet .arrow), a folder or pattern of them, or - for CSV or Arrow on standard input
    #[arg(required = true, value_name = "DATA")]
    pub inputs: Vec<DataInput>,
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
    pub model: Option<InputFile>,
    /// Say that columns without bounds or levels are centred and of about unit variance
    #[arg(long, help_heading = "Model")]
    pub standardised: bool,
}

/// The privacy budget.
#[derive(Debug, Group)]
pub struct BudgetArgs {
    /// The whole budget in zero-concentrated differential privacy (zCDP), for instance 0.015
    #[arg(long, value_name = "R", value_parser = number, allow_negative_numbers = true, conflicts_with = "epsilon", help_heading = "Privacy")]
    pub rho: Option<f64>,
    /// The whole budget as (epsilon, delta): the largest rho that keeps this promise is used
    #[arg(long, value_name = "E", value_parser = number, allow_negative_numbers = true, help_heading = "Privacy")]
    pub epsilon: Option<f64>,
    /// With --epsilon, part of the budget; with --rho, where epsilon is stated [default: 1e-6]
    #[arg(long, value_name = "D", value_parser = number, allow_negative_numbers = true, help_heading = "Privacy")]
    pub delta: Option<f64>,
}

/// The relation between data sets that the guarantee is about.
#[derive(Debug, Group)]
pub struct NeighboursArgs {
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
}

/// What is promised, and how the noise is drawn.
#[derive(Debug, Group)]
pub struct PromiseArgs {
    #[command(flatten)]
    pub neighbours: NeighboursArgs,
    /// Protect persons, each with all their rows: the column that identifies them
    #[arg(long, value_name = "ID", help_heading = "Privacy")]
    pub person: Option<String>,
    /// Of each person the first so many rows count [default: 1024]
    #[arg(long, value_name = "K", value_parser = whole::<u32>, requires = "person", help_heading = "Privacy")]
    pub rows_per_person: Option<u32>,
    /// Make the noise reproducible: for tests only, the result is then not private
    #[arg(long, value_name = "S", value_parser = whole::<u64>, help_heading = "Privacy")]
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

/// What intervals are for, and how often they cover it.
#[derive(Debug, Group)]
pub struct AimArgs {
    /// What intervals are for: population, sample, robust (Huber) or person (each counts once)
    #[arg(long, value_name = "WHAT", value_parser = words::<Target>(), hide_possible_values = true, help_heading = "Intervals")]
    pub target: Option<Target>,
    /// How often an interval should cover
    #[arg(
        long,
        value_name = "LEVEL",
        value_parser = number,
        default_value_t = 0.95,
        allow_negative_numbers = true,
        help_heading = "Intervals"
    )]
    pub level: f64,
}

/// What the intervals are.
#[derive(Debug, Group)]
pub struct IntervalArgs {
    /// newton, or one of the paper's: batched, checkpoints, independent
    #[arg(long, value_name = "HOW", default_value = "newton", value_parser = words::<IntervalMethod>(), hide_possible_values = true, help_heading = "Intervals")]
    pub interval: IntervalMethod,
    #[command(flatten)]
    pub aim: AimArgs,
    /// Batches, checkpoints or runs of the paper's intervals
    #[arg(long, value_name = "M", value_parser = whole::<u32>, default_value_t = 10, allow_negative_numbers = true, help_heading = "Intervals")]
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
    #[arg(long, value_name = "K", value_parser = whole::<usize>, help_heading = "Machine")]
    pub threads: Option<usize>,
    /// The most memory the rows may take, for instance 2GB or 500MiB
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Machine")]
    pub memory: Option<u64>,
    /// cpu, or cuda: an NVIDIA GPU does the sums over rows, with the same result
    #[arg(
        long,
        value_name = "DEVICE",
        value_parser = words::<Device>(),
        default_value = "cpu",
        hide_possible_values = true,
        help_heading = "Machine"
    )]
    pub device: Device,
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

/// Where the budget comes from.
#[derive(Debug, Group)]
pub struct AccountArgs {
    /// Spend from this ledger: recorded before any noise is drawn
    #[arg(long, value_name = "FILE", requires = "dataset", help_heading = "Privacy")]
    pub ledger: Option<LedgerInput>,
    /// What the ledger calls the data; where DPLM_LEDGER names the ledger, it alone
    #[arg(long, value_name = "NAME", help_heading = "Privacy")]
    pub dataset: Option<String>,
    /// With --dataset: the table has another shape than those fitted before, which is meant
    #[arg(long, requires = "dataset", help_heading = "Privacy")]
    pub other_table: bool,
    #[command(flatten)]
    pub attribution: AttributionArgs,
}

/// What a ledger remembers of who asked.
#[derive(Debug, Default, Group)]
pub struct AttributionArgs {
    /// With --ledger: who asks, as the ledger knows them
    #[arg(long, value_name = "WHO", env = "DPLM_ANALYST", hide_env_values = true, help_heading = "Privacy")]
    pub analyst: Option<String>,
    /// With --ledger: what the result is for, in a few words
    #[arg(long, value_name = "TEXT", requires = "dataset", help_heading = "Privacy")]
    pub stated_purpose: Option<String>,
    /// With --ledger: what else should be remembered
    #[arg(long, value_name = "TEXT", requires = "dataset", help_heading = "Privacy")]
    pub note: Option<String>,
}

/// How noise is drawn, who pays and where results go, of the commands that spend on a model that is in a file.
#[derive(Debug, Group)]
pub struct RunArgs {
    /// Make the noise reproducible: for tests only, the result is then not private
    #[arg(long, value_name = "S", value_parser = whole::<u64>, help_heading = "Privacy")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub account: AccountArgs,
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
