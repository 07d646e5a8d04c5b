//! A fit in a file, and back to the last bit.

use std::{fs, io::ErrorKind, path::Path};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{SCHEMA, grouped_to_json, to_json};
use crate::{Error, Fit, GroupedFit};

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

/// What a file of results holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Saved {
    /// One fit.
    One(Box<Fit>),
    /// The fits of several groups.
    Groups(Box<GroupedFit>),
}

impl Saved {
    /// Reads what `save`, or `dplm fit --json` with or without `--by`, has written.
    ///
    /// # Errors
    /// When the file cannot be read, is something else, or is from a newer version.
    pub fn load(path: impl AsRef<Path>) -> Result<Saved, Error> {
        let text = read(path)?;
        match Fit::from_json(&text) {
            Err(FitFileError::Grouped) => Ok(Saved::Groups(Box::new(GroupedFit::from_json(&text)?))),
            one => Ok(Saved::One(Box::new(one?))),
        }
    }
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
}

impl Fit {
    /// Writes the fit to a file, as the JSON that `dplm fit --json` gives: for readers, for programs, and for [`load`](Self::load).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(fs::write(path, to_json(self)).map_err(|error| FitFileError::Unwritten { kind: error.kind() })?)
    }

    /// Reads a fit that [`save`](Self::save) or `dplm fit --json` has written: equal to the one that was written, to the last bit, and it
    /// answers as that one does.
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
        let Envelope { fit, grouped_fit, .. } = Envelope::open(text)?;
        if grouped_fit.is_some() {
            return Err(FitFileError::Grouped);
        }
        let fit: Fit =
            serde_json::from_str(fit.ok_or(FitFileError::Damaged)?.get()).map_err(|_| FitFileError::Damaged)?;
        if is_whole(&fit) { Ok(fit) } else { Err(FitFileError::Damaged) }
    }
}

impl GroupedFit {
    /// Writes the fits to a file, as the JSON that `dplm fit --by --json` gives: for readers, for programs, and for [`load`](Self::load).
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Ok(fs::write(path, grouped_to_json(self)).map_err(|error| FitFileError::Unwritten { kind: error.kind() })?)
    }

    /// Reads fits that [`save`](Self::save) or `dplm fit --by --json` has written: equal to those that were written, to the last bit.
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
        let grouped = Envelope::open(text)?.grouped_fit.ok_or(FitFileError::NotAFit)?;
        let grouped: GroupedFit = serde_json::from_str(grouped.get()).map_err(|_| FitFileError::Damaged)?;
        let (levels, names) = (grouped.by.levels(), grouped.names());
        let of_levels = grouped.groups.iter().map(|group| &group.level).eq(levels);
        let alike = |fit: &Fit| is_whole(fit) && fit.coefficients.iter().map(|one| &one.name).eq(&names);
        let sound = of_levels && grouped.fits().all(|(_, fit)| alike(fit));
        if sound { Ok(grouped) } else { Err(FitFileError::Damaged) }
    }
}

fn read(path: impl AsRef<Path>) -> Result<String, FitFileError> {
    fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => FitFileError::NotAFit,
        kind => FitFileError::Unread { kind },
    })
}

/// Whether all parts are for the same coefficients, so that no question can go wrong.
fn is_whole(fit: &Fit) -> bool {
    let names = fit.design.names();
    let features = names.len();
    let named = fit.coefficients.iter().map(|one| &one.name).eq(names);
    let left_out = fit.left_out.iter().all(|one| names.contains(&one.name));
    let inference = fit.inference.as_ref().is_none_or(|inference| inference.is_for(features));
    let runs = fit.trajectories.iter().all(|run| {
        let all_for = |vectors: &[Vec<f64>]| vectors.iter().all(|one| one.len() == features);
        !run.theta.is_empty()
            && run.theta.len() == run.gradient.len() + 1
            && all_for(&run.theta)
            && all_for(&run.gradient)
    });
    let level = fit.level > 0.0 && fit.level < 1.0;
    named && left_out && inference && runs && level
}
