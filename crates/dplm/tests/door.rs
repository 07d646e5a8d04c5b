//! Nothing computed from rows leaves but through the door: what the sources may say, kept true by reading them.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Where fits are made; the lab and the benchmarks may look at rows they simulated.
const CRATES: [&str; 6] = ["dplm", "dplm-methods", "dplm-cli", "dplm-ledger", "dplm-py", "../r/src/rust"];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The files of the crates that say a word, as `dplm/src/rows/engine.rs`.
fn files_that_say(word: &str) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    CRATES.iter().for_each(|name| sources(&crates.join(name).join("src"), &mut files));
    let says = |path: &PathBuf| fs::read_to_string(path).unwrap().contains(word);
    let named = |path: &PathBuf| path.strip_prefix(crates).unwrap().display().to_string();
    let mut found: Vec<String> = files.iter().filter(|path| says(path)).map(named).collect();
    found.sort();
    found
}

#[test]
fn claims_are_made_where_rows_are_summed() {
    let rows = ["answer", "bin", "engine", "usable"].map(|file| format!("dplm/src/rows/{file}.rs"));
    let claimed = files_that_say("Sensitive::claim");
    assert_eq!((claimed[0].as_str(), &claimed[1..]), ("dplm/src/privacy/sensitive.rs", &rows[..]));
}

#[test]
fn scores_are_claimed_where_rows_are_counted() {
    assert_eq!(files_that_say("Scores::claim"), ["dplm/src/privacy/select.rs", "dplm/src/rows/answer.rs"]);
}

#[test]
fn depths_are_claimed_where_batches_are_fitted() {
    assert_eq!(files_that_say("Nested::claim"), ["dplm/src/privacy/point.rs", "dplm/src/rows/batch.rs"]);
    assert_eq!(files_that_say("Depths::claim"), ["dplm/src/privacy/tested.rs", "dplm/src/rows/batch.rs"]);
}

#[test]
fn no_fit_looks_inside_a_query() {
    let sealed = ["point", "select", "sensitive", "tested"].map(|file| format!("dplm/src/privacy/{file}.rs"));
    assert_eq!(files_that_say("into_not_private"), sealed);
}

/// What the trait that answers for rows gives is sealed, marked, or rows again.
#[test]
fn rows_answer_with_nothing_bare() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rows/mod.rs")).unwrap();
    let answers: Vec<&str> =
        text.split("-> Result<").skip(1).map(|rest| rest.split_once(", Error>").expect("a result").0).collect();
    let sealed = [
        "()",
        "Sensitive",
        "OuterSum",
        "TailCounts",
        "BatchFits",
        "BinSums",
        "Box<dyn Rows>",
        "Vec<Box<dyn Rows>>",
        "Box<dyn Seen + 'a>",
    ];
    let is_sealed = |answer: &&str| sealed.contains(answer) || answer.starts_with("NotPrivate<");
    assert!(answers.len() >= 8 && answers.iter().all(is_sealed), "{answers:?}");
}
