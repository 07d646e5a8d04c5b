//! Encoded rows as bytes, as few as their cells need.
//!
//! Cells are whole numbers of at most 20 bits. A column of a block is stored as its least cell and the differences from that, in as many bytes as
//! the largest needs: none for a constant, one for a category, mostly two for a number.

use super::{
    BlockId, RemoteError,
    bytes::{Kind, Reader, Writer},
};
use crate::{
    lattice::{BLOCK_ROWS, CELL_RANGE_BITS, Design, RowBlock},
    rows::{MemoryBuilder, store::Chunk},
    table::Block,
};

/// The most rows of a block, where they have few coefficients.
const MOST_ROWS: usize = 1 << 16;
/// The most cells that are packed together: a reader refuses more, so that few bytes do not ask for much memory.
const MOST_CELLS: usize = 1 << 24;
/// Cells saturate there.
const MOST_CELL: f32 = (1u32 << CELL_RANGE_BITS) as f32;

/// The most rows that [`pack`] takes at once.
pub fn most_rows(features: usize) -> usize {
    (MOST_CELLS / (features + 1) / BLOCK_ROWS * BLOCK_ROWS).clamp(BLOCK_ROWS, MOST_ROWS)
}

/// Encodes the rows of a table block, at most [`most_rows`] of them, and packs them.
pub fn pack(block: &Block, design: &Design, id: BlockId) -> Vec<u8> {
    assert!(block.rows <= most_rows(design.features()), "as many rows as are packed at once");
    let mut builder = MemoryBuilder::new(design);
    builder.push(block);
    let cells = builder.take_all_chunks().concat();
    let mut writer = Writer::new(Kind::Block);
    writer.u64(id.0);
    writer.count(design.features());
    write_rows(&mut writer, &cells, block.rows, design.features());
    writer.finish()
}

/// A block of packed rows.
pub(super) struct Unpacked {
    pub(super) id: BlockId,
    pub(super) rows: u32,
    pub(super) features: usize,
    pub(super) cells: Chunk,
}

impl Unpacked {
    pub(super) fn read(bytes: &[u8]) -> Result<Unpacked, RemoteError> {
        let mut reader = Reader::new(bytes, Kind::Block)?;
        Unpacked::read_body(&mut reader).filter(|_| reader.is_at_end()).ok_or(Kind::Block.malformed())
    }

    fn read_body(reader: &mut Reader<'_>) -> Option<Unpacked> {
        let id = BlockId(reader.u64()?);
        let features = reader.count()?;
        let (rows, cells) = read_rows(reader, features)?;
        Some(Unpacked { id, rows, features, cells })
    }
}

/// Writes the first `rows` rows of a buffer of blocks.
pub(super) fn write_rows(writer: &mut Writer, cells: &[f32], rows: usize, features: usize) {
    writer.count(rows);
    for column in 0..=features {
        let values: Vec<f32> = lanes(cells, column, features).flatten().take(rows).copied().collect();
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let largest = values.iter().fold(0.0f32, |most, value| most.max(value - least));
        let bytes = bytes_for(largest as u32);
        writer.u32((least as i32).cast_unsigned());
        writer.u8(bytes as u8);
        for value in values {
            writer.bytes(&((value - least) as u32).to_le_bytes()[..bytes]);
        }
    }
}

/// A column of a buffer of blocks, 32 cells at a time.
fn lanes(cells: &[f32], column: usize, features: usize) -> impl Iterator<Item = &[f32]> {
    cells
        .chunks_exact(RowBlock::len_for(features))
        .map(move |block| &block[column * BLOCK_ROWS..(column + 1) * BLOCK_ROWS])
}

const fn bytes_for(largest: u32) -> usize {
    (u32::BITS - largest.leading_zeros()).div_ceil(8) as usize
}

/// Reads rows and how many there are; nothing where they are not cells of the lattice.
pub(super) fn read_rows(reader: &mut Reader<'_>, features: usize) -> Option<(u32, Chunk)> {
    let rows = reader.count()?;
    if features == 0 || features > MOST_CELLS / BLOCK_ROWS || rows > most_rows(features) {
        return None;
    }
    // All columns are there before memory is asked for.
    let columns = (0..=features).map(|_| Column::read(reader, rows)).collect::<Option<Vec<Column<'_>>>>()?;
    let mut cells = vec![0.0; rows.div_ceil(BLOCK_ROWS) * RowBlock::len_for(features)];
    for (index, column) in columns.iter().enumerate() {
        column.unpack((&mut cells, rows), index, features)?;
    }
    Some((rows.try_into().ok()?, Chunk { cells, ..Chunk::default() }))
}

/// A column as it is packed.
struct Column<'a> {
    least: i32,
    bytes: usize,
    packed: &'a [u8],
}

impl Column<'_> {
    fn read<'a>(reader: &mut Reader<'a>, rows: usize) -> Option<Column<'a>> {
        let least = reader.u32()?.cast_signed();
        let bytes = usize::from(reader.u8()?);
        let packed = reader.take(rows.checked_mul(bytes)?)?;
        Some(Column { least, bytes, packed })
    }

    /// Writes the cells of a column; nothing where one is out of range.
    fn unpack(&self, cells: (&mut [f32], usize), index: usize, features: usize) -> Option<()> {
        match self.bytes {
            0 => self.write(cells, index, features, std::iter::repeat([0; 4])),
            1 => self.write(cells, index, features, self.wide::<1>()),
            2 => self.write(cells, index, features, self.wide::<2>()),
            3 => self.write(cells, index, features, self.wide::<3>()),
            _ => None,
        }
    }

    fn wide<const N: usize>(&self) -> impl Iterator<Item = [u8; 4]> {
        self.packed.as_chunks::<N>().0.iter().map(|bytes| {
            let mut wide = [0; 4];
            wide[..N].copy_from_slice(bytes);
            wide
        })
    }

    fn write(
        &self,
        (cells, rows): (&mut [f32], usize),
        index: usize,
        features: usize,
        differences: impl Iterator<Item = [u8; 4]>,
    ) -> Option<()> {
        let least = f64::from(self.least);
        let mut differences = differences.take(rows);
        let mut most = 0.0f32;
        for block in cells.chunks_exact_mut(RowBlock::len_for(features)) {
            let lanes = &mut block[index * BLOCK_ROWS..(index + 1) * BLOCK_ROWS];
            for (cell, difference) in lanes.iter_mut().zip(differences.by_ref()) {
                *cell = (least + f64::from(u32::from_le_bytes(difference))) as f32;
                most = most.max(cell.abs());
            }
        }
        (most <= MOST_CELL).then_some(())
    }
}
