//! Intervals from the spread of iterates: of the last of them (Shejwalkar et al. 2022, Rabanser et
//! al. 2023), and of means over batches that grow (Chen, Lee, Tong and Zhang 2020).
//!
//! A long descent with Gaussian noise on all rows; everything except the descent is
//! post-processing. The last iterates are close to each other, so that their spread is a lower
//! bound of the noise in the estimate, and neither kind accounts for the sampling of the rows: the
//! experiment shows how little these intervals cover the population.

use dplm::theory::student::t_quantile;
use rand_chacha::ChaCha20Rng;

use super::{
    Answer, Peer, Task,
    linear::{clipped_products, mean, normals, spread},
};

const STEPS: usize = 100;

/// The number of last iterates that are compared.
const LAST: usize = 10;

/// Batches that grow: the `k`-th ends at `k^2` of the total squares.
const BATCHES: usize = 7;

/// The spread of the last iterates.
pub const SPREAD: Peer = Peer {
    name: "checkpoint-spread",
    intervals: true,
    fit: |task, rng| {
        let iterates = descend(task, rng);
        let last = &iterates[STEPS - LAST..];
        Some(Answer::with_errors(mean(last), &spread(last), t(LAST)))
    },
};

/// Means over batches that grow.
pub const GROWING: Peer = Peer {
    name: "growing-batches",
    intervals: true,
    fit: |task, rng| {
        let iterates = descend(task, rng);
        let end = |k: usize| STEPS * (k + 1) * (k + 1) / ((BATCHES + 1) * (BATCHES + 1));
        // The first batch brings the iterates near the optimum.
        let batches: Vec<&[Vec<f64>]> = (0..BATCHES).map(|k| &iterates[end(k)..end(k + 1)]).collect();
        let theta = mean(&iterates[end(0)..]);
        let total = (STEPS - end(0)) as f64;
        let means: Vec<Vec<f64>> = batches.iter().map(|batch| mean(batch)).collect();
        let error = |j: usize| {
            let square = |(batch, mean): (&&[Vec<f64>], &Vec<f64>)| batch.len() as f64 * (mean[j] - theta[j]).powi(2);
            let variance = batches.iter().zip(&means).map(square).sum::<f64>() / (BATCHES - 1) as f64;
            (variance / total).sqrt()
        };
        let errors: Vec<f64> = (0..task.features).map(error).collect();
        Some(Answer::with_errors(theta, &errors, t(BATCHES)))
    },
};

/// Student's quantile for the spread of this many numbers.
fn t(count: usize) -> f64 {
    t_quantile(0.975, count as f64 - 1.0)
}

fn descend(task: &Task, rng: &mut ChaCha20Rng) -> Vec<Vec<f64>> {
    let clip = task.usual_row() * 2.0 * task.bounds.error_sd;
    let noise_sd = task.promise.noise_sd(2.0 * clip, 1.0 / STEPS as f64);
    let (step, mut theta) = (task.step_size() / task.count(), vec![0.0; task.features]);
    let next = |_| {
        let noise = normals(task.features, noise_sd, rng);
        let sum = clipped_products(task, &theta, clip, || true);
        theta.iter_mut().zip(sum).zip(noise).for_each(|((theta, sum), noise)| *theta += step * (sum + noise));
        theta.clone()
    };
    (0..STEPS).map(next).collect()
}
