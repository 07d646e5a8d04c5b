//! Replay against an independent implementation, the law of the draws, and the exact rounding.

use num_bigint::BigUint;
use rand_core::{Infallible, Rng, TryCryptoRng, TryRng};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use statrs::function::erf::{erfc, erfc_inv};

use super::*;

/// SplitMix64 (Steele, Lea, Flood 2014), or a stream on an alphabet of four words; counts the words
/// it gives.
struct TestWords {
    state: u64,
    alphabet: Option<[u64; 4]>,
    used: u64,
}

impl TestWords {
    fn new(stream: &str, seed: u64) -> Self {
        let alphabet = match stream {
            "plain" => None,
            "coarse" => Some([0, (1 << 63) - 1, 1 << 63, u64::MAX]),
            "thirds" => Some([u64::MAX / 6, u64::MAX / 3 * 2, u64::MAX / 3 * 2 + 1, u64::MAX / 3]),
            other => panic!("the vector file names an unknown stream {other}"),
        };
        Self { state: seed, alphabet, used: 0 }
    }

    fn word(&mut self) -> u64 {
        self.used += 1;
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        self.alphabet.map_or(z, |alphabet| alphabet[(z >> 62) as usize])
    }
}

impl TryRng for TestWords {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the sampler takes whole words")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.word())
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("the sampler takes whole words")
    }
}

impl TryCryptoRng for TestWords {}

#[test]
fn replays_the_reference_draw_by_draw() {
    let vectors = include_str!("../../../tests/reference/noise.txt");
    let mut draws = 0;
    for line in vectors.lines() {
        let mut fields = line.split(' ');
        let stream = fields.next().expect("a stream");
        let seed = fields.next().expect("a seed").parse().expect("a seed");
        let sigma = fields.next().expect("a sigma").parse().expect("a sigma");
        let mut rng = TestWords::new(stream, seed);
        for field in fields {
            let before = rng.used;
            let drawn = rounded_gaussian(sigma, &mut rng);
            assert_eq!(format!("{drawn}:{}", rng.used - before), field, "{stream} stream, sigma {sigma}");
            draws += 1;
        }
    }
    assert!(draws >= 9_000, "only {draws} draws in the vector file");
}

fn wide_word(rng: &mut TestWords) -> u128 {
    u128::from(rng.word()) << 64 | u128::from(rng.word())
}

/// The first digits of `numerator / denominator < 1`, with `change.1` added to the one at
/// `change.0`.
fn known_fraction(numerator: &BigUint, denominator: &BigUint, count: usize, change: (usize, i64)) -> Vec<u64> {
    let scaled = (numerator << (64 * count)) / denominator;
    let mut digits = scaled.to_u64_digits();
    digits.resize(count, 0);
    digits.reverse();
    digits[change.0] = digits[change.0].wrapping_add_signed(change.1);
    digits
}

/// Words given in advance.
struct Script(std::vec::IntoIter<u64>);

impl TryRng for Script {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the sampler takes whole words")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next().expect("the rounding is decided by the words given"))
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("the sampler takes whole words")
    }
}

impl TryCryptoRng for Script {}

#[test]
fn rounding_is_exact_at_the_edges() {
    const DIGITS: usize = 7;
    let mut rng = TestWords::new("plain", 7);
    for case in 0..6_000 {
        // Any number of bits up to 100, and an edge (odd / 2) / sigma of the rounding somewhere in
        // (0, 1).
        let sigma = (wide_word(&mut rng) >> (28 + case % 100)).max(1);
        let odd = 2 * (wide_word(&mut rng) % sigma) + 1;
        let change = (rng.word() as usize % DIGITS, rng.word() as i64 % 3 - 1);
        let digits = known_fraction(&odd.into(), &(2 * sigma).into(), DIGITS, change);
        let x = digits.iter().fold(BigUint::ZERO, |x, &digit| (x << 64) + digit);
        // A last digit of 1 after the seven keeps an x on the edge itself decided.
        let expected = (BigUint::from(sigma) * ((x << 64) + 1_u8) + (BigUint::from(1_u8) << (64 * DIGITS + 63)))
            >> (64 * DIGITS + 64);
        let mut script = Script(digits.into_iter().chain([1, 0, 0]).collect::<Vec<_>>().into_iter());
        let rounded = round_scaled(sigma, Deviate::new(), &mut script);
        assert_eq!(BigUint::from(rounded), expected, "case {case}, sigma {sigma}");
    }
}

#[test]
fn wide_product_is_exact() {
    let mut rng = TestWords::new("plain", 8);
    let mut any = || wide_word(&mut rng) >> (rng.word() % 128);
    for _ in 0..10_000 {
        let (a, b) = (any(), any());
        let (high, low) = wide_product(a, b);
        assert_eq!((BigUint::from(high) << 128) + low, BigUint::from(a) * b, "{a} times {b}");
    }
    let (high, low) = wide_product(u128::MAX, u128::MAX);
    assert_eq!((high, low), (u128::MAX - 1, 1));
}

#[test]
fn uniform_below_leaves_every_value_equally_many_words() {
    // floor(3 w / 4) is a multiple of 3 for half of the words; refusing a quarter of them makes the
    // remainders even.
    for (m, remainders) in [(3 << 62, 3), (6, 6)] {
        let mut rng = TestWords::new("plain", 9);
        let mut counts = vec![0; remainders];
        for _ in 0..120_000 {
            counts[uniform_below(m, &mut rng) as usize % remainders] += 1;
        }
        let p_value = chi_square_sf(&counts, &vec![1.0 / remainders as f64; remainders]);
        assert!(p_value > LEVEL, "m {m}: {counts:?}, p-value {p_value:e}");
    }
}

/// Draws for each sigma of the tests of the law.
const DRAWS: usize = 600_000;

/// Every test of the law runs at this level; fewer than 100 of them keep the false-alarm rate of
/// all under 1e-6.
const LEVEL: f64 = 1e-8;

#[test]
fn the_law_is_the_rounded_gaussian_up_to_1000() {
    for (seed, sigma) in [1, 2, 3, 10, 1000].into_iter().enumerate() {
        check_law(sigma, 100 + seed as u64);
    }
}

#[test]
fn the_law_is_the_rounded_gaussian_up_to_the_largest_sigma() {
    for (seed, bits) in [20, 40, 60, 73, 100].into_iter().enumerate() {
        check_law(1 << bits, 200 + seed as u64);
    }
}

/// Cells, quantiles, tails, symmetry, moments, low bits and words used, for one sigma (at most 9
/// tests).
fn check_law(sigma: u128, seed: u64) {
    let mut rng = FixedSeed::new(seed);
    let draws: Vec<i128> = (0..DRAWS).map(|_| rounded_gaussian(sigma, &mut rng)).collect();
    check_cells(sigma, &draws, &quantile_edges(sigma));
    if sigma <= 10 {
        let reach = 3 * sigma as i128;
        check_cells(sigma, &draws, &(-reach..reach).collect::<Vec<_>>());
    }
    check_tail(sigma, &draws, 3);
    check_tail(sigma, &draws, 4);
    check_symmetry(sigma, &draws);
    check_moments(sigma, &draws);
    if sigma >= 1 << 20 {
        check_bits(sigma, &draws, 0);
        check_bits(sigma, &draws, sigma.ilog2() / 2);
    }
}

/// `P(noise <= k)`, exactly `Phi((k + 1/2) / sigma)`.
fn cdf(k: i128, sigma: u128) -> f64 {
    // Twice the edge is an odd integer; as f64 it is off by a relative 2^-53 at most.
    erfc(-(2 * k + 1) as f64 / (2.0 * sigma as f64) / std::f64::consts::SQRT_2) / 2.0
}

/// Integers that cut the law in 64 about equally probable parts, as far as integers can.
fn quantile_edges(sigma: u128) -> Vec<i128> {
    let edge = |i: u32| -std::f64::consts::SQRT_2 * erfc_inv(2.0 * f64::from(i) / 64.0) * sigma as f64;
    let mut edges: Vec<i128> = (1..64).map(|i| edge(i).floor() as i128).collect();
    edges.dedup();
    edges
}

/// Chi-square on the cells `k <= e_1`, `e_1 < k <= e_2`, ..., `k > e_m`.
fn check_cells(sigma: u128, draws: &[i128], edges: &[i128]) {
    let mut counts = vec![0_u64; edges.len() + 1];
    for draw in draws {
        counts[edges.partition_point(|edge| edge < draw)] += 1;
    }
    let upper = edges.iter().map(|&edge| cdf(edge, sigma)).chain([1.0]);
    let lower = [0.0].into_iter().chain(edges.iter().map(|&edge| cdf(edge, sigma)));
    let probabilities: Vec<f64> = upper.zip(lower).map(|(upper, lower)| upper - lower).collect();
    let p_value = chi_square_sf(&counts, &probabilities);
    assert!(p_value > LEVEL, "sigma {sigma}: chi-square over {} cells has p-value {p_value:e}", counts.len());
}

fn chi_square(counts: &[u64], probabilities: &[f64]) -> f64 {
    let total = counts.iter().sum::<u64>() as f64;
    let cell = |(&count, &probability): (&u64, &f64)| {
        let expected = total * probability;
        (count as f64 - expected).powi(2) / expected
    };
    counts.iter().zip(probabilities).map(cell).sum()
}

fn chi_square_sf(counts: &[u64], probabilities: &[f64]) -> f64 {
    let law = ChiSquared::new(counts.len() as f64 - 1.0).expect("at least two cells");
    law.sf(chi_square(counts, probabilities))
}

/// Chernoff's bound on how likely `count` or worse, on its side, is among `total` trials of
/// probability `p`.
fn chernoff(count: usize, total: usize, p: f64) -> f64 {
    let seen = count as f64 / total as f64;
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    (-(total as f64) * (term(seen, p) + term(1.0 - seen, 1.0 - p))).exp()
}

fn check_tail(sigma: u128, draws: &[i128], multiple: u128) {
    let bound = multiple * sigma;
    let beyond = draws.iter().filter(|draw| draw.unsigned_abs() > bound).count();
    let p_value = 2.0 * chernoff(beyond, draws.len(), 2.0 * cdf(-(bound as i128) - 1, sigma));
    assert!(p_value > LEVEL, "sigma {sigma}: {beyond} draws beyond {multiple} sigma, p-value {p_value:e}");
}

fn check_symmetry(sigma: u128, draws: &[i128]) {
    let positive = draws.iter().filter(|&&draw| draw > 0).count();
    let signed = draws.iter().filter(|&&draw| draw != 0).count();
    let p_value = 2.0 * chernoff(positive, signed, 0.5);
    assert!(p_value > LEVEL, "sigma {sigma}: {positive} of {signed} positive, p-value {p_value:e}");
}

/// Mean and second moment, by their normal limits.
fn check_moments(sigma: u128, draws: &[i128]) {
    let unit: Vec<f64> = draws.iter().map(|&draw| draw as f64 / sigma as f64).collect();
    let sigma = sigma as f64;
    let mean = |power: i32| unit.iter().map(|z| z.powi(power)).sum::<f64>() / DRAWS as f64;
    // Sheppard's corrections for rounding; the error they leave at sigma = 1 is below 1e-7.
    let second = 1.0 + 1.0 / (12.0 * sigma.powi(2));
    let fourth = 3.0 + 1.0 / (2.0 * sigma.powi(2)) + 1.0 / (80.0 * sigma.powi(4));
    let mean_score = mean(1) * (DRAWS as f64 / second).sqrt();
    let second_score = (mean(2) - second) * (DRAWS as f64 / (fourth - second.powi(2))).sqrt();
    for score in [mean_score, second_score] {
        let p_value = erfc(score.abs() / std::f64::consts::SQRT_2);
        assert!(p_value > LEVEL, "sigma {sigma}: moment off by {score} standard errors");
    }
}

/// Four bits of the draw from position `from`, far below sigma: uniform.
fn check_bits(sigma: u128, draws: &[i128], from: u32) {
    let mut counts = [0_u64; 16];
    for draw in draws {
        counts[(draw >> from & 15) as usize] += 1;
    }
    let p_value = chi_square_sf(&counts, &[1.0 / 16.0; 16]);
    assert!(p_value > LEVEL, "sigma {sigma}: bits {from} to {} have p-value {p_value:e}", from + 3);
}

#[test]
fn a_draw_takes_few_words() {
    for sigma in [1, 1 << 73, MAX_SIGMA] {
        let mut rng = TestWords::new("plain", 10);
        let draws = 100_000;
        for _ in 0..draws {
            rounded_gaussian(sigma, &mut rng);
        }
        let mean = rng.used as f64 / f64::from(draws);
        assert!((18.0..19.5).contains(&mean), "sigma {sigma}: {mean} words a draw");
    }
}

#[test]
fn sigma_out_of_range_is_refused() {
    for sigma in [0, MAX_SIGMA + 1] {
        let draw = std::panic::catch_unwind(|| rounded_gaussian(sigma, &mut FixedSeed::new(1)));
        assert!(draw.is_err(), "sigma {sigma} was taken");
    }
}

#[test]
fn a_fixed_seed_is_a_fixed_stream() {
    let draws: Vec<i128> = {
        let mut rng = FixedSeed::new(1);
        (0..4).map(|_| rounded_gaussian(1000, &mut rng)).collect()
    };
    assert_eq!(draws, GOLDEN, "the stream of a seed is part of the interface");
    let mut other = FixedSeed::new(2);
    assert_ne!(other.next_u64(), FixedSeed::new(1).next_u64());
}

/// Four draws with sigma 1000 from seed 1.
const GOLDEN: [i128; 4] = [1056, -1184, -609, -1093];

#[test]
fn the_system_gives_a_new_stream_each_time() {
    let words = || SystemRng::new().map(|mut rng| rng.next_u64());
    assert_ne!(words(), words());
    assert_eq!(format!("{:?}", FixedSeed::new(3)), "FixedSeed { .. }");
}
