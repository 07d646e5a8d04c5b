//! A study as one page: the coefficient that is followed across specifications, drawn as a
//! specification curve (Simonsohn, Simmons and Nelson 2020), and all coefficients side by side.

use dplm::{
    number::{grouped, significant},
    report::text::{attack, percent, promise},
    study::{Interest, StudyFit, StudyPart},
};

use super::{
    Cover, WIDTH, breakable, budget, capitalised, fact, given, ledger, page, paragraph, protected, rising_axis,
    scrolling, section, used,
};
use crate::{
    study::{cell, controls_of, in_place_of_numbers, names_of, of_intervals, why_followed},
    svg::{Anchor, Scale, Svg, escaped},
};

/// The left and right edge of the curve, its height, and the height of a line of terms below it.
const LEFT: f64 = 150.0;
const RIGHT: f64 = 468.0;
const CURVE: f64 = 180.0;
const LINE: f64 = 18.0;

/// The page.
pub fn study_html(study: &StudyFit, cover: &Cover) -> String {
    let title = cover.title.clone().unwrap_or_else(|| "Private study".to_owned());
    let curve = study.interest.as_ref().map_or(String::new(), |interest| {
        format!("{}{}{}", picture(study, &interest.name), paragraph(&caption(study, interest)), followed(study))
    });
    let guarantee = paragraph(&promise(&study.guarantee)) + &paragraph(&attack(&study.guarantee));
    let body = [
        header(study, cover, &title),
        section("curve", "Across specifications", &curve),
        section("specifications", "Specifications", &specifications(study)),
        section("coefficients", "All coefficients", &side_by_side(study)),
        section("guarantee", "What is promised of the whole study", &guarantee),
        section("budget", "How the budget was spent", &budget::plot(&study.guarantee)),
        section("ledger", "The budget of the data set", &ledger::plot(study.statement.as_ref())),
        section("notes", "Notes", &notes(study)),
    ];
    page(&title, &body.concat())
}

fn header(study: &StudyFit, cover: &Cover, title: &str) -> String {
    let first = &study.parts[0].fit;
    let of_ledger = study.statement.as_ref().map(|statement| &statement.dataset);
    let promise = &study.guarantee.promise;
    let facts = [
        given("Author", cover.author.as_ref()),
        fact("Date", &escaped(&first.date)),
        given("Data set", cover.dataset.as_ref().or(of_ledger)),
        fact(&capitalised(study.guarantee.promise.unit.plural()), &grouped(first.rows)),
        given("Used", used(study.rows_used.as_ref()).as_ref()),
        fact("Specifications", &study.parts.len().to_string()),
        fact("What is protected", protected(promise.unit)),
        given("Identified by", promise.person.as_ref()),
        fact("Neighbours", promise.neighbours.name()),
        fact("Budget of all", &format!("&rho; = {}", study.guarantee.rho)),
        fact("Which is", &format!("&epsilon; = {} at &delta; = {:e}", study.guarantee.epsilon, study.guarantee.delta)),
    ];
    format!(
        "<header>\n<p class=\"kind\">Private study</p>\n<h1>{}</h1>\n{}<dl class=\"facts\">\n{}</dl>\n</header>\n",
        escaped(title),
        super::void(&study.guarantee),
        facts.concat(),
    )
}

fn caption(study: &StudyFit, interest: &Interest) -> String {
    format!(
        "The coefficient of {} in each specification, {}. {}The main specification is the first. Below, a dot marks the terms that are in a \
         specification.",
        interest.name,
        of_intervals(study),
        why_followed(interest),
    )
}

/// Intervals above, and which terms are in below.
fn picture(study: &StudyFit, interest: &str) -> String {
    let found: Vec<Option<(f64, (f64, f64))>> =
        study.parts.iter().map(|part| study.followed(part).ok().flatten()).collect();
    let ends = found
        .iter()
        .flatten()
        .flat_map(|(estimate, (low, high))| [*estimate, *low, *high])
        .filter(|end| end.is_finite());
    let (low, high) = ends.fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let up = Scale::linear((low, high), (CURVE - 14.0, 8.0));
    let mut svg = Svg::new();
    rising_axis(&mut svg, &up, (LEFT, RIGHT));
    svg.line((LEFT, up.at(0.0)), (RIGHT, up.at(0.0)), "class=\"zero\"");
    let across = |place: usize| LEFT + (RIGHT - LEFT) * (place as f64 + 0.5) / study.parts.len() as f64;
    for (place, one) in found.iter().enumerate() {
        let x = across(place);
        if let Some((estimate, (low, high))) = one {
            svg.line((x, up.nearest(*low)), (x, up.nearest(*high)), "class=\"bar\"");
            svg.circle((x, up.at(*estimate)), if place == 0 { 4.5 } else { 3.2 }, "class=\"dot\"");
        }
        svg.text((x, CURVE + 4.0), Anchor::Middle, "class=\"soft\"", &(place + 1).to_string());
    }
    let terms = terms(study);
    for (row, term) in terms.iter().enumerate() {
        let y = CURVE + 24.0 + LINE * row as f64;
        svg.text((LEFT - 12.0, y + 4.0), Anchor::End, "class=\"label\"", &shortened(term));
        svg.line((LEFT, y), (RIGHT, y), "class=\"grid\"");
        for (place, part) in study.parts.iter().enumerate() {
            if part.fit.design.model().term_names().contains(term) {
                svg.circle((across(place), y), 3.2, "class=\"dot\"");
            }
        }
    }
    let height = CURVE + 30.0 + LINE * terms.len() as f64;
    svg.within_page(&format!("The coefficient of {interest} across specifications"), (WIDTH, height))
}

/// The terms of all specifications, in the order of their first mention.
fn terms(study: &StudyFit) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for term in study.parts.iter().flat_map(|part| part.fit.design.model().term_names()) {
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    terms
}

fn shortened(text: &str) -> String {
    const MOST: usize = 20;
    if text.chars().count() <= MOST { text.to_owned() } else { text.chars().take(MOST - 1).chain(['…']).collect() }
}

fn followed(study: &StudyFit) -> String {
    let row = |part: &StudyPart| {
        let name = format!("<th scope=\"row\">{}</th>", escaped(&part.name));
        match study.followed(part).ok().flatten() {
            Some((estimate, (low, high))) => {
                let cells = [estimate, low, high].map(|number| format!("<td>{}</td>", significant(number)));
                format!("<tr>{name}{}</tr>\n", cells.concat())
            }
            None => format!(
                "<tr>{name}<td colspan=\"3\" class=\"unknown\">{}</td></tr>\n",
                in_place_of_numbers(study, part)
            ),
        }
    };
    table(
        "The coefficient across specifications",
        &["Specification", "Estimate", "From", "To"],
        study.parts.iter().map(row),
    )
}

/// The model stands below the name, as long as it is.
fn specifications(study: &StudyFit) -> String {
    let row = |(place, part): (usize, &StudyPart)| {
        format!(
            "<tr><th scope=\"row\">{} {}<br><code>{}</code></th><td>{} %</td><td>{}</td></tr>\n",
            place + 1,
            escaped(&part.name),
            escaped(&part.fit.formula).replace(',', ",<wbr>"),
            percent(part.share),
            part.rho,
        )
    };
    let heads = ["Specification", "Share", "&rho;"];
    table("The specifications", &heads, study.parts.iter().enumerate().map(row))
}

fn side_by_side(study: &StudyFit) -> String {
    let heads: Vec<String> =
        std::iter::once("Coefficient".to_owned()).chain(study.parts.iter().map(|part| escaped(&part.name))).collect();
    let row = |name: &str| {
        // An error below its estimate: columns are half as wide, so that more of them fit.
        let below = |cell: String| escaped(&cell).replacen(" (", "<br>(", 1);
        let cells: String = study.parts.iter().map(|part| format!("<td>{}</td>", below(cell(part, name)))).collect();
        format!("<tr><th scope=\"row\"><code>{}</code></th>{cells}</tr>\n", breakable(name))
    };
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    table("All coefficients, with standard errors in brackets", &heads, names_of(study).into_iter().map(row))
        + &paragraph("Estimates, with standard errors in brackets, privacy noise included.")
}

fn table(name: &str, heads: &[&str], rows: impl Iterator<Item = String>) -> String {
    scrolling(name, &format!("<table>\n{}</table>\n", lines(heads, rows)))
}

fn lines(heads: &[&str], rows: impl Iterator<Item = String>) -> String {
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let rows: String = rows.collect();
    format!("<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n")
}

/// What each fit says of itself, once.
fn notes(study: &StudyFit) -> String {
    let of_part = |part: &StudyPart| {
        let notes = part.fit.warnings.iter().filter(|warning| !matches!(warning, dplm::Warning::PartOfStudy { .. }));
        let notes = notes.map(|note| format!("{}: {note}", part.name));
        controls_of(part).into_iter().chain(notes).map(|note| escaped(&note)).collect::<Vec<_>>()
    };
    super::list(study.parts.iter().flat_map(of_part))
}
