//! Encoded rows as bytes, as few as their cells need.
//!
//! Cells are whole numbers of at most 20 bits. A column of a block is stored as its least cell and
//! the differences from that, in as many bytes as the largest needs: none for a constant, one for a
//! category, mostly two for a number.

use dplm::{
    Design, Error,
    lattice::{BLOCK_ROWS, CELL_RANGE_BITS, MOST_ROWS as MOST_ROWS_OF_PERSON, RowBlock},
    rows::{
        MemoryBuilder, Persons, Together,
        engine::{CHUNK_BLOCKS, Chunk, Chunks, copy_row},
    },
    table::Block,
};

use crate::{
    BlockId,
    bytes::{Kind, Reader, Writer},
};

/// The most rows of a block, where they have few coefficients.
const MOST_ROWS: usize = 1 << 16;
/// The most cells that are packed together: a reader refuses more, so that few bytes do not ask for
/// much memory.
const MOST_CELLS: usize = 1 << 24;
/// The most cells that the rows of 32 persons may take once they lie side by side.
const MOST_CELLS_LAID_OUT: usize = 1 << 26;
/// Cells saturate there.
const MOST_CELL: f32 = (1u32 << CELL_RANGE_BITS) as f32;

/// The most rows that [`pack`] takes at once.
pub fn most_rows(features: usize) -> usize {
    (MOST_CELLS / (features + 1) / BLOCK_ROWS * BLOCK_ROWS).clamp(BLOCK_ROWS, MOST_ROWS)
}

/// The most rows of a person that can be packed: never fewer than fit in a block, and few enough
/// that 32 persons can be laid out side by side.
pub fn most_rows_of_person(features: usize) -> u32 {
    let fitting = MOST_CELLS_LAID_OUT / BLOCK_ROWS / (features + 1);
    u32::try_from(fitting).map_or(MOST_ROWS_OF_PERSON, |fitting| fitting.min(MOST_ROWS_OF_PERSON))
}

/// Encodes the rows of a table block, at most [`most_rows`] of them, and packs them.
pub fn pack(block: &Block, design: &Design, id: BlockId) -> Vec<u8> {
    Units { group: 0, of_persons: None }.pack(block, design, id)
}

/// Whose rows a block holds.
pub(crate) struct Units<'a> {
    /// The group they are in; 0 where there are none.
    pub(crate) group: u32,
    /// How many of the rows, which follow each other, each person has, and what is made of them;
    /// `None` if rows stand for themselves.
    pub(crate) of_persons: Option<(&'a [u16], Together)>,
}

/// What a block holds.
mod holds {
    use dplm::rows::Together;

    pub(crate) const ROWS: u8 = 0;
    pub(crate) const NOBODY: u8 = 3;
    /// Persons, and what is made of their rows.
    pub(crate) const PERSONS: [(u8, Together); 4] = [
        (1, Together { once: false, within: false }),
        (2, Together { once: true, within: false }),
        (4, Together { once: false, within: true }),
        (5, Together { once: true, within: true }),
    ];

    pub(crate) fn persons(together: Together) -> u8 {
        PERSONS.into_iter().find(|(_, one)| *one == together).map_or(ROWS, |(number, _)| number)
    }

    pub(crate) fn together(number: u8) -> Option<Together> {
        PERSONS.into_iter().find(|(one, _)| *one == number).map(|(_, together)| together)
    }
}

impl Units<'_> {
    pub(crate) fn pack(&self, block: &Block, design: &Design, id: BlockId) -> Vec<u8> {
        assert!(block.rows <= most_rows(design.features()), "as many rows as are packed at once");
        let mut builder = MemoryBuilder::new(design);
        builder.push(block);
        let cells = builder.take_all_chunks().concat();
        let mut writer = head(id, self.group, design.features());
        match self.of_persons {
            None => writer.u8(holds::ROWS),
            Some((sizes, together)) => {
                writer.u8(holds::persons(together));
                writer.count(sizes.len());
                sizes.iter().for_each(|size| writer.u16(*size));
            }
        }
        write_rows(&mut writer, &cells, block.rows, design.features());
        writer.finish()
    }
}

/// A block that says only how many units are in no group: they count among all, and contribute
/// nothing.
pub(crate) fn pack_nobody(units: u32, features: usize, id: BlockId) -> Vec<u8> {
    let mut writer = head(id, NO_GROUP, features);
    writer.u8(holds::NOBODY);
    writer.u32(units);
    writer.finish()
}

fn head(id: BlockId, group: u32, features: usize) -> Writer {
    let mut writer = Writer::new(Kind::Block);
    writer.u64(id.0);
    writer.u32(group);
    writer.count(features);
    writer
}

/// The group of what is in none.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// How many rows each person has, and what is made of them; `None` if rows stand for themselves.
type OfPersons = Option<(Vec<u16>, Together)>;

/// A block of packed rows.
pub(crate) struct Unpacked {
    pub(crate) id: BlockId,
    pub(crate) group: u32,
    /// How many units there are: rows, or persons.
    pub(crate) units: u32,
    /// The most rows of a person; `None` if rows stand for themselves.
    pub(crate) rows_in_unit: Option<u32>,
    pub(crate) rows: Chunks,
}

impl Unpacked {
    pub(crate) fn read(bytes: &[u8]) -> Result<Unpacked, Error> {
        let mut reader = Reader::new(bytes, Kind::Block)?;
        let (flat, of_persons) =
            Unpacked::read_flat(&mut reader).filter(|_| reader.is_at_end()).ok_or(Kind::Block.malformed())?;
        match of_persons {
            None => Ok(flat),
            Some((sizes, together)) => Ok(Unpacked { rows: laid_out(&flat.rows, &sizes, together)?, ..flat }),
        }
    }

    /// The rows one after another, and where they are of persons, how many each has and what is
    /// made of them.
    fn read_flat(reader: &mut Reader<'_>) -> Option<(Unpacked, OfPersons)> {
        let (id, group, features) = (BlockId(reader.u64()?), reader.u32()?, reader.count()?);
        let holds = reader.u8()?;
        let flat = |units, rows_in_unit, rows| Unpacked { id, group, units, rows_in_unit, rows };
        match holds {
            holds::NOBODY => {
                let nothing = Chunks { features, chunks: Vec::new() };
                Some((flat(reader.u32()?, None, nothing), None)).filter(|_| group == NO_GROUP)
            }
            holds::ROWS => {
                let (rows, cells) = read_rows(reader, features)?;
                Some((flat(rows, None, Chunks { features, chunks: vec![cells] }), None)).filter(|_| group != NO_GROUP)
            }
            other => {
                let together = holds::together(other)?;
                let count = reader.count()?;
                let sizes = reader.u16s(count).filter(|_| group != NO_GROUP)?;
                let (rows, cells) = read_rows(reader, features)?;
                let longest = checked_longest(&sizes, 1, rows, features)?;
                let units = sizes.len().try_into().ok()?;
                let rows = Chunks { features, chunks: vec![cells] };
                Some((flat(units, Some(longest), rows), Some((sizes, together))))
                    .filter(|_| features > 1 || !together.within)
            }
        }
    }
}

/// The most rows of a person; `None` if one has fewer than `least` or more than can be laid out, or
/// if their numbers do not add up to `rows`.
fn checked_longest(sizes: &[u16], least: u16, rows: u32, features: usize) -> Option<u32> {
    let longest = sizes.iter().copied().map(u32::from).max()?;
    let is_sound = sizes.iter().all(|size| *size >= least)
        && longest <= most_rows_of_person(features)
        && sizes.iter().copied().map(u64::from).sum::<u64>() == u64::from(rows);
    is_sound.then_some(longest)
}

/// Rows of persons, which follow each other, as questions want them: persons with several side by
/// side.
fn laid_out(rows: &Chunks, sizes: &[u16], together: Together) -> Result<Chunks, Error> {
    let of_rows: Vec<u32> =
        (0..).zip(sizes).flat_map(|(person, size)| std::iter::repeat_n(person, usize::from(*size))).collect();
    let mut persons = Persons::new();
    persons.push(&of_rows)?;
    let length = CHUNK_BLOCKS * RowBlock::len_for(rows.features);
    let pieces = rows.chunks.iter().flat_map(|chunk| chunk.cells.chunks(length));
    let chunks = pieces.map(|cells| Chunk { cells: cells.to_vec(), ..Chunk::default() }).collect();
    let grouping = persons.grouping(MOST_ROWS_OF_PERSON, together);
    Ok(Chunks { features: rows.features, chunks }.by_person(&grouping))
}

/// A person in a group stays one when laid out anew: with one row they would be clipped as rows
/// are.
const FEWEST_IN_GROUP: u16 = 2;

/// Writes rows that stand for themselves, or groups of persons, in pieces of as many as are read at
/// once.
pub(crate) fn write_chunk(writer: &mut Writer, chunk: &Chunk, features: usize) {
    let length = RowBlock::len_for(features);
    let pieces: Vec<Flat> = match chunk.piece().is_grouped() {
        true => persons_of(chunk, features),
        false => {
            let pieces = chunk.cells.chunks(most_rows(features) / BLOCK_ROWS * length);
            let flat =
                |cells: &[f32]| Flat { sizes: Vec::new(), rows: cells.len() / (features + 1), cells: cells.to_vec() };
            pieces.map(flat).collect()
        }
    };
    writer.count(pieces.len());
    for piece in pieces {
        writer.count(piece.sizes.len());
        piece.sizes.iter().for_each(|size| writer.u16(*size));
        write_rows(writer, &piece.cells, piece.rows, features);
    }
}

/// Rows one after another, and how many each person has, where they are of persons.
#[derive(Default)]
struct Flat {
    sizes: Vec<u16>,
    rows: usize,
    cells: Vec<f32>,
}

/// The rows of each person of a chunk of groups, without those that fill them up.
fn persons_of(chunk: &Chunk, features: usize) -> Vec<Flat> {
    let length = RowBlock::len_for(features);
    let mut pieces = vec![Flat::default()];
    for (group, _) in chunk.piece().groups(features) {
        let blocks: Vec<&[f32]> = group.blocks().map(RowBlock::cells).collect();
        for lane in 0..BLOCK_ROWS {
            let has_cells = |block: &&[f32]| block.iter().skip(lane).step_by(BLOCK_ROWS).any(|cell| *cell != 0.0);
            let Some(last) = blocks.iter().rposition(has_cells) else { continue };
            let size = (last + 1).max(FEWEST_IN_GROUP.into());
            if pieces.last().is_none_or(|flat| flat.rows + size > most_rows(features)) {
                pieces.push(Flat::default());
            }
            let flat = pieces.last_mut().expect("a piece was pushed");
            flat.sizes.push(size.try_into().expect("a person has at most 2^14 rows"));
            // A group is of at least two rows.
            for (place, block) in (flat.rows..).zip(&blocks[..size]) {
                flat.cells.resize((place / BLOCK_ROWS + 1) * length, 0.0);
                copy_row((block, lane), (&mut flat.cells[place / BLOCK_ROWS * length..], place % BLOCK_ROWS));
            }
            flat.rows += size;
        }
    }
    pieces
}

/// Reads what [`write_chunk`] writes; `None` if the bytes are something else.
pub(crate) fn read_chunk(reader: &mut Reader<'_>, features: usize) -> Option<Vec<Chunk>> {
    let mut chunks = Vec::new();
    for _ in 0..reader.count()? {
        let count = reader.count()?;
        let sizes = reader.u16s(count)?;
        let (rows, cells) = read_rows(reader, features)?;
        if sizes.is_empty() {
            chunks.push(cells);
            continue;
        }
        checked_longest(&sizes, FEWEST_IN_GROUP, rows, features)?;
        chunks.extend(laid_out(&Chunks { features, chunks: vec![cells] }, &sizes, Together::default()).ok()?.chunks);
    }
    Some(chunks)
}

/// Writes the first `rows` rows of a buffer of blocks.
pub(crate) fn write_rows(writer: &mut Writer, cells: &[f32], rows: usize, features: usize) {
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

/// Reads rows and how many there are; `None` if they are not cells of the lattice.
pub(crate) fn read_rows(reader: &mut Reader<'_>, features: usize) -> Option<(u32, Chunk)> {
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

    /// Writes the cells of a column; `None` if one is out of range.
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
