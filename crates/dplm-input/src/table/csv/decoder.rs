//! Any text, split into cells by `csv-core`, piece by piece.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::{
    Layout,
    text::{Fault, LONGEST_ROW, Text},
    texts::Texts,
};

/// The most cells of a batch, wanted or not.
const LARGEST_BATCH_CELLS: usize = 4 << 20;
/// The least growth of the room for cells, in bytes.
const LEAST_ROOM: usize = 1 << 10;
/// The typical length of a cell.
const LIKELY_CELL: usize = 8;
/// Why cells are UTF-8.
const CHECKED: &str = "text was checked before it was split at delimiters and quotes";

/// Some row does not have the cells of the header.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Splits text that comes in pieces, cut anywhere, into batches of rows. An empty piece marks the
/// end.
pub(super) struct Decoder {
    reader: Reader,
    layout: Layout,
    indices: Vec<usize>,
    batch_rows: usize,
    /// Whether the next row is a header, which is skipped.
    at_header: bool,
    /// The cells of the batch, concatenated, without delimiters and quotes; used up to `filled`.
    cells: Vec<u8>,
    filled: usize,
    /// The start of the current row among them, the ends of its cells relative to that, and the
    /// number of its cells so far.
    row_start: usize,
    ends: Vec<usize>,
    row_cells: usize,
    rows: usize,
    columns: Vec<Vec<(u32, u32)>>,
}

impl Decoder {
    /// At the start of a file, where a byte-order mark is not text; or at a later row.
    pub fn new(layout: Layout, indices: &[usize], batch_rows: usize, at_start: bool) -> Self {
        let mut reader = ReaderBuilder::new().delimiter(layout.delimiter).build();
        if !at_start {
            // After a blank line, a mark is text.
            reader.read_record(b"\n", &mut [0], &mut [0]);
        }
        Self {
            reader,
            layout,
            indices: indices.to_vec(),
            batch_rows: batch_rows.min(LARGEST_BATCH_CELLS / layout.width).max(1),
            at_header: false,
            cells: Vec::new(),
            filled: 0,
            row_start: 0,
            // One more than a row should have, so that a longer row is noticed.
            ends: vec![0; layout.width + 1],
            row_cells: 0,
            rows: 0,
            columns: vec![Vec::new(); indices.len()],
        }
    }

    /// Skips the first row.
    #[must_use]
    pub fn without_header(self) -> Self {
        Self { at_header: true, ..self }
    }

    /// How many rows the batch has room for.
    pub fn room(&self) -> usize {
        self.batch_rows - self.rows
    }

    /// Splits text until it is used up or the batch is full; gives how many bytes were used.
    pub fn decode(&mut self, text: &[u8]) -> Result<usize, Broken> {
        let mut used = 0;
        while self.room() > 0 {
            self.make_room(text.len() - used);
            let (result, read, written, ended) = self.reader.read_record(
                &text[used..],
                &mut self.cells[self.filled..],
                &mut self.ends[self.row_cells..],
            );
            used += read;
            self.filled += written;
            self.row_cells += ended;
            match result {
                ReadRecordResult::InputEmpty | ReadRecordResult::End => return Ok(used),
                ReadRecordResult::OutputFull => {}
                ReadRecordResult::OutputEndsFull => return Err(Broken),
                ReadRecordResult::Record => {
                    self.finish_row()?;
                    // An empty piece would mean the end of the text.
                    if used == text.len() {
                        return Ok(used);
                    }
                }
            }
        }
        Ok(used)
    }

    /// The rows of the batch, if any; starts the next batch.
    pub fn flush(&mut self) -> Option<Texts<'static>> {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return None;
        }
        let mut cells = std::mem::take(&mut self.cells);
        cells.truncate(self.filled);
        (self.filled, self.row_start) = (0, 0);
        let columns = std::mem::replace(&mut self.columns, vec![Vec::new(); self.indices.len()]);
        let text = String::from_utf8(cells).expect(CHECKED);
        Some(Texts::new(text, rows, columns))
    }

    /// Makes room for the cells of a piece of text, or for a good part of them.
    fn make_room(&mut self, text: usize) {
        if self.cells.len() - self.filled < LEAST_ROOM {
            let likely = self.room().saturating_mul(self.layout.width * LIKELY_CELL);
            self.cells.resize(self.filled + text.min(likely).max(LEAST_ROOM), 0);
        }
    }

    fn finish_row(&mut self) -> Result<(), Broken> {
        if std::mem::take(&mut self.row_cells) != self.layout.width {
            return Err(Broken);
        }
        if std::mem::take(&mut self.at_header) {
            self.filled = self.row_start;
            return Ok(());
        }
        let place = |offset: usize| u32::try_from(self.row_start + offset).map_err(|_| Broken);
        for (column, &index) in self.columns.iter_mut().zip(&self.indices) {
            let start = if index == 0 { 0 } else { self.ends[index - 1] };
            column.push((place(start)?, place(self.ends[index])?));
        }
        self.row_start = self.filled;
        self.rows += 1;
        Ok(())
    }
}

/// The cells of the first row of a text; empty if it has no row. A row of more than [`LONGEST_ROW`]
/// bytes is cut there.
pub(super) fn first_row(text: &mut Text, delimiter: u8) -> Result<Vec<String>, Fault> {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let (mut cells, mut filled) = (vec![0; LEAST_ROOM], 0);
    let (mut ends, mut count) = (vec![0; LEAST_ROOM], 0);
    loop {
        let piece = if text.offset < LONGEST_ROW { text.fill()? } else { &[] };
        let (result, read, written, ended) = reader.read_record(piece, &mut cells[filled..], &mut ends[count..]);
        text.consume(read);
        (filled, count) = (filled + written, count + ended);
        match result {
            ReadRecordResult::InputEmpty => {}
            ReadRecordResult::OutputFull => cells.resize(2 * cells.len(), 0),
            ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len(), 0),
            ReadRecordResult::Record | ReadRecordResult::End => break,
        }
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let cell = |(start, &end): (usize, &usize)| String::from_utf8(cells[start..end].to_vec()).expect(CHECKED);
    Ok(starts.zip(&ends[..count]).map(cell).collect())
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    type Rows = Vec<Vec<Option<String>>>;

    /// All rows of a text that comes in pieces of `length` bytes, a batch of at most `batch_rows`
    /// at a time.
    fn decoded(text: &str, width: usize, length: usize, batch_rows: usize) -> Result<Rows, Broken> {
        let indices: Vec<usize> = (0..width).collect();
        let mut decoder =
            Decoder::new(Layout { delimiter: b',', width, decimal_comma: false }, &indices, batch_rows, true);
        let (mut rest, mut rows) = (text.as_bytes(), Rows::new());
        loop {
            let used = decoder.decode(&rest[..length.min(rest.len())])?;
            rest = &rest[used..];
            if used == 0 || decoder.room() == 0 {
                let texts = decoder.flush();
                let cell = |row: usize, column: usize| texts.as_ref()?.column(column).nth(row)?.map(str::to_owned);
                let count = texts.as_ref().map_or(0, |texts| texts.column(0).count());
                rows.extend((0..count).map(|row| indices.iter().map(|&column| cell(row, column)).collect()));
            }
            if used == 0 {
                return Ok(rows);
            }
        }
    }

    proptest! {
        #[test]
        fn a_text_is_split_alike_in_pieces_and_batches_of_any_size(
            parts in vec(select(&["\"a,\n\"\"b\"", "\"", ",", ",", "\n", "\r", "\r\n", "a", "é", "\u{feff}"][..]), 0..12),
            (width, length, batch_rows) in (1..4usize, 4..9usize, 1..4usize),
        ) {
            let text = parts.concat();
            let whole = decoded(&text, width, usize::MAX, 1000);
            prop_assert_eq!(&decoded(&text, width, length, 1000), &whole);
            prop_assert_eq!(&decoded(&text, width, length, batch_rows), &whole);
        }
    }
}
