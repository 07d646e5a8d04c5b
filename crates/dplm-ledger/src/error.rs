//! Why the ledger refused.

use dplm::options::{Advice, Advised, Opt};
use dplm::privacy::{Rho, Unlike};

/// Why the ledger refused. Nothing was recorded, and nothing may be released.
///
/// The messages apply to reading as well as to spending; callers that were about to spend add what
/// that means.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A file is already there.
    #[error("{file} already exists; name another file, or add a data set to it with 'dplm ledger init' and a new name")]
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
    /// The folder does not exist.
    #[error("the folder of {file} does not exist: check the name, or create the folder first")]
    NoFolder {
        /// The file.
        file: String,
    },
    /// The file is not a ledger.
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
    /// The file has several names, and its crash journal is kept under one of them.
    #[error("{file} has a second name (a hard link), so a crash could not be undone: copy it to a file of its own")]
    SecondName {
        /// The file.
        file: String,
    },
    /// The disk's locks are seen by this machine only.
    #[error(
        "{file} is on a disk ({kind}) whose locks other machines do not see, so that two could spend the same budget: \
         keep the ledger on a disk of one machine, or mount this one with locks"
    )]
    NoLocks {
        /// The file.
        file: String,
        /// The kind of file system.
        kind: String,
    },
    /// A name that would look like another when shown.
    #[error("the name of a data set must have 1 to {most} characters, no leading or trailing blank and no \
        invisible character", most = crate::store::LONGEST_NAME)]
    Name,
    /// The same for an analyst.
    #[error("the name of an analyst must have 1 to {most} characters, no leading or trailing blank and no \
        invisible character, and must not be '*'", most = crate::store::LONGEST_NAME)]
    Analyst,
    /// Persons without a column that identifies them, or rows with one.
    #[error(
        "an account that protects persons needs the name of the column that identifies them, and one that protects rows has none"
    )]
    Person,
    /// A delta that is not a probability.
    #[error("delta must lie between 0 and 1 and be small, for instance 1e-6")]
    Delta,
    /// No budget can cover noise that can be subtracted.
    #[error("{}", Unlike::Seed)]
    Seed,
    /// A fit whose promise differs from the account's.
    #[error("'{dataset}' cannot pay for this fit: {why}")]
    Unlike {
        /// The data set.
        dataset: String,
        /// Why the two do not add up.
        why: Unlike,
    },
    /// An entry that does not add to the others.
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
        "this table's columns or number of rows differ from those of entry {entry} of '{dataset}', so it \
         may be about other people, who need their own data set"
    )]
    OtherTable {
        /// The data set.
        dataset: String,
        /// The latest entry with another table.
        entry: i64,
    },
    /// A ledger without a data set.
    #[error("a ledger pays for a data set by the name that it has there")]
    NoDataset,
    /// A data set without a ledger.
    #[error("a data set is named, but no ledger that has it")]
    NoLedger,
    /// A ledger is mandatory here.
    #[error("every fit here must be paid from the ledger {file}")]
    Mandatory {
        /// The ledger.
        file: String,
    },
    /// Another ledger than the mandatory one.
    #[error("every fit here must be paid from the ledger {file}, and another one was named")]
    OtherLedger {
        /// The mandatory ledger.
        file: String,
    },
    /// Settings that cannot be parsed.
    #[error("the settings in {file} cannot be read: it must hold one line such as ledger = '/path/to/budget.db'")]
    Settings {
        /// The file of settings.
        file: String,
    },
    /// A refinement of a fit that was charged to another account.
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
        /// The names in the ledger.
        known: String,
    },
    /// The charge exceeds what is left.
    #[error("this fit needs rho = {asked} and '{dataset}' has {left} left")]
    Overdraft {
        /// The data set.
        dataset: String,
        /// The charge.
        asked: Rho,
        /// What is left.
        left: String,
    },
    /// A fit without an analyst, although analysts are limited.
    #[error("'{dataset}' has limits for analysts, so a fit must name its analyst")]
    NoAnalyst {
        /// The data set.
        dataset: String,
    },
    /// The charge exceeds the analyst's limit.
    #[error("this fit needs rho = {asked} and {analyst} may spend {left} more of '{dataset}'")]
    OverLimit {
        /// The data set.
        dataset: String,
        /// The analyst.
        analyst: String,
        /// The charge.
        asked: Rho,
        /// What they may still spend.
        left: String,
    },
    /// A reversal without a reason.
    #[error("a reversal is an entry like any other and needs a reason")]
    NoReason,
    /// An entry that cannot be reversed.
    #[error(
        "entry {entry} is not a grant or fit that can be reversed, or it was reversed before: 'dplm ledger \
         show' lists them"
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
    /// Saved fits whose entries are not in the ledger, or copies that differ from it or cannot be
    /// compared.
    #[error(
        "the entries are in order, but {} of {of} kept records {} not match them: {}",
        findings.len(),
        if findings.len() == 1 { "does" } else { "do" },
        findings.join("; ")
    )]
    Kept {
        /// The findings, each with the name of the fit or copy.
        findings: Vec<String>,
        /// The number of records compared.
        of: usize,
    },
    /// The file can no longer be read as a ledger.
    #[error("the ledger is damaged, and nothing can be spent from it: restore it from a copy that lacks no entry")]
    Damaged,
    /// Other processes held the ledger for too long.
    #[error(
        "the ledger could not be locked for a minute, as other programs use it or its disk has no locks; nothing was recorded, so try again"
    )]
    Busy,
    /// The disk refused.
    #[error("the ledger could not be read or written ({reason}): check the disk and the file's permissions")]
    Storage {
        /// The storage engine's own words; they never contain data.
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

impl Advised for LedgerError {
    fn advice(&self) -> Option<Advice> {
        Some(match self {
            LedgerError::OtherTable { .. } => {
                Advice::new("name that, or say with ").switch(Opt::OtherTable).text(" that it is meant")
            }
            LedgerError::NoDataset | LedgerError::Mandatory { .. } => {
                Advice::new("name what the ledger calls the data with ").option(Opt::Dataset)
            }
            LedgerError::NoLedger => Advice::new("name the ledger with ").option(Opt::Ledger),
            LedgerError::OtherLedger { .. } => Advice::new("leave out ").option(Opt::Ledger),
            LedgerError::NoAnalyst { .. } => {
                Advice::new("name the analyst with ").option(Opt::Analyst).text(", or in the variable DPLM_ANALYST")
            }
            _ => return None,
        })
    }
}
