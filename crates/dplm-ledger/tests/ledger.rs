//! The ledger in the hands of a custodian and of an attacker.

use std::{path::Path, sync::Barrier, thread};

use dplm::{
    Charge, Statement,
    privacy::{
        Neighbours, Promise, Provenance, Rho, Unlike,
        convert::{self, Conversion},
    },
};
use dplm_ledger::{Amount, Attribution, Kept, Ledger, LedgerError};

/// A charge of rows, replaced one by one, with Gaussian noise.
fn charge(spent: Rho, formula: &str) -> Charge {
    Charge::new(spent, Promise::default(), formula)
}

fn rho(value: f64) -> Rho {
    Rho::checked_from_f64(value).unwrap()
}

fn fresh(folder: &Path, total: f64) -> std::path::PathBuf {
    let file = folder.join("budget.db");
    Ledger::create(&file).unwrap().open_account("wages", rho(total), None, "note").unwrap();
    file
}

/// Runs SQL on the file directly, as a database tool would.
fn tamper(file: &Path, sql: &str) {
    let triggers = without_triggers(file, sql);
    rusqlite::Connection::open(file).unwrap().execute_batch(&triggers).unwrap();
}

/// Runs SQL on a file whose triggers are removed, and returns the SQL that restores them.
fn without_triggers(file: &Path, sql: &str) -> String {
    let connection = rusqlite::Connection::open(file).unwrap();
    let triggers: Vec<String> = {
        let mut statement = connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'trigger'").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    connection.execute_batch("DROP TRIGGER no_update; DROP TRIGGER no_delete;").unwrap();
    connection.execute_batch(sql).unwrap();
    triggers.join(";")
}

#[test]
fn budget_is_spent_to_the_last_unit_and_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 0.03);
    let mut ledger = Ledger::open(&file).unwrap();
    for _ in 0..3 {
        ledger.spend("wages", &charge(rho(0.01), "y ~ x")).unwrap();
    }
    let refusal = ledger.spend("wages", &charge(rho(1e-12), "y ~ x")).unwrap_err();
    assert!(refusal.to_string().contains("'wages' has 0 left"), "{refusal}");
    ledger.grant("wages", rho(0.01), "more").unwrap();
    ledger.spend("wages", &charge(rho(0.005), "y ~ x")).unwrap();
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
    let mut ledger = Ledger::open(fresh(folder.path(), 1.0)).unwrap();
    let charge = |table: &str| Charge { table: table.to_owned(), ..charge(rho(0.01), "y ~ x") };
    assert!(!ledger.spend("wages", &charge("100 rows: x, y")).unwrap().other_table);
    assert!(!ledger.spend("wages", &charge("100 rows: x, y")).unwrap().other_table);
    let refusal = ledger.spend("wages", &charge("101 rows: x, y")).unwrap_err();
    assert!(matches!(refusal, LedgerError::OtherTable { entry: 3, .. }), "{refusal}");
    assert_eq!(ledger.account("wages").unwrap().spent.to_string(), "0.02", "refused before it is paid");
    let mut ledger = ledger.allowing_another_table(true);
    assert!(ledger.spend("wages", &charge("101 rows: x, y")).unwrap().other_table, "meant, and warned of");
}

#[test]
fn a_statement_ends_with_its_own_entry() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(fresh(folder.path(), 1.0)).unwrap();
    let first = ledger.spend("wages", &charge(rho(0.01), "y ~ x")).unwrap();
    let second = ledger.spend("wages", &charge(rho(0.02), "y ~ z")).unwrap();
    let entries = ledger.entries().unwrap();
    for (statement, id, spent) in [(first, 2, 0.01), (second, 3, 0.03)] {
        let entry = &entries[id - 1];
        assert_eq!((statement.entry, &statement.hash, statement.spent()), (id as i64, &entry.hash, spent));
    }
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
        ledger.spend("wages", &charge(rho(0.1), "y ~ x")).unwrap();
        ledger.spend("other", &charge(rho(0.2), "y ~ x")).unwrap();
        tamper(&file, sql);
        let found = ledger.verify().unwrap_err();
        assert!(matches!(found, LedgerError::Broken { entry: wrong, .. } if wrong == entry), "{sql}: {found}");
        assert!(ledger.spend("wages", &charge(rho(0.1), "y ~ x")).is_err(), "a broken ledger spends nothing");
    }
}

/// SHA-256 of the fields, each preceded by its length: what the attacker reads in the source. The
/// attribution and the reversed entry count if any of them is stated.
fn chained(file: &Path) {
    use rusqlite::{Connection, params};
    use sha2::{Digest, Sha256};
    let connection = Connection::open(file).unwrap();
    let version: i32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let said = match version {
        0 => "'', '', '', '', ''",
        2 => "analyst, purpose, note, ifnull(about, ''), ''",
        _ => "analyst, purpose, note, ifnull(about, ''), promise",
    };
    let read = format!(
        "SELECT id, dataset, time, kind, neighbours, text, plan, tabled, cast(id AS TEXT), cast(units AS TEXT), delta, {said} FROM entry ORDER BY id"
    );
    let entries: Vec<(i64, Vec<String>)> = {
        let mut statement = connection.prepare(&read).unwrap();
        let rows = statement.query_map([], |row| {
            let mut fields = (1..10).map(|column| row.get(column)).collect::<Result<Vec<String>, _>>()?;
            fields.push(row.get::<_, Option<f64>>(10)?.map_or(String::new(), |delta| delta.to_string()));
            let mut said = (11..14).map(|column| row.get(column)).collect::<Result<Vec<String>, _>>()?;
            said.push(row.get::<_, rusqlite::types::Value>(14).map(|about| match about {
                rusqlite::types::Value::Integer(about) => about.to_string(),
                _ => String::new(),
            })?);
            let stated: String = row.get(15)?;
            if !stated.is_empty() || said.iter().any(|field| !field.is_empty()) {
                fields.extend(said);
            }
            if !stated.is_empty() {
                fields.push(stated);
            }
            Ok((row.get(0)?, fields))
        });
        rows.unwrap().map(Result::unwrap).collect()
    };
    let mut hash = "dplm ledger v1".to_owned();
    for (id, fields) in entries {
        let mut digest = Sha256::new();
        for field in std::iter::once(&hash).chain(&fields) {
            digest.update((field.len() as u64).to_le_bytes());
            digest.update(field);
        }
        hash = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        connection.execute("UPDATE entry SET hash = ?1 WHERE id = ?2", params![hash, id]).unwrap();
    }
}

/// Changes entries and recomputes every hash, as someone who has read the source would.
fn rewrite(file: &Path, sql: &str) {
    let triggers = without_triggers(file, sql);
    chained(file);
    rusqlite::Connection::open(file).unwrap().execute_batch(&triggers).unwrap();
}

/// The JSON of a fit, as far as its entry repeats it.
fn fit(statement: &Statement, formula: &str, rho: f64) -> String {
    let Statement { dataset, entry, hash, .. } = statement;
    serde_json::json!({
        "dplm": "0.1.0",
        "formula": formula,
        "guarantee": { "neighbours": "replace-one", "rho": rho },
        "ledger": { "dataset": dataset, "entry": entry, "hash": hash },
    })
    .to_string()
}

/// A ledger with two fits, entries 2 and 3, and the fits.
fn with_two_fits(folder: &Path) -> (std::path::PathBuf, [Kept; 2]) {
    let file = fresh(folder, 1.0);
    let mut ledger = Ledger::open(&file).unwrap();
    let fits = [("first", "y ~ x", 0.1), ("second", "y ~ z", 0.2)].map(|(name, formula, spent)| {
        let statement = ledger.spend("wages", &charge(rho(spent), formula)).unwrap();
        Kept::from_json(name, &fit(&statement, formula, spent))
    });
    (file, fits)
}

#[test]
fn a_history_written_anew_verifies_and_the_fits_give_it_away() {
    for (sql, first, second) in [
        (
            "UPDATE entry SET units = 1000000000 WHERE id = 2",
            "entry 2 was changed: it has another rho than",
            "entry 3 has another hash",
        ),
        (
            "UPDATE entry SET text = 'y ~ w' WHERE id = 2",
            "entry 2 was changed: it has another formula than",
            "entry 3 has another hash",
        ),
        (
            "UPDATE entry SET neighbours = 'zero-out', units = 1000000000 WHERE id = 3",
            "",
            "entry 3 was changed: it has another neighbours and another rho than",
        ),
        ("UPDATE entry SET time = '2020-01-01T00:00:00Z' WHERE id = 3", "", "entry 3 has another hash"),
        // A grant is not in a fit, but all hashes depend on it.
        (
            "UPDATE entry SET units = 5000000000000000 WHERE id = 1",
            "entry 2 has another hash",
            "entry 3 has another hash",
        ),
        // An entry removed, the later ones moved up.
        (
            "DELETE FROM entry WHERE id = 2; UPDATE entry SET id = 2 WHERE id = 3",
            "entry 2 was changed: it has another formula and another rho than",
            "entry 3 is gone, the ledger ends with entry 2",
        ),
        ("DELETE FROM entry WHERE id = 3", "", "entry 3 is gone, the ledger ends with entry 2"),
        (
            "UPDATE entry SET dataset = 'else'",
            "a data set that the ledger does not have",
            "a data set that the ledger does not have",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (file, fits) = with_two_fits(folder.path());
        let ledger = Ledger::open(&file).unwrap();
        assert_eq!(ledger.verify_against(&fits).unwrap().entries, 3);
        rewrite(&file, sql);
        let ledger = Ledger::open(&file).unwrap();
        ledger.verify().expect("the file alone does not tell");
        let LedgerError::Kept { findings, of: 2 } = ledger.verify_against(&fits).unwrap_err() else { panic!("{sql}") };
        let expected: Vec<String> = [("first: ", first), ("second: ", second)]
            .iter()
            .filter(|(_, what)| !what.is_empty())
            .map(|(name, what)| format!("{name}{what}"))
            .collect();
        assert_eq!(findings.len(), expected.len(), "{sql}: {findings:?}");
        for (found, expected) in findings.iter().zip(&expected) {
            let (name, what) = expected.split_once(": ").unwrap();
            assert!(found.starts_with(name) && found.contains(what), "{sql}: {found}");
        }
    }
}

#[test]
fn an_old_copy_put_back_lacks_the_later_fit() {
    let folder = tempfile::tempdir().unwrap();
    let (file, [first, _]) = with_two_fits(folder.path());
    let copy = std::fs::read(&file).unwrap();
    let spend = |formula: &str| {
        let statement = Ledger::open(&file).unwrap().spend("wages", &charge(rho(0.3), formula)).unwrap();
        Kept::from_json(formula, &fit(&statement, formula, 0.3))
    };
    let lost = spend("y ~ lost");
    std::fs::write(&file, copy).unwrap();
    let gone = Ledger::open(&file).unwrap().verify_against(&[first.clone(), lost.clone()]).unwrap_err().to_string();
    assert!(gone.contains("1 of 2 kept records does not match them: y ~ lost: entry 4 is gone"), "{gone}");
    // A fit that was recorded after the copy was put back has the number of the lost one.
    let later = spend("y ~ later");
    let changed = Ledger::open(&file).unwrap().verify_against(&[first, lost, later]).unwrap_err().to_string();
    assert!(changed.contains("1 of 3 kept records does not match them: y ~ lost: entry 4 was changed"), "{changed}");
}

#[test]
fn what_cannot_be_held_against_a_ledger_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let mut ledger = Ledger::open(&file).unwrap();
    let statement = ledger.spend("wages", &charge(rho(0.1), "y ~ x")).unwrap();
    let sound = fit(&statement, "y ~ x", 0.1);
    ledger.verify_against(&[Kept::from_json("sound", &sound)]).unwrap();
    let old = r#"{"formula":"y ~ x","guarantee":{"neighbours":"replace-one","rho":0.1},"ledger":{"dataset":"wages"}}"#;
    let plain = r#"{"formula":"y ~ x","guarantee":{"neighbours":"replace-one","rho":0.1}}"#;
    let first = Statement { entry: 1, hash: ledger.entries().unwrap()[0].hash.clone(), ..statement.clone() };
    for (json, sentence) in [
        ("not JSON", "is not the JSON of a fit"),
        ("{}", "is not the JSON of a fit"),
        (plain, "without a ledger"),
        (old, "does not hold the hash of its entry"),
        (&sound.replace("wages", "other"), "a data set that the ledger does not have"),
        (&sound.replace("y ~ x", "y ~ z"), "the fit's file was changed: it has another formula"),
        (&sound.replace("0.1,", "0.2,").replace("0.1}", "0.2}"), "the fit's file was changed: it has another rho"),
        (&fit(&first, "note", 1.0), "the fit's file was changed: it has another kind"),
        (&sound.replace("\"entry\":2", "\"entry\":0"), "entry 0 is gone"),
    ] {
        let refusal = ledger.verify_against(&[Kept::from_json("kept", json)]).unwrap_err().to_string();
        assert!(refusal.contains("kept: ") && refusal.contains(sentence), "{json}: {refusal}");
    }
    let missing = ledger.verify_against(&[Kept::read(folder.path().join("none.json"))]).unwrap_err().to_string();
    assert!(missing.contains("none.json: it could not be read (entity not found)"), "{missing}");
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
    let refusal = ledger.spend("wagse", &charge(rho(0.1), "y ~ x")).unwrap_err();
    assert!(refusal.to_string().contains("it has 'wages'"), "{refusal}");
}

/// It would be charged once, and then not be read again.
#[test]
fn a_file_that_states_no_encoding_of_texts_is_no_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let mut bytes = std::fs::read(&file).unwrap();
    assert_eq!(bytes[56..60], [0, 0, 0, 1]);
    bytes[59] = 4;
    std::fs::write(&file, bytes).unwrap();
    assert!(matches!(Ledger::open(&file), Err(LedgerError::NotALedger { .. })));
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
            let attempts = (0..4).map(|_| ledger.spend("wages", &charge(rho(0.01), "y ~ x")));
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
    // The start of the cells on the second page, off by one: everything reads without errors, and
    // the next entry would overwrite a byte of the last.
    bytes[4096 + 6] = bytes[4096 + 6].wrapping_add(1);
    std::fs::write(&file, bytes).unwrap();
    let mut ledger = Ledger::open(&file).unwrap();
    assert!(matches!(ledger.verify(), Err(LedgerError::Damaged)));
    assert!(matches!(ledger.spend("wages", &charge(rho(0.1), "y ~ x")), Err(LedgerError::Damaged)));
}

#[test]
fn names_are_short_and_can_be_seen() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(fresh(folder.path(), 1.0)).unwrap();
    for name in ["", "  ", "wages ", " wages", "a\u{1b}[2J", "line\nbreak", &"x".repeat(201)] {
        assert!(matches!(ledger.open_account(name, rho(1.0), None, ""), Err(LedgerError::Name)), "{name:?}");
    }
    assert!(matches!(ledger.open_account("d", rho(1.0), Some(1.0), ""), Err(LedgerError::Delta)));
    let taken = ledger.open_account("Wages", rho(1.0), None, "").unwrap_err();
    assert!(taken.to_string().contains("already has a data set named 'wages'"), "{taken}");
    ledger.open_account("Löhne 2026", rho(1.0), Some(1e-9), "").unwrap();
    assert_eq!(ledger.datasets().unwrap(), ["Löhne 2026", "wages"]);
}

#[test]
fn persons_are_identified_by_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(fresh(folder.path(), 1.0)).unwrap();
    for column in ["", "  "] {
        let nobody = Promise::about(Some(column));
        let opened = ledger.open_account_for(nobody.clone(), "visits", rho(1.0), None, "");
        assert!(matches!(opened, Err(LedgerError::Person)), "{column:?}");
        let recorded = ledger.record("wages", &Charge::new(rho(0.1), nobody, "elsewhere"));
        assert!(matches!(recorded, Err(LedgerError::Person)), "{column:?}");
    }
    assert_eq!(ledger.entries().unwrap().len(), 1);
}

fn weaker() -> Promise {
    Promise { neighbours: Neighbours::ZeroOut, ..Promise::default() }
}

/// Every promise that a fit can make, except those of persons by other columns.
fn every_promise() -> Vec<Promise> {
    let mut all = Vec::new();
    for person in [None, Some("id")] {
        for neighbours in [Neighbours::ReplaceOne, Neighbours::ZeroOut] {
            for conversion in [Conversion::Exact, Conversion::Cks, Conversion::Tested] {
                all.push(Promise { neighbours, ..Promise::about(person) }.converted_by(conversion, 1e-6));
            }
        }
    }
    all
}

/// Each account is offered a charge of each promise: charges that add up are recorded, and others
/// are refused with the reason and not recorded.
#[test]
fn only_like_promises_add_up() {
    for account in every_promise() {
        for fit in every_promise() {
            let folder = tempfile::tempdir().unwrap();
            let mut ledger = Ledger::create(folder.path().join("budget.db")).unwrap();
            ledger.open_account_for(account.clone(), "wages", rho(1.0), Some(1e-6), "").unwrap();
            let paid = ledger.spend("wages", &Charge::new(rho(0.1), fit.clone(), "y ~ x"));
            let spent = ledger.account("wages").unwrap().spent.to_string();
            match fit.adds_to(&account) {
                Ok(()) => assert!(paid.is_ok() && spent == "0.1", "{account:?} {fit:?}"),
                Err(why) => {
                    let refusal = paid.unwrap_err().to_string();
                    assert!(refusal.ends_with(&why.to_string()) && spent == "0", "{account:?} {fit:?}: {refusal}");
                }
            }
        }
    }
}

#[test]
fn the_weaker_relation_is_refused_and_recorded_at_four_times_its_price() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(fresh(folder.path(), 0.1)).unwrap();
    let refusal = ledger.spend("wages", &Charge::new(rho(0.005), weaker(), "y ~ x")).unwrap_err().to_string();
    assert!(refusal.contains("four times its rho"), "{refusal}");
    let account = ledger.record("wages", &Charge::new(rho(0.005), weaker(), "elsewhere")).unwrap();
    assert_eq!((account.spent.to_string(), account.left.to_string()), ("0.02".into(), "0.08".into()));
    let statement = ledger.spend("wages", &charge(rho(0.01), "y ~ x")).unwrap();
    assert_eq!((statement.spent(), statement.left()), (0.03, 0.07), "a fit is told the same");
}

/// What was granted as (epsilon, delta) holds for every fit: noise with a weaker conversion is
/// refused, or the grant was converted by it.
#[test]
fn a_granted_epsilon_is_never_exceeded() {
    for account in every_promise() {
        let granted = Rho::checked_from_f64(convert::rho(account.conversion, 1.0, 1e-6).unwrap()).unwrap();
        for fit in every_promise() {
            let folder = tempfile::tempdir().unwrap();
            let mut ledger = Ledger::create(folder.path().join("budget.db")).unwrap();
            ledger.open_account_for(account.clone(), "wages", granted, Some(1e-6), "").unwrap();
            let paid = ledger.spend("wages", &Charge::new(granted, fit.clone(), "all of it")).is_ok();
            let found = ledger.account("wages").unwrap();
            assert!(found.epsilon_total().unwrap() <= 1.0, "{account:?}");
            assert!(found.epsilon_spent().is_none_or(|epsilon| epsilon <= 1.0), "{account:?} {fit:?}");
            let own = convert::epsilon(fit.conversion, granted.to_f64(), 1e-6).unwrap();
            assert!(!paid || own <= 1.0 + 1e-9, "{account:?} {fit:?}: {own}");
        }
    }
}

#[test]
fn tests_spend_no_more_of_delta_than_is_kept_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::create(folder.path().join("budget.db")).unwrap();
    let promise = Promise::default().converted_by(Conversion::Tested, 1e-6);
    ledger.open_account_for(promise, "wages", rho(1.0), Some(1e-6), "").unwrap();
    let tested = |delta| Charge::new(rho(0.01), Promise::default().converted_by(Conversion::Tested, delta), "y ~ x");
    ledger.spend("wages", &tested(4e-7)).unwrap();
    ledger.spend("wages", &charge(rho(0.01), "without a test")).unwrap();
    ledger.spend("wages", &tested(4e-7)).unwrap();
    let refusal = ledger.spend("wages", &tested(4e-7)).unwrap_err();
    assert!(matches!(refusal, LedgerError::Unlike { why: Unlike::Tests, .. }), "{refusal}");
}

#[test]
fn what_happened_is_recorded_and_an_overdrawn_account_pays_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(fresh(folder.path(), 0.1)).unwrap();
    let account = ledger.record("wages", &charge(rho(0.3), "by another program")).unwrap();
    assert!(account.overdrawn && account.left.to_string() == "0" && account.spent.to_string() == "0.3");
    let refusal = ledger.spend("wages", &charge(rho(0.001), "y ~ x")).unwrap_err().to_string();
    assert!(refusal.contains("overdrawn by rho = 0.2"), "{refusal}");
    assert_eq!(ledger.verify().unwrap().entries, 2, "a history in which this happened is in order");
    ledger.grant("wages", rho(0.3), "decided before the first fit").unwrap();
    ledger.spend("wages", &charge(rho(0.1), "y ~ x")).unwrap();
}

#[test]
fn what_does_not_add_up_stops_the_account_when_it_is_recorded() {
    let of = |conversion| Promise::default().converted_by(conversion, 1e-6);
    let seed = Promise { provenance: Provenance::Seed, ..Promise::default() };
    for (promise, has_sum) in [
        (of(Conversion::Cks), true),
        (of(Conversion::Tested), false),
        (Promise::about(Some("id")), false),
        (seed, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(fresh(folder.path(), 1.0)).unwrap();
        let account = ledger.record("wages", &Charge::new(rho(0.1), promise.clone(), "elsewhere")).unwrap();
        assert!(account.frozen.is_some() && account.left.to_string() == "0", "{promise:?}");
        assert_eq!(account.epsilon_spent().is_some(), has_sum, "{promise:?}");
        let exact = convert::epsilon(Conversion::Exact, 0.1, 1e-6).unwrap();
        assert!(account.epsilon_spent().is_none_or(|epsilon| epsilon > exact), "{promise:?}");
        let refusal = ledger.spend("wages", &charge(rho(0.001), "y ~ x")).unwrap_err().to_string();
        assert!(refusal.contains("pays for nothing more: entry 2 cannot be added up"), "{refusal}");
        ledger.verify().unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(fresh(folder.path(), 1.0)).unwrap();
    let simulated = Promise { provenance: Provenance::Simulated, ..Promise::default() };
    assert!(ledger.record("wages", &Charge::new(rho(0.1), simulated, "a rehearsal")).is_err());
}

#[test]
fn others_share_a_limit_and_case_makes_no_new_analyst() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let spend = |name: &str, spent: f64| {
        let ledger = Ledger::open(&file).unwrap().attributed_to(asked_by(name)).unwrap();
        { ledger }.spend("wages", &charge(rho(spent), "y ~ x"))
    };
    let amount = |value: f64| Amount::checked_from_f64(value).unwrap();
    let mut ledger = Ledger::open(&file).unwrap();
    ledger.limit_others("wages", amount(0.2), "visitors").unwrap();
    ledger.limit("wages", "Ada", amount(0.3), "").unwrap();
    spend("Bob", 0.1).unwrap();
    spend("carol", 0.1).unwrap();
    for name in ["Bob", "BOB", "Carol", "somebody new"] {
        assert!(matches!(spend(name, 0.01), Err(LedgerError::OverLimit { .. })), "{name}");
    }
    spend("ada", 0.3).unwrap();
    assert!(matches!(spend("ADA", 0.01), Err(LedgerError::OverLimit { .. })));
    let account = ledger.account("wages").unwrap();
    assert_eq!(account.limit_of_others_together, Some(amount(0.2)));
    assert_eq!(account.analysts.len(), 3, "{:?}", account.analysts);
    ledger.verify().unwrap();
}

#[test]
fn what_is_left_behind_by_a_writer_who_died_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let journal = folder.path().join("budget.db-journal");
    // A journal that has not been closed yet, beside a file that was half changed.
    let writer = rusqlite::Connection::open(&file).unwrap();
    writer.execute_batch("PRAGMA cache_size = 1; PRAGMA synchronous = FULL; BEGIN IMMEDIATE;").unwrap();
    for id in 2..500 {
        let sql =
            "INSERT INTO entry VALUES (?1, 'wages', '', 'spend', 1000, NULL, '', ?2, '', '', '', '', '', NULL, '', '')";
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

/// A file of the first ledger version: its entries do not record who asked.
fn first_version(folder: &Path) -> std::path::PathBuf {
    const SCHEMA: &str = "
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, time TEXT NOT NULL, kind TEXT NOT NULL,
        units INTEGER NOT NULL CHECK (units > 0), delta REAL, neighbours TEXT NOT NULL,
        text TEXT NOT NULL, plan TEXT NOT NULL, tabled TEXT NOT NULL, hash TEXT NOT NULL
    ) STRICT;
    CREATE TRIGGER no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
    CREATE TRIGGER no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
";
    let file = folder.join("first.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    connection.execute_batch(&format!("PRAGMA application_id = {}; {SCHEMA}", 0x6470_6c6d)).unwrap();
    let entries = "INSERT INTO entry VALUES
        (1, 'wages', '2025-05-01T09:00:00Z', 'init', 100000000000000, 1e-6, '', 'note', '', '', ''),
        (2, 'wages', '2025-05-02T09:00:00Z', 'spend', 15000000000000, NULL, 'replace-one', 'y ~ x', 'p', 't', '')";
    connection.execute_batch(entries).unwrap();
    rewrite(&file, "");
    file
}

#[test]
fn a_ledger_of_the_first_version_is_read_as_it_is_and_spent_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = first_version(folder.path());
    let before = std::fs::read(&file).unwrap();
    let old = Ledger::open(&file).unwrap();
    let entries = old.entries().unwrap();
    assert_eq!(old.account("wages").unwrap().left.to_string(), "0.085");
    assert!(std::fs::read(&file).unwrap() == before, "who only reads changes nothing");
    // A process that had it open meanwhile continues with the updated file.
    let mut ledger = Ledger::open(&file).unwrap().attributed_to(asked_by("Ada")).unwrap();
    ledger.spend("wages", &charge(rho(0.01), "y ~ x")).unwrap();
    let now = old.entries().unwrap();
    assert_eq!((now.len(), &now[..2], now[2].attribution.analyst.as_str()), (3, &entries[..], "Ada"));
    Ledger::open(&file).unwrap().verify().unwrap();
}

/// A file of the second ledger version, with fits whose promises are in that version's words.
fn second_version(folder: &Path, promises: &[&str]) -> std::path::PathBuf {
    const SCHEMA: &str = "
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, dataset TEXT NOT NULL, time TEXT NOT NULL, kind TEXT NOT NULL,
        units INTEGER NOT NULL CHECK (units >= 0), delta REAL, neighbours TEXT NOT NULL,
        text TEXT NOT NULL, plan TEXT NOT NULL, tabled TEXT NOT NULL,
        analyst TEXT NOT NULL, purpose TEXT NOT NULL, note TEXT NOT NULL, about INTEGER, hash TEXT NOT NULL
    ) STRICT;
    CREATE TRIGGER no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;
    CREATE TRIGGER no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;
";
    let file = folder.join("second.db");
    let connection = rusqlite::Connection::open(&file).unwrap();
    let marks = format!("PRAGMA application_id = {}; PRAGMA user_version = 2;", 0x6470_6c6d);
    connection.execute_batch(&format!("{marks} {SCHEMA}")).unwrap();
    let add = |id: usize, kind: &str, units: u64, delta: &str, neighbours: &str| {
        let entry = format!(
            "({id}, 'wages', '', '{kind}', {units}, {delta}, '{neighbours}', '', '', '', '', '', '', NULL, '')"
        );
        connection.execute_batch(&format!("INSERT INTO entry VALUES {entry}")).unwrap();
    };
    add(1, "init", 1_000_000_000_000_000, "1e-6", "");
    promises.iter().enumerate().for_each(|(place, words)| add(place + 2, "spend", 100_000_000_000_000, "NULL", words));
    rewrite(&file, "");
    file
}

/// An account of an earlier version has the weakest promise of its fits. Fits by row and by person
/// have no sum.
#[test]
fn an_account_of_the_second_version_promises_what_its_fits_did() {
    let both = |one: &'static str, other: &'static str| {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::open(second_version(folder.path(), &[one, other])).unwrap();
        let account = ledger.account("wages").unwrap();
        let paid = ledger.spend("wages", &Charge::new(rho(0.1), account.promise.clone(), "y ~ x")).is_ok();
        ledger.verify().unwrap();
        (account.neighbours(), account.frozen.is_none(), account.epsilon_spent().is_some(), paid)
    };
    assert_eq!(both("replace-one", "replace-one"), ("replace-one".into(), true, true, true));
    assert_eq!(both("replace-one", "zero-out"), ("zero-out".into(), true, true, true));
    assert_eq!(both("replace-one not gaussian", "replace-one"), ("replace-one not gaussian".into(), true, true, true));
    assert_eq!(both("replace-one", "replace-one of persons"), ("replace-one".into(), false, false, false));
    assert_eq!(both("replace-one of persons", "replace-one"), ("replace-one of persons".into(), false, false, false));
}

fn asked_by(analyst: &str) -> Attribution {
    Attribution { analyst: analyst.into(), purpose: "the annual report".into(), note: "table 3".into() }
}

#[test]
fn who_asked_and_why_is_part_of_what_is_hashed() {
    for sql in [
        "UPDATE entry SET analyst = 'Bob' WHERE id = 2",
        "UPDATE entry SET purpose = '' WHERE id = 2",
        "UPDATE entry SET note = 'table 4' WHERE id = 2",
        "UPDATE entry SET about = 1 WHERE id = 2",
        "UPDATE entry SET analyst = '', purpose = '', note = '' WHERE id = 2",
        "UPDATE entry SET analyst = purpose, purpose = analyst WHERE id = 2",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = fresh(folder.path(), 1.0);
        let mut ledger = Ledger::open(&file).unwrap().attributed_to(asked_by("Ada")).unwrap();
        ledger.spend("wages", &charge(rho(0.1), "y ~ x")).unwrap();
        assert_eq!(ledger.entries().unwrap()[1].attribution, asked_by("Ada"));
        tamper(&file, sql);
        assert!(matches!(ledger.verify(), Err(LedgerError::Broken { entry: 2, .. })), "{sql}");
    }
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(fresh(folder.path(), 1.0)).unwrap();
    drop(ledger);
    for name in ["line\nbreak", " Ada", "Ada ", "*"] {
        let ledger = Ledger::open(folder.path().join("budget.db")).unwrap();
        assert!(matches!(ledger.attributed_to(asked_by(name)), Err(LedgerError::Analyst)), "{name:?}");
    }
}

#[test]
fn an_analyst_spends_no_more_than_their_limit() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let as_analyst = |name: &str| Ledger::open(&file).unwrap().attributed_to(asked_by(name)).unwrap();
    let spend = |name: &str, spent: f64| as_analyst(name).spend("wages", &charge(rho(spent), "y ~ x"));
    spend("Ada", 0.1).unwrap();
    spend("", 0.01).unwrap();
    let mut ledger = Ledger::open(&file).unwrap();
    let amount = |value: f64| Amount::checked_from_f64(value).unwrap();
    ledger.limit("wages", "Ada", amount(0.15), "").unwrap();
    // Earlier spending counts, a fit without an analyst is refused, and an analyst without a limit
    // has none.
    let refusal = spend("Ada", 0.06).unwrap_err().to_string();
    assert!(refusal.contains("Ada may spend 0.05 more of 'wages'"), "{refusal}");
    assert!(matches!(as_analyst("Ada").check("wages", rho(0.06)), Err(LedgerError::OverLimit { .. })));
    assert!(matches!(spend("", 0.01), Err(LedgerError::NoAnalyst { .. })));
    spend("Ada", 0.05).unwrap();
    spend("Bob", 0.15).unwrap();
    spend("bob", 0.05).unwrap();
    // A limit for all others holds for Bob, not for Ada; the latest limit of a name holds.
    ledger.limit("wages", "", amount(0.25), "").unwrap();
    assert!(matches!(spend("Bob", 0.06), Err(LedgerError::OverLimit { .. })));
    ledger.limit("wages", "Ada", amount(0.0), "left in June").unwrap();
    assert!(matches!(spend("Ada", 1e-6), Err(LedgerError::OverLimit { .. })));
    ledger.limit("wages", "Ada", amount(0.2), "is back").unwrap();
    spend("Ada", 0.05).unwrap();
    let account = ledger.account("wages").unwrap();
    let known: Vec<String> = account
        .analysts
        .iter()
        .map(|one| format!("{}: {} of {:?}", one.analyst, one.spent, one.limit.map(|limit| limit.to_f64())))
        .collect();
    assert_eq!(known, [": 0.01 of None", "Ada: 0.2 of Some(0.2)", "Bob: 0.2 of Some(0.25)"]);
    assert_eq!(account.limit_of_others, Some(amount(0.25)));
    // A history in which a limit was not kept does not verify, though its hashes fit.
    rewrite(&file, "UPDATE entry SET note = 'table 5' WHERE id = 2");
    ledger.verify().unwrap();
    rewrite(&file, "UPDATE entry SET units = 1 WHERE kind = 'limit' AND text = 'is back'");
    let broken = ledger.verify().unwrap_err().to_string();
    assert!(broken.contains("it spends more than its analyst may"), "{broken}");
}

#[test]
fn a_reversal_takes_back_what_is_left_of_a_grant_and_never_what_was_spent() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(fresh(folder.path(), 10.0)).unwrap();
    let first = ledger.spend("wages", &charge(rho(0.05), "y ~ x")).unwrap();
    assert_eq!((first.total(), first.left()), (10.0, 9.95));
    assert_eq!(ledger.reverse(1, "10 in place of 0.1").unwrap().to_string(), "9.95");
    let refusal = ledger.spend("wages", &charge(rho(0.01), "y ~ x")).unwrap_err().to_string();
    assert!(refusal.contains("has 0 left"), "{refusal}");
    ledger.grant("wages", rho(0.05), "").unwrap();
    assert_eq!(ledger.reverse(2, "the wrong file").unwrap().to_string(), "0");
    let account = ledger.account("wages").unwrap();
    assert_eq!(
        (account.total.to_string(), account.spent.to_string(), account.left.to_string()),
        ("0.1".into(), "0.05".into(), "0.05".into())
    );
    let next = ledger.spend("wages", &charge(rho(0.01), "y ~ x")).unwrap();
    assert_eq!((next.total(), next.spent(), next.left()), (0.1, 0.06, 0.04), "as the ledger has it");
    for entry in [1, 2, 3, 99, 0] {
        let refusal = ledger.reverse(entry, "again").unwrap_err();
        assert!(matches!(refusal, LedgerError::NotReversible { .. }), "{entry}: {refusal}");
    }
    assert!(matches!(ledger.reverse(4, "  "), Err(LedgerError::NoReason)));
    ledger.verify().unwrap();
    // A reversal that gives back what was spent does not verify, though its hashes fit.
    rewrite(&folder.path().join("budget.db"), "UPDATE entry SET units = 50000000000000 WHERE about = 2");
    let broken = ledger.verify().unwrap_err().to_string();
    assert!(broken.contains("it reverses an entry that cannot be reversed, or by another amount"), "{broken}");
}

#[test]
fn the_same_plan_and_another_table_are_seen_before_they_are_paid() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let mut ledger = Ledger::open(&file).unwrap().attributed_to(asked_by("Ada")).unwrap();
    let of_table = |plan: &str, table: &str| Charge {
        plan: plan.to_owned(),
        table: table.to_owned(),
        ..charge(rho(0.01), "y ~ x")
    };
    let cautions = |ledger: &Ledger, plan, table| -> Vec<String> {
        let found = ledger.cautions("wages", &of_table(plan, table)).unwrap();
        found.iter().map(ToString::to_string).collect()
    };
    assert!(cautions(&ledger, "p", "100 rows: x, y").is_empty());
    ledger.spend("wages", &of_table("p", "100 rows: x, y")).unwrap();
    let [same] = &cautions(&ledger, "p", "100 rows: x, y")[..] else { panic!("one") };
    assert!(same.starts_with("entry 2 of 20") && same.contains("by Ada, has paid for the same plan"), "{same}");
    assert!(cautions(&ledger, "q", "100 rows: x, y").is_empty());
    let [other] = &cautions(&ledger, "p", "101 rows: x, y")[..] else { panic!("one") };
    assert!(other.contains("number of rows differ from those of entry 2"), "{other}");
    // A manual record has neither, and a reversed entry gives no warning.
    ledger.record("wages", &charge(rho(0.01), "by hand")).unwrap();
    ledger.reverse(2, "the wrong file").unwrap();
    assert!(cautions(&ledger, "p", "101 rows: x, y").is_empty());
    assert!(!ledger.spend("wages", &of_table("p", "101 rows: x, y")).unwrap().other_table);
    assert!(matches!(ledger.cautions("wages", &charge(rho(2.0), "y ~ x")), Err(LedgerError::Overdraft { .. })));
}

#[test]
fn a_copy_tells_whether_an_older_one_was_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let spend = |spent: f64| Ledger::open(&file).unwrap().spend("wages", &charge(rho(spent), "y ~ x")).unwrap();
    let back_up = |name: &str| {
        let copy = folder.path().join(name);
        Ledger::open(&file).unwrap().back_up(&copy).unwrap();
        copy
    };
    let against = |copies: &[&std::path::PathBuf]| {
        let kept: Vec<Kept> = copies.iter().map(Kept::read).collect();
        Ledger::open(&file).unwrap().verify_against(&kept).map(|verdict| verdict.entries)
    };
    spend(0.1);
    let monday = back_up("monday.db");
    spend(0.2);
    let friday = back_up("friday.db");
    assert_eq!(against(&[&monday, &friday]).unwrap(), 3);
    assert!(matches!(Ledger::open(&file).unwrap().back_up(&friday), Err(LedgerError::Exists { .. })));
    // Monday's copy is put back: it verifies, and Friday's copy exposes it, also once a fit is
    // recorded after that.
    std::fs::copy(&monday, &file).unwrap();
    Ledger::open(&file).unwrap().verify().unwrap();
    let behind = against(&[&monday, &friday]).unwrap_err().to_string();
    assert!(behind.contains("1 of 2 kept records does not match them"), "{behind}");
    assert!(behind.contains("friday.db: the ledger ends with entry 2 and the copy with entry 3"), "{behind}");
    spend(0.3);
    let parted = against(&[&friday]).unwrap_err().to_string();
    assert!(parted.contains("friday.db: entry 3 differs in the copy"), "{parted}");
    // Friday's copy is put back: no known entry is missing.
    std::fs::copy(&friday, &file).unwrap();
    assert_eq!(against(&[&monday, &friday]).unwrap(), 3);
    // A copy that was changed is not evidence.
    tamper(&monday, "UPDATE entry SET units = 1 WHERE id = 2");
    let damaged = against(&[&monday]).unwrap_err().to_string();
    assert!(
        damaged.contains("monday.db: the copy itself is invalid: the ledger does not verify (entry 2"),
        "{damaged}"
    );
}

#[test]
fn the_page_says_who_got_what_and_holds_no_markup_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = fresh(folder.path(), 1.0);
    let said = Attribution { note: "<script>alert(1)</script>".into(), ..asked_by("Ada & Bob") };
    let mut ledger = Ledger::open(&file).unwrap().attributed_to(said).unwrap();
    let charge = Charge { table: "100 rows: x, y".into(), ..charge(rho(0.1), "y<1> ~ x") };
    ledger.spend("wages", &charge).unwrap();
    ledger.limit("wages", "Ada & Bob", Amount::checked_from_f64(0.4).unwrap(), "agreed").unwrap();
    ledger.reverse(2, "the wrong file").unwrap();
    let hash = ledger.verify().unwrap().last_hash;
    let page = dplm_ledger::to_html(&[ledger.account("wages").unwrap()], &hash);
    for words in [
        "Ada &amp; Bob",
        "the annual report",
        "y&lt;1&gt; ~ x",
        "&rho; = 0.9",
        "limits Ada &amp; Bob",
        "reverses entry 2",
        "a mistake, by entry 4: the wrong file; its budget stays spent",
        "0.1 of 0.4",
        &hash,
    ] {
        assert!(page.contains(words), "{words} in {page}");
    }
    assert!(!page.contains("<script") && !page.contains("http") && page.ends_with("</html>\n"));
    assert!(page.matches("<svg").count() == 2);
    let empty = Ledger::create(folder.path().join("empty.db")).and_then(|mut empty| {
        empty.open_account("none", rho(0.1), None, "")?;
        empty.account("none")
    });
    assert!(dplm_ledger::to_html(&[empty.unwrap()], &hash).contains("Nothing yet."));
}

/// A grant of 10 in place of 0.1 would flatten everything else in the picture.
#[test]
fn the_picture_leaves_out_what_was_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(fresh(folder.path(), 0.2)).unwrap();
    ledger.spend("wages", &charge(rho(0.1), "y ~ x")).unwrap();
    let page = |ledger: &Ledger| dplm_ledger::to_html(&[ledger.account("wages").unwrap()], "hash");
    ledger.grant("wages", rho(10.0), "meant to be 0.1").unwrap();
    assert!(page(&ledger).contains(">10</text>"), "the axis goes to 10");
    ledger.reverse(3, "10 in place of 0.1").unwrap();
    assert!(!page(&ledger).contains(">10</text>") && page(&ledger).contains(">0.2</text>"));
}
