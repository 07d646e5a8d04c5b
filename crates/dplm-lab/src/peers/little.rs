//! Intervals from a bag of little bootstraps (Covington, He, Honaker and Kamath 2021).
//!
//! Least squares is fitted to disjoint batches; in each, bootstrap samples of the size of the whole
//! table show the variance of such a fit of the whole table. Means over batches of estimates and of
//! variances are released, each clipped to a range that is found step by step (CoinPress, Biswas et
//! al. 2020), and the interval has the variance of the estimates' mean, of sampling, and of the
//! noise.
//!
//! # Where this differs from what was published
//! The public code subtracts the exact mean before it clips, which is not private, and its
//! demonstration takes ranges from the data. Here ranges are public: coefficients within 16
//! standardised units, as for [`dplm_methods::tukey`]. Everything is Gaussian, and charged in rho.

use rand_chacha::ChaCha20Rng;
use rand_distr::{Distribution, Poisson};

use super::{
    Answer, NORMAL, Peer, Task,
    linear::{normal, regression},
};

/// Rows of a batch for each coefficient.
const ROWS_PER_COEFFICIENT: usize = 20;

/// Bootstrap samples of a batch.
const SAMPLES: usize = 20;

/// Fewer batches are not enough for a mean.
const FEWEST: usize = 20;

/// Steps by which a range is found, and the largest coefficient.
const STEPS: usize = 4;
const LIMIT: f64 = 16.0;

/// The peer's entry.
pub const PEER: Peer = Peer { name: "little-bootstraps", intervals: true, fit };

fn fit(task: &Task, rng: &mut ChaCha20Rng) -> Option<Answer> {
    let (p, rows) = (task.features, task.y.len());
    let batches = rows / (ROWS_PER_COEFFICIENT * p);
    if batches < FEWEST {
        return None;
    }
    let fits: Vec<(Vec<f64>, Vec<f64>)> = (0..batches).map(|batch| of_batch(task, batch, batches, rng)).collect();
    let rho = task.promise.rho / (2 * p) as f64;
    // Four standard deviations of a batch's coefficient, from public numbers.
    let scatter = 4.0 * task.bounds.error_sd / (task.curvature * (ROWS_PER_COEFFICIENT * p) as f64).sqrt();
    let (mut theta, mut errors) = (Vec::new(), Vec::new());
    for j in 0..p {
        let estimates: Vec<f64> = fits.iter().map(|fit| fit.0[j]).collect();
        // Logarithms of standard errors have a range that does not depend on their unit.
        let logs: Vec<f64> = fits.iter().map(|fit| fit.1[j].max(1e-12).ln()).collect();
        let (log_sd, log_noise) = narrowed_mean(&logs, (-20.0, LIMIT.ln()), 1.0, rho, rng);
        let sd = (log_sd + log_noise * NORMAL).exp();
        let (mean, noise) = narrowed_mean(&estimates, (-LIMIT, LIMIT), scatter, rho, rng);
        theta.push(mean);
        errors.push(sd.hypot(noise));
    }
    Some(Answer::with_errors(theta, &errors, NORMAL))
}

/// Least squares of a batch, and the standard deviation of that of samples as large as the table.
fn of_batch(task: &Task, batch: usize, batches: usize, rng: &mut ChaCha20Rng) -> (Vec<f64>, Vec<f64>) {
    let members: Vec<usize> = (batch..task.y.len()).step_by(batches).collect();
    let x = members.iter().flat_map(|&row| task.x[row * task.features..][..task.features].to_vec()).collect();
    let y: Vec<f64> = members.iter().map(|&row| task.y[row]).collect();
    // Shares of a multinomial of the whole table, as independent counts.
    let counts = Poisson::new(task.count() / y.len() as f64).expect("a positive mean");
    let part = Task { x, y, promise: task.promise, ..*task };
    let whole = regression(&super::linear::moments(&part, 1.0, |_| 1.0), 1.0, 1e-9);
    let samples: Vec<Vec<f64>> = (0..SAMPLES)
        .map(|_| {
            let weights: Vec<f64> = part.y.iter().map(|_| counts.sample(rng)).collect();
            regression(&super::linear::moments(&part, 1.0, |row| weights[row]), 1.0, 1e-9)
        })
        .collect();
    (whole, super::linear::spread(&samples))
}

/// The mean of values, and the standard deviation of its noise: each step clips to a range,
/// releases the mean, and narrows the range to where the values must be, with most of the budget
/// for the last. Values are assumed to lie within `least` of their mean.
fn narrowed_mean(values: &[f64], range: (f64, f64), least: f64, rho: f64, rng: &mut ChaCha20Rng) -> (f64, f64) {
    let count = values.len() as f64;
    let (mut low, mut high) = range;
    let mut found = (0.0, 0.0);
    for step in 1..=STEPS {
        let share = if step == STEPS { 0.75 } else { 0.25 / (STEPS - 1) as f64 };
        let sd = (high - low) / count / (2.0 * rho * share).sqrt();
        let mean = values.iter().map(|value| value.clamp(low, high)).sum::<f64>() / count + sd * normal(rng);
        found = (mean, sd);
        // Values lie within `reach` of their mean, which is known up to its noise; a range never
        // grows.
        let reach = (least + 3.0 * sd).min((high - low) / 2.0);
        low = (mean - reach).clamp(low, high - 2.0 * reach);
        high = low + 2.0 * reach;
    }
    found
}
