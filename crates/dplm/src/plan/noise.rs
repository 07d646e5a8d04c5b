//! How much noise a budget buys: the standard deviations of what is released. That of gradients is
//! [`descend::noise_sd`](crate::descend::noise_sd).

use crate::privacy::Neighbours;

/// Noise on a diagonal entry of a mean of outer products `z z'` with `||z||^2 <= length_sq`; off
/// the diagonal it is smaller by `sqrt 2`.
///
/// A row replaced by another moves the sum by at most `sqrt 2 length_sq` (Frobenius), since
/// `<z z', w w'>` is not negative; a row zeroed out by `length_sq`.
pub(crate) fn matrix_noise_sd(rows: u64, length_sq: f64, neighbours: Neighbours, rho: f64) -> f64 {
    length_sq * (moved_sq(neighbours) / (2.0 * rho)).sqrt() / rows as f64
}

/// The budget at which that noise has the standard deviation `noise_sd`.
pub(crate) fn matrix_rho(rows: u64, length_sq: f64, neighbours: Neighbours, noise_sd: f64) -> f64 {
    moved_sq(neighbours) / 2.0 * (length_sq / (noise_sd * rows as f64)).powi(2)
}

/// How far such noise of standard deviation `noise_sd` on the diagonal moves the eigenvalues of a
/// matrix of `features` columns: those of the noise itself fill a semicircle of this radius (Wigner
/// 1958).
pub(crate) fn edge(features: usize, noise_sd: f64) -> f64 {
    noise_sd * (2.0 * features as f64).sqrt()
}

/// How far one row moves a sum of outer products, squared, in units of its squared length.
pub(crate) fn moved_sq(neighbours: Neighbours) -> f64 {
    match neighbours {
        Neighbours::ReplaceOne => 2.0,
        Neighbours::ZeroOut => 1.0,
    }
}

/// How far one row moves a sum of clipped gradients, squared, in units of the clip.
pub(crate) fn reach_sq(neighbours: Neighbours) -> f64 {
    match neighbours {
        Neighbours::ReplaceOne => 4.0,
        Neighbours::ZeroOut => 1.0,
    }
}

/// Noise on each of `counts` counts that share a budget equally: a row moves a count by 1.
pub(crate) fn count_noise_sd(counts: u32, rho: f64) -> f64 {
    (f64::from(counts) / (2.0 * rho)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_for_a_noise_gives_that_noise() {
        for neighbours in [Neighbours::ReplaceOne, Neighbours::ZeroOut] {
            let rho = matrix_rho(10_000, 22.0, neighbours, 0.1);
            assert!((matrix_noise_sd(10_000, 22.0, neighbours, rho) - 0.1).abs() < 1e-12);
        }
        // R^2 / (n sqrt(rho)) for replaced rows.
        assert!((matrix_noise_sd(1000, 4.0, Neighbours::ReplaceOne, 0.04) - 0.02).abs() < 1e-15);
    }
}
