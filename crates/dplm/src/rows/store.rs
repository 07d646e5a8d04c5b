//! Where encoded cells are kept, and what can be computed there.

use rayon::prelude::*;

use super::{
    held::{CHUNK_BLOCKS, CHUNK_ROWS, Chunk, Chunks, copy_row, stride},
    person::Grouping,
    query::Query,
    region::{Sorted, Sorting},
    through::{Measured, Measuring, Through},
};
use crate::{
    Error,
    lattice::{BLOCK_ROWS, Clip, Kernel, RowBlock, Whitening, bounds, bounds_given},
};

/// Blocks per chunk of a sample.
const SAMPLE_BLOCKS: usize = 32;

/// The costs of passes, in visits of as many rows in memory.
#[derive(Clone, Copy)]
pub struct Costs {
    /// With fewer rows, saving passes is not tried.
    pub fewest_rows: u64,
    /// Visiting all rows once.
    pub pass: f64,
    /// Sorting all rows over a region: residuals at two points, a polish, and moving rows.
    pub sort: f64,
}

impl Costs {
    /// Of rows that this machine has.
    pub const HELD: Costs = Costs { fewest_rows: 4096, pass: 1.0, sort: 3.5 };
}

/// Where rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the memory of this machine.
    Memory,
    /// In a scratch file.
    File,
    /// On a graphics card, or on other machines.
    Elsewhere,
}

/// What a store answers of its rows. No sensitivity is claimed of it yet.
///
/// # Guarantee
/// Only the library opens it, and what it opens it seals again with a claim
/// ([`Sensitive`](crate::privacy::Sensitive)) or marks
/// ([`NotPrivate`](crate::privacy::NotPrivate)). So code that holds a store, of this crate or of
/// another, learns nothing about its rows by asking it. Anyone can make an answer:
///
/// ```
/// let answer = dplm::rows::engine::Unclaimed::new(vec![7i128]);
/// ```
///
/// but not read it:
///
/// ```compile_fail
/// let answer = dplm::rows::engine::Unclaimed::new(vec![7i128]);
/// let numbers: Vec<i128> = answer.open();
/// ```
///
/// nor print it:
///
/// ```compile_fail
/// println!("{:?}", dplm::rows::engine::Unclaimed::new(vec![7i128]));
/// ```
///
/// nor copy it:
///
/// ```compile_fail
/// let answer = dplm::rows::engine::Unclaimed::new(vec![7i128]);
/// let copy = answer.clone();
/// ```
pub struct Unclaimed<T>(T);

impl<T> Unclaimed<T> {
    /// What the rows of a store answer.
    pub fn new(answer: T) -> Unclaimed<T> {
        Unclaimed(answer)
    }

    pub(super) fn open(self) -> T {
        self.0
    }
}

/// Keeps encoded rows and answers for them: those of this crate in memory and in a file, those of
/// others on a graphics card and on other machines.
///
/// # Guarantee
/// An answer is the integers that [`Query::over`] and [`Sorting::over`] give for these rows,
/// whatever keeps them: then all stores give the same bits, and what is claimed of a sum holds
/// wherever it was made. `tests/engines.rs` compares every store with rows in memory, and
/// `tests/neighbours.rs` tries the claims on each.
pub trait Store: Send + Sync {
    /// Fixes the bounds of all rows.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn set_clip(&mut self, clip: &Clip, kernel: Kernel) -> Result<(), Error>;

    /// The exact sum over all rows.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn sums(&self, query: &Query<'_>) -> Result<Unclaimed<Vec<i128>>, Error>;

    /// What is known of all rows over a region.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn sorted(&self, sorting: &Sorting<'_>) -> Result<Unclaimed<Sorted>, Error>;

    /// How many rows a pass visits: those that are data, and those that fill them up.
    fn rows(&self) -> u64;

    /// A sample of about this many rows from all over, those of a person together, for a guess at
    /// what the rest is like.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn sample(&self, rows: usize) -> Result<Unclaimed<Chunks>, Error>;

    /// Shows the cells of all pieces, in order.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn for_each_piece(&self, see: &mut dyn FnMut(Unclaimed<&[f32]>)) -> Result<(), Error>;

    /// The same rows by person.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    fn grouped(&self, grouping: &Grouping) -> Result<Box<dyn Store>, Error>;

    /// The same rows re-encoded, without bounds.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Store>, Error>;

    /// The same rows re-encoded where they are, without bounds, and none left here; `None` if that
    /// cannot be done.
    fn whitened_in_place(&mut self, _: &Whitening) -> Option<Box<dyn Store>> {
        None
    }

    /// The rows, where they are in memory and stand for themselves.
    fn in_memory(&self) -> Option<Unclaimed<&Chunks>> {
        None
    }

    /// Refuses queries of other crates, where rows are asked in a language that has no words for
    /// them.
    ///
    /// # Errors
    /// When they are.
    fn check_custom(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Where these rows are. Only those on this machine can be gone over as
    /// [`sums_through`](Self::sums_through) and [`measured`](Self::measured) do.
    fn place(&self) -> Place {
        Place::Elsewhere
    }

    /// The exact sum over rows seen through a matrix.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    fn sums_through(&self, whitening: &Whitening, query: &Query<'_>) -> Result<Unclaimed<Vec<i128>>, Error> {
        self.whitened(whitening)?.sums(query)
    }

    /// Lengths and second moments of rows seen through a matrix, in one pass over rows that are
    /// here.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn measured(&self, _: &Whitening, _: &Measuring<'_>) -> Result<Unclaimed<Measured>, Error> {
        unreachable!("rows that are elsewhere are not gone over")
    }

    /// The most bytes that copies of some rows may take.
    fn spare(&self) -> u64;

    /// What passes over all rows cost.
    fn costs(&self) -> Costs {
        Costs::HELD
    }
}

impl dyn Store + '_ {
    /// The exact sum over all rows. A store that answers with another number of integers is broken,
    /// and the program stops.
    pub(super) fn sum(&self, query: &Query<'_>) -> Result<Vec<i128>, Error> {
        let sum = self.sums(query)?.open();
        assert_eq!(sum.len(), query.len(), "a store answers with a number for each that is asked for");
        Ok(sum)
    }
}

impl Store for Chunks {
    fn set_clip(&mut self, clip: &Clip, kernel: Kernel) -> Result<(), Error> {
        self.clip_at(clip, kernel);
        Ok(())
    }

    fn sums(&self, query: &Query<'_>) -> Result<Unclaimed<Vec<i128>>, Error> {
        query.over(self).map(Unclaimed::new)
    }

    fn sorted(&self, sorting: &Sorting<'_>) -> Result<Unclaimed<Sorted>, Error> {
        sorting.over(self).map(Unclaimed::new)
    }

    fn rows(&self) -> u64 {
        self.count()
    }

    fn sample(&self, rows: usize) -> Result<Unclaimed<Chunks>, Error> {
        Ok(Unclaimed::new(self.some(rows)))
    }

    fn for_each_piece(&self, see: &mut dyn FnMut(Unclaimed<&[f32]>)) -> Result<(), Error> {
        self.chunks.iter().for_each(|chunk| see(Unclaimed::new(&chunk.cells)));
        Ok(())
    }

    fn in_memory(&self) -> Option<Unclaimed<&Chunks>> {
        let is_grouped = self.chunks.iter().any(|chunk| chunk.piece().is_grouped());
        (!is_grouped).then_some(Unclaimed::new(self))
    }

    fn place(&self) -> Place {
        Place::Memory
    }

    fn sums_through(&self, whitening: &Whitening, query: &Query<'_>) -> Result<Unclaimed<Vec<i128>>, Error> {
        query.over(&Through::new(self, whitening, self.features)).map(Unclaimed::new)
    }

    fn measured(&self, whitening: &Whitening, measuring: &Measuring<'_>) -> Result<Unclaimed<Measured>, Error> {
        measuring.over(&Through::new(self, whitening, self.features)).map(Unclaimed::new)
    }

    fn spare(&self) -> u64 {
        u64::MAX
    }

    fn grouped(&self, grouping: &Grouping) -> Result<Box<dyn Store>, Error> {
        Ok(Box::new(self.by_person(grouping)))
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Store>, Error> {
        Ok(Box::new(self.encoded(whitening)))
    }

    fn whitened_in_place(&mut self, whitening: &Whitening) -> Option<Box<dyn Store>> {
        if whitening.is_beside_half() {
            return None;
        }
        let features = whitening.outputs();
        let whitened = |chunk: Chunk| {
            let encoded = whitening.encode_in_place(Kernel::best(), chunk.cells);
            Chunk::reencoded(encoded, chunk.depths, features)
        };
        let chunks = std::mem::take(&mut self.chunks);
        Some(Box::new(Chunks { features, chunks: chunks.into_par_iter().map(whitened).collect() }))
    }
}

impl Chunks {
    /// Fixes the bounds of all rows.
    pub fn clip_at(&mut self, clip: &Clip, kernel: Kernel) {
        let features = self.features;
        let of_rows = self.chunks.par_iter_mut().filter(|chunk| !chunk.piece().is_grouped());
        of_rows.for_each(|chunk| {
            chunk.bounds = match chunk.norms_sq.is_empty() {
                true => bounds(kernel, &chunk.cells, features, clip),
                false => bounds_given(kernel, &chunk.norms_sq, clip),
            }
        });
    }

    /// How many rows a pass visits.
    pub fn count(&self) -> u64 {
        self.chunks.iter().map(|chunk| (chunk.cells.len() / (self.features + 1)) as u64).sum()
    }

    /// About `rows` rows from all over, those of a person together.
    pub fn some(&self, rows: usize) -> Chunks {
        let pieces = || self.chunks.iter().map(Chunk::piece);
        let of_rows = || pieces().filter(|piece| !piece.is_grouped());
        let of_persons = || pieces().filter(|piece| piece.is_grouped());
        let stride = stride(self.count(), rows);
        // Several chunks, so that all threads look at a sample too.
        let mut sample: Vec<Chunk> = Vec::new();
        for (place, (block, bounds)) in
            of_rows().flat_map(|piece| piece.blocks(self.features)).step_by(stride).enumerate()
        {
            if place % SAMPLE_BLOCKS == 0 {
                sample.push(Chunk::default());
            }
            let last = sample.last_mut().expect("a chunk was pushed for the first block");
            last.cells.extend_from_slice(block.cells());
            last.bounds.extend_from_slice(bounds);
        }
        let mut persons = Chunk::default();
        for (group, reach) in of_persons().flat_map(|piece| piece.groups(self.features)).step_by(stride) {
            persons.add_group(group, reach);
        }
        sample.push(persons);
        Chunks { features: self.features, chunks: sample }
    }

    /// The same rows by person.
    pub fn by_person(&self, grouping: &Grouping) -> Chunks {
        let (cuts, features) = (grouping.cuts(CHUNK_BLOCKS), grouping.features(self.features));
        let chunk = |cut| {
            let cells = grouping.settled(self.gathered(grouping.rows_of(cut)), cut, self.features);
            Chunk::new(cells, grouping.depths_of(cut).to_vec(), features)
        };
        Chunks { features, chunks: cuts.par_iter().map(chunk).collect() }
    }

    /// The same rows re-encoded, without bounds.
    pub fn encoded(&self, whitening: &Whitening) -> Chunks {
        let features = whitening.outputs();
        let whitened = |chunk: &Chunk| {
            let encoded = whitening.reencoded(Kernel::best(), &chunk.cells, &chunk.depths);
            Chunk::reencoded(encoded, chunk.depths.clone(), features)
        };
        Chunks { features, chunks: self.chunks.par_iter().map(whitened).collect() }
    }

    /// Blocks of these rows, in this order; zeros where there is none.
    fn gathered(&self, rows: &[u32]) -> Vec<f32> {
        let length = RowBlock::len_for(self.features);
        let mut cells = vec![0.0; rows.len() / BLOCK_ROWS * length];
        for (block, rows) in cells.chunks_exact_mut(length).zip(rows.as_chunks::<BLOCK_ROWS>().0) {
            for (lane, &row) in rows.iter().enumerate().filter(|(_, row)| **row != Grouping::NONE) {
                let (chunk, row) = (&self.chunks[row as usize / CHUNK_ROWS], row as usize % CHUNK_ROWS);
                copy_row((&chunk.cells[row / BLOCK_ROWS * length..], row % BLOCK_ROWS), (block, lane));
            }
        }
        cells
    }
}
