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
    pub(super) fewest_rows: u64,
    /// Visiting all rows once.
    pub(super) pass: f64,
    /// Sorting all rows over a region: residuals at two points, a polish, and moving rows.
    pub(super) sort: f64,
}

impl Costs {
    /// Of rows that this machine has.
    pub(super) const HELD: Costs = Costs { fewest_rows: 4096, pass: 1.0, sort: 3.5 };
}

/// Keeps encoded rows.
pub trait Store: Sync + Sized {
    /// Fixes the bounds of all rows.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn set_clip(&mut self, clip: &Clip, kernel: Kernel) -> Result<(), Error>;

    /// The exact sum over all rows.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn sums(&self, query: &Query<'_>) -> Result<Vec<i128>, Error>;

    /// What is known of all rows over a region.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn sorted(&self, sorting: &Sorting<'_>) -> Result<Sorted, Error>;

    /// How many rows a pass visits: those that are data, and those that fill them up.
    fn rows(&self) -> u64;

    /// A sample of about this many rows from all over, those of a person together, for a guess at
    /// what the rest is like.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn sample(&self, rows: usize) -> Result<Chunks, Error>;

    /// Shows the cells of all pieces, in order.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn for_each_piece(&self, see: &mut dyn FnMut(&[f32])) -> Result<(), Error>;

    /// The same rows by person.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    fn grouped(&self, grouping: &Grouping) -> Result<Self, Error>;

    /// The same rows re-encoded, without bounds.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    fn whitened(&self, whitening: &Whitening) -> Result<Self, Error>;

    /// The same rows re-encoded where they are, without bounds, and none left here; `None` if that
    /// cannot be done.
    fn whitened_in_place(&mut self, _: &Whitening) -> Option<Self> {
        None
    }

    /// The rows, where they are in memory and stand for themselves.
    fn in_memory(&self) -> Option<&Chunks> {
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

    /// Whether rows can be gone over as [`sums_through`](Self::sums_through) and
    /// [`measured`](Self::measured) do: not where they are elsewhere.
    fn is_here(&self) -> bool {
        false
    }

    /// The exact sum over rows seen through a matrix.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    fn sums_through(&self, whitening: &Whitening, query: &Query<'_>) -> Result<Vec<i128>, Error> {
        self.whitened(whitening)?.sums(query)
    }

    /// Lengths and second moments of rows seen through a matrix, in one pass over rows that are
    /// here.
    ///
    /// # Errors
    /// When rows cannot be read.
    fn measured(&self, _: &Whitening, _: &Measuring<'_>) -> Result<Measured, Error> {
        unreachable!("rows that are elsewhere are not gone over")
    }

    /// The most bytes that copies of some rows may take.
    fn spare(&self) -> u64;

    /// What passes over all rows cost.
    fn costs(&self) -> Costs {
        Costs::HELD
    }
}

impl Store for Chunks {
    fn set_clip(&mut self, clip: &Clip, kernel: Kernel) -> Result<(), Error> {
        let features = self.features;
        let of_rows = self.chunks.par_iter_mut().filter(|chunk| !chunk.piece().is_grouped());
        of_rows.for_each(|chunk| {
            chunk.bounds = match chunk.norms_sq.is_empty() {
                true => bounds(kernel, &chunk.cells, features, clip),
                false => bounds_given(kernel, &chunk.norms_sq, clip),
            }
        });
        Ok(())
    }

    fn sums(&self, query: &Query<'_>) -> Result<Vec<i128>, Error> {
        query.over(self)
    }

    fn sorted(&self, sorting: &Sorting<'_>) -> Result<Sorted, Error> {
        sorting.over(self)
    }

    fn rows(&self) -> u64 {
        self.chunks.iter().map(|chunk| (chunk.cells.len() / (self.features + 1)) as u64).sum()
    }

    fn sample(&self, rows: usize) -> Result<Chunks, Error> {
        let pieces = || self.chunks.iter().map(Chunk::piece);
        let of_rows = || pieces().filter(|piece| !piece.is_grouped());
        let of_persons = || pieces().filter(|piece| piece.is_grouped());
        let stride = stride(self.rows(), rows);
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
        Ok(Chunks { features: self.features, chunks: sample })
    }

    fn for_each_piece(&self, see: &mut dyn FnMut(&[f32])) -> Result<(), Error> {
        self.chunks.iter().for_each(|chunk| see(&chunk.cells));
        Ok(())
    }

    fn in_memory(&self) -> Option<&Chunks> {
        Some(self).filter(|rows| !rows.chunks.iter().any(|chunk| chunk.piece().is_grouped()))
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
        u64::MAX
    }

    fn grouped(&self, grouping: &Grouping) -> Result<Chunks, Error> {
        let (cuts, features) = (grouping.cuts(CHUNK_BLOCKS), grouping.features(self.features));
        let chunk = |cut| {
            let cells = grouping.settled(self.gathered(grouping.rows_of(cut)), cut, self.features);
            Chunk::new(cells, grouping.depths_of(cut).to_vec(), features)
        };
        Ok(Chunks { features, chunks: cuts.par_iter().map(chunk).collect() })
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Chunks, Error> {
        let features = whitening.outputs();
        let whitened = |chunk: &Chunk| {
            let encoded = whitening.encode(Kernel::best(), &chunk.cells);
            Chunk::reencoded(encoded, chunk.depths.clone(), features)
        };
        Ok(Chunks { features, chunks: self.chunks.par_iter().map(whitened).collect() })
    }

    fn whitened_in_place(&mut self, whitening: &Whitening) -> Option<Chunks> {
        let features = whitening.outputs();
        let whitened = |chunk: Chunk| {
            let encoded = whitening.encode_in_place(Kernel::best(), chunk.cells);
            Chunk::reencoded(encoded, chunk.depths, features)
        };
        let chunks = std::mem::take(&mut self.chunks);
        Some(Chunks { features, chunks: chunks.into_par_iter().map(whitened).collect() })
    }
}

impl Chunks {
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
