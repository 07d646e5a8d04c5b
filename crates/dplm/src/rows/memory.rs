//! Rows held in memory.

use rayon::prelude::*;

use super::Rows;
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, BlockWriter, Clip, Design, Ladder, Lattice, Moments, Outer, RowBlock, Theta, Whitening, above,
        clipped_in_block, gram_of_blocks, norms_sq, pull_of_block, residuals, square_of_block,
    },
    table::Block,
};

/// Blocks per chunk: a chunk is the unit of work of a thread and of allocation, so that memory never doubles while it grows.
const CHUNK_BLOCKS: usize = 64;
const CHUNK_ROWS: usize = CHUNK_BLOCKS * BLOCK_ROWS;

/// Rows held in memory, four bytes a cell.
pub struct MemoryRows {
    features: usize,
    count: u64,
    clip: Option<Clip>,
    chunks: Vec<Chunk>,
}

struct Chunk {
    cells: Vec<f32>,
    bounds: Vec<f32>,
}

/// Takes table blocks and encodes them, in parallel.
pub struct MemoryBuilder<'a> {
    writer: BlockWriter<'a>,
    features: usize,
    count: usize,
    chunks: Vec<Vec<f32>>,
}

impl<'a> MemoryBuilder<'a> {
    /// No rows yet.
    pub fn new(design: &'a Design) -> MemoryBuilder<'a> {
        MemoryBuilder { writer: BlockWriter::new(design), features: design.features(), count: 0, chunks: Vec::new() }
    }

    /// Bytes that `rows` rows of this design will take.
    pub fn bytes_for(rows: u64, features: usize) -> u64 {
        rows.div_ceil(BLOCK_ROWS as u64) * (RowBlock::len_for(features) as u64 + BLOCK_ROWS as u64) * 4
    }

    /// Bytes taken so far.
    pub fn bytes(&self) -> u64 {
        Self::bytes_for(self.count as u64, self.features)
    }

    /// Encodes a block of the table.
    pub fn push(&mut self, block: &Block) {
        let (start, end) = (self.count, self.count + block.rows);
        self.reserve(end);
        let first_chunk = start / CHUNK_ROWS;
        let writer = &self.writer;
        self.chunks[first_chunk..].par_iter_mut().enumerate().for_each(|(index, chunk)| {
            let chunk_start = (first_chunk + index) * CHUNK_ROWS;
            let from = start.max(chunk_start);
            let to = end.min(chunk_start + CHUNK_ROWS);
            writer.write(block, from - start..to - start, chunk, from - chunk_start);
        });
        self.count = end;
    }

    /// Makes room for rows up to `end`; new lanes are zero.
    fn reserve(&mut self, end: usize) {
        let length = RowBlock::len_for(self.features);
        let whole = CHUNK_BLOCKS * length;
        while self.chunks.len() * CHUNK_ROWS < end {
            if let Some(last) = self.chunks.last_mut() {
                last.resize(whole, 0.0);
            }
            self.chunks.push(Vec::new());
        }
        let last_start = self.chunks.len().saturating_sub(1) * CHUNK_ROWS;
        if let Some(last) = self.chunks.last_mut() {
            let needed = (end - last_start).div_ceil(BLOCK_ROWS) * length;
            last.reserve_exact(needed - last.len());
            last.resize(needed, 0.0);
        }
    }

    /// The rows, ready for questions.
    pub fn finish(self) -> MemoryRows {
        let chunk = |cells| Chunk { cells, bounds: Vec::new() };
        MemoryRows {
            features: self.features,
            count: self.count as u64,
            clip: None,
            chunks: self.chunks.into_iter().map(chunk).collect(),
        }
    }
}

impl Chunk {
    fn blocks(&self, features: usize) -> impl Iterator<Item = (RowBlock<'_>, &[f32; BLOCK_ROWS])> {
        RowBlock::all(&self.cells, features).zip(self.bounds.as_chunks().0)
    }

    fn bounds_for(&self, features: usize, clip: &Clip) -> Vec<f32> {
        RowBlock::all(&self.cells, features).flat_map(|block| norms_sq(block).map(|norm| clip.bound(norm))).collect()
    }
}

impl MemoryRows {
    /// Every block, with how many of its rows are data.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (RowBlock<'_>, usize)> {
        let blocks = self.chunks.iter().flat_map(|chunk| RowBlock::all(&chunk.cells, self.features));
        blocks.enumerate().map(|(index, block)| (block, BLOCK_ROWS.min(self.count as usize - index * BLOCK_ROWS)))
    }

    fn clip(&self) -> Clip {
        self.clip.expect("the clip is set before gradients are asked for")
    }

    /// Sums a question over chunks, in parallel; integer sums do not mind the order.
    fn sum<T: Send>(
        &self,
        zero: impl Fn() -> T + Sync + Send,
        add: impl Fn(T, &Chunk) -> T + Sync + Send,
        merge: impl Fn(T, T) -> T + Sync + Send,
    ) -> T {
        self.chunks.par_iter().fold(&zero, |sum, chunk| add(sum, chunk)).reduce(&zero, merge)
    }
}

fn plus(mut mine: Vec<i128>, theirs: Vec<i128>) -> Vec<i128> {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
    mine
}

impl Rows for MemoryRows {
    fn count(&self) -> u64 {
        self.count
    }

    fn features(&self) -> usize {
        self.features
    }

    fn set_clip(&mut self, clip: Clip) -> Result<(), Error> {
        let features = self.features;
        self.chunks.par_iter_mut().for_each(|chunk| chunk.bounds = chunk.bounds_for(features, &clip));
        self.clip = Some(clip);
        Ok(())
    }

    fn clipped_pull(&self, theta: &Theta, lattice: &Lattice) -> Result<Vec<i128>, Error> {
        let clip = self.clip();
        let add = |mut sums: Vec<i128>, chunk: &Chunk| {
            for (block, bounds) in chunk.blocks(self.features) {
                pull_of_block(block, residuals(block, theta, lattice.theta_unit()), bounds, &clip, &mut sums);
            }
            sums
        };
        Ok(self.sum(|| vec![0; self.features], add, plus))
    }

    fn clipped_square(&self, theta: &Theta, lattice: &Lattice, shift: u32) -> Result<i128, Error> {
        let add = |sum: i128, chunk: &Chunk| {
            let squares = chunk.blocks(self.features).map(|(block, bounds)| {
                square_of_block(&residuals(block, theta, lattice.theta_unit()), bounds, &norms_sq(block), shift)
            });
            sum + squares.sum::<i128>()
        };
        Ok(self.sum(|| 0, add, |a, b| a + b))
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<u64, Error> {
        let add = |count: u64, chunk: &Chunk| {
            let counts = chunk.blocks(self.features).map(|(block, bounds)| {
                clipped_in_block(&residuals(block, theta, lattice.theta_unit()), bounds, &norms_sq(block))
            });
            count + counts.sum::<u64>()
        };
        Ok(self.sum(|| 0, add, |a, b| a + b))
    }

    fn outer(&self, outer: &Outer<'_>) -> Result<Moments, Error> {
        let add = |sum: Moments, chunk: &Chunk| sum.plus(&outer.sum(&chunk.cells, &chunk.bounds, self.features));
        Ok(self.sum(|| Moments::empty(self.features), add, |a, b| a.plus(&b)))
    }

    fn moments(&self) -> Result<Moments, Error> {
        let add = |sum: Moments, chunk: &Chunk| sum.plus(&gram_of_blocks(&chunk.cells, self.features));
        Ok(self.sum(|| Moments::empty(self.features + 1), add, |a, b| a.plus(&b)))
    }

    fn counts(&self, ladder: &Ladder<'_>) -> Result<Vec<u64>, Error> {
        let add = |mut sums: Vec<u64>, chunk: &Chunk| {
            ladder.tally(&chunk.cells, self.features, &mut sums);
            sums
        };
        let merge = |mine: Vec<u64>, theirs: Vec<u64>| mine.iter().zip(theirs).map(|(a, b)| a + b).collect();
        Ok(above(&self.sum(|| vec![0; ladder.len() + 1], add, merge)))
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        let chunks = self.chunks.par_iter().map(|chunk| chunk.whitened(self.features, whitening)).collect();
        Ok(Box::new(MemoryRows { features: self.features, count: self.count, clip: None, chunks }))
    }
}

impl Chunk {
    fn whitened(&self, features: usize, whitening: &Whitening) -> Chunk {
        let mut cells = vec![0.0; self.cells.len()];
        let blocks = RowBlock::all(&self.cells, features).zip(cells.chunks_exact_mut(RowBlock::len_for(features)));
        blocks.for_each(|(block, out)| whitening.encode(block, out));
        Chunk { cells, bounds: Vec::new() }
    }
}
