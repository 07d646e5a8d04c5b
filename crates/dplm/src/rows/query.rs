//! What rows are asked, as values: the same query can be put to rows in memory, in a file, or on other machines.

use super::store::{Held, Piece};
use crate::{
    Error,
    lattice::{
        Clip, GramSum, Kernel, Ladder, Lattice, Moments, Outer, RowBlock, Separate, Theta, WeightedSum,
        add_unit_gradients, clipped_in_block, clipped_units, norms_sq, residuals, square_of_block, unit_square_sum,
    },
};

/// A sum over all rows, and what it is computed with.
pub struct Query<'a> {
    pub(super) sum: Sum<'a>,
    pub(super) features: usize,
    /// The clip of the rows, where one is set.
    pub(super) clip: Option<&'a Clip>,
    pub(super) kernel: Kernel,
}

/// Which integers of a row, or of a person, are summed.
#[derive(Clone, Copy)]
pub(super) enum Sum<'a> {
    /// A vector or a number that depends on parameters.
    Terms(Term<'a>, At<'a>),
    /// Outer products, by the upper triangle of their sum.
    Outer(&'a Outer<'a>),
    /// The second moments `[X y]' [X y]`, by their upper triangle.
    Moments,
    /// How many are above exactly `i` thresholds; rows of zeros are above none.
    Tally(&'a Ladder<'a>),
}

/// The parameters, and their arithmetic.
pub(super) type At<'a> = (&'a Theta, &'a Lattice);

/// What one row, or one person, adds.
#[derive(Clone, Copy)]
pub(super) enum Term<'a> {
    /// `X_i clamp(r_i, -B_i, B_i)`.
    Gradient,
    /// The squared norm of that, shifted down.
    Square,
    /// 1 where it is clipped.
    IsClipped,
    /// `w_i X_i clamp(r_i)`, the row and its residual bounded each by itself.
    SeparateGradient(&'a Separate),
    /// The squared norm of that, shifted down.
    SeparateSquare(&'a Separate),
}

/// The integers of both sums.
pub(super) fn plus(mut mine: Vec<i128>, theirs: Vec<i128>) -> Vec<i128> {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
    mine
}

impl Query<'_> {
    /// How many integers the sum has.
    pub(super) fn len(&self) -> usize {
        match &self.sum {
            Sum::Terms(Term::Gradient | Term::SeparateGradient(_), _) => self.features,
            Sum::Terms(Term::Square | Term::IsClipped | Term::SeparateSquare(_), _) => 1,
            Sum::Outer(_) => self.features * (self.features + 1) / 2,
            Sum::Moments => (self.features + 1) * (self.features + 2) / 2,
            Sum::Tally(ladder) => ladder.len() + 1,
        }
    }

    /// The sum over rows that are here. Integer sums do not mind the order.
    pub(super) fn over(&self, rows: &impl Held) -> Result<Vec<i128>, Error> {
        match self.sum {
            Sum::Terms(term, at) => self.sum_of_terms(rows, term, at),
            Sum::Outer(outer) => self.gram(rows, self.features, |sum, piece| self.add_outer(outer, sum, piece)),
            Sum::Moments => self.gram(rows, self.features + 1, |sum, piece| sum.add_blocks(piece.cells, self.features)),
            Sum::Tally(ladder) => self.tally(rows, ladder),
        }
    }

    fn clip(&self) -> &Clip {
        self.clip.expect("the clip is set before gradients are asked for")
    }

    fn sum_of_terms(&self, rows: &impl Held, term: Term<'_>, at: At<'_>) -> Result<Vec<i128>, Error> {
        let zeros = || vec![0; self.len()];
        let parts = rows.fold(zeros, |mut sums, piece| {
            match term {
                Term::Gradient => self.add_gradients(at, piece, &mut sums),
                Term::Square => sums[0] += self.square(at, piece),
                Term::IsClipped => sums[0] += i128::from(self.clipped_count(at, piece)),
                Term::SeparateGradient(bounds) => self.add_separate_gradients(bounds, at, piece, &mut sums),
                Term::SeparateSquare(bounds) => sums[0] += self.separate_square(bounds, at, piece),
            }
            sums
        })?;
        Ok(parts.into_iter().fold(zeros(), plus))
    }

    fn add_gradients(&self, at: At<'_>, piece: Piece<'_>, sums: &mut [i128]) {
        match piece.is_grouped() {
            true => add_unit_gradients(self.kernel, piece.groups(self.features), self.clip(), at, sums),
            false => WeightedSum::new(self.clip()).add_clipped(self.kernel, piece.cells, piece.bounds, at, sums),
        }
    }

    fn square(&self, (theta, lattice): At<'_>, piece: Piece<'_>) -> i128 {
        if piece.is_grouped() {
            let at = (theta, lattice.theta_unit());
            return unit_square_sum(self.kernel, piece.groups(self.features), self.clip(), at);
        }
        let shift = self.clip().square_shift();
        let squares = piece.blocks(self.features).map(|(block, bounds)| {
            let residual = residuals(self.kernel, block, theta, lattice.theta_unit());
            square_of_block(&residual, bounds, &norms_sq(self.kernel, block), shift)
        });
        squares.sum()
    }

    fn clipped_count(&self, (theta, lattice): At<'_>, piece: Piece<'_>) -> u64 {
        if piece.is_grouped() {
            let at = (theta, lattice.theta_unit());
            return clipped_units(self.kernel, piece.groups(self.features), self.clip(), at);
        }
        let counts = piece.blocks(self.features).map(|(block, bounds)| {
            let residual = residuals(self.kernel, block, theta, lattice.theta_unit());
            clipped_in_block(&residual, bounds, &norms_sq(self.kernel, block))
        });
        counts.sum()
    }

    fn add_separate_gradients(&self, bounds: &Separate, (theta, lattice): At<'_>, piece: Piece<'_>, sums: &mut [i128]) {
        for block in RowBlock::all(piece.cells, self.features) {
            bounds.add_gradients(self.kernel, block, (theta, lattice.theta_unit()), sums);
        }
    }

    fn separate_square(&self, bounds: &Separate, (theta, lattice): At<'_>, piece: Piece<'_>) -> i128 {
        let at = (theta, lattice.theta_unit());
        RowBlock::all(piece.cells, self.features).map(|block| bounds.squares(self.kernel, block, at)).sum()
    }

    fn add_outer(&self, outer: &Outer<'_>, sum: &mut GramSum, piece: Piece<'_>) {
        match piece.is_grouped() {
            true => {
                piece.groups(self.features).for_each(|group| outer.add_group(sum, self.kernel, group, self.clip));
            }
            false => outer.add_to(sum, self.kernel, piece.cells, (self.clip, piece.bounds), self.features),
        }
    }

    fn gram(
        &self,
        rows: &impl Held,
        size: usize,
        add: impl Fn(&mut GramSum, Piece<'_>) + Sync + Send,
    ) -> Result<Vec<i128>, Error> {
        let parts = rows.fold(
            || GramSum::new(self.kernel, size),
            |mut sum, piece| {
                add(&mut sum, piece);
                sum
            },
        )?;
        let sum = parts.into_iter().map(GramSum::finish).fold(Moments::empty(size), |a, b| a.plus(&b));
        Ok(sum.into_upper())
    }

    fn tally(&self, rows: &impl Held, ladder: &Ladder<'_>) -> Result<Vec<i128>, Error> {
        let zeros = || vec![0u64; ladder.len() + 1];
        let parts = rows.fold(zeros, |mut sums, piece| {
            match piece.is_grouped() {
                true => {
                    piece.groups(self.features).for_each(|group| ladder.tally_group(self.kernel, group, &mut sums));
                }
                false => ladder.tally(self.kernel, piece.cells, self.features, &mut sums),
            }
            sums
        })?;
        let counts = parts.into_iter().map(|part| part.into_iter().map(i128::from).collect());
        Ok(counts.fold(vec![0; ladder.len() + 1], plus))
    }
}
