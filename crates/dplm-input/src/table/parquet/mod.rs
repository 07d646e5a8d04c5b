//! Parquet files: the footer and the pages are checked before the library reads them, then columns
//! are decoded on all threads.

mod thrift;
mod footer;
mod page_header;
mod inflating;
mod pages;

use std::sync::Arc;

use ::parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
        },
    },
    basic::Compression,
};
use arrow_array::{ArrayRef, RecordBatch};
use rayon::prelude::*;

use self::{
    footer::is_readable,
    inflating::{Inflating, stored},
    pages::checked_block_rows,
};
use super::{
    DataError, arrow,
    bytes::Bytes,
    format::{BlockSink, DataFile, Format, Pieces, share},
    inflate::{most_rows, too_large},
    projection::Projection,
};

/// What messages call it.
const FORMAT: &str = "Parquet";

/// A Parquet file whose footer has been read.
struct Parquet(ArrowReaderMetadata);

/// Opens a Parquet file.
pub(super) fn open(bytes: Bytes) -> Result<DataFile, DataError> {
    let metadata = metadata(&bytes)?;
    let schema = arrow::schema_of(metadata.schema().fields());
    DataFile::new(bytes, schema, Parquet(metadata))
}

/// Reads the footer: columns, types, row counts.
fn metadata(bytes: &Bytes) -> Result<ArrowReaderMetadata, DataError> {
    let mut file = bytes.file()?;
    if !is_readable(&mut file, bytes.length) {
        return Err(bytes.corrupt(FORMAT));
    }
    bytes.decode(FORMAT, || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))
}

fn rows(metadata: &ArrowReaderMetadata) -> u64 {
    u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
}

/// Rows decoded at a time: few enough that they stay in the cache until they are encoded.
const BATCH_ROWS: usize = 8192;
/// Parts per thread into which the columns are divided, so that all threads work to the end.
const PARTS: usize = 4;

impl Format for Parquet {
    fn has_rows(&self, _: &Bytes) -> Result<bool, DataError> {
        Ok(rows(&self.0) > 0)
    }

    /// Threads share columns rather than row groups: many writers put all rows in one group.
    fn for_each_block(
        &self,
        bytes: &Bytes,
        projection: &Projection<'_>,
        pieces: Pieces,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), DataError> {
        let (Self(metadata), indices) = (self, projection.indices());
        let mask = |indices: &[usize]| ProjectionMask::roots(metadata.parquet_schema(), indices.iter().copied());
        check_codecs(bytes, metadata, &mask(indices))?;
        let (block_rows, gzip) = checked_block_rows(bytes, metadata, &mask(indices), pieces.rows.min(BATCH_ROWS))?;
        let gzip = Arc::new(gzip);
        let read = bytes.decode(FORMAT, || if gzip.is_empty() { Ok(metadata.clone()) } else { stored(metadata) })?;
        let total = rows(metadata);
        if total > most_rows(bytes.length) {
            return Err(too_large(bytes, FORMAT));
        }
        let part = indices.len().div_ceil(PARTS * rayon::current_num_threads()).max(1);
        let open = |indices: &[usize]| {
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(Inflating::new(bytes.file()?, &gzip), read.clone());
            let builder = builder.with_projection(mask(indices)).with_batch_size(block_rows);
            bytes.decode(FORMAT, || builder.build())
        };
        let mut readers = indices.chunks(part).map(open).collect::<Result<Vec<_>, DataError>>()?;
        let mut done = 0;
        while let Some((rows, columns)) = next_columns(bytes, &mut readers)? {
            done += rows as u64;
            sink(projection.arrays(rows, columns)?, share(bytes.length, done, total))?;
        }
        // Rows must not go missing unnoticed: the count must equal that of the footer.
        if done == total { Ok(()) } else { Err(bytes.corrupt(FORMAT)) }
    }
}

/// The next rows of all columns, each reader giving some of the columns.
fn next_columns(
    bytes: &Bytes,
    readers: &mut [ParquetRecordBatchReader],
) -> Result<Option<(usize, Vec<ArrayRef>)>, DataError> {
    let step = |reader: &mut ParquetRecordBatchReader| bytes.decode(FORMAT, || reader.next().transpose());
    let batches: Vec<Result<Option<RecordBatch>, DataError>> = readers.par_iter_mut().map(step).collect();
    let batches = batches.into_iter().collect::<Result<Vec<_>, _>>()?;
    let Some(rows) = batches.first().map(|batch| batch.as_ref().map(RecordBatch::num_rows)) else { return Ok(None) };
    if batches.iter().any(|batch| batch.as_ref().map(RecordBatch::num_rows) != rows) {
        return Err(bytes.corrupt(FORMAT));
    }
    let columns = batches.into_iter().flatten().flat_map(|batch| batch.into_parts().1).collect();
    Ok(rows.map(|rows| (rows, columns)))
}

fn check_codecs(bytes: &Bytes, metadata: &ArrowReaderMetadata, mask: &ProjectionMask) -> Result<(), DataError> {
    let chunks = metadata.metadata().row_groups().iter().flat_map(|group| group.columns().iter().enumerate());
    for (_, chunk) in chunks.filter(|(leaf, _)| mask.leaf_included(*leaf)) {
        let codec = match chunk.compression() {
            Compression::BROTLI(_) => "brotli",
            Compression::LZO => "lzo",
            _ => continue,
        };
        return Err(DataError::Codec { file: bytes.name.clone(), codec: codec.to_owned() });
    }
    Ok(())
}

#[cfg(all(test, feature = "csv"))]
mod tests;
