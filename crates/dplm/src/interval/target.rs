//! What an interval is meant to hold.

use super::curvature::Spectrum;
use super::{IntervalError, check_features, check_not_negative, check_positive};
use faer::Mat;

/// What the interval covers.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// The optimum of the (clipped) loss on this data set; least squares itself where nothing is clipped.
    Empirical,
    /// The coefficients of the population the rows were drawn from.
    ///
    /// Adds the sampling part `H^-1 V H^-1 / n`, `V` the covariance of the clipped gradients. Under clipping the root
    /// of the expected clipped gradient is meant: the true coefficients where errors are symmetric around zero.
    Population {
        /// The number of rows, public.
        rows: usize,
        /// What was released of `V`.
        spread: GradientSpread,
    },
}

/// What was released of `V`, the covariance of the clipped gradients at the estimate.
#[derive(Clone, Debug, PartialEq)]
pub enum GradientSpread {
    /// The mean of `||clip(g_i)||^2`, the trace of `V`. `V` is then taken proportional to the curvature.
    Scalar {
        /// The released mean.
        mean_norm_sq: f64,
        /// Standard deviation of its noise.
        noise_sd: f64,
    },
    /// The matrix `V` with symmetric noise.
    Matrix {
        /// The released matrix; its symmetric part is used.
        mean: Mat<f64>,
        /// Standard deviation of the noise in a diagonal entry; off the diagonal it is smaller by `sqrt 2`.
        noise_sd_diag: f64,
    },
}

/// The checked sampling part: how large, how sure, which shape.
pub(super) struct Sampling {
    pub rows: f64,
    /// Trace of `V` over the number of features.
    pub level: f64,
    /// Standard deviation of what is known of `level`.
    pub level_sd: f64,
    /// `V` over its level; `None` for the shape of the curvature.
    pub shape: Option<Mat<f64>>,
}

impl Sampling {
    /// The sampling part of a target; `None` where the data set itself is the target.
    pub fn of(target: &Target, curvature: &Spectrum) -> Result<Option<Self>, IntervalError> {
        let Target::Population { rows, spread } = target else { return Ok(None) };
        let (rows, p) = (*rows as f64, curvature.values.len() as f64);
        check_positive("the number of rows", rows)?;
        let sampling = match spread {
            GradientSpread::Scalar { mean_norm_sq, noise_sd } => {
                check_not_negative("the noise of the gradient norm", *noise_sd)?;
                Sampling { rows, level: mean_norm_sq / p, level_sd: noise_sd / p, shape: None }
            }
            GradientSpread::Matrix { mean, noise_sd_diag } => {
                check_features("the gradient covariance", curvature.values.len(), mean.nrows())?;
                check_features("the gradient covariance", curvature.values.len(), mean.ncols())?;
                check_not_negative("the noise of the gradient covariance", *noise_sd_diag)?;
                Sampling::from_matrix(rows, mean, *noise_sd_diag, curvature)?
            }
        };
        match sampling.level.is_finite() {
            true => Ok(Some(sampling)),
            false => Err(IntervalError::Range { what: "the gradient covariance", range: "finite" }),
        }
    }

    /// Draws the released matrix towards the shape of the curvature as far as noise explains what separates them.
    fn from_matrix(rows: f64, released: &Mat<f64>, sd: f64, curvature: &Spectrum) -> Result<Self, IntervalError> {
        let p = released.nrows();
        let level = (0..p).map(|j| released[(j, j)]).sum::<f64>() / p as f64;
        let (metric, scale) = (curvature.matrix(), level / curvature.level());
        let apart = Mat::from_fn(p, p, |j, k| 0.5 * (released[(j, k)] + released[(k, j)]) - scale * metric[(j, k)]);
        let freedom = (p * (p + 1)) as f64 / 2.0 - 1.0;
        let found = apart.squared_norm_l2().max(f64::MIN_POSITIVE);
        let kept = (1.0 - freedom * sd.powi(2) / found).clamp(0.0, 1.0);
        let mean = Mat::from_fn(p, p, |j, k| scale * metric[(j, k)] + kept * apart[(j, k)]);
        let shape = if level > 0.0 { Some(positive_part(&mean, level)?) } else { None };
        Ok(Sampling { rows, level, level_sd: sd / (p as f64).sqrt(), shape })
    }
}

/// The matrix with negative eigenvalues set to zero, over `level`.
fn positive_part(matrix: &Mat<f64>, level: f64) -> Result<Mat<f64>, IntervalError> {
    let mut spectrum = Spectrum::of(matrix)?;
    spectrum.values.iter_mut().for_each(|e| *e = e.max(0.0) / level);
    Ok(spectrum.matrix())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(spread: GradientSpread) -> Target {
        Target::Population { rows: 100, spread }
    }

    #[test]
    fn a_scalar_is_shared_among_coordinates() {
        let target = population(GradientSpread::Scalar { mean_norm_sq: 6.0, noise_sd: 0.3 });
        let sampling = Sampling::of(&target, &Spectrum::multiple_of_identity(1.0, 3)).unwrap().expect("a population");
        assert!((sampling.level - 2.0).abs() < 1e-12 && (sampling.level_sd - 0.1).abs() < 1e-12);
        assert!(Sampling::of(&Target::Empirical, &Spectrum::multiple_of_identity(1.0, 3)).unwrap().is_none());
    }

    #[test]
    fn a_clear_matrix_keeps_its_shape_and_a_noisy_one_takes_that_of_the_curvature() {
        let matrix = Mat::from_fn(2, 2, |j, k| if j != k { 0.0 } else { [1.0, 3.0][j] });
        let metric = Spectrum::multiple_of_identity(1.0, 2);
        let shape = |noise_sd_diag| {
            let target = population(GradientSpread::Matrix { mean: matrix.clone(), noise_sd_diag });
            Sampling::of(&target, &metric).unwrap().expect("a population").shape.expect("a matrix")
        };
        assert!((shape(0.0)[(0, 0)] - 0.5).abs() < 1e-12 && (shape(0.0)[(1, 1)] - 1.5).abs() < 1e-12);
        assert!((shape(5.0)[(0, 0)] - 1.0).abs() < 1e-12 && (shape(5.0)[(1, 1)] - 1.0).abs() < 1e-12);
    }

    #[test]
    fn negative_directions_of_a_matrix_are_cut() {
        let matrix = Mat::from_fn(2, 2, |j, k| if j != k { 0.0 } else { [-1.0, 3.0][j] });
        let target = population(GradientSpread::Matrix { mean: matrix, noise_sd_diag: 0.0 });
        let sampling = Sampling::of(&target, &Spectrum::multiple_of_identity(1.0, 2)).unwrap().expect("a population");
        assert!(sampling.shape.expect("a matrix")[(0, 0)].abs() < 1e-12);
    }

    #[test]
    fn wrong_releases_are_refused() {
        let metric = Spectrum::multiple_of_identity(1.0, 2);
        let refused = |t: Target| Sampling::of(&t, &metric).err().expect("refused").to_string();
        let scalar = |mean_norm_sq, noise_sd| GradientSpread::Scalar { mean_norm_sq, noise_sd };
        assert!(refused(population(scalar(1.0, -1.0))).contains("not negative"));
        assert!(refused(population(scalar(f64::NAN, 1.0))).contains("finite"));
        assert!(refused(Target::Population { rows: 0, spread: scalar(1.0, 1.0) }).contains("rows"));
        let wide = GradientSpread::Matrix { mean: Mat::identity(3, 3), noise_sd_diag: 1.0 };
        assert!(refused(population(wide)).contains("3 features"));
    }
}
