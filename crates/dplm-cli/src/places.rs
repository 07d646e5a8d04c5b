//! The files of a run: what it reads, where its results go, and that no result replaces what it was
//! made of or paid from.
//!
//! The places are collected from the definitions of the commands: an argument that is a file or a
//! folder has one of the types of this module (or is a [`Destination`]), and one check before
//! anything is read goes over all of them. A test refuses an argument that is a bare path.

use std::{
    any::TypeId,
    ffi::OsString,
    fs, io,
    ops::Deref,
    path::{self, Path, PathBuf},
};

use clap::{
    Arg, ArgMatches, Command, ValueHint,
    builder::{MapValueParser, PathBufValueParser, TypedValueParser, ValueParserFactory},
};
use dplm::table;
use dplm_ledger::mandatory_ledger;

use crate::{exit::Failure, output::Destination};

/// What SQLite adds to the name of a ledger for the files that it keeps beside it.
const JOURNALS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// A type of argument that is a path.
macro_rules! path_type {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub struct $name(PathBuf);

        impl Deref for $name {
            type Target = Path;

            fn deref(&self) -> &Path {
                &self.0
            }
        }

        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                &self.0
            }
        }

        impl From<$name> for PathBuf {
            fn from(path: $name) -> PathBuf {
                path.0
            }
        }

        impl ValueParserFactory for $name {
            type Parser = MapValueParser<PathBufValueParser, fn(PathBuf) -> $name>;

            fn value_parser() -> Self::Parser {
                PathBufValueParser::new().map($name as fn(PathBuf) -> $name)
            }
        }
    };
}

path_type! {
    /// Data: a file, a folder or a pattern of them, or `-`.
    DataInput
}
path_type! {
    /// A ledger, which is read and added to.
    LedgerInput
}
path_type! {
    /// A file that is read whole: a saved fit, a model, moments, a study, a copy of a ledger.
    InputFile
}
path_type! {
    /// A folder whose files are read, and only added to.
    InputFolder
}
path_type! {
    /// A file that is made, and must not be there yet.
    NewFile
}
path_type! {
    /// A folder that files are written to.
    OutputFolder
}

/// What a command line reads and writes.
#[derive(Debug, Default)]
pub struct Places {
    inputs: Vec<Input>,
    data: Vec<DataInput>,
    outputs: Vec<Output>,
}

/// A file that is read.
#[derive(Clone, Debug)]
struct Input {
    path: PathBuf,
    what: &'static str,
}

/// Where a result goes.
#[derive(Debug)]
struct Output {
    /// The argument that says so, as it is typed.
    option: String,
    place: Destination,
}

impl Places {
    /// The places among what was typed, by the definition of the program.
    pub fn of(definition: &Command, typed: &ArgMatches) -> Places {
        let mut places = Places::default();
        let (mut definition, mut typed) = (Some(definition), Some(typed));
        while let (Some(command), Some(matches)) = (definition, typed) {
            command.get_arguments().for_each(|argument| places.add(argument, matches));
            let asked = matches.subcommand();
            definition = asked.and_then(|(name, _)| command.find_subcommand(name));
            typed = asked.map(|(_, matches)| matches);
        }
        places
    }

    fn add(&mut self, argument: &Arg, typed: &ArgMatches) {
        let id = argument.get_id().as_str();
        self.data.extend(values::<DataInput>(typed, id));
        let files = values::<InputFile>(typed, id).map(|file| Input { path: file.0, what: "which this command reads" });
        self.inputs.extend(files);
        self.inputs.extend(values::<LedgerInput>(typed, id).flat_map(|ledger| files_of_ledger(&ledger)));
        let new = values::<NewFile>(typed, id).map(|file| Destination::File(file.0));
        let places = values::<Destination>(typed, id).chain(new);
        self.outputs.extend(places.map(|place| Output { option: shown(argument), place }));
    }

    /// Refuses results that would replace what they are made of, or each other.
    ///
    /// Files are told apart by what they are and not by their names. What does not exist is left
    /// to the command, which says so.
    ///
    /// # Errors
    /// For the first such result.
    pub fn check(&self) -> Result<(), Failure> {
        let data = self.data.iter().flat_map(|input| table::files_named(input).unwrap_or_default());
        let data = data.map(|path| Input { path, what: "which holds the data" });
        let mandatory = mandatory_ledger().ok().flatten().map_or(Vec::new(), |file| files_of_ledger(&file));
        let inputs =
            self.inputs.iter().cloned().chain(mandatory).chain(data).map(|input| (Spot::of(&input.path), input));
        let inputs: Vec<(Spot, Input)> = inputs.collect();
        for (index, output) in self.outputs.iter().enumerate() {
            output.check_apart(&self.outputs[..index])?;
            output.check_spares(&inputs)?;
            output.check_joins_no(&self.data)?;
        }
        Ok(())
    }
}

impl Output {
    fn check_apart(&self, others: &[Output]) -> Result<(), Failure> {
        match others.iter().find(|other| self.place.is_same(&other.place)) {
            Some(Output { option, place }) => {
                Err(Failure::Usage(format!("{option} and {} cannot both go to {place}: name two places", self.option)))
            }
            None => Ok(()),
        }
    }

    fn check_spares(&self, inputs: &[(Spot, Input)]) -> Result<(), Failure> {
        let Destination::File(path) = &self.place else { return Ok(()) };
        let spot = Spot::of(path);
        match inputs.iter().find(|(input, _)| spot.is_same(input)) {
            Some((_, Input { path, what })) => Err(Failure::Usage(format!(
                "{}, {what}, would be overwritten by {}: name another file",
                path.display(),
                self.option
            ))),
            None => Ok(()),
        }
    }

    /// A result among the data would be read with them by the next run.
    fn check_joins_no(&self, data: &[DataInput]) -> Result<(), Failure> {
        let Destination::File(path) = &self.place else { return Ok(()) };
        let joined =
            data.iter().find(|input| matches!(Spot::of(path), Spot::New(_)) && table::would_be_named(input, path));
        match joined {
            Some(input) => Err(Failure::Usage(format!(
                "{} of {} would be read as data with {} the next time: name a file in another folder",
                path.display(),
                self.option,
                input.display()
            ))),
            None => Ok(()),
        }
    }
}

impl Destination {
    fn is_same(&self, other: &Destination) -> bool {
        match (self, other) {
            (Destination::Stdout, Destination::Stdout) => true,
            (Destination::File(one), Destination::File(other)) => Spot::of(one).is_same(&Spot::of(other)),
            _ => false,
        }
    }
}

/// What is at a path.
#[derive(Debug, PartialEq)]
enum Spot {
    /// A file, whatever its names: its device and its number there.
    File(u64, u64),
    /// Nothing yet; or a file that does not say which it is.
    New(PathBuf),
    /// A folder, a device or a pipe, none of which a result replaces.
    Other,
}

impl Spot {
    fn of(path: &Path) -> Spot {
        match fs::metadata(path) {
            Ok(found) if !found.is_file() => Spot::Other,
            Ok(found) => identity(path, &found).map_or_else(|_| Spot::by_name(path), |(on, at)| Spot::File(on, at)),
            Err(_) => Spot::by_name(path),
        }
    }

    /// The folder with its links resolved, and the name in it.
    fn by_name(path: &Path) -> Spot {
        let Some(name) = path.file_name() else { return Spot::Other };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).or_else(|_| path::absolute(folder));
        Spot::New(folder.unwrap_or_default().join(without_case(name.to_owned())))
    }

    fn is_same(&self, other: &Spot) -> bool {
        *self != Spot::Other && self == other
    }
}

/// The name as the file system compares it: Windows and macOS do not tell cases apart.
fn without_case(name: OsString) -> OsString {
    match name.to_str() {
        Some(text) if cfg!(any(windows, target_os = "macos")) => text.to_lowercase().into(),
        _ => name,
    }
}

#[cfg(unix)]
fn identity(_: &Path, found: &fs::Metadata) -> io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Ok((found.dev(), found.ino()))
}

#[cfg(windows)]
fn identity(path: &Path, _: &fs::Metadata) -> io::Result<(u64, u64)> {
    let found = winapi_util::file::information(fs::File::open(path)?)?;
    Ok((found.volume_serial_number(), found.file_index()))
}

/// A ledger, and what SQLite keeps beside it.
fn files_of_ledger(ledger: &Path) -> Vec<Input> {
    let file = fs::canonicalize(ledger).unwrap_or_else(|_| ledger.to_owned());
    let journal = |ending: &&str| {
        let mut name = file.clone().into_os_string();
        name.push(ending);
        Input { path: name.into(), what: "which belongs to the ledger" }
    };
    let journals = JOURNALS.iter().map(journal).collect();
    [vec![Input { path: ledger.to_owned(), what: "which is the ledger" }], journals].concat()
}

/// What was typed for an argument, where it is of this type.
fn values<T: Clone + Send + Sync + 'static>(typed: &ArgMatches, id: &str) -> impl Iterator<Item = T> {
    typed.try_get_many::<T>(id).ok().flatten().into_iter().flatten().cloned()
}

/// The name of an argument as it is typed.
fn shown(argument: &Arg) -> String {
    let value = || argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    argument.get_long().map(|name| format!("--{name}")).or_else(value).unwrap_or_default()
}

/// Says of each argument that is a place what a shell should complete it with.
pub fn hinted(definition: Command) -> Command {
    let hint = |argument: Arg| match is_of::<InputFolder>(&argument) || is_of::<OutputFolder>(&argument) {
        true => argument.value_hint(ValueHint::DirPath),
        false if is_place(&argument) => argument.value_hint(ValueHint::AnyPath),
        false => argument,
    };
    definition.mut_args(hint).mut_subcommands(hinted)
}

fn is_place(argument: &Arg) -> bool {
    is_of::<DataInput>(argument)
        || is_of::<LedgerInput>(argument)
        || is_of::<InputFile>(argument)
        || is_of::<NewFile>(argument)
        || is_of::<Destination>(argument)
}

fn is_of<T: 'static>(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<T>()
}
