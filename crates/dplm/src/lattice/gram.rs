//! Exact second moments at the speed of a matrix product.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::triangular};

use super::{BLOCK_ROWS, RowBlock};

/// An exact symmetric matrix of sums over rows, by its upper triangle, in lattice units.
#[derive(Clone, PartialEq, Eq)]
pub struct Moments {
    size: usize,
    upper: Vec<i128>,
}

impl Moments {
    /// A sum over no rows.
    pub fn empty(size: usize) -> Moments {
        Moments { size, upper: vec![0; size * (size + 1) / 2] }
    }

    /// The entry of columns `i` and `j`.
    pub fn entry(&self, i: usize, j: usize) -> i128 {
        let (row, column) = (i.min(j), i.max(j));
        self.upper[column * (column + 1) / 2 + row]
    }

    /// How many columns there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The upper triangle, column by column.
    pub fn into_upper(self) -> Vec<i128> {
        self.upper
    }

    /// For each entry of the upper triangle, how often it stands in the whole matrix: once on the diagonal, twice off it.
    pub fn multiplicities(size: usize) -> Vec<u32> {
        (0..size).flat_map(|column| (0..=column).map(move |row| if row == column { 1 } else { 2 })).collect()
    }

    /// The moments of both sets of rows.
    #[must_use]
    pub fn plus(mut self, other: &Moments) -> Moments {
        self.upper.iter_mut().zip(&other.upper).for_each(|(mine, theirs)| *mine += theirs);
        self
    }
}

/// Blocks per matrix product. A product of cells is at most 2^38, so a sum over 128 blocks of 32 rows is at most 2^50: exact in `f64` in
/// any order.
pub(super) const BLOCKS_PER_PRODUCT: usize = 128;

/// The exact `[X y]' [X y]` of a buffer of blocks; the response is the last column.
pub fn gram_of_blocks(buffer: &[f32], features: usize) -> Moments {
    let mut moments = Moments::empty(features + 1);
    for part in buffer.chunks(BLOCKS_PER_PRODUCT * RowBlock::len_for(features)) {
        let blocks: Vec<_> = part.chunks_exact(RowBlock::len_for(features)).map(widened).collect();
        gram_of_columns(&blocks, &mut moments);
    }
    moments
}

fn widened(block: &[f32]) -> Vec<[f64; BLOCK_ROWS]> {
    block.as_chunks::<BLOCK_ROWS>().0.iter().map(|column| column.map(f64::from)).collect()
}

/// Adds the exact outer products of some blocks, each given column by column.
pub(super) fn gram_of_columns(blocks: &[Vec<[f64; BLOCK_ROWS]>], moments: &mut Moments) {
    if blocks.is_empty() {
        return;
    }
    let size = moments.size;
    let columns = (0..size).flat_map(|column| blocks.iter().flat_map(move |block| block[column]));
    let cells: Vec<f64> = columns.collect();
    let mut product = vec![0.0; size * size];
    multiply(&cells, size, &mut product);
    add_upper(&product, moments);
}

fn multiply(cells: &[f64], size: usize, product: &mut [f64]) {
    let matrix = MatRef::from_column_major_slice(cells, cells.len() / size, size);
    triangular::matmul(
        MatMut::from_column_major_slice_mut(product, size, size),
        triangular::BlockStructure::TriangularUpper,
        Accum::Replace,
        matrix.transpose(),
        triangular::BlockStructure::Rectangular,
        matrix,
        triangular::BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

fn add_upper(product: &[f64], moments: &mut Moments) {
    let mut upper = moments.upper.iter_mut();
    for (column, values) in product.chunks_exact(moments.size).enumerate() {
        for (&value, target) in values[..=column].iter().zip(upper.by_ref()) {
            *target += value as i128;
        }
    }
}
