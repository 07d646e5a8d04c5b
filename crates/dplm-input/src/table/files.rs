//! Resolves an input to files: paths, folders, patterns, standard input. A new format needs a
//! folder beside this file, and a line in [`open_path`] and in [`feature_of`].

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

#[cfg(feature = "arrow")]
use super::arrow;
#[cfg(feature = "csv")]
use super::bytes::Compression;
#[cfg(feature = "csv")]
use super::csv;
#[cfg(feature = "parquet")]
use super::parquet;
use super::{
    DataError,
    bytes::Bytes,
    dialect::{Delimiter, Dialect},
    format::DataFile,
};

/// The name that stands for standard input.
const STANDARD_INPUT: &str = "-";

/// Opens the files of an input, in order of name.
pub(super) fn open_input(path: &Path, dialect: Dialect, files: &mut Vec<DataFile>) -> Result<(), DataError> {
    if path == Path::new(STANDARD_INPUT) {
        files.push(open_stream(&mut io::stdin().lock(), "standard input", dialect)?);
        return Ok(());
    }
    for path in files_named(path)? {
        files.push(open_path(&path, dialect)?);
    }
    Ok(())
}

/// The files that [`Source::open`](super::Source::open) reads for an input: the file itself, or
/// those of a folder or a pattern in order of name. Standard input is not a file.
///
/// # Errors
/// When there is no file, or none that can be read as a table.
pub fn files_named(input: &Path) -> Result<Vec<PathBuf>, DataError> {
    // For messages and patterns only; files are opened by their original names, which need not be
    // UTF-8.
    let text = &*input.to_string_lossy();
    if text == STANDARD_INPUT {
        return Ok(Vec::new());
    }
    match fs::metadata(input) {
        Ok(found) if found.is_dir() => folder(input, text),
        Ok(_) => Ok(vec![input.to_owned()]),
        Err(error) if is_pattern(text, error.kind()) => matches(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(DataError::NotFound { file: text.to_owned() }),
        Err(error) => Err(unreadable(text, &error)),
    }
}

/// Whether a file that does not exist yet would be among [`files_named`] once it does: it lies in
/// the named folder, or its name fits the pattern.
pub fn would_be_named(input: &Path, file: &Path) -> bool {
    let text = &*input.to_string_lossy();
    let lies_in = |folder: &Path| is_same_folder(folder, folder_of(file));
    let is_among = match fs::metadata(input) {
        Ok(found) => found.is_dir() && lies_in(input),
        Err(error) if is_pattern(text, error.kind()) => {
            fits(input, file) && folders(input).iter().any(|one| lies_in(one))
        }
        Err(_) => false,
    };
    is_among && is_visible(file) && is_known(file)
}

/// Whether the last part of a pattern matches the file's name.
fn fits(pattern: &Path, file: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let (Some(pattern), Some(name)) = (name(pattern), name(file)) else { return false };
    glob::Pattern::new(&pattern).is_ok_and(|pattern| pattern.matches(&name))
}

/// The folders that hold the files of a pattern.
fn folders(pattern: &Path) -> Vec<PathBuf> {
    let folder = folder_of(pattern);
    let mut found: Vec<PathBuf> = glob::glob(&folder.to_string_lossy()).into_iter().flatten().flatten().collect();
    // Two stars stand for the folder itself and every folder below it.
    if folder.ends_with("**") {
        found.extend(folders(folder));
    }
    found
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn is_same_folder(one: &Path, other: &Path) -> bool {
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// CSV text, or either of Arrow's formats, from a stream, which is copied so that it can be read
/// again.
pub(super) fn open_stream(stream: &mut dyn Read, name: &str, dialect: Dialect) -> Result<DataFile, DataError> {
    let bytes = Bytes::spooled(stream, name)?;
    #[cfg(feature = "arrow")]
    if arrow::is_arrow(&bytes)? {
        return arrow::open(bytes);
    }
    open_text(bytes, dialect)
}

/// CSV text.
#[cfg(feature = "csv")]
pub(super) fn open_text(bytes: Bytes, dialect: Dialect) -> Result<DataFile, DataError> {
    csv::open(bytes, dialect, Delimiter::Comma)
}

#[cfg(not(feature = "csv"))]
fn open_text(bytes: Bytes, _: Dialect) -> Result<DataFile, DataError> {
    Err(DataError::LeftOut { file: bytes.name, feature: "csv" })
}

fn open_path(path: &Path, dialect: Dialect) -> Result<DataFile, DataError> {
    let name = path.display().to_string();
    let metadata = fs::metadata(path).map_err(|error| unreadable(&name, &error))?;
    if !metadata.is_file() {
        let mut pipe = fs::File::open(path).map_err(|error| unreadable(&name, &error))?;
        return open_stream(&mut pipe, &name, dialect);
    }
    #[cfg(feature = "csv")]
    if let (Some(usual), Some(compression)) = (inner_delimiter(path), Compression::of(&ending(path))) {
        return csv::open(Bytes::inflated(path, &name, compression)?, dialect, usual);
    }
    #[cfg(any(feature = "csv", feature = "arrow"))]
    let bytes = || Bytes::on_disk(path, &metadata);
    match ending(path).as_str() {
        #[cfg(feature = "csv")]
        "csv" => csv::open(bytes()?, dialect, Delimiter::Comma),
        #[cfg(feature = "csv")]
        "tsv" => csv::open(bytes()?, dialect, Delimiter::Tab),
        #[cfg(feature = "parquet")]
        "parquet" => parquet::open(bytes()?),
        #[cfg(feature = "arrow")]
        "arrow" | "feather" | "ipc" => arrow::open(bytes()?),
        "gz" | "zst" | "bz2" | "xz" | "zip" => Err(DataError::Compressed { file: name }),
        ending => Err(match feature_of(ending) {
            Some(feature) => DataError::LeftOut { file: name, feature },
            None => DataError::UnknownFormat { file: name },
        }),
    }
}

fn folder(path: &Path, input: &str) -> Result<Vec<PathBuf>, DataError> {
    let entries = fs::read_dir(path).map_err(|error| unreadable(input, &error))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    usable(paths.map_err(|error| unreadable(input, &error))?, input)
}

/// Whether an input that is not a file is a pattern. On Windows a star is not even valid in a file
/// name.
fn is_pattern(input: &str, why: io::ErrorKind) -> bool {
    input.contains(['*', '?', '[']) && matches!(why, io::ErrorKind::NotFound | io::ErrorKind::InvalidFilename)
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>, DataError> {
    let found = glob::glob(pattern).map_err(|_| DataError::NoFiles { input: pattern.to_owned() })?;
    let paths = found.collect::<Result<Vec<_>, _>>();
    usable(paths.map_err(|error| unreadable(pattern, error.error()))?, pattern)
}

/// The files of a known format among `paths`, in order of name.
fn usable(mut paths: Vec<PathBuf>, input: &str) -> Result<Vec<PathBuf>, DataError> {
    paths.retain(|path| is_visible(path) && is_known(path) && path.is_file());
    paths.sort();
    if paths.is_empty() { Err(DataError::NoFiles { input: input.to_owned() }) } else { Ok(paths) }
}

/// Whether a name has the ending of a readable format, compressed or not.
fn is_known(path: &Path) -> bool {
    feature_of(&ending(path)).is_some()
        || inner_delimiter(path).is_some() && matches!(ending(path).as_str(), "gz" | "zst")
}

/// The delimiter that the ending below a compression's ending stands for, as in `a.csv.gz`.
fn inner_delimiter(path: &Path) -> Option<Delimiter> {
    match ending(Path::new(path.file_stem()?)).as_str() {
        "csv" => Some(Delimiter::Comma),
        "tsv" => Some(Delimiter::Tab),
        _ => None,
    }
}

/// Whether a name is that of data: tools mark their own files with a leading `.` or `_`.
fn is_visible(path: &Path) -> bool {
    path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with(['.', '_']))
}

/// The cargo feature that reads files with this ending; `None` for an unknown ending.
fn feature_of(ending: &str) -> Option<&'static str> {
    match ending {
        "csv" | "tsv" => Some("csv"),
        "parquet" => Some("parquet"),
        "arrow" | "feather" | "ipc" => Some("arrow"),
        _ => None,
    }
}

fn ending(path: &Path) -> String {
    path.extension().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn unreadable(name: &str, error: &io::Error) -> DataError {
    DataError::Unreadable { file: name.to_owned(), kind: error.kind() }
}
