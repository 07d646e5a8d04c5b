//! A ledger's file: one plain file with one name, created completely or not at all.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, config::DbConfig, limits::Limit};

use crate::{LedgerError, locks};

/// How long a process waits for others.
const PATIENCE: Duration = Duration::from_secs(60);
/// "dplm", which identifies the file among SQLite files.
const APPLICATION_ID: i32 = 0x6470_6c6d;
/// The longest value accepted, in bytes: enough for a formula of a hundred thousand columns.
const LONGEST_VALUE: i32 = 16 << 20;

const SCHEMA: &str = "
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, time TEXT NOT NULL, kind TEXT NOT NULL,
        units INTEGER NOT NULL CHECK (units >= 0), delta REAL, neighbours TEXT NOT NULL,
        text TEXT NOT NULL, plan TEXT NOT NULL, tabled TEXT NOT NULL,
        analyst TEXT NOT NULL, purpose TEXT NOT NULL, note TEXT NOT NULL, about INTEGER, promise TEXT NOT NULL,
        hash TEXT NOT NULL
    ) STRICT;
";
/// The entries of a file by an earlier version, which states promises in words only.
const SECOND_SCHEMA: &str = "
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, time TEXT NOT NULL, kind TEXT NOT NULL,
        units INTEGER NOT NULL CHECK (units >= 0), delta REAL, neighbours TEXT NOT NULL,
        text TEXT NOT NULL, plan TEXT NOT NULL, tabled TEXT NOT NULL,
        analyst TEXT NOT NULL, purpose TEXT NOT NULL, note TEXT NOT NULL, about INTEGER, hash TEXT NOT NULL
    ) STRICT;
";
/// The entries of a file by the first version, which does not record who asked, and why.
const FIRST_SCHEMA: &str = "
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, time TEXT NOT NULL, kind TEXT NOT NULL,
        units INTEGER NOT NULL CHECK (units > 0), delta REAL, neighbours TEXT NOT NULL,
        text TEXT NOT NULL, plan TEXT NOT NULL, tabled TEXT NOT NULL, hash TEXT NOT NULL
    ) STRICT;
";
const TRIGGERS: &str = "
    CREATE TRIGGER no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
    CREATE TRIGGER no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
";

/// The schema of a file; kept in it as its `user_version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Entries do not record who asked.
    First,
    /// They do, and state promises in words.
    Second,
    /// They state promises as values.
    Third,
}

impl Version {
    const fn number(self) -> i32 {
        match self {
            Version::First => 0,
            Version::Second => 2,
            Version::Third => 3,
        }
    }

    const fn schema(self) -> &'static str {
        match self {
            Version::First => FIRST_SCHEMA,
            Version::Second => SECOND_SCHEMA,
            Version::Third => SCHEMA,
        }
    }

    /// The version that a file declares.
    pub(crate) fn of(connection: &Connection) -> Result<Version, LedgerError> {
        let number: i32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let known =
            [Version::First, Version::Second, Version::Third].into_iter().find(|version| version.number() == number);
        known.ok_or(LedgerError::Damaged)
    }
}

/// Within a transaction, gives a file of an earlier version the columns of the present one; its
/// entries and their hashes stay as they are.
pub(crate) fn bring_up_to_date(transaction: &Connection) -> Result<(), LedgerError> {
    let of_all = "id, dataset, time, kind, units, delta, neighbours, text, plan, tabled";
    let said = match Version::of(transaction)? {
        Version::First => "'', '', '', NULL",
        Version::Second => "analyst, purpose, note, about",
        Version::Third => return Ok(()),
    };
    let number = Version::Third.number();
    Ok(transaction.execute_batch(&format!(
        "DROP TRIGGER no_update; DROP TRIGGER no_delete; ALTER TABLE entry RENAME TO earlier_entry; {SCHEMA}
         INSERT INTO entry ({of_all}, analyst, purpose, note, about, promise, hash)
             SELECT {of_all}, {said}, '', hash FROM earlier_entry ORDER BY id;
         DROP TABLE earlier_entry; {TRIGGERS} PRAGMA user_version = {number};"
    ))?)
}

/// Writes a copy of the ledger as it stands between two entries, to a new file.
pub(crate) fn copy(connection: &Connection, to: &Path) -> Result<(), LedgerError> {
    new_file(to, |unfinished| {
        let place = unfinished.to_str().ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidFilename))?;
        connection.execute("VACUUM INTO ?1", [place])?;
        Ok(())
    })
}

/// Makes a new ledger file.
pub(crate) fn create(file: &Path) -> Result<(), LedgerError> {
    let number = Version::Third.number();
    new_file(file, |unfinished| {
        let marks = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number};");
        Ok(connect(unfinished)?.execute_batch(&format!("BEGIN; {marks} {SCHEMA} {TRIGGERS} COMMIT;"))?)
    })
}

/// Makes a new file: under a temporary name first, so that a crash leaves nothing that looks like a
/// ledger.
fn new_file(file: &Path, fill: impl FnOnce(&Path) -> Result<(), LedgerError>) -> Result<(), LedgerError> {
    let file = in_real_folder(file)?;
    let exists = || LedgerError::Exists { file: file.display().to_string() };
    if file.symlink_metadata().is_ok() {
        return Err(exists());
    }
    if let Some(kind) = locks::kept_here_only(&file) {
        return Err(LedgerError::NoLocks { file: file.display().to_string(), kind });
    }
    let folder = file.parent().expect("a file in a folder");
    let unfinished = unfinished_in(folder)?;
    fill(unfinished.path())?;
    unfinished.as_file().sync_all()?;
    unfinished.persist_noclobber(&file).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(),
        _ => error.error.into(),
    })?;
    Ok(sync_folder(folder)?)
}

/// Opens a ledger file after checking that it is one.
pub(crate) fn open(file: &Path) -> Result<Connection, LedgerError> {
    let name = || file.display().to_string();
    let place = in_real_folder(file)?;
    let found = place.symlink_metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => LedgerError::NotFound { file: name() },
        _ => error.into(),
    })?;
    if found.is_symlink() {
        return Err(LedgerError::Link { file: name() });
    }
    if !found.is_file() {
        return Err(LedgerError::NotALedger { file: name() });
    }
    if has_second_name(&place, &found)? {
        return Err(LedgerError::SecondName { file: name() });
    }
    if let Some(kind) = locks::kept_here_only(&place) {
        return Err(LedgerError::NoLocks { file: name(), kind });
    }
    let connection = connect(&place).map_err(|error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => LedgerError::NotALedger { file: name() },
        _ => error.into(),
    })?;
    match is_ledger(&connection) {
        Ok(true) => Ok(connection),
        Ok(false) | Err(LedgerError::Damaged) => Err(LedgerError::NotALedger { file: name() }),
        Err(other) => Err(other),
    }
}

/// Whether the file has our mark and our tables, and nothing else: a view could run for ever.
fn is_ledger(connection: &Connection) -> Result<bool, LedgerError> {
    let id: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let fresh = Connection::open_in_memory()?;
    fresh.execute_batch(&format!("{} {TRIGGERS}", Version::of(connection)?.schema()))?;
    Ok(id == APPLICATION_ID && shape(connection)? == shape(&fresh)? && is_read_again(connection)?)
}

/// Whether the file can still be read once its tables have changed: one that states no encoding of
/// texts is read in the usual one, and no more by a connection that is to read its tables again.
fn is_read_again(connection: &Connection) -> Result<bool, LedgerError> {
    connection.execute_batch("PRAGMA writable_schema = RESET")?;
    match connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())) {
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown) => Ok(false),
        found => Ok(found.map(|()| true)?),
    }
}

/// Refuses a file whose pages contradict each other: it may read without errors and lose entries at
/// the next write.
pub(crate) fn check_pages(connection: &Connection) -> Result<(), LedgerError> {
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(LedgerError::Damaged) }
}

type Shape = Vec<(String, String, Option<String>)>;

fn shape(connection: &Connection) -> Result<Shape, LedgerError> {
    let mut statement = connection.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name LIMIT 10")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // EXTRA also syncs the folder after the journal is removed, so that a charge survives a power
    // cut.
    connection
        .execute_batch("PRAGMA synchronous = EXTRA; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    Ok(connection)
}

/// The file with every link among its folders resolved. The file's own link is not followed.
fn in_real_folder(file: &Path) -> Result<PathBuf, LedgerError> {
    let shown = || file.display().to_string();
    // Without a file name it is a folder, such as "..".
    let name = file.file_name().ok_or_else(|| LedgerError::NotALedger { file: shown() })?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => LedgerError::NoFolder { file: shown() },
        _ => error.into(),
    })?;
    Ok(folder.join(name))
}

fn unfinished_in(folder: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dplm-").suffix(".unfinished");
    // As any new file: the user's umask decides who may read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(unix)]
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Windows does not sync folders: its file system journals names itself.
#[cfg(windows)]
fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn has_second_name(_: &Path, found: &fs::Metadata) -> std::io::Result<bool> {
    Ok(std::os::unix::fs::MetadataExt::nlink(found) > 1)
}

#[cfg(windows)]
fn has_second_name(file: &Path, _: &fs::Metadata) -> std::io::Result<bool> {
    Ok(winapi_util::file::information(File::open(file)?)?.number_of_links() > 1)
}
