//! The exponential mechanism over the integer points of a box: the deeper a point lies, the
//! likelier it is.

use dplm::privacy::{
    PrivacyError, Spend,
    noise::{RandomWords, uniform_below},
};
use num_bigint::BigUint;

use super::select::{RATE_PARTS, rate_down};

/// Boxes of integer points, each inside the one before. The score of a point is how many boxes it
/// is in; the first box is public and holds every point there is.
pub struct Nested {
    pub(super) boxes: Vec<IntegerBox>,
    pub(super) sensitivity: u32,
}

/// The first and the last integer in each coordinate.
pub type IntegerBox = Vec<(i64, i64)>;

impl Nested {
    /// Claims that neighbouring data sets give every point scores that differ by at most
    /// `sensitivity`.
    ///
    /// # Guarantee
    /// None of its own: the call site names the argument that proves the claim.
    ///
    /// # Panics
    /// When there is no box, one is empty, or one is not inside the one before.
    pub fn claim(boxes: Vec<IntegerBox>, sensitivity: u32) -> Nested {
        assert!(sensitivity > 0, "rows matter");
        assert_nested(&boxes);
        Nested { boxes, sensitivity }
    }

    /// The boxes and the claim.
    pub fn parts(&self) -> (&[IntegerBox], u32) {
        (&self.boxes, self.sensitivity)
    }
}

/// Stops a program that counts points which are not there.
pub(super) fn assert_nested(boxes: &[IntegerBox]) {
    let is_inside = |inner: &IntegerBox, outer: &IntegerBox| {
        inner.iter().zip(outer).all(|(inner, outer)| outer.0 <= inner.0 && inner.1 <= outer.1)
    };
    assert!(!boxes.is_empty(), "there is something to choose from");
    assert!(boxes.iter().flatten().all(|(low, high)| low <= high), "no box is empty");
    assert!(boxes.windows(2).all(|pair| is_inside(&pair[1], &pair[0])), "each box is inside the one before");
}

/// Chooses a point: one of score `s` with probability proportional to `q^-s`.
///
/// # Guarantee
/// If the claim of `nested` is true, the choice is `rho`-zCDP, `rho` the worth of `spend`: with
/// `ln(1/q) <= c` and `c` the rate of [`select`](super::select()), the argument is the same. `q` is
/// a whole number of 2^-32, rounded up from `exp(-c)`, so that the weight of every layer of points
/// is a whole number: points are drawn with exactly these chances, by uniform draws alone.
///
/// # Errors
/// When the budget is so small that every point would be as likely.
pub fn select_point<R: RandomWords>(nested: &Nested, spend: &Spend, rng: &mut R) -> Result<Vec<i64>, PrivacyError> {
    let factor = factor_up(rate_down(nested.sensitivity, spend)?);
    if factor >= RATE_PARTS {
        return Err(PrivacyError::NoiseTooLarge);
    }
    Ok(draw(&nested.boxes, factor, rng))
}

/// A point of the first box, one that is in `s` boxes with probability proportional to `q^-s`.
pub(super) fn draw<R: RandomWords>(boxes: &[IntegerBox], factor: u128, rng: &mut R) -> Vec<i64> {
    let layer = weighted_choice(&layer_weights(boxes, factor), rng);
    let outer = &boxes[layer];
    match boxes.get(layer + 1) {
        Some(inner) => point_between(outer, inner, rng),
        None => outer.iter().map(|&ends| uniform_within(ends, rng)).collect(),
    }
}

/// `2^32 exp(-rate / 2^32)`, rounded up: `exp(x)` is no smaller than the first terms of its series,
/// each rounded down.
pub(super) fn factor_up(rate: u128) -> u128 {
    const BITS: usize = 64;
    let mut term = BigUint::from(1u32) << BITS;
    let mut sum = term.clone();
    for k in 1u32.. {
        term = term * rate / (BigUint::from(RATE_PARTS) * k);
        if term == BigUint::ZERO {
            break;
        }
        sum += &term;
    }
    let whole = BigUint::from(RATE_PARTS) << BITS;
    let factor = (whole + &sum - 1u32) / sum;
    u128::try_from(factor).expect("no more than 2^32, since the series begins with 1")
}

/// How likely each layer is, the points in one box and not in the next: `count q^(top - s)`, times
/// `2^(32 top)`.
fn layer_weights(boxes: &[IntegerBox], factor: u128) -> Vec<BigUint> {
    let counts: Vec<BigUint> = boxes.iter().map(count).collect();
    let (mut weights, mut power) = (Vec::with_capacity(boxes.len()), BigUint::from(1u32));
    for (layer, all) in counts.iter().enumerate().rev() {
        let inside = counts.get(layer + 1).cloned().unwrap_or_default();
        weights.push(((all - inside) * &power) << (32 * layer));
        power *= factor;
    }
    weights.reverse();
    weights
}

/// How many points a box holds.
pub(super) fn count(of: &IntegerBox) -> BigUint {
    of.iter().map(|&ends| BigUint::from(length(ends))).product()
}

fn length((low, high): (i64, i64)) -> u64 {
    high.abs_diff(low) + 1
}

/// A place, with chances proportional to the weights.
fn weighted_choice<R: RandomWords>(weights: &[BigUint], rng: &mut R) -> usize {
    let mut left = uniform_below_large(&weights.iter().sum(), rng);
    for (place, weight) in weights.iter().enumerate() {
        if left < *weight {
            return place;
        }
        left -= weight;
    }
    unreachable!("less than the sum of the weights")
}

/// A uniform point of `outer` that is not in `inner`. Such points are told apart by the first
/// coordinate that is outside.
fn point_between<R: RandomWords>(outer: &IntegerBox, inner: &IntegerBox, rng: &mut R) -> Vec<i64> {
    let beyond = |j: usize| length(outer[j]) - length(inner[j]);
    let inside = |j: usize| inner[..j].iter().map(|&ends| BigUint::from(length(ends))).product::<BigUint>();
    let anywhere = |j: usize| outer[j + 1..].iter().map(|&ends| BigUint::from(length(ends))).product::<BigUint>();
    let weights: Vec<BigUint> = (0..outer.len()).map(|j| inside(j) * beyond(j) * anywhere(j)).collect();
    let first = weighted_choice(&weights, rng);
    let coordinate = |j: usize| match j.cmp(&first) {
        std::cmp::Ordering::Less => uniform_within(inner[j], rng),
        std::cmp::Ordering::Greater => uniform_within(outer[j], rng),
        std::cmp::Ordering::Equal => {
            let below = inner[j].0.abs_diff(outer[j].0);
            let drawn = uniform_below(beyond(j), rng);
            match drawn.checked_sub(below) {
                None => outer[j].0.saturating_add_unsigned(drawn),
                Some(above) => inner[j].1.saturating_add_unsigned(above + 1),
            }
        }
    };
    (0..outer.len()).map(coordinate).collect()
}

fn uniform_within<R: RandomWords>(ends: (i64, i64), rng: &mut R) -> i64 {
    ends.0.saturating_add_unsigned(uniform_below(length(ends), rng))
}

/// A uniform integer in `0 .. m`: as many bits as `m - 1` has, until they are below it.
fn uniform_below_large<R: RandomWords>(m: &BigUint, rng: &mut R) -> BigUint {
    let bits = (m - 1u32).bits();
    let words = bits.div_ceil(64);
    loop {
        let halves = (0..words).flat_map(|_| {
            let word = rng.next_word();
            [word & u64::from(u32::MAX), word >> 32].map(|half| u32::try_from(half).expect("32 bits"))
        });
        let drawn = BigUint::new(halves.collect()) >> (64 * words - bits);
        if drawn < *m {
            return drawn;
        }
    }
}

#[cfg(test)]
mod tests {
    use dplm::privacy::{Budget, Mechanism, Rho, noise::FixedSeed};

    use super::*;

    fn spend(rho: f64) -> Spend {
        let mut budget = Budget::new(Rho::checked_from_f64(rho).unwrap());
        budget.spend_on(Mechanism::Exponential, "test", budget.total()).unwrap()
    }

    #[test]
    fn the_factor_is_the_least_above_the_exponential() {
        for rate in [1u128, 1 << 20, 1 << 31, 1 << 32, 3 << 32, 20 << 32] {
            let exact = (-(rate as f64) / RATE_PARTS as f64).exp() * RATE_PARTS as f64;
            let factor = factor_up(rate) as f64;
            assert!(factor >= exact * (1.0 - 1e-15) && factor < exact + 1.0 + exact * 1e-15, "{rate} {factor} {exact}");
        }
    }

    /// Thirty points of three scores in two coordinates, against their weights; six standard
    /// deviations, a false alarm in 5e8 for each point.
    #[test]
    fn points_are_drawn_with_their_exact_chances() {
        let boxes = vec![vec![(-2, 3), (0, 4)], vec![(-1, 1), (1, 4)], vec![(0, 1), (2, 2)]];
        let within =
            |point: &[i64], of: &IntegerBox| point.iter().zip(of).all(|(at, (low, high))| low <= at && at <= high);
        let (trials, mut rng) = (300_000u32, FixedSeed::new(5));
        let mut drawn = std::collections::HashMap::<Vec<i64>, u32>::new();
        for _ in 0..trials {
            let point = select_point(&Nested::claim(boxes.clone(), 1), &spend(0.08), &mut rng).unwrap();
            *drawn.entry(point).or_default() += 1;
        }
        let points: Vec<Vec<i64>> = (-2..=3).flat_map(|a| (0..=4).map(move |b| vec![a, b])).collect();
        let score = |point: &[i64]| boxes.iter().filter(|of| within(point, of)).count() as f64;
        let weights: Vec<f64> = points.iter().map(|point| (0.4 * score(point)).exp()).collect();
        let total: f64 = weights.iter().sum();
        for (point, weight) in points.iter().zip(&weights) {
            let (chance, trials) = (weight / total, f64::from(trials));
            let hits = f64::from(*drawn.get(point).unwrap_or(&0));
            let sd = (trials * chance * (1.0 - chance)).sqrt();
            assert!((hits - trials * chance).abs() <= 6.0 * sd, "{point:?}: {hits} of {}", trials * chance);
        }
    }

    #[test]
    fn a_budget_that_tells_no_points_apart_is_refused() {
        let refusal = select_point(&Nested::claim(vec![vec![(0, 9)]], u32::MAX), &spend(1e-12), &mut FixedSeed::new(1));
        assert_eq!(refusal, Err(PrivacyError::NoiseTooLarge));
    }
}
