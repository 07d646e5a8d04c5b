//! Why data cannot be read.

use std::io;

use crate::{Interrupted, schema::SchemaError, system::TEMPORARY_FOLDER};

/// Why data could not be read. Never holds a cell's value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// No file was named.
    #[error("no data were named: give a file, a folder, a pattern, or - for CSV or Arrow on standard input")]
    NoInput,
    /// A file does not exist.
    #[error("{file} does not exist: check the path")]
    NotFound {
        /// The path as given.
        file: String,
    },
    /// The operating system refused to read a file.
    #[error("{file} could not be read ({kind}): check the file and its permissions")]
    Unreadable {
        /// The file.
        file: String,
        /// What kind of refusal it was.
        kind: io::ErrorKind,
    },
    /// A folder or pattern leads to no file of a known format.
    #[error("{input} holds no .csv, .tsv, .csv.gz, .csv.zst, .parquet, .arrow, .feather or .ipc file: check the path")]
    NoFiles {
        /// The folder or pattern.
        input: String,
    },
    /// A file's ending says nothing about its format.
    #[error(
        "the format of {file} is not known: its name must end in .csv, .tsv (or these with .gz or .zst), .parquet, .arrow, .feather or .ipc"
    )]
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// A file of a known format that was not built in.
    #[error("{file} is in a format that this program was built without: build it with the cargo feature '{feature}'")]
    LeftOut {
        /// The file.
        file: String,
        /// The feature that reads it.
        feature: &'static str,
    },
    /// A file that is compressed in another way than is read.
    #[error(
        "{file} is compressed in a way that is not read: use .csv.gz, .tsv.gz, .csv.zst or .tsv.zst, or decompress it first"
    )]
    Compressed {
        /// The file.
        file: String,
    },
    /// A file without a single byte of content.
    #[error("{file} is empty: it needs a header and rows")]
    EmptyFile {
        /// The file.
        file: String,
    },
    /// A table without rows.
    #[error("{file} has a header but no rows: check that it is the right file")]
    NoRows {
        /// The file, the first when there are several.
        file: String,
    },
    /// A text whose first line holds a number, a date or a missing value where names should be. The line may be a row, so
    /// nothing of it is shown.
    #[error(
        "the first line of {file} looks like data: it must name the columns, and a name cannot be a number, a date or NA; add a line with the names, or rename such a column"
    )]
    NoHeader {
        /// The file.
        file: String,
    },
    /// A first line without the delimiter that was looked for, but with another.
    #[error(
        "the first line of {file} is one name, with a {shown} in it: if the columns are separated so, read it with --csv {shown}, or {shown},decimal-comma where numbers are written as 1,5"
    )]
    OtherDelimiter {
        /// The file.
        file: String,
        /// The delimiter that is there.
        shown: &'static str,
    },
    /// Two columns of a file have the same name.
    #[error("columns {first} and {second} of {file} have the same name: rename one of them")]
    DuplicateName {
        /// The file.
        file: String,
        /// The first of the two, counted from 1.
        first: usize,
        /// The second.
        second: usize,
    },
    /// Two files do not have the same columns.
    #[error("{second} does not have the columns of {first}: column {column} of {first} is not in it")]
    ColumnsDiffer {
        /// The file that has the column.
        first: String,
        /// The file that does not.
        second: String,
        /// The column: its name, or its position where a name might be a cell.
        column: String,
    },
    /// Two files declare different types for a column.
    #[error("{first} and {second} declare different types for column {column}: store it the same way in both")]
    TypesDiffer {
        /// One file.
        first: String,
        /// The other.
        second: String,
        /// The column.
        column: String,
    },
    /// The same rows would be read twice, and every person would count twice.
    #[error("{first} and {second} are the same data: name them once, since every row would count twice")]
    SameData {
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// A row has more or fewer cells than the header.
    #[error(
        "{file}, line {line}: the row does not have the {expected} cells of the header: repair the row or its quotes"
    )]
    Ragged {
        /// The file.
        file: String,
        /// The line on which the row starts, counted from 1.
        line: u64,
        /// How many cells the header has.
        expected: usize,
    },
    /// A row so long that a quote must have been left open.
    #[error("{file}, line {line}: the row that starts here is over 64 MiB long: look for a quote that is never closed")]
    LongRow {
        /// The file.
        file: String,
        /// The line on which the row starts, counted from 1.
        line: u64,
    },
    /// A quote that is never closed would make one row of all that follow.
    #[error(
        "{file}, line {line}: a quote opens a cell here and is never closed: close it, or put quotes around the whole cell and write each quote within it twice"
    )]
    OpenQuote {
        /// The file.
        file: String,
        /// The line of the quote, counted from 1.
        line: u64,
    },
    /// A quoted cell goes on after its quotes.
    #[error(
        "{file}, line {line}: text follows the quote that closes a cell: put quotes around the whole cell and write each quote within it twice"
    )]
    TextAfterQuote {
        /// The file.
        file: String,
        /// The line of the quote, counted from 1.
        line: u64,
    },
    /// A blank line in a file with one column.
    #[error("{file}, line {line}: a blank line among the rows of a one-column file: write NA for a missing cell")]
    BlankLine {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
    },
    /// Text in another encoding.
    #[error(
        "{file}, line {line}: the text is not UTF-8: convert it, for instance by iconv -f latin1 -t utf8 {file} > utf8.csv"
    )]
    NotUtf8 {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
    },
    /// A binary file that cannot be decoded.
    #[error("{file} is not a complete {format} file: it may be cut short, damaged, or in another format")]
    Corrupt {
        /// The file.
        file: String,
        /// The format its name promises.
        format: &'static str,
    },
    /// A small file that claims to hold a large one.
    #[error(
        "{file} is a {format} file whose parts would take far more room than its length makes likely: write it again in smaller parts, or not compressed"
    )]
    Inflates {
        /// The file.
        file: String,
        /// Its format.
        format: &'static str,
    },
    /// A Parquet file compressed in a way that is not supported.
    #[error("{file} is compressed with {codec}: write it again with snappy, zstd, gzip, lz4 or without compression")]
    Codec {
        /// The file.
        file: String,
        /// The codec's name.
        codec: String,
    },
    /// A file is not what it was when it was opened.
    #[error("{file} changed while it was being read: start again when nothing writes to it")]
    Changed {
        /// The file.
        file: String,
    },
    /// Standard input could not be kept for a second reading.
    #[error("{input} could not be kept in a temporary file ({kind}): free some disk space or name a file instead")]
    Spool {
        /// The stream.
        input: String,
        /// What kind of failure it was.
        kind: io::ErrorKind,
    },
    /// The columns are not those the formula needs.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A cell that cannot be used, when that is refused.
    #[error(
        "column '{column}' has a missing or unusable cell, which strict reading refuses: give it {wanted}, or read without it"
    )]
    BadCell {
        /// The column.
        column: String,
        /// What the formula says that it holds.
        wanted: &'static str,
    },
    /// More persons or rows than the numbers for them count.
    #[error("a fit by person takes at most four thousand million rows: fit a part of the table")]
    TooManyPersons,
    /// Interrupted by the user.
    #[error("interrupted while the rows were being read")]
    Interrupted,
    /// Rows that do not fit in memory could not be kept in a file.
    #[error(
        "the rows do not fit in the memory allowed, and a temporary file for them could not be used ({kind}): allow more memory, or set {TEMPORARY_FOLDER} to a folder that can be written to"
    )]
    Scratch {
        /// What kind of failure it was.
        kind: io::ErrorKind,
    },
    /// Rows that do not fit in memory do not fit on the disk. How much they need is not said: it
    /// tells how many rows there are, which is not public where persons or groups are protected.
    #[error(
        "the rows do not fit in the memory allowed, nor a temporary file for them on the disk: free some disk space, or set {TEMPORARY_FOLDER} to a larger disk"
    )]
    ScratchSpace,
    /// The encoded rows would not fit.
    #[error("the rows need more than the {limit} bytes of memory allowed: allow more, or name fewer columns")]
    Memory {
        /// The most bytes allowed.
        limit: u64,
    },
}

impl From<Interrupted> for DataError {
    fn from(_: Interrupted) -> DataError {
        DataError::Interrupted
    }
}
