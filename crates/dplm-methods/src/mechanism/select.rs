//! The exponential mechanism: a public candidate, chosen by scores that rows give it.

use dplm::{
    privacy::{
        CustomMechanism, Mechanism, PrivacyError, Rho, Spend,
        noise::{RandomWords, exp_minus, uniform_below},
    },
    rows::Tail,
};
use num_bigint::BigUint;

/// Integer scores of public candidates, with a claim about how far one row can move each.
pub struct Scores {
    pub(super) values: Vec<i64>,
    pub(super) sensitivity: u32,
}

impl Scores {
    /// Claims that neighbouring data sets give scores that differ by at most `sensitivity`, each of
    /// them.
    ///
    /// # Guarantee
    /// None of its own: the call site names the argument that proves the claim.
    pub fn claim(values: Vec<i64>, sensitivity: u32) -> Scores {
        assert!(!values.is_empty() && sensitivity > 0, "there is something to choose from, and rows matter");
        Scores { values, sensitivity }
    }

    /// The score of each candidate, and the claim.
    pub fn parts(&self) -> (&[i64], u32) {
        (&self.values, self.sensitivity)
    }
}

/// Chooses a threshold of a ladder: the likelier, the nearer to `rank` the number of units above it
/// is.
///
/// # Guarantee
/// That of [`select`] for the [scores](Nearest::scores).
pub struct Nearest {
    /// How many units are to be above the threshold.
    pub rank: u64,
}

impl Nearest {
    /// The scores of the thresholds.
    pub fn scores(&self, tail: &Tail) -> Scores {
        let score = |&count: &u64| -i64::try_from(count.abs_diff(self.rank)).unwrap_or(i64::MAX);
        // Each unit moves each count by at most 1 (`Tail`), and the rank is public; a distance
        // moves by no more.
        Scores::claim(tail.counts.iter().map(score).collect(), tail.sensitivity.of_scores())
    }
}

impl CustomMechanism<Tail> for Nearest {
    type Output = usize;

    fn paid_by(&self) -> Vec<Mechanism> {
        vec![Mechanism::Exponential]
    }

    fn draw<R: RandomWords>(&self, tail: &Tail, shares: Vec<Spend>, rng: &mut R) -> Result<usize, PrivacyError> {
        select(&self.scores(tail), &shares[0], rng)
    }
}

/// Parts of one that the rate of a choice is counted in.
pub(super) const RATE_PARTS: u128 = 1 << 32;

/// Chooses a candidate: `i` with probability proportional to `exp(-c (best - score_i))`.
///
/// # Guarantee
/// If the claim of `scores` is true, the choice is `rho`-zCDP, `rho` the worth of `spend`. Between
/// neighbours `c score_i` moves within `c` times the sensitivity either way, so the logarithm of
/// the ratio of probabilities has a range of `r = 2 c sensitivity` over the candidates, and a
/// mechanism of bounded range `r` is `r^2/8`-zCDP (Cesar and Rogers 2021, after Durfee and Rogers
/// 2019). `c` is the largest number of 2^-32 with `c^2 sensitivity^2 <= 2 rho`, in exact integers.
/// The choice is made by uniform draws and exact trials of probability `exp(-c d)`: no probability
/// is rounded.
///
/// # Errors
/// When the budget is so small that every candidate would be as likely.
pub fn select<R: RandomWords>(scores: &Scores, spend: &Spend, rng: &mut R) -> Result<usize, PrivacyError> {
    let rate = rate_down(scores.sensitivity, spend)?;
    let best = scores.values.iter().copied().max().expect("there is something to choose from");
    let count = u64::try_from(scores.values.len()).expect("candidates fit memory");
    loop {
        let drawn = usize::try_from(uniform_below(count, rng)).expect("a number of a candidate");
        let behind = u128::from(best.abs_diff(scores.values[drawn]));
        if exp_minus(behind * rate, RATE_PARTS, rng) {
            return Ok(drawn);
        }
    }
}

/// The largest integer `a` with `(a / 2^32)^2 sensitivity^2 <= 2 rho`.
pub(super) fn rate_down(sensitivity: u32, spend: &Spend) -> Result<u128, PrivacyError> {
    let (units, parts) = spend.fraction();
    let have = BigUint::from(units) * 2u32 * RATE_PARTS * RATE_PARTS;
    let need = BigUint::from(Rho::UNITS) * parts * sensitivity * sensitivity;
    let rate = u128::try_from((have / need).sqrt()).map_err(|_| PrivacyError::RhoOutOfRange)?;
    // At most 2^6 by `Rho::LARGEST`, so that scores of 2^64 apart still fit.
    if rate == 0 { Err(PrivacyError::NoiseTooLarge) } else { Ok(rate) }
}

#[cfg(test)]
mod tests {
    use dplm::privacy::{Budget, noise::FixedSeed};

    use super::*;

    fn spend(rho: f64, parts: u32) -> Spend {
        let mut budget = Budget::new(Rho::checked_from_f64(rho).unwrap());
        let spend = budget.spend_on(Mechanism::Exponential, "test", budget.total()).unwrap();
        spend.in_parts(parts).pop().unwrap()
    }

    #[test]
    fn the_rate_is_the_largest_that_pays() {
        for (rho, parts, sensitivity) in [(0.5, 1, 1), (0.015, 3, 1), (0.1, 7, 2), (1e-9, 1, 1), (900.0, 1, 5)] {
            let rate = rate_down(sensitivity, &spend(rho, parts)).unwrap() as f64 / RATE_PARTS as f64;
            let most = (2.0 * rho / f64::from(parts)).sqrt() / f64::from(sensitivity);
            assert!(rate <= most * (1.0 + 1e-12) && rate > most - 1e-9, "{rate} {most}");
        }
    }

    /// Six standard deviations: a false alarm in 5e8 for each candidate.
    #[test]
    fn candidates_are_drawn_with_their_exact_chances() {
        let (scores, rho, trials) = (vec![3, 0, 5, 5, -20], 0.08, 100_000u32);
        let mut rng = FixedSeed::new(8);
        let mut drawn = [0u32; 5];
        for _ in 0..trials {
            drawn[select(&Scores::claim(scores.clone(), 1), &spend(rho, 1), &mut rng).unwrap()] += 1;
        }
        let weights: Vec<f64> = scores.iter().map(|&score| (0.4 * score as f64).exp()).collect();
        let total: f64 = weights.iter().sum();
        for (weight, drawn) in weights.iter().zip(drawn) {
            let (mean, trials) = (f64::from(trials) * weight / total, f64::from(trials));
            let sd = (mean * (1.0 - mean / trials)).sqrt().max(1.0);
            assert!((f64::from(drawn) - mean).abs() < 6.0 * sd, "{drawn} {mean}");
        }
    }
}
