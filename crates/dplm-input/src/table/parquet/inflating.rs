//! Gzip pages, inflated once and only to their declared size.
//!
//! The library's own reader inflates a page to its end, whatever its size. It is therefore told
//! that such columns are not compressed, and is given their pages inflated. Page buffers are
//! reused.

use std::{
    collections::HashMap,
    fs::File,
    io::{BufReader, Read},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use parquet::{
    arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions},
    basic::Compression,
    errors::{ParquetError, Result},
    file::reader::{ChunkReader, Length},
};

use super::page_header::Header;
use crate::system::FileExt;

/// The gzip pages, by the position after their header.
#[derive(Default)]
pub(super) struct GzipPages(HashMap<u64, GzipPage>);

/// The sizes that a page declares.
struct GzipPage {
    /// Uncompressed bytes at its start.
    plain: usize,
    /// Its bytes after inflation.
    inflated: usize,
}

impl GzipPages {
    /// Adds a page; `None` if another page starts there, or its numbers are not sizes.
    pub fn add(&mut self, start: u64, header: &Header) -> Option<()> {
        let inflated = usize::try_from(header.uncompressed).ok()?;
        let plain = usize::try_from(header.plain).ok()?;
        let page = GzipPage { plain, inflated };
        // A page stored uncompressed goes to the library as it is.
        if header.is_stored { Some(()) } else { self.0.insert(start, page).is_none().then_some(()) }
    }

    /// Adds pages of other columns; `None` if two start at the same position.
    pub fn join(&mut self, other: GzipPages) -> Option<()> {
        other.0.into_iter().try_for_each(|(start, page)| self.0.insert(start, page).is_none().then_some(()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl GzipPage {
    /// The page as the library expects it, from the stored bytes.
    fn inflate(&self, stored: &[u8]) -> Result<Bytes> {
        let other_size = || ParquetError::General("a page does not have its declared size".to_owned());
        let (plain, packed) = stored.split_at_checked(self.plain).ok_or_else(other_size)?;
        let packed_size = self.inflated.checked_sub(self.plain).ok_or_else(other_size)?;
        let mut page = Vec::with_capacity(self.inflated);
        page.extend_from_slice(plain);
        // The library skips a page that is declared empty. One more byte shows that a page exceeds
        // its declared size.
        if packed_size > 0 {
            MultiGzDecoder::new(packed).take(packed_size as u64 + 1).read_to_end(&mut page)?;
        }
        if page.len() == self.inflated { Ok(page.into()) } else { Err(other_size()) }
    }
}

/// The same footer, in which no column is compressed with gzip.
pub(super) fn stored(metadata: &ArrowReaderMetadata) -> Result<ArrowReaderMetadata> {
    let mut said = metadata.metadata().as_ref().clone().into_builder();
    for group in said.take_row_groups() {
        let mut group = group.into_builder();
        for chunk in group.take_columns() {
            let codec = match chunk.compression() {
                Compression::GZIP(_) => Compression::UNCOMPRESSED,
                other => other,
            };
            group = group.add_column_metadata(chunk.into_builder().set_compression(codec).build()?);
        }
        said = said.add_row_group(group.build()?);
    }
    ArrowReaderMetadata::try_new(Arc::new(said.build()), ArrowReaderOptions::new())
}

/// A file whose gzip pages are inflated as they are read.
pub(super) struct Inflating {
    file: File,
    pages: Arc<GzipPages>,
    /// Buffers of pages that are done: allocating a new buffer costs more than reading a page.
    done: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// A page in a reused buffer.
struct Lent {
    buffer: Vec<u8>,
    done: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.buffer));
    }
}

impl Inflating {
    pub fn new(file: File, pages: &Arc<GzipPages>) -> Inflating {
        Inflating { file, pages: pages.clone(), done: Arc::default() }
    }

    /// The bytes of the file from `start` on.
    fn read(&self, start: u64, length: usize) -> Result<Bytes> {
        // No memory is allocated for bytes beyond the end of the file.
        if start.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(ParquetError::EOF("the file ends before its pages do".to_owned()));
        }
        let mut buffer = self.done.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        buffer.resize(length, 0);
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(Bytes::from_owner(Lent { buffer, done: self.done.clone() }))
    }
}

impl Length for Inflating {
    fn len(&self) -> u64 {
        Length::len(&self.file)
    }
}

impl ChunkReader for Inflating {
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let stored = self.read(start, length)?;
        self.pages.0.get(&start).map_or(Ok(stored.clone()), |page| page.inflate(&stored))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    use parquet::{
        arrow::{ArrowWriter, ProjectionMask, arrow_reader::ParquetRecordBatchReaderBuilder},
        file::properties::{WriterProperties, WriterVersion},
    };

    use super::*;
    use crate::table::{bytes::Bytes as FileBytes, parquet::pages::checked_block_rows};

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(content).expect("memory takes it");
        packed.finish().expect("memory takes it")
    }

    #[test]
    fn a_page_is_inflated_no_further_than_it_says() {
        let page = |plain, inflated| GzipPage { plain, inflated };
        let stored = [&b"ab"[..], &gzip(&[7; 100])].concat();
        assert_eq!(page(2, 102).inflate(&stored).expect("what it says"), [&b"ab"[..], &[7; 100]].concat());
        // Too few bytes, too many, only uncompressed ones, and a start beyond the end.
        for (plain, inflated) in [(2, 101), (2, 103), (2, 1), (5000, 5100)] {
            assert!(page(plain, inflated).inflate(&stored).is_err(), "{plain} {inflated}");
        }
        assert_eq!(page(2, 2).inflate(&stored).expect("the start"), &b"ab"[..]);
        // Half a gigabyte that is declared as eight bytes: only the declared bytes and one more are
        // taken.
        let bomb = gzip(&vec![0; 1 << 29]);
        assert!(page(0, 8).inflate(&bomb).is_err());
    }

    #[test]
    fn two_pages_do_not_start_at_one_place() {
        let (mut pages, header) = (GzipPages::default(), Header { uncompressed: 8, ..Header::default() });
        assert_eq!(pages.add(100, &header), Some(()));
        assert_eq!(pages.add(100, &header), None);
    }

    /// The cells of a file, its gzip pages inflated here or by the library.
    fn cells(bytes: &FileBytes, here: bool) -> Vec<RecordBatch> {
        let metadata = super::super::metadata(bytes).expect("a footer");
        let (_, pages) = checked_block_rows(bytes, &metadata, &ProjectionMask::all(), 100).expect("sound pages");
        assert!(!pages.is_empty());
        let read = if here { stored(&metadata).expect("a footer") } else { metadata };
        let pages = if here { Arc::new(pages) } else { Arc::new(GzipPages::default()) };
        let file = Inflating::new(bytes.file().expect("a file"), &pages);
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, read).build().expect("a reader");
        reader.map(|batch| batch.expect("sound rows")).collect()
    }

    /// Cells that repeat, so that there is a dictionary, and cells that do not; some are missing;
    /// many pages of both kinds.
    #[test]
    fn inflated_pages_are_those_of_the_library() {
        let folder = tempfile::tempdir().expect("a folder");
        let number = |i: u64| f64::from_bits(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2);
        let some = |i: u64| (!i.is_multiple_of(10)).then_some(number(i));
        let distinct: ArrayRef = Arc::new(Float64Array::from_iter((1..50_000).map(some)));
        let repeated: ArrayRef = Arc::new(Float64Array::from_iter((1..50_000).map(|i| some(i % 97))));
        let table = RecordBatch::try_from_iter([("y", distinct), ("x", repeated)]).expect("a table");
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_compression(Compression::GZIP(Default::default()));
            let properties = properties.set_writer_version(version).set_data_page_size_limit(1 << 14).build();
            let path = folder.path().join("table.parquet");
            let file = File::create(&path).expect("a file");
            let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties)).expect("a writer");
            writer.write(&table).expect("written");
            writer.close().expect("written");
            let bytes = FileBytes::on_disk(&path, &path.metadata().expect("there")).expect("not empty");
            assert_eq!(cells(&bytes, true), cells(&bytes, false), "{version:?}");
        }
    }
}
