//! Why nothing came back, as Python exceptions whose sentences spell options as in a call.

use dplm::{
    Error, ErrorKind,
    options::{Advised, Interface},
    request::OptionError,
    table::DataError,
};
use dplm_ledger::{LedgerError, PaidError, Tally};
use dplm_methods::NoMethod;
use dplm_simulate::{SettingError, pretend::PretendError};
use pyo3::{prelude::*, types::PyType};

/// The exceptions of `dplm._errors`.
#[derive(Clone, Copy)]
pub enum Kind {
    /// What was asked makes no sense.
    Request,
    /// The data cannot be used as they are.
    Data,
    /// The guarantee cannot be given, or the fit failed.
    Fit,
    /// The ledger refused.
    Ledger,
}

impl Kind {
    const fn class(self) -> &'static str {
        match self {
            Kind::Request => "RequestError",
            Kind::Data => "DataError",
            Kind::Fit => "FitError",
            Kind::Ledger => "LedgerError",
        }
    }

    /// The exception with this sentence.
    pub fn because(self, sentence: impl ToString) -> PyErr {
        let sentence = sentence.to_string();
        Python::attach(|py| {
            let class = py.import("dplm._errors").and_then(|module| module.getattr(self.class()));
            match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
                Ok(class) => PyErr::from_type(class, sentence),
                Err(broken) => broken,
            }
        })
    }
}

impl Kind {
    /// The exception for an error of the library that is about what was asked, whatever else it
    /// might mean.
    pub fn of_request(error: impl Into<Error>) -> PyErr {
        Kind::Request.because(error.into().sentence(Interface::Python))
    }
}

/// The exception for any error of the libraries.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Into<Failure>> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| {
            let Failure { kind, sentence } = error.into();
            kind.because(sentence)
        })
    }
}

/// What kind of error it is, and its sentence.
pub struct Failure {
    kind: Kind,
    sentence: String,
}

impl Failure {
    fn new(kind: Kind, error: impl ToString) -> Failure {
        Failure { kind, sentence: error.to_string() }
    }

    /// The same with what was spent. After a charge the fit has failed, whatever the reason: other
    /// kinds promise that nothing was spent.
    pub fn told(self, tally: &Tally) -> Failure {
        let is_refusal = matches!(self.kind, Kind::Ledger);
        let kind = if tally.spent().is_some() { Kind::Fit } else { self.kind };
        Failure { kind, sentence: tally.told(&self.sentence, is_refusal) }
    }

    /// The program itself is wrong. What went wrong is not said, since that could hold a cell.
    pub fn bug() -> Failure {
        let sentence = "an internal check failed, which is a fault of dplm and not of the data: nothing was published; please report it";
        Failure::new(Kind::Fit, sentence)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let kind = match error.kind() {
            ErrorKind::Request => Kind::Request,
            ErrorKind::Data => Kind::Data,
            ErrorKind::Fit => Kind::Fit,
        };
        Failure::new(kind, error.sentence(Interface::Python))
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Failure {
        Failure::from(Error::from(error))
    }
}

impl From<SettingError> for Failure {
    fn from(error: SettingError) -> Failure {
        Failure::new(Kind::Request, error)
    }
}

impl From<PretendError> for Failure {
    fn from(error: PretendError) -> Failure {
        match error {
            PretendError::Model(error) => error.into(),
            PretendError::Seed(_) => Failure::new(Kind::Fit, error),
            _ => Failure::new(Kind::Request, error),
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Failure {
        let kind = match error {
            // The arguments alone are wrong: no ledger was asked.
            LedgerError::Seed | LedgerError::NoDataset | LedgerError::NoLedger => Kind::Request,
            _ => Kind::Ledger,
        };
        Failure::new(kind, error.sentence(Interface::Python))
    }
}

impl From<PaidError> for Failure {
    fn from(error: PaidError) -> Failure {
        match error {
            PaidError::NotPaid(error) | PaidError::PartlyPaid(error) => error.into(),
            PaidError::Fit(error) => error.into(),
            error => Failure::new(Kind::Fit, error),
        }
    }
}

impl From<OptionError> for Failure {
    fn from(error: OptionError) -> Failure {
        Failure::new(Kind::Request, error)
    }
}

impl From<NoMethod> for Failure {
    fn from(error: NoMethod) -> Failure {
        Failure::new(Kind::Request, error)
    }
}
