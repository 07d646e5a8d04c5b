//! Text from a file, checked for UTF-8 and well-formed quotes, and the positions of its lines.

use std::io::{self, Read};

use super::quotes::Quotes;
use crate::table::{DataError, bytes::Bytes};

/// The longest row accepted; beyond it a quote must have been left open.
pub(super) const LONGEST_ROW: u64 = 64 << 20;
/// The bytes read from the file at a time.
const CHUNK: usize = 1 << 20;

/// Moves on to `offset` and counts the lines passed.
pub(super) fn skip_to(text: &mut Text, offset: u64) -> Result<Lines, Fault> {
    let mut lines = Lines::default();
    while text.offset < offset {
        let left = usize::try_from(offset - text.offset).unwrap_or(usize::MAX);
        let chunk = text.fill()?;
        let used = chunk.len().min(left);
        if used == 0 {
            break;
        }
        lines.pass(&chunk[..used]);
        text.consume(used);
    }
    Ok(lines)
}

/// The text up to and including the first line feed or carriage return, or all of it.
pub(super) fn first_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')).map_or(text.len(), |end| end + 1);
    &text[..end]
}

/// Counts lines that end in a line feed, a carriage return, or both.
pub(super) struct Lines {
    /// The line of the next byte, counted from 1.
    pub line: u64,
    after_return: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { line: 1, after_return: false }
    }
}

impl Lines {
    pub fn pass(&mut self, text: &[u8]) {
        for &byte in text {
            let ends_line = byte == b'\r' || (byte == b'\n' && !self.after_return);
            self.line += u64::from(ends_line);
            self.after_return = byte == b'\r';
        }
    }
}

/// What can be wrong with the text.
pub(super) enum Fault {
    Io(io::Error),
    NotUtf8 {
        offset: u64,
    },
    /// Text follows the quote at this byte, which closes a cell.
    TextAfterQuote {
        offset: u64,
    },
    /// The quote at this byte is never closed.
    OpenQuote {
        offset: u64,
    },
}

impl Fault {
    pub fn explain(self, bytes: &Bytes) -> DataError {
        match self {
            Self::Io(error) => bytes.unreadable(&error),
            Self::NotUtf8 { offset } => at_line(bytes, offset, |file, line| DataError::NotUtf8 { file, line }),
            Self::TextAfterQuote { offset } => {
                at_line(bytes, offset, |file, line| DataError::TextAfterQuote { file, line })
            }
            Self::OpenQuote { offset } => at_line(bytes, offset, |file, line| DataError::OpenQuote { file, line }),
        }
    }
}

/// The error for the line that contains the byte at `offset`.
fn at_line(bytes: &Bytes, offset: u64, refusal: impl Fn(String, u64) -> DataError) -> DataError {
    line_at(bytes, offset).map_or_else(|error| error, |line| refusal(bytes.name.clone(), line))
}

/// The line that contains the byte at `offset`.
fn line_at(bytes: &Bytes, offset: u64) -> Result<u64, DataError> {
    let mut before = bytes.reader(0)?.take(offset);
    let mut chunk = vec![0; CHUNK.min(usize::try_from(offset).unwrap_or(CHUNK) + 1)];
    let mut lines = Lines::default();
    loop {
        match before.read(&mut chunk).map_err(|error| bytes.unreadable(&error))? {
            0 => return Ok(lines.line),
            count => lines.pass(&chunk[..count]),
        }
    }
}

/// Reads text in large chunks, each of them valid UTF-8 that ends between two characters, with
/// quotes around whole cells.
///
/// The checks come before the split into cells: the two halves of a character cut by a comma would
/// look whole again once the cells have been concatenated, and a quote that opens in one row would
/// swallow others.
pub(super) struct Text {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The part of the buffer before this was handed out.
    start: usize,
    /// The buffer is known to be valid up to here.
    valid: usize,
    /// The buffer holds bytes up to here.
    end: usize,
    /// How many bytes of the file lie before `start`.
    pub offset: u64,
    quotes: Quotes,
    /// The fault after the current text.
    next_fault: Option<Fault>,
}

impl Text {
    /// The text from byte `offset` of the file, where a row starts.
    pub fn open(bytes: &Bytes, offset: u64, delimiter: u8) -> Result<Self, DataError> {
        let (source, quotes) = (bytes.reader(offset)?, Quotes::new(delimiter));
        // A small file takes little memory, with room for more than the longest character: a full
        // buffer would look like the end.
        let left = usize::try_from(bytes.length.saturating_sub(offset)).unwrap_or(CHUNK);
        let buffer = vec![0; left.saturating_add(8).min(CHUNK)];
        Ok(Self { source, buffer, start: 0, valid: 0, end: 0, offset, quotes, next_fault: None })
    }

    /// The current text; empty only at the end.
    pub fn fill(&mut self) -> Result<&[u8], Fault> {
        if self.start == self.valid {
            self.refill()?;
        }
        Ok(&self.buffer[self.start..self.valid])
    }

    pub fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Moves an incomplete character to the front and reads on behind it. Text before a fault is
    /// handed out first.
    fn refill(&mut self) -> Result<(), Fault> {
        if let Some(fault) = self.next_fault.take() {
            return Err(fault);
        }
        self.buffer.copy_within(self.valid..self.end, 0);
        (self.start, self.valid, self.end) = (0, 0, self.end - self.valid);
        while self.valid == 0 {
            let count = self.read_some()?;
            if count == 0 && self.end == 0 {
                let open = self.quotes.opened().map(|offset| Fault::OpenQuote { offset });
                return open.map_or(Ok(()), Err);
            }
            self.end += count;
            self.check(count == 0);
            match self.next_fault.take() {
                Some(fault) if self.valid == 0 => return Err(fault),
                fault => self.next_fault = fault,
            }
        }
        Ok(())
    }

    /// Finds how much of what was read is sound, and the fault after it.
    fn check(&mut self, at_end: bool) {
        let (text, fault) = match std::str::from_utf8(&self.buffer[..self.end]) {
            Ok(text) => (text.len(), None),
            Err(error) if error.error_len().is_none() && !at_end => (error.valid_up_to(), None),
            Err(error) => {
                let offset = self.offset + error.valid_up_to() as u64;
                (error.valid_up_to(), Some(Fault::NotUtf8 { offset }))
            }
        };
        (self.valid, self.next_fault) = match self.quotes.pass(&self.buffer[..text], self.offset) {
            None => (text, fault),
            Some(place) => (place, Some(Fault::TextAfterQuote { offset: self.offset + place as u64 })),
        };
    }

    fn read_some(&mut self) -> Result<usize, Fault> {
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map_err(Fault::Io),
            }
        }
    }
}
