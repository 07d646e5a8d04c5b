//! What the count of usable rows costs, and where it stops a fit.
//!
//! A fit first releases how many of its `n` units contribute anything, with noise of standard
//! deviation `s`. It stops where that count is below `n / 10 - 3 s`, so that
//! - a table of which a tenth or more can be used is stopped with a probability of at most
//!   `P(Z > 3) = 0.00135`;
//! - a table of which nothing can be used is stopped unless the noise alone is above
//!   `n / 10 - 3 s`. Where `s = n / 60` that is `3 s`, which is as improbable; where `s = n / 200`
//!   it is `17 s`, which does not happen.
//!
//! Noise of `n / 200` is what a reader should be told beside a number of rows, and `n / 60` the
//! most that can decide. A query that a unit moves by `d` has noise of variance `d^2 / (2 rho)`, so
//! that `rho = 20000 d^2 / n^2`, rounded up to two digits, buys the first, which is little where
//! there are many rows. Where there are few, 2 % of the budget is all that is paid, which adds 1 %
//! to the noise of all that follows; where these do not buy `n / 60`, nothing is counted.

use super::counts::CLEAR_OF_NOISE;
use crate::privacy::Rho;

/// Parts of the number of units that the standard deviation of the noise is one of, and the fewest
/// parts that decide.
const PARTS: u64 = 200;
const FEWEST_PARTS: u64 = 60;
/// The most that is paid, in hundredths of the budget.
const MOST_PERCENT: u32 = 2;
/// If fewer than one unit in this number can be used, there is nothing to fit.
const FEW: f64 = 10.0;

/// What is paid for a query on `units` units that one unit moves by at most the square root of
/// `moved_sq`; `None` if the answer would not decide anything.
pub(crate) fn price(units: u64, moved_sq: u32, rho: Rho) -> Option<Rho> {
    let scale = u128::from(PARTS).pow(2) * u128::from(Rho::UNITS) * u128::from(moved_sq) / 2;
    let wanted = two_digits(scale.div_ceil(u128::from(units.max(1)).pow(2))).max(Rho::SMALLEST.units().into());
    let paid = wanted.min(rho.percent(MOST_PERCENT).units().into());
    let rho = Rho::from_units(u64::try_from(paid).expect("no more than the budget"))?;
    // Noise has a whole number for its standard deviation.
    let noise_sd = (f64::from(moved_sq) / (2.0 * rho.to_f64())).sqrt().ceil();
    (noise_sd * FEWEST_PARTS as f64 <= units as f64).then_some(rho)
}

/// Rounded up to two digits, so that readers see a short number.
fn two_digits(units: u128) -> u128 {
    let tens = 10u128.pow(units.checked_ilog10().unwrap_or(0).saturating_sub(1));
    units.div_ceil(tens) * tens
}

/// How many units, or cells, can be used, as released, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usable {
    /// The number as it was released, which may be below 0.
    pub count: f64,
    /// The standard deviation of its noise.
    pub sd: f64,
    /// How many there are.
    pub of: u64,
}

impl Usable {
    /// Whether less than a tenth can be used, as far as the noise can tell.
    pub fn is_few(self) -> bool {
        self.count + CLEAR_OF_NOISE * self.sd < self.of as f64 / FEW
    }

    /// Whether it cannot be distinguished from zero.
    pub fn is_nothing(self) -> bool {
        self.count <= CLEAR_OF_NOISE * self.sd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rho(rho: f64) -> Rho {
        Rho::checked_from_f64(rho).expect("a budget")
    }

    #[test]
    fn a_count_costs_what_its_noise_does_and_never_more_than_two_hundredths() {
        assert_eq!(price(10_000, 1, rho(0.1)), Some(rho(0.0002)));
        assert_eq!(price(10_000, 3, rho(0.1)), Some(rho(0.0006)));
        assert_eq!(price(12_000, 1, rho(0.1)), Some(rho(0.00014)), "0.000138... in two digits");
        assert_eq!(price(10_000, 1, rho(0.005)), Some(rho(0.0001)), "2 %, for n / 141");
        assert_eq!(price(1_000, 1, rho(0.1)), Some(rho(0.002)), "2 %, for n / 62");
        assert_eq!(price(1_000, 1, rho(0.08)), None, "2 % would not decide");
        assert_eq!(price(40, 1, rho(100.0)), None);
        assert_eq!(price(1_000_000_000_000, 1, rho(0.1)), Some(Rho::SMALLEST));
        assert_eq!(price(0, 1, rho(0.1)), None);
    }

    #[test]
    fn what_stops_a_fit() {
        let counted = |count| Usable { count, sd: 50.0, of: 10_000 };
        assert!(counted(849.0).is_few() && !counted(850.0).is_few());
        assert!(counted(150.0).is_nothing() && !counted(151.0).is_nothing());
    }
}
