//! Sums of outer products `v_i v_i'`, one short integer vector for each row: curvature and the
//! covariance of gradients.
//!
//! A person with several rows contributes `A = sum_i v_i v_i'` over their rows instead, with
//! `||A||_F <= radius^2` where a row has `||v||^2 <= radius^2`, or, of gradients, the outer product
//! of the clipped sum.

use super::{
    BLOCK_ROWS, CELL_RANGE_BITS, Clip, Kernel, Link, RowBlock, Theta,
    exact::{integer, natural, nearest, power},
    gram::GramSum,
    kernel,
    simd::{Simd, Work},
    unit::{UnitClip, UnitGradients, UnitGroup, frobenius_sq, frobenius_sq_of},
};

type Bounds = [f32; BLOCK_ROWS];

/// Which vector `v_i` a row contributes. Each rule looks at one row, or at the rows of one person,
/// and bounds what comes of it in exact integers.
pub enum Outer<'a> {
    /// The row itself, shrunk to norm at most `radius`.
    Shrunk {
        /// The largest norm, in lattice units of a cell.
        radius: u64,
    },
    /// The row shrunk to norm at most `radius`, for rows whose residual at `theta` is at most
    /// `residual`; the others contribute nothing. For rows that stand for themselves only.
    Within {
        /// Where residuals are taken.
        theta: &'a Theta,
        /// The unit of `theta`.
        theta_unit: f64,
        /// The largest norm, in lattice units of a cell.
        radius: u64,
        /// The largest residual, in lattice units of a residual.
        residual: u64,
    },
}

/// Which vector a row contributes under a clip.
pub enum ClippedOuter<'a> {
    /// The row shrunk to norm at most `radius`, for rows that are not clipped at `theta`; the
    /// others contribute nothing.
    ///
    /// The sum `v` of a person's gradients that is clipped by a factor `f` still moves across its
    /// own direction: such a person contributes `f P A P`, `P = I - vv' / ||v||^2`, which for one
    /// row is nothing.
    ///
    /// Where responses are binary every row contributes, times the root of its response's variance
    /// and of the weight that it is clipped with, which does not depend on its response: a person's
    /// rows by the factor of the person.
    Unclipped {
        /// Where the clip is judged.
        theta: &'a Theta,
        /// The unit of `theta`.
        theta_unit: f64,
        /// The largest norm, in lattice units of a cell.
        radius: u64,
    },
    /// The clipped gradient at `theta`, divided by 2^shift and cut towards zero, with the shift of
    /// [`Clip::gradient_shift`].
    Gradient {
        /// Where the gradient is taken.
        theta: &'a Theta,
        /// The unit of `theta`.
        theta_unit: f64,
    },
}

impl Outer<'_> {
    /// The largest norm of a row's vector, whatever the row holds.
    ///
    /// Shrinking is checked in integers. The sum of outer products of a person with several rows
    /// has Frobenius norm at most the square of this.
    pub(crate) fn largest_norm(&self) -> u128 {
        let (Outer::Shrunk { radius } | Outer::Within { radius, .. }) = self;
        u128::from(*radius)
    }

    /// Adds the outer products of a buffer of blocks.
    pub(crate) fn add_to(&self, sum: &mut GramSum, kernel: Kernel, buffer: &[f32], features: usize) {
        for block in RowBlock::all(buffer, features) {
            match self {
                Outer::Shrunk { radius } => add_shrunk(sum, kernel, block, *radius, |_| true),
                Outer::Within { theta, theta_unit, radius, residual: most } => {
                    let (residual, most) = (kernel::residuals(kernel, block, theta, *theta_unit), (*most).into());
                    add_shrunk(sum, kernel, block, *radius, |row| residual[row].abs() <= nearest(most));
                }
            }
        }
    }

    /// Adds what persons with several rows contribute, the 32 of a group.
    pub(crate) fn add_group(&self, sum: &mut GramSum, kernel: Kernel, group: UnitGroup<'_>) {
        match self {
            Outer::Shrunk { radius } => add_persons(sum, kernel, group, *radius, None),
            Outer::Within { .. } => {
                unreachable!("bounds on single residuals are for rows, and plans for persons refuse them")
            }
        }
    }
}

impl ClippedOuter<'_> {
    /// The largest norm of a row's vector, whatever the row holds.
    ///
    /// As for [`Outer`]; and a clipped gradient has norm at most `gamma`, so divided by 2^shift and
    /// cut towards zero at most `gamma / 2^shift`.
    pub(crate) fn largest_norm(&self, clip: &Clip) -> u128 {
        match self {
            ClippedOuter::Unclipped { radius, .. } => u128::from(*radius),
            ClippedOuter::Gradient { .. } => (clip.gamma() >> clip.gradient_shift()) + 1,
        }
    }

    /// Adds the outer products of a block, with the bounds of its rows under the clip.
    pub(crate) fn add_block(
        &self,
        sum: &mut GramSum,
        kernel: Kernel,
        (block, bounds): (RowBlock<'_>, &Bounds),
        clip: &Clip,
    ) {
        match self {
            ClippedOuter::Unclipped { theta, theta_unit, radius } => match theta.link {
                Link::Identity => {
                    let residual = kernel::residuals(kernel, block, theta, *theta_unit);
                    add_shrunk(sum, kernel, block, *radius, |row| residual[row].abs() <= f64::from(bounds[row]));
                }
                Link::Logistic => {
                    let largest = kernel::sizes(kernel, block, theta, *theta_unit);
                    let variances = kernel::variances(kernel, block, theta, *theta_unit);
                    let weight =
                        |row: usize| variances[row] * (f64::from(bounds[row]) / largest[row].max(1.0)).min(1.0);
                    let norms = kernel::norms_sq(kernel, block).map(natural);
                    sum.add_columns(&shrunk(block, &norms, *radius, |row| weight(row).sqrt()));
                }
            },
            ClippedOuter::Gradient { theta, theta_unit } => {
                let weights = kernel::limited(kernel, block, bounds, theta, *theta_unit);
                let shift = clip.gradient_shift();
                sum.add_columns(&kernel.run(GradientWork { block, weights: &weights, shift }));
            }
        }
    }

    /// Adds what persons with several rows contribute, the 32 of a group; `reach` is where their
    /// residuals saturate.
    pub(crate) fn add_group(
        &self,
        sum: &mut GramSum,
        kernel: Kernel,
        (group, reach): (UnitGroup<'_>, &Bounds),
        clip: &Clip,
    ) {
        let (ClippedOuter::Unclipped { theta, theta_unit, .. } | ClippedOuter::Gradient { theta, theta_unit }) = self;
        let (on_grid, mut gradients) = (UnitClip::new(clip), UnitGradients::default());
        gradients.take(kernel, (group, reach), (theta, *theta_unit), &on_grid);
        match self {
            ClippedOuter::Unclipped { radius, .. } if theta.link == Link::Logistic => {
                let factors = gradients.factors(&on_grid);
                add_varying_persons(sum, kernel, group, *radius, (theta, *theta_unit), &factors);
            }
            ClippedOuter::Unclipped { radius, .. } => {
                add_persons(sum, kernel, group, *radius, Some((&gradients, &gradients.factors(&on_grid))));
            }
            ClippedOuter::Gradient { .. } => sum.add_columns(&gradients.shortened(&on_grid, clip.gradient_shift())),
        }
    }
}

/// Norms of persons are bounded by this even where the radius is larger, so that its fourth power
/// fits `u128`.
const MOST_RADIUS: u64 = 1 << 31;

/// Whether `||A||_F <= radius^2`, from `||A||_F^2`.
pub(super) fn is_light(frobenius_sq: u128, radius: u64) -> bool {
    frobenius_sq <= u128::from(radius.min(MOST_RADIUS)).pow(4)
}

/// Adds the rows of persons, those of a person scaled alike so that `||A||_F <= radius^2`.
/// `clipped` has the sums of gradients and the factors they are clipped by.
fn add_persons(
    sum: &mut GramSum,
    kernel: Kernel,
    group: UnitGroup<'_>,
    radius: u64,
    clipped: Option<(&UnitGradients, &[f64; BLOCK_ROWS])>,
) {
    let squares = frobenius_sq(kernel, group);
    let is_clipped = |lane: usize| clipped.is_some_and(|(_, factors)| factors[lane] < 1.0);
    let changed: Vec<usize> =
        (0..BLOCK_ROWS).filter(|&lane| is_clipped(lane) || !is_light(squares[lane], radius)).collect();
    if changed.is_empty() {
        return group.blocks().for_each(|block| sum.add_block(block));
    }
    let mut blocks: Vec<Vec<[f64; BLOCK_ROWS]>> =
        group.blocks().map(|block| block.columns().map(|column| column.map(f64::from)).collect()).collect();
    for lane in changed {
        let mut rows = group.rows_of(lane);
        if let Some((gradients, factors)) = clipped.filter(|_| is_clipped(lane)) {
            let gradient: Vec<f64> = gradients.of_lane(lane).collect();
            project(&mut rows, &gradient, factors[lane]);
        }
        shorten(&mut rows, group.features(), radius);
        write_lane(&mut blocks, &rows, lane);
    }
    blocks.iter().for_each(|columns| sum.add_columns(columns));
}

/// Adds the rows of persons whose responses are binary, each times the root of its response's
/// variance and of the person's factor, and those of a person then scaled alike so that
/// `||A||_F <= radius^2`.
fn add_varying_persons(
    sum: &mut GramSum,
    kernel: Kernel,
    group: UnitGroup<'_>,
    radius: u64,
    (theta, theta_unit): (&Theta, f64),
    factors: &[f64; BLOCK_ROWS],
) {
    let variances: Vec<[f64; BLOCK_ROWS]> =
        group.blocks().map(|block| kernel::variances(kernel, block, theta, theta_unit)).collect();
    let zeros = vec![[0.0; BLOCK_ROWS]; group.features()];
    let mut blocks = vec![zeros; variances.len()];
    for (lane, factor) in factors.iter().enumerate() {
        let mut rows = group.rows_of(lane);
        for (row, variances) in rows.chunks_exact_mut(group.features()).zip(&variances) {
            let root = (factor * variances[lane]).sqrt();
            row.iter_mut().for_each(|cell| *cell = cut(*cell * root));
        }
        shorten(&mut rows, group.features(), radius);
        write_lane(&mut blocks, &rows, lane);
    }
    blocks.iter().for_each(|columns| sum.add_columns(columns));
}

/// Puts the rows of a person into a lane of blocks.
fn write_lane(blocks: &mut [Vec<[f64; BLOCK_ROWS]>], rows: &[f64], lane: usize) {
    let features = rows.len() / blocks.len();
    for (columns, row) in blocks.iter_mut().zip(rows.chunks_exact(features)) {
        columns.iter_mut().zip(row).for_each(|(column, &cell)| column[lane] = cell);
    }
}

/// Rows as they count for the curvature of a sum `v` that is clipped:
/// `sqrt(f) (x - v (v.x) / ||v||^2)`, cut towards zero and to the size of a cell. Any integers
/// would do for the claim, which [`shorten`] keeps; and the order of these sums is always the same.
fn project(rows: &mut [f64], gradient: &[f64], factor: f64) {
    let length_sq: f64 = gradient.iter().map(|v| v * v).sum();
    for row in rows.chunks_exact_mut(gradient.len()) {
        let along = row.iter().zip(gradient).map(|(x, v)| x * v).sum::<f64>() / length_sq;
        for (x, v) in row.iter_mut().zip(gradient) {
            *x = cut((*x - v * along) * factor.sqrt()).clamp(-LARGEST_CELL, LARGEST_CELL);
        }
    }
}

/// Cells saturate here.
const LARGEST_CELL: f64 = power(CELL_RANGE_BITS);

/// Scales the rows of a person and cuts them towards zero until `||A||_F <= radius^2` in exact
/// integers. Cutting may make `A` larger, so the factor falls until it does not; at zero it cannot.
fn shorten(rows: &mut Vec<f64>, features: usize, radius: u64) {
    let square = frobenius_sq_of(rows, features);
    if is_light(square, radius) {
        return;
    }
    let mut factor =
        nearest(radius.min(MOST_RADIUS).into()) / (2.0 * nearest((square >> 1).cast_signed())).sqrt().sqrt();
    loop {
        let scaled: Vec<f64> = rows.iter().map(|cell| cut(cell * factor)).collect();
        if is_light(frobenius_sq_of(&scaled, features), radius) {
            *rows = scaled;
            return;
        }
        factor *= 1.0 - 1.0 / power(10);
    }
}

/// `cell weight / 2^shift` cut towards zero, for each cell and the weight of its row: products of
/// at most 2^(19 + shift).
///
/// A product in `f64` could round up past the bound. Sizes are multiplied in two parts of at most
/// 2^46, `|w| = u 2^27 + l`, each exact; what the lower part carries is added to the upper, which
/// is divided by a power of two and cut. Where `shift` is below 27 the whole product is below 2^46.
struct GradientWork<'a> {
    block: RowBlock<'a>,
    weights: &'a [f64; BLOCK_ROWS],
    shift: u32,
}

impl Work for GradientWork<'_> {
    type Output = Vec<[f64; BLOCK_ROWS]>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Vec<[f64; BLOCK_ROWS]> {
        let (unit, rest) = match self.shift.checked_sub(HALF_BITS) {
            Some(rest) => (power(HALF_BITS), power(rest)),
            None => (power(self.shift), 1.0),
        };
        let upper = self.weights.map(|weight| (weight.abs() / unit).floor());
        let mut lower = *self.weights;
        lower.iter_mut().zip(upper).for_each(|(lower, upper)| *lower = lower.abs() - upper * unit);
        let column = |cells: &[f32; BLOCK_ROWS]| {
            let mut cut = [0.0; BLOCK_ROWS];
            for row in 0..BLOCK_ROWS {
                let size = f64::from(cells[row]).abs();
                let whole = size * upper[row] + (size * lower[row] / unit).floor();
                cut[row] = (whole / rest).floor().copysign(f64::from(cells[row]) * self.weights[row]);
            }
            cut
        };
        self.block.columns().map(column).collect()
    }
}

/// Bits of the lower part of a weight.
const HALF_BITS: u32 = 27;

/// Adds the rows that are kept, shrunk to norm at most `radius`.
fn add_shrunk(sum: &mut GramSum, kernel: Kernel, block: RowBlock<'_>, radius: u64, keep: impl Fn(usize) -> bool) {
    let norms = kernel::norms_sq(kernel, block).map(natural);
    if norms.iter().all(|&norm| is_short(norm, radius)) {
        // Nearly always: the rows go in as they are.
        match (0..BLOCK_ROWS).fold(0, |kept, row| kept | u32::from(keep(row)) << row) {
            u32::MAX => sum.add_block(block),
            some => sum.add_rows(block, some),
        }
    } else {
        sum.add_columns(&shrunk(block, &norms, radius, |row| if keep(row) { 1.0 } else { 0.0 }));
    }
}

fn is_short(norm_sq: u64, radius: u64) -> bool {
    u128::from(norm_sq) <= u128::from(radius) * u128::from(radius)
}

/// Rows times a factor of at most 1 each, shrunk to norm at most `radius`.
fn shrunk(
    block: RowBlock<'_>,
    norms: &[u64; BLOCK_ROWS],
    radius: u64,
    scale: impl Fn(usize) -> f64,
) -> Vec<[f64; BLOCK_ROWS]> {
    let columns: Vec<&[f32; BLOCK_ROWS]> = block.columns().collect();
    let factors: [f64; BLOCK_ROWS] =
        std::array::from_fn(|row| factor(norms[row], radius, scale(row), columns.iter().map(|column| column[row])));
    let column = |cells: &&[f32; BLOCK_ROWS]| std::array::from_fn(|row| cut(f64::from(cells[row]) * factors[row]));
    columns.iter().map(column).collect()
}

/// Where a product rounds up to a whole number it is cut to that, which is longer by less than
/// this.
const UP_AND_CUT: f64 = 1e-12;

/// A factor, no larger than `scale`, for which the row, multiplied and cut, has squared norm at
/// most `radius^2` in exact integers.
pub(super) fn factor(norm_sq: u64, radius: u64, scale: f64, row: impl Iterator<Item = f32> + Clone) -> f64 {
    if scale == 0.0 || scale == 1.0 && is_short(norm_sq, radius) {
        return scale;
    }
    let (radius_sq, longest) = (u128::from(radius) * u128::from(radius), nearest(radius.into()));
    let length = nearest(norm_sq.into()).sqrt();
    if scale * length <= longest * (1.0 - UP_AND_CUT) {
        return scale;
    }
    let mut factor = (longest / length).min(scale);
    while cut_norm_sq(row.clone(), factor) > radius_sq {
        factor *= 1.0 - 1e-6;
    }
    factor
}

fn cut_norm_sq(row: impl Iterator<Item = f32>, factor: f64) -> u128 {
    row.map(|cell| u128::from(integer(cut(f64::from(cell) * factor)).unsigned_abs().pow(2))).sum()
}

/// Towards zero.
pub(super) fn cut(value: f64) -> f64 {
    value.trunc()
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// The same product in integers.
    fn product_cut(cell: f32, weight: f64, shift: u32) -> f64 {
        let product = i128::from(integer(cell.into())) * i128::from(integer(weight));
        let cut = nearest((product.unsigned_abs() >> shift).cast_signed());
        if product < 0 { -cut } else { cut }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        /// Weights up to the largest whose products a shift brings down to a cell, and cells up to
        /// the largest.
        #[test]
        fn products_are_cut_as_integers_are(
            shift in 0..44u32,
            cells in vec((-(1i32 << 19)..=1 << 19, 0..19u32), BLOCK_ROWS),
            weights in vec(-1.0..=1.0f64, BLOCK_ROWS),
        ) {
            let mut buffer = vec![0.0; RowBlock::len_for(1)];
            for (place, (cell, smaller)) in buffer.iter_mut().zip(&cells) {
                *place = (cell >> smaller) as f32;
            }
            // No product beyond 2^(19 + shift), and no weight beyond 2^53.
            let most = |cell: f32| (power(19 + shift) / f64::from(cell).abs().max(1.0)).min(power(53));
            let mut weights: [f64; BLOCK_ROWS] =
                std::array::from_fn(|row| (weights[row] * most(buffer[row])).trunc());
            // Some products are so little short of a whole result that no float lies between.
            for row in (0..BLOCK_ROWS).step_by(2) {
                let size = 2 * row as u128 + 3;
                let whole = (weights[row].abs() as u128 * size) >> shift;
                buffer[row] = size as f32;
                weights[row] = nearest((((whole << shift).saturating_sub(1)) / size).cast_signed());
            }
            for kernel in Kernel::available() {
                let block = RowBlock::all(&buffer, 1).next().expect("one block");
                let found = kernel.run(GradientWork { block, weights: &weights, shift });
                for row in 0..BLOCK_ROWS {
                    prop_assert_eq!(found[0][row], product_cut(buffer[row], weights[row], shift), "{}", kernel.name());
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn a_shrunk_row_keeps_its_promise(row in vec(-(1i32 << 19)..=1 << 19, 5), radius in 0..1u64 << 19) {
            let norm_sq = row.iter().map(|&cell| i64::from(cell).pow(2).unsigned_abs()).sum();
            let row = row.into_iter().map(|cell| cell as f32);
            let factor = factor(norm_sq, radius, 1.0, row.clone());
            prop_assert!(cut_norm_sq(row, factor) <= u128::from(radius) * u128::from(radius));
        }
    }
}
