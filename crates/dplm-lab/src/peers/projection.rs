//! Least squares from random projections of the rows (Sheffet 2017, Johnson and Lindenstrauss).
//!
//! `R [Z; w I]` is released, with `R` of standard Gaussian numbers: draws from `N(0, Z'Z + w^2 I)`.
//! Its moments minus `w^2` are those of the rows, except for noise.
//!
//! # Where this differs from what was published
//! - In the paper, `w` is added only if a test finds that the smallest singular value needs it;
//!   here it always is, and subtracted again from the moments, so that nothing is tested. The
//!   published intervals are for the case in which nothing was added.
//! - The distribution of the privacy loss is that of chi-square tails, and `w` is the smallest that
//!   keeps the promise; the published one is a bound on these tails.

use faer::Mat;
use rand_chacha::ChaCha20Rng;

use super::{
    Answer, Peer, Task,
    linear::{moments, regression, wishart},
    promise::ZeroOut,
};

/// More projections than this cost more time than they gain.
const MOST: f64 = 8192.0;

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "projection",
    intervals: false,
    fit: |task, rng| {
        let scale = task.bounds.row / task.bounds.response;
        let count = best_count(task);
        let added = ridge(&task.promise.zero_out(), count, 2.0 * task.bounds.row.powi(2));
        let found = projected(&moments(task, scale, |_| 1.0), added, count, rng);
        let size = task.features + 1;
        let clean = Mat::from_fn(size, size, |i, j| found[(i, j)] - if i == j { added } else { 0.0 });
        Some(Answer::bare(regression(&clean, scale, added / count.sqrt())))
    },
};

/// `w^2` for `count` projections of rows of at most this length, squared.
pub(super) fn ridge(promise: &ZeroOut, count: f64, longest_sq: f64) -> f64 {
    longest_sq / promise.projected_share(count)
}

/// The mean moments of `count` projections: those of draws from `N(0, M + w^2 I)`.
pub(super) fn projected(sum: &Mat<f64>, added: f64, count: f64, rng: &mut ChaCha20Rng) -> Mat<f64> {
    let size = sum.nrows();
    let raised = Mat::from_fn(size, size, |i, j| sum[(i, j)] + if i == j { added } else { 0.0 });
    let factor = raised.llt(faer::Side::Lower).expect("raised above zero");
    let draw = wishart(size, count, rng);
    factor.L() * draw * factor.L().transpose() * faer::Scale(1.0 / count)
}

/// The number of projections: for rows of unit curvature and errors of unit variance the error is
/// about `(n + w^2) (n + 2 w^2) / r`.
fn best_count(task: &Task) -> f64 {
    let (rows, promise) = (task.count(), task.promise.zero_out());
    let expected = |count: f64| {
        let added = ridge(&promise, count, 2.0 * task.bounds.row.powi(2)) / task.curvature;
        (rows + added) * (rows + 2.0 * added) / count
    };
    let fewest = 4.0 * (task.features + 1) as f64;
    let mut best = fewest;
    let mut count = fewest;
    while count * 2.0 <= MOST.min(rows) {
        count *= 2.0;
        if expected(count) < expected(best) {
            best = count;
        }
    }
    best
}
