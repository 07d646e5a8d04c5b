//! Work done while Python goes on: other threads run, Ctrl-C stops it, and a callback hears how far
//! it is.

use dplm::{
    Error,
    progress::background::{self, Ended, Stage},
    table::DataError,
};
use dplm_ledger::{Payer, Tally};
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
    waited_for(py, threads, progress, &Tally::default(), work)
}

/// The same for work that spends. However it ends, what is said of spending is what was charged.
pub fn run_paid<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    mut payer: Payer,
    work: impl FnOnce(&Signals, &mut Payer) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let tally = payer.tally();
    waited_for(py, threads, progress, &tally, |signals| work(signals, &mut payer).map_err(|why| why.told(&tally)))
}

fn waited_for<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    tally: &Tally,
    work: impl FnOnce(&Signals) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let told = |stage, done, total| Python::attach(|py| tell(py, progress, stage, done, total));
    let ended = py.detach(|| background::run(threads, told, work)).map_err(|error| match error {
        background::ThreadsError::Number => Kind::Request.because(error),
        _ => Kind::Fit.because(error),
    })?;
    match ended {
        Ended::Done(outcome) => outcome.or_raise(),
        Ended::Interrupted(interruption, stage) => Err(noted(py, interruption, stage, tally)),
        Ended::Panicked => Err(Failure::bug().told(tally)).or_raise(),
    }
}

fn tell(py: Python<'_>, progress: Option<&Py<PyAny>>, stage: Stage, done: u64, total: u64) -> PyResult<()> {
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(()) };
    progress.call1(py, (stage.word(), done, total)).map(|_| ())
}

/// The interruption, with a note on what it cost.
fn noted(py: Python<'_>, interruption: PyErr, stage: Stage, tally: &Tally) -> PyErr {
    let interrupted = match (stage, tally.spent()) {
        (Stage::Reading, None) => DataError::Interrupted.to_string(),
        (Stage::Fitting, _) | (_, Some(_)) => Error::Interrupted.to_string(),
    };
    let note = format!("{interrupted}; {tally}");
    // A note that cannot be added changes nothing.
    let _ = interruption.value(py).call_method1("add_note", (note,));
    interruption
}
