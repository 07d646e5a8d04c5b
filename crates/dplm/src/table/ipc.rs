//! Arrow files (also called Feather) and Arrow streams.

use std::{
    fs::File,
    io::{BufReader, Read},
};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::{DataError, Schema, bytes::Bytes, parquet::share, source::BatchSink};

/// The first bytes of the file format; a stream starts otherwise.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// Either format, with the number of batches when it is known beforehand.
enum Reader {
    File(FileReader<BufReader<File>>),
    Stream(StreamReader<BufReader<File>>),
}

impl Reader {
    fn open(bytes: &Bytes, indices: Option<&[usize]>) -> Result<Self, DataError> {
        let indices = indices.map(<[usize]>::to_vec);
        let reader = if is_file_format(bytes)? {
            FileReader::try_new_buffered(bytes.file()?, indices).map(Self::File)
        } else {
            StreamReader::try_new_buffered(bytes.file()?, indices).map(Self::Stream)
        };
        reader.map_err(|_| corrupt(bytes))
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::File(reader) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
        }
    }

    fn batch_count(&self) -> Option<usize> {
        match self {
            Self::File(reader) => Some(reader.num_batches()),
            Self::Stream(_) => None,
        }
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::File(reader) => reader.next(),
            Self::Stream(reader) => reader.next(),
        }
    }
}

pub(super) fn schema(bytes: &Bytes) -> Result<Schema, DataError> {
    Ok(Schema::from_arrow(Reader::open(bytes, None)?.schema().fields()))
}

pub(super) fn has_rows(bytes: &Bytes) -> Result<bool, DataError> {
    for batch in Reader::open(bytes, None)? {
        if batch.map_err(|_| corrupt(bytes))?.num_rows() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Decodes the columns `indices`, at most `rows` rows at a time.
pub(super) fn for_each_batch(
    bytes: &Bytes,
    indices: &[usize],
    rows: usize,
    sink: &mut BatchSink<'_>,
) -> Result<(), DataError> {
    let reader = Reader::open(bytes, Some(indices))?;
    // How far a stream has come is not known, so it counts as done at its end only.
    let total = reader.batch_count().unwrap_or(usize::MAX) as u64;
    for (batch, index) in reader.zip(1..) {
        let batch = batch.map_err(|_| corrupt(bytes))?;
        let done = share(bytes.length, index, total);
        for start in (0..batch.num_rows()).step_by(rows) {
            sink(&batch.slice(start, rows.min(batch.num_rows() - start)), done)?;
        }
    }
    Ok(())
}

fn is_file_format(bytes: &Bytes) -> Result<bool, DataError> {
    let mut start = Vec::new();
    let read = bytes.file()?.take(FILE_MAGIC.len() as u64).read_to_end(&mut start);
    read.map_err(|error| bytes.unreadable(&error))?;
    Ok(start == FILE_MAGIC)
}

fn corrupt(bytes: &Bytes) -> DataError {
    bytes.corrupt("Arrow")
}
