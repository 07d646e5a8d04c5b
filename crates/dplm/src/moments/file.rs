//! Moments in a file: TOML, JSON or CSV.
//!
//! ```toml
//! names = ["educ", "exper", "union[yes]"]
//! means = [12.5, 20.1, 0.18]
//! sds = [2.4, 12.0, 0.384]
//! correlations = [[1, -0.3, 0.05], [-0.3, 1, 0.1], [0.05, 0.1, 1]]   # or covariance = [[...], ...] in place of both
//! ```
//!
//! JSON has the same keys. A CSV file has a line for each column: its name, its mean, then either
//! its standard deviation and its correlations, or its covariances, under the names of the other
//! columns: `name,mean,sd,educ,exper` or `name,mean,educ,exper`.

use std::{fs, io::ErrorKind, path::Path};

use serde::Deserialize;

use super::{Moments, MomentsError, square};

/// The keys of a document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    names: Vec<String>,
    means: Vec<f64>,
    #[serde(default)]
    sds: Option<Vec<f64>>,
    #[serde(default)]
    correlations: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    covariance: Option<Vec<Vec<f64>>>,
}

impl Moments {
    /// Reads a file, by its ending: `.toml`, `.json` or `.csv`; any other ending is read as TOML.
    ///
    /// # Errors
    /// When it cannot be read or parsed.
    pub fn read(path: impl AsRef<Path>) -> Result<Moments, MomentsError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => MomentsError::Unreadable { place: String::new() },
            kind => MomentsError::Unread { kind },
        })?;
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Moments::from_json(&text),
            Some("csv") => Moments::from_csv(&text),
            _ => Moments::from_toml(&text),
        }
    }

    /// From TOML.
    ///
    /// # Errors
    /// When it cannot be parsed.
    ///
    /// # Examples
    /// ```
    /// use dplm::moments::Moments;
    /// let moments = Moments::from_toml("names = ['x', 'z']\nmeans = [1, 2]\nsds = [3, 4]\ncorrelations = [[1, 0.5], [0.5, 1]]")?;
    /// assert_eq!(moments.covariance(0, 1), 6.0);
    /// # Ok::<(), dplm::moments::MomentsError>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Moments, MomentsError> {
        let document: Document = toml::from_str(text).map_err(|error| {
            let line = |at: usize| text[..at.min(text.len())].lines().count().max(1);
            let place = error.span().map_or(String::new(), |span| format!(" in line {}", line(span.start + 1)));
            MomentsError::Unreadable { place }
        })?;
        document.moments()
    }

    /// From JSON.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn from_json(text: &str) -> Result<Moments, MomentsError> {
        let document: Document = serde_json::from_str(text)
            .map_err(|error| MomentsError::Unreadable { place: format!(" in line {}", error.line()) })?;
        document.moments()
    }

    /// From CSV.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn from_csv(text: &str) -> Result<Moments, MomentsError> {
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let unreadable = |line: usize| MomentsError::Unreadable { place: format!(" in line {line}") };
        let (_, header) = lines.next().ok_or_else(|| unreadable(1))?;
        let header = fields(header);
        let (has_sds, columns) = match header.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["name", "mean", "sd", ..] => (true, &header[3..]),
            ["name", "mean", ..] => (false, &header[2..]),
            _ => return Err(unreadable(1)),
        };
        let (mut names, mut means, mut sds, mut rows) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (line, text) in lines {
            let mut cells = fields(text).into_iter();
            names.push(cells.next().ok_or_else(|| unreadable(line))?);
            let numbers: Result<Vec<f64>, _> = cells.map(|cell| cell.trim().parse()).collect();
            let mut numbers = numbers.map_err(|_| unreadable(line))?.into_iter();
            means.push(numbers.next().ok_or_else(|| unreadable(line))?);
            if has_sds {
                sds.push(numbers.next().ok_or_else(|| unreadable(line))?);
            }
            rows.push(numbers.collect::<Vec<f64>>());
        }
        let place = |name: &String| columns.iter().position(|column| column == name);
        let order: Vec<usize> = names.iter().map(place).collect::<Option<_>>().ok_or_else(|| unreadable(1))?;
        if rows.iter().any(|row| row.len() != columns.len()) {
            return Err(MomentsError::Unreadable { place: String::new() });
        }
        let matrix = rows.iter().map(|row| order.iter().map(|&k| row[k]).collect()).collect();
        let (sds, correlations, covariance) =
            if has_sds { (Some(sds), Some(matrix), None) } else { (None, None, Some(matrix)) };
        Document { names, means, sds, correlations, covariance }.moments()
    }
}

impl Document {
    fn moments(self) -> Result<Moments, MomentsError> {
        let Document { names, means, sds, correlations, covariance } = self;
        let count = names.len();
        let length = |what, found| MomentsError::Length { names: count, what, found };
        let covariance = match (sds, correlations, covariance) {
            (None, None, Some(covariance)) => covariance,
            (Some(sds), Some(correlations), None) => {
                let correlations = square(&correlations, count, "correlations")?;
                if sds.len() != count {
                    return Err(length("sds", sds.len()));
                }
                let entry = |j: usize, k: usize| match j == k {
                    true => sds[j] * sds[j],
                    false => correlations[(j, k)] * sds[j] * sds[k],
                };
                (0..count).map(|j| (0..count).map(|k| entry(j, k)).collect()).collect()
            }
            _ => return Err(MomentsError::Unreadable { place: String::new() }),
        };
        Moments::new(names, means, &covariance)
    }
}

/// The fields of a line of CSV; quotes may contain commas.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => fields.last_mut().expect("there is one").push(letter),
        }
    }
    fields.into_iter().map(|field| field.trim().to_owned()).collect()
}
