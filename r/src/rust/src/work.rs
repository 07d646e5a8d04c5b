//! Work done while R waits: an interrupt stops it, and a function hears how far it is.
#![allow(unsafe_code)] // Only C may be told by R of an interrupt.

use std::{
    ffi::c_int,
    ops::ControlFlow,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use dplm::{table::DataError, Error};
use rayon::ThreadPoolBuilder;
use savvy::{FunctionArgs, FunctionSexp};

use crate::{
    failure::{Failure, Kind, Refusal},
    value,
};

/// How often interrupts are looked for.
const POLL: Duration = Duration::from_millis(50);

/// More threads than any machine has; the operating system would refuse them with a worse message.
const MOST_THREADS: usize = 4096;

unsafe extern "C" {
    /// Whether the user has interrupted R: `r/src/interrupt.c`.
    safe fn dplm_is_interrupted() -> c_int;
}

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
        if self.stop.load(Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// So many steps of the fit are done, of so many; interrupts it once the work should end.
    pub fn fitting(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.fitting.store(true, Relaxed);
        self.reading(done, total)
    }

    /// Tells R how far the work is; fails where that does, or where the user wants no more of it.
    fn tell(&self, progress: Option<&FunctionSexp>) -> Result<(), Failure> {
        if dplm_is_interrupted() != 0 {
            return Err(self.interrupted().into());
        }
        let Some(progress) = progress else { return Ok(()) };
        let stage = if self.fitting.load(Relaxed) { "fitting" } else { "reading" };
        let mut arguments = FunctionArgs::new();
        arguments.add("stage", value::texts([stage])?)?;
        arguments.add("done", value::numbers([self.done.load(Relaxed) as f64])?)?;
        arguments.add("total", value::numbers([self.total.load(Relaxed) as f64])?)?;
        progress.call(arguments)?;
        Ok(())
    }

    /// What an interruption cost.
    fn interrupted(&self) -> Refusal {
        match self.fitting.load(Relaxed) {
            true => Kind::Interrupt.because(Error::Interrupted),
            false => Kind::Interrupt.because(DataError::Interrupted),
        }
    }
}

/// Does `work` on threads of its own, and waits for it on R's.
///
/// The threads end with the work: a pool that outlived it would hang in a process forked later.
pub fn run<T: Send>(
    threads: Option<usize>,
    progress: Option<&FunctionSexp>,
    work: impl FnOnce(&Signals) -> Result<T, Refusal> + Send,
) -> Result<T, Failure> {
    if threads.is_some_and(|threads| !(1..=MOST_THREADS).contains(&threads)) {
        return Err(Kind::Request
            .because(format!("the number of threads must be between 1 and {MOST_THREADS}"))
            .into());
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = pool.map_err(|_| Kind::Fit.because("the operating system refused that many threads: ask for fewer"))?;
    let signals = Signals::default();
    let (outcome, interruption) = thread::scope(|scope| {
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
    });
    match (interruption, outcome) {
        (Some(interruption), _) => Err(interruption),
        (None, Ok(outcome)) => Ok(outcome?),
        (None, Err(_panic)) => Err(Refusal::bug().into()),
    }
}

/// Waits for the end; the first interrupt or failing function stops the work and is returned.
fn wait_for(wait: &mpsc::Receiver<()>, signals: &Signals, progress: Option<&FunctionSexp>) -> Option<Failure> {
    let mut interruption = None;
    while wait.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        if interruption.is_none() {
            interruption = signals.tell(progress).err();
            signals.stop.store(interruption.is_some(), Relaxed);
        }
    }
    interruption
}
