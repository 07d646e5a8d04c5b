//! Rows on other machines.
//!
//! Rows are packed once, where they are, into blocks of bytes. A question travels to every block,
//! and a block answers with exact integers: a function of the block and of the question and of
//! nothing else ([`answer()`]). This machine adds the answers up, and goes on as with rows of its
//! own. Who keeps the blocks and carries the bytes is an [`Executor`].
//!
//! # Guarantee
//! The first question takes down which blocks there are, how many rows each has, and a fingerprint
//! of its bytes. At every later question each of them must answer exactly once, and be what it was.
//! So a worker that fails and starts anew, work that is done twice, and data that change while they
//! are fitted end in the same integers or in a refusal that names the block; no row counts twice or
//! not at all.
//!
//! Where persons are protected, the rows of one are in one block; where there are groups, a block
//! is of one of them ([`Packer`]).
//!
//! Answers are as private as the rows: sums over a block, and rows themselves. Those who carry them
//! are trusted as this machine is.

mod error;
mod bytes;
mod pack;
mod packer;
mod question;
mod answer;
mod fit;
#[cfg(test)]
mod tests;

pub use answer::{Answering, answer};
#[doc(hidden)]
pub use bytes::sealed;
pub use error::{BlockId, RemoteError};
pub use fit::{data, packer};
pub use pack::{most_rows, most_rows_of_person, pack};
pub use packer::{Packed, Packer};

use std::{collections::BTreeMap, sync::Arc};

use dplm::{
    Error,
    lattice::{Clip, Kernel, Whitening},
    rows::{
        Encoded,
        engine::{Chunks, Costs, Grouping, Query, Sorted, Sorting, Store, Unclaimed, allowed},
    },
};

use self::{
    answer::{Answer, SHARE_BITS, Seen},
    bytes::{Kind, fingerprint},
    pack::NO_GROUP,
    packer::check_person,
    question::{Ask, Of, Setting, written},
};

/// Carries questions to packed rows and brings back their answers.
pub trait Executor: Send + Sync {
    /// Puts a question to every block, each once, and gives all answers, in any order. An answer
    /// may be of several blocks ([`Answering`]). Where a group is named, the blocks of others have
    /// nothing to say, and need not be asked.
    ///
    /// # Errors
    /// When the blocks cannot be asked, or the question was cancelled.
    fn ask(&self, question: &[u8], group: Option<u32>) -> Result<Vec<Vec<u8>>, RemoteError>;

    /// Ends the question that is being answered, if one is. Called from another thread.
    fn cancel(&self);
}

/// More rows than these say no more of what all are like.
const MOST_SAMPLED: usize = 1 << 16;
/// Undecided rows may take one `SPARE_SHARE`th of the memory.
const SPARE_SHARE: u64 = 8;
/// What a question costs, in visits of as many rows in memory. That is a guess: starting work on a
/// cluster takes longer than the work itself.
const QUESTION: f64 = 25.0;

/// Packed rows, wherever they are.
struct Blocks {
    executor: Arc<dyn Executor>,
    /// The blocks of the first answer.
    known: Arc<BTreeMap<BlockId, Seen>>,
    of: Of,
    /// Coefficients of a packed row, and what rows are re-encoded through before a question.
    features: usize,
    whitenings: Vec<Whitening>,
    clip: Option<Clip>,
    spare: u64,
}

/// Packed rows, ready for questions. They have `features` coefficients, and the work on them may
/// take `memory` bytes here: by default, three quarters of the machine's memory. Where units are
/// persons, at most `rows_in_unit` rows of each count.
///
/// # Errors
/// When the blocks cannot be asked, are not of this version or of other columns, or hold no row;
/// and when the rows of a person could take more memory than workers have for them.
pub fn open(
    executor: Arc<dyn Executor>,
    features: usize,
    rows_in_unit: Option<u32>,
    memory: Option<u64>,
) -> Result<Encoded, RemoteError> {
    Ok(Blocks::open(executor, features, rows_in_unit, memory)?.encoded())
}

/// The same for the units of each of several groups, and how many units there are in all, in a
/// group or in none.
///
/// # Errors
/// The same.
pub fn open_groups(
    executor: Arc<dyn Executor>,
    features: usize,
    groups: usize,
    rows_in_unit: Option<u32>,
    memory: Option<u64>,
) -> Result<(Vec<Encoded>, u64), RemoteError> {
    let all = Blocks::open(executor, features, rows_in_unit, memory)?;
    let is_known = |group: u32| group == NO_GROUP || (group as usize) < groups;
    if !all.known.values().all(|seen| is_known(seen.group)) {
        return Err(Kind::Block.malformed());
    }
    Ok(((0..).take(groups).map(|group| all.of_group(group).encoded()).collect(), all.units()))
}

impl Blocks {
    /// Asks which blocks there are.
    fn open(
        executor: Arc<dyn Executor>,
        features: usize,
        rows_in_unit: Option<u32>,
        memory: Option<u64>,
    ) -> Result<Blocks, RemoteError> {
        rows_in_unit.map_or(Ok(()), |rows| check_person(rows, features))?;
        let mut blocks = Blocks {
            executor,
            known: Arc::default(),
            of: Of { group: None, rows_in_unit },
            features,
            whitenings: Vec::new(),
            clip: None,
            spare: allowed(memory) / SPARE_SHARE,
        };
        let mut known = BTreeMap::new();
        for seen in blocks.answers(&Ask::Presence)?.seen {
            if known.insert(seen.block, seen).is_some() {
                return Err(RemoteError::Repeated { block: seen.block });
            }
        }
        blocks.known = Arc::new(known);
        if blocks.units() == 0 { Err(RemoteError::NoRows) } else { Ok(blocks) }
    }

    fn encoded(self) -> Encoded {
        let (features, units, of) = (self.features, self.units(), self.of);
        Encoded::new(Box::new(self), features, units).of_persons(of.rows_in_unit)
    }

    /// The blocks of one group.
    fn of_group(&self, group: u32) -> Blocks {
        let known = self.known.iter().filter(|(_, seen)| seen.group == group).map(|(block, seen)| (*block, *seen));
        Blocks { known: Arc::new(known.collect()), of: Of { group: Some(group), ..self.of }, ..self.again() }
    }

    /// The same blocks, to be asked in another way.
    fn again(&self) -> Blocks {
        Blocks {
            executor: self.executor.clone(),
            known: self.known.clone(),
            of: self.of,
            features: self.features,
            whitenings: self.whitenings.clone(),
            clip: None,
            spare: self.spare,
        }
    }

    /// What all blocks answer together, not yet checked.
    fn answers(&self, ask: &Ask<'_>) -> Result<Answer, RemoteError> {
        let (features, of, clip) = (self.features, self.of, self.clip.as_ref());
        let setting = Setting { features, of, whitenings: &self.whitenings, clip };
        let question = written(&setting, ask);
        let (answers, to) = (self.executor.ask(&question, of.group)?, fingerprint(&question));
        let mut all = Answer::to(to);
        for bytes in answers {
            all.take(Answer::read(&bytes, to)?)?;
        }
        Ok(all)
    }

    /// The same, once each block has answered exactly once and is what it was.
    fn ask(&self, ask: &Ask<'_>) -> Result<Answer, RemoteError> {
        let answer = self.answers(ask)?;
        let mut waiting: BTreeMap<&BlockId, &Seen> = self.known.iter().collect();
        for seen in &answer.seen {
            let block = seen.block;
            match waiting.remove(&block) {
                Some(known) if known == seen => {}
                Some(_) => return Err(RemoteError::Changed { block }),
                None if self.known.contains_key(&block) => return Err(RemoteError::Repeated { block }),
                None => return Err(RemoteError::Unknown { block }),
            }
        }
        match waiting.first_key_value() {
            Some((block, _)) => Err(RemoteError::Lost { block: **block }),
            None => Ok(answer),
        }
    }

    fn units(&self) -> u64 {
        self.known.values().map(|seen| u64::from(seen.units)).sum()
    }

    fn outputs(&self) -> usize {
        self.whitenings.last().map_or(self.features, Whitening::outputs)
    }

    /// Rows that travelled without their bounds.
    fn with_bounds(&self, mut rows: Chunks) -> Chunks {
        if let Some(clip) = &self.clip {
            rows.clip_at(clip, Kernel::best());
        }
        rows
    }
}

impl Store for Blocks {
    fn set_clip(&mut self, clip: &Clip, _: Kernel) -> Result<(), Error> {
        self.clip = Some(*clip);
        Ok(())
    }

    fn sums(&self, query: &Query<'_>) -> Result<Unclaimed<Vec<i128>>, Error> {
        if self.known.is_empty() {
            // A group without units.
            return Ok(Unclaimed::new(vec![0; query.len()]));
        }
        let answer = self.ask(&Ask::Sum(query.sum))?;
        match answer.sums.len() == query.len() {
            true => Ok(Unclaimed::new(answer.sums)),
            false => Err(Kind::Answer.malformed().into()),
        }
    }

    fn sorted(&self, sorting: &Sorting<'_>) -> Result<Unclaimed<Sorted>, Error> {
        if self.known.is_empty() {
            return Ok(Unclaimed::new(Sorted::nothing(self.outputs())));
        }
        // Each block may send its share of the rows that are kept here.
        let share = (u128::from(sorting.most_rows) << SHARE_BITS) / u128::from(self.rows().max(1));
        let most = share.min(1 << SHARE_BITS) as u64;
        let answer = self.ask(&Ask::Sorted { region: sorting.region, lattice: sorting.lattice, most })?;
        let sorted = answer.into_sorted(self.outputs()).ok_or(Kind::Answer.malformed())?;
        Ok(Unclaimed::new(Sorted { rows: self.with_bounds(sorted.rows), ..sorted }))
    }

    fn rows(&self) -> u64 {
        self.known.values().map(|seen| u64::from(seen.rows)).sum()
    }

    fn sample(&self, rows: usize) -> Result<Unclaimed<Chunks>, Error> {
        let one_in = self.rows() / rows.clamp(1, MOST_SAMPLED) as u64;
        if self.known.is_empty() {
            return Ok(Unclaimed::new(Chunks { features: self.outputs(), chunks: Vec::new() }));
        }
        let answer = self.ask(&Ask::Sample { one_in })?;
        Ok(Unclaimed::new(self.with_bounds(Chunks { features: self.outputs(), chunks: answer.rows })))
    }

    fn for_each_piece(&self, _: &mut dyn FnMut(Unclaimed<&[f32]>)) -> Result<(), Error> {
        Err(RemoteError::NotHere.into())
    }

    fn check_custom(&self) -> Result<(), Error> {
        Err(RemoteError::NotHere.into())
    }

    fn grouped(&self, _: &Grouping) -> Result<Box<dyn Store>, Error> {
        Err(RemoteError::NotHere.into())
    }

    fn whitened(&self, whitening: &Whitening) -> Result<Box<dyn Store>, Error> {
        let mut whitened = self.again();
        whitened.whitenings.push(whitening.clone());
        Ok(Box::new(whitened))
    }

    fn spare(&self) -> u64 {
        self.spare
    }

    fn costs(&self) -> Costs {
        Costs { fewest_rows: 0, pass: QUESTION, sort: QUESTION }
    }
}
