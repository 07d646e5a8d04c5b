//! Rows re-encoded through a released matrix.
//!
//! With `P` on a dyadic grid, `z = P'x` is an exact integer in `f64`: cells are below 2^19, the
//! entries of `P` are whole numbers below `2^(34 - log2 p)`, so every sum stays below 2^53. It is
//! then rounded to the lattice of cells once. What a row becomes depends on that row and on
//! released numbers only, and it is the same on any machine: each claim about rows holds for
//! re-encoded rows.
//!
//! The response stays as it is, or is made in the same way, of all cells and of the response
//! before: a column that is regressed on others is a response, and so is what a released fit leaves
//! of one.

use std::ops::Range;

use faer::{Mat, MatRef};

use super::{
    BLOCK_ROWS, CELL_RANGE_BITS, Kernel, Lattice, RowBlock, Theta,
    design::nearest_cell,
    exact::{log2_up, narrow, natural, nearest, power},
    half::with_half,
    kernel::{Block, VECTORS, stored},
    outer::{cut, factor},
    simd::{LANES, Simd, Work},
};

/// Integers up to 2^53 are exact in `f64`.
const EXACT_BITS: u32 = 53;
/// A finer grid than this would not change an `f64`.
const FINEST_BITS: i32 = 60;
/// The grid of no finite matrix is finer or coarser.
const MOST_UNIT_BITS: i32 = 1020;
/// Blocks that are re-encoded together in place: what they become stays in the second-level cache
/// until it is copied back.
const IN_PLACE: usize = 16;

/// A released change of coordinates `z = P'x`, rounded to a dyadic grid. What is computed with is
/// the rounded matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Whitening {
    /// Cells of a row before, and coordinates after.
    inputs: usize,
    outputs: usize,
    /// Column by column: column k holds the weights of `z_k`, as whole numbers of `1 / unit`.
    integers: Vec<f64>,
    /// The weights of the new response likewise, the last of them that of the response before, if
    /// it does not stay.
    response: Option<Vec<f64>>,
    /// How many steps of the grid make 1: a power of two.
    unit: f64,
    /// Where the variance of a binary response is taken, by whose root each row is multiplied
    /// afterwards.
    tilt: Option<Tilt>,
    /// How long a row may be afterwards, in units of the lattice: longer ones are shortened, and
    /// their responses with them.
    length: Option<u64>,
    /// Whether the cells of a row are followed by a copy of them before they are re-encoded, which
    /// is zero for one half of the units.
    beside_half: bool,
}

/// A point in the new coordinates, and its arithmetic.
#[derive(Clone, Debug, PartialEq)]
struct Tilt {
    theta: Theta,
    theta_unit: f64,
}

impl Whitening {
    /// Puts a matrix, one column for each new coordinate, on the finest grid on which `P'x` is
    /// exact for any row. Entries that are not finite become 0.
    pub fn new(matrix: MatRef<'_, f64>) -> Whitening {
        Whitening::of(matrix, None)
    }

    /// The same with another response: these weights of the cells, and the last of the response
    /// before.
    pub fn with_response(matrix: MatRef<'_, f64>, weights: &[f64]) -> Whitening {
        assert_eq!(weights.len(), matrix.nrows() + 1, "a weight for each cell of a row");
        Whitening::of(matrix, Some(weights))
    }

    fn of(matrix: MatRef<'_, f64>, response: Option<&[f64]>) -> Whitening {
        let (inputs, outputs) = (matrix.nrows(), matrix.ncols());
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        let entries = (0..outputs).flat_map(|k| (0..inputs).map(move |j| (j, k)));
        let values: Vec<f64> = entries.map(|at| finite(matrix[at])).collect();
        let weights: Option<Vec<f64>> = response.map(|weights| weights.iter().copied().map(finite).collect());
        let largest = values.iter().chain(weights.iter().flatten()).fold(0.0f64, |most, value| most.max(value.abs()));
        let unit = f64::from(grid_bits(largest, inputs + weights.iter().len())).exp2();
        let on_grid = |values: Vec<f64>| values.iter().map(|value| (value * unit).trunc()).collect();
        Whitening {
            inputs,
            outputs,
            integers: on_grid(values),
            response: weights.map(on_grid),
            unit,
            tilt: None,
            length: None,
            beside_half: false,
        }
    }

    /// The same, after which each row is multiplied by the root of its response's variance at a
    /// point, and cut towards zero: second moments are then the curvature of the likelihood there.
    #[must_use]
    pub fn tilted(self, theta: Theta, lattice: &Lattice) -> Whitening {
        Whitening { tilt: Some(Tilt { theta, theta_unit: lattice.theta_unit() }), ..self }
    }

    /// Where rows are tilted, if they are, and its unit.
    pub fn tilt(&self) -> Option<(&Theta, f64)> {
        self.tilt.as_ref().map(|tilt| (&tilt.theta, tilt.theta_unit))
    }

    /// The same, after which no row is longer than this many units of the lattice: a longer one is
    /// multiplied by what shortens it, and so is its response. That is a weight for its products
    /// which depends on the row's cells alone, and not on its response.
    #[must_use]
    pub fn shortened_to(self, length: Option<u64>) -> Whitening {
        Whitening { length, ..self }
    }

    /// The same for a matrix of twice as many rows as a row has cells: the second half of them is
    /// for a copy of the cells that is zero for the units of one half (`half.rs`).
    #[must_use]
    pub fn beside_half(self) -> Whitening {
        assert!(self.inputs.is_multiple_of(2), "the cells of a row, and as many more");
        Whitening { beside_half: true, ..self }
    }

    /// Whether it is for a row and a copy of it that is zero for one half of the units.
    pub fn is_beside_half(&self) -> bool {
        self.beside_half
    }

    /// How long a row may be afterwards, in units of the lattice, where that is bounded.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// A matrix by its whole numbers, column by column, those of a new response, and their grid,
    /// where sums are exact for any row.
    pub fn of_integers(
        inputs: usize,
        outputs: usize,
        integers: Vec<f64>,
        response: Option<Vec<f64>>,
        unit_bits: i32,
    ) -> Option<Whitening> {
        let all = || integers.iter().chain(response.iter().flatten());
        let largest = all().fold(0.0f64, |most, value| most.max(value.abs()));
        let sources = inputs.checked_add(response.iter().len())?;
        let is_exact = largest * nearest(sources.try_into().ok()?) <= power(EXACT_BITS - CELL_RANGE_BITS);
        let is_whole = integers.len() == inputs.checked_mul(outputs)? && all().all(|value| value.fract() == 0.0);
        let has_all = response.as_ref().is_none_or(|weights| weights.len() == sources);
        let is_sound = is_exact && is_whole && has_all && outputs > 0 && unit_bits.abs() <= MOST_UNIT_BITS;
        is_sound.then(|| Whitening {
            inputs,
            outputs,
            integers,
            response,
            unit: f64::from(unit_bits).exp2(),
            tilt: None,
            length: None,
            beside_half: false,
        })
    }

    /// The whole numbers, column by column, and which power of two of them makes 1.
    pub fn integers(&self) -> (&[f64], i32) {
        (&self.integers, log2_up(self.unit))
    }

    /// The whole numbers of the new response, where it does not stay.
    pub fn response(&self) -> Option<&[f64]> {
        self.response.as_deref()
    }

    /// The weights of the new response that are computed with, where it does not stay.
    pub(crate) fn response_weights(&self) -> Option<Vec<f64>> {
        let weights = self.response.as_ref()?;
        Some(weights.iter().map(|weight| weight / self.unit).collect())
    }

    /// How many coordinates there are afterwards.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The matrix that is computed with, exactly.
    pub fn matrix(&self) -> Mat<f64> {
        Mat::from_fn(self.inputs, self.outputs, |j, k| self.integers[k * self.inputs + j] / self.unit)
    }

    /// Whether rows stay as they are: cells are whole numbers below 2^19, which `x unit / unit`
    /// leaves alone.
    pub(crate) fn is_identity(&self) -> bool {
        let is_unit = |(place, &entry): (usize, &f64)| {
            entry == if place % self.inputs == place / self.inputs { self.unit } else { 0.0 }
        };
        let stays = self.response.is_none() && self.tilt.is_none() && self.length.is_none();
        stays && !self.beside_half && self.inputs == self.outputs && self.integers.iter().enumerate().all(is_unit)
    }

    /// The rows of a buffer of blocks re-encoded: rows that stand for themselves, or groups of
    /// persons of these depths.
    pub fn encode(&self, kernel: Kernel, cells: &[f32], depths: &[u32]) -> Vec<f32> {
        self.reencoded(kernel, cells, depths).cells
    }

    /// The same, with their squared norms.
    pub(crate) fn reencoded(&self, kernel: Kernel, cells: &[f32], depths: &[u32]) -> Reencoded {
        let mut encoded = Reencoded::default();
        self.encode_into(kernel, cells, depths, &mut encoded);
        encoded
    }

    /// The same in the place of what was there.
    pub(crate) fn encode_into(&self, kernel: Kernel, cells: &[f32], depths: &[u32], encoded: &mut Reencoded) {
        let beside = self.beside_half.then(|| with_half(cells, self.inputs / 2, depths));
        let cells = beside.as_deref().unwrap_or(cells);
        let blocks = cells.len() / RowBlock::len_for(self.inputs);
        encoded.cells.resize(blocks * RowBlock::len_for(self.outputs), 0.0);
        encoded.norms_sq.resize(blocks * BLOCK_ROWS, 0.0);
        let Reencoded { cells: encoded, norms_sq } = encoded;
        kernel.run(EncodeWork { whitening: self, cells, encoded, norms_sq });
    }

    /// Re-encodes blocks where they are, a few at a time: there are no more coordinates after than
    /// before, so that none is overwritten before it is read.
    pub(crate) fn encode_in_place(&self, kernel: Kernel, mut cells: Vec<f32>) -> Reencoded {
        let is_smaller = !self.beside_half && self.outputs <= self.inputs;
        assert!(is_smaller, "no more coordinates than there were");
        let length = RowBlock::len_for(self.inputs);
        let mut norms_sq = Vec::with_capacity(cells.len() / length * BLOCK_ROWS);
        let (together, mut encoded, mut done) = (IN_PLACE * length, Reencoded::default(), 0);
        for start in (0..cells.len()).step_by(together) {
            let end = cells.len().min(start + together);
            self.encode_into(kernel, &cells[start..end], &[], &mut encoded);
            cells[done..done + encoded.cells.len()].copy_from_slice(&encoded.cells);
            norms_sq.extend_from_slice(&encoded.norms_sq);
            done += encoded.cells.len();
        }
        cells.truncate(done);
        Reencoded { cells, norms_sq }
    }
}

/// Blocks of re-encoded rows, with the squared norms of these.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Reencoded {
    pub(crate) cells: Vec<f32>,
    pub(crate) norms_sq: Vec<f64>,
}

struct EncodeWork<'a> {
    whitening: &'a Whitening,
    cells: &'a [f32],
    encoded: &'a mut [f32],
    norms_sq: &'a mut [f64],
}

impl Work for EncodeWork<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // Coordinates that are worked out together, and for how many vectors of rows: as many sums
        // as the registers hold.
        if S::PARTS == 1 { self.blocks::<S, 6, 4>(simd) } else { self.blocks::<S, 6, 1>(simd) }
    }
}

impl EncodeWork<'_> {
    #[inline(always)]
    fn blocks<S: Simd, const TOGETHER: usize, const ABREAST: usize>(mut self, simd: S) {
        let Whitening { inputs, outputs, .. } = *self.whitening;
        let (before, after) = (RowBlock::len_for(inputs), RowBlock::len_for(outputs));
        // A response that is made anew is a column like any other, and so is the one before.
        let made = usize::from(self.whitening.response.is_some());
        let mut wide = vec![[[0.0; LANES]; VECTORS]; inputs + made];
        let rules = self.rules::<TOGETHER>();
        let (encoded, norms_sq) = (std::mem::take(&mut self.encoded), std::mem::take(&mut self.norms_sq));
        let places = encoded.chunks_exact_mut(after).zip(norms_sq.as_chunks_mut().0);
        for (block, (out, norms_sq)) in self.cells.chunks_exact(before).zip(places) {
            let block = Block(block);
            for (index, wide) in wide.iter_mut().enumerate() {
                for (cells, wide) in block.column(index).iter().zip(wide) {
                    simd.store(simd.widen(cells), wide);
                }
            }
            let (columns, response) = out.split_at_mut((outputs + made) * BLOCK_ROWS);
            for (columns, (used, rules)) in columns.chunks_mut(TOGETHER * BLOCK_ROWS).zip(&rules) {
                self.coordinates::<S, TOGETHER, ABREAST>(simd, &wide[used.clone()], rules, columns);
            }
            if made == 0 {
                response.copy_from_slice(block.column(inputs).as_flattened());
            }
            if let Some(tilt) = &self.whitening.tilt {
                tilt.apply(simd, out);
            }
            *norms_sq = stored(simd, Block(out).norms_sq(simd));
            if let Some(length) = self.whitening.length {
                shorten(out, length, norms_sq);
            }
        }
    }

    /// The weights of coordinates that are worked out together, for each of the cells that they are
    /// made of: cells before the first that counts and after the last are left out. Zeros for
    /// coordinates beyond the last.
    #[inline(always)]
    fn rules<const TOGETHER: usize>(&self) -> Vec<(Range<usize>, Vec<[f64; TOGETHER]>)> {
        let Whitening { inputs, ref integers, ref response, .. } = *self.whitening;
        let columns: Vec<&[f64]> = integers.chunks_exact(inputs).chain(response.as_deref()).collect();
        let together = |columns: &[&[f64]]| {
            let mut rules = vec![[0.0; TOGETHER]; inputs + response.iter().len()];
            for (k, column) in columns.iter().enumerate() {
                rules.iter_mut().zip(*column).for_each(|(rule, &weight)| rule[k] = weight);
            }
            let counts = |rule: &[f64; TOGETHER]| rule.iter().any(|&weight| weight != 0.0);
            let first = rules.iter().position(counts).unwrap_or(0);
            let end = rules.iter().rposition(counts).map_or(first, |last| last + 1);
            (first..end, rules[first..end].to_vec())
        };
        columns.chunks(TOGETHER).map(together).collect()
    }

    /// Some `z_k` of every row of a block: exact sums, rounded once, saturated as any cell.
    #[inline(always)]
    fn coordinates<S: Simd, const TOGETHER: usize, const ABREAST: usize>(
        &self,
        simd: S,
        rows: &[[[f64; LANES]; VECTORS]],
        rules: &[[f64; TOGETHER]],
        out: &mut [f32],
    ) {
        // The unit is a power of two: its inverse is exact, and so is a product with it.
        let step = 1.0 / self.whitening.unit;
        for first in (0..VECTORS).step_by(ABREAST) {
            let mut sums = [[simd.splat(0.0); ABREAST]; TOGETHER];
            for (row, rule) in rows.iter().zip(rules) {
                let wide: &[[f64; LANES]; ABREAST] = row[first..].first_chunk().expect("they divide a block");
                let mut cells = [simd.splat(0.0); ABREAST];
                for (cells, wide) in cells.iter_mut().zip(wide) {
                    *cells = simd.load(wide);
                }
                for (sums, &weight) in sums.iter_mut().zip(rule) {
                    let weight = simd.splat(weight);
                    for (sum, cells) in sums.iter_mut().zip(cells) {
                        *sum = simd.mul_add(cells, weight, *sum);
                    }
                }
            }
            for (sums, out) in sums.iter().zip(out.chunks_exact_mut(BLOCK_ROWS)) {
                for (sum, out) in sums.iter().zip(out[first * LANES..].as_chunks_mut::<LANES>().0) {
                    let mut exact = [0.0; LANES];
                    simd.store(*sum, &mut exact);
                    *out = exact.map(|sum| nearest_cell(sum * step));
                }
            }
        }
    }
}

impl Tilt {
    /// Multiplies the cells of a block, but not its responses. A rule about one row, which makes
    /// none longer.
    #[inline(always)]
    fn apply<S: Simd>(&self, simd: S, block: &mut [f32]) {
        let variances = Block(block).variances(simd, &self.theta, self.theta_unit);
        let (cells, _) = block.split_at_mut(block.len() - BLOCK_ROWS);
        for column in cells.as_chunks_mut::<BLOCK_ROWS>().0 {
            for (cell, variance) in column.iter_mut().zip(&variances) {
                *cell = narrow((f64::from(*cell) * variance.sqrt()).trunc());
            }
        }
    }
}

/// Shortens the rows of a block that are longer than `length`, each with its response by one
/// factor. Squared norms are exact: cells are below 2^19 and there are fewer than 2^15 of them.
fn shorten(block: &mut [f32], length: u64, norms_sq: &mut [f64; BLOCK_ROWS]) {
    let features = block.len() - BLOCK_ROWS;
    for (row, norm_sq) in norms_sq.iter_mut().enumerate() {
        let cells = block[..features].iter().skip(row).step_by(BLOCK_ROWS).copied();
        let factor = factor(natural(*norm_sq), length, 1.0, cells);
        if factor < 1.0 {
            let cells = block.iter_mut().skip(row).step_by(BLOCK_ROWS);
            cells.for_each(|cell| *cell = nearest_cell(cut(f64::from(*cell) * factor)));
            let cells = block[..features].iter().skip(row).step_by(BLOCK_ROWS);
            *norm_sq = cells.map(|&cell| f64::from(cell).powi(2)).sum();
        }
    }
}

/// The most bits for which `p 2^19 |P| 2^bits <= 2^53`.
fn grid_bits(largest: f64, size: usize) -> i32 {
    let room = (EXACT_BITS - CELL_RANGE_BITS - size.next_power_of_two().trailing_zeros()).cast_signed();
    if largest > 0.0 { (room - log2_up(largest)).min(FINEST_BITS) } else { 0 }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn block(rows: &[Vec<i64>], size: usize) -> Vec<f32> {
        let mut buffer = vec![0.0; RowBlock::len_for(size)];
        for (lane, row) in rows.iter().enumerate() {
            row.iter().enumerate().for_each(|(j, &cell)| buffer[j * BLOCK_ROWS + lane] = cell as f32);
        }
        buffer
    }

    /// Division to the nearest whole number, ties to even, in integers.
    fn nearest(sum: i128, unit: i128) -> i128 {
        let (down, rest) = (sum.div_euclid(unit), sum.rem_euclid(unit));
        match (2 * rest).cmp(&unit) {
            std::cmp::Ordering::Less => down,
            std::cmp::Ordering::Greater => down + 1,
            std::cmp::Ordering::Equal => down + down.rem_euclid(2),
        }
    }

    /// A square matrix with entries of about a scale, weights of a new response where there is one,
    /// and rows of cells with a response at the end.
    fn matrices_and_rows() -> impl Strategy<Value = (Mat<f64>, Option<Vec<f64>>, Vec<Vec<i64>>)> {
        let sized = (1..18usize, prop_oneof![Just(0.01), Just(1.0), Just(40.0)]);
        sized.prop_flat_map(|(size, scale)| {
            let matrix = vec(-scale..scale, size * size)
                .prop_map(move |entries| Mat::from_fn(size, size, |j, k| entries[j * size + k]));
            let response = proptest::option::of(vec(-scale..scale, size + 1));
            (matrix, response, vec(vec(-(1i64 << 19)..=1 << 19, size + 1), BLOCK_ROWS))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]
        #[test]
        fn rows_are_the_exact_product_rounded_once((matrix, response, rows) in matrices_and_rows()) {
            let size = matrix.nrows();
            let whitening = Whitening::of(matrix.as_ref(), response.as_deref());
            let buffer = block(&rows, size);
            let out = whitening.reencoded(Kernel::best(), &buffer, &[]);
            for kernel in Kernel::available() {
                prop_assert_eq!(&whitening.reencoded(kernel, &buffer, &[]), &out, "{}", kernel.name());
            }
            let out = out.cells;
            // A grid finer than 1 for small matrices, whole numbers for none of these.
            let unit = whitening.unit as i128;
            prop_assert!(unit > 1);
            for (lane, row) in rows.iter().enumerate() {
                for (k, weights) in whitening.integers.chunks(size).chain(whitening.response()).enumerate() {
                    let sum: i128 = row.iter().zip(weights).map(|(&x, &w)| i128::from(x) * w as i128).sum();
                    let expected = nearest(sum, unit).clamp(-(1 << 19), 1 << 19);
                    prop_assert_eq!(out[k * BLOCK_ROWS + lane] as i128, expected);
                }
                if response.is_none() {
                    prop_assert_eq!(out[size * BLOCK_ROWS + lane], buffer[size * BLOCK_ROWS + lane]);
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]
        /// Short rows stay as they are; a long one becomes as long as it may be, up to the cutting
        /// of cells, and its response goes with it.
        #[test]
        fn long_rows_are_shortened_with_their_responses((matrix, _, rows) in matrices_and_rows(), length in 1u64..1 << 20) {
            let (size, whitening) = (matrix.nrows(), Whitening::new(matrix.as_ref()));
            let buffer = block(&rows, size);
            let as_is = whitening.encode(Kernel::best(), &buffer, &[]);
            let Reencoded { cells: out, norms_sq } =
                whitening.shortened_to(Some(length)).reencoded(Kernel::best(), &buffer, &[]);
            for (lane, norm_sq) in norms_sq.into_iter().enumerate() {
                let row = |block: &[f32]| -> Vec<f64> { block.iter().skip(lane).step_by(BLOCK_ROWS).map(|&x| x.into()).collect() };
                let (before, after) = (row(&as_is), row(&out));
                let norm = |row: &[f64]| row[..size].iter().map(|x| x * x).sum::<f64>().sqrt();
                prop_assert!(norm(&after) <= length as f64);
                prop_assert_eq!(norm_sq, after[..size].iter().map(|x| x * x).sum::<f64>());
                let factor = (length as f64 / norm(&before)).min(1.0);
                prop_assert!(before.iter().zip(&after).all(|(x, y)| (y - factor * x).abs() <= 1.0 + 1e-5 * x.abs()));
                prop_assert!(factor < 1.0 || before == after);
            }
        }
    }

    #[test]
    fn sums_stay_below_two_to_the_53() {
        for size in [1, 2, 3, 10, 100, 1000] {
            for largest in [1e-9, 0.3, 1.0, 17.0, 1e6] {
                let whitening = Whitening::new(Mat::full(size, size, largest).as_ref());
                let most = whitening.integers[0] * f64::from(1u32 << CELL_RANGE_BITS) * size as f64;
                assert!(most <= f64::from(EXACT_BITS).exp2(), "{size} {largest}");
                assert!((whitening.matrix()[(0, 0)] / largest - 1.0).abs() < 1e-6, "{size} {largest}");
            }
        }
    }

    #[test]
    fn what_is_not_a_number_becomes_nothing() {
        let whitening = Whitening::new(Mat::from_fn(2, 2, |j, k| if j == k { f64::NAN } else { 1.0 }).as_ref());
        assert_eq!(whitening.matrix(), Mat::from_fn(2, 2, |j, k| if j == k { 0.0 } else { 1.0 }));
    }
}
