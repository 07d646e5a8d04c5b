//! Answers: what one or more blocks say to a question, and for which blocks they say it.

use dplm::{
    Error,
    lattice::{Kernel, SecondMoments},
    rows::engine::{Chunk, Chunks, Query, Sorted, Sorting},
};

use crate::{
    BlockId, RemoteError,
    bytes::{Fingerprint, Kind, Reader, Writer, fingerprint},
    pack::{NO_GROUP, Unpacked, read_chunk, write_chunk},
    question::{Ask, Question},
};

/// Where a block came from, how many units it has, and what identifies its bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) block: BlockId,
    /// The group that its units are in; [`NO_GROUP`] where in none.
    pub(crate) group: u32,
    pub(crate) units: u32,
    /// How many rows a pass visits.
    pub(crate) rows: u32,
    pub(crate) fingerprint: Fingerprint,
}

/// Answers a question block by block; the blocks of one worker need travel no farther than their
/// sum.
pub struct Answering {
    question: Question,
    answer: Answer,
}

impl Answering {
    /// Reads a question. No block has answered yet.
    ///
    /// # Errors
    /// When the bytes are no question of this version.
    pub fn new(question: &[u8]) -> Result<Answering, RemoteError> {
        Ok(Answering { question: Question::read(question)?, answer: Answer::to(fingerprint(question)) })
    }

    /// Adds what a block answers; one of another group than the question is put to says nothing.
    ///
    /// # Guarantee
    /// What is added depends on the block and on the question only.
    ///
    /// # Errors
    /// When the bytes are no block of this version, or one of other columns.
    pub fn add(&mut self, block: &[u8]) -> Result<(), Error> {
        let unpacked = Unpacked::read(block)?;
        let Unpacked { id, group, units, rows_in_unit, mut rows } = unpacked;
        let is_asked_for = match rows_in_unit {
            // Nobody's rows are neither.
            None => group == NO_GROUP || self.question.of.rows_in_unit.is_none(),
            Some(rows) => self.question.of.rows_in_unit.is_some_and(|most| rows <= most),
        };
        if rows.features != self.question.features || !is_asked_for {
            return Err(Kind::Block.malformed().into());
        }
        if self.question.of.group.is_some_and(|asked| asked != group) {
            return Ok(());
        }
        let visited = rows.count().try_into().map_err(|_| Kind::Block.malformed())?;
        let seen = Seen { block: id, group, units, rows: visited, fingerprint: fingerprint(block) };
        for whitening in &self.question.whitenings {
            rows = rows.encoded(whitening);
        }
        if let Some(clip) = &self.question.clip {
            rows.clip_at(clip, Kernel::best());
        }
        let said = self.question.with_ask(|ask| said(ask, &self.question, &rows));
        let said = said.ok_or(Kind::Question.malformed())??;
        Ok(self.answer.take(Answer { to: self.answer.to, seen: vec![seen], ..said })?)
    }

    /// The answer of all blocks that were added, as bytes.
    pub fn finish(self) -> Vec<u8> {
        self.answer.written()
    }
}

/// Answers a question for one block: a function of these bytes and nothing else.
///
/// # Errors
/// When the bytes are no question or no block of this version.
pub fn answer(block: &[u8], question: &[u8]) -> Result<Vec<u8>, Error> {
    let mut answering = Answering::new(question)?;
    answering.add(block)?;
    Ok(answering.finish())
}

/// What a block says, without saying which it is.
fn said(ask: &Ask<'_>, question: &Question, rows: &Chunks) -> Result<Answer, Error> {
    let (features, kernel) = (question.outputs(), Kernel::best());
    Ok(match *ask {
        Ask::Presence => Answer::default(),
        Ask::Sum(sum) => {
            let query = Query { sum, features, kernel };
            Answer { sums: query.over(rows)?, ..Answer::default() }
        }
        Ask::Sorted { region, lattice, most } => {
            let clip = question.clip.as_ref().ok_or(Kind::Question.malformed())?;
            let most_rows = (u128::from(most) * u128::from(rows.count())) >> SHARE_BITS;
            let most_rows = most_rows.try_into().unwrap_or(u64::MAX);
            Answer::of_sorted(Sorting { region, kernel, clip, lattice, most_rows }.over(rows)?)
        }
        Ask::Sample { one_in } => {
            let wanted = rows.count() / one_in.max(1);
            let sample = rows.some(wanted.try_into().unwrap_or(usize::MAX));
            Answer { rows: sample.chunks, features, ..Answer::default() }
        }
    })
}

/// Shares of the rows are asked for in parts of this power of two.
pub(crate) const SHARE_BITS: u32 = 16;

/// What some blocks answer together.
#[derive(Default)]
pub(crate) struct Answer {
    /// The question.
    to: Fingerprint,
    pub(crate) seen: Vec<Seen>,
    pub(crate) sums: Vec<i128>,
    /// Rows that are sent, without bounds, or groups of persons, and how many coefficients rows
    /// have.
    pub(crate) rows: Vec<Chunk>,
    features: usize,
    /// Whether there were more rows to send than was asked for.
    pub(crate) is_partial: bool,
}

impl Answer {
    /// An answer of no block yet.
    pub(crate) fn to(question: Fingerprint) -> Answer {
        Answer { to: question, ..Answer::default() }
    }

    /// Moments, the constant sum, and the number of undecided rows, in this order; then those rows.
    fn of_sorted(sorted: Sorted) -> Answer {
        if sorted.is_partial {
            return Answer { is_partial: true, ..Answer::default() };
        }
        let features = sorted.clipped.len();
        let decided = sorted.unclipped.into_upper().into_iter().chain(sorted.clipped);
        let sums = decided.chain([sorted.undecided.into()]).collect();
        Answer { sums, rows: sorted.rows.chunks, features, ..Answer::default() }
    }

    /// What all rows together are, over a region; `None` if the answer has too many or too few
    /// numbers.
    pub(crate) fn into_sorted(self, features: usize) -> Option<Sorted> {
        if self.is_partial {
            return Some(Sorted { is_partial: true, ..Sorted::nothing(features) });
        }
        let mut sums = self.sums;
        let undecided = u64::try_from(sums.pop()?).ok()?;
        let size = features + 1;
        let upper = size * (size + 1) / 2;
        let clipped = (sums.len() == upper + features).then(|| sums.split_off(upper))?;
        let rows = Chunks { features, chunks: self.rows };
        Some(Sorted { unclipped: SecondMoments::from_upper(size, sums), clipped, rows, undecided, is_partial: false })
    }

    /// Takes in what other blocks answer to the same question.
    ///
    /// # Errors
    /// When the sums are not of one kind, or leave `i128`.
    pub(crate) fn take(&mut self, other: Answer) -> Result<(), RemoteError> {
        if other.to != self.to {
            return Err(RemoteError::Stale);
        }
        if other.seen.is_empty() {
            // A worker without a block has nothing to say.
            return Ok(());
        }
        if self.seen.is_empty() {
            *self = other;
            return Ok(());
        }
        self.seen.extend(other.seen);
        self.is_partial |= other.is_partial;
        if self.is_partial {
            (self.sums, self.rows) = (Vec::new(), Vec::new());
            return Ok(());
        }
        self.sums = checked_plus(&self.sums, &other.sums).ok_or(Kind::Answer.malformed())?;
        self.rows.extend(other.rows);
        Ok(())
    }

    fn written(&self) -> Vec<u8> {
        let mut writer = Writer::new(Kind::Answer);
        writer.bytes(&self.to);
        writer.count(self.seen.len());
        for seen in &self.seen {
            writer.u64(seen.block.0);
            writer.u32(seen.group);
            writer.u32(seen.units);
            writer.u32(seen.rows);
            writer.bytes(&seen.fingerprint);
        }
        writer.u8(self.is_partial.into());
        writer.count(self.sums.len());
        self.sums.iter().for_each(|sum| writer.i128(*sum));
        writer.count(self.features);
        writer.count(self.rows.len());
        self.rows.iter().for_each(|chunk| write_chunk(&mut writer, chunk, self.features));
        writer.finish()
    }

    /// Reads an answer to a question of this fingerprint.
    ///
    /// # Errors
    /// When the bytes are no answer of this version, or one to another question.
    pub(crate) fn read(bytes: &[u8], to: Fingerprint) -> Result<Answer, RemoteError> {
        let mut reader = Reader::new(bytes, Kind::Answer)?;
        let answer = Answer::read_body(&mut reader).filter(|_| reader.is_at_end()).ok_or(Kind::Answer.malformed())?;
        if answer.to == to { Ok(answer) } else { Err(RemoteError::Stale) }
    }

    fn read_body(reader: &mut Reader<'_>) -> Option<Answer> {
        let to = reader.array()?;
        let mut seen = Vec::new();
        for _ in 0..reader.count()? {
            let (block, group) = (BlockId(reader.u64()?), reader.u32()?);
            let (units, rows) = (reader.u32()?, reader.u32()?);
            seen.push(Seen { block, group, units, rows, fingerprint: reader.array()? });
        }
        let is_partial = reader.u8()? != 0;
        let count = reader.count()?;
        let sums = reader.i128s(count)?;
        let features = reader.count()?;
        let mut rows = Vec::new();
        for _ in 0..reader.count()? {
            rows.extend(read_chunk(reader, features)?);
        }
        Some(Answer { to, seen, sums, rows, features, is_partial })
    }
}

/// The sum of both; `None` if their lengths differ or it overflows an `i128`.
fn checked_plus(mine: &[i128], theirs: &[i128]) -> Option<Vec<i128>> {
    let sums =
        mine.iter().zip(theirs).map(|(mine, theirs)| mine.checked_add(*theirs)).collect::<Option<Vec<i128>>>()?;
    (mine.len() == theirs.len()).then_some(sums)
}
