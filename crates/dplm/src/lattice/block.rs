//! How lattice rows lie in memory.

use crate::table::Block;

use super::Design;

/// Rows are stored in blocks of this many, each block column by column: a column of a block is two cache lines, and a block of a
/// hundred columns fits the first-level cache.
pub const BLOCK_ROWS: usize = 32;

/// One block: the cells of 32 rows and their responses. Rows beyond the last are zeros and contribute nothing.
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
    pub(crate) fn cells(self) -> &'a [f32] {
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
}

impl<'a> BlockWriter<'a> {
    /// A writer for rows of this design.
    pub fn new(design: &'a Design) -> BlockWriter<'a> {
        BlockWriter { design }
    }

    /// Encodes `rows` of a table block into `buffer`, the first at lane `start` of the buffer.
    pub fn write(&self, block: &Block, rows: std::ops::Range<usize>, buffer: &mut [f32], start: usize) {
        let mut lanes = LaneWriter { buffer, stride: RowBlock::len_for(self.design.features()), start };
        self.design.encode(block, rows, &mut lanes);
    }
}

/// Places the cells of one column at their lanes.
pub(super) struct LaneWriter<'a> {
    buffer: &'a mut [f32],
    stride: usize,
    start: usize,
}

impl LaneWriter<'_> {
    /// Writes column `index` for `rows`; an incomplete row gets 0.
    pub(super) fn write(
        &mut self,
        index: usize,
        rows: std::ops::Range<usize>,
        value: impl Fn(usize) -> f32,
        complete: &[bool],
    ) {
        for (offset, row) in rows.enumerate() {
            let lane = self.start + offset;
            let place = lane / BLOCK_ROWS * self.stride + index * BLOCK_ROWS + lane % BLOCK_ROWS;
            self.buffer[place] = if complete[offset] { value(row) } else { 0.0 };
        }
    }
}
