//! Intervals between private order statistics of small fits (Sarathy and Vadhan 2022, for
//! Theil-Sen; here for any number of coefficients).
//!
//! Fits of disjoint batches lie on either side of the truth with probability one half if errors are
//! symmetric, so that the truth is between the order statistics `m / 2 -+ z sqrt(m) / 2`. Both are
//! drawn by the exponential mechanism, a few ranks further out to allow for the error of the draw;
//! and so is the median.
//!
//! # Where this differs from what was published
//! Each choice has a bounded range and costs `epsilon^2 / 8`; the paper uses pure composition.
//! Batches have at least two rows for each coefficient, and pairs of rows are the case of one
//! feature.

use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use super::{
    Answer, NORMAL, Peer, Task,
    linear::{moments, regression},
};

const ROWS_PER_COEFFICIENT: usize = 4;

/// The largest coefficient.
const LIMIT: f64 = 16.0;

/// The logarithm of the public range over the middle range of the fits, and of one over the
/// probability that a draw misses by more than is allowed for.
const LOG_RANGE: f64 = 6.0;
const LOG_MISS: f64 = 4.4;

/// The peer's entry.
pub const PEER: Peer = Peer { name: "rank-intervals", intervals: true, fit };

fn fit(task: &Task, rng: &mut ChaCha20Rng) -> Option<Answer> {
    let p = task.features;
    // The range of one choice: `rho / (3 p)` is its square over eight.
    let range = (8.0 * task.promise.rho / (3 * p) as f64).sqrt();
    let most = task.y.len() / (ROWS_PER_COEFFICIENT * p);
    let missed = 2.0 * (LOG_RANGE + LOG_MISS) / range;
    let batches = most.min((16.0 * missed) as usize).max(1);
    let reach = NORMAL / 2.0 * (batches as f64).sqrt() + missed;
    if 2.0 * reach >= batches as f64 {
        return None;
    }
    let fits: Vec<Vec<f64>> = (0..batches).map(|batch| of_batch(task, batch, batches)).collect();
    let (mut theta, mut ends) = (Vec::new(), Vec::new());
    for j in 0..p {
        let mut values: Vec<f64> = fits.iter().map(|fit| fit[j].clamp(-LIMIT, LIMIT)).collect();
        values.sort_by(f64::total_cmp);
        let middle = batches as f64 / 2.0;
        let mut quantile = |rank: f64| order_statistic(&values, rank, range, rng);
        let (low, high) = (quantile(middle - reach), quantile(middle + reach));
        theta.push(quantile(middle));
        ends.push(Some((low.min(high), low.max(high))));
    }
    Some(Answer { theta, ends })
}

fn of_batch(task: &Task, batch: usize, batches: usize) -> Vec<f64> {
    let members = (batch..task.y.len()).step_by(batches);
    let x = members.clone().flat_map(|row| task.x[row * task.features..][..task.features].to_vec()).collect();
    let y: Vec<f64> = members.map(|row| task.y[row]).collect();
    regression(&moments(&Task { x, y, ..*task }, 1.0, |_| 1.0), 1.0, 1e-9)
}

/// A point near a rank: a gap between values with weight `length exp(-range / 2 |ranks away|)`, and
/// a position in it.
fn order_statistic(sorted: &[f64], rank: f64, range: f64, rng: &mut ChaCha20Rng) -> f64 {
    let ends: Vec<f64> = std::iter::once(-LIMIT).chain(sorted.iter().copied()).chain([LIMIT]).collect();
    let mut uniform = || ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    // The largest weight times Gumbel's numbers is a draw by the weights.
    let score = |at: usize, uniform: f64| {
        (ends[at + 1] - ends[at]).ln() - 0.5 * range * (at as f64 - rank).abs() - (-uniform.ln()).ln()
    };
    let chosen = (0..ends.len() - 1).map(|at| (score(at, uniform()), at)).max_by(|a, b| a.0.total_cmp(&b.0));
    let at = chosen.map_or(0, |(_, at)| at);
    ends[at] + (ends[at + 1] - ends[at]) * uniform()
}
