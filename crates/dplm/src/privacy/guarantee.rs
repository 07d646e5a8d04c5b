//! What a fit promises, in numbers.

use std::fmt;

use super::{
    Promise, Release, Rho,
    convert::{self, Conversion, ConvertError},
};
use crate::number::{magnitude, rounded_up};

/// The guarantee of a whole fit.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Guarantee {
    /// What is promised, and about whom.
    pub promise: Promise,
    /// The whole budget, in zCDP.
    #[serde(with = "super::rho::decimal")]
    pub rho: Rho,
    /// The delta at which `epsilon` is stated.
    pub delta: f64,
    /// The epsilon at `delta`.
    pub epsilon: Epsilon,
    /// The largest probability with which an attacker who knows all other rows guesses right: see
    /// [`guess`].
    pub guess: f64,
    /// What the budget was spent on; adds up to exactly `rho`.
    pub releases: Vec<Release>,
}

impl Guarantee {
    /// What a budget of this promise is worth at `delta`, before anything is released.
    ///
    /// # Errors
    /// [`ConvertError`] unless `0 < delta < 1`.
    pub fn of(promise: Promise, rho: Rho, delta: f64) -> Result<Guarantee, ConvertError> {
        let conversion = promise.conversion;
        let promise = promise.converted_by(conversion, delta);
        let spent = rho.to_f64_up();
        let epsilon = Epsilon(convert::epsilon(conversion, spent, delta)?);
        let guess = guess_by(conversion, spent, delta)?;
        Ok(Guarantee { promise, rho, delta, epsilon, guess, releases: Vec::new() })
    }

    /// What holds after these releases. A mechanism for which the conversion does not hold makes
    /// the whole be converted by one that does.
    ///
    /// # Errors
    /// [`ConvertError`] unless `0 < delta < 1`.
    pub fn after(self, releases: Vec<Release>) -> Result<Guarantee, ConvertError> {
        let conversions = releases.iter().map(|release| release.mechanism.conversion());
        let weakest = conversions.fold(self.promise.conversion, Conversion::or_weaker);
        let promise = self.promise.converted_by(weakest, self.delta);
        Ok(Guarantee { releases, ..Guarantee::of(promise, self.rho, self.delta)? })
    }
}

/// By how many steps of a double two platforms' conversions may differ: their `exp` and `ln` may,
/// by one each.
const PLATFORMS_DIFFER: f64 = 32.0 * f64::EPSILON;

impl Guarantee {
    /// Whether all that it says follows from its promise, its budget, its delta and its releases.
    ///
    /// A conversion is rounded up by more than the difference between two platforms, so that an
    /// epsilon that another platform computed is an upper bound of the truth as ours is, whichever
    /// of the two is larger.
    pub(crate) fn is_sound(&self) -> bool {
        let Guarantee { promise, rho, delta, epsilon, guess, releases } = self;
        let sum = releases.iter().try_fold(0u64, |sum, release| sum.checked_add(release.rho.units()));
        let Ok(again) = Guarantee::of(promise.clone(), *rho, *delta).and_then(|one| one.after(releases.clone())) else {
            return false;
        };
        let close = |one: f64, other: f64| (one - other).abs() <= PLATFORMS_DIFFER * other;
        sum == Some(rho.units())
            && releases.iter().all(Release::is_paid)
            && again.promise == *promise
            && (promise.unit == super::Unit::Person) == promise.person.is_some()
            && close(epsilon.to_f64(), again.epsilon.to_f64())
            && close(*guess, again.guess)
    }
}

/// How often, at most, someone who knows all other rows and sees everything released tells two
/// neighbouring data sets apart, when both were equally likely beforehand: `Phi(mu/2)`,
/// `mu = sqrt(2 rho)`, rounded up.
///
/// For replace-one neighbours the question is which of two rows was in the data; for zero-out
/// neighbours, whether the row contributed or not.
///
/// # Guarantee
/// Exact for one Gaussian mechanism, hence a bound for any adaptive composition of Gaussian
/// mechanisms with this total rho and for what is computed from their results (Dong, Roth and Su
/// 2022): the best guess is right with probability `(1 + TV)/2`, where the total variation
/// `TV = 2 Phi(mu/2) - 1` is delta at epsilon 0.
///
/// # Errors
/// [`ConvertError`] unless `rho` is positive and finite.
///
/// # Examples
/// ```
/// use dplm::privacy::guess;
/// assert!((guess(0.015)? - 0.5345).abs() < 1e-4);
/// # Ok::<(), dplm::privacy::convert::ConvertError>(())
/// ```
pub fn guess(rho: f64) -> Result<f64, ConvertError> {
    guess_by(Conversion::Exact, rho, 0.0)
}

/// The same where releases are not Gaussian: delta at epsilon 0 bounds the total variation,
/// whichever conversion it is from. Half of the stated delta is a test's, where one is made.
fn guess_by(conversion: Conversion, rho: f64, delta: f64) -> Result<f64, ConvertError> {
    let distance = match conversion {
        Conversion::Tested => (convert::delta(Conversion::Cks, rho, 0.0)? + delta / 2.0).next_up(),
        other => convert::delta(other, rho, 0.0)?,
    };
    // The sum is rounded once, by less than the step up.
    Ok((0.5 + distance / 2.0).next_up().min(1.0))
}

/// An epsilon as it is stated: rounded up when computed, and again when printed, so that it is
/// never too small.
///
/// # Examples
/// ```
/// use dplm::privacy::Epsilon;
/// let epsilon = Epsilon::exact(0.02, 1e-6)?;
/// assert_eq!(epsilon.to_string(), "0.8342"); // 0.834118
/// # Ok::<(), dplm::privacy::convert::ConvertError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Epsilon(f64);

impl Epsilon {
    /// Places shown, more where fewer digits than these would be left.
    const PLACES: usize = 4;

    /// An epsilon that is known not to be too small.
    pub const fn new(epsilon: f64) -> Epsilon {
        Epsilon(epsilon)
    }

    /// The epsilon that Gaussian mechanisms of this total rho promise at `delta`.
    ///
    /// # Errors
    /// [`ConvertError`] unless `rho` is positive and finite and `0 < delta < 1`.
    pub fn exact(rho: f64, delta: f64) -> Result<Epsilon, ConvertError> {
        convert::epsilon(Conversion::Exact, rho, delta).map(Epsilon)
    }

    /// Every digit, for programs.
    pub const fn to_f64(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let needed = if self.0 > 0.0 { 3 - magnitude(self.0) } else { 0 };
        f.pad(&rounded_up(self.0, Epsilon::PLACES.max(usize::try_from(needed).unwrap_or(0))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mpmath.ncdf(mpmath.sqrt(2 * rho) / 2)` at 50 digits, rounded down to fifteen.
    const REFERENCE: [(f64, f64); 8] = [
        (1e-6, 0.500_282_094_768_265),
        (0.001, 0.508_919_877_251_466),
        (0.015, 0.534_506_276_720_216),
        (0.02, 0.539_827_837_277_028),
        (0.1, 0.588_468_363_120_939),
        (0.5, 0.691_462_461_274_013),
        (2.0, 0.841_344_746_068_542),
        (10.0, 0.987_326_340_661_265),
    ];

    #[test]
    fn a_guess_is_the_normal_law_at_half_mu_and_never_below_it() {
        for (rho, exact) in REFERENCE {
            let found = guess(rho).unwrap();
            assert!(found >= exact && found - exact <= 1e-13, "{rho}: {found} {exact}");
        }
        assert_eq!(guess(1000.0).unwrap(), 1.0);
        assert!(guess(1e-12).unwrap() > 0.5);
    }

    #[test]
    fn a_mechanism_that_is_not_gaussian_is_converted_by_a_bound_for_all() {
        let rho = Rho::checked_from_f64(0.015).unwrap();
        let before = Guarantee::of(Promise::default(), rho, 1e-6).unwrap();
        let mut budget = super::super::Budget::new(rho);
        let _ = budget.spend("gradients", rho.percent(90)).unwrap();
        let gaussian = before.clone().after(budget.releases()).unwrap();
        assert_eq!((gaussian.epsilon, gaussian.promise.conversion), (before.epsilon, Conversion::Exact));
        let _ = budget.spend_on(super::super::Mechanism::Exponential, "a choice", budget.left()).unwrap();
        let mixed = before.clone().after(budget.releases()).unwrap();
        assert_eq!((mixed.epsilon.to_string().as_str(), mixed.promise.conversion), ("0.7718", Conversion::Cks));
        assert!(mixed.guess > before.guess && mixed.releases.len() == 2);
    }

    /// Budgets from 1e-12 to 1000 and deltas from 1e-12 to 0.1, none of them round.
    #[test]
    fn no_epsilon_is_printed_smaller_than_it_is() {
        let rhos = (0..2000).map(|i| 1e-12 * 1e15f64.powf(f64::from(i) / 1999.0) * 1.000_37);
        for (rho, i) in rhos.zip(0..) {
            let epsilon = Epsilon::exact(rho, 10f64.powi(-1 - i % 12)).unwrap();
            let printed: f64 = epsilon.to_string().parse().unwrap();
            assert!(printed >= epsilon.to_f64(), "{epsilon} {epsilon:?}");
            assert!(printed <= epsilon.to_f64() * 1.001_1 + 1e-300, "{epsilon} {epsilon:?}");
        }
    }

    #[test]
    fn epsilons_as_they_are_stated() {
        let stated = |rho| Epsilon::exact(rho, 1e-6).unwrap().to_string();
        assert_eq!([0.015, 0.02, 0.1].map(stated), ["0.7147", "0.8342", "1.9946"]);
        assert_eq!(Epsilon::new(0.0).to_string(), "0.0000");
        assert_eq!(Epsilon::new(0.000_012_341).to_string(), "0.00001235");
        assert_eq!(format!("{:>8}", Epsilon::new(2.0)), "  2.0000");
    }
}
