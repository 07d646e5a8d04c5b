//! A fit in a file, and back to the last bit.

use std::{fs, io::ErrorKind, path::Path};

use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, value::RawValue};

use super::{
    check::{Comparison, are_whole, is_whole},
    json::{SCHEMA, grouped_to_json, stated_of, to_json},
    schema2,
};
use crate::{
    Error, Fit, Fitted, GroupedFit,
    privacy::{Guarantee, Promise},
};

/// Why a fit was not written or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FitFileError {
    /// The file was not written.
    #[error("the fit could not be written ({kind}): check the folder and its permissions")]
    Unwritten {
        /// What kind of refusal it was.
        kind: ErrorKind,
    },
    /// The file was not read.
    #[error("the file could not be read ({kind}): check its name and its permissions")]
    Unread {
        /// What kind of refusal it was.
        kind: ErrorKind,
    },
    /// Something else.
    #[error("this is not a fit: give a file that 'dplm fit --json' has written, or that a fit was saved in")]
    NotAFit,
    /// A fit of a version that kept less.
    #[error(
        "this fit was written by an older version of dplm, which did not keep what loading needs: make the fit again"
    )]
    Older,
    /// A fit of a version that knows more.
    #[error("this fit was written by a newer version of dplm ({version}): update dplm to read it")]
    Newer {
        /// That version.
        version: String,
    },
    /// The fits of several groups.
    #[error(
        "this file has the fits of several groups, where that of one is needed: load it, take the fit of one group, and save that"
    )]
    Grouped,
    /// What is needed is incomplete or does not go together.
    #[error("this fit is damaged or was changed by hand: load an unchanged copy")]
    Damaged,
}

impl Fitted {
    /// What is promised of all that it holds.
    pub fn promise(&self) -> &Promise {
        match self {
            Fitted::One(fit) => &fit.guarantee.promise,
            Fitted::Groups(groups) => &groups.guarantee.promise,
        }
    }

    /// Reads what `save`, or `dplm fit --json` with or without `--by`, has written.
    ///
    /// # Errors
    /// When the file cannot be read, is something else, or is from a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Fitted, Error> {
        let text = read(path)?;
        match Fit::from_json(&text) {
            Err(FitFileError::Grouped) => Ok(Fitted::Groups(Box::new(GroupedFit::from_json(&text)?))),
            one => Ok(Fitted::One(Box::new(one?))),
        }
    }
}

/// What a document of results holds.
pub enum Saved {
    /// A fit.
    One(Box<Fit>),
    /// The fits of groups.
    Groups(Box<GroupedFit>),
    /// The specifications of a study, by their names.
    Study(Vec<(String, Fit)>),
}

impl Saved {
    /// Reads what `save`, or `dplm fit`, `refine` or `study` with `--json`, has written.
    ///
    /// # Errors
    /// When it is something else, or from a newer version.
    pub fn from_json(text: &str) -> Result<Saved, FitFileError> {
        let envelope = Envelope::open(text)?;
        let part = |part: &Specification<'_>| Ok((part.name.clone(), Fit::from_json(part.fit.get())?));
        match (&envelope.grouped_fit, &envelope.specifications) {
            (Some(_), _) => Ok(Saved::Groups(Box::new(GroupedFit::from_json(text)?))),
            (None, Some(parts)) => Ok(Saved::Study(parts.iter().map(part).collect::<Result<_, FitFileError>>()?)),
            (None, None) => Ok(Saved::One(Box::new(Fit::from_json(text)?))),
        }
    }
}

/// The guarantee of any document of results: of a fit, of the fits of groups, or of a study.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SavedGuarantee {
    /// What is promised.
    pub guarantee: Guarantee,
}

impl SavedGuarantee {
    /// Reads what `save`, or `dplm fit`, `refine` or `study` with `--json`, has written.
    ///
    /// # Errors
    /// As [`Fitted::load`].
    pub fn load(path: impl AsRef<Path>) -> Result<SavedGuarantee, Error> {
        Ok(SavedGuarantee::from_json(&read(path)?)?)
    }

    /// As [`load`](Self::load), from the text itself.
    ///
    /// # Errors
    /// As there.
    pub fn from_json(text: &str) -> Result<SavedGuarantee, FitFileError> {
        let envelope = Envelope::open(text)?;
        let guarantee = match (envelope.grouped_fit, envelope.study_guarantee) {
            (Some(_), _) => GroupedFit::from_json(text)?.guarantee,
            (None, Some(of_study)) => guarantee_of_study(text, of_study)?,
            // Studies of older forms did not keep it.
            (None, None) if envelope.specifications.is_some() => return Err(FitFileError::Older),
            (None, None) => Fit::from_json(text)?.guarantee,
        };
        Ok(SavedGuarantee { guarantee })
    }
}

/// The guarantee of a study, if all of its fits are under it.
fn guarantee_of_study(text: &str, held: &RawValue) -> Result<Guarantee, FitFileError> {
    let guarantee: Guarantee = serde_json::from_str(held.get()).map_err(|_| FitFileError::Damaged)?;
    let envelope = Envelope::open(text)?;
    for part in envelope.specifications.as_ref().ok_or(FitFileError::Damaged)? {
        let fit = Fit::from_json(part.fit.get())?;
        let of_fit = &fit.guarantee;
        if (&of_fit.promise, of_fit.rho, of_fit.delta) != (&guarantee.promise, guarantee.rho, guarantee.delta) {
            return Err(FitFileError::Damaged);
        }
    }
    let stated: Value = serde_json::from_str(text).map_err(|_| FitFileError::Damaged)?;
    let made = serde_json::to_value(stated_of(&guarantee)).map_err(|_| FitFileError::Damaged)?;
    let sound = guarantee.is_sound() && envelope.comparison().agree(&stated["guarantee"], &made);
    if sound { Ok(guarantee) } else { Err(FitFileError::Damaged) }
}

/// A specification of a study.
#[derive(Deserialize)]
struct Specification<'a> {
    name: String,
    #[serde(borrow)]
    fit: &'a RawValue,
}

/// What tells a fit from other JSON.
#[derive(Deserialize)]
struct Envelope<'a> {
    dplm: String,
    #[serde(default)]
    schema: Option<u32>,
    #[serde(borrow, default)]
    fit: Option<&'a RawValue>,
    #[serde(borrow, default)]
    grouped_fit: Option<&'a RawValue>,
    #[serde(borrow, default)]
    study_guarantee: Option<&'a RawValue>,
    #[serde(borrow, default)]
    specifications: Option<Vec<Specification<'a>>>,
    #[serde(default)]
    pretend: Option<IgnoredAny>,
}

impl<'a> Envelope<'a> {
    /// What tells a fit, or the fits of groups, of a version that is known.
    fn open(text: &'a str) -> Result<Envelope<'a>, FitFileError> {
        let envelope: Envelope<'a> = serde_json::from_str(text).map_err(|_| FitFileError::NotAFit)?;
        match envelope.schema {
            None => Err(FitFileError::Older),
            Some(schema) if schema > SCHEMA => Err(FitFileError::Newer { version: envelope.dplm }),
            Some(_) => Ok(envelope),
        }
    }

    fn is_older(&self) -> bool {
        self.schema != Some(SCHEMA)
    }

    /// What is held, in the form of this version.
    fn held<T: DeserializeOwned>(&self, held: &RawValue) -> Result<T, FitFileError> {
        let damaged = |_| FitFileError::Damaged;
        if !self.is_older() {
            return serde_json::from_str(held.get()).map_err(damaged);
        }
        let old: Value = serde_json::from_str(held.get()).map_err(damaged)?;
        let upgraded = schema2::upgraded(&old, self.pretend.is_some()).ok_or(FitFileError::Damaged)?;
        serde_json::from_value(upgraded).map_err(damaged)
    }

    fn comparison(&self) -> Comparison {
        Comparison {
            same_version: self.dplm == env!("CARGO_PKG_VERSION") && !self.is_older(),
            is_older: self.is_older(),
        }
    }

    /// Refuses a document whose readable part is not what is made of what it holds.
    fn check(&self, found: &str, made: &str) -> Result<(), FitFileError> {
        let value = |text: &str| serde_json::from_str::<Value>(text).map_err(|_| FitFileError::NotAFit);
        if self.comparison().agree(&value(found)?, &value(made)?) { Ok(()) } else { Err(FitFileError::Damaged) }
    }
}

impl Fit {
    /// Writes the fit to a file, as the JSON that `dplm fit --json` gives: for readers, for
    /// programs, and for [`load`](Self::load).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(fs::write(path, to_json(self)).map_err(|error| FitFileError::Unwritten { kind: error.kind() })?)
    }

    /// Reads a fit that [`save`](Self::save) or `dplm fit --json` has written: equal to the one
    /// that was written, to the last bit, and it answers as that one does.
    ///
    /// # Errors
    /// When the file cannot be read, is something else, or is from a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Fit, Error> {
        Ok(Fit::from_json(&read(path)?)?)
    }

    /// As [`load`](Self::load), from the text itself.
    ///
    /// # Errors
    /// When it is something else, or from a newer version.
    pub fn from_json(text: &str) -> Result<Fit, FitFileError> {
        let envelope = Envelope::open(text)?;
        if envelope.grouped_fit.is_some() {
            return Err(FitFileError::Grouped);
        }
        let fit: Fit = envelope.held(envelope.fit.ok_or(FitFileError::Damaged)?)?;
        if !is_whole(&fit) {
            return Err(FitFileError::Damaged);
        }
        envelope.check(text, &to_json(&fit))?;
        Ok(fit)
    }
}

impl GroupedFit {
    /// Writes the fits to a file, as the JSON that `dplm fit --by --json` gives: for readers, for
    /// programs, and for [`load`](Self::load).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(fs::write(path, grouped_to_json(self)).map_err(|error| FitFileError::Unwritten { kind: error.kind() })?)
    }

    /// Reads fits that [`save`](Self::save) or `dplm fit --by --json` has written: equal to those
    /// that were written, to the last bit.
    ///
    /// # Errors
    /// When the file cannot be read, is something else, or is from a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<GroupedFit, Error> {
        Ok(GroupedFit::from_json(&read(path)?)?)
    }

    /// As [`load`](Self::load), from the text itself.
    ///
    /// # Errors
    /// When it is something else, or from a newer version.
    pub fn from_json(text: &str) -> Result<GroupedFit, FitFileError> {
        let envelope = Envelope::open(text)?;
        let grouped: GroupedFit = envelope.held(envelope.grouped_fit.ok_or(FitFileError::NotAFit)?)?;
        if !are_whole(&grouped) {
            return Err(FitFileError::Damaged);
        }
        envelope.check(text, &grouped_to_json(&grouped))?;
        Ok(grouped)
    }
}

/// The text of a file that should hold a result.
///
/// # Errors
/// When it cannot be read, or is not text.
pub fn read(path: impl AsRef<Path>) -> Result<String, FitFileError> {
    fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => FitFileError::NotAFit,
        kind => FitFileError::Unread { kind },
    })
}
