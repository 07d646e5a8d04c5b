//! Which rows are sure over a region of parameters, and what is known of them there.
//!
//! A region is everything within a radius `D` of the segment between two points `a` and `b`. For a
//! point of it, `r_i` is within `||X_i|| D` of a number between `r_i(a)` and `r_i(b)`, and
//! `||X_i|| <= gamma / B_i` by [`Clip::bound`]. So a row is surely
//!
//! - unclipped when `(B_i - max(|r_i(a)|, |r_i(b)|)) B_i >= gamma D`,
//! - clipped upwards when `(min(r_i(a), r_i(b)) - B_i) B_i >= gamma D`, and downwards likewise.
//!
//! Comparisons are rounded so that a row that may be either is undecided. A person with several
//! rows is surely unclipped by the like of the first line ([`surely_within`]). What one contributes
//! who is clipped is constant nowhere, so that all others are undecided.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    held::{CHUNK_BLOCKS, Chunk, Chunks, Held, Piece},
    query::plus,
};
use crate::{
    Error,
    lattice::{
        Around, BLOCK_ROWS, COMPRESSED, Clip, GramSum, Kernel, Lattice, RowBlock, SecondMoments, Theta, UnitClip,
        UnitGroup, WeightedSum, compressed, residuals, surely_within,
    },
};

/// Room for rounding in comparisons; far more than `f64` needs.
const SLACK: f64 = 1e-9;

/// Everything within a radius of the segment between two points.
#[derive(Clone)]
pub struct Region {
    /// One end of the segment.
    pub from: Theta,
    /// The other.
    pub to: Theta,
    /// The radius, in lattice units.
    pub radius: f64,
    /// `gamma D`, rounded up.
    reach: f64,
}

/// Which rows of a block are sure over a region; a bit for each row.
pub(super) struct Marks {
    pub(super) unclipped: u32,
    pub(super) undecided: u32,
    clipped: bool,
    /// What the surely clipped rows contribute: `+-B_i`, and 0 for the others.
    weights: [f64; BLOCK_ROWS],
}

impl Region {
    /// The region, for rows under this clip.
    pub fn new(from: Theta, to: Theta, radius: f64, clip: &Clip) -> Region {
        Region { from, to, radius, reach: clip.gamma() as f64 * radius * (1.0 + SLACK) }
    }

    /// Whether a point is inside; where rounding hides it, not.
    pub(super) fn holds(&self, theta: &Theta) -> bool {
        self.distance(theta) <= self.radius
    }

    /// At least the distance of a point from the segment.
    pub(super) fn distance(&self, theta: &Theta) -> f64 {
        let points = || self.from.integers().iter().zip(self.to.integers()).zip(theta.integers());
        let along: f64 = points().map(|((a, b), t)| (b - a) * (t - a)).sum();
        let length: f64 = points().map(|((a, b), _)| (b - a) * (b - a)).sum();
        // Any point of the segment bounds the distance; rounding only makes this one not quite the
        // nearest.
        let place = if length > 0.0 { (along / length).clamp(0.0, 1.0) } else { 0.0 };
        let gaps = points().map(|((a, b), t)| t - (a + place * (b - a)));
        gaps.map(|gap| gap * gap).sum::<f64>().sqrt() * (1.0 + SLACK) + 1.0
    }

    /// Sorts the rows of a block. Rows with `B_i = 0` contribute nothing and are left out.
    pub(super) fn sort(
        &self,
        kernel: Kernel,
        block: RowBlock<'_>,
        bounds: &[f32; BLOCK_ROWS],
        lattice: &Lattice,
    ) -> Marks {
        let from = residuals(kernel, block, &self.from, lattice.theta_unit());
        let to = if self.from == self.to { from } else { residuals(kernel, block, &self.to, lattice.theta_unit()) };
        let mut marks = Marks { unclipped: 0, undecided: 0, clipped: false, weights: [0.0; BLOCK_ROWS] };
        for row in 0..BLOCK_ROWS {
            let bound = f64::from(bounds[row]);
            let (low, high) = (from[row].min(to[row]), from[row].max(to[row]));
            let is_sure = |margin: f64| margin * bound >= self.reach;
            let is_unclipped = is_sure(bound - high.max(-low));
            let (is_above, is_below) = (is_sure(low - bound), is_sure(-bound - high));
            let counts = bound > 0.0;
            marks.unclipped |= u32::from(is_unclipped && counts) << row;
            marks.undecided |= u32::from(!(is_unclipped || is_above || is_below) && counts) << row;
            marks.clipped |= (is_above || is_below) && counts;
            marks.weights[row] = if is_above {
                bound
            } else if is_below {
                -bound
            } else {
                0.0
            };
        }
        marks
    }

    /// Which persons of a group are surely unclipped, and which are undecided; a bit for each.
    pub(super) fn sort_persons(
        &self,
        kernel: Kernel,
        group: (UnitGroup<'_>, &[f32; BLOCK_ROWS]),
        clip: &UnitClip,
        lattice: &Lattice,
    ) -> (u32, u32) {
        let (from, to, radius) = (&self.from, &self.to, self.radius);
        surely_within(kernel, group, &Around { from, to, radius, theta_unit: lattice.theta_unit() }, clip)
    }
}

/// How rows are sorted over a region.
pub struct Sorting<'a> {
    /// The region.
    pub region: &'a Region,
    /// The instructions it is computed with; answers are the same.
    pub kernel: Kernel,
    /// The clip that the rows have.
    pub clip: &'a Clip,
    /// The arithmetic of parameters.
    pub lattice: &'a Lattice,
    /// The most undecided rows that may be kept.
    pub most_rows: u64,
}

/// What is known of rows over a region.
pub struct Sorted {
    /// The exact second moments of the surely unclipped rows.
    pub unclipped: SecondMoments,
    /// The constant sum of the surely clipped rows.
    pub clipped: Vec<i128>,
    /// The undecided rows, all those of a person.
    pub rows: Chunks,
    /// How many they are.
    pub undecided: u64,
    /// Whether there were more than may be kept: then it is of no use.
    pub is_partial: bool,
}

impl Sorting<'_> {
    /// Sorts rows that are here.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn over(&self, rows: &impl Held) -> Result<Sorted, Error> {
        let features = self.lattice.features();
        let gathered = AtomicU64::new(0);
        let parts = rows.fold(
            || Part::new(self.kernel, features),
            |mut part, piece| {
                match piece.is_grouped() {
                    true => self.sort_persons(piece, &gathered, &mut part),
                    false => self.sort_rows(piece, &gathered, &mut part),
                }
                part
            },
        )?;
        let mut sorted = Sorted::nothing(features);
        parts.into_iter().for_each(|part| sorted.take(part));
        Ok(sorted)
    }

    fn sort_rows(&self, piece: Piece<'_>, gathered: &AtomicU64, part: &mut Part) {
        let sum = WeightedSum::new(self.clip);
        for (block, bounds) in piece.blocks(self.lattice.features()) {
            let marks = self.region.sort(self.kernel, block, bounds, self.lattice);
            if !self.has_room(marks.undecided.count_ones().into(), gathered, part) {
                return;
            }
            part.add(&marks, &sum, block, bounds);
        }
    }

    fn sort_persons(&self, piece: Piece<'_>, gathered: &AtomicU64, part: &mut Part) {
        let clip = UnitClip::new(self.clip);
        for (group, reach) in piece.groups(self.lattice.features()) {
            let (unclipped, undecided) = self.region.sort_persons(self.kernel, (group, reach), &clip, self.lattice);
            if !self.has_room(u64::from(undecided.count_ones()) * group.depth() as u64, gathered, part) {
                return;
            }
            part.add_persons((group, reach), unclipped, undecided);
        }
    }

    /// Whether `more` further rows may be kept; notes in `part` if they may not.
    fn has_room(&self, more: u64, gathered: &AtomicU64, part: &mut Part) -> bool {
        part.is_partial |= gathered.fetch_add(more, Ordering::Relaxed) + more > self.most_rows;
        !part.is_partial
    }
}

impl Sorted {
    /// What is known of no rows.
    pub fn nothing(features: usize) -> Sorted {
        Sorted {
            unclipped: SecondMoments::empty(features + 1),
            clipped: vec![0; features],
            rows: Chunks { features, chunks: Vec::new() },
            undecided: 0,
            is_partial: false,
        }
    }

    fn take(&mut self, part: Part) {
        self.undecided += part.undecided.count + part.persons.rows;
        self.rows.chunks.extend(part.undecided.chunks);
        self.rows.chunks.extend(part.persons.finish());
        self.is_partial |= part.is_partial;
        self.add_decided(&part.unclipped.finish(), part.clipped);
    }

    /// Adds what is known of other rows that are decided.
    pub(super) fn add_decided(&mut self, unclipped: &SecondMoments, clipped: Vec<i128>) {
        self.unclipped = std::mem::replace(&mut self.unclipped, SecondMoments::empty(0)).plus(unclipped);
        self.clipped = plus(std::mem::take(&mut self.clipped), clipped);
    }
}

/// What one thread has found.
struct Part {
    kernel: Kernel,
    unclipped: GramSum,
    clipped: Vec<i128>,
    undecided: Gather,
    persons: GatherPersons,
    is_partial: bool,
}

impl Part {
    fn new(kernel: Kernel, features: usize) -> Part {
        Part {
            kernel,
            unclipped: GramSum::new(kernel, features + 1),
            clipped: vec![0; features],
            undecided: Gather::new(kernel, features),
            persons: GatherPersons::new(features),
            is_partial: false,
        }
    }

    fn add(&mut self, marks: &Marks, sum: &WeightedSum, block: RowBlock<'_>, bounds: &[f32; BLOCK_ROWS]) {
        match marks.unclipped {
            0 => {}
            u32::MAX => self.unclipped.add_block(block),
            some => self.unclipped.add_rows(block, some),
        }
        if marks.clipped {
            sum.add_given(self.kernel, block.cells(), &marks.weights, &mut self.clipped);
        }
        self.undecided.add(block, bounds, marks.undecided);
    }

    fn add_persons(&mut self, group: (UnitGroup<'_>, &[f32; BLOCK_ROWS]), unclipped: u32, undecided: u32) {
        for block in group.0.blocks().filter(|_| unclipped != 0) {
            self.unclipped.add_rows(block, unclipped);
        }
        if undecided != 0 {
            self.persons.add(self.kernel, group, undecided);
        }
    }
}

/// Rows put together in blocks of their own.
pub(super) struct Gather {
    kernel: Kernel,
    features: usize,
    pub(super) chunks: Vec<Chunk>,
    pub(super) count: u64,
    /// The rows of one block, column by column: coefficients, response, bounds.
    columns: Vec<[f32; COMPRESSED]>,
}

impl Gather {
    /// No rows yet.
    pub(super) fn new(kernel: Kernel, features: usize) -> Gather {
        Gather { kernel, features, chunks: Vec::new(), count: 0, columns: Vec::new() }
    }

    /// Adds the rows of a block whose bits are set.
    pub(super) fn add(&mut self, block: RowBlock<'_>, bounds: &[f32; BLOCK_ROWS], lanes: u32) {
        if lanes == 0 {
            return;
        }
        compressed(self.kernel, block, bounds, lanes, &mut self.columns);
        let (mut done, rows) = (0, lanes.count_ones() as usize);
        while done < rows {
            let lane = self.count as usize % BLOCK_ROWS;
            let now = (rows - done).min(BLOCK_ROWS - lane);
            self.copy(done..done + now, lane);
            self.count += now as u64;
            done += now;
        }
    }

    /// Copies rows to the lanes of the last block from `lane` on.
    fn copy(&mut self, rows: std::ops::Range<usize>, lane: usize) {
        let length = RowBlock::len_for(self.features);
        let chunk = open_block(&mut self.chunks, lane == 0, length);
        let (cells, bounds) = (chunk.cells.len() - length, chunk.bounds.len() - BLOCK_ROWS);
        let places = chunk.cells[cells..].chunks_exact_mut(BLOCK_ROWS).chain([&mut chunk.bounds[bounds..]]);
        for (to, from) in places.zip(&self.columns) {
            to[lane..lane + rows.len()].copy_from_slice(&from[rows.clone()]);
        }
    }
}

/// The chunk whose last block has room; a new block is all zeros, which contribute nothing.
fn open_block(chunks: &mut Vec<Chunk>, new: bool, length: usize) -> &mut Chunk {
    if new && chunks.last().is_none_or(|chunk| chunk.bounds.len() == CHUNK_BLOCKS * BLOCK_ROWS) {
        chunks.push(Chunk::default());
    }
    let chunk = chunks.last_mut().expect("a chunk was pushed for the first block");
    if new {
        chunk.cells.resize(chunk.cells.len() + length, 0.0);
        chunk.bounds.resize(chunk.bounds.len() + BLOCK_ROWS, 0.0);
    }
    chunk
}

/// Persons with several rows put together in groups of their own.
struct GatherPersons {
    features: usize,
    chunks: Vec<Chunk>,
    /// The cells of the group that has room, how many persons it has, and where their residuals
    /// saturate.
    cells: Vec<f32>,
    persons: usize,
    reach: [f32; BLOCK_ROWS],
    /// Rows of all persons, with those that fill them up.
    rows: u64,
    /// The rows of one block.
    columns: Vec<[f32; COMPRESSED]>,
}

/// A person with this many times the rows of those who wait joins another group, so that little is
/// filled up with zeros.
const DEEPER: usize = 2;

impl GatherPersons {
    fn new(features: usize) -> GatherPersons {
        let reach = [0.0; BLOCK_ROWS];
        GatherPersons {
            features,
            chunks: Vec::new(),
            cells: Vec::new(),
            persons: 0,
            reach,
            rows: 0,
            columns: Vec::new(),
        }
    }

    /// Adds the persons of a group whose bits are set.
    fn add(&mut self, kernel: Kernel, (group, reach): (UnitGroup<'_>, &[f32; BLOCK_ROWS]), lanes: u32) {
        let length = RowBlock::len_for(self.features);
        self.rows += u64::from(lanes.count_ones()) * group.depth() as u64;
        if group.depth() * length > DEEPER * self.cells.len() {
            self.close();
        }
        let (first, others) = split(lanes, BLOCK_ROWS - self.persons);
        for lanes in [first, others].into_iter().filter(|lanes| *lanes != 0) {
            self.cells.resize(self.cells.len().max(group.depth() * length), 0.0);
            let places = self.persons..self.persons + lanes.count_ones() as usize;
            for (block, to) in group.blocks().zip(self.cells.chunks_exact_mut(length)) {
                compressed(kernel, block, reach, lanes, &mut self.columns);
                let to = to.chunks_exact_mut(BLOCK_ROWS).chain([&mut self.reach[..]]);
                to.zip(&self.columns).for_each(|(to, from)| to[places.clone()].copy_from_slice(&from[..places.len()]));
            }
            self.persons = places.end;
            if self.persons == BLOCK_ROWS {
                self.close();
            }
        }
    }

    /// Ends the group that has room.
    fn close(&mut self) {
        if self.persons == 0 {
            return;
        }
        let length = RowBlock::len_for(self.features);
        if self.chunks.last().is_none_or(|chunk| chunk.cells.len() >= CHUNK_BLOCKS * length) {
            self.chunks.push(Chunk::default());
        }
        let chunk = self.chunks.last_mut().expect("a chunk was pushed for the first group");
        chunk.depths.push((self.cells.len() / length).try_into().expect("a person has at most 2^14 rows"));
        chunk.bounds.extend_from_slice(&self.reach);
        chunk.cells.append(&mut self.cells);
        (self.persons, self.reach) = (0, [0.0; BLOCK_ROWS]);
    }

    fn finish(mut self) -> Vec<Chunk> {
        self.close();
        self.chunks
    }
}

/// The first `most` of the bits that are set, and the others.
fn split(bits: u32, most: usize) -> (u32, u32) {
    let others = (0..most).fold(bits, |rest, _| rest & rest.wrapping_sub(1));
    (bits & !others, others)
}
