//! Eigenvalues of a matrix that was released with noise.
//!
//! Noise pushes the eigenvalues of a symmetric matrix apart: equal ones come out spread over a
//! semicircle, the smallest too small, even negative. Scaling directions by them would scale by
//! noise.

/// The eigenvalues of the best estimate in mean square of the matrix without its noise, among
/// estimates that keep the eigenvectors; `found` is in ascending order.
///
/// Noise of standard deviation `s` on the diagonal, smaller by a factor `sqrt 2` off it, moves an
/// eigenvalue by `s^2/2 sum_j 1/(e_i - e_j)`. The estimate subtracts twice that at the eigenvalues
/// found, softened at the distance `s/sqrt 2`, which is optimal for large matrices (Bun, Allez,
/// Bouchaud and Potters, "Rotational invariant estimator for general noisy matrices", 2016). In
/// small ones neighbours may change order, which is not allowed; they then get their mean (Stein
/// 1975).
pub(crate) fn without_noise(found: &[f64], sd: f64) -> Vec<f64> {
    let soft = |gap: f64| if gap == 0.0 { 0.0 } else { gap / (gap * gap + 0.5 * sd * sd) };
    let push = |e: &f64| sd * sd * found.iter().map(|other| soft(e - other)).sum::<f64>();
    nearest_in_order(found.iter().map(|e| e - push(e)))
}

/// The nearest nondecreasing sequence in mean square (pool adjacent violators).
pub(crate) fn nearest_in_order(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for value in values {
        let mut group = (value, 1);
        while let Some((sum, count)) = groups.pop_if(|last| last.0 * group.1 as f64 > group.0 * last.1 as f64) {
            group = (group.0 + sum, group.1 + count);
        }
        groups.push(group);
    }
    groups.into_iter().flat_map(|(sum, count)| std::iter::repeat_n(sum / count as f64, count)).collect()
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::{
        interval::simulate::symmetric_noise,
        matrix::{Eigen, diagonal},
    };

    fn error(values: &[f64], truth: &[f64]) -> f64 {
        values.iter().zip(truth).map(|(value, truth)| (value - truth).powi(2)).sum()
    }

    /// Eigenvalues 1 and 4 in two groups of ten, with noise that spreads each group over more than
    /// 1: the correction removes most of the squared error and leaves no eigenvalue near zero.
    #[test]
    fn repulsion_is_undone() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let truth = [[1.0; 10], [4.0; 10]].concat();
        let noisy = diagonal(&truth) + symmetric_noise(20, 0.25, &mut rng);
        let found = Eigen::of(noisy.as_ref()).expect("finite").values;
        let corrected = without_noise(&found, 0.25);
        assert!(found[0] < 0.5 && corrected[0] > 0.6, "{} {}", found[0], corrected[0]);
        assert!(error(&corrected, &truth) < 0.3 * error(&found, &truth), "{corrected:?}");
        assert!(corrected.is_sorted());
    }

    #[test]
    fn what_noise_does_not_explain_stays() {
        let found = [0.1, 0.5, 1.0, 3.0];
        assert_eq!(without_noise(&found, 0.0), found);
        assert!(error(&without_noise(&found, 0.01), &found) < 1e-6);
    }

    #[test]
    fn neighbours_that_change_places_are_given_their_mean() {
        let of = |values: &[f64]| nearest_in_order(values.iter().copied());
        assert_eq!(of(&[1.0, 3.0, 2.0, 4.0]), [1.0, 2.5, 2.5, 4.0]);
        assert_eq!(of(&[3.0, 2.0, 1.0]), [2.0; 3]);
        assert_eq!(of(&[]), [0.0; 0]);
    }
}
