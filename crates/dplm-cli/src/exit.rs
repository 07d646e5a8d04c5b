//! Why a command ended without doing what was asked, and the exit status that says so.

use std::io;

use dplm::{
    Error, ErrorKind,
    formula::FormulaError,
    options::{Advised, Interface},
    table::DataError,
};
use dplm_ledger::LedgerError;
use dplm_simulate::pretend::PretendError;

/// Why nothing was done. The text is one sentence that says what to do, and never holds a cell's
/// value.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command was wrong: status 2.
    #[error("{0}")]
    Usage(String),
    /// A formula cannot be read: status 2.
    #[error("{sentence}")]
    Formula {
        /// What is wrong.
        sentence: String,
        /// The formula, and a caret under the place.
        shown: [String; 2],
    },
    /// The command was understood and refused, or failed: status 1.
    #[error("{0}")]
    Refused(String),
    /// The reader of standard output has gone, so there is nobody left to tell.
    #[error("standard output was closed")]
    Closed,
}

impl Failure {
    /// The command was wrong.
    pub fn usage(reason: impl ToString) -> Failure {
        Failure::Usage(reason.to_string())
    }

    /// What was typed makes no sense to the library, whatever else the error might mean.
    pub fn of_request(error: impl Into<Error>) -> Failure {
        Failure::Usage(error.into().sentence(Interface::Command))
    }

    /// A formula was wrong; where that stands in one place, it is shown.
    pub fn formula(text: &str, error: &FormulaError) -> Failure {
        let sentence = error.to_string();
        match error.at() {
            None => Failure::Usage(sentence),
            Some(at) => Failure::Formula { sentence, shown: [text.to_owned(), format!("{}^", " ".repeat(at - 1))] },
        }
    }

    /// The command was refused, or failed.
    pub fn refused(reason: impl ToString) -> Failure {
        Failure::Refused(reason.to_string())
    }

    /// Output could not be written.
    pub fn unwritten(place: &str, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            kind => {
                Failure::Refused(format!("{place} could not be written ({kind}): check the place and its permissions"))
            }
        }
    }

    /// One failure for all that were met; `Ok` if there were none.
    pub fn of_all(outcomes: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
        let join = |first: Failure, next: Failure| match (first, next) {
            (Failure::Closed, other) | (other, Failure::Closed) => other,
            (first, next) => Failure::Refused(format!("{first}; and {next}")),
        };
        outcomes.into_iter().filter_map(Result::err).reduce(join).map_or(Ok(()), Err)
    }

    /// The program itself is wrong. What went wrong is not said, since that could hold a cell.
    pub fn bug() -> Failure {
        Failure::refused(
            "an internal check failed, which is a fault of dplm and not of the data: nothing was published; please report it",
        )
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            Failure::Closed => 0,
            Failure::Refused(_) => 1,
            Failure::Usage(_) | Failure::Formula { .. } => 2,
        }
    }
}

/// The library says what an error is about; here it becomes an exit status.
impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error.kind() {
            ErrorKind::Request => Failure::Usage(error.sentence(Interface::Command)),
            ErrorKind::Data | ErrorKind::Fit => Failure::Refused(error.sentence(Interface::Command)),
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Failure {
        match error {
            LedgerError::Name
            | LedgerError::Analyst
            | LedgerError::Person
            | LedgerError::Delta
            | LedgerError::Seed
            | LedgerError::Unlike { .. }
            | LedgerError::NoDataset
            | LedgerError::NoLedger
            | LedgerError::Mandatory { .. }
            | LedgerError::OtherLedger { .. }
            | LedgerError::OtherAccount { .. }
            | LedgerError::Settings { .. }
            | LedgerError::NoAnalyst { .. }
            | LedgerError::NoReason => Failure::Usage(error.sentence(Interface::Command)),
            other => Failure::Refused(other.sentence(Interface::Command)),
        }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Failure {
        Failure::from(Error::from(error))
    }
}

impl From<PretendError> for Failure {
    fn from(error: PretendError) -> Failure {
        match error {
            PretendError::Model(error) => error.into(),
            PretendError::Seed(_) => Failure::refused(error),
            _ => Failure::usage(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use dplm::{lattice::LatticeError, method::ConfigError};

    use super::*;

    #[test]
    fn no_failure_hides_another() {
        let full = || Failure::unwritten("one", &io::Error::from(io::ErrorKind::StorageFull));
        let gone = || Failure::unwritten("two", &io::Error::from(io::ErrorKind::BrokenPipe));
        let both = Failure::of_all([Ok(()), Err(full()), Err(gone()), Err(Failure::refused("three"))]).unwrap_err();
        assert_eq!(both.to_string(), format!("{}; and three", full()));
        assert_eq!(both.status(), 1);
        assert_eq!(Failure::of_all([Err(gone()), Ok(())]).unwrap_err().status(), 0);
        assert!(Failure::of_all([Ok(()), Ok(())]).is_ok());
    }

    #[test]
    fn data_is_one_and_command_is_two() {
        let rows = Error::Config(ConfigError::TooFewRows { features: 3, rows: 2, unit: dplm::privacy::Unit::Row });
        assert_eq!(Failure::from(rows).status(), 1);
        assert_eq!(Failure::from(Error::Config(ConfigError::Level)).status(), 2);
        assert_eq!(Failure::from(Error::Lattice(LatticeError::TooManyRows)).status(), 1);
        assert_eq!(Failure::from(Error::Lattice(LatticeError::ClipOutOfRange { least: 0.0, most: 1.0 })).status(), 2);
        assert_eq!(Failure::from(DataError::NoInput).status(), 1);
    }
}
