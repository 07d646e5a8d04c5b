//! A study as text, and what its page says too.

use dplm::{
    Coefficient, Fit,
    number::{grouped, significant},
    report::text::{aligned, attack, percent, promise, used, wrapped},
    study::{Interest, StudyFit, StudyPart},
};

const WIDTH: usize = 100;

/// The summary of a study: the coefficient that is followed, then all of them side by side.
pub fn study_summary(study: &StudyFit) -> String {
    let width = study.parts.iter().map(|part| part.name.chars().count()).max().unwrap_or(0);
    let formulas = study.parts.iter().map(|part| format!("  {:<width$}  {}\n", part.name, part.fit.formula));
    let heading = format!(
        "Private study of {} specifications (dplm {})\n\n{}  {}\n",
        study.parts.len(),
        env!("CARGO_PKG_VERSION"),
        formulas.collect::<String>(),
        rows_in_words(study),
    );
    let guarantee = wrapped(&promise(&study.guarantee), WIDTH, "  ") + &wrapped(&attack(&study.guarantee), WIDTH, "  ");
    let parts = [
        heading,
        followed(study),
        side_by_side(study),
        controls(study),
        format!("Guarantee of the whole study\n{guarantee}"),
        budget(study),
    ];
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn rows_in_words(study: &StudyFit) -> String {
    let Fit { rows, weights, .. } = &study.parts[0].fit;
    let weighted = weights.as_ref().map_or(String::new(), |weights| format!(" weighted by {weights}"));
    let used = used(study.rows_used.as_ref());
    format!("{} {}{weighted}{used}", grouped(*rows), study.guarantee.promise.unit.plural())
}

/// Why a coefficient is followed that was not named; empty if it was named.
pub(super) fn why_followed(interest: &Interest) -> String {
    match interest.stated {
        true => String::new(),
        false => format!("{} is followed, as the first coefficient that all specifications have. ", interest.name),
    }
}

/// What the intervals of the coefficient that is followed are, in words.
pub(super) fn of_intervals(study: &StudyFit) -> String {
    let level = percent(study.interest_level());
    match study.simultaneous {
        false => format!("with {level} % intervals, each by itself"),
        true => {
            let level_of_all = study.parts.first().map_or(0.95, |part| part.fit.level);
            format!("with {level} % intervals, so that all hold at once with probability {} %", percent(level_of_all))
        }
    }
}

fn followed(study: &StudyFit) -> String {
    let Some(interest) = &study.interest else { return String::new() };
    let heads = ["", "Estimate", "Std. Error", "From", "To", "Share"].map(str::to_owned).to_vec();
    let line = |part: &StudyPart| {
        let share = format!("{} %", percent(part.share));
        let numbers = study.followed(part).ok().flatten().map(|(estimate, (low, high))| {
            let error = study
                .place_in(part)
                .and_then(|place| part.fit.coefficients[place].precision)
                .map_or(f64::NAN, |one| one.std_error);
            [estimate, error, low, high].map(significant).to_vec()
        });
        let numbers = numbers.unwrap_or_else(|| {
            vec![in_place_of_numbers(study, part).to_owned(), String::new(), String::new(), String::new()]
        });
        [vec![part.name.clone()], numbers, vec![share]].concat()
    };
    let rows: Vec<Vec<String>> = std::iter::once(heads).chain(study.parts.iter().map(line)).collect();
    let intervals = format!("{}, {}:\n{}", interest.name, of_intervals(study), aligned(&rows, 2));
    if interest.stated { intervals } else { intervals + &wrapped(&why_followed(interest), WIDTH, "  ") }
}

/// What is said of a specification that has no number for the coefficient that is followed.
pub(super) fn in_place_of_numbers(study: &StudyFit, part: &StudyPart) -> &'static str {
    match study.place_in(part) {
        None => "not in it",
        Some(place) if part.fit.is_left_out(&part.fit.coefficients[place].name) => "left out",
        Some(_) => "not identified",
    }
}

/// The names of all coefficients that are reported, in the order of their first mention.
pub(super) fn names<'a>(fits: impl Iterator<Item = &'a Fit>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for one in fits.flat_map(Fit::reported) {
        if !names.contains(&one.name.as_str()) {
            names.push(&one.name);
        }
    }
    names
}

/// Those of a study.
pub(super) fn names_of(study: &StudyFit) -> Vec<&str> {
    names(study.parts.iter().map(|part| &part.fit))
}

/// An estimate with its standard error in brackets; words, or nothing, where there is none.
pub(super) fn cell(part: &StudyPart, name: &str) -> String {
    let Some(one) = part.fit.coefficients.iter().find(|one| one.name == name) else { return String::new() };
    match one {
        Coefficient { estimate: Some(estimate), precision: Some(precision), .. } => {
            format!("{} ({})", significant(*estimate), significant(precision.std_error))
        }
        _ if part.fit.is_left_out(name) => "left out".to_owned(),
        _ => "not identified".to_owned(),
    }
}

fn side_by_side(study: &StudyFit) -> String {
    let heads: Vec<String> =
        std::iter::once(String::new()).chain(study.parts.iter().map(|part| part.name.clone())).collect();
    let row = |name: &str| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(study.parts.iter().map(|part| cell(part, name))).collect()
    };
    let rows: Vec<Vec<String>> = std::iter::once(heads).chain(names_of(study).into_iter().map(row)).collect();
    format!("Coefficients, with standard errors in brackets:\n{}", aligned(&rows, 2))
}

/// What is said of the controls of each specification.
fn controls(study: &StudyFit) -> String {
    let of_part = |part: &StudyPart| controls_of(part).map(|text| wrapped(&text, WIDTH, "  "));
    study.parts.iter().filter_map(of_part).collect()
}

/// The same of one of them; `None` if all coefficients are reported.
pub(super) fn controls_of(part: &StudyPart) -> Option<String> {
    part.fit.controls_text().map(|text| format!("{}: {text}", part.name))
}

fn budget(study: &StudyFit) -> String {
    let total = study.guarantee.rho.to_f64();
    let line = |release: &dplm::privacy::Release| {
        format!("  {:5.1} %  rho {}  {}\n", 100.0 * release.rho.to_f64() / total, release.rho, release.what)
    };
    format!("Budget\n{}", study.guarantee.releases.iter().map(line).collect::<String>())
}
