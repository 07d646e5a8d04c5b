//! How the budget is divided, how long the descent is and how many rows it clips: rules about public numbers only.
//!
//! Each release needs a certain precision, and what buys it falls as rows grow: counts to a few in a hundred of the rows, moments to a
//! fraction of themselves, a curvature to a tenth. What is not needed goes to the descent, whose noise is the noise of the estimate.

use super::{Plan, level, whiten::Whitened};
use crate::privacy::Rho;

/// Parts of the budget; the descent takes what is left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shares {
    /// The length of rows, in each round.
    pub length: f64,
    /// Second moments in the first round, and in all later rounds together.
    pub first_moments: f64,
    pub later_moments: f64,
    /// The clip level of the start, and the start.
    pub start_level: f64,
    pub start: f64,
    /// The clip level of the descent.
    pub level: f64,
    /// For intervals; none without.
    pub curvature: f64,
    pub spread: f64,
}

/// A count is wanted to this share of the rows, and a level gets between these parts of the budget.
const COUNT_PRECISION: f64 = 0.03;
const LEVEL_PARTS: (f64, f64) = (0.005, 0.03);
/// The length of rows is wanted with few rows beyond it.
const LENGTH_PRECISION: f64 = 0.01;
const LENGTH_MOST: f64 = 0.01;
/// One round must find everything; the first of several only has to be followed by others.
const ONLY_MOMENTS: f64 = 0.15;
const FIRST_MOMENTS: f64 = 0.05;
/// Noise of the last moments has norm `2.8 / (strength sqrt(part))`: a quarter is wanted.
const LATER_MOMENTS: f64 = 100.0;
const LATER_PARTS: (f64, f64) = (0.03, 0.12);
const START: f64 = 0.05;
/// The curvature is wanted to this in each entry, the covariance of gradients to this share of its diagonal.
const CURVATURE_PRECISION: f64 = 0.06;
const CURVATURE_PARTS: (f64, f64) = (0.02, 0.12);
const SPREAD_PRECISION: f64 = 0.15;
const SPREAD_PARTS: (f64, f64) = (0.01, 0.02);
/// About what the descent is left, for rules that come before the division.
const ABOUT_LEFT: f64 = 0.8;

/// Below this strength the noise of a second round of moments would exceed what it measures.
const WEAK: f64 = 9.4;
/// Steps for each unit of strength, and their limits: short directions need many, and where noise rules an early stop is better.
const STEPS_PER_STRENGTH: f64 = 12.0;
const STEP_LIMITS: (f64, f64) = (80.0, 120.0);
/// A quarter of the rows is clipped where noise exceeds the first of these, half of them more where it exceeds the second.
const TAIL_NOISE: (f64, f64) = (1e-3, 1e-2);

impl Shares {
    /// The part of all rounds together: `rounds` is one, two or three, and three cost the most.
    pub(super) fn rounds(&self, rounds: usize) -> Vec<(f64, f64)> {
        let later = self.later_moments / (rounds - 1).max(1) as f64;
        let moments = |round| if round == 0 { self.first_moments } else { later };
        (0..rounds).map(|round| (self.length, moments(round))).collect()
    }

    fn left(&self, rounds: usize) -> f64 {
        let whitening: f64 = self.rounds(rounds).iter().map(|(length, moments)| length + moments).sum();
        1.0 - whitening - self.start_level - self.start - self.level - self.curvature - self.spread
    }
}

fn precision(rows: u64, rho: Rho) -> f64 {
    rows as f64 * rho.to_f64().sqrt()
}

/// `n sqrt(rho) / p^1.5`: how far the second moments stand above their noise.
pub(super) fn strength(features: usize, rows: u64, rho: Rho) -> f64 {
    precision(rows, rho) / (features as f64).powf(1.5)
}

impl Plan {
    /// `n sqrt(rho)`: how far a mean of numbers of size 1 stands above its noise.
    pub(super) fn precision(&self) -> f64 {
        precision(self.rows, self.request.rho)
    }

    pub(super) fn strength(&self) -> f64 {
        strength(self.features, self.rows, self.request.rho)
    }

    /// Whether one round of whitening is all that can be had.
    pub(super) fn is_weak(&self) -> bool {
        self.strength() < WEAK
    }

    /// How the budget is divided.
    pub(super) fn shares(&self) -> Shares {
        let (rows, features, rho) = (self.rows as f64, self.features as f64, self.request.rho.to_f64());
        let start_level = self.level_share(COUNT_PRECISION);
        // The tail aimed at must itself stand clear of the noise.
        let level = self.level_share((self.tail_with(ABOUT_LEFT) / level::CLEAR_OF_NOISE).min(COUNT_PRECISION));
        let between = |part: f64, (least, most): (f64, f64)| part.clamp(least, most);
        let curvature = between((2.0 * features / (CURVATURE_PRECISION * rows)).powi(2) / rho, CURVATURE_PARTS);
        let spread = between((4.0 * features / (SPREAD_PRECISION * rows)).powi(2) / rho, SPREAD_PARTS);
        Shares {
            length: if self.is_weak() { start_level } else { self.level_share(LENGTH_PRECISION).min(LENGTH_MOST) },
            first_moments: if self.is_weak() { ONLY_MOMENTS } else { FIRST_MOMENTS },
            later_moments: between(LATER_MOMENTS / self.strength().powi(2), LATER_PARTS),
            start_level,
            start: START,
            level,
            curvature: if self.gives_intervals() { curvature } else { 0.0 },
            spread: if self.covers_population() { spread } else { 0.0 },
        }
    }

    /// What a level needs for counts to this share of the rows, six or seven of them.
    fn level_share(&self, precision: f64) -> f64 {
        let counts = f64::from(level::queries(super::clip::RUNGS as usize));
        let needed = counts / (2.0 * (precision * self.rows as f64).powi(2)) / self.request.rho.to_f64();
        needed.clamp(LEVEL_PARTS.0, LEVEL_PARTS.1)
    }

    /// Steps of the descent: few where whitening stretched every direction to full length.
    pub(super) fn steps(&self, white: &Whitened) -> u32 {
        if white.expected.all_full() { STEP_LIMITS.0 as u32 } else { self.most_steps() }
    }

    /// Steps where some direction is short.
    pub(super) fn most_steps(&self) -> u32 {
        (STEPS_PER_STRENGTH * self.strength()).round().clamp(STEP_LIMITS.0, STEP_LIMITS.1) as u32
    }

    /// The share of rows to clip: `1/4 (1 - exp(-1000 N)) + 1/2 (1 - exp(-100 N))`, `N` the noise.
    ///
    /// A clip at the scale of the errors makes the noise of the estimate `N = 2 p^2 / (n^2 rho)` times their variance. A wider one clips
    /// fewer rows, and is noisier; a narrower one bends a fit with skewed errors, by a bias that does not shrink with n. So
    /// much is clipped where noise is large, up to three quarters of the rows, and next to nothing where it is small.
    pub(super) fn tail(&self) -> f64 {
        self.tail_with(self.shares().left(if self.is_weak() { 1 } else { 3 }))
    }

    fn tail_with(&self, share: f64) -> f64 {
        let rho = share * self.request.rho.to_f64();
        let noise = 2.0 * (self.features as f64 / self.rows as f64).powi(2) / rho;
        let quarter = |scale: f64| 0.25 * (1.0 - (-noise / scale).exp());
        quarter(TAIL_NOISE.0) + 2.0 * quarter(TAIL_NOISE.1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Config, tests::design};
    use super::*;
    use crate::{method::Request, privacy::Rho};

    fn plan(rows: u64, rho: f64) -> Plan {
        let request = Request::new(Rho::checked_from_f64(rho).expect("a budget"));
        Config::new(request).plan(rows, &design()).expect("a plan")
    }

    /// More clipping where noise is large, next to none where it is small, never more than three quarters.
    #[test]
    fn the_share_clipped_falls_as_rows_grow() {
        let tails = [100, 1000, 10_000, 100_000, 1_000_000].map(|rows| plan(rows, 0.015).tail());
        assert!(tails.is_sorted_by(|a, b| a > b) && tails[0] <= 0.75 && tails[4] < 1e-3, "{tails:?}");
    }

    /// The estimate gets most of a budget that is ample, and never less than half.
    #[test]
    fn what_is_not_needed_goes_to_the_descent() {
        for rho in [0.001f64, 0.015, 0.1, 0.5, 5.0] {
            for rows in [200, 1000, 10_000, 100_000, 1_000_000] {
                let Some(plan) = (rows as f64 * rho.sqrt() > 10.0).then(|| plan(rows, rho)) else { continue };
                let left = plan.shares().left(if plan.is_weak() { 1 } else { 3 });
                assert!(left > 0.5, "{rows} rows, rho {rho}: {left}");
                assert!(rows < 100_000 || rho < 0.015 || left > 0.75, "{rows} rows, rho {rho}: {left}");
            }
        }
    }

    #[test]
    fn rounds_after_the_first_divide_their_part() {
        let shares = plan(100_000, 0.015).shares();
        for rounds in 2..4 {
            let later: f64 = shares.rounds(rounds)[1..].iter().map(|(_, moments)| moments).sum();
            assert!((later - shares.later_moments).abs() < 1e-12);
        }
        assert_eq!(shares.rounds(1), [(shares.length, shares.first_moments)]);
    }
}
