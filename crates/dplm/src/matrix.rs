//! Dense matrices of released numbers: a few linear-algebra operations, and their form in a file.

use faer::{Mat, MatRef, Side, linalg::solvers::Solve};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The inner product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// `matrix vector`.
pub(crate) fn times(matrix: &Mat<f64>, vector: &[f64]) -> Vec<f64> {
    let mut product = vec![0.0; matrix.nrows()];
    for (k, value) in vector.iter().enumerate().filter(|(_, value)| **value != 0.0) {
        product.iter_mut().zip(matrix.col_as_slice(k)).for_each(|(sum, entry)| *sum += value * entry);
    }
    product
}

/// `matrix' vector`.
pub(crate) fn transposed_times(matrix: &Mat<f64>, vector: &[f64]) -> Vec<f64> {
    (0..matrix.ncols()).map(|k| dot(matrix.col_as_slice(k), vector)).collect()
}

/// `vector' matrix vector`.
pub(crate) fn quadratic(matrix: &Mat<f64>, vector: &[f64]) -> f64 {
    (0..vector.len()).map(|k| vector[k] * dot(matrix.col_as_slice(k), vector)).sum()
}

/// A diagonal matrix.
pub(crate) fn diagonal(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), values.len(), |j, k| if j == k { values[j] } else { 0.0 })
}

/// The columns `kept` of a matrix, in that order.
pub(crate) fn columns(matrix: &Mat<f64>, kept: &[usize]) -> Mat<f64> {
    Mat::from_fn(matrix.nrows(), kept.len(), |j, k| matrix[(j, kept[k])])
}

/// A square matrix times a rotation that leaves nothing above its diagonal.
pub(crate) fn turned_to_triangle(matrix: &Mat<f64>) -> Mat<f64> {
    matrix.transpose().qr().thin_R().transpose().to_owned()
}

/// The inverse of a square matrix; entries are not finite if it is singular.
pub(crate) fn inverse(matrix: &Mat<f64>) -> Mat<f64> {
    matrix.partial_piv_lu().solve(Mat::<f64>::identity(matrix.nrows(), matrix.nrows()))
}

/// A symmetric matrix by its eigenvalues, smallest first, and its eigenvectors, one per column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Eigen {
    pub values: Vec<f64>,
    pub vectors: Mat<f64>,
}

impl Eigen {
    /// `None` if an entry is not finite.
    pub(crate) fn of(matrix: MatRef<'_, f64>) -> Option<Eigen> {
        if !matrix.is_all_finite() {
            return None;
        }
        let found = matrix.self_adjoint_eigen(Side::Lower).ok()?;
        Some(Eigen { values: found.S().column_vector().iter().copied().collect(), vectors: found.U().to_owned() })
    }

    /// `U f(e) U'`.
    pub(crate) fn map(&self, f: impl Fn(f64) -> f64) -> Mat<f64> {
        let p = self.values.len();
        let scaled = Mat::from_fn(p, p, |j, k| self.vectors[(j, k)] * f(self.values[k]));
        scaled * self.vectors.transpose()
    }
}

/// Writes a matrix row by row, for `#[serde(with = "crate::matrix::by_row")]`.
pub(crate) mod by_row {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(matrix: &Mat<f64>, to: S) -> Result<S::Ok, S::Error> {
        let row = |j: usize| (0..matrix.ncols()).map(|k| matrix[(j, k)]).collect::<Vec<f64>>();
        (0..matrix.nrows()).map(row).collect::<Vec<_>>().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Mat<f64>, D::Error> {
        let rows = Vec::<Vec<f64>>::deserialize(from)?;
        let columns = rows.first().map_or(0, Vec::len);
        if rows.iter().any(|row| row.len() != columns) {
            return Err(serde::de::Error::custom("the rows of a matrix differ in length"));
        }
        Ok(Mat::from_fn(rows.len(), columns, |j, k| rows[j][k]))
    }
}
