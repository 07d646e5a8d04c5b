//! Clipped steps on random samples of rows (DP-SGD; Abadi et al. 2016, Bassily, Smith and Thakurta
//! 2014).
//!
//! Each step takes every row independently with the same probability, sums clipped gradients and
//! adds Gaussian noise, which an accountant for sampled steps makes smaller than for all rows. The
//! guarantee of the accountant is for a row that is zeroed out, at every order of Renyi divergence,
//! and so for one that is replaced at twice the epsilon.
//!
//! `dplm fit` has no such steps: budgets there are rho, and in rho a sampled row has lost as much
//! as in a step on all rows.

use rand_core::Rng;

use super::{
    Answer, Peer,
    linear::{clipped_products, mean, normals},
};

const STEPS: usize = 60;

/// The chance of a row in each step.
const RATE: f64 = 0.1;

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "sampled-steps",
    intervals: false,
    fit: |task, rng| {
        let clip = task.usual_row() * 2.0 * task.bounds.error_sd;
        let noise_sd = clip * task.promise.zero_out().sampled_noise(RATE, STEPS as f64);
        let (step, expected) = (task.step_size(), RATE * task.count());
        let mut theta = vec![0.0; task.features];
        let mut iterates = Vec::new();
        for _ in 0..STEPS {
            let noise = normals(task.features, noise_sd, rng);
            let limit = (RATE * 2f64.powi(64)) as u64;
            let sum = clipped_products(task, &theta, clip, || rng.next_u64() < limit);
            theta.iter_mut().zip(sum).zip(noise).for_each(|((theta, sum), e)| *theta += step * (sum + e) / expected);
            iterates.push(theta.clone());
        }
        Some(Answer::bare(mean(&iterates[STEPS / 2..])))
    },
};
