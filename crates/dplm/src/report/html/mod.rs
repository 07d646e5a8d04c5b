//! The fit as one self-contained page, for the reader of a release: no network, no script, prints to A4.

mod budget;
mod coefficients;
mod command;
mod ledger;
mod trajectory;

use super::{
    svg::{Anchor, Scale, Svg, escaped},
    text::{attack, covered, fitted_without, in_place_of_numbers, notes, promise},
};
use crate::{
    Coefficient, Fit, LeftOut,
    number::{grouped, p_value, significant},
    options::Purpose,
};

/// The width of a picture in its own units: on a phone each is less than a pixel, on a desk one and a half. The style sheet sets
/// words larger in units where the screen is narrow, so that they can be read on both.
const WIDTH: f64 = 480.0;
/// About the size of words, for what is set above or below a line.
const WORDS: f64 = 10.0;

/// The page.
pub fn to_html(fit: &Fit) -> String {
    let title = format!("Private regression: {}", fit.formula);
    let body = [
        header(fit),
        section(
            "coefficients",
            "Coefficients",
            &(table(fit) + &left_out(fit) + &coefficients::plot(fit) + &paragraph(&covered(fit))),
        ),
        section("guarantee", "What is promised", &guarantee(fit)),
        section("budget", "How the budget was spent", &budget::plot(&fit.guarantee)),
        section("ledger", "The budget of the data set", &ledger::plot(fit.statement.as_ref())),
        section("iterates", "The descent", &trajectory::plot(fit)),
        section("notes", "Notes", &all_notes(fit)),
        section("reproduce", "How this was made", &method(fit)),
    ];
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n\
         <body>\n<main>\n{}</main>\n</body>\n</html>\n",
        escaped(&title),
        super::STYLE,
        body.concat(),
    )
}

/// The summary as a piece of a page, for notebooks: it brings no style and takes that of its surroundings.
pub fn summary_html(fit: &Fit) -> String {
    let guarantee = &fit.guarantee;
    format!(
        "<div>\n<p><strong>Private linear regression</strong><br><code>{}</code><br>{} rows, &rho; = {}, &epsilon; = {} at &delta; = {:e}</p>\n\
         {}{}{}{}{}{}{}</div>\n",
        escaped(&fit.formula),
        grouped(fit.rows),
        guarantee.rho,
        guarantee.epsilon,
        guarantee.delta,
        banner(fit),
        table(fit),
        left_out(fit),
        paragraph(&covered(fit)),
        paragraph(&promise(guarantee)),
        paragraph(&attack(guarantee)),
        all_notes(fit),
    )
}

/// The warning that goes before everything else.
fn banner(fit: &Fit) -> &'static str {
    match fit.private {
        true => "",
        false => {
            "<p class=\"void\" role=\"alert\"><strong>Not private.</strong> The noise came from a fixed seed. Do not publish this page.</p>\n"
        }
    }
}

fn header(fit: &Fit) -> String {
    format!(
        "<header>\n<p class=\"kind\">Private linear regression</p>\n<h1><code>{}</code></h1>\n{}\
         <dl class=\"facts\">\n{}{}{}{}{}</dl>\n</header>\n",
        escaped(&fit.formula),
        banner(fit),
        fact("Rows", &grouped(fit.rows)),
        fact("Budget", &format!("&rho; = {}", fit.guarantee.rho)),
        fact("Which is", &format!("&epsilon; = {} at &delta; = {:e}", fit.guarantee.epsilon, fit.guarantee.delta)),
        fact("Neighbours", fit.guarantee.neighbours.name()),
        fact("Date", &escaped(&fit.date)),
    )
}

fn fact(name: &str, value: &str) -> String {
    format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n")
}

fn section(id: &str, title: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    format!("<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{title}</h2>\n{content}</section>\n")
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

fn table(fit: &Fit) -> String {
    let heads: &[&str] = match fit.purpose {
        Purpose::Prediction => &["Coefficient", "Estimate"],
        Purpose::Inference => &["Coefficient", "Estimate", "Std. error", "p-value", "From", "To"],
    };
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let rows: String = fit.coefficients.iter().map(|one| row(fit, one)).collect();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table of coefficients\">\n<table>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn row(fit: &Fit, one: &Coefficient) -> String {
    let name = format!("<th scope=\"row\"><code>{}</code></th>", escaped(&one.name));
    let cells = match (one.estimate, &one.precision) {
        (Some(estimate), None) => vec![significant(estimate)],
        (Some(estimate), Some(precision)) => vec![
            significant(estimate),
            significant(precision.std_error),
            escaped(&p_value(precision.p_value)),
            significant(precision.low),
            significant(precision.high),
        ],
        (None, _) => {
            let words = in_place_of_numbers(fit, one);
            return format!("<tr>{name}<td colspan=\"5\" class=\"unknown\">{words}</td></tr>\n");
        }
    };
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr>{name}{cells}</tr>\n")
}

fn guarantee(fit: &Fit) -> String {
    paragraph(&promise(&fit.guarantee))
        + &format!(
            "<p>In plain words: {} The closer to 50 %, the stronger the promise. It holds whatever the reader knows of the people in the \
             data, and it cannot be weakened by further work on the numbers shown here. It speaks of one row: a person with several rows \
             is protected less.</p>\n",
            escaped(&uncapitalised(&attack(&fit.guarantee))),
        )
}

/// Why coefficients are not in the model, and what would bring them in.
fn left_out(fit: &Fit) -> String {
    let item = |one: &LeftOut| format!("<code>{}</code>: {}", escaped(&one.name), escaped(&one.cause.to_string()));
    let items = list(fit.left_out.iter().map(item));
    if items.is_empty() { items } else { paragraph(fitted_without(fit)) + &items }
}

fn all_notes(fit: &Fit) -> String {
    list(notes(fit).map(|note| escaped(&capitalised(&note))))
}

/// A list of pieces of HTML; nothing where there are none.
fn list(items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{item}</li>\n")).collect();
    if items.is_empty() { items } else { format!("<ul>\n{items}</ul>\n") }
}

fn method(fit: &Fit) -> String {
    let summary = &fit.method;
    let runs = if summary.runs > 1 { format!("{} runs of ", summary.runs) } else { String::new() };
    let steps = match fit.trajectories.is_empty() {
        true => String::new(),
        false => format!("{runs}{} steps of size {}, ", summary.steps, significant(summary.step_size)),
    };
    format!(
        "<p>dplm {}, method <code>{}</code>: {steps}gradients clipped at {}, noise of standard deviation {} in each coordinate of the mean \
         gradient (standardised units). Every number on this page is public or was released with noise. Whoever holds the data can make \
         such a page again, with other noise, and spends its budget again:</p>\n<pre><code>{}</code></pre>\n",
        env!("CARGO_PKG_VERSION"),
        summary.name,
        significant(summary.clip),
        significant(summary.noise_sd),
        escaped(&command::of(fit)),
    )
}

/// Lines across a picture, and the numbers of its heights on the left.
fn rising_axis(svg: &mut Svg, up: &Scale, (left, right): (f64, f64)) {
    for tick in up.ticks() {
        svg.line((left, tick.place), (right, tick.place), "class=\"grid\"");
        svg.rich((left - 8.0, tick.place + 4.0), Anchor::End, WORDS, "class=\"soft\"", &tick.label);
    }
}

/// The numbers of a scale across, below a picture.
fn tick_labels_below(svg: &mut Svg, across: &Scale, bottom: f64) {
    for tick in across.ticks() {
        svg.rich((tick.place, bottom + 16.0), Anchor::Middle, WORDS, "class=\"soft\"", &tick.label);
    }
}

fn uncapitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
