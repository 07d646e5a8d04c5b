//! `dplm lab`: the functions that the command line calls.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{
    LabError,
    claim::Claim,
    definition::{self, Changes, Definition},
    record::{POINTS, Record},
    run,
};

/// A request to `dplm lab`.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Names the figures.
    List,
    /// Runs figures, or resumes an interrupted run.
    Run {
        /// Their names; `all` for every one.
        names: Vec<String>,
        /// Changes to the definitions.
        changes: Changes,
        /// Where everything is written.
        out: PathBuf,
    },
    /// Judges every claim again from a record.
    Check {
        /// The folder of the record; the committed one if `None`.
        record: Option<PathBuf>,
    },
    /// Draws the figures of a record again.
    Draw {
        /// The folder of the record.
        record: PathBuf,
        /// Where the figures are written.
        out: PathBuf,
    },
}

/// Executes a command and writes its result to `out`; false if a checked claim does not hold.
///
/// # Errors
/// When the command fails.
pub fn command(command: &Command, out: &mut dyn Write) -> Result<bool, LabError> {
    match command {
        Command::List => list(out),
        Command::Run { names, changes, out: folder } => run_figures(names, changes, folder, out),
        Command::Check { record } => check(record.as_deref(), out),
        Command::Draw { record, out: folder } => run::redraw(record, folder).map(|()| true),
    }
}

fn list(out: &mut dyn Write) -> Result<bool, LabError> {
    for name in definition::names() {
        let Definition { title, paper, .. } = Definition::built_in(name, &Changes::default())?;
        say(out, &format!("{name:16} {title} ({paper})"))?;
    }
    Ok(true)
}

fn run_figures(names: &[String], changes: &Changes, folder: &Path, out: &mut dyn Write) -> Result<bool, LabError> {
    let mut failed = Ok(());
    run::run(names, changes, folder, &mut |definition, claims| {
        if failed.is_ok() {
            failed = tell(out, definition, claims);
        }
    })?;
    failed?;
    say(out, &format!("written to {}; open index.html there", folder.display()))?;
    Ok(true)
}

fn check(folder: Option<&Path>, out: &mut dyn Write) -> Result<bool, LabError> {
    let (definitions, record, shown) = match folder {
        Some(folder) => open(folder)?,
        None => committed()?,
    };
    let (mut held, mut count) = (0, 0);
    for definition in &definitions {
        let claims = run::judge(definition, &run::from_record(definition, &record, &shown)?);
        tell(out, definition, &claims)?;
        count += claims.len();
        held += claims.iter().filter(|claim| claim.holds).count();
    }
    say(out, &format!("{held} of {count} claims hold"))?;
    Ok(held == count)
}

type Opened = (Vec<Definition>, Record, String);

fn open(folder: &Path) -> Result<Opened, LabError> {
    let shown = folder.display().to_string();
    let definitions = run::recorded(folder)?;
    if definitions.is_empty() || !folder.join(POINTS).exists() {
        return Err(LabError::NoRecord { folder: shown });
    }
    Ok((definitions, Record::open(folder)?, shown))
}

/// The date of the record that ships with the program.
macro_rules! record_date {
    () => {
        "2026-11-15"
    };
}

/// The record that ships with the program, and the definitions it was made from.
fn committed() -> Result<Opened, LabError> {
    const TEXT: &str = include_str!(concat!("../record/", record_date!(), "/points.jsonl"));
    let name = "the committed record".to_owned();
    let built_in = |name| Definition::built_in(name, &Changes::default());
    let definitions = definition::figures().map(built_in).collect::<Result<_, LabError>>()?;
    Ok((definitions, Record::read(TEXT, &name)?, name))
}

fn tell(out: &mut dyn Write, definition: &Definition, claims: &[Claim]) -> Result<(), LabError> {
    say(out, &format!("{}: {}", definition.name, definition.title))?;
    for claim in claims {
        say(out, &format!("  {}  {}", claim.verdict(), claim.claim))?;
        say(out, &format!("        measured: {}", claim.measured))?;
        say(out, &format!("        required: {}", claim.required))?;
    }
    Ok(())
}

/// A reader that closed the output is not an error.
fn say(out: &mut dyn Write, line: &str) -> Result<(), LabError> {
    match writeln!(out, "{line}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(LabError::File { path: "standard output".to_owned(), source: error })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(asked: &Command) -> (bool, String) {
        let mut out = Vec::new();
        let holds = command(asked, &mut out).unwrap();
        (holds, String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_list_has_a_line_for_each_definition() {
        let (_, text) = output(&Command::List);
        assert_eq!(text.lines().count(), definition::names().count());
        assert!(text.lines().next().unwrap().starts_with("pn "));
    }

    #[test]
    fn check_says_whether_every_claim_holds() {
        let folder = tempfile::tempdir().unwrap();
        let set = ["n=[300, 600]", "repetitions=3", "steps=4"].map(str::to_owned).to_vec();
        let changes = Changes { set, ..Changes::default() };
        let out = folder.path().to_owned();
        output(&Command::Run { names: vec!["cost-low".into()], changes, out: out.clone() });
        let (holds, text) = output(&Command::Check { record: Some(out.clone()) });
        // Two points at 300 and 600 rows never reach the crossing.
        assert!(
            !holds && text.contains("FAIL") && text.contains("PASS  the error of sampling") | text.contains("FAIL")
        );
        assert!(text.contains("claims hold"));
    }

    #[test]
    fn an_empty_folder_is_no_record() {
        let folder = tempfile::tempdir().unwrap();
        let asked = Command::Check { record: Some(folder.path().to_owned()) };
        assert!(matches!(command(&asked, &mut Vec::new()), Err(LabError::NoRecord { .. })));
    }

    #[test]
    fn the_newest_record_is_the_one_that_ships() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
        let dates = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(dates.max().as_deref(), Some(record_date!()));
    }

    #[test]
    fn the_committed_record_is_judged_as_it_says() {
        let (holds, text) = output(&Command::Check { record: None });
        assert_eq!(holds, !text.contains("  FAIL  "));
        assert!(text.contains("error-clip"));
    }
}
