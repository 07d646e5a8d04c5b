//! The automatic method on real tables, against AdaSSP, the paper's method and least squares.
//!
//! A list names the data sets; each is fitted with many seeds at a few budgets, and the results are
//! one line of a table. Least squares is the reference: *excess* is `(MSE - MSE_OLS) / MSE_OLS` in
//! sample. Nothing here is private: it compares with the data in the clear.

pub(crate) mod bench;
mod synthetic;
mod score;
mod table;

use std::{collections::BTreeMap, path::Path};

use rayon::prelude::*;

use crate::{LabError, run::write};
use bench::Bench;
use score::score;
use table::Line;

/// The files that a run writes.
const TABLE: &str = "real.csv";

/// Fits every data set of `list` at every budget with `seeds` seeds, and writes table, picture and
/// page to `folder`.
///
/// A line of the list is `name;file.csv;formula`, or `name;synthetic;kind rows features`. Existing
/// lines of the table with as many seeds are kept, so an interrupted run resumes where it stopped.
///
/// # Errors
/// When a file cannot be read or written, or a fit is refused.
pub fn run(list: &Path, budgets: &[f64], seeds: u64, folder: &Path) -> Result<(), LabError> {
    let text = std::fs::read_to_string(list).map_err(|source| LabError::file(list, source))?;
    std::fs::create_dir_all(folder).map_err(|source| LabError::file(folder, source))?;
    let known = known(folder);
    let mut lines = Vec::new();
    for entry in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let [name, file, what] = entry.splitn(3, ';').collect::<Vec<_>>()[..] else {
            return Err(LabError::Definition { name: entry.to_owned(), reason: "write name;file;formula".into() });
        };
        let mut bench = None;
        for &rho in budgets {
            if let Some(line) = known.get(&(name.to_owned(), rho.to_bits())).filter(|line| line.seeds == seeds) {
                lines.push(line.clone());
                continue;
            }
            let bench = match &mut bench {
                Some(bench) => bench,
                empty => empty.insert(Bench::open(file, what)?),
            };
            let scores: Result<Vec<_>, _> =
                (0..seeds).into_par_iter().map(|seed| score(name, bench, rho, seed)).collect();
            lines.push(Line::of(name, bench, rho, &scores?));
            write(folder, TABLE, table::csv(&lines).as_bytes())?;
        }
    }
    write(folder, TABLE, table::csv(&lines).as_bytes())?;
    table::draw(folder, &lines)
}

/// The lines of an earlier run, by name and budget; lines that cannot be parsed are computed again.
fn known(folder: &Path) -> BTreeMap<(String, u64), Line> {
    let text = std::fs::read_to_string(folder.join(TABLE)).unwrap_or_default();
    let lines = text.lines().skip(1).filter_map(Line::parse);
    lines.map(|line| ((line.data.clone(), line.rho.to_bits()), line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_writes_what_it_found_and_does_not_find_it_again() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list.txt");
        std::fs::write(&list, "easy;synthetic;plain 1500 3\nrare;synthetic;rare:60 1500 2\n").unwrap();
        run(&list, &[0.1, 1.0], 4, folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join(TABLE)).unwrap();
        let lines: Vec<Line> = text.lines().skip(1).map(|line| Line::parse(line).expect("its own table")).collect();
        assert_eq!(lines.len(), 4);
        for line in &lines {
            assert!(line.excess < line.excess_adassp && line.excess <= line.excess_90, "{text}");
        }
        assert!(lines[1].identified == 1.0 && lines[1].covered_empirical >= 0.5 && lines[1].width > 0.9, "{text}");
        for file in ["real.svg", "real.png", "README.md"] {
            assert!(folder.path().join(file).exists(), "{file}");
        }
        // An existing table is trusted: a mark in it survives.
        let marked = text.replacen(&lines[0].csv(), &Line { excess: 0.125, ..lines[0].clone() }.csv(), 1);
        std::fs::write(folder.path().join(TABLE), &marked).unwrap();
        run(&list, &[0.1, 1.0], 4, folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join(TABLE)).unwrap(), marked);
    }

    #[test]
    fn a_list_that_makes_no_sense_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list.txt");
        for text in ["only a name", "name;synthetic;plain 10", "name;nowhere.csv;y ~ x"] {
            std::fs::write(&list, text).unwrap();
            assert!(run(&list, &[0.1], 1, folder.path()).is_err(), "{text}");
        }
    }
}
