//! Experiments as small TOML files.
//!
//! A definition is a flat table: `kind`, `title` and `paper`, then the parameters of that kind. A
//! `[quick]` table holds what `--quick` changes. `--set key=value` changes any parameter; an
//! unknown key is refused.

use toml::{Table, Value};

use crate::{
    LabError,
    experiment::{
        Arena, Audit, ChoicesStudy, Clipping, Cost, Designs, Experiment, Honest, Intervals, MethodsAudit, Oracle,
        Ordinary, Population, Ratio, Study, Tolerance, Tradeoff,
    },
};

/// The definitions that ship with the program, in the order of the paper; then those that go beyond
/// it.
const BUILT_IN: [(&str, &str); 15] = [
    ("pn", include_str!("../definitions/pn.toml")),
    ("cost-low", include_str!("../definitions/cost-low.toml")),
    ("sqrtp", include_str!("../definitions/sqrtp.toml")),
    ("bias-variance", include_str!("../definitions/bias-variance.toml")),
    ("coverage", include_str!("../definitions/coverage.toml")),
    ("length", include_str!("../definitions/length.toml")),
    ("error-clip", include_str!("../definitions/error-clip.toml")),
    ("cost-high-p10", include_str!("../definitions/cost-high-p10.toml")),
    ("cost-high-p100", include_str!("../definitions/cost-high-p100.toml")),
    ("pn-aniso", include_str!("../definitions/pn-aniso.toml")),
    ("coverage-aniso", include_str!("../definitions/coverage-aniso.toml")),
    ("length-aniso", include_str!("../definitions/length-aniso.toml")),
    ("intervals", include_str!("../definitions/intervals.toml")),
    ("audit", include_str!("../definitions/audit.toml")),
    ("oracle", include_str!("../definitions/oracle.toml")),
];

/// Grids that judge printed results. They take longer and have their own records, so they run only
/// when named.
const GRIDS: [(&str, &str); 14] = [
    ("honest", include_str!("../definitions/honest.toml")),
    ("honest-fresh", include_str!("../definitions/honest-fresh.toml")),
    ("honest-logit", include_str!("../definitions/honest-logit.toml")),
    ("focus", include_str!("../definitions/focus.toml")),
    ("focus-fresh", include_str!("../definitions/focus-fresh.toml")),
    ("pn-ordinary", include_str!("../definitions/pn-ordinary.toml")),
    ("choices", include_str!("../definitions/choices.toml")),
    ("cases", include_str!("../definitions/cases.toml")),
    ("heavy", include_str!("../definitions/heavy.toml")),
    ("audit-methods", include_str!("../definitions/audit-methods.toml")),
    ("arena", include_str!("../definitions/arena.toml")),
    ("study", include_str!("../definitions/study.toml")),
    ("panels", include_str!("../definitions/panels.toml")),
    ("instruments", include_str!("../definitions/instruments.toml")),
];

/// A user's changes to a definition for one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Fewer points and repetitions: all fifteen figures in two minutes.
    pub quick: bool,
    /// Another seed.
    pub seed: Option<u64>,
    /// `key=value`, each changing one parameter.
    pub set: Vec<String>,
}

/// A figure and the experiment behind it.
pub struct Definition {
    /// The name of the figure.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The corresponding figure of the paper.
    pub paper: String,
    /// The definition as it was run, including changes.
    pub text: String,
    /// The experiment.
    pub experiment: Box<dyn Experiment>,
}

/// The names of the figures, in the order of the paper.
pub fn figures() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The names of all definitions: the figures, then the grids.
pub fn names() -> impl Iterator<Item = &'static str> {
    figures().chain(GRIDS.iter().map(|(name, _)| *name))
}

impl Definition {
    /// The definition of a figure that ships with the program.
    ///
    /// # Errors
    /// When there is no such figure, or a change does not fit it.
    pub fn built_in(name: &str, changes: &Changes) -> Result<Definition, LabError> {
        let found = BUILT_IN.iter().chain(&GRIDS).find(|(known, _)| *known == name);
        let (_, text) = found.ok_or_else(|| LabError::UnknownName { name: name.to_owned() })?;
        Definition::read(name, text, changes)
    }

    /// Reads a definition.
    ///
    /// # Errors
    /// When the text is not a definition, or a change does not fit it.
    pub fn read(name: &str, text: &str, changes: &Changes) -> Result<Definition, LabError> {
        let wrong = |reason: String| LabError::Definition { name: name.to_owned(), reason };
        let mut table: Table = text.parse().map_err(|error: toml::de::Error| wrong(error.message().to_owned()))?;
        let mut word = |key: &str| match table.remove(key) {
            Some(Value::String(word)) => Ok(word),
            _ => Err(wrong(format!("it needs a `{key}` in quotes"))),
        };
        let (kind, title, paper) = (word("kind")?, word("title")?, word("paper")?);
        let quick = table.remove("quick");
        let known: Vec<String> = table.keys().cloned().collect();
        if let (true, Some(Value::Table(quick))) = (changes.quick, quick) {
            table.extend(quick);
        }
        for given in &changes.set {
            let (key, value) = parse_setting(given)?;
            if !known.contains(&key) {
                return Err(wrong(format!("it has no `{key}`; it has {}", known.join(", "))));
            }
            table.insert(key, value);
        }
        if let Some(seed) = changes.seed {
            table.insert("seed".to_owned(), Value::Integer(seed.cast_signed()));
        }
        let text = as_run(&kind, &title, &paper, &table);
        let experiment = experiment(&kind, table).map_err(wrong)?;
        Ok(Definition { name: name.to_owned(), title, paper, text, experiment })
    }
}

/// A definition with its changes applied: it reads back as the same experiment.
fn as_run(kind: &str, title: &str, paper: &str, table: &Table) -> String {
    let words = [("kind", kind), ("title", title), ("paper", paper)];
    let heading: Table =
        words.map(|(key, word)| (key.to_owned(), Value::String(word.to_owned()))).into_iter().collect();
    format!("{heading}{table}")
}

fn experiment(kind: &str, table: Table) -> Result<Box<dyn Experiment>, String> {
    fn of<E: Experiment + serde::de::DeserializeOwned + 'static>(table: Table) -> Result<Box<dyn Experiment>, String> {
        let experiment: E =
            Value::Table(table).try_into().map_err(|error: toml::de::Error| error.message().to_owned())?;
        Ok(Box::new(experiment))
    }
    match kind {
        "ratio" => of::<Ratio>(table),
        "cost" => of::<Cost>(table),
        "clipping" => of::<Clipping>(table),
        "tradeoff" => of::<Tradeoff>(table),
        "intervals" => of::<Intervals>(table),
        "tolerance" => of::<Tolerance>(table),
        "population" => of::<Population>(table),
        "audit" => of::<Audit>(table),
        "methods-audit" => of::<MethodsAudit>(table),
        "oracle" => of::<Oracle>(table),
        "ordinary" => of::<Ordinary>(table),
        "honest" => of::<Honest>(table),
        "choices" => of::<ChoicesStudy>(table),
        "arena" => of::<Arena>(table),
        "study" => of::<Study>(table),
        "designs" => of::<Designs>(table),
        other => Err(format!("there is no kind `{other}`")),
    }
}

/// `key=value`, the value as TOML, or as a word.
fn parse_setting(given: &str) -> Result<(String, Value), LabError> {
    let (key, value) = given.split_once('=').ok_or_else(|| LabError::Setting { given: given.to_owned() })?;
    let (key, value) = (key.trim(), value.trim());
    let parsed = format!("value = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
    Ok((key.to_owned(), parsed.unwrap_or_else(|| Value::String(value.to_owned()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_reads_quick_and_full() {
        for name in names() {
            let full = Definition::built_in(name, &Changes::default()).unwrap();
            let quick = Definition::built_in(name, &Changes { quick: true, ..Changes::default() }).unwrap();
            let work =
                |d: &Definition| d.experiment.points().iter().map(|p| p.cells * u64::from(p.repetitions)).sum::<u64>();
            assert!(work(&quick) * 3 < work(&full), "{name}");
        }
    }

    fn changed(set: &str) -> Result<Definition, LabError> {
        Definition::built_in("cost-low", &Changes { set: vec![set.to_owned()], ..Changes::default() })
    }

    #[test]
    fn any_parameter_can_be_set() {
        let points = changed("n=[500, 700]").unwrap().experiment.points();
        assert!(points[0].key.contains("n=500") && points.len() == 2);
        assert!(changed("rho=0.25").unwrap().experiment.points()[0].key.contains("rho=0.25"));
        assert!(changed("design=anisotropic").unwrap().experiment.points()[0].key.contains("design=1"));
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let message = |set| changed(set).err().expect("refused").to_string();
        assert!(message("gamma=3").contains("no `gamma`"));
        assert!(message("nonsense").contains("key=value"));
        assert!(message("rho=much").contains("cost-low"));
        let unknown = Definition::built_in("nothing", &Changes::default()).err().expect("refused");
        assert!(matches!(unknown, LabError::UnknownName { .. }));
    }

    #[test]
    fn a_definition_as_run_reads_back() {
        for name in names() {
            let changes = Changes { quick: true, seed: Some(3), ..Changes::default() };
            let run = Definition::built_in(name, &changes).unwrap();
            let again = Definition::read(name, &run.text, &Changes::default()).unwrap();
            assert_eq!(run.experiment.points(), again.experiment.points());
            assert_eq!(run.title, again.title);
        }
    }

    #[test]
    fn a_seed_changes_every_key() {
        let keys = |seed| {
            let definition = Definition::built_in("pn", &Changes { seed, ..Changes::default() }).unwrap();
            definition.experiment.points().into_iter().map(|point| point.key).collect::<Vec<_>>()
        };
        assert!(keys(None).iter().zip(keys(Some(77))).all(|(a, b)| *a != b));
    }
}
