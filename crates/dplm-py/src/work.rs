//! Work done while Python goes on: other threads run, Ctrl-C stops it, and a callback hears how far it is.

use std::{
    ops::ControlFlow,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use dplm::Error;
use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;

use crate::failure::{Failure, Kind, OrRaise};

/// How often signals are looked for.
const POLL: Duration = Duration::from_millis(50);

/// More threads than any machine has; the operating system would refuse them with a worse message.
const MOST_THREADS: usize = 4096;

/// What the work and whoever waits for it tell each other.
#[derive(Default)]
pub struct Signals {
    stop: AtomicBool,
    fitting: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Signals {
    /// So many bytes of the rows have been read, of so many; interrupts the reading once the work should end.
    pub fn reading(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.done.store(done, Relaxed);
        self.total.store(total, Relaxed);
        if self.stop.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Whether the work should end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// So many steps of the fit are done, of so many; interrupts it once the work should end.
    pub fn fitting(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.fitting.store(true, Relaxed);
        self.reading(done, total)
    }

    fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(()) };
        let stage = if self.fitting.load(Relaxed) { "fitting" } else { "reading" };
        progress.call1(py, (stage, self.done.load(Relaxed), self.total.load(Relaxed))).map(|_| ())
    }
}

/// Does `work` on threads of its own, with the interpreter free, and waits for it.
///
/// The threads end with the work: a pool that outlived it would hang in a process forked later.
pub fn run<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Signals) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    if threads.is_some_and(|threads| !(1..=MOST_THREADS).contains(&threads)) {
        return Err(Kind::Request.because(format!("the number of threads must be between 1 and {MOST_THREADS}")));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = pool.map_err(|_| Kind::Fit.because("the operating system refused that many threads: ask for fewer"))?;
    let signals = Signals::default();
    let (outcome, interruption) = py.detach(|| {
        thread::scope(|scope| {
            let (finished, wait) = mpsc::channel();
            let (pool, told) = (&pool, &signals);
            let worker = scope.spawn(move || {
                let outcome = pool.install(|| work(told));
                // Nobody waits any more only if this thread is already being joined.
                let _ = finished.send(());
                outcome
            });
            let interruption = wait_for(&wait, &signals, progress);
            (worker.join(), interruption)
        })
    });
    if let Some(interruption) = interruption {
        return Err(noted(py, interruption, &signals));
    }
    match outcome {
        Ok(outcome) => outcome.or_raise(),
        Err(_panic) => Err(Failure::bug()).or_raise(),
    }
}

/// Waits for the end; the first signal or failing callback stops the work and is returned.
fn wait_for(wait: &mpsc::Receiver<()>, signals: &Signals, progress: Option<&Py<PyAny>>) -> Option<PyErr> {
    let mut interruption = None;
    while wait.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        if interruption.is_none() {
            interruption = Python::attach(|py| signals.tell(py, progress)).err();
            signals.stop.store(interruption.is_some(), Relaxed);
        }
    }
    interruption
}

/// The interruption, with a note on what it cost.
fn noted(py: Python<'_>, interruption: PyErr, signals: &Signals) -> PyErr {
    let note = match signals.fitting.load(Relaxed) {
        true => Error::Interrupted.to_string(),
        false => dplm::table::DataError::Interrupted.to_string(),
    };
    // A note that cannot be added changes nothing.
    let _ = interruption.value(py).call_method1("add_note", (note,));
    interruption
}
