//! Files that are written whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Stdout, Write},
    path::{Path, PathBuf},
    str::FromStr,
};

use tempfile::NamedTempFile;

use crate::{exit::Failure, printer::Printer};

/// Where a result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output, written `-`.
    Stdout,
    /// A file.
    File(PathBuf),
}

/// What is written to a place, and how the names of such files end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A page for a browser.
    Html,
    /// A document for programs.
    Json,
    /// A table as text.
    Csv,
    /// A drawing.
    Svg,
    /// A table for LaTeX.
    Latex,
    /// Text with marks.
    Markdown,
    /// A document of a word processor.
    Docx,
}

impl Format {
    const fn name(self) -> &'static str {
        match self {
            Format::Html => "HTML",
            Format::Json => "JSON",
            Format::Csv => "CSV",
            Format::Svg => "SVG",
            Format::Latex => "LaTeX",
            Format::Markdown => "Markdown",
            Format::Docx => "a document",
        }
    }

    /// Endings of such files, the usual one first.
    const fn endings(self) -> &'static [&'static str] {
        match self {
            Format::Html => &["html", "htm"],
            Format::Json => &["json"],
            Format::Csv => &["csv"],
            Format::Svg => &["svg"],
            Format::Latex => &["tex"],
            Format::Markdown => &["md", "markdown", "qmd", "rmd"],
            Format::Docx => &["docx"],
        }
    }

    /// Whether a file with this ending is taken for something else. People open a page by its name,
    /// so any other ending is wrong for it.
    fn is_misnamed(self, ending: &str) -> bool {
        const KNOWN: [&str; 16] = [
            "html", "htm", "json", "csv", "tsv", "parquet", "arrow", "svg", "png", "jpg", "pdf", "docx", "xlsx",
            "toml", "md", "tex",
        ];
        let ending = ending.to_ascii_lowercase();
        let is_own = self.endings().contains(&ending.as_str());
        !is_own && (matches!(self, Format::Html | Format::Docx) || KNOWN.contains(&ending.as_str()))
    }
}

impl Destination {
    /// Refuses a name that promises another format than the one written.
    ///
    /// # Errors
    /// When the name ends as those of other files do.
    pub fn check_format(&self, format: Format) -> Result<(), Failure> {
        let Destination::File(path) = self else { return Ok(()) };
        let Some(ending) = path.extension().and_then(|ending| ending.to_str()) else { return Ok(()) };
        if !format.is_misnamed(ending) {
            return Ok(());
        }
        let (what, usual) = (format.name(), path.with_extension(format.endings()[0]));
        Err(Failure::Usage(format!("{self} would hold {what}, not what its name says: write {}", usual.display())))
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Destination, String> {
        match text {
            "" => Err("give a file name, or - for standard output".to_owned()),
            "-" => Ok(Destination::Stdout),
            path => Ok(Destination::File(path.into())),
        }
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::Stdout => f.write_str("standard output"),
            Destination::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// An output that is open but not yet in place: dropped, it leaves no trace.
pub struct Output {
    destination: Destination,
    target: Target,
}

enum Target {
    Stdout(BufWriter<Stdout>),
    /// A device or a pipe, which cannot be replaced as a file can.
    Device(BufWriter<File>),
    /// A file under a temporary name in the folder of the final one.
    File {
        unfinished: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
}

impl Output {
    /// Opens an output; the final name stays as it is until [`commit`](Self::commit).
    ///
    /// # Errors
    /// When the place cannot be written to, or the name is that of a folder or of a link, which is
    /// never followed.
    pub fn open(destination: &Destination) -> Result<Output, Failure> {
        let target = match destination {
            Destination::Stdout => Target::Stdout(Printer::stream()),
            Destination::File(path) => open_file(path)?,
        };
        Ok(Output { destination: destination.clone(), target })
    }

    /// Writes a text and puts it in place.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish_with(self, text: &str) -> Result<(), Failure> {
        self.finish_with_bytes(text.as_bytes())
    }

    /// As [`finish_with`](Self::finish_with), for a file that is not text.
    ///
    /// # Errors
    /// As there.
    pub fn finish_with_bytes(mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.write_all(bytes);
        written.map_err(|error| self.unwritten(&error))?;
        self.commit()
    }

    /// Puts what was written in place, after it has reached the disk.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn commit(self) -> Result<(), Failure> {
        let place = self.destination.to_string();
        put_in_place(self.target).map_err(|error| Failure::unwritten(&place, &error))
    }

    /// The sentence for a failure to write here.
    pub fn unwritten(&self, error: &io::Error) -> Failure {
        Failure::unwritten(&self.destination.to_string(), error)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.target.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.writer().flush()
    }
}

impl Target {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Target::Stdout(stream) => stream,
            Target::Device(file) => file,
            Target::File { unfinished, .. } => unfinished,
        }
    }
}

fn open_file(path: &Path) -> Result<Target, Failure> {
    let refuse = |reason: &str| Err(Failure::Refused(format!("{} {reason}", path.display())));
    match fs::symlink_metadata(path).map(|found| found.file_type()) {
        Ok(kind) if kind.is_symlink() => refuse("is a symbolic link, which is not followed: name the file itself"),
        Ok(kind) if kind.is_dir() => refuse("is a folder: name a file in it"),
        Ok(kind) if !kind.is_file() => {
            let device = OpenOptions::new().write(true).open(path);
            device.map(|file| Target::Device(BufWriter::new(file))).map_err(|error| unwritten(path, &error))
        }
        _ => {
            let unfinished = unfinished_beside(path).map_err(|error| unwritten(path, &error))?;
            Ok(Target::File { unfinished: BufWriter::new(unfinished), path: path.to_owned() })
        }
    }
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::Refused(format!("the folder of {} does not exist: create it first", path.display()))
        }
        _ => Failure::unwritten(&path.display().to_string(), error),
    }
}

/// A temporary file in the same folder, so that renaming it is one step of the file system.
fn unfinished_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".dplm-").suffix(".unfinished");
    // As any new file: the user's own mask decides who may read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

fn put_in_place(target: Target) -> io::Result<()> {
    match target {
        Target::Stdout(mut stream) => stream.flush(),
        Target::Device(mut file) => file.flush(),
        Target::File { unfinished, path } => {
            let unfinished = unfinished.into_inner().map_err(io::IntoInnerError::into_error)?;
            unfinished.as_file().sync_all()?;
            unfinished.persist(path).map(|_| ()).map_err(|error| error.error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn nothing_is_seen_before_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fit.json");
        fs::write(&path, "old").expect("written");
        let mut output = Output::open(&Destination::File(path.clone())).expect("open");
        output.write_all(b"half").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("readable"), "old");
        drop(output);
        assert_eq!(names(folder.path()), ["fit.json"]);
        Output::open(&Destination::File(path.clone())).expect("open").finish_with("new").expect("in place");
        assert_eq!(fs::read_to_string(&path).expect("readable"), "new");
        assert_eq!(names(folder.path()), ["fit.json"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "kept").expect("written");
        std::os::unix::fs::symlink(&target, &link).expect("linked");
        let refusal = Output::open(&Destination::File(link)).err().expect("refused");
        assert_eq!(refusal.status(), 1);
        assert_eq!(fs::read_to_string(&target).expect("readable"), "kept");
    }

    #[test]
    fn folders_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(Output::open(&Destination::File(folder.path().to_owned())).is_err());
        let missing = Output::open(&Destination::File(folder.path().join("no/such.json"))).err().expect("refused");
        assert!(missing.to_string().contains("does not exist"), "{missing}");
    }
}
