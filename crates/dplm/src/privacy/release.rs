//! The release itself.

use num_bigint::BigUint;

#[cfg(test)]
use super::transcript;
use super::{
    Mechanism, Noise, PrivacyError, Rho, Sensitive, Spend,
    noise::{MAX_SIGMA, RandomWords, rounded_gaussian},
};

/// A released value: it may be used in any way, and what is computed from it is released too.
#[derive(Clone, Debug, PartialEq)]
pub struct Released<T>(T);

/// Noisy integers, and the standard deviation of the noise in each.
#[derive(Clone, Debug, PartialEq)]
pub struct Noisy {
    /// The query plus its noise.
    pub values: Vec<i128>,
    /// The standard deviation of the noise, public.
    pub sigma: Vec<u128>,
}

impl<T> Released<T> {
    pub(super) fn new(value: T) -> Released<T> {
        Released(value)
    }

    /// Post-processing.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Released<U> {
        Released(f(self.0))
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::ops::Deref for Released<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Adds exactly rounded Gaussian noise to a query and releases it.
///
/// # Guarantee
/// If the claim of `query` is true, the output is `rho`-zCDP and `sqrt(2 rho)`-GDP, `rho` the worth
/// of `spend`: the noise in coordinate j is `round(sigma_j Z)` with
/// `sigma_j^2 >= delta_sq / (2 w_j rho)` in exact integers. On integers that is rounding of a real
/// Gaussian mechanism, and so is saturation at the ends of `i128`: both are post-processing.
///
/// # Errors
/// When the noise would exceed [`MAX_SIGMA`]; nothing has been drawn then.
///
/// # Panics
/// When `spend` was cut for another mechanism.
pub fn release<R: RandomWords>(query: Sensitive, spend: Spend, rng: &mut R) -> Result<Released<Noisy>, PrivacyError> {
    spend.must_be_for(Mechanism::Gaussian);
    let sigma = sigmas(&query, &spend)?;
    write_down(&query, &spend, &sigma);
    #[cfg(test)]
    if let Some(noisy) = transcript::played(&query.values, &sigma) {
        return Ok(Released(noisy));
    }
    let values =
        query.values.iter().zip(&sigma).map(|(value, &sigma)| value.saturating_add(rounded_gaussian(sigma, rng)));
    let noisy = Noisy { values: values.collect(), sigma };
    #[cfg(test)]
    transcript::record(&query.values, &noisy);
    Ok(Released(noisy))
}

/// Records the public facts of the noise, so that readers can check it.
fn write_down(query: &Sensitive, spend: &Spend, sigma: &[u128]) {
    let mut weights = query.weights.clone();
    weights.sort_unstable();
    weights.dedup();
    for weight in weights {
        let of_weight = || query.weights.iter().zip(sigma).filter(|(one, _)| **one == weight);
        spend.drawn().add(Noise {
            answers: 1,
            parts: spend.fraction().1,
            numbers: of_weight().count().try_into().unwrap_or(u32::MAX),
            weight,
            sensitivity_sq: query.delta_sq.clone(),
            sigma: of_weight().map(|(_, &sigma)| sigma).next().expect("a weight of a number"),
        });
    }
}

fn sigmas(query: &Sensitive, spend: &Spend) -> Result<Vec<u128>, PrivacyError> {
    let mut known: Vec<(u32, u128)> = Vec::new();
    query
        .weights
        .iter()
        .map(|&weight| match known.iter().find(|(seen, _)| *seen == weight) {
            Some(&(_, sigma)) => Ok(sigma),
            None => {
                let sigma = sigma_up(&query.delta_sq, weight, spend)?;
                known.push((weight, sigma));
                Ok(sigma)
            }
        })
        .collect()
}

/// The smallest integer `sigma >= 1` with `sigma^2 >= delta_sq / (2 weight rho)`, `rho` the worth
/// of `spend`.
///
/// # Errors
/// When that exceeds [`MAX_SIGMA`].
pub fn sigma_up(delta_sq: &BigUint, weight: u32, spend: &Spend) -> Result<u128, PrivacyError> {
    let (units, parts) = spend.fraction();
    let need = delta_sq * Rho::UNITS * parts;
    let have = BigUint::from(units) * 2u32 * weight;
    let quotient = (need + &have - 1u32) / have;
    let root = quotient.sqrt();
    let sigma = if &root * &root < quotient { root + 1u32 } else { root };
    let sigma = u128::try_from(sigma).map_err(|_| PrivacyError::NoiseTooLarge)?;
    if sigma > MAX_SIGMA { Err(PrivacyError::NoiseTooLarge) } else { Ok(sigma.max(1)) }
}

#[cfg(test)]
mod tests {
    use super::super::Budget;
    use super::*;

    fn spend(rho: f64) -> Spend {
        Budget::new(Rho::checked_from_f64(rho).unwrap()).spend_rest("test").unwrap()
    }

    #[test]
    fn sigma_is_the_smallest_that_pays() {
        for (delta_sq, weight, rho, parts) in [(100u64, 1u32, 0.5, 1u32), (7, 2, 0.015, 3), (123_456_789, 1, 0.1, 20)] {
            let part = spend(rho).in_parts(parts).pop().unwrap();
            let sigma = sigma_up(&delta_sq.into(), weight, &part).unwrap() as f64;
            let least = delta_sq as f64 / (2.0 * f64::from(weight) * rho / f64::from(parts));
            assert!(sigma * sigma >= least * (1.0 - 1e-12), "{sigma}");
            assert!((sigma - 1.0).powi(2) < least, "{sigma}");
        }
    }

    #[test]
    fn exact_squares_are_not_rounded_further_up() {
        assert_eq!(sigma_up(&BigUint::from(100u32), 1, &spend(0.5)).unwrap(), 10);
    }

    #[test]
    fn noise_beyond_the_sampler_is_refused() {
        let delta_sq = BigUint::from(1u32) << 230;
        assert_eq!(sigma_up(&delta_sq, 1, &spend(0.5)), Err(PrivacyError::NoiseTooLarge));
    }
}
