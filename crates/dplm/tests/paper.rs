//! PAPER.md names functions and tests; this keeps the names true.

use std::{fs, path::Path};

fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            sources(&path, text);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}

/// The words between backquotes in the last two columns of the table.
fn named(paper: &str) -> Vec<&str> {
    let rows = paper.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| of the paper"));
    rows.flat_map(|row| row.split('|').skip(2)).flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn every_name_in_the_table_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let paper = fs::read_to_string(root.join("PAPER.md")).unwrap();
    let mut code = String::new();
    sources(&root.join("crates"), &mut code);
    let names = named(&paper);
    assert!(names.len() > 20, "the table is there");
    for name in names {
        let last = name.rsplit("::").next().unwrap();
        let defined = ["fn ", "struct ", "enum ", "trait ", "const ", "mod "]
            .iter()
            .any(|kind| code.contains(&format!("{kind}{last}")));
        assert!(defined, "PAPER.md names `{name}`, which is not in the code");
    }
}
