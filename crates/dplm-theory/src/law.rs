//! The exact law of the iterates of DP-GD when nothing is clipped.

use faer::{MatRef, Side};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{TheoryError, check_finite, check_len, check_positive, check_rule};

/// The exact law of `theta_0, theta_1, ...` without clipping: jointly Gaussian, with the moments
/// given here.
///
/// With `M = I - eta Sigma`, `D = M^2` and noise of standard deviation lambda in each coordinate of
/// each gradient,
///
/// ```text
/// E theta_t          = theta_hat + M^t (theta_0 - theta_hat)
/// Var theta_t        = eta^2 lambda^2 A(t),   A(t) = I + D + ... + D^(t-1) = (I - D)^-1 (I - D^t)
/// Cov(theta_s, theta_t) = eta^2 lambda^2 M^|t-s| A(min(s, t))
/// ```
///
/// One eigendecomposition of Sigma makes each of these a sum over eigenvalues. The geometric sum is
/// taken as t where an eigenvalue of D is one, so a singular Sigma gives a random walk in its null
/// space and never NaN.
///
/// # Paper
/// Lemma "distribution of DP-GD, no clipping", its expanded statement, and the checkpoint
/// covariances of the coverage proof. The paper assumes Sigma and D invertible; the law holds
/// without that.
///
/// # Examples
/// ```
/// use dplm_theory::law::IterateLaw;
/// let law = IterateLaw::new(&[1.0], &[2.0], &[0.0], 0.5, 0.1)?;
/// assert_eq!(law.mean(1), [1.0]);
/// assert!((law.covariance(1)[0] - 0.25 * 0.01).abs() < 1e-18);
/// # Ok::<(), dplm_theory::TheoryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct IterateLaw {
    theta_hat: Vec<f64>,
    /// Eigenvalues of `I - eta Sigma`.
    factors: Vec<Factor>,
    /// Eigenvectors of Sigma, one after the other.
    vectors: Vec<Vec<f64>>,
    /// `theta_0 - theta_hat` in the eigenbasis.
    offset: Vec<f64>,
    /// `eta^2 lambda^2`.
    step_variance: f64,
}

/// How far a point lies from a Gaussian law.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Distance {
    /// `d' C^-1 d`, for the difference `d` from the mean and the covariance `C`: chi-square, one
    /// degree of freedom for each coordinate.
    pub chi_square: f64,
    /// The probability of one as large.
    pub p_value: f64,
}

impl IterateLaw {
    /// The law for covariance `sigma` (p x p, symmetric), least squares value, start, step size and
    /// noise.
    ///
    /// # Errors
    /// When lengths disagree, a number is not finite, `eta` is not positive or `lambda` is
    /// negative.
    pub fn new(sigma: &[f64], theta_hat: &[f64], theta_0: &[f64], eta: f64, lambda: f64) -> Result<Self, TheoryError> {
        let p = theta_hat.len();
        check_len("the covariance", sigma, p * p)?;
        check_len("the start", theta_0, p)?;
        for (what, values) in [("the covariance", sigma), ("theta_hat", theta_hat), ("the start", theta_0)] {
            check_finite(what, values)?;
        }
        check_positive("the step size", eta)?;
        check_rule(lambda >= 0.0 && lambda.is_finite(), "the noise", "zero or more, and finite")?;
        let (values, vectors) = eigen(sigma, p)?;
        let start: Vec<f64> = theta_0.iter().zip(theta_hat).map(|(a, b)| a - b).collect();
        Ok(Self {
            theta_hat: theta_hat.to_vec(),
            factors: values.iter().map(|s| Factor::new(eta * s)).collect(),
            offset: vectors.iter().map(|v| super::dot(v, &start)).collect(),
            vectors,
            step_variance: (eta * lambda).powi(2),
        })
    }

    /// `E theta_t`.
    pub fn mean(&self, t: usize) -> Vec<f64> {
        self.centre(|factor| factor.power(t))
    }

    /// `Var theta_t`, p x p.
    pub fn covariance(&self, t: usize) -> Vec<f64> {
        self.matrix(|factor| factor.sum_of_squares(t))
    }

    /// `Cov(theta_s, theta_t)`, p x p; symmetric, since every factor commutes.
    pub fn cross_covariance(&self, s: usize, t: usize) -> Vec<f64> {
        self.matrix(|factor| factor.power(s.abs_diff(t)) * factor.sum_of_squares(s.min(t)))
    }

    /// Variance of the limit law, `eta^2 lambda^2 (I - D)^-1`; `None` when there is none.
    ///
    /// The limit exists exactly when every eigenvalue of `eta Sigma` is strictly between 0 and 2.
    /// Its mean is theta_hat.
    pub fn stationary_covariance(&self) -> Option<Vec<f64>> {
        self.contraction().is_some().then(|| self.matrix(|factor| 1.0 / factor.one_minus_square()))
    }

    /// `||I - eta Sigma||`, the factor by which the remaining bias shrinks at each step; `None`
    /// when it is not below one.
    pub fn contraction(&self) -> Option<f64> {
        let largest = self.factors.iter().map(|factor| factor.value.abs()).fold(0.0, f64::max);
        self.factors.iter().all(|factor| factor.gap > 0.0).then_some(largest)
    }

    /// How far a point lies from the law of `theta_t`; `None` where that law has no density.
    ///
    /// # Examples
    /// ```
    /// use dplm_theory::law::IterateLaw;
    /// // After one step: mean 1, standard deviation 0.05.
    /// let found = IterateLaw::new(&[1.0], &[2.0], &[0.0], 0.5, 0.1)?.distance(1, &[1.1]).expect("a density");
    /// assert!((found.chi_square - 4.0).abs() < 1e-9 && (found.p_value - 0.0455).abs() < 1e-4);
    /// # Ok::<(), dplm_theory::TheoryError>(())
    /// ```
    ///
    /// # Panics
    /// When the point has another number of coordinates.
    pub fn distance(&self, t: usize, theta: &[f64]) -> Option<Distance> {
        assert_eq!(theta.len(), self.theta_hat.len(), "a point of the law");
        let off: Vec<f64> = theta.iter().zip(self.mean(t)).map(|(found, mean)| found - mean).collect();
        let variance = |factor: &Factor| self.step_variance * factor.sum_of_squares(t);
        let chi_square: f64 = self
            .vectors
            .iter()
            .zip(&self.factors)
            .map(|(v, factor)| super::dot(v, &off).powi(2) / variance(factor))
            .sum();
        let law = ChiSquared::new(theta.len() as f64).ok()?;
        chi_square.is_finite().then(|| Distance { chi_square, p_value: law.sf(chi_square) })
    }

    /// Mean of the average of `theta_first ..= theta_last`.
    ///
    /// # Errors
    /// When `last` comes before `first`.
    pub fn mean_of_average(&self, first: usize, last: usize) -> Result<Vec<f64>, TheoryError> {
        let length = window(first, last)?;
        Ok(self.centre(|factor| factor.power(first) * factor.sum(length) / length as f64))
    }

    /// Variance of the average of `theta_first ..= theta_last`, p x p.
    ///
    /// With r an eigenvalue of M, `G_l = 1 + r + ... + r^(l-1)` and m steps in the average, each
    /// unit of noise before `first` reaches the sum through `G_m` and one l steps before the end
    /// through `G_l`, so the eigenvalue is `eta^2 lambda^2 / m^2 (G_m^2 A(first) + G_1^2 + ... +
    /// G_(m-1)^2)`.
    ///
    /// # Errors
    /// When `last` comes before `first`.
    pub fn covariance_of_average(&self, first: usize, last: usize) -> Result<Vec<f64>, TheoryError> {
        let length = window(first, last)?;
        let scale = 1.0 / (length as f64).powi(2);
        Ok(self.matrix(|factor| {
            let (within, whole) = factor.window_sums(length);
            scale * (whole * whole * factor.sum_of_squares(first) + within)
        }))
    }

    /// `theta_hat + Q diag(weight) Q' (theta_0 - theta_hat)`.
    fn centre(&self, weight: impl Fn(&Factor) -> f64) -> Vec<f64> {
        let mut mean = self.theta_hat.clone();
        for ((factor, vector), offset) in self.factors.iter().zip(&self.vectors).zip(&self.offset) {
            let along = weight(factor) * offset;
            mean.iter_mut().zip(vector).for_each(|(m, v)| *m += along * v);
        }
        mean
    }

    /// `eta^2 lambda^2 Q diag(weight) Q'`.
    fn matrix(&self, weight: impl Fn(&Factor) -> f64) -> Vec<f64> {
        let p = self.theta_hat.len();
        let mut matrix = vec![0.0; p * p];
        if self.step_variance == 0.0 {
            return matrix;
        }
        for (factor, vector) in self.factors.iter().zip(&self.vectors) {
            let weight = self.step_variance * weight(factor);
            for (row, left) in matrix.chunks_mut(p).zip(vector) {
                row.iter_mut().zip(vector).for_each(|(cell, right)| *cell += weight * left * right);
            }
        }
        matrix
    }
}

/// An eigenvalue `r = 1 - h` of `I - eta Sigma`.
#[derive(Clone, Copy, Debug)]
struct Factor {
    value: f64,
    /// `1 - |r|`, kept apart because it loses its figures in `r` when h is small.
    gap: f64,
}

impl Factor {
    fn new(h: f64) -> Self {
        Self { value: 1.0 - h, gap: if h <= 1.0 { h } else { 2.0 - h } }
    }

    fn one_minus_square(self) -> f64 {
        self.gap * (2.0 - self.gap)
    }

    /// `r^t`.
    fn power(self, t: usize) -> f64 {
        let size = if t == 0 { 1.0 } else { (t as f64 * (-self.gap).ln_1p()).exp() };
        if self.value < 0.0 && t % 2 == 1 { -size } else { size }
    }

    /// `1 + r + ... + r^(t-1)`.
    fn sum(self, t: usize) -> f64 {
        self.window_sums(t).1
    }

    /// `1 + r^2 + ... + r^(2(t-1))`; its limit t where r is 1 or -1.
    fn sum_of_squares(self, t: usize) -> f64 {
        if t == 0 || self.gap == 0.0 {
            return t as f64;
        }
        -(2.0 * t as f64 * (-self.gap).ln_1p()).exp_m1() / self.one_minus_square()
    }

    /// `(G_1^2 + ... + G_(m-1)^2, G_m)` with `G_l = 1 + r + ... + r^(l-1)`; a recursion, because
    /// the closed form cancels.
    fn window_sums(self, m: usize) -> (f64, f64) {
        (0..m).fold((0.0, 0.0), |(squares, g), _| (squares + g * g, 1.0 + self.value * g))
    }
}

fn window(first: usize, last: usize) -> Result<usize, TheoryError> {
    check_rule(first <= last, "the last step", "the first step or later")?;
    Ok(last - first + 1)
}

/// Eigenvalues and eigenvectors of a symmetric matrix.
pub(super) fn eigen(matrix: &[f64], p: usize) -> Result<(Vec<f64>, Vec<Vec<f64>>), TheoryError> {
    let eigen = MatRef::from_row_major_slice(matrix, p, p)
        .self_adjoint_eigen(Side::Lower)
        .map_err(|_| TheoryError::NoConvergence)?;
    let values = eigen.S().column_vector().iter().copied().collect();
    let vectors = eigen.U().col_iter().map(|column| column.iter().copied().collect()).collect();
    Ok((values, vectors))
}

#[cfg(test)]
mod tests {
    use dplm::theory::student::normal_quantile;

    use super::*;
    use crate::simulated;

    const ETA: f64 = 0.4;
    const LAMBDA: f64 = 0.3;

    fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(u, v)| (u - v).abs() <= tolerance)
    }

    fn sample_law() -> IterateLaw {
        let sigma = [1.0, 0.3, 0.1, 0.3, 0.8, -0.2, 0.1, -0.2, 1.4];
        IterateLaw::new(&sigma, &[1.0, -2.0, 0.5], &[0.0, 0.3, 0.0], ETA, LAMBDA).expect("a valid law")
    }

    /// Tails: R's `qchisq(0.95, df)` to ten figures.
    #[test]
    fn distance_in_the_units_of_the_law() {
        // One step from the start at zero with eta = 1: mean theta_hat, whatever Sigma is;
        // covariance lambda^2 I.
        let law = IterateLaw::new(&[1.0, 0.3, 0.3, 2.0], &[1.0, 1.0], &[1.0, 1.0], 1.0, 0.5).expect("a valid law");
        assert!((law.distance(1, &[2.0, 0.5]).expect("a density").chi_square - (1.0 + 0.25) / 0.25).abs() < 1e-12);
        // Two steps: C = lambda^2 (I + (I - Sigma)^2), inverted by hand.
        let (a, b, d) = (0.25 * (1.0 + 0.09), 0.25 * 0.3, 0.25 * (1.0 + 0.09 + 1.0));
        let by_hand = (d - 2.0 * b * 2.0 + 4.0 * a) / (a * d - b * b);
        assert!((law.distance(2, &[2.0, 3.0]).expect("a density").chi_square - by_hand).abs() < 1e-9);
        assert_eq!(law.distance(0, &[1.0, 2.0]), None);
        for (df, value) in
            [(1, 3.841_458_820_7f64), (2, 5.991_464_547_1), (10, 18.307_038_053_3), (101, 125.458_419_408)]
        {
            let identity: Vec<f64> = (0..df * df).map(|at| f64::from(u8::from(at % (df + 1) == 0))).collect();
            let law = IterateLaw::new(&identity, &vec![0.0; df], &vec![0.0; df], 1.0, 1.0).expect("a valid law");
            let mut point = vec![0.0; df];
            point[0] = value.sqrt();
            let found = law.distance(1, &point).expect("a density").p_value;
            assert!((found - 0.05).abs() < 1e-10, "{df}: {found}");
        }
    }

    /// The recursion `V <- M V M + eta^2 lambda^2 I`, `m <- theta_hat + M (m - theta_hat)` for a
    /// diagonal Sigma.
    fn recursion(h: f64, t: usize) -> f64 {
        (0..t).fold(0.0, |v, _| (1.0 - h).powi(2) * v + (ETA * LAMBDA).powi(2))
    }

    #[test]
    fn agrees_with_the_recursion_for_every_kind_of_eigenvalue() {
        // Ordinary, exactly and nearly singular, one step from the end, oscillating, and on the
        // edge of divergence.
        for s in [0.7, 0.0, 1e-13, 1e-300, 1.0 / ETA, 1.7 / ETA, 2.0 / ETA, 2.3 / ETA] {
            let law = IterateLaw::new(&[s], &[1.0], &[3.0], ETA, LAMBDA).expect("a valid law");
            for t in [0, 1, 2, 7, 40] {
                let (found, expected) = (law.covariance(t)[0], recursion(ETA * s, t));
                assert!((found - expected).abs() <= 1e-12 * expected, "s {s}, t {t}: {found} against {expected}");
                let mean = 1.0 + 2.0 * (1.0 - ETA * s).powi(t as i32);
                assert!((law.mean(t)[0] - mean).abs() <= 1e-12 * mean.abs().max(1.0), "s {s}, t {t}");
            }
        }
    }

    #[test]
    fn stationary_law_is_the_limit_and_exists_only_when_it_should() {
        let law = sample_law();
        assert!(close(&law.stationary_covariance().expect("stable"), &law.covariance(5000), 1e-15));
        assert!(close(&law.mean(5000), &[1.0, -2.0, 0.5], 1e-14));
        for s in [0.0, 2.0 / ETA, 3.0 / ETA] {
            let law = IterateLaw::new(&[s], &[1.0], &[0.0], ETA, LAMBDA).expect("a valid law");
            assert_eq!(law.stationary_covariance(), None, "s {s}");
        }
    }

    #[test]
    fn average_agrees_with_the_sum_of_cross_covariances() {
        let law = sample_law();
        for (first, last) in [(0, 0), (0, 6), (3, 3), (4, 17)] {
            let m = (last - first + 1) as f64;
            let mut expected = [0.0; 9];
            let mut mean = [0.0; 3];
            for s in first..=last {
                mean.iter_mut().zip(law.mean(s)).for_each(|(a, b)| *a += b / m);
                for t in first..=last {
                    expected.iter_mut().zip(law.cross_covariance(s, t)).for_each(|(a, b)| *a += b / (m * m));
                }
            }
            assert!(close(&law.covariance_of_average(first, last).expect("ordered"), &expected, 1e-15));
            assert!(close(&law.mean_of_average(first, last).expect("ordered"), &mean, 1e-14));
        }
        assert!(law.covariance_of_average(3, 2).is_err());
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        assert!(matches!(IterateLaw::new(&[1.0; 3], &[0.0], &[0.0], 1.0, 1.0), Err(TheoryError::Shape { .. })));
        assert!(matches!(IterateLaw::new(&[f64::NAN], &[0.0], &[0.0], 1.0, 1.0), Err(TheoryError::NotFinite { .. })));
        assert!(matches!(IterateLaw::new(&[1.0], &[0.0], &[0.0], 0.0, 1.0), Err(TheoryError::OutOfRange { .. })));
    }

    /// Runs noisy gradient descent on rows and gives `theta_s` followed by `theta_t`.
    fn descend(x: &[f64], y: &[f64], p: usize, (s, t): (usize, usize), noise: &[f64]) -> Vec<f64> {
        let mut theta = vec![0.0; p];
        let mut kept = Vec::new();
        for z in noise.chunks(p).take(t).enumerate() {
            let mut gradient = vec![0.0; p];
            for (row, response) in x.chunks(p).zip(y) {
                let residual = response - crate::dot(row, &theta);
                gradient.iter_mut().zip(row).for_each(|(g, v)| *g -= v * residual / y.len() as f64);
            }
            theta.iter_mut().zip(gradient).zip(z.1).for_each(|((a, g), z)| *a += ETA * (LAMBDA * z - g));
            if z.0 + 1 == s {
                kept.extend_from_slice(&theta);
            }
        }
        kept.extend(theta);
        kept
    }

    /// Mean and covariance of (theta_2, theta_6) over 40,000 runs on 12 rows against the law, in
    /// units in which the law is standard Gaussian. 6 means, 6 variances and 15 covariances share a
    /// false-alarm rate of 1e-6.
    #[test]
    fn agrees_with_simulation() {
        let (p, s, t, runs) = (3, 2, 6, 40_000);
        let (x, y) = simulated::regression(11, 12, &[0.5, -1.0, 0.2], 0.7);
        let gram: Vec<f64> = (0..p * p).map(|k| x.chunks(p).map(|r| r[k / p] * r[k % p]).sum::<f64>() / 12.0).collect();
        let theta_hat = crate::huber::huber_optimum(&x, &y, p, 1e9).expect("solvable").into_inner().theta;
        let law = IterateLaw::new(&gram, &theta_hat, &[0.0; 3], ETA, LAMBDA).expect("a valid law");
        let mean = [law.mean(s), law.mean(t)].concat();
        let whiten = whitener(&joint(&law, s, t));

        let noise = simulated::normals(12, runs * t * p);
        let white: Vec<Vec<f64>> = noise
            .chunks(t * p)
            .map(|z| {
                let run = descend(&x, &y, p, (s, t), z);
                let centred: Vec<f64> = run.iter().zip(&mean).map(|(a, b)| a - b).collect();
                whiten.iter().map(|w| crate::dot(w, &centred)).collect()
            })
            .collect();

        let limit = normal_quantile(1.0 - 1e-6 / (2.0 * 27.0));
        let root = (runs as f64).sqrt();
        for i in 0..6 {
            let z = white.iter().map(|w| w[i]).sum::<f64>() / root;
            assert!(z.abs() < limit, "mean {i}: {z}");
            for j in 0..=i {
                let moment = white.iter().map(|w| w[i] * w[j]).sum::<f64>() / runs as f64;
                let z = if i == j { (moment - 1.0) * root / 2f64.sqrt() } else { moment * root };
                assert!(z.abs() < limit, "covariance {i}, {j}: {z}");
            }
        }
    }

    /// Covariance of (theta_s, theta_t), 6 x 6.
    fn joint(law: &IterateLaw, s: usize, t: usize) -> Vec<f64> {
        let steps = [s, t];
        (0..36).map(|k| law.cross_covariance(steps[k / 18], steps[k % 6 / 3])[(k / 6 % 3) * 3 + k % 3]).collect()
    }

    /// Rows of `C^(-1/2)`, up to a rotation.
    fn whitener(covariance: &[f64]) -> Vec<Vec<f64>> {
        let (values, vectors) = eigen(covariance, 6).expect("a covariance");
        vectors.into_iter().zip(values).map(|(v, s)| v.iter().map(|c| c / s.sqrt()).collect()).collect()
    }
}
