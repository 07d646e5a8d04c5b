//! The Newton interval: one Newton step from the mean iterate along the mean gradient.

use super::contrast::{dot, normal_quantile};
use super::curvature::{Belief, Spectrum};
use super::mixture::{Draws, Mixture};
use super::target::Sampling;
use super::{Contrast, Curvature, Interval, IntervalError, Target};
use super::{check_contrasts, check_level, check_not_negative, check_positive, check_run};
use crate::descend::Trajectory;
use faer::Mat;

/// The Newton interval: `mean(theta_t) - H^-1 mean(g_t)` over the steps, with the noise in `g_t` of known scale.
///
/// With `g_t = H (theta_t - opt) + z_t` the estimate is `opt - H^-1 mean(z_t)`: unbiased from the first step on, normal with covariance
/// `lambda^2/T H^-2`, the limit of what the released gradients can tell. Steps are weighted `1 - c (1 - eta h)^t`, which
/// takes out what the start still does to the mean; `c` is 0 when `H` is certain and grows with its doubt.
///
/// Doubt about `H` and about the sampling part is integrated out: for each of a few hundred possible `H` the law of the
/// coefficient is normal, and the ends are quantiles of their mixture. A direction of `H` below twice its noise is not resolved; an
/// interval with half or more of its variance from such directions is marked as not identified.
///
/// # Guarantee
/// Post-processing: no budget is spent. The result depends on the arguments only.
///
/// # Errors
/// When the level is not a probability, the run has no steps, an input is for another number of features, or a released
/// number that must be positive is not.
pub fn newton(
    run: &Trajectory,
    curvature: &Curvature,
    target: &Target,
    contrasts: &[Contrast],
    level: f64,
) -> Result<Vec<Interval>, IntervalError> {
    check_level(level)?;
    let p = check_run(run)?;
    check_contrasts(contrasts, p)?;
    check_positive("the step size", run.step_size)?;
    check_not_negative("the standard deviation of the noise", run.noise_sd)?;
    let belief = curvature.belief(p)?;
    let sampling = Sampling::of(target, &belief.centre)?;
    let averages = Averages::of(run, &belief);
    let possible = possibilities(&belief, sampling.as_ref());
    Ok(contrasts.iter().map(|c| interval(c, &averages, &belief, sampling.as_ref(), &possible, level)).collect())
}

/// Weighted means over the steps, and the variance of the noise in the mean gradient.
struct Averages {
    theta: Vec<f64>,
    gradient: Vec<f64>,
    noise_var: f64,
}

impl Averages {
    fn of(run: &Trajectory, belief: &Belief) -> Self {
        let weights = step_weights(run, belief);
        let noise_var = run.noise_sd.powi(2) * weights.iter().map(|w| w * w).sum::<f64>();
        Averages { theta: weighted(&run.theta, &weights), gradient: weighted(&run.gradient, &weights), noise_var }
    }
}

fn weighted(vectors: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let coordinate = |j: usize| vectors.iter().zip(weights).map(|(v, w)| v[j] * w).sum();
    (0..vectors[0].len()).map(coordinate).collect()
}

/// Weights of the steps, adding up to one.
///
/// They minimise `lambda^2/h^2 |w|^2 + misfit^2 d^2 sum_k (sum_t w_t q_k^t)^2`: noise, against a start at distance `d` (a
/// coordinate) that decays as `q^t`, `q = 1 - eta h`, and is carried off wrongly by a share `misfit`. Several `q_k` around `q`
/// stand for directions, and stretches of the way, of other curvature.
fn step_weights(run: &Trajectory, belief: &Belief) -> Vec<f64> {
    let steps = run.gradient.len();
    let h = belief.centre.level();
    let noise = (run.noise_sd / h).powi(2);
    let pull = belief.misfit.powi(2) * start_distance_sq(run);
    let decays = PACES.map(|pace| decay(1.0 - run.step_size * h * pace, steps));
    let weights = solve_by_rank_ones(noise, pull, decays, steps);
    let total: f64 = weights.iter().sum();
    // Nothing to trade where every step is at the start: a single one, or no noise at all.
    if !(total > 1e-9 * steps as f64) {
        vec![1.0 / steps as f64; steps]
    } else {
        weights.iter().map(|w| w / total).collect()
    }
}

/// Curvatures, relative to the mean one, at which the start may fade.
const PACES: [f64; 3] = [0.5, 1.0, 1.5];

fn decay(q: f64, steps: usize) -> Vec<f64> {
    (0..steps).map(|t| q.clamp(0.0, 1.0).powi(t as i32)).collect()
}

/// Solves `(noise I + pull sum_k d_k d_k') w = noise 1` one rank at a time (Sherman-Morrison).
fn solve_by_rank_ones<const K: usize>(noise: f64, pull: f64, decays: [Vec<f64>; K], steps: usize) -> Vec<f64> {
    let mut solved = vec![1.0; steps];
    let mut inverse_of = decays.clone();
    for k in 0..K {
        let (done, rest) = inverse_of.split_at_mut(k + 1);
        let (direction, decay) = (&done[k], &decays[k]);
        let scale = pull / (noise + pull * dot(decay, direction)).max(f64::MIN_POSITIVE);
        for vector in rest.iter_mut().chain(std::iter::once(&mut solved)) {
            let share = scale * dot(decay, vector);
            vector.iter_mut().zip(direction).for_each(|(v, d)| *v -= share * d);
        }
    }
    solved
}

/// Squared distance, a coordinate, from the start to the mean of the second half of the iterates.
fn start_distance_sq(run: &Trajectory) -> f64 {
    let late = &run.theta[run.theta.len() / 2..];
    let end = weighted(late, &vec![1.0 / late.len() as f64; late.len()]);
    let squares = run.theta[0].iter().zip(&end).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>() / end.len() as f64
}

/// A curvature and a sampling level that the releases allow.
struct Possibility {
    curvature: Spectrum,
    floor: f64,
    level: f64,
}

/// Fewer draws for many features: a draw costs an eigendecomposition.
fn draw_count(belief: &Belief, p: usize) -> usize {
    if belief.is_scalar() { 200 } else { (4e8 / (p as f64).powi(3)).clamp(40.0, 400.0) as usize }
}

/// Equally likely curvatures and sampling levels; a single one where nothing is in doubt.
fn possibilities(belief: &Belief, sampling: Option<&Sampling>) -> Vec<Possibility> {
    let (level, level_sd) = sampling.map_or((0.0, 0.0), |s| (s.level, s.level_sd));
    let certain = belief.is_certain() && level_sd == 0.0;
    let count = if certain { 1 } else { draw_count(belief, belief.centre.values.len()) };
    let mut draws = Draws::new();
    let levels = draws.spread_above(level, level_sd, 0.0, count);
    let scales = draws.spread_above(1.0, belief.scale_sd, 0.1, count);
    let floor = 0.25 * belief.resolution(0.0);
    let curvatures = Curvatures { belief, centre: belief.centre.matrix(), draws, mirror: None };
    let pairs = curvatures.zip(levels).zip(scales);
    pairs.map(|((spectrum, level), scale)| Possibility { curvature: scaled(spectrum, scale), floor, level }).collect()
}

fn scaled(mut spectrum: Spectrum, scale: f64) -> Spectrum {
    spectrum.values.iter_mut().for_each(|e| *e *= scale);
    spectrum
}

/// Draws of the curvature before its scale, in pairs of opposite noise.
struct Curvatures<'a> {
    belief: &'a Belief,
    centre: Mat<f64>,
    draws: Draws,
    mirror: Option<Mat<f64>>,
}

impl Iterator for Curvatures<'_> {
    type Item = Spectrum;

    fn next(&mut self) -> Option<Spectrum> {
        if self.belief.sd_diag == 0.0 && self.belief.sd_offdiag == 0.0 {
            return Some(self.belief.centre.clone());
        }
        let (noise, sign) = match self.mirror.take() {
            Some(noise) => (noise, -1.0),
            None => (self.symmetric_noise(), 1.0),
        };
        let drawn = Spectrum::of(&Mat::from_fn(self.centre.nrows(), self.centre.nrows(), |j, k| {
            self.centre[(j, k)] + sign * noise[(j.max(k), j.min(k))]
        }));
        self.mirror = (sign > 0.0).then_some(noise);
        Some(drawn)
    }
}

impl Curvatures<'_> {
    fn symmetric_noise(&mut self) -> Mat<f64> {
        let (diag, off) = (self.belief.sd_diag, self.belief.sd_offdiag);
        let draws = &mut self.draws;
        Mat::from_fn(self.centre.nrows(), self.centre.nrows(), |j, k| match j.cmp(&k) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => diag * draws.normal(),
            std::cmp::Ordering::Greater => off * draws.normal(),
        })
    }
}

/// The interval of one contrast.
fn interval(
    contrast: &Contrast,
    averages: &Averages,
    belief: &Belief,
    sampling: Option<&Sampling>,
    possible: &[Possibility],
    level: f64,
) -> Interval {
    let floor = 0.25 * belief.resolution(0.0);
    let centre = contrast.of(&averages.theta);
    let estimate = centre - dot(&belief.centre.solve(&contrast.weights, floor), &averages.gradient);
    let parts: Vec<_> = possible.iter().map(|one| one.law(contrast, centre, averages, sampling)).collect();
    let identified = unresolved_share(contrast, averages, belief, sampling) < 0.5;
    if let [(mean, sd)] = parts[..] {
        return Interval { identified, ..Interval::symmetric(mean, sd, None, level) };
    }
    let mixture = Mixture { parts };
    let (low, high) = (mixture.quantile(0.5 - level / 2.0), mixture.quantile(0.5 + level / 2.0));
    let std_error = (high - low) / (2.0 * normal_quantile(level));
    Interval { estimate, std_error, low, high, df: None, identified }
}

impl Possibility {
    /// Mean and standard deviation of the contrast if this is the curvature.
    fn law(&self, contrast: &Contrast, centre: f64, averages: &Averages, sampling: Option<&Sampling>) -> (f64, f64) {
        let direction = self.curvature.solve(&contrast.weights, self.floor);
        let privacy = averages.noise_var * dot(&direction, &direction);
        let sampled = sampling.map_or(0.0, |s| self.level * self.shape(s, contrast, &direction) / s.rows);
        (centre - dot(&direction, &averages.gradient), (privacy + sampled).sqrt().max(f64::MIN_POSITIVE))
    }

    /// `a' V a` over the level of `V`, `a = H^-1 weights`.
    fn shape(&self, sampling: &Sampling, contrast: &Contrast, direction: &[f64]) -> f64 {
        match &sampling.shape {
            None => dot(direction, &contrast.weights) / self.curvature.level(),
            Some(shape) => {
                let row = |j: usize| (0..direction.len()).map(|k| shape[(j, k)] * direction[k]).sum::<f64>();
                (0..direction.len()).map(|j| direction[j] * row(j)).sum()
            }
        }
    }
}

/// Share of a contrast's variance that lies in directions the curvature does not resolve.
fn unresolved_share(contrast: &Contrast, averages: &Averages, belief: &Belief, sampling: Option<&Sampling>) -> f64 {
    let floor = 0.25 * belief.resolution(0.0);
    let sampled = sampling.map_or(0.0, |s| s.level.max(0.0) / (s.rows * belief.centre.level()));
    let (mut unresolved, mut total) = (0.0, 0.0);
    for (w, e) in belief.centre.turned(&contrast.weights).iter().zip(&belief.centre.values) {
        let raised = e.max(floor).max(f64::MIN_POSITIVE);
        let variance = w * w * (averages.noise_var / raised.powi(2) + sampled / raised);
        total += variance;
        unresolved += if *e < belief.resolution(*e) { variance } else { 0.0 };
    }
    if total > 0.0 { unresolved / total } else { 0.0 }
}
