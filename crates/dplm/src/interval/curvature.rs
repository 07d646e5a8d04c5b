//! What is known of the curvature `H`, the derivative of the mean clipped gradient near its root.

use super::{IntervalError, check_features, check_not_negative, check_positive, check_run};
use crate::{descend::Trajectory, theory::student::normal_cdf};
use faer::{Mat, Side};

/// What is known of the curvature `H`: a released matrix, or one number for all directions.
///
/// Without clipping `H` is the second-moment matrix of the features; with clipping only the rows that are not clipped
/// count. In standardised units it is near the identity.
#[derive(Clone, Debug, PartialEq)]
pub enum Curvature {
    /// `H` was released entry by entry with Gaussian noise.
    Matrix {
        /// The released matrix; its symmetric part is used.
        mean: Mat<f64>,
        /// Standard deviation of the noise in a diagonal entry.
        noise_sd_diag: f64,
        /// Standard deviation of the noise in an entry off the diagonal.
        noise_sd_offdiag: f64,
        /// How far the curvature may differ, relatively, on the way from the start; see [`Curvature::with_clip`].
        bend: f64,
    },
    /// `H` is about `value` times the identity.
    Scalar {
        /// The curvature, averaged over directions.
        value: f64,
        /// Standard deviation of what is known of `value`.
        sd: f64,
        /// How far directions may differ: the relative standard deviation of the eigenvalues of `H`.
        spread: f64,
    },
}

/// Allowance for features that are correlated or not quite of unit variance where only a scalar was released.
pub(super) const DEFAULT_SPREAD: f64 = 0.2;
/// Allowance, in the weights of the steps only, for a gradient that is not linear on the way from the start: the most
/// that was needed at any clip.
const LARGEST_BEND: f64 = 0.2;
/// Residuals at the start, in standard deviations of those at the end: twice is a response wider than promised.
const RESIDUALS_AT_START: f64 = 2.0;
/// Public scaling promises curvature one: how closely where it is kept, how loosely where it is not.
const PROMISE_SD: f64 = 0.02;
const BROKEN_PROMISE_SD: f64 = 0.5;
/// How often it is kept.
const PROMISE_SHARE: f64 = 0.8;
/// Stands for a slope that was not measured: large against any doubt about scaling.
const NO_SLOPE_SD: f64 = 1e3;

impl Curvature {
    /// From a released matrix with noise on the diagonal and off it.
    pub fn matrix(mean: Mat<f64>, noise_sd_diag: f64, noise_sd_offdiag: f64) -> Self {
        Curvature::Matrix { mean, noise_sd_diag, noise_sd_offdiag, bend: LARGEST_BEND }
    }

    /// From a released scalar: the trace of the curvature over the number of features.
    ///
    /// Directions are allowed to differ by 20 % (one standard deviation); [`Curvature::with_spread`] changes that.
    pub fn scalar(value: f64, sd: f64) -> Self {
        Curvature::Scalar { value, sd, spread: DEFAULT_SPREAD }
    }

    /// From the iterates alone: the slope of the gradients on the iterates, drawn towards one.
    ///
    /// `g_t = H (theta_t - opt) + z_t` with `z_t` independent of `theta_t`, so least squares of `g` on `theta` finds
    /// the slope. Centring brings in later iterates, which hold `z_t`; the bias that makes is known and taken out.
    /// What is known before is a mixture of two normal laws around one: scaling keeps its promise (four in five, sd
    /// 0.02) or does not (sd 0.5). Directions are taken to be alike: a correlated design needs a release, or
    /// [`Curvature::with_spread`].
    ///
    /// # Errors
    /// When the run has no steps or its scale is not positive.
    pub fn from_trajectory(run: &Trajectory) -> Result<Self, IntervalError> {
        check_run(run)?;
        check_positive("the step size", run.step_size)?;
        check_positive("the standard deviation of the noise", run.noise_sd)?;
        let (value, sd) = match Slope::of(run).solve() {
            Some((slope, sd)) => drawn_to_one(slope, sd),
            None => drawn_to_one(1.0, NO_SLOPE_SD),
        };
        Ok(Curvature::Scalar { value, sd, spread: 0.0 })
    }

    /// The same with another allowance for directions that differ; a released matrix speaks for itself and is
    /// unchanged.
    pub fn with_spread(mut self, allowed: f64) -> Self {
        if let Curvature::Scalar { spread, .. } = &mut self {
            *spread = allowed;
        }
        self
    }

    /// The same for a run whose gradients were clipped at `clip` times the length of a typical one, a typical row's
    /// length times the standard deviation of the errors: under a wide clip the gradient is linear all the way, and
    /// the first steps need not be feared. A scalar is unchanged.
    pub fn with_clip(mut self, clip: f64) -> Self {
        if let Curvature::Matrix { bend, .. } = &mut self {
            *bend = bend_at(clip);
        }
        self
    }

    /// The checked law of `H` given what was released.
    pub(super) fn belief(&self, p: usize) -> Result<Belief, IntervalError> {
        match self {
            Curvature::Matrix { mean, noise_sd_diag, noise_sd_offdiag, bend } => {
                check_features("the curvature", p, mean.nrows())?;
                check_features("the curvature", p, mean.ncols())?;
                check_not_negative("the noise of the curvature", *noise_sd_diag)?;
                check_not_negative("the noise of the curvature", *noise_sd_offdiag)?;
                check_not_negative("the bend of the gradient", *bend)?;
                Belief::from_matrix(mean, *noise_sd_diag, *noise_sd_offdiag, *bend)
            }
            Curvature::Scalar { value, sd, spread } => {
                check_positive("the curvature", *value)?;
                check_not_negative("the uncertainty of the curvature", *sd)?;
                check_not_negative("the spread of the curvature", *spread)?;
                Ok(Belief::from_scalar(p, *value, *sd, *spread))
            }
        }
    }
}

/// The relative difference of the curvature at the start and at the end of a run, for rows of one length and normal
/// residuals: the share of gradients not clipped here and there.
pub(super) fn bend_at(clip: f64) -> f64 {
    let unclipped = |residual_sd: f64| 1.0 - 2.0 * normal_cdf(-clip / residual_sd);
    let (start, end) = (unclipped(RESIDUALS_AT_START), unclipped(1.0));
    ((end - start) / end.max(f64::MIN_POSITIVE)).clamp(0.0, LARGEST_BEND)
}

/// Sums of the regression of gradients on iterates, one slope for all coordinates.
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

    /// Expected sum of `(theta_t - mean theta) . z_t` at slope `h`: noise comes back through the mean of later
    /// iterates.
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

    /// The slope with the feedback taken out, and its standard deviation; `None` for a single step.
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

/// Mean and sd of the slope given its estimate, when before it was near one or anywhere around one.
fn drawn_to_one(slope: f64, sd: f64) -> (f64, f64) {
    let given = |prior_sd: f64| {
        let (total, gap) = (prior_sd.powi(2) + sd.powi(2), slope - 1.0);
        let evidence = (-gap * gap / (2.0 * total)).exp() / total.sqrt();
        (evidence, 1.0 + gap * prior_sd.powi(2) / total, prior_sd.powi(2) * sd.powi(2) / total)
    };
    let (kept, broken) = (given(PROMISE_SD), given(BROKEN_PROMISE_SD));
    let (keeps, breaks) = (PROMISE_SHARE * kept.0, (1.0 - PROMISE_SHARE) * broken.0);
    let share = keeps / (keeps + breaks).max(f64::MIN_POSITIVE);
    let mean = share * kept.1 + (1.0 - share) * broken.1;
    let variance = share * kept.2 + (1.0 - share) * broken.2 + share * (1.0 - share) * (kept.1 - broken.1).powi(2);
    (mean.max(0.05), variance.sqrt())
}

/// The law of `H` given the releases: `scale * (centre + noise)`, noise symmetric Gaussian in the eigenbasis of the
/// centre.
pub(super) struct Belief {
    /// Centre, by its eigenvalues and eigenvectors.
    pub centre: Spectrum,
    /// Standard deviation of each entry of the noise in the eigenbasis of the centre; `None` where there is none.
    pub noise_sd: Option<Mat<f64>>,
    /// Relative standard deviation of the scale.
    pub scale_sd: f64,
    /// How wrong `H` may be, relatively, for what the start still does to the iterates; enters the weights of the
    /// steps.
    pub misfit: f64,
}

impl Belief {
    fn from_scalar(p: usize, value: f64, sd: f64, spread: f64) -> Self {
        let entry = spread_entry(spread * value, p);
        let entry_sd = |j, k| if j == k { entry } else { entry / 2f64.sqrt() };
        let noise_sd = (entry > 0.0).then(|| Mat::from_fn(p, p, entry_sd));
        let centre = Spectrum::multiple_of_identity(value, p);
        Belief { centre, noise_sd, scale_sd: sd / value, misfit: spread }
    }

    /// Takes out of a released matrix what noise does to its eigenvalues, and keeps the doubt that is left.
    fn from_matrix(released: &Mat<f64>, sd_diag: f64, sd_offdiag: f64, bend: f64) -> Result<Self, IntervalError> {
        let p = released.nrows();
        let found = Spectrum::of(&Mat::from_fn(p, p, |j, k| 0.5 * (released[(j, k)] + released[(k, j)])))?;
        // A curvature is positive. A mean below its own noise says nothing, and every direction will come out
        // unresolved.
        let level_sd = sd_diag / (p as f64).sqrt();
        let level = found.level().max(level_sd);
        check_positive("the trace of the curvature", level)?;
        // One number for both kinds of entry: exact for symmetric noise that no rotation changes, else the cautious
        // one.
        let sd = sd_diag.max(2f64.sqrt() * sd_offdiag);
        let departure = Departure::of(&found.values, sd);
        let corrected = without_repulsion(&found.values, sd);
        let values: Vec<f64> = corrected.iter().map(|e| level + departure.seen * (e - level)).collect();
        let noise_sd = (sd > 0.0).then(|| left_over(&values, sd, &departure));
        let doubt_sq = noise_sd.as_ref().map_or(0.0, |sd| sd.squared_norm_l2() / (p as f64 * level * level));
        // The diagonal of the noise moves the level too; the scale only has to make up what is missing.
        let moved_sq = noise_sd.as_ref().map_or(0.0, |sd| (0..p).map(|i| sd[(i, i)].powi(2)).sum::<f64>());
        let missing_sq = (level_sd.powi(2) - moved_sq / (p * p) as f64).max(0.0);
        let scale_sd = missing_sq.sqrt() / level;
        let misfit = (bend.powi(2) + doubt_sq).sqrt();
        Ok(Belief { centre: Spectrum { values, ..found }, noise_sd, scale_sd, misfit })
    }

    /// Whether nothing about `H` is in doubt.
    pub fn is_certain(&self) -> bool {
        self.noise_sd.is_none() && self.scale_sd == 0.0
    }

    /// Whether direction `i` of the centre stands out of its noise: at least twice as large.
    pub fn resolves(&self, i: usize) -> bool {
        let value = self.centre.values[i];
        let sd = self.noise_at(i).hypot(self.scale_sd * value);
        value > self.floor() && value >= 2.0 * sd
    }

    /// Eigenvalues are not believed below this: half the noise of the direction known least.
    pub fn floor(&self) -> f64 {
        let largest = (0..self.centre.values.len()).map(|i| self.noise_at(i)).fold(0.0, f64::max);
        (0.5 * largest).max(1e-9 * self.centre.level().abs())
    }

    fn noise_at(&self, i: usize) -> f64 {
        self.noise_sd.as_ref().map_or(0.0, |sd| sd[(i, i)])
    }
}

/// The sd of a diagonal entry of a symmetric Gaussian matrix whose eigenvalues have standard deviation `spread`.
///
/// Off the diagonal it is smaller by `sqrt 2`.
fn spread_entry(spread: f64, p: usize) -> f64 {
    spread * (2.0 / (p as f64 + 1.0)).sqrt()
}

/// Eigenvalues with the repulsion by noise undone.
///
/// Noise of sd `s` (diagonal) pushes the eigenvalues of a symmetric matrix apart, by `s^2/2 sum_j 1/(e_i - e_j)`
/// where they are far apart and until they fill a semicircle where they are not; the smallest come out too small,
/// even negative. Going back by twice that from where they are now found, softened at the distance `s/sqrt 2`, is the
/// best estimate in mean square that keeps the eigenvectors (Bun, Allez, Bouchaud and Potters, "Rotational invariant
/// estimator for general noisy matrices", 2016).
fn without_repulsion(values: &[f64], sd: f64) -> Vec<f64> {
    let soft = |gap: f64| if gap == 0.0 { 0.0 } else { gap / (gap * gap + 0.5 * sd * sd) };
    let push = |e: &f64| sd * sd * values.iter().map(|other| soft(e - other)).sum::<f64>();
    values.iter().map(|e| e - push(e)).collect()
}

/// How far a released matrix is from a multiple of the identity, against what noise alone would make.
struct Departure {
    /// 0 where noise explains all of it, 1 where it explains no more than half.
    seen: f64,
    /// Share of the variance of an entry's noise that stays in doubt even where directions look alike.
    unseen: f64,
}

impl Departure {
    fn of(values: &[f64], sd: f64) -> Self {
        let p = values.len();
        let level = mean(values);
        let noise = freedom(p) * sd * sd;
        if noise == 0.0 {
            return Departure { seen: 1.0, unseen: 1.0 };
        }
        let found = values.iter().map(|e| (e - level).powi(2)).sum::<f64>().max(noise);
        let seen = (2.0 * (1.0 - noise / found)).min(1.0);
        Departure { seen, unseen: unseen_share(found / noise, sd, level, p) }
    }
}

/// What directions may still differ by when noise explains what is seen: one standard deviation of the sum of
/// squares, or the allowance for a well-scaled design where that is less.
fn unseen_share(found_over_noise: f64, sd: f64, level: f64, p: usize) -> f64 {
    let upper = 1.0 - 1.0 / (found_over_noise * (1.0 + (2.0 / freedom(p)).sqrt()));
    let allowed = spread_entry(DEFAULT_SPREAD * level, p).powi(2);
    upper.min(allowed / (allowed + sd * sd))
}

/// Entries of a symmetric matrix that are free when its trace is not.
fn freedom(p: usize) -> f64 {
    (p as f64 - 1.0) * (p as f64 + 2.0) / 2.0
}

/// The relative variance of eigenvalues left in doubt by a matrix released with noise `sd` for a design without
/// structure.
pub(super) fn expected_doubt_sq(sd: f64, level: f64, p: usize) -> f64 {
    if p == 1 {
        return (sd / level).powi(2);
    }
    (sd / level).powi(2) * unseen_share(1.0, sd, level, p) * (p as f64 + 1.0) / 2.0
}

/// Standard deviations of the entries of `H`, in the eigenbasis of its estimate, after eigenvalues were corrected.
///
/// A pair of directions far apart keeps the noise of its entry. A pair close together cannot have an entry larger
/// than half its distance; an eigenvalue among several alike is known better than one alone.
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

/// A symmetric matrix by its eigenvalues and eigenvectors.
#[derive(Clone)]
pub(super) struct Spectrum {
    pub values: Vec<f64>,
    /// Eigenvectors in columns; `None` for the identity.
    vectors: Option<Mat<f64>>,
}

impl Spectrum {
    pub fn multiple_of_identity(value: f64, p: usize) -> Self {
        Spectrum { values: vec![value; p], vectors: None }
    }

    /// From a symmetric matrix; refused where an entry is not finite.
    pub fn of(matrix: &Mat<f64>) -> Result<Self, IntervalError> {
        let refused = IntervalError::Range { what: "every entry of a released matrix", range: "finite" };
        if !matrix.is_all_finite() {
            return Err(refused);
        }
        let found = matrix.self_adjoint_eigen(Side::Lower).map_err(|_| refused)?;
        let values = found.S().column_vector().iter().copied().collect();
        Ok(Spectrum { values, vectors: Some(found.U().to_owned()) })
    }

    /// The mean of the eigenvalues.
    pub fn level(&self) -> f64 {
        mean(&self.values)
    }

    /// Coordinates of a vector in the eigenbasis; cheap for a vector of few entries, as contrasts are.
    pub fn turned(&self, vector: &[f64]) -> Vec<f64> {
        let Some(u) = &self.vectors else { return vector.to_vec() };
        let mut turned = vec![0.0; vector.len()];
        for (j, v) in vector.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            turned.iter_mut().enumerate().for_each(|(i, t)| *t += v * u[(j, i)]);
        }
        turned
    }

    /// The vector whose coordinates in the eigenbasis are given.
    pub fn turned_back(&self, coordinates: &[f64]) -> Vec<f64> {
        let Some(u) = &self.vectors else { return coordinates.to_vec() };
        let mut vector = vec![0.0; coordinates.len()];
        for (i, c) in coordinates.iter().enumerate() {
            vector.iter_mut().zip(u.col_as_slice(i)).for_each(|(v, u)| *v += c * u);
        }
        vector
    }

    /// The matrix whose spectrum, in the eigenbasis of this one, is `inner`.
    pub fn followed_by(&self, inner: Spectrum) -> Spectrum {
        let vectors = match (&self.vectors, inner.vectors) {
            (Some(outer), Some(inner)) => Some(outer * inner),
            (outer, inner) => inner.or_else(|| outer.clone()),
        };
        Spectrum { values: inner.values, vectors }
    }

    /// `H^-1 vector`, eigenvalues raised to `floor` where they are below it.
    pub fn solve(&self, vector: &[f64], floor: f64) -> Vec<f64> {
        let mut turned = self.turned(vector);
        turned.iter_mut().zip(&self.values).for_each(|(c, e)| *c /= e.max(floor));
        self.turned_back(&turned)
    }

    /// The matrix itself.
    pub fn matrix(&self) -> Mat<f64> {
        let p = self.values.len();
        match &self.vectors {
            None => Mat::from_fn(p, p, |j, k| if j == k { self.values[j] } else { 0.0 }),
            Some(u) => {
                let scaled = Mat::from_fn(p, p, |j, k| u[(j, k)] * self.values[k]);
                scaled * u.transpose()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulate::normal;
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

    fn symmetric_noise(p: usize, sd: f64, rng: &mut ChaCha8Rng) -> Mat<f64> {
        let raw = Mat::from_fn(p, p, |_, _| normal(rng));
        Mat::from_fn(p, p, |j, k| if j == k { sd * raw[(j, j)] } else { sd / 2f64.sqrt() * raw[(j.max(k), j.min(k))] })
    }

    /// Runs that start at the optimum, where the feedback of noise is all there is: without the correction the slope
    /// would be 0.6 too large. False-alarm rate 1e-6 (4.9 standard errors of the mean).
    #[test]
    fn the_slope_is_unbiased_where_noise_feeds_back() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let slopes: Vec<f64> = (0..400)
            .map(|_| Slope::of(&quadratic(1.0, 0.0, 10, 20, 0.3, &mut rng)).solve().expect("twenty steps").0)
            .collect();
        let centre = mean(&slopes);
        let variance = slopes.iter().map(|s| (s - centre).powi(2)).sum::<f64>() / 399.0;
        // Solving for the slope inside its own correction leaves a bias of higher order, below 0.05 here.
        assert!((centre - 1.0).abs() < 0.05 + 4.9 * (variance / 400.0).sqrt(), "mean slope {centre}");
    }

    #[test]
    fn a_clear_slope_is_believed_and_an_unclear_one_is_not() {
        let (value, sd) = drawn_to_one(1.5, 0.05);
        assert!((value - 1.5).abs() < 0.02 && (sd - 0.05).abs() < 0.01, "{value} {sd}");
        let (value, sd) = drawn_to_one(1.05, 0.1);
        assert!((value - 1.0).abs() < 0.02 && sd < 0.06, "{value} {sd}");
    }

    #[test]
    fn one_step_leaves_what_scaling_promises() {
        let run = quadratic(1.0, 1.0, 2, 1, 0.1, &mut ChaCha8Rng::seed_from_u64(2));
        let Ok(Curvature::Scalar { value, sd, .. }) = Curvature::from_trajectory(&run) else { panic!("a scalar") };
        assert!(value == 1.0 && sd > 0.1);
    }

    /// Eigenvalues 1 and 4 in two groups of ten, noise that spreads each group over more than 1: the correction takes
    /// most of the squared error away and leaves no eigenvalue near zero.
    #[test]
    fn repulsion_is_undone() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let (p, sd) = (20, 0.25);
        let truth = Mat::from_fn(p, p, |j, k| {
            if j != k {
                0.0
            } else if j < 10 {
                1.0
            } else {
                4.0
            }
        });
        let noisy = &truth + symmetric_noise(p, sd, &mut rng);
        let found = Spectrum::of(&noisy).unwrap();
        let mut corrected = without_repulsion(&found.values, sd);
        corrected.sort_by(f64::total_cmp);
        let error = |values: &[f64]| {
            let truth = |i: usize| if i < 10 { 1.0 } else { 4.0 };
            values.iter().enumerate().map(|(i, e)| (e - truth(i)).powi(2)).sum::<f64>()
        };
        assert!(found.values[0] < 0.5 && corrected[0] > 0.6, "{} {}", found.values[0], corrected[0]);
        assert!(error(&corrected) < 0.3 * error(&found.values));
    }

    /// The same through the whole correction, ten equally correlated features: the least eigenvalue, 0.5 in truth and
    /// 0.15 or so as released, comes back to 0.4 on average, and no direction is taken for lost.
    #[test]
    fn correlated_features_stay_resolved() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let (p, sd, mut least) = (10, 0.1, Vec::new());
        for _ in 0..20 {
            let truth = Mat::from_fn(p, p, |j, k| if j == k { 1.0 } else { 0.5 });
            let noisy = truth + symmetric_noise(p, sd, &mut rng);
            let belief = Belief::from_matrix(&noisy, sd, sd / 2f64.sqrt(), LARGEST_BEND).unwrap();
            assert!((0..p).all(|i| belief.resolves(i)), "{:?}", belief.centre.values);
            least.push(belief.centre.values.iter().copied().fold(f64::INFINITY, f64::min));
        }
        assert!(mean(&least) > 0.35, "{least:?}");
    }

    #[test]
    fn noise_on_a_multiple_of_the_identity_leaves_a_multiple_of_the_identity() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for _ in 0..20 {
            let noisy = symmetric_noise(10, 0.3, &mut rng) + Mat::<f64>::identity(10, 10) * faer::Scale(1.5);
            let belief = Belief::from_matrix(&noisy, 0.3, 0.3 / 2f64.sqrt(), LARGEST_BEND).unwrap();
            // The trace is off by 0.3 / sqrt(10) at one sigma; 4.9 of them, and as much again for a chance departure.
            assert!(belief.centre.values.iter().all(|e| (e - 1.5).abs() < 0.95), "{:?}", belief.centre.values);
        }
    }

    /// Half of the gradients clipped bends as much as is ever allowed for; at five standard deviations hardly anything.
    #[test]
    fn a_wide_clip_does_not_bend() {
        assert_eq!(bend_at(1.0), LARGEST_BEND);
        assert!((bend_at(5.0) - 0.0124).abs() < 1e-4);
        assert!(bend_at(12.0) < 1e-8);
        let sure = Curvature::matrix(Mat::identity(10, 10), 0.0, 0.0);
        assert_eq!(sure.belief(10).unwrap().misfit, LARGEST_BEND);
        assert!(sure.with_clip(5.0).belief(10).unwrap().misfit < 0.02);
    }

    #[test]
    fn a_matrix_without_noise_is_taken_as_it_is() {
        let matrix = Mat::from_fn(3, 3, |j, k| if j == k { 2.0 + j as f64 } else { 0.5 });
        let belief = Curvature::matrix(matrix.clone(), 0.0, 0.0).belief(3).unwrap();
        assert!(belief.is_certain());
        assert!((belief.centre.matrix() - matrix).norm_l2() < 1e-12);
    }

    #[test]
    fn a_spectrum_solves() {
        let matrix = Mat::from_fn(3, 3, |j, k| if j == k { 2.0 } else { 0.5 });
        let solved = Spectrum::of(&matrix).unwrap().solve(&[1.0, 2.0, 3.0], 0.0);
        for j in 0..3 {
            let product: f64 = (0..3).map(|k| matrix[(j, k)] * solved[k]).sum();
            assert!((product - (j as f64 + 1.0)).abs() < 1e-12);
        }
    }

    #[test]
    fn what_cannot_be_a_curvature_is_refused() {
        let refused = |c: Curvature| c.belief(2).err().expect("refused").to_string();
        assert!(refused(Curvature::scalar(0.0, 0.1)).contains("the curvature must be"));
        assert!(refused(Curvature::scalar(1.0, -0.1)).contains("uncertainty"));
        assert!(refused(Curvature::matrix(Mat::identity(3, 3), 0.1, 0.1)).contains("3 features"));
        assert!(refused(Curvature::matrix(Mat::full(2, 2, f64::NAN), 0.1, 0.1)).contains("finite"));
        assert!(refused(Curvature::matrix(Mat::zeros(2, 2), 0.0, 0.0)).contains("trace"));
    }
}
