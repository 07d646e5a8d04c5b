//! How much memory a compressed file may ask for. A small file can claim to hold a large one.

use std::io::{Read, Seek, SeekFrom};

use super::{DataError, bytes::Bytes};

/// What any file may ask for at once.
const ALWAYS: u64 = 256 << 20;
/// What a file may ask for at once, as a multiple of its own length: honest tables seldom shrink more.
const TIMES: u64 = 16;

/// The most bytes that may be held, decompressed, at once for a file of this length.
pub(super) fn most_bytes(length: u64) -> u64 {
    ALWAYS.max(length.saturating_mul(TIMES))
}

/// The most rows that are believed: a row takes a bit or more, decompressed.
pub(super) fn most_rows(length: u64) -> u64 {
    most_bytes(length).saturating_mul(8)
}

pub(super) fn too_large(bytes: &Bytes, format: &'static str) -> DataError {
    DataError::Inflates { file: bytes.name.clone(), format }
}

/// Up to `count` bytes from `offset` on; fewer at the end, none where the file cannot be read.
pub(super) fn read_at(file: &mut (impl Read + Seek), offset: u64, count: usize) -> Vec<u8> {
    let mut found = Vec::new();
    if file.seek(SeekFrom::Start(offset)).is_ok() {
        // What could not be read is missing from the answer, and the decoder will say so in its turn.
        let _ = file.take(count as u64).read_to_end(&mut found);
    }
    found
}
