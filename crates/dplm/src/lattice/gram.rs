//! Exact second moments at the speed of a matrix product.

use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::triangular};

use super::{BLOCK_ROWS, RowBlock};

/// Exact second moments of the rows: the upper triangle of `[X y]' [X y]`, in lattice units.
#[derive(Clone, PartialEq, Eq)]
pub struct Moments {
    size: usize,
    upper: Vec<i128>,
}

impl Moments {
    /// No rows yet.
    pub fn zero(features: usize) -> Moments {
        let size = features + 1;
        Moments { size, upper: vec![0; size * (size + 1) / 2] }
    }

    /// The entry of columns `i` and `j`; the response is the last column.
    pub fn entry(&self, i: usize, j: usize) -> i128 {
        let (row, column) = (i.min(j), i.max(j));
        self.upper[column * (column + 1) / 2 + row]
    }

    /// The upper triangle column by column.
    pub fn into_upper(self) -> Vec<i128> {
        self.upper
    }

    /// The moments of both sets of rows.
    #[must_use]
    pub fn plus(mut self, other: &Moments) -> Moments {
        self.upper.iter_mut().zip(&other.upper).for_each(|(mine, theirs)| *mine += theirs);
        self
    }
}

/// Rows per matrix product. A product of cells is at most 2^38, so a sum over 2^12 rows is at most 2^50: exact in `f64` in any order.
const PRODUCT_ROWS: usize = 4096;

/// The exact moments of a buffer of blocks.
pub fn gram_of_blocks(buffer: &[f32], features: usize) -> Moments {
    let mut moments = Moments::zero(features);
    let mut product = vec![0.0; moments.size * moments.size];
    for part in buffer.chunks(PRODUCT_ROWS / BLOCK_ROWS * RowBlock::len_for(features)) {
        let cells = columns_as_f64(part, moments.size);
        multiply(&cells, moments.size, &mut product);
        add_upper(&product, &mut moments);
    }
    moments
}

/// The cells of some blocks as one column-major matrix in `f64`.
fn columns_as_f64(part: &[f32], size: usize) -> Vec<f64> {
    let blocks = part.len() / (size * BLOCK_ROWS);
    let mut cells = vec![0.0; part.len()];
    for (index, block) in part.chunks_exact(size * BLOCK_ROWS).enumerate() {
        for (column, values) in block.chunks_exact(BLOCK_ROWS).enumerate() {
            let start = (column * blocks + index) * BLOCK_ROWS;
            let target = &mut cells[start..start + BLOCK_ROWS];
            target.iter_mut().zip(values).for_each(|(target, &value)| *target = f64::from(value));
        }
    }
    cells
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
