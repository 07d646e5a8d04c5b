//! The sums over one block of rows. Everything here is exact, so any order gives the same bits.

use super::{BLOCK_ROWS, Clip, RowBlock, Theta};

type Lanes = [f64; BLOCK_ROWS];

/// `2^s Y - X . Theta` for the rows of a block: integers below 2^53 by [`Lattice::plan`](super::Lattice::plan).
pub(crate) fn residuals(block: RowBlock<'_>, theta: &Theta, theta_unit: f64) -> Lanes {
    let mut residual: Lanes = block.response().map(|y| f64::from(y) * theta_unit);
    for (column, &theta) in block.columns().zip(theta.integers()) {
        for (residual, &x) in residual.iter_mut().zip(column) {
            *residual -= f64::from(x) * theta;
        }
    }
    residual
}

/// Adds the block's `sum_i X_i clamp(r_i, -B_i, B_i)` to `sums`.
pub(crate) fn pull_of_block(
    block: RowBlock<'_>,
    mut residual: Lanes,
    bounds: &[f32; BLOCK_ROWS],
    clip: &Clip,
    sums: &mut [i128],
) {
    for (residual, &bound) in residual.iter_mut().zip(bounds) {
        *residual = residual.clamp(-f64::from(bound), f64::from(bound));
    }
    if clip.sums_in_one_product() {
        add_products(block, &residual, sums);
    } else {
        let (high, low) = split(&residual);
        add_products(block, &high, sums);
        add_products(block, &low, sums);
    }
}

/// `2^27`: the upper half of a residual is a multiple of it.
const HALF: f64 = 134_217_728.0;

/// Residuals as the sum of a multiple of 2^27 and a remainder of at most 2^26, so that products with cells sum exactly.
fn split(residual: &Lanes) -> (Lanes, Lanes) {
    let high = residual.map(|value| (value / HALF).round_ties_even() * HALF);
    let mut low = *residual;
    low.iter_mut().zip(&high).for_each(|(low, high)| *low -= high);
    (high, low)
}

fn add_products(block: RowBlock<'_>, weights: &Lanes, sums: &mut [i128]) {
    for (column, sum) in block.columns().zip(sums) {
        *sum += dot(column, weights) as i128;
    }
}

/// Eight running sums keep the processor's lanes busy; exactness makes their order irrelevant.
fn dot(column: &[f32; BLOCK_ROWS], weights: &Lanes) -> f64 {
    let mut sums = [0.0; 8];
    for (cells, weights) in column.as_chunks::<8>().0.iter().zip(weights.as_chunks::<8>().0) {
        for ((sum, &cell), &weight) in sums.iter_mut().zip(cells).zip(weights) {
            *sum += f64::from(cell) * weight;
        }
    }
    sums.iter().sum()
}

/// The squared norm of each row, exactly.
pub(crate) fn norms_sq(block: RowBlock<'_>) -> [u64; BLOCK_ROWS] {
    let mut norms = [0; BLOCK_ROWS];
    for column in block.columns() {
        for (norm, &x) in norms.iter_mut().zip(column) {
            let x = x as i64;
            *norm += (x * x) as u64;
        }
    }
    norms
}

/// How many rows of a block are clipped: `|r_i| > B_i`. A row of zeros is not.
pub(crate) fn clipped_in_block(residual: &Lanes, bounds: &[f32; BLOCK_ROWS], norms: &[u64; BLOCK_ROWS]) -> u64 {
    let rows = residual.iter().zip(bounds).zip(norms);
    rows.filter(|((residual, bound), norm)| residual.abs() > f64::from(**bound) && **norm > 0).count() as u64
}

/// Sum over a block of `floor(||X_i clamp(r_i, -B_i, B_i)||^2 / 2^shift)`.
pub(crate) fn square_of_block(
    residual: &Lanes,
    bounds: &[f32; BLOCK_ROWS],
    norms: &[u64; BLOCK_ROWS],
    shift: u32,
) -> i128 {
    let rows = residual.iter().zip(bounds).zip(norms);
    let squares = rows.map(|((&residual, &bound), &norm)| {
        let weight = residual.abs().min(f64::from(bound)) as u128;
        (weight * weight * u128::from(norm)) >> shift
    });
    squares.sum::<u128>() as i128
}
