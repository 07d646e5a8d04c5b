//! Coverage by simulation on a small grid; the lab's experiment `intervals` has the large grid.
//!
//! Each check compares a mean over independent data sets with its requirement and allows 4.9
//! standard errors of that mean: a false-alarm rate of one in a million. Seeds are fixed.

use super::simulate::{Data, Design, Errors, normal};
use super::*;
use crate::{
    descend::noise_sd,
    matrix::inverse,
    plan::{
        noise::matrix_noise_sd,
        white::{Setting, Shares, row_bound_sq},
    },
    privacy::Neighbours::ReplaceOne,
};
use faer::Mat;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rayon::prelude::*;

/// Mean over data sets, and its standard error.
struct Mean {
    mean: f64,
    error: f64,
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // A few data sets without a miss have no spread; the error of a mean of 0s and 1s is at
        // least this.
        Mean { mean, error: (variance / n).sqrt().max(0.5 / n) }
    }

    fn is_within(&self, low: f64, high: f64) -> bool {
        self.mean > low - 4.9 * self.error && self.mean < high + 4.9 * self.error
    }
}

/// Coverage, length and the share not identified, over the coordinates of one data set.
#[derive(Clone, Copy, Default)]
struct Score {
    coverage: f64,
    length: f64,
    unidentified: f64,
}

fn score(intervals: &[Interval], truth: &[f64]) -> Score {
    let p = truth.len() as f64;
    let identified = || intervals.iter().zip(truth).filter(|(interval, _)| interval.identified);
    // An interval that is not printed cannot be wrong.
    let count = identified().count() as f64;
    let covered = identified().filter(|(interval, t)| interval.covers(**t)).count() as f64;
    Score {
        coverage: if count > 0.0 { covered / count } else { 0.95 },
        length: identified().map(|(interval, _)| interval.length()).sum::<f64>() / count.max(1.0),
        unidentified: 1.0 - count / p,
    }
}

fn over(reps: u64, seed: u64, one: impl Fn(&mut ChaCha8Rng) -> Vec<Score> + Sync) -> Vec<Vec<Score>> {
    let rep = |r: u64| one(&mut ChaCha8Rng::seed_from_u64(seed.wrapping_mul(1_000_003) + r));
    let by_rep: Vec<Vec<Score>> = (0..reps).into_par_iter().map(rep).collect();
    (0..by_rep[0].len()).map(|k| by_rep.iter().map(|scores| scores[k]).collect()).collect()
}

fn mean_of(scores: &[Score], part: impl Fn(&Score) -> f64) -> Mean {
    Mean::of(&scores.iter().map(part).collect::<Vec<_>>())
}

/// The paper's setting: Newton from the iterates alone, the lower limit of its length, and the
/// paper's three methods if the run is long enough.
fn empirical(design: Design, steps: usize, rng: &mut ChaCha8Rng) -> Vec<Score> {
    let (n, p) = (10_000, 10);
    let gamma = 5.0 * (p as f64).sqrt();
    let data = Data::draw(n, p, design, Errors::Gaussian, 1.0, rng);
    let optimum = data.optimum(gamma);
    let lambda = noise_sd(n as u64, gamma, steps as u32, ReplaceOne, 0.015);
    let run = data.descend(gamma, 0.25, lambda, steps, rng);
    let intervals = |inference: Inference| inference.intervals(&Contrast::coordinates(p), 0.95).unwrap();
    let found = newton(&run, &Curvature::from_trajectory(&run).unwrap(), None);
    let exact = data.curvature(&optimum, gamma, f64::INFINITY);
    let mut scores = vec![score(&found, &optimum), shortest_length(&exact, lambda, steps)];
    if steps >= 200 {
        let batching = Batching::default();
        scores.push(score(&intervals(batched_means(&run, &batching).unwrap()), &optimum));
        scores.push(score(&intervals(checkpoints(&run, &batching).unwrap()), &optimum));
        let runs: Vec<_> = (0..10).map(|_| data.descend(gamma, 0.25, lambda, steps / 10, rng)).collect();
        let burn_in = if steps > 200 { 20 } else { 10 };
        let after = Batching { burn_in, average_last: usize::MAX, ..batching };
        scores.push(score(&intervals(independent_runs(&runs, &after).unwrap()), &optimum));
    }
    scores
}

fn newton(run: &Trajectory, curvature: &Curvature, sampling: Option<&Sampling>) -> Vec<Interval> {
    let p = curvature.features();
    let newton = Newton::new(run, &Coordinates::identity(p), curvature, sampling).unwrap();
    Inference::from(newton).intervals(&Contrast::coordinates(p), 0.95).unwrap()
}

/// `2 z lambda / sqrt T` times the diagonal of the inverse curvature.
fn shortest_length(curvature: &Mat<f64>, lambda: f64, steps: usize) -> Score {
    let (inverse, p) = (inverse(curvature), curvature.nrows());
    let inverse = (0..p).map(|j| inverse[(j, j)]).sum::<f64>() / p as f64;
    Score { length: 2.0 * 1.959_964 * lambda / (steps as f64).sqrt() * inverse, ..Score::default() }
}

/// From 10 steps to 800: the interval covers, is at most 1.03 times as long as the limit, and
/// shorter than the paper's three.
#[test]
fn newton_covers_the_empirical_optimum_from_the_first_steps_on() {
    for (steps, reps) in [(10, 120), (20, 80), (50, 60), (200, 24), (800, 8)] {
        let scores = over(reps, steps as u64, |rng| empirical(Design::Isotropic, steps, rng));
        let coverage = mean_of(&scores[0], |s| s.coverage);
        assert!(coverage.is_within(0.95, 0.95), "T = {steps}: coverage {}", coverage.mean);
        let ratios: Vec<_> = scores[0].iter().zip(&scores[1]).map(|(a, b)| a.length / b.length).collect();
        let ratio = Mean::of(&ratios).mean;
        assert!(ratio < 1.03, "T = {steps}: {ratio} times the limit");
        for other in &scores[2.min(scores.len())..] {
            assert!(mean_of(other, |s| s.length).mean > mean_of(&scores[0], |s| s.length).mean);
            assert!(mean_of(other, |s| s.coverage).is_within(0.93, 0.97), "T = {steps}");
        }
    }
}

/// A fit with the default options, for the population.
#[derive(Clone, Copy, Debug)]
struct World {
    rows: usize,
    features: usize,
    rho: f64,
    clip: f64,
    steps: usize,
    step_size: f64,
    design: Design,
    errors: Errors,
}

impl World {
    fn new(rows: usize, clip: f64, design: Design, errors: Errors) -> Self {
        World { rows, features: 10, rho: 0.015, clip, steps: 60, step_size: 0.25, design, errors }
    }

    fn setting(&self) -> Setting {
        let gamma = self.clip * (self.features as f64).sqrt();
        Setting {
            rows: self.rows as u64,
            features: self.features,
            rho: self.rho,
            gamma,
            neighbours: ReplaceOne,
            steps: self.steps as u32,
            step_size: self.step_size,
            error_sd: 1.0,
            signal: 1.0,
            shares: Shares::recommended(self.rows as u64, self.features, self.rho, gamma, 1.0),
        }
    }

    /// The population intervals and the true coefficients.
    fn fit(&self, rng: &mut ChaCha8Rng) -> (Vec<Interval>, Vec<f64>) {
        let Setting { gamma, shares, .. } = self.setting();
        let (n, p) = (self.rows, self.features);
        let data = Data::draw(n, p, self.design, self.errors, 1.0, rng);
        let lambda = noise_sd(n as u64, gamma, self.steps as u32, ReplaceOne, self.rho * shares.descent());
        let run = data.descend(gamma, self.step_size, lambda, self.steps, rng);
        let late = &run.theta[self.steps / 2..];
        let at: Vec<f64> = (0..p).map(|j| late.iter().map(|t| t[j]).sum::<f64>() / late.len() as f64).collect();
        let noise_sd = gamma * gamma / (n as f64 * (2.0 * self.rho * shares.gradient_spread).sqrt());
        let mean_norm_sq = data.gradient_norm_sq(&at, gamma) + noise_sd * normal(rng);
        let sampling = Sampling::from_trace(n as u64, mean_norm_sq, noise_sd).unwrap();
        let sd = matrix_noise_sd(n as u64, row_bound_sq(p), ReplaceOne, self.rho * shares.curvature);
        let released = with_noise(data.curvature(&at, gamma, row_bound_sq(p)), sd, rng);
        let curvature = Curvature::of_scaled_columns(released, sd).unwrap().with_clip(self.clip);
        (newton(&run, &curvature, Some(&sampling)), data.truth)
    }

    fn scores(&self, reps: u64) -> Vec<Score> {
        let one = |rng: &mut ChaCha8Rng| {
            let (intervals, truth) = self.fit(rng);
            vec![score(&intervals, &truth)]
        };
        over(reps, self.rows as u64, one).remove(0)
    }
}

fn with_noise(mut matrix: Mat<f64>, sd: f64, rng: &mut ChaCha8Rng) -> Mat<f64> {
    for j in 0..matrix.nrows() {
        matrix[(j, j)] += sd * normal(rng);
        for k in 0..j {
            let noise = sd / 2f64.sqrt() * normal(rng);
            matrix[(j, k)] += noise;
            matrix[(k, j)] += noise;
        }
    }
    matrix
}

#[test]
fn the_population_is_covered_on_turned_designs() {
    for errors in [Errors::Gaussian, Errors::Student4] {
        for (rows, clip) in [(2_000, 1.0), (2_000, 8.0), (10_000, 2.0)] {
            let world = World::new(rows, clip, Design::Anisotropic, errors);
            let coverage = mean_of(&world.scores(40), |s| s.coverage);
            assert!(coverage.is_within(0.93, 0.98), "{world:?}: coverage {}", coverage.mean);
        }
    }
}

/// Every pair of features has correlation 0.5: at 10^4 rows the released matrix suffices for
/// intervals; at 2000 it does not, and most coefficients are reported as not identified.
#[test]
fn correlated_features_are_covered_or_refused() {
    let clear = World::new(10_000, 2.0, Design::Correlated(0.5), Errors::Gaussian).scores(40);
    assert!(mean_of(&clear, |s| s.coverage).is_within(0.93, 0.99));
    assert!(mean_of(&clear, |s| s.unidentified).mean < 0.05);
    let unclear = World::new(2_000, 2.0, Design::Correlated(0.5), Errors::Gaussian).scores(60);
    assert!(mean_of(&unclear, |s| s.unidentified).mean > 0.4);
    assert!(mean_of(&unclear, |s| s.coverage).mean > 0.93);
}

/// Skewed errors under heavy clipping move the intercept, whose target is then not the mean; slopes
/// stay covered.
#[test]
fn skewed_errors_cost_the_intercept_and_not_the_slopes() {
    let world = World::new(10_000, 1.0, Design::Intercept, Errors::Exponential);
    let one = |rng: &mut ChaCha8Rng| {
        let (intervals, truth) = world.fit(rng);
        vec![score(&intervals[..1], &truth[..1]), score(&intervals[1..], &truth[1..])]
    };
    let scores = over(40, 7, one);
    assert!(mean_of(&scores[0], |s| s.coverage).mean < 0.2);
    assert!(mean_of(&scores[1], |s| s.coverage).is_within(0.93, 0.98));
}

/// Predicted half-lengths are within 10 % of those found.
#[test]
fn lengths_are_as_predicted() {
    for (rows, features, clip, steps) in
        [(10_000, 10, 1.0, 60), (10_000, 10, 5.0, 30), (4_000, 3, 2.0, 60), (8_000, 5, 1.0, 60)]
    {
        let isotropic = World::new(rows, clip, Design::Isotropic, Errors::Gaussian);
        let world = World { features, steps, step_size: 0.5, ..isotropic };
        let found = mean_of(&world.scores(24), |s| s.length / 2.0);
        let predicted = world.setting().expected().unwrap().half_length(0.95);
        let ratio = found.mean / predicted;
        assert!((ratio - 1.0).abs() < 0.1 + 4.9 * found.error / predicted, "{world:?}: {ratio}");
    }
}

#[test]
fn clipped_shares_are_as_predicted() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let data = Data::draw(20_000, 10, Design::Isotropic, Errors::Gaussian, 1.0, &mut rng);
    for clip in [1.0, 1.5, 2.0] {
        let world = World::new(20_000, clip, Design::Isotropic, Errors::Gaussian);
        let predicted = world.setting().expected().unwrap().clipped;
        let found = data.clipped(&data.truth, world.setting().gamma);
        // 4.9 standard errors of a share: a false-alarm rate of one in a million.
        let allowed = 4.9 * (predicted * (1.0 - predicted) / 20_000.0).sqrt();
        assert!((found - predicted).abs() < allowed, "{found} {predicted}");
    }
}
