//! Tests across modules of the library. One program, so that it is linked once.

mod common;

mod algorithm1;
mod auto;
mod cliffs;
mod coverage;
mod device;
mod door;
mod engines;
mod events;
mod formula;
mod groups;
mod hypothesis;
mod instruments;
mod locality;
mod logit;
mod moments;
mod neighbours;
mod nist;
mod order;
mod paper;
mod persons;
mod predict;
mod refine;
mod remote;
mod request;
mod result;
mod saved;
mod study;
mod usable;
mod weights;
mod within;

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
