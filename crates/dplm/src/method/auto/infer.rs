//! Estimates and intervals from what was released; nothing here can see a row.
//!
//! What is in doubt of the curvature `H` of the loss ([`Belief`]) is integrated out: for each of a few hundred possible `H` the law of a
//! coefficient is normal, and the ends of an interval are quantiles of their mixture.
//!
//! A direction of `H` below three times its noise is not resolved: a coefficient with half or more of its variance from such
//! directions is not identified. The estimate is a Newton step where `H` is known to a tenth. In other directions the descent
//! has hardly moved from where it started and the step would divide noise by noise, so the estimate keeps the mean of the
//! late iterates there, which shrinks it.

use faer::Mat;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal};

use super::belief::{Belief, NoisyMatrix, Spectrum, turned};
use crate::{
    descend::Trajectory,
    interval::{Contrast, Interval},
};

/// The covariance of gradients, for intervals that cover the population, and the number of rows.
pub(super) struct Sampling {
    pub spread: NoisyMatrix,
    pub rows: f64,
}

/// The first steps, one in so many, are still on their way, and left out of the mean that is an estimate as it stands.
const SKIPPED_PART: usize = 10;
/// A Newton step makes up for being on the way, but for the clip: fewer are left out.
const SKIPPED_BY_NEWTON: usize = 24;

/// The mean of the iterates after the first: an early stop in directions where the descent is slow.
pub(super) fn late_mean(run: &Trajectory) -> Vec<f64> {
    let late = &run.theta[run.theta.len() / SKIPPED_PART..];
    (0..late[0].len()).map(|j| mean_of(late, j)).collect()
}

/// The mean of a coordinate.
pub(super) fn mean_of(vectors: &[Vec<f64>], j: usize) -> f64 {
    vectors.iter().map(|v| v[j]).sum::<f64>() / vectors.len() as f64
}

/// What the run says, averaged: iterates, gradients, and the variance of the noise in the mean gradient.
struct Averages {
    theta: Vec<f64>,
    gradient: Vec<f64>,
    noise_var: f64,
}

impl Averages {
    /// In the coordinates of a basis.
    fn of(run: &Trajectory, basis: &Mat<f64>) -> Averages {
        let all = run.gradient.len();
        let skip = all / SKIPPED_BY_NEWTON;
        let p = run.theta[0].len();
        let mean = |vectors: &[Vec<f64>]| turned(basis, &(0..p).map(|j| mean_of(vectors, j)).collect::<Vec<_>>());
        Averages {
            theta: mean(&run.theta[skip..all]),
            gradient: mean(&run.gradient[skip..]),
            noise_var: run.noise_sd.powi(2) / (all - skip) as f64,
        }
    }
}

/// Estimates and intervals for contrasts of the whitened parameters.
pub(super) fn intervals(
    run: &Trajectory,
    late: &[f64],
    belief: &Belief,
    sampling: Option<&Sampling>,
    contrasts: &[Contrast],
    level: f64,
) -> Vec<Interval> {
    let averages = Averages::of(run, &belief.basis);
    let covariance = sampling.map(|sampling| covariance(sampling, belief));
    let estimate = blended(&averages, &turned(&belief.basis, late), belief);
    let possible = possibilities(belief);
    let one = |contrast: &Contrast| {
        let contrast = &Contrast { weights: turned(&belief.basis, &contrast.weights), offset: contrast.offset };
        let parts: Vec<_> = possible.iter().map(|h| law(h, belief, contrast, &averages, covariance.as_ref())).collect();
        let (low, high) = (quantile(&parts, 0.5 - level / 2.0), quantile(&parts, 0.5 + level / 2.0));
        let std_error = (high - low) / (2.0 * normal_quantile(0.5 + level / 2.0));
        let estimate = contrast.of(&estimate);
        let seen = unresolved_share(belief, contrast, &averages, covariance.as_ref()) < 0.5;
        let identified = seen && (low..=high).contains(&estimate);
        Interval { estimate, std_error, low, high, df: None, identified }
    };
    contrasts.iter().map(one).collect()
}

/// A Newton step from the mean iterate in the directions that are surely resolved, the late iterates in the others.
fn blended(averages: &Averages, late: &[f64], belief: &Belief) -> Vec<f64> {
    let spectrum = &belief.spectrum;
    let (theta, gradient) = (spectrum.turned(&averages.theta), spectrum.turned(&averages.gradient));
    let mut coordinates = spectrum.turned(late);
    for (k, coordinate) in coordinates.iter_mut().enumerate().filter(|(k, _)| belief.surely_resolved(*k)) {
        *coordinate = theta[k] - gradient[k] / spectrum.values[k];
    }
    spectrum.turned_back(&coordinates)
}

/// `V / n`, positive, drawn towards the shape of the curvature as far as noise explains what separates them.
fn covariance(sampling: &Sampling, belief: &Belief) -> Mat<f64> {
    let NoisyMatrix { mean, noise_sd } = &sampling.spread;
    let mean = belief.basis.transpose() * mean * &belief.basis;
    let p = mean.nrows();
    let trace = |matrix: &Mat<f64>| (0..p).map(|j| matrix[(j, j)]).sum::<f64>();
    // Not below its noise: a sampling part of nothing would be a claim.
    let level = trace(&mean).max(noise_sd * (p as f64).sqrt()) / trace(&belief.mean).max(f64::MIN_POSITIVE);
    let apart = Mat::from_fn(p, p, |j, k| mean[(j, k)] - level * belief.mean[(j, k)]);
    let noise = noise_sd.powi(2) * (p * (p + 1)) as f64 / 2.0;
    let kept = (1.0 - noise / apart.squared_norm_l2().max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let mut spectrum = Spectrum::of(&Mat::from_fn(p, p, |j, k| level * belief.mean[(j, k)] + kept * apart[(j, k)]));
    spectrum.values.iter_mut().for_each(|value| *value = value.max(0.0) / sampling.rows);
    let scaled = Mat::from_fn(p, p, |j, k| spectrum.vectors[(j, k)] * spectrum.values[k]);
    scaled * spectrum.vectors.transpose()
}

/// Draws of the curvature in pairs of opposite noise; fewer for many columns, since each costs an eigendecomposition.
fn possibilities(belief: &Belief) -> Vec<Spectrum> {
    let p = belief.mean.nrows();
    let pairs = (2e8 / (p as f64).powi(3)).clamp(20.0, 200.0) as usize;
    // These draws evaluate an integral and protect nothing, so their seed may be public.
    let mut rng = ChaCha8Rng::seed_from_u64(0x6175_746f);
    (0..pairs)
        .flat_map(|_| {
            let noise = symmetric_noise(&belief.sd, &mut rng);
            [1.0, -1.0].map(|sign| {
                Spectrum::of(&Mat::from_fn(p, p, |j, k| belief.mean[(j, k)] + sign * noise[(j.max(k), j.min(k))]))
            })
        })
        .collect()
}

fn symmetric_noise(sd: &Mat<f64>, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let mut uniform = || ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    Mat::from_fn(sd.nrows(), sd.nrows(), |j, k| if j < k { 0.0 } else { sd[(j, k)] * normal_quantile(uniform()) })
}

/// Mean and standard deviation of a contrast if this is the curvature.
fn law(
    curvature: &Spectrum,
    belief: &Belief,
    contrast: &Contrast,
    averages: &Averages,
    covariance: Option<&Mat<f64>>,
) -> (f64, f64) {
    let floor = belief.floor();
    let mut turned = curvature.turned(&contrast.weights);
    turned.iter_mut().zip(&curvature.values).for_each(|(c, e)| *c /= e.max(floor));
    let direction = curvature.turned_back(&turned);
    let privacy = averages.noise_var * dot(&direction, &direction);
    let sampled = covariance.map_or(0.0, |v| quadratic(v, &direction));
    let mean = contrast.of(&averages.theta) - dot(&direction, &averages.gradient);
    (mean, (privacy + sampled).sqrt().max(f64::MIN_POSITIVE))
}

/// Share of a contrast's variance that lies in directions that are not resolved.
fn unresolved_share(belief: &Belief, contrast: &Contrast, averages: &Averages, covariance: Option<&Mat<f64>>) -> f64 {
    let floor = belief.floor();
    let (mut unresolved, mut total) = (0.0, 0.0);
    for (k, weight) in belief.spectrum.turned(&contrast.weights).iter().enumerate() {
        let sampled = covariance.map_or(0.0, |v| quadratic(v, belief.spectrum.vectors.col_as_slice(k)));
        let curvature = belief.spectrum.values[k].max(floor);
        let variance = weight * weight * (averages.noise_var + sampled) / curvature.powi(2);
        total += variance;
        unresolved += if belief.resolved(k) { 0.0 } else { variance };
    }
    if total > 0.0 { unresolved / total } else { 0.0 }
}

/// The value below which a share of an equal mixture of normal laws lies, by bisection.
fn quantile(parts: &[(f64, f64)], share: f64) -> f64 {
    let standard = Normal::standard();
    let z = normal_quantile(share);
    let ends = parts.iter().map(|(mean, sd)| mean + z * sd);
    let (mut low, mut high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        let below = parts.iter().map(|(mean, sd)| standard.cdf((middle - mean) / sd)).sum::<f64>() / parts.len() as f64;
        if below < share { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

fn normal_quantile(share: f64) -> f64 {
    Normal::standard().inverse_cdf(share)
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

    fn belief(curvature: [f64; 2], noise_sd: f64, run: &Trajectory) -> Belief {
        let mean = Mat::from_fn(2, 2, |j, k| if j == k { curvature[j] } else { 0.0 });
        let expected = Expected { moments: curvature.to_vec(), scales: vec![1.0; 2], noise_sd };
        Belief::new(&NoisyMatrix { mean, noise_sd }, &expected, run)
    }

    #[test]
    fn where_the_curvature_is_known_the_estimate_is_the_optimum() {
        let run = run([1.0, 0.8], [2.0, -1.0], 0.06);
        let found = intervals(&run, &[0.0; 2], &belief([1.0, 0.8], 1e-9, &run), None, &Contrast::coordinates(2), 0.95);
        for (one, optimum) in found.iter().zip([2.0, -1.0]) {
            assert!((one.estimate - optimum).abs() < 1e-6 && one.identified);
        }
        // The noise of a mean of 58 gradients, divided by the curvature.
        let expected = 0.06 / 58f64.sqrt() / 0.8;
        assert!((found[1].std_error / expected - 1.0).abs() < 1e-3, "{}", found[1].std_error);
    }

    #[test]
    fn where_it_is_not_the_late_iterates_stand_and_nothing_is_claimed() {
        let run = run([1.0, 0.01], [2.0, -1.0], 0.06);
        let found =
            intervals(&run, &[2.1, 0.3], &belief([1.0, 0.01], 0.05, &run), None, &Contrast::coordinates(2), 0.95);
        assert!(found[0].identified && (found[0].estimate - 2.0).abs() < 0.3);
        assert!(!found[1].identified && (found[1].estimate - 0.3).abs() < 0.03, "{found:?}");
    }

    #[test]
    fn sampling_widens_an_interval_by_what_it_should() {
        let run = run([1.0, 1.0], [0.0, 0.0], 0.0);
        let spread = NoisyMatrix { mean: Mat::from_fn(2, 2, |j, k| if j == k { 4.0 } else { 0.0 }), noise_sd: 1e-6 };
        let sampling = Sampling { spread, rows: 400.0 };
        let found = intervals(
            &run,
            &[0.0; 2],
            &belief([1.0, 1.0], 1e-9, &run),
            Some(&sampling),
            &Contrast::coordinates(2),
            0.95,
        );
        assert!((found[0].std_error - 0.1).abs() < 1e-4, "{}", found[0].std_error);
    }

    #[test]
    fn a_mixture_leaves_the_share_it_says() {
        let parts = [(0.0, 1.0), (3.0, 0.1), (-4.0, 20.0)];
        for share in [0.025, 0.5, 0.99] {
            let x = quantile(&parts, share);
            let below: f64 = parts.iter().map(|(mean, sd)| Normal::standard().cdf((x - mean) / sd)).sum::<f64>() / 3.0;
            assert!((below - share).abs() < 1e-9);
        }
    }
}
