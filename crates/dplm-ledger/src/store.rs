//! The file: SQLite, one writer at a time, synced to disk before a call returns.

use std::{path::Path, time::Duration};

use dplm::privacy::Rho;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{
    Account, Entry, Kind, LedgerError, Spending,
    chain::{START, fingerprint, hash},
    entry::Amount,
};

/// How long a process waits for others.
const PATIENCE: Duration = Duration::from_secs(60);
/// "dplm", so that other SQLite files are told apart.
const APPLICATION_ID: i32 = 0x6470_6c6d;
/// The delta at which epsilon is shown when none was given.
const DELTA: f64 = 1e-6;

const SCHEMA: &str = "
    CREATE TABLE account (dataset TEXT PRIMARY KEY, delta REAL NOT NULL) STRICT;
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, dataset TEXT NOT NULL REFERENCES account, time TEXT NOT NULL, kind TEXT NOT NULL,
        units INTEGER NOT NULL CHECK (units > 0), text TEXT NOT NULL, plan TEXT NOT NULL, tabled TEXT NOT NULL, hash TEXT NOT NULL
    ) STRICT;
    CREATE TRIGGER no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
    CREATE TRIGGER no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
";

/// A ledger file.
pub struct Ledger {
    connection: Connection,
}

/// What [`Ledger::verify`] found in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How many entries there are.
    pub entries: usize,
    /// The hash of the last one: keep a copy of it elsewhere to notice a file that was cut short.
    pub last_hash: String,
}

impl Ledger {
    /// Makes a new file.
    ///
    /// # Errors
    /// When something is there already, or the disk refuses.
    pub fn create(file: &Path) -> Result<Ledger, LedgerError> {
        if file.exists() || file.is_symlink() {
            return Err(LedgerError::Exists { file: file.display().to_string() });
        }
        let connection = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        connection.execute_batch(&format!("BEGIN; PRAGMA application_id = {APPLICATION_ID}; {SCHEMA} COMMIT;"))?;
        Ok(Ledger { connection })
    }

    /// Opens a file.
    ///
    /// # Errors
    /// When it is not there or is not a ledger.
    pub fn open(file: &Path) -> Result<Ledger, LedgerError> {
        let name = || file.display().to_string();
        if !file.exists() {
            return Err(LedgerError::NotFound { file: name() });
        }
        let connection = connect(file, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let id: Result<i32, _> = connection.query_row("PRAGMA application_id", [], |row| row.get(0));
        match id {
            Ok(APPLICATION_ID) => Ok(Ledger { connection }),
            Err(error) if LedgerError::from_code(&error) == Some(rusqlite::ErrorCode::DatabaseBusy) => {
                Err(LedgerError::Busy)
            }
            _ => Err(LedgerError::NotALedger { file: name() }),
        }
    }

    /// Adds a data set with its first budget.
    ///
    /// # Errors
    /// When the name is taken, or the disk refuses.
    pub fn open_account(&mut self, dataset: &str, rho: Rho, delta: Option<f64>, note: &str) -> Result<(), LedgerError> {
        self.write(|transaction| {
            let sql = "INSERT INTO account (dataset, delta) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            if transaction.execute(sql, params![dataset, delta.unwrap_or(DELTA)])? == 0 {
                return Err(LedgerError::AccountExists { dataset: dataset.to_owned() });
            }
            add(transaction, dataset, Kind::Init, rho, [note, "", ""])
        })
    }

    /// Adds to the budget of a data set.
    ///
    /// # Errors
    /// When there is no such data set, or the disk refuses.
    pub fn grant(&mut self, dataset: &str, rho: Rho, note: &str) -> Result<(), LedgerError> {
        self.write(|transaction| {
            check_account(transaction, dataset)?;
            add(transaction, dataset, Kind::Grant, rho, [note, "", ""])
        })
    }

    /// Records a spending. When this returns, it is on disk.
    ///
    /// Returns whether an earlier fit under this name was on a table with other columns or another number of rows.
    ///
    /// # Guarantee
    /// One transaction, with all other writers shut out: the sum of what is spent never exceeds what was granted, however many processes
    /// spend at once. An error means that nothing was recorded, so nothing may be released.
    ///
    /// # Errors
    /// When too little is left, the file does not verify, or the disk refuses.
    pub fn spend(&mut self, dataset: &str, spending: &Spending) -> Result<bool, LedgerError> {
        let (plan, table) = (fingerprint(&spending.plan), fingerprint(&spending.table));
        self.write(|transaction| {
            check_account(transaction, dataset)?;
            verify(&entries(transaction, None)?)?;
            let before = entries(transaction, Some(dataset))?;
            let left = Sums::of(&before).left();
            if left < u128::from(spending.rho.units()) {
                let left = Amount(left).to_string();
                return Err(LedgerError::Overdraft { dataset: dataset.to_owned(), asked: spending.rho, left });
            }
            add(transaction, dataset, Kind::Spend, spending.rho, [&spending.formula, &plan, &table])?;
            Ok(before.iter().any(|entry| entry.kind == Kind::Spend && entry.table != table))
        })
    }

    /// The state of one data set.
    ///
    /// # Errors
    /// When there is no such data set, or the file cannot be read.
    pub fn account(&self, dataset: &str) -> Result<Account, LedgerError> {
        let sql = "SELECT delta FROM account WHERE dataset = ?1";
        let delta: Option<f64> = self.connection.query_row(sql, [dataset], |row| row.get(0)).optional()?;
        let delta = delta.ok_or_else(|| no_account(&self.connection, dataset))?;
        let entries = entries(&self.connection, Some(dataset))?;
        let sums = Sums::of(&entries);
        let (total, spent, left) = (Amount(sums.granted), Amount(sums.spent), Amount(sums.left()));
        Ok(Account { dataset: dataset.to_owned(), delta, total, spent, left, entries })
    }

    /// The names of the data sets, in order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn datasets(&self) -> Result<Vec<String>, LedgerError> {
        datasets(&self.connection)
    }

    /// Checks every hash, the order of entries, and that no data set is overdrawn.
    ///
    /// # Errors
    /// [`LedgerError::Broken`] with the first entry that is wrong.
    pub fn verify(&self) -> Result<Verdict, LedgerError> {
        verify(&entries(&self.connection, None)?)
    }

    /// Runs `work` with all other writers shut out, and syncs to disk.
    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, LedgerError>) -> Result<T, LedgerError> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }
}

impl LedgerError {
    fn from_code(error: &rusqlite::Error) -> Option<rusqlite::ErrorCode> {
        error.sqlite_error_code()
    }
}

fn connect(file: &Path, flags: OpenFlags) -> Result<Connection, LedgerError> {
    let connection =
        Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW)?;
    connection.busy_timeout(PATIENCE)?;
    // EXTRA also syncs the folder after the journal is removed, so that a spending survives a power cut.
    connection.execute_batch("PRAGMA synchronous = EXTRA; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;")?;
    Ok(connection)
}

fn check_account(connection: &Connection, dataset: &str) -> Result<(), LedgerError> {
    let found = connection.query_row("SELECT 1 FROM account WHERE dataset = ?1", [dataset], |_| Ok(())).optional()?;
    found.ok_or_else(|| no_account(connection, dataset))
}

fn no_account(connection: &Connection, dataset: &str) -> LedgerError {
    let known = match datasets(connection) {
        Ok(names) if !names.is_empty() => names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", "),
        _ => "none".to_owned(),
    };
    LedgerError::NoAccount { dataset: dataset.to_owned(), known }
}

fn datasets(connection: &Connection) -> Result<Vec<String>, LedgerError> {
    let mut statement = connection.prepare("SELECT dataset FROM account ORDER BY dataset")?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Appends an entry, chained to the last one of the file. `words` are its text, plan and table.
fn add(
    transaction: &Transaction<'_>,
    dataset: &str,
    kind: Kind,
    rho: Rho,
    words: [&str; 3],
) -> Result<(), LedgerError> {
    let last = "SELECT id, hash FROM entry ORDER BY id DESC LIMIT 1";
    let last: Option<(i64, String)> =
        transaction.query_row(last, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    let (id, previous) = last.map_or((1, START.to_owned()), |(id, hash)| (id + 1, hash));
    let [text, plan, table] = words.map(str::to_owned);
    let time = jiff::Timestamp::now().to_string();
    let mut entry = Entry { id, dataset: dataset.to_owned(), time, kind, rho, text, plan, table, hash: String::new() };
    entry.hash = hash(&previous, &entry);
    let units = i64::try_from(rho.units()).expect("a budget is at most 1000 times 10^15 units");
    transaction.execute(
        "INSERT INTO entry (id, dataset, time, kind, units, text, plan, tabled, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![entry.id, entry.dataset, entry.time, kind.name(), units, entry.text, entry.plan, entry.table, entry.hash],
    )?;
    Ok(())
}

/// The entries of one data set, or of all, in order.
fn entries(connection: &Connection, dataset: Option<&str>) -> Result<Vec<Entry>, LedgerError> {
    let sql = "SELECT id, dataset, time, kind, units, text, plan, tabled, hash FROM entry WHERE ?1 IS NULL OR dataset = ?1 ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query(params![dataset])?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        let broken = |why| LedgerError::Broken { entry: id, why };
        let (kind, units): (String, i64) = (row.get(3)?, row.get(4)?);
        entries.push(Entry {
            id,
            dataset: row.get(1)?,
            time: row.get(2)?,
            kind: Kind::from_name(&kind).ok_or_else(|| broken("its kind is not known"))?,
            rho: u64::try_from(units)
                .ok()
                .and_then(Rho::from_units)
                .ok_or_else(|| broken("its budget makes no sense"))?,
            text: row.get(5)?,
            plan: row.get(6)?,
            table: row.get(7)?,
            hash: row.get(8)?,
        });
    }
    Ok(entries)
}

/// Exact sums over entries.
#[derive(Default)]
struct Sums {
    granted: u128,
    spent: u128,
}

impl Sums {
    fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Sums {
        let mut sums = Sums::default();
        for entry in entries {
            let units = u128::from(entry.rho.units());
            match entry.kind {
                Kind::Init | Kind::Grant => sums.granted += units,
                Kind::Spend => sums.spent += units,
            }
        }
        sums
    }

    fn left(&self) -> u128 {
        self.granted.saturating_sub(self.spent)
    }
}

fn verify(entries: &[Entry]) -> Result<Verdict, LedgerError> {
    let mut previous = START.to_owned();
    for (index, entry) in entries.iter().enumerate() {
        let broken = |why| Err(LedgerError::Broken { entry: entry.id, why });
        if entry.id != index as i64 + 1 {
            return broken("an entry before it is missing");
        }
        if entry.hash != hash(&previous, entry) {
            return broken("it was changed after it was recorded");
        }
        let sums = Sums::of(entries[..=index].iter().filter(|other| other.dataset == entry.dataset));
        if sums.spent > sums.granted {
            return broken("it spends more than was granted");
        }
        previous.clone_from(&entry.hash);
    }
    Ok(Verdict { entries: entries.len(), last_hash: previous })
}
