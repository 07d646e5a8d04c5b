//! From definitions to numbers, pictures and verdicts.

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use crate::{
    LabError,
    claim::{self, Claim, Claims},
    definition::{self, Changes, Definition},
    draw,
    experiment::{Experiment, Finished, Measures, Point, Table},
    page,
    record::Record,
};

/// Data sets larger than this are simulated one after the other, each on all cores; smaller ones in
/// parallel.
const LARGE: u64 = 10_000_000;

/// Measures the points that the record lacks and returns all points.
///
/// A point is added to the record as soon as its repetitions are done, so an interrupted run
/// resumes where it stopped.
///
/// # Errors
/// When a fit is refused or the record cannot be written.
pub fn measure(definition: &Definition, record: &mut Record, bar: &ProgressBar) -> Result<Vec<Finished>, LabError> {
    let experiment = definition.experiment.as_ref();
    for point in missing(experiment, record) {
        let values = experiment.summarise(&point, &repeat(experiment, &point, bar)?);
        record.add(point.key, values)?;
    }
    from_record(definition, record, "memory")
}

fn missing(experiment: &dyn Experiment, record: &Record) -> Vec<Point> {
    experiment.points().into_iter().filter(|point| record.get(&point.key).is_none()).collect()
}

/// All repetitions of a point, in order.
fn repeat(experiment: &dyn Experiment, point: &Point, bar: &ProgressBar) -> Result<Vec<Measures>, LabError> {
    let one = |repetition| {
        let measures = experiment.repeat(point, repetition);
        bar.inc(point.cells);
        measures
    };
    experiment.prepare(point)?;
    let repetitions = 0..u64::from(point.repetitions);
    if point.cells > LARGE { repetitions.map(one).collect() } else { repetitions.into_par_iter().map(one).collect() }
}

/// The points of a definition with the numbers of a record.
///
/// # Errors
/// When the record lacks a point.
pub fn from_record(definition: &Definition, record: &Record, folder: &str) -> Result<Vec<Finished>, LabError> {
    let found = |point: Point| match record.get(&point.key) {
        Some(values) => Ok(Finished { values: values.clone(), point }),
        None => Err(LabError::NotInRecord { name: definition.name.clone(), folder: folder.to_owned() }),
    };
    definition.experiment.points().into_iter().map(found).collect()
}

/// The verdicts on a figure.
pub fn judge(definition: &Definition, done: &[Finished]) -> Vec<Claim> {
    let mut claims = Claims::of(&definition.name);
    definition.experiment.claims(done, &mut claims);
    claims.into_vec()
}

/// Runs figures and writes everything about them to a folder; `tell` receives the verdicts on each
/// as they come.
///
/// # Errors
/// When there is no such figure, a change does not fit, a fit is refused, or a file cannot be
/// written.
pub fn run(
    names: &[String],
    changes: &Changes,
    folder: &Path,
    tell: &mut dyn FnMut(&Definition, &[Claim]),
) -> Result<(), LabError> {
    let definitions = load(names, changes)?;
    let mut record = Record::open(folder)?;
    let bar = progress(&definitions, &record);
    // The commit is that of the measuring program: the sources may change meanwhile.
    let meta = page::meta(changes);
    for definition in &definitions {
        bar.set_message(definition.name.clone());
        let done = measure(definition, &mut record, &bar)?;
        let claims = judge(definition, &done);
        write(folder, &format!("{}.toml", definition.name), definition.text.as_bytes())?;
        write_figure(folder, definition, &done)?;
        claim::append(folder, &definition.name, &claims)?;
        bar.suspend(|| tell(definition, &claims));
    }
    bar.finish_and_clear();
    // A record that was only judged and drawn again keeps the version that measured it.
    let measured = bar.length().is_some_and(|cells| cells > 0);
    if measured || page::read_meta(folder).is_null() {
        page::write_meta(folder, &meta)?;
    }
    page::write_pages(folder, &recorded(folder)?, &claim::read(folder)?, &page::read_meta(folder))
}

/// The definitions of these names; `all` stands for every figure.
fn load(names: &[String], changes: &Changes) -> Result<Vec<Definition>, LabError> {
    let all = names.iter().any(|name| name == "all");
    let names: Vec<&str> =
        if all { definition::figures().collect() } else { names.iter().map(String::as_str).collect() };
    names.into_iter().map(|name| Definition::built_in(name, changes)).collect()
}

/// A bar on a terminal, silent elsewhere; it counts cells, which is roughly time.
fn progress(definitions: &[Definition], record: &Record) -> ProgressBar {
    let points = definitions.iter().flat_map(|one| missing(one.experiment.as_ref(), record));
    let bar = ProgressBar::new(points.map(|point| point.cells * u64::from(point.repetitions)).sum());
    let style = ProgressStyle::with_template("{msg:16} [{bar:32}] {percent:>3} %  {elapsed} (about {eta} left)");
    bar.set_style(style.expect("the template is a constant").progress_chars("=> "));
    bar
}

/// The figures a folder has a definition of, in the order of the paper.
///
/// # Errors
/// When a definition cannot be read.
pub fn recorded(folder: &Path) -> Result<Vec<Definition>, LabError> {
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).ok()?;
        Some(Definition::read(name, &text, &Changes::default()))
    };
    definition::names().filter_map(read).collect()
}

/// Draws the figures of a record into another folder, with the page that shows them.
///
/// # Errors
/// When the record lacks a point or a file cannot be written.
pub fn redraw(record_folder: &Path, folder: &Path) -> Result<(), LabError> {
    let shown = record_folder.display().to_string();
    let definitions = recorded(record_folder)?;
    if definitions.is_empty() {
        return Err(LabError::NoRecord { folder: shown });
    }
    let record = Record::open(record_folder)?;
    std::fs::create_dir_all(folder).map_err(|error| LabError::file(folder, error))?;
    let mut claims = Vec::new();
    for definition in &definitions {
        let done = from_record(definition, &record, &shown)?;
        write_figure(folder, definition, &done)?;
        claims.extend(judge(definition, &done));
    }
    page::write_pages(folder, &definitions, &claims, &page::read_meta(record_folder))
}

fn write_figure(folder: &Path, definition: &Definition, done: &[Finished]) -> Result<(), LabError> {
    let Definition { name, title, experiment, .. } = definition;
    let svg = experiment.figure(done).svg(title);
    write(folder, &format!("{name}.csv"), csv(&experiment.table(done)).as_bytes())?;
    write(folder, &format!("{name}.png"), &draw::png(name, &svg)?)?;
    write(folder, &format!("{name}.svg"), svg.as_bytes())
}

fn csv(table: &Table) -> String {
    let lines = table.rows.iter().map(|row| row.join(","));
    std::iter::once(table.columns.join(",")).chain(lines).map(|line| line + "\n").collect()
}

pub(crate) fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), LabError> {
    let path = folder.join(name);
    std::fs::write(&path, bytes).map_err(|error| LabError::file(&path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small enough for a test, and still the whole machinery.
    fn tiny() -> Changes {
        let set = ["n=[300, 600]", "repetitions=3", "steps=4"].map(str::to_owned).to_vec();
        Changes { set, ..Changes::default() }
    }

    fn run_into(folder: &Path, changes: &Changes) -> Vec<Claim> {
        let mut told = Vec::new();
        run(&["cost-low".to_owned()], changes, folder, &mut |_, claims| told.extend_from_slice(claims)).unwrap();
        told
    }

    fn read(folder: &Path, name: &str) -> String {
        std::fs::read_to_string(folder.join(name)).unwrap()
    }

    #[test]
    fn a_run_writes_everything_about_a_figure() {
        let folder = tempfile::tempdir().unwrap();
        let told = run_into(folder.path(), &tiny());
        let csv = read(folder.path(), "cost-low.csv");
        let mut lines = csv.lines();
        assert_eq!(lines.next(), Some("n,p,rho,reps,privacy_error,sampling_error,total_error"));
        assert!(lines.next().unwrap().starts_with("300,10,0.5,3,"));
        assert_eq!(lines.count(), 1);
        let picture = std::fs::read(folder.path().join("cost-low.png")).unwrap();
        assert!(crate::draw::pixels_of(&picture, "#0072B2") > 50, "a series is drawn");
        assert!(read(folder.path(), "cost-low.svg").ends_with("</svg>\n"));
        assert!(read(folder.path(), "cost-low.toml").contains("repetitions"));
        assert!(page::read_meta(folder.path())["dplm"].as_str().is_some_and(|version| version.contains('.')));
        assert_eq!(claim::read(folder.path()).unwrap(), told);
        assert!(read(folder.path(), "index.html").contains("cost-low.svg"));
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_seed_others() {
        let csv = |changes: &Changes| {
            let folder = tempfile::tempdir().unwrap();
            run_into(folder.path(), changes);
            read(folder.path(), "cost-low.csv")
        };
        assert_eq!(csv(&tiny()), csv(&tiny()));
        assert_ne!(csv(&tiny()), csv(&Changes { seed: Some(99), ..tiny() }));
    }

    #[test]
    fn threads_do_not_matter() {
        let csv = |threads| {
            let folder = tempfile::tempdir().unwrap();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run_into(folder.path(), &tiny()));
            read(folder.path(), "cost-low.csv")
        };
        assert_eq!(csv(1), csv(3));
    }

    #[test]
    fn finished_points_are_not_measured_again() {
        let folder = tempfile::tempdir().unwrap();
        run_into(folder.path(), &tiny());
        let path = folder.path().join(crate::record::POINTS);
        let text = std::fs::read_to_string(&path).unwrap();
        // The first point with an impossible number, and the second not finished.
        let (first, _) = text.split_once('\n').unwrap();
        let mut line: serde_json::Value = serde_json::from_str(first).unwrap();
        line["values"]["privacy"] = 123.0.into();
        std::fs::write(&path, format!("{line}\n")).unwrap();
        run_into(folder.path(), &tiny());
        std::fs::write(folder.path().join("meta.json"), "{\"dplm\":\"0.0.1\"}").unwrap();
        run_into(folder.path(), &tiny());
        assert!(read(folder.path(), "meta.json").contains("0.0.1"), "nothing was measured anew");
        let csv = read(folder.path(), "cost-low.csv");
        assert!(csv.lines().nth(1).unwrap().contains(",123,"), "{csv}");
        assert_eq!(csv.lines().count(), 3);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().nth(1), text.lines().nth(1));
    }

    #[test]
    fn a_record_can_be_redrawn_elsewhere() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        run_into(from.path(), &tiny());
        redraw(from.path(), to.path()).unwrap();
        for name in ["cost-low.csv", "cost-low.svg"] {
            assert_eq!(read(from.path(), name), read(to.path(), name));
        }
        assert!(matches!(redraw(to.path(), to.path()), Err(LabError::NoRecord { .. })));
    }
}
