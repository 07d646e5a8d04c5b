//! Queries as values: the same query can be put to rows in memory, in a file, or on other machines.

use super::{
    custom::{CustomQuery, Term},
    held::{Held, Piece},
};
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, Clip, ClippedOuter, GramSum, Kernel, Ladder, Lattice, Link, Number, Outer, RowBlock, SecondMoments,
        Theta, WeightedSum, add_unit_gradients, clipped_in_block, clipped_units, norms_sq, number_sum, residuals,
        square_of_block, unit_number_sum, unit_square_sum,
    },
};

/// A sum over all rows, and what it is computed with.
pub struct Query<'a> {
    /// What is summed.
    pub sum: Sum<'a>,
    /// How many coefficients a row has.
    pub features: usize,
    /// The instructions it is computed with; answers are the same.
    pub kernel: Kernel,
}

/// Which integers of a row, or of a person, are summed.
#[derive(Clone, Copy)]
pub enum Sum<'a> {
    /// A vector or a number that depends on parameters, under the clip that the rows have.
    Each(Each, At<'a>, &'a Clip),
    /// Outer products, by the upper triangle of their sum.
    Outer(&'a Outer<'a>),
    /// The same of gradients, under the clip that the rows have.
    ClippedOuter(&'a ClippedOuter<'a>, &'a Clip),
    /// The second moments `[X y]' [X y]`, by their upper triangle.
    Moments,
    /// How many are above exactly `i` thresholds; rows of zeros are above none.
    Tally(&'a Ladder<'a>),
    /// What a query of another crate adds.
    Custom(&'a dyn CustomQuery),
}

/// The parameters, and their arithmetic.
pub type At<'a> = (&'a Theta, &'a Lattice);

/// What one row, or one person, contributes.
#[derive(Clone, Copy)]
pub enum Each {
    /// `X_i clamp(r_i, -B_i, B_i)`, or what the link says of a binary response.
    Gradient,
    /// `X_i clamp(b_i, -B_i, B_i)`, `b` how the variance of a binary response changes; of rows that
    /// stand for themselves only.
    Bend,
    /// A number of a binary response, or its mean over a person's rows.
    Number(Number),
    /// The squared norm of that, shifted down.
    Square,
    /// 1 where it is clipped.
    IsClipped,
}

/// The integers of both sums.
pub(super) fn plus(mut mine: Vec<i128>, theirs: Vec<i128>) -> Vec<i128> {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
    mine
}

impl Query<'_> {
    /// How many integers the sum has.
    #[allow(clippy::len_without_is_empty, reason = "no sum is empty")]
    pub fn len(&self) -> usize {
        match &self.sum {
            Sum::Each(Each::Gradient | Each::Bend, ..) => self.features,
            Sum::Each(Each::Square | Each::IsClipped | Each::Number(_), ..) => 1,
            Sum::Outer(_) | Sum::ClippedOuter(..) => self.features * (self.features + 1) / 2,
            Sum::Moments => (self.features + 1) * (self.features + 2) / 2,
            Sum::Tally(ladder) => ladder.len() + 1,
            Sum::Custom(query) => query.len(self.features),
        }
    }

    /// What the mean of a response is where it is asked.
    pub fn link(&self) -> Link {
        let theta = match self.sum {
            Sum::Each(_, (theta, _), _) => theta,
            Sum::Outer(Outer::Within { theta, .. })
            | Sum::ClippedOuter(ClippedOuter::Unclipped { theta, .. } | ClippedOuter::Gradient { theta, .. }, _)
            | Sum::Tally(Ladder::Gradients { theta, .. } | Ladder::Residuals { theta, .. }) => theta,
            Sum::Outer(_) | Sum::Moments | Sum::Tally(_) | Sum::Custom(_) => return Link::Identity,
        };
        theta.link()
    }

    /// The sum over local rows. The order does not change a sum of integers.
    pub fn over(&self, rows: &impl Held) -> Result<Vec<i128>, Error> {
        match self.sum {
            Sum::Each(each, at, clip) => self.sum_of_each(rows, each, at, clip),
            Sum::Outer(outer) => self.gram(rows, self.features, |sum, piece| self.add_outer(outer, sum, piece)),
            Sum::ClippedOuter(outer, clip) => {
                self.gram(rows, self.features, |sum, piece| self.add_clipped_outer(outer, clip, sum, piece))
            }
            Sum::Moments => self.gram(rows, self.features + 1, |sum, piece| sum.add_blocks(piece.cells, self.features)),
            Sum::Tally(ladder) => self.tally(rows, ladder),
            Sum::Custom(query) => self.sum_of_custom(rows, query),
        }
    }

    fn sum_of_each(&self, rows: &impl Held, each: Each, at: At<'_>, clip: &Clip) -> Result<Vec<i128>, Error> {
        let zeros = || vec![0; self.len()];
        let parts = rows.fold(zeros, |mut sums, piece| {
            match each {
                Each::Gradient => self.add_gradients(at, clip, piece, &mut sums),
                Each::Bend => self.add_bends(at, clip, piece, &mut sums),
                Each::Number(number) => sums[0] += self.numbers(at, number, piece),
                Each::Square => sums[0] += self.square(at, clip, piece),
                Each::IsClipped => sums[0] += i128::from(self.clipped_count(at, clip, piece)),
            }
            sums
        })?;
        Ok(parts.into_iter().fold(zeros(), plus))
    }

    fn add_gradients(&self, at: At<'_>, clip: &Clip, piece: Piece<'_>, sums: &mut [i128]) {
        match piece.is_grouped() {
            true => add_unit_gradients(self.kernel, piece.groups(self.features), clip, at, sums),
            false => WeightedSum::new(clip).add_clipped(self.kernel, (piece.cells, piece.bounds), at, sums),
        }
    }

    fn add_bends(&self, at: At<'_>, clip: &Clip, piece: Piece<'_>, sums: &mut [i128]) {
        assert!(!piece.is_grouped(), "asked of rows that stand for themselves");
        WeightedSum::new(clip).add_bends(self.kernel, (piece.cells, piece.bounds), at, sums);
    }

    fn numbers(&self, (theta, lattice): At<'_>, number: Number, piece: Piece<'_>) -> i128 {
        let at = (theta, lattice.theta_unit());
        if piece.is_grouped() {
            return piece.groups(self.features).map(|(group, _)| unit_number_sum(self.kernel, group, number, at)).sum();
        }
        RowBlock::all(piece.cells, self.features).map(|block| number_sum(self.kernel, block, number, at)).sum()
    }

    fn square(&self, (theta, lattice): At<'_>, clip: &Clip, piece: Piece<'_>) -> i128 {
        if piece.is_grouped() {
            return unit_square_sum(self.kernel, piece.groups(self.features), clip, (theta, lattice.theta_unit()));
        }
        let shift = clip.square_shift();
        let squares = piece.blocks(self.features).map(|(block, bounds)| {
            let residual = residuals(self.kernel, block, theta, lattice.theta_unit());
            square_of_block(&residual, bounds, &norms_sq(self.kernel, block), shift)
        });
        squares.sum()
    }

    fn clipped_count(&self, (theta, lattice): At<'_>, clip: &Clip, piece: Piece<'_>) -> u64 {
        if piece.is_grouped() {
            return clipped_units(self.kernel, piece.groups(self.features), clip, (theta, lattice.theta_unit()));
        }
        let counts = piece.blocks(self.features).map(|(block, bounds)| {
            let residual = residuals(self.kernel, block, theta, lattice.theta_unit());
            clipped_in_block(&residual, bounds, &norms_sq(self.kernel, block))
        });
        counts.sum()
    }

    fn add_outer(&self, outer: &Outer<'_>, sum: &mut GramSum, piece: Piece<'_>) {
        match piece.is_grouped() {
            true => piece.groups(self.features).for_each(|(group, _)| outer.add_group(sum, self.kernel, group)),
            false => outer.add_to(sum, self.kernel, piece.cells, self.features),
        }
    }

    fn add_clipped_outer(&self, outer: &ClippedOuter<'_>, clip: &Clip, sum: &mut GramSum, piece: Piece<'_>) {
        match piece.is_grouped() {
            true => piece.groups(self.features).for_each(|group| outer.add_group(sum, self.kernel, group, clip)),
            false => piece.blocks(self.features).for_each(|block| outer.add_block(sum, self.kernel, block, clip)),
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
        let sum = parts.into_iter().map(GramSum::finish).fold(SecondMoments::empty(size), |a, b| a.plus(&b));
        Ok(sum.into_upper())
    }

    fn tally(&self, rows: &impl Held, ladder: &Ladder<'_>) -> Result<Vec<i128>, Error> {
        let zeros = || vec![0u64; ladder.len() + 1];
        let parts = rows.fold(zeros, |mut sums, piece| {
            match piece.is_grouped() {
                true => {
                    piece.groups(self.features).for_each(|group| ladder.tally_group(self.kernel, group, &mut sums));
                }
                false => {
                    let norms_sq = piece.norms_sq(self.kernel, self.features);
                    ladder.tally(self.kernel, (piece.cells, self.features), &norms_sq, &mut sums);
                }
            }
            sums
        })?;
        let counts = parts.into_iter().map(|part| part.into_iter().map(i128::from).collect());
        Ok(counts.fold(vec![0; ladder.len() + 1], plus))
    }

    /// The sum of a query of another crate over local rows.
    fn sum_of_custom(&self, rows: &impl Held, query: &dyn CustomQuery) -> Result<Vec<i128>, Error> {
        let (len, shape) = (self.len(), query.shape());
        let parts = rows.fold(
            || vec![0i128; len],
            |mut sums, piece| {
                let (mut row, mut term) = (Vec::new(), Term::new());
                for (block, lane) in RowBlock::all(piece.cells, self.features).flat_map(lanes) {
                    row.clear();
                    row.extend(cells_of(block, lane));
                    if row.iter().all(|cell| *cell == 0) {
                        continue;
                    }
                    term.clear();
                    query.term(&row, &mut term);
                    if shape.holds(&term, len) {
                        term.iter().for_each(|(place, number)| sums[*place] += i128::from(*number));
                    }
                }
                sums
            },
        )?;
        Ok(parts.into_iter().fold(vec![0; len], plus))
    }
}

fn lanes(block: RowBlock<'_>) -> impl Iterator<Item = (RowBlock<'_>, usize)> {
    (0..BLOCK_ROWS).map(move |lane| (block, lane))
}

/// The cells of a row: whole numbers of at most 2^19, the response last.
fn cells_of(block: RowBlock<'_>, lane: usize) -> impl Iterator<Item = i64> {
    block.cells().iter().skip(lane).step_by(BLOCK_ROWS).map(|cell| *cell as i64)
}
