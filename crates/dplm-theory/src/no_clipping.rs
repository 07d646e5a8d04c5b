//! When nothing is clipped: the paper's No-Clipping Condition, measured on a data set, and the
//! lemma that uses it.

use faer::{Mat, MatRef};

use super::{
    NotPrivate, TheoryError, check_finite, check_positive, check_probability, check_rows, dot, law::eigen, norm,
};

/// Rows multiplied at a time; the block of products is this many rows by twice the steps.
const BLOCK_ROWS: usize = 256;

/// Columns of vectors multiplied at a time, so that memory does not grow with the number of steps
/// either.
const BLOCK_STEPS: usize = 256;

/// What item (i) asks of the spectrum: `I/2 <= Sigma <= 2 I` and `||I - eta Sigma|| <= 7/8`. It
/// does not involve c0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spectrum {
    /// Smallest eigenvalue of `Sigma = X'X / n`.
    pub smallest: f64,
    /// Largest eigenvalue of Sigma.
    pub largest: f64,
    /// `||I - eta Sigma||`.
    pub contraction: f64,
    /// Whether all three bounds hold.
    pub holds: bool,
}

/// One of items (ii) to (v): the largest value found, in the item's own unit, must not exceed c0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// The largest value over rows and steps.
    pub value: f64,
    /// What the paper measures it in: the item says `value <= c0 * unit`.
    pub unit: f64,
    /// The smallest c0 that satisfies the item, `value / unit`.
    pub smallest_c0: f64,
}

impl Item {
    fn new(value: f64, unit: f64) -> Self {
        // Zero responses' noise has zero unit; it satisfies the item at every c0.
        Self { value, unit, smallest_c0: if value == 0.0 { 0.0 } else { value / unit } }
    }

    /// Whether the item holds at this c0.
    pub fn holds_at(&self, c0: f64) -> bool {
        self.smallest_c0 <= c0
    }
}

/// The No-Clipping Condition measured on a data set, for one candidate theta.
///
/// # Paper
/// Condition "No-Clipping", items (i) to (v). The condition asks for *some* theta; the true
/// parameter or the least squares value are the ones to try. Item (iv) is checked from t = 0, not
/// 1: the proof's base case needs `|x_i'theta| <= c0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoClippingCondition {
    /// Item (i).
    pub spectrum: Spectrum,
    /// Item (ii): `||x_i|| <= c0 sqrt(p)`.
    pub covariate_norm: Item,
    /// Item (iii): `|y_i - x_i'theta| <= c0 sigma`.
    pub residual: Item,
    /// Item (iv): `|x_i'(I - eta Sigma)^t theta| <= c0`.
    pub signal: Item,
    /// Item (v): `|sum_j r_j x_i'A_t x_j| <= c0 sigma sqrt(n p)`, `r_j = y_j - x_j'theta`,
    /// `A_t = (I - (I - eta Sigma)^t) Sigma^-1`.
    pub independence: Item,
}

impl NoClippingCondition {
    /// The smallest c0 at which items (ii) to (v) hold; the whole condition holds there if item (i)
    /// does.
    pub fn smallest_c0(&self) -> f64 {
        self.items().iter().map(|item| item.smallest_c0).fold(0.0, f64::max)
    }

    /// Whether the whole condition holds at this c0.
    pub fn holds_at(&self, c0: f64) -> bool {
        self.spectrum.holds && self.items().iter().all(|item| item.holds_at(c0))
    }

    fn items(&self) -> [Item; 4] {
        [self.covariate_norm, self.residual, self.signal, self.independence]
    }
}

/// The multiplier at which Gaussian data satisfy the condition with probability `1 - beta`:
/// `c0 = 12 ln^1.5(5 n T / beta)`.
///
/// # Paper
/// Lemma "assumption holds", for `eta = 1/4`, `||theta*|| <= 1`, p >= 2. For item (iv) its proof
/// gives the constant `12 / (1 - p^-1/2)`, which is 12 only as p grows; [`check_condition`]
/// measures what a data set needs.
///
/// # Errors
/// When `rows` or `steps` is zero or `beta` is not a probability.
pub fn paper_c0(rows: usize, steps: usize, beta: f64) -> Result<f64, TheoryError> {
    check_positive("the number of rows", rows as f64)?;
    check_positive("the number of steps", steps as f64)?;
    check_probability("beta", beta)?;
    Ok(12.0 * (5.0 * rows as f64 * steps as f64 / beta).ln().powf(1.5))
}

/// Measures the No-Clipping Condition on rows.
///
/// The n x T values of items (iv) and (v) are inner products of rows with 2(T+1) vectors, `(I - eta
/// Sigma)^t theta` and `A_t X'r`, which follow by recursion; `A_t = eta sum_{k<t} (I - eta
/// Sigma)^k` needs no inverse. Only a block is held.
///
/// # Paper
/// Condition "No-Clipping".
///
/// # Errors
/// When shapes disagree, a number is not finite, `sigma` or `eta` is not positive, or there are
/// fewer rows than columns.
pub fn check_condition(
    x: &[f64],
    y: &[f64],
    theta: &[f64],
    sigma: f64,
    eta: f64,
    steps: usize,
) -> Result<NotPrivate<NoClippingCondition>, TheoryError> {
    let p = theta.len();
    let n = check_rows(x, y, p)?;
    check_finite("theta", theta)?;
    check_positive("sigma", sigma)?;
    check_positive("the step size", eta)?;

    let rows = || x.chunks(p);
    let gram = gram(x, p);
    let residuals: Vec<f64> = rows().zip(y).map(|(row, response)| response - dot(row, theta)).collect();
    let mut moment = vec![0.0; p];
    for (row, r) in rows().zip(&residuals) {
        moment.iter_mut().zip(row).for_each(|(m, v)| *m += r * v);
    }
    let (signal, independence) = largest_products(x, p, Vectors::new(&gram, eta, theta, &moment), steps);
    let root_p = (p as f64).sqrt();
    Ok(NotPrivate::new(NoClippingCondition {
        spectrum: spectrum(&gram, p, eta)?,
        covariate_norm: Item::new(rows().map(norm).fold(0.0, f64::max), root_p),
        residual: Item::new(residuals.iter().fold(0.0, |m: f64, r| m.max(r.abs())), sigma),
        signal: Item::new(signal, 1.0),
        independence: Item::new(independence, sigma * (n as f64).sqrt() * root_p),
    }))
}

/// `X'X / n`, p x p.
fn gram(x: &[f64], p: usize) -> Vec<f64> {
    let n = x.len() / p;
    let rows = MatRef::from_row_major_slice(x, n, p);
    let product = rows.transpose() * rows;
    (0..p * p).map(|k| product[(k / p, k % p)] / n as f64).collect()
}

fn spectrum(gram: &[f64], p: usize, eta: f64) -> Result<Spectrum, TheoryError> {
    let (values, _) = eigen(gram, p)?;
    let smallest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let contraction = (1.0 - eta * smallest).abs().max((1.0 - eta * largest).abs());
    let holds = smallest >= 0.5 && largest <= 2.0 && contraction <= 7.0 / 8.0;
    Ok(Spectrum { smallest, largest, contraction, holds })
}

/// `u_t = (I - eta Sigma)^t theta` and `w_t = A_t X'r`, for t = 0, 1, ...
struct Vectors<'a> {
    gram: &'a [f64],
    eta: f64,
    moment: &'a [f64],
    signal: Vec<f64>,
    independence: Vec<f64>,
}

impl<'a> Vectors<'a> {
    fn new(gram: &'a [f64], eta: f64, theta: &[f64], moment: &'a [f64]) -> Self {
        Self { gram, eta, moment, signal: theta.to_vec(), independence: vec![0.0; theta.len()] }
    }

    fn advance(&mut self) {
        self.signal = self.contract(&self.signal);
        self.independence = self.contract(&self.independence);
        self.independence.iter_mut().zip(self.moment).for_each(|(w, m)| *w += self.eta * m);
    }

    /// `(I - eta Sigma) v`.
    fn contract(&self, v: &[f64]) -> Vec<f64> {
        v.iter().zip(self.gram.chunks(v.len())).map(|(cell, row)| cell - self.eta * dot(row, v)).collect()
    }
}

/// The largest `|x_i'u_t|` and `|x_i'w_t|` over all rows and t = 0..=steps.
fn largest_products(x: &[f64], p: usize, mut vectors: Vectors<'_>, steps: usize) -> (f64, f64) {
    let (mut signal, mut independence) = (0.0, 0.0);
    let mut left = steps + 1;
    while left > 0 {
        let count = left.min(BLOCK_STEPS);
        let mut u = Mat::<f64>::zeros(p, count);
        let mut w = Mat::<f64>::zeros(p, count);
        for t in 0..count {
            (0..p).for_each(|j| {
                u[(j, t)] = vectors.signal[j];
                w[(j, t)] = vectors.independence[j];
            });
            vectors.advance();
        }
        for block in x.chunks(BLOCK_ROWS * p) {
            let rows = MatRef::from_row_major_slice(block, block.len() / p, p);
            signal = (rows * &u).norm_max().max(signal);
            independence = (rows * &w).norm_max().max(independence);
        }
        left -= count;
    }
    (signal, independence)
}

/// What Lemma "No clipping occurs" says of a run from `theta_0 = 0` on data that satisfy the
/// condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoClippingBound {
    /// The lemma's own threshold, `4 c0^2 sigma sqrt(p)`.
    pub gamma_for_noise: f64,
    /// What the first step needs: `c0^2 (sigma + 1) sqrt(p)`.
    pub gamma_for_start: f64,
    /// What the decaying signal needs: `4 c0^2 sqrt(p)`.
    pub gamma_for_signal: f64,
    /// Whether gamma reaches the lemma's threshold.
    pub threshold_holds: bool,
    /// Whether gamma reaches all three, so that the proof goes through.
    pub proof_holds: bool,
    /// Probability that any gradient is clipped is at most this; 1 when the lemma says nothing.
    pub beta: f64,
}

/// Lemma "No clipping occurs": the probability that DP-GD from zero clips anything, on data
/// satisfying the condition at c0.
///
/// ```text
/// beta = 2 n T exp(-(gamma / (64 c0^2 p eta lambda))^2),   at most 1
/// ```
///
/// # Guarantee
/// `beta` bounds the probability of any clipping when the data satisfy the condition with `(sigma,
/// eta, c0, T)`. It is 1 unless gamma reaches all of the thresholds.
///
/// # Paper
/// Lemma "No clipping occurs" asks only `gamma >= 4 c0^2 sigma sqrt(p)`. That is not enough when
/// sigma is small. At the first step theta is zero, so the residual is the response itself, and the
/// condition bounds it by `c0 (sigma + 1)`: the signal counts, not only the noise. Later, what is
/// left of the signal is bounded by c0, and a quarter of the allowance must hold it. The 1 stands
/// for the size of the signal, which item (iv) of the condition measures in units of one. So clip
/// by the scale of y, not by that of the noise in it. All three thresholds are given here, and the
/// proof needs all three.
///
/// # Errors
/// When a count is zero or a parameter is not positive.
#[allow(clippy::too_many_arguments, reason = "the lemma's own parameters")]
pub fn no_clipping_bound(
    rows: usize,
    features: usize,
    gamma: f64,
    lambda: f64,
    eta: f64,
    steps: usize,
    c0: f64,
    sigma: f64,
) -> Result<NoClippingBound, TheoryError> {
    for (name, value) in [
        ("the number of rows", rows as f64),
        ("the number of features", features as f64),
        ("the clip threshold", gamma),
        ("the noise", lambda),
        ("the step size", eta),
        ("the number of steps", steps as f64),
        ("c0", c0),
        ("sigma", sigma),
    ] {
        check_positive(name, value)?;
    }
    let p = features as f64;
    let unit = c0 * c0 * p.sqrt();
    let (gamma_for_noise, gamma_for_start, gamma_for_signal) = (4.0 * sigma * unit, (sigma + 1.0) * unit, 4.0 * unit);
    let threshold_holds = gamma >= gamma_for_noise;
    let proof_holds = threshold_holds && gamma >= gamma_for_start && gamma >= gamma_for_signal && rows >= features;
    let exponent = (gamma / (64.0 * c0 * c0 * p * eta * lambda)).powi(2);
    let chance = 2.0 * rows as f64 * steps as f64 * (-exponent).exp();
    let beta = if proof_holds { chance.min(1.0) } else { 1.0 };
    Ok(NoClippingBound { gamma_for_noise, gamma_for_start, gamma_for_signal, threshold_holds, proof_holds, beta })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulated;

    const THETA: [f64; 3] = [0.6, -0.5, 0.4];

    /// The condition by its definition: n x T values, the inverse of Sigma taken explicitly.
    fn by_definition(x: &[f64], y: &[f64], sigma: f64, eta: f64, steps: usize) -> (f64, f64) {
        let (p, n) = (3, y.len());
        let (values, vectors) = eigen(&gram(x, p), p).expect("symmetric");
        let apply = |f: &dyn Fn(f64) -> f64, v: &[f64]| -> Vec<f64> {
            (0..p).map(|j| (0..p).map(|k| f(values[k]) * vectors[k][j] * dot(&vectors[k], v)).sum()).collect()
        };
        let (mut signal, mut independence) = (0.0f64, 0.0f64);
        for t in 0..=steps {
            for row in x.chunks(p) {
                signal = signal.max(dot(row, &apply(&|s| (1.0 - eta * s).powi(t as i32), &THETA)).abs());
                let carried = apply(&|s| (1.0 - (1.0 - eta * s).powi(t as i32)) / s, row);
                let sum: f64 =
                    x.chunks(p).zip(y).map(|(other, v)| (v - dot(other, &THETA)) * dot(&carried, other)).sum();
                independence = independence.max(sum.abs());
            }
        }
        (signal, independence / (sigma * ((n * p) as f64).sqrt()))
    }

    #[test]
    fn agrees_with_the_definition() {
        let (x, y) = simulated::regression(21, 60, &THETA, 0.5);
        let found = check_condition(&x, &y, &THETA, 0.5, 0.25, 9).expect("valid").into_inner();
        let (signal, independence) = by_definition(&x, &y, 0.5, 0.25, 9);
        assert!((found.signal.smallest_c0 - signal).abs() < 1e-12);
        assert!((found.independence.smallest_c0 - independence).abs() < 1e-12);
        let longest = x.chunks(3).map(norm).fold(0.0, f64::max);
        assert_eq!(found.covariate_norm.smallest_c0, longest / 3f64.sqrt());
        assert_eq!(found.residual.value / 0.5, found.residual.smallest_c0);
    }

    #[test]
    fn blocks_do_not_change_the_answer() {
        // More rows and steps than a block holds; the largest values are found by direct recursion.
        let (n, steps) = (BLOCK_ROWS + 37, BLOCK_STEPS + 11);
        let (x, y) = simulated::regression(22, n, &THETA, 1.0);
        let found = check_condition(&x, &y, &THETA, 1.0, 0.004, steps).expect("valid").into_inner();
        let gram = gram(&x, 3);
        let mut moment = vec![0.0; 3];
        for (row, v) in x.chunks(3).zip(&y) {
            moment.iter_mut().zip(row).for_each(|(m, c)| *m += (v - dot(row, &THETA)) * c);
        }
        let mut vectors = Vectors::new(&gram, 0.004, &THETA, &moment);
        // With so small a step item (v) still grows, so its largest value is at the very last step.
        (0..steps).for_each(|_| vectors.advance());
        let last = x.chunks(3).map(|row| dot(row, &vectors.independence).abs()).fold(0.0, f64::max);
        assert!((found.independence.value / last - 1.0).abs() < 1e-12);
    }

    #[test]
    fn holds_for_gaussian_data_at_the_papers_multiplier() {
        let (x, y) = simulated::regression(23, 1000, &THETA, 1.0);
        let found = check_condition(&x, &y, &THETA, 1.0, 0.25, 20).expect("valid").into_inner();
        let c0 = paper_c0(1000, 20, 0.05).expect("valid");
        assert!(found.spectrum.holds && found.holds_at(c0), "{found:?}");
        let smallest = found.smallest_c0();
        assert!(found.holds_at(smallest) && !found.holds_at(smallest * 0.999));
        // The spectrum alone can refuse.
        assert!(!check_condition(&x, &y, &THETA, 1.0, 1.9, 20).expect("valid").into_inner().holds_at(c0));
    }

    #[test]
    fn papers_multiplier() {
        // 12 ln(5 * 1000 * 20 / 0.05)^1.5 = 12 * 14.50866^1.5.
        assert!((paper_c0(1000, 20, 0.05).expect("valid") - 663.165_767_1).abs() < 1e-6);
        assert!(paper_c0(0, 20, 0.05).is_err() && paper_c0(10, 20, 1.0).is_err());
    }

    #[test]
    fn lemma_turns_its_condition_around() {
        // gamma / (eta lambda) = 64 c0^2 p sqrt(ln(2 n T / beta)) at beta = 1e-3 must give 1e-3
        // back.
        let (n, p, steps, c0, sigma, eta, beta): (usize, usize, usize, f64, f64, f64, f64) =
            (500, 4, 10, 3.0, 1.5, 0.25, 1e-3);
        let gamma = 4.0 * c0 * c0 * sigma * 2.0;
        let lambda = gamma / (eta * 64.0 * c0 * c0 * 4.0 * (2.0 * (n * steps) as f64 / beta).ln().sqrt());
        let bound = no_clipping_bound(n, p, gamma, lambda, eta, steps, c0, sigma).expect("valid");
        assert!(bound.proof_holds && (bound.beta / beta - 1.0).abs() < 1e-12, "{bound:?}");
        let more_noise = no_clipping_bound(n, p, gamma, 10.0 * lambda, eta, steps, c0, sigma).expect("valid");
        assert_eq!(more_noise.beta, 1.0);
    }

    #[test]
    fn small_noise_meets_the_threshold_but_not_the_proof() {
        let gamma = 4.0 * 9.0 * 0.01 * 2.0;
        let bound = no_clipping_bound(500, 4, gamma, 1e-9, 0.25, 10, 3.0, 0.01).expect("valid");
        assert!(bound.threshold_holds && !bound.proof_holds && bound.beta == 1.0);
    }

    #[test]
    fn says_nothing_of_the_rows() {
        let (x, y) = simulated::regression(24, 30, &THETA, 1.0);
        let found = check_condition(&x, &y, &THETA, 1.0, 0.25, 3).expect("valid");
        assert_eq!(format!("{found:?}"), "NotPrivate(..)");
    }
}
