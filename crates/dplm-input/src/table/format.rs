//! The interface of a file format, and one file in such a format.

use super::{Block, DataError, Schema, bytes::Bytes, projection::Projection};

/// The sizes of pieces: the most rows in a block, and roughly how many bytes of text one thread
/// splits at a time.
#[derive(Clone, Copy)]
pub(super) struct Pieces {
    pub rows: usize,
    pub bytes: usize,
}

/// Receives a block, and the number of bytes of the file done so far.
pub(super) type BlockSink<'a> = dyn FnMut(Block, u64) -> Result<(), DataError> + 'a;

/// A table format. An implementor holds what it needs to know of one file, apart from the columns.
pub(super) trait Format: Send + Sync {
    /// Whether the file has any rows.
    fn has_rows(&self, bytes: &Bytes) -> Result<bool, DataError>;

    /// Decodes the columns of the projection, in the order of the file.
    ///
    /// # Guarantee
    /// Every row is in exactly one block, whatever its cells hold.
    fn for_each_block(
        &self,
        bytes: &Bytes,
        projection: &Projection<'_>,
        pieces: Pieces,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), DataError>;
}

/// One file of a source, or a table in memory.
pub(super) struct DataFile {
    pub bytes: Bytes,
    pub schema: Schema,
    format: Box<dyn Format>,
}

impl DataFile {
    /// A file in a format.
    ///
    /// # Errors
    /// When two columns have the same name.
    pub fn new(bytes: Bytes, schema: Schema, format: impl Format + 'static) -> Result<Self, DataError> {
        match schema.duplicate() {
            Some((first, second)) => {
                Err(DataError::DuplicateName { file: bytes.name, first: first + 1, second: second + 1 })
            }
            None => Ok(Self { bytes, schema, format: Box::new(format) }),
        }
    }

    pub fn has_rows(&self) -> Result<bool, DataError> {
        self.format.has_rows(&self.bytes)
    }

    pub fn for_each_block(
        &self,
        projection: &Projection<'_>,
        pieces: Pieces,
        sink: &mut BlockSink<'_>,
    ) -> Result<(), DataError> {
        let read = self.format.for_each_block(&self.bytes, projection, pieces, sink);
        if !matches!(read, Err(DataError::Interrupted)) {
            self.bytes.refuse_change()?;
        }
        read
    }

    /// Refuses a column that the other file does not have.
    pub fn check_columns(&self, other: &Self) -> Result<(), DataError> {
        let Some(position) = self.schema.missing_from(&other.schema) else { return Ok(()) };
        let (first, second, column) = self.differs_from(other, position);
        Err(DataError::ColumnsDiffer { first, second, column })
    }

    /// The names of the two files, and the name or position of a column of this one.
    pub fn differs_from(&self, other: &Self, position: usize) -> (String, String, String) {
        (self.bytes.name.clone(), other.bytes.name.clone(), self.schema.in_words(position))
    }
}

/// `length` times `done / total`.
pub(super) fn share(length: u64, done: u64, total: u64) -> u64 {
    let part = u128::from(length) * u128::from(done) / u128::from(total.max(1));
    u64::try_from(part).unwrap_or(length)
}
