//! A fit in a file, and back to the last bit.

use std::{fs, io::ErrorKind, path::Path};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{SCHEMA, to_json};
use crate::{Error, Fit};

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
    #[error("this is not a fit: give a file that 'dplm fit --json', or save() of a fit, has written")]
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
    /// What is needed is incomplete or does not go together.
    #[error("this fit is damaged or was changed by hand: load an unchanged copy")]
    Damaged,
}

/// What tells a fit from other JSON.
#[derive(Deserialize)]
struct Envelope<'a> {
    dplm: String,
    #[serde(default)]
    schema: Option<u32>,
    #[serde(borrow, default)]
    fit: Option<&'a RawValue>,
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
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => FitFileError::NotAFit,
            kind => FitFileError::Unread { kind },
        })?;
        Ok(Fit::from_json(&text)?)
    }

    /// As [`load`](Self::load), from the text itself.
    ///
    /// # Errors
    /// When it is something else, or from a newer version.
    pub fn from_json(text: &str) -> Result<Fit, FitFileError> {
        let Envelope { dplm, schema, fit } = serde_json::from_str(text).map_err(|_| FitFileError::NotAFit)?;
        match schema {
            None => return Err(FitFileError::Older),
            Some(schema) if schema > SCHEMA => return Err(FitFileError::Newer { version: dplm }),
            Some(_) => {}
        }
        let fit: Fit =
            serde_json::from_str(fit.ok_or(FitFileError::Damaged)?.get()).map_err(|_| FitFileError::Damaged)?;
        if is_whole(&fit) { Ok(fit) } else { Err(FitFileError::Damaged) }
    }
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
