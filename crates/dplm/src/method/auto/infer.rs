//! Estimates and intervals from what was released; nothing here can see a row.
//!
//! At the mean iterate `t` the mean gradient is `g = H (t - optimum)` and noise, so that a Newton step finds the optimum where the
//! curvature `H` is known. What is known of it is a [`Belief`], `H = M + E` with `E` in doubt. The step `d = M^-1 g` is then off by
//! `M^-1 (E d + noise)`: its variance is that of the noise, of sampling, and of `E d`, which is largest where the descent was far from
//! the optimum. To second order the step is too short as well, because `1 / H` is on average larger than `1 / M`.
//!
//! A direction of `M` below twice its doubt is not resolved: a coefficient with half or more of its variance from such directions
//! is not identified. Those just above passed partly by luck: they are flatter than they look, and noise weighs more in them. The estimate is a Newton step where `H` is known to a tenth. In other directions the descent has hardly
//! moved from where it started and the step would divide noise by noise, so the estimate keeps the mean of the late iterates
//! there, which shrinks it.

use faer::Mat;
use statrs::distribution::{ContinuousCDF, Normal};

use super::belief::{Belief, NoisyMatrix, eigen};
use crate::{
    descend::Trajectory,
    interval::{Contrast, Interval},
};

/// The covariance of gradients, for intervals that cover the population, and the number of rows.
pub(super) struct Sampling {
    pub spread: NoisyMatrix,
    pub rows: f64,
}

/// The first steps, one in so many, are still on their way, and left out of the mean that is an estimate as it stands. A Newton step
/// makes up for that, and takes the mean of all.
const SKIPPED_PART: usize = 10;

/// Second order may lengthen a step this many times; where it says more it says nothing.
const MOST_LENGTHENED: f64 = 2.0;

/// The mean of the iterates after the first: an early stop in directions where the descent is slow.
pub(super) fn late_mean(run: &Trajectory) -> Vec<f64> {
    means(&run.theta[run.theta.len() / SKIPPED_PART..])
}

/// The mean of a coordinate.
pub(super) fn mean_of(vectors: &[Vec<f64>], j: usize) -> f64 {
    vectors.iter().map(|v| v[j]).sum::<f64>() / vectors.len() as f64
}

fn means(vectors: &[Vec<f64>]) -> Vec<f64> {
    (0..vectors[0].len()).map(|j| mean_of(vectors, j)).collect()
}

/// What is known of the optimum, in the coordinates of the believed eigenvectors.
pub(super) struct Law {
    belief: Belief,
    estimate: Vec<f64>,
    /// The middle of intervals.
    centre: Vec<f64>,
    /// The step that a unit of gradient makes; of noise, which must not be made small by luck.
    inverse: Vec<f64>,
    inverse_of_noise: Vec<f64>,
    /// The covariance of what privacy and sampling add to the mean gradient, and of `E d`.
    noise: Mat<f64>,
    doubt: Mat<f64>,
}

impl Law {
    /// From a run, its late mean, what is believed of the curvature, and what is known of sampling if it counts.
    pub(super) fn new(run: &Trajectory, late: &[f64], belief: Belief, sampling: Option<&Sampling>) -> Law {
        let steps = run.gradient.len();
        let theta = belief.turned(&means(&run.theta[..steps]));
        let gradient = belief.turned(&means(&run.gradient));
        let inverse: Vec<f64> = belief.curvatures().iter().map(|curvature| curvature.recip()).collect();
        let longer: Vec<f64> = (0..inverse.len()).map(|k| inverse[k] * lengthening(&belief, &inverse, k)).collect();
        let cautious = belief.cautious_curvatures();
        let inverse_of_noise =
            longer.iter().zip(cautious).map(|(longer, cautious)| longer.max(cautious.recip())).collect();
        let step: Vec<f64> = longer.iter().zip(&gradient).map(|(longer, gradient)| longer * gradient).collect();
        let centre = theta.iter().zip(&step).map(|(theta, step)| theta - step).collect();
        let privacy = run.noise_sd.powi(2) / steps as f64;
        let mut noise = sampling.map_or(Mat::zeros(step.len(), step.len()), |sampling| covariance(sampling, &belief));
        (0..step.len()).for_each(|k| noise[(k, k)] += privacy);
        let mut estimate = belief.turned(late);
        for (k, coordinate) in estimate.iter_mut().enumerate().filter(|(k, _)| belief.surely_resolved(*k)) {
            *coordinate = theta[k] - gradient[k] * inverse[k];
        }
        let doubt = doubt(&belief.sd, &step);
        Law { belief, estimate, centre, inverse, inverse_of_noise, noise, doubt }
    }

    /// The estimate of a contrast of the whitened parameters and its interval.
    pub(super) fn interval(&self, contrast: &Contrast, level: f64) -> Interval {
        let weights = self.belief.turned(&contrast.weights);
        let through = |gain: &[f64]| weights.iter().zip(gain).map(|(weight, gain)| weight * gain).collect::<Vec<_>>();
        let (of_noise, of_doubt) = (through(&self.inverse_of_noise), through(&self.inverse));
        let std_error = (quadratic(&self.noise, &of_noise) + quadratic(&self.doubt, &of_doubt)).sqrt();
        let estimate = dot(&weights, &self.estimate) + contrast.offset;
        let centre = dot(&weights, &self.centre) + contrast.offset;
        let reach = std_error * Normal::standard().inverse_cdf(0.5 + level / 2.0);
        let (low, high) = (centre - reach, centre + reach);
        let identified = self.unresolved_share(&of_noise) < 0.5 && (low..=high).contains(&estimate);
        Interval { estimate, std_error, low, high, df: None, identified }
    }

    /// Share of a contrast's variance that lies in directions that are not resolved.
    fn unresolved_share(&self, gain: &[f64]) -> f64 {
        let (mut unresolved, mut total) = (0.0, 0.0);
        for (k, gain) in gain.iter().enumerate() {
            let variance = gain * gain * self.noise[(k, k)];
            total += variance;
            unresolved += if self.belief.resolved(k) { 0.0 } else { variance };
        }
        if total > 0.0 { unresolved / total } else { 0.0 }
    }
}

/// How much longer than `1 / M` the mean of `1 / H` is in a direction: `1 / (1 - s)`, `s = sum_j sd_jk^2 / (e_j e_k)`. Where nothing is
/// resolved there is no telling.
fn lengthening(belief: &Belief, inverse: &[f64], k: usize) -> f64 {
    let sum: f64 = inverse.iter().enumerate().map(|(j, inverse)| belief.sd[(j, k)].powi(2) * inverse).sum();
    let left = (1.0 - sum * inverse[k]).max(MOST_LENGTHENED.recip());
    if belief.resolved(k) { left.recip() } else { 1.0 }
}

/// The covariance of `E d`: entries of the symmetric `E` are independent but for `E_jk = E_kj`.
fn doubt(sd: &Mat<f64>, step: &[f64]) -> Mat<f64> {
    let p = step.len();
    let own = |j: usize| (0..p).map(|k| (sd[(j, k)] * step[k]).powi(2)).sum();
    Mat::from_fn(p, p, |j, k| if j == k { own(j) } else { sd[(j, k)].powi(2) * step[j] * step[k] })
}

/// `V / n`, positive, drawn towards the shape of the curvature as far as noise explains what separates them.
fn covariance(sampling: &Sampling, belief: &Belief) -> Mat<f64> {
    let NoisyMatrix { mean, noise_sd } = &sampling.spread;
    let mean = belief.vectors.transpose() * mean * &belief.vectors;
    let p = mean.nrows();
    // Not below its noise: a sampling part of nothing would be a claim.
    let trace = (0..p).map(|j| mean[(j, j)]).sum::<f64>().max(noise_sd * (p as f64).sqrt());
    let level = trace / belief.values.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let shape = |j: usize, k: usize| if j == k { level * belief.values[j] } else { 0.0 };
    let apart = Mat::from_fn(p, p, |j, k| mean[(j, k)] - shape(j, k));
    let noise = noise_sd.powi(2) * (p * (p + 1)) as f64 / 2.0;
    let kept = (1.0 - noise / apart.squared_norm_l2().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let (values, vectors) = eigen(&Mat::from_fn(p, p, |j, k| shape(j, k) + kept * apart[(j, k)]));
    let scaled = Mat::from_fn(p, p, |j, k| vectors[(j, k)] * values[k].max(0.0) / sampling.rows);
    scaled * vectors.transpose()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn quadratic(matrix: &Mat<f64>, vector: &[f64]) -> f64 {
    (0..vector.len()).map(|k| vector[k] * dot(matrix.col_as_slice(k), vector)).sum()
}

#[cfg(test)]
mod tests {
    use super::super::belief::Expected;
    use super::*;

    /// A noiseless run on the quadratic with this curvature and optimum.
    fn run(curvature: [f64; 2], optimum: [f64; 2], noise_sd: f64) -> Trajectory {
        let (mut theta, mut gradient) = (vec![vec![0.0, 0.0]], Vec::new());
        for t in 0..60 {
            let g: Vec<f64> = (0..2).map(|j| curvature[j] * (theta[t][j] - optimum[j])).collect();
            theta.push((0..2).map(|j| theta[t][j] - 0.5 * g[j]).collect());
            gradient.push(g);
        }
        Trajectory { theta, gradient, step_size: 0.5, noise_sd }
    }

    /// Intervals of both coordinates.
    fn intervals(run: &Trajectory, late: &[f64], belief: Belief, sampling: Option<&Sampling>) -> Vec<Interval> {
        let law = Law::new(run, late, belief, sampling);
        Contrast::coordinates(2).iter().map(|one| law.interval(one, 0.95)).collect()
    }

    fn belief(curvature: [f64; 2], noise_sd: f64, run: &Trajectory) -> Belief {
        let mean = Mat::from_fn(2, 2, |j, k| if j == k { curvature[j] } else { 0.0 });
        let expected = Expected { moments: curvature.to_vec(), scales: vec![1.0; 2], noise_sd };
        Belief::new(&NoisyMatrix { mean, noise_sd }, &expected, run)
    }

    #[test]
    fn where_the_curvature_is_known_the_estimate_is_the_optimum() {
        let run = run([1.0, 0.8], [2.0, -1.0], 0.06);
        let found = intervals(&run, &[0.0; 2], belief([1.0, 0.8], 1e-9, &run), None);
        for (one, optimum) in found.iter().zip([2.0, -1.0]) {
            assert!((one.estimate - optimum).abs() < 1e-6 && one.identified);
        }
        // The noise of a mean of 60 gradients, divided by the curvature.
        let expected = 0.06 / 60f64.sqrt() / 0.8;
        assert!((found[1].std_error / expected - 1.0).abs() < 1e-3, "{}", found[1].std_error);
    }

    #[test]
    fn where_it_is_not_the_late_iterates_stand_and_nothing_is_claimed() {
        let run = run([1.0, 0.01], [2.0, -1.0], 0.06);
        let found = intervals(&run, &[2.1, 0.3], belief([1.0, 0.01], 0.05, &run), None);
        assert!(found[0].identified && (found[0].estimate - 2.0).abs() < 0.3);
        assert!(!found[1].identified && (found[1].estimate - 0.3).abs() < 0.03, "{found:?}");
    }

    #[test]
    fn sampling_widens_an_interval_by_what_it_should() {
        let run = run([1.0, 1.0], [0.0, 0.0], 0.0);
        let spread = NoisyMatrix { mean: Mat::from_fn(2, 2, |j, k| if j == k { 4.0 } else { 0.0 }), noise_sd: 1e-6 };
        let sampling = Sampling { spread, rows: 400.0 };
        let found = intervals(&run, &[0.0; 2], belief([1.0, 1.0], 1e-9, &run), Some(&sampling));
        assert!((found[0].std_error - 0.1).abs() < 1e-4, "{}", found[0].std_error);
    }

    /// Gradients far from the optimum, read with a curvature in doubt: the error of a step is that doubt times the step.
    #[test]
    fn a_doubt_of_the_curvature_counts_by_the_length_of_the_step() {
        let sd = Mat::from_fn(2, 2, |j, k| if j == k { 0.1 } else { 0.05 });
        let vectors = Mat::from_fn(2, 2, |j, k| if j == k { 1.0 } else { 0.0 });
        let belief = Belief { values: vec![2.0, 4.0], vectors, sd };
        let run = Trajectory {
            theta: vec![vec![0.0; 2]; 25],
            gradient: vec![vec![2.0, 4.0]; 24],
            step_size: 0.5,
            noise_sd: 0.0,
        };
        let law = Law::new(&run, &[0.0; 2], belief, None);
        let found = Contrast::coordinates(2).iter().map(|one| law.interval(one, 0.95)).collect::<Vec<_>>();
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        let longer = [2.0, 4.0]
            .map(|e| 1.0 / (1.0 - (if e == 2.0 { 0.01 / 2.0 + 0.0025 / 4.0 } else { 0.0025 / 2.0 + 0.01 / 4.0 }) / e));
        close(0.5 * (found[0].low + found[0].high), -longer[0]);
        close(found[0].std_error, (0.1 * longer[0]).hypot(0.05 * longer[1]) / 2.0);
        close(found[1].std_error, (0.05 * longer[0]).hypot(0.1 * longer[1]) / 4.0);
        // The entry off the diagonal is one number: it moves both by the step of the other, to the same side.
        let sum = law.interval(&Contrast { weights: vec![1.0, 1.0], offset: 0.0 }, 0.95);
        let both = 2.0 * 0.05f64.powi(2) * longer[0] * longer[1] / 8.0;
        close(sum.std_error, (found[0].std_error.powi(2) + found[1].std_error.powi(2) + both).sqrt());
    }
}
