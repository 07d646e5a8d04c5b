//! A card that is ready for questions.

use std::{
    collections::HashMap,
    ffi::CString,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    CardError,
    driver::{Context, Function, Memory, Pinned, Queue, Shape},
    kernels::{ROWS, STEP, StepPlan, only},
};

/// The oldest compute capability that kernels are compiled for, and the first with bulk copies.
const OLDEST: i32 = 8;
const BULK_COPIES: i32 = 9;
/// Threads of a block where every warp works by itself.
const THREADS: u32 = 256;
/// Such blocks for each multiprocessor: as many as it runs at once.
const PER_MULTIPROCESSOR: u32 = 8;

/// The first NVIDIA GPU of this machine.
pub(crate) struct Card {
    pub(crate) context: Arc<Context>,
    functions: Mutex<HashMap<String, Arc<Function>>>,
    /// What a question needs beside the rows. Questions are answered one after the other.
    buffers: Mutex<Buffers>,
}

/// Memory that is used again by every question.
#[derive(Default)]
pub(crate) struct Buffers {
    given: Option<(Memory, Pinned<u64>)>,
    sums: Option<(Memory, Pinned<u64>)>,
    areas: Option<Memory>,
    copied: Option<Pinned<f32>>,
}

/// A kernel's share of the machine.
pub(crate) enum Spread {
    /// Every warp works by itself.
    Warps,
    /// `each` blocks of `threads` threads for each multiprocessor, with `second` blocks in the
    /// second dimension.
    Blocks { threads: u32, each: u32, second: u32 },
}

impl Card {
    /// Finds the card and makes it ready.
    pub(crate) fn open() -> Result<Arc<Card>, CardError> {
        let context = Context::open()?;
        if context.traits.capability < OLDEST {
            return Err(CardError::OldCard { name: context.traits.name.clone() });
        }
        Ok(Arc::new(Card { context, functions: Mutex::default(), buffers: Mutex::default() }))
    }

    /// What the card is called.
    pub(crate) fn name(&self) -> &str {
        &self.context.traits.name
    }

    /// How a step over rows of this many columns is run in one reading; `None` if the card cannot.
    pub(crate) fn step_plan(&self, columns: usize, halves: bool) -> Option<StepPlan> {
        let traits = &self.context.traits;
        (traits.capability >= BULK_COPIES).then(|| StepPlan::new(columns, halves, traits.shared))?
    }

    pub(crate) fn multiprocessors(&self) -> u32 {
        self.context.traits.multiprocessors
    }

    pub(crate) fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn function(&self, module: &str, kernel: &str, shared: usize) -> Result<Arc<Function>, CardError> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(kernel) {
            return Ok(function.clone());
        }
        let name = CString::new(kernel).expect("a name without zeros");
        let function = Arc::new(self.context.compile(&only(module, kernel), &name, shared)?);
        functions.insert(kernel.to_owned(), function.clone());
        Ok(function)
    }

    /// Runs a kernel for questions about rows.
    pub(crate) fn run(
        &self,
        kernel: &str,
        spread: &Spread,
        shared: usize,
        arguments: &[&[u64]],
    ) -> Result<(), CardError> {
        let function = self.function(ROWS, kernel, 0)?;
        let all = self.multiprocessors();
        let shape = match *spread {
            Spread::Warps => Shape { blocks: (PER_MULTIPROCESSOR * all, 1), threads: THREADS, shared },
            Spread::Blocks { threads, each, second } => Shape { blocks: (each * all, second), threads, shared },
        };
        self.context.run(&function, shape, arguments)
    }

    /// Runs the step.
    pub(crate) fn run_step(&self, plan: &StepPlan, job: &[u64]) -> Result<(), CardError> {
        // The same kernel serves other widths, with more shared memory.
        let function = self.function(STEP, &plan.kernel, self.context.traits.shared)?;
        let shape = Shape { blocks: (self.multiprocessors(), 1), threads: plan.threads as u32, shared: plan.shared };
        self.context.run(&function, shape, &[job])
    }
}

impl Buffers {
    /// Brings words to the card; gives where they are.
    pub(crate) fn give(&mut self, card: &Card, words: impl ExactSizeIterator<Item = u64>) -> Result<u64, CardError> {
        let (length, context) = (words.len(), &card.context);
        let bytes = length * size_of::<u64>();
        if self.given.as_ref().is_none_or(|(memory, _)| memory.bytes() < bytes) {
            self.given = Some((Memory::take(context, bytes)?, Pinned::take(context, length)?));
        }
        let (memory, pinned) = self.given.as_mut().expect("it was made");
        pinned.numbers_mut(Queue(0))?.iter_mut().zip(words).for_each(|(to, from)| *to = from);
        memory.fill(0, pinned, length, Queue(0))?;
        Ok(memory.at(0))
    }

    /// Makes room for `length` sums, zero at first, and returns its address.
    pub(crate) fn sums(&mut self, card: &Card, length: usize) -> Result<u64, CardError> {
        let (bytes, context) = (length * size_of::<u64>(), &card.context);
        if self.sums.as_ref().is_none_or(|(memory, _)| memory.bytes() < bytes) {
            self.sums = Some((Memory::take(context, bytes)?, Pinned::take(context, length)?));
        }
        let (memory, _) = self.sums.as_ref().expect("they were made");
        memory.clear(bytes)?;
        Ok(memory.at(0))
    }

    /// What the sums are when all work is done.
    pub(crate) fn summed(&mut self, length: usize) -> Result<&[u64], CardError> {
        let (memory, pinned) = self.sums.as_mut().expect("sums were asked for");
        memory.read(0, pinned, length)?;
        Ok(&pinned.numbers()[..length])
    }

    /// Zeros that kernels leave as they found them; gives where they are.
    pub(crate) fn areas(&mut self, card: &Card, length: usize) -> Result<u64, CardError> {
        let bytes = length * size_of::<u64>();
        if self.areas.as_ref().is_none_or(|memory| memory.bytes() < bytes) {
            let memory = Memory::take(&card.context, bytes)?;
            memory.clear(bytes)?;
            self.areas = Some(memory);
        }
        Ok(self.areas.as_ref().expect("they were made").at(0))
    }

    /// Cells of the card, copied to this machine.
    pub(crate) fn copied(
        &mut self,
        card: &Card,
        from: &Memory,
        offset: usize,
        length: usize,
    ) -> Result<&[f32], CardError> {
        if self.copied.as_ref().is_none_or(|copied| copied.numbers().len() < length) {
            self.copied = Some(Pinned::take(&card.context, length)?);
        }
        let copied = self.copied.as_mut().expect("it was made");
        from.read(offset, copied, length)?;
        Ok(&copied.numbers()[..length])
    }
}
