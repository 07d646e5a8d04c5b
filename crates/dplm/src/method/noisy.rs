//! Released symmetric matrices: second moments, curvature, the spread of gradients.

use faer::{Mat, Side, linalg::solvers::Solve};

use super::Request;
use crate::{
    Error,
    interval::{self, Sampling},
    lattice::{Clip, ClippedOuter, Lattice, Outer, Theta},
    privacy::{Neighbours, Noisy, Spend, noise::RandomWords, release},
    rows::{ClippedRows, OuterSum, Rows},
};

/// A released symmetric matrix and the standard deviation of the noise on its diagonal; off it the
/// noise is smaller by `sqrt 2`.
#[derive(Clone, Debug)]
pub struct NoisyMatrix {
    /// The mean over rows, with its noise.
    pub mean: Mat<f64>,
    /// The standard deviation of the noise on the diagonal.
    pub noise_sd: f64,
}

impl NoisyMatrix {
    /// Releases the mean over rows of the outer products that `outer` describes; `unit` is one
    /// standardised unit of a vector.
    ///
    /// # Errors
    /// When rows cannot be read or the noise does not fit.
    pub fn release<R: RandomWords>(
        rows: &dyn Rows,
        outer: &Outer<'_>,
        unit: f64,
        neighbours: Neighbours,
        spend: Spend,
        rng: &mut R,
    ) -> Result<NoisyMatrix, Error> {
        NoisyMatrix::of_sum((rows.outer_sum(outer, neighbours)?, rows.count()), unit, spend, rng)
    }

    /// The same of rows under a clip.
    ///
    /// # Errors
    /// When rows cannot be read or the noise does not fit.
    pub fn release_clipped<R: RandomWords>(
        rows: &dyn ClippedRows,
        outer: &ClippedOuter<'_>,
        unit: f64,
        neighbours: Neighbours,
        spend: Spend,
        rng: &mut R,
    ) -> Result<NoisyMatrix, Error> {
        NoisyMatrix::of_sum((rows.outer_sum(outer, neighbours)?, rows.count()), unit, spend, rng)
    }

    fn of_sum<R: RandomWords>(
        (sum, rows): (OuterSum, u64),
        unit: f64,
        spend: Spend,
        rng: &mut R,
    ) -> Result<NoisyMatrix, Error> {
        let size = sum.size();
        let noisy = release(sum.into_matrix(), spend, rng)?;
        Ok(NoisyMatrix::of(&noisy, size, unit, rows))
    }

    /// The mean over `rows` of a released sum with `size` rows and columns, its upper triangle
    /// column by column; `unit` is one standardised unit of a vector.
    pub fn of(noisy: &Noisy, size: usize, unit: f64, rows: u64) -> NoisyMatrix {
        let mean = |value: f64| value / (unit * unit) / rows as f64;
        let entry = |j: usize, k: usize| mean(noisy.values[j.max(k) * (j.max(k) + 1) / 2 + j.min(k)] as f64);
        NoisyMatrix { mean: Mat::from_fn(size, size, entry), noise_sd: mean(noisy.sigma[0] as f64) }
    }

    /// The same for a fit to keep.
    pub(crate) fn as_released(&self) -> interval::Noisy {
        interval::Noisy { mean: self.mean.clone(), noise_sd: self.noise_sd }
    }

    /// The largest eigenvalue that noise alone makes, `s sqrt(2p)`: the edge of Wigner's
    /// semicircle.
    pub fn edge(&self) -> f64 {
        self.noise_sd * (2.0 * self.mean.nrows() as f64).sqrt()
    }

    /// `(M + ridge I)^-1 v`. A direction in which the noise leaves nothing positive is taken to be
    /// as large as the noise.
    pub fn solve(&self, ridge: f64, right: &[f64]) -> Vec<f64> {
        let size = self.mean.nrows();
        let raised = Mat::from_fn(size, size, |i, j| self.mean[(i, j)] + if i == j { ridge } else { 0.0 });
        let column = Mat::from_fn(size, 1, |i, _| right[i]);
        let solution = match raised.llt(Side::Lower) {
            Ok(factor) => factor.solve(&column),
            Err(_) => solve_floored(&raised, &column, self.noise_sd),
        };
        (0..size).map(|i| solution[(i, 0)]).collect()
    }
}

/// The solution where eigenvalues below `floor` are raised to it.
pub fn solve_floored(matrix: &Mat<f64>, right: &Mat<f64>, floor: f64) -> Mat<f64> {
    let found = matrix.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
    let (vectors, values) = (found.U(), found.S().column_vector());
    let turned = vectors.transpose() * right;
    let scaled = Mat::from_fn(right.nrows(), 1, |i, _| turned[(i, 0)] / values[i].max(floor));
    vectors * scaled
}

/// Releases what the draw of the rows adds to the mean gradient: `(1/n) sum ||clipped gradient||^2`
/// at `theta`. Where persons have several rows, whose errors may be alike, or rows are weighted, it
/// is the whole covariance, which has another shape than the curvature then.
///
/// # Errors
/// When rows cannot be read or the noise does not fit.
pub fn release_spread<R: RandomWords>(
    rows: &dyn ClippedRows,
    (theta, lattice): (&Theta, &Lattice),
    clip: Clip,
    (request, weighted): (&Request, bool),
    spend: Spend,
    rng: &mut R,
) -> Result<Sampling, Error> {
    let Request { neighbours, person, .. } = request;
    let several = person.as_ref().and_then(|person| person.rows).is_some_and(|rows| rows > 1);
    if several || weighted {
        let unit = lattice.gradient_unit() / f64::from(clip.gradient_shift()).exp2();
        let gradients = ClippedOuter::Gradient { theta, theta_unit: lattice.theta_unit() };
        let noisy = NoisyMatrix::release_clipped(rows, &gradients, unit, *neighbours, spend, rng)?;
        return Ok(Sampling::from_matrix(rows.count(), noisy.mean, noisy.noise_sd)?);
    }
    let noisy = release(rows.square_sum(theta, lattice, *neighbours)?, spend, rng)?;
    let unit = lattice.gradient_unit().powi(2) / f64::from(clip.square_shift()).exp2();
    let mean = |value: f64| value / unit / rows.count() as f64;
    Ok(Sampling::from_trace(rows.count(), mean(noisy.values[0] as f64), mean(noisy.sigma[0] as f64))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagonal(values: [f64; 2]) -> Mat<f64> {
        Mat::from_fn(2, 2, |i, j| if i == j { values[i] } else { 0.0 })
    }

    #[test]
    fn a_direction_lost_in_noise_is_floored() {
        let noisy = NoisyMatrix { mean: diagonal([4.0, -3.0]), noise_sd: 2.0 };
        let found = noisy.solve(0.0, &[8.0, 8.0]);
        assert!((found[0] - 2.0).abs() < 1e-12 && (found[1] - 4.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_ridge_is_added_to_every_direction() {
        let noisy = NoisyMatrix { mean: diagonal([4.0, 1.0]), noise_sd: 2.0 };
        let found = noisy.solve(1.0, &[10.0, 10.0]);
        assert!((found[0] - 2.0).abs() < 1e-12 && (found[1] - 5.0).abs() < 1e-12, "{found:?}");
    }
}
