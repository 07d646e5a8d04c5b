//! Why data cannot be read.

use std::io;

use crate::{
    Interrupted,
    options::{Advice, Advised, Opt},
    schema::SchemaError,
    system::TEMPORARY_FOLDER,
};

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
    /// A file name whose ending is not that of a known format.
    #[error(
        "the format of {file} is not known: its name must end in .csv, .tsv (or these with .gz or .zst), .parquet, .arrow, .feather or .ipc"
    )]
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// A known format that this program was built without.
    #[error("{file} is in a format that this program was built without: build it with the cargo feature '{feature}'")]
    LeftOut {
        /// The file.
        file: String,
        /// The feature that reads it.
        feature: &'static str,
    },
    /// An unsupported compression of a text file.
    #[error(
        "{file} is compressed in an unsupported way: use .csv.gz, .tsv.gz, .csv.zst or .tsv.zst, or \
         decompress it first"
    )]
    Compressed {
        /// The file.
        file: String,
    },
    /// A file without any content.
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
    /// A text whose first line holds a number, a date or a missing value in place of names. The
    /// line may be a row, so none of it is shown.
    #[error(
        "the first line of {file} looks like data: it must name the columns, and a name cannot be a number, a date or NA; add a line with the names, or rename such a column"
    )]
    NoHeader {
        /// The file.
        file: String,
    },
    /// A first line without the expected delimiter, but with another.
    #[error("the first line of {file} is one name, with a {shown} in it")]
    OtherDelimiter {
        /// The file.
        file: String,
        /// The delimiter in the line.
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
        /// The column: its name, or its position if the name might be a cell.
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
    /// The same rows would be read twice, and every row would count twice.
    #[error("{first} and {second} hold the same data: name only one of them, since every row would count twice")]
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
    /// A quote that is never closed; it would turn all rows that follow into one.
    #[error(
        "{file}, line {line}: a quote opens a cell here and is never closed: close it, or put quotes around the whole cell and write each quote within it twice"
    )]
    OpenQuote {
        /// The file.
        file: String,
        /// The line of the quote, counted from 1.
        line: u64,
    },
    /// Text after the closing quote of a cell.
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
    /// A small file that claims to decompress to a large size.
    #[error(
        "{file} is a {format} file whose pages claim to decompress to implausibly large sizes: write it \
         again in smaller pages, or uncompressed"
    )]
    Inflates {
        /// The file.
        file: String,
        /// Its format.
        format: &'static str,
    },
    /// A Parquet file with an unsupported codec.
    #[error("{file} is compressed with {codec}: write it again with snappy, zstd, gzip, lz4 or without compression")]
    Codec {
        /// The file.
        file: String,
        /// The codec's name.
        codec: String,
    },
    /// A file was modified after it was opened.
    #[error("{file} changed while it was being read: start again when nothing writes to it")]
    Changed {
        /// The file.
        file: String,
    },
    /// Standard input could not be stored for a second reading.
    #[error("{input} could not be stored in a temporary file ({kind}): free some disk space or name a file instead")]
    Spool {
        /// The stream.
        input: String,
        /// What kind of failure it was.
        kind: io::ErrorKind,
    },
    /// The columns are not those the formula needs.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A cell that cannot be used, under strict reading.
    #[error(
        "column '{column}' has a missing or unusable cell, which strict reading refuses: give it {wanted}, \
         or turn strict reading off"
    )]
    BadCell {
        /// The column.
        column: String,
        /// What the formula expects it to hold.
        wanted: &'static str,
    },
    /// More rows or persons than 32 bits can number.
    #[error("a fit by person takes at most 4 billion rows: fit a part of the table")]
    TooManyPersons,
    /// Interrupted by the user.
    #[error("interrupted while the rows were being read")]
    Interrupted,
    /// Rows that exceed memory could not be stored in a file.
    #[error(
        "the rows do not fit in the memory allowed, and a temporary file for them could not be used ({kind}): allow more memory, or set {TEMPORARY_FOLDER} to a folder that can be written to"
    )]
    Scratch {
        /// What kind of failure it was.
        kind: io::ErrorKind,
    },
    /// Rows that exceed memory do not fit on the disk either. The message does not give the bytes
    /// needed: they reveal the number of rows, which is not public when persons or groups are
    /// protected.
    #[error(
        "the rows fit neither in the memory allowed nor in a temporary file on the disk: free some disk \
         space, or set {TEMPORARY_FOLDER} to a larger disk"
    )]
    ScratchSpace,
    /// The encoded rows exceed the memory allowed.
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

impl Advised for DataError {
    fn advice(&self) -> Option<Advice> {
        match self {
            DataError::Schema(error) => error.advice(),
            DataError::OtherDelimiter { shown, .. } => Some(
                Advice::new("if that separates the columns, read it with ")
                    .setting(Opt::Csv, shown)
                    .text(format!(", or {shown},decimal-comma if numbers are written as 1,5")),
            ),
            _ => None,
        }
    }
}
