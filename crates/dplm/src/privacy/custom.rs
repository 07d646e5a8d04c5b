//! The way in for mechanisms of other crates: how something computed from rows is released by noise
//! or a choice that this crate does not have.

use super::{Mechanism, PrivacyError, Released, Sealed, Spend, noise::RandomWords};

/// A mechanism of another crate.
///
/// # Guarantee
/// An implementation is trusted as this module is: [`draw`](Self::draw) sees what was computed from
/// rows. Beside the implementation stands the argument that for neighbouring data sets its output
/// is private at the worth of its shares, all of them together, and that it keeps nothing else of
/// what it sees. `crates/dplm/tests/door.rs` lists the files that may have one, and each draws from
/// the exact samplers of [`noise`](super::noise).
pub trait CustomMechanism<T> {
    /// What is released.
    type Output;

    /// What each share of the budget must have been cut for, in order.
    fn paid_by(&self) -> Vec<Mechanism>;

    /// Looks inside, and gives what may leave.
    ///
    /// # Errors
    /// When the noise does not fit, or would hide everything.
    fn draw<R: RandomWords>(&self, inside: &T, shares: Vec<Spend>, rng: &mut R) -> Result<Self::Output, PrivacyError>;
}

/// Releases by a mechanism of another crate, for shares of the budget.
///
/// # Guarantee
/// That of the [mechanism](CustomMechanism), at the worth of the shares. An answer may be released
/// several times: each time is paid for by shares of its own, and they add up as all releases do.
///
/// # Errors
/// Those of the mechanism.
///
/// # Panics
/// When a share was cut for another mechanism, or there are more or fewer than it takes.
pub fn release_by<T, M: CustomMechanism<T>, R: RandomWords>(
    answer: &Sealed<T>,
    mechanism: &M,
    shares: impl Into<Vec<Spend>>,
    rng: &mut R,
) -> Result<Released<M::Output>, PrivacyError> {
    let (shares, paid_by) = (shares.into(), mechanism.paid_by());
    assert_eq!(shares.len(), paid_by.len(), "a mechanism is paid by as many shares as it names");
    shares.iter().zip(paid_by).for_each(|(share, mechanism)| share.must_be_for(mechanism));
    Ok(Released::new(mechanism.draw(&answer.inside, shares, rng)?))
}

#[cfg(test)]
mod tests {
    use super::super::{Budget, Rho, noise::FixedSeed};
    use super::*;

    /// Gives what it sees, for two shares.
    struct Bare;

    impl CustomMechanism<u32> for Bare {
        type Output = u32;

        fn paid_by(&self) -> Vec<Mechanism> {
            vec![Mechanism::Test, Mechanism::Exponential]
        }

        fn draw<R: RandomWords>(&self, inside: &u32, _: Vec<Spend>, _: &mut R) -> Result<u32, PrivacyError> {
            Ok(*inside)
        }
    }

    fn released(mechanisms: &[Mechanism]) -> Released<u32> {
        let mut budget = Budget::new(Rho::checked_from_f64(0.1).unwrap());
        let part = budget.total().percent(10);
        let shares: Vec<Spend> = mechanisms.iter().map(|&of| budget.spend_on(of, "test", part).unwrap()).collect();
        release_by(&Sealed::claim(7), &Bare, shares, &mut FixedSeed::new(1)).unwrap()
    }

    #[test]
    fn shares_of_its_own_open_an_answer() {
        assert_eq!(*released(&[Mechanism::Test, Mechanism::Exponential]), 7);
    }

    #[test]
    #[should_panic(expected = "was cut for")]
    fn a_share_for_gaussian_noise_opens_nothing_else() {
        let _ = released(&[Mechanism::Test, Mechanism::Gaussian]);
    }

    #[test]
    #[should_panic(expected = "as many shares")]
    fn a_share_that_is_missing_is_noticed() {
        let _ = released(&[Mechanism::Test]);
    }
}
