//! The memory that a compressed file may claim. A small file can claim to hold a large one.

use std::io::{Read, Seek, SeekFrom};

use super::{DataError, bytes::Bytes};

/// The bytes that any file may claim at once.
const ALWAYS: u64 = 256 << 20;
/// The bytes that a file may claim at once, as a multiple of its length: real tables seldom
/// compress better.
const TIMES: u64 = 16;

/// The most decompressed bytes held at once for a file of this length.
pub(super) fn most_bytes(length: u64) -> u64 {
    ALWAYS.max(length.saturating_mul(TIMES))
}

/// The most rows accepted: a row takes at least one bit, decompressed.
pub(super) fn most_rows(length: u64) -> u64 {
    most_bytes(length).saturating_mul(8)
}

pub(super) fn too_large(bytes: &Bytes, format: &'static str) -> DataError {
    DataError::Inflates { file: bytes.name.clone(), format }
}

/// Up to `count` bytes from `offset` on; fewer at the end, none if the file cannot be read.
pub(super) fn read_at(file: &mut (impl Read + Seek), offset: u64, count: usize) -> Vec<u8> {
    let mut found = Vec::new();
    if file.seek(SeekFrom::Start(offset)).is_ok() {
        // Unread bytes are missing from the result, and the decoder reports them.
        let _ = file.take(count as u64).read_to_end(&mut found);
    }
    found
}
