//! Why the ledger refused.

use dplm::privacy::Rho;

/// Why the ledger refused. Nothing was recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A file is already there.
    #[error(
        "{file} already exists; name another file, or add a data set to it with 'dplm ledger init' and a new --dataset"
    )]
    Exists {
        /// The file.
        file: String,
    },
    /// There is no such file.
    #[error("there is no ledger at {file}; make one with 'dplm ledger init'")]
    NotFound {
        /// The file.
        file: String,
    },
    /// The file is something else.
    #[error("{file} is not a dplm ledger, or is damaged; restore it from a copy")]
    NotALedger {
        /// The file.
        file: String,
    },
    /// The data set is already in the ledger.
    #[error("the ledger already has a data set named '{dataset}'; 'dplm ledger grant' adds to its budget")]
    AccountExists {
        /// Its name.
        dataset: String,
    },
    /// The data set is not in the ledger.
    #[error("the ledger has no data set named '{dataset}'; it has {known}")]
    NoAccount {
        /// The name asked for.
        dataset: String,
        /// The names there are.
        known: String,
    },
    /// More was asked than is left.
    #[error("this fit needs rho = {asked} and '{dataset}' has {left} left; nothing was spent")]
    Overdraft {
        /// The data set.
        dataset: String,
        /// What was asked.
        asked: Rho,
        /// What is left.
        left: String,
    },
    /// The ledger has been tampered with.
    #[error("the ledger does not verify (entry {entry}: {why}); nothing was spent")]
    Broken {
        /// The first entry that is wrong.
        entry: i64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Other processes held the ledger for too long.
    #[error("the ledger was busy for too long; nothing was spent, try again")]
    Busy,
    /// The disk refused.
    #[error("the ledger could not be written ({reason}); nothing was spent")]
    Storage {
        /// The storage engine's own words; they never hold data.
        reason: String,
    },
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> LedgerError {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked, NotADatabase};
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => LedgerError::Busy,
            Some(NotADatabase) => LedgerError::NotALedger { file: "the file".to_owned() },
            _ => LedgerError::Storage { reason: error.to_string() },
        }
    }
}
