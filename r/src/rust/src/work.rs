//! Work done while R waits: an interrupt stops it, and a function hears how far it is.
#![allow(unsafe_code)] // Only C may be told by R of an interrupt.

use std::ffi::c_int;

use dplm::{
    progress::background::{self, Ended, Stage},
    table::DataError,
    Error,
};
use savvy::{FunctionArgs, FunctionSexp};

pub use dplm::progress::background::Signals;

use crate::{
    failure::{Failure, Kind, Refusal},
    value,
};

unsafe extern "C" {
    /// Whether the user has interrupted R: `r/src/interrupt.c`.
    safe fn dplm_is_interrupted() -> c_int;
}

/// Does `work` on threads of its own, and waits for it on R's.
pub fn run<T: Send>(
    threads: Option<usize>,
    progress: Option<&FunctionSexp>,
    work: impl FnOnce(&Signals) -> Result<T, Refusal> + Send,
) -> Result<T, Failure> {
    let told = |stage, done, total| tell(progress, stage, done, total);
    let ended = background::run(threads, told, work).map_err(|error| match error {
        background::ThreadsError::Number => Kind::Request.because(error),
        _ => Kind::Fit.because(error),
    })?;
    match ended {
        Ended::Done(outcome) => Ok(outcome?),
        Ended::Interrupted(interruption, _) => Err(interruption),
        Ended::Panicked => Err(Refusal::bug().into()),
    }
}

/// Tells R how far the work is; fails where that does, or where the user wants no more of it.
fn tell(progress: Option<&FunctionSexp>, stage: Stage, done: u64, total: u64) -> Result<(), Failure> {
    if dplm_is_interrupted() != 0 {
        return Err(interrupted(stage).into());
    }
    let Some(progress) = progress else { return Ok(()) };
    let mut arguments = FunctionArgs::new();
    arguments.add("stage", value::texts([stage.word()])?)?;
    arguments.add("done", value::numbers([done as f64])?)?;
    arguments.add("total", value::numbers([total as f64])?)?;
    progress.call(arguments)?;
    Ok(())
}

/// What an interruption cost.
fn interrupted(stage: Stage) -> Refusal {
    match stage {
        Stage::Fitting => Kind::Interrupt.because(Error::Interrupted),
        Stage::Reading => Kind::Interrupt.because(DataError::Interrupted),
    }
}
