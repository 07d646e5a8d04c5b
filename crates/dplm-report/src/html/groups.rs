//! The fits of several groups as one page: a picture of each coefficient across groups, one table,
//! and whether the groups differ.

use dplm::{
    FittedGroup, GroupOutcome, GroupedFit,
    number::grouped,
    options::{Family, Purpose},
    report::{
        groups::{are_student, covered_in_words, left_out_in_words, notes_in_words, size, test_line},
        text::clustering,
    },
};

use super::{
    Cover, WIDTH, WORDS, budget, command, fact, given, guarantee, heading_of_page, heads, ledger, list, page,
    paragraph, protected, scrolling, section, significant_row, used, void,
};
use crate::svg::{Anchor, Scale, Svg, escaped};

const LEFT: f64 = 166.0;
const RIGHT: f64 = 468.0;
const ROW: f64 = 20.0;

/// The page of all groups.
pub fn grouped_to_html(fit: &GroupedFit, cover: &Cover) -> String {
    let title =
        cover.title.clone().unwrap_or_else(|| format!("Private regression: {} by {}", fit.formula, fit.by.name()));
    let body = [
        header(fit, cover),
        section("groups", "Groups", &sizes(fit)),
        section("coefficients", "Coefficients", &(table(fit) + &left_out(fit) + &covered(fit))),
        section("across", "Each coefficient across groups", &pictures(fit)),
        section("equality", "Are they the same in all groups?", &equality(fit)),
        section("notes", "Notes", &list(notes_in_words(fit).iter().map(|note| escaped(note)))),
        section("guarantee", "What is promised", &guarantee(&fit.guarantee)),
        section("budget", "How the budget was spent", &(budget::plot(&fit.guarantee) + &parallel(fit))),
        section("ledger", "The budget of the data set", &ledger::plot(fit.statement.as_ref())),
        section("reproduce", "How this was made", &made(fit)),
    ];
    page(&title, &body.concat())
}

fn header(fit: &GroupedFit, cover: &Cover) -> String {
    let guarantee = &fit.guarantee;
    let of_ledger = fit.statement.as_ref().map(|statement| &statement.dataset);
    let facts = [
        given("Author", cover.author.as_ref()),
        fact("Date", &escaped(&fit.date)),
        given("Data set", cover.dataset.as_ref().or(of_ledger)),
        fact("Groups by", &format!("<code>{}</code>", escaped(&fit.by.to_string()))),
        fact("In all", &format!("{} {}", grouped(fit.rows), guarantee.promise.unit.plural())),
        given("Used", used(fit.rows_used.as_ref()).as_ref()),
        given("Weights", fit.weights.as_ref().map(ToString::to_string).as_ref()),
        fact("What is protected", protected(guarantee.promise.unit)),
        given("Identified by", guarantee.promise.person.as_ref()),
        given("Standard errors", fit.person.as_ref().map(clustering).as_ref()),
        fact("Budget", &format!("&rho; = {}", guarantee.rho)),
        fact("Which is", &format!("&epsilon; = {} at &delta; = {:e}", guarantee.epsilon, guarantee.delta)),
        fact("Neighbours", guarantee.promise.neighbours.name()),
    ];
    let family = fit.fits().next().map_or(Family::Gaussian, |(_, one)| one.family());
    heading_of_page((family, &fit.formula), cover, void(&fit.guarantee), &facts.concat())
}

fn sizes(fit: &GroupedFit) -> String {
    let item = |group: &FittedGroup| {
        let words = format!("<strong>{}</strong>: {}", escaped(&group.level), escaped(&size(fit, group)));
        match &group.outcome {
            GroupOutcome::Fitted(_) => words,
            GroupOutcome::NotFitted(why) => format!("{words}; not fitted: {}", escaped(why)),
        }
    };
    list(fit.groups.iter().map(item))
}

/// One table: the coefficients, and under each a line for each group.
fn table(fit: &GroupedFit) -> String {
    let is_student = are_student(fit);
    let heads = heads("Group", fit.purpose, is_student);
    let columns = heads.matches("</th>").count();
    let of_coefficient = |name: String| {
        let lines =
            fit.fits().map(|(group, one)| significant_row(one, one.coefficient(&name), &group.level, is_student));
        let name = escaped(&name);
        format!(
            "<tbody>\n<tr><th scope=\"rowgroup\" colspan=\"{columns}\"><code>{name}</code></th></tr>\n{}</tbody>\n",
            lines.collect::<String>()
        )
    };
    let bodies: String = fit.names().into_iter().map(of_coefficient).collect();
    if bodies.is_empty() {
        return paragraph("No group could be fitted.");
    }
    scrolling(
        "Table of coefficients by group",
        &format!("<table>\n<thead><tr>{heads}</tr></thead>\n{bodies}</table>\n"),
    )
}

fn left_out(fit: &GroupedFit) -> String {
    let items = list(left_out_in_words(fit).iter().map(|one| escaped(one)));
    let words = "Left out, as this budget cannot resolve them there; the model of that group was fitted without them:";
    if items.is_empty() { items } else { paragraph(words) + &items }
}

fn covered(fit: &GroupedFit) -> String {
    covered_in_words(fit).iter().map(|words| paragraph(words)).collect()
}

/// A picture of each coefficient: a line for each group, its interval and estimate.
fn pictures(fit: &GroupedFit) -> String {
    if fit.purpose == Purpose::Prediction {
        return String::new();
    }
    fit.names().iter().map(|name| picture(fit, name)).collect()
}

/// One line of a picture.
struct Line<'a> {
    level: &'a str,
    estimate: f64,
    ends: (f64, f64),
}

fn picture(fit: &GroupedFit, name: &str) -> String {
    let lines: Vec<Line<'_>> = fit
        .fits()
        .filter_map(|(group, one)| {
            let one = one.coefficient(name);
            let precision = one.precision?;
            Some(Line { level: &group.level, estimate: one.estimate?, ends: (precision.low, precision.high) })
        })
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let ends = lines.iter().flat_map(|line| [line.ends.0, line.ends.1]).filter(|end| end.is_finite());
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| (low.min(end), high.max(end)));
    let (low, high) = if low <= high { (low, high) } else { (0.0, 0.0) };
    let scale = Scale::linear((low, high), (LEFT, RIGHT));
    let bottom = ROW * lines.len() as f64 + 8.0;
    let mut svg = Svg::new();
    for tick in scale.ticks() {
        let class = if tick.label == "0" { "class=\"zero\"" } else { "class=\"grid\"" };
        svg.line((tick.place, 0.0), (tick.place, bottom), class);
        svg.rich((tick.place, bottom + 14.0), Anchor::Middle, WORDS, "class=\"soft\"", &tick.label);
    }
    for (line, place) in lines.iter().zip(1..) {
        let y = ROW * f64::from(place) - 7.0;
        svg.text((LEFT - 12.0, y + 4.0), Anchor::End, "class=\"label\"", &shortened(line.level));
        svg.line((scale.nearest(line.ends.0), y), (scale.nearest(line.ends.1), y), "class=\"bar\"");
        svg.circle((scale.nearest(line.estimate), y), 3.5, "class=\"dot\"");
    }
    let title = format!("{name} in each group, with its interval");
    format!("<h3><code>{}</code></h3>\n", escaped(name)) + &svg.within_page(&title, (WIDTH, bottom + 20.0))
}

fn shortened(level: &str) -> String {
    const MOST: usize = 24;
    if level.chars().count() <= MOST { level.to_owned() } else { level.chars().take(MOST - 1).chain(['…']).collect() }
}

fn equality(fit: &GroupedFit) -> String {
    let tests = fit.equality();
    if tests.is_empty() {
        return String::new();
    }
    let heads: String =
        ["Coefficient", "&chi;&sup2;", "df", "p-value"].map(|head| format!("<th scope=\"col\">{head}</th>")).concat();
    let row = |cells: Vec<String>| {
        let numbers: String = cells[1..].iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        format!("<tr><th scope=\"row\"><code>{}</code></th>{numbers}</tr>\n", escaped(&cells[0]))
    };
    let rows: String = tests.iter().map(|test| row(test_line(test))).collect();
    let words = "Wald's test of each coefficient, and of all together, being the same in all groups in which it is identified. A small p-value says \
                 that groups differ. The groups' rows and their noise are independent.";
    scrolling(
        "Tests of equality",
        &format!("<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n"),
    ) + &paragraph(words)
}

/// Why all groups cost what one costs.
fn parallel(fit: &GroupedFit) -> String {
    let unit = fit.guarantee.promise.unit;
    paragraph(&format!(
        "All groups are fitted with the same part of the budget, which is spent once: a {unit} is in one group at most, and what a {unit} that changes \
         its group costs in the two of them is no more than what one that is replaced within a group costs in that."
    ))
}

fn made(fit: &GroupedFit) -> String {
    let Some((_, first)) = fit.fits().next() else { return String::new() };
    format!(
        "<p>dplm {}, method <code>{}</code>. Every number on this page is public or was released with noise. Anyone who holds the data can make such a \
         page again, with other noise, and spends its budget again:</p>\n<pre><code>{}</code></pre>\n",
        env!("CARGO_PKG_VERSION"),
        first.method.name,
        escaped(&command::of(first)),
    )
}
