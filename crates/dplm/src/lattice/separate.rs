//! Gradients with the row and its residual bounded each by itself.

use super::{
    BLOCK_ROWS, Kernel, RowBlock, Theta,
    exact::{integer, natural, nearest},
    kernel,
    outer::{cut, factor},
};

/// Squared norms keep so many bits; with at most 2^40 rows their sum stays far inside `i128`.
const SQUARE_BITS: u32 = 62;

/// Bounds on a row and on its residual: `w_i X_i clamp(r_i, -residual, residual)`, with `||w_i X_i|| <= radius`.
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
    /// `(radius / ||x||)^2`: the weights of Mallows, for which `w x x'` is the outer product of the shrunk row.
    Mallows,
}

impl Separate {
    /// Bounds in lattice units of a cell and of a residual.
    pub fn new(radius: u64, residual: u64, weight: Weight) -> Separate {
        assert!(u128::from(radius) * u128::from(residual) < 1 << 63, "the plan keeps gradients below 2^63");
        Separate { radius, residual, weight }
    }

    /// The bounds on the row and on its residual, and the weight.
    pub(crate) const fn parts(&self) -> (u64, u64, Weight) {
        (self.radius, self.residual, self.weight)
    }

    /// The largest norm of a row's term, whatever the row holds.
    pub fn norm(&self) -> u128 {
        u128::from(self.radius) * u128::from(self.residual)
    }

    /// How many bits to drop from the squared norm of a term so that sums over all rows fit `i128`.
    pub fn square_shift(&self) -> u32 {
        (128 - (self.norm() * self.norm()).leading_zeros()).saturating_sub(SQUARE_BITS)
    }

    /// Adds the terms of the rows of a block.
    pub(crate) fn add_gradients(
        &self,
        with: Kernel,
        block: RowBlock<'_>,
        (theta, theta_unit): (&Theta, f64),
        sums: &mut [i128],
    ) {
        self.for_each_term(with, block, (theta, theta_unit), |row, residual| {
            sums.iter_mut().zip(row).for_each(|(sum, cell)| *sum += i128::from(*cell) * residual);
        });
    }

    /// The sum of the squared norms of the terms of a block, each shifted down.
    pub(crate) fn squares(&self, with: Kernel, block: RowBlock<'_>, at: (&Theta, f64)) -> i128 {
        let (mut sum, shift) = (0, self.square_shift());
        self.for_each_term(with, block, at, |row, residual| {
            let norm_sq: u128 = row.iter().map(|cell| u128::from(cell.unsigned_abs().pow(2))).sum();
            sum += ((norm_sq * residual.unsigned_abs().pow(2)) >> shift).cast_signed();
        });
        sum
    }

    /// Shows the weighted row and the clamped residual of each row: integers whose product has norm at most [`Separate::norm`], as the weighted
    /// row has norm at most the radius in exact integers (`factor`). A Mallows weight is the square of a factor of at most 1, so each of its
    /// cells is no larger.
    fn for_each_term(
        &self,
        with: Kernel,
        block: RowBlock<'_>,
        (theta, theta_unit): (&Theta, f64),
        mut see: impl FnMut(&[i64], i128),
    ) {
        let residuals = kernel::residuals(with, block, theta, theta_unit);
        let norms = kernel::norms_sq(with, block).map(natural);
        let columns: Vec<&[f32; BLOCK_ROWS]> = block.columns().collect();
        let bound = nearest(self.residual.into());
        let mut weighted = vec![0; columns.len()];
        for row in 0..BLOCK_ROWS {
            let shrink = factor(norms[row], self.radius, columns.iter().map(|column| column[row]));
            let weight = match self.weight {
                Weight::Shrink => shrink,
                Weight::Mallows => shrink * shrink,
            };
            for (cell, column) in weighted.iter_mut().zip(&columns) {
                *cell = integer(cut(f64::from(column[row]) * weight));
            }
            // A bound of at most 2^63 that is no exact f64 would be rounded up.
            let residual = integer(residuals[row].clamp(-bound, bound)).clamp(-self.most(), self.most());
            see(&weighted, i128::from(residual));
        }
    }

    fn most(&self) -> i64 {
        i64::try_from(self.residual).unwrap_or(i64::MAX)
    }
}
