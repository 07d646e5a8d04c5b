//! What is known of the curvature `H`, the derivative of the mean clipped gradient near its root.

use super::contrast::dot;
use super::{IntervalError, check_features, check_not_negative, check_positive, check_run};
use crate::descend::Trajectory;
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
        /// Relative standard deviation of a common factor, for a matrix released elsewhere (before the clip level was
        /// known, say) and known up to scale only.
        relative_sd: f64,
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
/// Allowance, in the weights of the steps only, for a gradient that is not linear on the way from the start.
const TRANSIENT_MISFIT: f64 = 0.2;
/// Public scaling promises curvature one: how closely where it is kept, how loosely where it is not.
const PROMISE_SD: f64 = 0.02;
const BROKEN_PROMISE_SD: f64 = 0.5;
/// How often it is kept.
const PROMISE_SHARE: f64 = 0.8;

impl Curvature {
    /// From a released matrix with noise on the diagonal and off it.
    pub fn matrix(mean: Mat<f64>, noise_sd_diag: f64, noise_sd_offdiag: f64) -> Self {
        Curvature::Matrix { mean, noise_sd_diag, noise_sd_offdiag, relative_sd: 0.0 }
    }

    /// From a released scalar: the trace of the curvature over the number of features.
    ///
    /// Directions are allowed to differ by 20 % (one standard deviation); [`Curvature::with_spread`] changes that.
    pub fn scalar(value: f64, sd: f64) -> Self {
        Curvature::Scalar { value, sd, spread: DEFAULT_SPREAD }
    }

    /// From the iterates alone: the slope of the gradients on the iterates, drawn towards one.
    ///
    /// `g_t = H (theta_t - opt) + z_t` with `z_t` independent of `theta_t`, so least squares of `g` on `theta` finds the
    /// slope. Centring brings in later iterates, which hold `z_t`; the bias that makes is known and taken out. What is known before
    /// is a mixture of two normal laws around one: scaling keeps its promise (four in five, sd 0.02) or does not (sd 0.5).
    /// Directions are taken to be alike: a correlated design needs a release, or [`Curvature::with_spread`].
    ///
    /// # Errors
    /// When the run has no steps or its scale is not positive.
    pub fn from_trajectory(run: &Trajectory) -> Result<Self, IntervalError> {
        check_run(run)?;
        check_positive("the step size", run.step_size)?;
        check_positive("the standard deviation of the noise", run.noise_sd)?;
        let (value, sd) = match Slope::of(run).solve() {
            Some((slope, sd)) => drawn_to_one(slope, sd),
            None => (1.0, PROMISE_SD.max(BROKEN_PROMISE_SD / 2.0)),
        };
        Ok(Curvature::Scalar { value, sd, spread: 0.0 })
    }

    /// The same with another allowance for directions that differ; a released matrix speaks for itself and is unchanged.
    pub fn with_spread(mut self, allowed: f64) -> Self {
        if let Curvature::Scalar { spread, .. } = &mut self {
            *spread = allowed;
        }
        self
    }

    /// The checked law of `H` given what was released.
    pub(super) fn belief(&self, p: usize) -> Result<Belief, IntervalError> {
        match self {
            Curvature::Matrix { mean, noise_sd_diag, noise_sd_offdiag, relative_sd } => {
                check_features("the curvature", p, mean.nrows())?;
                check_features("the curvature", p, mean.ncols())?;
                check_not_negative("the noise of the curvature", *noise_sd_diag)?;
                check_not_negative("the noise of the curvature", *noise_sd_offdiag)?;
                check_not_negative("the relative uncertainty of the curvature", *relative_sd)?;
                Belief::from_matrix(mean, *noise_sd_diag, *noise_sd_offdiag, *relative_sd)
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

    /// Expected sum of `(theta_t - mean theta) . z_t` at slope `h`: noise comes back through the mean of later iterates.
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

/// The law of `H` given the releases: `scale * (mean + noise)`, noise symmetric Gaussian, scale near one.
pub(super) struct Belief {
    /// Centre, by its eigenvalues and eigenvectors.
    pub centre: Spectrum,
    /// Standard deviation of a diagonal entry of the noise.
    pub sd_diag: f64,
    /// Standard deviation of an entry of the noise off the diagonal.
    pub sd_offdiag: f64,
    /// Relative standard deviation of the scale.
    pub scale_sd: f64,
    /// How wrong `H` may be, relatively, for what the start still does to the iterates; enters the weights of the steps.
    pub misfit: f64,
}

impl Belief {
    fn from_scalar(p: usize, value: f64, sd: f64, spread: f64) -> Self {
        // Entries of this size give a symmetric Gaussian matrix eigenvalues of the wanted spread.
        let entry = spread * value * (2.0 / (p as f64 + 1.0)).sqrt();
        let centre = Spectrum::multiple_of_identity(value, p);
        let (sd_diag, sd_offdiag) = (entry, entry / 2f64.sqrt());
        Belief { centre, sd_diag, sd_offdiag, scale_sd: sd / value, misfit: spread }
    }

    /// Draws the matrix towards a multiple of the identity as far as noise explains what separates them (James-Stein).
    fn from_matrix(
        released: &Mat<f64>,
        sd_diag: f64,
        sd_offdiag: f64,
        relative_sd: f64,
    ) -> Result<Self, IntervalError> {
        let p = released.nrows();
        let level = (0..p).map(|j| released[(j, j)]).sum::<f64>() / p as f64;
        check_positive("the trace of the curvature", level)?;
        let entry = |j: usize, k: usize| 0.5 * (released[(j, k)] + released[(k, j)]);
        let apart = Mat::from_fn(p, p, |j, k| entry(j, k) - if j == k { level } else { 0.0 });
        let kept = Kept::of(&apart, sd_diag, sd_offdiag, level);
        let mean = Mat::from_fn(p, p, |j, k| kept.mean * apart[(j, k)] + if j == k { level } else { 0.0 });
        let scale_sd = (relative_sd.powi(2) + (sd_diag / level).powi(2) / p as f64).sqrt();
        let (sd_diag, sd_offdiag) = (sd_diag * kept.upper.sqrt(), sd_offdiag * kept.upper.sqrt());
        let misfit = (TRANSIENT_MISFIT.powi(2) + (sd_offdiag / level).powi(2) * p as f64).sqrt();
        Ok(Belief { centre: Spectrum::of(&mean), sd_diag, sd_offdiag, scale_sd, misfit })
    }

    /// Whether nothing about `H` is in doubt.
    pub fn is_certain(&self) -> bool {
        self.sd_diag == 0.0 && self.sd_offdiag == 0.0 && self.scale_sd == 0.0
    }

    /// Whether directions are known to be alike, so that `H` is a number.
    pub fn is_scalar(&self) -> bool {
        self.sd_diag == 0.0 && self.sd_offdiag == 0.0 && self.centre.is_scalar()
    }

    /// The eigenvalue below which a direction is not resolved: twice the noise of a direction.
    pub fn resolution(&self, eigenvalue: f64) -> f64 {
        2.0 * (self.sd_diag.max(2f64.sqrt() * self.sd_offdiag).powi(2) + (self.scale_sd * eigenvalue).powi(2)).sqrt()
    }
}

/// How much of the distance from a multiple of the identity is not noise: the best guess and a cautious one.
struct Kept {
    mean: f64,
    upper: f64,
}

impl Kept {
    fn of(apart: &Mat<f64>, sd_diag: f64, sd_offdiag: f64, level: f64) -> Self {
        let p = apart.nrows() as f64;
        let found = apart.squared_norm_l2();
        let noise = (p - 1.0) * sd_diag.powi(2) + p * (p - 1.0) * sd_offdiag.powi(2);
        if noise == 0.0 {
            return Kept { mean: 1.0, upper: 1.0 };
        }
        // Where noise explains it all, what directions may still differ by is one standard deviation of the sum of
        // squares, or the allowance for a well-scaled design where that is less.
        let share = |found: f64| (1.0 - noise / found).clamp(0.0, 1.0);
        let freedom = (p - 1.0) * (p + 2.0) / 2.0;
        let unseen = share(found.max(noise) * (1.0 + (2.0 / freedom).sqrt()));
        let allowed = (DEFAULT_SPREAD * level).powi(2) * p;
        Kept { mean: share(found), upper: share(found).max(unseen.min(allowed / (allowed + noise))) }
    }
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

    pub fn of(matrix: &Mat<f64>) -> Self {
        let found = matrix.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
        let values = found.S().column_vector().iter().copied().collect();
        Spectrum { values, vectors: Some(found.U().to_owned()) }
    }

    pub fn is_scalar(&self) -> bool {
        self.vectors.is_none()
    }

    /// The mean of the eigenvalues.
    pub fn level(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// Coordinates of a vector in the eigenbasis.
    pub fn turned(&self, vector: &[f64]) -> Vec<f64> {
        match &self.vectors {
            None => vector.to_vec(),
            Some(u) => (0..vector.len()).map(|i| dot(column(u, i), vector)).collect(),
        }
    }

    /// The vector whose coordinates in the eigenbasis are given.
    pub fn turned_back(&self, coordinates: &[f64]) -> Vec<f64> {
        let Some(u) = &self.vectors else { return coordinates.to_vec() };
        let mut vector = vec![0.0; coordinates.len()];
        for (i, c) in coordinates.iter().enumerate() {
            vector.iter_mut().zip(column(u, i)).for_each(|(v, u)| *v += c * u);
        }
        vector
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

fn column(matrix: &Mat<f64>, i: usize) -> &[f64] {
    matrix.col_as_slice(i)
}
