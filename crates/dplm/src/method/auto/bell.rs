//! The curvature of a likelihood where rows are normal: what steps are preconditioned by before any
//! curvature is released. It is computed from parameters and costs nothing.

use faer::Mat;

use crate::matrix::dot;

/// The Gaussian density is cut into `SLICES` slices of `SLICE` standard deviations on either side
/// of its mean: for a smooth function the sum over them is the integral to a few parts in 10^6.
const SLICES: i32 = 20;
const SLICE: f64 = 0.25;

/// The probability of a binary response.
pub(super) fn probability(eta: f64) -> f64 {
    1.0 / (1.0 + (-eta).exp())
}

/// The linear function of a probability.
pub(super) fn logit(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

/// `E v(z'theta) z z'` for rows `z = c + e`, `c` the constant direction of length one, or nothing,
/// and `e` standard Gaussian across it; `v = mu (1 - mu)`.
///
/// With `theta = a c + t u`, `u` a direction across `c`, the linear function is `a + t x` with a
/// standard Gaussian `x`, and only `x` and the constant are correlated with it:
/// `E v z z' = m0 I + m1 (c u' + u c') + (m2 - m0) u u'` with `m_k = E v x^k`.
pub(super) fn curvature(theta: &[f64], constant: Option<&[f64]>) -> Mat<f64> {
    let k = theta.len();
    let zeros = vec![0.0; k];
    let c = constant.unwrap_or(&zeros);
    let along = dot(c, theta);
    let across: Vec<f64> = theta.iter().zip(c).map(|(theta, c)| theta - along * c).collect();
    let length = dot(&across, &across).sqrt();
    let unit = |j: usize| if length > 0.0 { across[j] / length } else { 0.0 };
    let [m0, m1, m2] = moments(along, length);
    Mat::from_fn(k, k, |i, j| {
        let alike = if i == j { m0 } else { 0.0 };
        alike + m1 * (c[i] * unit(j) + unit(i) * c[j]) + (m2 - m0) * unit(i) * unit(j)
    })
}

/// `E v x^k` for `v` at `a + t x`, `x` standard Gaussian.
fn moments(a: f64, t: f64) -> [f64; 3] {
    let (mut sums, mut all) = ([0.0; 3], 0.0);
    for slice in -SLICES..=SLICES {
        let x = f64::from(slice) * SLICE;
        let density = (-0.5 * x * x).exp();
        let mu = probability(a + t * x);
        let weighed = density * mu * (1.0 - mu);
        all += density;
        [1.0, x, x * x].iter().zip(&mut sums).for_each(|(power, sum)| *sum += weighed * power);
    }
    sums.map(|sum| sum / all)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// A mean over 10^6 draws is off by 0.0003 or less in each entry, one standard deviation.
    #[test]
    fn it_is_the_mean_over_normal_rows() {
        let constant = [0.6, 0.8, 0.0];
        for theta in [[0.0, 0.0, 0.0], [1.0, -0.4, 0.7], [-2.0, -1.0, 0.5]] {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let mut sum = Mat::<f64>::zeros(3, 3);
            for _ in 0..200_000 {
                let e: [f64; 3] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
                let along = dot(&e, &constant);
                let z: Vec<f64> = (0..3).map(|j| constant[j] + e[j] - along * constant[j]).collect();
                let mu = probability(dot(&z, &theta));
                for (i, j) in (0..9).map(|at| (at / 3, at % 3)) {
                    sum[(i, j)] += mu * (1.0 - mu) * z[i] * z[j] / 2e5;
                }
            }
            assert!((sum - curvature(&theta, Some(&constant))).norm_max() < 0.004, "{theta:?}");
        }
    }
}
