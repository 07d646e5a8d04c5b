//! One error type for the crate; each kind is defined beside the code that raises it.

use crate::{
    GroupError, HypothesisError, Interrupted, PredictionError,
    dataset::UnusableError,
    formula::FormulaError,
    interval::IntervalError,
    lattice::LatticeError,
    method::{ConfigError, NotKeptError},
    moments::MomentsError,
    options::{Advice, Advised, Interface},
    plan::{AssumeError, ForecastError},
    privacy::PrivacyError,
    progress::background::ThreadsError,
    report::FitFileError,
    request::OptionError,
    rows::DeviceError,
    schema::SchemaError,
    study::StudyError,
    table::DataError,
};

/// Why a fit could not be made. Every message is one sentence that says what to do, and none holds
/// a cell's value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The model cannot be understood; nothing was read.
    #[error(transparent)]
    Formula(#[from] FormulaError),
    /// The options do not make sense; nothing was read.
    #[error("{}", _0.sentence(Interface::Rust))]
    Config(#[from] ConfigError),
    /// A value is not one that its option takes.
    #[error(transparent)]
    Value(#[from] OptionError),
    /// Moments that are publicly known are not understood, or not those of the model.
    #[error(transparent)]
    Moments(#[from] MomentsError),
    /// A study makes no sense.
    #[error("{}", _0.sentence(Interface::Rust))]
    Study(#[from] StudyError),
    /// An assumption about a column is not understood.
    #[error(transparent)]
    Assume(#[from] AssumeError),
    /// A plan is asked for something that makes no sense.
    #[error(transparent)]
    Forecast(#[from] ForecastError),
    /// The arithmetic cannot be made exact.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// Hardly any row can be used; that was found out by a release, which is spent.
    #[error(transparent)]
    Unusable(#[from] UnusableError),
    /// A term that was to be kept cannot be; that was found out by releases, which are spent.
    #[error(transparent)]
    NotKept(#[from] NotKeptError),
    /// The interval cannot be computed from what is released.
    #[error(transparent)]
    Interval(#[from] IntervalError),
    /// The hypothesis cannot be tested.
    #[error(transparent)]
    Hypothesis(#[from] HypothesisError),
    /// The prediction cannot be made from what was released.
    #[error(transparent)]
    Prediction(#[from] PredictionError),
    /// A group has no answer.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// The data cannot be used as they are.
    #[error("{}", _0.sentence(Interface::Rust))]
    Data(#[from] DataError),
    /// A crate beside the library, which keeps rows or looks at them, cannot do what is asked.
    #[error(transparent)]
    Other(#[from] OtherError),
    /// There is no such device for these rows.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The guarantee cannot be given.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// A fit was not written or read.
    #[error(transparent)]
    FitFile(#[from] FitFileError),
    /// The threads cannot be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// Interrupted by the user.
    #[error("interrupted before the fit was finished")]
    Interrupted,
}

/// An error of a crate beside the library, in that crate's words. They name machines, columns and
/// what is public of the rows, never anything of a cell.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct OtherError {
    kind: ErrorKind,
    why: Box<dyn std::error::Error + Send + Sync>,
}

impl OtherError {
    /// An error of another crate, and what it is about.
    pub fn new(kind: ErrorKind, why: impl std::error::Error + Send + Sync + 'static) -> OtherError {
        OtherError { kind, why: Box::new(why) }
    }

    /// The other crate's error, if it is of this type.
    pub fn why<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.why.downcast_ref()
    }
}

/// What an error is about, for interfaces that have a class of errors for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// What was asked makes no sense.
    Request,
    /// The data cannot be used as they are.
    Data,
    /// The guarantee cannot be given, or the fit failed.
    Fit,
}

impl Error {
    /// The problem and what to do about it, as an interface spells options. What is displayed is
    /// spelled for Rust.
    pub fn sentence(&self, to: Interface) -> String {
        match self {
            Error::Value(error) => format!("{} must be {}", to.option(error.option), error.wanted),
            other => match other.advice() {
                None => other.problem(),
                Some(advice) => format!("{}: {}", other.problem(), advice.spelled(to)),
            },
        }
    }

    /// The problem alone.
    pub(crate) fn problem(&self) -> String {
        match self {
            Error::Config(error) => error.to_string(),
            Error::Study(error) => error.to_string(),
            Error::Data(error) => error.to_string(),
            other => other.to_string(),
        }
    }

    /// What to do about it, where options are to be named.
    pub(crate) fn advice(&self) -> Option<Advice> {
        match self {
            Error::Config(error) => error.advice(),
            Error::Study(error) => error.advice(),
            Error::Data(error) => error.advice(),
            _ => None,
        }
    }

    /// What the error is about.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Other(error) => error.kind,
            // Only the data can tell how many rows there are.
            Error::Config(ConfigError::TooFewRows { .. }) | Error::Data(_) | Error::FitFile(_) => ErrorKind::Data,
            Error::Threads(ThreadsError::Refused) => ErrorKind::Fit,
            Error::Formula(_)
            | Error::Threads(_)
            | Error::Value(_)
            | Error::Config(_)
            | Error::Group(_)
            | Error::Device(_)
            | Error::Moments(_)
            | Error::Study(_)
            | Error::Assume(_)
            | Error::Forecast(_)
            | Error::Interval(_)
            | Error::Hypothesis(_)
            | Error::Prediction(_)
            | Error::Lattice(LatticeError::ClipOutOfRange { .. }) => ErrorKind::Request,
            Error::Lattice(_) | Error::Privacy(_) | Error::Unusable(_) | Error::NotKept(_) | Error::Interrupted => {
                ErrorKind::Fit
            }
        }
    }
}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Error {
        Error::Interrupted
    }
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Error {
        Error::Data(error.into())
    }
}
