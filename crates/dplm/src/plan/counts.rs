//! How precise noisy counts are, and so how many rows a threshold may leave above it.

use super::noise::count_noise_sd;

/// Clip thresholds of a descent that are tried, eight to a factor of two.
pub(crate) const CLIP_THRESHOLDS: u32 = 57;
/// Lengths of rows that are tried, eight to a factor of two.
pub(crate) const LENGTH_THRESHOLDS: u32 = 33;
/// How many standard deviations of a count the target must be: below that, thresholds that no row
/// exceeds look like the target.
pub(crate) const CLEAR_OF_NOISE: f64 = 3.0;
/// At most this share of the rows is left above a threshold for the sake of noisy counts.
const LARGEST_TAIL: f64 = 0.5;

/// Counts that a search by bisection among `thresholds` thresholds asks for, whatever the answers
/// are.
pub(crate) fn queries(thresholds: usize) -> u32 {
    usize::BITS - thresholds.leading_zeros()
}

/// How many rows to leave above a threshold: the share asked for, or what counts with this budget
/// can tell from none.
pub(crate) fn target(share: f64, rows: u64, thresholds: usize, rho: f64) -> f64 {
    let noise_sd = count_noise_sd(queries(thresholds), rho);
    (share * rows as f64).max((CLEAR_OF_NOISE * noise_sd).min(LARGEST_TAIL * rows as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_stand_clear_of_the_noise() {
        assert_eq!(target(0.1, 1_000_000, 33, 0.001), 100_000.0);
        let noise = (6.0f64 / 0.002).sqrt();
        assert!((target(0.0, 1_000_000, 33, 0.001) - 3.0 * noise).abs() < 1e-9);
        assert_eq!(target(0.0, 300, 33, 0.001), 150.0);
        assert_eq!(target(0.7, 300, 33, 0.001), 210.0);
    }
}
