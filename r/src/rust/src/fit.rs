//! A fit, and what may be asked of it. R keeps a fit as its JSON.
#![allow(unsafe_code)] // `#[savvy]` writes it, and tables are shared.

use std::fs;

use dplm::{
    report::{facts_json, grouped_to_json, summary, to_json, FitFileError},
    table::ReadOptions,
    Covariance, Coverage, Ends, Fit, Fitted, OverValue, Prediction, Progress, TTest, Warning,
};
use dplm_ledger::{paid_fit, RowsFrom};
use dplm_report::{to_html, Cover};
use dplm_simulate::pretend;
use savvy::{savvy, ListSexp, NullSexp, OwnedListSexp, OwnedLogicalSexp, Sexp};

use crate::{
    failure::{answer, Failure, Refusal},
    given::function,
    groups::warnings_of,
    pay::{check_account, Charged},
    request::Asked,
    table,
    value::{document, list, numbers, parsed, texts},
    work,
};

/// Reads and fits, each group where groups are asked for. With a ledger, it has the budget on disk
/// as spent before noise is drawn. `progress` is called with the stage, how much is done, and how
/// much there is.
#[savvy]
fn native_fit(described: ListSexp, said: ListSexp, progress: Sexp) -> savvy::Result<Sexp> {
    answer(|| {
        let asked = Asked::read(said)?;
        // SAFETY: the table is gone when this function returns.
        let table = unsafe { asked.rows(described) }?;
        let charged = Charged::default();
        let fitted = work::run_charged(asked.run.threads, function(progress).as_ref(), &charged, |signals| {
            let mut payer = charged.payer(&asked)?;
            Ok(paid_fit(&asked.fit, RowsFrom::Table(&table), &asked.run, &mut payer, signals)?)
        })?;
        match fitted {
            Fitted::One(fit) => {
                let warnings = fit.warnings.iter().filter(|one| !one.is_note());
                let warnings = warnings.map(|one| (matches!(one, Warning::FixedSeed), one.to_string()));
                told(to_json(&fit), warnings.collect(), asked.is_pretended(), &charged)
            }
            Fitted::Groups(fit) => told(grouped_to_json(&fit), warnings_of(&fit), asked.is_pretended(), &charged),
        }
    })
}

/// The JSON of a fit, and what a reader should know, each with whether it is about privacy itself.
/// Of simulated rows it is marked, and that is said first. What was `spent` is for an interrupt
/// that comes later.
pub fn told(
    json: String,
    mut warnings: Vec<(bool, String)>,
    is_pretended: bool,
    charged: &Charged,
) -> Result<Sexp, Failure> {
    if is_pretended {
        warnings.insert(0, (false, pretend::WARNING.to_owned()));
    }
    let json = pretend::marked_if(is_pretended, json, pretend::mark_json);
    let about_privacy: Vec<bool> = warnings.iter().map(|(about_privacy, _)| *about_privacy).collect();
    let sentences: Vec<&str> = warnings.iter().map(|(_, sentence)| sentence.as_str()).collect();
    Ok(list([
        ("json", &|| texts([&json])),
        ("about_privacy", &|| OwnedLogicalSexp::try_from_slice(&about_privacy)?.into()),
        ("warnings", &|| texts(&sentences)),
        ("spent", &|| texts([charged.tally().to_string()])),
    ])?)
}

/// The plan of a fit that is not made: the `document` of `dplm plan` where there is a forecast, and
/// its `warnings`. No cell is read, except identifiers of persons, and nothing is spent.
#[savvy]
fn native_dry_run(described: ListSexp, said: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        let asked = Asked::read(said)?;
        // SAFETY: the table is gone when this function returns.
        let table = unsafe { asked.rows(described) }?;
        check_account(&asked)?;
        let found = work::run(asked.run.threads, |signals| {
            let reading = |done, total| signals.reading(done, total);
            Ok(asked.fit.dry_run(&table, &asked.run, Progress::new(&reading))?)
        })?;
        let warnings: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
        Ok(list([("document", &|| document(&found.document())), ("warnings", &|| texts(&warnings))])?)
    })
}

/// The fit that a text is.
fn fit(json: &str) -> Result<Fit, Refusal> {
    Ok(Fit::from_json(json).map_err(dplm::Error::from)?)
}

/// What is made of a result, marked where the result is.
pub fn as_marked(json: &str, made: String, mark: fn(&str) -> String) -> String {
    pretend::marked_if(pretend::is_marked(json), made, mark)
}

/// The document of a fit without what is long.
#[savvy]
fn native_facts(json: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(parsed(&as_marked(json, facts_json(&fit(json)?), pretend::mark_json))?))
}

/// The summary of the command line.
#[savvy]
fn native_summary(json: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(texts([as_marked(json, summary(&fit(json)?), pretend::mark_text)])?))
}

/// The page of `--report`.
#[savvy]
fn native_page(json: &str, title: Option<&str>, author: Option<&str>, dataset: Option<&str>) -> savvy::Result<Sexp> {
    answer(|| {
        let [title, author, dataset] = [title, author, dataset].map(|text| text.map(str::to_owned));
        let page = to_html(&fit(json)?, &Cover { title, author, dataset });
        Ok(texts([as_marked(json, page, pretend::mark_page)])?)
    })
}

/// The JSON of a fit in a file.
#[savvy]
fn native_read(path: &str) -> savvy::Result<Sexp> {
    answer(|| Ok(texts([as_in_file(path, to_json(&Fit::load(path)?))])?))
}

/// The JSON of a result that was read from a file, marked where it is there.
pub fn as_in_file(path: &str, json: String) -> String {
    as_marked(&fs::read_to_string(path).unwrap_or_default(), json, pretend::mark_json)
}

/// Writes the JSON of a fit to a file.
#[savvy]
fn native_write(json: &str, path: &str) -> savvy::Result<Sexp> {
    answer(|| {
        fit(json)?;
        write(path, json)
    })
}

/// Writes a document to a file.
pub fn write(path: &str, json: &str) -> Result<Sexp, Failure> {
    let unwritten = |error: std::io::Error| dplm::Error::from(FitFileError::Unwritten { kind: error.kind() });
    fs::write(path, json).map_err(unwritten)?;
    Ok(NullSexp.into())
}

/// The `low` and `high` ends of each coefficient's interval; `NA` for one that is not identified.
#[savvy]
fn native_intervals(json: &str, level: f64) -> savvy::Result<Sexp> {
    answer(|| Ok(list_of_ends(&fit(json)?.intervals(level)?, "low", "high")?))
}

fn list_of_ends(found: &[Ends], low: &str, high: &str) -> savvy::Result<Sexp> {
    list([(low, &|| numbers(lows(found.iter()))), (high, &|| numbers(highs(found.iter())))])
}

fn lows<'a>(found: impl Iterator<Item = &'a Ends>) -> Vec<f64> {
    found.map(|ends| ends.map_or(f64::NAN, |(low, _)| low)).collect()
}

fn highs<'a>(found: impl Iterator<Item = &'a Ends>) -> Vec<f64> {
    found.map(|ends| ends.map_or(f64::NAN, |(_, high)| high)).collect()
}

/// The covariance of the identified coefficients: their `names` and its `values`, row by row;
/// `NULL` where none was released.
#[savvy]
fn native_covariance(json: &str) -> savvy::Result<Sexp> {
    answer(|| {
        let Some(Covariance { names, values, .. }) = fit(json)?.covariance() else { return Ok(NullSexp.into()) };
        Ok(list([("names", &|| texts(&names)), ("values", &|| numbers(values.concat()))])?)
    })
}

/// The columns that a prediction needs.
#[savvy]
fn native_predictors(json: &str) -> savvy::Result<Sexp> {
    answer(|| {
        let columns = fit(json)?.design.predictors();
        Ok(texts(columns.into_iter().map(|column| column.name).collect::<Vec<_>>())?)
    })
}

/// The mean response of each row.
#[savvy]
fn native_predict(json: &str, described: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        // SAFETY: the table is gone when this function returns.
        let (fit, table) = (fit(json)?, unsafe { table::source(described) }?);
        let found = work::run(None, |signals| {
            let reading = |done, total| signals.reading(done, total);
            let options = ReadOptions { progress: Progress::new(&reading), ..ReadOptions::default() };
            Ok(fit.predict(&table, &options)?)
        })?;
        Ok(numbers(found)?)
    })
}

/// What multiplies the coefficients in each row, one row after another, and what is added to their
/// sum; NaN in a row with a missing cell.
#[savvy]
fn native_design_rows(json: &str, described: ListSexp) -> savvy::Result<Sexp> {
    answer(|| {
        // SAFETY: the table is gone when this function returns.
        let (fit, table) = (fit(json)?, unsafe { table::source(described) }?);
        let found = work::run(None, |signals| {
            let reading = |done, total| signals.reading(done, total);
            let options = ReadOptions { progress: Progress::new(&reading), ..ReadOptions::default() };
            Ok(fit.design_rows(&table, &options)?)
        })?;
        let missing = (vec![f64::NAN; fit.coefficients.len()], f64::NAN);
        let (values, offsets): (Vec<Vec<f64>>, Vec<f64>) =
            found.into_iter().map(|row| row.unwrap_or_else(|| missing.clone())).unzip();
        Ok(list([("values", &|| numbers(values.concat())), ("offsets", &|| numbers(offsets.clone()))])?)
    })
}

/// The mean response of each row with its standard error, its interval, and where a person's
/// response falls.
#[savvy]
fn native_predict_intervals(json: &str, described: ListSexp, level: f64) -> savvy::Result<Sexp> {
    answer(|| {
        // SAFETY: the table is gone when this function returns.
        let (fit, table) = (fit(json)?, unsafe { table::source(described) }?);
        let found = work::run(None, |signals| {
            let reading = |done, total| signals.reading(done, total);
            let options = ReadOptions { progress: Progress::new(&reading), ..ReadOptions::default() };
            Ok(fit.predict_intervals(&table, &options, level)?)
        })?;
        Ok(predicted(&found.iter().collect::<Vec<_>>())?)
    })
}

fn predicted(found: &[&Prediction]) -> savvy::Result<Sexp> {
    let std_error = |one: &&Prediction| one.std_error.unwrap_or(f64::NAN);
    list([
        ("estimate", &|| numbers(found.iter().map(|one| one.estimate).collect::<Vec<_>>())),
        ("std_error", &|| numbers(found.iter().map(std_error).collect::<Vec<_>>())),
        ("low", &|| numbers(lows(found.iter().map(|one| &one.interval)))),
        ("high", &|| numbers(highs(found.iter().map(|one| &one.interval)))),
        ("person_low", &|| numbers(lows(found.iter().map(|one| &one.person)))),
        ("person_high", &|| numbers(highs(found.iter().map(|one| &one.person)))),
    ])
}

/// The mean response over a column: `at` its values, what is `predicted` there, and where the
/// others are `held`.
#[savvy]
fn native_over(
    json: &str,
    column: &str,
    names: savvy::StringSexp,
    values: savvy::StringSexp,
    level: f64,
    simultaneous: bool,
) -> savvy::Result<Sexp> {
    answer(|| {
        let coverage = if simultaneous { Coverage::Simultaneous } else { Coverage::Pointwise };
        let at: Vec<(String, String)> =
            names.iter().zip(values.iter()).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let found = fit(json)?.over(column, &at, level, coverage)?;
        let places: Vec<&OverValue> = found.points.iter().map(|point| &point.value).collect();
        let predictions: Vec<&Prediction> = found.points.iter().map(|point| &point.prediction).collect();
        Ok(list([
            ("at", &|| values_of(&places)),
            ("predicted", &|| predicted(&predictions)),
            ("held", &|| texts(&found.held)),
        ])?)
    })
}

fn values_of(places: &[&OverValue]) -> savvy::Result<Sexp> {
    let level = |place: &&OverValue| match place {
        OverValue::Level(level) => Some(level.clone()),
        OverValue::Number(_) => None,
    };
    let number = |place: &&OverValue| match place {
        OverValue::Number(number) => *number,
        OverValue::Level(_) => f64::NAN,
    };
    match places.iter().map(level).collect::<Option<Vec<String>>>() {
        Some(levels) => texts(levels),
        None => numbers(places.iter().map(number).collect::<Vec<_>>()),
    }
}

/// The tests of hypotheses, `each` by itself and all of them at once (`joint`, `NULL` where one is
/// not identified).
#[savvy]
fn native_test(json: &str, hypothesis: &str, level: f64) -> savvy::Result<Sexp> {
    answer(|| {
        let fit = fit(json)?;
        let hypothesis = fit.hypothesis(hypothesis)?;
        let names: Vec<&str> = hypothesis.equations().iter().map(|one| one.text.as_str()).collect();
        let (each, joint) = (fit.t_test(&hypothesis, level)?, fit.wald_test(&hypothesis)?.found);
        Ok(list([
            ("hypothesis", &|| texts(&names)),
            ("each", &|| tested(&each)),
            ("joint", &|| match &joint {
                None => NullSexp.into(),
                Some(joint) => numbers([joint.statistic, joint.df.unwrap_or(f64::INFINITY), joint.p_value]),
            }),
        ])?)
    })
}

fn tested(found: &[TTest]) -> savvy::Result<Sexp> {
    let mut columns = OwnedListSexp::new(6, true)?;
    let mut set = |place: usize, name: &str, of: &dyn Fn(&TTest) -> Option<f64>| {
        let cells: Vec<f64> = found.iter().map(|one| of(one).unwrap_or(f64::NAN)).collect();
        columns.set_name_and_value(place, name, numbers(cells)?)
    };
    set(0, "estimate", &|one| one.estimate)?;
    set(1, "std_error", &|one| one.precision.map(|one| one.std_error))?;
    set(2, "low", &|one| one.precision.map(|one| one.low))?;
    set(3, "high", &|one| one.precision.map(|one| one.high))?;
    set(4, "statistic", &|one| one.precision.map(|one| one.statistic))?;
    set(5, "p_value", &|one| one.precision.map(|one| one.p_value))?;
    columns.into()
}
