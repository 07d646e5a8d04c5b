//! `dplm lab`.

use clap::{Args as Group, Subcommand};

use super::whole;
use crate::places::{InputFolder, OutputFolder};

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
        record: Option<InputFolder>,
    },
    /// Draw the figures of a record again
    Draw {
        /// The folder of the record
        #[arg(value_name = "DIR")]
        record: InputFolder,
        /// Where to
        #[arg(long, short, value_name = "DIR")]
        out: OutputFolder,
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
    pub out: OutputFolder,
    /// Fewer points and repetitions: seconds instead of minutes
    #[arg(long)]
    pub quick: bool,
    /// Another seed than the definition's; the same seed gives the same numbers
    #[arg(long, value_name = "S", value_parser = whole::<u64>)]
    pub seed: Option<u64>,
    /// Change a parameter of the definition, for instance rho=0.1 or p=[10,50]
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}
