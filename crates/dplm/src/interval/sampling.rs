//! The sampling covariance of the mean gradient: `V / n`, with `V` the covariance of the clipped
//! gradients at the estimate.

use super::{Curvature, IntervalError, check_features, check_not_negative, check_positive};
use crate::matrix::Eigen;
use faer::Mat;

/// The released covariance `V` of the clipped gradients, for intervals that cover the population.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    rows: f64,
    spread: Spread,
}

#[derive(Clone, Debug, PartialEq)]
enum Spread {
    /// The mean of `||clip(g_i)||^2`, the trace of `V`, and the standard deviation of its noise.
    Trace(f64, f64),
    /// The matrix, and the standard deviation of the noise on its diagonal; off it the noise is
    /// smaller by a factor `sqrt 2`.
    Matrix(Mat<f64>, f64),
}

impl Sampling {
    /// From the mean of `||clip(g_i)||^2`: `V` is then assumed to have the shape of the curvature,
    /// as is the case if errors do not depend on the features.
    ///
    /// # Errors
    /// When a number that must be positive is not.
    pub fn from_trace(rows: u64, mean_norm_sq: f64, noise_sd: f64) -> Result<Self, IntervalError> {
        check_not_negative("the noise of the gradient norm", noise_sd)?;
        check_positive("the number of rows", rows as f64)?;
        let finite = IntervalError::Range { what: "the gradient covariance", range: "finite" };
        if !mean_norm_sq.is_finite() {
            return Err(finite);
        }
        Ok(Sampling { rows: rows as f64, spread: Spread::Trace(mean_norm_sq, noise_sd) })
    }

    /// From the matrix `V` released with symmetric noise (the middle of the sandwich of Huber 1967
    /// and White 1980).
    ///
    /// # Errors
    /// When the matrix is not square and finite, or a number that must be positive is not.
    pub fn from_matrix(rows: u64, matrix: Mat<f64>, noise_sd: f64) -> Result<Self, IntervalError> {
        check_features("the gradient covariance", matrix.nrows(), matrix.ncols())?;
        check_not_negative("the noise of the gradient covariance", noise_sd)?;
        check_positive("the number of rows", rows as f64)?;
        if !matrix.is_all_finite() {
            return Err(IntervalError::Range { what: "the gradient covariance", range: "finite" });
        }
        Ok(Sampling { rows: rows as f64, spread: Spread::Matrix(matrix, noise_sd) })
    }

    /// `V / n` in the axes of the curvature as it was released: its noise has mean zero in every
    /// direction, which that of the positive part has not. `None` if the matrix was not released.
    pub(super) fn as_released(&self, curvature: &Curvature) -> Option<Mat<f64>> {
        match &self.spread {
            Spread::Trace(..) => None,
            Spread::Matrix(matrix, _) => Some(symmetric(matrix, curvature, self.rows)),
        }
    }

    /// `V / n` in the axes of the curvature, positive, and its uncertainty.
    ///
    /// A released matrix is used as it is, direction by direction. Errors that are larger in some
    /// rows, or correlated within persons, give it another shape than the curvature's, and
    /// shrinking it towards that shape would bias it in exactly the directions that matter. Its
    /// noise is accounted for in degrees of freedom instead, which costs little: the privacy noise
    /// in the gradient is known exactly, and is large where this noise is.
    pub(super) fn covariance(&self, curvature: &Curvature) -> Result<Sampled, IntervalError> {
        let p = curvature.features();
        match &self.spread {
            Spread::Trace(mean, noise_sd) => {
                let shape = positive(&curvature.mean)?;
                let trace: f64 = (0..p).map(|j| shape[(j, j)]).sum();
                let scaled = |value: f64| {
                    let factor = value / trace.max(f64::MIN_POSITIVE) / self.rows;
                    Mat::from_fn(p, p, |j, k| factor * shape[(j, k)])
                };
                // At least its own noise: a sampling covariance of zero would be a claim.
                Ok(Sampled { covariance: scaled(mean.max(*noise_sd)), uncertainty: scaled(*noise_sd) })
            }
            Spread::Matrix(matrix, noise_sd) => {
                check_features("the gradient covariance", p, matrix.nrows())?;
                let symmetric = symmetric(matrix, curvature, self.rows);
                let uncertainty = Mat::from_fn(p, p, |j, k| if j == k { noise_sd / self.rows } else { 0.0 });
                Ok(Sampled { covariance: positive(&symmetric)?, uncertainty })
            }
        }
    }
}

/// A released matrix over the number of rows, in the axes of the curvature.
fn symmetric(matrix: &Mat<f64>, curvature: &Curvature, rows: f64) -> Mat<f64> {
    let turned = curvature.axes.transpose() * matrix * &curvature.axes;
    Mat::from_fn(turned.nrows(), turned.ncols(), |j, k| 0.5 * (turned[(j, k)] + turned[(k, j)]) / rows)
}

/// The sampling covariance of the mean gradient.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sampled {
    pub covariance: Mat<f64>,
    /// `D`, where the noise in `a' covariance a` has standard deviation `a' D a`.
    pub uncertainty: Mat<f64>,
}

/// The matrix with negative eigenvalues set to zero.
fn positive(matrix: &Mat<f64>) -> Result<Mat<f64>, IntervalError> {
    Ok(eigen(matrix)?.map(|e| e.max(0.0)))
}

fn eigen(matrix: &Mat<f64>) -> Result<Eigen, IntervalError> {
    Eigen::of(matrix.as_ref()).ok_or(IntervalError::Range { what: "every entry of a released matrix", range: "finite" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::diagonal;

    fn sampled(sampling: Result<Sampling, IntervalError>, curvature: &Curvature) -> Sampled {
        sampling.unwrap().covariance(curvature).unwrap()
    }

    fn covariance(sampling: Result<Sampling, IntervalError>, curvature: &Curvature) -> Mat<f64> {
        sampled(sampling, curvature).covariance
    }

    fn identity(p: usize) -> Curvature {
        Curvature::scalar(1.0, 0.0, p).unwrap()
    }

    #[test]
    fn a_trace_is_shared_in_the_shape_of_the_curvature() {
        let curvature = Curvature::released(diagonal(&[1.0, 2.0]), 0.0).unwrap();
        let found = sampled(Sampling::from_trace(100, 6.0, 0.3), &curvature);
        assert!((found.covariance[(0, 0)] - 0.02).abs() < 1e-12 && (found.covariance[(1, 1)] - 0.04).abs() < 1e-12);
        // Its noise is shared likewise.
        assert!((found.uncertainty[(0, 0)] - 0.001).abs() < 1e-12 && (found.uncertainty[(1, 1)] - 0.002).abs() < 1e-12);
    }

    /// However large the noise, which the degrees of freedom account for.
    #[test]
    fn a_matrix_keeps_its_shape() {
        for noise_sd in [0.0, 0.6] {
            let found = sampled(Sampling::from_matrix(100, diagonal(&[1.0, 3.0]), noise_sd), &identity(2));
            assert!((found.covariance[(0, 0)] - 0.01).abs() < 1e-12 && (found.covariance[(1, 1)] - 0.03).abs() < 1e-12);
            assert!((found.uncertainty[(1, 1)] - noise_sd / 100.0).abs() < 1e-15 && found.uncertainty[(0, 1)] == 0.0);
        }
    }

    #[test]
    fn negative_directions_are_cut_and_nothing_is_not_claimed() {
        let found = covariance(Sampling::from_matrix(100, diagonal(&[-1.0, 3.0]), 0.0), &identity(2));
        assert!(found[(0, 0)].abs() < 1e-12);
        assert!(covariance(Sampling::from_trace(100, -1.0, 0.5), &identity(2))[(0, 0)] > 0.0);
    }

    #[test]
    fn wrong_releases_are_refused() {
        let refused = |sampling: Result<Sampling, IntervalError>| sampling.expect_err("refused").to_string();
        assert!(refused(Sampling::from_trace(100, 1.0, -1.0)).contains("not negative"));
        assert!(refused(Sampling::from_trace(100, f64::NAN, 1.0)).contains("finite"));
        assert!(refused(Sampling::from_trace(0, 1.0, 1.0)).contains("rows"));
        let wide = Sampling::from_matrix(100, Mat::identity(3, 3), 1.0).unwrap();
        assert!(wide.covariance(&identity(2)).is_err());
    }
}
