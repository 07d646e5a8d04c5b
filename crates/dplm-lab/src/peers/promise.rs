//! The promise of a peer, and the noise that follows from it if an exact distribution is known.

use dplm::privacy::convert::{Conversion, epsilon, rho_exact};
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};
use statrs::function::{factorial::ln_binomial, gamma::ln_gamma};

/// (epsilon, delta) for neighbours that replace one row, and the rho that implies the same promise
/// if noise is Gaussian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// Of zCDP.
    pub rho: f64,
    /// At [`delta`](Self::delta), by the exact Gaussian curve.
    pub epsilon: f64,
    /// The arena's.
    pub delta: f64,
}

/// A part of a promise, for neighbours that zero a row out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ZeroOut {
    pub epsilon: f64,
    pub delta: f64,
}

impl Promise {
    /// The promise of `rho` at `delta` if everything is Gaussian.
    ///
    /// # Errors
    /// When these are not a budget.
    pub fn of(rho: f64, delta: f64) -> Result<Promise, dplm::privacy::convert::ConvertError> {
        Ok(Promise { rho, epsilon: epsilon(Conversion::Exact, rho, delta)?, delta })
    }

    /// The requirement for neighbours that zero a row out: tables that differ in a replaced row
    /// both differ from the one in which that row is zeroed, and `(e, d)` twice in a row is
    /// `(2 e, d + exp(e) d)`.
    pub(super) fn zero_out(&self) -> ZeroOut {
        let epsilon = self.epsilon / 2.0;
        ZeroOut { epsilon, delta: self.delta / (1.0 + epsilon.exp()) }
    }

    /// The standard deviation of Gaussian noise for a share of rho, at a sensitivity for replaced
    /// rows.
    pub(super) fn noise_sd(&self, sensitivity: f64, share: f64) -> f64 {
        sensitivity / (2.0 * self.rho * share).sqrt()
    }
}

impl ZeroOut {
    /// A share of both; shares add up.
    pub(super) fn share(&self, share: f64) -> ZeroOut {
        ZeroOut { epsilon: share * self.epsilon, delta: share * self.delta }
    }

    /// `mu = sensitivity / sd` of one Gaussian mechanism that keeps this, by its exact curve.
    pub(super) fn mu(&self) -> f64 {
        (2.0 * rho_exact(self.epsilon, self.delta).expect("positive numbers")).sqrt()
    }

    fn holds(&self, delta: f64) -> bool {
        delta <= self.delta
    }

    /// The fewest degrees of freedom of Wishart noise on `d` columns, of the scale of the longest
    /// row, that keep this promise.
    pub(super) fn wishart_degrees(&self, columns: usize) -> f64 {
        let enough = |m: f64| self.holds(wishart_delta(m, self.epsilon));
        let mut m = 3.0;
        while !enough(m) {
            m *= 1.5;
        }
        let m = turn(m / 1.5, m, |m| !enough(m)).1.ceil();
        m + columns as f64 - 1.0
    }

    /// The largest share `t` that a row may have of the moments behind `count` random projections.
    pub(super) fn projected_share(&self, count: f64) -> f64 {
        turn(1e-12, 1.0, |t| self.holds(projection_delta(count, t, self.epsilon))).0
    }

    /// The smallest noise multiplier of `steps` Gaussian steps on samples that take each row with
    /// probability `rate`.
    pub(super) fn sampled_noise(&self, rate: f64, steps: f64) -> f64 {
        turn(0.05, 1e4, |noise| sampled_epsilon(rate, noise, steps, self.delta) > self.epsilon).1
    }

    /// The smallest standard deviation of Gaussian noise, in units of a covariance that neighbours
    /// change by `spread` in trace norm, for means `shift` apart; `None` if no noise suffices.
    pub(super) fn shaped_noise(&self, shift: f64, spread: f64) -> Option<f64> {
        let (low, high) = (shift * 1e-3, shift * 1e6);
        let too_little = |noise: f64| shaped_epsilon(shift / noise, spread, self.delta) > self.epsilon;
        (!too_little(high)).then(|| turn(low, high, too_little).1)
    }

    /// The smallest noise multiplier of `count` Gaussian releases, each of a bootstrap sample of as
    /// many rows.
    pub(super) fn bootstrap_noise(&self, rows: f64, count: f64) -> f64 {
        turn(0.5, 1e5, |noise| bootstrap_epsilon(rows, noise, count, self.delta) > self.epsilon).1
    }
}

/// Two adjacent numbers: `is_low`, true at `low`, holds at the first and not at the second.
fn turn(mut low: f64, mut high: f64, is_low: impl Fn(f64) -> bool) -> (f64, f64) {
    for _ in 0..40 {
        let middle = (low * high).sqrt();
        *(if is_low(middle) { &mut low } else { &mut high }) = middle;
    }
    (low, high)
}

/// The delta at epsilon of second moments plus Wishart noise, for a row of the largest length that
/// is zeroed out; `m` is the degrees of freedom minus columns, plus 1.
///
/// With `W` the noise, `v` the row and `Q = |v|^2 / v' W^-1 v`, which is chi-square with `m`
/// degrees of freedom, the privacy loss towards the table with the row is
/// `-(m - 2) / 2 ln(1 - 1 / Q) - 1 / 2`, and under the other table `Q - 1` has the distribution of
/// `Q`. Losses are monotone in `Q`, so that both deltas are differences of two tails (Neyman and
/// Pearson).
pub(super) fn wishart_delta(m: f64, epsilon: f64) -> f64 {
    let law = ChiSquared::new(m).expect("degrees of freedom are positive");
    let added = {
        let below = 1.0 / -(-(2.0 * epsilon + 1.0) / (m - 2.0)).exp_m1();
        law.cdf(below) - epsilon.exp() * law.cdf((below - 1.0).max(0.0))
    };
    let removed = if epsilon >= 0.5 {
        0.0
    } else {
        let above = 1.0 / ((1.0 - 2.0 * epsilon) / (m - 2.0)).exp_m1();
        law.sf(above) - epsilon.exp() * law.sf(above + 1.0)
    };
    added.max(removed)
}

/// The delta at epsilon of `count` draws from `N(0, M)` against as many from `N(0, M + v v')`, in
/// either direction, with `v' M^-1 v = share`.
///
/// Along `M^-1 v` the sum of squares is chi-square under one and `1 + share` times that under the
/// other; in all other directions they agree.
pub(super) fn projection_delta(count: f64, share: f64, epsilon: f64) -> f64 {
    let law = ChiSquared::new(count).expect("there are projections");
    let (wide, log) = (1.0 + share, share.ln_1p());
    let below = ((count * log - 2.0 * epsilon) * wide / share).max(0.0);
    let above = (count * log + 2.0 * epsilon) * wide / share;
    let narrower = law.cdf(below) - epsilon.exp() * law.cdf(below / wide);
    let wider = law.sf(above / wide) - epsilon.exp() * law.sf(above);
    narrower.max(wider)
}

/// A tail bound for the minimiser of a perturbed loss:
/// `2 Phi(-(epsilon - jacobian) / mu + mu / 2)`.
pub(super) fn objective_delta(mu: f64, jacobian: f64, epsilon: f64) -> f64 {
    2.0 * Normal::standard().sf((epsilon - jacobian) / mu - mu / 2.0)
}

/// Orders of Renyi divergence that are tried.
fn orders() -> impl Iterator<Item = u32> {
    (2..24).chain((0..22).map(|k| (24.0 * 1.18f64.powi(k)) as u32))
}

/// From Renyi divergences by order to epsilon at delta (Canonne, Kamath and Steinke 2020).
fn epsilon_of(divergence: impl Fn(u32) -> f64, delta: f64) -> f64 {
    let of_order = |order: u32| {
        let a = f64::from(order);
        divergence(order) + (1.0 - 1.0 / a).ln() - (delta.ln() + a.ln()) / (a - 1.0)
    };
    orders().map(of_order).fold(f64::INFINITY, f64::min)
}

/// The logarithm of a sum of exponentials.
fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    most + terms.map(|term| (term - most).exp()).sum::<f64>().ln()
}

/// Epsilon at delta of Gaussian steps on Poisson samples, for a row that is zeroed out (Mironov,
/// Talwar and Zhang 2019): at an integer order `a`,
/// `ln sum_k C(a, k) (1 - q)^(a - k) q^k exp((k^2 - k) / (2 s^2)) / (a - 1)` for each step.
pub(super) fn sampled_epsilon(rate: f64, noise: f64, steps: f64, delta: f64) -> f64 {
    let divergence = |order: u32| {
        let a = f64::from(order);
        let term = |k: u32| {
            let times = f64::from(k);
            // Zero to the power of zero is one, if every row is sampled.
            let left_out = if k == order { 0.0 } else { (a - times) * (-rate).ln_1p() };
            ln_binomial(u64::from(order), u64::from(k))
                + left_out
                + times * rate.ln()
                + times * (times - 1.0) / (2.0 * noise * noise)
        };
        steps * log_sum((0..=order).map(term)) / (a - 1.0)
    };
    epsilon_of(divergence, delta)
}

/// Epsilon at delta of Gaussians whose means are `mu` apart and whose covariances differ by
/// `spread` in trace norm, both in units of the first.
///
/// In coordinates where the first covariance is the identity and the other has eigenvalues `v_i`,
/// the divergence of order `a` is `a / 2 sum d_i^2 / (1 - a + a v_i)` plus, for each, a function of
/// `v_i` that vanishes at 1 and has the slope `a / 2 (v - 1) / (v (1 - a + a v))`: at most
/// `a (v - 1)^2 / (4 (1 - g) (1 - a g))` for `v` within `g` of 1.
pub(super) fn shaped_epsilon(mu: f64, spread: f64, delta: f64) -> f64 {
    let divergence = |order: u32| {
        let left = 1.0 - f64::from(order) * spread;
        let rho = mu * mu / 2.0 + spread * spread / (4.0 * (1.0 - spread));
        if left > 0.0 { f64::from(order) * rho / left } else { f64::INFINITY }
    };
    epsilon_of(divergence, delta)
}

/// The numbers of times a row may be drawn count towards delta from the point on where they take at
/// most this part of it.
const RARE: f64 = 0.01;

/// Epsilon at delta of Gaussian releases of bootstrap samples, for a row that is zeroed out: given
/// how often each row was drawn, a release whose row was drawn `k` times moves by `k`
/// sensitivities, and a mixture over `k` diverges no more than its mean (Renyi divergence to the
/// power of its order is jointly convex).
pub(super) fn bootstrap_epsilon(rows: f64, noise: f64, count: f64, delta: f64) -> f64 {
    let log_chance = |k: u32| {
        let times = f64::from(k);
        let ways = ln_gamma(rows + 1.0) - ln_gamma(times + 1.0) - ln_gamma(rows - times + 1.0);
        ways - times * rows.ln() + (rows - times) * (-1.0 / rows).ln_1p()
    };
    // Each further probability is at most half of the previous one.
    let rare = |most: u32| count * 2.0 * log_chance(most + 1).exp();
    let most = (1..).find(|&most| rare(most) <= RARE * delta).expect("chances fall faster than powers");
    let divergence = |order: u32| {
        let a = f64::from(order);
        let term = |k: u32| log_chance(k) + a * (a - 1.0) * f64::from(k * k) / (2.0 * noise * noise);
        count * log_sum((0..=most).map(term)) / (a - 1.0)
    };
    epsilon_of(divergence, delta - rare(most))
}
