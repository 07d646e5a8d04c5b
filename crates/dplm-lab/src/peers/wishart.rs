//! Least squares from second moments with additive Wishart noise (Sheffet 2019).
//!
//! `Z'Z + W` is released, with `z = (x, c y)` and `W` from the Wishart distribution with the scale
//! of the longest row; its mean is subtracted.
//!
//! # Where this differs from what was published
//! The theorem requires `d + 28 ln(4 / delta) / epsilon^2` degrees of freedom. The distribution of
//! the privacy loss has a closed form, so that the fewest that keep the promise can be found: at
//! epsilon 1 and delta 10^-6, for a row that is zeroed out, 52 in the place of 435 at ten columns.

use faer::Mat;

use super::{
    Answer, Peer,
    linear::{moments, regression, wishart},
};

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "wishart",
    intervals: false,
    fit: |task, rng| {
        let (row, scale) = (task.bounds.row, task.bounds.row / task.bounds.response);
        // Rows with their scaled response are at most this long, squared.
        let longest_sq = 2.0 * row * row;
        let size = task.features + 1;
        let degrees = task.promise.zero_out().wishart_degrees(size);
        let noise = wishart(size, degrees, rng);
        let sum = moments(task, scale, |_| 1.0);
        let centred = |i: usize, j: usize| noise[(i, j)] - if i == j { degrees } else { 0.0 };
        let released = Mat::from_fn(size, size, |i, j| sum[(i, j)] + longest_sq * centred(i, j));
        Some(Answer::bare(regression(&released, scale, longest_sq * degrees.sqrt())))
    },
};
