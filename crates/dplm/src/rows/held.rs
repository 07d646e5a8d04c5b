//! Encoded cells in memory, and how a pass goes over all of them.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::{
    Error,
    lattice::{BLOCK_ROWS, Kernel, Reencoded, RowBlock, UnitGroup, all_norms_sq, reaches},
};

/// Blocks per chunk: a chunk is the unit of work of a thread and of allocation, so that memory
/// never doubles while it grows.
pub const CHUNK_BLOCKS: usize = 256;
/// Rows per chunk.
pub(super) const CHUNK_ROWS: usize = CHUNK_BLOCKS * BLOCK_ROWS;

/// Some blocks of rows that stand for themselves, with their clip bounds; or some groups of persons
/// with several rows, with the reaches of those.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// The cells, block by block.
    pub cells: &'a [f32],
    /// The squared norm of each row, if it is known.
    pub norms_sq: &'a [f64],
    /// A bound for each row, or a reach for each person.
    pub bounds: &'a [f32],
    /// How many blocks each group has; none for rows that stand for themselves.
    pub depths: &'a [u32],
}

impl<'a> Piece<'a> {
    /// Whether these are groups.
    pub fn is_grouped(self) -> bool {
        !self.depths.is_empty()
    }

    /// The squared norms of all rows.
    pub(super) fn norms_sq(self, kernel: Kernel, features: usize) -> Cow<'a, [f64]> {
        match self.norms_sq.is_empty() {
            true => all_norms_sq(kernel, self.cells, features).into(),
            false => self.norms_sq.into(),
        }
    }

    /// The blocks, each with the bounds of its rows.
    pub fn blocks(self, features: usize) -> impl Iterator<Item = (RowBlock<'a>, &'a [f32; BLOCK_ROWS])> {
        RowBlock::all(self.cells, features).zip(self.bounds.as_chunks().0)
    }

    /// The groups, each with the reaches of its persons.
    pub fn groups(self, features: usize) -> impl Iterator<Item = (UnitGroup<'a>, &'a [f32; BLOCK_ROWS])> {
        groups(self.cells, self.depths, features).zip(self.bounds.as_chunks().0)
    }
}

/// The groups of a buffer.
fn groups<'a>(mut cells: &'a [f32], depths: &'a [u32], features: usize) -> impl Iterator<Item = UnitGroup<'a>> {
    depths.iter().map(move |&depth| {
        let (group, rest) = cells.split_at(depth as usize * RowBlock::len_for(features));
        cells = rest;
        UnitGroup::new(group, features)
    })
}

/// The reaches of all persons of a buffer of groups.
pub(super) fn reaches_of(kernel: Kernel, cells: &[f32], depths: &[u32], features: usize) -> Vec<f32> {
    groups(cells, depths, features).flat_map(|group| reaches(kernel, group)).collect()
}

/// Encoded rows that this machine can go over by itself.
pub trait Held: Sync {
    /// Folds all pieces, in parallel and in any order, into a few parts.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn fold<T: Send>(
        &self,
        start: impl Fn() -> T + Sync + Send,
        add: impl Fn(T, Piece<'_>) -> T + Sync + Send,
    ) -> Result<Vec<T>, Error>;
}

/// The distance between blocks or groups that makes a sample of about `rows` rows of `all`.
pub fn stride(all: u64, rows: usize) -> usize {
    usize::try_from(all).map_or(1, |all| (all / rows.max(1)).max(1))
}

/// The length of parts of a whole such that every thread has a few: enough to share the work
/// evenly, and few enough that their sums take little memory.
pub fn evenly(length: usize) -> usize {
    length.div_ceil(4 * rayon::current_num_threads()).max(1)
}

/// Rows in memory.
#[derive(Default)]
pub struct Chunks {
    /// How many coefficients a row has.
    pub features: usize,
    /// All rows, in order.
    pub chunks: Vec<Chunk>,
}

/// Blocks in one allocation, as a [`Piece`] shows them.
#[derive(Default)]
pub struct Chunk {
    /// The cells, block by block.
    pub cells: Vec<f32>,
    /// The squared norm of each row that was re-encoded and stands for itself; empty for others.
    pub norms_sq: Vec<f64>,
    /// A bound for each row, or a reach for each person; empty before there is a clip.
    pub bounds: Vec<f32>,
    /// How many blocks each group has; none for rows that stand for themselves.
    pub depths: Vec<u32>,
}

impl Chunk {
    /// Blocks of rows without bounds yet, or groups.
    pub fn new(cells: Vec<f32>, depths: Vec<u32>, features: usize) -> Chunk {
        let bounds = reaches_of(Kernel::best(), &cells, &depths, features);
        Chunk { cells, norms_sq: Vec::new(), bounds, depths }
    }

    /// The same of rows that were re-encoded.
    pub(super) fn reencoded(Reencoded { cells, norms_sq }: Reencoded, depths: Vec<u32>, features: usize) -> Chunk {
        let norms_sq = if depths.is_empty() { norms_sq } else { Vec::new() };
        Chunk { norms_sq, ..Chunk::new(cells, depths, features) }
    }

    /// Adds a group to others.
    pub fn add_group(&mut self, group: UnitGroup<'_>, reach: &[f32; BLOCK_ROWS]) {
        self.cells.extend(group.blocks().flat_map(RowBlock::cells));
        self.bounds.extend_from_slice(reach);
        self.depths.push(group.depth().try_into().expect("a person has at most 2^14 rows"));
    }

    /// The blocks, to be gone over.
    pub fn piece(&self) -> Piece<'_> {
        let Chunk { cells, norms_sq, bounds, depths } = self;
        Piece { cells, norms_sq, bounds, depths }
    }
}

impl Held for Chunks {
    fn fold<T: Send>(
        &self,
        start: impl Fn() -> T + Sync + Send,
        add: impl Fn(T, Piece<'_>) -> T + Sync + Send,
    ) -> Result<Vec<T>, Error> {
        let chunks = self.chunks.par_iter().with_min_len(evenly(self.chunks.len()));
        Ok(chunks.fold(start, |sum, chunk| add(sum, chunk.piece())).collect())
    }
}

/// Copies one row, its response included, from a lane of one block to a lane of another.
pub fn copy_row((from, from_lane): (&[f32], usize), (to, to_lane): (&mut [f32], usize)) {
    let from = from.iter().skip(from_lane).step_by(BLOCK_ROWS);
    to.iter_mut().skip(to_lane).step_by(BLOCK_ROWS).zip(from).for_each(|(to, from)| *to = *from);
}
