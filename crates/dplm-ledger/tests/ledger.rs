//! The ledger as a custodian and as an attacker would use it.

use std::{path::Path, sync::Barrier, thread};

use dplm::privacy::{Neighbours, Rho};
use dplm_ledger::{Ledger, LedgerError, Spending};

fn rho(value: f64) -> Rho {
    Rho::checked_from_f64(value).unwrap()
}

fn fresh(folder: &Path, total: f64) -> std::path::PathBuf {
    let file = folder.join("budget.db");
    Ledger::create(&file).unwrap().open_account("wages", rho(total), None, "note").unwrap();
    file
}

/// Runs SQL past the ledger, as somebody with a database tool would.
fn tamper(file: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let triggers: Vec<String> = {
        let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    connection.execute_batch("DROP TRIGGER no_update; DROP TRIGGER no_delete;").unwrap();
    connection.execute_batch(sql).unwrap();
    connection.execute_batch(&triggers.join(";")).unwrap();
}

#[test]
fn spending_to_the_last_unit_and_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 0.03);
    let mut ledger = Ledger::open(&file).unwrap();
    for _ in 0..3 {
        ledger.spend("wages", &Spending::new(rho(0.01), "y ~ x")).unwrap();
    }
    let refusal = ledger.spend("wages", &Spending::new(rho(1e-12), "y ~ x")).unwrap_err();
    assert!(refusal.to_string().contains("'wages' has 0 left"), "{refusal}");
    ledger.grant("wages", rho(0.01), "more").unwrap();
    ledger.spend("wages", &Spending::new(rho(0.005), "y ~ x")).unwrap();
    let account = ledger.account("wages").unwrap();
    assert_eq!(
        (account.total.to_string(), account.spent.to_string(), account.left.to_string()),
        ("0.04".into(), "0.035".into(), "0.005".into())
    );
    assert_eq!(ledger.verify().unwrap().entries, 6);
}

#[test]
fn other_tables_under_the_same_name_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&fresh(folder.path(), 1.0)).unwrap();
    let spending = |table: &str| Spending { table: table.to_owned(), ..Spending::new(rho(0.01), "y ~ x") };
    assert!(!ledger.spend("wages", &spending("100 rows: x, y")).unwrap());
    assert!(!ledger.spend("wages", &spending("100 rows: x, y")).unwrap());
    assert!(ledger.spend("wages", &spending("101 rows: x, y")).unwrap());
}

#[test]
fn edits_removals_and_reorderings_are_found() {
    for (sql, entry) in [
        ("UPDATE entry SET units = units - 1 WHERE id = 2", 2),
        ("UPDATE entry SET text = 'y ~ z' WHERE id = 3", 3),
        ("DELETE FROM entry WHERE id = 2", 3),
        (
            "UPDATE entry SET id = 10 WHERE id = 2; UPDATE entry SET id = 2 WHERE id = 3; UPDATE entry SET id = 3 WHERE id = 10",
            2,
        ),
        ("UPDATE entry SET dataset = 'other' WHERE id = 3", 3),
        ("UPDATE entry SET kind = 'grant' WHERE id = 3", 3),
        ("UPDATE entry SET delta = 0.5 WHERE id = 1", 1),
        ("UPDATE entry SET time = '2020-01-01T00:00:00Z' WHERE id = 4", 4),
        ("UPDATE entry SET neighbours = 'zero-out' WHERE id = 3", 3),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = fresh(folder.path(), 1.0);
        let mut ledger = Ledger::open(&file).unwrap();
        ledger.open_account("other", rho(1.0), None, "").unwrap();
        ledger.spend("wages", &Spending::new(rho(0.1), "y ~ x")).unwrap();
        ledger.spend("other", &Spending::new(rho(0.2), "y ~ x")).unwrap();
        tamper(&file, sql);
        let found = ledger.verify().unwrap_err();
        assert!(matches!(found, LedgerError::Broken { entry: wrong, .. } if wrong == entry), "{sql}: {found}");
        assert!(ledger.spend("wages", &Spending::new(rho(0.1), "y ~ x")).is_err(), "a broken ledger spends nothing");
    }
}

#[test]
fn what_is_not_a_ledger_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.db");
    assert!(matches!(Ledger::open(&missing), Err(LedgerError::NotFound { .. })));
    let text = folder.path().join("text.db");
    std::fs::write(&text, "not a database at all, but long enough to be one".repeat(50)).unwrap();
    assert!(Ledger::open(&text).is_err());
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(Ledger::open(&other), Err(LedgerError::NotALedger { .. })));
    let file = fresh(folder.path(), 1.0);
    assert!(matches!(Ledger::create(&file), Err(LedgerError::Exists { .. })));
    let mut ledger = Ledger::open(&file).unwrap();
    assert!(matches!(ledger.open_account("wages", rho(1.0), None, ""), Err(LedgerError::AccountExists { .. })));
    let refusal = ledger.spend("wagse", &Spending::new(rho(0.1), "y ~ x")).unwrap_err();
    assert!(refusal.to_string().contains("it has 'wages'"), "{refusal}");
}

#[test]
fn many_at_once_lose_nothing_and_overdraw_nothing() {
    const WRITERS: usize = 16;
    let folder = tempfile::tempdir().unwrap();
    // Enough for 40 of the 64 attempts.
    let file = fresh(folder.path(), 0.4);
    let barrier = Barrier::new(WRITERS);
    let done: usize = thread::scope(|scope| {
        let writer = || {
            let mut ledger = Ledger::open(&file).unwrap();
            barrier.wait();
            let attempts = (0..4).map(|_| ledger.spend("wages", &Spending::new(rho(0.01), "y ~ x")));
            attempts
                .filter(|attempt| match attempt {
                    Ok(_) => true,
                    Err(LedgerError::Overdraft { .. }) => false,
                    Err(other) => panic!("{other}"),
                })
                .count()
        };
        let handles: Vec<_> = (0..WRITERS).map(|_| scope.spawn(writer)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).sum()
    });
    assert_eq!(done, 40);
    let ledger = Ledger::open(&file).unwrap();
    assert_eq!(ledger.account("wages").unwrap().left.to_string(), "0");
    ledger.verify().unwrap();
}

#[test]
fn a_file_with_other_tables_is_no_ledger() {
    for sql in [
        "CREATE TABLE more (x)",
        "CREATE VIEW v AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
        "DROP TRIGGER no_update",
        "CREATE TRIGGER t AFTER INSERT ON entry BEGIN SELECT 1; END",
        "CREATE INDEX i ON entry (dataset)",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = fresh(folder.path(), 1.0);
        rusqlite::Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        assert!(matches!(Ledger::open(&file), Err(LedgerError::NotALedger { .. })), "{sql}");
    }
}

#[test]
fn pages_that_contradict_each_other_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let mut bytes = std::fs::read(&file).unwrap();
    // The start of the cells on the second page, off by one: everything reads well, and the next entry would eat a byte of the last.
    bytes[4096 + 6] = bytes[4096 + 6].wrapping_add(1);
    std::fs::write(&file, bytes).unwrap();
    let mut ledger = Ledger::open(&file).unwrap();
    assert!(matches!(ledger.verify(), Err(LedgerError::Damaged)));
    assert!(matches!(ledger.spend("wages", &Spending::new(rho(0.1), "y ~ x")), Err(LedgerError::Damaged)));
}

#[test]
fn names_are_short_and_can_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&fresh(folder.path(), 1.0)).unwrap();
    for name in ["", "  ", "a\u{1b}[2J", "line\nbreak", &"x".repeat(201)] {
        assert!(matches!(ledger.open_account(name, rho(1.0), None, ""), Err(LedgerError::Name)), "{name:?}");
    }
    assert!(matches!(ledger.open_account("d", rho(1.0), Some(1.0), ""), Err(LedgerError::Delta)));
    ledger.open_account("Löhne 2026", rho(1.0), Some(1e-9), "").unwrap();
    assert_eq!(ledger.datasets().unwrap(), ["Löhne 2026", "wages"]);
}

#[test]
fn the_weakest_promise_is_the_one_that_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(&fresh(folder.path(), 1.0)).unwrap();
    ledger.spend("wages", &Spending::new(rho(0.01), "y ~ x")).unwrap();
    assert_eq!(ledger.account("wages").unwrap().neighbours(), "replace-one");
    let weaker = Spending { neighbours: Neighbours::ZeroOut, ..Spending::new(rho(0.005), "y ~ x") };
    ledger.spend("wages", &weaker).unwrap();
    let account = ledger.account("wages").unwrap();
    assert_eq!(account.neighbours(), "zero-out");
    // rho = 0.015 at delta = 1e-6, as PRIVACY.md has it.
    assert!((account.epsilon_spent().unwrap() - 0.7147).abs() < 1e-4);
}

#[test]
fn what_is_left_behind_by_a_writer_who_died_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let journal = folder.path().join("budget.db-journal");
    // A journal that has not been ended yet, beside a file that was half changed.
    let writer = rusqlite::Connection::open(&file).unwrap();
    writer.execute_batch("PRAGMA cache_size = 1; PRAGMA synchronous = FULL; BEGIN IMMEDIATE;").unwrap();
    for id in 2..500 {
        let sql = "INSERT INTO entry VALUES (?1, 'wages', '', 'spend', 1000, NULL, '', ?2, '', '', '')";
        writer.execute(sql, rusqlite::params![id, "x".repeat(500)]).unwrap();
    }
    let (half, log) = (std::fs::read(&file).unwrap(), std::fs::read(&journal).unwrap());
    drop(writer);
    std::fs::write(&file, &half).unwrap();
    std::fs::write(&journal, &log).unwrap();
    assert!(half.len() > 50_000 && log.len() > 500, "the change had begun to reach the file");
    let ledger = Ledger::open(&file).unwrap();
    assert_eq!(ledger.verify().unwrap().entries, 1);
    assert!(!journal.exists());
}
