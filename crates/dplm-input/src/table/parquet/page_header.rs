//! The header of a page of a Parquet file.
//!
//! The library allocates memory by its own reading of this header, so nothing is accepted that it
//! could read differently: every field must have the type that the format gives it.

use std::fs::File;

use super::thrift::{Cursor, FALSE, I32, STRUCTURE, TRUE};
use crate::table::inflate::read_at;

/// Most headers fit in the first size, and all that are not malicious in the second.
const HEADER_SIZES: [usize; 2] = [256, 1 << 20];

/// What a page declares.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Header {
    pub kind: i32,
    /// Its bytes after decompression.
    pub uncompressed: u64,
    /// Its bytes in the file.
    pub compressed: u64,
    pub encoding: i32,
    /// Bytes at its start that are never compressed.
    pub plain: u64,
    /// Whether it declares that the rest is not compressed either, whatever the column's codec.
    pub is_stored: bool,
}

impl Header {
    /// The header at a position of the file, and its length; `None` unless every reader understands
    /// it alike.
    pub fn at(file: &mut File, at: u64) -> Option<(Header, usize)> {
        HEADER_SIZES.iter().find_map(|&size| Reader::header(&read_at(file, at, size)))
    }

    /// Stores the few numbers that matter, by their field in the format's definition.
    fn note(&mut self, place: Place, value: i32) -> Option<()> {
        let size = || u64::try_from(value).ok();
        match place {
            (None, 1) => self.kind = value,
            (None, 2) => self.uncompressed = size()?,
            (None, 3) => self.compressed = size()?,
            (Some(5), 2) | (Some(8), 4) => self.encoding = value,
            (Some(8), 5 | 6) => self.plain += size()?,
            _ => {}
        }
        Some(())
    }
}

/// A field: the header field that holds its structure (`None` for the header itself), and its own
/// number.
type Place = (Option<i16>, i16);

/// The types that the format's definition gives a field; `None` for an undefined field.
fn defined_types(place: Place) -> Option<&'static [u8]> {
    match place {
        (None, 5..=8) => Some(&[STRUCTURE]),
        (None | Some(5), 1..=4) | (Some(7), 1 | 2) | (Some(8), 1..=6) => Some(&[I32]),
        (Some(7), 3) | (Some(8), 7) => Some(&[TRUE, FALSE]),
        _ => None,
    }
}

/// Reads a header field by field.
struct Reader<'a> {
    cursor: Cursor<'a>,
    header: Header,
}

impl Reader<'_> {
    fn header(bytes: &[u8]) -> Option<(Header, usize)> {
        let mut reader = Reader { cursor: Cursor::new(bytes), header: Header::default() };
        let (mut last, mut structures) = (0, 0);
        while let Some((kind, id)) = reader.cursor.field(last)? {
            last = id;
            structures += u32::from((5..=8).contains(&id));
            match kind {
                STRUCTURE => reader.structure(id)?,
                _ => reader.value(kind, (None, id))?,
            }
        }
        // Exactly one structure describes the page, so that it cannot be described in two ways.
        (structures <= 1).then_some((reader.header, reader.cursor.at))
    }

    /// The structure that is field `parent` of the header.
    fn structure(&mut self, parent: i16) -> Option<()> {
        let types = defined_types((None, parent));
        if types.is_some_and(|types| !types.contains(&STRUCTURE)) {
            return None;
        }
        let mut last = 0;
        while let Some((kind, id)) = self.cursor.field(last)? {
            last = id;
            self.value(kind, (Some(parent), id))?;
        }
        Some(())
    }

    /// A value of the right type, stored if it matters.
    fn value(&mut self, kind: u8, place: Place) -> Option<()> {
        match defined_types(place) {
            Some(types) if !types.contains(&kind) => None,
            Some([I32]) => {
                let value = i32::try_from(self.cursor.integer()?).ok()?;
                self.header.note(place, value)
            }
            types => {
                self.header.is_stored |= types.is_some() && place == (Some(8), 7) && kind == FALSE;
                self.cursor.skip(kind, 0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind 0, 100 bytes of which 50 are stored, then a data page of 7 values in encoding 7 with
    /// statistics.
    const PLAIN: [u8; 25] = [
        0x15, 0x00, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x2c, 0x15, 0x0e, 0x15, 0x0e, 0x15, 0x06, 0x15, 0x06, 0x1c, 0x18,
        0x03, 1, 2, 3, 0x00, 0x00, 0x00,
    ];

    #[test]
    fn a_header_is_read_field_by_field() {
        let expected = Header { kind: 0, uncompressed: 100, compressed: 50, encoding: 7, ..Header::default() };
        assert_eq!(Reader::header(&PLAIN), Some((expected, PLAIN.len())));
        for length in 0..PLAIN.len() {
            assert_eq!(Reader::header(&PLAIN[..length]), None, "cut at {length}");
        }
        // Of the second kind, with 2 and 3 bytes of levels before the compressed part.
        let second = [
            0x15, 0x06, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x5c, 0x15, 0x0e, 0x15, 0x00, 0x15, 0x0e, 0x15, 0x00, 0x15, 0x04,
            0x15, 0x06, 0x11, 0x00, 0x00,
        ];
        let expected = Header { kind: 3, uncompressed: 100, compressed: 50, plain: 5, ..Header::default() };
        assert_eq!(Reader::header(&second), Some((expected, second.len())));
        let stored = second.map(|byte| if byte == 0x11 { 0x12 } else { byte });
        assert!(Reader::header(&stored).is_some_and(|(header, _)| header.is_stored));
    }

    #[test]
    fn nesting_and_lengths_without_end_are_given_up() {
        assert_eq!(Reader::header(&[0x1c; 100]), None);
        assert_eq!(Reader::header(&[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]), None);
        assert_eq!(Reader::header(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), None);
    }

    #[test]
    fn what_two_readers_could_take_differently_is_given_up() {
        // The size as a text, as a negative number whose low half is 2^31 - 1, twice, and below a
        // field that does not exist.
        let as_text = [&[0x15, 0x00, 0x18], &PLAIN[3..]].concat();
        let long = [&[0x15, 0x00, 0x15, 0x81, 0x80, 0x80, 0x80, 0x10], &PLAIN[5..]].concat();
        let twice = [&PLAIN[..5], &[0x05, 0x04, 0x02], &PLAIN[5..]].concat();
        let below = [&[0x0c, 0x00, 0x25, 0x02, 0x00], &PLAIN[..]].concat();
        // Two descriptions of one page.
        let two = [&PLAIN[..24], &[0x3c, 0x45, 0x00, 0x00, 0x00]].concat();
        for (bytes, what) in [(as_text, "text"), (long, "long"), (twice, "twice"), (below, "below"), (two, "two")] {
            assert_eq!(Reader::header(&bytes), None, "{what}");
        }
    }
}
