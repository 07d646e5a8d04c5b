//! What the draw of the rows adds to the mean gradient: `V / n`, `V` the covariance of the clipped gradients at the estimate.

use super::{Curvature, IntervalError, check_features, check_not_negative, check_positive};
use crate::matrix::Eigen;
use faer::Mat;
use statrs::distribution::{ChiSquared, ContinuousCDF};

/// What was released of the covariance `V` of the clipped gradients, for intervals that cover the population.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    rows: f64,
    spread: Spread,
}

#[derive(Clone, Debug, PartialEq)]
enum Spread {
    /// The mean of `||clip(g_i)||^2`, the trace of `V`, and the standard deviation of its noise.
    Trace(f64, f64),
    /// The matrix, and the standard deviation of the noise on its diagonal; off it the noise is smaller by `sqrt 2`.
    Matrix(Mat<f64>, f64),
}

impl Sampling {
    /// From the mean of `||clip(g_i)||^2`: `V` is then taken to have the shape of the curvature, as it has where errors do not
    /// depend on the features.
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

    /// From the matrix `V` released with symmetric noise (the middle of the sandwich of Huber 1967 and White 1980).
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

    /// `V / n` in the axes of the curvature; positive.
    pub(super) fn covariance(&self, curvature: &Curvature) -> Result<Mat<f64>, IntervalError> {
        let p = curvature.features();
        let trace_of = |matrix: &Mat<f64>| (0..p).map(|j| matrix[(j, j)]).sum::<f64>();
        let shape = positive(&curvature.mean)?;
        let shape_trace = trace_of(&shape).max(f64::MIN_POSITIVE);
        // Not below its own noise: a sampling part of nothing would be a claim.
        let scaled = |trace: f64, noise: f64| {
            let factor = trace.max(noise) / shape_trace / self.rows;
            Mat::from_fn(p, p, |j, k| factor * shape[(j, k)])
        };
        match &self.spread {
            Spread::Trace(mean, noise_sd) => Ok(scaled(*mean, *noise_sd)),
            Spread::Matrix(matrix, noise_sd) => {
                check_features("the gradient covariance", p, matrix.nrows())?;
                let turned = curvature.axes.transpose() * matrix * &curvature.axes;
                let centre = scaled(trace_of(&turned), noise_sd * (p as f64).sqrt());
                let apart =
                    Mat::from_fn(p, p, |j, k| 0.5 * (turned[(j, k)] + turned[(k, j)]) / self.rows - centre[(j, k)]);
                let noise_sd = noise_sd / self.rows;
                // Errors that are alike within persons, or larger in some rows, give it another shape: then each direction is as it was seen.
                let kept = if is_other_shape(&apart, noise_sd) { apart } else { above_noise(&apart, noise_sd)? };
                positive(&(centre + kept))
            }
        }
    }
}

/// The false-alarm rate of [`is_other_shape`].
const FALSE_ALARM: f64 = 0.1;

/// Whether a symmetric matrix with noise of this sd on its diagonal, smaller by `sqrt 2` off it, is more than noise: its squares in units of their
/// variances add up to a chi-square with `p (p + 1) / 2` degrees of freedom where it is not.
fn is_other_shape(matrix: &Mat<f64>, noise_sd: f64) -> bool {
    let p = matrix.nrows();
    // Each entry off the diagonal stands for half of the pair, whose weight is 2.
    let statistic: f64 = (0..p).flat_map(|j| (0..p).map(move |k| (matrix[(j, k)] / noise_sd).powi(2))).sum();
    let degrees = (p * (p + 1)) as f64 / 2.0;
    ChiSquared::new(degrees).is_ok_and(|law| statistic > law.inverse_cdf(1.0 - FALSE_ALARM))
}

/// What stands out of symmetric noise, direction by direction.
///
/// Noise of sd `s` fills the eigenvalues up to `b = s sqrt(2p)`. One that stands out at `e` was made by a true one of
/// `t + b^2 / (4 t) = e` (Baik, Ben Arous and Peche 2005; Benaych-Georges and Nadakuditi 2011), so that is what is kept of it; what
/// does not stand out is not kept. One factor for all directions would erase a departure in a single one.
fn above_noise(matrix: &Mat<f64>, noise_sd: f64) -> Result<Mat<f64>, IntervalError> {
    let edge = noise_sd * (2.0 * matrix.nrows() as f64).sqrt();
    let kept = |e: f64| if e.abs() > edge { 0.5 * (e + e.signum() * (e * e - edge * edge).sqrt()) } else { 0.0 };
    Ok(eigen(matrix)?.map(kept))
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

    fn covariance(sampling: Result<Sampling, IntervalError>, curvature: &Curvature) -> Mat<f64> {
        sampling.unwrap().covariance(curvature).unwrap()
    }

    fn identity(p: usize) -> Curvature {
        Curvature::scalar(1.0, 0.0, p).unwrap()
    }

    #[test]
    fn a_trace_is_shared_in_the_shape_of_the_curvature() {
        let curvature = Curvature::released(diagonal(&[1.0, 2.0]), 0.0).unwrap();
        let found = covariance(Sampling::from_trace(100, 6.0, 0.3), &curvature);
        assert!((found[(0, 0)] - 0.02).abs() < 1e-12 && (found[(1, 1)] - 0.04).abs() < 1e-12);
    }

    #[test]
    fn a_clear_matrix_keeps_its_shape_and_a_noisy_one_takes_that_of_the_curvature() {
        let shape = |noise_sd| covariance(Sampling::from_matrix(100, diagonal(&[1.0, 3.0]), noise_sd), &identity(2));
        assert!((shape(0.0)[(0, 0)] - 0.01).abs() < 1e-12 && (shape(0.0)[(1, 1)] - 0.03).abs() < 1e-12);
        assert!((shape(0.6)[(0, 0)] - 0.02).abs() < 1e-12 && (shape(0.6)[(1, 1)] - 0.02).abs() < 1e-12);
    }

    /// One direction of ten with six times the variance of the others survives noise that would erase it on average.
    #[test]
    fn a_departure_in_one_direction_is_kept() {
        let mut values = vec![1.0; 10];
        values[3] = 6.0;
        let found = covariance(Sampling::from_matrix(1, diagonal(&values), 0.5), &identity(10));
        assert!(found[(3, 3)] > 5.0 && found[(0, 0)] < 1.6, "{found:?}");
    }

    /// Half of the directions with twice the variance of the others, each within the edge of the noise: together they are no noise.
    #[test]
    fn a_shape_that_is_no_noise_is_kept_in_every_direction() {
        let values: Vec<f64> = (0..20).map(|j| if j % 2 == 0 { 1.0 } else { 2.0 }).collect();
        let found = covariance(Sampling::from_matrix(1, diagonal(&values), 0.1), &identity(20));
        assert!((found[(0, 0)] - 1.0).abs() < 1e-9 && (found[(1, 1)] - 2.0).abs() < 1e-9, "{found:?}");
        let drowned = covariance(Sampling::from_matrix(1, diagonal(&values), 0.3), &identity(20));
        assert!((drowned[(0, 0)] - 1.5).abs() < 1e-9 && (drowned[(1, 1)] - 1.5).abs() < 1e-9, "{drowned:?}");
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
