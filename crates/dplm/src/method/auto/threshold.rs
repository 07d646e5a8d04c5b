//! Finds, among public thresholds, one with about a wanted number of rows above it, by noisy
//! counts.

use crate::privacy::noise::RandomWords;

use crate::{
    plan::counts::queries,
    privacy::{PrivacyError, Spend, release},
    rows::TailCounts,
};

/// Where the search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Which threshold.
    pub index: usize,
    /// Whether it is the top or the bottom one, so that the level wanted may lie beyond.
    pub at_edge: bool,
    /// Whether more rows than wanted are above the top one.
    pub is_beyond: bool,
}

/// The lowest threshold with at most about `target` rows above it, by bisection; `counts` descend.
///
/// # Guarantee
/// Spends exactly `spend`, an equal part on each count.
pub(super) fn search<R: RandomWords>(
    counts: &TailCounts,
    target: f64,
    spend: Spend,
    rng: &mut R,
) -> Result<Found, PrivacyError> {
    let (mut low, mut high) = (0, counts.len());
    for part in spend.in_parts(queries(counts.len())) {
        // A search that is over still asks, so that the number of releases does not depend on what
        // was found.
        let middle = ((low + high) / 2).min(counts.len() - 1);
        let noisy = release(counts.above(middle), part, rng)?.values[0] as f64;
        if low < high {
            if noisy > target { low = middle + 1 } else { high = middle }
        }
    }
    let index = low.min(counts.len() - 1);
    Ok(Found { index, at_edge: low == 0 || low >= counts.len() - 1, is_beyond: low >= counts.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{Budget, Neighbours, Rho, Sensitivity, noise::FixedSeed};

    fn spend(rho: f64) -> Spend {
        Budget::new(Rho::checked_from_f64(rho).unwrap()).spend_rest("test").unwrap()
    }

    fn tail(counts: &[u64]) -> TailCounts {
        TailCounts::new(counts.to_vec(), Sensitivity::of_table(Neighbours::ReplaceOne))
    }

    #[test]
    fn with_ample_budget_the_threshold_is_the_lowest_below_the_target() {
        let counts: Vec<u64> = (0..40).rev().map(|i| 1000 * i * i).collect();
        for target in [0.0, 500.0, 15_500.0, 900_500.0, 2e9] {
            let found = search(&tail(&counts), target, spend(900.0), &mut FixedSeed::new(3)).unwrap();
            let expected = counts.iter().position(|&count| count as f64 <= target + 100.0).unwrap();
            // A count of zero against a target of zero is a toss-up between the last two
            // thresholds.
            assert!(found.index == expected || target == 0.0 && found.index + 1 >= expected, "{target}: {found:?}");
            assert_eq!(found.at_edge, found.index == 0 || found.index == 39);
        }
    }

    /// A count is off by less than 7 standard deviations, false alarm far below 1e-6 a query.
    #[test]
    fn the_rows_left_above_are_near_the_target() {
        let counts: Vec<u64> = (0..64).map(|i| 10_000 - 150 * i).collect();
        for seed in 0..200 {
            let noise = (f64::from(queries(64)) / (2.0 * 0.01)).sqrt();
            let found = search(&tail(&counts), 4000.0, spend(0.01), &mut FixedSeed::new(seed)).unwrap();
            assert!((counts[found.index] as f64 - 4000.0).abs() <= 7.0 * noise + 150.0, "seed {seed}");
        }
    }

    #[test]
    fn every_threshold_can_be_reached_with_the_queries_there_are() {
        for thresholds in [1, 2, 3, 33, 48, 57, 64] {
            for wanted in 0..thresholds {
                let counts: Vec<u64> = (0..thresholds).map(|i| if i < wanted { 1000 } else { 0 }).collect();
                let found = search(&tail(&counts), 500.0, spend(900.0), &mut FixedSeed::new(1)).unwrap();
                assert_eq!(found.index, wanted, "{thresholds} thresholds");
            }
        }
    }
}
