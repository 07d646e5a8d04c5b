//! The command, run on small files. One program, so that it is linked once.

mod common;

mod crate_agrees;
mod faults;
mod golden;
mod groups;
mod hostile;
mod lab;
mod ledger;
mod mandatory;
mod memory;
mod methods;
mod options;
mod persons;
mod places;
mod pretend;
mod promised;
mod refusals;
mod results;
mod saved_fit;
mod studies;
mod tables;
mod weights;
mod words;

/// A file that is not named above would never run.
#[test]
fn every_file_is_part_of_this() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).expect("there") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".rs").filter(|name| *name != "main") else { continue };
        assert!(include_str!("main.rs").contains(&format!("\nmod {name};\n")), "{name}");
    }
}
