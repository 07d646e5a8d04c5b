//! A private level: the rung of a public ladder with about so many rows above it, found by noisy counts.

use crate::privacy::noise::RandomWords;

use crate::{
    privacy::{PrivacyError, Spend, release},
    rows::TailCounts,
};

/// How many standard deviations of a count the target must be: below that, empty rungs look like the target.
pub(super) const CLEAR_OF_NOISE: f64 = 3.0;
/// At most this share of the rows is left above a level for the sake of noisy counts.
const LARGEST_TAIL: f64 = 0.5;

/// Where the search stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// The rung.
    pub rung: usize,
    /// Whether it is the top or the bottom one, so that the level wanted may lie beyond.
    pub at_edge: bool,
}

/// Queries a search over `rungs` rungs makes, whatever the counts are.
pub(super) fn queries(rungs: usize) -> u32 {
    usize::BITS - rungs.leading_zeros()
}

/// How many rows to leave above a level: the share asked for, or what counts with this budget can tell from none.
pub(super) fn target(share: f64, rows: u64, rungs: usize, rho: f64) -> f64 {
    let noise_sd = (f64::from(queries(rungs)) / (2.0 * rho)).sqrt();
    (share * rows as f64).max((CLEAR_OF_NOISE * noise_sd).min(LARGEST_TAIL * rows as f64))
}

/// The lowest rung with at most about `target` rows above it, by bisection; `counts` descend.
///
/// # Guarantee
/// Spends exactly `spend`, an equal part on each count.
pub(super) fn search<R: RandomWords>(
    counts: &TailCounts,
    target: f64,
    spend: Spend,
    rng: &mut R,
) -> Result<Level, PrivacyError> {
    let (mut low, mut high) = (0, counts.len());
    for part in spend.in_parts(queries(counts.len())) {
        // A search that is over still asks, so that the number of releases does not depend on what was found.
        let middle = ((low + high) / 2).min(counts.len() - 1);
        let noisy = release(counts.above(middle), part, rng)?.values[0] as f64;
        if low < high {
            if noisy > target { low = middle + 1 } else { high = middle }
        }
    }
    let rung = low.min(counts.len() - 1);
    Ok(Level { rung, at_edge: low == 0 || low >= counts.len() - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::{Budget, Neighbours, Rho, noise::FixedSeed};

    fn spend(rho: f64) -> Spend {
        Budget::new(Rho::checked_from_f64(rho).unwrap()).spend_rest("test").unwrap()
    }

    fn tail(counts: &[u64]) -> TailCounts {
        TailCounts::new(counts.to_vec(), Neighbours::ReplaceOne)
    }

    #[test]
    fn with_ample_budget_the_rung_is_the_lowest_below_the_target() {
        let counts: Vec<u64> = (0..40).rev().map(|i| 1000 * i * i).collect();
        for target in [0.0, 500.0, 15_500.0, 900_500.0, 2e9] {
            let found = search(&tail(&counts), target, spend(900.0), &mut FixedSeed::new(3)).unwrap();
            let expected = counts.iter().position(|&count| count as f64 <= target + 100.0).unwrap();
            // A count of zero against a target of zero is a toss-up between the last two rungs.
            assert!(found.rung == expected || target == 0.0 && found.rung + 1 >= expected, "{target}: {found:?}");
            assert_eq!(found.at_edge, found.rung == 0 || found.rung == 39);
        }
    }

    /// A count is off by less than 7 standard deviations, false alarm far below 1e-6 a query.
    #[test]
    fn the_rows_left_above_are_near_the_target() {
        let counts: Vec<u64> = (0..64).map(|i| 10_000 - 150 * i).collect();
        for seed in 0..200 {
            let noise = (f64::from(queries(64)) / (2.0 * 0.01)).sqrt();
            let found = search(&tail(&counts), 4000.0, spend(0.01), &mut FixedSeed::new(seed)).unwrap();
            assert!((counts[found.rung] as f64 - 4000.0).abs() <= 7.0 * noise + 150.0, "seed {seed}");
        }
    }

    #[test]
    fn every_rung_can_be_reached_with_the_queries_there_are() {
        for rungs in [1, 2, 3, 33, 48, 57, 64] {
            for wanted in 0..rungs {
                let counts: Vec<u64> = (0..rungs).map(|i| if i < wanted { 1000 } else { 0 }).collect();
                let found = search(&tail(&counts), 500.0, spend(900.0), &mut FixedSeed::new(1)).unwrap();
                assert_eq!(found.rung, wanted, "{rungs} rungs");
            }
        }
    }

    #[test]
    fn targets_stand_clear_of_the_noise() {
        assert_eq!(target(0.1, 1_000_000, 33, 0.001), 100_000.0);
        let noise = (6.0f64 / 0.002).sqrt();
        assert!((target(0.0, 1_000_000, 33, 0.001) - 3.0 * noise).abs() < 1e-9);
        assert_eq!(target(0.0, 300, 33, 0.001), 150.0);
        assert_eq!(target(0.7, 300, 33, 0.001), 210.0);
    }
}
