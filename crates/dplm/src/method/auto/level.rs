//! A private level: the rung of a public ladder with about so many rows above it, found by noisy counts.

use rand_core::CryptoRng;

use crate::privacy::{PrivacyError, Sensitive, Spend, release};

/// How many standard deviations of a count the target must be: below that, empty rungs look like the target.
const CLEAR_OF_NOISE: f64 = 4.0;
/// At most this share of the rows is left above a level, however noisy counts are.
const LARGEST_TAIL: f64 = 0.25;

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
    (share * rows as f64).max(CLEAR_OF_NOISE * noise_sd).min(LARGEST_TAIL * rows as f64)
}

/// The lowest rung with at most about `target` rows above it, by bisection; `counts` descend.
///
/// # Guarantee
/// Spends exactly `spend`, an equal part on each count.
pub(super) fn search<R: CryptoRng>(
    counts: &[u64],
    target: f64,
    spend: Spend,
    rng: &mut R,
) -> Result<Level, PrivacyError> {
    let (mut low, mut high) = (0, counts.len());
    for part in spend.in_parts(queries(counts.len())) {
        // A search that is over still asks, so that the number of releases does not depend on what was found.
        let middle = ((low + high) / 2).min(counts.len() - 1);
        // A row is above the level or not: one row moves the count by at most one, for either kind of neighbours.
        let query = Sensitive::claim(vec![i128::from(counts[middle])], 1u32.into());
        let noisy = release(query, part, rng)?.values[0] as f64;
        if low < high {
            if noisy > target { low = middle + 1 } else { high = middle }
        }
    }
    let rung = low.min(counts.len() - 1);
    Ok(Level { rung, at_edge: low == 0 || low >= counts.len() - 1 })
}
