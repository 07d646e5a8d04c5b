//! The pages of a Parquet file, looked at before they are decompressed.
//!
//! The library sets aside what a page says it holds, and writes a value of a dictionary out for every row that names it. Both are
//! numbers that whoever wrote the file chose. Headers are read here the way the format defines them (Thrift's compact
//! protocol), and what cannot be read is left to the library, which refuses it.

use std::fs::File;

use parquet::{
    arrow::{ProjectionMask, arrow_reader::ArrowReaderMetadata},
    basic::Type,
    file::metadata::ColumnChunkMetaData,
};

use super::{
    DataError,
    bytes::Bytes,
    inflate::{most_bytes, read_at, too_large},
};

/// How much text the rows of one block may be written out to.
const LARGEST_BLOCK: u64 = 64 << 20;
/// What most headers fit in, and what all do that are not written to annoy.
const HEADER_SIZES: [usize; 2] = [256, 1 << 20];
const DICTIONARY_PAGE: i64 = 2;
const DELTA_BYTE_ARRAY: i64 = 7;
const DEEPEST: u32 = 8;

/// Checks the pages of the wanted columns, and gives the most rows a block may have.
///
/// # Errors
/// When pages that are open at the same time would take more memory than the file's length makes likely.
pub(super) fn checked_block_rows(
    bytes: &Bytes,
    metadata: &ArrowReaderMetadata,
    mask: &ProjectionMask,
    wanted: usize,
) -> Result<usize, DataError> {
    let mut file = bytes.file()?;
    let mut largest_repeated = 0;
    for group in metadata.metadata().row_groups() {
        let chunks = group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let mut open_at_once = 0u64;
        for (_, chunk) in chunks {
            let largest = bytes.decode(super::parquet::FORMAT, || Ok::<_, ()>(Largest::of(&mut file, chunk)))?;
            open_at_once = open_at_once.saturating_add(largest.page);
            largest_repeated = largest_repeated.max(largest.repeated);
        }
        if open_at_once > most_bytes(bytes.length) {
            return Err(too_large(bytes, super::parquet::FORMAT));
        }
    }
    let rows = LARGEST_BLOCK / largest_repeated.max(1);
    Ok(wanted.min(usize::try_from(rows).unwrap_or(wanted)).max(1))
}

/// The largest pages of a column chunk.
#[derive(Default)]
struct Largest {
    page: u64,
    /// Of those with text that may be written out many times.
    repeated: u64,
}

impl Largest {
    fn of(file: &mut File, chunk: &ColumnChunkMetaData) -> Largest {
        let text = matches!(chunk.column_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY);
        let (start, length) = chunk.byte_range();
        let end = start.saturating_add(length);
        let (mut largest, mut at) = (Largest::default(), start);
        while at < end
            && let Some((header, size)) = header_at(file, at)
        {
            largest.page = largest.page.max(header.uncompressed);
            if text && (header.kind == DICTIONARY_PAGE || header.encoding == DELTA_BYTE_ARRAY) {
                largest.repeated = largest.repeated.max(header.uncompressed);
            }
            at = at.saturating_add(size as u64).saturating_add(header.compressed);
        }
        largest
    }
}

/// What a page says of itself.
#[derive(Debug, Default, PartialEq)]
struct Header {
    kind: i64,
    uncompressed: u64,
    compressed: u64,
    encoding: i64,
}

fn header_at(file: &mut File, at: u64) -> Option<(Header, usize)> {
    HEADER_SIZES.iter().find_map(|&size| Reader::header(&read_at(file, at, size)))
}

/// Reads a header field by field.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    header: Header,
}

impl Reader<'_> {
    fn header(bytes: &[u8]) -> Option<(Header, usize)> {
        let mut reader = Reader { bytes, at: 0, header: Header::default() };
        reader.fields(0, 0)?;
        Some((reader.header, reader.at))
    }

    /// The fields of a structure that is field `parent` of the one above it.
    fn fields(&mut self, depth: u32, parent: i64) -> Option<()> {
        let mut id = 0;
        loop {
            let byte = self.byte()?;
            let (kind, step) = (byte & 0xf, i64::from(byte >> 4));
            if kind == 0 {
                return Some(());
            }
            id = if step == 0 { self.integer()? } else { id + step };
            match kind {
                4..=6 => {
                    let value = self.integer()?;
                    self.note(depth, parent, id, value);
                }
                kind => self.skip(kind, depth, id)?,
            }
        }
    }

    /// Keeps the few numbers that matter, by their place in the format's definition.
    fn note(&mut self, depth: u32, parent: i64, id: i64, value: i64) {
        let size = u64::try_from(value).unwrap_or(0);
        match (depth, parent, id) {
            (0, _, 1) => self.header.kind = value,
            (0, _, 2) => self.header.uncompressed = size,
            (0, _, 3) => self.header.compressed = size,
            (1, 5, 2) | (1, 8, 4) => self.header.encoding = value,
            _ => {}
        }
    }

    fn skip(&mut self, kind: u8, depth: u32, id: i64) -> Option<()> {
        match kind {
            1 | 2 => Some(()),
            3 => self.advance(1),
            7 => self.advance(8),
            8 => {
                let length = self.unsigned()?;
                self.advance(usize::try_from(length).ok()?)
            }
            9 | 10 => self.list(depth, id),
            12 if depth < DEEPEST => self.fields(depth + 1, id),
            _ => None,
        }
    }

    fn list(&mut self, depth: u32, id: i64) -> Option<()> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.unsigned()? } else { u64::from(byte >> 4) };
        for _ in 0..count {
            match byte & 0xf {
                // In a list a truth value takes a byte.
                1 | 2 => self.advance(1)?,
                4..=6 => drop(self.integer()?),
                kind => self.skip(kind, depth + 1, id)?,
            }
        }
        Some(())
    }

    fn advance(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|&at| at <= self.bytes.len())?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Seven bits a byte, the lowest first.
    fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A signed number: the sign is the lowest bit.
    fn integer(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_field_by_field() {
        // kind 0, 100 bytes of which 50 are stored, then a data page of 7 values in encoding 7 with statistics.
        let bytes = [
            0x15, 0x00, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x2c, 0x15, 0x0e, 0x15, 0x0e, 0x15, 0x06, 0x15, 0x06, 0x1c, 0x18,
            0x03, 1, 2, 3, 0x00, 0x00, 0x00,
        ];
        let expected = Header { kind: 0, uncompressed: 100, compressed: 50, encoding: 7 };
        assert_eq!(Reader::header(&bytes), Some((expected, bytes.len())));
        for length in 0..bytes.len() {
            assert_eq!(Reader::header(&bytes[..length]), None, "cut at {length}");
        }
    }

    #[test]
    fn nesting_and_lengths_without_end_are_given_up() {
        assert_eq!(Reader::header(&[0x1c; 100]), None);
        assert_eq!(Reader::header(&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), None);
        assert_eq!(Reader::header(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
