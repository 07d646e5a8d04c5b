//! The estimated curvature `H`, the derivative of the mean clipped gradient near its root.

use super::{
    IntervalError, check_features, check_not_negative, check_positive, check_run, eigenvalues::without_noise,
    inverse::of_mean_inverse,
};
use crate::{
    descend::Trajectory,
    matrix::{Eigen, diagonal, dot, quadratic, times, transposed_times},
    theory::student::normal_cdf,
};
use faer::Mat;

/// The conditional distribution of the curvature `H` given the releases: `H = mean + E`. In the
/// coordinates `axes`, the entries of the symmetric `E` are Gaussian and independent (except that
/// `E_jk = E_kj`); a common factor is uncertain as well.
///
/// Without clipping `H` is the second-moment matrix of the features; with clipping only unclipped
/// rows count. In standardised and in whitened units it is near a multiple of the identity.
#[derive(Clone, Debug, PartialEq)]
pub struct Curvature {
    /// Orthonormal coordinates, one per column.
    pub(super) axes: Mat<f64>,
    /// The mean, in those coordinates.
    pub(super) mean: Mat<f64>,
    /// The standard deviations of the entries, in those coordinates.
    pub(super) entry_sd: Mat<f64>,
    /// The relative standard deviation of the common factor.
    pub(super) scale_sd: f64,
    /// The relative error allowed in `H` for the remaining effect of the start on the iterates; it
    /// enters the weights of the steps.
    pub(super) misfit: f64,
}

/// The allowance for features that are correlated or not exactly of unit variance when only a
/// scalar was released.
pub(super) const DEFAULT_SPREAD: f64 = 0.2;
/// The allowance, in the weights of the steps only, for a gradient that is not linear on the way
/// from the start: the largest that was needed at any clip threshold.
const LARGEST_BEND: f64 = 0.2;
/// The standard deviation of the residuals at the start relative to that at the end; 2 is a
/// response wider than its stated scale.
const RESIDUALS_AT_START: f64 = 2.0;
/// The prior of the curvature: sd around one for columns that are scaled as stated, and for columns
/// that are not.
const SCALED_SD: f64 = 0.02;
const UNSCALED_SD: f64 = 0.5;
/// The prior probability that columns are scaled as stated.
const SCALED_SHARE: f64 = 0.8;
/// The sd of a slope that was not measured: large against any uncertainty about scaling.
const NO_SLOPE_SD: f64 = 1e3;

impl Curvature {
    /// From a matrix released with symmetric noise: sd `noise_sd` on the diagonal, smaller by a
    /// factor `sqrt 2` off it.
    ///
    /// The matrix is used as released. This is right when nothing is known of how directions
    /// differ, and when the noise is small: the distribution of `E` is then exactly that of the
    /// noise.
    ///
    /// # Errors
    /// When the matrix is not square and finite, or the noise is negative.
    pub fn released(matrix: Mat<f64>, noise_sd: f64) -> Result<Self, IntervalError> {
        let p = checked_size(&matrix, noise_sd)?;
        let symmetric = Mat::from_fn(p, p, |j, k| 0.5 * (matrix[(j, k)] + matrix[(k, j)]));
        let entry_sd = Mat::from_fn(p, p, |j, k| if j == k { noise_sd } else { noise_sd / 2f64.sqrt() });
        Ok(Curvature::of_entries(symmetric, entry_sd))
    }

    /// The standard deviations of the entries.
    pub(crate) fn entry_sd(&self) -> &Mat<f64> {
        &self.entry_sd
    }

    /// From the mean and the standard deviation of each entry of a symmetric matrix.
    pub(crate) fn of_entries(mean: Mat<f64>, entry_sd: Mat<f64>) -> Self {
        let p = mean.nrows();
        Curvature { axes: Mat::identity(p, p), mean, entry_sd, scale_sd: 0.0, misfit: LARGEST_BEND }
    }

    /// From a released matrix of columns that public facts call well scaled. The effect of noise on
    /// the eigenvalues is removed, and they are shrunk towards their mean as far as noise explains
    /// their differences. The stored mean is the inverse of the mean inverse, because an estimate's
    /// error involves the inverse of the curvature.
    ///
    /// # Errors
    /// As [`Curvature::released`], and when its trace is not positive and has no noise.
    pub fn of_scaled_columns(matrix: Mat<f64>, noise_sd: f64) -> Result<Self, IntervalError> {
        Curvature::freed_of_noise(matrix, noise_sd, |values| Departure::of(values, noise_sd))
    }

    /// The same for columns of which nothing is known except this matrix: directions differ as it
    /// shows, and are as uncertain as its noise makes them. Noise as large as an eigenvalue leaves
    /// no interval, since correlated columns then look like uncorrelated ones.
    ///
    /// # Errors
    /// As [`Curvature::of_scaled_columns`].
    pub fn of_any_columns(matrix: Mat<f64>, noise_sd: f64) -> Result<Self, IntervalError> {
        Curvature::freed_of_noise(matrix, noise_sd, |_| Departure::AS_RELEASED)
    }

    fn freed_of_noise(
        matrix: Mat<f64>,
        noise_sd: f64,
        departure: impl FnOnce(&[f64]) -> Departure,
    ) -> Result<Self, IntervalError> {
        let released = Curvature::released(matrix, noise_sd)?;
        let Eigen { values, vectors } = Eigen::of(released.mean.as_ref()).ok_or(NOT_FINITE)?;
        let p = values.len();
        // A curvature is positive. A mean below its own noise carries no information, and every
        // direction will be unresolved.
        let level_sd = noise_sd / (p as f64).sqrt();
        let level = mean(&values).max(level_sd);
        check_positive("the trace of the curvature", level)?;
        let departure = departure(&values);
        let values: Vec<f64> =
            without_noise(&values, noise_sd).iter().map(|e| level + departure.seen * (e - level)).collect();
        let entry_sd = left_over(&values, noise_sd, &departure);
        // The noise on the diagonal moves the level too; the common factor only accounts for the
        // rest.
        let moved_sq = (0..p).map(|i| entry_sd[(i, i)].powi(2)).sum::<f64>() / (p * p) as f64;
        let scale_sd = (level_sd.powi(2) - moved_sq).max(0.0).sqrt() / level;
        let misfit = (LARGEST_BEND.powi(2) + entry_sd.squared_norm_l2() / (p as f64 * level * level)).sqrt();
        let mean = diagonal(&of_mean_inverse(&values, &entry_sd));
        Ok(Curvature { axes: vectors, mean, entry_sd, scale_sd, misfit })
    }

    /// One number for all `features` directions: the trace of the curvature over the number of
    /// features, and the standard deviation of its uncertainty. Directions may differ by 20 % (one
    /// standard deviation); [`Curvature::with_spread`] changes that.
    ///
    /// # Errors
    /// When the number is not positive or its uncertainty negative.
    pub fn scalar(value: f64, sd: f64, features: usize) -> Result<Self, IntervalError> {
        check_positive("the curvature", value)?;
        check_not_negative("the uncertainty of the curvature", sd)?;
        let identity = Mat::<f64>::identity(features, features);
        let mean = diagonal(&vec![value; features]);
        let entry_sd = Mat::zeros(features, features);
        let scale_sd = sd / value;
        Ok(Curvature { axes: identity, mean, entry_sd, scale_sd, misfit: 0.0 }.with_spread(DEFAULT_SPREAD))
    }

    /// From the iterates alone: the slope of the gradients on the iterates, shrunk towards one.
    ///
    /// `g_t = H (theta_t - opt) + z_t` with `z_t` independent of `theta_t`, so least squares of `g`
    /// on `theta` estimates the slope. Centring brings in later iterates, which contain `z_t`; the
    /// resulting bias is known and removed. The prior is a mixture of two Gaussians with mean one:
    /// columns are scaled as stated (probability 0.8, sd 0.02) or not (sd 0.5). Directions are
    /// assumed to be alike: a correlated design needs a release, or [`Curvature::with_spread`].
    ///
    /// # Errors
    /// When the run has no steps or its scale is not positive.
    pub fn from_trajectory(run: &Trajectory) -> Result<Self, IntervalError> {
        let features = check_run(run)?;
        check_positive("the step size", run.step_size)?;
        check_positive("the standard deviation of the noise", run.noise_sd)?;
        let (slope, sd) = Slope::of(run).solve().unwrap_or((1.0, NO_SLOPE_SD));
        let (value, sd) = shrunk_to_one(slope, sd);
        Ok(Curvature::scalar(value, sd, features)?.with_spread(0.0))
    }

    /// The same, with eigenvalues that differ between directions by this relative standard
    /// deviation, in unknown ways.
    pub fn with_spread(self, spread: f64) -> Self {
        let p = self.mean.nrows();
        let entry = spread_entry(spread * self.level(), p);
        let entry_sd = Mat::from_fn(p, p, |j, k| if j == k { entry } else { entry / 2f64.sqrt() });
        Curvature { entry_sd, misfit: spread, ..self }
    }

    /// The same for a run whose gradients were clipped at `clip` times the length of a typical one,
    /// which is a typical row's length times the standard deviation of the errors. Under a wide
    /// clip threshold the gradient is linear all the way from the start, so the first steps need no
    /// allowance.
    pub fn with_clip(self, clip: f64) -> Self {
        let uncertain_sq = (self.misfit.powi(2) - LARGEST_BEND.powi(2)).max(0.0);
        Curvature { misfit: (bend_at(clip).powi(2) + uncertain_sq).sqrt(), ..self }
    }

    /// The number of coordinates.
    pub fn features(&self) -> usize {
        self.mean.nrows()
    }

    /// The mean of the eigenvalues.
    pub(super) fn level(&self) -> f64 {
        (0..self.features()).map(|j| self.mean[(j, j)]).sum::<f64>() / self.features() as f64
    }

    /// The largest of the eigenvalues, which are the mean in its axes where those are its own.
    pub(crate) fn largest(&self) -> f64 {
        (0..self.features()).map(|j| self.mean[(j, j)]).fold(0.0, f64::max)
    }

    /// The covariance of `E a`, in the axes, for `a` in the axes.
    ///
    /// Entries are independent except that `E_jk = E_kj`, so `Cov_jj = sum_k sd_jk^2 a_k^2` and
    /// `Cov_jk = sd_jk^2 a_j a_k`; the common factor adds `scale_sd^2 (M a)(M a)'`.
    pub(super) fn covariance_times(&self, a: &[f64]) -> Mat<f64> {
        let along = times(&self.mean, a);
        let own = |j: usize| dot(self.entry_sd.col_as_slice(j), &weighted(self.entry_sd.col_as_slice(j), a));
        Mat::from_fn(a.len(), a.len(), |j, k| {
            let entries = if j == k { own(j) } else { self.entry_sd[(j, k)].powi(2) * a[j] * a[k] };
            entries + self.scale_sd.powi(2) * along[j] * along[k]
        })
    }

    /// `d' Cov(E a) e`, in `O(p^2)`.
    pub(crate) fn covariance_form(&self, a: &[f64], d: &[f64], e: &[f64]) -> f64 {
        let p = a.len();
        let (da, ea): (Vec<f64>, Vec<f64>) = (0..p).map(|j| (d[j] * a[j], e[j] * a[j])).unzip();
        let mut sum = 0.0;
        for j in 0..p {
            let sd = self.entry_sd.col_as_slice(j);
            let (mut own, mut across) = (0.0, 0.0);
            for k in 0..p {
                let variance = sd[k] * sd[k];
                own += variance * a[k] * a[k];
                across += if j == k { 0.0 } else { variance * ea[k] };
            }
            sum += d[j] * e[j] * own + da[j] * across;
        }
        let along = times(&self.mean, a);
        sum + self.scale_sd.powi(2) * dot(d, &along) * dot(e, &along)
    }

    /// The mean, in the axes.
    pub(crate) fn mean(&self) -> &Mat<f64> {
        &self.mean
    }

    /// `v' M v` for a vector in the axes.
    pub(crate) fn quadratic(&self, vector: &[f64]) -> f64 {
        quadratic(&self.mean, vector)
    }

    /// A vector in the coordinates `axes`.
    pub(super) fn turned(&self, vector: &[f64]) -> Vec<f64> {
        transposed_times(&self.axes, vector)
    }
}

fn weighted(sd: &[f64], a: &[f64]) -> Vec<f64> {
    sd.iter().zip(a).map(|(sd, a)| sd * a * a).collect()
}

const NOT_FINITE: IntervalError = IntervalError::Range { what: "every entry of a released matrix", range: "finite" };

fn checked_size(matrix: &Mat<f64>, noise_sd: f64) -> Result<usize, IntervalError> {
    check_features("the curvature", matrix.nrows(), matrix.ncols())?;
    check_not_negative("the noise of the curvature", noise_sd)?;
    if matrix.is_all_finite() { Ok(matrix.nrows()) } else { Err(NOT_FINITE) }
}

/// The relative difference between the curvatures at the start and at the end of a run, for rows of
/// one length and Gaussian residuals; each is a share of unclipped gradients.
pub(crate) fn bend_at(clip: f64) -> f64 {
    let unclipped = |residual_sd: f64| 1.0 - 2.0 * normal_cdf(-clip / residual_sd);
    let (start, end) = (unclipped(RESIDUALS_AT_START), unclipped(1.0));
    ((end - start) / end.max(f64::MIN_POSITIVE)).clamp(0.0, LARGEST_BEND)
}

/// The sums of the regression of gradients on iterates, with one slope for all coordinates.
struct Slope {
    cross: f64,
    square: f64,
    features: f64,
    steps: usize,
    step_size: f64,
    noise_sd: f64,
}

impl Slope {
    fn of(run: &Trajectory) -> Self {
        let (steps, p) = (run.gradient.len(), run.theta[0].len());
        let (mut cross, mut square) = (0.0, 0.0);
        for j in 0..p {
            let centre = run.theta[..steps].iter().map(|theta| theta[j]).sum::<f64>() / steps as f64;
            for (theta, gradient) in run.theta.iter().zip(&run.gradient) {
                cross += (theta[j] - centre) * gradient[j];
                square += (theta[j] - centre).powi(2);
            }
        }
        Slope { cross, square, features: p as f64, steps, step_size: run.step_size, noise_sd: run.noise_sd }
    }

    /// The expected sum of `(theta_t - mean theta) . z_t` at slope `h`: noise feeds back through
    /// the mean of later iterates.
    ///
    /// `theta_s` holds `-eta q^(s-1-t) z_t` for `s > t`, `q = 1 - eta h`.
    fn feedback(&self, h: f64) -> f64 {
        let q = 1.0 - self.step_size * h;
        let (mut power, mut sum) = (1.0, 0.0);
        for lag in 1..self.steps {
            sum += (self.steps - lag) as f64 * power;
            power *= q;
        }
        self.step_size * self.noise_sd.powi(2) * self.features * sum / self.steps as f64
    }

    /// The slope after removal of the feedback, and its standard deviation; `None` for a single
    /// step.
    fn solve(&self) -> Option<(f64, f64)> {
        if self.steps < 2 || self.square <= 0.0 {
            return None;
        }
        // Inside (0, 1/eta] the contraction is in [0, 1), so the fixed point below is a smooth map.
        let within = |h: f64| h.clamp(0.05, 1.0 / self.step_size);
        let mut h = within(1.0);
        for _ in 0..50 {
            h = 0.5 * h + 0.5 * within((self.cross - self.feedback(h)) / self.square);
        }
        Some((h, self.noise_sd / self.square.sqrt()))
    }
}

/// The posterior mean and sd of the slope given its estimate, under the mixture prior.
fn shrunk_to_one(slope: f64, sd: f64) -> (f64, f64) {
    let given = |prior_sd: f64| {
        let (total, gap) = (prior_sd.powi(2) + sd.powi(2), slope - 1.0);
        let evidence = (-gap * gap / (2.0 * total)).exp() / total.sqrt();
        (evidence, 1.0 + gap * prior_sd.powi(2) / total, prior_sd.powi(2) * sd.powi(2) / total)
    };
    let (kept, broken) = (given(SCALED_SD), given(UNSCALED_SD));
    let (keeps, breaks) = (SCALED_SHARE * kept.0, (1.0 - SCALED_SHARE) * broken.0);
    let share = keeps / (keeps + breaks).max(f64::MIN_POSITIVE);
    let mean = share * kept.1 + (1.0 - share) * broken.1;
    let variance = share * kept.2 + (1.0 - share) * broken.2 + share * (1.0 - share) * (kept.1 - broken.1).powi(2);
    (mean.max(0.05), variance.sqrt())
}

/// The sd of a diagonal entry of a symmetric Gaussian matrix whose eigenvalues have standard
/// deviation `spread`.
///
/// Off the diagonal it is smaller by a factor `sqrt 2`.
fn spread_entry(spread: f64, p: usize) -> f64 {
    spread * (2.0 / (p as f64 + 1.0)).sqrt()
}

/// The distance of a released matrix from a multiple of the identity, relative to that expected
/// from noise alone.
struct Departure {
    /// 0 if noise explains all of it, 1 if it explains at most half.
    seen: f64,
    /// The share of the variance of an entry's noise that stays uncertain even if directions look
    /// alike.
    unseen: f64,
}

impl Departure {
    /// What there is to say where nothing is known of the columns.
    const AS_RELEASED: Departure = Departure { seen: 1.0, unseen: 1.0 };

    fn of(values: &[f64], sd: f64) -> Self {
        let p = values.len();
        let level = mean(values);
        let noise = freedom(p) * sd * sd;
        if noise == 0.0 {
            return Departure::AS_RELEASED;
        }
        let found = values.iter().map(|e| (e - level).powi(2)).sum::<f64>().max(noise);
        let seen = (2.0 * (1.0 - noise / found)).min(1.0);
        Departure { seen, unseen: unseen_share(found / noise, sd, level, p) }
    }
}

/// How much directions may still differ when noise explains the observed differences: one standard
/// deviation of the sum of squares, or the allowance for a well-scaled design if that is less.
fn unseen_share(found_over_noise: f64, sd: f64, level: f64, p: usize) -> f64 {
    let upper = 1.0 - 1.0 / (found_over_noise * (1.0 + (2.0 / freedom(p)).sqrt()));
    let allowed = spread_entry(DEFAULT_SPREAD * level, p).powi(2);
    upper.min(allowed / (allowed + sd * sd))
}

/// The free entries of a symmetric matrix with a fixed trace.
fn freedom(p: usize) -> f64 {
    (p as f64 - 1.0) * (p as f64 + 2.0) / 2.0
}

/// The relative variance of eigenvalues left uncertain by a matrix released with noise `sd` for a
/// design without structure.
pub(crate) fn expected_uncertainty_sq(sd: f64, level: f64, p: usize) -> f64 {
    if p == 1 {
        return (sd / level).powi(2);
    }
    (sd / level).powi(2) * unseen_share(1.0, sd, level, p) * (p as f64 + 1.0) / 2.0
}

/// The standard deviations of the entries of `H`, in the eigenbasis of its estimate, after the
/// correction of eigenvalues.
///
/// The entry between two distant eigenvalues keeps the noise of the release. An entry between two
/// close ones cannot exceed half their distance; an eigenvalue among several similar ones is known
/// more precisely than one alone.
fn left_over(values: &[f64], sd: f64, departure: &Departure) -> Mat<f64> {
    let var = sd * sd;
    let alike = |i: usize| values.iter().map(|e| var / (var + (values[i] - e).powi(2))).sum::<f64>();
    let apart = |i: usize, j: usize| {
        let gap_sq = (values[i] - values[j]).powi(2);
        gap_sq / (gap_sq + 4.0 * var)
    };
    let share = |i: usize, j: usize| if i == j { departure.seen / alike(i) } else { 0.5 * apart(i, j) };
    let least = |i: usize, j: usize| if i == j { departure.unseen } else { 0.5 * departure.unseen };
    Mat::from_fn(values.len(), values.len(), |i, j| sd * share(i, j).max(least(i, j)).sqrt())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::simulate::{normal, symmetric_noise};
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// A run on `h/2 |theta - opt|^2` with noise of standard deviation `lambda`.
    fn quadratic(h: f64, opt: f64, p: usize, steps: usize, lambda: f64, rng: &mut ChaCha8Rng) -> Trajectory {
        let (eta, mut theta, mut gradient) = (0.25, vec![vec![0.0; p]], Vec::new());
        for t in 0..steps {
            let g: Vec<f64> = theta[t].iter().map(|x| h * (x - opt) + lambda * normal(rng)).collect();
            theta.push(theta[t].iter().zip(&g).map(|(x, g)| x - eta * g).collect());
            gradient.push(g);
        }
        Trajectory { theta, gradient, step_size: eta, noise_sd: lambda }
    }

    /// Runs that start at the optimum, where only the feedback of noise is left: without the
    /// correction the slope would be 0.6 too large. False-alarm rate 1e-6 (4.9 standard errors of
    /// the mean).
    #[test]
    fn the_slope_is_unbiased_where_noise_feeds_back() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let slopes: Vec<f64> = (0..400)
            .map(|_| Slope::of(&quadratic(1.0, 0.0, 10, 20, 0.3, &mut rng)).solve().expect("twenty steps").0)
            .collect();
        let centre = mean(&slopes);
        let variance = slopes.iter().map(|s| (s - centre).powi(2)).sum::<f64>() / 399.0;
        // Solving for the slope inside its own correction leaves a bias of higher order, below 0.05
        // here.
        assert!((centre - 1.0).abs() < 0.05 + 4.9 * (variance / 400.0).sqrt(), "mean slope {centre}");
    }

    #[test]
    fn a_clear_slope_is_believed_and_an_unclear_one_is_not() {
        let (value, sd) = shrunk_to_one(1.5, 0.05);
        assert!((value - 1.5).abs() < 0.02 && (sd - 0.05).abs() < 0.01, "{value} {sd}");
        let (value, sd) = shrunk_to_one(1.05, 0.1);
        assert!((value - 1.0).abs() < 0.02 && sd < 0.06, "{value} {sd}");
    }

    #[test]
    fn one_step_leaves_what_is_stated_of_the_scale() {
        let run = quadratic(1.0, 1.0, 2, 1, 0.1, &mut ChaCha8Rng::seed_from_u64(2));
        let found = Curvature::from_trajectory(&run).unwrap();
        assert!(found.level() == 1.0 && found.scale_sd > 0.1);
    }

    /// Ten equally correlated features: the smallest eigenvalue, 0.5 in truth and about 0.15 as
    /// released, is corrected to 0.3 on average, as the mean of the inverse requires, and no
    /// direction is lost.
    #[test]
    fn correlated_features_stay_resolved() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let (p, sd, mut least) = (10, 0.1, Vec::new());
        for _ in 0..20 {
            let truth = Mat::from_fn(p, p, |j, k| if j == k { 1.0 } else { 0.5 });
            let noisy = truth + symmetric_noise(p, sd, &mut rng);
            let found = Curvature::of_scaled_columns(noisy, sd).unwrap();
            let resolved = |i: usize| found.mean[(i, i)] >= 2.0 * found.entry_sd[(i, i)];
            assert!((0..p).all(resolved), "{:?}", found.mean);
            least.push((0..p).map(|i| found.mean[(i, i)]).fold(f64::INFINITY, f64::min));
        }
        assert!(mean(&least) > 0.25, "{least:?}");
    }

    #[test]
    fn noise_on_a_multiple_of_the_identity_leaves_a_multiple_of_the_identity() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for _ in 0..20 {
            let noisy = symmetric_noise(10, 0.3, &mut rng) + Mat::<f64>::identity(10, 10) * faer::Scale(1.5);
            let found = Curvature::of_scaled_columns(noisy, 0.3).unwrap();
            // The trace is off by 0.3 / sqrt(10) at one sigma; this allows 4.9 of them, and as much
            // again for a chance departure.
            assert!((0..10).all(|i| (found.mean[(i, i)] - 1.5).abs() < 0.95), "{:?}", found.mean);
        }
    }

    /// With half of the gradients clipped, the bend reaches the allowance; at five standard
    /// deviations it is negligible.
    #[test]
    fn a_wide_clip_does_not_bend() {
        assert_eq!(bend_at(1.0), LARGEST_BEND);
        assert!((bend_at(5.0) - 0.0124).abs() < 1e-4);
        assert!(bend_at(12.0) < 1e-8);
        let sure = Curvature::of_scaled_columns(Mat::identity(10, 10), 0.0).unwrap();
        assert_eq!(sure.misfit, LARGEST_BEND);
        assert!(sure.with_clip(5.0).misfit < 0.02);
    }

    #[test]
    fn a_matrix_without_noise_is_taken_as_it_is() {
        let matrix = Mat::from_fn(3, 3, |j, k| if j == k { 2.0 + j as f64 } else { 0.5 });
        let found = Curvature::of_scaled_columns(matrix.clone(), 0.0).unwrap();
        assert!(found.entry_sd.norm_l2() == 0.0 && found.scale_sd == 0.0);
        assert!((&found.axes * &found.mean * found.axes.transpose() - matrix).norm_l2() < 1e-12);
    }

    /// Compares `Cov(E a)` with the mean of 4000 draws; entries of a covariance have a standard
    /// error of 3 %, and at five of them the test fails with a probability of one in a million.
    #[test]
    fn the_covariance_of_a_noisy_product_is_that_of_draws() {
        let entry_sd = Mat::from_fn(3, 3, |j, k| [[0.3, 0.1, 0.2], [0.1, 0.5, 0.4], [0.2, 0.4, 0.2]][j][k]);
        let mean = diagonal(&[1.0, 2.0, 3.0]);
        let law = Curvature { scale_sd: 0.1, ..Curvature::of_entries(mean.clone(), entry_sd.clone()) };
        let (a, mut rng) = ([1.0, -2.0, 0.5], ChaCha8Rng::seed_from_u64(5));
        let mut found = Mat::<f64>::zeros(3, 3);
        for _ in 0..4000 {
            let draws = Mat::from_fn(3, 3, |_, _| normal(&mut rng));
            let factor = 0.1 * normal(&mut rng);
            let e = Mat::from_fn(3, 3, |j, k| entry_sd[(j, k)] * draws[(j.max(k), j.min(k))] + factor * mean[(j, k)]);
            let product = times(&e, &a);
            found += Mat::from_fn(3, 3, |j, k| product[j] * product[k] / 4000.0);
        }
        let expected = law.covariance_times(&a);
        for (j, k) in (0..3).flat_map(|j| (0..3).map(move |k| (j, k))) {
            let size = (expected[(j, j)] * expected[(k, k)]).sqrt();
            assert!((found[(j, k)] - expected[(j, k)]).abs() < 0.15 * size, "{j} {k}: {found:?} {expected:?}");
        }
        let (d, e) = ([0.3, 1.0, -1.0], [2.0, 0.0, 1.0]);
        let form = dot(&d, &times(&expected, &e));
        assert!((law.covariance_form(&a, &d, &e) - form).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_a_curvature_is_refused() {
        let refused = |found: Result<Curvature, IntervalError>| found.expect_err("refused").to_string();
        assert!(refused(Curvature::scalar(0.0, 0.1, 2)).contains("the curvature must be"));
        assert!(refused(Curvature::scalar(1.0, -0.1, 2)).contains("uncertainty"));
        assert!(refused(Curvature::released(Mat::full(2, 3, 1.0), 0.1)).contains("3 features"));
        assert!(refused(Curvature::released(Mat::full(2, 2, f64::NAN), 0.1)).contains("finite"));
        assert!(refused(Curvature::of_scaled_columns(Mat::zeros(2, 2), 0.0)).contains("trace"));
    }
}
