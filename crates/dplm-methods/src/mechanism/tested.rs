//! Propose, test, release (Dwork and Lei 2009): a deep point among boxes that nothing public
//! bounds, drawn after a test that this is safe.

use dplm::privacy::{
    PrivacyError, Spend,
    noise::{RandomWords, discrete_laplace},
    sigma_up,
};
use num_bigint::BigUint;

use super::{
    point::{self, IntegerBox},
    select::{RATE_PARTS, rate_down},
};

/// Boxes of integer points by depth: the first holds the points of depth at least 1, each of the
/// next those one deeper. Neighbouring data sets give every point depths that differ by at most 1,
/// and no public box holds all points.
pub struct Depths {
    pub(super) boxes: Vec<IntegerBox>,
}

impl Depths {
    /// Claims that neighbouring data sets give every point depths that differ by at most 1, and as
    /// many boxes.
    ///
    /// # Guarantee
    /// None of its own: the call site names the argument that proves the claim.
    ///
    /// # Panics
    /// When there is no box, one is empty, or one is not inside the one before.
    pub fn claim(boxes: Vec<IntegerBox>) -> Depths {
        point::assert_nested(&boxes);
        Depths { boxes }
    }

    /// The boxes.
    pub fn boxes(&self) -> &[IntegerBox] {
        &self.boxes
    }

    /// The depth from which points are drawn: half of the deepest. How many boxes there are is
    /// public.
    fn start(&self) -> usize {
        (self.boxes.len() / 2).max(1)
    }

    /// How many points are at least so deep.
    fn count(&self, depth: usize) -> BigUint {
        point::count(&self.boxes[depth - 1])
    }
}

/// How likely a test may fail to protect: `2^-bits`, at most half of a delta.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    bits: u32,
}

impl Failure {
    /// The largest power of two that is at most half of `delta`. The other half is left to the
    /// conversion of rho: see [`Conversion::Tested`](dplm::privacy::convert::Conversion::Tested).
    ///
    /// # Panics
    /// When delta does not lie between 0 and 1.
    pub fn half_of(delta: f64) -> Failure {
        assert!(delta > 0.0 && delta < 1.0, "a delta was checked before");
        // The exponent of a double below 1 is the largest power of two that is at most that number;
        // below the smallest normal one a fixed power will do.
        let exponent = u32::try_from(delta.to_bits() >> 52).expect("twelve bits");
        let bits = if exponent == 0 { 1075 } else { 1023 - exponent };
        Failure { bits: bits + 1 }
    }

    /// What a noisy distance must exceed to pass, for discrete Laplace noise of this scale: the
    /// least integer of at least `scale ln(2^bits)`.
    ///
    /// # Guarantee
    /// The noise exceeds it with probability
    /// `exp(-(T + 1) / scale) / (1 + exp(-1 / scale)) < 2^-bits`.
    pub fn threshold(self, scale: u128) -> u128 {
        // ln 2 is a little below this.
        const LN_2: (u128, u128) = (693_147_181, 1_000_000_000);
        (scale * u128::from(self.bits) * LN_2.0).div_ceil(LN_2.1)
    }

    /// The scale of the noise of a test that a share of the budget pays for: the least integer of
    /// at least `1 / sqrt(2 rho)`.
    ///
    /// # Errors
    /// When the noise would be larger than any that can be drawn.
    pub fn scale(test: &Spend) -> Result<u128, PrivacyError> {
        sigma_up(&BigUint::from(1u32), 1, test)
    }
}

/// Draws a point at least half as deep as the deepest with probability proportional to `q^-depth`,
/// if a test shows that this is safe; else nothing.
///
/// # Guarantee
/// If the claim of `depths` is true, the outcome is `2^-bits`-approximately `rho`-zCDP (Bun and
/// Steinke 2016, definition 8.1), `rho` the worth of `test` and `choice` together.
///
/// Let `w = 1/q` with `ln(w)^2 / 2` at most the worth of `choice`, `t` the least depth of what is
/// drawn, `V_s` how many points have a depth of at least `s`, and `Z` the sum of `w^depth` over
/// those of at least `t`. A table is *safe* if on it and on all of its neighbours the points of
/// depth exactly `t` have a weight of at most `2^-bits Z`.
///
/// - *Drawing, for two neighbours of which one is safe.* A point that can be drawn on one table and
///   not on the other has depth `t` on the first: a draw is of a common point except with
///   probability `2^-bits` on either. Among common points the logarithm of the ratio of
///   probabilities is a constant plus at most `ln w` either way: of bounded range `2 ln w`, so
///   `ln(w)^2 / 2`-zCDP, as for [`select_point`](super::select_point).
/// - *How far from unsafe.* After `j` changes of rows depths have moved by at most `j`, so that
///   points of depth `t` are no more than `V_(t-j)` and `Z` is at least `w^(t+g) V_(t+j+g)` for
///   every `g`. Where `V_(t-j) <= 2^-bits w^g V_(t+j+g)` for some `g`, tables within `j - 1`
///   changes are safe. The distance `h` is the largest such `j`, or 0. It is 0 on a table that is
///   not safe, and one row moves it by at most 1: what holds at `j` holds on a neighbour at
///   `j - 1`, since `V'_(t-j+1) <= V_(t-j)` and `V'_(t+j-1+g) >= V_(t+j+g)`.
/// - *The test.* `h` plus discrete Laplace noise of scale `1 / sqrt(2 rho)` passes above the
///   [threshold](Failure::threshold). That alone is `rho`-zCDP, and two neighbours of which neither
///   is safe both pass with probability below `2^-bits`: otherwise, both give nothing.
///
/// All of it is decided in exact integers, and drawn exactly.
///
/// # Errors
/// When the budget is so small that every point would be as likely.
pub fn select_tested_point<R: RandomWords>(
    depths: &Depths,
    failure: Failure,
    (test, choice): (&Spend, &Spend),
    rng: &mut R,
) -> Result<Option<Vec<i64>>, PrivacyError> {
    let factor = point::factor_up(rate_down(1, choice)?);
    if factor >= RATE_PARTS {
        return Err(PrivacyError::NoiseTooLarge);
    }
    let scale = Failure::scale(test)?;
    let threshold = i128::try_from(failure.threshold(scale)).map_err(|_| PrivacyError::NoiseTooLarge)?;
    let distance = i128::try_from(distance(depths, factor, failure)).expect("no more than there are boxes");
    if distance + discrete_laplace(scale, rng) <= threshold {
        return Ok(None);
    }
    Ok(Some(point::draw(&depths.boxes[depths.start() - 1..], factor, rng)))
}

/// The largest `j` for which tables within `j - 1` changes of rows are safe; 0 where this one is
/// not known to be.
fn distance(depths: &Depths, factor: u128, failure: Failure) -> usize {
    let (mut safe, mut unsafe_at) = (0, depths.start());
    while unsafe_at - safe > 1 {
        let middle = usize::midpoint(safe, unsafe_at);
        *(if is_safe_within(depths, middle, factor, failure) { &mut safe } else { &mut unsafe_at }) = middle;
    }
    safe
}

/// Whether `V_(t-j) 2^bits q^g <= V_(t+j+g)` for some `g`, with `q` a whole number of `2^-32`.
fn is_safe_within(depths: &Depths, changes: usize, factor: u128, failure: Failure) -> bool {
    let start = depths.start();
    let mut outer = depths.count(start - changes) << failure.bits;
    (start + changes..=depths.boxes.len()).zip(0usize..).any(|(inner, steps)| {
        if steps > 0 {
            outer *= factor;
        }
        outer <= depths.count(inner) << (32 * steps)
    })
}

#[cfg(test)]
mod tests {
    use dplm::privacy::{Budget, Mechanism, Rho, noise::FixedSeed};

    use super::*;

    fn spends(rho: f64) -> (Spend, Spend) {
        let mut budget = Budget::new(Rho::checked_from_f64(2.0 * rho).unwrap());
        let test = budget.spend_on(Mechanism::Test, "a test", budget.total().percent(50)).unwrap();
        (test, budget.spend_on(Mechanism::Exponential, "a choice", budget.left()).unwrap())
    }

    /// Depths of whole numbers among sorted ones, as for the readings of batches.
    fn among(sorted: &[i64]) -> Depths {
        let deepest = sorted.len().div_ceil(2);
        Depths::claim((1..=deepest).map(|depth| vec![(sorted[depth - 1], sorted[sorted.len() - depth])]).collect())
    }

    /// The share of the weight that points of the least depth have, in floating point.
    fn edge_share(sorted: &[i64], factor: f64) -> f64 {
        let boxes = among(sorted).boxes;
        let start = (boxes.len() / 2).max(1);
        let lengths: Vec<f64> = boxes.iter().map(|one| (one[0].1 - one[0].0 + 1) as f64).collect();
        let exactly = |depth: usize| lengths[depth - 1] - lengths.get(depth).copied().unwrap_or(0.0);
        let weight = |depth: usize| exactly(depth) * factor.powi(-((depth - start) as i32));
        weight(start) / (start..=boxes.len()).map(weight).sum::<f64>()
    }

    #[test]
    fn half_of_a_delta_is_rounded_down_to_a_power_of_two() {
        for delta in [1e-6, 0.5, 0.25, 0.999, 1e-300, 5e-324, 2f64.powi(-20)] {
            let bits = Failure::half_of(delta).bits;
            let chance = 2f64.powf(-f64::from(bits));
            assert!(chance <= delta / 2.0 || delta < 1e-307, "{delta} {bits}");
            assert!(chance > delta / 4.0 * (1.0 - 1e-15) || delta < 1e-307, "{delta} {bits}");
        }
        assert_eq!(Failure::half_of(2f64.powi(-20)).bits, 21);
    }

    #[test]
    fn the_threshold_is_passed_by_chance_less_often_than_allowed() {
        for (bits, scale) in [(21, 1u128), (21, 4), (40, 100), (3, 7)] {
            let threshold = Failure { bits }.threshold(scale) as f64;
            let chance = |above: f64| (-(above + 1.0) / scale as f64).exp() / (1.0 + (-1.0 / scale as f64).exp());
            assert!(chance(threshold) < 2f64.powi(-(bits as i32)), "{bits} {scale}");
            assert!(chance(threshold * 0.6 - 2.0) > 2f64.powi(-(bits as i32)), "{bits} {scale}: {threshold}");
        }
    }

    /// Thirty numbers lie far out on either side of 140 near zero, and points are drawn from depth
    /// 50 on: with twenty more on one side these points reach there, and nearly all of them are of
    /// that depth. With nineteen they do not, wherever the nineteen are moved: the distance is 19,
    /// neither more nor less.
    #[test]
    fn the_distance_is_what_it_takes_to_become_unsafe() {
        let (failure, far) = (Failure { bits: 10 }, 1i64 << 60);
        let factor = point::factor_up(rate_down(1, &spends(0.125).1).unwrap());
        let sorted: Vec<i64> =
            (0..200i64).map(|i| [-far, i - 100, far][usize::from(i >= 30) + usize::from(i >= 170)]).collect();
        assert_eq!(distance(&among(&sorted), factor, failure), 19);
        let edge = |changes: usize, places: &[i64]| {
            let mut numbers = sorted.clone();
            (0..changes).for_each(|k| numbers[90 + k] = places[k % places.len()]);
            numbers.sort_unstable();
            edge_share(&numbers, factor as f64 / RATE_PARTS as f64)
        };
        for places in [&[far][..], &[-far], &[far, -far], &[0]] {
            assert!((1..=19).all(|changes| edge(changes, places) <= 2f64.powi(-10)), "{places:?}");
        }
        assert!(edge(20, &[far]) > 0.9);
    }

    /// One number more or less moves the distance by one step at most.
    #[test]
    fn a_row_moves_the_distance_by_one() {
        let failure = Failure { bits: 8 };
        let factor = point::factor_up(rate_down(1, &spends(0.3).1).unwrap());
        let mut rng = FixedSeed::new(4);
        let mut moved = 0;
        for _ in 0..300 {
            let mut one: Vec<i64> = (0..90).map(|_| discrete_laplace(2000, &mut rng) as i64).collect();
            let mut other = one.clone();
            other[(rng.next_word() % 90) as usize] = [0, 1 << 40, -(1 << 40)][(rng.next_word() % 3) as usize];
            one.sort_unstable();
            other.sort_unstable();
            let found = [one, other].map(|sorted| distance(&among(&sorted), factor, failure));
            assert!(found[0].abs_diff(found[1]) <= 1, "{found:?}");
            moved += found[0].abs_diff(found[1]);
        }
        assert!(moved > 10, "the distance never moves");
    }

    /// Drawn points have their chances given that the test passes: six standard deviations for each
    /// of the depths.
    #[test]
    fn points_are_drawn_with_their_exact_chances() {
        let sorted: Vec<i64> = (-40..40).collect();
        let (failure, trials) = (Failure { bits: 2 }, 60_000u32);
        let mut rng = FixedSeed::new(9);
        let mut drawn = std::collections::HashMap::<i64, u32>::new();
        for _ in 0..trials {
            let (test, choice) = spends(0.5);
            let point = select_tested_point(&among(&sorted), failure, (&test, &choice), &mut rng).unwrap();
            if let Some(point) = point {
                *drawn.entry(point[0]).or_default() += 1;
            }
        }
        let passed: u32 = drawn.values().sum();
        assert!(passed > trials / 2, "{passed}");
        let depth = |at: i64| f64::from(i32::try_from((at + 41).min(40 - at)).unwrap());
        let weight = |at: i64| if depth(at) < 20.0 { 0.0 } else { depth(at).exp() };
        let total: f64 = (-40..40).map(weight).sum();
        for at in -40..40 {
            let (chance, passed) = (weight(at) / total, f64::from(passed));
            let hits = f64::from(*drawn.get(&at).unwrap_or(&0));
            assert!(
                (hits - passed * chance).abs() <= 6.0 * (passed * chance * (1.0 - chance)).sqrt().max(0.2),
                "{at}: {hits}"
            );
        }
    }

    /// Numbers far apart, of which no two are near: nothing is safe, and hardly ever passes.
    #[test]
    fn what_is_not_safe_does_not_pass() {
        let sorted: Vec<i64> = (0..60).map(|i| if i < 30 { -(1i64 << (60 - i)) } else { 1 << (i + 1) }).collect();
        let mut rng = FixedSeed::new(2);
        for _ in 0..3000 {
            let (test, choice) = spends(0.5);
            let found = select_tested_point(&among(&sorted), Failure { bits: 21 }, (&test, &choice), &mut rng).unwrap();
            assert!(found.is_none());
        }
    }
}
