//! Trials of probability `exp(-a/b)` and the discrete Laplace distribution, by integers only
//! (Canonne, Kamath and Steinke 2020).

use super::{MAX_SIGMA, RandomWords, top_bit, uniform_below};

/// True with probability `exp(-a/b)`.
///
/// # Guarantee
/// Exactly: no floating point is used, and no probability is rounded.
///
/// # Panics
/// When `b` is 0.
pub fn exp_minus<R: RandomWords>(a: u128, b: u128, rng: &mut R) -> bool {
    (0..a / b).all(|_| exp_minus_fraction(1, 1, rng)) && exp_minus_fraction(a % b, b, rng)
}

/// True with probability `exp(-a/b)`, `a <= b`: trials of probability `(a/b) / k`, `k = 1, 2, ...`,
/// fail for the first time at an odd one. The chance of reaching trial `k + 1` is `(a/b)^k / k!`,
/// and the alternating sum of these is the exponential series.
fn exp_minus_fraction<R: RandomWords>(a: u128, b: u128, rng: &mut R) -> bool {
    let mut k = 1_u64;
    while uniform_below(k, rng) == 0 && uniform_below_wide(b, rng) < a {
        k += 1;
    }
    !k.is_multiple_of(2)
}

/// A uniform integer in `0 .. m`: as many bits as `m - 1` has, until they are below it.
fn uniform_below_wide<R: RandomWords>(m: u128, rng: &mut R) -> u128 {
    let zeros = (m - 1).leading_zeros();
    loop {
        let drawn = u128::from(rng.next_word()) << 64 | u128::from(rng.next_word());
        let drawn = drawn.checked_shr(zeros).unwrap_or(0);
        if drawn < m {
            return drawn;
        }
    }
}

/// Draws an integer of the discrete Laplace distribution: `P(k)` is proportional to
/// `exp(-|k| / scale)`.
///
/// # Guarantee
/// Given uniform independent words from `rng`, the distribution is exactly this one. The magnitude
/// is `u + scale v`, `u` uniform below the scale and kept with probability `exp(-u / scale)`, `v`
/// geometric with factor `exp(-1)`; a negative zero is drawn again, so that zero is not counted
/// twice.
///
/// The run time depends on the value drawn. Do not let an attacker time a single draw.
///
/// # Panics
/// When `scale` is 0 or above [`MAX_SIGMA`]. A draw beyond `2^27` scales, which has probability
/// below `exp(-2^27)`, stops the program.
pub fn discrete_laplace<R: RandomWords>(scale: u128, rng: &mut R) -> i128 {
    assert!((1..=MAX_SIGMA).contains(&scale), "the scale must lie between 1 and 2^100");
    loop {
        let below = uniform_below_wide(scale, rng);
        if !exp_minus_fraction(below, scale, rng) {
            continue;
        }
        let mut whole = 0_u128;
        while exp_minus_fraction(1, 1, rng) {
            whole += 1;
        }
        let magnitude = whole.checked_mul(scale).and_then(|whole| whole.checked_add(below));
        let magnitude = magnitude.and_then(|magnitude| i128::try_from(magnitude).ok());
        let magnitude = magnitude.expect("a draw is below 2^27 scales except with probability below exp(-2^27)");
        let negative = top_bit(rng.next_word());
        if magnitude != 0 || !negative {
            return if negative { -magnitude } else { magnitude };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::FixedSeed;
    use super::*;

    /// How far a count of successes may be from its mean: 6 standard deviations, a false alarm in
    /// 5e8.
    fn is_near(hits: u32, trials: u32, chance: f64) -> bool {
        let (hits, trials) = (f64::from(hits), f64::from(trials));
        (hits - trials * chance).abs() <= 6.0 * (trials * chance * (1.0 - chance)).sqrt().max(1.0)
    }

    #[test]
    fn trials_have_their_exact_chance() {
        let (mut rng, trials) = (FixedSeed::new(1), 200_000);
        for (a, b) in [(0, 1), (1, 7), (1, 1), (5, 3), (1 << 90, 3 << 89), (u128::MAX / 2, u128::MAX), (9, 2)] {
            let hits = (0..trials).filter(|_| exp_minus(a, b, &mut rng)).count();
            let chance = (-(a as f64) / b as f64).exp();
            assert!(is_near(u32::try_from(hits).unwrap(), trials, chance), "{a}/{b}: {hits} of {trials}");
        }
    }

    #[test]
    fn draws_have_the_law_of_laplace() {
        let trials = 200_000;
        for scale in [1_u128, 2, 7, 1 << 70] {
            let mut rng = FixedSeed::new(3);
            let drawn: Vec<i128> = (0..trials).map(|_| discrete_laplace(scale, &mut rng)).collect();
            // `P(|k| <= m) = 1 - 2 e^(-(m+1)/t) / (1 + e^(-1/t))`, at a tenth, one and two scales;
            // and a fair sign.
            for m in [scale / 10, scale, 2 * scale] {
                let hits = drawn.iter().filter(|k| k.unsigned_abs() <= m).count();
                let t = scale as f64;
                let chance = 1.0 - 2.0 * (-(m as f64 + 1.0) / t).exp() / (1.0 + (-1.0 / t).exp());
                assert!(is_near(u32::try_from(hits).unwrap(), trials, chance), "{scale} {m}: {hits}");
            }
            let negative = drawn.iter().filter(|&&k| k < 0).count();
            let zeros = drawn.iter().filter(|&&k| k == 0).count();
            let chance = 0.5 * (1.0 - zeros as f64 / f64::from(trials));
            assert!(is_near(u32::try_from(negative).unwrap(), trials, chance), "{scale}: {negative} negative");
        }
    }
}
