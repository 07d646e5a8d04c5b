//! The ledger on a disk that fails: power cuts at every write, full disks, failed writes, kills at
//! every operation, wrong clocks, and disks without locks. After each, the ledger's sum is that of
//! an independent account, and nothing was answered that is not in it.
//!
//! `faults.c` is loaded before the command: it records what the command does to the files of its
//! folder, or makes one of these operations fail. From the record, [`Disk`] makes every disk that
//! a power cut could leave. `DPLM_POWER_CUTS=1000 cargo test -p dplm-cli --test all faults` tries
//! that many random ones at each operation.
#![cfg(target_os = "linux")]

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs,
    os::unix::fs::{DirEntryExt, MetadataExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

use dplm::{
    Charge,
    privacy::{Promise, Rho},
};
use dplm_ledger::{Entry, Kind, Ledger};
use tempfile::TempDir;

use crate::common::{Chance, Done};

/// Files of rows and of what is watched are in memory where possible: nothing here tests the disk
/// of the machine.
fn folder() -> TempDir {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { TempDir::new_in(shared) } else { TempDir::new() }.expect("a folder")
}

/// `faults.c`, compiled.
static FAULTS: LazyLock<PathBuf> = LazyLock::new(|| {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults.c");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{}.so", std::process::id()));
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&made).arg(source).status();
    assert!(compiled.expect("a C compiler, as for SQLite").success());
    made
});

/// A table outside of the watched folder, and a ledger in it.
struct Desk {
    rows: TempDir,
    watched: TempDir,
}

/// What a command did, if it was not killed, and what it did to the disk.
struct Ran {
    done: Option<Done>,
    events: Vec<Event>,
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk { rows: folder(), watched: folder() };
        let table = desk.table();
        let simulate = ["simulate", "--rows", "3000", "--features", "2", "--seed", "5", "--out", &table];
        assert!(desk.run("", &simulate).done.is_some_and(|done| done.status == 0));
        desk
    }

    /// With a ledger of rho = 1000 for `wages`.
    fn with_ledger() -> Desk {
        let desk = Desk::new();
        assert_eq!(desk.run("", &INIT).done.expect("it ends").status, 0);
        desk
    }

    fn table(&self) -> String {
        self.rows.path().join("data.csv").display().to_string()
    }

    fn fit(&self, fault: &str) -> Ran {
        let table = self.table();
        self.run(fault, &[&["fit", &table], &FIT[..]].concat())
    }

    fn run(&self, fault: &str, args: &[&str]) -> Ran {
        let log = self.rows.path().join("log");
        let _ = fs::remove_file(&log);
        let output = Command::new(env!("CARGO_BIN_EXE_dplm"))
            .args(args)
            .current_dir(self.watched.path())
            .env("LD_PRELOAD", &*FAULTS)
            .env("DPLM_FAULTS_FOLDER", self.watched.path())
            .env("DPLM_FAULTS_LOG", &log)
            .env("DPLM_FAULT", fault)
            .stdin(Stdio::null())
            .output()
            .expect("the command starts");
        let done = output.status.code().is_some().then(|| Done::from(output));
        let events = fs::read_to_string(log).unwrap_or_default().lines().map(Event::read).collect();
        Ran { done, events }
    }

    fn ledger(&self) -> PathBuf {
        self.watched.path().join("budget.db")
    }

    fn entries(&self) -> Vec<Entry> {
        entries(&self.ledger())
    }

    /// Whether a result was written, which it then is completely; and removes it.
    fn takes_result(&self) -> bool {
        let Ok(text) = fs::read_to_string(self.watched.path().join("fit.json")) else { return false };
        let _: serde_json::Value = serde_json::from_str(&text).expect("a result is whole");
        fs::remove_file(self.watched.path().join("fit.json")).expect("removed");
        true
    }
}

const INIT: [&str; 7] = ["ledger", "init", "budget.db", "--dataset", "wages", "--rho", "1000"];
const FIT: [&str; 12] = [
    "--formula",
    "y ~ x1 + x2 + 0",
    "--standardised",
    "--rho",
    "0.1",
    "--ledger",
    "budget.db",
    "--dataset",
    "wages",
    "--json",
    "fit.json",
    "--quiet",
];

/// The entries of a ledger, which must be in order.
fn entries(file: &Path) -> Vec<Entry> {
    let ledger = Ledger::open(file).expect("the ledger opens");
    ledger.verify().expect("the ledger is in order");
    ledger.entries().expect("entries")
}

/// What was spent, in units, counted from the entries and not by the ledger.
fn spent(entries: &[Entry]) -> u128 {
    entries.iter().filter(|entry| entry.kind == Kind::Spend).map(|entry| entry.rho.0).sum()
}

/// One line of the record of `faults.c`.
#[derive(Clone, Debug)]
enum Event {
    Names(BTreeMap<String, u64>),
    Change(u64, Change),
    Sync(u64),
    SyncFolder,
    Printed,
    Random(u64),
}

/// What a power cut may undo, or leave half done.
#[derive(Clone, Debug)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Length(usize),
}

impl Event {
    fn read(line: &str) -> Event {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<u64>().expect("a number");
        match words[0] {
            "N" => Event::Names(words[1..].iter().map(|word| named(word)).collect()),
            "W" => {
                let digits = words[3].as_bytes().as_chunks::<2>().0.iter();
                let byte = |two: &[u8; 2]| u8::from_str_radix(str::from_utf8(two).expect("hex"), 16).expect("hex");
                Event::Change(number(1), Change::Write { at: number(2) as usize, bytes: digits.map(byte).collect() })
            }
            "T" => Event::Change(number(1), Change::Length(number(2) as usize)),
            "S" => Event::Sync(number(1)),
            "D" => Event::SyncFolder,
            "A" => Event::Printed,
            "R" => Event::Random(number(1)),
            other => panic!("{other}"),
        }
    }
}

fn named(word: &str) -> (String, u64) {
    let (name, file) = word.rsplit_once('=').expect("a file");
    (name.to_owned(), file.parse().expect("its number"))
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Change::Write { at, bytes } => {
                let end = at + bytes.len();
                file.resize(file.len().max(end), 0);
                file[*at..end].copy_from_slice(bytes);
            }
            Change::Length(length) => file.resize(*length, 0),
        }
    }

    /// The same, one time in three cut off somewhere.
    fn or_torn(self, chance: &mut Chance) -> Change {
        match self {
            Change::Write { at, mut bytes } if chance.0.is_multiple_of(3) => {
                // Disks write sectors; some write less.
                let unit = if chance.below(2) == 0 { 512 } else { 1 };
                bytes.truncate(chance.below(bytes.len() / unit + 1) * unit);
                Change::Write { at, bytes }
            }
            whole => whole,
        }
    }
}

/// What surely is on the disk, and what may be.
#[derive(Clone, Default)]
struct Disk {
    names: BTreeMap<String, u64>,
    /// The names since the folder was synced, one after the other.
    names_since: Vec<BTreeMap<String, u64>>,
    files: HashMap<u64, (Vec<u8>, Vec<Change>)>,
}

/// Which of the changes that were not synced reached the disk.
enum Survivors<'a> {
    All,
    None,
    AllBut(usize),
    Only(usize),
    Some(&'a mut Chance),
}

impl Disk {
    fn of(folder: &Path) -> Disk {
        let mut disk = Disk::default();
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            disk.names.insert(entry.file_name().into_string().expect("a name"), entry.ino());
            disk.files.insert(entry.ino(), (fs::read(entry.path()).expect("a file"), Vec::new()));
        }
        disk
    }

    fn meet(&mut self, event: &Event) {
        match event {
            Event::Names(names) => self.names_since.push(names.clone()),
            Event::Change(file, change) => self.files.entry(*file).or_default().1.push(change.clone()),
            Event::Sync(file) => {
                let (bytes, changes) = self.files.entry(*file).or_default();
                changes.drain(..).for_each(|change| change.apply(bytes));
            }
            Event::SyncFolder => self.names = self.names_since.drain(..).next_back().unwrap_or(self.names.clone()),
            Event::Printed | Event::Random(_) => {}
        }
    }

    /// The files that are found when the power is back.
    fn after_cut(&self, survivors: &mut Survivors<'_>) -> BTreeMap<String, Vec<u8>> {
        let names = match survivors {
            Survivors::None => &self.names,
            Survivors::Some(chance) => match chance.below(self.names_since.len() + 1) {
                0 => &self.names,
                later => &self.names_since[later - 1],
            },
            _ => self.names_since.last().unwrap_or(&self.names),
        };
        let mut number = 0;
        let mut content = |file: u64| {
            let (mut bytes, changes) = self.files.get(&file).cloned().unwrap_or_default();
            for change in changes {
                let survives = match survivors {
                    Survivors::All => true,
                    Survivors::None => false,
                    Survivors::AllBut(one) => number != *one,
                    Survivors::Only(one) => number == *one,
                    Survivors::Some(chance) => chance.below(2) == 0,
                };
                number += 1;
                let change = match survivors {
                    Survivors::Some(chance) => change.or_torn(chance),
                    _ => change,
                };
                if survives {
                    change.apply(&mut bytes);
                }
            }
            bytes
        };
        names.iter().map(|(name, file)| (name.clone(), content(*file))).collect()
    }

    /// Every way in which a power cut may leave this disk, with `random` of those that are many.
    fn after_cuts(&self, random: usize, chance: &mut Chance) -> Vec<BTreeMap<String, Vec<u8>>> {
        let pending: usize = self.files.values().map(|(_, changes)| changes.len()).sum();
        let single = (0..pending).flat_map(|one| [Survivors::AllBut(one), Survivors::Only(one)]);
        let mut found: Vec<_> = [Survivors::All, Survivors::None]
            .into_iter()
            .chain(single)
            .map(|mut survivors| self.after_cut(&mut survivors))
            .collect();
        found.extend((0..random).map(|_| self.after_cut(&mut Survivors::Some(chance))));
        found
    }
}

/// Cuts the power at every event of a command; returns how many different disks were left, and
/// what was wrong with each of them that is not in order. Syncing does nothing if the disk `lies`.
fn cut_everywhere(desk: &Desk, args: &[&str], random: usize, lies: bool) -> (usize, Vec<&'static str>) {
    let mut disk = Disk::of(desk.watched.path());
    let before = disk.names.contains_key("budget.db").then(|| desk.entries()).unwrap_or_default();
    let Ran { done, events } = desk.run("", args);
    let done = done.expect("not killed");
    assert_eq!(done.status, 0, "{}", done.stderr);
    let after = desk.entries();
    assert!(events.iter().any(|event| matches!(event, Event::SyncFolder)), "the disk is synced");
    let ledger = fs::metadata(desk.ledger()).expect("there").ino();
    let mut has_answered = false;
    let (mut chance, mut seen, mut wrong) = (Chance(args.len() as u64), HashSet::new(), Vec::new());
    for end in 0..=events.len() {
        // What is written to another file than the ledger and its journal is a result, as is what
        // is printed. When the command has ended, its user may do anything.
        if let Some(event) = end.checked_sub(1).map(|last| &events[last]) {
            let is_result = |file: &u64| args[0] == "fit" && *file != ledger && !is_journal(&disk, *file);
            has_answered |=
                matches!(event, Event::Printed) || matches!(event, Event::Change(file, _) if is_result(file));
            if !lies || !matches!(event, Event::Sync(_)) {
                disk.meet(event);
            }
        }
        has_answered |= end == events.len();
        for found in disk.after_cuts(random, &mut chance) {
            let found: BTreeMap<_, _> = found.into_iter().filter(|(name, _)| name.starts_with("budget.db")).collect();
            // A disk that is in order before the answer may lack what it needs after it.
            if seen.insert((has_answered, found.clone())) {
                wrong.extend(check(&found, &before, &after, has_answered).err());
            }
        }
    }
    (seen.len(), wrong)
}

fn is_journal(disk: &Disk, file: u64) -> bool {
    let latest = disk.names_since.last().unwrap_or(&disk.names);
    latest.get("budget.db-journal") == Some(&file)
}

/// After a power cut: the ledger opens and is in order, has what was there before, nothing that was
/// not charged, and all of it if there was an answer; and it can be charged.
fn check(
    found: &BTreeMap<String, Vec<u8>>,
    before: &[Entry],
    after: &[Entry],
    has_answered: bool,
) -> Result<(), &'static str> {
    let folder = folder();
    for (name, bytes) in found {
        fs::write(folder.path().join(name), bytes).expect("written");
    }
    let file = folder.path().join("budget.db");
    if !file.exists() {
        return if before.is_empty() && !has_answered { Ok(()) } else { Err("the ledger is gone") };
    }
    let mut ledger = Ledger::open(&file).map_err(|_| "it does not open")?;
    ledger.verify().map_err(|_| "it is not in order")?;
    let found = ledger.entries().map_err(|_| "it cannot be read")?;
    let least = if has_answered { after.len() } else { before.len() };
    if found.len() < least {
        return Err("it has lost entries");
    }
    if !after.starts_with(&found) || spent(&found) > spent(after) {
        return Err("it has other entries");
    }
    if found.is_empty() {
        return Ok(());
    }
    let charge = Charge::new(Rho::checked_from_f64(0.001).expect("a budget"), Promise::default(), "y ~ x");
    let paid = ledger.spend("wages", &charge).map_err(|_| "it does not pay")?;
    if paid.entry == found.len() as i64 + 1 { Ok(()) } else { Err("it counts wrongly") }
}

fn power_cuts() -> usize {
    std::env::var("DPLM_POWER_CUTS").ok().and_then(|count| count.parse().ok()).unwrap_or(3)
}

#[test]
fn a_power_cut_at_any_write_loses_no_charge_that_was_answered() {
    let desk = Desk::new();
    let table = desk.table();
    let fit = [&["fit", &table], &FIT[..]].concat();
    let grant = ["ledger", "grant", "budget.db", "--dataset", "wages", "--rho", "0.5"];
    for args in [&INIT[..], &fit, &grant, &fit] {
        let (disks, wrong) = cut_everywhere(&desk, args, power_cuts(), false);
        println!("{disks} disks after power cuts during {args:?}, {} of them wrong", wrong.len());
        assert!(disks > 20 && wrong.is_empty(), "{args:?}: {wrong:?}");
    }
}

/// What the test above would miss if it could not fail.
#[test]
fn a_disk_that_does_not_keep_what_it_reports_as_written_is_seen_to_lose_charges() {
    let desk = Desk::with_ledger();
    let table = desk.table();
    let (_, wrong) = cut_everywhere(&desk, &[&["fit", &table], &FIT[..]].concat(), 3, true);
    assert!(wrong.contains(&"it has lost entries") && wrong.contains(&"it is not in order"), "{wrong:?}");
}

/// What must hold after a command failed or was killed: an answer has its record, and a sentence
/// about spending is true.
fn check_failure(desk: &Desk, ran: &Ran, before: &[Entry], what: &str) {
    let after = desk.entries();
    assert!(after.starts_with(before), "{what}: entries were lost");
    let charged = spent(&after) - spent(before);
    let whole = u128::from(Rho::checked_from_f64(0.1).expect("a budget").units());
    let answered = desk.takes_result() || ran.done.as_ref().is_some_and(|done| !done.stdout.is_empty());
    assert!(charged == whole || (charged < whole && !answered), "{what}: {charged} for an answer");
    let Some(done) = &ran.done else { return };
    assert!(!done.stderr.contains("panicked"), "{what}: {}", done.stderr);
    assert!(done.status == 0 || done.stderr.starts_with("dplm: "), "{what}: {}", done.stderr);
    if done.stderr.contains("nothing was spent") {
        assert_eq!(charged, 0, "{what}: {}", done.stderr);
    }
    if done.stderr.contains("as spent") && done.status != 0 {
        assert!(charged > 0, "{what}: {}", done.stderr);
    }
    if done.status == 0 {
        assert!(answered && charged == whole, "{what}");
    }
}

#[test]
fn each_operation_may_fail_or_be_the_last() {
    let desk = Desk::with_ledger();
    let is_operation = |event: &&Event| !matches!(event, Event::Names(_) | Event::Printed | Event::Random(_));
    let whole = desk.fit("");
    // Two more remove the journal and the name of the unfinished result.
    let operations = whole.events.iter().filter(is_operation).count() + 2;
    desk.takes_result();
    assert!(operations > 10);
    let mut refused = 0;
    for fault in ["kill", "error", "full", "short"] {
        for operation in 1..=operations {
            let what = format!("{fault}:{operation}");
            let before = desk.entries();
            let ran = desk.fit(&what);
            assert!(ran.done.is_some() || fault == "kill");
            refused += usize::from(ran.done.as_ref().is_some_and(|done| done.status == 1));
            check_failure(&desk, &ran, &before, &what);
        }
    }
    println!("{operations} operations of a fit, each failing in four ways: {refused} fits were refused");
    assert!(refused > operations, "{refused} of {operations} operations refused a fit when they failed");
}

/// The years 1970, 1972 and 2096, and back.
#[test]
fn clocks_that_jump_change_no_sum() {
    let desk = Desk::with_ledger();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64;
    for clock in [0, -now, 70 * 31_557_600, -now + 70_000_000, 0] {
        let before = desk.entries();
        check_failure(&desk, &desk.fit(&format!("clock:{clock}")), &before, "a clock");
    }
    let times: Vec<String> = desk.entries().iter().map(|entry| entry.time[..4].to_owned()).collect();
    assert!(["1970", "1972", "2096"].iter().all(|year| times.iter().any(|time| time == year)), "{times:?}");
    assert!(!times.is_sorted());
    assert_eq!(spent(&desk.entries()), u128::from(Rho::UNITS / 2), "five fits of 0.1");
}

#[test]
fn without_locks_nothing_is_charged_or_answered() {
    let desk = Desk::with_ledger();
    let before = desk.entries();
    let ran = desk.fit("locks");
    check_failure(&desk, &ran, &before, "no locks");
    ran.done.expect("it ends").assert_refused(1, "no locks");
    assert_eq!(desk.entries(), before);
}

#[test]
fn without_random_bytes_nothing_is_answered_and_the_sentence_is_true() {
    let desk = Desk::with_ledger();
    let before = desk.entries();
    let ran = desk.fit("random");
    check_failure(&desk, &ran, &before, "no random bytes");
    let done = ran.done.expect("it ends");
    done.assert_refused(1, "no random bytes");
    assert!(done.stderr.contains("the operating system gave no random seed"), "{}", done.stderr);
}

/// The noise of each fit has a key of its own, of 256 bits, and asks for it once.
#[test]
fn a_fit_asks_the_system_for_one_key() {
    let desk = Desk::with_ledger();
    for _ in 0..2 {
        let asked = desk.fit("").events.into_iter().filter(|event| matches!(event, Event::Random(32))).count();
        assert_eq!(asked, 1);
        desk.takes_result();
    }
}
