//! The whole command on files: against numpy reading the same file, its memory, and how soon it
//! starts.

use std::{cell::RefCell, path::Path};

use dplm::{Dataset, Reading, formula::Formula, table::Source};
use serde_json::json;

use crate::{
    clock::{Seconds, interleaved},
    peer::{Peer, Usage},
    record::{Measure, Record, Target, Unit},
};

const COMMAND: &str = "target/release/dplm";

/// What every fit of the command is asked for; the seed makes it repeatable.
const FIT: [&str; 7] = ["--method", "dpgd", "--rho", "0.015", "--seed", "1", "--quiet"];

/// All simulated columns by name: a text file declares no types, so `.` cannot stand for them.
fn formula(features: usize) -> String {
    let terms: Vec<String> = (1..=features).map(|column| format!("x{column}")).collect();
    format!("y ~ {} + 0", terms.join(" + "))
}

/// The words of a fit of a simulated file.
fn fit_words<'a>(file: &'a str, formula: &'a str) -> Vec<&'a str> {
    [&[COMMAND, "fit", file, "--formula", formula], &FIT[..]].concat()
}

/// Measures reading, the command, its memory and its start.
pub fn measure(record: &mut Record) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    // Memory is counted from a process's start, so commands are run by a worker that holds nothing.
    let shell = &RefCell::new(Peer::start(record.machine.threads));
    let peer = &RefCell::new(Peer::start(record.machine.threads));
    let (rows, features) = if record.quick { (100_000, 50) } else { (400_000, 50) };
    for ending in ["parquet", "csv"] {
        let file = simulated(folder.path(), ending, rows, features, &mut shell.borrow_mut());
        reading(record, &file, (rows, features), peer);
        whole_command(record, &file, (rows, features), peer, shell);
    }
    memory(record, folder.path(), &mut shell.borrow_mut());
    start(record, folder.path(), &mut shell.borrow_mut());
}

/// What people run: the automatic method on a Parquet file, against reading the file and against
/// pandas and scikit-learn.
pub fn automatic(record: &mut Record) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let shell = &RefCell::new(Peer::start(record.machine.threads));
    let peer = &RefCell::new(Peer::start(record.machine.threads));
    let (rows, features) = if record.quick { (200_000, 50) } else { (1_000_000, 50) };
    let file = &simulated(folder.path(), "parquet", rows, features, &mut shell.borrow_mut());
    let terms: Vec<String> = (1..=features).map(|column| format!("x{column}[-6..6]")).collect();
    let formula = format!("y[-8..8] ~ {}", terms.join(" + "));
    let words = [COMMAND, "fit", file, "--formula", &formula, "--rho", "0.015", "--seed", "1", "--quiet"];
    let [ours, read, theirs] = interleaved(
        if record.quick { 3 } else { 5 },
        [
            Box::new(|| shell.borrow_mut().run(&words).seconds),
            Box::new(|| read(file, &formula)),
            Box::new(|| peer.borrow_mut().time(&json!({"do": "pandas", "file": file}))),
        ],
    );
    let at = [("n", rows as f64), ("p", features as f64)];
    let mut add = |what: &str, value: f64, unit: Unit, most: Option<f64>| {
        let target = most.filter(|_| !record.quick).map(Target::AtMost);
        record.add(Measure::new("Automatic", what, &at, value, unit).with(target));
    };
    add("whole command, seconds", ours.wall, Unit::Seconds, None);
    add("whole command, seconds of the processor", ours.processor, Unit::Seconds, None);
    add("times reading the file", ours.wall / read.wall, Unit::Ratio, Some(2.5));
    add("times reading the file, processor", ours.processor / read.processor, Unit::Ratio, None);
    add("of pandas and LinearRegression, processor", ours.processor / theirs.processor, Unit::Ratio, Some(0.25));
}

/// A logit by the automatic method on a Parquet file, against pandas and scikit-learn.
pub fn logistic(record: &mut Record) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let shell = &RefCell::new(Peer::start(record.machine.threads));
    let peer = &RefCell::new(Peer::start(record.machine.threads));
    let (rows, features) = if record.quick { (200_000, 20) } else { (1_000_000, 20) };
    let numbers = simulated(folder.path(), "parquet", rows, features, &mut shell.borrow_mut());
    let file = &folder.path().join("binary.parquet").display().to_string();
    peer.borrow_mut().time(&json!({"do": "binary", "file": numbers, "to": file}));
    let terms: Vec<String> = (1..=features).map(|column| format!("x{column}[-6..6]")).collect();
    let formula = format!("y[0..1] ~ {}", terms.join(" + "));
    let asked = ["--family", "binomial", "--rho", "0.1", "--seed", "1", "--quiet"];
    let words = [&[COMMAND, "fit", file, "--formula", &formula], &asked[..]].concat();
    let [ours, theirs] = interleaved(
        if record.quick { 3 } else { 5 },
        [
            Box::new(|| shell.borrow_mut().run(&words).seconds),
            Box::new(|| peer.borrow_mut().time(&json!({"do": "logistic", "file": file}))),
        ],
    );
    let at = [("n", rows as f64), ("p", features as f64)];
    record.add(Measure::new("Logit", "whole command, seconds of the processor", &at, ours.processor, Unit::Seconds));
    let share = ours.processor / theirs.processor;
    let target = Some(Target::AtMost(0.5)).filter(|_| !record.quick);
    let what = "of pandas and LogisticRegression without a penalty, processor";
    record.add(Measure::new("Logit", what, &at, share, Unit::Ratio).with(target));
}

/// Reading Parquet whose pages are in gzip, against pyarrow, which inflates them once.
pub fn gzip(record: &mut Record) {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let (rows, features) = if record.quick { (50_000, 50) } else { (200_000, 50) };
    let peer = &RefCell::new(Peer::start(record.machine.threads));
    let file = simulated(folder.path(), "parquet", rows, features, &mut peer.borrow_mut());
    let packed = folder.path().join("gzip.parquet").display().to_string();
    peer.borrow_mut().time(&json!({"do": "gzip", "file": file, "to": packed}));
    let formula = formula(features);
    let [ours, theirs] = interleaved(
        5,
        [
            Box::new(|| read(&packed, &formula)),
            Box::new(|| peer.borrow_mut().time(&json!({"do": "read", "file": packed}))),
        ],
    );
    let at = [("n", rows as f64), ("p", features as f64)];
    let mut add = |what: &str, value: f64, unit: Unit| {
        record.add(Measure::new("Parquet in gzip", what, &at, value, unit));
    };
    add("read and encoded, seconds of the processor", ours.processor, Unit::Seconds);
    add("of the processor time of pyarrow's with stacking", ours.processor / theirs.processor, Unit::Ratio);
    add("of its time by the clock", ours.wall / theirs.wall, Unit::Ratio);
}

/// Reads a file into the lattice.
fn read(file: &str, formula: &str) -> Seconds {
    Seconds::of(|| {
        let source = Source::open(&[file]).expect("a file that was just written");
        let formula = Formula::parse(formula).expect("a formula");
        drop(Dataset::read(&source, &formula, &Reading::default()).expect("a table that was just written"));
    })
}

fn simulated(folder: &Path, ending: &str, rows: usize, features: usize, shell: &mut Peer) -> String {
    let file = folder.join(format!("{rows}x{features}.{ending}")).display().to_string();
    let (rows, features) = (rows.to_string(), features.to_string());
    shell.run(&[
        COMMAND,
        "simulate",
        "--rows",
        &rows,
        "--features",
        &features,
        "--seed",
        "1",
        "--out",
        &file,
        "--quiet",
    ]);
    file
}

fn name_of(file: &str) -> &str {
    if file.ends_with("csv") { "CSV" } else { "Parquet" }
}

/// Reading and encoding, against pyarrow's reader and stacking its columns.
fn reading(record: &mut Record, file: &str, (rows, features): (usize, usize), peer: &RefCell<Peer>) {
    let formula = formula(features);
    let ours = || read(file, &formula);
    let theirs = || peer.borrow_mut().time(&json!({"do": "read", "file": file}));
    let rounds = if record.quick { 5 } else { 9 };
    let [ours, theirs] = interleaved(rounds, [Box::new(ours), Box::new(theirs)]);
    let at = [("n", rows as f64), ("p", features as f64)];
    let what = format!("{}, read and encoded", name_of(file));
    record.add(Measure::new("Reading", &what, &at, ours.wall, Unit::Seconds));
    let what = format!("{}, times pyarrow's with stacking", name_of(file));
    record.add(Measure::new("Reading", &what, &at, theirs.wall / ours.wall, Unit::Ratio).with(Target::AtLeast(1.0)));
    let what = format!("{}, the same in processor time", name_of(file));
    record.add(Measure::new("Reading", &what, &at, theirs.processor / ours.processor, Unit::Ratio));
}

/// The command with 200 steps, against numpy reading the same file and taking the same steps, its
/// start not counted.
fn whole_command(
    record: &mut Record,
    file: &str,
    (rows, features): (usize, usize),
    peer: &RefCell<Peer>,
    shell: &RefCell<Peer>,
) {
    let clip = (5.0 * (features as f64).sqrt()).to_string();
    let formula = formula(features);
    let words = [&fit_words(file, &formula)[..], &["--clip", &clip, "--steps", "200"]].concat();
    let ours = || shell.borrow_mut().run(&words).seconds;
    let theirs = || peer.borrow_mut().time(&json!({"do": "fit", "file": file, "steps": 200}));
    let [ours, theirs] = interleaved(3, [Box::new(ours), Box::new(theirs)]);
    let at = [("n", rows as f64), ("p", features as f64), ("steps", 200.0)];
    let target = (name_of(file) == "Parquet" && !record.quick).then_some(Target::AtLeast(10.0));
    record.add(Measure::new("Command", &format!("{}, seconds", name_of(file)), &at, ours.wall, Unit::Seconds));
    let what = format!("{}, times numpy on the same file", name_of(file));
    record.add(Measure::new("Command", &what, &at, theirs.wall / ours.wall, Unit::Ratio).with(target));
}

/// The most memory a fit takes: as it comes, and with a limit far below its size.
fn memory(record: &mut Record, folder: &Path, shell: &mut Peer) {
    let (rows, features) = if record.quick { (500_000, 20) } else { (5_000_000, 20) };
    let file = simulated(folder, "csv", rows, features, shell);
    let at = [("n", rows as f64), ("p", features as f64)];
    let formula = formula(features);
    let fit = fit_words(&file, &formula);
    let Usage { memory, seconds } = shell.run(&fit);
    record.add(Measure::new("Memory", "peak of a fit", &at, memory, Unit::Bytes));
    record.add(Measure::new("Memory", "seconds", &at, seconds.wall, Unit::Seconds));
    let (limit, bytes) = if record.quick { ("64MB", 64e6) } else { ("256MB", 256e6) };
    let Usage { memory, seconds } = shell.run(&[&fit[..], &["--memory", limit]].concat());
    let what = format!("peak with --memory {limit}");
    record.add(Measure::new("Memory", &what, &at, memory, Unit::Bytes).with(Target::AtMost(bytes)));
    record.add(Measure::new("Memory", &format!("seconds with --memory {limit}"), &at, seconds.wall, Unit::Seconds));
}

fn start(record: &mut Record, folder: &Path, shell: &mut Peer) {
    let (rows, features) = (1000, 5);
    let file = simulated(folder, "csv", rows, features, shell);
    let shell = &RefCell::new(shell);
    let formula = formula(features);
    let fit = fit_words(&file, &formula);
    let [help, fit] = interleaved(
        21,
        [
            Box::new(|| shell.borrow_mut().run(&[COMMAND, "--help"]).seconds),
            Box::new(|| shell.borrow_mut().run(&fit).seconds),
        ],
    );
    record.add(Measure::new("Start", "--help", &[], help.wall, Unit::Seconds).with(Target::AtMost(0.01)));
    let at = [("n", rows as f64), ("p", features as f64)];
    record.add(Measure::new("Start", "a small fit", &at, fit.wall, Unit::Seconds).with(Target::AtMost(0.05)));
}
