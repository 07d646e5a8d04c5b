//! The commands that make such a fit again.

use dplm::{
    Fit,
    options::{Interface, Opt, Purpose},
    request::{FitRequest, OptionKind, OptionSpec, Value},
};

/// Options that are said though they have their usual value: what a reader looks for.
const SAID: [Opt; 5] = [Opt::Delta, Opt::Neighbours, Opt::Method, Opt::Interval, Opt::Level];
/// Options of intervals, which a fit for prediction has none of.
const OF_INTERVALS: [Opt; 2] = [Opt::Interval, Opt::Level];

/// `dplm fit` with every option that matters, for a POSIX shell, and `dplm refine` for each time
/// that the fit was refined.
pub(super) fn of(fit: &Fit) -> String {
    let csv = fit.csv.to_string();
    let csv = if csv.is_empty() { csv } else { format!(" {} {csv}", Interface::Command.option(Opt::Csv)) };
    let first = format!("dplm fit DATA {}{csv}", options(&fit.request));
    let group = fit.group.as_ref().map_or(String::new(), |group| format!(" --group {}", quoted(&group.level)));
    let again = fit.refined.iter().map(|rho| format!("; dplm refine FIT.json DATA{group} --rho {rho}"));
    [first].into_iter().chain(again).collect()
}

fn options(request: &FitRequest) -> String {
    let specs = OptionSpec::all().filter(|spec| FitRequest::OPTIONS.contains(&spec.option));
    let is_said = |spec: &&OptionSpec| {
        let is_usual = request.value(spec.option) == Some((spec.default)());
        let has_intervals = request.purpose == Purpose::Inference || !OF_INTERVALS.contains(&spec.option);
        (!is_usual || SAID.contains(&spec.option)) && has_intervals
    };
    let words = specs.filter(is_said).filter_map(|spec| written(spec, request.value(spec.option)?));
    words.collect::<Vec<_>>().join(" ")
}

/// An option as it is typed; `None` if it is not typed.
fn written(spec: &OptionSpec, value: Value) -> Option<String> {
    let name = Interface::Command.option(spec.option);
    match value {
        Value::Nothing | Value::Truth(false) => None,
        Value::Truth(true) => Some(name),
        Value::Number(number) if number.abs() < 1e-3 => Some(format!("{name} {number:e}")),
        Value::Number(number) => Some(format!("{name} {number}")),
        Value::Whole(number) => Some(format!("{name} {number}")),
        Value::Text(word) if matches!(spec.kind, OptionKind::Word(..)) => Some(format!("{name} {word}")),
        Value::Text(text) => Some(format!("{name} {}", quoted(&text))),
        Value::Sizes(sizes) => Some(format!("{name} {}", quoted(&sizes.to_string()))),
        Value::Texts(texts) => Some(format!("{name} {}", quoted(&texts.join(", ")))),
        Value::Moments(_) => Some(format!("{name} MOMENTS")),
        Value::Path(path) => Some(format!("{name} {}", quoted(&path.display().to_string()))),
    }
}

/// A word that the shell takes as it is; a plain one needs no quotes.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_formula_stays_one_word() {
        assert_eq!(quoted("y ~ `it's`"), "'y ~ `it'\\''s`'");
        assert_eq!(quoted("id"), "id");
    }
}
