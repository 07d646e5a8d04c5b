//! Everything computed from rows leaves through `release`: these tests read the sources and check
//! what they may contain.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The crates that make fits; the lab and the benchmarks may look at rows they simulated.
const CRATES: [&str; 10] = [
    "dplm-input",
    "dplm",
    "dplm-report",
    "dplm-gpu",
    "dplm-cluster",
    "dplm-methods",
    "dplm-cli",
    "dplm-ledger",
    "dplm-py",
    "../r/src/rust",
];

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

/// The files of the crates that contain a word, as `dplm/src/rows/encoded.rs`.
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
            "dplm/src/rows/encoded.rs",
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

/// Rows are handed to these stores, and to no others; only the library opens what they answer.
#[test]
fn stores_stand_where_they_are_argued() {
    assert_said_in(
        "Store for ",
        &["dplm-cluster/src/lib.rs", "dplm-gpu/src/store.rs", "dplm/src/rows/file.rs", "dplm/src/rows/store.rs"],
    );
    assert_said_in("Accelerator for ", &["dplm-gpu/src/lib.rs"]);
    assert_said_in("fn open(self) -> T", &["dplm/src/rows/store.rs"]);
    assert_said_in("Shown(&self)", &["dplm/src/rows/engine.rs"]);
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

/// So are the answers of the trait for stores, as long as nothing is claimed of them.
#[test]
fn stores_answer_with_nothing_bare() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rows/store.rs");
    let text = fs::read_to_string(file).unwrap();
    let text = text.split_once("pub trait Store").expect("the trait").1.split("\n}").next().unwrap();
    let answers: Vec<&str> = text.split(") -> ").skip(1).map(|rest| rest.split([';', '{']).next().unwrap()).collect();
    // What is publicly known of where rows are kept, and how fast.
    let public = ["Result<(), Error>", "u64", "Place", "Costs"];
    let is_closed = |answer: &str| {
        let inner =
            ["Result<", "Option<"].iter().fold(answer, |inner, outer| inner.strip_prefix(outer).unwrap_or(inner));
        public.contains(&answer) || inner.starts_with("Unclaimed<") || inner.starts_with("Box<dyn Store>")
    };
    assert!(answers.len() >= 14 && answers.iter().all(|answer| is_closed(answer.trim())), "{answers:?}");
    assert!(text.contains("see: &mut dyn FnMut(Unclaimed<&[f32]>)"), "pieces are shown closed");
}
