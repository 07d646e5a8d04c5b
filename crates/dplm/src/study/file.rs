//! A study in a TOML file.

use std::{fs, path::Path};

use serde::Deserialize;

use super::{Specification, Study, StudyError};
use crate::{
    Error,
    formula::Formula,
    method::{Request, budget},
    options::Target,
    privacy::{Neighbours, convert::Conversion},
};

/// The keys of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    rho: Option<f64>,
    #[serde(default)]
    epsilon: Option<f64>,
    #[serde(default)]
    delta: Option<f64>,
    #[serde(default)]
    level: Option<f64>,
    #[serde(default)]
    target: Option<String>,
    #[serde(default)]
    neighbours: Option<String>,
    #[serde(default)]
    interest: Option<String>,
    #[serde(default)]
    simultaneous: bool,
    #[serde(default)]
    columns: toml::Table,
    #[serde(default)]
    specification: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    formula: String,
    #[serde(default)]
    share: Option<f64>,
}

impl Study {
    /// Reads a study from a file.
    ///
    /// # Errors
    /// When it cannot be read or makes no sense.
    pub fn read(path: impl AsRef<Path>) -> Result<Study, Error> {
        let text = fs::read_to_string(path).map_err(|error| StudyError::Unread { kind: error.kind() })?;
        Study::from_toml(&text)
    }

    /// Reads a study.
    ///
    /// # Errors
    /// One sentence on the first thing that makes no sense.
    ///
    /// # Examples
    /// ```
    /// use dplm::study::Study;
    /// let main = "[[specification]]\nname = 'main'\nformula = 'y[0..9] ~ x[0..1] + z[0..2]'";
    /// let check = "[[specification]]\nname = 'without z'\nformula = 'y[0..9] ~ x[0..1]'";
    /// let study = Study::from_toml(&format!("rho = 0.1\ninterest = 'x'\n{main}\n{check}"))?;
    /// assert_eq!(study.shares()?, [0.5, 0.5]);
    /// # Ok::<(), dplm::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Study, Error> {
        let document: Document = toml::from_str(text).map_err(|error| unreadable(text, &error))?;
        let (rho, delta) = budget(document.rho, document.epsilon, document.delta, Conversion::Exact)?;
        let word = |problem: String| StudyError::Unreadable { place: String::new(), problem };
        let target: Option<Target> = document
            .target
            .map(|given| given.parse())
            .transpose()
            .map_err(|error: crate::options::UnknownWord| word(error.to_string()))?;
        let neighbours: Option<Neighbours> = document
            .neighbours
            .map(|given| given.parse())
            .transpose()
            .map_err(|error: crate::options::UnknownWord| word(error.to_string()))?;
        let mut request = Request { delta, target, neighbours: neighbours.unwrap_or_default(), ..Request::new(rho) };
        request.level = document.level.unwrap_or(request.level);
        let specifications = document.specification.into_iter().map(|entry| entry.with(&document.columns));
        let study = Study::new(specifications.collect::<Result<_, _>>()?, request)?;
        match document.interest {
            Some(interest) => study.following(&interest, document.simultaneous),
            None if document.simultaneous => Err(StudyError::NoFamily.into()),
            None => Ok(study),
        }
    }
}

impl Entry {
    /// The specification, with what the file says of columns.
    fn with(self, columns: &toml::Table) -> Result<Specification, StudyError> {
        let Entry { name, formula, share } = self;
        let wrong = |problem: String| StudyError::Specification { name: name.clone(), problem };
        let formula = match columns.is_empty() {
            true => Formula::parse(&formula),
            false => {
                let mut document = toml::Table::new();
                document.insert("formula".to_owned(), formula.into());
                document.insert("columns".to_owned(), columns.clone().into());
                Formula::from_toml(&document.to_string())
            }
        };
        let formula = formula.map_err(|error| wrong(error.to_string()))?;
        Ok(Specification { name, formula, share })
    }
}

fn unreadable(text: &str, error: &toml::de::Error) -> StudyError {
    let line = |at: usize| text[..at.min(text.len())].lines().count().max(1);
    let place = error.span().map_or(String::new(), |span| format!(" in line {}", line(span.start + 1)));
    StudyError::Unreadable { place, problem: error.message().to_owned() }
}
