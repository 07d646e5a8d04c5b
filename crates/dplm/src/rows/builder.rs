//! Rows as they are read: into memory while they fit, and into a scratch file from then on.

use super::{
    Encoded, MemoryBuilder,
    file::{Scratch, allowed},
};
use crate::{
    lattice::Design,
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
        let Some(mut scratch) = self.scratch.take() else { return Ok(self.encoded.finish()) };
        for chunk in self.encoded.take_all_chunks() {
            scratch.append(&chunk)?;
        }
        Ok(Encoded::new(Box::new(scratch), self.features, count))
    }
}
