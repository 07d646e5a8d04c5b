//! The messages of an Arrow file or stream, checked before they are decompressed.
//!
//! Each compressed buffer starts with its claimed decompressed length, and the library allocates
//! that much. Messages that cannot be read here are left to the library, which refuses them.

use arrow_ipc::{Block, RecordBatch, root_as_message};

use crate::table::{bytes::Opened, inflate::read_at};

/// Marks a message of the present format.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];

/// The decompressed size that the batch at a block of a file claims, in bytes; `None` if its
/// description cannot be read.
pub(super) fn claimed_by_block(file: &mut Opened, block: &Block) -> Option<u64> {
    let message = Message::of_block(file, block)?;
    root_as_message(&message.head).ok()?;
    Some(message.claimed(file))
}

/// The largest decompressed size that a batch of a stream claims, in bytes.
pub(super) fn claimed_by_stream(file: &mut Opened) -> u64 {
    let (mut at, mut most) = (0, 0);
    while let Some(message) = Message::at(file, at) {
        most = most.max(message.claimed(file));
        let Some(next) = message.end() else { break };
        at = next;
    }
    most
}

/// A message: its head, and the position of its body.
struct Message {
    head: Vec<u8>,
    body: u64,
}

impl Message {
    /// In a file, the block gives the ends of the head and the start of the body.
    fn of_block(file: &mut Opened, block: &Block) -> Option<Message> {
        let at = u64::try_from(block.offset()).ok()?;
        let length = usize::try_from(block.metaDataLength()).ok()?;
        let mut head = read_at(file, at, length);
        let prefix = if head.get(..4)? == CONTINUATION { 8 } else { 4 };
        if head.len() < prefix {
            return None;
        }
        head.drain(..prefix);
        Some(Message { head, body: at.checked_add(length as u64)? })
    }

    /// In a stream, the head states its own length.
    fn at(file: &mut Opened, at: u64) -> Option<Message> {
        let start = read_at(file, at, 8);
        let prefix = if start.get(..4)? == CONTINUATION { 8 } else { 4 };
        let length = i32::from_le_bytes(start.get(prefix - 4..prefix)?.try_into().ok()?);
        let length = u64::try_from(length).ok().filter(|&length| length > 0)?;
        let head = read_at(file, at.checked_add(prefix as u64)?, length as usize);
        (head.len() as u64 == length).then(|| Message { head, body: at + prefix as u64 + length })
    }

    /// Where the next message of a stream starts.
    fn end(&self) -> Option<u64> {
        let length = u64::try_from(root_as_message(&self.head).ok()?.bodyLength()).ok()?;
        self.body.checked_add(length)
    }

    fn claimed(&self, file: &mut Opened) -> u64 {
        let Ok(message) = root_as_message(&self.head) else { return 0 };
        let batch = message.header_as_record_batch();
        let batch = batch.or_else(|| message.header_as_dictionary_batch().and_then(|batch| batch.data()));
        batch.map_or(0, |batch| self.claimed_by_batch(file, &batch))
    }

    fn claimed_by_batch(&self, file: &mut Opened, batch: &RecordBatch<'_>) -> u64 {
        let (Some(_), Some(buffers)) = (batch.compression(), batch.buffers()) else { return 0 };
        let starts = buffers.iter().filter(|buffer| buffer.length() > 0).map(|buffer| buffer.offset());
        starts.map(|start| self.claimed_at(file, start)).fold(0, u64::saturating_add)
    }

    /// The length that a compressed buffer of the body states first; -1 means that it is not
    /// compressed.
    fn claimed_at(&self, file: &mut Opened, start: i64) -> u64 {
        let at = u64::try_from(start).ok().and_then(|start| self.body.checked_add(start));
        let first: Option<[u8; 8]> = at.and_then(|at| read_at(file, at, 8).try_into().ok());
        first.map_or(0, |bytes| u64::try_from(i64::from_le_bytes(bytes)).unwrap_or(0))
    }
}
