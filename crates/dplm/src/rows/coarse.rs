//! Steps that go through a byte of each cell, and give the same integers.
//!
//! Where noise keeps iterates so far from any one point that no row is surely unclipped over a
//! whole region, most rows still are at each iterate. A coarse copy of the rows tells which, at a
//! quarter of the memory to go through; the sum over all rows, as if none were clipped, is known
//! from exact second moments, and only rows that are undecided are visited for what clipping
//! changes.

use rayon::prelude::*;

use super::{
    held::{Chunk, Chunks},
    query::{At, Query, Sum, plus},
};
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, CoarseRows, Displacement, Kernel, Lattice, RowBlock, SecondMoments, Theta, WeightedSum, residuals,
    },
};

/// A coarse copy of rows in memory, and what is known of all of them.
pub(super) struct Coarse {
    centre: Theta,
    chunks: Vec<CoarseRows>,
    moments: SecondMoments,
}

impl Coarse {
    /// A pass and a half, and second moments.
    pub(super) fn new(
        rows: &Chunks,
        kernel: Kernel,
        centre: Theta,
        lattice: &Lattice,
        largest: f64,
    ) -> Result<Coarse, Error> {
        let (features, shift) = (rows.features, CoarseRows::shift_for(largest));
        let at = (&centre, lattice.theta_unit());
        let coarse = |chunk: &Chunk| CoarseRows::new(kernel, &chunk.cells, features, shift, at);
        let chunks = rows.chunks.par_iter().map(coarse).collect();
        let moments = Query { sum: Sum::Moments, features, kernel }.over(rows)?;
        Ok(Coarse { centre, chunks, moments: SecondMoments::from_upper(features + 1, moments) })
    }

    /// The negative gradient sum over the rows that this is a copy of, and how many of them were
    /// visited.
    pub(super) fn negative_gradient_sum(&self, rows: &Chunks, kernel: Kernel, at: At<'_>) -> (Vec<i128>, u64) {
        let displacement = Displacement::new(&self.centre, at.0);
        let nothing = || (vec![0; rows.features], 0);
        let parts = self.chunks.par_iter().zip(&rows.chunks).fold(nothing, |mut part, (coarse, chunk)| {
            coarse.for_each_undecided(kernel, &chunk.bounds, &displacement, &mut |index, undecided| {
                change(chunk, index, undecided, rows.features, kernel, at, &mut part.0);
                part.1 += u64::from(undecided.count_ones());
            });
            part
        });
        let (changes, visited) = parts.reduce(nothing, |a, b| (plus(a.0, b.0), a.1 + b.1));
        (plus(self.moments.negative_gradient_sum(at.0, at.1), changes), visited)
    }
}

/// Adds what clipping changes of some rows of a block: `X_i (clamp(r_i) - r_i)`, a weight of at
/// most `|r_i|`, which is below 2^53.
fn change(
    chunk: &Chunk,
    index: usize,
    rows: u32,
    features: usize,
    kernel: Kernel,
    (theta, lattice): At<'_>,
    sums: &mut [i128],
) {
    let length = RowBlock::len_for(features);
    let cells = &chunk.cells[index * length..][..length];
    let bounds = &chunk.bounds[index * BLOCK_ROWS..][..BLOCK_ROWS];
    let block = RowBlock::all(cells, features).next().expect("a block");
    let mut weights = residuals(kernel, block, theta, lattice.theta_unit());
    for (row, (weight, &bound)) in weights.iter_mut().zip(bounds).enumerate() {
        let bound = f64::from(bound);
        *weight = if rows >> row & 1 == 1 { weight.clamp(-bound, bound) - *weight } else { 0.0 };
    }
    if weights.iter().any(|&weight| weight != 0.0) {
        WeightedSum::of_any_weights().add_given(kernel, cells, &weights, sums);
    }
}
