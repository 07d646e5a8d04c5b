//! What a family of responses says of a row at a point: in whole numbers, the same on every
//! machine.
//!
//! A binary response is -1 or 1 on the lattice, times the root of the row's weight, which every
//! cell of the row is multiplied by: so the size of a response says how much its row counts, and
//! its sign what came out. Probabilities are whole numbers of 2^-20.

use super::{
    BLOCK_ROWS, CELL_SCALE_BITS,
    exact::{count, narrow, natural, nearest, power},
    simd::{Simd, TABLE_ENTRIES},
};

/// One number for each row of a block.
type Lanes = [f64; BLOCK_ROWS];

/// What the mean of a response is at a point: a linear function of the row, or a function of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// The linear function itself: least squares.
    #[default]
    Identity,
    /// `1 / (1 + e^-eta)`: the probability of a binary response.
    Logistic,
}

/// A family of responses whose mean is not linear. Numbers are those of eight rows.
pub(crate) trait Family<S: Simd> {
    /// The mean for `eta`, a whole number of steps of 2^-27.
    fn mean(self, eta: S::V) -> S::V;

    /// The variance for a mean.
    fn variance(self, mean: S::V) -> S::V;

    /// How the variance changes with the mean.
    fn slope_of_variance(self, mean: S::V) -> S::V;

    /// The largest residual that any response could have.
    ///
    /// It does not depend on the response, so that a row may be weighted by it: under the model a
    /// weighted residual then still has mean zero. Clipping a residual by its own size gives a rare
    /// outcome less weight than a common one, and biases the fit.
    fn largest_residual(self, mean: S::V) -> S::V;
}

/// Binary responses with the logistic link; means and variances in units of [`ONE`].
#[derive(Clone, Copy)]
pub(crate) struct Binomial<S>(pub S);

/// Bits of a probability.
pub(crate) const PROBABILITY_BITS: u32 = 20;
/// The probability 1.
const ONE: f64 = power(PROBABILITY_BITS);

/// The table has `STEPS` steps to a unit, and ends at 16 on either side, where the probability is
/// within 2^-20 of 0 or 1.
const STEPS_BITS: u32 = 7;
const STEPS: usize = 1 << STEPS_BITS;
const END: usize = 16 * STEPS;
/// Bits of a linear function after the point.
const ETA_BITS: u32 = STEPS_BITS + PROBABILITY_BITS;

impl<S: Simd> Family<S> for Binomial<S> {
    /// Exact until it is rounded once: a difference of neighbours in the table has at most 12 bits,
    /// and the place between them 20.
    #[inline(always)]
    fn mean(self, eta: S::V) -> S::V {
        let (simd, end) = (self.0, self.0.splat(count(END)));
        let place = simd.add(simd.limit(simd.mul(eta, simd.splat(1.0 / ONE)), end), end);
        let below = simd.trunc(place);
        let (low, step) = simd.look_up(&TABLE, below);
        let beyond = simd.mul_sub_from(below, simd.splat(1.0), place);
        simd.round(simd.mul_add(step, beyond, low))
    }

    #[inline(always)]
    fn variance(self, mean: S::V) -> S::V {
        let simd = self.0;
        let unlikely = simd.mul_sub_from(mean, simd.splat(1.0), simd.splat(ONE));
        simd.mul(simd.mul(mean, unlikely), simd.splat(1.0 / ONE))
    }

    #[inline(always)]
    fn slope_of_variance(self, mean: S::V) -> S::V {
        self.0.mul_sub_from(mean, self.0.splat(2.0), self.0.splat(ONE))
    }

    #[inline(always)]
    fn largest_residual(self, mean: S::V) -> S::V {
        let simd = self.0;
        simd.max(mean, simd.mul_sub_from(mean, simd.splat(1.0), simd.splat(ONE)))
    }
}

/// `2^20 / (1 + e^-x)` to the nearest whole number at `x = k / 128 - 16`, and the step to the next;
/// after the last, zeros.
static TABLE: [[f32; 2]; TABLE_ENTRIES] = table();

/// In integers alone, so that it is the same on every machine.
const fn table() -> [[f32; 2]; TABLE_ENTRIES] {
    const UNIT: u128 = 1 << 62;
    let (mut table, step) = ([[0.0; 2]; TABLE_ENTRIES], smallest_step(UNIT.cast_signed()).unsigned_abs());
    // Each product is cut by less than 2^-62, so that e^-16 is right to 2^-50.
    let (mut exponential, mut k) = (UNIT, 0);
    while k <= END {
        let sum = UNIT + exponential;
        let probability = nearest((((UNIT << PROBABILITY_BITS) + sum / 2) / sum).cast_signed());
        table[END + k][0] = narrow(probability);
        table[END - k][0] = narrow(ONE - probability);
        exponential = exponential * step / UNIT;
        k += 1;
    }
    let mut k = 0;
    while k < 2 * END {
        table[k][1] = table[k + 1][0] - table[k][0];
        k += 1;
    }
    table
}

/// `e^(-1/128)` by its series: the twelfth term is below 2^-62.
const fn smallest_step(unit: i128) -> i128 {
    let (mut sum, mut term, mut k) = (0, unit, 1);
    while k < 13 {
        sum += term;
        term = -term / (k << STEPS_BITS);
        k += 1;
    }
    sum
}

/// `-mu log2 mu - (1 - mu) log2 (1 - mu)`, in integers alone.
///
/// # Guarantee
/// A whole number from 0 to [`ONE`], whatever a logarithm is rounded to.
fn entropy(mean: f64) -> f64 {
    const UNIT: u64 = 1 << PROBABILITY_BITS;
    let likely = natural(mean.clamp(0.0, ONE));
    // Below 2^45: a share is at most 2^20, and its logarithm at most 20.
    let part = |share: u64| if share == 0 { 0 } else { share * ((20 << PROBABILITY_BITS) - log2(share)) };
    let sum = (part(likely) + part(UNIT - likely)) >> PROBABILITY_BITS;
    nearest(sum.min(UNIT).into())
}

/// The logarithm to the base 2 of a whole number from 1 to 2^20, in parts of 2^-20, cut: a straight
/// line between entries of a table, which is below it by less than a fifth of such a part.
fn log2(number: u64) -> u64 {
    const REST_BITS: u32 = 31 - LOGARITHM_BITS;
    let whole = number.ilog2();
    let beyond = (number << (31 - whole)) - (1 << 31);
    let (place, rest) = (beyond >> REST_BITS, beyond & ((1 << REST_BITS) - 1));
    let at = |place: u64| LOGARITHMS[usize::try_from(place).unwrap_or(0)];
    (u64::from(whole) << PROBABILITY_BITS) + at(place) + (((at(place + 1) - at(place)) * rest) >> REST_BITS)
}

/// The table of logarithms has 2^10 steps.
const LOGARITHM_BITS: u32 = 10;

/// `2^20 log2(1 + k / 2^10)`, cut.
static LOGARITHMS: [u64; (1 << LOGARITHM_BITS) + 1] = logarithms();

const fn logarithms() -> [u64; (1 << LOGARITHM_BITS) + 1] {
    let mut table = [0; (1 << LOGARITHM_BITS) + 1];
    let mut k = 0;
    while k < 1 << LOGARITHM_BITS {
        table[k] = fraction_of_log2(((1 << LOGARITHM_BITS) + k as u64) << (31 - LOGARITHM_BITS));
        k += 1;
    }
    table[1 << LOGARITHM_BITS] = 1 << PROBABILITY_BITS;
    table
}

/// The logarithm of a number of parts of 2^-31, from 1 to 2: each squaring of what is left of it
/// gives one more bit.
const fn fraction_of_log2(mut left: u64) -> u64 {
    let (mut fraction, mut bit) = (0, 0);
    while bit < PROBABILITY_BITS {
        left = (left * left) >> 31;
        fraction <<= 1;
        if left >= 1 << 32 {
            left >>= 1;
            fraction += 1;
        }
        bit += 1;
    }
    fraction
}

/// A number that every row of a binary response adds, as a whole number of at most 2^20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// 1 where the response is one.
    Outcome,
    /// The variance of the response.
    Variance,
    /// The entropy of the response, in bits.
    Entropy,
}

impl Number {
    /// The number 1.
    pub const UNIT: u64 = 1 << PROBABILITY_BITS;
}

/// Rows at a point: eight, or those of a block.
#[derive(Clone, Copy)]
pub(crate) struct Expected<V> {
    /// The mean of each row's response.
    pub(super) mean: V,
    /// The root of each row's weight.
    pub(super) root: V,
    /// 1 for each row whose response is one, 0 for the others; of a row of zeros neither.
    pub(super) outcome: V,
}

impl<V: Copy> Expected<V> {
    /// From the linear functions with their signs changed, whole numbers of 2^-12 of a unit of
    /// parameters, and the responses.
    #[inline(always)]
    pub(super) fn of<S: Simd<V = V>>(simd: S, negative: V, responses: V, theta_unit: f64) -> Expected<V> {
        const USUAL: f64 = power(CELL_SCALE_BITS);
        let sizes = simd.max(responses, simd.mul(responses, simd.splat(-1.0)));
        let scaled = simd.mul(negative, simd.splat(-power(ETA_BITS) / theta_unit));
        let apart = simd.mul_sub_from(sizes, simd.splat(1.0), simd.splat(USUAL));
        // One division, rounded alike everywhere, and then a whole number; by 2^12 it is a product.
        // A row of zeros has no weight; any size will do, since it contributes nothing.
        let eta = match simd.any_above(simd.mul(apart, apart), simd.splat(0.0)) {
            false => simd.mul(scaled, simd.splat(1.0 / USUAL)),
            true => simd.div(scaled, simd.max(sizes, simd.splat(1.0))),
        };
        let signs = simd.limit(responses, simd.splat(1.0));
        Expected {
            mean: Binomial(simd).mean(simd.round(eta)),
            root: simd.mul(sizes, simd.splat(1.0 / USUAL)),
            outcome: simd.mul_add(signs, simd.splat(0.5), simd.splat(0.5)),
        }
    }

    /// What each row's response is above its mean, times the root of its weight.
    #[inline(always)]
    pub(super) fn residual<S: Simd<V = V>>(self, simd: S) -> V {
        let above = simd.mul_sub_from(self.mean, simd.splat(1.0), simd.mul(self.outcome, simd.splat(ONE)));
        simd.round(simd.mul(self.root, above))
    }

    /// The largest that could be, whatever came out; no smaller than the residual, since both are
    /// rounded alike.
    #[inline(always)]
    pub(super) fn largest<S: Simd<V = V>>(self, simd: S) -> V {
        simd.round(simd.mul(self.root, Binomial(simd).largest_residual(self.mean)))
    }

    /// The variance of each row's response times how it changes with the mean.
    #[inline(always)]
    pub(super) fn bend<S: Simd<V = V>>(self, simd: S) -> V {
        let family = Binomial(simd);
        let bend = simd.mul(family.variance(self.mean), family.slope_of_variance(self.mean));
        simd.round(simd.mul(self.root, simd.mul(bend, simd.splat(1.0 / ONE))))
    }

    /// The variance of each response, in units of 1.
    #[inline(always)]
    pub(super) fn variance<S: Simd<V = V>>(self, simd: S) -> V {
        simd.mul(Binomial(simd).variance(self.mean), simd.splat(1.0 / ONE))
    }

    /// A residual as it counts for a row whose bound is `bound`: weighted by `min(1, bound /
    /// largest)`, which does not depend on what came out, and cut towards zero.
    ///
    /// # Guarantee
    /// It is a whole number of at most `bound` in size: `|residual| <= largest`; their product is
    /// below 2^52, a quotient of whole numbers that is at most a whole number does not round beyond
    /// it, and what is cut is no longer. Where `largest <= bound` it is the residual itself.
    #[inline(always)]
    pub(super) fn weighted<S: Simd<V = V>>(self, simd: S, bound: V) -> V {
        let (residual, largest) = (self.residual(simd), self.largest(simd));
        match simd.any_above(largest, bound) {
            false => residual,
            true => weighted(simd, residual, largest, bound),
        }
    }
}

#[inline(always)]
fn weighted<S: Simd>(simd: S, residual: S::V, largest: S::V, bound: S::V) -> S::V {
    let most = simd.max(largest, simd.splat(1.0));
    simd.trunc(simd.div(simd.mul(residual, simd.limit(largest, bound)), most))
}

impl Expected<Lanes> {
    /// A number of each row that counts, none of the others: whole numbers of at most 2^20.
    pub(super) fn numbers(&self, number: Number) -> Lanes {
        std::array::from_fn(|row| match (number, self.counts(row)) {
            (_, false) => 0.0,
            (Number::Outcome, true) => self.outcome[row] * ONE,
            (Number::Variance, true) => (self.mean[row] * (ONE - self.mean[row]) / ONE).round_ties_even(),
            (Number::Entropy, true) => entropy(self.mean[row]),
        })
    }

    /// Whether a row is not one of zeros.
    pub(super) fn counts(&self, row: usize) -> bool {
        self.root[row] > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::simd::{Kernel, LANES, Work};

    /// The mean for a linear function, in eight lanes that must agree.
    struct Mean(f64);

    impl Work for Mean {
        type Output = f64;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> f64 {
            same(simd, Binomial(simd).mean(simd.splat(self.0)))
        }
    }

    /// A residual weighted for its bound.
    struct Weighted([f64; 3]);

    impl Work for Weighted {
        type Output = f64;

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> f64 {
            let [residual, largest, bound] = self.0;
            same(simd, weighted(simd, simd.splat(residual), simd.splat(largest), simd.splat(bound)))
        }
    }

    #[inline(always)]
    fn same<S: Simd>(simd: S, value: S::V) -> f64 {
        let mut lanes = [0.0; LANES];
        simd.store(value, &mut lanes);
        assert_eq!(lanes, [lanes[0]; LANES]);
        lanes[0]
    }

    fn mean(eta: f64) -> f64 {
        Kernel::best().run(Mean(eta))
    }

    /// FNV-1a over the entries: the table is the same on every machine, or fits are not.
    #[test]
    fn the_table_is_what_it_was() {
        let mix = |hash: u64, [entry, _]: &[f32; 2]| (hash ^ *entry as u64).wrapping_mul(0x0100_0000_01b3);
        assert_eq!(TABLE[..=2 * END].iter().fold(0xcbf2_9ce4_8422_2325, mix), 0xd7f8_9051_5cec_e379);
    }

    #[test]
    fn the_table_is_the_sigmoid_and_between_its_entries_it_is_near() {
        for (k, &[entry, _]) in TABLE[..=2 * END].iter().enumerate() {
            let x = k as f64 / 128.0 - 16.0;
            assert!((f64::from(entry) - ONE / (1.0 + (-x).exp())).abs() <= 0.5 + 1e-6, "at {x}");
        }
        for k in -2100..2100 {
            let x = f64::from(k) / 127.3;
            let at = (x * power(ETA_BITS)).round();
            // Half a unit for each rounding, and h^2 / 8 max |s''| = .75 for the chord.
            assert!((mean(at) - ONE / (1.0 + (-x).exp())).abs() < 2.0, "at {x}: {}", mean(at));
            assert_eq!(mean(at) + mean(-at), ONE);
        }
        assert_eq!((mean(-1e18), mean(1e18)), (0.0, ONE));
    }

    /// A unit for the cut of the sum, and a little more than one for those of the logarithms.
    #[test]
    fn an_entropy_is_at_most_one_bit() {
        for mean in (0..=1 << 20).step_by(997).chain([1, 2, 524_288, (1 << 20) - 1, 1 << 20]) {
            let (found, mu) = (entropy(f64::from(mean)), f64::from(mean) / ONE);
            let part = |share: f64| if share == 0.0 { 0.0 } else { -share * share.log2() };
            assert!((found - ONE * (part(mu) + part(1.0 - mu))).abs() < 2.5, "at {mean}: {found}");
            assert!((0.0..=ONE).contains(&found) && found.fract() == 0.0);
        }
    }

    #[test]
    fn a_weighted_residual_keeps_to_its_bound() {
        for bound in [0.0, 1.0, 3.0, 700_001.0, 16_777_215.0] {
            for largest in [524_288.0, 700_002.0, 1_048_576.0, 100_000_001.0] {
                for residual in [-largest, -1.0, 0.0, 17.0, largest - 1.0, largest] {
                    let found = Kernel::best().run(Weighted([residual, largest, bound]));
                    assert!(found.abs() <= bound, "{residual} {largest} {bound}");
                    assert!(largest > bound || found == residual, "{residual} {largest} {bound}");
                    assert_eq!(found.fract(), 0.0);
                }
            }
        }
    }
}
