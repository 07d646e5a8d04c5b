//! What a family of responses says of a row at a point: in whole numbers, the same on every
//! machine.
//!
//! A binary response is -1 or 1 on the lattice, times the root of the row's weight, which every
//! cell of the row is multiplied by: so the size of a response says how much its row counts, and
//! its sign what came out. Probabilities are whole numbers of 2^-20.

use super::{
    BLOCK_ROWS, CELL_SCALE_BITS,
    exact::{count, narrow, nearest, power, saturated},
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

/// A family of responses whose mean is not linear.
pub(crate) trait Family {
    /// The mean for `eta`, a whole number of steps of 2^-27.
    fn mean(&self, eta: f64) -> f64;

    /// The variance for a mean.
    fn variance(&self, mean: f64) -> f64;

    /// How the variance changes with the mean.
    fn slope_of_variance(&self, mean: f64) -> f64;

    /// The largest residual that any response could have.
    ///
    /// It does not depend on the response, so that a row may be weighted by it: under the model a
    /// weighted residual then still has mean zero. Clipping a residual by its own size gives a rare
    /// outcome less weight than a common one, and biases the fit.
    fn largest_residual(&self, mean: f64) -> f64;
}

/// Binary responses with the logistic link; means and variances in units of [`ONE`].
pub(crate) struct Binomial;

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

impl Family for Binomial {
    /// Exact until it is rounded once: a difference of neighbours in the table has at most 12 bits,
    /// and the place between them 20.
    #[inline(always)]
    fn mean(&self, eta: f64) -> f64 {
        let end = count(END);
        let place = (eta / ONE).clamp(-end, end) + end;
        let below = place.floor().min(2.0 * end - 1.0);
        let at = usize::try_from(saturated(below)).unwrap_or(0);
        let (low, high) = (f64::from(TABLE[at]), f64::from(TABLE[at + 1]));
        (low + (high - low) * (place - below)).round_ties_even()
    }

    #[inline(always)]
    fn variance(&self, mean: f64) -> f64 {
        mean * (ONE - mean) / ONE
    }

    #[inline(always)]
    fn slope_of_variance(&self, mean: f64) -> f64 {
        ONE - 2.0 * mean
    }

    #[inline(always)]
    fn largest_residual(&self, mean: f64) -> f64 {
        mean.max(ONE - mean)
    }
}

/// `2^20 / (1 + e^-x)` to the nearest whole number at `x = k / 128 - 16`.
static TABLE: [f32; 2 * END + 1] = table();

/// In integers alone, so that it is the same on every machine.
const fn table() -> [f32; 2 * END + 1] {
    const UNIT: u128 = 1 << 62;
    let (mut table, step) = ([0.0; 2 * END + 1], smallest_step(UNIT.cast_signed()).unsigned_abs());
    // Each product is cut by less than 2^-62, so that e^-16 is right to 2^-50.
    let (mut exponential, mut k) = (UNIT, 0);
    while k <= END {
        let sum = UNIT + exponential;
        let probability = nearest((((UNIT << PROBABILITY_BITS) + sum / 2) / sum).cast_signed());
        table[END + k] = narrow(probability);
        table[END - k] = narrow(ONE - probability);
        exponential = exponential * step / UNIT;
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

/// A number that every row of a binary response adds, as a whole number of at most 2^20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// 1 where the response is one.
    Outcome,
    /// The variance of the response.
    Variance,
}

impl Number {
    /// The number 1.
    pub const UNIT: u64 = 1 << PROBABILITY_BITS;
}

/// The rows of a block at a point.
pub(crate) struct Expected {
    /// The mean of each row's response.
    mean: Lanes,
    /// The root of each row's weight.
    root: Lanes,
    /// 1 for each row whose response is one, 0 for the others.
    outcome: Lanes,
}

impl Expected {
    /// From the linear functions, whole numbers of 2^-12 of a unit of parameters, and the
    /// responses.
    #[inline(always)]
    pub(super) fn of(linear: &Lanes, responses: &[f32; BLOCK_ROWS], theta_unit: f64) -> Expected {
        let scale = power(ETA_BITS) / theta_unit;
        let (mut mean, mut root, mut outcome) = ([0.0; BLOCK_ROWS], [0.0; BLOCK_ROWS], [0.0; BLOCK_ROWS]);
        for row in 0..BLOCK_ROWS {
            let response = f64::from(responses[row]);
            // A row of zeros has no weight; any will do, since it contributes nothing.
            let size = if response == 0.0 { 1.0 } else { response.abs() };
            // One division, rounded alike everywhere, and then a whole number.
            mean[row] = Binomial.mean((linear[row] * scale / size).round_ties_even());
            root[row] = response.abs() / power(CELL_SCALE_BITS);
            outcome[row] = if response > 0.0 { 1.0 } else { 0.0 };
        }
        Expected { mean, root, outcome }
    }

    /// What each row's response is above its mean, times the root of its weight.
    #[inline(always)]
    pub(super) fn residuals(&self) -> Lanes {
        self.each(|mean, outcome| outcome * ONE - mean)
    }

    /// The largest that could be, whatever came out; no smaller than the residual, since both are
    /// rounded alike.
    #[inline(always)]
    pub(super) fn largest(&self) -> Lanes {
        self.each(|mean, _| Binomial.largest_residual(mean))
    }

    /// The variance of each row's response times how it changes with the mean.
    #[inline(always)]
    pub(super) fn bends(&self) -> Lanes {
        self.each(|mean, _| Binomial.variance(mean) * Binomial.slope_of_variance(mean) / ONE)
    }

    /// The variance of each response, in units of 1.
    #[inline(always)]
    pub(super) fn variances(&self) -> Lanes {
        self.mean.map(|mean| Binomial.variance(mean) / ONE)
    }

    /// A number of each row that counts, none of the others: whole numbers of at most 2^20.
    pub(super) fn numbers(&self, number: Number) -> Lanes {
        std::array::from_fn(|row| match (number, self.counts(row)) {
            (_, false) => 0.0,
            (Number::Outcome, true) => self.outcome[row] * ONE,
            (Number::Variance, true) => Binomial.variance(self.mean[row]).round_ties_even(),
        })
    }

    /// Whether a row is not one of zeros.
    pub(super) fn counts(&self, row: usize) -> bool {
        self.root[row] > 0.0
    }

    #[inline(always)]
    fn each(&self, value: impl Fn(f64, f64) -> f64) -> Lanes {
        std::array::from_fn(|row| (self.root[row] * value(self.mean[row], self.outcome[row])).round_ties_even())
    }
}

/// A residual as it counts for a row whose bound is `bound`: weighted by `min(1, bound / largest)`,
/// which does not depend on what came out, and cut towards zero.
///
/// # Guarantee
/// It is a whole number of at most `bound` in size: `|residual| <= largest`; their product is below
/// 2^52, a quotient of whole numbers that is at most a whole number does not round beyond it, and
/// what is cut is no longer.
#[inline(always)]
pub(super) fn weighted(residual: f64, largest: f64, bound: f64) -> f64 {
    if largest <= bound { residual } else { (residual * bound / largest).trunc() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a over the entries: the table is the same on every machine, or fits are not.
    #[test]
    fn the_table_is_what_it_was() {
        let mix = |hash: u64, entry: &f32| (hash ^ *entry as u64).wrapping_mul(0x0100_0000_01b3);
        assert_eq!(TABLE.iter().fold(0xcbf2_9ce4_8422_2325, mix), 0xd7f8_9051_5cec_e379);
    }

    #[test]
    fn the_table_is_the_sigmoid_and_between_its_entries_it_is_near() {
        for (k, &entry) in TABLE.iter().enumerate() {
            let x = k as f64 / 128.0 - 16.0;
            assert!((f64::from(entry) - ONE / (1.0 + (-x).exp())).abs() <= 0.5 + 1e-6, "at {x}");
        }
        for k in -2100..2100 {
            let x = f64::from(k) / 127.3;
            let mean = Binomial.mean((x * power(ETA_BITS)).round());
            // Half a unit for each rounding, and h^2 / 8 max |s''| = .75 for the chord.
            assert!((mean - ONE / (1.0 + (-x).exp())).abs() < 2.0, "at {x}: {mean}");
            assert_eq!(mean + Binomial.mean(-(x * power(ETA_BITS)).round()), ONE);
        }
        assert_eq!((Binomial.mean(-1e18), Binomial.mean(1e18)), (0.0, ONE));
    }

    #[test]
    fn a_weighted_residual_keeps_to_its_bound() {
        for bound in [0.0, 1.0, 3.0, 700_001.0, 16_777_215.0] {
            for largest in [524_288.0, 700_002.0, 1_048_576.0, 100_000_001.0] {
                for residual in [-largest, -1.0, 0.0, 17.0, largest - 1.0, largest] {
                    let found: f64 = weighted(residual, largest, bound);
                    assert!(found.abs() <= bound || largest <= bound, "{residual} {largest} {bound}");
                    assert_eq!(found.fract(), 0.0);
                }
            }
        }
    }
}
