//! A stream copied so that it can be read again.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use super::DataError;
use crate::system::FileExt;

/// The bytes copied at a time.
const PIECE: usize = 1 << 16;

/// A stream copied into a temporary file without a name, so that no other user can open it; the
/// same user and the administrator can. On Windows the file has a name, but nobody can open it
/// meanwhile.
pub(super) struct Spool {
    file: File,
    length: u64,
}

impl Spool {
    /// Copies the stream to its end; errors call it `name`.
    pub fn fill(stream: &mut dyn Read, name: &str) -> Result<Self, DataError> {
        Self::fill_by(name, &mut |piece| stream.read(piece).map_err(|error| failed(name, &error)))
    }

    /// Stores the pieces that `read` writes, up to an empty one.
    pub fn fill_by(name: &str, read: &mut dyn FnMut(&mut [u8]) -> Result<usize, DataError>) -> Result<Self, DataError> {
        let mut file = tempfile::tempfile().map_err(|error| failed(name, &error))?;
        let (mut piece, mut length) = (vec![0; PIECE], 0);
        loop {
            let count = read(&mut piece)?;
            if count == 0 {
                return Ok(Self { file, length });
            }
            file.write_all(&piece[..count]).map_err(|error| failed(name, &error))?;
            length += count as u64;
        }
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// A reader over the stream from `position` on; any number of readers may work at once.
    pub fn reader(&self, position: u64) -> io::Result<SpoolReader> {
        Ok(SpoolReader { file: self.file.try_clone()?, position, length: self.length })
    }
}

fn failed(name: &str, error: &io::Error) -> DataError {
    DataError::Spool { input: name.to_owned(), kind: error.kind() }
}

/// Keeps its own position, since clones of a file share the system's.
pub(super) struct SpoolReader {
    file: File,
    position: u64,
    length: u64,
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for SpoolReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position = moved.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
