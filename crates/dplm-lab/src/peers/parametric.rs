//! Intervals by a parametric bootstrap over noisy second moments (Ferrando, Wang and Sheldon 2022).
//!
//! `Z'Z`, `z = (x, c y)`, is released with symmetric Gaussian noise. For each replicate the noisy
//! moments are treated as the truth, the sampling of rows and the noise are drawn anew, and least
//! squares is solved. Quantiles of the replicates minus the estimate, reflected, are the interval.
//!
//! # Where this differs from what was published
//! One Gaussian release in the place of three with Laplace noise, of the size that its sensitivity
//! requires: the public code adds a ninth of it. Rows are not clipped twice: the residual variance
//! is that of the noisy moments. `dplm fit --method ssp` inverts the distribution that is simulated
//! here.

use faer::{Mat, Side};

use super::{
    Answer, Peer,
    linear::{inverse, moments, normals, regression, symmetric_noise, times},
};
use crate::stats::percentile;

const REPLICATES: usize = 200;

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "parametric-bootstrap",
    intervals: true,
    fit: |task, rng| {
        let (p, rows) = (task.features, task.count());
        let scale = task.bounds.row / task.bounds.response;
        // A replaced row moves the moments by sqrt 2 times the largest length squared, which is
        // twice that of the features.
        let sd = task.promise.noise_sd(2f64.sqrt() * 2.0 * task.bounds.row.powi(2), 1.0);
        let noisy = moments(task, scale, |_| 1.0) + symmetric_noise(p + 1, sd, rng);
        let theta = regression(&noisy, scale, sd);
        let inner = noisy.submatrix(0, 0, p, p).to_owned();
        let positive = inverse(&inverse(&inner, sd), 0.0);
        let along: Vec<f64> = theta.iter().map(|theta| -theta * scale).chain([1.0]).collect();
        let product = times(&noisy, &along);
        let residual = along.iter().zip(product).map(|(a, b)| a * b).sum::<f64>() / scale.powi(2) / rows;
        let error_sd = residual.max(task.bounds.error_sd.powi(2) / 100.0).sqrt();
        let factor = positive.llt(Side::Lower).ok()?;
        let explained = times(&positive, &theta);
        let replicates: Vec<Vec<f64>> = (0..REPLICATES)
            .map(|_| {
                let noise = symmetric_noise(p + 1, sd, rng);
                let draw = normals(p, error_sd, rng);
                let sampled = (0..p).map(|i| (0..=i).map(|j| factor.L()[(i, j)] * draw[j]).sum::<f64>());
                let right: Vec<f64> =
                    sampled.enumerate().map(|(i, e)| explained[i] + e + noise[(i, p)] / scale).collect();
                let left = Mat::from_fn(p, p, |i, j| positive[(i, j)] + noise[(i, j)]);
                super::linear::solve(&left, &right, sd)
            })
            .collect();
        let ends = (0..p).map(|j| {
            let values: Vec<f64> = replicates.iter().map(|one| one[j]).collect();
            let [low, high] = [0.025, 0.975].map(|share| percentile(&values, share));
            Some((2.0 * theta[j] - high, 2.0 * theta[j] - low))
        });
        Some(Answer { ends: ends.collect(), theta })
    },
};
