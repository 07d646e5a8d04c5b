//! Newton steps whose Hessians are random projections (iterative Hessian mixing, 2026, after
//! Pilanci and Wainwright 2016).
//!
//! `theta <- theta + H_t^-1 g_t`, with `H_t` the moments of fresh projections of the rows with a
//! ridge, as in [`super::projection`], and `g_t` a clipped gradient with Gaussian noise.
//!
//! # Where this differs from what was published
//! All projections of all steps together are draws of one distribution, so that one exact tail
//! accounts for them, where the public code composes Renyi divergences; gradients are one Gaussian
//! mechanism. Each has half of the promise.

use super::{
    Answer, Peer,
    linear::{clipped_products, moments, normals, solve},
    projection::{projected, ridge},
};

const STEPS: usize = 5;

/// Projections of a step for each column.
const PER_COLUMN: f64 = 10.0;

/// Residuals are clipped at this many of their assumed standard deviations on a row at its bound.
const CLIPPED_AT: f64 = 2.0;

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "hessian-mixing",
    intervals: false,
    fit: |task, rng| {
        let half = task.promise.zero_out().share(0.5);
        let (row, p) = (task.bounds.row, task.features);
        let count = PER_COLUMN * p as f64;
        let added = ridge(&half, count * STEPS as f64, row * row);
        let clip = row * task.bounds.response.min(CLIPPED_AT * task.bounds.error_sd);
        let noise_sd = clip * (STEPS as f64).sqrt() / half.mu();
        let sum = moments(task, 1.0, |_| 1.0).submatrix(0, 0, p, p).to_owned();
        let mut theta = vec![0.0; p];
        for _ in 0..STEPS {
            let noise = normals(p, noise_sd, rng);
            let gradient = clipped_products(task, &theta, clip, || true);
            let noisy: Vec<f64> = gradient.iter().zip(noise).map(|(sum, noise)| sum + noise).collect();
            let step = solve(&projected(&sum, added, count, rng), &noisy, added / count);
            theta.iter_mut().zip(step).for_each(|(theta, by)| *theta += by);
        }
        Some(Answer::bare(theta))
    },
};
