//! The messages of an Arrow file or stream, looked at before they are decompressed.
//!
//! Each compressed buffer starts with the length it claims to have once it is decompressed, and the library sets that much aside. What cannot
//! be read here is left to the library, which refuses it.

use std::fs::File;

use arrow_ipc::{Block, RecordBatch, root_as_message};

use super::inflate::read_at;

/// The longest description of a batch that is looked at.
const LONGEST_HEAD: u64 = 64 << 20;
/// Marks a message of the present format.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// What the batch at a block of a file claims to hold, decompressed, in bytes.
pub(super) fn claimed_by_block(file: &mut File, block: &Block) -> u64 {
    let Some(message) = u64::try_from(block.offset()).ok().and_then(|at| Message::at(file, at)) else { return 0 };
    message.claimed(file)
}

/// The most that a batch of a stream claims to hold, decompressed, in bytes.
pub(super) fn claimed_by_stream(file: &mut File) -> u64 {
    let (mut at, mut most) = (0, 0);
    while let Some(message) = Message::at(file, at) {
        most = most.max(message.claimed(file));
        let Some(next) = message.end() else { break };
        at = next;
    }
    most
}

/// A message: its head, and where its body starts.
struct Message {
    head: Vec<u8>,
    body: u64,
}

impl Message {
    fn at(file: &mut File, at: u64) -> Option<Message> {
        let start = read_at(file, at, 8);
        let prefix = if start.get(..4)? == CONTINUATION { 8 } else { 4 };
        let length = i32::from_le_bytes(start.get(prefix - 4..prefix)?.try_into().ok()?);
        let length = u64::try_from(length).ok().filter(|&length| length > 0 && length <= LONGEST_HEAD)?;
        let head = read_at(file, at.checked_add(prefix as u64)?, length as usize);
        (head.len() as u64 == length).then(|| Message { head, body: at + prefix as u64 + length })
    }

    /// Where the next message of a stream starts.
    fn end(&self) -> Option<u64> {
        let length = u64::try_from(root_as_message(&self.head).ok()?.bodyLength()).ok()?;
        self.body.checked_add(length)
    }

    fn claimed(&self, file: &mut File) -> u64 {
        let Ok(message) = root_as_message(&self.head) else { return 0 };
        let batch = message.header_as_record_batch();
        let batch = batch.or_else(|| message.header_as_dictionary_batch().and_then(|batch| batch.data()));
        batch.map_or(0, |batch| self.claimed_by_batch(file, &batch))
    }

    fn claimed_by_batch(&self, file: &mut File, batch: &RecordBatch<'_>) -> u64 {
        let (Some(_), Some(buffers)) = (batch.compression(), batch.buffers()) else { return 0 };
        let starts = buffers.iter().filter(|buffer| buffer.length() > 0).map(|buffer| buffer.offset());
        starts.map(|start| self.claimed_at(file, start)).fold(0, u64::saturating_add)
    }

    /// The length that a compressed buffer of the body states first; -1 there says that it is not compressed after all.
    fn claimed_at(&self, file: &mut File, start: i64) -> u64 {
        let at = u64::try_from(start).ok().and_then(|start| self.body.checked_add(start));
        let first: Option<[u8; 8]> = at.and_then(|at| read_at(file, at, 8).try_into().ok());
        first.map_or(0, |bytes| u64::try_from(i64::from_le_bytes(bytes)).unwrap_or(0))
    }
}
