//! Where the rows are: files, folders, patterns, standard input.

use std::{
    collections::HashMap,
    fs, io,
    io::Read,
    path::{Path, PathBuf},
};

use ::parquet::arrow::arrow_reader::ArrowReaderMetadata;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use rayon::prelude::*;

use super::{
    Block, Cells, DataError, Schema, batches::Batches, bytes::Bytes, cells::Extractor, csv, ipc, parquet,
    schema::schema_of,
};
use crate::{
    Progress,
    schema::{Column, SchemaError},
};

/// How to read the rows.
#[derive(Clone, Copy)]
pub struct ReadOptions<'a> {
    /// Refuse the first missing, unparsable, non-finite or unknown cell instead of marking it.
    pub strict: bool,
    /// The largest number of rows in a block, at least 1. A block may be smaller.
    pub block_rows: usize,
    /// About so many bytes of text are split into rows by one thread at a time. The rows are the same, whatever it is.
    pub segment_bytes: usize,
    /// Told after each block of the bytes read so far and the bytes in all.
    pub progress: Progress<'a>,
}

impl Default for ReadOptions<'_> {
    /// Bad cells are marked; 65,536 rows per block; 512 KiB per segment; no progress.
    fn default() -> Self {
        Self { strict: false, block_rows: 65_536, segment_bytes: 512 << 10, progress: Progress::NONE }
    }
}

/// A table in one or more files, read in blocks of rows as often as wanted.
pub struct Source {
    files: Vec<DataFile>,
    schema: Schema,
}

/// One file of a source.
struct DataFile {
    bytes: Bytes,
    format: Format,
    schema: Schema,
}

enum Format {
    Csv { delimiter: u8 },
    Parquet(ArrowReaderMetadata),
    Ipc,
    Batches(Batches),
}

impl Source {
    /// Opens files, folders and glob patterns; `-` is CSV on standard input.
    ///
    /// The format follows from the ending: `.csv`, `.tsv`, `.parquet`, or `.arrow`, `.feather`, `.ipc` (Arrow's file and
    /// stream formats). A folder or pattern gives its files of these kinds in order of name; other files, hidden files,
    /// names that start with `_` and folders within are passed over. All files must have the same columns, in any order.
    /// Standard input, or a pipe given by name, is copied to a private temporary file without a name, so that it can
    /// be read again.
    ///
    /// # Errors
    /// Says which file cannot be used and why: missing, empty, damaged, without a header or rows, with two columns of one name,
    /// with columns other than those of the first file, or with the same bytes as another.
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
        let mut files = Vec::new();
        for input in inputs {
            open_input(input.as_ref(), &mut files)?;
        }
        Self::from_files(files)
    }

    /// A source over CSV text from any stream; `name` is what messages call it.
    ///
    /// # Errors
    /// As [`Source::open`], and when the stream cannot be copied to a temporary file.
    ///
    /// # Examples
    /// ```
    /// use dplm::table::Source;
    /// let source = Source::from_csv_stream(&mut "y,x\n1,2\n".as_bytes(), "example")?;
    /// assert_eq!(source.schema().names().collect::<Vec<_>>(), ["y", "x"]);
    /// # Ok::<(), dplm::table::DataError>(())
    /// ```
    pub fn from_csv_stream(stream: &mut dyn Read, name: &str) -> Result<Self, DataError> {
        Self::from_files(vec![open_stream(stream, name)?])
    }

    /// A source over record batches in memory, which are shared and not copied; `name` is what messages call it.
    ///
    /// # Errors
    /// When there are no rows, two columns have one name, or the batches do not all have the columns of `schema`.
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
    pub fn from_batches(schema: SchemaRef, batches: Vec<RecordBatch>, name: &str) -> Result<Self, DataError> {
        let unlike = || DataError::Corrupt { file: name.to_owned(), format: "Arrow" };
        let batches = Batches::new(schema, batches).ok_or_else(unlike)?;
        Self::from_files(vec![DataFile::batches(batches, name)?])
    }

    /// The columns: names and types.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Reads the wanted columns, block by block, in file order; only these are decoded.
    ///
    /// May be called again and again. Decoding is shared among the threads of the current pool; rows come in the same order, and cells have the
    /// same bits, however many there are. A few blocks are held at a time (for Arrow files, one record batch of the file), and a block of
    /// CSV rows ends early once it has taken up 64 MiB of text or four million cells.
    ///
    /// # Guarantee
    /// Every row of the table is in exactly one block, whatever its cells hold. No message holds a cell's value.
    ///
    /// # Errors
    /// Whatever `each` returns; a column that is not there or cannot be read as asked; a file that is damaged or has
    /// changed since it was opened; with `strict`, a bad cell, naming its column.
    pub fn for_each_block(
        &self,
        columns: &[Column],
        options: &ReadOptions<'_>,
        each: &mut dyn FnMut(Block) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        self.schema.check_all(columns)?;
        let extractors: Vec<Extractor> = columns.iter().map(|column| Extractor::new(column, options.strict)).collect();
        let total: u64 = self.files.iter().map(|file| file.bytes.length).sum();
        let report = |done: u64| options.progress.report(done, total);
        let mut before = 0;
        for file in &self.files {
            let projection = Projection::new(&file.schema, columns)?;
            let convert = |decoded: Decoded<'_>| projection.block(&extractors, decoded);
            let pieces = Pieces { rows: options.block_rows.max(1), bytes: options.segment_bytes.max(1) };
            file.for_each_block(&projection.indices, pieces, &convert, &mut |block, done| {
                each(block)?;
                Ok(report(before + done)?)
            })?;
            before += file.bytes.length;
            report(before)?;
        }
        Ok(())
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
        let source = Self { files, schema };
        source.check_rows()?;
        Ok(source)
    }

    /// Refuses a table without rows; stops at the first row it finds.
    fn check_rows(&self) -> Result<(), DataError> {
        for file in &self.files {
            if file.has_rows()? {
                return Ok(());
            }
        }
        Err(DataError::NoRows { file: self.files[0].bytes.name.clone() })
    }
}

/// Refuses files that hold the same bytes: every person in them would count twice, and be protected four times less than is said.
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

/// The wanted columns of some rows, in the order they have in the file.
pub(super) enum Decoded<'a> {
    Arrays { rows: usize, columns: Vec<ArrayRef> },
    Texts(csv::Texts<'a>),
}

impl From<RecordBatch> for Decoded<'_> {
    fn from(batch: RecordBatch) -> Self {
        let (_, columns, rows) = batch.into_parts();
        Self::Arrays { rows, columns }
    }
}

/// How much is taken at a time: at most so many rows in a block, and about so many bytes of text by one thread.
#[derive(Clone, Copy)]
pub(super) struct Pieces {
    pub rows: usize,
    pub bytes: usize,
}

/// Turns what was decoded into cells; on any thread.
pub(super) type Convert<'a> = dyn Fn(Decoded<'_>) -> Result<Block, DataError> + Sync + 'a;

/// What to do with a block; the number says how many bytes of the file are done.
pub(super) type BlockSink<'a> = dyn FnMut(Block, u64) -> Result<(), DataError> + 'a;

impl DataFile {
    fn csv(bytes: Bytes, delimiter: u8) -> Result<Self, DataError> {
        let schema = csv::schema(&bytes, delimiter)?;
        Self { bytes, format: Format::Csv { delimiter }, schema }.with_distinct_names()
    }

    fn parquet(bytes: Bytes) -> Result<Self, DataError> {
        let metadata = parquet::metadata(&bytes)?;
        let schema = schema_of(metadata.schema().fields());
        Self { bytes, format: Format::Parquet(metadata), schema }.with_distinct_names()
    }

    fn ipc(bytes: Bytes) -> Result<Self, DataError> {
        let schema = ipc::schema(&bytes)?;
        Self { bytes, format: Format::Ipc, schema }.with_distinct_names()
    }

    fn batches(batches: Batches, name: &str) -> Result<Self, DataError> {
        let (bytes, schema) = (Bytes::in_memory(name, batches.rows()), batches.schema());
        Self { bytes, format: Format::Batches(batches), schema }.with_distinct_names()
    }

    fn with_distinct_names(self) -> Result<Self, DataError> {
        match self.schema.duplicate() {
            Some((first, second)) => {
                Err(DataError::DuplicateName { file: self.bytes.name, first: first + 1, second: second + 1 })
            }
            None => Ok(self),
        }
    }

    /// Refuses a column that the other file does not have.
    fn check_columns(&self, other: &Self) -> Result<(), DataError> {
        let Some(position) = self.schema.missing_from(&other.schema) else { return Ok(()) };
        let (first, second, column) = self.differs_from(other, position);
        Err(DataError::ColumnsDiffer { first, second, column })
    }

    /// The names of two files, and what to call a column of this one.
    fn differs_from(&self, other: &Self, position: usize) -> (String, String, String) {
        (self.bytes.name.clone(), other.bytes.name.clone(), self.schema.in_words(position))
    }

    fn for_each_block(
        &self,
        indices: &[usize],
        pieces: Pieces,
        convert: &Convert<'_>,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), DataError> {
        let (bytes, width, rows) = (&self.bytes, self.schema.fields().len(), pieces.rows);
        match &self.format {
            Format::Csv { delimiter } => {
                csv::for_each_block(bytes, csv::Layout { delimiter: *delimiter, width }, indices, pieces, convert, sink)
            }
            Format::Parquet(metadata) => parquet::for_each_block(bytes, metadata, indices, rows, convert, sink),
            Format::Ipc => ipc::for_each_block(bytes, indices, rows, convert, sink),
            Format::Batches(batches) => batches.for_each_block(bytes.length, indices, rows, convert, sink),
        }
    }

    fn has_rows(&self) -> Result<bool, DataError> {
        let width = self.schema.fields().len();
        match &self.format {
            Format::Csv { delimiter } => csv::has_rows(&self.bytes, csv::Layout { delimiter: *delimiter, width }),
            Format::Parquet(metadata) => Ok(parquet::rows(metadata) > 0),
            Format::Ipc => ipc::has_rows(&self.bytes),
            Format::Batches(batches) => Ok(batches.rows() > 0),
        }
    }
}

/// Which columns of a file to decode, and where each wanted column then is.
struct Projection {
    /// Positions in the file, in increasing order.
    indices: Vec<usize>,
    /// For each wanted column, its position among `indices`.
    slots: Vec<usize>,
}

impl Projection {
    fn new(schema: &Schema, columns: &[Column]) -> Result<Self, DataError> {
        let known = schema.positions();
        let position = |column: &Column| {
            let missing =
                || DataError::from(SchemaError::UnknownColumn { column: column.name.clone(), suggestion: None });
            known.get(column.name.as_str()).copied().ok_or_else(missing)
        };
        let positions = columns.iter().map(position).collect::<Result<Vec<usize>, _>>()?;
        let mut indices = positions.clone();
        indices.sort_unstable();
        indices.dedup();
        let slot = |wanted: &usize| indices.partition_point(|index| index < wanted);
        let slots = positions.iter().map(slot).collect();
        Ok(Self { indices, slots })
    }

    /// The cells of what was decoded of the columns `indices`.
    fn block(&self, extractors: &[Extractor], decoded: Decoded<'_>) -> Result<Block, DataError> {
        match decoded {
            Decoded::Arrays { rows, columns } => {
                let wanted: Vec<ArrayRef> = self.slots.iter().map(|&slot| columns[slot].clone()).collect();
                drop(columns);
                let cells = wanted.into_par_iter().zip(extractors).map(|(array, extractor)| extractor.cells(array));
                // The first refusal in the order of the columns, whichever thread came first.
                let cells: Vec<Result<Cells, DataError>> = cells.collect();
                Ok(Block { rows, columns: cells.into_iter().collect::<Result<_, _>>()? })
            }
            Decoded::Texts(texts) => {
                let cells = |(extractor, &slot): (&Extractor, &usize)| extractor.texts(texts.column(slot));
                let columns = extractors.iter().zip(&self.slots).map(cells).collect::<Result<_, _>>()?;
                Ok(Block { rows: texts.rows(), columns })
            }
        }
    }
}

/// Opens whatever an input names, in order of name when that is several files.
fn open_input(path: &Path, files: &mut Vec<DataFile>) -> Result<(), DataError> {
    // For messages and patterns; files are opened by their own names, which need not be text.
    let input = &*path.to_string_lossy();
    if input == "-" {
        files.push(open_stream(&mut io::stdin().lock(), "standard input")?);
        return Ok(());
    }
    let paths = match fs::metadata(path) {
        Ok(found) if found.is_dir() => folder(path, input)?,
        Ok(_) => vec![path.to_owned()],
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unreadable(input, &error)),
        Err(_) if input.contains(['*', '?', '[']) => matches(input)?,
        Err(_) => return Err(DataError::NotFound { file: input.to_owned() }),
    };
    for path in paths {
        files.push(open_path(&path)?);
    }
    Ok(())
}

fn open_stream(stream: &mut dyn Read, name: &str) -> Result<DataFile, DataError> {
    DataFile::csv(Bytes::spooled(stream, name)?, b',')
}

fn open_path(path: &Path) -> Result<DataFile, DataError> {
    let name = path.display().to_string();
    let metadata = fs::metadata(path).map_err(|error| unreadable(&name, &error))?;
    if !metadata.is_file() {
        let mut pipe = fs::File::open(path).map_err(|error| unreadable(&name, &error))?;
        return open_stream(&mut pipe, &name);
    }
    let bytes = || Bytes::on_disk(path, &metadata);
    match ending(path).as_str() {
        "csv" => DataFile::csv(bytes()?, b','),
        "tsv" => DataFile::csv(bytes()?, b'\t'),
        "parquet" => DataFile::parquet(bytes()?),
        "arrow" | "feather" | "ipc" => DataFile::ipc(bytes()?),
        "gz" | "zst" | "bz2" | "xz" | "zip" => Err(DataError::Compressed { file: name }),
        _ => Err(DataError::UnknownFormat { file: name }),
    }
}

fn folder(path: &Path, input: &str) -> Result<Vec<PathBuf>, DataError> {
    let entries = fs::read_dir(path).map_err(|error| unreadable(input, &error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    usable(paths.map_err(|error| unreadable(input, &error))?, input)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>, DataError> {
    let found = glob::glob(pattern).map_err(|_| DataError::NoFiles { input: pattern.to_owned() })?;
    let paths = found.collect::<Result<Vec<_>, _>>();
    usable(paths.map_err(|error| unreadable(pattern, error.error()))?, pattern)
}

/// The files of a known format among `paths`, in order of name.
fn usable(mut paths: Vec<PathBuf>, input: &str) -> Result<Vec<PathBuf>, DataError> {
    paths.retain(|path| is_visible(path) && is_known(&ending(path)) && path.is_file());
    paths.sort();
    if paths.is_empty() { Err(DataError::NoFiles { input: input.to_owned() }) } else { Ok(paths) }
}

/// Whether a name is meant to be data: tools mark their own files with a leading `.` or `_`.
fn is_visible(path: &Path) -> bool {
    path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with(['.', '_']))
}

fn is_known(ending: &str) -> bool {
    matches!(ending, "csv" | "tsv" | "parquet" | "arrow" | "feather" | "ipc")
}

fn ending(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn unreadable(name: &str, error: &io::Error) -> DataError {
    DataError::Unreadable { file: name.to_owned(), kind: error.kind() }
}
