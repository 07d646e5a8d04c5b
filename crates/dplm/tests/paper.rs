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

/// The citations in the paper's text.
const KEYS: &str = "liu2023near varshney2022nearly wang2018revisiting cai2021cost liu2022differential hsu2011analysis \
    avella2021differentially shejwalkar2022recycling rabanser2023training dwork2016concentrated dwork2009differential \
    bun2016concentrated DP-DL xu2023federated wang2022differentially wang2019differentially tang2023improved \
    song2020characterizing sheffet2017differentially sarathy2022analyzing narayananbetter milionis2022differentially \
    mcsherry2007mechanism kurakin2022toward knop2022differentially kamath2022new kamath2019privately \
    ferrando2022parametric dwork2014analyze differential_privacy_dp_fine_tuning diakonikolas2019robust \
    covington2021unbiased chen2020statistical chaudhuri2011differentially brawner2018bootstrap amin2022easy \
    alabi2022differentially KLNRS DMNS BST14";

#[test]
fn every_citation_has_a_place_or_a_reason() {
    let paper = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../PAPER.md")).unwrap();
    let rows = paper.lines().filter(|line| line.starts_with("| "));
    let listed: Vec<&str> =
        rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split([',', ' '])).collect();
    let missing: Vec<&str> = KEYS.split_whitespace().filter(|key| !listed.contains(key)).collect();
    assert!(missing.is_empty(), "PAPER.md does not list {missing:?}");
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
