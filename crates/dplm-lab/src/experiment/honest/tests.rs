//! The grid on a few small cells, and the verdicts.

use super::*;
use crate::{
    definition::{Changes, Definition},
    record::Record,
    run,
};

/// Two designs with clear results at this size.
const SMALL: &str = r#"
    kind = "honest"
    title = "a small grid"
    paper = "none"
    grid = [
        { designs = ["controls 2"], errors = ["normal", "missing 0.05"], n = [3000], rho = [0.5], targets = ["default", "sample"], repetitions = 60 },
    ]
    band = [0.93, 0.98]
    alarm = 1e-6
    reasons = []
    limits = [{ which = { design = "controls 2" }, measure = "printed", least = 0.99 }]
    population_rows = 200000
    tables = ""
    before = ""
    seed = 5
"#;

fn finished(text: &str) -> (Definition, Vec<Finished>) {
    let definition = Definition::read("small", text, &Changes::default()).unwrap();
    let mut record = Record::read("", "small").unwrap();
    let done = run::measure(&definition, &mut record, &indicatif::ProgressBar::hidden()).unwrap();
    (definition, done)
}

/// False alarms: six lines are judged low or high with probability 1e-6 each where coverage is
/// within the band.
#[test]
fn independent_columns_are_printed_and_covered() {
    let (definition, done) = finished(SMALL);
    let claims = run::judge(&definition, &done);
    let table = definition.experiment.table(&done);
    let failed: Vec<_> = claims.iter().filter(|claim| !claim.holds && !claim.claim.contains("JSON")).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    // Two kinds of errors, two targets, three terms.
    assert_eq!(table.rows.len(), 12);
    assert!(table.rows.iter().all(|row| row.len() == COLUMNS.len()));
    let column = |name: &str| COLUMNS.iter().position(|column| *column == name).unwrap();
    for row in &table.rows {
        let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
        assert!(number("printed") > 0.99 && number("judged") == 60.0 * number("printed"), "{row:?}");
        assert!(number("length") > 0.1 && number("length") < 3.0 && number("rmse") < 3.0, "{row:?}");
        assert!(number("passes") > 5.0 && number("refused") == 0.0, "{row:?}");
    }
}

/// Outcomes of which there are two: by rows, by persons, and told by a column.
const OUTCOMES: &str = r#"
    kind = "honest"
    title = "a small grid of logits"
    paper = "none"
    grid = [
        { designs = ["controls 2"], errors = ["logit 0.4", "persons 2 logit 0.4", "curved logit 0.5"], n = [4000], rho = [1.0], targets = ["default"], repetitions = 24 },
        { designs = ["controls 2"], errors = ["separated 0.5"], n = [4000], rho = [0.1], targets = ["default"], repetitions = 6 },
    ]
    band = [0.93, 0.98]
    alarm = 1e-6
    reasons = []
    limits = [
        { which = { errors = "logit 0.4" }, measure = "printed", least = 1.0 },
        { which = { errors = "logit 0.4" }, measure = "length", most = 1.2 },
        { which = { errors = "logit 0.4" }, measure = "misfit", most = 0.1 },
        { which = { errors = "separated 0.5", term = "x1" }, measure = "printed", most = 0.5 },
    ]
    population_rows = 100000
    tables = ""
    before = ""
    seed = 7
"#;

/// False alarms: nine lines are judged low or high with probability 1e-6 each where coverage is
/// within the band. A separated coefficient is printed with a probability of at most 5 %: four of
/// six are with less than 1e-4.
#[test]
fn logits_are_judged_by_maximum_likelihood() {
    let (definition, done) = finished(OUTCOMES);
    let failed: Vec<_> = run::judge(&definition, &done).into_iter().filter(|claim| !claim.holds).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let table = definition.experiment.table(&done);
    let column = |name: &str| COLUMNS.iter().position(|column| *column == name).unwrap();
    // A line for each kind of outcome and each of three terms.
    assert_eq!(table.rows.len(), 12);
    for row in table.rows.iter().filter(|row| row[1] != "separated 0.5") {
        assert_eq!(row[column("judged")], "24", "{row:?}");
    }
}

/// Where one coefficient is of interest, it alone is judged, of the model without the controls that
/// the fit names. False alarms: two lines are judged low or high with probability 1e-6 each where
/// coverage is within the band.
#[test]
fn a_coefficient_of_interest_is_judged_given_the_controls_that_are_left() {
    let focus = r#"
        { designs = ["controls 6"], errors = ["normal"], n = [4000], rho = [0.3], targets = ["robust"], focus = "x2", repetitions = 40 },
        { designs = ["twins 0.01 6"], errors = ["normal"], n = [4000], rho = [0.3], targets = ["robust"], focus = "x", repetitions = 40 },
    "#;
    let (start, end) = (SMALL.find("grid = [").unwrap(), SMALL.find("    band =").unwrap());
    let text = format!("{}grid = [{focus}]\n{}", &SMALL[..start], &SMALL[end..]);
    let (definition, done) = finished(&text.replace(r#"design = "controls 2""#, r#"design = "controls 6""#));
    let failed: Vec<_> = run::judge(&definition, &done).into_iter().filter(|claim| !claim.holds).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let rows = definition.experiment.table(&done).rows;
    let column = |name: &str| COLUMNS.iter().position(|column| *column == name).unwrap();
    let terms: Vec<&str> = rows.iter().map(|row| row[column("term")].as_str()).collect();
    assert_eq!(terms, ["others", "x"]);
    for row in &rows {
        let number = |name: &str| row[column(name)].parse::<f64>().unwrap();
        assert!(number("judged") == 40.0 && number("length") < 1.6 && number("refused") == 0.0, "{row:?}");
    }
    assert!(definition.experiment.points().iter().all(|point| point.key.contains(" focus=x")));
}

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let definition = Definition::read("small", SMALL, &Changes::default()).unwrap();
    let experiment = definition.experiment.as_ref();
    let point = experiment.points().remove(0);
    // Repetitions without a detailed check have no empty measures.
    let numbers = |repetition| format!("{:?}", experiment.repeat(&point, repetition).unwrap());
    assert_eq!(numbers(30), numbers(30));
    assert_ne!(numbers(30), numbers(31));
}

/// Numbers in the form of a record: one term of one cell.
fn made_up(printed: f64, judged: f64, covered: f64) -> Values {
    let values = [("place", 0.0), ("printed", printed), ("judged", judged), ("covered", covered), ("effect", 1.0)];
    values.iter().map(|(name, value)| (format!("x1.{name}"), *value)).collect()
}

fn verdicts(text: &str, values: &[Values]) -> (Vec<String>, Vec<bool>) {
    let definition = Definition::read("made up", text, &Changes::default()).unwrap();
    let points = definition.experiment.points();
    let done: Vec<Finished> =
        points.into_iter().zip(values).map(|(point, values)| Finished { point, values: values.clone() }).collect();
    let table = definition.experiment.table(&done);
    let verdicts = table.rows.iter().map(|row| row.last().unwrap().clone()).collect();
    (verdicts, run::judge(&definition, &done).iter().map(|claim| claim.holds).collect())
}

#[test]
fn what_lies_outside_the_band_fails_unless_there_is_a_reason() {
    let values =
        [made_up(1.0, 500.0, 475.0), made_up(1.0, 500.0, 400.0), made_up(1.0, 800.0, 800.0), made_up(0.0, 0.0, 0.0)];
    let (found, holds) = verdicts(SMALL, &values);
    assert_eq!(found, ["holds", "too low", "too high", "nothing printed"]);
    assert_eq!(holds[..2], [false, false]);
    let reasons = r#"reasons = [
        { which = { target = "sample", errors = "normal" }, allows = "low", why = "few rows, wide bounds" },
        { allows = "high", why = "any" },
    ]"#;
    let (found, holds) = verdicts(&SMALL.replace("reasons = []", reasons), &values);
    assert_eq!(found[1..3], ["allowed: few rows; wide bounds", "allowed: any"]);
    assert_eq!(holds[..2], [true, true]);
}

/// Thirteen of twenty may be chance in one cell (probability 3e-4 at 93 %), but not in four.
#[test]
fn what_is_printed_now_and_then_is_judged_together() {
    let four = |covered| [0; 4].map(|_| made_up(0.3, 20.0, covered));
    let (found, holds) = verdicts(SMALL, &four(13.0));
    assert_eq!(found, ["holds"; 4]);
    assert!(holds[0] && !holds[2]);
    assert!(verdicts(SMALL, &four(19.0)).1[2]);
    // A coefficient that is usually printed is not rare.
    assert!(verdicts(SMALL, &four(13.0).map(|one| one.into_iter().chain([("x1.printed".into(), 0.6)]).collect())).1[2]);
}

#[test]
fn less_printed_at_a_larger_budget_is_named() {
    let text = SMALL.replace("rho = [0.5]", "rho = [0.1, 0.5]").replace(r#"["default", "sample"]"#, r#"["sample"]"#);
    let claim = "what is printed grows with the budget";
    let holds = |first: f64, second: f64| {
        let definition = Definition::read("made up", &text, &Changes::default()).unwrap();
        let shares = [first, second, 1.0, 1.0].map(|printed| made_up(printed, 10.0, 10.0));
        let done: Vec<Finished> = definition
            .experiment
            .points()
            .into_iter()
            .zip(shares)
            .map(|(point, values)| Finished { point, values })
            .collect();
        run::judge(&definition, &done).into_iter().find(|one| one.claim == claim).unwrap().holds
    };
    assert!(holds(0.2, 0.9) && holds(0.9, 0.85));
    assert!(!holds(0.9, 0.2));
}

#[test]
fn an_earlier_table_is_drawn_beside_this_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.csv");
    let line = "controls 2,normal,3000,0.5,default,x1,60,1,60,0.5,0.06,1.1,1.1,0,0,30,0,0,0,0,too low";
    std::fs::write(&file, format!("{}\n{line}\n", COLUMNS.join(","))).unwrap();
    let text = SMALL.replace("before = \"\"", &format!("before = \"{}\"", file.display()));
    let definition = Definition::read("made up", &text, &Changes::default()).unwrap();
    let point = definition.experiment.points().remove(0);
    let done = [Finished { point, values: made_up(1.0, 500.0, 475.0) }];
    let svg = definition.experiment.figure(&done).svg("t");
    assert!(svg.contains("default, before") && svg.contains("controls 2"));
}

#[test]
fn a_grid_that_names_nothing_known_is_refused() {
    for (from, to) in [("controls 2", "contrls 2"), ("\"normal\"", "\"nrmal\""), ("\"sample\"", "\"smple\"")] {
        let refused = Definition::read("small", &SMALL.replace(from, to), &Changes::default()).err();
        assert!(matches!(refused, Some(LabError::Definition { .. })), "{to}");
    }
}
