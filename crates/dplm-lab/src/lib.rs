//! The experiments that judge dplm.
//!
//! Modules in the order an experiment flows through them:
//!
//! ```text
//! definition --points--> trial, repeated --record--> table --> figure, claims --> page
//! ```
//!
//! A [`definition`] is a small TOML file; an [`experiment`] turns it into points, each a number of
//! repetitions of a [`trial`] on data it simulates itself; a [`record`] keeps the results; [`draw`]
//! makes the picture, and a [`claim`] is judged from the same numbers. Nothing here is private or
//! needs to be: the data are simulated and the noise comes from fixed seeds.

pub mod definition;
pub mod trial;
pub mod world;
mod counted;
pub mod experiment;
pub mod stats;
pub mod record;
pub mod claim;
pub mod draw;
pub mod page;
pub mod run;
pub mod real;
pub mod peers;
pub mod command;

/// Why the lab failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// There is no such figure.
    #[error("there is no experiment called {name}; `dplm lab list` shows their names")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// A definition cannot be read.
    #[error("the definition of {name} is not right: {reason}")]
    Definition {
        /// The figure.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `--set` could not be parsed.
    #[error("`{given}` is not of the form key=value; write for instance --set repetitions=20")]
    Setting {
        /// The text as typed.
        given: String,
    },
    /// The record holds no results of a figure.
    #[error("the record in {folder} has no results of {name}; run `dplm lab run {name}` first")]
    NotInRecord {
        /// The figure.
        name: String,
        /// The folder of the record.
        folder: String,
    },
    /// There is no record at all.
    #[error("there is no record in {folder}; name a folder that `dplm lab run --out` has written")]
    NoRecord {
        /// The folder.
        folder: String,
    },
    /// A file of the record is damaged.
    #[error("line {line} of {file} is not a result; delete the line and run again")]
    BrokenRecord {
        /// The file.
        file: String,
        /// Counted from 1.
        line: usize,
    },
    /// The picture could not be made.
    #[error("the picture of {name} could not be drawn: {reason}")]
    Draw {
        /// The figure.
        name: String,
        /// The renderer's reason.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The data could not be simulated.
    #[error(transparent)]
    Simulate(#[from] dplm_simulate::SettingError),
    /// A fit was refused.
    #[error(transparent)]
    Fit(#[from] dplm::Error),
    /// A request to the theory module was refused.
    #[error(transparent)]
    Theory(#[from] dplm_theory::TheoryError),
}

impl LabError {
    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> LabError {
        LabError::File { path: path.display().to_string(), source }
    }
}
