//! The Newton interval: one Newton step from the mean iterate along the mean gradient.

use super::contrast::{dot, normal_quantile};
use super::curvature::Belief;
use super::mixture::Mixture;
use super::possible::{Possibility, possibilities};
use super::target::Sampling;
use super::weights::Transient;
use super::{Contrast, Curvature, Interval, IntervalError, Target};
use super::{check_contrasts, check_level, check_not_negative, check_positive, check_run};
use crate::descend::Trajectory;
use rayon::prelude::*;

/// The Newton interval: `mean(theta_t) - H^-1 mean(g_t)` over the steps, with the noise in `g_t` of known scale.
///
/// With `g_t = H (theta_t - opt) + z_t` the estimate is `opt - H^-1 mean(z_t)`: unbiased from the first step on and
/// normal with covariance `lambda^2/T H^-2`, the limit of what the released gradients can tell. Where `H` is in doubt
/// the first steps count less, so that the start, which `H` carries off, is felt less; a curvature read off the same
/// steps ([`Curvature::from_trajectory`]) leaves them equal.
///
/// Doubt about `H` and about the sampling part is integrated out: for each of a few hundred possible `H` the law of
/// the coefficient is normal, and the ends are quantiles of their mixture. A direction of `H` below twice its noise
/// is not resolved; an interval with half or more of its variance from such directions is marked as not identified.
///
/// # Guarantee
/// Post-processing: no budget is spent. The result depends on the arguments only.
///
/// # Errors
/// When the level is not a probability, the run has no steps, an input is for another number of features, or a
/// released number that must be positive is not.
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
    let possible = possibilities(&belief, sampling.as_ref(), &averages.gradient);
    let known = Known { averages, belief, sampling, possible };
    Ok(contrasts.par_iter().map(|contrast| known.interval(contrast, level)).collect())
}

/// Weighted means over the steps, and the variance of the noise in the mean gradient.
struct Averages {
    theta: Vec<f64>,
    gradient: Vec<f64>,
    noise_var: f64,
}

impl Averages {
    fn of(run: &Trajectory, belief: &Belief) -> Self {
        let transient = Transient {
            noise_sd: run.noise_sd,
            step_size: run.step_size,
            curvature: belief.centre.level(),
            misfit: belief.misfit,
            distance_sq: start_distance_sq(run),
        };
        let weights = transient.weights(run.gradient.len());
        let noise_var = run.noise_sd.powi(2) * dot(&weights, &weights);
        Averages { theta: weighted(&run.theta, &weights), gradient: weighted(&run.gradient, &weights), noise_var }
    }
}

fn weighted(vectors: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let coordinate = |j: usize| vectors.iter().zip(weights).map(|(v, w)| v[j] * w).sum();
    (0..vectors[0].len()).map(coordinate).collect()
}

/// Squared distance, a coordinate, from the start to the mean of the second half of the iterates.
fn start_distance_sq(run: &Trajectory) -> f64 {
    let late = &run.theta[run.theta.len() / 2..];
    let end = weighted(late, &vec![1.0 / late.len() as f64; late.len()]);
    let squares = run.theta[0].iter().zip(&end).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>() / end.len() as f64
}

/// All that the interval of a contrast is made from.
struct Known {
    averages: Averages,
    belief: Belief,
    sampling: Option<Sampling>,
    possible: Vec<Possibility>,
}

impl Known {
    fn interval(&self, contrast: &Contrast, level: f64) -> Interval {
        let parts: Vec<_> = self.possible.iter().map(|one| self.law_if(one, contrast)).collect();
        let identified = self.unresolved_share(contrast) < 0.5;
        if let [(mean, sd)] = parts[..] {
            return Interval { identified, ..Interval::symmetric(mean, sd, None, level) };
        }
        let step = dot(&self.belief.centre.solve(&contrast.weights, self.belief.floor()), &self.averages.gradient);
        let mixture = Mixture { parts };
        let (low, high) = (mixture.quantile(0.5 - level / 2.0), mixture.quantile(0.5 + level / 2.0));
        let std_error = (high - low) / (2.0 * normal_quantile(level));
        Interval { estimate: contrast.of(&self.averages.theta) - step, std_error, low, high, df: None, identified }
    }

    /// Mean and standard deviation of the contrast if this were the curvature.
    fn law_if(&self, one: &Possibility, contrast: &Contrast) -> (f64, f64) {
        let direction = one.direction(&contrast.weights);
        let privacy = self.averages.noise_var * direction.norm_sq();
        let sampled = self.sampling.as_ref().map_or(0.0, |s| one.level * direction.spread(s.shape.as_ref()) / s.rows);
        let mean = contrast.of(&self.averages.theta) - direction.step();
        (mean, (privacy + sampled).sqrt().max(f64::MIN_POSITIVE))
    }

    /// Share of a contrast's variance that lies in directions the curvature does not resolve.
    fn unresolved_share(&self, contrast: &Contrast) -> f64 {
        let centre = &self.belief.centre;
        let sampled = self.sampling.as_ref().map_or(0.0, |s| s.level.max(0.0) / (s.rows * centre.level()));
        let (mut unresolved, mut total) = (0.0, 0.0);
        for (i, w) in centre.turned(&contrast.weights).iter().enumerate() {
            let raised = centre.values[i].max(self.belief.floor());
            let variance = w * w * (self.averages.noise_var / raised.powi(2) + sampled / raised);
            total += variance;
            unresolved += if self.belief.resolves(i) { 0.0 } else { variance };
        }
        if total > 0.0 { unresolved / total } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::super::GradientSpread;
    use super::super::curvature::Spectrum;
    use super::*;
    use faer::Mat;

    /// A run without noise on a quadratic of curvature `h` with its optimum at `opt`; the noise is only claimed.
    fn quadratic(h: &Mat<f64>, opt: &[f64], steps: usize, noise_sd: f64) -> Trajectory {
        let (p, step_size) = (opt.len(), 0.25);
        let (mut theta, mut gradient) = (vec![vec![0.0; p]], Vec::new());
        for t in 0..steps {
            let row = |j: usize| (0..p).map(|k| h[(j, k)] * (theta[t][k] - opt[k])).sum::<f64>();
            let g: Vec<f64> = (0..p).map(row).collect();
            theta.push(theta[t].iter().zip(&g).map(|(x, g)| x - step_size * g).collect());
            gradient.push(g);
        }
        Trajectory { theta, gradient, step_size, noise_sd }
    }

    fn coupled() -> Mat<f64> {
        Mat::from_fn(3, 3, |j, k| if j == k { 1.0 + 0.2 * j as f64 } else { 0.3 })
    }

    const OPT: [f64; 3] = [1.0, -2.0, 0.5];

    fn population(mean_norm_sq: f64, noise_sd: f64) -> Target {
        Target::Population { rows: 400, spread: GradientSpread::Scalar { mean_norm_sq, noise_sd } }
    }

    #[test]
    fn a_quadratic_is_solved_from_the_first_step() {
        let contrasts = [Contrast::coordinate(1, 3), Contrast { weights: vec![1.0, 1.0, -1.0], offset: 10.0 }];
        for steps in [1, 2, 10] {
            let run = quadratic(&coupled(), &OPT, steps, 0.1);
            let found =
                newton(&run, &Curvature::matrix(coupled(), 0.0, 0.0), &Target::Empirical, &contrasts, 0.9).unwrap();
            assert!((found[0].estimate + 2.0).abs() < 1e-10, "after {steps} steps");
            assert!((found[1].estimate - 8.5).abs() < 1e-10);
        }
    }

    #[test]
    fn a_certain_scalar_gives_the_textbook_error() {
        let run = quadratic(&Mat::identity(3, 3), &OPT, 25, 0.2);
        let sure = Curvature::scalar(2.0, 0.0).with_spread(0.0);
        let found = newton(&run, &sure, &Target::Empirical, &Contrast::coordinates(3), 0.95).unwrap();
        assert!((found[0].std_error - 0.2 / (5.0 * 2.0)).abs() < 1e-12);
        let both = newton(&run, &sure, &population(3.0, 0.0), &Contrast::coordinates(3), 0.95).unwrap();
        let sampling = 1.0 / (400.0 * 4.0);
        assert!((both[0].std_error.powi(2) - found[0].std_error.powi(2) - sampling).abs() < 1e-12);
        assert_eq!((both[0].df, both[0].identified), (None, true));
    }

    /// With `V` of the shape of `H`, the sampling part is `level / mean(H) (H^-1)_jj / n`.
    #[test]
    fn the_sampling_part_takes_the_shape_of_the_curvature_or_its_own() {
        let run = quadratic(&coupled(), &OPT, 10, 1e-9);
        let curvature = Curvature::matrix(coupled(), 0.0, 0.0);
        let trace: f64 = (0..3).map(|j| coupled()[(j, j)]).sum();
        let first = [Contrast::coordinate(0, 3)];
        let scalar = newton(&run, &curvature, &population(trace, 0.0), &first, 0.95).unwrap()[0];
        let inverse = Spectrum::of(&coupled()).unwrap().solve(&[1.0, 0.0, 0.0], 0.0)[0];
        assert!((scalar.std_error.powi(2) - inverse / 400.0).abs() < 1e-10);
        let spread = GradientSpread::Matrix { mean: coupled(), noise_sd_diag: 0.0 };
        let matrix = newton(&run, &curvature, &Target::Population { rows: 400, spread }, &first, 0.95).unwrap()[0];
        assert!((matrix.std_error - scalar.std_error).abs() < 1e-10);
    }

    #[test]
    fn every_doubt_widens() {
        let run = quadratic(&Mat::identity(3, 3), &OPT, 10, 0.05);
        let length = |curvature: &Curvature, target: &Target| {
            newton(&run, curvature, target, &[Contrast::coordinate(1, 3)], 0.95).unwrap()[0].length()
        };
        let sure = Curvature::scalar(1.0, 0.0).with_spread(0.0);
        let at = length(&sure, &Target::Empirical);
        assert!(length(&Curvature::scalar(1.0, 0.1).with_spread(0.0), &Target::Empirical) > 1.01 * at);
        assert!(length(&Curvature::scalar(1.0, 0.0), &Target::Empirical) > 1.01 * at);
        let matrix = |sd: f64| Curvature::matrix(coupled(), sd, sd / 2f64.sqrt());
        assert!(length(&matrix(0.1), &Target::Empirical) > 1.01 * length(&matrix(0.0), &Target::Empirical));
        let known = length(&sure, &population(3.0, 0.0));
        assert!(known > at && length(&sure, &population(3.0, 3.0)) > 1.01 * known);
    }

    #[test]
    fn the_same_releases_give_the_same_interval() {
        let run = quadratic(&coupled(), &OPT, 10, 0.05);
        let once = || {
            let curvature = Curvature::matrix(coupled(), 0.1, 0.07);
            newton(&run, &curvature, &population(3.0, 0.1), &Contrast::coordinates(3), 0.95)
        };
        assert_eq!(once(), once());
    }

    #[test]
    fn a_direction_below_twice_its_noise_is_not_identified() {
        let matrix = Mat::from_fn(2, 2, |j, k| if j != k { 0.0 } else { [4.0, 0.1][j] });
        let run = quadratic(&matrix, &OPT[..2], 10, 0.05);
        let curvature = Curvature::matrix(matrix, 0.1, 0.1 / 2f64.sqrt());
        let mixed = Contrast { weights: vec![1.0, 1.0], offset: 0.0 };
        let contrasts = [Contrast::coordinate(0, 2), Contrast::coordinate(1, 2), mixed];
        let found = newton(&run, &curvature, &Target::Empirical, &contrasts, 0.95).unwrap();
        assert_eq!(found.iter().map(|i| i.identified).collect::<Vec<_>>(), [true, false, false]);
        assert!(found.iter().all(|i| i.estimate.is_finite() && i.length().is_finite()));
    }

    #[test]
    fn a_release_drowned_in_noise_gives_finite_numbers() {
        let run = quadratic(&coupled(), &OPT, 10, 0.05);
        let drowned = Mat::from_fn(3, 3, |j, k| if j == k { [0.2, -3.0, 4.0][j] } else { 2.5 });
        let curvature = Curvature::matrix(drowned, 3.0, 3.0 / 2f64.sqrt());
        for interval in newton(&run, &curvature, &population(-1.0, 5.0), &Contrast::coordinates(3), 0.95).unwrap() {
            assert!(!interval.identified && interval.estimate.is_finite() && interval.length().is_finite());
        }
    }

    #[test]
    fn a_column_that_does_not_vary_is_not_identified() {
        let matrix = Mat::from_fn(2, 2, |j, k| if j == k && j == 0 { 1.0 } else { 0.0 });
        let run = quadratic(&matrix, &OPT[..2], 10, 0.05);
        let curvature = Curvature::matrix(matrix, 0.0, 0.0);
        let found = newton(&run, &curvature, &Target::Empirical, &Contrast::coordinates(2), 0.95).unwrap();
        assert!(found[0].identified && !found[1].identified);
        assert!(found.iter().all(|i| i.estimate.is_finite() && i.std_error.is_finite()));
    }

    #[test]
    fn wrong_inputs_are_refused_in_one_sentence() {
        let run = quadratic(&coupled(), &OPT, 10, 0.05);
        let good = Curvature::scalar(1.0, 0.1);
        let ask = |curvature: &Curvature, p, level| {
            newton(&run, curvature, &Target::Empirical, &Contrast::coordinates(p), level)
        };
        assert_eq!(ask(&good, 3, 0.0), Err(IntervalError::Level { level: 0.0 }));
        assert!(matches!(ask(&good, 2, 0.95), Err(IntervalError::Features { what: "a contrast", .. })));
        let wide = Curvature::matrix(Mat::identity(4, 4), 0.1, 0.1);
        assert!(matches!(ask(&wide, 3, 0.95), Err(IntervalError::Features { what: "the curvature", .. })));
        let still = Trajectory { theta: vec![vec![0.0; 3]], gradient: vec![], step_size: 0.25, noise_sd: 0.1 };
        let empty = newton(&still, &good, &Target::Empirical, &Contrast::coordinates(3), 0.95);
        assert_eq!(empty, Err(IntervalError::NoSteps));
    }
}
