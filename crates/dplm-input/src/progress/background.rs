//! Runs work on its own threads while an interpreter waits, which sees the progress and may
//! interrupt the work.

use std::{
    ops::ControlFlow,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often the waiting caller is asked.
const POLL: Duration = Duration::from_millis(50);

/// More threads than any machine has; the operating system's own message would be worse.
const MOST_THREADS: usize = 4096;

/// Why work could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadsError {
    /// The number is out of range.
    #[error("the number of threads must be between 1 and {MOST_THREADS}")]
    Number,
    /// The operating system refused that many threads.
    #[error("the operating system refused that many threads: ask for fewer")]
    Refused,
}

/// The stage that the work has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading rows; nothing is spent.
    Reading,
    /// Fitting; the budget is spent.
    Fitting,
}

impl Stage {
    /// The stage as a word.
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
    /// With a result.
    Done(T),
    /// Interrupted by the waiting caller's error, at this stage.
    Interrupted(E, Stage),
    /// By a defect of this program.
    Panicked,
}

/// Shared between the work and its waiting caller.
#[derive(Debug, Default)]
pub struct Signals {
    stop: AtomicBool,
    fitting: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Signals {
    /// Reports `done` of `total` bytes of rows read; interrupts the reading once the work should
    /// end.
    pub fn reading(&self, done: u64, total: u64) -> ControlFlow<()> {
        self.done.store(done, Relaxed);
        self.total.store(total, Relaxed);
        if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Reports `done` of `total` steps of the fit; interrupts it once the work should end.
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

/// Does `work` on this many threads; on those that there are when nothing is said.
///
/// # Errors
/// When the threads cannot be started; then nothing was done.
pub fn on_threads<T: Send>(threads: Option<usize>, work: impl FnOnce() -> T + Send) -> Result<T, ThreadsError> {
    match threads {
        None => Ok(work()),
        Some(_) => Ok(pool(threads)?.install(work)),
    }
}

/// Refuses a number of threads that makes no sense.
///
/// # Errors
/// For none, and for more than any machine has.
pub fn check_threads(threads: usize) -> Result<(), ThreadsError> {
    if (1..=MOST_THREADS).contains(&threads) { Ok(()) } else { Err(ThreadsError::Number) }
}

fn pool(threads: Option<usize>) -> Result<ThreadPool, ThreadsError> {
    threads.map_or(Ok(()), check_threads)?;
    ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build().map_err(|_| ThreadsError::Refused)
}

/// Runs `work` on its own threads and waits for it, calling `tell` on this thread with the
/// progress; its first error interrupts the work.
///
/// The threads end with the work: a pool that outlived it would hang in a process forked later.
///
/// # Errors
/// When the threads cannot be started; then nothing was done.
pub fn run<T: Send, E>(
    threads: Option<usize>,
    tell: impl FnMut(Stage, u64, u64) -> Result<(), E>,
    work: impl FnOnce(&Signals) -> T + Send,
) -> Result<Ended<T, E>, ThreadsError> {
    let pool = pool(threads)?;
    let signals = Signals::default();
    Ok(thread::scope(|scope| {
        let (finished, wait) = mpsc::channel();
        let (pool, told) = (&pool, &signals);
        let worker = scope.spawn(move || {
            let outcome = pool.install(|| work(told));
            // The receiver is gone only if this thread is already being joined.
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
