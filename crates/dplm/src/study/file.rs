//! A study in a TOML file.

use std::{fs, path::Path};

use serde::Deserialize;

use super::{Specification, Study, StudyError};
use crate::{
    Error, Person,
    formula::{Formula, Weights},
    method::{ConfigError, Request, budget},
    options::{Target, UnknownWord},
    privacy::{Neighbours, convert::Conversion},
};

/// What is said of a study beside its file, on the command line for instance; the file may say it instead.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// The column that identifies persons, where they are protected with all their rows.
    pub person: Option<String>,
    /// Of each person the first so many rows count.
    pub rows_per_person: Option<u32>,
    /// What rows are weighted by.
    pub weights: Option<Weights>,
    /// What intervals are for.
    pub target: Option<Target>,
}

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
    person: Option<String>,
    #[serde(default)]
    rows_per_person: Option<u32>,
    #[serde(default)]
    weights: Option<String>,
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
    /// When it cannot be read or makes no sense, or says what is also said beside it.
    pub fn read(path: impl AsRef<Path>, beside: Beside) -> Result<Study, Error> {
        let text = fs::read_to_string(path).map_err(|error| StudyError::Unread { kind: error.kind() })?;
        Study::from_toml_beside(&text, beside)
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
        Study::from_toml_beside(text, Beside::default())
    }

    /// As [`from_toml`](Self::from_toml), with what is said beside it.
    ///
    /// # Errors
    /// As there, or when something is said in both places.
    pub fn from_toml_beside(text: &str, beside: Beside) -> Result<Study, Error> {
        let mut document: Document = toml::from_str(text).map_err(|error| unreadable(text, &error))?;
        let (rho, delta) = budget(document.rho, document.epsilon, document.delta, Conversion::Exact)?;
        let neighbours: Neighbours = word(document.neighbours.take())?.unwrap_or_default();
        let Beside { person, rows_per_person, weights, target } = document.take_beside()?.and(beside)?;
        let person = of_persons(person, rows_per_person, target)?;
        let mut request = Request { delta, target, neighbours, person, ..Request::new(rho) };
        request.level = document.level.unwrap_or(request.level);
        let specifications = document.specification.into_iter().map(|entry| entry.with(&document.columns));
        let study = Study::new(specifications.collect::<Result<_, _>>()?, request)?.weighted(weights);
        match document.interest {
            Some(interest) => study.following(&interest, document.simultaneous),
            None if document.simultaneous => Err(StudyError::NoFamily.into()),
            None => Ok(study),
        }
    }
}

impl Document {
    /// What could also be said beside the file.
    fn take_beside(&mut self) -> Result<Beside, Error> {
        let weights = self.weights.take().map(|given| given.parse()).transpose()?;
        let (person, rows_per_person) = (self.person.take(), self.rows_per_person);
        Ok(Beside { person, rows_per_person, weights, target: word(self.target.take())? })
    }
}

impl Beside {
    /// What is said in two places, each thing in one of them.
    fn and(self, other: Beside) -> Result<Beside, StudyError> {
        Ok(Beside {
            person: once("person", self.person, other.person)?,
            rows_per_person: once("rows_per_person", self.rows_per_person, other.rows_per_person)?,
            weights: once("weights", self.weights, other.weights)?,
            target: once("target", self.target, other.target)?,
        })
    }
}

fn once<T>(key: &'static str, one: Option<T>, other: Option<T>) -> Result<Option<T>, StudyError> {
    if one.is_some() && other.is_some() { Err(StudyError::SaidTwice { key }) } else { Ok(one.or(other)) }
}

fn word<T: std::str::FromStr<Err = UnknownWord>>(given: Option<String>) -> Result<Option<T>, StudyError> {
    let unknown = |error: UnknownWord| StudyError::Unreadable { place: String::new(), problem: error.to_string() };
    given.map(|given| given.parse()).transpose().map_err(unknown)
}

fn of_persons(column: Option<String>, rows: Option<u32>, target: Option<Target>) -> Result<Option<Person>, Error> {
    match column {
        Some(column) => Ok(Some(Person { column, rows, counts_once: target == Some(Target::Person) })),
        None if rows.is_some() => Err(ConfigError::NoPerson.into()),
        None => Ok(None),
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
