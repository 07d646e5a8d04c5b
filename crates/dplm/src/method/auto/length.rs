//! How long rows may be where long ones are shortened: as long as makes intervals shortest.
//!
//! Shortening takes from what long rows tell, and long rows make second moments noisy. In
//! coordinates in which rows of at most the usual length have about unit moments, let `B(R) = E
//! min(|z|, R)^2 / p` and `A(R) = E min(|z|^2, R^4 / |z|^2) / p`, as if directions were alike. A
//! coefficient of rows shortened to `R` then has the variance `A / B^2` for sampling, where errors
//! do not depend on the columns, and `P / B` for privacy. In coordinates in which rows shortened to
//! `R` are white that length is `R / sqrt(B)`, and noise of standard deviation `s` in the
//! curvature, which grows as its square, lengthens squared intervals by `1 + 3 p s^2`. Both means
//! follow from the shares of rows that are longer than a few lengths, which are released.

use super::{Plan, ask::Ask, prediction::Tails, sequence::Sequence, whiten::Round};
use crate::{
    Error,
    lattice::Whitening,
    plan::{
        division::Rules,
        noise::{count_noise_sd, matrix_noise_sd},
    },
};

/// Shares of rows are released for this many lengths, from the usual one on, two to a factor of
/// two.
const COUNTS: u32 = 10;
const PER_DOUBLING: f64 = 2.0;
/// They are wanted to this share of the rows, as a length is, and get no more than this.
const PRECISION: f64 = 0.01;
const MOST: f64 = 0.01;
/// Lengths are tried up to four times the usual one, by these steps of the ladder of counts, where
/// a round of rows as long is cheap.
const TRIED: u32 = 16;
const STEP: f64 = 0.25;
/// Another length must make intervals shorter by this, so that noise does not choose one.
const WORTH: f64 = 0.975;

impl<A: Ask> Sequence<'_, A> {
    /// How long rows may be in the rounds after the first in which they were shortened.
    pub(super) fn fitting_length(&mut self, round: &Round) -> Result<f64, Error> {
        let (plan, rho) = (self.plan, self.plan.request.rho.to_f64());
        let worth = plan.request.worth_in_counts(1.0);
        let share = 0.5 * f64::from(COUNTS) / ((PRECISION * plan.rows as f64).powi(2) * worth * rho);
        if share > MOST {
            return Ok(round.radius);
        }
        let radii: Vec<f64> = (0..COUNTS).map(|j| round.radius * factor(f64::from(j))).collect();
        let spend = self.spend("rows beyond lengths", share)?;
        let noise_sd = count_noise_sd(COUNTS, plan.request.worth_in_counts(spend.to_f64())) / plan.rows as f64;
        let whitening = Whitening::new(round.matrix.as_ref());
        let shares = self.ask.through(&whitening)?.shares_longer(&radii, spend)?;
        let p = round.moments.mean.nrows();
        let moment = (0..p).map(|j| round.moments.mean[(j, j)]).sum::<f64>().max(1.0) / p as f64;
        let lengths = Lengths { usual: round.radius, moment, features: p as f64, tails: Tails::of(&shares, noise_sd) };
        Ok(lengths.length(lengths.best_place(plan, &plan.shortening_rules())))
    }
}

/// How many times longer a length is at a place on the ladder.
fn factor(place: f64) -> f64 {
    (place / PER_DOUBLING).exp2()
}

/// How long rows are, as released.
struct Lengths {
    /// The length at the foot of the ladder, and the mean second moment of rows shortened to it.
    usual: f64,
    moment: f64,
    features: f64,
    /// The shares of rows beyond the lengths of the ladder.
    tails: Tails,
}

impl Lengths {
    /// The length at a place, in coordinates in which rows that are shortened to it are white.
    fn length(&self, place: f64) -> f64 {
        let (_, level) = self.means(place);
        if place == 0.0 { self.usual } else { (self.usual * factor(place) / level.sqrt()).max(self.usual) }
    }

    fn best_place(&self, plan: &Plan, rules: &Rules) -> f64 {
        let tail = rules.about_tail(plan.features, plan.request.worth_in_counts(1.0));
        let privacy = rules.variance(tail, plan.features) - 1.0;
        let squared = |place: f64| {
            let (length, (spread, level)) = (self.length(place), self.means(place));
            let spend = rules.curvature_share(length) * plan.request.rho.to_f64();
            let noise_sd = matrix_noise_sd(plan.rows, length.powi(2), plan.request.neighbours, spend);
            (spread / level.powi(2) + privacy / level) * (1.0 + 3.0 * self.features * noise_sd.powi(2))
        };
        let is_cheap = |place: &f64| *place == 0.0 || rules.further_round(self.length(*place)).is_some();
        let places = (0..=TRIED).map(|step| f64::from(step) * STEP).filter(is_cheap);
        let best = places.min_by(|a, b| squared(*a).total_cmp(&squared(*b))).expect("a ladder has places");
        if squared(best) < WORTH.powi(2) * squared(0.0) { best } else { 0.0 }
    }

    /// `A` and `B` for rows shortened to the length at a place.
    ///
    /// With `T` the share of rows beyond a length, `E min(|z|, R)^2` grows by `2 t T(t) dt`, and
    /// rows beyond `R` lack `R^2 - R^4 / |z|^2` in `A`, on average the integral of `2 R^4 T / t^3`.
    fn means(&self, place: f64) -> (f64, f64) {
        let length = self.usual * factor(place);
        let gained = self.integral(0.0, place, |t| 2.0 * t);
        let end = f64::from(COUNTS - 1);
        let beyond = self.tails.at(end) / (self.usual * factor(end)).powi(2);
        let lacking = length.powi(4) * (self.integral(place, end, |t| 2.0 / t.powi(3)) + beyond);
        let level = self.moment + gained / self.features;
        ((level - lacking / self.features).max(0.0), level)
    }

    /// The integral of `T(t) weight(t)` between two places, by trapezia: places are logarithms of
    /// lengths.
    fn integral(&self, from: f64, to: f64, weight: impl Fn(f64) -> f64) -> f64 {
        const PIECES: u32 = 64;
        let width = (to - from) / f64::from(PIECES);
        let slope = std::f64::consts::LN_2 / PER_DOUBLING;
        let at = |piece: u32| {
            let place = from + width * f64::from(piece);
            let t = self.usual * factor(place);
            self.tails.at(place) * weight(t) * t * slope
        };
        (0..PIECES).map(|piece| 0.5 * width * (at(piece) + at(piece + 1))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A share `(usual / t)^3` of rows beyond a length `t`, as of a Pareto law.
    fn pareto(usual: f64, features: f64) -> Lengths {
        let tails = (0..COUNTS).map(|j| factor(f64::from(j)).powi(-3)).collect();
        Lengths { usual, moment: 1.0, features, tails: Tails(tails) }
    }

    /// `E min(|z|, R)^2` grows by `2 u^3 (1 / u - 1 / R)`, and what is lacking beyond is
    /// `2 R^4 u^3 / (5 R^5)`: straight lines between the counts are near that.
    #[test]
    fn the_means_are_those_of_the_lengths() {
        let lengths = pareto(4.0, 10.0);
        let place = 2.0;
        let level = 1.0 + 2.0 * 64.0 * (1.0 / 4.0 - 1.0 / 8.0) / 10.0;
        let spread = level - 2.0 * 64.0 / (5.0 * 8.0) / 10.0;
        let found = lengths.means(place);
        assert!((found.1 / level - 1.0).abs() < 0.1 && (found.0 / spread - 1.0).abs() < 0.1, "{found:?}");
        assert_eq!(lengths.means(0.0).1, 1.0);
    }
}
