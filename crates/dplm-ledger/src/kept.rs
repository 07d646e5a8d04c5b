//! Compares records kept elsewhere with the ledger: fits with the entries they were recorded under,
//! copies with all entries.

use std::{fs, path::Path};

use dplm::privacy::{Neighbours, Promise, Unit, convert::Conversion};
use serde::Deserialize;

use crate::{Entry, LedgerError, entry::in_words};

/// JSON readers may round the last digit of a number.
const ROUNDING: f64 = 1e-12;

/// The first bytes of a file that may be a copy of a ledger.
const START_OF_COPY: &[u8] = b"SQLite format 3\0";

/// A fit or a copy of the ledger that was kept elsewhere, and its evidence about the ledger's
/// entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    name: String,
    evidence: Result<Evidence, Finding>,
}

#[derive(Clone, Debug, PartialEq)]
enum Evidence {
    Fit(Citation),
    Copy(Vec<Entry>),
}

/// The entry that a fit was recorded under, as the fit states it.
#[derive(Clone, Debug, PartialEq)]
struct Citation {
    entry: i64,
    hash: String,
    dataset: String,
    formula: String,
    neighbours: String,
    /// The promise as a value, which older fits do not have.
    promise: Option<Promise>,
    rho: f64,
}

/// A mismatch between a kept record and a ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Finding {
    /// The operating system refused to read the file.
    #[error("it could not be read ({kind})")]
    Unreadable {
        /// The kind of failure.
        kind: std::io::ErrorKind,
    },
    /// The file is neither a fit nor a copy.
    #[error("it is not the JSON of a fit, which 'dplm fit --json' writes, nor a copy of a ledger")]
    NotKnown,
    /// A copy that is not valid itself.
    #[error("the copy itself is invalid: {why}")]
    Copy {
        /// What the ledger's own rules say of it.
        why: String,
    },
    /// The copy has more entries.
    #[error(
        "the ledger ends with entry {last} and the copy with entry {entry}: entries were removed, or an older copy was put back"
    )]
    Behind {
        /// The last entry of the copy.
        entry: usize,
        /// The last entry of the ledger.
        last: usize,
    },
    /// The copy has another history.
    #[error(
        "entry {entry} differs in the copy: entries were changed, or fits were recorded after an older \
         copy was put back"
    )]
    Parted {
        /// The first entry that differs.
        entry: usize,
    },
    /// A fit without a ledger.
    #[error("the fit was made without a ledger, so no entry records it")]
    NoLedger,
    /// A fit of a version that did not store the hash of its entry.
    #[error("the fit does not hold the hash of its entry: it was made by a version of dplm that did not write it")]
    NoHash,
    /// The data set is not in the ledger.
    #[error(
        "entry {entry} should be of a data set that the ledger does not have: the fit is of another \
         ledger, or the data set was removed"
    )]
    NoAccount {
        /// The entry that the fit names.
        entry: i64,
    },
    /// The ledger is shorter.
    #[error(
        "entry {entry} is gone, the ledger ends with entry {last}: entries were removed, or an old copy was put back"
    )]
    Gone {
        /// The entry that the fit names.
        entry: i64,
        /// The last entry of the ledger.
        last: usize,
    },
    /// The entry differs from the fit.
    #[error("entry {entry} was changed: it has another {what} than the fit")]
    Changed {
        /// The entry that the fit names.
        entry: i64,
        /// What differs.
        what: String,
    },
    /// The entry agrees with the fit, but its hash does not, so an entry before it differs.
    #[error("entry {entry} has another hash than the fit knows: it or an entry before it was changed")]
    OtherHash {
        /// The entry that the fit names.
        entry: i64,
    },
    /// The entry has the hash that the fit holds, so the fit was changed.
    #[error("entry {entry} is as it was recorded, and the fit's file was changed: it has another {what}")]
    FitChanged {
        /// The entry that the fit names.
        entry: i64,
        /// What differs.
        what: String,
    },
}

impl Kept {
    /// Reads a file that `dplm fit --json` wrote, or a copy of a ledger.
    /// [`Ledger::verify_against`](crate::Ledger::verify_against) reports what is wrong with it.
    pub fn read(file: impl AsRef<Path>) -> Kept {
        let file = file.as_ref();
        let read = fs::read(file).map_err(|error| Finding::Unreadable { kind: error.kind() });
        let evidence = read.and_then(|bytes| match bytes.starts_with(START_OF_COPY) {
            true => entries_of_copy(file).map(Evidence::Copy).map_err(|error| Finding::Copy { why: error.to_string() }),
            false => Citation::of(&bytes).map(Evidence::Fit),
        });
        Kept { name: file.display().to_string(), evidence }
    }

    /// The JSON of a fit, and the name for it in messages.
    pub fn from_json(name: impl Into<String>, json: &str) -> Kept {
        Kept { name: name.into(), evidence: Citation::of(json.as_bytes()).map(Evidence::Fit) }
    }

    /// The finding, with the name of the fit or copy; `None` if the entries agree. The entries have
    /// been verified.
    pub(crate) fn finding(&self, entries: &[Entry]) -> Option<String> {
        let checked = self.evidence.as_ref().map_err(Clone::clone).and_then(|evidence| match evidence {
            Evidence::Fit(citation) => citation.check(entries),
            Evidence::Copy(copied) => check_copy(copied, entries),
        });
        checked.err().map(|finding| format!("{}: {finding}", self.name))
    }
}

fn entries_of_copy(file: &Path) -> Result<Vec<Entry>, LedgerError> {
    let copy = crate::Ledger::open(file)?;
    copy.verify()?;
    copy.entries()
}

/// A copy is an earlier state of the ledger: the ledger must begin with all of it.
fn check_copy(copied: &[Entry], entries: &[Entry]) -> Result<(), Finding> {
    if let Some(place) = copied.iter().zip(entries).position(|(copied, entry)| copied.hash != entry.hash) {
        return Err(Finding::Parted { entry: place + 1 });
    }
    match copied.len() > entries.len() {
        true => Err(Finding::Behind { entry: copied.len(), last: entries.len() }),
        false => Ok(()),
    }
}

impl Citation {
    fn of(json: &[u8]) -> Result<Citation, Finding> {
        let document: Document = serde_json::from_slice(json).map_err(|_| Finding::NotKnown)?;
        let Document { formula, guarantee: Guarantee { rho, neighbours, conversion }, promise, units, ledger } =
            document;
        let unit = units.map_or(Unit::Row, |units| units.unit);
        let of_older = Promise { unit, neighbours, conversion, ..Promise::default() };
        let neighbours = in_words(promise.as_ref().unwrap_or(&of_older));
        let Ledger { dataset, entry, hash, charged } = ledger.ok_or(Finding::NoLedger)?;
        let rho = charged.unwrap_or(rho);
        let (entry, hash) = entry.zip(hash).ok_or(Finding::NoHash)?;
        Ok(Citation { entry, hash, dataset, formula, neighbours, promise, rho })
    }

    fn check(&self, entries: &[Entry]) -> Result<(), Finding> {
        let Citation { entry: id, hash, dataset, .. } = self;
        let (entry, last) = (*id, entries.len());
        if !entries.iter().any(|entry| entry.dataset == *dataset) {
            return Err(Finding::NoAccount { entry });
        }
        let found = entries.iter().find(|one| one.id == entry).ok_or(Finding::Gone { entry, last })?;
        let what = self.differences(found).join(" and another ");
        match (found.hash == *hash, what.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => Err(Finding::FitChanged { entry, what }),
            (false, true) => Err(Finding::OtherHash { entry }),
            (false, false) => Err(Finding::Changed { entry, what }),
        }
    }

    /// The facts that both the fit and the entry state, and that differ.
    fn differences(&self, found: &Entry) -> Vec<&'static str> {
        let rho = found.rho.to_f64();
        let differ = [
            ("kind", !found.kind.spends()),
            ("data set", found.dataset != self.dataset),
            ("formula", found.text != self.formula),
            ("neighbours", found.neighbours != self.neighbours),
            ("promise", self.promise.is_some() && found.promise != self.promise && found.neighbours == self.neighbours),
            ("rho", (self.rho - rho).abs() > ROUNDING * rho),
        ];
        differ.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect()
    }
}

/// The parts of a fit's JSON that its entry repeats.
#[derive(Deserialize)]
struct Document {
    formula: String,
    guarantee: Guarantee,
    #[serde(default)]
    promise: Option<Promise>,
    units: Option<Units>,
    ledger: Option<Ledger>,
}

#[derive(Deserialize)]
struct Units {
    unit: Unit,
}

#[derive(Deserialize)]
struct Guarantee {
    rho: f64,
    neighbours: Neighbours,
    #[serde(default)]
    conversion: Conversion,
}

#[derive(Deserialize)]
struct Ledger {
    dataset: String,
    entry: Option<i64>,
    hash: Option<String>,
    #[serde(default)]
    charged: Option<f64>,
}
