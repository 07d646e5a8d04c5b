//! Persons with several rows: what each contributes, in exact integers.
//!
//! Thirty-two persons lie side by side, one in each lane of the blocks of a [`Group`], so that what is summed over a person's rows is summed
//! down the blocks, for all of them at once.
//!
//! A person's contribution to the negative gradient sum is `v = sum_i X_i r_i` over their rows, shortened to norm `gamma` where it is longer:
//! the vector is clipped, not its rows, so that a person moves the sum by as much as a row would, however many rows they have. A person
//! with one row is a row of its own elsewhere ([`super::kernel`]), where clipping the residual does the same.

use super::{
    BLOCK_ROWS, Clip, Kernel, Lattice, RowBlock, Theta,
    design::nearest_cell,
    exact::{count, integer, large, narrow, nearest, power},
    kernel::{Ahead, Block, DOUBT, Lanes, VECTORS, flush, stored, vectors, whole_down},
    simd::{FOLDED, Simd, Work},
};

/// The most rows that a person may have: sums of cells over them stay below 2^33, and sums of products of two cells below 2^52.
pub const MOST_ROWS: u32 = 1 << 14;

/// The rows of 32 persons, one in each lane: the k-th block holds the k-th row of each, zeros where a person has fewer.
#[derive(Clone, Copy)]
pub(crate) struct Group<'a> {
    cells: &'a [f32],
    features: usize,
}

impl<'a> Group<'a> {
    pub(crate) fn new(cells: &'a [f32], features: usize) -> Group<'a> {
        Group { cells, features }
    }

    pub(crate) fn blocks(self) -> impl Iterator<Item = RowBlock<'a>> {
        RowBlock::all(self.cells, self.features)
    }

    pub(super) fn features(self) -> usize {
        self.features
    }

    /// How many blocks there are: the most rows that one of the persons has.
    fn depth(self) -> usize {
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

/// Multiplies the rows of each person of a group, responses included, by `1 / sqrt m`, `m` the number of their rows that are not all zeros, and
/// rounds them to the lattice: products of two cells then count `1 / m`. A rule about one person.
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

/// For each person of a group, the size at which residuals saturate: `S M <= 2^52` for `M = max_j sum_i |X_ij|`.
///
/// # Guarantee
/// Whatever residuals of at most `S` the person's rows have, no partial sum of `sum_i X_ij r_i` exceeds `M S`: it is exact in `f64`, in any
/// order. The quotient is rounded at most one part in 2^53 up before it is cut, which 2^53 has room for.
pub(crate) fn reaches(kernel: Kernel, group: Group<'_>) -> [f32; BLOCK_ROWS] {
    kernel.run(ReachWork(group))
}

struct ReachWork<'a>(Group<'a>);

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

/// A clip for sums over several rows, on a grid coarse enough that `gamma` is below 2^46: sums of such vectors stay exact in `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct UnitClip {
    /// `gamma` in steps of the grid, rounded down.
    gamma: f64,
    /// A step of the grid is 2^shift lattice units.
    shift: u32,
}

/// Clips have at most so many bits on their grid.
const CLIP_BITS: u32 = 46;

impl UnitClip {
    pub(crate) fn new(clip: &Clip) -> UnitClip {
        let shift = (u128::BITS - clip.gamma().leading_zeros()).saturating_sub(CLIP_BITS);
        UnitClip::on_grid(clip, shift)
    }

    /// A clip on the grid of another, which is no narrower.
    pub(super) fn on_grid(clip: &Clip, shift: u32) -> UnitClip {
        UnitClip { gamma: nearest((clip.gamma() >> shift).cast_signed()), shift }
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
#[derive(Default)]
pub(crate) struct UnitGradients {
    /// For each coefficient, the sums of all persons, in steps of the clip's grid: integers of at most 2^52.
    sums: Vec<Lanes>,
    residuals: Vec<Lanes>,
    length: Length,
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
    /// The sums at `theta`. Residuals are rounded to the grid of the clip and saturate at `reach`, as [`reaches`] gives it.
    pub(crate) fn take(
        &mut self,
        kernel: Kernel,
        (group, reach): (Group<'_>, &[f32; BLOCK_ROWS]),
        (theta, theta_unit): (&Theta, f64),
        clip: &UnitClip,
    ) {
        let (sums, residuals) = (&mut self.sums, &mut self.residuals);
        sums.resize(group.features, [0.0; BLOCK_ROWS]);
        residuals.resize(group.depth(), [0.0; BLOCK_ROWS]);
        let (theta, step) = (theta.integers(), 1.0 / power(clip.shift));
        self.length = kernel.run(SumWork { group, reach, theta, theta_unit, step, residuals, sums });
    }

    /// What each vector is multiplied by before its coordinates are cut towards zero: 1 where it is within the clip.
    ///
    /// # Guarantee
    /// `||cut(f v)|| <= gamma`: with `f` at most `gamma scale / sqrt(square)` times `1 - 2^-50`, rounded three times, and each product
    /// `f v_j` rounded once before it is cut, every `|c_j| <= |v_j| gamma / ||v||`.
    pub(crate) fn factors(&self, clip: &UnitClip) -> Lanes {
        std::array::from_fn(|lane| match self.is_within(lane, clip) {
            true => 1.0,
            false => clip.gamma * self.length.scale[lane] / self.length.square[lane].sqrt() * (1.0 - DOUBT),
        })
    }

    /// Whether a person's vector is surely no longer than the clip; rounded so that a doubt says no.
    pub(crate) fn is_within(&self, lane: usize, clip: &UnitClip) -> bool {
        let gamma = clip.gamma * self.length.scale[lane];
        self.length.square[lane] <= gamma * gamma * (1.0 - DOUBT)
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

    /// One person's vector.
    pub(super) fn of_lane(&self, lane: usize) -> impl Iterator<Item = f64> + Clone {
        self.sums.iter().map(move |sums| sums[lane])
    }
}

struct SumWork<'a> {
    group: Group<'a>,
    reach: &'a [f32; BLOCK_ROWS],
    theta: &'a [f64],
    theta_unit: f64,
    step: f64,
    residuals: &'a mut [Lanes],
    sums: &'a mut [Lanes],
}

impl Work for SumWork<'_> {
    type Output = Length;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Length {
        let SumWork { group, reach, theta, theta_unit, step, residuals, sums } = self;
        let length = RowBlock::len_for(group.features);
        let step = simd.splat(step);
        for (index, (block, kept)) in group.cells.chunks_exact(length).zip(residuals.iter_mut()).enumerate() {
            let mut ahead = Ahead::new(group.cells, (index + 1) * length);
            let mut residuals = Block(block).residuals(simd, theta, theta_unit, &mut ahead);
            for (residual, reach) in residuals.iter_mut().zip(vectors(reach)) {
                *residual = simd.limit(simd.round(simd.mul(*residual, step)), simd.widen(reach));
            }
            *kept = stored(simd, residuals);
        }
        // Block by block, as they lie in memory: the sums of a group stay in the first-level cache.
        sums.fill([0.0; BLOCK_ROWS]);
        for (block, residuals) in group.cells.chunks_exact(length).zip(residuals.iter()) {
            let mut loaded = [simd.splat(0.0); VECTORS];
            for (loaded, residuals) in loaded.iter_mut().zip(residuals.as_chunks().0) {
                *loaded = simd.load(residuals);
            }
            for (column, sums) in sums.iter_mut().enumerate() {
                let cells = Block(block).column(column).iter().zip(loaded);
                for (sum, (cells, residual)) in sums.as_chunks_mut().0.iter_mut().zip(cells) {
                    simd.store(simd.mul_add(simd.widen(cells), residual, simd.load(sum)), sum);
                }
            }
        }
        lengths(sums)
    }
}

/// Adding this to a number of at most 2^51 leaves no bits for a fraction, so that taking it off again rounds the number.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// How long vectors are, from their coordinates rounded up to a few bits, whose squares add up exactly.
///
/// With `B = (53 - log2 p) / 2 - 1` bits the largest coordinate is scaled by a power of two to below 2^B. A rounded one is at most `2^B + 1`, and
/// `p (2^B + 1)^2 <= 2^53`. Every step is exact or one rounding of IEEE's, so that all instructions give the same bits.
#[inline(always)]
fn lengths(vectors: &[Lanes]) -> Length {
    let mut most = [0.0; BLOCK_ROWS];
    for vector in vectors {
        for (most, value) in most.iter_mut().zip(vector) {
            *most = if value.abs() > *most { value.abs() } else { *most };
        }
    }
    let bits = (53 - vectors.len().next_power_of_two().trailing_zeros()) / 2 - 1;
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

/// The power of two that takes a number of at most 2^52 to below 2^bits, and no smaller than need be; 1 for nothing.
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
    groups: impl Iterator<Item = (Group<'a>, &'a [f32; BLOCK_ROWS])>,
    clip: &Clip,
    (theta, lattice): (&Theta, &Lattice),
    sums: &mut [i128],
) {
    let clip = UnitClip::new(clip);
    let mut gradients = UnitGradients::default();
    let mut running = vec![[0.0; FOLDED]; sums.len()];
    let mut waiting = 0;
    for group in groups {
        gradients.take(kernel, group, (theta, lattice.theta_unit()), &clip);
        let factors = gradients.factors(&clip);
        kernel.run(AddWork { sums: &gradients.sums, factors: &factors, running: &mut running });
        waiting += 1;
        if waiting == clip.groups_per_flush() {
            flush(&mut running, 1 << clip.shift, sums);
            waiting = 0;
        }
    }
    flush(&mut running, 1 << clip.shift, sums);
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

/// The sum over persons of `floor(||c||^2 / 2^shift)`, `c` the clipped sum at `theta`, with the shift of [`Clip::square_shift`].
pub(crate) fn unit_square_sum<'a>(
    kernel: Kernel,
    groups: impl Iterator<Item = (Group<'a>, &'a [f32; BLOCK_ROWS])>,
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

/// How many persons are clipped at `theta`.
pub(crate) fn clipped_units<'a>(
    kernel: Kernel,
    groups: impl Iterator<Item = (Group<'a>, &'a [f32; BLOCK_ROWS])>,
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

/// `||A||_F^2` for each person of a group, `A = sum_i X_i X_i'`, exactly; at the end of `u128` where it is beyond.
///
/// The products of all pairs of rows have the same sum of squares as those of all pairs of columns, since `tr (X'X)^2 = tr (XX')^2`: the fewer
/// are taken.
pub(crate) fn frobenius_sq(kernel: Kernel, group: Group<'_>) -> [u128; BLOCK_ROWS] {
    kernel.run(FrobeniusWork(group))
}

struct FrobeniusWork<'a>(Group<'a>);

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
