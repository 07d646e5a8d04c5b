//! How many steps forget a start.

use crate::theory::coverage::{CoverageConstants, coverage_steps};

/// The share of coverage that the paper's intervals may lose to a start that is not forgotten.
const LOST_COVERAGE: f64 = 0.05;

/// Steps between the estimates of the paper's intervals, by its coverage theorem with columns of
/// unit variance: a step leaves `1 - step_size` of the distance to the optimum.
///
/// # Paper
/// Theorem "Coverage"; [`coverage_steps`] has the constants of its proof.
pub(crate) fn steps_between(error_sd: f64, batches: u32, features: usize, step_size: f64, noise_sd: f64) -> u32 {
    let constants = CoverageConstants { contraction: (1.0 - step_size).max(0.1), ..CoverageConstants::default() };
    let steps = coverage_steps(&constants, batches as usize, features, error_sd, step_size, noise_sd, LOST_COVERAGE);
    steps.map_or(1, |steps| steps.max(1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(sqrt(10) (1 + 2 sqrt(10)) / (2 .25 .5) + 1.5 10 sqrt(10)) / .05 = 2,801`, and
    /// `ln 2801 / -ln .75 = 27.6`.
    #[test]
    fn by_hand() {
        assert_eq!(steps_between(1.0, 10, 10, 0.25, 0.5), 28);
        assert!(steps_between(1.0, 10, 10, 0.125, 0.5) > 50);
    }
}
