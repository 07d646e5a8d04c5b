//! Progress of long work, and its interruption.

pub mod background;

use std::ops::ControlFlow;

/// Called as work goes on, with the amount done and the total. `Break` interrupts the work.
type Callback<'a> = dyn Fn(u64, u64) -> ControlFlow<()> + Sync + 'a;

/// Receives the progress of long work; ignores it by default.
///
/// # Examples
/// ```
/// use std::ops::ControlFlow;
/// use dplm::Progress;
///
/// let half = |done, total| if 2 * done < total { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
/// let progress = Progress::new(&half);
/// assert!(progress.report(4u32, 10u32).is_ok());
/// assert!(progress.report(5u32, 10u32).is_err());
/// ```
#[derive(Clone, Copy, Default)]
pub struct Progress<'a> {
    callback: Option<&'a Callback<'a>>,
    part: Option<Part>,
}

/// A piece of larger work: the amount before it, and the total.
#[derive(Clone, Copy)]
struct Part {
    before: u64,
    total: u64,
}

/// The work was interrupted by its progress callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl<'a> Progress<'a> {
    /// Reports to nobody; nothing interrupts the work.
    pub const NONE: Progress<'static> = Progress { callback: None, part: None };

    /// Reports to `callback`, which may interrupt.
    pub fn new(callback: &'a Callback<'a>) -> Progress<'a> {
        Progress { callback: Some(callback), part: None }
    }

    /// For a piece of the work that starts when `before` of `total` is done.
    pub fn part(self, before: impl Into<u64>, total: impl Into<u64>) -> Progress<'a> {
        Progress { part: Some(Part { before: before.into(), total: total.into() }), ..self }
    }

    /// Reports progress `done` of `total` within piece `index` of `pieces` equal ones; for the
    /// callback of that piece.
    pub fn within(&self, index: u64, pieces: u64, done: u64, total: u64) -> ControlFlow<()> {
        match self.report(index * total + done, pieces * total) {
            Ok(()) => ControlFlow::Continue(()),
            Err(Interrupted) => ControlFlow::Break(()),
        }
    }

    /// Reports the amount done and the total.
    ///
    /// # Errors
    /// When the work is to end here.
    pub fn report(&self, done: impl Into<u64>, total: impl Into<u64>) -> Result<(), Interrupted> {
        let Some(callback) = self.callback else { return Ok(()) };
        let (done, total) = match self.part {
            Some(part) => (part.before + done.into(), part.total),
            None => (done.into(), total.into()),
        };
        match callback(done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Interrupted),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_part_counts_within_the_whole() {
        let seen = Mutex::new(Vec::new());
        let note = |done, total| {
            seen.lock().expect("one thread").push((done, total));
            ControlFlow::Continue(())
        };
        let progress = Progress::new(&note);
        progress.part(10u32, 30u32).report(5u32, 20u32).expect("nobody interrupts");
        progress.report(5u32, 20u32).expect("nobody interrupts");
        assert_eq!(*seen.lock().expect("one thread"), [(15, 30), (5, 20)]);
    }
}
