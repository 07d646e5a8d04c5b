//! Gradients with the row and its residual bounded each by itself.

use dplm::{
    lattice::{Lattice, Theta},
    rows::{CustomQuery, Shape, Term},
};

/// Squared norms keep this many bits; with at most 2^40 rows their sum stays far inside `i128`.
const SQUARE_BITS: u32 = 62;

/// Bounds on a row and on its residual: `w_i X_i clamp(r_i, -residual, residual)`, with
/// `||w_i X_i|| <= radius`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Separate {
    radius: u64,
    residual: u64,
    weight: Weight,
}

/// The weight of a row that is longer than the radius; shorter rows count in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// `radius / ||x||`: the row is shrunk to the radius.
    Shrink,
    /// `(radius / ||x||)^2`: the weights of Mallows, for which `w x x'` is the outer product of the
    /// shrunk row.
    Mallows,
}

impl Separate {
    /// Bounds in lattice units of a cell and of a residual.
    pub fn new(radius: u64, residual: u64, weight: Weight) -> Separate {
        assert!(u128::from(radius) * u128::from(residual) < 1 << 63, "the plan keeps gradients below 2^63");
        Separate { radius, residual, weight }
    }

    /// The largest norm of a row's term, whatever the row holds.
    pub fn norm(&self) -> u128 {
        u128::from(self.radius) * u128::from(self.residual)
    }

    /// How many bits to drop from the squared norm of a term so that sums over all rows fit `i128`.
    pub fn square_shift(&self) -> u32 {
        (128 - (self.norm() * self.norm()).leading_zeros()).saturating_sub(SQUARE_BITS)
    }
}

/// Where residuals are taken, and how rows are bounded there.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The parameters.
    pub theta: &'a Theta,
    /// Their arithmetic.
    pub lattice: &'a Lattice,
    /// The bounds.
    pub bounds: &'a Separate,
}

impl At<'_> {
    /// The clamped residual of a row, and its weighted features: integers whose product has norm at
    /// most [`Separate::norm`], as the weighted row has norm at most the radius in exact integers
    /// ([`factor`]). A Mallows weight is the square of a factor of at most 1, so each of its cells
    /// is no larger.
    fn weighted<'r>(&self, row: &'r [i64]) -> (i64, impl Iterator<Item = i64> + Clone + use<'r>) {
        let (response, features) = row.split_last().expect("a row has a response");
        // Parameters and their unit are whole numbers, and a residual is below 2^53
        // (`Lattice::plan`).
        let products = features.iter().zip(self.theta.integers()).map(|(cell, theta)| cell * *theta as i64);
        let residual = response * self.lattice.theta_unit() as i64 - products.sum::<i64>();
        let most = i64::try_from(self.bounds.residual).unwrap_or(i64::MAX);
        let shrink = factor(features, self.bounds.radius);
        let weight = match self.bounds.weight {
            Weight::Shrink => shrink,
            Weight::Mallows => shrink * shrink,
        };
        (residual.clamp(-most, most), features.iter().map(move |cell| cut(*cell, weight)))
    }
}

/// `sum_i w_i X_i clamp(r_i)`.
pub struct SeparateGradients<'a>(pub At<'a>);

impl CustomQuery for SeparateGradients<'_> {
    fn len(&self, features: usize) -> usize {
        features
    }

    fn shape(&self) -> Shape {
        Shape::Vector { norm: self.0.bounds.norm() }
    }

    fn term(&self, row: &[i64], term: &mut Term) {
        let (residual, features) = self.0.weighted(row);
        term.extend(features.map(|cell| cell * residual).enumerate());
    }
}

/// `sum_i floor(||w_i X_i clamp(r_i)||^2 / 2^shift)`, with the shift of [`Separate::square_shift`].
pub struct SeparateSquares<'a>(pub At<'a>);

impl CustomQuery for SeparateSquares<'_> {
    fn len(&self, _: usize) -> usize {
        1
    }

    fn shape(&self) -> Shape {
        let bounds = self.0.bounds;
        Shape::Number { most: (bounds.norm() * bounds.norm()) >> bounds.square_shift() }
    }

    fn term(&self, row: &[i64], term: &mut Term) {
        let (residual, features) = self.0.weighted(row);
        let norm_sq: u128 = features.map(|cell| u128::from(cell.unsigned_abs().pow(2))).sum();
        let square = (norm_sq * u128::from(residual.unsigned_abs()).pow(2)) >> self.0.bounds.square_shift();
        term.push((0, square as i64));
    }
}

/// A factor for which the row, multiplied and cut, has squared norm at most `radius^2` in exact
/// integers.
fn factor(row: &[i64], radius: u64) -> f64 {
    let (norm_sq, radius_sq) =
        (row.iter().map(|cell| cell.unsigned_abs().pow(2)).sum::<u64>(), u128::from(radius).pow(2));
    if u128::from(norm_sq) <= radius_sq {
        return 1.0;
    }
    let mut factor = radius as f64 / (norm_sq as f64).sqrt();
    let cut_norm_sq =
        |factor: f64| row.iter().map(|cell| u128::from(cut(*cell, factor).unsigned_abs().pow(2))).sum::<u128>();
    while cut_norm_sq(factor) > radius_sq {
        factor *= 1.0 - 1e-6;
    }
    factor
}

/// Towards zero.
fn cut(cell: i64, factor: f64) -> i64 {
    (cell as f64 * factor).trunc() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row as long as no radius: what is left of it is within, and nearly as long.
    #[test]
    fn a_shrunk_row_is_as_long_as_it_may_be() {
        for radius in [0u64, 1, 7, 5000, 400_000] {
            let row = [1 << 19, -(1 << 18), 12_345, -1];
            let factor = factor(&row, radius);
            let norm_sq: i64 = row.iter().map(|cell| cut(*cell, factor).pow(2)).sum();
            let (norm, radius) = ((norm_sq as f64).sqrt(), radius as f64);
            assert!(norm <= radius && norm >= radius - 2.0 - 1e-5 * radius, "{norm} {radius}");
        }
        assert_eq!(factor(&[3, -4], 5), 1.0);
    }

    /// Features of (3, 4) and a residual of 10 at zero, bounded by hand: a radius of 2.5 halves the
    /// row, and Mallows weights quarter it.
    #[test]
    fn terms_by_hand() {
        let lattice = Lattice::plan(10, 2, 1.0, f64::INFINITY).unwrap();
        let unit = lattice.theta_unit() as u64;
        let theta = lattice.theta(&[0.0, 0.0]);
        let term = |weight, residual| {
            let bounds = Separate::new(5000, residual, weight);
            let at = At { theta: &theta, lattice: &lattice, bounds: &bounds };
            let (mut gradient, mut square) = (Term::new(), Term::new());
            SeparateGradients(at).term(&[6000, 8000, -10], &mut gradient);
            SeparateSquares(at).term(&[6000, 8000, -10], &mut square);
            let sum: i64 = gradient.iter().map(|(_, value)| (value / 1000).pow(2)).sum();
            assert!((square[0].1 << bounds.square_shift()) / 1_000_000 - sum < 2);
            gradient
        };
        let residual = 10 * unit as i64;
        assert_eq!(term(Weight::Shrink, 100 * unit), [(0, -3000 * residual), (1, -4000 * residual)]);
        assert_eq!(term(Weight::Mallows, 100 * unit), [(0, -1500 * residual), (1, -2000 * residual)]);
        assert_eq!(term(Weight::Shrink, 7), [(0, -21_000), (1, -28_000)]);
    }
}
