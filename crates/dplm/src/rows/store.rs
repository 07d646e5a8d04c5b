//! Where encoded cells are kept, and how a question goes over all of them.

use rayon::prelude::*;

use crate::{
    Error,
    lattice::{BLOCK_ROWS, Clip, Kernel, RowBlock, Whitening, bounds},
};

/// Blocks per chunk: a chunk is the unit of work of a thread and of allocation, so that memory never doubles while it grows.
pub(super) const CHUNK_BLOCKS: usize = 256;
/// Rows per chunk.
pub(super) const CHUNK_ROWS: usize = CHUNK_BLOCKS * BLOCK_ROWS;

/// Some blocks and the clip bounds of their rows.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    pub(super) cells: &'a [f32],
    pub(super) bounds: &'a [f32],
}

impl<'a> Piece<'a> {
    /// The blocks, each with the bounds of its rows.
    pub(super) fn blocks(self, features: usize) -> impl Iterator<Item = (RowBlock<'a>, &'a [f32; BLOCK_ROWS])> {
        RowBlock::all(self.cells, features).zip(self.bounds.as_chunks().0)
    }
}

/// Keeps encoded rows.
pub trait Store: Sync + Sized {
    /// Fixes the bounds of all rows.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn set_clip(&mut self, clip: &Clip, kernel: Kernel) -> Result<(), Error>;

    /// Folds all pieces, in parallel and in any order, into a few parts.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn fold<T: Send>(
        &self,
        start: impl Fn() -> T + Sync + Send,
        add: impl Fn(T, Piece<'_>) -> T + Sync + Send,
    ) -> Result<Vec<T>, Error>;

    /// About so many rows from all over, for a guess at what the rest is like.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn sample(&self, rows: usize) -> Result<Chunks, Error>;

    /// Shows the cells of all pieces, in order.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn for_each_piece(&self, see: &mut dyn FnMut(&[f32])) -> Result<(), Error>;

    /// The same rows re-encoded, without bounds.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    fn whitened(&self, whitening: &Whitening) -> Result<Self, Error>;

    /// The most bytes that copies of some rows may take.
    fn spare(&self) -> u64;
}

/// The length of parts of a whole such that every thread has a few: enough to share the work evenly, and not so many that their sums
/// take memory.
pub(super) fn evenly(length: usize) -> usize {
    length.div_ceil(4 * rayon::current_num_threads()).max(1)
}

/// Rows in memory.
#[derive(Default)]
pub struct Chunks {
    pub(super) features: usize,
    pub(super) chunks: Vec<Chunk>,
}

/// Blocks in one allocation.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) cells: Vec<f32>,
    pub(super) bounds: Vec<f32>,
}

impl Chunk {
    pub(super) fn piece(&self) -> Piece<'_> {
        Piece { cells: &self.cells, bounds: &self.bounds }
    }
}

impl Store for Chunks {
    fn set_clip(&mut self, clip: &Clip, kernel: Kernel) -> Result<(), Error> {
        let features = self.features;
        self.chunks.par_iter_mut().for_each(|chunk| chunk.bounds = bounds(kernel, &chunk.cells, features, clip));
        Ok(())
    }

    fn fold<T: Send>(
        &self,
        start: impl Fn() -> T + Sync + Send,
        add: impl Fn(T, Piece<'_>) -> T + Sync + Send,
    ) -> Result<Vec<T>, Error> {
        let chunks = self.chunks.par_iter().with_min_len(evenly(self.chunks.len()));
        Ok(chunks.fold(start, |sum, chunk| add(sum, chunk.piece())).collect())
    }

    fn sample(&self, rows: usize) -> Result<Chunks, Error> {
        let blocks = || self.chunks.iter().flat_map(|chunk| chunk.piece().blocks(self.features));
        let all: usize = self.chunks.iter().map(|chunk| chunk.bounds.len() / BLOCK_ROWS).sum();
        let stride = (all * BLOCK_ROWS / rows.max(1)).max(1);
        let mut sample = Chunk::default();
        for (block, bounds) in blocks().step_by(stride) {
            sample.cells.extend_from_slice(block.cells());
            sample.bounds.extend_from_slice(bounds);
        }
        Ok(Chunks { features: self.features, chunks: vec![sample] })
    }

    fn for_each_piece(&self, see: &mut dyn FnMut(&[f32])) -> Result<(), Error> {
        self.chunks.iter().for_each(|chunk| see(&chunk.cells));
        Ok(())
    }

    fn spare(&self) -> u64 {
        u64::MAX
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Chunks, Error> {
        let whitened =
            |chunk: &Chunk| Chunk { cells: whitened_cells(&chunk.cells, self.features, whitening), bounds: Vec::new() };
        Ok(Chunks { features: whitening.outputs(), chunks: self.chunks.par_iter().map(whitened).collect() })
    }
}

/// Blocks re-encoded.
pub(super) fn whitened_cells(cells: &[f32], features: usize, whitening: &Whitening) -> Vec<f32> {
    let (before, after) = (RowBlock::len_for(features), RowBlock::len_for(whitening.outputs()));
    let mut whitened = vec![0.0; cells.len() / before * after];
    let blocks = RowBlock::all(cells, features).zip(whitened.chunks_exact_mut(after));
    blocks.for_each(|(block, out)| whitening.encode(block, out));
    whitened
}
