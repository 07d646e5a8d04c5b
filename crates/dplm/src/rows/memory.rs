//! Rows held in memory.

use rayon::prelude::*;

use super::Rows;
use crate::{
    Error,
    lattice::{
        BLOCK_ROWS, BlockWriter, Clip, Design, GramSum, Kernel, Ladder, Lattice, Moments, Outer, RowBlock, Theta,
        WeightedSum, Whitening, above, bounds, clipped_in_block, norms_sq, residuals, square_of_block,
    },
    table::Block,
    theory::NotPrivate,
};

/// Blocks per chunk: a chunk is the unit of work of a thread and of allocation, so that memory never doubles while it grows.
const CHUNK_BLOCKS: usize = 256;
const CHUNK_ROWS: usize = CHUNK_BLOCKS * BLOCK_ROWS;

/// Rows held in memory, four bytes a cell.
pub struct MemoryRows {
    features: usize,
    count: u64,
    clip: Option<Clip>,
    kernel: Kernel,
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
            kernel: Kernel::best(),
            chunks: self.chunks.into_iter().map(chunk).collect(),
        }
    }
}

impl Chunk {
    fn blocks(&self, features: usize) -> impl Iterator<Item = (RowBlock<'_>, &[f32; BLOCK_ROWS])> {
        RowBlock::all(&self.cells, features).zip(self.bounds.as_chunks().0)
    }
}

impl MemoryRows {
    /// Every block, with how many of its rows are data.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (RowBlock<'_>, usize)> {
        let blocks = self.chunks.iter().flat_map(|chunk| RowBlock::all(&chunk.cells, self.features));
        blocks.enumerate().map(|(index, block)| (block, BLOCK_ROWS.min(self.count as usize - index * BLOCK_ROWS)))
    }

    /// Uses these instructions instead of the fastest; answers are the same.
    pub fn set_kernel(&mut self, kernel: Kernel) {
        self.kernel = kernel;
    }

    /// The encoded cells as they lie in memory, for measuring how fast they can be read.
    #[doc(hidden)]
    pub fn buffers(&self) -> NotPrivate<Vec<&[f32]>> {
        NotPrivate::new(self.chunks.iter().flat_map(|chunk| [&chunk.cells[..], &chunk.bounds]).collect())
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
        self.chunks.par_iter().fold(&zero, add).reduce(&zero, merge)
    }

    /// Sums outer products over chunks, in parallel.
    fn gram(&self, size: usize, add: impl Fn(&mut GramSum, &Chunk) + Sync + Send) -> Moments {
        let add = |mut sum: GramSum, chunk: &Chunk| {
            add(&mut sum, chunk);
            sum
        };
        let parts = self.chunks.par_iter().fold(|| GramSum::new(self.kernel, size), add).map(GramSum::finish);
        parts.reduce(|| Moments::empty(size), |a, b| a.plus(&b))
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
        let (features, kernel) = (self.features, self.kernel);
        self.chunks.par_iter_mut().for_each(|chunk| chunk.bounds = bounds(kernel, &chunk.cells, features, &clip));
        self.clip = Some(clip);
        Ok(())
    }

    fn clipped_pull(&self, theta: &Theta, lattice: &Lattice) -> Result<Vec<i128>, Error> {
        let sum = WeightedSum::new(&self.clip());
        let add = |mut sums: Vec<i128>, chunk: &Chunk| {
            sum.add_clipped(self.kernel, &chunk.cells, &chunk.bounds, (theta, lattice), &mut sums);
            sums
        };
        Ok(self.sum(|| vec![0; self.features], add, plus))
    }

    fn clipped_square(&self, theta: &Theta, lattice: &Lattice, shift: u32) -> Result<i128, Error> {
        let add = |sum: i128, chunk: &Chunk| {
            let squares = chunk.blocks(self.features).map(|(block, bounds)| {
                square_of_block(
                    &residuals(self.kernel, block, theta, lattice.theta_unit()),
                    bounds,
                    &norms_sq(self.kernel, block),
                    shift,
                )
            });
            sum + squares.sum::<i128>()
        };
        Ok(self.sum(|| 0, add, |a, b| a + b))
    }

    fn clipped_count(&self, theta: &Theta, lattice: &Lattice) -> Result<u64, Error> {
        let add = |count: u64, chunk: &Chunk| {
            let counts = chunk.blocks(self.features).map(|(block, bounds)| {
                clipped_in_block(
                    &residuals(self.kernel, block, theta, lattice.theta_unit()),
                    bounds,
                    &norms_sq(self.kernel, block),
                )
            });
            count + counts.sum::<u64>()
        };
        Ok(self.sum(|| 0, add, |a, b| a + b))
    }

    fn outer(&self, outer: &Outer<'_>) -> Result<Moments, Error> {
        Ok(self.gram(self.features, |sum, chunk| {
            outer.add_to(sum, self.kernel, &chunk.cells, &chunk.bounds, self.features);
        }))
    }

    fn moments(&self) -> Result<Moments, Error> {
        Ok(self.gram(self.features + 1, |sum, chunk| sum.add_blocks(&chunk.cells, self.features)))
    }

    fn counts(&self, ladder: &Ladder<'_>) -> Result<Vec<u64>, Error> {
        let add = |mut sums: Vec<u64>, chunk: &Chunk| {
            ladder.tally(self.kernel, &chunk.cells, self.features, &mut sums);
            sums
        };
        let merge = |mine: Vec<u64>, theirs: Vec<u64>| mine.iter().zip(theirs).map(|(a, b)| a + b).collect();
        Ok(above(&self.sum(|| vec![0; ladder.len() + 1], add, merge)))
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Rows>, Error> {
        let chunks = self.chunks.par_iter().map(|chunk| chunk.whitened(self.features, whitening)).collect();
        Ok(Box::new(MemoryRows { features: self.features, count: self.count, clip: None, kernel: self.kernel, chunks }))
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
