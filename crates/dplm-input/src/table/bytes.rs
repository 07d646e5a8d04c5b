//! The bytes of one file, with a check that they are the same at every reading.

use std::{
    fs::{File, Metadata},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    panic::{self, AssertUnwindSafe},
    path::{Path, PathBuf},
};

use super::{
    DataError,
    spool::{Spool, SpoolReader},
};
use crate::system::FileState;

/// A file on disk, or a stream copied to a temporary file.
pub(super) struct Bytes {
    /// What messages call it.
    pub name: String,
    pub length: u64,
    place: Place,
}

enum Place {
    Disk {
        path: PathBuf,
        state: FileState,
    },
    Spool(Spool),
    /// Nothing on disk: the rows are in memory, decoded.
    Memory,
}

impl Bytes {
    pub fn on_disk(path: &Path, metadata: &Metadata) -> Result<Self, DataError> {
        let place = Place::Disk { path: path.to_owned(), state: FileState::of(metadata) };
        Self { name: path.display().to_string(), length: metadata.len(), place }.refuse_empty()
    }

    /// Copies a stream to its end.
    pub fn spooled(stream: &mut dyn Read, name: &str) -> Result<Self, DataError> {
        let spool = Spool::fill(stream, name)?;
        Self { name: name.to_owned(), length: spool.length(), place: Place::Spool(spool) }.refuse_empty()
    }

    /// Decompresses a file into a temporary file without a name.
    #[cfg(feature = "csv")]
    pub fn inflated(path: &Path, name: &str, compression: Compression) -> Result<Self, DataError> {
        let unreadable = |error: io::Error| DataError::Unreadable { file: name.to_owned(), kind: error.kind() };
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        let most = compression.most_bytes(metadata.len());
        let format = compression.name();
        let corrupt = |_| DataError::Corrupt { file: name.to_owned(), format };
        let (mut reader, mut read) = (compression.reader(file).map_err(corrupt)?, 0);
        let spool = Spool::fill_by(name, &mut |piece| {
            let count = retried(|| reader.read(piece)).map_err(corrupt)?;
            read += count as u64;
            if read > most { Err(DataError::Inflates { file: name.to_owned(), format }) } else { Ok(count) }
        });
        unchanged(path, name, &FileState::of(&metadata))?;
        let spool = spool?;
        Self { name: name.to_owned(), length: spool.length(), place: Place::Spool(spool) }.refuse_empty()
    }

    /// A stand-in for a table in memory: its name, and its number of rows as the length.
    pub fn in_memory(name: &str, rows: u64) -> Self {
        Self { name: name.to_owned(), length: rows, place: Place::Memory }
    }

    fn refuse_empty(self) -> Result<Self, DataError> {
        if self.length == 0 { Err(DataError::EmptyFile { file: self.name }) } else { Ok(self) }
    }

    /// The bytes from `offset` on.
    pub fn reader(&self, offset: u64) -> Result<Box<dyn Read + Send>, DataError> {
        let unreadable = |error: io::Error| self.unreadable(&error);
        match &self.place {
            Place::Disk { .. } | Place::Memory => {
                let mut file = self.file()?;
                file.seek(SeekFrom::Start(offset)).map_err(unreadable)?;
                Ok(Box::new(file))
            }
            Place::Spool(spool) => Ok(Box::new(spool.reader(offset).map_err(unreadable)?)),
        }
    }

    /// The bytes from the start on, with a position of its own that can be moved.
    pub fn opened(&self) -> Result<Opened, DataError> {
        match &self.place {
            Place::Disk { .. } | Place::Memory => self.file().map(Opened::File),
            Place::Spool(spool) => spool.reader(0).map(Opened::Spool).map_err(|error| self.unreadable(&error)),
        }
    }

    /// The file on disk, if it is still the file that was opened.
    pub fn file(&self) -> Result<File, DataError> {
        let Place::Disk { path, state } = &self.place else {
            return Err(DataError::UnknownFormat { file: self.name.clone() });
        };
        unchanged(path, &self.name, state)
    }

    /// Refuses what was read of a file that was written to, or replaced, meanwhile: its rows may be
    /// partly those of before.
    pub fn refuse_change(&self) -> Result<(), DataError> {
        match &self.place {
            Place::Disk { .. } => self.file().map(drop),
            Place::Spool(_) | Place::Memory => Ok(()),
        }
    }

    /// Whether two files are the same file or hold the same bytes. Reads both to the end, unless
    /// they differ earlier.
    pub fn is_same(&self, other: &Bytes) -> Result<bool, DataError> {
        if let (Place::Disk { path, .. }, Place::Disk { path: other, .. }) = (&self.place, &other.place)
            && is_same_file(path, other)
        {
            return Ok(true);
        }
        let (mut mine, mut theirs) = (BufReader::new(self.reader(0)?), BufReader::new(other.reader(0)?));
        loop {
            let a = mine.fill_buf().map_err(|error| self.unreadable(&error))?;
            let b = theirs.fill_buf().map_err(|error| other.unreadable(&error))?;
            let common = a.len().min(b.len());
            if common == 0 || a[..common] != b[..common] {
                return Ok(a.is_empty() && b.is_empty());
            }
            mine.consume(common);
            theirs.consume(common);
        }
    }

    pub fn unreadable(&self, error: &io::Error) -> DataError {
        DataError::Unreadable { file: self.name.clone(), kind: error.kind() }
    }

    pub fn corrupt(&self, format: &'static str) -> DataError {
        DataError::Corrupt { file: self.name.clone(), format }
    }

    /// Runs one step of a decoder; a failure of any kind means that the bytes are damaged.
    ///
    /// The decoding libraries check most of what they read, but some damage makes them panic. This
    /// function catches the panic, so that a bad file is refused like any other, and discards the
    /// step's state. The libraries' messages are never passed on, since they may hold cells.
    pub fn decode<T, E>(&self, format: &'static str, step: impl FnOnce() -> Result<T, E>) -> Result<T, DataError> {
        let outcome = panic::catch_unwind(AssertUnwindSafe(step));
        outcome.ok().and_then(Result::ok).ok_or_else(|| self.corrupt(format))
    }
}

/// Opens a file that is still as it was.
fn unchanged(path: &Path, name: &str, state: &FileState) -> Result<File, DataError> {
    let unreadable = |error: io::Error| DataError::Unreadable { file: name.to_owned(), kind: error.kind() };
    let file = File::open(path).map_err(unreadable)?;
    match FileState::of(&file.metadata().map_err(unreadable)?) == *state {
        true => Ok(file),
        false => Err(DataError::Changed { file: name.to_owned() }),
    }
}

/// An open file on disk or copied stream.
pub(super) enum Opened {
    File(File),
    Spool(SpoolReader),
}

impl Read for Opened {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Opened::File(file) => file.read(buffer),
            Opened::Spool(spool) => spool.read(buffer),
        }
    }
}

impl Seek for Opened {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Opened::File(file) => file.seek(position),
            Opened::Spool(spool) => spool.seek(position),
        }
    }
}

/// Repeats a read that the system interrupted.
#[cfg(feature = "csv")]
fn retried(mut read: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// How a text file is compressed.
#[cfg(feature = "csv")]
#[derive(Clone, Copy)]
pub(super) enum Compression {
    Gzip,
    Zstandard,
}

#[cfg(feature = "csv")]
impl Compression {
    /// The compression that a file name's ending stands for.
    pub fn of(ending: &str) -> Option<Self> {
        match ending {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstandard),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstandard => "zstd",
        }
    }

    fn reader(self, file: File) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            // Several consecutive members form one text.
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(file)),
            Self::Zstandard => Box::new(zstd::Decoder::new(file)?),
        })
    }

    /// The most decompressed bytes accepted from a file of this length: repetitive tables may
    /// shrink a thousandfold, others do not.
    fn most_bytes(self, length: u64) -> u64 {
        length.saturating_mul(1 << 10).max(1 << 30)
    }
}

/// Whether two paths lead to the same file, through whatever links. A second hard link is caught by
/// comparing bytes.
fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
