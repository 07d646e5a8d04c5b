//! Arrow files (also called Feather) and Arrow streams.

use std::io::{BufReader, Read, Seek, SeekFrom};

use arrow_array::RecordBatch;
use arrow_ipc::{
    Block,
    reader::{FileReader, StreamReader, read_footer_length},
    root_as_footer,
};
use arrow_schema::SchemaRef;

use super::{
    FORMAT,
    messages::{CONTINUATION, claimed_by_block, claimed_by_stream},
    schema_of,
};
use crate::table::{
    DataError,
    bytes::{Bytes, Opened},
    format::{BlockSink, DataFile, Format, Pieces, share},
    inflate::{most_bytes, most_rows, too_large},
    projection::Projection,
};

/// An Arrow file or stream.
struct Ipc;

/// Opens a file of either format.
pub fn open(bytes: Bytes) -> Result<DataFile, DataError> {
    let schema = schema_of(Reader::open(&bytes, None)?.schema().fields());
    DataFile::new(bytes, schema, Ipc)
}

/// The first bytes of the file format; a stream starts otherwise.
const FILE_MAGIC: &[u8] = b"ARROW1";

/// Whether bytes without a declared format are Arrow's: no text starts like that, since a name
/// holds no zero byte and UTF-8 no 0xff. Either format starts with the schema, as a text starts
/// with its header, so no row decides.
pub fn is_arrow(bytes: &Bytes) -> Result<bool, DataError> {
    let start = first(bytes, FILE_MAGIC.len() + 2)?;
    Ok(start.starts_with(&CONTINUATION) || start.strip_prefix(FILE_MAGIC) == Some(&[0, 0]))
}

/// A reader of either format, with the number of batches if it is known beforehand.
enum Reader {
    File(FileReader<BufReader<Opened>>),
    Stream(StreamReader<BufReader<Opened>>),
}

impl Reader {
    fn open(bytes: &Bytes, indices: Option<&[usize]>) -> Result<Self, DataError> {
        let indices = indices.map(<[usize]>::to_vec);
        let is_file_format = is_file_format(bytes)?;
        let file = bytes.opened()?;
        let claimed = match is_file_format {
            true => checked_footer(bytes)?,
            false => claimed_by_stream(&mut bytes.opened()?),
        };
        if claimed > most_bytes(bytes.length) {
            return Err(too_large(bytes, FORMAT));
        }
        bytes.decode(FORMAT, || match is_file_format {
            true => FileReader::try_new_buffered(file, indices).map(Self::File),
            false => StreamReader::try_new_buffered(file, indices).map(Self::Stream),
        })
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::File(reader) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
        }
    }

    fn step(&mut self, bytes: &Bytes) -> Result<Option<RecordBatch>, DataError> {
        bytes.decode(FORMAT, || match self {
            Self::File(reader) => reader.next().transpose(),
            Self::Stream(reader) => reader.next().transpose(),
        })
    }

    fn batch_count(&self) -> Option<usize> {
        match self {
            Self::File(reader) => Some(reader.num_batches()),
            Self::Stream(_) => None,
        }
    }
}

impl Format for Ipc {
    fn has_rows(&self, bytes: &Bytes) -> Result<bool, DataError> {
        let mut reader = Reader::open(bytes, None)?;
        while let Some(batch) = reader.step(bytes)? {
            if batch.num_rows() > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn for_each_block(
        &self,
        bytes: &Bytes,
        projection: &Projection<'_>,
        pieces: Pieces,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), DataError> {
        let mut reader = Reader::open(bytes, Some(projection.indices()))?;
        // The progress within a stream is unknown, so it counts as done only at its end.
        let total = reader.batch_count().unwrap_or(usize::MAX) as u64;
        let (mut batches, mut seen) = (0, 0u64);
        while let Some(batch) = reader.step(bytes)? {
            batches += 1;
            seen = seen.saturating_add(batch.num_rows() as u64);
            if seen > most_rows(bytes.length) {
                return Err(too_large(bytes, FORMAT));
            }
            let done = share(bytes.length, batches, total);
            for start in (0..batch.num_rows()).step_by(pieces.rows) {
                let slice = batch.slice(start, pieces.rows.min(batch.num_rows() - start));
                sink(projection.batch(slice)?, done)?;
            }
        }
        Ok(())
    }
}

/// Checks that every part the footer names lies within the file, and gives the largest decompressed
/// size that a part claims.
///
/// The library allocates as much memory as the footer asks for before it reads, so a damaged length
/// could exhaust the memory.
fn checked_footer(bytes: &Bytes) -> Result<u64, DataError> {
    most_claimed(&mut bytes.opened()?, bytes.length).ok_or_else(|| bytes.corrupt(FORMAT))
}

/// The largest part's claim; `None` if a part lies outside `length`, or the footer cannot be read.
fn most_claimed(file: &mut Opened, length: u64) -> Option<u64> {
    let tail: [u8; TAIL] = read_end(file, length, TAIL as u64)?.try_into().ok()?;
    let footer_length = u64::try_from(read_footer_length(tail).ok()?).ok()?;
    let end = read_end(file, length, footer_length + TAIL as u64)?;
    let footer = root_as_footer(&end).ok()?;
    let mut most = 0;
    for part in footer.recordBatches().into_iter().chain(footer.dictionaries()).flatten() {
        if !fits(part, length) {
            return None;
        }
        most = most.max(claimed_by_block(file, part)?);
    }
    Some(most)
}

/// The last `count` bytes of a file.
fn read_end(file: &mut Opened, length: u64, count: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(length.checked_sub(count)?)).ok()?;
    let mut end = Vec::new();
    file.take(count).read_to_end(&mut end).ok()?;
    Some(end)
}

/// The footer's length and the magic bytes.
const TAIL: usize = 10;

fn fits(part: &Block, length: u64) -> bool {
    let end = || {
        let (offset, head) = (u64::try_from(part.offset()).ok()?, u64::try_from(part.metaDataLength()).ok()?);
        offset.checked_add(head)?.checked_add(u64::try_from(part.bodyLength()).ok()?)
    };
    end().is_some_and(|end| end <= length)
}

fn is_file_format(bytes: &Bytes) -> Result<bool, DataError> {
    Ok(first(bytes, FILE_MAGIC.len())? == FILE_MAGIC)
}

/// The first `count` bytes, or fewer at the end of the file.
fn first(bytes: &Bytes, count: usize) -> Result<Vec<u8>, DataError> {
    let mut start = Vec::new();
    let read = bytes.opened()?.take(count as u64).read_to_end(&mut start);
    read.map_err(|error| bytes.unreadable(&error))?;
    Ok(start)
}
