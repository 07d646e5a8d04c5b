//! Newton intervals, by inversion of a test (Fieller 1954; Anderson and Rubin 1949).
//!
//! At the mean iterate `t` the mean gradient is `g = H (t - opt)` plus noise, so the coefficients
//! `beta` of the columns `B` solve
//!
//! ```text
//! B' (H (t - B beta) - g) = noise
//! ```
//!
//! whatever the curvature `H` is. The released numbers determine `H = M + E` up to `E`
//! ([`Curvature`]). With `A = B'MB` the estimate is `b = A^-1 B' (M t - g)`, `d = t - B b` is the
//! displacement of the descent from it, and for a contrast `c` and `a = B A^-1 c`
//!
//! ```text
//! c'(b - beta) = a' noise - a' E (t - B beta)
//! ```
//!
//! holds exactly. The right side is Gaussian with variance
//! `a' L a + (t - B beta)' Cov(E a) (t - B beta)`, which depends on `beta` itself. The interval is
//! the set of values of `c' beta` that this distribution does not reject; the other coefficients
//! follow along the most likely line, and their uncertainty around that line adds to the noise
//! ([`Apart`]). The interval solves one quadratic inequality and holds however weak the curvature
//! is; if the solution is unbounded, the budget cannot identify the contrast. Estimate, interval,
//! p-value and covariance all come from this one object.

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::{
    Contrast, Curvature, Interval, IntervalError, Joint, Sampling, inverse::Apart, sampling::Sampled,
    weights::Transient,
};
use super::{check_contrasts, check_features, check_not_negative, check_positive, check_run};
use crate::{
    descend::Trajectory,
    matrix::{Eigen, by_row, columns, dot, inverse, quadratic, times, transposed_times},
};

/// The estimated parameters: which of the standardised ones, and how they determine the coordinates
/// of the descent.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    /// The number of standardised parameters.
    pub parameters: usize,
    /// Those in the model, ascending; the others are zero.
    pub kept: Vec<usize>,
    /// One column for each kept parameter: its unit vector in the coordinates of the descent.
    pub basis: Mat<f64>,
}

impl Coordinates {
    /// For a descent in the standardised parameters themselves, with all of them kept.
    pub fn identity(parameters: usize) -> Self {
        Coordinates { parameters, kept: (0..parameters).collect(), basis: Mat::identity(parameters, parameters) }
    }

    /// Only some of the kept columns, given by their positions among them.
    pub(crate) fn only(&self, places: &[usize]) -> Self {
        let kept = places.iter().map(|&place| self.kept[place]).collect();
        Coordinates { parameters: self.parameters, kept, basis: columns(&self.basis, places) }
    }
}

/// How much gradients vary along a parameter, in units of what the curvature implies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpreadRatio {
    /// The standardised parameter.
    pub parameter: usize,
    pub value: f64,
    /// The standard deviations of what the noise of gradients, and that of the curvature, add to
    /// it.
    pub of_spread_sd: f64,
    pub of_curvature_sd: f64,
    /// That of what the draw of the rows adds, at most, for each unit of length of the longest row.
    pub sampling_sd: f64,
}

/// The same along each kept parameter, and on average over all directions.
pub(crate) struct SpreadRatios {
    pub of_parameters: Vec<SpreadRatio>,
    pub mean: f64,
    /// The standard deviation of what the noise of gradients adds to the mean.
    pub mean_sd: f64,
}

/// The inputs of Newton intervals: released and public numbers, in coordinates in which the entries
/// of the curvature are independent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Newton {
    pub(super) parameters: usize,
    pub(super) kept: Vec<usize>,
    /// The estimates of the kept parameters.
    pub(super) estimate: Vec<f64>,
    /// `B`.
    #[serde(with = "by_row")]
    pub(super) basis: Mat<f64>,
    /// `d`.
    pub(super) displacement: Vec<f64>,
    /// `L`: the covariance that privacy and sampling add to the mean gradient.
    #[serde(with = "by_row")]
    pub(super) noise: Mat<f64>,
    /// `D`: the estimate of `a' L a` has noise of standard deviation `a' D a`.
    #[serde(with = "by_row", alias = "noise_doubt")]
    pub(super) noise_uncertainty: Mat<f64>,
    /// The variance that privacy adds to each coordinate; empty in fits of versions that did not
    /// store it separately.
    #[serde(default)]
    pub(super) privacy: Vec<f64>,
    /// `M` and the standard deviations of the entries of `E`.
    #[serde(with = "by_row")]
    pub(super) curvature: Mat<f64>,
    #[serde(with = "by_row")]
    pub(super) entry_sd: Mat<f64>,
    pub(super) scale_sd: f64,
    /// Standardised parameters that were not estimated, or whose estimates must not be printed: no
    /// contrast that depends on one is identified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) withheld: Vec<usize>,
}

impl Newton {
    /// From a run, the curvature along it, and the sampling covariance if the population is the
    /// target.
    ///
    /// # Errors
    /// When the run has no steps, an input is for another number of features, or a number that must
    /// be positive is not.
    pub fn new(
        run: &Trajectory,
        coordinates: &Coordinates,
        curvature: &Curvature,
        sampling: Option<&Sampling>,
    ) -> Result<Newton, IntervalError> {
        let p = check_run(run)?;
        check_positive("the step size", run.step_size)?;
        check_not_negative("the standard deviation of the noise", run.noise_sd)?;
        check_features("the curvature", p, curvature.features())?;
        check_features("the basis", p, coordinates.basis.nrows())?;
        let averages = Averages::of(run, curvature);
        let Sampled { covariance: mut noise, uncertainty: noise_uncertainty } = match sampling {
            Some(sampling) => sampling.covariance(curvature)?,
            None => Sampled { covariance: Mat::zeros(p, p), uncertainty: Mat::zeros(p, p) },
        };
        (0..p).for_each(|j| noise[(j, j)] += averages.noise_var);
        let basis = curvature.axes.transpose() * &coordinates.basis;
        let (theta, gradient) = (curvature.turned(&averages.theta), curvature.turned(&averages.gradient));
        let inverse = inverse(&(basis.transpose() * &curvature.mean * &basis));
        let moved: Vec<f64> = times(&curvature.mean, &theta).iter().zip(&gradient).map(|(m, g)| m - g).collect();
        let estimate = times(&inverse, &transposed_times(&basis, &moved));
        let displacement = theta.iter().zip(times(&basis, &estimate)).map(|(t, b)| t - b).collect();
        Ok(Newton {
            parameters: coordinates.parameters,
            kept: coordinates.kept.clone(),
            estimate,
            basis,
            displacement,
            noise,
            noise_uncertainty,
            privacy: vec![averages.noise_var; p],
            curvature: curvature.mean.clone(),
            entry_sd: curvature.entry_sd.clone(),
            scale_sd: curvature.scale_sd,
            withheld: Vec::new(),
        })
    }

    /// The same without a number for some parameters, and for what depends on them.
    pub(crate) fn withholding(self, parameters: Vec<usize>) -> Newton {
        Newton { withheld: parameters, ..self }
    }

    /// The same as one of `parameters` parameters, of which `placed` tells the places of those that
    /// these are: others stay withheld.
    pub(crate) fn placed(self, parameters: usize, placed: impl Fn(usize) -> Option<usize>) -> Newton {
        let kept: Vec<usize> = self.kept.iter().map(|&j| placed(j).expect("what is estimated has a place")).collect();
        let withheld = (0..parameters).filter(|j| !kept.contains(j)).collect();
        Newton { parameters, kept, withheld, ..self }
    }

    /// The estimates of all standardised parameters; zero for those not in the model.
    pub fn parameters(&self) -> Vec<f64> {
        let mut theta = vec![0.0; self.parameters];
        self.kept.iter().zip(&self.estimate).for_each(|(&j, value)| theta[j] = *value);
        theta
    }

    /// One interval for each contrast of the standardised parameters. Parameters not in the model
    /// count as zero; a contrast of only these is not identified.
    ///
    /// # Errors
    /// When a contrast is for another number of features.
    pub(crate) fn intervals(&self, contrasts: &[Contrast], level: f64) -> Result<Vec<Interval>, IntervalError> {
        check_contrasts(contrasts, self.parameters)?;
        let solved = Solved::of(self);
        Ok(contrasts.iter().map(|contrast| solved.interval(contrast, level)).collect())
    }

    /// The test that all contrasts are zero. Parameters not in the model count as zero.
    ///
    /// # Errors
    /// When a contrast is for another number of features, or contrasts are not independent.
    pub(super) fn joint(&self, contrasts: &[Contrast]) -> Result<Joint, IntervalError> {
        check_contrasts(contrasts, self.parameters)?;
        Solved::of(self).joint(contrasts)
    }

    /// The estimate in the coordinates that it was made in.
    pub(crate) fn in_coordinates(&self, coordinates: &Coordinates) -> Vec<f64> {
        times(&coordinates.basis, &self.estimate)
    }

    /// The largest standard error of a direction of length one in other coordinates: `basis` has a
    /// column there for each kept parameter.
    pub(crate) fn largest_error(&self, basis: &Mat<f64>) -> f64 {
        let covariance = basis * self.covariance() * basis.transpose();
        let found = Eigen::of(covariance.as_ref());
        found.and_then(|found| found.values.last().copied()).map_or(f64::INFINITY, |most| most.max(0.0).sqrt())
    }

    /// The same with what sampling adds as it was released, which may be less than nothing.
    pub(crate) fn with_released(self, sampling: &Sampling, curvature: &Curvature) -> Newton {
        let Some(mut noise) = sampling.as_released(curvature) else { return self };
        self.privacy.iter().enumerate().for_each(|(j, variance)| noise[(j, j)] += variance);
        Newton { noise, ..self }
    }

    /// What the gradients of `rows` rows vary by, in units of what the curvature implies. For a
    /// likelihood the two are equal (White 1982): along each kept parameter, `a' V a = a' H a` for
    /// `a = B A^-1 e`, and on average over all directions, `tr(A^-1 B'VB)` is their number.
    pub(crate) fn spread_ratios(&self, rows: u64) -> SpreadRatios {
        let (solved, rows) = (Solved::of(self), rows as f64);
        let p = self.privacy.len();
        let sampling = Mat::from_fn(p, p, |j, k| self.noise[(j, k)] - if j == k { self.privacy[j] } else { 0.0 });
        let ratio = |place: usize| {
            let unit: Vec<f64> = (0..self.kept.len()).map(|k| f64::from(u8::from(k == place))).collect();
            let (a, implied) = (times(&self.basis, &times(&solved.inverse, &unit)), solved.inverse[(place, place)]);
            SpreadRatio {
                parameter: self.kept[place],
                value: quadratic(&sampling, &a) * rows / implied,
                of_spread_sd: quadratic(&self.noise_uncertainty, &a) * rows / implied,
                // In `e' A^-1 V A^-1 e / e' A^-1 e` the curvature is once more below than above.
                of_curvature_sd: solved.law.covariance_form(&a, &a, &a).max(0.0).sqrt() / implied,
                sampling_sd: (dot(&a, &a) / implied / rows).sqrt(),
            }
        };
        let whole = &self.basis * &solved.inverse * self.basis.transpose();
        let (mut mean, mut variance) = (0.0, 0.0);
        for (j, k) in (0..p).flat_map(|j| (0..p).map(move |k| (j, k))) {
            mean += whole[(j, k)] * sampling[(j, k)];
            variance += whole[(j, k)].powi(2) * self.noise_uncertainty[(j, j)] * self.noise_uncertainty[(k, k)];
        }
        let per_direction = rows / self.kept.len() as f64;
        SpreadRatios {
            of_parameters: (0..self.kept.len()).map(ratio).collect(),
            mean: mean * per_direction,
            mean_sd: variance.sqrt() * per_direction,
        }
    }

    /// The covariance of the kept parameters' estimates.
    pub fn covariance(&self) -> Mat<f64> {
        let solved = Solved::of(self);
        &solved.inverse * (self.basis.transpose() * &solved.total * &self.basis) * &solved.inverse
    }

    /// The covariance of all standardised parameters' estimates; zero for those not in the model.
    pub(crate) fn covariance_of_all(&self) -> Mat<f64> {
        let (kept, mut all) = (self.covariance(), Mat::zeros(self.parameters, self.parameters));
        for (row, &j) in self.kept.iter().enumerate() {
            self.kept.iter().enumerate().for_each(|(column, &k)| all[(j, k)] = kept[(row, column)]);
        }
        all
    }

    /// Whether every part is for `parameters` standardised parameters and for one number of
    /// coordinates.
    pub(super) fn is_for(&self, parameters: usize) -> bool {
        let (p, kept) = (self.displacement.len(), self.kept.len());
        let is = |matrix: &Mat<f64>, columns: usize| (matrix.nrows(), matrix.ncols()) == (p, columns);
        let ascend = self.kept.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range = self.kept.last().is_some_and(|&last| last < parameters);
        self.parameters == parameters
            && (ascend && in_range && self.estimate.len() == kept && kept <= p)
            && self.withheld.iter().all(|&withheld| withheld < parameters)
            && (self.privacy.is_empty() || self.privacy.len() == p)
            && (is(&self.basis, kept)
                && is(&self.noise, p)
                && is(&self.noise_uncertainty, p)
                && is(&self.curvature, p)
                && is(&self.entry_sd, p))
    }
}

/// Shared by all contrasts.
struct Solved<'a> {
    of: &'a Newton,
    law: Curvature,
    /// `A^-1`.
    inverse: Mat<f64>,
    /// The variances of `B b` around `B beta`.
    apart: Apart,
    /// `L + Cov(E d)`, plus the contribution of `B (b - beta)`.
    total: Mat<f64>,
}

impl<'a> Solved<'a> {
    fn of(newton: &'a Newton) -> Self {
        let p = newton.displacement.len();
        let law = Curvature {
            axes: Mat::identity(p, p),
            mean: newton.curvature.clone(),
            entry_sd: newton.entry_sd.clone(),
            scale_sd: newton.scale_sd,
            misfit: 0.0,
        };
        let inverse = inverse(&(newton.basis.transpose() * &newton.curvature * &newton.basis));
        let seen = &newton.noise + law.covariance_times(&newton.displacement);
        let apart = Apart::of(&law, &(&newton.basis * &inverse * newton.basis.transpose()), &seen);
        let total = seen + law.covariance_of_product(&apart.variances);
        Solved { of: newton, law, inverse, apart, total }
    }

    /// The covariance from the uncertainty of the coefficients around the line, or plane, of the
    /// most likely ones for each value of some contrasts: `along` is `B w` and `per_unit` the
    /// inverse of `C'w` as below.
    fn off_the_line(&self, along: &Mat<f64>, per_unit: &Mat<f64>) -> Mat<f64> {
        let on = along * per_unit * along.transpose();
        let off = |j: usize| (self.apart.variances[j] - on[(j, j)]).max(0.0);
        self.law.covariance_of_product(&(0..on.nrows()).map(off).collect::<Vec<f64>>())
    }

    fn interval(&self, contrast: &Contrast, level: f64) -> Interval {
        let Newton { kept, estimate, basis, displacement, noise, .. } = self.of;
        let weights: Vec<f64> = kept.iter().map(|&j| contrast.weights[j]).collect();
        let a = times(basis, &times(&self.inverse, &weights));
        // The most likely coefficients for a contrast that is larger by 1: along `w / c'w`,
        // `w = A^-1 B' Omega a`.
        let along = times(&self.inverse, &transposed_times(basis, &times(&self.total, &a)));
        let per_unit = dot(&weights, &along);
        let along = times(basis, &along);
        let off = self.off_the_line(&column(&along), &Mat::full(1, 1, 1.0 / per_unit));
        let shift: Vec<f64> = along.iter().map(|b| -b / per_unit).collect();
        let form = |d: &[f64], e: &[f64]| self.law.covariance_form(&a, d, e);
        let variance = [
            quadratic(noise, &a) + quadratic(&off, &a) + form(displacement, displacement),
            2.0 * form(displacement, &shift),
            form(&shift, &shift),
        ];
        let freedom = self.freedom(&column(&a));
        let found = Interval::by_inversion(contrast.offset + dot(&weights, estimate), variance, freedom, level);
        let is_withheld = self.of.withheld.iter().any(|&j| contrast.weights[j] != 0.0);
        found.with(per_unit.sqrt(), self.apart.is_lost || is_withheld)
    }
}

impl Solved<'_> {
    /// As [`interval`](Self::interval), for several contrasts at one value of each: with the
    /// contrasts `C` and `a = B A^-1 C`, `C'(b - beta)` is Gaussian with covariance
    /// `a' (L + Cov(E (t - B beta))) a`, at the most likely `beta` for which all of them are zero.
    fn joint(&self, contrasts: &[Contrast]) -> Result<Joint, IntervalError> {
        let Newton { kept, basis, displacement, noise, .. } = self.of;
        let parameters = self.of.parameters();
        let weights = Mat::from_fn(kept.len(), contrasts.len(), |j, k| contrasts[k].weights[kept[j]]);
        let apart: Vec<f64> = contrasts.iter().map(|contrast| contrast.of(&parameters)).collect();
        let a = basis * (&self.inverse * &weights);
        let along = &self.inverse * (basis.transpose() * (&self.total * &a));
        let per_unit = inverse(&(weights.transpose() * &along));
        let along = basis * along;
        let shift = times(&along, &times(&per_unit, &apart));
        let moved: Vec<f64> = displacement.iter().zip(&shift).map(|(d, shift)| d + shift).collect();
        let off = self.off_the_line(&along, &per_unit);
        let covariance = a.transpose() * (noise + off + self.law.covariance_times(&moved)) * &a;
        Joint::of(&apart, &covariance, self.freedom(&a))
    }

    /// The degrees of freedom with which the covariance `a' (L + Cov(E d)) a` is known; infinite if
    /// it is known exactly.
    ///
    /// A variance with noise of variance `v` times its square is as precise as one estimated with
    /// `2 / v` degrees of freedom (Satterthwaite 1946). Symmetric noise, smaller by a factor
    /// `sqrt 2` off the diagonal, is that of a Wishart matrix, so several contrasts share one
    /// distribution.
    fn freedom(&self, a: &Mat<f64>) -> f64 {
        let relative = inverse(&(a.transpose() * &self.total * a)) * (a.transpose() * &self.of.noise_uncertainty * a);
        let q = a.ncols();
        let entries = (0..q).flat_map(|j| (0..q).map(move |k| (j, k)));
        let variance = entries.map(|(j, k)| relative[(j, k)] * relative[(k, j)]).sum::<f64>() / q as f64;
        2.0 / variance
    }
}

fn column(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |j, _| values[j])
}

/// Weighted means over the steps, and the variance of the noise in the mean gradient.
struct Averages {
    theta: Vec<f64>,
    gradient: Vec<f64>,
    noise_var: f64,
}

impl Averages {
    fn of(run: &Trajectory, curvature: &Curvature) -> Self {
        let transient = Transient {
            noise_sd: run.noise_sd,
            step_size: run.step_size,
            curvature: curvature.level(),
            misfit: curvature.misfit,
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

/// The squared distance, per coordinate, from the start to the mean of the second half of the
/// iterates.
fn start_distance_sq(run: &Trajectory) -> f64 {
    let late = &run.theta[run.theta.len() / 2..];
    let end = weighted(late, &vec![1.0 / late.len() as f64; late.len()]);
    let squares = run.theta[0].iter().zip(&end).map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>() / end.len() as f64
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::super::{Inference, simulate::normal};
    use super::*;
    use crate::matrix::diagonal;

    /// A run without noise on a quadratic of curvature `h` with its optimum at `opt`; `noise_sd` is
    /// only claimed.
    fn quadratic_run(h: &Mat<f64>, opt: &[f64], steps: usize, noise_sd: f64) -> Trajectory {
        let (mut theta, mut gradient) = (vec![vec![0.0; opt.len()]], Vec::new());
        for t in 0..steps {
            let apart: Vec<f64> = theta[t].iter().zip(opt).map(|(theta, opt)| theta - opt).collect();
            let g = times(h, &apart);
            theta.push(theta[t].iter().zip(&g).map(|(x, g)| x - 0.25 * g).collect());
            gradient.push(g);
        }
        Trajectory { theta, gradient, step_size: 0.25, noise_sd }
    }

    fn coupled() -> Mat<f64> {
        Mat::from_fn(3, 3, |j, k| if j == k { 1.0 + 0.2 * j as f64 } else { 0.3 })
    }

    const OPT: [f64; 3] = [1.0, -2.0, 0.5];

    fn newton(run: &Trajectory, curvature: Curvature, sampling: Option<&Sampling>) -> Newton {
        Newton::new(run, &Coordinates::identity(curvature.features()), &curvature, sampling).unwrap()
    }

    #[test]
    fn a_quadratic_is_solved_from_the_first_step() {
        let contrasts = [Contrast::coordinate(1, 3), Contrast { weights: vec![1.0, 1.0, -1.0], offset: 10.0 }];
        for steps in [1, 2, 10] {
            let run = quadratic_run(&coupled(), &OPT, steps, 0.1);
            let found =
                newton(&run, Curvature::released(coupled(), 0.0).unwrap(), None).intervals(&contrasts, 0.9).unwrap();
            assert!((found[0].estimate + 2.0).abs() < 1e-10, "after {steps} steps");
            assert!((found[1].estimate - 8.5).abs() < 1e-10);
        }
    }

    #[test]
    fn a_certain_scalar_gives_the_textbook_error() {
        let run = quadratic_run(&Mat::identity(3, 3), &OPT, 25, 0.2);
        let sure = Curvature::scalar(2.0, 0.0, 3).unwrap().with_spread(0.0);
        let all = Contrast::coordinates(3);
        let found = newton(&run, sure.clone(), None).intervals(&all, 0.95).unwrap();
        assert!((found[0].std_error - 0.2 / (5.0 * 2.0)).abs() < 1e-12);
        let sampling = Sampling::from_trace(400, 3.0, 0.0).unwrap();
        let both = newton(&run, sure, Some(&sampling)).intervals(&all, 0.95).unwrap();
        assert!((both[0].std_error.powi(2) - found[0].std_error.powi(2) - 1.0 / (400.0 * 4.0)).abs() < 1e-12);
        assert_eq!((both[0].df, both[0].identified), (None, true));
    }

    /// A spread of `v` where the curvature is `c` is `v / c` times as large, less than nothing too
    /// where it was released as that; over all directions the noise of one is divided by the root
    /// of their number.
    #[test]
    fn ratios_are_those_of_what_was_released() {
        let run = quadratic_run(&Mat::identity(4, 4), &[0.0; 4], 1, 0.2);
        let law = Curvature::released(diagonal(&[2.0; 4]), 0.0).unwrap();
        let sampling = Sampling::from_matrix(400, diagonal(&[2.0, 1.0, 3.0, -0.4]), 0.5).unwrap();
        let positive = newton(&run, law.clone(), Some(&sampling));
        let ratios = positive.clone().with_released(&sampling, &law).spread_ratios(400);
        let values: Vec<f64> = ratios.of_parameters.iter().map(|one| one.value).collect();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        values.iter().zip([1.0, 0.5, 1.5, -0.2]).for_each(|(found, expected)| near(*found, expected));
        near(positive.spread_ratios(400).of_parameters[3].value, 0.0);
        ratios.of_parameters.iter().for_each(|one| near(one.of_spread_sd, 0.25));
        near(ratios.mean, 0.7);
        near(ratios.mean_sd, 0.125);
    }

    /// One coefficient: `h` observed as `m` with noise `s`, the mean iterate at `t`, its gradient
    /// `g` with noise `l`. The ends solve Fieller's
    /// `(m (t - b) - g)^2 = z^2 (l^2 + s^2 (t - b)^2)`, found here by bisection.
    #[test]
    fn one_coefficient_is_fiellers_ratio() {
        let (m, s, t, g, l) = (0.9, 0.2, 1.3, 0.4, 0.05);
        let run = Trajectory { theta: vec![vec![t]; 2], gradient: vec![vec![g]], step_size: 0.5, noise_sd: l };
        let found = newton(&run, Curvature::released(diagonal(&[m]), s).unwrap(), None);
        let one = found.intervals(&[Contrast::coordinate(0, 1)], 0.95).unwrap().remove(0);
        let z = super::super::interval::normal_quantile(0.95);
        let rejected = |b: f64| (m * (t - b) - g).powi(2) > z * z * (l * l + s * s * (t - b).powi(2));
        assert!(one.identified && (one.estimate - (t - g / m)).abs() < 1e-12);
        for (inside, outside) in [(one.low + 1e-9, one.low - 1e-9), (one.high - 1e-9, one.high + 1e-9)] {
            assert!(!rejected(inside) && rejected(outside), "{one:?}");
        }
        // The far side of the estimate, where the curvature may be smaller, is longer.
        assert!(one.estimate - one.low > one.high - one.estimate);
    }

    /// The interval at a level and the p-value of a null agree, symmetric or not.
    #[test]
    fn a_p_value_is_below_the_level_exactly_outside_the_interval() {
        let run = quadratic_run(&coupled(), &OPT, 2, 0.2);
        let found = newton(&run, Curvature::released(coupled(), 0.15).unwrap(), None);
        for level in [0.5, 0.9, 0.95, 0.99] {
            for one in found.intervals(&Contrast::coordinates(3), level).unwrap() {
                assert!((one.p_value(one.low) - (1.0 - level)).abs() < 1e-9, "{level} {one:?}");
                assert!((one.p_value(one.high) - (1.0 - level)).abs() < 1e-9, "{level} {one:?}");
                assert!(one.covers(one.estimate) && one.identified);
            }
        }
    }

    #[test]
    fn a_joint_test_of_one_contrast_is_the_test_that_its_interval_inverts() {
        let run = quadratic_run(&coupled(), &OPT, 3, 0.3);
        let found = newton(&run, Curvature::of_scaled_columns(coupled(), 0.2).unwrap(), None);
        let contrast = Contrast { weights: vec![1.0, -2.0, 0.5], offset: 0.3 };
        let interval = found.intervals(std::slice::from_ref(&contrast), 0.95).unwrap().remove(0);
        for null in [interval.low, 0.0, interval.high, 7.0] {
            let moved = Contrast { offset: contrast.offset - null, ..contrast.clone() };
            let joint = found.joint(&[moved]).unwrap();
            assert!((joint.statistic / interval.score(null).powi(2) - 1.0).abs() < 1e-9, "{null} {joint:?}");
            assert!((joint.p_value - interval.p_value(null)).abs() < 1e-9);
        }
    }

    /// Equivalent hypotheses give the same test: `a = 0, b = 0` is `a + b = 0, a - 2b = 0`.
    #[test]
    fn a_joint_test_depends_on_the_hypothesis_and_not_on_how_it_is_written() {
        let run = quadratic_run(&coupled(), &OPT, 3, 0.3);
        let found = newton(&run, Curvature::of_scaled_columns(coupled(), 0.2).unwrap(), None);
        let of = |rows: [[f64; 3]; 2]| {
            let contrasts = rows.map(|row| Contrast { weights: row.to_vec(), offset: 0.0 });
            found.joint(&contrasts).unwrap().statistic
        };
        let one = of([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        assert!((of([[1.0, 1.0, 0.0], [1.0, -2.0, 0.0]]) / one - 1.0).abs() < 1e-9 && one > 0.1, "{one}");
    }

    /// The other coefficient is not identified either: the unknown part of one is in the gradient
    /// of the other, as far as they may be correlated.
    #[test]
    fn a_curvature_lost_in_noise_identifies_nothing_at_any_level() {
        let run = quadratic_run(&Mat::identity(2, 2), &[1.0, -1.0], 5, 0.1);
        let found = newton(&run, Curvature::released(diagonal(&[1.0, 0.1]), 0.1).unwrap(), None);
        for level in [0.5, 0.95, 0.999] {
            let both = found.intervals(&Contrast::coordinates(2), level).unwrap();
            assert_eq!([both[0].identified, both[1].identified], [false, false], "{level}");
        }
    }

    /// Without the third parameter the others are those of the smaller regression:
    /// `b = A^-1 B' H opt`.
    #[test]
    fn what_is_not_kept_is_zero_and_the_others_are_those_of_the_smaller_model() {
        let run = quadratic_run(&coupled(), &OPT, 3, 0.1);
        let smaller = Coordinates::identity(3).only(&[0, 1]);
        let found = Newton::new(&run, &smaller, &Curvature::released(coupled(), 0.0).unwrap(), None).unwrap();
        let image = times(&coupled(), &OPT);
        let block = Mat::from_fn(2, 2, |j, k| coupled()[(j, k)]);
        let expected = times(&inverse(&block), &image[..2]);
        let theta = found.parameters();
        assert!((theta[0] - expected[0]).abs() < 1e-10 && (theta[1] - expected[1]).abs() < 1e-10 && theta[2] == 0.0);
        let of = |j: usize| found.intervals(&[Contrast::coordinate(j, 3)], 0.95).unwrap().remove(0);
        assert!(of(0).identified && !of(2).identified);
    }

    #[test]
    fn the_covariance_has_the_squares_of_the_standard_errors() {
        let run = quadratic_run(&coupled(), &OPT, 2, 0.2);
        let found = newton(&run, Curvature::of_scaled_columns(coupled(), 0.1).unwrap(), None);
        let (covariance, all) = (found.covariance(), found.intervals(&Contrast::coordinates(3), 0.95).unwrap());
        assert!((0..3).all(|j| (covariance[(j, j)].sqrt() - all[j].std_error).abs() < 1e-12));
    }

    #[test]
    fn an_inference_survives_being_written() {
        let run = quadratic_run(&coupled(), &OPT, 2, 0.2);
        let inference = Inference::from(newton(&run, Curvature::of_scaled_columns(coupled(), 0.1).unwrap(), None));
        let written = serde_json::to_string(&inference).unwrap();
        let read: Inference = serde_json::from_str(&written).unwrap();
        let intervals = |one: &Inference| one.intervals(&Contrast::coordinates(3), 0.8).unwrap();
        for (a, b) in intervals(&inference).iter().zip(intervals(&read)) {
            assert!((a.low - b.low).abs() < 1e-12 && (a.high - b.high).abs() < 1e-12);
        }
    }

    #[test]
    fn wrong_inputs_are_refused() {
        let run = quadratic_run(&coupled(), &OPT, 2, 0.1);
        let narrow = Curvature::scalar(1.0, 0.0, 2).unwrap();
        assert!(matches!(
            Newton::new(&run, &Coordinates::identity(2), &narrow, None),
            Err(IntervalError::Features { expected: 3, found: 2, .. })
        ));
        let empty = Trajectory { gradient: vec![], theta: vec![vec![0.0; 3]], ..run };
        let curvature = Curvature::scalar(1.0, 0.0, 3).unwrap();
        let refused = Newton::new(&empty, &Coordinates::identity(3), &curvature, None);
        assert!(matches!(refused, Err(IntervalError::NoSteps)));
    }

    /// The error variance is three times as large along one direction, and released with noise of
    /// four tenths: intervals and the joint test cover in each direction. With the Gaussian
    /// quantile two of them would be at 93.5 %; the noise is Gaussian rather than chi-square, so
    /// the correction is slightly too large.
    ///
    /// 20,000 worlds; the lower bound at 95 % has a false-alarm rate of one in a million, at 4.9
    /// standard errors of 0.0016.
    #[test]
    fn a_covariance_known_up_to_noise_covers_in_every_direction() {
        let (worlds, mut rng) = (20_000, ChaCha8Rng::seed_from_u64(11));
        let (spread, noise_sd, privacy_sd) = ([1.0f64, 1.0, 3.0], 0.4, 0.5);
        let contrasts: Vec<Contrast> = (0..3).map(|j| Contrast::coordinate(j, 3)).collect();
        let (mut covered, mut kept) = ([0; 3], 0);
        for _ in 0..worlds {
            let gradient =
                spread.iter().map(|variance| (variance + privacy_sd * privacy_sd).sqrt() * normal(&mut rng)).collect();
            let run = Trajectory {
                theta: vec![vec![0.0; 3]; 2],
                gradient: vec![gradient],
                step_size: 0.5,
                noise_sd: privacy_sd,
            };
            let draws = Mat::from_fn(3, 3, |_, _| noise_sd * normal(&mut rng));
            let entry = |j: usize, k: usize| match j == k {
                true => spread[j] + draws[(j, j)],
                false => draws[(j.max(k), j.min(k))] / 2f64.sqrt(),
            };
            let sampling = Sampling::from_matrix(1, Mat::from_fn(3, 3, entry), noise_sd).unwrap();
            let exact = Curvature::scalar(1.0, 0.0, 3).unwrap();
            let inference = Inference::from(newton(&run, exact, Some(&sampling)));
            let found = inference.intervals(&contrasts, 0.95).unwrap();
            covered.iter_mut().zip(&found).for_each(|(count, one)| *count += u32::from(one.covers(0.0)));
            kept += u32::from(inference.joint(&contrasts).unwrap().p_value > 0.05);
        }
        let share = |count: u32| f64::from(count) / f64::from(worlds);
        assert!(covered.iter().all(|&count| (0.942..0.967).contains(&share(count))), "{covered:?}");
        assert!((0.942..0.967).contains(&share(kept)), "{}", share(kept));
    }
}
