//! Intervals from private bootstrap replicates (Brawner and Honaker 2018; Wang, Cheng and Awan
//! 2022).
//!
//! Second moments of many bootstrap samples are released, each with Gaussian noise; least squares
//! is solved on each. The replicates spread by sampling and by noise, whose part is known and
//! subtracted; their mean is the estimate.
//!
//! # Where this differs from what was published
//! The number of times a row is drawn is random, and a row that is drawn `k` times moves a
//! replicate by `k` sensitivities. Renyi divergences are averaged over that, for any number of
//! replicates, where one paper partitions the sample and the other has a limit theorem.

use rand_core::Rng;

use super::{
    Answer, NORMAL, Peer,
    linear::{inverse, mean, moments, norm, regression, spread, symmetric_noise},
};

const REPLICATES: usize = 25;

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "bootstrap",
    intervals: true,
    fit: |task, rng| {
        let (p, rows) = (task.features, task.y.len());
        let scale = task.bounds.row / task.bounds.response;
        let multiplier = task.promise.zero_out().bootstrap_noise(rows as f64, REPLICATES as f64);
        let sd = 2.0 * task.bounds.row.powi(2) * multiplier;
        let mut sum = faer::Mat::<f64>::zeros(p + 1, p + 1);
        let replicates: Vec<Vec<f64>> = (0..REPLICATES)
            .map(|_| {
                let mut times = vec![0u32; rows];
                (0..rows).for_each(|_| times[(rng.next_u64() % rows as u64) as usize] += 1);
                let drawn = moments(task, scale, |row| f64::from(times[row])) + symmetric_noise(p + 1, sd, rng);
                sum += &drawn;
                regression(&drawn, scale, sd)
            })
            .collect();
        let theta = mean(&replicates);
        // Noise of the products and, through the coefficients, of the moments; off the diagonal its
        // variance is half.
        let each = sd * ((1.0 / scale.powi(2) + norm(&theta).powi(2)) / 2.0).sqrt();
        let average = faer::Mat::from_fn(p, p, |i, j| sum[(i, j)] / REPLICATES as f64);
        let inverse = inverse(&average, sd);
        let noise_sd = |j: usize| each * (0..p).map(|i| inverse[(i, j)].powi(2)).sum::<f64>().sqrt();
        let errors: Vec<f64> = spread(&replicates)
            .iter()
            .enumerate()
            .map(|(j, sd)| {
                let noise_sq = noise_sd(j).powi(2);
                // Replicates spread around the sample as the sample does around the population.
                let sampling_sq = (sd * sd - noise_sq).max(0.0);
                (sampling_sq * (1.0 + 1.0 / REPLICATES as f64) + noise_sq / REPLICATES as f64).sqrt()
            })
            .collect();
        Some(Answer::with_errors(theta, &errors, NORMAL))
    },
};
