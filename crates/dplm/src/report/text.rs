//! The fit for people: a table that users of `lm` and statsmodels recognise.

use crate::{
    Coefficient, Fit, Statement,
    number::{grouped, p_value, percent_up, rounded_up, significant},
    options::{IntervalMethod, Purpose, Target},
    privacy::{Epsilon, Guarantee, Neighbours},
};

/// Sentences are broken at so many characters.
const WIDTH: usize = 100;

/// The summary of a fit.
pub fn summary(fit: &Fit) -> String {
    let parts = [heading(fit), table(fit), reading(fit), guarantee(fit), budget(fit), warnings(fit)];
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
    format!(
        "Private linear regression (dplm {})\n\n  {}\n  {} rows; method {}: {steps}clip {}, noise sd {}\n",
        env!("CARGO_PKG_VERSION"),
        fit.formula,
        grouped(fit.rows),
        method.name,
        significant(method.clip),
        significant(method.noise_sd),
    )
}

fn table(fit: &Fit) -> String {
    let rows: Vec<Vec<String>> =
        std::iter::once(columns(fit)).chain(fit.coefficients.iter().map(|one| line(fit, one))).collect();
    let widths: Vec<usize> =
        (0..rows[0].len()).map(|j| rows.iter().map(|row| row[j].chars().count()).max().unwrap_or(0)).collect();
    let print = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate();
        let padded =
            cells.map(|(j, (cell, &width))| if j == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") });
        format!("  {}\n", padded.collect::<Vec<_>>().join("  ").trim_end())
    };
    format!("Coefficients:\n{}", rows.iter().map(print).collect::<String>())
}

fn columns(fit: &Fit) -> Vec<String> {
    let names: Vec<String> = match fit.purpose {
        Purpose::Prediction => vec!["Estimate".to_owned()],
        Purpose::Inference => {
            let letter = if fit.interval == IntervalMethod::Newton { "z" } else { "t" };
            let tail = 0.5 - fit.level / 2.0;
            vec![
                "Estimate".to_owned(),
                "Std. Error".to_owned(),
                format!("{letter} value"),
                format!("Pr(>|{letter}|)"),
                format!("{} %", percent(tail)),
                format!("{} %", percent(1.0 - tail)),
            ]
        }
    };
    std::iter::once(String::new()).chain(names).collect()
}

/// A share in percent: at most three places, without trailing zeros.
pub(super) fn percent(share: f64) -> String {
    let text = format!("{:.3}", 100.0 * share);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn line(fit: &Fit, coefficient: &Coefficient) -> Vec<String> {
    let mut cells = vec![coefficient.name.clone(), significant(coefficient.estimate)];
    if fit.purpose == Purpose::Inference {
        match &coefficient.precision {
            Some(precision) => cells.extend([
                significant(precision.std_error),
                format!("{:.2}", coefficient.estimate / precision.std_error),
                p_value(precision.p_value),
                significant(precision.low),
                significant(precision.high),
            ]),
            None => {
                cells[1] = "not identified".to_owned();
                cells.extend(std::iter::repeat_n("-".to_owned(), 5));
            }
        }
    }
    cells
}

fn reading(fit: &Fit) -> String {
    wrapped(&covered(fit), WIDTH, "")
}

/// What the intervals cover, in words.
pub(super) fn covered(fit: &Fit) -> String {
    if fit.purpose == Purpose::Prediction {
        return "Estimates for prediction: no budget was spent on intervals, so none is given.".to_owned();
    }
    let target = match fit.target {
        Target::Population => {
            "the true coefficient of the population these rows were drawn from; sampling and privacy noise are both inside"
        }
        Target::Sample => {
            "the best-fitting coefficient on exactly these rows, gradients clipped; only privacy noise is inside"
        }
        Target::Robust => {
            "the robust (Huber) coefficient of the population these rows were drawn from, at this clip; sampling and privacy noise are both inside"
        }
    };
    format!("Each {} % interval ({}) is for {target}.", percent(fit.level), fit.interval.name())
}

fn guarantee(fit: &Fit) -> String {
    let heading = if fit.private { "Guarantee" } else { "Guarantee (void: the noise is reproducible)" };
    format!(
        "{heading}\n{}",
        wrapped(&promise(&fit.guarantee), WIDTH, "  ") + &wrapped(&attack(&fit.guarantee), WIDTH, "  ")
    )
}

/// The guarantee in one plain paragraph.
pub(super) fn promise(guarantee: &Guarantee) -> String {
    let Guarantee { neighbours, rho, epsilon, delta, .. } = guarantee;
    let change = match neighbours {
        Neighbours::ReplaceOne => "replacing any one row of the data by any other row",
        Neighbours::ZeroOut => "removing the contribution of any one row of the data",
    };
    format!(
        "Everything released is {rho}-zCDP for {neighbours} neighbours, which is (epsilon, delta) = ({epsilon}, {delta:e}) differential \
         privacy: for any set of results, {change} changes the probability that the result is among them by at most the factor \
         e^{epsilon}{}, plus {delta:e}. The number of rows is public.",
        about(*epsilon),
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
    let question = match guarantee.neighbours {
        Neighbours::ReplaceOne => "which of two equally likely rows was in the data",
        Neighbours::ZeroOut => "whether a row contributed or not, both equally likely,",
    };
    format!(
        "Someone who knows all other rows and sees everything released guesses {question} correctly at most {} of the time; a tossed \
         coin does so 50 % of the time.",
        percent_up(guarantee.guess),
    )
}

/// Lines of at most `width` characters beside what stands before them.
fn wrapped(text: &str, width: usize, before: &str) -> String {
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

fn budget(fit: &Fit) -> String {
    let guarantee = &fit.guarantee;
    let lines = guarantee.releases.iter().map(|release| {
        let share = 100.0 * release.rho.to_f64() / guarantee.rho.to_f64();
        format!("  {share:5.1} %  rho {}  {}\n", release.rho, release.what)
    });
    let left = fit.statement.as_ref().map_or(String::new(), |statement| {
        let (total, left) = (statement.total(), statement.left());
        let Statement { dataset, entry, hash, .. } = statement;
        format!("  The ledger has rho = {left} of {total} left for '{dataset}'.\n  Entry {entry}: {hash}\n")
    });
    format!("Budget\n{}{left}", lines.collect::<String>())
}

fn warnings(fit: &Fit) -> String {
    if fit.warnings.is_empty() {
        return String::new();
    }
    let lines =
        fit.warnings.iter().map(|warning| wrapped(&warning.to_string(), WIDTH, "    ").replacen("    ", "  - ", 1));
    format!("Notes\n{}", lines.collect::<String>())
}
