//! For tests: what a fit released, and what the same questions would have said of another table.
//!
//! A guarantee of many releases, each chosen after the ones before, holds along every path: at each
//! release, given all that came before, the answers for two neighbouring tables differ by at most
//! the stated sensitivity.
//! A test records a fit, plays its released numbers back to a fit of a neighbour, so that this one
//! asks the same questions, and adds up how far apart their answers were.

use std::cell::RefCell;

use super::release::Noisy;

/// One release.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// The answer before noise.
    answer: Vec<i128>,
    sigma: Vec<u128>,
    released: Vec<i128>,
}

#[derive(Default)]
struct Tape {
    heard: Vec<Heard>,
    /// What is played back, if anything is.
    played: Option<Vec<Heard>>,
}

thread_local! {
    static TAPE: RefCell<Option<Tape>> = const { RefCell::new(None) };
}

/// What a fit released.
pub(crate) fn recorded<T>(fit: impl FnOnce() -> T) -> (T, Vec<Heard>) {
    on(Tape::default(), fit)
}

/// The loss, at each release of a fit, against another table: `|q - q'|^2 / (2 sigma^2)`, for the
/// questions that the recorded fit asked.
///
/// # Panics
/// When the other fit asks other questions, or with other noise: then it did not depend on released
/// numbers alone.
pub(crate) fn losses<T>(heard: &[Heard], fit: impl FnOnce() -> T) -> Vec<f64> {
    let (_, other) = on(Tape { heard: Vec::new(), played: Some(heard.to_vec()) }, fit);
    assert_eq!(heard.len(), other.len(), "a fit asks as many questions of a neighbour");
    heard.iter().zip(&other).map(|(one, other)| one.loss(other)).collect()
}

fn on<T>(tape: Tape, fit: impl FnOnce() -> T) -> (T, Vec<Heard>) {
    TAPE.set(Some(tape));
    let outcome = fit();
    (outcome, TAPE.take().expect("the tape was running").heard)
}

/// What is played back in place of noise, if a tape is.
pub(super) fn played(answer: &[i128], sigma: &[u128]) -> Option<Noisy> {
    TAPE.with_borrow_mut(|tape| {
        let tape = tape.as_mut()?;
        let one = tape.played.as_ref()?.get(tape.heard.len()).expect("a fit asks no more of a neighbour").clone();
        assert_eq!(one.sigma, sigma, "noise does not depend on rows");
        tape.heard.push(Heard { answer: answer.to_vec(), ..one.clone() });
        Some(Noisy { values: one.released, sigma: one.sigma })
    })
}

/// Records a release.
pub(super) fn record(answer: &[i128], noisy: &Noisy) {
    TAPE.with_borrow_mut(|tape| {
        let Some(tape) = tape else { return };
        let Noisy { values, sigma } = noisy.clone();
        tape.heard.push(Heard { answer: answer.to_vec(), sigma, released: values });
    });
}

impl Heard {
    fn loss(&self, other: &Heard) -> f64 {
        let apart = self.answer.iter().zip(&other.answer).zip(&self.sigma);
        apart.map(|((one, other), &sigma)| ((one - other) as f64 / sigma as f64).powi(2) / 2.0).sum()
    }
}
