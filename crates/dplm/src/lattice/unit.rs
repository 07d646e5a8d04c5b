//! Persons with several rows: what each contributes, in exact integers.
//!
//! Thirty-two persons lie side by side, one in each lane of the blocks of a [`UnitGroup`], so that
//! what is summed over a person's rows is summed down the blocks, for all of them at once.
//!
//! A person's contribution to the negative gradient sum is `v = sum_i X_i r_i` over their rows,
//! shortened to norm `gamma` where it is longer: the vector is clipped, not its rows, so that a
//! person moves the sum by as much as a row would, however many rows they have. A person with one
//! row is a row of its own elsewhere ([`super::kernel`]), where clipping the residual does the
//! same.

use super::{
    BLOCK_ROWS, Clip, Kernel, Lattice, Link, RowBlock, Theta,
    design::nearest_cell,
    exact::{count, integer, large, narrow, nearest, power},
    family::Number,
    kernel::{Ahead, Block, Lanes, ROUNDING, VECTORS, expected, flush, norms_sq, sizes, stored, vectors, whole_down},
    simd::{FOLDED, Simd, Work},
};

/// The most rows that a person may have: sums of cells over them stay below 2^33, and sums of
/// products of two cells below 2^52.
pub const MOST_ROWS: u32 = 1 << 14;

/// The rows of 32 persons, one in each lane: the k-th block holds the k-th row of each, zeros where
/// a person has fewer.
#[derive(Clone, Copy)]
pub struct UnitGroup<'a> {
    cells: &'a [f32],
    features: usize,
}

impl<'a> UnitGroup<'a> {
    /// The group of these cells, all of its blocks.
    pub fn new(cells: &'a [f32], features: usize) -> UnitGroup<'a> {
        UnitGroup { cells, features }
    }

    /// Its blocks: the first has the first row of each person.
    pub fn blocks(self) -> impl Iterator<Item = RowBlock<'a>> {
        RowBlock::all(self.cells, self.features)
    }

    pub(super) fn features(self) -> usize {
        self.features
    }

    /// How many blocks there are: the most rows that one of the persons has.
    pub fn depth(self) -> usize {
        self.cells.len() / RowBlock::len_for(self.features)
    }

    /// The cells of coefficient `column` in the rows of block `row`.
    fn lanes(self, row: usize, column: usize) -> &'a [f32; BLOCK_ROWS] {
        let start = row * RowBlock::len_for(self.features) + column * BLOCK_ROWS;
        self.cells[start..].first_chunk().expect("a column of a block")
    }

    /// The rows of one person, one after the other, without their responses.
    pub(super) fn rows_of(self, lane: usize) -> Vec<f64> {
        let row = |row: usize| (0..self.features).map(move |column| f64::from(self.lanes(row, column)[lane]));
        (0..self.depth()).flat_map(row).collect()
    }
}

/// Multiplies the rows of each person of a group, responses included, by `1 / sqrt m`, `m` the
/// number of their rows that are not all zeros, and rounds them to the lattice: products of two
/// cells then count `1 / m`. A rule about one person.
pub(crate) fn weigh_as_one(cells: &mut [f32], features: usize) {
    let mut counted = [0u16; BLOCK_ROWS];
    for block in RowBlock::all(cells, features) {
        let columns = || block.cells().as_chunks::<BLOCK_ROWS>().0.iter();
        let more: [bool; BLOCK_ROWS] = std::array::from_fn(|lane| columns().any(|column| column[lane] != 0.0));
        counted.iter_mut().zip(more).for_each(|(counted, more)| *counted += u16::from(more));
    }
    let factors = counted.map(|counted| f64::from(counted.max(1)).sqrt().recip());
    for column in cells.as_chunks_mut::<BLOCK_ROWS>().0 {
        column.iter_mut().zip(factors).for_each(|(cell, factor)| *cell = nearest_cell(f64::from(*cell) * factor));
    }
}

/// The rows of each person of a group less the person's own means: of every column but the first,
/// responses included, what is left after its projection on the first, which is gone afterwards. A
/// rule about one person.
///
/// The first column is the constant: `C_i` is 0 for a row that does not count and, where rows are
/// weighted, proportional to the root of the weight. A cell becomes the integer nearest to
/// `X_i - C_i m`, ties to even, for `m = sum_k C_k X_k / sum_k C_k^2`. Both sums are below 2^52 and
/// so exact in any order; what follows is a few roundings of IEEE's, which are the same everywhere.
/// A column that is a multiple of the constant leaves nothing, since these roundings are far below
/// half a step, and so does a person with one row that counts.
///
/// # Guarantee
/// Whatever a person's rows are, cells are integers in the range of the lattice: what is claimed of
/// a person's contribution, that is of any such rows, holds of these. With all cells of a column
/// within `lo` and `hi` and K rows that count alike, `|X_i - m| <= (hi - lo) (1 - 1/K)`.
pub(crate) fn without_means(cells: &[f32], features: usize) -> Vec<f32> {
    let blocks = || cells.chunks_exact(RowBlock::len_for(features)).map(|block| block.as_chunks::<BLOCK_ROWS>().0);
    let (mut squares, mut sums) = ([0.0; BLOCK_ROWS], vec![[0.0; BLOCK_ROWS]; features]);
    for (constant, others) in blocks().filter_map(<[Cells]>::split_first) {
        add_lanes(constant, constant, &mut squares);
        others.iter().zip(&mut sums).for_each(|(column, sums)| add_lanes(constant, column, sums));
    }
    let mean = |sum: f64, square: f64| if square > 0.0 { sum / square } else { 0.0 };
    let means: Vec<Lanes> =
        sums.iter().map(|sums| std::array::from_fn(|lane| mean(sums[lane], squares[lane]))).collect();
    let less = |constant: &Cells, column: &Cells, means: &Lanes| -> Cells {
        std::array::from_fn(|lane| nearest_cell(f64::from(column[lane]) - f64::from(constant[lane]) * means[lane]))
    };
    let columns = blocks().filter_map(<[Cells]>::split_first).flat_map(|(constant, others)| {
        others.iter().zip(&means).map(move |(column, means)| less(constant, column, means))
    });
    columns.flatten().collect()
}

/// The cells of a column in the rows of a block.
type Cells = [f32; BLOCK_ROWS];

/// Adds the products of two columns to a sum for each person.
fn add_lanes(one: &Cells, other: &Cells, sums: &mut Lanes) {
    let products = one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other));
    sums.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
}

/// For each person of a group, the size at which residuals saturate: `S M <= 2^52` for
/// `M = max_j sum_i |X_ij|`.
///
/// # Guarantee
/// Whatever residuals of at most `S` the person's rows have, no partial sum of `sum_i X_ij r_i`
/// exceeds `M S`: it is exact in `f64`, in any order. The quotient is rounded at most one part in
/// 2^53 up before it is cut, which 2^53 has room for.
pub(crate) fn reaches(kernel: Kernel, group: UnitGroup<'_>) -> [f32; BLOCK_ROWS] {
    kernel.run(ReachWork(group))
}

struct ReachWork<'a>(UnitGroup<'a>);

impl Work for ReachWork<'_> {
    type Output = [f32; BLOCK_ROWS];

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> [f32; BLOCK_ROWS] {
        let group = self.0;
        let mut most: Lanes = [0.0; BLOCK_ROWS];
        for column in 0..group.features {
            let mut sums: Lanes = [0.0; BLOCK_ROWS];
            for row in 0..group.depth() {
                let cells = group.lanes(row, column);
                sums.iter_mut().zip(cells).for_each(|(sum, cell)| *sum += f64::from(cell.abs()));
            }
            most.iter_mut().zip(sums).for_each(|(most, sum)| *most = if sum > *most { sum } else { *most });
        }
        most.map(|most| if most > 0.0 { narrow(whole_down(power(52) / most)) } else { 0.0 })
    }
}

/// A clip for sums over several rows, on a grid coarse enough that `gamma` is below 2^46: sums of
/// such vectors stay exact in `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct UnitClip {
    /// `gamma` in steps of the grid, rounded down; less [`REMAINDERS`] where steps are coarser than
    /// the lattice.
    gamma: f64,
    /// A step of the grid is 2^shift lattice units.
    shift: u32,
}

/// Clips have at most this many bits on their grid.
const CLIP_BITS: u32 = 46;
/// At least the length, in steps of the grid, of what rounding to it leaves of a vector: half a
/// step in each of fewer than 2^14 coordinates.
const REMAINDERS: u128 = 64;

impl UnitClip {
    pub(crate) fn new(clip: &Clip) -> UnitClip {
        let shift = (u128::BITS - clip.gamma().leading_zeros()).saturating_sub(CLIP_BITS);
        UnitClip::on_grid(clip, shift)
    }

    /// A clip on the grid of another, which is no narrower.
    pub(super) fn on_grid(clip: &Clip, shift: u32) -> UnitClip {
        let remainders = if shift == 0 { 0 } else { REMAINDERS };
        UnitClip { gamma: nearest((clip.gamma() >> shift).saturating_sub(remainders).cast_signed()), shift }
    }

    pub(super) fn shift(&self) -> u32 {
        self.shift
    }

    /// After how many groups sums must leave `f64`: a running sum takes 8 lanes of each.
    fn groups_per_flush(&self) -> u32 {
        let groups = power(53) / (count(BLOCK_ROWS / FOLDED) * self.gamma.max(1.0));
        if groups < 256.0 { u32::try_from(integer(groups.floor())).expect("few") } else { 256 }
    }
}

/// `v = sum_i X_i r_i` of the 32 persons of a group, and how long it is.
///
/// Where the grid of the clip is coarser than the lattice, `v` is kept in two parts, the nearest
/// point of the grid and a remainder, which are exact together: so a person who is not clipped
/// contributes what second moments say.
#[derive(Default)]
pub(crate) struct UnitGradients {
    /// For each coefficient, the sums of all persons to the nearest step of the clip's grid:
    /// integers of at most 2^53.
    sums: Vec<Lanes>,
    /// What is left of them, in lattice units: at most half a step. Empty if a step is one lattice
    /// unit.
    remainders: Vec<Lanes>,
    residuals: Vec<Lanes>,
    residual_remainders: Vec<Lanes>,
    /// The largest residual of each person, in lattice units, up to where it saturates.
    largest: Lanes,
    length: Length,
    /// Where responses are binary, at least how long the vector would be whatever came out, in
    /// steps of the grid; nothing otherwise.
    reachable: Lanes,
}

/// At least the length of a vector for each person: `||v|| <= sqrt(square) / scale`.
#[derive(Clone, Copy, Default)]
struct Length {
    /// An integer of at most 2^53.
    square: Lanes,
    /// A power of two.
    scale: Lanes,
}

impl UnitGradients {
    /// The sums at `theta`. Residuals saturate at `reach` steps of the grid, as [`reaches`] gives
    /// it.
    pub(crate) fn take(
        &mut self,
        kernel: Kernel,
        (group, reach): (UnitGroup<'_>, &[f32; BLOCK_ROWS]),
        (theta, theta_unit): (&Theta, f64),
        clip: &UnitClip,
    ) {
        let parts = |length: usize| if clip.shift == 0 { 0 } else { length };
        self.sums.resize(group.features, [0.0; BLOCK_ROWS]);
        self.remainders.resize(parts(group.features), [0.0; BLOCK_ROWS]);
        self.residuals.resize(group.depth(), [0.0; BLOCK_ROWS]);
        self.residual_remainders.resize(parts(group.depth()), [0.0; BLOCK_ROWS]);
        let step = power(clip.shift);
        self.length = kernel.run(SumWork { group, reach, theta, theta_unit, step, to: self });
        self.reachable = match theta.link {
            Link::Identity => [0.0; BLOCK_ROWS],
            Link::Logistic => reachable(kernel, group, (theta, theta_unit)).map(|length| length / step),
        };
    }

    /// What each vector is multiplied by before its coordinates are cut towards zero: 1 where it is
    /// within the clip.
    ///
    /// # Guarantee
    /// `||cut(f v)|| <= gamma`, `v` on the grid: with `f` at most `gamma scale / sqrt(square)`
    /// times `1 - 2^-50`, rounded three times, and each product `f v_j` rounded once before it is
    /// cut, every `|c_j| <= |v_j| gamma / ||v||`. A factor may be smaller than that.
    ///
    /// Where responses are binary it is: `f = gamma / L` with `L` what the vector could be at most,
    /// so that the factor does not depend on what came out.
    pub(crate) fn factors(&self, clip: &UnitClip) -> Lanes {
        std::array::from_fn(|lane| match self.is_within(lane, clip) {
            true => 1.0,
            false => {
                let by_length = clip.gamma * self.length.scale[lane] / self.length.square[lane].sqrt();
                by_length.min(clip.gamma / self.reachable[lane]) * (1.0 - ROUNDING)
            }
        })
    }

    /// Whether a person's vector is surely no longer than the clip; rounded so that what is not
    /// sure says no.
    pub(crate) fn is_within(&self, lane: usize, clip: &UnitClip) -> bool {
        let gamma = clip.gamma * self.length.scale[lane];
        self.length.square[lane] <= gamma * gamma * (1.0 - ROUNDING) && self.reachable[lane] <= clip.gamma
    }

    /// The clipped vectors: a column of persons for each coefficient, in steps of the grid.
    fn clipped(&self, factors: Lanes) -> impl Iterator<Item = Lanes> {
        self.sums.iter().map(move |sums| std::array::from_fn(|lane| (sums[lane] * factors[lane]).trunc()))
    }

    /// Clipped gradients divided by 2^shift and cut towards zero.
    pub(super) fn shortened(&self, clip: &UnitClip, shift: u32) -> Vec<Lanes> {
        let step = power(clip.shift) / power(shift);
        self.clipped(self.factors(clip)).map(|sums| sums.map(|sum| (sum * step).trunc())).collect()
    }

    /// The sum over persons of `floor(||c||^2 / 2^shift)` in lattice units.
    fn square_sum(&self, clip: &UnitClip, shift: u32) -> i128 {
        let mut squares = [0u128; BLOCK_ROWS];
        for sums in self.clipped(self.factors(clip)) {
            squares.iter_mut().zip(sums).for_each(|(square, sum)| *square += large(sum.abs()).pow(2));
        }
        // A squared norm is at most gamma^2, below 2^126, in lattice units.
        squares.iter().map(|square| (square << (2 * clip.shift)) >> shift).sum::<u128>().cast_signed()
    }

    /// The length of a person's vector on the grid, rounded up, except for an error of a few parts
    /// in 2^53.
    fn length_up(&self, lane: usize) -> f64 {
        self.length.square[lane].sqrt() / self.length.scale[lane]
    }

    /// One person's vector.
    pub(super) fn of_lane(&self, lane: usize) -> impl Iterator<Item = f64> + Clone {
        self.sums.iter().map(move |sums| sums[lane])
    }
}

struct SumWork<'a> {
    group: UnitGroup<'a>,
    reach: &'a [f32; BLOCK_ROWS],
    theta: &'a Theta,
    theta_unit: f64,
    /// A step of the grid, in lattice units.
    step: f64,
    to: &'a mut UnitGradients,
}

impl Work for SumWork<'_> {
    type Output = Length;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Length {
        let SumWork { group, reach, theta, theta_unit, step, to } = self;
        let UnitGradients { sums, remainders, residuals, residual_remainders, largest, .. } = to;
        let (length, is_on_lattice) = (RowBlock::len_for(group.features), remainders.is_empty());
        for (index, (block, kept)) in group.cells.chunks_exact(length).zip(residuals.iter_mut()).enumerate() {
            let mut ahead = Ahead::new(group.cells, (index + 1) * length);
            let mut residuals = Block(block).residuals_at(simd, (theta, theta_unit), &mut ahead);
            for (residual, reach) in residuals.iter_mut().zip(vectors(reach)).filter(|_| is_on_lattice) {
                *residual = simd.limit(*residual, simd.widen(reach));
            }
            *kept = stored(simd, residuals);
        }
        *largest = largest_of(residuals);
        let is_short = largest.iter().zip(reach).all(|(largest, reach)| *largest <= f64::from(*reach));
        if is_on_lattice || is_short {
            add_products(simd, group, residuals, sums);
            remainders.fill([0.0; BLOCK_ROWS]);
            remainders.iter_mut().zip(sums.iter_mut()).for_each(|(remainders, sums)| std::mem::swap(remainders, sums));
        } else {
            // A remainder of a residual is at most 2^16, and the cells of a coefficient at most
            // 2^33 together: exact.
            split(simd, residuals, residual_remainders, (step, reach));
            add_products(simd, group, residuals, sums);
            add_products(simd, group, residual_remainders, remainders);
        }
        carry(sums, remainders, step);
        lengths(sums)
    }
}

/// `sum_i ||X_i|| m_i` of each person, in lattice units, `m` the largest residual that a binary
/// response could have: no sum of the person's gradients is longer, whatever came out.
fn reachable(kernel: Kernel, group: UnitGroup<'_>, (theta, theta_unit): (&Theta, f64)) -> Lanes {
    let mut lengths = [0.0; BLOCK_ROWS];
    for block in group.blocks() {
        let (norms, largest) = (norms_sq(kernel, block), sizes(kernel, block, theta, theta_unit));
        lengths.iter_mut().zip(norms).zip(largest).for_each(|((length, norm), most)| *length += norm.sqrt() * most);
    }
    lengths
}

/// The largest of some numbers of each person, in size.
#[inline(always)]
fn largest_of(values: &[Lanes]) -> Lanes {
    let mut most = [0.0; BLOCK_ROWS];
    for values in values {
        most.iter_mut()
            .zip(values)
            .for_each(|(most, value)| *most = if value.abs() > *most { value.abs() } else { *most });
    }
    most
}

/// Rounds residuals to steps of the grid, which saturate, and keeps what is left of them.
#[inline(always)]
fn split<S: Simd>(simd: S, residuals: &mut [Lanes], left: &mut [Lanes], (step, reach): (f64, &[f32; BLOCK_ROWS])) {
    let (unit, step_of) = (simd.splat(step), simd.splat(1.0 / step));
    for (residuals, left) in residuals.iter_mut().zip(left) {
        let lanes = residuals.as_chunks_mut().0.iter_mut().zip(left.as_chunks_mut().0).zip(vectors(reach));
        for ((residual, left), reach) in lanes {
            let whole = simd.load(residual);
            let rounded = simd.round(simd.mul(whole, step_of));
            simd.store(simd.mul_sub_from(rounded, unit, whole), left);
            simd.store(simd.limit(rounded, simd.widen(reach)), residual);
        }
    }
}

/// `sum_i X_i w_i` of each person, block by block, as they lie in memory: the sums of a group stay
/// in the first-level cache.
#[inline(always)]
fn add_products<S: Simd>(simd: S, group: UnitGroup<'_>, weights: &[Lanes], sums: &mut [Lanes]) {
    sums.fill([0.0; BLOCK_ROWS]);
    for (block, weights) in group.cells.chunks_exact(RowBlock::len_for(group.features)).zip(weights) {
        let mut loaded = [simd.splat(0.0); VECTORS];
        for (loaded, weights) in loaded.iter_mut().zip(weights.as_chunks().0) {
            *loaded = simd.load(weights);
        }
        for (column, sums) in sums.iter_mut().enumerate() {
            let cells = Block(block).column(column).iter().zip(loaded);
            for (sum, (cells, weight)) in sums.as_chunks_mut().0.iter_mut().zip(cells) {
                simd.store(simd.mul_add(simd.widen(cells), weight, simd.load(sum)), sum);
            }
        }
    }
}

/// Moves whole steps of the remainders to the sums, to the nearest and up where two are as near:
/// the same however much of a vector is in which part.
#[inline(always)]
fn carry(sums: &mut [Lanes], remainders: &mut [Lanes], step: f64) {
    for (sums, remainders) in sums.iter_mut().zip(remainders) {
        for (sum, remainder) in sums.iter_mut().zip(remainders) {
            // At most 2^51 and a half, in steps of at least two lattice units: exact.
            let above = *remainder / step + 0.5;
            let nearest = above + WHOLE - WHOLE;
            let steps = if nearest > above { nearest - 1.0 } else { nearest };
            *sum += steps;
            *remainder -= steps * step;
        }
    }
}

/// Adding this to a number of at most 2^51 leaves no bits for a fraction, so that taking it off
/// again rounds the number.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// To how many bits coordinates are rounded to find the length of a vector.
const fn length_bits(coordinates: usize) -> u32 {
    (53 - coordinates.next_power_of_two().trailing_zeros()) / 2 - 1
}

/// How long vectors are, from their coordinates rounded up to a few bits, whose squares add up
/// exactly.
///
/// With `B = (53 - log2 p) / 2 - 1` bits the largest coordinate is scaled by a power of two to
/// below 2^B. A rounded one is at most `2^B + 1`, and `p (2^B + 1)^2 <= 2^53`. Every step is exact
/// or one rounding of IEEE's, so that all instructions give the same bits.
#[inline(always)]
fn lengths(vectors: &[Lanes]) -> Length {
    let mut most = [0.0; BLOCK_ROWS];
    for vector in vectors {
        for (most, value) in most.iter_mut().zip(vector) {
            *most = if value.abs() > *most { value.abs() } else { *most };
        }
    }
    let bits = length_bits(vectors.len());
    let scale = most.map(|most| scale_below(most, bits));
    let mut square = [0.0; BLOCK_ROWS];
    for vector in vectors {
        for ((square, value), scale) in square.iter_mut().zip(vector).zip(&scale) {
            let above = value.abs() * scale + WHOLE - WHOLE + 1.0;
            *square += above * above;
        }
    }
    // A person without anything is as short as can be, and so is a lane that is nobody's.
    square.iter_mut().zip(most).for_each(|(square, most)| *square = if most > 0.0 { *square } else { 0.0 });
    Length { square, scale }
}

/// The power of two that takes a number of at most 2^52 to below 2^bits, and no smaller than need
/// be; 1 for nothing.
#[inline(always)]
fn scale_below(most: f64, bits: u32) -> f64 {
    const ONE: u64 = 1.0f64.to_bits();
    // What is left of the bits of a whole number without its fraction is its power of two.
    let below = most.to_bits() & !((1 << 52) - 1);
    if most > 0.0 { f64::from_bits(ONE + ((u64::from(bits) - 1) << 52) + ONE - below) } else { 1.0 }
}

/// Adds the clipped sums of persons at `theta`, group by group, to a sum in lattice units.
pub(crate) fn add_unit_gradients<'a>(
    kernel: Kernel,
    groups: impl Iterator<Item = (UnitGroup<'a>, &'a [f32; BLOCK_ROWS])>,
    clip: &Clip,
    (theta, lattice): (&Theta, &Lattice),
    sums: &mut [i128],
) {
    let clip = UnitClip::new(clip);
    let mut gradients = UnitGradients::default();
    let mut running = vec![[0.0; FOLDED]; sums.len()];
    // Remainders are at most 2^16, so that 256 groups take them nowhere near 2^53.
    let mut remainders = vec![[0.0; FOLDED]; if clip.shift == 0 { 0 } else { sums.len() }];
    let mut waiting = 0;
    for group in groups {
        gradients.take(kernel, group, (theta, lattice.theta_unit()), &clip);
        let factors = gradients.factors(&clip);
        kernel.run(AddWork { sums: &gradients.sums, factors: &factors, running: &mut running });
        // A vector that is shortened is cut to the grid.
        let whole = factors.map(|factor| if factor == 1.0 { 1.0 } else { 0.0 });
        kernel.run(AddWork { sums: &gradients.remainders, factors: &whole, running: &mut remainders });
        waiting += 1;
        if waiting == clip.groups_per_flush() {
            flush(&mut running, 1 << clip.shift, sums);
            flush(&mut remainders, 1, sums);
            waiting = 0;
        }
    }
    flush(&mut running, 1 << clip.shift, sums);
    flush(&mut remainders, 1, sums);
}

struct AddWork<'a> {
    sums: &'a [Lanes],
    factors: &'a Lanes,
    running: &'a mut [[f64; FOLDED]],
}

impl Work for AddWork<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for (sums, running) in self.sums.iter().zip(self.running) {
            for (sums, factors) in sums.as_chunks::<FOLDED>().0.iter().zip(self.factors.as_chunks::<FOLDED>().0) {
                for ((running, sum), factor) in running.iter_mut().zip(sums).zip(factors) {
                    *running += (sum * factor).trunc();
                }
            }
        }
    }
}

/// Parameters within a radius of the segment between two points.
pub(crate) struct Around<'a> {
    pub(crate) from: &'a Theta,
    pub(crate) to: &'a Theta,
    pub(crate) radius: f64,
    pub(crate) theta_unit: f64,
}

/// Room for rounding in comparisons; far more than `f64` needs.
const SLACK: f64 = 1e-9;

/// Which persons of a group are sure all over a region to be within the clip with no residual
/// saturated, and which may not be; a bit for each. Those without anything, who contribute nothing,
/// are neither.
///
/// # Guarantee
/// A person's `v` is affine in the parameters where no residual saturates, with slope
/// `A = sum_i X_i X_i'`, so that within a radius `D` of a point it moves by at most `||A||_F D`,
/// and between two points it is no longer than at one of them. [`UnitGradients::is_within`] judges
/// a length that is rounded up: with `p` coordinates of `B` bits by at most `1.5 sqrt(p)` where the
/// largest is `2^(B-1)` or more, that is by at most `3 sqrt(p) / 2^B` of the length. Remainders of
/// a step add at most [`REMAINDERS`] at the end of the region and here. A residual moves by at most
/// `||X_i|| D`, and `||X_i||^2 <= ||A||_F`.
pub(crate) fn surely_within(
    kernel: Kernel,
    (group, reach): (UnitGroup<'_>, &[f32; BLOCK_ROWS]),
    region: &Around<'_>,
    clip: &UnitClip,
) -> (u32, u32) {
    let mut gradients = UnitGradients::default();
    let mut ends = |theta: &Theta| {
        gradients.take(kernel, (group, reach), (theta, region.theta_unit), clip);
        let lengths: Lanes = std::array::from_fn(|lane| gradients.length_up(lane));
        (lengths, gradients.largest)
    };
    let from = ends(region.from);
    let to = if region.from == region.to { from } else { ends(region.to) };
    let slopes = frobenius_sq(kernel, group).map(|square| i128::try_from(square).map_or(f64::INFINITY, nearest).sqrt());
    let (features, bits) = (count(group.features), length_bits(group.features));
    let room = (1.0 + 3.0 * features.sqrt() / power(bits)) * (1.0 + SLACK);
    let (radius, step) = (region.radius * (1.0 + SLACK), power(clip.shift));
    let remainders = nearest((2 * REMAINDERS).cast_signed());
    let (mut within, mut open) = (0, 0);
    for lane in (0..BLOCK_ROWS).filter(|&lane| reach[lane] > 0.0) {
        let length = from.0[lane].max(to.0[lane]) + slopes[lane] * radius / step + remainders;
        let residual = from.1[lane].max(to.1[lane]) + slopes[lane].sqrt() * radius + step;
        let is_sure = length * room <= clip.gamma && residual <= f64::from(reach[lane]) * step;
        *(if is_sure { &mut within } else { &mut open }) |= 1 << lane;
    }
    (within, open)
}

/// The sum over persons of `floor(||c||^2 / 2^shift)`, `c` the clipped sum at `theta`, with the
/// shift of [`Clip::square_shift`].
pub(crate) fn unit_square_sum<'a>(
    kernel: Kernel,
    groups: impl Iterator<Item = (UnitGroup<'a>, &'a [f32; BLOCK_ROWS])>,
    clip: &Clip,
    at: (&Theta, f64),
) -> i128 {
    let (unit_clip, mut gradients) = (UnitClip::new(clip), UnitGradients::default());
    let squares = groups.map(|group| {
        gradients.take(kernel, group, at, &unit_clip);
        gradients.square_sum(&unit_clip, clip.square_shift())
    });
    squares.sum()
}

/// The sum over the rows of a block of a number of each, whole numbers of at most 2^20.
pub(crate) fn number_sum(
    kernel: Kernel,
    block: RowBlock<'_>,
    number: Number,
    (theta, theta_unit): (&Theta, f64),
) -> i128 {
    let numbers = expected(kernel, block, theta, theta_unit).numbers(number);
    // Sums of 32 such numbers are exact.
    i128::from(integer(numbers.iter().sum()))
}

/// The sum over the persons of a group of the mean of a number over the rows of each, cut: whole
/// numbers of at most 2^20.
pub(crate) fn unit_number_sum(
    kernel: Kernel,
    group: UnitGroup<'_>,
    number: Number,
    (theta, theta_unit): (&Theta, f64),
) -> i128 {
    let (mut sums, mut counted) = ([0.0; BLOCK_ROWS], [0.0; BLOCK_ROWS]);
    for block in group.blocks() {
        let expected = expected(kernel, block, theta, theta_unit);
        let numbers = expected.numbers(number);
        for row in 0..BLOCK_ROWS {
            sums[row] += numbers[row];
            counted[row] += if expected.counts(row) { 1.0 } else { 0.0 };
        }
    }
    // Of at most 2^14 rows: exact until the division, which does not round beyond a whole number.
    let means = sums.iter().zip(counted).map(|(sum, counted): (&f64, f64)| (sum / counted.max(1.0)).floor());
    means.map(|mean| i128::from(integer(mean))).sum()
}

/// How many persons are clipped at `theta`.
pub(crate) fn clipped_units<'a>(
    kernel: Kernel,
    groups: impl Iterator<Item = (UnitGroup<'a>, &'a [f32; BLOCK_ROWS])>,
    clip: &Clip,
    at: (&Theta, f64),
) -> u64 {
    let (clip, mut gradients) = (UnitClip::new(clip), UnitGradients::default());
    let counts = groups.map(|group| {
        gradients.take(kernel, group, at, &clip);
        (0..BLOCK_ROWS).filter(|&lane| !gradients.is_within(lane, &clip)).count() as u64
    });
    counts.sum()
}

/// `||A||_F^2` for each person of a group, `A = sum_i X_i X_i'`, exactly; at the end of `u128`
/// where it is beyond.
///
/// The products of all pairs of rows have the same sum of squares as those of all pairs of columns,
/// since `tr (X'X)^2 = tr (XX')^2`: the fewer are taken.
pub(crate) fn frobenius_sq(kernel: Kernel, group: UnitGroup<'_>) -> [u128; BLOCK_ROWS] {
    kernel.run(FrobeniusWork(group))
}

struct FrobeniusWork<'a>(UnitGroup<'a>);

impl Work for FrobeniusWork<'_> {
    type Output = [u128; BLOCK_ROWS];

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> [u128; BLOCK_ROWS] {
        let group = self.0;
        let by_rows = group.depth() <= group.features;
        let (size, length) = if by_rows { (group.depth(), group.features) } else { (group.features, group.depth()) };
        let lanes =
            |index: usize, along: usize| if by_rows { group.lanes(index, along) } else { group.lanes(along, index) };
        let mut squares = [0u128; BLOCK_ROWS];
        for (i, j) in pairs(size) {
            // A product of two cells is at most 2^38, and there are at most 2^14: exact.
            let mut products = [0.0; BLOCK_ROWS];
            for along in 0..length {
                let cells = lanes(i, along).iter().zip(lanes(j, along));
                products.iter_mut().zip(cells).for_each(|(sum, (a, b))| *sum += f64::from(*a) * f64::from(*b));
            }
            squares.iter_mut().zip(products).for_each(|(square, product)| add_square(square, product, i == j));
        }
        squares
    }
}

/// The same for the rows of one person, one after the other: integers.
pub(super) fn frobenius_sq_of(rows: &[f64], features: usize) -> u128 {
    let depth = rows.len() / features;
    let by_rows = depth <= features;
    let (size, length) = if by_rows { (depth, features) } else { (features, depth) };
    let cell = |index: usize, along: usize| {
        if by_rows { rows[index * features + along] } else { rows[along * features + index] }
    };
    let mut square = 0;
    for (i, j) in pairs(size) {
        let product: f64 = (0..length).map(|along| cell(i, along) * cell(j, along)).sum();
        add_square(&mut square, product, i == j);
    }
    square
}

/// Pairs on and above the diagonal.
fn pairs(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).flat_map(|j| (0..=j).map(move |i| (i, j)))
}

/// A product off the diagonal counts twice.
fn add_square(square: &mut u128, product: f64, on_diagonal: bool) {
    let more = large(product.abs()).pow(2) * if on_diagonal { 1 } else { 2 };
    *square = square.saturating_add(more);
}

#[cfg(test)]
mod tests {
    use rand_chacha::{
        ChaCha20Rng,
        rand_core::{Rng, SeedableRng},
    };

    use super::*;

    /// A whole number of at most so much in size.
    fn whole(rng: &mut ChaCha20Rng, most: u32) -> f64 {
        f64::from(rng.next_u32() % (2 * most + 1)) - f64::from(most)
    }

    /// A direction in which a person's vector grows: the product of their rows with it, or with
    /// what it becomes under `A`.
    fn steepest(group: UnitGroup<'_>, lane: usize, from: &[f64]) -> Vec<f64> {
        let rows = group.rows_of(lane);
        let mut direction = from.to_vec();
        for _ in 0..20 {
            let mut next = vec![0.0; group.features];
            for row in rows.chunks(group.features) {
                let along: f64 = row.iter().zip(&direction).map(|(cell, towards)| cell * towards).sum();
                next.iter_mut().zip(row).for_each(|(next, cell)| *next += along * cell);
            }
            let length = next.iter().map(|value| value * value).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            direction = next.iter().map(|value| value / length).collect();
        }
        direction
    }

    /// Persons who are sure not to be clipped are within the clip, with no residual saturated,
    /// everywhere in the region, also in the direction in which their vector grows most. Clips are
    /// set to about where the bound ends.
    #[test]
    fn who_is_sure_is_within_the_clip_all_over_the_region() {
        let kernel = Kernel::best();
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        let (mut sure, mut tight, mut saturating) = (0, 0, 0);
        for case in 0..3000 {
            let (features, depth) = (1 + case % 7, 2 + case % 4);
            let lattice = Lattice::of_bits(features, if case % 2 == 0 { 14 } else { 24 }).unwrap();
            let mut cells = vec![0.0; depth * RowBlock::len_for(features)];
            let largest = [40, 4096, 1 << 19][case % 3];
            cells.iter_mut().for_each(|cell| *cell = narrow(whole(&mut rng, largest)));
            // Rows that cancel out, with residuals that may saturate.
            let (cancels, length) = (case % 5 == 0, RowBlock::len_for(features));
            if cancels {
                cells.copy_within(..length, length);
                cells[2 * length - BLOCK_ROWS..2 * length].iter_mut().for_each(|cell| *cell = -*cell);
                cells[2 * length..].fill(0.0);
            }
            let group = UnitGroup::new(&cells, features);
            let reach = reaches(kernel, group);
            let mut point = |most: f64| -> Vec<f64> {
                (0..features).map(|_| (whole(&mut rng, 1000) / 1000.0 * most * lattice.theta_unit()).round()).collect()
            };
            let size = if cancels { 1e-3 } else { 1.0 };
            let (from, to) = (lattice.theta_of(point(size)).unwrap(), lattice.theta_of(point(size)).unwrap());
            let radius = if cancels { 2.0 } else { lattice.theta_unit() * [1e-3, 0.03, 0.5][case % 3] };
            // The clip of one of the persons, a little beyond or short of where their bound ends.
            let (lane, edge) = (case % BLOCK_ROWS, f64::from(rng.next_u32() % 1000) / 1000.0);
            let on_lattice = UnitClip { gamma: power(46), shift: 0 };
            let mut gradients = UnitGradients::default();
            let mut length = |theta: &Theta| {
                gradients.take(kernel, (group, &reach), (theta, lattice.theta_unit()), &on_lattice);
                gradients.length_up(lane)
            };
            let slope = nearest(frobenius_sq(kernel, group)[lane].cast_signed()).sqrt();
            let gamma = (length(&from).max(length(&to)) + slope * radius * (0.5 + edge)).floor();
            let clip = UnitClip::new(&Clip::new(large(gamma.clamp(1000.0, power(62)))));
            let around = Around { from: &from, to: &to, radius, theta_unit: lattice.theta_unit() };
            let (within, open) = surely_within(kernel, (group, &reach), &around, &clip);
            assert_eq!(within & open, 0);
            for lane in (0..BLOCK_ROWS).filter(|lane| within >> lane & 1 == 1) {
                sure += 1;
                for (step, end) in [&from, &to].into_iter().flat_map(|end| [(-1.0, end), (1.0, end), (0.0, end)]) {
                    let direction = steepest(group, lane, &vec![1.0; features]);
                    let moved = end.integers().iter().zip(&direction);
                    let moved: Vec<f64> =
                        moved.map(|(value, towards)| value + (step * radius * towards).trunc()).collect();
                    let Some(theta) = lattice.theta_of(moved) else { continue };
                    gradients.take(kernel, (group, &reach), (&theta, lattice.theta_unit()), &clip);
                    assert!(gradients.is_within(lane, &clip), "case {case}, lane {lane}");
                    let residual = gradients.largest[lane] / power(clip.shift);
                    assert!(residual < f64::from(reach[lane]), "case {case}, lane {lane}: a residual saturates");
                    tight += u32::from(gradients.length_up(lane) > 0.9 * clip.gamma);
                }
            }
            gradients.take(kernel, (group, &reach), (&from, lattice.theta_unit()), &clip);
            let saturates = |lane: &usize| gradients.largest[*lane] >= f64::from(reach[*lane]) * power(clip.shift);
            saturating += (0..BLOCK_ROWS).filter(saturates).count();
        }
        assert!(
            sure > 1000 && tight > 100 && saturating > 100,
            "{sure} sure, {tight} near the clip, {saturating} beyond reach"
        );
    }
}
