//! Finds the columns that a noisy matrix of second moments can distinguish from the columns before
//! them.
//!
//! The columns are taken in formula order, as R takes them. The new part of column `j`, given the
//! columns kept before it, is the residual `v = q_j - Q_K (Q_K' M Q_K)^-1 Q_K' M q_j` of its
//! regression on them; its variance `pi_j = v' M v` is the pivot of a Cholesky decomposition. The
//! noise `E` of `M` moves a pivot by `v' E v`, of known variance, and the regression on noisy
//! columns reduces it by `b = tr((Q_K' M Q_K)^-1 Q_K' Cov(E v) Q_K)` on average. So
//!
//! ```text
//! t_j = pi_j / sd(v' E v) + min(b / sd(v' E v), 3/2)
//! ```
//!
//! is approximately Gaussian with unit variance, and its mean is at most 0 for a column that
//! repeats the ones before it: the probability that such a column passes a threshold `t` is at most
//! `Phi(-t)`.

use super::Curvature;
use crate::matrix::{dot, times};
use faer::Mat;

/// The most that is added back for the reduction by the regression, in standard deviations: beyond
/// it the expansion behind `b` fails.
const MOST_GIVEN_BACK: f64 = 1.5;
/// A pivot must be this many times the rounding variance of the cells, so that rounding biases a
/// coefficient by at most 1 %.
const ABOVE_ROUNDING: f64 = 100.0;

/// The new part of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pivot {
    /// The variance of the new part.
    pub value: f64,
    /// The standard deviation of its noise.
    pub sd: f64,
    /// `t_j`: the pivot over its noise.
    pub strength: f64,
}

/// The resolved columns, and the pivot of each column.
pub(crate) struct Resolved {
    pub kept: Vec<usize>,
    pub pivots: Vec<Pivot>,
}

/// The thresholds of a column besides the noise of its pivot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Floor {
    /// The variance that rounding gives to each column's cells.
    pub rounding: Vec<f64>,
    /// The smallest second moment allowed for each column.
    pub least: Vec<f64>,
    /// For each column, the columns without which it is dropped (Nelder 1977): a power or a product
    /// minus a combination of them has another meaning without them.
    pub needs: Vec<Vec<usize>>,
    /// Columns that are taken before the others, so that those which repeat them are dropped.
    pub first: Vec<usize>,
    /// Whether the first column is the constant: it is in the model whatever the noise, since
    /// without it every other coefficient would have another meaning.
    pub has_constant: bool,
}

impl Floor {
    /// No threshold besides the noise.
    pub(crate) fn none(columns: usize) -> Floor {
        let needs = vec![Vec::new(); columns];
        Floor { rounding: vec![0.0; columns], least: vec![0.0; columns], needs, first: Vec::new(), has_constant: false }
    }
}

impl Floor {
    /// The constant, then the columns that come first, then the others in formula order.
    fn order(&self, columns: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..columns).collect();
        order.sort_by_key(|j| !(self.first.contains(j) || *j == 0 && self.has_constant));
        order
    }
}

/// Keeps the columns of `basis` (in the coordinates of the law) that stand `least` standard
/// deviations above their noise, and above the floor.
pub(crate) fn resolve(law: &Curvature, basis: &Mat<f64>, floor: &Floor, least: f64) -> Resolved {
    let mut elimination = Elimination::new(law, basis);
    let nothing = Pivot { value: 0.0, sd: 0.0, strength: 0.0 };
    let (mut kept, mut pivots) = (Vec::new(), vec![nothing; basis.ncols()]);
    for j in floor.order(basis.ncols()) {
        let residual = elimination.residual(j);
        let pivot = elimination.pivot(&residual);
        let rounded: f64 = residual.combination.iter().zip(&floor.rounding).map(|(c, u)| c * c * u).sum();
        let is_above_floor = pivot.value > ABOVE_ROUNDING * rounded && elimination.moment(j) > floor.least[j];
        if pivot.strength >= least && is_above_floor {
            elimination.keep(residual, pivot.value);
            kept.push(j);
        } else if j == 0 && floor.has_constant {
            elimination.keep(residual, pivot.value.max(pivot.sd));
            kept.push(j);
        }
        pivots[j] = pivot;
    }
    kept.sort_unstable();
    let lacks_one = |kept: &[usize]| kept.iter().position(|&j| floor.needs[j].iter().any(|k| !kept.contains(k)));
    while let Some(place) = lacks_one(&kept) {
        kept.remove(place);
    }
    Resolved { kept, pivots }
}

/// The residual of a column after those before it, in the coordinates of the law and as a
/// combination of columns.
struct Residual {
    vector: Vec<f64>,
    combination: Vec<f64>,
}

/// Gram-Schmidt in the inner product of the law's mean.
struct Elimination<'a> {
    law: &'a Curvature,
    basis: Mat<f64>,
    /// Each kept residual, its product with the mean, and its pivot.
    done: Vec<(Residual, Vec<f64>, f64)>,
    /// `sum v v' / pi` over the kept residuals: `Q_K (Q_K' M Q_K)^-1 Q_K'`.
    projection: Mat<f64>,
}

impl<'a> Elimination<'a> {
    fn new(law: &'a Curvature, basis: &Mat<f64>) -> Self {
        let p = law.features();
        Elimination { law, basis: law.axes.transpose() * basis, done: Vec::new(), projection: Mat::zeros(p, p) }
    }

    /// The second moment of a column.
    fn moment(&self, j: usize) -> f64 {
        self.law.quadratic(self.basis.col_as_slice(j))
    }

    fn residual(&self, j: usize) -> Residual {
        let mut vector = self.basis.col_as_slice(j).to_vec();
        let mut combination: Vec<f64> = (0..self.basis.ncols()).map(|k| if k == j { 1.0 } else { 0.0 }).collect();
        // Twice, since one pass leaves rounding errors as large as a pivot if columns nearly repeat
        // each other.
        for _ in 0..2 {
            for (kept, moments, pivot) in &self.done {
                let share = dot(moments, &vector) / pivot;
                vector.iter_mut().zip(&kept.vector).for_each(|(v, k)| *v -= share * k);
                combination.iter_mut().zip(&kept.combination).for_each(|(c, k)| *c -= share * k);
            }
        }
        Residual { vector, combination }
    }

    fn pivot(&self, residual: &Residual) -> Pivot {
        let v = &residual.vector;
        let value = dot(&times(&self.law.mean, v), v);
        let sd = self.law.covariance_form(v, v, v).sqrt().max(f64::MIN_POSITIVE);
        let covariance = self.law.covariance_times(v);
        let taken: f64 = (0..v.len()).map(|k| dot(covariance.col_as_slice(k), self.projection.col_as_slice(k))).sum();
        Pivot { value, sd, strength: value / sd + (taken / sd).min(MOST_GIVEN_BACK) }
    }

    fn keep(&mut self, residual: Residual, pivot: f64) {
        let moments = times(&self.law.mean, &residual.vector);
        let v = &residual.vector;
        for k in 0..v.len() {
            let share = v[k] / pivot;
            self.projection.col_as_slice_mut(k).iter_mut().zip(v).for_each(|(entry, v)| *entry += share * v);
        }
        self.done.push((residual, moments, pivot));
    }
}

#[cfg(test)]
mod tests {
    use super::super::simulate::normal;
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    /// Second moments of columns 1, x, z with z = `share` x + rest, and symmetric noise.
    fn law(share: f64, noise_sd: f64, rng: &mut ChaCha8Rng) -> Curvature {
        let rest = 1.0 - share * share;
        let truth = [[1.0, 0.0, 0.0], [0.0, 1.0, share], [0.0, share, share * share + rest]];
        let noise = Mat::from_fn(3, 3, |_, _| normal(rng));
        let entry = |j: usize, k: usize| {
            let sd = if j == k { noise_sd } else { noise_sd / 2f64.sqrt() };
            truth[j][k] + sd * noise[(j.max(k), j.min(k))]
        };
        Curvature::released(Mat::from_fn(3, 3, entry), noise_sd).unwrap()
    }

    fn kept(law: &Curvature, least: f64) -> Vec<usize> {
        resolve(law, &Mat::identity(3, 3), &Floor::none(3), least).kept
    }

    /// Pivots without noise are those of a Cholesky decomposition.
    #[test]
    fn a_pivot_is_what_is_new_in_a_column() {
        let law = law(0.8, 0.0, &mut ChaCha8Rng::seed_from_u64(1));
        let found = resolve(&law, &Mat::identity(3, 3), &Floor::none(3), 3.0);
        assert_eq!(found.kept, [0, 1, 2]);
        assert!((found.pivots[2].value - 0.36).abs() < 1e-12);
    }

    /// A column that repeats another passes with probability at most Phi(-2) = 0.0228: 2000 draws,
    /// a false-alarm rate of one in a million at 4.9 standard errors.
    #[test]
    fn a_column_that_repeats_another_seldom_passes() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let passed = (0..2000).filter(|_| kept(&law(1.0, 0.05, &mut rng), 2.0).contains(&2)).count();
        let allowed = 2000.0 * 0.0228 + 4.9 * (2000.0f64 * 0.0228 * 0.9772).sqrt();
        assert!((passed as f64) < allowed, "{passed} of 2000");
        assert!(passed > 0, "a threshold that nothing passes says nothing");
    }

    #[test]
    fn the_later_column_is_the_one_left_out() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        assert!((0..50).all(|_| kept(&law(1.0, 0.01, &mut rng), 3.0).starts_with(&[0, 1])));
    }

    #[test]
    fn the_constant_is_in_the_model_whatever_the_noise_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for _ in 0..50 {
            let law = law(0.0, 1.0, &mut rng);
            let found = |has_constant: bool| {
                resolve(&law, &Mat::identity(3, 3), &Floor { has_constant, ..Floor::none(3) }, 9.0).kept
            };
            assert_eq!((found(false), found(true)), (vec![], vec![0]));
        }
    }

    #[test]
    fn a_column_is_kept_only_with_those_it_needs() {
        let law = law(0.0, 1e-9, &mut ChaCha8Rng::seed_from_u64(5));
        let found = |needs: [&[usize]; 3]| {
            let floor =
                Floor { least: vec![0.0, 1.1, 0.0], needs: needs.map(<[usize]>::to_vec).to_vec(), ..Floor::none(3) };
            resolve(&law, &Mat::identity(3, 3), &floor, 3.0).kept
        };
        assert_eq!(found([&[], &[], &[]]), [0, 2], "the second varies too little");
        assert_eq!(found([&[], &[], &[0, 1]]), [0]);
        assert_eq!(found([&[2], &[], &[1]]), [0; 0], "and what needs one that is gone goes too");
    }

    #[test]
    fn a_column_made_of_rounding_is_not_kept() {
        let law = law(0.0, 1e-9, &mut ChaCha8Rng::seed_from_u64(4));
        let found = |rounding: f64, least: f64| {
            let floor = Floor { rounding: vec![0.0, 0.0, rounding], least: vec![0.0, 0.0, least], ..Floor::none(3) };
            resolve(&law, &Mat::identity(3, 3), &floor, 3.0).kept
        };
        assert_eq!((found(0.009, 0.0), found(0.011, 0.0)), (vec![0, 1, 2], vec![0, 1]));
        assert_eq!((found(0.0, 0.9), found(0.0, 1.1)), (vec![0, 1, 2], vec![0, 1]));
    }
}
