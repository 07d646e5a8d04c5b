//! CSV and TSV text, as RFC 4180 has it: quotes, line ends of any kind, a byte-order mark if need be.
//!
//! Text is read in windows of some megabytes, each cut between rows into segments that are split and turned into cells on all threads. A
//! segment without quotes is split by looking for delimiters and line feeds ([`plain`]); any other by `arrow-csv` ([`rows`]), which
//! also takes over where a row is longer than a window. What both make of a text is the same, wherever it is cut.
//!
//! The text is checked to be UTF-8 before it is split, memory is bounded however long the rows are, and a broken row is reported by the line
//! it starts on.

mod text;
mod rows;
mod plain;
mod window;

use std::io::Read;

use arrow_array::{Array, cast::AsArray};
use arrow_csv::reader::Format;

pub(super) use self::plain::Texts;
use self::{
    rows::Rows,
    text::{LONGEST_ROW, Text},
};
use super::{
    DataError, Field, Schema, Type,
    bytes::Bytes,
    cells,
    source::{BlockSink, Convert, Decoded, Pieces},
};

/// How many rows are looked at to tell numbers from text.
const SAMPLE_ROWS: usize = 1000;

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
    let sample = Rows::open(bytes, layout, &all, SAMPLE_ROWS, 0)?.next_batch()?;
    let kind = |index: usize| sample.as_ref().map_or(Type::Unknown, |rows| vote(rows.column(index)));
    Ok(Schema::new(names.into_iter().enumerate().map(|(index, name)| Field::guessed(name, kind(index))).collect()))
}

pub(super) fn has_rows(bytes: &Bytes, layout: Layout) -> Result<bool, DataError> {
    Ok(Rows::open(bytes, layout, &[0], 1, 0)?.next_batch()?.is_some())
}

/// Decodes the columns `indices`, so much at a time.
pub(super) fn for_each_block(
    bytes: &Bytes,
    layout: Layout,
    indices: &[usize],
    pieces: Pieces,
    convert: &Convert<'_>,
    sink: &mut BlockSink<'_>,
) -> Result<(), DataError> {
    let split = window::Split { bytes, layout, indices, pieces, convert };
    let Some(left) = split.in_windows(sink)? else { return Ok(()) };
    let mut rows = Rows::open(bytes, layout, indices, pieces.rows, left)?;
    while let Some(batch) = rows.next_batch()? {
        sink(convert(Decoded::from(batch))?, rows.offset())?;
    }
    Ok(())
}

fn header(bytes: &Bytes, delimiter: u8) -> Result<Vec<String>, DataError> {
    let mut text = Text::open(bytes, 0)?;
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
    let mut text = Text::open(bytes, 0)?;
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
