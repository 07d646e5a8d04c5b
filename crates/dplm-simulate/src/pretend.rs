//! Pretended fits: rows simulated from a formula's public facts, and marks on all results made of
//! them.

use std::io;

use dplm::{
    Person,
    formula::{By, Column, Formula, Kind, Weights},
    table::{Field, Schema, Source, Type},
};
use jiff::{ToSpan, civil::Date};
use serde::{Deserialize, de::IgnoredAny};

use crate::{Setting, SettingError, fresh_seed};

/// The mark on every result.
pub const MARK: &str = "PRETEND";
/// The meaning of the mark.
pub const SENTENCE: &str = "made of simulated rows that follow only the formula: no data were read, \
    nothing was spent, and the numbers say nothing about anybody";
/// The key in a document that holds the sentence.
pub const KEY: &str = "pretend";
/// The warning for a user who gets numbers without their marks.
pub const WARNING: &str = "this result was made of simulated rows: its numbers say nothing about anybody";
/// Why no ledger is charged.
pub const NO_LEDGER: &str = "simulated rows cost nothing, so no ledger pays for them: leave out the ledger";
/// The default number of simulated rows.
pub const USUAL_ROWS: u64 = 10_000;

/// Rows of each person, where persons are protected.
const ROWS_PER_PERSON: u64 = 4;
/// From the middle of public bounds to either end, in standard deviations: as a plan assumes.
const TO_EITHER_END: f64 = 3.0;
/// "pretend!": turns the seed of a fit's noise into another one for its rows, so that the two do
/// not draw the same numbers.
const ROWS_ARE_NOT_NOISE: u64 = 0x7072_6574_656e_6421;

/// The columns that a fit reads, which the simulated rows must have.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The model.
    pub formula: &'a Formula,
    /// The person column, if persons are protected.
    pub person: Option<&'a Person>,
    /// The weights.
    pub weights: Option<&'a Weights>,
    /// The groups that the model is fitted in.
    pub by: Option<&'a By>,
}

/// Why rows could not be simulated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PretendError {
    /// Zero rows were requested.
    #[error("simulate at least one row")]
    NoRows,
    /// The formula leaves its columns to a table.
    #[error("'.' stands for the columns of a table, and simulated rows have none: name them")]
    NoTable,
    /// There are more columns than can be drawn.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The system provided no seed.
    #[error(transparent)]
    Seed(io::Error),
    /// The formula is invalid, or the rows could not be stored.
    #[error(transparent)]
    Model(#[from] dplm::Error),
}

/// A table of simulated rows. Numbers are spread over the middle of their bounds, levels are about
/// equally common, and the features explain up to half of the variance of the response. With the
/// seed of a fit's noise, if it has one, the rows are the same everywhere.
///
/// # Errors
/// When the formula does not name its columns, or has too many.
pub fn source(asked: &Asked<'_>, rows: u64, seed: Option<u64>) -> Result<Source, PretendError> {
    if rows == 0 {
        return Err(PretendError::NoRows);
    }
    let columns = columns(asked)?;
    let seed = seed.map_or_else(fresh_seed, |seed| Ok(seed ^ ROWS_ARE_NOT_NOISE)).map_err(PretendError::Seed)?;
    let sample = Setting::new(columns.len() - 1).draw(seed)?.sample(rows);
    let mut csv =
        line(columns.iter().map(|column| quoted(&column.name)), asked.person.map(|person| quoted(&person.column)));
    for (number, (features, response)) in (0u64..).zip(sample.x.chunks(columns.len() - 1).zip(&sample.y)) {
        // The features and the errors each contribute variance 1 to the response.
        let deviates = std::iter::once(response / 2f64.sqrt()).chain(features.iter().copied());
        let cells = columns.iter().zip(deviates).map(|(column, deviate)| cell(&column.kind, deviate));
        csv += &line(cells, asked.person.map(|_| (number / ROWS_PER_PERSON).to_string()));
    }
    let table = Source::from_csv_stream(&mut csv.as_bytes(), "the simulated table").map_err(dplm::Error::from)?;
    Ok(table.simulated())
}

/// The columns of the model, the response first, then those of weights and groups.
fn columns(asked: &Asked<'_>) -> Result<Vec<Column>, PretendError> {
    let names = asked.formula.names().ok_or(PretendError::NoTable)?;
    let schema = Schema::new(names.into_iter().map(|name| Field::new(name, Type::Undeclared)).collect());
    let mut columns = asked.formula.resolve(&schema).map_err(dplm::Error::from)?.columns();
    let weights = asked.weights.map(|weights| Column {
        name: weights.name().to_owned(),
        kind: Kind::Bounded { low: 0.0, high: weights.most() },
    });
    let by = asked.by.map(|by| Column { name: by.name().to_owned(), kind: Kind::Levels(by.levels().to_vec()) });
    for column in weights.into_iter().chain(by) {
        if !columns.iter().any(|known| known.name == column.name) {
            columns.push(column);
        }
    }
    // An intercept-only model has no feature to draw.
    if columns.len() == 1 {
        columns.push(Column { name: "nothing else".to_owned(), kind: Kind::Standard });
    }
    Ok(columns)
}

/// A cell of a column, from a standard Gaussian deviate.
fn cell(kind: &Kind, deviate: f64) -> String {
    let within = |low: f64, high: f64| {
        (f64::midpoint(low, high) + deviate * (high - low) / (2.0 * TO_EITHER_END)).clamp(low, high)
    };
    match kind {
        Kind::Standard => deviate.to_string(),
        Kind::Bounded { low, high } => within(*low, *high).to_string(),
        Kind::Dates { low, high } => date(within(f64::from(*low), f64::from(*high)) as i32),
        Kind::Levels(levels) => {
            // The logistic curve is close to the Gaussian distribution function, so levels are
            // about equally common.
            let share = 1.0 / (1.0 + (-1.702 * deviate).exp());
            let place = (share * levels.len() as f64) as usize;
            quoted(&levels[place.min(levels.len() - 1)])
        }
    }
}

/// The date `day` days after 1970-01-01.
fn date(day: i32) -> String {
    Date::constant(1970, 1, 1).saturating_add(day.days()).to_string()
}

fn line(cells: impl Iterator<Item = String>, person: Option<String>) -> String {
    cells.chain(person).collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The text, marked if it was made of simulated rows.
pub fn marked_if(is_pretended: bool, text: String, mark: fn(&str) -> String) -> String {
    if is_pretended { mark(&text) } else { text }
}

/// Marks every line of a summary.
pub fn mark_text(text: &str) -> String {
    let marked = std::iter::once(SENTENCE)
        .chain(text.lines())
        .map(|line| format!("{MARK} | {line}").trim_end().to_owned() + "\n");
    marked.collect()
}

/// Marks every line of a table, in a last column.
pub fn mark_csv(text: &str) -> String {
    text.lines().map(|line| format!("{line},{MARK}\n")).collect()
}

/// Whether a document of JSON is marked.
pub fn is_marked(json: &str) -> bool {
    serde_json::from_str::<Document>(json).is_ok_and(|document| document.pretend.is_some())
}

/// A document, read only for its mark.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    pretend: Option<IgnoredAny>,
}

/// Marks a JSON document, in a first key.
pub fn mark_json(text: &str) -> String {
    text.replacen('{', &format!("{{\n  \"{KEY}\": \"{SENTENCE}\","), 1)
}

/// Marks a picture, at its lower left.
pub fn mark_picture(picture: &str) -> String {
    with_words(picture, &format!("{MARK}: simulated rows"))
}

/// Marks a picture of a fit whose noise came from a fixed seed.
pub fn mark_void_picture(picture: &str) -> String {
    with_words(picture, "NOT PRIVATE: fixed seed")
}

fn with_words(picture: &str, words: &str) -> String {
    let mark = format!("<text x=\"4\" y=\"99%\" fill=\"#9c1c1c\" font-weight=\"600\">{words}</text>\n</svg>");
    picture.replacen("</svg>", &mark, 1)
}

/// Marks a piece of a page, at its head.
pub fn mark_piece(piece: &str) -> String {
    format!("<p style=\"color: #9c1c1c; font-weight: 600\">{MARK}: {SENTENCE}.</p>\n{piece}")
}

/// Marks a page: its title, its head, and every printed sheet, by a head that browsers repeat like
/// that of a table.
pub fn mark_page(page: &str) -> String {
    let style = "<style>.pretend { position: sticky; top: 0; z-index: 1; margin: 0; padding: .4rem 1rem; background: #9c1c1c; color: #fff; font-weight: 600; }\n\
         @media print { body { display: table; width: 100%; } main { display: table-row-group; }\n\
         .pretend { position: static; display: table-header-group; background: none; color: #9c1c1c; } }</style>\n</head>";
    page.replacen("<title>", &format!("<title>{MARK}: "), 1).replacen("</head>", style, 1).replacen(
        "<main>",
        &format!("<p class=\"pretend\" role=\"alert\">{MARK}: {SENTENCE}.</p>\n<main>"),
        1,
    )
}

#[cfg(test)]
mod tests {
    use dplm::{Dataset, Reading};

    use super::*;

    const FORMULA: &str = "log(wage[1..60]) ~ educ[0..20] + hired[2000-01-01..2020-12-31] + region{\"a, b\",c,*}";

    fn asked(formula: &Formula) -> Asked<'_> {
        Asked { formula, person: None, weights: None, by: None }
    }

    /// Every cell conforms to the formula: with `strict`, one that does not would be refused.
    #[test]
    fn cells_are_what_the_formula_says() {
        let formula = Formula::parse(FORMULA).expect("sound");
        let table = source(&asked(&formula), 500, Some(1)).expect("simulated");
        let mut reading = Reading::default();
        reading.table.strict = true;
        assert_eq!(Dataset::read(&table, &formula, &reading).expect("every cell is used").rows(), 500);
    }

    #[test]
    fn a_seed_gives_the_same_rows_and_no_seed_others() {
        let formula = Formula::parse("y[0..1] ~ x[0..1]").expect("sound");
        let cells = |seed: Option<u64>| {
            let table = source(&asked(&formula), 100, seed).expect("simulated");
            let columns = [Column { name: "x".to_owned(), kind: Kind::Bounded { low: 0.0, high: 1.0 } }];
            let mut found = Vec::new();
            let see = &mut |block: dplm::table::Block| {
                if let dplm::table::Cells::Numbers(numbers) = &block.columns[0] {
                    found.extend_from_slice(numbers);
                }
                Ok::<(), dplm::table::DataError>(())
            };
            table.for_each_block(&columns, &dplm::table::ReadOptions::default(), see).expect("read");
            found
        };
        assert_eq!(cells(Some(7)), cells(Some(7)));
        assert_ne!(cells(Some(7)), cells(Some(8)));
        assert_ne!(cells(None), cells(None));
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let dot = Formula::parse("y ~ .").expect("sound");
        assert!(matches!(source(&asked(&dot), 10, None), Err(PretendError::NoTable)));
        assert!(matches!(source(&asked(&dot), 0, None), Err(PretendError::NoRows)));
    }

    #[test]
    fn a_marked_document_is_known_wherever_the_mark_stands() {
        assert!(!is_marked("{\"dplm\": \"0.1.0\", \"text\": \"pretend\"}"));
        assert!(is_marked(&mark_json("{\"dplm\": \"0.1.0\"}")));
        assert!(is_marked("{\"dplm\": \"0.1.0\", \"pretend\": \"moved\"}"));
        assert!(!is_marked("no document"));
    }
}
