//! Rows with a byte for each cell: a quarter of the memory to go through, and enough to tell which
//! rows are surely not clipped.
//!
//! With `X = 2^m Q + E`, `Q` in bytes, and `d = s k + f`, `k` whole numbers, `X . d` is within
//! `||E|| ||d|| + ||2^m Q|| ||f||` of `2^m s (Q . k)`, by Cauchy and Schwarz. What is told apart is
//! rounded so that a row that may be clipped is never said not to be.

use super::{
    BLOCK_ROWS, Kernel, RowBlock, Theta,
    exact::{integer, power, saturated},
    simd::{Simd, Work},
};

/// The largest size of a cell in a byte.
const LARGEST: f64 = 127.0;
/// Numbers of the displacement have at most this size, or less where rows are so wide that sums
/// would not fit 32 bits.
const LARGEST_STEP: f64 = 32_767.0;
const LARGEST_SUM: f64 = 2_147_483_647.0;
/// Room for rounding in comparisons; far more than `f64` needs.
const SLACK: f64 = 1e-9;

/// Blocks of rows, a byte for each cell.
pub(crate) struct CoarseRows {
    features: usize,
    shift: u32,
    cells: Vec<i8>,
    rows: Vec<CoarseRow>,
}

/// What is known of a row beside its coarse cells.
#[derive(Clone, Copy)]
struct CoarseRow {
    /// The residual at the centre.
    residual: f64,
    /// At least `||E||` and `||2^m Q||`.
    error: f64,
    length: f64,
}

/// How far parameters are from the centre, in numbers of 16 bits.
pub(crate) struct Displacement {
    steps: Vec<i32>,
    /// What one of them is.
    unit: f64,
    /// At least `||d||` and `||f||`.
    length: f64,
    error: f64,
}

impl Displacement {
    /// From `centre` to `theta`.
    pub(crate) fn new(centre: &Theta, theta: &Theta) -> Displacement {
        let gaps: Vec<f64> = theta.integers().iter().zip(centre.integers()).map(|(to, from)| to - from).collect();
        let largest = gaps.iter().fold(0f64, |most, gap| most.max(gap.abs()));
        let unit = (largest / steps_for(gaps.len())).max(f64::MIN_POSITIVE);
        let steps: Vec<f64> = gaps.iter().map(|gap| (gap / unit).round()).collect();
        let errors = gaps.iter().zip(&steps).map(|(gap, step)| gap - step * unit);
        Displacement {
            unit,
            length: norm_up(gaps.iter().copied()),
            // Rounding of the product is a part of the gap itself.
            error: norm_up(errors) + SLACK * norm_up(gaps.iter().copied()),
            steps: steps.iter().map(|&step| i32::try_from(saturated(step)).expect("16 bits and a half")).collect(),
        }
    }
}

/// The largest size of a step for which `p` products with bytes add up to less than 2^31: the sum
/// of `|Q| |k|` is at most `127 p` times it.
fn steps_for(features: usize) -> f64 {
    LARGEST_STEP.min((LARGEST_SUM / (LARGEST * super::exact::count(features.max(1)))).floor() - 1.0)
}

/// At least the norm.
fn norm_up(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt() * (1.0 + SLACK)
}

impl CoarseRows {
    /// The shift with which cells of up to this size fit a byte.
    pub(crate) fn shift_for(largest: f64) -> u32 {
        (0..=super::CELL_RANGE_BITS).find(|&shift| largest <= LARGEST * power(shift)).unwrap_or(super::CELL_RANGE_BITS)
    }

    /// Rows of a buffer of blocks; cells that do not fit saturate.
    pub(crate) fn new(
        kernel: Kernel,
        cells: &[f32],
        features: usize,
        shift: u32,
        (centre, theta_unit): (&Theta, f64),
    ) -> CoarseRows {
        let blocks = cells.len() / RowBlock::len_for(features);
        let mut coarse = CoarseRows {
            features,
            shift,
            cells: Vec::with_capacity(blocks * features * BLOCK_ROWS),
            rows: Vec::with_capacity(blocks * BLOCK_ROWS),
        };
        for block in RowBlock::all(cells, features) {
            let residuals = super::residuals(kernel, block, centre, theta_unit);
            coarse.add(kernel, block, &residuals);
        }
        coarse
    }

    fn add(&mut self, kernel: Kernel, block: RowBlock<'_>, residuals: &[f64; BLOCK_ROWS]) {
        let unit = power(self.shift);
        let (errors, lengths) = kernel.run(Coarsen { block, unit, to: &mut self.cells });
        for ((&residual, error), length) in residuals.iter().zip(errors).zip(lengths) {
            // Sums of squares of whole numbers below 2^20, and of fewer than 2^14: exact.
            self.rows.push(CoarseRow {
                residual,
                error: error.sqrt() * (1.0 + SLACK),
                length: length.sqrt() * (1.0 + SLACK),
            });
        }
    }

    /// Shows the rows of each block that may be clipped: the block's number, and a bit for each of
    /// them.
    pub(crate) fn for_each_undecided(
        &self,
        kernel: Kernel,
        bounds: &[f32],
        displacement: &Displacement,
        see: &mut dyn FnMut(usize, u32),
    ) {
        kernel.run(Judge { rows: self, bounds: bounds.as_chunks().0, displacement, see });
    }
}

/// Brings the cells of a block to bytes; gives the squares of what is lost and of what is left of
/// each row.
struct Coarsen<'a> {
    block: RowBlock<'a>,
    unit: f64,
    to: &'a mut Vec<i8>,
}

impl Work for Coarsen<'_> {
    type Output = ([f64; BLOCK_ROWS], [f64; BLOCK_ROWS]);

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Self::Output {
        let (mut errors, mut lengths) = ([0.0; BLOCK_ROWS], [0.0; BLOCK_ROWS]);
        for column in self.block.columns() {
            let mut bytes = [0i8; BLOCK_ROWS];
            for row in 0..BLOCK_ROWS {
                let cell = f64::from(column[row]);
                let coarse = (cell / self.unit).round_ties_even().clamp(-LARGEST, LARGEST);
                let (left, lost) = (coarse * self.unit, cell - coarse * self.unit);
                errors[row] += lost * lost;
                lengths[row] += left * left;
                bytes[row] = i8::try_from(integer(coarse)).expect("between -127 and 127");
            }
            self.to.extend_from_slice(&bytes);
        }
        (errors, lengths)
    }
}

struct Judge<'a> {
    rows: &'a CoarseRows,
    bounds: &'a [[f32; BLOCK_ROWS]],
    displacement: &'a Displacement,
    see: &'a mut dyn FnMut(usize, u32),
}

impl Work for Judge<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Displacement { steps, unit, length, error } = self.displacement;
        let unit = unit * power(self.rows.shift);
        let cells = self.rows.cells.chunks_exact(self.rows.features * BLOCK_ROWS);
        let rows = self.rows.rows.as_chunks::<BLOCK_ROWS>().0;
        for (index, ((cells, rows), bounds)) in cells.zip(rows).zip(self.bounds).enumerate() {
            // Below 2^31 by the size of the steps, whatever the cells.
            let mut sums = [0i32; BLOCK_ROWS];
            for (column, &step) in cells.as_chunks::<BLOCK_ROWS>().0.iter().zip(steps) {
                for (sum, &cell) in sums.iter_mut().zip(column) {
                    *sum += i32::from(cell) * step;
                }
            }
            let mut undecided = 0;
            for row in 0..BLOCK_ROWS {
                let moved = unit * f64::from(sums[row]);
                let off = rows[row].error * length + rows[row].length * error;
                let most = (rows[row].residual - moved).abs() + off;
                let room = SLACK * (rows[row].residual.abs() + moved.abs() + off);
                undecided |= u32::from(most + room > f64::from(bounds[row])) << row;
            }
            if undecided != 0 {
                (self.see)(index, undecided);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::lattice::{Clip, Lattice, bounds, residuals};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        /// Cells of all sizes up to the largest, more of them than fit a byte at this shift, and
        /// displacements of all sizes up to the largest.
        #[test]
        fn no_row_that_is_clipped_is_missed(
            features in 1..40usize,
            bits in 1..=19u32,
            shift in 0..=13u32,
            gamma_bits in 20..60u32,
            far in -24..=7i32,
            seeds in vec(-1.0..=1.0f64, 64),
        ) {
            let lattice = Lattice::plan(1000, features, 1.0, 1e-3).expect("a lattice");
            let number = |i: usize| seeds[(i * 31 + i / 7) % seeds.len()];
            let cells: Vec<f32> = (0..RowBlock::len_for(features)).map(|i| (number(i) * power(bits)).round() as f32).collect();
            let theta = |scale: f64, from: usize| {
                let values: Vec<f64> = (0..features).map(|j| scale * number(j + from)).collect();
                lattice.theta(&values)
            };
            let (centre, theta) = (theta(1.0, 3), theta(f64::from(far).exp2(), 11));
            let clip = Clip::new(1 << gamma_bits);
            for kernel in Kernel::available() {
                let coarse = CoarseRows::new(kernel, &cells, features, shift, (&centre, lattice.theta_unit()));
                let bounds = bounds(kernel, &cells, features, &clip);
                let mut undecided = 0;
                let displacement = Displacement::new(&centre, &theta);
                coarse.for_each_undecided(kernel, &bounds, &displacement, &mut |_, rows| undecided = rows);
                let block = RowBlock::all(&cells, features).next().expect("one block");
                let residual = residuals(kernel, block, &theta, lattice.theta_unit());
                for row in 0..BLOCK_ROWS {
                    let is_clipped = residual[row].abs() > f64::from(bounds[row]);
                    prop_assert!(!is_clipped || undecided >> row & 1 == 1, "row {row}, {}", kernel.name());
                }
            }
        }
    }

    /// Normal cells and a clip of many deviations: next to no row is undecided.
    #[test]
    fn most_rows_are_decided() {
        let features = 50;
        let lattice = Lattice::plan(1000, features, 35.0, 1e-3).expect("a lattice");
        let cells: Vec<f32> = (0..RowBlock::len_for(features)).map(|i| ((i * 7919) % 16_384) as f32 - 8192.0).collect();
        let centre = lattice.theta(&vec![0.0; features]);
        let theta = lattice.theta(&(0..features).map(|j| if j % 2 == 0 { 0.05 } else { -0.05 }).collect::<Vec<_>>());
        let bounds = bounds(Kernel::best(), &cells, features, &lattice.clip(35.0));
        let coarse = CoarseRows::new(
            Kernel::best(),
            &cells,
            features,
            CoarseRows::shift_for(8192.0),
            (&centre, lattice.theta_unit()),
        );
        let mut undecided = 0;
        let displacement = Displacement::new(&centre, &theta);
        coarse
            .for_each_undecided(Kernel::best(), &bounds, &displacement, &mut |_, rows| undecided += rows.count_ones());
        assert_eq!(undecided, 0);
    }
}
