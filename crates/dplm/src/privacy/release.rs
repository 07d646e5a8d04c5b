//! The release itself.

use num_bigint::BigUint;

#[cfg(test)]
use super::transcript;
use super::{
    Mechanism, PrivacyError, Rho, Sensitive, Spend,
    noise::{MAX_SIGMA, RandomWords, discrete_laplace, rounded_gaussian},
};

/// A value that may leave: anything may be done with it, and what is computed from it is released too.
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
/// If the claim of `query` is true, the output is `rho`-zCDP and `sqrt(2 rho)`-GDP, `rho` the worth of `spend`: the noise in
/// coordinate j is `round(sigma_j Z)` with `sigma_j^2 >= delta_sq / (2 w_j rho)` in exact integers. On integers that is
/// rounding of a real Gaussian mechanism, and so is saturation at the ends of `i128`: both are post-processing.
///
/// # Errors
/// When the noise would exceed [`MAX_SIGMA`]; nothing has been drawn then.
///
/// # Panics
/// When `spend` was cut for another mechanism.
pub fn release<R: RandomWords>(query: Sensitive, spend: Spend, rng: &mut R) -> Result<Released<Noisy>, PrivacyError> {
    spend.must_be_for(Mechanism::Gaussian);
    let sigma = sigmas(&query, &spend)?;
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

/// Adds exactly sampled discrete Laplace noise to a query and releases it.
///
/// # Guarantee
/// If the claim of `query` is true, the output is `epsilon`-DP with `epsilon^2 / 2 = rho`, so `rho`-zCDP, `rho` the worth of `spend` (Bun and Steinke 2016).
/// With m coordinates and weights of at least 1, `(sum_j |D_j|)^2 <= m sum_j D_j^2 <= m delta_sq`, so noise of scale
/// `t >= sqrt(m delta_sq / (2 rho))` in each coordinate, in exact integers, changes probabilities by at most the factor `exp(sqrt(2 rho))`. Saturation at the
/// ends of `i128` is post-processing.
///
/// # Errors
/// When the noise would exceed [`MAX_SIGMA`]; nothing has been drawn then.
///
/// # Panics
/// When `spend` was cut for another mechanism.
pub fn release_laplace<R: RandomWords>(
    query: Sensitive,
    spend: Spend,
    rng: &mut R,
) -> Result<Released<Noisy>, PrivacyError> {
    spend.must_be_for(Mechanism::Laplace);
    let scale = sigma_up(&(&query.delta_sq * query.values.len()), 1, &spend)?;
    let values = query.values.iter().map(|value| value.saturating_add(discrete_laplace(scale, rng)));
    let values: Vec<i128> = values.collect();
    // The variance of the law is `2 t^2` but for less than 1/6.
    let sigma = vec![(2 * scale * scale).isqrt().max(1); values.len()];
    Ok(Released(Noisy { values, sigma }))
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

/// The smallest integer `sigma >= 1` with `sigma^2 >= delta_sq / (2 weight rho)`.
pub(crate) fn sigma_up(delta_sq: &BigUint, weight: u32, spend: &Spend) -> Result<u128, PrivacyError> {
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

    /// Two coordinates that may move by 3 together, at rho = 0.5: epsilon 1 is paid by a scale of `sqrt(2) 3`.
    #[test]
    fn laplace_noise_pays_for_the_sum_of_all_coordinates() {
        let mut rng = crate::privacy::noise::FixedSeed::new(2);
        let mut budget = Budget::new(Rho::checked_from_f64(0.5).unwrap());
        let spend = budget.spend_on(Mechanism::Laplace, "test", budget.total()).unwrap();
        let query = Sensitive { values: vec![1000, -1000], weights: vec![1; 2], delta_sq: 9u32.into() };
        let noisy = release_laplace(query, spend, &mut rng).unwrap();
        // The scale is 5, the least integer of at least 4.24; its standard deviation is 7.07.
        assert_eq!(noisy.sigma, [7, 7]);
        assert!(noisy.values[0].abs_diff(1000) < 200 && noisy.values[1].abs_diff(-1000) < 200);
        assert_eq!(budget.releases()[0].mechanism, Mechanism::Laplace);
    }

    #[test]
    fn noise_beyond_the_sampler_is_refused() {
        let delta_sq = BigUint::from(1u32) << 230;
        assert_eq!(sigma_up(&delta_sq, 1, &spend(0.5)), Err(PrivacyError::NoiseTooLarge));
    }
}
