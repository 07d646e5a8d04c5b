//! Small linear algebra and noise in floating point.

use faer::{Mat, Side};
use rand_chacha::ChaCha20Rng;
use rand_distr::{ChiSquared, Distribution, StandardNormal};

use super::Task;

/// A standard Gaussian number.
pub(super) fn normal(rng: &mut ChaCha20Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// A vector of Gaussian numbers.
pub(super) fn normals(size: usize, sd: f64, rng: &mut ChaCha20Rng) -> Vec<f64> {
    (0..size).map(|_| sd * normal(rng)).collect()
}

/// A symmetric matrix of Gaussian numbers, of this standard deviation on the diagonal and smaller
/// by a factor `sqrt 2` off it: the noise of a release whose sensitivity is a Frobenius norm.
pub(super) fn symmetric_noise(size: usize, sd: f64, rng: &mut ChaCha20Rng) -> Mat<f64> {
    let square = Mat::from_fn(size, size, |_, _| sd * normal(rng));
    Mat::from_fn(size, size, |i, j| 0.5 * (square[(i, j)] + square[(j, i)]))
}

/// A draw from the Wishart distribution with unit scale, by Bartlett's factors.
pub(super) fn wishart(size: usize, degrees: f64, rng: &mut ChaCha20Rng) -> Mat<f64> {
    let factor = Mat::from_fn(size, size, |i, j| match i.cmp(&j) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => {
            ChiSquared::new(degrees - i as f64).expect("more degrees of freedom than columns").sample(rng).sqrt()
        }
        std::cmp::Ordering::Greater => normal(rng),
    });
    &factor * factor.transpose()
}

/// `sum w_i z_i z_i'` with `z = (x, c y)`, over rows with the weights of `weight`.
pub(super) fn moments(task: &Task, scale: f64, weight: impl Fn(usize) -> f64) -> Mat<f64> {
    let p = task.features;
    let mut upper = vec![0.0; (p + 1) * (p + 1)];
    let mut z = vec![0.0; p + 1];
    for (at, (x, y)) in task.rows().enumerate() {
        let weight = weight(at);
        if weight == 0.0 {
            continue;
        }
        z[..p].copy_from_slice(x);
        z[p] = scale * y;
        for i in 0..=p {
            let by = weight * z[i];
            upper[i * (p + 1)..=i * (p + 1) + i].iter_mut().zip(&z).for_each(|(sum, z)| *sum += by * z);
        }
    }
    Mat::from_fn(p + 1, p + 1, |i, j| upper[i.max(j) * (p + 1) + i.min(j)])
}

/// Least squares of the response, scaled by `scale`, from moments of rows and response; eigenvalues
/// below `floor` are raised to it.
pub(super) fn regression(moments: &Mat<f64>, scale: f64, floor: f64) -> Vec<f64> {
    let p = moments.nrows() - 1;
    let right: Vec<f64> = (0..p).map(|i| moments[(i, p)] / scale).collect();
    solve(&moments.submatrix(0, 0, p, p).to_owned(), &right, floor)
}

/// `M^-1 v`, eigenvalues below `floor` raised to it.
pub(super) fn solve(matrix: &Mat<f64>, right: &[f64], floor: f64) -> Vec<f64> {
    times(&inverse(matrix, floor), right)
}

/// `M^-1`, eigenvalues below `floor` raised to it.
pub(super) fn inverse(matrix: &Mat<f64>, floor: f64) -> Mat<f64> {
    let found = matrix.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
    let (vectors, values) = (found.U(), found.S().column_vector());
    let floor = floor.max(f64::MIN_POSITIVE);
    let scaled = Mat::from_fn(matrix.nrows(), matrix.nrows(), |i, j| vectors[(i, j)] / values[j].max(floor));
    scaled * vectors.transpose()
}

/// `M v`.
pub(super) fn times(matrix: &Mat<f64>, vector: &[f64]) -> Vec<f64> {
    (0..matrix.nrows()).map(|i| vector.iter().enumerate().map(|(j, v)| matrix[(i, j)] * v).sum()).collect()
}

/// The smallest eigenvalue.
pub(super) fn least_eigenvalue(matrix: &Mat<f64>) -> f64 {
    let found = matrix.self_adjoint_eigenvalues(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
    found.iter().copied().fold(f64::INFINITY, f64::min)
}

pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

pub(super) fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// `sum_i x_i r_i`, each summand shortened to a norm of at most `clip`, over the rows that `takes`
/// accepts: minus a clipped gradient.
pub(super) fn clipped_products(task: &Task, theta: &[f64], clip: f64, mut takes: impl FnMut() -> bool) -> Vec<f64> {
    let mut sum = vec![0.0; task.features];
    for (x, y) in task.rows() {
        if takes() {
            let residual = y - dot(x, theta);
            let scale = residual * (clip / (norm(x) * residual.abs())).min(1.0);
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += scale * x);
        }
    }
    sum
}

/// Means of vectors, coordinate by coordinate.
pub(super) fn mean(vectors: &[Vec<f64>]) -> Vec<f64> {
    let count = vectors.len() as f64;
    (0..vectors[0].len()).map(|j| vectors.iter().map(|vector| vector[j]).sum::<f64>() / count).collect()
}

/// Standard deviations of vectors, coordinate by coordinate.
pub(super) fn spread(vectors: &[Vec<f64>]) -> Vec<f64> {
    let (mean, count) = (mean(vectors), vectors.len() as f64);
    let square = |j: usize| vectors.iter().map(|vector| (vector[j] - mean[j]).powi(2)).sum::<f64>();
    (0..mean.len()).map(|j| (square(j) / (count - 1.0)).sqrt()).collect()
}
