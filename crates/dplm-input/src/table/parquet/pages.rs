//! The pages of a Parquet file, checked before they are decompressed.
//!
//! The library allocates the declared size of a page, and copies a dictionary's value for every row
//! that refers to it. The writer of the file chose both numbers. Two of its codecs do not stop at a
//! page's declared size: gzip pages are inflated by [`Inflating`](super::inflating::Inflating)
//! instead, which stops; the true size of pages in the old LZ4 format is determined here, a piece
//! at a time.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

use lz4_flex::frame::FrameDecoder;
use parquet::{
    arrow::{ProjectionMask, arrow_reader::ArrowReaderMetadata},
    basic::{Compression, Type},
    file::metadata::{ColumnChunkMetaData, RowGroupMetaData},
};
use rayon::prelude::*;

use super::{FORMAT, inflating::GzipPages, page_header::Header};
use crate::table::{
    DataError,
    bytes::Bytes,
    inflate::{most_bytes, too_large},
};

/// The most text that the rows of one block may expand to.
const LARGEST_BLOCK: u64 = 64 << 20;
const DICTIONARY_PAGE: i32 = 2;
const DELTA_BYTE_ARRAY: i32 = 7;

/// Checks the pages of the wanted columns, and gives the most rows a block may have, and the gzip
/// pages.
///
/// # Errors
/// When pages that are open at the same time would take implausibly much memory for the file's
/// length, or do not have their declared sizes.
pub(super) fn checked_block_rows(
    bytes: &Bytes,
    metadata: &ArrowReaderMetadata,
    mask: &ProjectionMask,
    wanted: usize,
) -> Result<(usize, GzipPages), DataError> {
    let mut file = bytes.file()?;
    let (mut largest_repeated, mut gzip) = (0, GzipPages::default());
    for group in metadata.metadata().row_groups() {
        let pages = Pages::of_group(bytes, &mut file, group, mask)?;
        if pages.open_at_once > most_bytes(bytes.length) {
            return Err(too_large(bytes, FORMAT));
        }
        if pages.at_worst > most_bytes(bytes.length) {
            pages.unbounded.par_iter().try_for_each(|page| page.check(bytes))?;
        }
        largest_repeated = largest_repeated.max(pages.largest_repeated);
        gzip.join(pages.gzip).ok_or_else(|| bytes.corrupt(FORMAT))?;
    }
    let rows = LARGEST_BLOCK / largest_repeated.max(1);
    Ok((wanted.min(usize::try_from(rows).unwrap_or(wanted)).max(1), gzip))
}

/// The memory that the pages of a row group ask for, one page of each column being open at a time.
#[derive(Default)]
struct Pages {
    /// By their declared sizes.
    open_at_once: u64,
    /// By the worst case for codecs that may exceed the declared size.
    at_worst: u64,
    unbounded: Vec<Unbounded>,
    gzip: GzipPages,
    /// The largest page of text that may be copied many times.
    largest_repeated: u64,
}

impl Pages {
    fn of_group(
        bytes: &Bytes,
        file: &mut File,
        group: &RowGroupMetaData,
        mask: &ProjectionMask,
    ) -> Result<Pages, DataError> {
        let mut pages = Pages::default();
        for (_, chunk) in group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)) {
            // The library panics if a chunk lies before the start of the file.
            let added = bytes.decode(FORMAT, || pages.add(file, chunk).ok_or(()));
            added?;
        }
        Ok(pages)
    }

    /// Adds the pages of a column; `None` if a header cannot be read.
    fn add(&mut self, file: &mut File, chunk: &ColumnChunkMetaData) -> Option<()> {
        let text = matches!(chunk.column_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY);
        let (is_gzip, is_frame) = match chunk.compression() {
            Compression::GZIP(_) => (true, false),
            Compression::LZ4 => (false, true),
            _ => (false, false),
        };
        let (mut at, length) = chunk.byte_range();
        let end = at.saturating_add(length);
        let (mut largest, mut worst) = (0, 0);
        while at < end {
            let (header, size) = Header::at(file, at)?;
            at = at.saturating_add(size as u64);
            largest = largest.max(header.uncompressed);
            worst = worst.max(header.uncompressed);
            if is_gzip {
                self.gzip.add(at, &header)?;
            }
            if is_frame {
                worst = worst.max(header.compressed.saturating_mul(MOST_TIMES));
                self.unbounded.push(Unbounded::new(at, &header));
            }
            if text && (header.kind == DICTIONARY_PAGE || header.encoding == DELTA_BYTE_ARRAY) {
                self.largest_repeated = self.largest_repeated.max(header.uncompressed);
            }
            at = at.saturating_add(header.compressed);
        }
        self.open_at_once = self.open_at_once.saturating_add(largest);
        self.at_worst = self.at_worst.saturating_add(worst);
        Some(())
    }
}

/// The largest expansion of an LZ4 frame, by the format: a byte for 255 more.
const MOST_TIMES: u64 = 255;

/// A page in the old LZ4 format, if it may be a frame, which extends to the end of the stored
/// bytes: only its header limits the memory it takes.
struct Unbounded {
    start: u64,
    stored: u64,
    /// Its declared size.
    said: u64,
}

impl Unbounded {
    fn new(start: u64, header: &Header) -> Unbounded {
        let Header { uncompressed, compressed, plain, .. } = header;
        let (stored, said) = (compressed.saturating_sub(*plain), uncompressed.saturating_sub(*plain));
        Unbounded { start: start.saturating_add(*plain), stored, said }
    }

    fn check(&self, bytes: &Bytes) -> Result<(), DataError> {
        let mut file = bytes.file()?;
        file.seek(SeekFrom::Start(self.start)).map_err(|error| bytes.unreadable(&error))?;
        let holds_more = bytes.decode(FORMAT, || Ok::<_, ()>(self.holds_more(file.take(self.stored))))?;
        // A page that is declared empty is not decompressed.
        if holds_more && self.said > 0 { Err(bytes.corrupt(FORMAT)) } else { Ok(()) }
    }

    fn holds_more(&self, stored: impl Read) -> bool {
        let longest = self.said.saturating_add(1);
        let found = io::copy(&mut FrameDecoder::new(stored).take(longest), &mut io::sink());
        // If the codec stops early here, so will the library.
        found.is_ok_and(|found| found > self.said)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, sync::Arc};

    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    use parquet::{
        arrow::ArrowWriter,
        file::{
            metadata::{ParquetMetaData, ParquetMetaDataWriter},
            properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion},
        },
    };

    use super::*;

    /// The result of checking the pages of a file, without the library reading them.
    fn checked(file: &[u8]) -> Result<usize, DataError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("table.parquet");
        fs::write(&path, file).expect("written");
        let bytes = Bytes::on_disk(&path, &fs::metadata(&path).expect("there")).expect("not empty");
        let metadata = super::super::metadata(&bytes).expect("a footer");
        checked_block_rows(&bytes, &metadata, &ProjectionMask::all(), 100).map(|(rows, _)| rows)
    }

    fn written(column: Float64Array, properties: WriterPropertiesBuilder) -> (Vec<u8>, ParquetMetaData) {
        let column: ArrayRef = Arc::new(column);
        let table = RecordBatch::try_from_iter([("y", column.clone()), ("x", column)]).expect("a table");
        let properties = properties.set_dictionary_enabled(false).set_statistics_enabled(EnabledStatistics::None);
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, table.schema(), Some(properties.build())).expect("a writer");
        writer.write(&table).expect("memory takes it");
        let said = writer.close().expect("memory takes it");
        (file, said)
    }

    /// A file whose pages hold `stored` as it is and declare no more, with a footer that declares
    /// compression.
    fn lying(stored: &[u8], codec: Compression) -> Vec<u8> {
        let cells = stored.chunks_exact(8).map(|cell| f64::from_le_bytes(cell.try_into().expect("eight bytes")));
        let column = Float64Array::from_iter_values(cells);
        let one_page = WriterProperties::builder().set_write_batch_size(usize::MAX);
        let (mut file, said) = written(column, one_page.set_data_page_size_limit(usize::MAX));
        let footer = file.len() - 8;
        let length = u32::from_le_bytes(file[footer..footer + 4].try_into().expect("four bytes"));
        file.truncate(footer - length as usize);
        ParquetMetaDataWriter::new(&mut file, &compressed_by(said, codec)).finish().expect("memory takes it");
        file
    }

    fn compressed_by(said: ParquetMetaData, codec: Compression) -> ParquetMetaData {
        let mut said = said.into_builder();
        for group in said.take_row_groups() {
            let mut group = group.into_builder();
            for chunk in group.take_columns() {
                let chunk = chunk.into_builder().set_compression(codec).build().expect("a column");
                group = group.add_column_metadata(chunk);
            }
            said = said.add_row_group(group.build().expect("a group of rows"));
        }
        said.build()
    }

    /// `mebibytes` of zeros.
    fn zeros(mebibytes: u32, mut encoder: impl Write) {
        let piece = vec![0; 1 << 20];
        (0..mebibytes).for_each(|_| encoder.write_all(&piece).expect("memory takes it"));
        encoder.flush().expect("memory takes it");
    }

    fn lz4_frame(mebibytes: u32) -> Vec<u8> {
        let mut packed = Vec::new();
        zeros(mebibytes, lz4_flex::frame::FrameEncoder::new(&mut packed));
        packed
    }

    #[test]
    fn pages_that_hold_more_than_they_say_are_refused() {
        // A little fits in the memory that any file may take, so it is not checked.
        assert_eq!(checked(&lying(&lz4_frame(1), Compression::LZ4)).ok(), Some(100));
        let refusal = checked(&lying(&lz4_frame(300), Compression::LZ4)).err();
        assert!(matches!(refusal, Some(DataError::Corrupt { .. })));
    }

    #[test]
    fn pages_that_hold_what_they_say_are_let_through() {
        // Incompressible cells in one page, some of them missing: the second kind of page starts
        // with levels that are never compressed.
        let cells = (1..400_000u64)
            .map(|i| (i % 10 != 0).then_some(f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2)));
        let column = Float64Array::from_iter(cells);
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for codec in [Compression::GZIP(Default::default()), Compression::LZ4] {
                let properties = WriterProperties::builder().set_compression(codec).set_writer_version(version);
                let properties = properties.set_data_page_size_limit(usize::MAX).set_write_batch_size(usize::MAX);
                let (file, _) = written(column.clone(), properties);
                assert!(file.len() as u64 * 255 > most_bytes(file.len() as u64), "large enough to be looked into");
                assert_eq!(checked(&file).ok(), Some(100), "{codec}");
            }
        }
    }
}
