//! Rows held in memory.

use rayon::prelude::*;

use super::{
    Encoded,
    held::{CHUNK_BLOCKS, CHUNK_ROWS, Chunk, Chunks},
};
use crate::{
    lattice::{BLOCK_ROWS, BlockWriter, Design, RowBlock},
    privacy::NotPrivate,
    table::Block,
};

/// Blocks that one thread encodes at a time; they divide a chunk.
const PART_BLOCKS: usize = 16;
const PART_ROWS: usize = PART_BLOCKS * BLOCK_ROWS;

/// Takes table blocks and encodes them, in parallel.
pub struct MemoryBuilder<'a> {
    writer: BlockWriter<'a>,
    features: usize,
    /// Rows that are here, and rows of chunks that were taken away.
    count: usize,
    taken: usize,
    chunks: Vec<Vec<f32>>,
}

impl<'a> MemoryBuilder<'a> {
    /// No rows yet.
    pub fn new(design: &'a Design) -> MemoryBuilder<'a> {
        MemoryBuilder {
            writer: BlockWriter::new(design),
            features: design.features(),
            count: 0,
            taken: 0,
            chunks: Vec::new(),
        }
    }

    /// Bytes that `rows` rows of this design will take.
    pub fn bytes_for(rows: u64, features: usize) -> u64 {
        rows.div_ceil(BLOCK_ROWS as u64) * (RowBlock::len_for(features) as u64 + BLOCK_ROWS as u64) * 4
    }

    /// How many rows there are.
    pub(super) fn count(&self) -> u64 {
        (self.taken + self.count) as u64
    }

    /// Takes away the chunks that no row will be added to.
    pub(super) fn take_whole_chunks(&mut self) -> Vec<Vec<f32>> {
        let whole = self.count / CHUNK_ROWS;
        self.count -= whole * CHUNK_ROWS;
        self.taken += whole * CHUNK_ROWS;
        self.chunks.drain(..whole).collect()
    }

    /// Takes away all chunks.
    pub fn take_all_chunks(&mut self) -> Vec<Vec<f32>> {
        self.taken += std::mem::take(&mut self.count);
        std::mem::take(&mut self.chunks)
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
        let (writer, length) = (&self.writer, PART_BLOCKS * RowBlock::len_for(self.features));
        // Every chunk but the last is whole, and parts divide it, so the parts of all follow each
        // other.
        let parts = self.chunks[first_chunk..].iter_mut().flat_map(|chunk| chunk.chunks_mut(length));
        let parts: Vec<(usize, &mut [f32])> = (first_chunk * CHUNK_ROWS..).step_by(PART_ROWS).zip(parts).collect();
        parts.into_par_iter().for_each(|(part_start, part)| {
            let from = start.max(part_start);
            let to = end.min(part_start + PART_ROWS);
            if from < to {
                writer.write(block, from - start..to - start, part, from - part_start);
            }
        });
        self.count = end;
    }

    /// Makes room for rows up to `end`; new lanes are zero.
    fn reserve(&mut self, end: usize) {
        let length = RowBlock::len_for(self.features);
        let whole = CHUNK_BLOCKS * length;
        while self.chunks.len() * CHUNK_ROWS < end {
            match self.chunks.last_mut() {
                // The system gives zeros.
                Some(last) if last.is_empty() => *last = vec![0.0; whole],
                Some(last) => last.resize(whole, 0.0),
                None => {}
            }
            self.chunks.push(Vec::new());
        }
        let last_start = self.chunks.len().saturating_sub(1) * CHUNK_ROWS;
        if let Some(last) = self.chunks.last_mut() {
            let needed = (end - last_start).div_ceil(BLOCK_ROWS) * length;
            if last.is_empty() {
                *last = vec![0.0; needed];
            } else {
                last.reserve_exact(needed - last.len());
                last.resize(needed, 0.0);
            }
        }
    }

    /// The rows, ready for questions.
    pub fn finish(self) -> Encoded {
        let chunk = |cells| Chunk { cells, ..Chunk::default() };
        let chunks = Chunks { features: self.features, chunks: self.chunks.into_iter().map(chunk).collect() };
        Encoded::new(Box::new(chunks), self.features, self.count as u64)
    }
}

impl Encoded {
    /// The encoded cells as they lie in memory, for measuring how fast they can be read; none of
    /// rows that are elsewhere.
    #[doc(hidden)]
    pub fn buffers(&self) -> NotPrivate<Vec<&[f32]>> {
        let chunks = self.store.in_memory().map_or(&[][..], |rows| &rows.open().chunks);
        NotPrivate::new(chunks.iter().flat_map(|chunk| [&chunk.cells[..], &chunk.bounds]).collect())
    }
}
