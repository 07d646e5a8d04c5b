//! Warnings before a fit is charged.

use crate::{Entry, entry::fits_in_force};

/// A warning about a charge that its entry would not undo. All of it is public: fingerprints are of
/// plans, and of a table's columns and number of rows, never of cells. Anyone who knows all rows
/// except one could find that row from a fingerprint of cells.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Caution {
    /// The same question was charged before.
    #[error(
        "entry {entry} of {time}{} has paid for the same plan on the same table: use its result, or pay again for fresh noise",
        by(analyst)
    )]
    SamePlan {
        /// The entry.
        entry: i64,
        /// When it was recorded.
        time: String,
        /// The analyst.
        analyst: String,
    },
    /// The table may be about other people.
    #[error(
        "the table's columns or number of rows differ from those of entry {entry} under the same name: \
         data about other people need their own data set in the ledger"
    )]
    OtherTable {
        /// The latest entry with another table.
        entry: i64,
    },
}

fn by(analyst: &str) -> String {
    if analyst.is_empty() { String::new() } else { format!(", by {analyst},") }
}

impl Caution {
    /// The warnings for a plan and a table, by their fingerprints, after these entries of the data
    /// set.
    pub(crate) fn of(entries: &[Entry], plan: &str, table: &str) -> Vec<Caution> {
        let is_same = |entry: &&Entry| !plan.is_empty() && entry.plan == plan && entry.table == table;
        let same = fits_in_force(entries).filter(is_same).last().map(|entry| Caution::SamePlan {
            entry: entry.id,
            time: entry.time.clone(),
            analyst: entry.attribution.analyst.clone(),
        });
        let other = fits_in_force(entries).filter(|entry| entry.is_of_other_table(table)).last();
        same.into_iter().chain(other.map(|entry| Caution::OtherTable { entry: entry.id })).collect()
    }
}
