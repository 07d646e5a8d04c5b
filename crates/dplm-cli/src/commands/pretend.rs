//! `dplm fit --pretend`: rows that are simulated from what the formula says of its columns, and marks on all that is made of them.

use dplm::{
    formula::{Column, Kind},
    table::{Field, Schema, Source, Type},
};
use dplm_simulate::{Setting, fresh_seed};
use jiff::{ToSpan, civil::Date};

use crate::{
    exit::Failure,
    settings::{DataSettings, GroupSettings},
};

/// What everything is marked with.
pub const MARK: &str = "PRETEND";
/// What the mark means.
pub const SENTENCE: &str = "made of simulated rows that know the formula and nothing else: no data were read and nothing was spent, and the numbers say nothing about anybody";

/// The key of a document that says so.
pub const KEY: &str = "pretend";

/// Rows of each person, where persons are protected.
const ROWS_PER_PERSON: u64 = 4;
/// From the middle of public bounds to either end, in standard deviations: as a plan assumes.
const TO_EITHER_END: f64 = 3.0;

/// A table of simulated rows with the columns that a fit reads. Numbers are spread over the middle of their bounds, levels are about equally
/// common, and the features explain up to half of the variance of the response.
pub fn source(data: &DataSettings, groups: Option<&GroupSettings>, rows: u64) -> Result<Source, Failure> {
    let columns = columns(data, groups)?;
    let seed = fresh_seed().map_err(Failure::refused)?;
    let population = Setting::new(columns.len() - 1).draw(seed).map_err(Failure::usage)?;
    let sample = population.sample(rows);
    let mut csv = line(
        columns.iter().map(|column| quoted(&column.name)),
        data.person.as_ref().map(|person| quoted(&person.column)),
    );
    for (number, (features, response)) in (0u64..).zip(sample.x.chunks(columns.len() - 1).zip(&sample.y)) {
        // The response has the variance of its features and of its errors, each 1.
        let deviates = std::iter::once(response / 2f64.sqrt()).chain(features.iter().copied());
        let cells = columns.iter().zip(deviates).map(|(column, deviate)| cell(&column.kind, deviate));
        csv += &line(cells, data.person.as_ref().map(|_| (number / ROWS_PER_PERSON).to_string()));
    }
    Ok(Source::from_csv_stream(&mut csv.as_bytes(), "the simulated table")?)
}

/// The columns of the model, the response first, then those of weights and groups.
fn columns(data: &DataSettings, groups: Option<&GroupSettings>) -> Result<Vec<Column>, Failure> {
    let Some(names) = data.formula.names() else {
        return Err(Failure::usage("'.' stands for the columns of a table, and --pretend has none: name them"));
    };
    let schema = Schema::new(names.into_iter().map(|name| Field::new(name, Type::Undeclared)).collect());
    let mut columns = data.formula.resolve(&schema).map_err(dplm::Error::from)?.columns();
    let weights = data.weights.as_ref().map(|weights| Column {
        name: weights.name().to_owned(),
        kind: Kind::Bounded { low: 0.0, high: weights.most() },
    });
    let by = groups.map(|GroupSettings { by, .. }| Column {
        name: by.name().to_owned(),
        kind: Kind::Levels(by.levels().to_vec()),
    });
    for column in weights.into_iter().chain(by) {
        if !columns.iter().any(|known| known.name == column.name) {
            columns.push(column);
        }
    }
    // An intercept alone has no feature to draw.
    if columns.len() == 1 {
        columns.push(Column { name: "nothing else".to_owned(), kind: Kind::Standard });
    }
    Ok(columns)
}

/// A cell of a column, from a standard normal deviate.
fn cell(kind: &Kind, deviate: f64) -> String {
    let within = |low: f64, high: f64| {
        (f64::midpoint(low, high) + deviate * (high - low) / (2.0 * TO_EITHER_END)).clamp(low, high)
    };
    match kind {
        Kind::Standard => deviate.to_string(),
        Kind::Bounded { low, high } => within(*low, *high).to_string(),
        Kind::Dates { low, high } => date(within(f64::from(*low), f64::from(*high)) as i32),
        Kind::Levels(levels) => {
            // The logistic curve is close to the normal distribution function, so levels are about equally common.
            let share = 1.0 / (1.0 + (-1.702 * deviate).exp());
            let place = (share * levels.len() as f64) as usize;
            quoted(&levels[place.min(levels.len() - 1)])
        }
    }
}

/// The date so many days after 1970-01-01.
fn date(day: i32) -> String {
    Date::constant(1970, 1, 1).saturating_add(day.days()).to_string()
}

fn line(cells: impl Iterator<Item = String>, person: Option<String>) -> String {
    cells.chain(person).collect::<Vec<_>>().join(",") + "\n"
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Marks every line of a summary.
pub fn mark_text(text: &str) -> String {
    let marked = std::iter::once(SENTENCE)
        .chain(text.lines())
        .map(|line| format!("{MARK} | {line}").trim_end().to_owned() + "\n");
    marked.collect()
}

/// Marks every line of a table, by a last column.
pub fn mark_csv(text: &str) -> String {
    text.lines().map(|line| format!("{line},{MARK}\n")).collect()
}

/// Marks a document of JSON, by a first key.
pub fn mark_json(text: &str) -> String {
    text.replacen('{', &format!("{{\n  \"{KEY}\": \"{SENTENCE}\","), 1)
}

/// Marks a picture, at its lower left.
pub fn mark_picture(picture: &str) -> String {
    let mark =
        format!("<text x=\"4\" y=\"99%\" fill=\"#9c1c1c\" font-weight=\"600\">{MARK}: simulated rows</text>\n</svg>");
    picture.replacen("</svg>", &mark, 1)
}

/// Marks a page: its title, its head, and every sheet that it is printed on, by a head that browsers repeat as that of a table.
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
