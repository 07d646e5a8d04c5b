//! Exact second moments at the speed of a matrix product.

use super::{
    BLOCK_ROWS, Kernel, Lattice, RowBlock, Theta,
    exact::integer,
    kernel::{COMPRESSED, VECTORS, compress},
    simd::{LANES, Simd, Work},
};

/// An exact symmetric matrix of sums over rows, by its upper triangle, in lattice units.
#[derive(Clone, PartialEq, Eq)]
pub struct SecondMoments {
    size: usize,
    upper: Vec<i128>,
}

impl SecondMoments {
    /// A sum over no rows.
    pub fn empty(size: usize) -> SecondMoments {
        SecondMoments { size, upper: vec![0; size * (size + 1) / 2] }
    }

    /// A matrix by its upper triangle, column by column.
    pub fn from_upper(size: usize, upper: Vec<i128>) -> SecondMoments {
        assert_eq!(upper.len(), size * (size + 1) / 2, "an upper triangle");
        SecondMoments { size, upper }
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

    /// The moments of the first `size` columns.
    pub(crate) fn leading(&self, size: usize) -> SecondMoments {
        SecondMoments::from_upper(size, self.upper[..size * (size + 1) / 2].to_vec())
    }

    /// The upper triangle, column by column.
    pub fn into_upper(self) -> Vec<i128> {
        self.upper
    }

    /// For each entry of the upper triangle, how often it stands in the whole matrix: once on the
    /// diagonal, twice off it.
    pub fn multiplicities(size: usize) -> Vec<u32> {
        (0..size).flat_map(|column| (0..=column).map(move |row| if row == column { 1 } else { 2 })).collect()
    }

    /// For the moments of `[X y]`: `X' (2^s y - X theta)`, the negative gradient sum of rows that
    /// are not clipped.
    ///
    /// With at most 2^40 rows an entry is at most 2^78, a parameter 2^30, and there are fewer than
    /// 2^14: no overflow.
    pub(crate) fn negative_gradient_sum(&self, theta: &Theta, lattice: &Lattice) -> Vec<i128> {
        let theta: Vec<i128> = theta.integers().iter().map(|&theta| i128::from(integer(theta))).collect();
        let (moments, response) = self.upper.split_at(self.upper.len() - self.size);
        let unit = i128::from(integer(lattice.theta_unit()));
        let mut sum: Vec<i128> = response[..theta.len()].iter().map(|moment| moment * unit).collect();
        let mut start = 0;
        for column in 0..theta.len() {
            let entries = &moments[start..=start + column];
            for (row, entry) in entries[..column].iter().enumerate() {
                sum[row] -= entry * theta[column];
                sum[column] -= entry * theta[row];
            }
            sum[column] -= entries[column] * theta[column];
            start += column + 1;
        }
        sum
    }

    /// The moments of both sets of rows.
    #[must_use]
    pub fn plus(mut self, other: &SecondMoments) -> SecondMoments {
        self.upper.iter_mut().zip(&other.upper).for_each(|(mine, theirs)| *mine += theirs);
        self
    }
}

impl SecondMoments {
    /// The moments of rows without some of them.
    #[must_use]
    pub(crate) fn minus(mut self, other: &SecondMoments) -> SecondMoments {
        self.upper.iter_mut().zip(&other.upper).for_each(|(mine, theirs)| *mine -= theirs);
        self
    }
}

/// A product of cells is at most 2^38, so a sum over 2^15 rows is at most 2^53: exact in `f64` in
/// any order.
const ROWS_PER_FLUSH: usize = 1 << 15;
/// Columns are padded to a multiple of this with zeros, so that tiles are always whole.
const PADDED: usize = 12;
/// Rows that wait to be multiplied: a tile's columns then fit the first-level cache, and long sums
/// make up for their ends.
const ROOM: usize = 512;
/// Columns that are multiplied with each other while they are in the second-level cache.
const PANEL: usize = 4 * PADDED;
/// The distance between columns: with a gap, so that equal places in different columns do not
/// compete for the same lines of the cache.
const STRIDE: usize = ROOM + LANES;

/// Adds up exact outer products of rows.
pub(crate) struct GramSum {
    kernel: Kernel,
    moments: SecondMoments,
    /// The rows that wait to be multiplied, column by column, and how many there are.
    cells: Vec<f64>,
    waiting: usize,
    /// Products that wait to become integers, and of how many rows they are.
    product: Vec<f64>,
    multiplied: usize,
}

impl GramSum {
    /// A sum over no rows.
    pub(crate) fn new(kernel: Kernel, size: usize) -> GramSum {
        let padded = size.next_multiple_of(PADDED);
        GramSum {
            kernel,
            moments: SecondMoments::empty(size),
            cells: vec![0.0; STRIDE * padded],
            waiting: 0,
            product: vec![0.0; padded * padded],
            multiplied: 0,
        }
    }

    /// Adds the rows of a block: as many of its columns as the sum has, the response being the
    /// last.
    pub(crate) fn add_block(&mut self, block: RowBlock<'_>) {
        self.make_room();
        let columns = &block.cells()[..self.moments.size * BLOCK_ROWS];
        self.kernel.run(Widen { block: columns, to: &mut self.cells[self.waiting..] });
        self.waiting += BLOCK_ROWS;
    }

    /// Adds the rows of a buffer of blocks of `features` coefficients, the response as the last
    /// column.
    pub(crate) fn add_blocks(&mut self, buffer: &[f32], features: usize) {
        RowBlock::all(buffer, features).for_each(|block| self.add_block(block));
    }

    /// Adds the rows of a block whose bits are set.
    pub(crate) fn add_rows(&mut self, block: RowBlock<'_>, rows: u32) {
        self.make_room();
        let columns = &block.cells()[..self.moments.size * BLOCK_ROWS];
        self.kernel.run(WidenSome { block: columns, rows, to: &mut self.cells[self.waiting..] });
        self.waiting += rows.count_ones() as usize;
    }

    /// Adds rows that are given column by column: integers of at most 2^19.
    pub(super) fn add_columns(&mut self, columns: &[[f64; BLOCK_ROWS]]) {
        self.make_room();
        let places = self.cells[self.waiting..].chunks_mut(STRIDE);
        for (column, places) in columns.iter().zip(places) {
            places[..BLOCK_ROWS].copy_from_slice(column);
        }
        self.waiting += BLOCK_ROWS;
    }

    /// The sum.
    pub(crate) fn finish(mut self) -> SecondMoments {
        self.multiply();
        self.flush();
        self.moments
    }

    /// Makes room for one more block.
    fn make_room(&mut self) {
        if self.waiting + BLOCK_ROWS > ROOM {
            self.multiply();
        }
    }

    fn multiply(&mut self) {
        if self.multiplied + self.waiting > ROWS_PER_FLUSH {
            self.flush();
        }
        let used = self.waiting.next_multiple_of(LANES);
        // The last vector of a column is filled up with zeros.
        self.cells.chunks_mut(STRIDE).for_each(|column| column[self.waiting..used].fill(0.0));
        self.kernel.run(Multiply { cells: &self.cells, size: self.moments.size, used, product: &mut self.product });
        self.multiplied += self.waiting;
        self.waiting = 0;
    }

    /// Moves products from `f64` to integers.
    fn flush(&mut self) {
        let mut upper = self.moments.upper.iter_mut();
        let padded = self.moments.size.next_multiple_of(PADDED);
        for (column, values) in self.product.chunks_exact(padded).enumerate().take(self.moments.size) {
            for (&value, target) in values[..=column].iter().zip(upper.by_ref()) {
                *target += i128::from(integer(value));
            }
        }
        self.product.fill(0.0);
        self.multiplied = 0;
    }
}

/// Widens the columns of a block into columns that are `STRIDE` apart.
struct Widen<'a> {
    block: &'a [f32],
    to: &'a mut [f64],
}

impl Work for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (column, to) in self.block.chunks_exact(BLOCK_ROWS).zip(self.to.chunks_mut(STRIDE)) {
            for (cells, to) in column.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
                simd.store(simd.widen(cells), to);
            }
        }
    }
}

/// The same for the rows whose bits are set.
struct WidenSome<'a> {
    block: &'a [f32],
    rows: u32,
    to: &'a mut [f64],
}

impl Work for WidenSome<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let mut some = [0.0; COMPRESSED];
        for (column, to) in self.block.as_chunks().0.iter().zip(self.to.chunks_mut(STRIDE)) {
            compress(simd, column, self.rows, &mut some);
            // What follows the rows is overwritten by the next ones, or by zeros before it is
            // multiplied.
            for (cells, to) in some.as_chunks().0.iter().zip(to.as_chunks_mut().0).take(VECTORS) {
                simd.store(simd.widen(cells), to);
            }
        }
    }
}

/// Adds the products of all pairs of columns, on and above the diagonal.
struct Multiply<'a> {
    cells: &'a [f64],
    size: usize,
    used: usize,
    product: &'a mut [f64],
}

impl Work for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // As many sums as the registers hold, with room for the cells.
        if S::PARTS == 1 { self.tiles::<S, 4, 6>(simd) } else { self.tiles::<S, 3, 4>(simd) }
    }
}

impl Multiply<'_> {
    #[inline(always)]
    fn tiles<S: Simd, const I: usize, const J: usize>(mut self, simd: S) {
        for right in (0..self.size).step_by(PANEL) {
            for left in (0..=right).step_by(PANEL) {
                for j in (right..self.size.min(right + PANEL)).step_by(J) {
                    for i in (left..self.size.min(j + J).min(left + PANEL)).step_by(I) {
                        self.add_tile::<S, I, J>(simd, i, j);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn add_tile<S: Simd, const I: usize, const J: usize>(&mut self, simd: S, i: usize, j: usize) {
        let padded = self.cells.len() / STRIDE;
        let column = |index: usize| self.cells[index * STRIDE..][..self.used].as_chunks::<LANES>().0;
        let mut left = [column(i); I];
        left.iter_mut().enumerate().for_each(|(index, left)| *left = column(i + index));
        let mut right = [column(j); J];
        right.iter_mut().enumerate().for_each(|(index, right)| *right = column(j + index));
        let sums = tile(simd, left, right);
        for (index, sums) in sums.iter().enumerate() {
            let to = &mut self.product[(j + index) * padded + i..][..I];
            to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
        }
    }
}

/// The products of some columns with some others: `out[j][i] = left[i] . right[j]`.
#[inline(always)]
fn tile<S: Simd, const I: usize, const J: usize>(
    simd: S,
    left: [&[[f64; LANES]]; I],
    right: [&[[f64; LANES]]; J],
) -> [[f64; I]; J] {
    let length = left[0].len();
    assert!(left.iter().chain(&right).all(|column| column.len() == length), "columns are equally long");
    let mut sums = [[simd.zero(); I]; J];
    for row in 0..length {
        for part in 0..S::PARTS {
            let mut cells = [simd.zero(); I];
            for (cell, column) in cells.iter_mut().zip(left) {
                *cell = simd.load_part(&column[row], part);
            }
            for (sums, column) in sums.iter_mut().zip(right) {
                let other = simd.load_part(&column[row], part);
                for (sum, cell) in sums.iter_mut().zip(cells) {
                    *sum = simd.mul_add_part(cell, other, *sum);
                }
            }
        }
    }
    let mut out = [[0.0; I]; J];
    for (out, sum) in out.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
        *out = simd.sum_part(*sum);
    }
    out
}
