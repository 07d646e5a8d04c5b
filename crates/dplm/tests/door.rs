//! Everything computed from rows leaves through `release`: these tests read the sources and check
//! what they may contain.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The crates that make fits; the lab and the benchmarks may look at rows they simulated.
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

/// The files of the crates that contain a word, as `dplm/src/rows/engine.rs`.
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

fn assert_said_in(word: &str, files: &[&str]) {
    assert_eq!(files_that_say(word), files, "{word}");
}

#[test]
fn claims_are_made_where_rows_are_summed() {
    assert_said_in(
        "Sensitive::claim",
        &[
            // A query of a sum that is sealed, and a test.
            "dplm-methods/src/mechanism/eigenvalue.rs",
            "dplm-methods/src/mechanism/laplace.rs",
            // A test.
            "dplm/src/privacy/drawn.rs",
            "dplm/src/privacy/sensitive.rs",
            "dplm/src/rows/answer.rs",
            "dplm/src/rows/batch.rs",
            "dplm/src/rows/engine.rs",
            "dplm/src/rows/usable.rs",
        ],
    );
    assert_said_in(
        "Sealed::claim",
        &[
            // A test.
            "dplm/src/privacy/custom.rs",
            "dplm/src/privacy/sensitive.rs",
            "dplm/src/rows/answer.rs",
            "dplm/src/rows/batch.rs",
        ],
    );
}

/// What is sealed is seen by these mechanisms, and by no others.
#[test]
fn mechanisms_stand_where_they_are_argued() {
    let mechanisms =
        ["eigenvalue", "fits", "laplace", "mod", "select"].map(|file| format!("dplm-methods/src/mechanism/{file}.rs"));
    let said = files_that_say("CustomMechanism");
    let (library, others): (Vec<String>, Vec<String>) = said.into_iter().partition(|file| file.starts_with("dplm/"));
    assert_eq!(library, ["dplm/src/privacy/custom.rs", "dplm/src/privacy/mod.rs"]);
    assert_eq!(others, mechanisms);
}

#[test]
fn no_fit_looks_inside_a_query() {
    assert_said_in("into_not_private", &["dplm/src/privacy/sensitive.rs"]);
}

/// The answers of the trait for rows are sealed, marked, or rows again.
#[test]
fn rows_answer_with_nothing_bare() {
    let read =
        |file: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rows").join(file)).unwrap();
    // The traits stand before what implements them.
    let traits = |file: &str| read(file).split("\nimpl").next().unwrap().to_owned();
    let text = read("mod.rs") + &traits("clipped.rs") + &traits("custom.rs");
    let answers: Vec<&str> =
        text.split("-> Result<").skip(1).map(|rest| rest.split_once(", Error>").expect("a result").0).collect();
    let sealed = [
        "Sensitive",
        "OuterSum",
        "TailCounts",
        "Sealed<BatchMoments>",
        "&dyn CustomRows",
        "Box<dyn Rows>",
        "Vec<Box<dyn Rows>>",
        "Box<dyn Seen + 'a>",
        "Box<dyn ClippedRows + '_>",
    ];
    let is_sealed = |answer: &&str| sealed.contains(answer) || answer.starts_with("NotPrivate<");
    assert!(answers.len() >= 12 && answers.iter().all(is_sealed), "{answers:?}");
}
