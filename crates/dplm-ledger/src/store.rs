//! Operations on the file: entries are read, checked and added, one writer at a time, and synced to
//! disk before a call returns.

use std::{collections::HashMap, path::Path};

use dplm::{
    Charge, Receipt, Statement,
    privacy::{Promise, Provenance, Rho, Unit, Unlike, convert::Conversion},
};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::{
    Account, Amount, Attribution, Caution, Entry, Kept, Kind, LedgerError,
    balance::{Balance, OTHERS, key},
    chain::{START, fingerprint, hash},
    entry::{fits_in_force, from_words, in_words},
    file::{self, Version},
};

/// The delta at which epsilon is shown when none was given.
const DELTA: f64 = 1e-6;
/// The longest name of a data set or of an analyst, in characters.
pub(crate) const LONGEST_NAME: usize = 200;
/// How many names an error lists.
const NAMES_SHOWN: usize = 5;

/// A ledger file.
pub struct Ledger {
    connection: Connection,
    attribution: Attribution,
    /// Whether a table of another shape may be fitted under the same name.
    another_table: bool,
}

/// The state that [`Ledger::verify`] found valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The number of entries.
    pub entries: usize,
    /// The hash of the last entry: keep a copy of it elsewhere to detect entries that were cut off
    /// or rewritten.
    pub last_hash: String,
}

impl Ledger {
    /// Makes a new file.
    ///
    /// # Errors
    /// When the file exists, or the disk refuses.
    pub fn create(file: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let file = file.as_ref();
        file::create(file)?;
        Ledger::open(file)
    }

    /// Opens a file, and rolls back the write of a process that was killed.
    ///
    /// # Errors
    /// When it is not there, is a link, or is not a ledger.
    pub fn open(file: impl AsRef<Path>) -> Result<Ledger, LedgerError> {
        let file = file.as_ref();
        Ok(Ledger { connection: file::open(file)?, attribution: Attribution::default(), another_table: false })
    }

    /// States who asks for what is spent from here on, and why.
    ///
    /// # Errors
    /// When the name would look like another when shown.
    pub fn attributed_to(self, attribution: Attribution) -> Result<Ledger, LedgerError> {
        check_analyst(&attribution.analyst)?;
        Ok(Ledger { attribution, ..self })
    }

    /// Allows a table of another shape than the earlier ones under the same name.
    #[must_use]
    pub fn allowing_another_table(self, another_table: bool) -> Ledger {
        Ledger { another_table, ..self }
    }

    /// Adds a data set with its first budget, under the promise for single rows and Gaussian noise;
    /// epsilon is shown at `delta`, or at 1e-6.
    ///
    /// # Errors
    /// As [`open_account_for`](Self::open_account_for).
    pub fn open_account(&mut self, dataset: &str, rho: Rho, delta: Option<f64>, note: &str) -> Result<(), LedgerError> {
        self.open_account_for(Promise::default(), dataset, rho, delta, note)
    }

    /// Adds a data set with its first budget, and with the promise about everything that will be
    /// spent, which never changes.
    ///
    /// # Errors
    /// When the name is taken or cannot be shown, the promise is void, delta is not a probability,
    /// the file does not verify, or the disk refuses.
    pub fn open_account_for(
        &mut self,
        promise: Promise,
        dataset: &str,
        rho: Rho,
        delta: Option<f64>,
        note: &str,
    ) -> Result<(), LedgerError> {
        if !can_be_shown(dataset) {
            return Err(LedgerError::Name);
        }
        check_person(&promise)?;
        match promise.provenance {
            Provenance::System => {}
            Provenance::Seed => return Err(LedgerError::Unlike { dataset: dataset.to_owned(), why: Unlike::Seed }),
            Provenance::Simulated => {
                return Err(LedgerError::Unlike { dataset: dataset.to_owned(), why: Unlike::Simulated });
            }
        }
        let delta = delta.unwrap_or(DELTA);
        if !(delta > 0.0 && delta < 1.0) {
            return Err(LedgerError::Delta);
        }
        self.write(|transaction, before| {
            // Names that differ only in case would be two budgets for one data set.
            if let Some(known) = before.iter().find(|entry| key(&entry.dataset) == key(dataset)) {
                return Err(LedgerError::AccountExists { dataset: known.dataset.clone() });
            }
            let opened = Entry { delta: Some(delta), ..entry(dataset, Kind::Init, rho.into(), note) };
            add(transaction, before, promising(opened, promise.converted_by(Conversion::Exact, delta)))?;
            Ok(())
        })
    }

    /// Adds to the budget of a data set.
    ///
    /// # Errors
    /// When there is no such data set, the file does not verify, or the disk refuses.
    pub fn grant(&mut self, dataset: &str, rho: Rho, note: &str) -> Result<(), LedgerError> {
        self.write(|transaction, before| {
            of_dataset(before, dataset)?;
            add(transaction, before, entry(dataset, Kind::Grant, rho.into(), note))?;
            Ok(())
        })
    }

    /// Limits how much one analyst may spend of a data set in all, earlier fits included; with an
    /// empty name, how much each analyst without a limit of their own may spend. The latest limit
    /// counts. If there is one, a fit must name its analyst.
    ///
    /// # Errors
    /// When the name cannot be shown, there is no such data set, the file does not verify, or the
    /// disk refuses.
    pub fn limit(&mut self, dataset: &str, analyst: &str, most: Amount, note: &str) -> Result<(), LedgerError> {
        check_analyst(analyst)?;
        self.limit_name(dataset, analyst, most, note)
    }

    /// Limits how much all analysts without a limit of their own may spend together, earlier fits
    /// included.
    ///
    /// # Errors
    /// When there is no such data set, the file does not verify, or the disk refuses.
    pub fn limit_others(&mut self, dataset: &str, most: Amount, note: &str) -> Result<(), LedgerError> {
        self.limit_name(dataset, OTHERS, most, note)
    }

    fn limit_name(&mut self, dataset: &str, analyst: &str, most: Amount, note: &str) -> Result<(), LedgerError> {
        let attribution = Attribution { analyst: analyst.to_owned(), ..Attribution::default() };
        self.write(|transaction, before| {
            of_dataset(before, dataset)?;
            add(transaction, before, Entry { attribution, ..entry(dataset, Kind::Limit, most, note) })?;
            Ok(())
        })
    }

    /// Records that an entry was a mistake, and why. Of a grant, what is left of it is taken back.
    /// What a fit spent stays spent: its numbers were released, and no entry makes them private
    /// again. Returns the amount taken back.
    ///
    /// # Errors
    /// When there is no reason, the entry is not a grant or fit or was reversed before, the file
    /// does not verify, or the disk refuses.
    pub fn reverse(&mut self, about: i64, reason: &str) -> Result<Amount, LedgerError> {
        if reason.trim().is_empty() {
            return Err(LedgerError::NoReason);
        }
        self.write(|transaction, before| {
            let cannot = || LedgerError::NotReversible { entry: about };
            let found = before.iter().find(|entry| entry.id == about).ok_or_else(cannot)?;
            let of_dataset = of_dataset(before, &found.dataset)?;
            let taken_back = Balance::of(&of_dataset).most_taken_back(about).map(Amount).ok_or_else(cannot)?;
            let new = entry(&found.dataset, Kind::Reverse, taken_back, reason);
            add(transaction, before, Entry { about: Some(about), ..new })?;
            Ok(taken_back)
        })
    }

    /// Writes a copy, as the ledger stands between two entries, to a new file.
    ///
    /// # Errors
    /// When the file exists, the ledger does not verify, or the disk refuses.
    pub fn back_up(&self, to: impl AsRef<Path>) -> Result<Verdict, LedgerError> {
        let to = to.as_ref();
        self.verify()?;
        file::copy(&self.connection, to)?;
        // Verifies the copy itself: another process may have recorded something since the ledger
        // was read.
        Ledger::open(to)?.verify()
    }

    /// Records the charge of a fit and gives the receipt for
    /// [`Prepared::run`](dplm::Prepared::run). When this returns, the charge is on disk.
    ///
    /// # Errors
    /// As [`Ledger::spend`].
    pub fn charge(&mut self, dataset: &str, charge: Charge) -> Result<Receipt, LedgerError> {
        let statement = self.spend(dataset, &charge)?;
        Ok(Receipt::recorded(charge, statement))
    }

    /// Records what a fit is about to spend. When this returns, it is on disk.
    ///
    /// Returns the account of the data set up to and including the new entry, whatever other
    /// processes record meanwhile.
    ///
    /// # Guarantee
    /// One transaction, with all other writers excluded: the sum of what is spent never exceeds
    /// what was granted, however many processes spend at once. An error means that nothing may be
    /// released. (If the disk fails at the last moment of the write, the charge may still turn out
    /// to be recorded: the ledger then overstates what was spent, and never understates it.)
    ///
    /// # Errors
    /// When the charge's promise differs from the account's, too little is left, the table has
    /// another shape than the earlier ones, the file does not verify, or the disk refuses.
    pub fn spend(&mut self, dataset: &str, charge: &Charge) -> Result<Statement, LedgerError> {
        let (attribution, another_table) = (self.attribution.clone(), self.another_table);
        self.write(|transaction, before| {
            let earlier = of_dataset(before, dataset)?;
            refuse(dataset, &earlier, &attribution.analyst, charge, another_table)?;
            let recorded = add(transaction, before, charged(dataset, Kind::Spend, charge, attribution))?;
            Ok(recorded.statement(&earlier))
        })
    }

    /// Records a release that was made without this ledger, or is missing from a copy that was put
    /// back. It happened, so it is never refused: not for lack of budget, which is then overdrawn,
    /// and not for its promise, which may stop the account. Either way nothing more can be charged.
    ///
    /// # Errors
    /// When it is of simulated rows, which cost nothing; there is no such data set, the file does
    /// not verify, or the disk refuses.
    pub fn record(&mut self, dataset: &str, charge: &Charge) -> Result<Account, LedgerError> {
        check_person(&charge.promise)?;
        match charge.promise.provenance {
            Provenance::System | Provenance::Seed => {}
            Provenance::Simulated => {
                return Err(LedgerError::Unlike { dataset: dataset.to_owned(), why: Unlike::Simulated });
            }
        }
        let attribution = self.attribution.clone();
        self.write(|transaction, before| {
            of_dataset(before, dataset)?;
            add(transaction, before, charged(dataset, Kind::Record, charge, attribution))?;
            Ok(())
        })?;
        self.account(dataset)
    }

    /// The state of one data set.
    ///
    /// # Errors
    /// When there is no such data set, or the file does not verify.
    pub fn account(&self, dataset: &str) -> Result<Account, LedgerError> {
        let entries = of_dataset(&self.entries()?, dataset)?;
        Account::of(dataset, entries).ok_or(LedgerError::Damaged)
    }

    /// Refuses what [`Ledger::spend`] would refuse now, and records nothing.
    ///
    /// # Errors
    /// When there is no such data set, too little is left, the analyst may not spend this much, or
    /// the file does not verify.
    pub fn check(&self, dataset: &str, rho: Rho) -> Result<(), LedgerError> {
        refuse_overdraft(dataset, &of_dataset(&self.entries()?, dataset)?, &self.attribution.analyst, rho)
    }

    /// Refuses a charge that [`Ledger::spend`] would refuse now, and records nothing.
    ///
    /// # Errors
    /// As [`Ledger::spend`].
    pub fn check_charge(&self, dataset: &str, charge: &Charge) -> Result<(), LedgerError> {
        let entries = of_dataset(&self.entries()?, dataset)?;
        refuse(dataset, &entries, &self.attribution.analyst, charge, self.another_table)
    }

    /// The warnings before a charge is recorded. Refuses what [`Ledger::spend`] would refuse, and
    /// records nothing.
    ///
    /// # Errors
    /// As [`Ledger::check`].
    pub fn cautions(&self, dataset: &str, charge: &Charge) -> Result<Vec<Caution>, LedgerError> {
        let entries = of_dataset(&self.entries()?, dataset)?;
        // Another table gives a warning here, not an error.
        refuse(dataset, &entries, &self.attribution.analyst, charge, true)?;
        Ok(Caution::of(&entries, &fingerprint(&charge.plan), &fingerprint(&charge.table)))
    }

    /// The names of the data sets, in order.
    ///
    /// # Errors
    /// When the file does not verify.
    pub fn datasets(&self) -> Result<Vec<String>, LedgerError> {
        Ok(datasets(&self.entries()?))
    }

    /// Every entry of the file, in order.
    ///
    /// # Errors
    /// When the file does not verify.
    pub fn entries(&self) -> Result<Vec<Entry>, LedgerError> {
        let entries = read(&self.connection)?;
        verify(&entries)?;
        Ok(entries)
    }

    /// Checks the file, every hash, the order of entries, and that no data set is overdrawn.
    ///
    /// A rewritten history with its own hashes passes: see [`Ledger::verify_against`].
    ///
    /// # Errors
    /// [`LedgerError::Broken`] with the first entry that is wrong, [`LedgerError::Damaged`] if the
    /// file itself is.
    pub fn verify(&self) -> Result<Verdict, LedgerError> {
        file::check_pages(&self.connection)?;
        verify(&read(&self.connection)?)
    }

    /// Checks as [`Ledger::verify`] does, and then that the ledger has the entry of each fit, and
    /// all entries of each copy, as they were recorded.
    ///
    /// # Guarantee
    /// The chain has no key, so anyone who can write the file can write another history that
    /// verifies. A fit kept elsewhere holds the hash of its entry, which depends on all entries
    /// before it; so does a copy. If this succeeds, those entries are unchanged, unless SHA-256 is
    /// broken.
    ///
    /// # Errors
    /// As [`Ledger::verify`], and [`LedgerError::Kept`] with every mismatch.
    pub fn verify_against(&self, kept: &[Kept]) -> Result<Verdict, LedgerError> {
        let verdict = self.verify()?;
        let entries = self.entries()?;
        let findings: Vec<String> = kept.iter().filter_map(|one| one.finding(&entries)).collect();
        match findings.is_empty() {
            true => Ok(verdict),
            false => Err(LedgerError::Kept { findings, of: kept.len() }),
        }
    }

    /// Runs `work` on the verified entries, with all other writers excluded, and syncs to disk.
    fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>, &[Entry]) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        file::check_pages(&transaction)?;
        let before = read(&transaction)?;
        verify(&before)?;
        file::bring_up_to_date(&transaction)?;
        let result = work(&transaction, &before)?;
        // Reads the result back before it is final: the old entries, followed by the new one.
        let after = read(&transaction)?;
        verify(&after)?;
        if after.len() != before.len() + 1 || after[..before.len()] != before {
            return Err(LedgerError::Damaged);
        }
        transaction.commit()?;
        Ok(result)
    }
}

/// Whether a name has characters, not too many, none that could hide or move others, and no leading
/// or trailing blanks.
fn can_be_shown(name: &str) -> bool {
    let has_ends = name.trim() == name;
    has_ends && (1..=LONGEST_NAME).contains(&name.chars().count()) && !name.chars().any(char::is_control)
}

/// Refuses persons without an identifying column: an empty name is a mistake, and no fit could add
/// to such an account.
fn check_person(promise: &Promise) -> Result<(), LedgerError> {
    let is_named = promise.person.as_ref().is_some_and(|column| !column.trim().is_empty());
    let is_sound = match promise.unit {
        Unit::Row => promise.person.is_none(),
        Unit::Person => is_named,
    };
    if is_sound { Ok(()) } else { Err(LedgerError::Person) }
}

fn check_analyst(name: &str) -> Result<(), LedgerError> {
    if name.is_empty() || can_be_shown(name) && name != OTHERS { Ok(()) } else { Err(LedgerError::Analyst) }
}

/// Refuses a charge that the account cannot pay.
fn refuse(
    dataset: &str,
    entries: &[Entry],
    analyst: &str,
    charge: &Charge,
    another_table: bool,
) -> Result<(), LedgerError> {
    let unlike = |why| LedgerError::Unlike { dataset: dataset.to_owned(), why };
    Balance::of(entries).adds(&charge.promise).map_err(unlike)?;
    refuse_overdraft(dataset, entries, analyst, charge.rho)?;
    let table = fingerprint(&charge.table);
    let other = fits_in_force(entries).filter(|entry| entry.is_of_other_table(&table)).last();
    match other.filter(|_| !another_table) {
        Some(other) => Err(LedgerError::OtherTable { dataset: dataset.to_owned(), entry: other.id }),
        None => Ok(()),
    }
}

fn refuse_overdraft(dataset: &str, entries: &[Entry], analyst: &str, asked: Rho) -> Result<(), LedgerError> {
    let (balance, wanted, dataset) = (Balance::of(entries), u128::from(asked.units()), dataset.to_owned());
    if let Some(frozen) = &balance.frozen {
        return Err(LedgerError::Frozen { dataset, why: frozen.to_string() });
    }
    if balance.is_overdrawn() {
        return Err(LedgerError::Overdrawn { dataset, over: Amount(balance.spent - balance.granted).to_string() });
    }
    if balance.left() < wanted {
        return Err(LedgerError::Overdraft { dataset, asked, left: Amount(balance.left()).to_string() });
    }
    if balance.has_limits() && analyst.is_empty() {
        return Err(LedgerError::NoAnalyst { dataset });
    }
    match balance.left_of(analyst).filter(|&left| left < wanted) {
        None => Ok(()),
        Some(left) => {
            let (analyst, left) = (analyst.to_owned(), Amount(left).to_string());
            Err(LedgerError::OverLimit { dataset, analyst, asked, left })
        }
    }
}

/// The entries of one data set, of which there is at least one.
fn of_dataset(entries: &[Entry], dataset: &str) -> Result<Vec<Entry>, LedgerError> {
    let found: Vec<Entry> = entries.iter().filter(|entry| entry.dataset == dataset).cloned().collect();
    if found.is_empty() { Err(no_account(&datasets(entries), dataset)) } else { Ok(found) }
}

fn datasets(entries: &[Entry]) -> Vec<String> {
    let opened = entries.iter().filter(|entry| entry.kind == Kind::Init);
    let mut names: Vec<String> = opened.map(|entry| entry.dataset.clone()).collect();
    names.sort();
    names
}

fn no_account(names: &[String], dataset: &str) -> LedgerError {
    let shown = names.iter().take(NAMES_SHOWN).map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let known = match names.len() {
        0 => "none".to_owned(),
        count if count > NAMES_SHOWN => format!("{shown} and {} more", count - NAMES_SHOWN),
        _ => shown,
    };
    LedgerError::NoAccount { dataset: dataset.to_owned(), known }
}

/// A new entry with the present time, not yet in the chain.
fn entry(dataset: &str, kind: Kind, rho: Amount, text: &str) -> Entry {
    let time = jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_else(|_| jiff::Timestamp::now()).to_string();
    let (dataset, text) = (dataset.to_owned(), text.to_owned());
    let [neighbours, stated, plan, table, hash] = [const { String::new() }; 5];
    let (delta, promise, about, attribution) = (None, None, None, Attribution::default());
    Entry {
        id: 0,
        dataset,
        time,
        kind,
        rho,
        delta,
        neighbours,
        promise,
        stated,
        text,
        plan,
        table,
        attribution,
        about,
        hash,
    }
}

/// The same entry with its promise.
fn promising(entry: Entry, promise: Promise) -> Entry {
    let stated = serde_json::to_string(&promise).expect("plain data serialise");
    Entry { neighbours: in_words(&promise), promise: Some(promise), stated, ..entry }
}

/// An entry for a release.
fn charged(dataset: &str, kind: Kind, charge: &Charge, attribution: Attribution) -> Entry {
    let (plan, table) = (fingerprint(&charge.plan), fingerprint(&charge.table));
    let new = entry(dataset, kind, charge.rho.into(), &charge.formula);
    promising(Entry { plan, table, attribution, ..new }, charge.promise.clone())
}

/// Appends an entry, chained to the last one of the file, and returns it as recorded.
fn add(transaction: &Transaction<'_>, before: &[Entry], new: Entry) -> Result<Entry, LedgerError> {
    let previous = before.last().map_or(START, |last| &last.hash);
    let mut new = Entry { id: before.len() as i64 + 1, ..new };
    new.hash = hash(previous, &new);
    let units = i64::try_from(new.rho.0).map_err(|_| LedgerError::Damaged)?;
    let Entry {
        id, dataset, time, kind, delta, neighbours, stated, text, plan, table, attribution, about, hash, ..
    } = &new;
    let Attribution { analyst, purpose, note } = attribution;
    transaction.execute(
        "INSERT INTO entry (id, dataset, time, kind, units, delta, neighbours, text, plan, tabled, analyst, purpose, note, about, promise, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        params![
            id, dataset, time, kind.name(), units, delta, neighbours, text, plan, table, analyst, purpose, note, about,
            stated, hash
        ],
    )?;
    Ok(new)
}

/// The entries as they stand in the file.
fn read(connection: &Connection) -> Result<Vec<Entry>, LedgerError> {
    let said = match Version::of(connection)? {
        Version::First => "'', '', '', NULL, ''",
        Version::Second => "analyst, purpose, note, about, ''",
        Version::Third => "analyst, purpose, note, about, promise",
    };
    let sql = format!(
        "SELECT id, dataset, time, kind, units, delta, neighbours, text, plan, tabled, hash, {said} FROM entry ORDER BY id"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        let broken = |why| LedgerError::Broken { entry: id, why };
        let (kind, units): (String, i64) = (row.get(3)?, row.get(4)?);
        let (neighbours, stated): (String, String) = (row.get(6)?, row.get(15)?);
        let promise = match stated.is_empty() {
            true if neighbours.is_empty() => None,
            true => Some(from_words(&neighbours).ok_or_else(|| broken("its promise is not known"))?),
            false => Some(serde_json::from_str(&stated).map_err(|_| broken("its promise is not known"))?),
        };
        entries.push(Entry {
            id,
            dataset: row.get(1)?,
            time: row.get(2)?,
            kind: Kind::from_name(&kind).ok_or_else(|| broken("its kind is not known"))?,
            rho: u128::try_from(units).map(Amount).map_err(|_| broken("its budget makes no sense"))?,
            delta: row.get(5)?,
            neighbours,
            promise,
            stated,
            text: row.get(7)?,
            plan: row.get(8)?,
            table: row.get(9)?,
            hash: row.get(10)?,
            attribution: Attribution { analyst: row.get(11)?, purpose: row.get(12)?, note: row.get(13)? },
            about: row.get(14)?,
        });
    }
    Ok(entries)
}

fn verify(entries: &[Entry]) -> Result<Verdict, LedgerError> {
    let mut previous = START;
    let mut accounts: HashMap<&str, Balance<'_>> = HashMap::new();
    let mut by_dataset: HashMap<&str, Vec<Entry>> = HashMap::new();
    for entry in entries {
        by_dataset.entry(&entry.dataset).or_default().push(entry.clone());
    }
    for (expected, entry) in (1..).zip(entries) {
        let broken = |why| Err(LedgerError::Broken { entry: entry.id, why });
        if entry.id != expected {
            return broken("an entry before it is missing");
        }
        if entry.hash != hash(previous, entry) {
            return broken("it was changed after it was recorded");
        }
        if accounts.contains_key(entry.dataset.as_str()) == (entry.kind == Kind::Init) {
            return broken("a data set must be opened once, and before anything else");
        }
        let account =
            accounts.entry(&entry.dataset).or_insert_with(|| Balance::new(&by_dataset[entry.dataset.as_str()]));
        if let Err(why) = account.add(entry) {
            return broken(why);
        }
        previous = &entry.hash;
    }
    Ok(Verdict { entries: entries.len(), last_hash: previous.to_owned() })
}
