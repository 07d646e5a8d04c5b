//! Thrift's compact protocol, in which Parquet describes itself: the few parts needed to check a
//! description.
//!
//! The library has its own reader, which is more lenient. It identifies a field by its number,
//! whatever its type, keeps the low half of a number that is too long, and reads a list of booleans
//! as a list of empty elements, so that a few bytes keep it busy for a very long time. Only what
//! both readers understand alike is therefore accepted: each field once and in order, numbers that
//! fit, and nothing nested deeper than any writer makes.

// Types of a field.
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
pub(super) const BYTE: u8 = 3;
pub(super) const I16: u8 = 4;
pub(super) const I32: u8 = 5;
pub(super) const I64: u8 = 6;
pub(super) const DOUBLE: u8 = 7;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
pub(super) const STRUCTURE: u8 = 12;

const DEEPEST: u32 = 16;

/// Reads bytes; `None` where they end, or where the two readers might differ.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// The type and number of the next field, which comes after number `last`; an inner `None` at
    /// the end of a structure.
    pub fn field(&mut self, last: i16) -> Option<Option<(u8, i16)>> {
        let byte = self.byte()?;
        let (kind, step) = (byte & 0xf, i64::from(byte >> 4));
        if kind == 0 {
            return Some(None);
        }
        let id = if step == 0 { self.integer()? } else { i64::from(last) + step };
        let id = i16::try_from(id).ok().filter(|&id| id > last)?;
        Some(Some((kind, id)))
    }

    /// The type of a list's elements, and their number. Each takes at least one byte, so the number
    /// cannot exceed the bytes left.
    pub fn list(&mut self) -> Option<(u8, usize)> {
        let byte = self.byte()?;
        let count = if byte >> 4 == 15 { self.unsigned()? } else { u64::from(byte >> 4) };
        let count = usize::try_from(count).ok().filter(|&count| count <= self.bytes.len() - self.at)?;
        let kind = byte & 0xf;
        (count == 0 || !matches!(kind, TRUE | FALSE)).then_some((kind, count))
    }

    /// Skips a value.
    pub fn skip(&mut self, kind: u8, depth: u32) -> Option<()> {
        match kind {
            TRUE | FALSE => Some(()),
            BYTE => self.advance(1),
            I16 | I32 | I64 => self.integer().map(drop),
            DOUBLE => self.advance(8),
            BINARY => {
                let length = self.unsigned()?;
                self.advance(usize::try_from(length).ok()?)
            }
            LIST if depth < DEEPEST => {
                let (kind, count) = self.list()?;
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            STRUCTURE if depth < DEEPEST => {
                let mut last = 0;
                while let Some((kind, id)) = self.field(last)? {
                    last = id;
                    self.skip(kind, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    pub fn advance(&mut self, count: usize) -> Option<()> {
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
    pub fn integer(&mut self) -> Option<i64> {
        let value = self.unsigned()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}
