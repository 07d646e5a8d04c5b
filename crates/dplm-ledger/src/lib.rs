//! The privacy budget of a data set outlives any one fit. A ledger keeps it in a file.
//!
//! The rule: **budget is recorded as spent, durably, before the first noisy number can leave.** A
//! fit that fails afterwards has spent it. The ledger therefore never understates what was spent;
//! it may overstate it by a fit that was interrupted.
//!
//! Types enforce the rule: a [`Prepared`](dplm::Prepared) fit draws no noise without the
//! [`Receipt`](dplm::Receipt) that [`Ledger::charge`] gives.
//!
//! Entries are only ever added. Each holds the hash of the one before it, so [`Ledger::verify`]
//! finds damage, and an edit, a removal from the middle or a change of order by someone who left
//! the hashes as they were. The chain has no key: anyone who can write the file can recompute every
//! hash, or cut entries off the end, and the file alone does not show that. Records kept elsewhere
//! do: a fit's JSON holds the hash of its entry, a copy those of all entries, and
//! [`Ledger::verify_against`] compares them.
//!
//! # Examples
//! ```
//! use dplm::{Charge, privacy::{Promise, Rho}};
//! use dplm_ledger::Ledger;
//!
//! let folder = tempfile::tempdir().unwrap();
//! let file = folder.path().join("budget.db");
//! let mut ledger = Ledger::create(&file)?;
//! ledger.open_account("wages", Rho::checked_from_f64(0.1).unwrap(), None, "the 2026 survey")?;
//! ledger.spend("wages", &Charge::new(Rho::checked_from_f64(0.015).unwrap(), Promise::default(), "y ~ x"))?;
//! assert_eq!(ledger.account("wages")?.left.to_string(), "0.085");
//! # Ok::<(), dplm_ledger::LedgerError>(())
//! ```

mod chain;
mod entry;
mod balance;
mod caution;
mod error;
mod locks;
mod file;
mod kept;
mod page;
mod store;
mod mandatory;
mod pay;

pub use caution::Caution;
pub use entry::{Account, Allowance, Amount, Attribution, Entry, Kind};
pub use error::LedgerError;
pub use kept::{Finding, Kept};
pub use mandatory::mandatory_ledger;
pub use page::to_html;
pub use pay::{OpenRows, PaidError, Pay, Payer, RowsFrom, Tally, Watch, paid_fit};
pub use store::{Ledger, Verdict};
