//! A stream kept for reading again.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::FileExt,
};

use super::DataError;

/// A stream copied into a temporary file that has no name, so that no other user can open it; the same user and the administrator can.
pub(super) struct Spool {
    file: File,
    length: u64,
}

impl Spool {
    /// Copies the stream to its end; `name` is what errors call it.
    pub fn fill(stream: &mut dyn Read, name: &str) -> Result<Self, DataError> {
        let failed = |error: io::Error| DataError::Spool { input: name.to_owned(), kind: error.kind() };
        let mut file = tempfile::tempfile().map_err(failed)?;
        let length = io::copy(stream, &mut file).map_err(failed)?;
        Ok(Self { file, length })
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// A reader of its own over the stream from `position` on; any number may be at work at once.
    pub fn reader(&self, position: u64) -> io::Result<SpoolReader> {
        Ok(SpoolReader { file: self.file.try_clone()?, position })
    }
}

/// Reads at its own position, since clones of a file share the system's.
pub(super) struct SpoolReader {
    file: File,
    position: u64,
}

impl Read for SpoolReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}
