//! CSV and TSV text, as RFC 4180 has it: quotes, line ends of any kind, a byte-order mark if need be.
//!
//! The splitting into rows and cells is done by `arrow-csv`, which reads the wanted columns as text; cells are turned
//! into numbers and levels by [`cells`](super::cells). What is added here: the text is checked to be UTF-8 before it is
//! split, memory is bounded however long the rows are, and a broken row is reported by the line it starts on.

use std::{
    io::{self, Read},
    sync::Arc,
};

use arrow_array::{Array, RecordBatch, cast::AsArray};
use arrow_csv::{
    ReaderBuilder,
    reader::{Decoder, Format},
};
use arrow_schema::DataType;

use super::{DataError, Field, Schema, Type, bytes::Bytes, cells, source::BatchSink};

/// How many rows are looked at to tell numbers from text.
const SAMPLE_ROWS: usize = 1000;
/// The longest row that is believed; beyond it a quote must have been left open.
const LONGEST_ROW: u64 = 64 << 20;
/// How much text a block may take up before it is cut short.
const LARGEST_BLOCK: u64 = 64 << 20;
/// How many cells, wanted or not, a block may have; the splitter sets 16 bytes aside for each beforehand.
const LARGEST_BLOCK_CELLS: usize = 4 << 20;
/// How much is read from the file at a time.
const CHUNK: usize = 1 << 20;

/// What is known about the text once its header has been read.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub delimiter: u8,
    /// How many columns the header has.
    pub width: usize,
}

/// Reads the header, and tells numbers from text by a majority of the first rows.
///
/// A majority, so that one odd cell does not decide what a column is.
pub(super) fn schema(bytes: &Bytes, delimiter: u8) -> Result<Schema, DataError> {
    let names = header(bytes, delimiter)?;
    let layout = Layout { delimiter, width: names.len() };
    if layout.width == 1 {
        refuse_blank_lines(bytes)?;
    }
    let all: Vec<usize> = (0..names.len()).collect();
    let sample = Rows::open(bytes, layout, &all, SAMPLE_ROWS)?.next_batch()?;
    let kind = |index: usize| sample.as_ref().map_or(Type::Unknown, |rows| vote(rows.column(index)));
    Ok(Schema::new(names.into_iter().enumerate().map(|(index, name)| Field::guessed(name, kind(index))).collect()))
}

pub(super) fn has_rows(bytes: &Bytes, layout: Layout) -> Result<bool, DataError> {
    Ok(Rows::open(bytes, layout, &[0], 1)?.next_batch()?.is_some())
}

/// Decodes the columns `indices` as text, at most `block_rows` rows at a time.
pub(super) fn for_each_batch(
    bytes: &Bytes,
    layout: Layout,
    indices: &[usize],
    block_rows: usize,
    sink: &mut BatchSink<'_>,
) -> Result<(), DataError> {
    let mut rows = Rows::open(bytes, layout, indices, block_rows)?;
    while let Some(batch) = rows.next_batch()? {
        sink(&batch, rows.text.offset)?;
    }
    Ok(())
}

fn header(bytes: &Bytes, delimiter: u8) -> Result<Vec<String>, DataError> {
    let mut text = Text::open(bytes)?;
    let format = Format::default().with_header(true).with_delimiter(delimiter);
    let header = format.infer_schema((&mut text).take(LONGEST_ROW), Some(0));
    if let Some(fault) = text.fault.take() {
        return Err(fault.explain(bytes));
    }
    // Nothing but the bytes can be at fault here, and those were checked.
    let (header, _) = header.map_err(|_| DataError::NotUtf8 { file: bytes.name.clone(), line: 1 })?;
    if header.fields().is_empty() {
        return Err(DataError::EmptyFile { file: bytes.name.clone() });
    }
    Ok(header.fields().iter().map(|field| field.name().trim().to_owned()).collect())
}

fn vote(column: &dyn Array) -> Type {
    let cells = column.as_string::<i32>().iter().flatten().filter(|cell| !cells::is_missing(cell));
    let (numbers, all) =
        cells.fold((0, 0), |(numbers, all), cell| (numbers + usize::from(!cells::parse(cell).is_nan()), all + 1));
    match all {
        0 => Type::Unknown,
        _ if 2 * numbers > all => Type::Number,
        _ => Type::Text,
    }
}

/// In a file with one column a blank line could be a missing cell, but readers of CSV pass over it, and the row would
/// be lost from the count. So it is refused, except at the end.
fn refuse_blank_lines(bytes: &Bytes) -> Result<(), DataError> {
    let mut text = Text::open(bytes)?;
    let (mut line, mut blank, mut length) = (1, None, 0);
    loop {
        let chunk = text.fill().map_err(|fault| fault.explain(bytes))?;
        if chunk.is_empty() {
            return Ok(());
        }
        for &byte in chunk {
            match byte {
                b'\n' => {
                    blank = if length == 0 && line > 1 { blank.or(Some(line)) } else { blank };
                    (line, length) = (line + 1, 0);
                }
                b'\r' => {}
                _ if blank.is_some() => {
                    return Err(DataError::BlankLine { file: bytes.name.clone(), line: blank.unwrap_or(line) });
                }
                _ => length += 1,
            }
        }
        let used = chunk.len();
        text.consume(used);
    }
}

/// The rows of a text, a batch at a time.
struct Rows<'a> {
    bytes: &'a Bytes,
    layout: Layout,
    text: Text,
    decoder: Decoder,
    /// Where the batch at hand starts, for finding a broken row again.
    batch_start: u64,
}

impl<'a> Rows<'a> {
    fn open(bytes: &'a Bytes, layout: Layout, indices: &[usize], batch_rows: usize) -> Result<Self, DataError> {
        let decoder = decoder(layout, indices, batch_rows, true);
        Ok(Self { bytes, layout, text: Text::open(bytes)?, decoder, batch_start: 0 })
    }

    /// The next rows, or `None` at the end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, DataError> {
        self.batch_start = self.text.offset;
        let mut since_row = 0;
        loop {
            let full = self.text.offset - self.batch_start >= LARGEST_BLOCK;
            let chunk = self.text.fill().map_err(|fault| fault.explain(self.bytes))?;
            let piece = if full { first_line(chunk) } else { chunk };
            let before = self.decoder.capacity();
            let Ok(used) = self.decoder.decode(piece) else { return Err(self.broken_row()) };
            let row_ended = self.decoder.capacity() < before;
            self.text.consume(used);
            since_row = if row_ended { 0 } else { since_row + used as u64 };
            if since_row > LONGEST_ROW {
                return Err(self.broken_row());
            }
            // A line holds at most one end of a row, its own, so a batch that is cut here ends with a whole row.
            if used == 0 || self.decoder.capacity() == 0 || (full && row_ended) {
                return self.decoder.flush().map_err(|_| self.broken_row());
            }
        }
    }

    /// The refusal of the first bad row of the batch at hand, found by reading it again line by line.
    fn broken_row(&self) -> DataError {
        match find_broken_row(self.bytes, self.layout, self.batch_start) {
            Ok((line, true)) => DataError::LongRow { file: self.bytes.name.clone(), line },
            Ok((line, false)) => DataError::Ragged { file: self.bytes.name.clone(), line, expected: self.layout.width },
            Err(error) => error,
        }
    }
}

fn decoder(layout: Layout, indices: &[usize], batch_rows: usize, header: bool) -> Decoder {
    let field = |index: usize| arrow_schema::Field::new(index.to_string(), DataType::Utf8, true);
    let schema = arrow_schema::Schema::new((0..layout.width).map(field).collect::<Vec<_>>());
    ReaderBuilder::new(Arc::new(schema))
        .with_header(header)
        .with_delimiter(layout.delimiter)
        .with_projection(indices.to_vec())
        .with_batch_size(batch_rows.min(LARGEST_BLOCK_CELLS / layout.width).max(1))
        .build_decoder()
}

/// The line on which the first bad row at or after `start` begins, and whether it is bad for being too long.
fn find_broken_row(bytes: &Bytes, layout: Layout, start: u64) -> Result<(u64, bool), DataError> {
    let mut text = Text::open(bytes)?;
    let mut lines = skip_to(&mut text, start).map_err(|fault| fault.explain(bytes))?;
    let mut decoder = decoder(layout, &[0], SAMPLE_ROWS, false);
    let (mut row_line, mut row_length) = (lines.line, 0);
    loop {
        let piece = first_line(text.fill().map_err(|fault| fault.explain(bytes))?);
        let before = decoder.capacity();
        let Ok(used) = decoder.decode(piece) else { return Ok((row_line, false)) };
        let is_blank = row_length == 0 && matches!(piece, [b'\n' | b'\r']);
        lines.pass(&piece[..used]);
        text.consume(used);
        row_length += used as u64;
        if is_blank || decoder.capacity() < before {
            (row_line, row_length) = (lines.line, 0);
        }
        if row_length > LONGEST_ROW || used == 0 {
            return Ok((row_line, used > 0));
        }
        if decoder.capacity() == 0 {
            // The row ended with this line, so nothing is lost; what the rows hold is of no interest here.
            let _ = decoder.flush();
        }
    }
}

/// Moves on to `offset` and counts the lines passed.
fn skip_to(text: &mut Text, offset: u64) -> Result<Lines, Fault> {
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

/// The text up to and with the first line feed or carriage return, or all of it.
fn first_line(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')).map_or(text.len(), |end| end + 1);
    &text[..end]
}

/// Counts lines that end in a line feed, a carriage return, or both.
struct Lines {
    /// The line of the next byte, counted from 1.
    line: u64,
    after_return: bool,
}

impl Default for Lines {
    fn default() -> Self {
        Self { line: 1, after_return: false }
    }
}

impl Lines {
    fn pass(&mut self, text: &[u8]) {
        for &byte in text {
            let ends_line = byte == b'\r' || (byte == b'\n' && !self.after_return);
            self.line += u64::from(ends_line);
            self.after_return = byte == b'\r';
        }
    }
}

/// What can be wrong with the bytes themselves.
enum Fault {
    Io(io::Error),
    NotUtf8 { offset: u64 },
}

impl Fault {
    fn explain(self, bytes: &Bytes) -> DataError {
        match self {
            Self::Io(error) => bytes.unreadable(&error),
            Self::NotUtf8 { offset } => match line_at(bytes, offset) {
                Ok(line) => DataError::NotUtf8 { file: bytes.name.clone(), line },
                Err(error) => error,
            },
        }
    }
}

/// The line on which the byte at `offset` stands.
fn line_at(bytes: &Bytes, offset: u64) -> Result<u64, DataError> {
    let mut before = bytes.reader()?.take(offset);
    let mut chunk = vec![0; CHUNK];
    let mut lines = Lines::default();
    loop {
        match before.read(&mut chunk).map_err(|error| bytes.unreadable(&error))? {
            0 => return Ok(lines.line),
            count => lines.pass(&chunk[..count]),
        }
    }
}

/// Reads text in large chunks, each of them valid UTF-8 that ends between two characters.
///
/// The check comes before the split into cells, because the two halves of a character cut by a comma would look
/// whole again once the cells have been put side by side.
struct Text {
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    /// What of the buffer has been handed out.
    start: usize,
    /// Up to where the buffer is known to be valid.
    valid: usize,
    /// Up to where the buffer holds bytes.
    end: usize,
    /// How many bytes of the file lie before `start`.
    offset: u64,
    /// What stopped the reading through [`Read`], which can say it in its own words only.
    fault: Option<Fault>,
}

impl Text {
    fn open(bytes: &Bytes) -> Result<Self, DataError> {
        let source = bytes.reader()?;
        Ok(Self { source, buffer: vec![0; CHUNK], start: 0, valid: 0, end: 0, offset: 0, fault: None })
    }

    /// The text at hand; empty at the end only.
    fn fill(&mut self) -> Result<&[u8], Fault> {
        if self.start == self.valid {
            self.refill()?;
        }
        Ok(&self.buffer[self.start..self.valid])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
    }

    /// Moves the part of a character that is left to the front and reads on behind it.
    fn refill(&mut self) -> Result<(), Fault> {
        self.buffer.copy_within(self.valid..self.end, 0);
        (self.start, self.valid, self.end) = (0, 0, self.end - self.valid);
        while self.valid == 0 {
            let count = self.read_some()?;
            if count == 0 && self.end == 0 {
                return Ok(());
            }
            self.end += count;
            self.valid = match std::str::from_utf8(&self.buffer[..self.end]) {
                Ok(text) => text.len(),
                Err(error) if error.error_len().is_none() && count > 0 => error.valid_up_to(),
                Err(error) => return Err(Fault::NotUtf8 { offset: self.offset + error.valid_up_to() as u64 }),
            };
        }
        Ok(())
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

impl Read for Text {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.fill() {
            Ok(chunk) => {
                let count = chunk.len().min(buffer.len());
                buffer[..count].copy_from_slice(&chunk[..count]);
                self.consume(count);
                Ok(count)
            }
            Err(fault) => {
                self.fault = Some(fault);
                Err(io::ErrorKind::InvalidData.into())
            }
        }
    }
}
