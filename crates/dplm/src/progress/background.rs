//! Work on threads of its own while an interpreter waits: it hears how far the work is, and may interrupt it.

use std::{
    ops::ControlFlow,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use rayon::ThreadPoolBuilder;

/// How often whoever waits is asked.
const POLL: Duration = Duration::from_millis(50);

/// More threads than any machine has; the operating system would refuse them with a worse message.
const MOST_THREADS: usize = 4096;

/// Why work could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadsError {
    /// No such number of threads makes sense.
    #[error("the number of threads must be between 1 and {MOST_THREADS}")]
    Number,
    /// The operating system does not give so many.
    #[error("the operating system refused that many threads: ask for fewer")]
    Refused,
}

/// What the work is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading rows; nothing is spent.
    Reading,
    /// Fitting; the budget is spent.
    Fitting,
}

impl Stage {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Reading => "reading",
            Stage::Fitting => "fitting",
        }
    }
}

/// How the work ended.
#[derive(Debug)]
pub enum Ended<T, E> {
    /// With what it gives.
    Done(T),
    /// By what whoever waited said, at this stage.
    Interrupted(E, Stage),
    /// By a defect of this program.
    Panicked,
}

/// What the work and whoever waits for it tell each other.
#[derive(Debug, Default)]
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
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// So many steps of the fit are done, of so many; interrupts it once the work should end.
    pub fn fitting(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.fitting.store(true, Relaxed);
        self.reading(done, total)
    }

    /// Whether the work should end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn stage(&self) -> Stage {
        if self.fitting.load(Relaxed) { Stage::Fitting } else { Stage::Reading }
    }
}

/// Does `work` on threads of its own and waits for it, calling `tell` on this thread with how far it is; its first error interrupts the work.
///
/// The threads end with the work: a pool that outlived it would hang in a process forked later.
///
/// # Errors
/// When there are no such threads to be had; then nothing was done.
pub fn run<T: Send, E>(
    threads: Option<usize>,
    tell: impl FnMut(Stage, u64, u64) -> Result<(), E>,
    work: impl FnOnce(&Signals) -> T + Send,
) -> Result<Ended<T, E>, ThreadsError> {
    if threads.is_some_and(|threads| !(1..=MOST_THREADS).contains(&threads)) {
        return Err(ThreadsError::Number);
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = pool.map_err(|_| ThreadsError::Refused)?;
    let signals = Signals::default();
    Ok(thread::scope(|scope| {
        let (finished, wait) = mpsc::channel();
        let (pool, told) = (&pool, &signals);
        let worker = scope.spawn(move || {
            let outcome = pool.install(|| work(told));
            // Nobody waits any more only if this thread is already being joined.
            let _ = finished.send(());
            outcome
        });
        let interruption = wait_for(&wait, &signals, tell);
        match (interruption, worker.join()) {
            (Some(interruption), _) => Ended::Interrupted(interruption, signals.stage()),
            (None, Ok(outcome)) => Ended::Done(outcome),
            (None, Err(_panic)) => Ended::Panicked,
        }
    }))
}

/// Waits for the end; the first error of `tell` stops the work and is returned.
fn wait_for<E>(
    wait: &mpsc::Receiver<()>,
    signals: &Signals,
    mut tell: impl FnMut(Stage, u64, u64) -> Result<(), E>,
) -> Option<E> {
    let mut interruption = None;
    while wait.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        if interruption.is_none() {
            interruption = tell(signals.stage(), signals.done.load(Relaxed), signals.total.load(Relaxed)).err();
            signals.stop.store(interruption.is_some(), Relaxed);
        }
    }
    interruption
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never(_: Stage, _: u64, _: u64) -> Result<(), ()> {
        Ok(())
    }

    #[test]
    fn work_gives_its_outcome_on_as_many_threads_as_asked() {
        let ended = run(Some(3), never, |_| rayon::current_num_threads());
        assert!(matches!(ended, Ok(Ended::Done(3))));
    }

    #[test]
    fn the_first_error_interrupts_and_says_at_which_stage() {
        let work = |signals: &Signals| while signals.fitting(2, 5).is_continue() {};
        let ended = run(None, |stage, done, total| Err::<(), _>((stage, done, total)), work);
        let Ok(Ended::Interrupted(heard, Stage::Fitting)) = ended else { panic!("{ended:?}") };
        assert!(heard == (Stage::Fitting, 2, 5) || heard == (Stage::Reading, 0, 0), "{heard:?}");
    }

    #[test]
    fn a_panic_and_senseless_numbers_are_told_apart() {
        assert!(matches!(run(None, never, |_| panic!("on purpose")), Ok(Ended::Panicked::<(), ()>)));
        for threads in [0, MOST_THREADS + 1] {
            assert_eq!(run(Some(threads), never, |_| ()).expect_err("refused"), ThreadsError::Number);
        }
    }
}
