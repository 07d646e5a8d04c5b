//! `dplm lab`: the paper's experiments.

use std::io::{LineWriter, stdout};

use dplm_lab::{
    LabError,
    command::{Command, command},
    definition::Changes,
};

use crate::{
    args::{LabCommand, LabRunArgs},
    exit::Failure,
};

/// Lists, runs, checks or draws.
pub fn run(asked: LabCommand) -> Result<(), Failure> {
    match command(&meant(asked), &mut LineWriter::new(stdout()))? {
        true => Ok(()),
        false => Err(Failure::refused("at least one claim does not hold on this record: look for FAIL above")),
    }
}

fn meant(asked: LabCommand) -> Command {
    match asked {
        LabCommand::List => Command::List,
        LabCommand::Run(LabRunArgs { names, out, quick, seed, set }) => {
            Command::Run { names, changes: Changes { quick, seed, set }, out: out.into() }
        }
        LabCommand::Check { record } => Command::Check { record: record.map(Into::into) },
        LabCommand::Draw { record, out } => Command::Draw { record: record.into(), out: out.into() },
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        match error {
            LabError::UnknownName { .. } | LabError::Definition { .. } | LabError::Setting { .. } => {
                Failure::usage(error)
            }
            other => Failure::refused(other),
        }
    }
}
