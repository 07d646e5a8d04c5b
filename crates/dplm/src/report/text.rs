//! The fit for people: a table that users of `lm` and statsmodels recognise.

use super::event::{studies, trend};
use crate::{
    Bounded, Coefficient, FirstStage, Fit, Group, Statement, Warning,
    number::{grouped, p_value, percent_up, rounded_up, significant},
    options::{IntervalMethod, Purpose, Target},
    privacy::{Epsilon, Guarantee, Neighbours, Promise, Provenance, Unit, convert::Conversion},
};

/// Sentences are broken at so many characters.
pub(super) const WIDTH: usize = 100;

/// The summary of a fit.
pub fn summary(fit: &Fit) -> String {
    let guarantee = guarantee_in_words(&fit.guarantee);
    let budget = budget(&fit.guarantee, fit.statement.as_ref());
    let parts = [
        heading(fit),
        table(fit),
        trends(fit),
        instrument(fit),
        quality(fit),
        reading(fit),
        guarantee,
        budget,
        warnings(fit),
    ];
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
}

impl std::fmt::Display for Fit {
    /// The [`summary`].
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&summary(self))
    }
}

fn heading(fit: &Fit) -> String {
    let method = &fit.method;
    let runs = if method.runs > 1 { format!("{} runs of ", method.runs) } else { String::new() };
    let steps = match fit.trajectories.is_empty() {
        true => String::new(),
        false => format!("{runs}{} steps of {}, ", method.steps, significant(method.step_size)),
    };
    let about = fit.group.as_ref().map_or(String::new(), in_group);
    let weighted = fit.weights.as_ref().map_or(String::new(), |weights| format!(" weighted by {weights}"));
    format!(
        "Private linear regression (dplm {})\n\n  {}\n  {about}{} {}{weighted}{}; method {}: {steps}clip {}, noise sd {}\n",
        env!("CARGO_PKG_VERSION"),
        fit.formula,
        grouped(fit.rows),
        fit.guarantee.promise.unit.plural(),
        used(fit.rows_used.as_ref()),
        method.name,
        significant(method.clip),
        significant(method.noise_sd),
    )
}

/// How many rows were used, after how many there are.
pub(super) fn used(rows: Option<&Bounded>) -> String {
    rows.map_or(String::new(), |rows| format!(", about {} used", grouped(rows.estimate as u64)))
}

/// Which group a fit is of, before its size.
fn in_group(group: &Group) -> String {
    format!("{} = {}: {}", group.by.name(), group.level, if group.size_sd.is_some() { "about " } else { "" })
}

fn table(fit: &Fit) -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(columns(fit)).chain(fit.coefficients.iter().map(|one| line(fit, one))).collect();
    let heading = match fit.left_out.len() {
        0 => "Coefficients:".to_owned(),
        count => format!("Coefficients: ({count} left out)"),
    };
    format!("{heading}\n{}{}", aligned(&rows, 2), left_out(fit))
}

/// Rows of cells in columns, the first aligned on the left and the others on the right, with so many spaces before and between.
pub(super) fn aligned(rows: &[Vec<String>], spaces: usize) -> String {
    let width = |j: usize| rows.iter().filter_map(|row| row.get(j)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let gap = " ".repeat(spaces);
    let print = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let padded =
            cells.map(|(j, (cell, &width))| if j == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
        format!("{gap}{}\n", padded.collect::<Vec<_>>().join(&gap).trim_end())
    };
    rows.iter().map(print).collect()
}

/// Why coefficients are not in the model, and what would bring them in.
fn left_out(fit: &Fit) -> String {
    let each = fit.left_out.iter().map(|one| wrapped(&format!("{}: {}", one.name, one.cause), WIDTH, "    "));
    let lines: String = each.map(|lines| lines.replacen("    ", "  ", 1)).collect();
    if lines.is_empty() { lines } else { format!("\n{}\n{lines}", fitted_without(fit)) }
}

/// What it means that coefficients are left out, in words.
pub(super) fn fitted_without(fit: &Fit) -> &'static str {
    match fit.left_out.len() {
        1 => "Left out, as this budget cannot resolve it; the model was fitted without it:",
        _ => "Left out, as this budget cannot resolve them; the model was fitted without them:",
    }
}

fn columns(fit: &Fit) -> Vec<String> {
    let names = match fit.purpose {
        Purpose::Prediction => vec!["Estimate".to_owned()],
        Purpose::Inference => interval_heads(fit.interval, fit.level),
    };
    std::iter::once(String::new()).chain(names).collect()
}

/// The heads of a table of estimates with their tests and intervals, as R's users know them.
pub fn interval_heads(interval: IntervalMethod, level: f64) -> Vec<String> {
    let letter = if interval == IntervalMethod::Newton { "z" } else { "t" };
    let tail = 0.5 - level / 2.0;
    vec![
        "Estimate".to_owned(),
        "Std. Error".to_owned(),
        format!("{letter} value"),
        format!("Pr(>|{letter}|)"),
        format!("{} %", percent(tail)),
        format!("{} %", percent(1.0 - tail)),
    ]
}

/// A share in percent: at most three places, without trailing zeros.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.3}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A coefficient as cells, its name first.
pub(super) fn line(fit: &Fit, coefficient: &Coefficient) -> Vec<String> {
    let mut cells = vec![coefficient.name.clone()];
    match (coefficient.estimate, &coefficient.precision) {
        (Some(estimate), Some(precision)) => cells.extend([
            significant(estimate),
            significant(precision.std_error),
            format!("{:.2}", precision.statistic),
            p_value(precision.p_value),
            significant(precision.low),
            significant(precision.high),
        ]),
        (Some(estimate), None) => cells.push(significant(estimate)),
        (None, _) => cells.push(in_place_of_numbers(fit, coefficient).to_owned()),
    }
    cells
}

/// What is said of a coefficient that has no number.
pub(super) fn in_place_of_numbers(fit: &Fit, coefficient: &Coefficient) -> &'static str {
    match () {
        () if fit.is_left_out(&coefficient.name) => "left out",
        () if fit.first_stage.is_some() => "a control",
        () => "not identified",
    }
}

/// What the coefficients of event studies say of the time before.
fn trends(fit: &Fit) -> String {
    studies(fit).iter().map(|event| wrapped(&trend(event), WIDTH, "")).collect()
}

fn instrument(fit: &Fit) -> String {
    fit.first_stage.as_ref().map_or(String::new(), |stage| wrapped(&instrumented(stage, fit.level), WIDTH, ""))
}

/// What the instrument does to the regressor, and what that means for the interval.
pub(super) fn instrumented(stage: &FirstStage, level: f64) -> String {
    let FirstStage { regressor, instrument, statistic, p_value: p, excluded } = stage;
    let set = excluded.map_or(String::new(), |(from, to)| {
        let (from, to) = (significant(from), significant(to));
        format!(" At {} % all values are possible but for those from {from} to {to}.", percent(level))
    });
    format!(
        "First stage, that '{instrument}' does not move '{regressor}': chi-square {} on 1 degree of freedom, p-value {}. The interval is the \
         Anderson-Rubin set, which covers however weak the instrument is, and is unbounded where it is too weak.{set}",
        significant(*statistic),
        p_value(*p),
    )
}

/// How well the model fits, as far as it was released.
fn quality(fit: &Fit) -> String {
    let with_ends = |name: &str, one: &Bounded| {
        let [estimate, low, high] = [one.estimate, one.low, one.high].map(significant);
        format!("{name}: {estimate} ({low} to {high})")
    };
    let spread = fit.residual_sd.iter().map(|one| with_ends("Residual standard error", one));
    let explained = fit.r_squared.iter().map(|one| with_ends("R-squared", one));
    let known: Vec<String> = spread.chain(explained).collect();
    if known.is_empty() { String::new() } else { known.join("; ") + "\n" }
}

fn reading(fit: &Fit) -> String {
    wrapped(&covered(fit), WIDTH, "")
}

/// What the intervals cover, in words.
pub(super) fn covered(fit: &Fit) -> String {
    if fit.purpose == Purpose::Prediction {
        return "Estimates for prediction: no budget was spent on intervals, so none is given.".to_owned();
    }
    let noise = match fit.asked {
        Target::Sample => "Only privacy noise is inside.",
        Target::Population | Target::Robust | Target::Person => "Sampling and privacy noise are both inside.",
    };
    format!("The {} % intervals ({}) are for {}. {noise}", percent(fit.level), fit.interval.name(), fit.target_text())
}

pub(super) fn guarantee_in_words(guarantee: &Guarantee) -> String {
    let heading = match guarantee.promise.provenance {
        Provenance::System => "Guarantee",
        Provenance::Seed => "Guarantee (void: the noise is reproducible)",
        Provenance::Simulated => "Guarantee (about nobody: the rows were simulated)",
    };
    format!("{heading}\n{}", wrapped(&promise(guarantee), WIDTH, "  ") + &wrapped(&attack(guarantee), WIDTH, "  "))
}

/// The guarantee in one plain paragraph.
pub(super) fn promise(guarantee: &Guarantee) -> String {
    let Guarantee { promise: Promise { unit, neighbours, conversion, .. }, rho, epsilon, delta, .. } = guarantee;
    let (but, bound) = match conversion {
        // A Gaussian mechanism's own curve needs no mention.
        Conversion::Exact => ("", ""),
        Conversion::Simple | Conversion::Cks => ("", ", by a conversion that holds for every zCDP mechanism,"),
        Conversion::Tested => (
            " but for half of delta, with which a test may fail to protect",
            ", by a conversion that holds for every such mechanism,",
        ),
    };
    let change = match (unit, neighbours) {
        (Unit::Row, Neighbours::ReplaceOne) => "replacing any one row of the data by any other row",
        (Unit::Row, Neighbours::ZeroOut) => "removing the contribution of any one row of the data",
        (Unit::Person, Neighbours::ReplaceOne) => "replacing all rows of any one person by any rows of another person",
        (Unit::Person, Neighbours::ZeroOut) => "removing the contribution of all rows of any one person",
    };
    format!(
        "Everything released is {rho}-zCDP for {neighbours} neighbours{but}, which{bound} is (epsilon, delta) = ({epsilon}, {delta:e}) differential \
         privacy: for any set of results, {change} changes the probability that the result is among them by at most the factor \
         e^{epsilon}{}, plus {delta:e}. The number of {} is public.",
        about(*epsilon),
        unit.plural(),
    )
}

/// What the factor comes to, where that is a number one can picture.
fn about(epsilon: Epsilon) -> String {
    const LARGEST: f64 = 1e4;
    let factor = epsilon.to_f64().exp();
    if factor < LARGEST { format!(" (about {})", rounded_up(factor, 2)) } else { String::new() }
}

/// What the guarantee means to a reader who would like to know more.
pub(super) fn attack(guarantee: &Guarantee) -> String {
    let Promise { unit, neighbours, .. } = &guarantee.promise;
    let units = unit.plural();
    let question = match neighbours {
        Neighbours::ReplaceOne => format!("which of two equally likely {units} was in the data"),
        Neighbours::ZeroOut => format!("whether a {unit} contributed or not, both equally likely,"),
    };
    format!(
        "Someone who knows all other {units} and sees everything released guesses {question} correctly at most {} of the time; a tossed \
         coin does so 50 % of the time.",
        percent_up(guarantee.guess),
    )
}

/// Lines of at most `width` characters beside what stands before them.
pub(super) fn wrapped(text: &str, width: usize, before: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| format!("{before}{line}\n")).collect()
}

pub(super) fn budget(guarantee: &Guarantee, statement: Option<&Statement>) -> String {
    let lines = guarantee.releases.iter().map(|release| {
        let share = 100.0 * release.rho.to_f64() / guarantee.rho.to_f64();
        format!("  {share:5.1} %  rho {}  {}\n", release.rho, release.what)
    });
    let left = statement.map_or(String::new(), |statement| {
        let (total, left) = (statement.total(), statement.left());
        let Statement { dataset, entry, hash, .. } = statement;
        format!("  The ledger has rho = {left} of {total} left for '{dataset}'.\n  Entry {entry}: {hash}\n")
    });
    format!("Budget\n{}{left}", lines.collect::<String>())
}

fn warnings(fit: &Fit) -> String {
    let lines = notes(fit).map(|note| wrapped(&note, WIDTH, "    ").replacen("    ", "  - ", 1));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("Notes\n{lines}") }
}

/// The warnings, but for what is said below the table already.
pub(super) fn notes(fit: &Fit) -> impl Iterator<Item = String> {
    let is_new = |warning: &&Warning| !matches!(warning, Warning::LeftOut { .. });
    fit.warnings.iter().filter(is_new).map(ToString::to_string)
}
