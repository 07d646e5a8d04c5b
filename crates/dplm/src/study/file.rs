//! A study in a TOML file.

use std::{fs, path::Path};

use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{Specification, Study, StudyError};
use crate::{
    Error, FitRequest,
    formula::Formula,
    options::Family,
    privacy::convert::Conversion,
    request::{Command, OptionKind, OptionSpec, Said, Value},
};

/// The keys of the file beside options.
#[derive(Deserialize)]
struct Document {
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
    /// Reads a study from a file, with the options that are given beside it.
    ///
    /// # Errors
    /// When it cannot be read or makes no sense, or says what is also said beside it.
    pub fn read(path: impl AsRef<Path>, beside: &Said) -> Result<Study, Error> {
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
        Study::from_toml_beside(text, &Said::new())
    }

    /// As [`from_toml`](Self::from_toml), with the options that are given beside it.
    ///
    /// # Errors
    /// As there, or when something is said in both places.
    pub fn from_toml_beside(text: &str, beside: &Said) -> Result<Study, Error> {
        let mut document: Document = toml::from_str(text).map_err(|error| unreadable(text, &error))?;
        let said = joined(options_in(text)?, beside)?;
        let asked = FitRequest::from_said(&mut said.clone())?;
        let (rho, delta) = asked.budget(Conversion::Exact)?;
        let request = asked.request(rho, delta)?;
        let weights = asked.weights.as_deref().map(str::parse).transpose()?;
        let entries = std::mem::take(&mut document.specification);
        let specifications = entries.into_iter().map(|entry| entry.with(&document.columns, asked.family));
        let study = Study::new(specifications.collect::<Result<_, _>>()?, request)?.weighted(weights);
        match document.interest {
            Some(interest) => study.following(&interest, document.simultaneous),
            None if document.simultaneous => Err(StudyError::NoFamily.into()),
            None => Ok(study),
        }
    }
}

/// The keys of the file that are options; every other key must be one of the document.
fn options_in(text: &str) -> Result<Said, StudyError> {
    let table = DeTable::parse(text).map_err(|error| unreadable(text, &error))?;
    let mut said = Said::new();
    for (key, value) in table.get_ref() {
        let name = key.get_ref().as_ref();
        let place = || in_line(text, key.span().start);
        let spec = OptionSpec::of(Command::Study)
            .find(|spec| spec.option.name() == name && FitRequest::OPTIONS.contains(&spec.option));
        match spec {
            Some(spec) => {
                let value = value_of(spec, value.get_ref());
                let problem = || format!("{name} must be {}", spec.kind.wanted());
                let wrong = || StudyError::Unreadable { place: place(), problem: problem() };
                said.insert(spec.option, value.ok_or_else(wrong)?);
            }
            None if DOCUMENT.contains(&name) => {}
            None => {
                let problem = format!("'{name}' is neither an option of a study nor one of {}", DOCUMENT.join(", "));
                return Err(StudyError::Unreadable { place: place(), problem });
            }
        }
    }
    Ok(said)
}

/// The keys of [`Document`].
const DOCUMENT: [&str; 4] = ["interest", "simultaneous", "columns", "specification"];

fn value_of(spec: &OptionSpec, value: &DeValue<'_>) -> Option<Value> {
    match (spec.kind, value) {
        (OptionKind::Number, DeValue::Float(number)) => {
            number.as_str().replace('_', "").parse().ok().map(Value::Number)
        }
        (OptionKind::Number, DeValue::Integer(number)) => {
            number.as_str().replace('_', "").parse().ok().map(Value::Number)
        }
        (OptionKind::Whole, DeValue::Integer(number)) => {
            number.as_str().replace('_', "").parse().ok().map(Value::Whole)
        }
        (OptionKind::Text | OptionKind::Word(..), DeValue::String(text)) => {
            Some(Value::Text(text.clone().into_owned()))
        }
        (OptionKind::Texts, DeValue::String(text)) => Some(Value::Texts(vec![text.clone().into_owned()])),
        (OptionKind::Texts, DeValue::Array(texts)) => {
            let text = |one: &Spanned<DeValue<'_>>| one.get_ref().as_str().map(str::to_owned);
            texts.iter().map(text).collect::<Option<_>>().map(Value::Texts)
        }
        _ => None,
    }
}

/// What is said in two places, each option in one of them.
fn joined(mut said: Said, beside: &Said) -> Result<Said, StudyError> {
    for (option, value) in beside.iter().filter(|(option, _)| FitRequest::OPTIONS.contains(option)) {
        if said.insert(*option, value.clone()).is_some() {
            return Err(StudyError::SaidTwice { key: option.name() });
        }
    }
    Ok(said)
}

impl Entry {
    /// The specification, with what the file says of columns.
    fn with(self, columns: &toml::Table, family: Family) -> Result<Specification, StudyError> {
        let Entry { name, formula, share } = self;
        let wrong = |problem: String| StudyError::Specification { name: name.clone(), problem, advice: None };
        let formula = match columns.is_empty() {
            true => Formula::parse_for(&formula, family),
            false => {
                let mut document = toml::Table::new();
                document.insert("formula".to_owned(), formula.into());
                document.insert("columns".to_owned(), columns.clone().into());
                Formula::from_toml_for(&document.to_string(), family)
            }
        };
        let formula = formula.map_err(|error| wrong(error.to_string()))?;
        Ok(Specification { name, formula, share })
    }
}

fn unreadable(text: &str, error: &toml::de::Error) -> StudyError {
    let place = error.span().map_or(String::new(), |span| in_line(text, span.start));
    StudyError::Unreadable { place, problem: error.message().to_owned() }
}

fn in_line(text: &str, at: usize) -> String {
    let before = &text.as_bytes()[..at.min(text.len())];
    format!(" in line {}", 1 + before.iter().filter(|&&byte| byte == b'\n').count())
}
