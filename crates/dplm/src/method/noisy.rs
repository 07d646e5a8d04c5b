//! Released symmetric matrices.

use crate::privacy::noise::RandomWords;
use faer::Mat;

use crate::{
    Error,
    lattice::Outer,
    privacy::{Neighbours, Spend, release},
    rows::Rows,
};

/// A released symmetric matrix and the standard deviation of the noise on its diagonal; off it the noise is smaller by `sqrt 2`.
#[derive(Clone, Debug)]
pub(super) struct NoisyMatrix {
    pub mean: Mat<f64>,
    pub noise_sd: f64,
}

impl NoisyMatrix {
    /// Releases the mean over rows of the outer products that `outer` describes; `unit` is one standardised unit of a vector.
    pub(super) fn release<R: RandomWords>(
        rows: &dyn Rows,
        outer: &Outer<'_>,
        unit: f64,
        neighbours: Neighbours,
        spend: Spend,
        rng: &mut R,
    ) -> Result<NoisyMatrix, Error> {
        let sum = rows.outer_sum(outer, neighbours)?;
        let size = sum.size();
        let noisy = release(sum.into_matrix(), spend, rng)?;
        let mean = |value: f64| value / (unit * unit) / rows.count() as f64;
        let entry = |j: usize, k: usize| mean(noisy.values[j.max(k) * (j.max(k) + 1) / 2 + j.min(k)] as f64);
        Ok(NoisyMatrix { mean: Mat::from_fn(size, size, entry), noise_sd: mean(noisy.sigma[0] as f64) })
    }

    /// The largest eigenvalue that noise alone makes, `s sqrt(2p)`: the edge of Wigner's semicircle.
    pub(super) fn edge(&self) -> f64 {
        self.noise_sd * (2.0 * self.mean.nrows() as f64).sqrt()
    }
}
