//! Encoded rows, wherever they are: what is read goes into memory while it fits, and into a scratch
//! file from then on.

#[cfg(feature = "cuda")]
use std::sync::Arc;

#[cfg(feature = "cuda")]
use super::{Card, DeviceError, DeviceRows};
use super::{
    Engine, FileRows, MemoryBuilder, MemoryRows, Persons, RemoteRows, Rows, Together,
    device::Destination,
    file::{Scratch, allowed},
};
use crate::{
    Error,
    lattice::{Design, RowBlock},
    table::{Block, DataError},
};

/// Rows stay in memory while they take at most one `MEMORY_SHARE`th of what is allowed: the rest is
/// for re-encoded rows, undecided rows and work.
const MEMORY_SHARE: u64 = 2;

/// Takes table blocks and encodes them, into memory while they fit and into a scratch file from
/// then on.
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
    /// No rows yet. `memory` is the most bytes that rows and the work on them may take; without it,
    /// three quarters of the machine's.
    pub fn new(design: &'a Design, memory: Option<u64>) -> Builder<'a> {
        let memory = allowed(memory);
        let encoded = MemoryBuilder::new(design);
        Builder { encoded, features: design.features(), memory, scratch: None }
    }

    /// One of several builders that share the memory.
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

    /// The same rows by person, of each the first `most`, and what is made of them together; as
    /// much memory again is needed for a while, or space in the temporary directory.
    ///
    /// # Errors
    /// When rows cannot be read or kept.
    pub fn by_person(self, persons: &Persons, most: u32, together: Together) -> Result<Encoded, Error> {
        let grouping = persons.grouping(most, together);
        Ok(match self {
            Encoded::Memory(rows) => Encoded::Memory(rows.by_person(&grouping, most)?),
            Encoded::File(rows) => Encoded::File(rows.by_person(&grouping, most)?),
            Encoded::Remote(rows) => Encoded::Remote(rows.by_person(&grouping, most)?),
            #[cfg(feature = "cuda")]
            Encoded::Device(rows) => Encoded::Device(rows.by_person(&grouping, most)?),
        })
    }

    /// Says that these are the units of one of several groups, and how many of them there are, as
    /// that was released or is public.
    ///
    /// # Guarantee
    /// From then on every query claims what [`Sensitivity`](crate::privacy) asks of groups, and how
    /// many units there are is not stated.
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

    /// Says that these rows are needed for one fit only, so that it may take the memory that they
    /// are in.
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

impl Destination {
    /// Brings rows there.
    pub(crate) fn take(&self, rows: Encoded) -> Result<Encoded, Error> {
        match self {
            Destination::Here => Ok(rows),
            #[cfg(feature = "cuda")]
            Destination::Card(card) => rows.on_card(card),
        }
    }
}
