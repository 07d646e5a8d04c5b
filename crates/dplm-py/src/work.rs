//! Work done while Python goes on: other threads run, Ctrl-C stops it, and a callback hears how far it is.

use dplm::{
    Error,
    progress::background::{self, Ended, Stage},
    table::DataError,
};
use pyo3::prelude::*;

pub use dplm::progress::background::Signals;

use crate::failure::{Failure, Kind, OrRaise};

/// Does `work` on threads of its own, with the interpreter free, and waits for it.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Signals) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let told = |stage, done, total| Python::attach(|py| tell(py, progress, stage, done, total));
    let ended = py.detach(|| background::run(threads, told, work)).map_err(|error| match error {
        background::ThreadsError::Number => Kind::Request.because(error),
        _ => Kind::Fit.because(error),
    })?;
    match ended {
        Ended::Done(outcome) => outcome.or_raise(),
        Ended::Interrupted(interruption, stage) => Err(noted(py, interruption, stage)),
        Ended::Panicked => Err(Failure::bug()).or_raise(),
    }
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, stage: Stage, done: u64, total: u64) -> PyResult<()> {
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(()) };
    progress.call1(py, (stage.word(), done, total)).map(|_| ())
}

/// The interruption, with a note on what it cost.
fn noted(py: Python<'_>, interruption: PyErr, stage: Stage) -> PyErr {
    let note = match stage {
        Stage::Fitting => Error::Interrupted.to_string(),
        Stage::Reading => DataError::Interrupted.to_string(),
    };
    // A note that cannot be added changes nothing.
    let _ = interruption.value(py).call_method1("add_note", (note,));
    interruption
}
