//! Small commands.

use clap::Args as Group;
use dplm::table::Dialect;
use dplm_simulate::{Design, Errors};

use super::{number, rows, whole, words};
use crate::{
    output::Destination,
    places::{DataInput, NewFile, OutputFolder},
};

/// `dplm demo`.
#[derive(Debug, Group)]
pub struct DemoArgs {
    /// Make the noise reproducible
    #[arg(long, value_name = "S", value_parser = whole::<u64>)]
    pub seed: Option<u64>,
}

/// `dplm simulate`.
#[derive(Debug, Group)]
pub struct SimulateArgs {
    /// How many rows
    #[arg(long, value_name = "N", value_parser = rows)]
    pub rows: u64,
    /// How many features
    #[arg(long, value_name = "P", value_parser = whole::<usize>)]
    pub features: usize,
    /// Where to: a name ending in .csv, .tsv, .parquet or .arrow, or - for CSV on standard output
    #[arg(long, short, value_name = "FILE")]
    pub out: Destination,
    /// isotropic, or anisotropic: a random covariance, eigenvalues from 1 to 2
    #[arg(long, value_name = "KIND", default_value = "isotropic", value_parser = words::<Design>(), hide_possible_values = true)]
    pub design: Design,
    /// Standard deviation of the errors
    #[arg(long, value_name = "SD", value_parser = number, default_value_t = 1.0, allow_negative_numbers = true)]
    pub noise_sd: f64,
    /// Law of the errors: gaussian, student (heavy tails) or skewed
    #[arg(long, value_name = "LAW", default_value = "gaussian", value_parser = words::<Errors>(), hide_possible_values = true)]
    pub errors: Errors,
    /// The true coefficients, separated by commas [default: drawn]
    #[arg(long, value_name = "T1,T2,...", value_parser = number, value_delimiter = ',', allow_negative_numbers = true)]
    pub theta: Option<Vec<f64>>,
    /// The same seed gives the same file, byte for byte [default: a fresh one, which is printed]
    #[arg(long, value_name = "S", value_parser = whole::<u64>)]
    pub seed: Option<u64>,
}

/// `dplm init`.
#[derive(Debug, Group)]
pub struct InitArgs {
    /// Files (.csv .tsv .parquet .arrow), a folder or pattern of them, or - for CSV or Arrow on
    /// standard input
    #[arg(required = true, value_name = "DATA")]
    pub inputs: Vec<DataInput>,
    /// How text is written: comma, semicolon, tab or pipe, and decimal-comma; joined by commas
    #[arg(long, value_name = "WORDS")]
    pub csv: Option<Dialect>,
    /// Write the template to a new file instead
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<NewFile>,
}

/// `dplm completions`.
#[derive(Debug, Group)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// `dplm man`.
#[derive(Debug, Group)]
pub struct ManArgs {
    /// Write the pages of all commands to this folder instead
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<OutputFolder>,
}
