//! Budgets as exact decimals.

use num_bigint::BigUint;

use super::PrivacyError;

/// A zCDP budget, an exact decimal number: an integer count of 10^-15.
///
/// No binary fractions: 0.015 is exactly 0.015, and shares add up to the total to the last digit.
///
/// # Examples
/// ```
/// use dplm::privacy::Rho;
/// let rho = Rho::checked_from_f64(0.015)?;
/// assert_eq!(rho.to_string(), "0.015");
/// assert_eq!(rho.to_f64(), 0.015);
/// # Ok::<(), dplm::privacy::PrivacyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rho(u64);

impl Rho {
    /// No budget.
    pub(super) const NOTHING: Rho = Rho(0);
    /// How many units make 1.
    pub const UNITS: u64 = 1_000_000_000_000_000;
    /// Below this the noise drowns any data set.
    pub const SMALLEST: Rho = Rho(1_000);
    /// Above this nothing is protected.
    pub const LARGEST: Rho = Rho(1_000 * Rho::UNITS);

    /// The budget as typed, rounded down to a whole number of units.
    ///
    /// # Errors
    /// When `rho` is not positive and finite, or outside [`Rho::SMALLEST`] to [`Rho::LARGEST`].
    pub fn checked_from_f64(rho: f64) -> Result<Rho, PrivacyError> {
        if rho.is_nan() || rho <= 0.0 {
            return Err(PrivacyError::RhoNotPositive);
        }
        if !(Rho::SMALLEST.to_f64()..=Rho::LARGEST.to_f64()).contains(&rho) {
            return Err(PrivacyError::RhoOutOfRange);
        }
        // The shortest decimal that reads back as this f64 is what the person typed; cut it after
        // fifteen places.
        let text = format!("{rho}");
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits: String = fraction.chars().chain(std::iter::repeat('0')).take(15).collect();
        let whole: u64 = whole.parse().expect("an f64 in range prints as plain digits");
        let fraction: u64 = digits.parse().expect("fifteen digits fit u64");
        Ok(Rho(whole * Rho::UNITS + fraction))
    }

    /// The budget of `units` times 10^-15; `None` outside [`Rho::SMALLEST`] to [`Rho::LARGEST`].
    pub fn from_units(units: u64) -> Option<Rho> {
        (Rho::SMALLEST..=Rho::LARGEST).contains(&Rho(units)).then_some(Rho(units))
    }

    /// The budget that [`Display`](std::fmt::Display) prints like this; a share of a budget may be
    /// smaller than any budget.
    fn from_decimal(text: &str) -> Option<Rho> {
        const PLACES: usize = 15;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let is_plain = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        if whole.is_empty() || !is_plain(whole) || !is_plain(fraction) || fraction.len() > PLACES {
            return None;
        }
        let rho = format!("{whole}{fraction:0<PLACES$}").parse().map(Rho).ok()?;
        (rho <= Rho::LARGEST).then_some(rho)
    }

    /// The budget in units of 10^-15.
    pub const fn units(self) -> u64 {
        self.0
    }

    /// The nearest f64; reads back as the same budget up to rho = 9.
    #[allow(clippy::cast_precision_loss, reason = "the nearest is what is asked for")]
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / Rho::UNITS as f64
    }

    /// The least f64 that is not below the budget: what is computed from it never promises too
    /// much.
    pub fn to_f64_up(self) -> f64 {
        let mut up = self.to_f64().next_down().max(0.0);
        while !self.is_at_most(up) {
            up = up.next_up();
        }
        up
    }

    /// Whether it is no more than a positive f64, `mantissa * 2^exponent`; compared as whole
    /// numbers.
    fn is_at_most(self, value: f64) -> bool {
        const MANTISSA_BITS: u32 = 52;
        let (bits, exponent) = (value.to_bits() & ((1 << MANTISSA_BITS) - 1), value.to_bits() >> MANTISSA_BITS);
        let mantissa = BigUint::from(bits | (1 << MANTISSA_BITS)) * Rho::UNITS;
        let units = BigUint::from(self.0);
        match i64::try_from(exponent).expect("eleven bits") - 1075 {
            up @ 0.. => mantissa << up >= units,
            down => mantissa >= units << down.unsigned_abs(),
        }
    }

    /// `percent` hundredths of this budget, rounded down.
    ///
    /// # Examples
    /// ```
    /// # use dplm::privacy::Rho;
    /// assert_eq!(Rho::checked_from_f64(0.015)?.percent(10).to_string(), "0.0015");
    /// # Ok::<(), dplm::privacy::PrivacyError>(())
    /// ```
    #[must_use]
    pub fn percent(self, percent: u32) -> Rho {
        let units = u128::from(self.0) * u128::from(percent) / 100;
        Rho(u64::try_from(units).expect("a share is no larger than the whole"))
    }

    /// A share between 0 and 1 of this budget, rounded down.
    ///
    /// # Examples
    /// ```
    /// # use dplm::privacy::Rho;
    /// assert_eq!(Rho::checked_from_f64(0.015)?.share(0.25).to_string(), "0.00375");
    /// # Ok::<(), dplm::privacy::PrivacyError>(())
    /// ```
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "any share that is no larger than the whole will do"
    )]
    pub fn share(self, share: f64) -> Rho {
        assert!((0.0..=1.0).contains(&share), "a share is no larger than the whole");
        Rho(((self.0 as f64 * share).floor() as u64).min(self.0))
    }

    pub(crate) fn checked_sub(self, other: Rho) -> Option<Rho> {
        self.0.checked_sub(other.0).map(Rho)
    }

    /// Two parts of one budget together.
    pub(super) fn plus(self, other: Rho) -> Rho {
        Rho(self.0 + other.0)
    }
}

impl std::fmt::Display for Rho {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, fraction) = (self.0 / Rho::UNITS, self.0 % Rho::UNITS);
        let digits = format!("{fraction:015}");
        match digits.trim_end_matches('0') {
            "" => write!(f, "{whole}"),
            digits => write!(f, "{whole}.{digits}"),
        }
    }
}

impl serde::Serialize for Rho {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

/// Every digit of a budget, as text, for `#[serde(with = "decimal")]`: not every budget is an
/// `f64`.
pub(crate) mod decimal {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::Rho;

    pub(crate) fn serialize<S: Serializer>(rho: &Rho, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(rho)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Rho, D::Error> {
        let text = String::deserialize(from)?;
        Rho::from_decimal(&text).ok_or_else(|| D::Error::custom("a budget is not a plain decimal number"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also budgets that are no `f64`, and shares that are smaller than any budget.
    #[test]
    fn every_digit_reads_back() {
        for units in [1, 999, 15_000_000_000_000, 9_007_199_254_740_993, 123_456_789_012_345_679, Rho::LARGEST.units()]
        {
            assert_eq!(Rho::from_decimal(&Rho(units).to_string()), Some(Rho(units)));
        }
        for text in ["", "-1", "1e-3", "+1", "1.2.3", "0.0000000000000001", "1001", "99999999999", "NaN"] {
            assert_eq!(Rho::from_decimal(text), None, "{text}");
        }
    }

    /// The decimal digits of a double are exact, and so is the comparison of plain decimals.
    #[test]
    fn the_double_above_is_the_least_one_that_is_not_below() {
        for units in [1, 999, 15_000_000_000_000, 300_000_000_000_000, 9_007_199_254_740_993, 123_456_789_012_345_679] {
            let (rho, exact) = (Rho(units), |value: f64| format!("{value:.120}"));
            let decimal = format!("{rho}{:0<200}", if rho.to_string().contains('.') { "" } else { "." });
            let digits = decimal.find('.').expect("a point") + 121;
            let is_at_most = |value: f64| decimal[..digits] <= exact(value)[..digits];
            let up = rho.to_f64_up();
            assert!(is_at_most(up) && !is_at_most(up.next_down()), "{rho}: {up}");
        }
        assert_eq!(Rho::LARGEST.to_f64_up(), 1000.0);
        assert_eq!(Rho(300_000_000_000_000).to_f64_up(), 0.3_f64.next_up(), "0.3 is not a double");
    }

    #[test]
    fn typed_decimals_are_kept_exactly() {
        for (typed, units) in
            [(0.015, 15_000_000_000_000), (0.1, 100_000_000_000_000), (3.0, 3 * Rho::UNITS), (1e-12, 1000)]
        {
            assert_eq!(Rho::checked_from_f64(typed).unwrap().units(), units);
        }
    }

    #[test]
    fn rounding_is_down() {
        assert_eq!(Rho::checked_from_f64(0.123_456_789_012_345_67).unwrap().units(), 123_456_789_012_345);
    }

    #[test]
    fn senseless_budgets_are_refused() {
        for rho in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
            assert_eq!(Rho::checked_from_f64(rho), Err(PrivacyError::RhoNotPositive));
        }
        for rho in [f64::INFINITY, 1e-13, 1e9] {
            assert_eq!(Rho::checked_from_f64(rho), Err(PrivacyError::RhoOutOfRange));
        }
    }

    #[test]
    fn prints_the_shortest_decimal() {
        assert_eq!(Rho::checked_from_f64(2.0).unwrap().to_string(), "2");
        assert_eq!(Rho::checked_from_f64(0.0105).unwrap().to_string(), "0.0105");
    }
}
