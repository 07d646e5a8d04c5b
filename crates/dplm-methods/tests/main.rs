//! What every method of the crate keeps, and the law or the error of each. One program, so that it
//! is linked once.

mod common;

mod boosted;
mod adassp;
mod adaptive;
mod batches;
mod binagg;
mod bits;
mod projected;
mod functional;
mod huber;
mod neighbours;
mod one_pass;
mod preconditioned;
mod queries;
mod ssp;

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
