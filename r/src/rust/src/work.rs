//! Work done while R waits: an interrupt stops it, and a function hears how far it is.
#![allow(unsafe_code)] // Only C may be told by R of an interrupt.

use std::ffi::c_int;

use dplm::progress::background::{self, Ended, Stage};
use savvy::{r_eprintln, FunctionArgs, FunctionSexp};

pub use dplm::progress::background::Signals;

use crate::{
    failure::{Failure, Kind, Refusal},
    pay::Charged,
    value,
};

unsafe extern "C" {
    /// Whether the user has interrupted R: `r/src/interrupt.c`.
    safe fn dplm_is_interrupted() -> c_int;
}

/// Does `work`, which costs nothing, on threads of its own, and waits for it on R's.
pub fn run<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce(&Signals) -> Result<T, Refusal> + Send,
) -> Result<T, Failure> {
    run_charged(threads, None, &Charged::default(), work)
}

/// The same of work that may be charged: whatever ends it, R hears what was.
pub fn run_charged<T: Send>(
    threads: Option<usize>,
    progress: Option<&FunctionSexp>,
    charged: &Charged,
    work: impl FnOnce(&Signals) -> Result<T, Refusal> + Send,
) -> Result<T, Failure> {
    let told = |stage, done, total| tell(progress, stage, done, total);
    let ended = background::run(threads, told, work).map_err(|error| match error {
        background::ThreadsError::Number => Kind::Request.because(error),
        _ => Kind::Fit.because(error),
    })?;
    match ended {
        // R would interrupt the call by itself as soon as this returns, and say nothing of what was
        // spent.
        Ended::Done(Ok(_)) if dplm_is_interrupted() != 0 => Err(charged.interrupted().into()),
        Ended::Done(outcome) => Ok(outcome.map_err(|refusal| refusal.after(&charged.tally()))?),
        Ended::Interrupted(Interruption::ByUser, _) => Err(charged.interrupted().into()),
        Ended::Interrupted(Interruption::OfR(error), _) => {
            tell_what_was_spent(charged);
            Err(error.into())
        }
        Ended::Panicked => Err(Refusal::bug().after(&charged.tally()).into()),
    }
}

/// What ends work before it is done.
enum Interruption {
    ByUser,
    /// An error of the function that hears how far the work is, which is R's own.
    OfR(savvy::Error),
}

impl From<savvy::Error> for Interruption {
    fn from(error: savvy::Error) -> Interruption {
        Interruption::OfR(error)
    }
}

/// An error of R's own goes on as it is, so what was spent cannot be said in it.
fn tell_what_was_spent(charged: &Charged) {
    let tally = charged.tally();
    if tally.spent().is_some() {
        r_eprintln!("the fit was ended by its progress function; {tally}");
    }
}

/// Tells R how far the work is; fails where that does, or where the user wants no more of it.
fn tell(progress: Option<&FunctionSexp>, stage: Stage, done: u64, total: u64) -> Result<(), Interruption> {
    if dplm_is_interrupted() != 0 {
        return Err(Interruption::ByUser);
    }
    let Some(progress) = progress else { return Ok(()) };
    let mut arguments = FunctionArgs::new();
    arguments.add("stage", value::texts([stage.word()])?)?;
    arguments.add("done", value::numbers([done as f64])?)?;
    arguments.add("total", value::numbers([total as f64])?)?;
    progress.call(arguments)?;
    Ok(())
}
