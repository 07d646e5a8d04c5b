//! What was asked, in words, and the public facts it was asked with.

use dplm::{
    Fit,
    formula::{Column, Kind},
    number::short,
    options::{Family, Purpose},
    report::text::outcome,
};

use super::{paragraph, scrolling};
use crate::svg::escaped;

/// The question, what was known of each column beforehand, and how to read a coefficient.
pub(super) fn section(fit: &Fit) -> String {
    question(fit) + &facts(fit) + &paragraph(&reading(fit))
}

fn question(fit: &Fit) -> String {
    let model = fit.design.model();
    let names: Vec<String> = model.term_names().iter().map(|name| code(name)).collect();
    let explained = match names.as_slice() {
        [] => "a constant alone".to_owned(),
        names => in_series(names),
    };
    let constants =
        model.within().map_or(String::new(), |person| format!(", with a constant for each {}", code(person)));
    let instruments: Vec<String> = model.instruments().iter().map(|by| code(by)).collect();
    let instruments = model.endogenous().map_or(String::new(), |of| match &instruments[..] {
        [one] => format!(", and {one} as an instrument of {}", code(&of)),
        several => format!(", and {} as instruments of {}", in_series(several), code(&of)),
    });
    let why = match fit.purpose {
        Purpose::Inference if model.within().is_some() => {
            "how the mean of the first differs between rows of one person that differ in one of the others and agree in the rest"
        }
        Purpose::Inference => {
            "how the mean of the first differs between rows that differ in one of the others and agree in the rest"
        }
        Purpose::Prediction => "how to predict the mean of the first from the others; no intervals were asked for",
    };
    let what = match fit.family() {
        Family::Binomial => outcome(fit),
        _ => model.response(),
    };
    let why = if fit.family() == Family::Binomial {
        why.replace("the mean of the first", "the log odds of the first")
    } else {
        why.to_owned()
    };
    let regression = fit.family().regression();
    format!("<p>A {regression} of {} on {explained}{constants}{instruments}: {why}.</p>\n", code(&what))
}

/// `a`, `a and b`, `a, b and c`.
fn in_series(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

fn code(name: &str) -> String {
    format!("<code>{}</code>", escaped(name))
}

/// A table of the columns, the response first.
fn facts(fit: &Fit) -> String {
    let predictors = fit.design.predictors();
    let role = |column: &Column| match () {
        () if predictors.contains(column) => "explains",
        () if fit.design.model().is_instrument(&column.name) => "instrument",
        () => "explained",
    };
    // Columns of which the same is known share a line.
    let alike = fit.design.columns().chunk_by(|one, next| one.kind == next.kind && role(one) == role(next));
    let rows: String = alike.map(|columns| row(columns, role(&columns[0]))).collect();
    scrolling(
        "Table of columns",
        &format!(
            "<table class=\"words\">\n<thead><tr><th scope=\"col\">Column</th><th scope=\"col\">Role</th><th scope=\"col\">Kind</th>\
             <th scope=\"col\">Known beforehand</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
        ),
    )
}

fn row(columns: &[Column], role: &str) -> String {
    let names: Vec<String> = columns.iter().map(|column| code(&column.name)).collect();
    let (kind, known) = known(&columns[0].kind);
    let names = names.join(", ");
    format!("<tr><th scope=\"row\">{names}</th><td>{role}</td><td>{kind}</td><td>{known}</td></tr>\n")
}

/// What a column holds, and what is publicly known of it.
fn known(kind: &Kind) -> (&'static str, String) {
    match kind {
        Kind::Standard => ("number", "taken as centred and of about unit variance".to_owned()),
        Kind::Bounded { low, high } => ("number", format!("from {} to {}", short(*low), short(*high))),
        Kind::Dates { low, high } => {
            ("date", format!("from {} to {}", kind.shown(f64::from(*low)), kind.shown(f64::from(*high))))
        }
        Kind::Levels(levels) => {
            let words = |level: &String| if level == "*" { "any other (*)".to_owned() } else { escaped(level) };
            let others: Vec<String> = levels[1..].iter().map(words).collect();
            ("category", format!("{} (the reference), {}", words(&levels[0]), others.join(", ")))
        }
    }
}

fn reading(fit: &Fit) -> String {
    let columns = fit.design.columns();
    let has = |wanted: fn(&Kind) -> bool| columns.iter().any(|column| wanted(&column.kind));
    let mut sentences = vec!["These facts were stated without looking at the data."];
    if has(|kind| matches!(kind, Kind::Bounded { .. })) {
        sentences.push("Values outside bounds were moved to the nearest one.");
    }
    sentences.push(match fit.family() {
        Family::Binomial => "Each column is in its own units: the coefficient of a number is the change of the log odds for one unit more of it.",
        _ => "Each column is in its own units: the coefficient of a number is the change of the mean for one unit more of it.",
    });
    if has(|kind| matches!(kind, Kind::Levels(_))) {
        sentences.push("The coefficient of a level is the difference from the reference level.");
    }
    if has(|kind| matches!(kind, Kind::Levels(levels) if !levels.iter().any(|level| level == "*"))) {
        sentences.push("A row with a value that is not listed contributes nothing.");
    }
    sentences.join(" ")
}
