//! The rows of any text, whatever its quotes, and the position of a broken row.

use super::{
    Layout,
    decoder::{Broken, Decoder},
    text::{LONGEST_ROW, Text, first_line, skip_to},
    texts::Texts,
};
use crate::table::{DataError, bytes::Bytes};

/// The text that a block may take up before it is cut short.
const LARGEST_BLOCK: u64 = 64 << 20;

/// Rows split at a time during the search for a broken row.
const SEARCH_ROWS: usize = 1000;

/// The rows of a text, a batch at a time.
pub(super) struct Rows<'a> {
    bytes: &'a Bytes,
    layout: Layout,
    text: Text,
    decoder: Decoder,
    /// The start of the current batch, for finding a broken row again.
    batch_start: u64,
}

impl<'a> Rows<'a> {
    /// Starts at a byte of the file where a row starts: at 0, with the header, which is skipped.
    pub fn open(
        bytes: &'a Bytes,
        layout: Layout,
        indices: &[usize],
        batch_rows: usize,
        start: u64,
    ) -> Result<Self, DataError> {
        let decoder = decoder(layout, indices, batch_rows, start == 0);
        Ok(Self { bytes, layout, text: Text::open(bytes, start, layout.delimiter)?, decoder, batch_start: start })
    }

    /// The position reached in the file.
    pub fn offset(&self) -> u64 {
        self.text.offset
    }

    /// The next rows, or `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<Texts<'static>>, DataError> {
        self.batch_start = self.text.offset;
        let mut since_row = 0;
        loop {
            let full = self.text.offset - self.batch_start >= LARGEST_BLOCK;
            let chunk = self.text.fill().map_err(|fault| fault.explain(self.bytes))?;
            let piece = if full { first_line(chunk) } else { chunk };
            let before = self.decoder.room();
            let Ok(used) = self.decoder.decode(piece) else { return Err(self.broken_row()) };
            let row_ended = self.decoder.room() < before;
            self.text.consume(used);
            since_row = if row_ended { 0 } else { since_row + used as u64 };
            if since_row > LONGEST_ROW {
                return Err(self.broken_row());
            }
            // A line ends at most one row, so a batch cut here ends with a whole row.
            if used == 0 || self.decoder.room() == 0 || (full && row_ended) {
                return Ok(self.decoder.flush());
            }
        }
    }

    /// The error for the first bad row of the current batch, found by reading it again line by
    /// line.
    fn broken_row(&self) -> DataError {
        broken_row(self.bytes, self.layout, self.batch_start)
    }
}

/// The error for the first bad row at or after `start`.
pub(super) fn broken_row(bytes: &Bytes, layout: Layout, start: u64) -> DataError {
    match find_broken_row(bytes, layout, start) {
        Ok((line, true)) => DataError::LongRow { file: bytes.name.clone(), line },
        Ok((line, false)) => DataError::Ragged { file: bytes.name.clone(), line, expected: layout.width },
        Err(error) => error,
    }
}

/// The rows of a piece of text that ends with a row. In the first piece, the first row is the
/// header.
pub(super) fn batches(
    text: &[u8],
    layout: Layout,
    indices: &[usize],
    batch_rows: usize,
    is_first: bool,
) -> Result<Vec<Texts<'static>>, Broken> {
    let mut decoder = decoder(layout, indices, batch_rows, is_first);
    let (mut batches, mut done) = (Vec::new(), 0);
    loop {
        let used = decoder.decode(&text[done..])?;
        done += used;
        if used == 0 || decoder.room() == 0 {
            batches.extend(decoder.flush());
        }
        if used == 0 {
            return Ok(batches);
        }
    }
}

/// A decoder of the rows of a file: from its start, where the header is skipped, or from a later
/// row.
fn decoder(layout: Layout, indices: &[usize], batch_rows: usize, at_start: bool) -> Decoder {
    let decoder = Decoder::new(layout, indices, batch_rows, at_start);
    if at_start { decoder.without_header() } else { decoder }
}

/// The line on which the first bad row at or after `start` begins, and whether it is bad for being
/// too long.
fn find_broken_row(bytes: &Bytes, layout: Layout, start: u64) -> Result<(u64, bool), DataError> {
    let mut text = Text::open(bytes, 0, layout.delimiter)?;
    let mut lines = skip_to(&mut text, start).map_err(|fault| fault.explain(bytes))?;
    // Here the header is a row like any other.
    let mut decoder = Decoder::new(layout, &[0], SEARCH_ROWS, start == 0);
    let (mut row_line, mut row_length) = (lines.line, 0);
    loop {
        let piece = first_line(text.fill().map_err(|fault| fault.explain(bytes))?);
        let before = decoder.room();
        let Ok(used) = decoder.decode(piece) else { return Ok((row_line, false)) };
        let is_blank = row_length == 0 && matches!(piece, [b'\n' | b'\r']);
        lines.pass(&piece[..used]);
        text.consume(used);
        row_length += used as u64;
        if is_blank || decoder.room() < before {
            (row_line, row_length) = (lines.line, 0);
        }
        if row_length > LONGEST_ROW || used == 0 {
            return Ok((row_line, used > 0));
        }
        if decoder.room() == 0 {
            // The row ended with this line, so nothing is lost; the cells are not needed here.
            decoder.flush();
        }
    }
}
