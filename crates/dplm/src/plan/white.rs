//! The errors of a descent on white rows, given its clip and its steps: public numbers alone.
//!
//! The model behind the figures: independent normal features of unit variance and normal errors of
//! a guessed size. With `b = gamma / (sigma ||x||)` the clipped gradient then has
//!
//! ```text
//! h = E[||x||^2 (2 Phi(b) - 1)] / p                                     curvature
//! v = E[||x||^2 sigma^2 (2 Phi(b) - 1 - 2 b phi(b) + 2 b^2 Phi(-b))] / p   variance of a coordinate
//! variance = 2 gamma^2 / (n^2 rho_d h^2) + v / (n h^2)                    privacy + sampling
//! ```
//!
//! `rho_d` being what the descent gets. Two things are added: steps whose iterates wander (noise of
//! one step is `sqrt T` times that of all) see more residual and so less curvature, and uncertainty
//! about the released curvature widens intervals.
//!
//! Compared with simulations, the figures are within a few per cent where `n sqrt(rho) / p^1.5` is
//! above 10. Below, intervals come out longer than said here by up to a third, since the released
//! curvature is then mostly noise.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

pub use super::shares::Shares;
use super::{noise::matrix_noise_sd, weighing::Weighing};
use crate::{
    descend::noise_sd,
    interval::{IntervalError, Transient, bend_at, check_positive, normal_quantile},
    privacy::Neighbours,
};

/// The squared norm to which rows are shrunk before the curvature is released:
/// `max(2p, p + 4 sqrt(2p))`.
///
/// For standardised features `||x||^2` has mean `p` and, if they are Gaussian, standard deviation
/// `sqrt(2p)`.
pub fn row_bound_sq(features: usize) -> f64 {
    let p = features as f64;
    (2.0 * p).max(p + 4.0 * (2.0 * p).sqrt())
}

/// Public numbers of a fit that is planned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Rows `n`.
    pub rows: u64,
    /// Features `p`.
    pub features: usize,
    /// The whole budget.
    pub rho: f64,
    /// Which data sets must be hard to tell apart.
    pub neighbours: Neighbours,
    /// Clip threshold, in standardised units.
    pub gamma: f64,
    /// Steps `T`.
    pub steps: u32,
    /// Step size `eta`.
    pub step_size: f64,
    /// Standard deviation of the errors, a guess, in standardised units.
    pub error_sd: f64,
    /// Distance from the start to the coefficients, a guess, in standardised units.
    pub signal: f64,
    /// What is spent beside the descent.
    pub shares: Shares,
}

/// What a setting should come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Mean curvature `h` along the iterates; 1 when nothing is clipped.
    pub curvature: f64,
    /// Share of rows clipped at the optimum.
    pub clipped: f64,
    /// Standard error of a coefficient from the noise for privacy.
    pub privacy_error: f64,
    /// Standard error of a coefficient from sampling, with what clipping does to it.
    pub sampling_error: f64,
    /// Standard error of least squares without privacy, `sigma / sqrt(n)`.
    pub classical_error: f64,
    /// How much longer uncertainty about the curvature makes the interval, at least 1.
    pub widening: f64,
}

impl Expected {
    /// Standard error for the population: privacy and sampling together.
    pub fn std_error(&self) -> f64 {
        self.privacy_error.hypot(self.sampling_error)
    }

    /// Half the length of a population interval.
    pub fn half_length(&self, level: f64) -> f64 {
        normal_quantile(level) * self.std_error() * self.widening
    }

    /// Half the length of the classical interval without privacy, `z sigma / sqrt(n)`.
    pub fn classical_half_length(&self, level: f64) -> f64 {
        normal_quantile(level) * self.classical_error
    }
}

impl Setting {
    /// What this setting should come to, for features and errors as in the module's model.
    ///
    /// # Errors
    /// When a number is not positive or the shares leave nothing for the descent.
    ///
    /// # Examples
    /// ```
    /// use dplm::{plan::white::{Setting, Shares}, privacy::Neighbours};
    /// let shares = Shares { curvature: 0.1, gradient_spread: 0.01 };
    /// let (steps, step_size, error_sd, signal) = (100, 0.5, 1.0, 1.0);
    /// let (rows, features, rho, gamma, neighbours) = (10_000, 10, 0.015, 6.3, Neighbours::ReplaceOne);
    /// let setting = Setting { rows, features, rho, neighbours, gamma, steps, step_size, error_sd, signal, shares };
    /// let expected = setting.expected()?;
    /// assert!(expected.half_length(0.95) < 1.6 * expected.classical_half_length(0.95));
    /// # Ok::<(), dplm::interval::IntervalError>(())
    /// ```
    pub fn expected(&self) -> Result<Expected, IntervalError> {
        self.expected_among(&Norms::of(self.features))
    }

    /// The same of rows whose gradients are as long as these say.
    pub(crate) fn expected_among(&self, norms: &Norms) -> Result<Expected, IntervalError> {
        self.check()?;
        let rho = self.rho * self.shares.descent();
        let lambda = noise_sd(self.rows, self.gamma, self.steps, self.neighbours, rho);
        let curvature = self.curvature_along(lambda, norms);
        let at_rest = norms.curvature(|norm| self.unclipped(norm, 0.0));
        let spread = norms.mean(|norm| norm * norm * self.clipped_variance(norm));
        let steps = self.transient(lambda, curvature).effective_steps(self.steps as usize);
        let n = self.rows as f64;
        Ok(Expected {
            curvature,
            clipped: 1.0 - norms.share(|norm| self.unclipped(norm, 0.0)),
            privacy_error: lambda / (steps.sqrt() * curvature),
            sampling_error: (spread / n).sqrt() / curvature,
            classical_error: self.error_sd / n.sqrt(),
            widening: self.widening(at_rest),
        })
    }

    fn check(&self) -> Result<(), IntervalError> {
        check_positive("the number of rows", self.rows as f64)?;
        check_positive("the number of features", self.features as f64)?;
        check_positive("rho", self.rho)?;
        check_positive("gamma", self.gamma)?;
        check_positive("the number of steps", f64::from(self.steps))?;
        check_positive("the step size", self.step_size)?;
        check_positive("the standard deviation of the errors", self.error_sd)?;
        check_positive("the share of the descent", self.shares.descent())
    }

    /// Curvature seen by wandering iterates: a fixed point, since they wander less the more
    /// curvature they see.
    fn curvature_along(&self, lambda: f64, norms: &Norms) -> f64 {
        let mut h = norms.curvature(|norm| self.unclipped(norm, 0.0));
        for _ in 0..20 {
            let wander_sq = self.wander_sq(lambda, h);
            h = 0.5 * h + 0.5 * norms.curvature(|norm| self.unclipped(norm, wander_sq));
        }
        h
    }

    /// Stationary variance of a coordinate of the iterates, `eta^2 lambda^2 / (1 - (1 - eta h)^2)`.
    fn wander_sq(&self, lambda: f64, h: f64) -> f64 {
        let q = 1.0 - (self.step_size * h).min(1.0);
        (self.step_size * lambda).powi(2) / (1.0 - q * q)
    }

    /// Probability that a row of this norm is not clipped when each coefficient is off by a
    /// variance `wander_sq`.
    fn unclipped(&self, norm: f64, wander_sq: f64) -> f64 {
        let residual_sd = (self.error_sd.powi(2) + norm * norm * wander_sq).sqrt();
        1.0 - 2.0 * Normal::standard().sf(self.gamma / (norm * residual_sd))
    }

    /// `E min(r, B)^2` for a row of this norm.
    fn clipped_variance(&self, norm: f64) -> f64 {
        let (standard, b) = (Normal::standard(), self.gamma / (norm * self.error_sd));
        let beyond = standard.sf(b);
        self.error_sd.powi(2) * (1.0 - 2.0 * beyond - 2.0 * b * standard.pdf(b) + 2.0 * b * b * beyond)
    }

    fn transient(&self, lambda: f64, curvature: f64) -> Transient {
        let typical = (self.features as f64).sqrt() * self.error_sd;
        let misfit = if self.shares.curvature > 0.0 { bend_at(self.gamma / typical) } else { 0.0 };
        let distance_sq = self.signal.powi(2) / self.features as f64;
        Transient { noise_sd: lambda, step_size: self.step_size, curvature, misfit, distance_sq }
    }

    /// `E[1/h^2]` over `1/E[h]^2` for eigenvalues that are uncertain by a relative variance `d`:
    /// `1 + 3 d`, as a factor of length. Those of a matrix that is used as it was released are
    /// uncertain by `(p + 1) / 2` times the variance of an entry.
    fn widening(&self, curvature: f64) -> f64 {
        if self.shares.curvature == 0.0 {
            return 1.0;
        }
        let rho = self.rho * self.shares.curvature;
        let sd = matrix_noise_sd(self.rows, row_bound_sq(self.features), self.neighbours, rho);
        let uncertain = (sd / curvature).powi(2) * (self.features as f64 + 1.0) / 2.0;
        (1.0 + 3.0 * uncertain).sqrt()
    }

    /// The clip threshold and the number of steps with the smallest standard error, `gamma` between
    /// 1 and 8 `sqrt(p)` error sds.
    ///
    /// Less clipping means more noise; more, less curvature. More steps forget the start; fewer
    /// wander less. Below `sqrt(p)` error sds normal errors would still gain a little, others would
    /// lose, and so would a wrong guess of their size.
    ///
    /// # Errors
    /// As [`Setting::expected`].
    pub fn with_best_clip_and_steps(&self) -> Result<Self, IntervalError> {
        let unit = (self.features as f64).sqrt() * self.error_sd;
        let mut best: Option<(f64, Setting)> = None;
        for gamma in (0..=12).map(|k| unit * 2f64.powf(f64::from(k) / 4.0)) {
            for steps in [20, 30, 45, 70, 100, 150, 225, 350, 500] {
                let candidate = Setting { gamma, steps, ..*self };
                let error = candidate.expected()?.std_error();
                if best.is_none_or(|(least, _)| error < least) {
                    best = Some((error, candidate));
                }
            }
        }
        Ok(best.expect("the grid is not empty").1)
    }
}

/// The variance of Gaussian residuals whose mean square is `mean_sq` once those of white rows are
/// clipped; `None` if clipping leaves too little of them to tell.
pub(crate) fn unclipped_variance(features: usize, clip: f64, mean_sq: f64) -> Option<f64> {
    let norms = Norms::of(features);
    let standard = Normal::standard();
    let left_of = |sd: f64| {
        norms.share(|norm| {
            let b = clip / (norm * sd);
            let beyond = standard.sf(b);
            sd * sd * (1.0 - 2.0 * beyond - 2.0 * b * standard.pdf(b) + 2.0 * b * b * beyond)
        })
    };
    let (mut low, mut high) = (mean_sq.sqrt(), mean_sq.sqrt() * MOST_LOST);
    if left_of(high) < mean_sq {
        return None;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if left_of(middle) < mean_sq { low = middle } else { high = middle }
    }
    Some(high * high)
}

/// Where clipping takes more than this from the standard deviation of residuals, what is left says
/// little of it.
const MOST_LOST: f64 = 1.5;

/// The clip that a share `tail` of the gradients of white rows exceeds where residuals are normal
/// with this standard deviation.
pub(crate) fn clip_for_tail(features: usize, residual_sd: f64, tail: f64) -> f64 {
    Norms::of(features).clip_for_tail(residual_sd, tail)
}

/// Nodes a fifth of a standard deviation apart: a planner tries many settings, and more nodes would
/// change nothing it shows.
const NODES: i32 = 80;

/// How long the gradients of white rows of `p` coordinates are, over their residuals: norms of
/// standard Gaussian vectors, times what weights do.
pub(crate) struct Norms {
    nodes: Vec<Node>,
    features: f64,
}

/// Rows whose gradients are this many times as long as their residuals.
struct Node {
    norm: f64,
    /// What they add to the curvature.
    curvature: f64,
    /// Their share.
    share: f64,
}

impl Norms {
    /// Of rows that count alike.
    pub fn of(features: usize) -> Self {
        Norms::weighted(features, &Weighing::NONE)
    }

    /// Equally spaced nodes over eight standard deviations; the trapezoid rule is exact enough for
    /// a smooth distribution on a line.
    pub fn weighted(features: usize, weighing: &Weighing) -> Self {
        let p = features as f64;
        let centre = p.sqrt();
        let (low, high) = ((centre - 8.0).max(0.0), centre + 8.0);
        let step = (high - low) / f64::from(NODES);
        let density = |u: f64| ((p - 1.0) * (u / centre).ln() - 0.5 * (u * u - p)).exp();
        let norms: Vec<f64> = (0..NODES).map(|k| low + (f64::from(k) + 0.5) * step).collect();
        let total: f64 = norms.iter().map(|&norm| density(norm)).sum();
        let node = |norm: f64, (reach, curve, share): (f64, f64, f64)| Node {
            norm: reach * norm,
            curvature: curve * norm * norm,
            share: share * density(norm) / total,
        };
        let nodes = norms.iter().flat_map(|&norm| weighing.parts().map(move |part| node(norm, part))).collect();
        Norms { nodes, features: p }
    }

    /// The clip that a share `tail` of gradients exceeds where residuals are normal with this
    /// standard deviation.
    pub fn clip_for_tail(&self, residual_sd: f64, tail: f64) -> f64 {
        let scale = residual_sd * self.features.sqrt();
        let (mut low, mut high) = (1e-3 * scale, 20.0 * scale);
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if self.share_above(residual_sd, middle) > tail { low = middle } else { high = middle }
        }
        high
    }

    /// The share of gradients that are longer than `clip` where residuals are normal with this
    /// standard deviation.
    pub fn share_above(&self, residual_sd: f64, clip: f64) -> f64 {
        self.share(|norm| 2.0 * Normal::standard().sf(clip / (norm * residual_sd)))
    }

    /// `E[f(||x||)]`.
    fn share(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.nodes.iter().map(|node| node.share * f(node.norm)).sum()
    }

    /// The mean curvature of a coordinate where rows of a norm count by `f`.
    fn curvature(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.nodes.iter().map(|node| node.share * (node.curvature * f(node.norm))).sum::<f64>() / self.features
    }

    /// `E[f(||x||)] / p`, an average over coordinates.
    fn mean(&self, f: impl Fn(f64) -> f64) -> f64 {
        self.share(f) / self.features
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(rows: u64, features: usize, clip: f64) -> Setting {
        let gamma = clip * (features as f64).sqrt();
        let shares = Shares::recommended(rows, features, 0.015, gamma, 1.0);
        let neighbours = Neighbours::ReplaceOne;
        let (rho, steps, step_size, error_sd, signal) = (0.015, 100, 0.5, 1.0, 1.0);
        Setting { rows, features, rho, neighbours, gamma, steps, step_size, error_sd, signal, shares }
    }

    #[test]
    fn norms_have_the_moments_of_the_chi_law() {
        for p in [1, 2, 10, 300] {
            let norms = Norms::of(p);
            assert!((norms.mean(|u| u * u) - 1.0).abs() < 1e-3, "p = {p}");
            assert!((norms.share(|u| u.powi(4)) / (p * (p + 2)) as f64 - 1.0).abs() < 1e-3);
        }
    }

    /// With a clip threshold that no row reaches: `lambda / sqrt T` and `sigma / sqrt n`.
    #[test]
    fn without_clipping_the_formulas_are_the_textbook_ones() {
        let wide = Setting { shares: Shares::NONE, ..setting(10_000, 10, 50.0) };
        let expected = wide.expected().unwrap();
        assert!((expected.privacy_error / (wide.gamma * (2.0 / 0.015f64).sqrt() / 1e4) - 1.0).abs() < 1e-3);
        assert!((expected.sampling_error - 0.01).abs() < 1e-5 && expected.clipped < 1e-6);
        assert!((expected.half_length(0.95) - 1.959_964 * expected.std_error()).abs() < 1e-6);
        assert!((expected.classical_half_length(0.95) - 0.019_599_64).abs() < 1e-7);
    }

    /// One feature is the classical Huber estimate with a bound that depends on the row; as gamma
    /// goes to 0 its efficiency goes to that of weighted least absolute deviations,
    /// `2/pi E[|x|]^2 = (2/pi)^2`.
    #[test]
    fn efficiency_falls_from_one_to_that_of_absolute_deviations() {
        let efficiency = |clip| {
            let expected = Setting { steps: 20, rho: 1e6, ..setting(1000, 1, clip) }.expected().unwrap();
            (expected.classical_error / expected.sampling_error).powi(2)
        };
        assert!((efficiency(20.0) - 1.0).abs() < 1e-3);
        assert!((efficiency(0.002) - (2.0 / std::f64::consts::PI).powi(2)).abs() < 0.01);
        assert!(efficiency(1.0) > efficiency(0.5));
    }

    #[test]
    fn the_best_setting_is_no_worse_than_any_other_and_clips() {
        for (rows, features) in [(2_000, 10), (10_000, 10), (100_000, 3)] {
            let given = setting(rows, features, 5.0);
            let best = given.with_best_clip_and_steps().unwrap();
            let error = |s: Setting| s.expected().unwrap().std_error();
            assert!(best.gamma < given.gamma && error(best) <= error(given));
            assert!(error(best) <= error(Setting { gamma: 2.0 * best.gamma, ..best }));
        }
    }

    #[test]
    fn impossible_settings_are_refused() {
        let good = setting(1000, 5, 2.0);
        let all = Shares { curvature: 0.6, gradient_spread: 0.4 };
        for bad in [Setting { rho: 0.0, ..good }, Setting { steps: 0, ..good }, Setting { shares: all, ..good }] {
            assert!(bad.expected().is_err());
        }
    }
}
