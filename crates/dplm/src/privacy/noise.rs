#![doc = include_str!("noise/proof.md")]

mod deviate;
mod laplace;
mod source;
#[cfg(test)]
mod tests;

pub use laplace::{discrete_laplace, exp_minus};
pub use source::{EntropyError, FixedSeed, NoiseRng, NoiseSource, RandomWords, SystemRng};

use deviate::Deviate;

/// The largest standard deviation [`rounded_gaussian`] takes, `2^100`.
///
/// With it, `sigma |Z| < 2^127` unless `|Z| >= 2^27`, so every draw fits an `i128`.
pub const MAX_SIGMA: u128 = 1 << 100;

/// Draws the integer nearest to `sigma Z`, for a standard Gaussian `Z`.
///
/// `P(k) = Phi((k + 1/2) / sigma) - Phi((k - 1/2) / sigma)` for every integer `k`.
///
/// # Guarantee
///
/// Given uniform independent words from `rng`, the distribution is exactly this one: no floating
/// point is used, and no probability is rounded. Added to an integer query it is post-processing of
/// a real Gaussian mechanism; the proof is in the [module](self).
///
/// The run time depends on the value drawn. Do not let an attacker time a single draw.
///
/// # Panics
///
/// When `sigma` is 0 or above [`MAX_SIGMA`]. `sigma` is a public number, checked when a release is
/// planned. A draw with `|Z| >= 2^26`, which has probability below `exp(-2^51)`, may also stop the
/// program rather than return a wrong integer.
///
/// # Examples
///
/// ```
/// use dplm::privacy::noise::{SystemRng, rounded_gaussian};
///
/// let mut rng = SystemRng::new()?;
/// let noise: i128 = rounded_gaussian(1 << 70, &mut rng);
/// # Ok::<(), dplm::privacy::noise::EntropyError>(())
/// ```
pub fn rounded_gaussian<R: RandomWords>(sigma: u128, rng: &mut R) -> i128 {
    assert!((1..=MAX_SIGMA).contains(&sigma), "sigma must lie between 1 and 2^100");
    let (k, x) = half_normal(rng);
    let whole = u128::from(k).checked_mul(sigma);
    let magnitude = whole.and_then(|whole| whole.checked_add(round_scaled(sigma, x, rng)));
    let magnitude = magnitude.and_then(|magnitude| i128::try_from(magnitude).ok());
    let magnitude = magnitude.expect("|Z| is below 2^26 except with probability below exp(-2^51)");
    if top_bit(rng.next_word()) { -magnitude } else { magnitude }
}

/// The absolute value of a standard Gaussian, as its integer part and its lazily known fraction
/// (steps 1 to 4).
fn half_normal<R: RandomWords>(rng: &mut R) -> (u64, Deviate) {
    loop {
        let k = run_of_halves(rng);
        // exp(-k (k - 1) / 2) is k (k - 1) factors exp(-1/2).
        if !(0..k * k.saturating_sub(1)).all(|_| exp_minus_half(rng)) {
            continue;
        }
        let mut x = Deviate::new();
        // exp(-x (2k + x) / 2) is k + 1 factors exp(-x (2k + x) / (2k + 2)).
        if (0..=k).all(|_| exp_minus_share(k, &mut x, rng)) {
            return (k, x);
        }
    }
}

/// The number of successes of [`exp_minus_half`] before its first failure: geometric,
/// `P(k) = (1 - e^(-1/2)) e^(-k/2)`.
fn run_of_halves<R: RandomWords>(rng: &mut R) -> u64 {
    let mut k = 0;
    while exp_minus_half(rng) {
        k += 1;
    }
    k
}

/// True with probability `exp(-1/2)`: the longest run `1/2 > u_1 > u_2 > ... > u_n` has even
/// length.
fn exp_minus_half<R: RandomWords>(rng: &mut R) -> bool {
    let mut last = Deviate::new();
    if top_bit(last.digit(0, rng)) {
        return true;
    }
    let mut length = 1_u64;
    loop {
        let mut next = Deviate::new();
        if !next.is_below(&mut last, rng) {
            return length.is_multiple_of(2);
        }
        last = next;
        length += 1;
    }
}

/// True with probability `exp(-x (2k + x) / (2k + 2))`.
///
/// The longest run `x > u_1 > ... > u_n`, each step also passing an independent trial of
/// probability `(2k + x) / (2k + 2)`, has even length.
fn exp_minus_share<R: RandomWords>(k: u64, x: &mut Deviate, rng: &mut R) -> bool {
    let mut last: Option<Deviate> = None;
    let mut length = 0_u64;
    loop {
        let mut next = Deviate::new();
        // The first link is compared with x itself, so that digits of x drawn here stay digits of
        // x.
        let descends = next.is_below(last.as_mut().unwrap_or(x), rng);
        if !descends || !share_trial(k, x, rng) {
            return length.is_multiple_of(2);
        }
        last = Some(next);
        length += 1;
    }
}

/// True with probability `(2k + x) / (2k + 2)`.
///
/// `(2k + 2) r` with `r` uniform has integer part `f` uniform on `0 ..= 2k + 1` and an independent
/// uniform fraction, so `(2k + 2) r < 2k + x` when `f < 2k`, or when `f = 2k` and the fraction is
/// below `x`.
fn share_trial<R: RandomWords>(k: u64, x: &mut Deviate, rng: &mut R) -> bool {
    let f = uniform_below(2 * k + 2, rng);
    f < 2 * k || (f == 2 * k && Deviate::new().is_below(x, rng))
}

/// A uniform integer in `0 .. m`: the high word of `m w`, over the words `w` that leave each value
/// equally many.
///
/// Each `f` is the high word for either `floor(2^64 / m)` or one more words; refusing low words
/// under `2^64 mod m` leaves exactly `floor(2^64 / m)` (Lemire, 2019).
pub fn uniform_below<R: RandomWords>(m: u64, rng: &mut R) -> u64 {
    loop {
        let (high, low) = halves(u128::from(m) * u128::from(rng.next_word()));
        // 2^64 mod m is below m, so the division is needed only in this rare case.
        if low >= m || low >= m.wrapping_neg() % m {
            return high;
        }
    }
}

/// The integer nearest to `sigma x`, drawing digits of `x` until it is decided.
fn round_scaled<R: RandomWords>(sigma: u128, mut x: Deviate, rng: &mut R) -> u128 {
    let first_two = u128::from(x.digit(0, rng)) << 64 | u128::from(x.digit(1, rng));
    let (high, low) = wide_product(sigma, first_two);
    // Rounding is the floor after adding one half, here 2^127 in units of 2^-128.
    let (fraction, carry) = low.overflowing_add(1 << 127);
    let floor = high + u128::from(carry);
    // What is missing to the next integer; 0 stands for a whole unit. The digits to come add less
    // than sigma.
    let gap = fraction.wrapping_neg();
    let reaches = gap != 0 && gap < sigma && reaches_gap(sigma, gap, &mut x, rng);
    floor + u128::from(reaches)
}

/// Whether `sigma` times the fraction made of the digits of `x` after its second is `gap` or more,
/// `0 < gap < sigma`.
fn reaches_gap<R: RandomWords>(sigma: u128, mut gap: u128, x: &mut Deviate, rng: &mut R) -> bool {
    for position in 2.. {
        let (added, added_low) = times_digit(sigma, x.digit(position, rng));
        if added >= gap {
            return true;
        }
        // In units of the next digit the gap is (gap - added) 2^64 - added_low; past 2^127 it is
        // out of reach.
        let left = gap - added;
        if left >= 1 << 63 {
            return false;
        }
        gap = (left << 64) - u128::from(added_low);
        if gap >= sigma {
            return false;
        }
    }
    unreachable!("a digit is drawn for every position")
}

/// `a b` as `(high, low)`, the value `high 2^128 + low`.
fn wide_product(a: u128, b: u128) -> (u128, u128) {
    let (b_high, b_low) = halves(b);
    let (upper, upper_low) = times_digit(a, b_high);
    let (lower, lower_low) = times_digit(a, b_low);
    // a b = upper 2^128 + (upper_low + lower) 2^64 + lower_low; lower is below 2^128 - 2^64, so the
    // sum fits.
    let middle = u128::from(upper_low) + lower;
    (upper + (middle >> 64), middle << 64 | u128::from(lower_low))
}

/// `a digit` as `(high, low)`, the value `high 2^64 + low`.
fn times_digit(a: u128, digit: u64) -> (u128, u64) {
    let (a_high, a_low) = halves(a);
    let (carry, low) = halves(u128::from(a_low) * u128::from(digit));
    (u128::from(a_high) * u128::from(digit) + u128::from(carry), low)
}

/// The two words of a number: both are kept, so nothing is lost.
#[allow(clippy::cast_possible_truncation, reason = "what one word drops, the other has")]
const fn halves(value: u128) -> (u64, u64) {
    ((value >> 64) as u64, value as u64)
}

/// The highest bit: a fair coin, and whether a first digit stands for a number of one half or more.
fn top_bit(word: u64) -> bool {
    word >> 63 == 1
}
