//! Why nothing came back, for R to make a condition of, in sentences that spell options as in a
//! call.

use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};

use dplm::{
    options::{Advised, Interface},
    request::OptionError,
    table::DataError,
    Error, ErrorKind,
};
use dplm_ledger::{LedgerError, PaidError, Tally};
use dplm_methods::NoMethod;
use dplm_simulate::pretend::PretendError;
use savvy::{OwnedListSexp, OwnedStringSexp, Sexp};

use crate::pay::not_paid;

/// The conditions of `r/R/conditions.R`.
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
    /// The user interrupted the work.
    Interrupt,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Request => "request",
            Kind::Data => "data",
            Kind::Fit => "fit",
            Kind::Ledger => "ledger",
            Kind::Interrupt => "interrupt",
        }
    }

    /// The refusal with this sentence.
    pub fn because(self, sentence: impl ToString) -> Refusal {
        Refusal { kind: self, sentence: sentence.to_string() }
    }
}

impl Kind {
    /// The refusal for an error of the library that is about what was asked, whatever else it might
    /// mean.
    pub fn of_request(error: impl Into<Error>) -> Refusal {
        Kind::Request.because(error.into().sentence(Interface::R))
    }
}

/// What kind of refusal it is, and its sentence.
pub struct Refusal {
    kind: Kind,
    sentence: String,
}

impl Refusal {
    /// The refusal of work that was charged what a tally says. Its sentence ends with that, and its
    /// kind no longer promises that nothing was spent.
    #[must_use]
    pub fn after(self, tally: &Tally) -> Refusal {
        match tally.spent() {
            None => self,
            Some(_) => Refusal { kind: Kind::Fit, sentence: tally.told(&self.sentence, false) },
        }
    }

    /// The program itself is wrong. What went wrong is not said, since that could hold a cell.
    pub fn bug() -> Refusal {
        Kind::Fit.because(
            "an internal check failed, which is a fault of dplm and not of the data: nothing was published; please report it",
        )
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        let kind = match error.kind() {
            ErrorKind::Request => Kind::Request,
            ErrorKind::Data => Kind::Data,
            ErrorKind::Fit => Kind::Fit,
        };
        kind.because(error.sentence(Interface::R))
    }
}

impl From<DataError> for Refusal {
    fn from(error: DataError) -> Refusal {
        Refusal::from(Error::from(error))
    }
}

impl From<PretendError> for Refusal {
    fn from(error: PretendError) -> Refusal {
        match error {
            PretendError::Model(error) => error.into(),
            PretendError::Seed(_) => Kind::Fit.because(error),
            _ => Kind::Request.because(error),
        }
    }
}

impl From<LedgerError> for Refusal {
    fn from(error: LedgerError) -> Refusal {
        match error {
            // The arguments alone are wrong: no ledger was asked.
            LedgerError::Seed | LedgerError::NoDataset | LedgerError::NoLedger => {
                Kind::Request.because(error.sentence(Interface::R))
            }
            error => Kind::Ledger.because(error.sentence(Interface::R)),
        }
    }
}

impl From<PaidError> for Refusal {
    fn from(error: PaidError) -> Refusal {
        match error {
            PaidError::NotPaid(error) => not_paid(error),
            PaidError::PartlyPaid(error) => error.into(),
            PaidError::Fit(error) => error.into(),
            error => Kind::Fit.because(error),
        }
    }
}

impl From<OptionError> for Refusal {
    fn from(error: OptionError) -> Refusal {
        Kind::Request.because(error)
    }
}

impl From<NoMethod> for Refusal {
    fn from(error: NoMethod) -> Refusal {
        Kind::Request.because(error)
    }
}

/// Why a function has no result: this package refuses, or R has an error of its own that goes on
/// once Rust has cleaned up.
pub enum Failure {
    Refused(Refusal),
    OfR(savvy::Error),
}

impl<E: Into<Refusal>> From<E> for Failure {
    fn from(refusal: E) -> Failure {
        Failure::Refused(refusal.into())
    }
}

impl From<savvy::Error> for Failure {
    fn from(error: savvy::Error) -> Failure {
        Failure::OfR(error)
    }
}

/// The result of a function for R, or a list of the class `dplm_failure` with the `kind` and the
/// `sentence` of a refusal.
///
/// No panic leaves it, and none is talked about: the hook that `#[savvy]` puts around every
/// function would print the panic's words, which could hold a cell, and on whichever thread it
/// happens, where R may not be called.
pub fn answer(work: impl FnOnce() -> Result<Sexp, Failure>) -> savvy::Result<Sexp> {
    set_hook(Box::new(|_| {}));
    match catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Refusal::bug().into())) {
        Ok(value) => Ok(value),
        Err(Failure::OfR(error)) => Err(error),
        Err(Failure::Refused(refusal)) => told(&refusal),
    }
}

fn told(refusal: &Refusal) -> savvy::Result<Sexp> {
    let mut list = OwnedListSexp::new(2, true)?;
    list.set_name_and_value(0, "kind", OwnedStringSexp::try_from_scalar(refusal.kind.name())?)?;
    list.set_name_and_value(1, "sentence", OwnedStringSexp::try_from_scalar(&refusal.sentence)?)?;
    list.set_class(["dplm_failure"])?;
    list.into()
}
