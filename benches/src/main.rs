//! `./bench`: how fast dplm is, against the machine and against its peers.
//!
//! Prints a table of ratios, keeps a dated record and draws it. Both sides of a ratio are run in turn in one run, and medians are compared: on a
//! machine that others use too, times vary, ratios hardly.

mod clock;
mod data;
mod peer;
mod record;
mod pass;
mod fit;
mod files;
mod picture;

use std::{path::Path, process::ExitCode};

use record::Record;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => measure(false, Path::new("benches/record")),
        ["quick"] => measure(true, Path::new("target/bench")),
        ["draw", file] => draw(Path::new(file)),
        _ => {
            eprintln!("usage: ./bench [quick | draw FILE]");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn measure(quick: bool, folder: &Path) {
    let mut record = Record::new(quick);
    println!("{}", record.machine);
    pass::measure(&mut record);
    fit::measure(&mut record);
    files::measure(&mut record);
    let (targets, met) = record.verdict();
    println!("\n{met} of {targets} targets met");
    std::fs::create_dir_all(folder).expect("the folder of records can be made");
    let file = folder.join(format!("{}.json", record.date));
    let text = serde_json::to_string_pretty(&record).expect("a record is plain data");
    std::fs::write(&file, text + "\n").expect("the record can be written");
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

/// A pool of so many threads.
fn threads(count: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads can be started")
}
