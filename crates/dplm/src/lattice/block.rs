//! How lattice rows lie in memory.

use std::ops::Range;

use crate::table::Block;

use super::{
    Design, Kernel,
    simd::{Simd, Work},
};

/// Rows are stored in blocks of this many, each block column by column: a column of a block is two
/// cache lines, and a block of a hundred columns fits the first-level cache.
pub const BLOCK_ROWS: usize = 32;

/// One block: the cells of 32 rows and their responses. Rows beyond the last are zeros and
/// contribute nothing.
#[derive(Clone, Copy)]
pub struct RowBlock<'a>(&'a [f32]);

impl<'a> RowBlock<'a> {
    /// How many `f32` a block of `features` columns takes.
    pub const fn len_for(features: usize) -> usize {
        (features + 1) * BLOCK_ROWS
    }

    /// The blocks of a buffer that [`encode`](BlockWriter) filled.
    pub fn all(buffer: &'a [f32], features: usize) -> impl Iterator<Item = RowBlock<'a>> {
        buffer.chunks_exact(RowBlock::len_for(features)).map(RowBlock)
    }

    /// All of it: the columns one after the other, the responses last.
    pub fn cells(self) -> &'a [f32] {
        self.0
    }

    /// The cells of each coefficient.
    pub fn columns(self) -> impl Iterator<Item = &'a [f32; BLOCK_ROWS]> {
        let (cells, _) = self.0.split_at(self.0.len() - BLOCK_ROWS);
        cells.as_chunks().0.iter()
    }

    /// The responses.
    pub fn response(self) -> &'a [f32; BLOCK_ROWS] {
        self.0.last_chunk().expect("a block ends with its responses")
    }
}

/// Writes table blocks into buffers of lattice blocks.
pub struct BlockWriter<'a> {
    design: &'a Design,
    kernel: Kernel,
}

impl<'a> BlockWriter<'a> {
    /// A writer for rows of this design.
    pub fn new(design: &'a Design) -> BlockWriter<'a> {
        BlockWriter { design, kernel: Kernel::best() }
    }

    /// Encodes `rows` of a table block into `buffer`, the first at lane `start` of the buffer.
    pub fn write(&self, block: &Block, rows: Range<usize>, buffer: &mut [f32], start: usize) {
        self.kernel.run(WriteWork { design: self.design, block, rows, buffer, start });
    }
}

struct WriteWork<'a> {
    design: &'a Design,
    block: &'a Block,
    rows: Range<usize>,
    buffer: &'a mut [f32],
    start: usize,
}

impl Work for WriteWork<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let stride = RowBlock::len_for(self.design.features());
        let (mut row, mut lane) = (self.rows.start, self.start);
        while row < self.rows.end {
            // As many rows as the block of that lane has room for.
            let count = (self.rows.end - row).min(BLOCK_ROWS - lane % BLOCK_ROWS);
            let block = &mut self.buffer[lane / BLOCK_ROWS * stride..][..stride];
            let mut lanes = LaneWriter::new(block, lane % BLOCK_ROWS, count);
            self.design.encode(self.block, row..row + count, &mut lanes);
            (row, lane) = (row + count, lane + count);
        }
    }
}

/// Some neighbouring lanes of one block.
pub(super) struct LaneWriter<'a> {
    block: &'a mut [f32],
    first: usize,
    count: usize,
}

impl<'a> LaneWriter<'a> {
    /// `count` lanes of a block, from the lane `first` on.
    pub(super) fn new(block: &'a mut [f32], first: usize, count: usize) -> LaneWriter<'a> {
        LaneWriter { block, first, count }
    }

    /// The lanes of column `index`.
    #[inline(always)]
    pub(super) fn column(&mut self, index: usize) -> &mut [f32] {
        &mut self.block[index * BLOCK_ROWS + self.first..][..self.count]
    }
}
