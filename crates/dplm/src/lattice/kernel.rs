//! The sums over blocks of rows. Everything here is exact, so any order and any instructions give
//! the same bits.

use super::{
    BLOCK_ROWS, Clip, Kernel, Lattice, Link, RowBlock, Theta,
    exact::{integer, narrow, natural, nearest, power},
    family::Expected,
    simd::{FOLDED, LANES, Simd, Work},
};

/// One number for each row of a block.
pub(crate) type Lanes = [f64; BLOCK_ROWS];

/// Vectors in a column of a block: few enough that a number for each row stays in registers.
pub(super) const VECTORS: usize = BLOCK_ROWS / LANES;

/// `2^27`: the upper half of a residual is a multiple of it.
const HALF: f64 = 134_217_728.0;

/// The largest sums that `f64` holds exactly.
const EXACT: u128 = 1 << 53;

/// `sum_i X_i w_i`, the weights limited to the bounds of their rows.
///
/// A block is read twice while it is in cache: once for its residuals, once for its products.
/// Products are summed in `f64`, four running sums for each column, and moved to `i128` before they
/// could round.
pub(crate) struct WeightedSum {
    /// Whether weights are split in two halves so that products stay exact.
    halves: bool,
    /// After how many blocks the sums must leave `f64`.
    blocks_per_flush: usize,
}

impl WeightedSum {
    /// Sums for this clip.
    ///
    /// # Guarantee
    /// A row's term is at most `gamma` in each coordinate and a running sum takes 8 rows of a
    /// block, so after k blocks it is at most `8 k gamma`; k is chosen so that this is at most
    /// 2^53. Where k would be below 16, weights are split: each half is an integer of at most 26
    /// bits (times 2^27 for the upper), cells have at most 19, and 16 blocks give at most
    /// `2^(26 + 19 + 3 + 4)`.
    pub(crate) fn new(clip: &Clip) -> WeightedSum {
        let rows_per_sum = (BLOCK_ROWS / FOLDED) as u128;
        let halves = !clip.sums_in_one_product();
        let blocks = if halves { 16 } else { EXACT / (rows_per_sum * clip.gamma().max(1)) };
        WeightedSum { halves, blocks_per_flush: usize::try_from(blocks.clamp(16, 256)).expect("few") }
    }

    /// Sums for weights that are whole numbers of at most 2^53, whatever the clip: split, as above.
    pub(crate) fn of_any_weights() -> WeightedSum {
        WeightedSum { halves: true, blocks_per_flush: 16 }
    }

    /// Adds `sum_i X_i w_i` at `theta` over a buffer of blocks with the bounds of their rows:
    /// residuals, limited as their link says.
    pub(crate) fn add_clipped(
        &self,
        kernel: Kernel,
        piece: (&[f32], &[f32]),
        at: (&Theta, &Lattice),
        sums: &mut [i128],
    ) {
        kernel.run(SumWork { how: self, cells: piece.0, weights: Clipped::new(piece.1, at), sums });
    }

    /// Adds `sum_i X_i clamp(b_i, -B_i, B_i)`, `b` how the variance of a binary response changes
    /// along its linear function.
    pub(crate) fn add_bends(&self, kernel: Kernel, piece: (&[f32], &[f32]), at: (&Theta, &Lattice), sums: &mut [i128]) {
        kernel.run(SumWork { how: self, cells: piece.0, weights: Bends(Clipped::new(piece.1, at)), sums });
    }

    /// Adds `sum_i X_i w_i` for weights within the bounds of their rows.
    pub(crate) fn add_given(&self, kernel: Kernel, cells: &[f32], weights: &[f64], sums: &mut [i128]) {
        kernel.run(SumWork { how: self, cells, weights: Given(weights.as_chunks().0), sums });
    }
}

/// Where the weights of a block come from.
trait Weights {
    fn of_block<S: Simd>(&self, simd: S, index: usize, block: Block<'_>, ahead: &mut Ahead<'_>) -> [S::V; VECTORS];
}

/// Residuals at `theta`, limited to the rows' bounds.
struct Clipped<'a> {
    theta: &'a Theta,
    theta_unit: f64,
    bounds: &'a [[f32; BLOCK_ROWS]],
}

impl<'a> Clipped<'a> {
    fn new(bounds: &'a [f32], (theta, lattice): (&'a Theta, &'a Lattice)) -> Clipped<'a> {
        Clipped { theta, theta_unit: lattice.theta_unit(), bounds: bounds.as_chunks().0 }
    }
}

impl Weights for Clipped<'_> {
    #[inline(always)]
    fn of_block<S: Simd>(&self, simd: S, index: usize, block: Block<'_>, ahead: &mut Ahead<'_>) -> [S::V; VECTORS] {
        block.limited(simd, (self.theta, self.theta_unit), &self.bounds[index], ahead)
    }
}

/// How variances change, limited likewise.
struct Bends<'a>(Clipped<'a>);

impl Weights for Bends<'_> {
    #[inline(always)]
    fn of_block<S: Simd>(&self, simd: S, index: usize, block: Block<'_>, ahead: &mut Ahead<'_>) -> [S::V; VECTORS] {
        let Clipped { theta, theta_unit, bounds } = self.0;
        let mut bends = [simd.splat(0.0); VECTORS];
        for (bend, expected) in bends.iter_mut().zip(block.expected(simd, theta, theta_unit, ahead)) {
            *bend = expected.bend(simd);
        }
        limited_to(simd, bends, &bounds[index])
    }
}

/// Weights computed elsewhere.
struct Given<'a>(&'a [[f64; BLOCK_ROWS]]);

impl Weights for Given<'_> {
    #[inline(always)]
    fn of_block<S: Simd>(&self, simd: S, index: usize, _: Block<'_>, _: &mut Ahead<'_>) -> [S::V; VECTORS] {
        loaded(simd, &self.0[index])
    }
}

struct SumWork<'a, W> {
    how: &'a WeightedSum,
    cells: &'a [f32],
    weights: W,
    sums: &'a mut [i128],
}

impl<W: Weights> Work for SumWork<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let SumWork { how, cells, weights, sums } = self;
        let length = RowBlock::len_for(sums.len());
        let mut low_sums = vec![[0.0; FOLDED]; sums.len()];
        let mut high_sums = vec![[0.0; FOLDED]; if how.halves { sums.len() } else { 0 }];
        for (index, block) in cells.chunks_exact(length).enumerate() {
            let block = Block(block);
            let mut ahead = Ahead::new(cells, (index + 1) * length);
            let mut weights = weights.of_block(simd, index, block, &mut ahead);
            if how.halves {
                block.add_products(simd, &upper_halves(simd, &mut weights), &mut high_sums, &mut ahead);
            }
            block.add_products(simd, &weights, &mut low_sums, &mut ahead);
            if (index + 1) % how.blocks_per_flush == 0 {
                flush(&mut low_sums, 1, sums);
                flush(&mut high_sums, i128::from(integer(HALF)), sums);
            }
        }
        flush(&mut low_sums, 1, sums);
        flush(&mut high_sums, i128::from(integer(HALF)), sums);
    }
}

/// The cells of a block: its columns one after the other, the responses last.
#[derive(Clone, Copy)]
pub(super) struct Block<'a>(pub(super) &'a [f32]);

impl<'a> Block<'a> {
    #[inline(always)]
    pub(super) fn column(self, index: usize) -> &'a [[f32; LANES]; VECTORS] {
        vectors(self.0[index * BLOCK_ROWS..].first_chunk().expect("a column of the block"))
    }

    /// `2^s Y - X . Theta`: integers below 2^53 by [`Lattice::plan`].
    #[inline(always)]
    pub(super) fn residuals<S: Simd>(
        self,
        simd: S,
        theta: &[f64],
        theta_unit: f64,
        ahead: &mut Ahead<'_>,
    ) -> [S::V; VECTORS] {
        let unit = simd.splat(theta_unit);
        let mut residuals = [unit; VECTORS];
        for (residual, y) in residuals.iter_mut().zip(self.column(theta.len())) {
            *residual = simd.mul(simd.widen(y), unit);
        }
        // A descent begins at zero, where a clip is looked for too.
        if theta.iter().all(|&theta| theta == 0.0) {
            return residuals;
        }
        for (index, &theta) in theta.iter().enumerate() {
            let theta = simd.splat(theta);
            ahead.ask(simd);
            for (residual, x) in residuals.iter_mut().zip(self.column(index)) {
                *residual = simd.mul_sub_from(simd.widen(x), theta, *residual);
            }
        }
        residuals
    }

    /// What each row's response is above its mean: an integer below 2^53.
    #[inline(always)]
    pub(super) fn residuals_at<S: Simd>(
        self,
        simd: S,
        (theta, theta_unit): (&Theta, f64),
        ahead: &mut Ahead<'_>,
    ) -> [S::V; VECTORS] {
        match theta.link {
            Link::Identity => self.residuals(simd, &theta.integers, theta_unit, ahead),
            Link::Logistic => {
                let mut residuals = [simd.splat(0.0); VECTORS];
                for (residual, expected) in residuals.iter_mut().zip(self.expected(simd, theta, theta_unit, ahead)) {
                    *residual = expected.residual(simd);
                }
                residuals
            }
        }
    }

    /// What is expected of each row, where its response is binary.
    #[inline(always)]
    pub(super) fn expected<S: Simd>(
        self,
        simd: S,
        theta: &Theta,
        theta_unit: f64,
        ahead: &mut Ahead<'_>,
    ) -> [Expected<S::V>; VECTORS] {
        // Without its response a row's residual is its linear function, with the sign changed.
        let negative = self.residuals(simd, &theta.integers, 0.0, ahead);
        let zero = simd.splat(0.0);
        let mut expected = [Expected { mean: zero, root: zero, outcome: zero }; VECTORS];
        let responses = self.column(theta.integers.len());
        for ((expected, negative), responses) in expected.iter_mut().zip(negative).zip(responses) {
            *expected = Expected::of(simd, negative, simd.widen(responses), theta_unit);
        }
        expected
    }

    /// The variance of the response of each row, where it is binary.
    #[inline(always)]
    pub(super) fn variances<S: Simd>(self, simd: S, theta: &Theta, theta_unit: f64) -> Lanes {
        let mut variances = [simd.splat(0.0); VECTORS];
        let expected = self.expected(simd, theta, theta_unit, &mut Ahead::new(&[], 0));
        for (variance, expected) in variances.iter_mut().zip(expected) {
            *variance = expected.variance(simd);
        }
        stored(simd, variances)
    }

    /// Residuals as they count under the bounds of their rows: limited to them, or weighted by what
    /// does not depend on the response.
    #[inline(always)]
    fn limited<S: Simd>(
        self,
        simd: S,
        (theta, theta_unit): (&Theta, f64),
        bounds: &[f32; BLOCK_ROWS],
        ahead: &mut Ahead<'_>,
    ) -> [S::V; VECTORS] {
        match theta.link {
            Link::Identity => limited_to(simd, self.residuals(simd, &theta.integers, theta_unit, ahead), bounds),
            Link::Logistic => {
                let mut weights = [simd.splat(0.0); VECTORS];
                let expected = self.expected(simd, theta, theta_unit, ahead);
                for ((weight, expected), bounds) in weights.iter_mut().zip(expected).zip(vectors(bounds)) {
                    *weight = expected.weighted(simd, simd.widen(bounds));
                }
                weights
            }
        }
    }

    /// Adds `X' w` to the running sums of each column.
    #[inline(always)]
    fn add_products<S: Simd>(
        self,
        simd: S,
        weights: &[S::V; VECTORS],
        sums: &mut [[f64; FOLDED]],
        ahead: &mut Ahead<'_>,
    ) {
        for (index, sum) in sums.iter_mut().enumerate() {
            ahead.ask(simd);
            let (mut even, mut odd) = (simd.splat(0.0), simd.splat(0.0));
            for (cells, weights) in self.column(index).as_chunks::<2>().0.iter().zip(weights.as_chunks::<2>().0) {
                even = simd.mul_add(simd.widen(&cells[0]), weights[0], even);
                odd = simd.mul_add(simd.widen(&cells[1]), weights[1], odd);
            }
            simd.add_folded(simd.add(even, odd), sum);
        }
    }

    /// The squared norm of each row: below 2^52, as a cell is at most 2^19 and there are fewer than
    /// 2^14.
    #[inline(always)]
    pub(super) fn norms_sq<S: Simd>(self, simd: S) -> [S::V; VECTORS] {
        let mut norms = [simd.splat(0.0); VECTORS];
        for index in 0..self.0.len() / BLOCK_ROWS - 1 {
            for (norm, x) in norms.iter_mut().zip(self.column(index)) {
                let x = simd.widen(x);
                *norm = simd.mul_add(x, x, *norm);
            }
        }
        norms
    }
}

/// Asks for cells that will be read soon, a line at a time, so that memory is never idle while a
/// block is worked on.
pub(super) struct Ahead<'a>(std::slice::Iter<'a, [f32; CACHE_LINE]>);

/// Cells in a cache line. A column has two lines and is visited twice, so a line for each visit
/// keeps one block ahead.
const CACHE_LINE: usize = 16;

impl<'a> Ahead<'a> {
    #[inline(always)]
    pub(super) fn new(cells: &'a [f32], start: usize) -> Ahead<'a> {
        Ahead(cells.get(start..).unwrap_or_default().as_chunks().0.iter())
    }

    #[inline(always)]
    fn ask<S: Simd>(&mut self, simd: S) {
        if let Some(line) = self.0.next() {
            simd.prefetch(&line[0]);
        }
    }
}

#[inline(always)]
pub(super) fn vectors(cells: &[f32; BLOCK_ROWS]) -> &[[f32; LANES]; VECTORS] {
    cells.as_chunks().0.first_chunk().expect("vectors divide a block")
}

/// Splits weights into a multiple of 2^27, returned without that factor, and a remainder of at most
/// 2^26, left in place.
#[inline(always)]
fn upper_halves<S: Simd>(simd: S, weights: &mut [S::V; VECTORS]) -> [S::V; VECTORS] {
    let mut upper = *weights;
    for (upper, weight) in upper.iter_mut().zip(weights) {
        *upper = simd.round(simd.mul(*upper, simd.splat(1.0 / HALF)));
        *weight = simd.mul_sub_from(*upper, simd.splat(HALF), *weight);
    }
    upper
}

/// Moves running sums from `f64` to integers.
#[inline(always)]
pub(super) fn flush(running: &mut [[f64; FOLDED]], unit: i128, sums: &mut [i128]) {
    for (running, sum) in running.iter_mut().zip(sums) {
        // Each is at most 2^53, so four fit `i64`.
        *sum += i128::from(running.iter().map(|&part| integer(part)).sum::<i64>()) * unit;
        *running = [0.0; FOLDED];
    }
}

/// What the response of each row of a block is above its mean: integers below 2^53 by
/// [`Lattice::plan`].
pub(crate) fn residuals(kernel: Kernel, block: RowBlock<'_>, theta: &Theta, theta_unit: f64) -> Lanes {
    kernel.run(ResidualWork { block: Block(block.cells()), theta, theta_unit })
}

struct ResidualWork<'a> {
    block: Block<'a>,
    theta: &'a Theta,
    theta_unit: f64,
}

impl Work for ResidualWork<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Lanes {
        stored(simd, self.block.residuals_at(simd, (self.theta, self.theta_unit), &mut Ahead::new(&[], 0)))
    }
}

/// What is expected of the rows of a block whose responses are binary.
pub(crate) fn expected(kernel: Kernel, block: RowBlock<'_>, theta: &Theta, theta_unit: f64) -> Expected<Lanes> {
    kernel.run(ExpectedWork(ResidualWork { block: Block(block.cells()), theta, theta_unit }))
}

struct ExpectedWork<'a>(ResidualWork<'a>);

impl Work for ExpectedWork<'_> {
    type Output = Expected<Lanes>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Expected<Lanes> {
        let ResidualWork { block, theta, theta_unit } = self.0;
        let mut all = Expected { mean: [0.0; BLOCK_ROWS], root: [0.0; BLOCK_ROWS], outcome: [0.0; BLOCK_ROWS] };
        let expected = block.expected(simd, theta, theta_unit, &mut Ahead::new(&[], 0));
        for (index, expected) in expected.iter().enumerate() {
            simd.store(expected.mean, &mut all.mean.as_chunks_mut().0[index]);
            simd.store(expected.root, &mut all.root.as_chunks_mut().0[index]);
            simd.store(expected.outcome, &mut all.outcome.as_chunks_mut().0[index]);
        }
        all
    }
}

/// The variance of the response of each row of a block, where it is binary.
pub(crate) fn variances(kernel: Kernel, block: RowBlock<'_>, theta: &Theta, theta_unit: f64) -> Lanes {
    kernel.run(VarianceWork(ResidualWork { block: Block(block.cells()), theta, theta_unit }))
}

struct VarianceWork<'a>(ResidualWork<'a>);

impl Work for VarianceWork<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Lanes {
        self.0.block.variances(simd, self.0.theta, self.0.theta_unit)
    }
}

struct SizeWork<'a>(ResidualWork<'a>);

impl Work for SizeWork<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Lanes {
        let ResidualWork { block, theta, theta_unit } = self.0;
        let mut sizes = [simd.splat(0.0); VECTORS];
        let expected = block.expected(simd, theta, theta_unit, &mut Ahead::new(&[], 0));
        for (size, expected) in sizes.iter_mut().zip(expected) {
            *size = expected.largest(simd);
        }
        stored(simd, sizes)
    }
}

/// How large the residual of each row of a block counts as where it is clipped: the largest that
/// could be, where the response is binary.
pub(crate) fn sizes(kernel: Kernel, block: RowBlock<'_>, theta: &Theta, theta_unit: f64) -> Lanes {
    match theta.link {
        Link::Identity => residuals(kernel, block, theta, theta_unit),
        Link::Logistic => kernel.run(SizeWork(ResidualWork { block: Block(block.cells()), theta, theta_unit })),
    }
}

/// The residuals of the rows of a block as they count under the bounds of their rows.
pub(crate) fn limited(
    kernel: Kernel,
    block: RowBlock<'_>,
    bounds: &[f32; BLOCK_ROWS],
    theta: &Theta,
    theta_unit: f64,
) -> Lanes {
    kernel.run(LimitWork(ResidualWork { block: Block(block.cells()), theta, theta_unit }, bounds))
}

struct LimitWork<'a>(ResidualWork<'a>, &'a [f32; BLOCK_ROWS]);

impl Work for LimitWork<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Lanes {
        let ResidualWork { block, theta, theta_unit } = self.0;
        stored(simd, block.limited(simd, (theta, theta_unit), self.1, &mut Ahead::new(&[], 0)))
    }
}

/// The squared norm of each row of a buffer of blocks, exactly.
pub(crate) fn all_norms_sq(kernel: Kernel, cells: &[f32], features: usize) -> Vec<f64> {
    RowBlock::all(cells, features).flat_map(|block| norms_sq(kernel, block)).collect()
}

/// The squared norm of each row of a block, exactly.
pub(crate) fn norms_sq(kernel: Kernel, block: RowBlock<'_>) -> Lanes {
    kernel.run(NormWork { block: Block(block.cells()) })
}

struct NormWork<'a> {
    block: Block<'a>,
}

impl Work for NormWork<'_> {
    type Output = Lanes;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Lanes {
        stored(simd, self.block.norms_sq(simd))
    }
}

/// Values limited to the bounds of their rows.
#[inline(always)]
fn limited_to<S: Simd>(simd: S, mut values: [S::V; VECTORS], bounds: &[f32; BLOCK_ROWS]) -> [S::V; VECTORS] {
    for (value, bound) in values.iter_mut().zip(vectors(bounds)) {
        *value = simd.limit(*value, simd.widen(bound));
    }
    values
}

#[inline(always)]
pub(super) fn loaded<S: Simd>(simd: S, lanes: &Lanes) -> [S::V; VECTORS] {
    let mut values = [simd.splat(0.0); VECTORS];
    for (value, lanes) in values.iter_mut().zip(lanes.as_chunks().0) {
        *value = simd.load(lanes);
    }
    values
}

#[inline(always)]
pub(super) fn stored<S: Simd>(simd: S, values: [S::V; VECTORS]) -> Lanes {
    let mut lanes = [0.0; BLOCK_ROWS];
    for (lanes, value) in lanes.as_chunks_mut().0.iter_mut().zip(values) {
        simd.store(value, lanes);
    }
    lanes
}

/// The bound `B_i` of each row of a buffer of blocks: [`Clip::bound`] of its norm, bit for bit.
pub(crate) fn bounds(kernel: Kernel, cells: &[f32], features: usize, clip: &Clip) -> Vec<f32> {
    kernel.run(BoundWork { cells, features, clip })
}

struct BoundWork<'a> {
    cells: &'a [f32],
    features: usize,
    clip: &'a Clip,
}

impl Work for BoundWork<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f32> {
        let length = RowBlock::len_for(self.features);
        let mut bounds = Vec::with_capacity(self.cells.len() / length * BLOCK_ROWS);
        for block in self.cells.chunks_exact(length) {
            let norms = stored(simd, Block(block).norms_sq(simd));
            bounds.extend_from_slice(&bounds_of_norms(&norms, self.clip));
        }
        bounds
    }
}

/// The same where squared norms are known, 32 for each block.
pub(crate) fn bounds_given(kernel: Kernel, norms_sq: &[f64], clip: &Clip) -> Vec<f32> {
    kernel.run(BoundGivenWork { norms_sq, clip })
}

struct BoundGivenWork<'a> {
    norms_sq: &'a [f64],
    clip: &'a Clip,
}

impl Work for BoundGivenWork<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Vec<f32> {
        let blocks = self.norms_sq.as_chunks().0;
        let mut bounds = Vec::with_capacity(self.norms_sq.len());
        blocks.iter().for_each(|norms| bounds.extend_from_slice(&bounds_of_norms(norms, self.clip)));
        bounds
    }
}

/// Three roundings (of `gamma`, the root, the quotient) put an estimate of `gamma / ||X||` at most
/// three parts in 2^53 off; this is more.
pub(super) const ROUNDING: f64 = 1.0 / power(50);

/// Estimates in `f64` decide nearly every bound; where they cannot, the integers do.
#[inline(always)]
fn bounds_of_norms(norms: &Lanes, clip: &Clip) -> [f32; BLOCK_ROWS] {
    let gamma = nearest(clip.gamma().cast_signed());
    let (mut low, mut high) = (*norms, *norms);
    for (low, high) in low.iter_mut().zip(&mut high) {
        let estimate = if *low > 0.0 { gamma / low.sqrt() } else { 0.0 };
        *low = whole_down(estimate * (1.0 - ROUNDING));
        *high = whole_down(estimate * (1.0 + ROUNDING));
    }
    let mut bounds = low.map(narrow);
    if low != high {
        for ((bound, &norm), _) in
            bounds.iter_mut().zip(norms).zip(low.iter().zip(&high)).filter(|(_, (low, high))| low != high)
        {
            *bound = clip.bound(natural(norm));
        }
    }
    bounds
}

/// The largest whole number of 24 bits not above a nonnegative value.
#[inline(always)]
pub(super) fn whole_down(value: f64) -> f64 {
    const KEEP: u64 = !((1 << 29) - 1);
    f64::from_bits(value.to_bits() & KEEP).floor()
}

/// Room for a compressed column: the last vector may reach beyond.
pub(crate) const COMPRESSED: usize = BLOCK_ROWS + LANES;

/// Moves the cells of the rows whose bits are set to the front; what follows them is left open.
#[inline(always)]
pub(super) fn compress<S: Simd>(simd: S, column: &[f32; BLOCK_ROWS], rows: u32, to: &mut [f32; COMPRESSED]) {
    let mut place = 0;
    for (cells, keep) in vectors(column).iter().zip(rows.to_le_bytes()) {
        simd.compress(cells, keep, to[place..].first_chunk_mut().expect("a vector beyond every place"));
        place += keep.count_ones() as usize;
    }
}

/// Moves the rows whose bits are set to the front of every column of a block, and their bounds
/// likewise.
pub(crate) fn compressed(
    kernel: Kernel,
    block: RowBlock<'_>,
    bounds: &[f32; BLOCK_ROWS],
    rows: u32,
    to: &mut Vec<[f32; COMPRESSED]>,
) {
    kernel.run(CompressWork { columns: block.cells().as_chunks().0, bounds, rows, to });
}

struct CompressWork<'a> {
    columns: &'a [[f32; BLOCK_ROWS]],
    bounds: &'a [f32; BLOCK_ROWS],
    rows: u32,
    to: &'a mut Vec<[f32; COMPRESSED]>,
}

impl Work for CompressWork<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.to.resize(self.columns.len() + 1, [0.0; COMPRESSED]);
        for (column, to) in self.columns.iter().chain([self.bounds]).zip(self.to) {
            compress(simd, column, self.rows, to);
        }
    }
}

/// How many rows of a block are clipped: `|r_i| > B_i`. A row of zeros is not.
pub(crate) fn clipped_in_block(residual: &Lanes, bounds: &[f32; BLOCK_ROWS], norms: &Lanes) -> u64 {
    let rows = residual.iter().zip(bounds).zip(norms);
    rows.filter(|((residual, bound), norm)| residual.abs() > f64::from(**bound) && **norm > 0.0).count() as u64
}

/// Sum over a block of `floor(||X_i clamp(r_i, -B_i, B_i)||^2 / 2^shift)`.
pub(crate) fn square_of_block(residual: &Lanes, bounds: &[f32; BLOCK_ROWS], norms: &Lanes, shift: u32) -> i128 {
    let rows = residual.iter().zip(bounds).zip(norms);
    let squares = rows.map(|((&residual, &bound), &norm)| {
        let weight = u128::from(natural(residual.abs().min(f64::from(bound))));
        (weight * weight * u128::from(natural(norm))) >> shift
    });
    squares.sum::<u128>().cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]
        #[test]
        fn fast_bounds_are_the_exact_bounds(gamma in 0..1u128 << 40, shift in 0..22u32, root in 0..1u64 << 20) {
            let clip = Clip::new((gamma << shift) + 1);
            // Squares, where the quotient may be whole, and their neighbours, where it is nearly
            // so.
            let norms = std::array::from_fn(|row| (root * root + row as u64).saturating_sub(3) as f64);
            let fast = bounds_of_norms(&norms, &clip);
            prop_assert_eq!(fast, norms.map(|norm| clip.bound(norm as u64)));
        }
    }

    #[test]
    fn a_close_bound_is_decided_by_integers() {
        // gamma / ||X|| is whole, so the estimates on either side differ.
        let clip = Clip::new(3 << 40);
        let bounds = bounds_of_norms(&[9.0 * 65536.0; BLOCK_ROWS], &clip);
        assert_eq!(bounds, [(1u64 << 32) as f32; BLOCK_ROWS]);
    }
}
