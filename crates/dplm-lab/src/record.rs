//! The results of the points, kept so that a run can be resumed, redrawn and judged again.
//!
//! A record is a folder. `points.jsonl` has one line for each finished point: everything that
//! determines its numbers (the key), and the numbers. Figures and claims are made from it alone.
//! `meta.json` states the version and the machine.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use crate::LabError;

/// Named numbers.
pub type Values = BTreeMap<String, f64>;

/// The file of finished points.
pub const POINTS: &str = "points.jsonl";

/// One line of a record.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
struct Line {
    key: String,
    values: BTreeMap<String, Option<f64>>,
}

/// Finished points, in memory and in a file.
pub struct Record {
    file: Option<PathBuf>,
    points: BTreeMap<String, Values>,
}

impl Record {
    /// Opens the record of a folder, which is made when it does not exist.
    ///
    /// # Errors
    /// When the folder cannot be made, or a line cannot be read. A last line that was cut short is
    /// left out.
    pub fn open(folder: &Path) -> Result<Record, LabError> {
        std::fs::create_dir_all(folder).map_err(|error| LabError::file(folder, error))?;
        let file = folder.join(POINTS);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(LabError::file(&file, error)),
        };
        let record = Record::read(&text, &file.display().to_string())?;
        Ok(Record { file: Some(file), ..record })
    }

    /// Reads a record from text.
    ///
    /// # Errors
    /// When a line cannot be read.
    pub fn read(text: &str, name: &str) -> Result<Record, LabError> {
        let mut points = BTreeMap::new();
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        for (index, line) in whole.lines().enumerate() {
            let broken = || LabError::BrokenRecord { file: name.to_owned(), line: index + 1 };
            let line: Line = serde_json::from_str(line).map_err(|_| broken())?;
            points.insert(line.key, line.values.into_iter().map(|(k, v)| (k, v.unwrap_or(f64::INFINITY))).collect());
        }
        Ok(Record { file: None, points })
    }

    /// The numbers of a point, if it was finished.
    pub fn get(&self, key: &str) -> Option<&Values> {
        self.points.get(key)
    }

    /// How many points are finished.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether no point is finished.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Adds a finished point, in memory and at the end of the file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, key: String, values: Values) -> Result<(), LabError> {
        let values: Values = values.into_iter().map(|(name, value)| (name, rounded(value))).collect();
        if let Some(file) = &self.file {
            append(file, &line(&key, &values)).map_err(|error| LabError::file(file, error))?;
        }
        self.points.insert(key, values);
        Ok(())
    }
}

fn line(key: &str, values: &Values) -> String {
    let values = values.iter().map(|(name, &value)| (name.clone(), value.is_finite().then_some(value))).collect();
    let line = Line { key: key.to_owned(), values };
    serde_json::to_string(&line).expect("names and finite numbers are JSON") + "\n"
}

/// Adds a line, first completing one that an interruption cut short.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(path)?;
    if std::fs::read(path)?.last().is_some_and(|&byte| byte != b'\n') {
        let text = std::fs::read_to_string(path)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64)?;
    }
    file.write_all(line.as_bytes())
}

/// Ten significant digits: the same number when measured and when read back.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.9e}").parse().expect("a printed number reads back")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(value: f64) -> Values {
        Values::from([("error".to_owned(), value)])
    }

    #[test]
    fn what_is_added_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::open(folder.path()).unwrap();
        record.add("a".into(), values(1.0 / 3.0)).unwrap();
        record.add("b".into(), values(f64::INFINITY)).unwrap();
        let again = Record::open(folder.path()).unwrap();
        assert_eq!(again.get("a"), record.get("a"));
        assert_eq!(again.get("b").unwrap()["error"], f64::INFINITY);
        assert_eq!(again.len(), 2);
    }

    #[test]
    fn a_line_cut_short_is_dropped_and_mended() {
        let folder = tempfile::tempdir().unwrap();
        Record::open(folder.path()).unwrap().add("a".into(), values(1.0)).unwrap();
        let file = folder.path().join(POINTS);
        append(&file, "{\"key\":\"b\",\"val").unwrap();
        let mut record = Record::open(folder.path()).unwrap();
        assert_eq!(record.len(), 1);
        record.add("c".into(), values(2.0)).unwrap();
        assert_eq!(Record::open(folder.path()).unwrap().len(), 2);
    }

    #[test]
    fn a_broken_line_is_named() {
        let found = Record::read("{\"key\":\"a\",\"values\":{}}\nnonsense\n", "points");
        assert!(matches!(found, Err(LabError::BrokenRecord { line: 2, .. })));
    }
}
