//! Least squares with noise of a proposed size, after a test (propose, test, release; Dwork and Lei
//! 2009).
//!
//! The proposal is a set of tables: the smallest eigenvalue of `X'X` is at least `l`, and least
//! squares is at most `R` long. Within it, zeroing a row out moves least squares by at most
//! `s = Bx (By + Bx R) / l`. The number of rows that would have to change for a table to leave the
//! set is at least `min((eigenvalue - l) / Bx^2, (R - |theta|) / s)`, which one row moves by at
//! most 1; with Laplace noise it is tested against `ln(1 / (2 delta)) / epsilon`. All neighbours of
//! a table that passes are in the set too, except with probability delta, and least squares is
//! released with Gaussian noise for `s`.
//!
//! # Where this differs from what was published
//! The paper places one coefficient after the other in a bin by a robust statistic whose distance
//! to instability takes as many fits as there are rows. The test here costs one fit. Each of the
//! two steps has half of the promise.

use rand_core::Rng;

use super::{
    Answer, Peer,
    linear::{least_eigenvalue, moments, norm, normals, regression},
};

/// The proposed length of least squares, as in [`dplm_methods::projected`].
const LENGTH: f64 = 2.0;

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "propose-test-release",
    intervals: false,
    fit: |task, rng| {
        let half = task.promise.zero_out().share(0.5);
        let (row, response, p) = (task.bounds.row, task.bounds.response, task.features);
        let least = task.curvature * task.count() / 2.0;
        let moved = row * (response + row * LENGTH) / least;
        let sum = moments(task, 1.0, |_| 1.0);
        let eigenvalue = least_eigenvalue(&sum.submatrix(0, 0, p, p).to_owned());
        let theta = regression(&sum, 1.0, least.min(1.0));
        let changes = ((eigenvalue - least) / (row * row)).min((LENGTH - norm(&theta)) / moved).floor().max(0.0);
        // The difference of two exponential numbers has a Laplace distribution.
        let mut exponential = || -((rng.next_u64() >> 11) as f64 + 0.5).ln() + 53.0 * 2f64.ln();
        let laplace = (exponential() - exponential()) / half.epsilon;
        if changes + laplace <= (0.5 / half.delta).ln() / half.epsilon {
            return None;
        }
        let noise = normals(p, moved / half.mu(), rng);
        Some(Answer::bare(theta.into_iter().zip(noise).map(|(theta, noise)| theta + noise).collect()))
    },
};
