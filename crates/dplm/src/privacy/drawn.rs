//! What noise was drawn, for custodians who check it: sensitivities, prices and standard
//! deviations, all of them public. No drawn number is kept here.

use std::sync::{Arc, Mutex, PoisonError};

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::Rho;

/// Gaussian noise of one standard deviation that was added to the numbers of an answer, or of
/// several answers alike.
///
/// # Guarantee
/// `sigma^2 >= parts * sensitivity_sq / (2 weight rho)`, `rho` the price of the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Noise {
    /// The number of answers, each paid by an equal part of the release.
    pub answers: u32,
    /// The number of parts that the release was divided into.
    pub parts: u32,
    /// The number of noisy numbers in each answer.
    pub numbers: u32,
    /// How often each number counts in the squared sensitivity: twice for an entry off the diagonal
    /// of a symmetric matrix.
    pub weight: u32,
    /// How far one row, or one person, can move an answer: the bound on the weighted sum of
    /// squares, in units of the lattice.
    #[serde(with = "plain")]
    pub sensitivity_sq: BigUint,
    /// The standard deviation of the noise, in units of the lattice.
    #[serde(with = "plain")]
    pub sigma: u128,
}

impl Noise {
    /// Whether the noise is large enough for the price.
    pub(super) fn suffices(&self, rho: Rho) -> bool {
        let Noise { parts, weight, sensitivity_sq, sigma, .. } = self;
        let need = sensitivity_sq * Rho::UNITS * *parts;
        let have = BigUint::from(*sigma).pow(2) * 2u32 * *weight * rho.units();
        have >= need
    }

    /// Whether all of these were paid by one release: no more answers than parts.
    pub(super) fn is_within(all: &[Noise]) -> bool {
        all.iter().all(|one| {
            let alike = all.iter().filter(|other| other.weight == one.weight);
            let spent: f64 = alike.map(|other| f64::from(other.answers) / f64::from(other.parts.max(1))).sum();
            one.parts > 0 && one.answers > 0 && spent <= 1.0 + 1e-9
        })
    }

    fn is_like(&self, other: &Noise) -> bool {
        *self == Noise { answers: self.answers, ..other.clone() }
    }
}

/// Integers of any size in documents, as text: many programs read a number of a document as a
/// double.
mod plain {
    use std::{fmt::Display, str::FromStr};

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<T: Display, S: Serializer>(integer: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(integer)
    }

    pub fn deserialize<'de, T: FromStr, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(|_| D::Error::custom("a sensitivity or a standard deviation is not a whole number"))
    }
}

/// The noise drawn for one release, written down as it is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawn(Arc<Mutex<Vec<Noise>>>);

impl Drawn {
    /// Adds the noise of an answer.
    pub fn add(&self, noise: Noise) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match all.iter_mut().find(|one| one.is_like(&noise)) {
            Some(one) => one.answers += noise.answers,
            None => all.push(noise),
        }
    }

    /// What was drawn until now.
    pub fn so_far(&self) -> Vec<Noise> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::Budget, *};
    use crate::privacy::{Sensitive, noise::FixedSeed, release};

    fn rho(value: f64) -> Rho {
        Rho::checked_from_f64(value).unwrap()
    }

    #[test]
    fn a_release_says_what_noise_it_drew() {
        let mut budget = Budget::new(rho(0.5));
        for part in budget.spend_rest("steps").unwrap().in_parts(3) {
            let query = Sensitive::claim(vec![1, 2], BigUint::from(100u32));
            release(query, part, &mut FixedSeed::new(1)).unwrap();
        }
        let releases = budget.releases();
        let drawn = Noise {
            answers: 3,
            parts: 3,
            numbers: 2,
            weight: 1,
            sensitivity_sq: 100u32.into(),
            // The square root of 3 * 100 / (2 * 0.5), rounded up.
            sigma: 18,
        };
        assert_eq!(releases[0].noise, [drawn]);
        assert!(releases[0].is_paid());
    }

    #[test]
    fn noise_that_is_too_small_or_too_often_is_not_paid() {
        let mut budget = Budget::new(rho(0.5));
        let spend = budget.spend_rest("matrix").unwrap();
        let query = Sensitive::claim_weighted(vec![1, 2, 3], vec![1, 2, 1], BigUint::from(1_000u32));
        release(query, spend, &mut FixedSeed::new(1)).unwrap();
        let sound = budget.releases().remove(0);
        assert!(sound.is_paid() && sound.noise.len() == 2);
        for change in [
            |noise: &mut Noise| noise.sigma -= 1,
            |noise: &mut Noise| noise.sensitivity_sq *= 2u32,
            |noise: &mut Noise| noise.answers += 1,
            |noise: &mut Noise| noise.parts = 0,
        ] {
            let mut edited = sound.clone();
            change(&mut edited.noise[0]);
            assert!(!edited.is_paid(), "{edited:?}");
        }
    }
}
