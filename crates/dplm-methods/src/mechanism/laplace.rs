//! Discrete Laplace noise.

use dplm::privacy::{
    Claim, CustomMechanism, Mechanism, Noisy, PrivacyError, Spend,
    noise::{RandomWords, discrete_laplace},
    sigma_up,
};

/// Adds exactly sampled discrete Laplace noise to a query.
///
/// # Guarantee
/// If the claim of the query is true, the output is `epsilon`-DP with `epsilon^2 / 2 = rho`, so
/// `rho`-zCDP, `rho` the worth of its share (Bun and Steinke 2016). With m coordinates and weights
/// of at least 1, `(sum_j |D_j|)^2 <= m sum_j D_j^2 <= m delta_sq`, so noise of scale
/// `t >= sqrt(m delta_sq / (2 rho))` in each coordinate, in exact integers, changes probabilities
/// by at most the factor `exp(sqrt(2 rho))`. Saturation at the ends of `i128` is post-processing.
pub struct Laplace;

impl CustomMechanism<Claim> for Laplace {
    type Output = Noisy;

    fn paid_by(&self) -> Vec<Mechanism> {
        vec![Mechanism::Laplace]
    }

    fn draw<R: RandomWords>(&self, query: &Claim, shares: Vec<Spend>, rng: &mut R) -> Result<Noisy, PrivacyError> {
        let scale = sigma_up(&(&query.delta_sq * query.values.len()), 1, &shares[0])?;
        let values = query.values.iter().map(|value| value.saturating_add(discrete_laplace(scale, rng)));
        let values: Vec<i128> = values.collect();
        // The variance of the distribution differs from `2 t^2` by less than 1/6.
        let sigma = vec![(2 * scale * scale).isqrt().max(1); values.len()];
        Ok(Noisy { values, sigma })
    }
}

#[cfg(test)]
mod tests {
    use dplm::privacy::{Budget, Rho, Sensitive, noise::FixedSeed, release_by};

    use super::*;

    /// Two coordinates that may move by 3 together, at rho = 0.5: epsilon 1 is paid by a scale of
    /// `sqrt(2) 3`.
    #[test]
    fn laplace_noise_pays_for_the_sum_of_all_coordinates() {
        let mut budget = Budget::new(Rho::checked_from_f64(0.5).unwrap());
        let spend = budget.spend_on(Mechanism::Laplace, "test", budget.total()).unwrap();
        let query = Sensitive::claim(vec![1000, -1000], 9u32.into()).sealed();
        let noisy = release_by(&query, &Laplace, [spend], &mut FixedSeed::new(2)).unwrap();
        // The scale is 5, the least integer of at least 4.24; its standard deviation is 7.07.
        assert_eq!(noisy.sigma, [7, 7]);
        assert!(noisy.values[0].abs_diff(1000) < 200 && noisy.values[1].abs_diff(-1000) < 200);
        assert_eq!(budget.releases()[0].mechanism, Mechanism::Laplace);
    }
}
