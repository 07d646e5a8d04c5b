//! A table, wherever its rows are, read in blocks.

use std::{collections::HashMap, io::Read, path::Path};

#[cfg(feature = "arrow")]
use arrow_array::RecordBatch;
#[cfg(feature = "arrow")]
use arrow_schema::SchemaRef;

#[cfg(feature = "arrow")]
use super::arrow;
use super::{
    Block, Cells, DataError, Schema,
    cells::Extractor,
    dialect::Dialect,
    files::{open_input, open_stream},
    format::{DataFile, Pieces},
    projection::Projection,
};
#[cfg(feature = "csv")]
use super::{bytes::Bytes, files::open_text};
use crate::{
    Progress,
    schema::{Column, Kind},
};

/// How to read the rows.
#[derive(Clone, Copy)]
pub struct ReadOptions<'a> {
    /// Refuse the first missing, unparsable, non-finite or unlisted cell instead of marking it.
    pub strict: bool,
    /// The largest number of rows in a block, at least 1. A block may be smaller.
    pub block_rows: usize,
    /// Roughly how many bytes of text one thread splits into rows at a time. It does not affect the
    /// rows.
    pub segment_bytes: usize,
    /// The column that identifies persons. Its cells come last in each block, as person numbers
    /// from 0 without gaps.
    pub person: Option<&'a str>,
    /// Called after each block with the bytes read so far and in total.
    pub progress: Progress<'a>,
}

impl Default for ReadOptions<'_> {
    /// Bad cells are marked; 65,536 rows per block; 512 KiB per segment; no progress.
    fn default() -> Self {
        Self { strict: false, block_rows: 65_536, segment_bytes: 512 << 10, person: None, progress: Progress::NONE }
    }
}

/// A table in one or more files, read in blocks of rows any number of times.
pub struct Source {
    files: Vec<DataFile>,
    schema: Schema,
    dialect: Dialect,
    is_simulated: bool,
}

impl Source {
    /// Opens files, folders and glob patterns; `-` is CSV or Arrow on standard input.
    ///
    /// The format follows from the ending: `.csv`, `.tsv`, these with `.gz` or `.zst`, `.parquet`,
    /// or `.arrow`, `.feather`, `.ipc` (Arrow's file and stream formats). A folder or pattern gives
    /// its files of these kinds in order of name; other files, hidden files, names that start with
    /// `_`, and subfolders are skipped. All files must have the same columns, in any order.
    /// Standard input, or a pipe given by name, is copied to a private temporary file without a
    /// name, so that it can be read again.
    ///
    /// # Errors
    /// Names the file that cannot be used and why: missing, empty, damaged, without a header or
    /// rows, with two columns of one name, with columns other than those of the first file, or with
    /// the same bytes as another.
    ///
    /// # Examples
    /// ```no_run
    /// use dplm::table::Source;
    /// let source = Source::open(&["survey/*.parquet"])?;
    /// for name in source.schema().names() {
    ///     println!("{name}");
    /// }
    /// # Ok::<(), dplm::table::DataError>(())
    /// ```
    pub fn open(inputs: &[impl AsRef<Path>]) -> Result<Self, DataError> {
        Self::open_as(inputs, Dialect::default())
    }

    /// As [`Source::open`], for text in another format than its ending stands for.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_as(inputs: &[impl AsRef<Path>], dialect: Dialect) -> Result<Self, DataError> {
        let mut files = Vec::new();
        for input in inputs {
            open_input(input.as_ref(), dialect, &mut files)?;
        }
        Ok(Self { dialect, ..Self::from_files(files)? })
    }

    /// A source over CSV text, or Arrow's stream or file format, from any stream; messages call it
    /// `name`.
    ///
    /// The first bytes determine the format; they belong to a header or a schema, not to a row.
    ///
    /// # Errors
    /// As [`Source::open`], and when the stream cannot be copied to a temporary file.
    ///
    /// # Examples
    /// ```
    /// use dplm::table::Source;
    /// let source = Source::from_stream(&mut "y,x\n1,2\n".as_bytes(), "example")?;
    /// assert_eq!(source.schema().names().collect::<Vec<_>>(), ["y", "x"]);
    /// # Ok::<(), dplm::table::DataError>(())
    /// ```
    pub fn from_stream(stream: &mut dyn Read, name: &str) -> Result<Self, DataError> {
        Self::from_files(vec![open_stream(stream, name, Dialect::default())?])
    }

    /// A source over CSV text only, from any stream; messages call it `name`.
    ///
    /// # Errors
    /// As [`Source::from_stream`].
    #[cfg(feature = "csv")]
    pub fn from_csv_stream(stream: &mut dyn Read, name: &str) -> Result<Self, DataError> {
        Self::from_files(vec![open_text(Bytes::spooled(stream, name)?, Dialect::default())?])
    }

    /// A source over record batches in memory, which are shared and not copied; messages call it
    /// `name`.
    ///
    /// # Errors
    /// When there are no rows, two columns have one name, or the batches do not all have the
    /// columns of `schema`.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{Float64Array, RecordBatch};
    /// use arrow_schema::{DataType, Field, Schema};
    /// use dplm::table::Source;
    /// let schema = Arc::new(Schema::new(vec![Field::new("y", DataType::Float64, true)]));
    /// let batch = RecordBatch::try_new(schema.clone(), vec![Arc::new(Float64Array::from(vec![1.0, 2.0]))])?;
    /// let source = Source::from_batches(schema, vec![batch], "the table")?;
    /// assert_eq!(source.schema().names().collect::<Vec<_>>(), ["y"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "arrow")]
    pub fn from_batches(schema: SchemaRef, batches: Vec<RecordBatch>, name: &str) -> Result<Self, DataError> {
        Self::from_files(vec![arrow::from_batches(schema, batches, name)?])
    }

    /// The columns of Arrow memory with these types.
    #[cfg(feature = "arrow")]
    pub fn schema_of(schema: &SchemaRef) -> Schema {
        arrow::schema_of(schema.fields())
    }

    /// The columns: names and types.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The number of rows that a fit would read: scans one of the columns without looking at its
    /// cells.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn count_rows(&self, column: &Column, options: &ReadOptions<'_>) -> Result<u64, DataError> {
        let mut rows = 0;
        self.for_each_block(std::slice::from_ref(column), &ReadOptions { strict: false, ..*options }, &mut |block| {
            rows += block.rows as u64;
            Ok(())
        })?;
        Ok(rows)
    }

    /// Reads the wanted columns, block by block, in file order; only these are decoded.
    ///
    /// May be called again and again. The threads of the current pool share the decoding; the order
    /// of rows and the bits of cells do not depend on the number of threads. A few blocks are held
    /// at a time (for Arrow files, one record batch of the file), and a block of CSV rows ends
    /// early once it has taken up 64 MiB of text or four million cells.
    ///
    /// # Guarantee
    /// Every row of the table is in exactly one block, whatever its cells hold. No message holds a
    /// cell's value.
    ///
    /// # Errors
    /// Whatever `each` returns; a column that is not there or cannot be read as asked; a file that
    /// is damaged or has changed since it was opened; with `strict`, a bad cell, naming its column.
    pub fn for_each_block(
        &self,
        columns: &[Column],
        options: &ReadOptions<'_>,
        each: &mut dyn FnMut(Block) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let mut extractors: Vec<Extractor> =
            columns.iter().map(|column| Extractor::new(column, options.strict)).collect();
        options.person.map_or(Ok(()), |person| self.schema.check_identifier(person))?;
        extractors.extend(options.person.map(|person| Extractor::of_persons(person, options.strict)));
        let columns: Vec<Column> = columns.iter().cloned().chain(options.person.map(identifier)).collect();
        self.read(&columns, &extractors, options, each)
    }

    /// Which person each row belongs to, for rows that several machines read: hashes of a column's
    /// cells under a key that all machines are given; 0 for a missing cell.
    ///
    /// # Errors
    /// As [`for_each_block`](Self::for_each_block).
    pub fn identified(&self, column: &str, strict: bool, key: [u8; 32]) -> Result<Vec<u128>, DataError> {
        self.schema.check_identifier(column)?;
        let extractors = [Extractor::of_identifiers(column, strict, key)];
        let mut numbers = Vec::new();
        self.read(&[identifier(column)], &extractors, &ReadOptions::default(), &mut |block| {
            if let Some(Cells::Levels(of_rows)) = block.columns.first() {
                numbers.extend_from_slice(of_rows);
            }
            Ok(())
        })?;
        let hashes = extractors[0].hashes();
        Ok(numbers.into_iter().map(|number| hashes.get(number as usize).copied().unwrap_or(0)).collect())
    }

    /// What is written in a column of each row, in order; empty for a missing cell. It is for
    /// tables that are made of these rows for their owner, who names the column.
    ///
    /// # Errors
    /// As [`for_each_block`](Self::for_each_block).
    pub fn written(&self, column: &str) -> Result<Vec<String>, DataError> {
        let extractor = [Extractor::of_written(column)];
        let mut codes = Vec::new();
        self.read(&[identifier(column)], &extractor, &ReadOptions::default(), &mut |block| {
            if let Some(Cells::Levels(of_rows)) = block.columns.first() {
                codes.extend_from_slice(of_rows);
            }
            Ok(())
        })?;
        let [extractor] = extractor;
        let known = extractor.into_written();
        Ok(codes.into_iter().map(|code| known.get(code as usize).cloned().unwrap_or_default()).collect())
    }

    fn read(
        &self,
        columns: &[Column],
        extractors: &[Extractor],
        options: &ReadOptions<'_>,
        each: &mut dyn FnMut(Block) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        self.schema.check_all(columns)?;
        let total: u64 = self.files.iter().map(|file| file.bytes.length).sum();
        let report = |done: u64| options.progress.report(done, total);
        let mut before = 0;
        for file in &self.files {
            let projection = Projection::new(&file.schema, columns, extractors)?;
            let pieces = Pieces { rows: options.block_rows.max(1), bytes: options.segment_bytes.max(1) };
            file.for_each_block(&projection, pieces, &mut |block, done| {
                each(block)?;
                Ok(report(before + done)?)
            })?;
            before += file.bytes.length;
            report(before)?;
        }
        Ok(())
    }

    /// Marks the rows as simulated, so that every result made of them says so.
    #[must_use]
    pub fn simulated(self) -> Self {
        Self { is_simulated: true, ..self }
    }

    /// The text format, as far as it was given.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether the rows were simulated.
    pub fn is_simulated(&self) -> bool {
        self.is_simulated
    }

    fn from_files(files: Vec<DataFile>) -> Result<Self, DataError> {
        let first = files.first().ok_or(DataError::NoInput)?;
        let mut schema = first.schema.clone();
        for file in &files[1..] {
            first.check_columns(file)?;
            file.check_columns(first)?;
            schema.merge(&file.schema).map_err(|position| {
                let (first, second, column) = first.differs_from(file, position);
                DataError::TypesDiffer { first, second, column }
            })?;
        }
        refuse_repeats(&files)?;
        let source = Self { files, schema, dialect: Dialect::default(), is_simulated: false };
        source.check_rows()?;
        Ok(source)
    }

    /// Refuses a table without rows; stops at the first row.
    fn check_rows(&self) -> Result<(), DataError> {
        for file in &self.files {
            if file.has_rows()? {
                return Ok(());
            }
        }
        Err(DataError::NoRows { file: self.files[0].bytes.name.clone() })
    }
}

/// A column that identifies persons: every type that can hold levels can hold identifiers.
fn identifier(name: &str) -> Column {
    Column { name: name.to_owned(), kind: Kind::Levels(Vec::new()) }
}

/// Refuses files that hold the same bytes: every person in them would count twice, and be protected
/// four times less than claimed.
fn refuse_repeats(files: &[DataFile]) -> Result<(), DataError> {
    let mut by_length: HashMap<u64, Vec<&DataFile>> = HashMap::new();
    for file in files {
        let alike = by_length.entry(file.bytes.length).or_default();
        for other in alike.iter() {
            if file.bytes.is_same(&other.bytes)? && file.has_rows()? {
                let (first, second) = (other.bytes.name.clone(), file.bytes.name.clone());
                return Err(DataError::SameData { first, second });
            }
        }
        alike.push(file);
    }
    Ok(())
}
