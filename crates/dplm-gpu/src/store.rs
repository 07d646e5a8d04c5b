//! Rows in the memory of a card.

use std::{ops::Range, sync::Arc};

use dplm::{
    Error,
    lattice::{BLOCK_ROWS, Clip, Kernel, RowBlock, Whitening},
    rows::{
        DeviceError,
        engine::{
            CHUNK_BLOCKS, Chunk, Chunks, Costs, Grouping, Held, Piece, Query, Shown, Sorted, Sorting, Store, Unclaimed,
            evenly, stride,
        },
    },
};
use rayon::prelude::*;

use crate::{
    CardError,
    card::Card,
    driver::{Memory, Pinned, Queue},
};
/// Cells that are copied to the card at a time, from one buffer while another is filled.
const STAGE: usize = 1 << 22;
/// Cells that one thread copies at a time.
const PART: usize = 1 << 16;
/// How often rows may be on the card at the same time: as they are, and re-encoded twice.
const COPIES: u64 = 3;
/// Memory that questions take beside rows, and the driver for itself.
const BESIDE: u64 = 1 << 29;

/// Blocks of rows in the memory of a card.
pub(crate) struct OnCard {
    pub(crate) card: Arc<Card>,
    pub(crate) features: usize,
    pub(crate) blocks: u64,
    pub(crate) cells: Memory,
    /// The bound of each row, once there is a clip.
    pub(crate) bounds: Option<Memory>,
}

/// Refuses rows for which memory could run out later, when a budget is spent already. How many
/// there are is public.
fn check_space(card: &Card, blocks: u64, features: usize) -> Result<(), CardError> {
    let rows = blocks * (RowBlock::len_for(features) + BLOCK_ROWS) as u64 * size_of::<f32>() as u64;
    let (needed, free) = (COPIES * rows + BESIDE, card.context.free()?);
    if needed > free { Err(CardError::TooLarge { needed, free }) } else { Ok(()) }
}

impl OnCard {
    /// The same rows on a card.
    pub(crate) fn take(card: &Arc<Card>, rows: &Shown<'_>) -> Result<OnCard, Error> {
        check_space(card, rows.blocks(), rows.features())?;
        let taken = OnCard::new(card, rows.features(), rows.blocks())?;
        taken.fill(|put| rows.for_each_piece(put))?;
        Ok(taken)
    }

    /// Room for `blocks` blocks.
    pub(crate) fn new(card: &Arc<Card>, features: usize, blocks: u64) -> Result<OnCard, CardError> {
        let bytes = blocks as usize * RowBlock::len_for(features) * size_of::<f32>();
        let cells = Memory::take(&card.context, bytes)?;
        Ok(OnCard { card: card.clone(), features, blocks, cells, bounds: None })
    }

    /// Copies rows here that come piece by piece.
    fn fill(&self, from: impl FnOnce(&mut dyn FnMut(&[f32])) -> Result<(), Error>) -> Result<(), Error> {
        let stage = || Pinned::take(&self.card.context, STAGE);
        let (mut stages, mut place, mut turn) = ([stage()?, stage()?], 0, 0);
        let mut put = Ok(());
        from(&mut |cells| {
            for part in cells.chunks(STAGE) {
                put = put.clone().and_then(|()| self.put(place, part, &mut stages[turn], Queue(turn)));
                place += size_of_val(part);
                turn = 1 - turn;
            }
        })?;
        assert_eq!(place, self.cells.bytes(), "all blocks were shown");
        Ok(put?)
    }

    fn put(&self, place: usize, cells: &[f32], stage: &mut Pinned<f32>, queue: Queue) -> Result<(), CardError> {
        let to = stage.numbers_mut(queue)?.par_chunks_mut(PART);
        to.zip(cells.par_chunks(PART)).for_each(|(to, from)| to[..from.len()].copy_from_slice(from));
        self.cells.fill(place, stage, cells.len(), queue)
    }

    fn pieces(&self) -> usize {
        (self.blocks as usize).div_ceil(CHUNK_BLOCKS)
    }

    fn piece(&self, index: usize) -> Result<Chunk, CardError> {
        let first = index * CHUNK_BLOCKS;
        self.copied(first..(self.blocks as usize).min(first + CHUNK_BLOCKS))
    }

    fn for_each_in_order(&self, see: &mut dyn FnMut(&[f32])) -> Result<(), Error> {
        for index in 0..self.pieces() {
            see(&self.piece(index)?.cells);
        }
        Ok(())
    }

    /// Blocks, copied back from the card.
    fn copied(&self, blocks: Range<usize>) -> Result<Chunk, CardError> {
        let mut buffers = self.card.buffers();
        let mut copy = |memory: &Memory, length: usize| {
            let offset = blocks.start * length * size_of::<f32>();
            Ok(buffers.copied(&self.card, memory, offset, blocks.len() * length)?.to_vec())
        };
        let cells = copy(&self.cells, RowBlock::len_for(self.features))?;
        let bounds = self.bounds.as_ref().map_or(Ok(Vec::new()), |bounds| copy(bounds, BLOCK_ROWS))?;
        Ok(Chunk { cells, bounds, ..Chunk::default() })
    }
}

/// For questions that no kernel answers: rows come back piece by piece.
impl Held for OnCard {
    fn fold<T: Send>(
        &self,
        start: impl Fn() -> T + Sync + Send,
        add: impl Fn(T, Piece<'_>) -> T + Sync + Send,
    ) -> Result<Vec<T>, Error> {
        let pieces = (0..self.pieces()).into_par_iter().with_min_len(evenly(self.pieces()));
        let parts = pieces.try_fold(start, |sum, index| Ok::<T, Error>(add(sum, self.piece(index)?.piece())));
        parts.collect()
    }
}

impl Store for OnCard {
    fn set_clip(&mut self, clip: &Clip, _: Kernel) -> Result<(), Error> {
        Ok(self.set_bounds(clip)?)
    }

    fn sums(&self, query: &Query<'_>) -> Result<Unclaimed<Vec<i128>>, Error> {
        self.ask(query)?.map_or_else(|| query.over(self), Ok).map(Unclaimed::new)
    }

    fn sorted(&self, sorting: &Sorting<'_>) -> Result<Unclaimed<Sorted>, Error> {
        sorting.over(self).map(Unclaimed::new)
    }

    fn rows(&self) -> u64 {
        self.blocks * BLOCK_ROWS as u64
    }

    fn sample(&self, rows: usize) -> Result<Unclaimed<Chunks>, Error> {
        let mut sample = Chunk::default();
        for block in (0..self.blocks as usize).step_by(stride(self.rows(), rows)) {
            let Chunk { cells, bounds, .. } = self.copied(block..block + 1)?;
            sample.cells.extend(cells);
            sample.bounds.extend(bounds);
        }
        Ok(Unclaimed::new(Chunks { features: self.features, chunks: vec![sample] }))
    }

    fn for_each_piece(&self, see: &mut dyn FnMut(Unclaimed<&[f32]>)) -> Result<(), Error> {
        self.for_each_in_order(&mut |cells| see(Unclaimed::new(cells)))
    }

    fn grouped(&self, _: &Grouping) -> Result<Box<dyn Store>, Error> {
        Err(DeviceError::Units.into())
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Store>, Error> {
        // The kernel leaves responses as they are, and neither tilts nor shortens rows, nor tells
        // halves apart: where it must, rows come back for it.
        let is_plain = whitening.response().is_none() && whitening.tilt().is_none() && whitening.length().is_none();
        if is_plain && !whitening.is_beside_half() {
            return Ok(Box::new(self.encoded(whitening)?));
        }
        let encoded = OnCard::new(&self.card, whitening.outputs(), self.blocks)?;
        encoded.fill(|put| self.for_each_in_order(&mut |cells| put(&whitening.encode(Kernel::best(), cells, &[]))))?;
        Ok(Box::new(encoded))
    }

    fn spare(&self) -> u64 {
        u64::MAX
    }

    /// A pass costs so little that saving passes is not tried.
    fn costs(&self) -> Costs {
        Costs { fewest_rows: u64::MAX, ..Costs::HELD }
    }
}
