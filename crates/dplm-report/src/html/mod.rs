//! The fit as one self-contained page, for the reader of a release: no network, no script, prints
//! to A4.

mod budget;
mod command;
mod effects;
mod event;
mod ledger;
mod groups;
mod question;
mod study;
mod trajectory;

use dplm::{
    Bounded, Coefficient, Fit, LeftOut,
    number::{grouped, short, significant},
    options::{Family, Purpose},
    privacy::{Guarantee, Provenance, Unit},
    report::text::{
        asymmetric, attack, cause_in_words, clustering, covered, fitted_without, in_place_of_numbers, instrumented,
        interval_cells, is_student, notes, odds_heads, odds_rows, outcome, promise, why_no_quality,
    },
};

use crate::svg::{Anchor, Scale, Svg, escaped};
pub use groups::grouped_to_html;
pub use study::study_html;

/// The width of a picture in its own units: on a phone each is less than a pixel, on a desk one and
/// a half. The style sheet sets words larger in units where the screen is narrow, so that they can
/// be read on both.
const WIDTH: f64 = 480.0;
/// About the size of words, for what is set above or below a line.
const WORDS: f64 = 10.0;

/// What the publisher of a page says of it: public text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Its title; the formula where there is none.
    pub title: Option<String>,
    /// Who publishes it.
    pub author: Option<String>,
    /// What the data are called; where there is nothing, what the ledger calls them.
    pub dataset: Option<String>,
}

/// The page.
pub fn to_html(fit: &Fit, cover: &Cover) -> String {
    let title = cover.title.clone().unwrap_or_else(|| format!("Private regression: {}", fit.formula));
    let body = [
        header(fit, cover),
        section("question", "What was asked", &question::section(fit)),
        section(
            "coefficients",
            "Coefficients",
            &(table(fit) + &left_out(fit) + &first_stage(fit) + &paragraph(&covered(fit))),
        ),
        section("event", "Effects by period", &event::plots(fit)),
        section("odds", "Odds ratios and probabilities", &odds(fit)),
        section("effects", "Effect sizes", &effects::plot(fit)),
        section("quality", "How well the model fits", &quality(fit)),
        section("notes", "Notes", &all_notes(fit)),
        section("guarantee", "What is promised", &guarantee(&fit.guarantee)),
        section("budget", "How the budget was spent", &budget::plot(&fit.guarantee)),
        section("ledger", "The budget of the data set", &ledger::plot(fit.statement.as_ref())),
        section("reproduce", "How this was made", &method(fit)),
        section("iterates", "Appendix: the descent", &trajectory::plot(fit)),
    ];
    page(&title, &body.concat())
}

/// A page that needs nothing else.
fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped(title),
        super::STYLE,
    )
}

/// The summary as a piece of a page, for notebooks: it brings no style and takes that of its
/// surroundings.
pub fn summary_html(fit: &Fit) -> String {
    let guarantee = &fit.guarantee;
    format!(
        "<div>\n<p><strong>Private {}</strong><br><code>{}</code><br>{} {}, &rho; = {}, &epsilon; = {} at &delta; = {:e}</p>\n\
         {}{}{}{}{}{}{}</div>\n",
        fit.family().regression(),
        escaped(&fit.formula),
        grouped(fit.rows),
        guarantee.promise.unit.plural(),
        guarantee.rho,
        guarantee.epsilon,
        guarantee.delta,
        void(&fit.guarantee),
        table(fit),
        left_out(fit),
        paragraph(&covered(fit)),
        paragraph(&promise(guarantee)),
        paragraph(&attack(guarantee)),
        all_notes(fit),
    )
}

/// The warning that goes before everything else.
fn void(guarantee: &Guarantee) -> &'static str {
    match guarantee.promise.provenance {
        // Simulated rows have a mark of their own.
        Provenance::System | Provenance::Simulated => "",
        Provenance::Seed => {
            "<p class=\"void\" role=\"alert\"><strong>Not private.</strong> The noise came from a fixed seed. Do not publish this page.</p>\n"
        }
    }
}

fn header(fit: &Fit, cover: &Cover) -> String {
    let of_ledger = fit.statement.as_ref().map(|statement| &statement.dataset);
    let group = fit.group.as_ref().map(|group| format!("{} = {}", group.by.name(), group.level));
    let facts = [
        given("Author", cover.author.as_ref()),
        fact("Date", &escaped(&fit.date)),
        given("Data set", cover.dataset.as_ref().or(of_ledger)),
        given("Group", group.as_ref()),
        fact(&capitalised(fit.guarantee.promise.unit.plural()), &grouped(fit.rows)),
        given("Used", used(fit.rows_used.as_ref()).as_ref()),
        given("Weights", fit.weights.as_ref().map(ToString::to_string).as_ref()),
        fact("What is protected", protected(fit.guarantee.promise.unit)),
        given("Identified by", fit.guarantee.promise.person.as_ref()),
        given("Standard errors", fit.person.as_ref().map(clustering).as_ref()),
        fact("Budget", &format!("&rho; = {}", fit.guarantee.rho)),
        fact("Which is", &format!("&epsilon; = {} at &delta; = {:e}", fit.guarantee.epsilon, fit.guarantee.delta)),
        fact("Neighbours", fit.guarantee.promise.neighbours.name()),
    ];
    heading_of_page((fit.family(), &fit.formula), cover, void(&fit.guarantee), &facts.concat())
}

fn heading_of_page((family, formula): (Family, &str), cover: &Cover, void: &str, facts: &str) -> String {
    let formula = format!("<code>{}</code>", escaped(formula));
    let heading = match &cover.title {
        Some(title) => format!("<h1>{}</h1>\n<p class=\"formula\">{formula}</p>\n", escaped(title)),
        None => format!("<h1>{formula}</h1>\n"),
    };
    format!(
        "<header>\n<p class=\"kind\">Private {}</p>\n{heading}{void}<dl class=\"facts\">\n{facts}</dl>\n</header>\n",
        family.regression(),
    )
}

/// How many rows were used, and the ends of the interval of that number.
fn used(rows: Option<&Bounded>) -> Option<String> {
    rows.map(|rows| {
        let [about, low, high] = [rows.estimate, rows.low, rows.high].map(|number| grouped(number as u64));
        format!("about {about} (from {low} to {high})")
    })
}

/// A fact that may not be there.
fn given(name: &str, value: Option<&String>) -> String {
    value.map_or(String::new(), |value| fact(name, &escaped(value)))
}

fn protected(unit: Unit) -> &'static str {
    match unit {
        Unit::Row => "each row",
        Unit::Person => "each person, with all their rows",
    }
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
    let heads = heads("Coefficient", fit.purpose, is_student(fit));
    let row = |one: &Coefficient| significant_row(fit, one, &one.name, is_student(fit));
    let rows: String = fit.reported().map(row).collect();
    let table = format!("<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n");
    let skewed = asymmetric(fit).map_or(String::new(), |words| paragraph(&words));
    scrolling("Table of coefficients", &table) + &skewed
}

/// The heads of a table of coefficients.
fn heads(first: &str, purpose: Purpose, is_student: bool) -> String {
    let names = match (purpose, is_student) {
        (Purpose::Prediction, _) => vec!["Estimate"],
        (Purpose::Inference, false) => vec!["Estimate", "Std. error", "z", "p-value", "From", "To"],
        (Purpose::Inference, true) => vec!["Estimate", "Std. error", "t", "Df", "p-value", "From", "To"],
    };
    let all = std::iter::once(first).chain(names);
    all.map(|head| format!("<th scope=\"col\">{head}</th>")).collect()
}

/// The name of a coefficient, which may be broken before a product's next factor and before a
/// level, but not inside a word.
fn breakable(name: &str) -> String {
    let products = escaped(name).replace(':', "<wbr>:");
    // Two colons join a period or a cohort to its level, as one word.
    products.replace("<wbr>:<wbr>:", "::").replace('[', "<wbr>[")
}

/// A table that a narrow screen, or a keyboard, can scroll by itself.
fn scrolling(name: &str, table: &str) -> String {
    format!("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">\n{table}</div>\n")
}

/// What the instrument does, where there is one.
fn first_stage(fit: &Fit) -> String {
    fit.first_stage.as_ref().map_or(String::new(), |stage| paragraph(&instrumented(stage, fit.level)))
}

/// What the coefficients of a logit come to.
fn odds(fit: &Fit) -> String {
    let rows = odds_rows(fit);
    if rows.is_empty() {
        return String::new();
    }
    let heads = odds_heads(fit, "Coefficient", ["From", "To"]);
    let heads: String = heads.iter().map(|head| format!("<th scope=\"col\">{head}</th>")).collect();
    let row = |cells: Vec<String>| {
        let name = format!("<th scope=\"row\"><code>{}</code></th>", escaped(&cells[0]));
        let cells: String = cells[1..].iter().map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr>{name}{cells}</tr>\n")
    };
    let rows: String = rows.into_iter().map(row).collect();
    let table = format!("<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n");
    let effects = match fit.marginal_effects.is_empty() {
        true => "",
        false => {
            " The effect is how much its probability then changes, on average over rows: the average marginal effect, a derivative."
        }
    };
    let ratio = "what the odds are multiplied by where a column is larger by 1";
    let words = format!("An odds ratio of {} is {ratio}.{effects}", outcome(fit));
    scrolling("Table of odds ratios", &table) + &paragraph(&words)
}

/// What was released of the errors.
fn quality(fit: &Fit) -> String {
    if fit.purpose == Purpose::Prediction {
        return String::new();
    }
    let with_ends = |one: &Bounded, scale: f64, unit: &str| {
        let [estimate, low, high] = [one.estimate, one.low, one.high].map(|number| short(scale * number));
        format!("{estimate}{unit} (from {low} to {high})")
    };
    let spread = fit.residual_sd.as_ref().map(|one| {
        let response = fit.design.model().response();
        format!(
            "Rows spread around the model with a standard deviation of {}, in units of {response}.",
            with_ends(one, 1.0, "")
        )
    });
    let of_what = match fit.family() {
        Family::Gaussian => "variance of the response",
        Family::Binomial => "deviance that a constant alone has (McFadden's pseudo R-squared)",
    };
    let explained = fit
        .r_squared
        .as_ref()
        .map(|one| format!("The model explains {} of the {of_what}.", with_ends(one, 100.0, " %")));
    let known: Vec<String> = spread.into_iter().chain(explained).collect();
    match why_no_quality(fit) {
        Some(why) if known.is_empty() => paragraph(&format!(
            "There is no estimate of the spread of the errors, nor of the share of variance explained, {why}."
        )),
        None if known.is_empty() => String::new(),
        _ => paragraph(&known.join(" ")),
    }
}

/// A coefficient as a line of a table that calls it so.
fn significant_row(fit: &Fit, one: &Coefficient, name: &str, is_student: bool) -> String {
    let name = format!("<th scope=\"row\"><code>{}</code></th>", breakable(name));
    let cells = match (one.estimate, &one.precision) {
        (Some(estimate), None) => vec![significant(estimate)],
        (Some(estimate), Some(precision)) => interval_cells(is_student, estimate, precision),
        (None, _) => {
            let words = in_place_of_numbers(fit, one);
            return format!("<tr>{name}<td colspan=\"7\" class=\"unknown\">{words}</td></tr>\n");
        }
    };
    let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
    format!("<tr>{name}{cells}</tr>\n")
}

fn guarantee(guarantee: &Guarantee) -> String {
    let of_whom = match guarantee.promise.unit {
        Unit::Row => "It speaks of one row: a person with several rows is protected less.",
        Unit::Person => "It speaks of one person with all their rows, however many.",
    };
    format!(
        "<p>In plain words: {} The closer to 50 %, the stronger the promise. It holds whatever the reader knows of the people in the \
             data, and it cannot be weakened by further work on the numbers shown here. {of_whom}</p>\n",
        escaped(&uncapitalised(&attack(guarantee))),
    ) + &paragraph(&promise(guarantee))
}

/// Why coefficients are not in the model, and what would bring them in.
fn left_out(fit: &Fit) -> String {
    let item = |one: &LeftOut| format!("<code>{}</code>: {}", escaped(&one.name), escaped(&cause_in_words(fit, one)));
    let items = list(fit.left_out.iter().map(item));
    if items.is_empty() { items } else { paragraph(fitted_without(fit)) + &items }
}

fn all_notes(fit: &Fit) -> String {
    list(notes(fit).map(|note| escaped(&capitalised(&note))))
}

/// A list of pieces of HTML; empty if there are none.
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
    let (of, noisy) = match fit.first_stage {
        None => ("gradients clipped at", "coordinate of the mean gradient (standardised units)"),
        Some(_) => ("rows shortened to", "second moment (whitened units)"),
    };
    format!(
        "<p>dplm {}, method <code>{}</code>: {steps}{of} {}, noise of standard deviation {} in each {noisy}. Every number on this page is public or was released with noise. Anyone who holds the data can make \
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
