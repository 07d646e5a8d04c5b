//! The footer of a Parquet file, checked before the library reads it.
//!
//! A footer that claims to hold endless lists would keep the library busy. Such a claim is refused
//! here. Every field must also have the type that the format gives it, so that the library cannot
//! find such a list by reading the same bytes in another way.

use std::fs::File;

use super::thrift::{BINARY, BYTE, Cursor, DOUBLE, FALSE, I16, I32, I64, LIST, STRUCTURE, TRUE};
use crate::table::inflate::read_at;

/// The footer's length and the magic bytes.
const TAIL: u64 = 8;
const MAGIC: &[u8] = b"PAR1";

/// Whether the footer can be given to the library: it conforms to the format, or it is absent,
/// which the library reports.
pub(super) fn is_readable(file: &mut File, length: u64) -> bool {
    let Some(tail) = length.checked_sub(TAIL) else { return true };
    let end = read_at(file, tail, TAIL as usize);
    let size: Option<[u8; 4]> = end.strip_suffix(MAGIC).and_then(|size| size.try_into().ok());
    let size = size.map_or(0, u32::from_le_bytes);
    match tail.checked_sub(size.into()) {
        Some(start) if size > 0 => is_defined(&read_at(file, start, size as usize)),
        _ => true,
    }
}

fn is_defined(footer: &[u8]) -> bool {
    structure(&mut Cursor::new(footer), FILE).is_some()
}

/// The type that the format gives a field.
enum Type {
    Truth,
    Byte,
    /// Of any width: the encoding is the same.
    Integer,
    Double,
    Text,
    List(&'static Type),
    Structure(Fields),
}

/// The fields of a structure, by number; fields not named here are not read.
type Fields = &'static [(i16, Type)];

use Type::{Byte, Double, Integer, List, Structure, Text, Truth};

const FILE: Fields = &[
    (1, Integer),
    (2, List(&Structure(SCHEMA_ELEMENT))),
    (3, Integer),
    (4, List(&Structure(ROW_GROUP))),
    (5, List(&Structure(KEY_VALUE))),
    (6, Text),
    (7, List(&Structure(NAMES_ONLY))),
    (8, Structure(&[(1, Structure(CIPHER)), (2, Structure(CIPHER))])),
    (9, Text),
];
const SCHEMA_ELEMENT: Fields = &[
    (1, Integer),
    (2, Integer),
    (3, Integer),
    (4, Text),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, Integer),
    (9, Integer),
    (10, Structure(LOGICAL_TYPE)),
];
const LOGICAL_TYPE: Fields = &[
    (1, Structure(&[])),
    (2, Structure(&[])),
    (3, Structure(&[])),
    (4, Structure(&[])),
    (5, Structure(&[(1, Integer), (2, Integer)])),
    (6, Structure(&[])),
    (7, Structure(TIME)),
    (8, Structure(TIME)),
    (10, Structure(&[(1, Byte), (2, Truth)])),
    (11, Structure(&[])),
    (12, Structure(&[])),
    (13, Structure(&[])),
    (14, Structure(&[])),
    (15, Structure(&[])),
    (16, Structure(&[(1, Byte)])),
    (17, Structure(&[(1, Text)])),
    (18, Structure(&[(1, Text), (2, Integer)])),
];
const TIME: Fields = &[(1, Truth), (2, Structure(NAMES_ONLY))];
/// One of several structures without fields.
const NAMES_ONLY: Fields = &[(1, Structure(&[])), (2, Structure(&[])), (3, Structure(&[]))];
const KEY_VALUE: Fields = &[(1, Text), (2, Text)];
const CIPHER: Fields = &[(1, Text), (2, Text), (3, Truth)];
const ROW_GROUP: Fields = &[
    (1, List(&Structure(COLUMN_CHUNK))),
    (2, Integer),
    (3, Integer),
    (4, List(&Structure(&[(1, Integer), (2, Truth), (3, Truth)]))),
    (5, Integer),
    (6, Integer),
    (7, Integer),
];
const COLUMN_CHUNK: Fields = &[
    (1, Text),
    (2, Integer),
    (3, Structure(COLUMN)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, Structure(&[(1, Structure(&[])), (2, Structure(&[(1, List(&Text)), (2, Text)]))])),
    (9, Text),
];
const COLUMN: Fields = &[
    (1, Integer),
    (2, List(&Integer)),
    (3, List(&Text)),
    (4, Integer),
    (5, Integer),
    (6, Integer),
    (7, Integer),
    (8, List(&Structure(KEY_VALUE))),
    (9, Integer),
    (10, Integer),
    (11, Integer),
    (12, Structure(STATISTICS)),
    (13, List(&Structure(&[(1, Integer), (2, Integer), (3, Integer)]))),
    (14, Integer),
    (15, Integer),
    (16, Structure(&[(1, Integer), (2, List(&Integer)), (3, List(&Integer))])),
    (17, Structure(&[(1, Structure(BOX)), (2, List(&Integer))])),
];
const STATISTICS: Fields =
    &[(1, Text), (2, Text), (3, Integer), (4, Integer), (5, Text), (6, Text), (7, Truth), (8, Truth), (9, Integer)];
const BOX: Fields =
    &[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)];

fn structure(cursor: &mut Cursor<'_>, fields: Fields) -> Option<()> {
    let mut last = 0;
    while let Some((kind, id)) = cursor.field(last)? {
        last = id;
        match fields.iter().find(|(known, _)| *known == id) {
            Some((_, defined)) => value(cursor, kind, defined)?,
            None => cursor.skip(kind, 0)?,
        }
    }
    Some(())
}

fn value(cursor: &mut Cursor<'_>, kind: u8, defined: &Type) -> Option<()> {
    match (defined, kind) {
        (Truth, TRUE | FALSE) | (Byte, BYTE) | (Integer, I16 | I32 | I64) | (Double, DOUBLE) | (Text, BINARY) => {
            cursor.skip(kind, 0)
        }
        (List(element), LIST) => {
            let (kind, count) = cursor.list()?;
            (0..count).try_for_each(|_| value(cursor, kind, element))
        }
        (Structure(fields), STRUCTURE) => structure(cursor, fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_format_defines_is_readable() {
        // A version, a schema of one element with a name, 5 rows, no groups, and a field that a
        // later version may add.
        let plain =
            [0x15, 0x02, 0x19, 0x1c, 0x48, 0x01, b'y', 0x00, 0x16, 0x0a, 0x19, 0x0c, 0x09, 0x28, 0x15, 0x02, 0x00];
        assert!(is_defined(&plain));
        (0..plain.len()).for_each(|length| assert!(!is_defined(&plain[..length]), "cut at {length}"));
        assert!(is_defined(&[0x29, 0x00, 0x00]), "an empty list may leave out the type of its elements");
    }

    #[test]
    fn lists_without_end_and_other_types_are_refused() {
        let endless = [0xff, 0xff, 0xff, 0xff, 0x07];
        let truths = [&[0x09, 0x28, 0xf1][..], &endless, &[0x00]].concat();
        let in_lists = [&[0x09, 0x28, 0x19, 0xf1][..], &endless, &[0x00]].concat();
        let in_structure = [&[0x0c, 0x28, 0x19, 0xf2][..], &endless, &[0x00, 0x00]].concat();
        let groups = [&[0x49, 0xfc][..], &endless, &[0x00]].concat();
        let map = [&[0x0b, 0x28][..], &endless, &[0x11, 0x00]].concat();
        for (bytes, what) in [
            (truths, "truths"),
            (in_lists, "in lists"),
            (in_structure, "in a structure"),
            (groups, "groups"),
            (map, "map"),
            (vec![0x18, 0x01, b'x', 0x00], "a version that is a text"),
            (vec![0x29, 0x15, 0x02, 0x00], "a schema of numbers"),
            (vec![0x15, 0x02, 0x05, 0x02, 0x02, 0x00], "a version twice"),
        ] {
            assert!(!is_defined(&bytes), "{what}");
        }
    }
}
