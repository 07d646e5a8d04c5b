//! Differences between operating systems: positioned reads and writes, free disk space, the memory
//! of the machine, names.

#[cfg(windows)]
pub use self::windows::FileExt;
#[cfg(unix)]
pub use std::os::unix::fs::FileExt;
use std::{
    fs::{File, Metadata},
    io,
    time::SystemTime,
};

/// The environment variable that names the folder of temporary files.
pub(crate) const TEMPORARY_FOLDER: &str = if cfg!(windows) { "TMP" } else { "TMPDIR" };

/// What changes when a file is written or another takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileState {
    length: u64,
    modified: Option<SystemTime>,
    /// Which file it is, and when anything of it changed, which programs that set the time of
    /// modification cannot hide.
    #[cfg(unix)]
    node: [i128; 4],
}

impl FileState {
    pub fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let node = {
            use std::os::unix::fs::MetadataExt;
            let (second, nanosecond) = (metadata.ctime(), metadata.ctime_nsec());
            [metadata.dev().into(), metadata.ino().into(), second.into(), nanosecond.into()]
        };
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            node,
        }
    }
}

/// The free bytes on the file's disk, if they are fewer than `more`.
///
/// # Errors
/// When the system does not report them.
#[cfg(unix)]
pub fn lacks_room(file: &File, more: u64) -> io::Result<Option<u64>> {
    let disk = rustix::fs::fstatvfs(file)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    Ok((free < more).then_some(free))
}

/// Makes a file longer by `more` bytes, which NTFS allocates.
///
/// # Errors
/// When the disk does not have them.
#[cfg(windows)]
pub fn lacks_room(file: &File, more: u64) -> io::Result<Option<u64>> {
    let length = file.metadata()?.len().checked_add(more).ok_or(io::ErrorKind::StorageFull)?;
    file.set_len(length)?;
    Ok(None)
}

/// Asks the system to prefetch bytes. The advice affects only speed; only Linux receives it.
pub fn read_ahead(file: &File, start: u64, length: u64) {
    #[cfg(target_os = "linux")]
    {
        let length = std::num::NonZeroU64::new(length);
        let _ = rustix::fs::fadvise(file, start, length, rustix::fs::Advice::WillNeed);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, start, length);
}

/// The bytes of memory of this machine; `None` on systems other than Linux.
pub fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(windows)]
mod windows {
    use std::{fs::File, io, os::windows::fs::FileExt as _};

    /// Reads and writes at a position, as Unix's trait of this name does. The file's own position
    /// moves here, so callers must use nothing else.
    pub trait FileExt {
        fn read_at(&self, buffer: &mut [u8], start: u64) -> io::Result<usize>;
        fn read_exact_at(&self, buffer: &mut [u8], start: u64) -> io::Result<()>;
        fn write_all_at(&self, bytes: &[u8], start: u64) -> io::Result<()>;
    }

    impl FileExt for File {
        fn read_at(&self, buffer: &mut [u8], start: u64) -> io::Result<usize> {
            self.seek_read(buffer, start)
        }

        fn read_exact_at(&self, mut buffer: &mut [u8], mut start: u64) -> io::Result<()> {
            while !buffer.is_empty() {
                let count = self.seek_read(buffer, start)?;
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                (buffer, start) = (&mut buffer[count..], start + count as u64);
            }
            Ok(())
        }

        fn write_all_at(&self, mut bytes: &[u8], mut start: u64) -> io::Result<()> {
            while !bytes.is_empty() {
                let count = self.seek_write(bytes, start)?;
                if count == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                (bytes, start) = (&bytes[count..], start + count as u64);
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_where_they_were_written() {
        let file = tempfile::tempfile().expect("a file");
        file.write_all_at(b"world", 6).expect("written");
        file.write_all_at(b"hello ", 0).expect("written");
        let (mut all, mut end) = ([0; 11], [0; 4]);
        file.read_exact_at(&mut all, 0).expect("all is there");
        assert_eq!(&all, b"hello world");
        assert_eq!(file.read_at(&mut end, 9).expect("the end is there"), 2);
        assert_eq!(&end[..2], b"ld");
        assert_eq!(file.read_at(&mut end, 11).expect("nothing is there"), 0);
        let beyond = file.read_exact_at(&mut end, 9).expect_err("there is no more");
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn there_is_room_for_little_and_not_for_all() {
        let file = tempfile::tempfile().expect("a file");
        assert_eq!(lacks_room(&file, 1).expect("known"), None);
        assert!(!matches!(lacks_room(&file, u64::MAX), Ok(None)));
    }
}
