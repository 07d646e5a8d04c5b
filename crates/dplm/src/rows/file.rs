//! Rows in a scratch file: more of them than memory holds.
//!
//! Cells are encoded once and written as they would lie in memory, four bytes each. A question streams the file in pieces of a few
//! megabytes, the system reading ahead; bounds are computed as pieces go by. Screening keeps the undecided rows in memory, within a limit, and
//! leaves the file alone while they suffice.
//!
//! The file has no name: no other user can open it, while the same user and the administrator can, through `/proc`. On Windows it has one, and
//! nobody can open it while it is open here. It is gone when the program ends, however it ends. It lies where the system keeps temporary files
//! (`TMPDIR`, on Windows `TMP`), and space is asked for before it is written to.

#[cfg(feature = "cuda")]
use std::sync::Arc;
use std::{fs::File, io};

use rayon::prelude::*;

#[cfg(feature = "cuda")]
use super::{Card, DeviceError, DeviceRows};
use super::{
    Engine, MemoryBuilder, MemoryRows, Persons, RemoteRows, Rows,
    person::{Cut, Grouping},
    query::Query,
    region::{Sorted, Sorting},
    store::{Chunk, Chunks, Held, Piece, Store, copy_row, evenly, reaches_of, stride},
    through::{Measured, Measuring, Through},
};
use crate::{
    Error,
    lattice::{BLOCK_ROWS, Clip, Design, Kernel, RowBlock, Whitening, bounds},
    system::{self, FileExt},
    table::{Block, DataError},
};

/// Rows in a scratch file.
pub type FileRows = Engine<Scratch>;

/// About so many bytes are read at a time.
const PIECE_BYTES: usize = 4 << 20;
/// Rows stay in memory while they take at most one part in so many of what is allowed: the rest is for re-encoded rows, undecided rows and work.
const MEMORY_SHARE: u64 = 2;
/// Undecided rows may take one part in so many, on two levels.
const SPARE_SHARE: u64 = 8;

/// An unnamed file of blocks.
pub struct Scratch {
    file: File,
    features: usize,
    blocks: usize,
    /// The blocks of each group of persons with several rows, and where the file is cut into pieces for their sake; none for rows that stand
    /// for themselves.
    depths: Vec<u32>,
    cuts: Vec<Cut>,
    spare: u64,
    clip: Option<(Clip, Kernel)>,
}

/// What a thread reads a piece into.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    cells: Vec<f32>,
    bounds: Vec<f32>,
}

impl Scratch {
    fn create(features: usize, memory: u64) -> Result<Scratch, DataError> {
        let file = tempfile::tempfile().map_err(failed)?;
        let (depths, cuts) = (Vec::new(), Vec::new());
        Ok(Scratch { file, features, blocks: 0, depths, cuts, spare: memory / SPARE_SHARE, clip: None })
    }

    /// Bytes of a block in the file.
    fn block_bytes(&self) -> usize {
        RowBlock::len_for(self.features) * size_of::<f32>()
    }

    fn blocks_per_piece(&self) -> usize {
        (PIECE_BYTES / self.block_bytes()).max(1)
    }

    fn pieces(&self) -> usize {
        if self.cuts.is_empty() { self.blocks.div_ceil(self.blocks_per_piece()) } else { self.cuts.len() }
    }

    /// The blocks of a piece, and its groups.
    fn cut(&self, index: usize) -> Cut {
        let (first, most) = (index * self.blocks_per_piece(), self.blocks_per_piece());
        let rows = || Cut { blocks: first..self.blocks.min(first + most), groups: 0..0 };
        self.cuts.get(index).cloned().unwrap_or_else(rows)
    }

    fn append(&mut self, cells: &[f32]) -> Result<(), DataError> {
        let bytes = size_of_val(cells) as u64;
        self.check_space(bytes)?;
        self.write(self.blocks, cells).map_err(failed)?;
        self.blocks += cells.len() / RowBlock::len_for(self.features);
        Ok(())
    }

    fn write(&self, block: usize, cells: &[f32]) -> io::Result<()> {
        let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
        self.file.write_all_at(&bytes, (block * self.block_bytes()) as u64)
    }

    /// Refuses before the disk is full.
    fn check_space(&self, needed: u64) -> Result<(), DataError> {
        let lacking = system::lacks_room(&self.file, needed).map_err(failed)?;
        if lacking.is_none() { Ok(()) } else { Err(DataError::ScratchSpace) }
    }

    /// Reads blocks, and has the system read on.
    fn read(&self, block: usize, count: usize, buffer: &mut Buffer) -> Result<(), Error> {
        let (start, length) = (block * self.block_bytes(), count * self.block_bytes());
        buffer.bytes.resize(length, 0);
        self.file.read_exact_at(&mut buffer.bytes, start as u64).map_err(failed)?;
        system::read_ahead(&self.file, (start + length) as u64, length as u64);
        buffer.cells.clear();
        buffer.cells.extend(buffer.bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        Ok(())
    }

    /// Reads a piece; gives the blocks of each of its groups.
    fn read_piece(&self, index: usize, buffer: &mut Buffer) -> Result<&[u32], Error> {
        let cut = self.cut(index);
        self.read(cut.blocks.start, cut.blocks.len(), buffer)?;
        let depths = &self.depths[cut.groups];
        buffer.bounds = match &self.clip {
            _ if !depths.is_empty() => reaches_of(Kernel::best(), &buffer.cells, depths, self.features),
            Some((clip, kernel)) => bounds(*kernel, &buffer.cells, self.features, clip),
            None => Vec::new(),
        };
        Ok(depths)
    }

    /// Writes some blocks of a grouping to another file. Reads this file once.
    fn copy_to(&self, to: &Scratch, grouping: &Grouping, cut: &Cut) -> Result<(), Error> {
        let (length, rows) = (RowBlock::len_for(self.features), grouping.rows_of(cut));
        let mut places: Vec<(u32, usize)> =
            rows.iter().copied().zip(0..).filter(|(row, _)| *row != Grouping::NONE).collect();
        places.sort_unstable();
        let mut places = places.into_iter().peekable();
        let (mut cells, mut buffer) = (vec![0.0; rows.len() / BLOCK_ROWS * length], Buffer::default());
        for index in 0..self.pieces() {
            self.read_piece(index, &mut buffer)?;
            let blocks = self.cut(index).blocks;
            while let Some((row, place)) = places.next_if(|(row, _)| (*row as usize) < blocks.end * BLOCK_ROWS) {
                let row = row as usize - blocks.start * BLOCK_ROWS;
                let from = (&buffer.cells[row / BLOCK_ROWS * length..][..length], row % BLOCK_ROWS);
                copy_row(from, (&mut cells[place / BLOCK_ROWS * length..][..length], place % BLOCK_ROWS));
            }
        }
        grouping.weigh(&mut cells, cut, self.features);
        Ok(to.write(cut.blocks.start, &cells).map_err(failed)?)
    }
}

/// As many neighbouring pieces as `most` blocks hold, and at least one.
fn windows(cuts: &[Cut], most: usize) -> impl Iterator<Item = &[Cut]> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let first = cuts.get(start)?;
        let more = cuts[start + 1..].iter().take_while(|cut| cut.blocks.end - first.blocks.start <= most).count();
        let window = &cuts[start..=start + more];
        start += window.len();
        Some(window)
    })
}

fn failed(error: io::Error) -> DataError {
    DataError::Scratch { kind: error.kind() }
}

impl Held for Scratch {
    fn fold<T: Send>(
        &self,
        start: impl Fn() -> T + Sync + Send,
        add: impl Fn(T, Piece<'_>) -> T + Sync + Send,
    ) -> Result<Vec<T>, Error> {
        let add = |(mut buffer, sum): (Buffer, T), index: usize| {
            let depths = self.read_piece(index, &mut buffer)?;
            let sum = add(sum, Piece { cells: &buffer.cells, bounds: &buffer.bounds, depths });
            Ok((buffer, sum))
        };
        let pieces = (0..self.pieces()).into_par_iter().with_min_len(evenly(self.pieces()));
        let parts = pieces.try_fold(|| (Buffer::default(), start()), add);
        parts.map(|part: Result<_, Error>| part.map(|(_, sum)| sum)).collect()
    }
}

impl Store for Scratch {
    fn set_clip(&mut self, clip: &Clip, kernel: Kernel) -> Result<(), Error> {
        self.clip = Some((*clip, kernel));
        Ok(())
    }

    fn sums(&self, query: &Query<'_>) -> Result<Vec<i128>, Error> {
        query.over(self)
    }

    fn sorted(&self, sorting: &Sorting<'_>) -> Result<Sorted, Error> {
        sorting.over(self)
    }

    fn for_each_piece(&self, see: &mut dyn FnMut(&[f32])) -> Result<(), Error> {
        let mut buffer = Buffer::default();
        for index in 0..self.pieces() {
            self.read_piece(index, &mut buffer)?;
            see(&buffer.cells);
        }
        Ok(())
    }

    fn rows(&self) -> u64 {
        (self.blocks * BLOCK_ROWS) as u64
    }

    fn sample(&self, rows: usize) -> Result<Chunks, Error> {
        let stride = stride(self.rows(), rows);
        let (mut of_rows, mut buffer) = (Chunk::default(), Buffer::default());
        // Groups come last.
        let mut block = self.blocks - self.depths.iter().map(|&depth| depth as usize).sum::<usize>();
        for block in (0..block).step_by(stride) {
            self.read(block, 1, &mut buffer)?;
            of_rows.cells.extend_from_slice(&buffer.cells);
        }
        if let Some((clip, kernel)) = &self.clip {
            of_rows.bounds = bounds(*kernel, &of_rows.cells, self.features, clip);
        }
        let (mut cells, mut depths) = (Vec::new(), Vec::new());
        for (index, &depth) in self.depths.iter().enumerate() {
            if index % stride == 0 {
                self.read(block, depth as usize, &mut buffer)?;
                cells.extend_from_slice(&buffer.cells);
                depths.push(depth);
            }
            block += depth as usize;
        }
        Ok(Chunks { features: self.features, chunks: vec![of_rows, Chunk::new(cells, depths, self.features)] })
    }

    /// Reads this file as often as the rows that half of the spare memory holds make up the whole.
    fn grouped(&self, grouping: &Grouping) -> Result<Scratch, Error> {
        let mut grouped = Scratch::create(self.features, self.spare * SPARE_SHARE)?;
        let cuts = grouping.cuts(self.blocks_per_piece());
        grouped.blocks = cuts.last().map_or(0, |cut| cut.blocks.end);
        grouped.check_space((grouped.blocks * grouped.block_bytes()) as u64)?;
        let most = usize::try_from(self.spare).unwrap_or(usize::MAX) / 2 / self.block_bytes();
        for window in windows(&cuts, most) {
            let blocks = window[0].blocks.start..window[window.len() - 1].blocks.end;
            let groups = window[0].groups.start..window[window.len() - 1].groups.end;
            self.copy_to(&grouped, grouping, &Cut { blocks, groups })?;
        }
        grouped.depths = grouping.depths().to_vec();
        Ok(Scratch { cuts, ..grouped })
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Scratch, Error> {
        let mut whitened = Scratch::create(whitening.outputs(), self.spare * SPARE_SHARE)?;
        whitened.check_space((self.blocks * whitened.block_bytes()) as u64)?;
        whitened.blocks = self.blocks;
        (whitened.depths, whitened.cuts) = (self.depths.clone(), self.cuts.clone());
        let write = |mut buffer: Buffer, index: usize| {
            self.read_piece(index, &mut buffer)?;
            let cells = whitening.encode(Kernel::best(), &buffer.cells);
            whitened.write(self.cut(index).blocks.start, &cells).map_err(failed)?;
            Ok(buffer)
        };
        let pieces = (0..self.pieces()).into_par_iter().with_min_len(evenly(self.pieces()));
        pieces.try_fold(Buffer::default, write).try_for_each(|part: Result<_, Error>| part.map(drop))?;
        Ok(whitened)
    }

    fn is_here(&self) -> bool {
        true
    }

    fn sums_through(&self, whitening: &Whitening, query: &Query<'_>) -> Result<Vec<i128>, Error> {
        query.over(&Through::new(self, whitening, self.features))
    }

    fn measured(&self, whitening: &Whitening, measuring: &Measuring<'_>) -> Result<Measured, Error> {
        measuring.over(&Through::new(self, whitening, self.features))
    }

    fn spare(&self) -> u64 {
        self.spare
    }
}

/// Takes table blocks and encodes them, into memory while they fit and into a scratch file from then on.
pub struct Builder<'a> {
    encoded: MemoryBuilder<'a>,
    features: usize,
    memory: u64,
    scratch: Option<Scratch>,
}

/// Encoded rows, wherever they fitted.
pub enum Encoded {
    /// In memory.
    Memory(MemoryRows),
    /// In a scratch file.
    File(FileRows),
    /// On other machines.
    Remote(RemoteRows),
    /// On a graphics card.
    #[cfg(feature = "cuda")]
    Device(DeviceRows),
}

impl<'a> Builder<'a> {
    /// No rows yet. `memory` is the most bytes that rows and the work on them may take; without it, three quarters of the machine's.
    pub fn new(design: &'a Design, memory: Option<u64>) -> Builder<'a> {
        let memory = allowed(memory);
        let encoded = MemoryBuilder::new(design);
        Builder { encoded, features: design.features(), memory, scratch: None }
    }

    /// One of so many builders that share the memory.
    pub(super) fn one_of(self, builders: usize) -> Builder<'a> {
        Builder { memory: self.memory / builders.max(1) as u64, ..self }
    }

    /// Encodes a block of the table.
    ///
    /// # Errors
    /// When the rows do not fit in memory and the scratch file cannot be written.
    pub fn push(&mut self, block: &Block) -> Result<(), DataError> {
        self.encoded.push(block);
        if self.scratch.is_none() && self.encoded.bytes() > self.memory / MEMORY_SHARE {
            self.scratch = Some(Scratch::create(self.features, self.memory)?);
        }
        if let Some(scratch) = &mut self.scratch {
            for chunk in self.encoded.take_whole_chunks() {
                scratch.append(&chunk)?;
            }
        }
        Ok(())
    }

    /// The rows, ready for questions.
    ///
    /// # Errors
    /// When the scratch file cannot be written.
    pub fn finish(mut self) -> Result<Encoded, DataError> {
        let count = self.encoded.count();
        let Some(mut scratch) = self.scratch.take() else { return Ok(Encoded::Memory(self.encoded.finish())) };
        for chunk in self.encoded.take_all_chunks() {
            scratch.append(&chunk)?;
        }
        Ok(Encoded::File(Engine::new(scratch, self.features, count)))
    }
}

impl Encoded {
    /// The same rows on a card, and no longer where they were.
    ///
    /// # Errors
    /// When they do not fit there, or are on other machines.
    #[cfg(feature = "cuda")]
    pub fn on_card(self, card: &Arc<Card>) -> Result<Encoded, Error> {
        Ok(match self {
            Encoded::Memory(rows) => Encoded::Device(rows.on_card(card)?),
            Encoded::File(rows) => Encoded::Device(rows.on_card(card)?),
            Encoded::Remote(_) => return Err(DeviceError::Units.into()),
            Encoded::Device(rows) => Encoded::Device(rows),
        })
    }

    /// The same rows by person, of each the first `most`, where `once` is asked for with the weight of one row together; as much memory again is needed for a while, or space in the temporary
    /// directory.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    pub fn by_person(self, persons: &Persons, most: u32, once: bool) -> Result<Encoded, Error> {
        let grouping = persons.grouping(most, once);
        Ok(match self {
            Encoded::Memory(rows) => Encoded::Memory(rows.by_person(&grouping, most)?),
            Encoded::File(rows) => Encoded::File(rows.by_person(&grouping, most)?),
            Encoded::Remote(rows) => Encoded::Remote(rows.by_person(&grouping, most)?),
            #[cfg(feature = "cuda")]
            Encoded::Device(rows) => Encoded::Device(rows.by_person(&grouping, most)?),
        })
    }

    /// Says that these are the units of one of several groups, and how many of them there are, as that was released or is public.
    ///
    /// # Guarantee
    /// From then on every query claims what [`Sensitivity`](crate::privacy) asks of groups, and how many units there are is not told.
    #[doc(hidden)]
    pub fn say_of_group(&mut self, said: u64) {
        match self {
            Encoded::Memory(rows) => rows.say_of_group(said),
            Encoded::File(rows) => rows.say_of_group(said),
            Encoded::Remote(rows) => rows.say_of_group(said),
            #[cfg(feature = "cuda")]
            Encoded::Device(rows) => rows.say_of_group(said),
        }
    }

    /// Says that these rows are needed for one fit only, so that it may take the memory that they are in.
    pub(crate) fn give_up(&mut self) {
        if let Encoded::Memory(rows) = self {
            rows.give_up();
        }
    }

    /// How many units there are, which is not public of a group.
    pub(super) fn true_count(&self) -> u64 {
        match self {
            Encoded::Memory(rows) => rows.true_count(),
            Encoded::File(rows) => rows.true_count(),
            Encoded::Remote(rows) => rows.true_count(),
            #[cfg(feature = "cuda")]
            Encoded::Device(rows) => rows.true_count(),
        }
    }

    /// The engine.
    pub fn rows(&self) -> &dyn Rows {
        match self {
            Encoded::Memory(rows) => rows,
            Encoded::File(rows) => rows,
            Encoded::Remote(rows) => rows,
            #[cfg(feature = "cuda")]
            Encoded::Device(rows) => rows,
        }
    }

    /// The engine, to be asked questions.
    pub fn rows_mut(&mut self) -> &mut dyn Rows {
        match self {
            Encoded::Memory(rows) => rows,
            Encoded::File(rows) => rows,
            Encoded::Remote(rows) => rows,
            #[cfg(feature = "cuda")]
            Encoded::Device(rows) => rows,
        }
    }

    /// Shows every block, with how many of its rows are data.
    pub(crate) fn for_each_block(&self, see: &mut dyn FnMut(RowBlock<'_>, usize)) -> Result<(), Error> {
        match self {
            Encoded::Memory(rows) => rows.for_each_block(see),
            Encoded::File(rows) => rows.for_each_block(see),
            Encoded::Remote(rows) => rows.for_each_block(see),
            #[cfg(feature = "cuda")]
            Encoded::Device(rows) => rows.for_each_block(see),
        }
    }
}

/// The most bytes that rows and the work on them may take: three quarters of the machine's when nothing is said.
pub(super) fn allowed(memory: Option<u64>) -> u64 {
    memory.unwrap_or_else(|| system::memory().map_or(u64::MAX, |bytes| bytes / 4 * 3))
}
