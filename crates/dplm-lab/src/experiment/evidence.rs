//! Bounds on epsilon and mu of a mechanism from its numbers on two neighbouring tables, with a
//! given false-alarm probability.

use statrs::{
    distribution::{ContinuousCDF, Normal},
    function::beta::beta_reg,
};

/// An event: the number lies above, or below, a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    threshold: f64,
    above: bool,
}

impl Event {
    fn count(&self, numbers: &[f64]) -> u64 {
        numbers.iter().filter(|&&number| (number > self.threshold) == self.above).count() as u64
    }
}

/// Bounds on the probabilities of an event on the two tables that fail with probability at most
/// `alarm` together.
pub(super) fn bounds(event: Event, [plus, minus]: [&[f64]; 2], alarm: f64) -> (f64, f64) {
    // Above is likely on the table whose last row moves it upwards, below on the other.
    let (likely, unlikely) = if event.above { (plus, minus) } else { (minus, plus) };
    let p = share_at_least(event.count(likely), likely.len() as u64, alarm / 2.0);
    let q = share_at_most(event.count(unlikely), unlikely.len() as u64, alarm / 2.0);
    (p, q)
}

/// The lower bound on epsilon at `delta` from an event.
pub(super) fn epsilon_from((p, q): (f64, f64), delta: f64) -> f64 {
    if p > delta { ((p - delta) / q).ln().max(0.0) } else { 0.0 }
}

/// The lower bound on `mu` from an event, if the mechanism is Gaussian as it claims.
pub(super) fn mu_from((p, q): (f64, f64)) -> f64 {
    let normal = Normal::standard();
    if p > 0.0 && q < 1.0 { (normal.inverse_cdf(p) - normal.inverse_cdf(q)).max(0.0) } else { 0.0 }
}

/// The event with the largest bound on a sample, by `proof`.
pub(super) fn best_event(sample: [&[f64]; 2], alarm: f64, proof: impl Fn((f64, f64)) -> f64) -> Event {
    let mut all: Vec<f64> = sample.concat();
    all.sort_by(f64::total_cmp);
    let thresholds = (1..100).map(|percent| all[percent * (all.len() - 1) / 100]);
    let events = thresholds.flat_map(|threshold| [true, false].map(|above| Event { threshold, above }));
    let score = |event: &Event| proof(bounds(*event, sample, alarm));
    events.max_by(|a, b| score(a).total_cmp(&score(b))).expect("there are thresholds")
}

/// Clopper and Pearson's lower bound of a probability, wrong with probability at most `alarm`.
fn share_at_least(hits: u64, trials: u64, alarm: f64) -> f64 {
    match hits {
        0 => 0.0,
        hits => solve(|p| beta_reg(hits as f64, (trials - hits + 1) as f64, p) < alarm),
    }
}

/// Clopper and Pearson's upper bound of a probability, wrong with probability at most `alarm`.
fn share_at_most(hits: u64, trials: u64, alarm: f64) -> f64 {
    match trials - hits {
        0 => 1.0,
        misses => solve(|p| beta_reg((hits + 1) as f64, misses as f64, p) < 1.0 - alarm),
    }
}

/// The point between 0 and 1 at which `is_below` turns from true to false.
fn solve(is_below: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        *(if is_below(middle) { &mut low } else { &mut high }) = middle;
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clopper_and_pearson_as_tabulated() {
        // 95 % two-sided, 7 of 20: 0.1539 to 0.5922.
        assert!((share_at_least(7, 20, 0.025) - 0.1539).abs() < 1e-4);
        assert!((share_at_most(7, 20, 0.025) - 0.5922).abs() < 1e-4);
        assert_eq!((share_at_least(0, 20, 0.025), share_at_most(20, 20, 0.025)), (0.0, 1.0));
        // The rule of three, exactly: 1 - 0.05^(1/100).
        assert!((share_at_most(0, 100, 0.05) - (1.0 - 0.05f64.powf(0.01))).abs() < 1e-9);
    }
}
