//! `./bench`: how fast dplm is, against the machine and against its peers.
//!
//! Prints a table of ratios, keeps a dated record and draws it. Both sides of a ratio are run in
//! turn in one run, and medians are compared: on a machine that others use too, times vary, ratios
//! hardly.

mod clock;
mod data;
mod peer;
mod record;
mod pass;
mod fit;
mod files;
mod gpu;
mod picture;

use std::{path::Path, process::ExitCode};

use record::Record;

/// A part of a run, and the name it can be asked for by.
type Part = (&'static str, fn(&mut Record));

const PARTS: [Part; 12] = [
    ("pass", pass::measure),
    ("persons", pass::persons),
    ("steps", pass::logistic),
    ("moments", pass::moments),
    ("auto", files::automatic),
    ("logit", files::logistic),
    ("wide", fit::wide),
    ("gzip", files::gzip),
    ("fit", fit::against_peers),
    ("growth", fit::growth),
    ("files", files::measure),
    ("gpu", gpu::measure),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_part = |word: &&str| PARTS.iter().any(|(name, _)| name == word);
    match words[..] {
        ["draw", file] => draw(Path::new(file)),
        ["quick", ref parts @ ..] if parts.iter().all(is_part) => measure(true, Path::new("target/bench"), parts),
        ref parts if parts.iter().all(is_part) => measure(false, Path::new("benches/record"), parts),
        _ => {
            eprintln!(
                "usage: ./bench [quick] [pass] [persons] [steps] [moments] [auto] [logit] [wide] [gzip] [fit] [growth] [files] [gpu]\n       ./bench draw FILE"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Measures the parts that were asked for, or all; what was measured on the same day of others is
/// kept.
fn measure(quick: bool, folder: &Path, parts: &[&str]) {
    std::fs::create_dir_all(folder).expect("the folder of records can be made");
    let mut record = Record::new(quick);
    let file = folder.join(format!("{}.json", record.date));
    record.take_from(&file);
    println!("{}", record.machine);
    for (_, measure) in PARTS.iter().filter(|(name, _)| parts.is_empty() || parts.contains(name)) {
        measure(&mut record);
        let text = serde_json::to_string_pretty(&record).expect("a record is plain data");
        std::fs::write(&file, text + "\n").expect("the record can be written");
    }
    let (targets, met) = record.verdict();
    println!("\n{met} of {targets} targets met");
    draw(&file);
}

/// Draws a record beside it.
fn draw(file: &Path) {
    let text = std::fs::read_to_string(file).expect("the record can be read");
    let record: Record = serde_json::from_str(&text).expect("a record that was written by this program");
    for (name, svg) in picture::all(&record) {
        let picture = file.with_file_name(format!("{}-{name}.svg", record.date));
        std::fs::write(&picture, svg).expect("the picture can be written");
        println!("{}", picture.display());
    }
}

/// A pool with this number of threads.
fn threads(count: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads can be started")
}
