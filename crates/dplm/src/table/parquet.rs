//! Parquet files.

use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    basic::Compression,
};

use super::{
    DataError,
    bytes::Bytes,
    inflate::{most_rows, too_large},
    pages::checked_block_rows,
    source::BatchSink,
};

/// What messages call it.
pub(super) const FORMAT: &str = "Parquet";

/// Reads the footer: columns, types, row counts.
pub(super) fn metadata(bytes: &Bytes) -> Result<ArrowReaderMetadata, DataError> {
    let file = bytes.file()?;
    bytes.decode(FORMAT, || ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()))
}

pub(super) fn rows(metadata: &ArrowReaderMetadata) -> u64 {
    u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
}

/// Decodes the columns `indices`, at most `rows` rows at a time.
pub(super) fn for_each_batch(
    bytes: &Bytes,
    metadata: &ArrowReaderMetadata,
    indices: &[usize],
    block_rows: usize,
    sink: &mut BatchSink<'_>,
) -> Result<(), DataError> {
    let mask = ProjectionMask::roots(metadata.parquet_schema(), indices.iter().copied());
    check_codecs(bytes, metadata, &mask)?;
    let block_rows = checked_block_rows(bytes, metadata, &mask, block_rows)?;
    let total = rows(metadata);
    if total > most_rows(bytes.length) {
        return Err(too_large(bytes, FORMAT));
    }
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.file()?, metadata.clone())
        .with_projection(mask)
        .with_batch_size(block_rows);
    let mut batches = bytes.decode(FORMAT, || builder.build())?;
    let mut done = 0;
    while let Some(batch) = bytes.decode(FORMAT, || batches.next().transpose())? {
        done += batch.num_rows() as u64;
        sink(&batch, share(bytes.length, done, total))?;
    }
    // Rows must not go missing unnoticed: what was read is held against what the footer promised.
    if done == total { Ok(()) } else { Err(bytes.corrupt(FORMAT)) }
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

/// The part of `length` that `done` is of `total`.
pub(super) fn share(length: u64, done: u64, total: u64) -> u64 {
    let part = u128::from(length) * u128::from(done) / u128::from(total.max(1));
    u64::try_from(part).unwrap_or(length)
}
