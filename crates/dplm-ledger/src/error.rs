//! Why the ledger refused.

use dplm::privacy::{Rho, Unlike};

/// Why the ledger refused. Nothing was recorded, and nothing may be released.
///
/// What is said holds for reading as well as for spending; whoever meant to spend adds what that means.
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
    /// There is not even a folder for it.
    #[error("the folder of {file} does not exist: check the name, or create the folder first")]
    NoFolder {
        /// The file.
        file: String,
    },
    /// The file is something else.
    #[error(
        "{file} is not a dplm ledger, or no longer one: check the name, or restore it from a copy that lacks no entry"
    )]
    NotALedger {
        /// The file.
        file: String,
    },
    /// The file is a link.
    #[error("{file} is a symbolic link, which is not followed: name the ledger itself")]
    Link {
        /// The file.
        file: String,
    },
    /// The file has several names, and what protects it from a crash is kept under one of them.
    #[error("{file} has a second name (a hard link), so a crash could not be undone: copy it to a file of its own")]
    SecondName {
        /// The file.
        file: String,
    },
    /// A name that could not be told apart when it is shown.
    #[error("the name of a data set must have 1 to {most} characters, no blank at either end and none that cannot be seen", most = crate::store::LONGEST_NAME)]
    Name,
    /// The same of an analyst.
    #[error("the name of an analyst must have 1 to {most} characters, no blank at either end and none that cannot be seen, and is not '*'", most = crate::store::LONGEST_NAME)]
    Analyst,
    /// Persons without a column that identifies them.
    #[error(
        "an account that protects persons needs the name of the column that identifies them, and one that protects rows has none"
    )]
    Person,
    /// A delta that is no probability.
    #[error("delta must lie between 0 and 1 and be small, for instance 1e-6")]
    Delta,
    /// No budget pays for noise that can be subtracted.
    #[error("{}", Unlike::Seed)]
    Seed,
    /// A fit that promises something else than the account.
    #[error("'{dataset}' cannot pay for this fit: {why}")]
    Unlike {
        /// The data set.
        dataset: String,
        /// Why the two do not add up.
        why: Unlike,
    },
    /// Something was recorded that does not add up.
    #[error("'{dataset}' pays for nothing more: {why}")]
    Frozen {
        /// The data set.
        dataset: String,
        /// What was recorded.
        why: String,
    },
    /// More was recorded than was granted.
    #[error("'{dataset}' is overdrawn by rho = {over}, so it pays for nothing more")]
    Overdrawn {
        /// The data set.
        dataset: String,
        /// By how much.
        over: String,
    },
    /// A table of another shape under the same name.
    #[error(
        "this table has other columns or another number of rows than that of entry {entry} of '{dataset}', so it may be about other people, who need a data set of their own: name that, or say with --other-table that it is meant"
    )]
    OtherTable {
        /// The data set.
        dataset: String,
        /// The latest entry with another table.
        entry: i64,
    },
    /// A ledger without a data set.
    #[error("name what the ledger calls the data with --dataset")]
    NoDataset,
    /// A data set without a ledger.
    #[error("name the ledger that has this data set with --ledger")]
    NoLedger,
    /// A ledger is mandatory here.
    #[error("every fit here must be paid from the ledger {file}: name what it calls the data with --dataset")]
    Mandatory {
        /// The ledger.
        file: String,
    },
    /// Another ledger than the mandatory one.
    #[error("every fit here must be paid from the ledger {file}, and another one was named: leave out --ledger")]
    OtherLedger {
        /// The mandatory ledger.
        file: String,
    },
    /// Settings that cannot be understood.
    #[error("the settings in {file} cannot be read: it must hold one line such as ledger = '/path/to/budget.db'")]
    Settings {
        /// The file of settings.
        file: String,
    },
    /// A refinement of a fit that another account paid for.
    #[error(
        "the fit to refine was paid from entry {entry} of '{dataset}': name that ledger and data set, so that both fits are in one account"
    )]
    OtherAccount {
        /// The data set that paid for the first fit.
        dataset: String,
        /// Its entry.
        entry: i64,
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
    #[error("this fit needs rho = {asked} and '{dataset}' has {left} left")]
    Overdraft {
        /// The data set.
        dataset: String,
        /// What was asked.
        asked: Rho,
        /// What is left.
        left: String,
    },
    /// A fit that names nobody, where analysts are limited.
    #[error(
        "'{dataset}' has limits for analysts, so a fit must say whose it is: name the analyst (--analyst, or the variable DPLM_ANALYST)"
    )]
    NoAnalyst {
        /// The data set.
        dataset: String,
    },
    /// More was asked than the analyst may spend.
    #[error("this fit needs rho = {asked} and {analyst} may spend {left} more of '{dataset}'")]
    OverLimit {
        /// The data set.
        dataset: String,
        /// Who asked.
        analyst: String,
        /// What was asked.
        asked: Rho,
        /// What they may still spend.
        left: String,
    },
    /// A reversal that says nothing.
    #[error("a reversal is an entry like any other and needs a reason")]
    NoReason,
    /// Nothing to reverse.
    #[error(
        "entry {entry} is no grant or fit that could be reversed, or it was reversed before: 'dplm ledger show' lists them"
    )]
    NotReversible {
        /// The entry.
        entry: i64,
    },
    /// The ledger has been tampered with.
    #[error(
        "the ledger does not verify (entry {entry}: {why}), and nothing can be spent from it: restore it from a copy that lacks no entry"
    )]
    Broken {
        /// The first entry that is wrong.
        entry: i64,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Fits were kept whose entries are not in the ledger, copies that say other things, or what cannot be held against it.
    #[error(
        "the entries are in order, but {} of {of} kept records {} not match them: {}",
        findings.len(),
        if findings.len() == 1 { "does" } else { "do" },
        findings.join("; ")
    )]
    Kept {
        /// What is wrong, each with the name of the fit or copy.
        findings: Vec<String>,
        /// How many were looked at.
        of: usize,
    },
    /// The file cannot be read as a ledger any more.
    #[error("the ledger is damaged, and nothing can be spent from it: restore it from a copy that lacks no entry")]
    Damaged,
    /// Other processes held the ledger for too long.
    #[error("other programs kept the ledger busy for a minute; nothing was recorded, so try again")]
    Busy,
    /// The disk refused.
    #[error("the ledger could not be read or written ({reason}): check the disk and the file's permissions")]
    Storage {
        /// The storage engine's own words; they never hold data.
        reason: String,
    },
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> LedgerError {
        use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase, TooBig};
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => LedgerError::Busy,
            // Without a code it is a value of the wrong type.
            Some(DatabaseCorrupt | NotADatabase | TooBig) | None => LedgerError::Damaged,
            Some(_) => LedgerError::Storage { reason: error.to_string() },
        }
    }
}

impl From<std::io::Error> for LedgerError {
    fn from(error: std::io::Error) -> LedgerError {
        LedgerError::Storage { reason: error.kind().to_string() }
    }
}
