//! Whether rows and budget are enough for the number of columns.

use crate::{privacy::Rho, warning::Enough};

/// Below this strength the intervals of the automatic method would say nothing, and below the
/// second only some will. The curvature gets at most .12 of the budget, so that on rows of squared
/// length `2 p` the [edge](super::noise::edge) of its noise is `sqrt 8 / (sqrt .12 strength)`: 1 at
/// the first, where no weak direction can be told from noise, and 1/3 at the second, where the
/// weakest are found.
const NO_INTERVALS: f64 = 8.0;
const SOME_INTERVALS: f64 = 25.0;
/// The same two where second moments are publicly known and trusted, of `n sqrt(rho) / p`: that is
/// how far a single entry of a released curvature stands above its noise, and the moments say how
/// the entries go together.
const WITH_MOMENTS: (f64, f64) = (12.0, 30.0);
/// Below this strength second moments that are publicly known are trusted: to bring the noise of
/// released ones to 15 % of what they measure would cost `2 / p` of the whole budget,
/// `(2 p / (.15 n))^2 / rho`.
pub(crate) const WEAK: f64 = 9.4;

/// `n sqrt(rho)`: how far a mean of numbers of size 1 stands above its noise.
pub(crate) fn precision(rows: u64, rho: f64) -> f64 {
    rows as f64 * rho.sqrt()
}

/// `n sqrt(rho) / p^1.5`: how far second moments stand above their noise. A released matrix of `p`
/// white columns has noise `p / (n sqrt(rho))` on an entry, and `sqrt p` times that as an operator.
///
/// Above 50 a matrix is known well; from 10 to 50 well-scaled designs are, correlated ones in part.
pub(crate) fn strength(features: usize, rows: u64, rho: f64) -> f64 {
    precision(rows, rho) / (features as f64).powf(1.5)
}

/// The `n sqrt(rho)` below which there would be no intervals, and that below which only some.
pub(crate) fn needed(features: usize, knows_moments: bool) -> (f64, f64) {
    let p = features as f64;
    let without = (NO_INTERVALS * p.powf(1.5), SOME_INTERVALS * p.powf(1.5));
    match knows_moments {
        true => ((WITH_MOMENTS.0 * p).min(without.0), (WITH_MOMENTS.1 * p).min(without.1)),
        false => without,
    }
}

/// What would be enough for most intervals of the automatic method.
pub(crate) fn enough_for_intervals(features: usize, rows: u64, rho: Rho) -> Enough {
    Enough::times(SOME_INTERVALS / strength(features, rows, rho.to_f64()), rows, rho)
}
