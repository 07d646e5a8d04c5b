//! CSV and TSV text, as RFC 4180 has it: quotes, line ends of any kind, an optional byte-order
//! mark.
//!
//! Text is read in windows of some megabytes, each cut between rows into segments, which all
//! threads split and turn into cells. A segment without quotes is split at delimiters and line
//! feeds ([`plain`]); any other by `csv-core` ([`decoder`]), which also takes over where a row is
//! longer than a window. Both give the same cells, wherever the text is cut.
//!
//! The text is checked to be UTF-8 before it is split, memory is bounded however long the rows are,
//! and a broken row is reported by the line it starts on.

mod quotes;
mod text;
mod texts;
mod decoder;
mod rows;
mod plain;
mod window;

use self::{
    decoder::first_row,
    rows::Rows,
    text::{Lines, Text},
};
use super::{
    DataError, Schema,
    bytes::Bytes,
    cells,
    dialect::{Delimiter, Dialect},
    format::{BlockSink, DataFile, Format, Pieces},
    projection::Projection,
};

/// What is known about the text once its header has been read.
#[derive(Clone, Copy)]
struct Layout {
    delimiter: u8,
    /// How many columns the header has.
    width: usize,
    /// Whether one and a half is written `1,5`.
    decimal_comma: bool,
}

/// Opens text whose delimiter is that of the dialect, or else `usual`.
pub(super) fn open(bytes: Bytes, dialect: Dialect, usual: Delimiter) -> Result<DataFile, DataError> {
    let delimiter = dialect.delimiter.unwrap_or(usual).byte();
    let schema = schema(&bytes, delimiter)?;
    let layout = Layout { delimiter, width: schema.fields().len(), decimal_comma: dialect.decimal_comma };
    DataFile::new(bytes, schema, layout)
}

impl Format for Layout {
    fn has_rows(&self, bytes: &Bytes) -> Result<bool, DataError> {
        Ok(Rows::open(bytes, *self, &[0], 1, 0)?.next_batch()?.is_some())
    }

    fn for_each_block(
        &self,
        bytes: &Bytes,
        projection: &Projection<'_>,
        pieces: Pieces,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), DataError> {
        let split = window::Split { bytes, layout: *self, projection, pieces };
        let Some(left) = split.in_windows(sink)? else { return Ok(()) };
        let mut rows = Rows::open(bytes, *self, projection.indices(), pieces.rows, left)?;
        while let Some(texts) = rows.next_batch()? {
            sink(projection.texts(&texts, *self)?, rows.offset())?;
        }
        Ok(())
    }
}

/// Reads the header. The rows decide nothing: the formula says what a cell is.
fn schema(bytes: &Bytes, delimiter: u8) -> Result<Schema, DataError> {
    let names = header(bytes, delimiter)?;
    if let [line] = &names[..]
        && let Some(shown) = Delimiter::shown_by(line)
    {
        return Err(DataError::OtherDelimiter { file: bytes.name.clone(), shown: shown.word() });
    }
    if names.iter().any(|name| is_data(name)) {
        return Err(DataError::NoHeader { file: bytes.name.clone() });
    }
    if names.len() == 1 {
        refuse_blank_lines(bytes, delimiter)?;
    }
    Ok(Schema::of_text(names))
}

/// Whether a column's name looks like a cell: a number, a marker of a missing value, a date or a
/// time; or several lines, which are rows inside quotes. An empty name does not: programs leave the
/// name of row numbers empty.
fn is_data(name: &str) -> bool {
    if name.contains(['\n', '\r']) {
        return true;
    }
    let is_number = !cells::parse(name).is_nan();
    let is_date = name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '/' | ':' | '.' | ',' | ' ' | 'T' | 'Z' | '+'));
    is_number || is_date || (!name.is_empty() && cells::is_missing(name))
}

fn header(bytes: &Bytes, delimiter: u8) -> Result<Vec<String>, DataError> {
    let names = first_row(&mut Text::open(bytes, 0, delimiter)?, delimiter).map_err(|fault| fault.explain(bytes))?;
    if names.is_empty() {
        return Err(DataError::EmptyFile { file: bytes.name.clone() });
    }
    Ok(names.iter().map(|name| name.trim().to_owned()).collect())
}

/// In a file with one column a blank line could be a missing cell, but readers of CSV skip it, and
/// the row would be lost from the count. It is therefore refused, except at the end.
fn refuse_blank_lines(bytes: &Bytes, delimiter: u8) -> Result<(), DataError> {
    let mut text = Text::open(bytes, 0, delimiter)?;
    let (mut lines, mut blank, mut length) = (Lines::default(), None, 0);
    loop {
        let chunk = text.fill().map_err(|fault| fault.explain(bytes))?;
        if chunk.is_empty() {
            return Ok(());
        }
        for &byte in chunk {
            let line = lines.line;
            lines.pass(&[byte]);
            match byte {
                b'\n' | b'\r' if lines.line == line => {}
                b'\n' | b'\r' => {
                    blank = if length == 0 && line > 1 { blank.or(Some(line)) } else { blank };
                    length = 0;
                }
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

#[cfg(all(test, feature = "parquet"))]
mod tests;
