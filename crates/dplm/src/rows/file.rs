//! Rows in a scratch file: more of them than memory holds.
//!
//! Cells are encoded once and written as they would lie in memory, four bytes each. A question
//! streams the file in pieces of a few megabytes, the system reading ahead; bounds are computed as
//! pieces go by. Screening keeps the undecided rows in memory, within a limit, and leaves the file
//! alone while they suffice.
//!
//! The file has no name: no other user can open it, while the same user and the administrator can,
//! through `/proc`. On Windows it has one, and nobody can open it while it is open here. It is gone
//! when the program ends, however it ends. It lies where the system keeps temporary files
//! (`TMPDIR`, on Windows `TMP`), and space is asked for before it is written to.

use std::{fs::File, io};

use rayon::prelude::*;

use super::{
    held::{Chunk, Chunks, Held, Piece, copy_row, evenly, reaches_of, stride},
    person::{Cut, Grouping},
    query::Query,
    region::{Sorted, Sorting},
    store::{Place, Store, Unclaimed},
    through::{Measured, Measuring, Through},
};
use crate::{
    Error,
    lattice::{BLOCK_ROWS, Clip, Kernel, RowBlock, Whitening, bounds},
    system::{self, FileExt},
    table::DataError,
};

/// About how many bytes are read at a time.
const PIECE_BYTES: usize = 4 << 20;
/// Undecided rows may take one `SPARE_SHARE`th of the memory, on two levels.
const SPARE_SHARE: u64 = 8;

/// An unnamed file of blocks.
pub struct Scratch {
    file: File,
    features: usize,
    blocks: usize,
    /// The blocks of each group of persons with several rows, and where the file is cut into pieces
    /// for their sake; none for rows that stand for themselves.
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
    pub(super) fn create(features: usize, memory: u64) -> Result<Scratch, DataError> {
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

    pub(super) fn append(&mut self, cells: &[f32]) -> Result<(), DataError> {
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
        Ok(to.write(cut.blocks.start, &grouping.settled(cells, cut, self.features)).map_err(failed)?)
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
            let sum = add(sum, Piece { cells: &buffer.cells, norms_sq: &[], bounds: &buffer.bounds, depths });
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

    fn sums(&self, query: &Query<'_>) -> Result<Unclaimed<Vec<i128>>, Error> {
        query.over(self).map(Unclaimed::new)
    }

    fn sorted(&self, sorting: &Sorting<'_>) -> Result<Unclaimed<Sorted>, Error> {
        sorting.over(self).map(Unclaimed::new)
    }

    fn for_each_piece(&self, see: &mut dyn FnMut(Unclaimed<&[f32]>)) -> Result<(), Error> {
        let mut buffer = Buffer::default();
        for index in 0..self.pieces() {
            self.read_piece(index, &mut buffer)?;
            see(Unclaimed::new(&buffer.cells));
        }
        Ok(())
    }

    fn rows(&self) -> u64 {
        (self.blocks * BLOCK_ROWS) as u64
    }

    fn sample(&self, rows: usize) -> Result<Unclaimed<Chunks>, Error> {
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
        let chunks = vec![of_rows, Chunk::new(cells, depths, self.features)];
        Ok(Unclaimed::new(Chunks { features: self.features, chunks }))
    }

    /// Reads this file as often as the rows that half of the spare memory holds make up the whole.
    fn grouped(&self, grouping: &Grouping) -> Result<Box<dyn Store>, Error> {
        let mut grouped = Scratch::create(grouping.features(self.features), self.spare * SPARE_SHARE)?;
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
        Ok(Box::new(Scratch { cuts, ..grouped }))
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Store>, Error> {
        let mut whitened = Scratch::create(whitening.outputs(), self.spare * SPARE_SHARE)?;
        whitened.check_space((self.blocks * whitened.block_bytes()) as u64)?;
        whitened.blocks = self.blocks;
        (whitened.depths, whitened.cuts) = (self.depths.clone(), self.cuts.clone());
        let write = |mut buffer: Buffer, index: usize| {
            self.read_piece(index, &mut buffer)?;
            let cut = self.cut(index);
            let cells = whitening.encode(Kernel::best(), &buffer.cells, &self.depths[cut.groups]);
            whitened.write(cut.blocks.start, &cells).map_err(failed)?;
            Ok(buffer)
        };
        let pieces = (0..self.pieces()).into_par_iter().with_min_len(evenly(self.pieces()));
        pieces.try_fold(Buffer::default, write).try_for_each(|part: Result<_, Error>| part.map(drop))?;
        Ok(Box::new(whitened))
    }

    fn place(&self) -> Place {
        Place::File
    }

    fn sums_through(&self, whitening: &Whitening, query: &Query<'_>) -> Result<Unclaimed<Vec<i128>>, Error> {
        query.over(&Through::new(self, whitening, self.features)).map(Unclaimed::new)
    }

    fn measured(&self, whitening: &Whitening, measuring: &Measuring<'_>) -> Result<Unclaimed<Measured>, Error> {
        measuring.over(&Through::new(self, whitening, self.features)).map(Unclaimed::new)
    }

    fn spare(&self) -> u64 {
        self.spare
    }
}

/// The most bytes that rows and the work on them may take: three quarters of the machine's when
/// nothing is said.
pub fn allowed(memory: Option<u64>) -> u64 {
    memory.unwrap_or_else(|| system::memory().map_or(u64::MAX, |bytes| bytes / 4 * 3))
}
