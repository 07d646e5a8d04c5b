//! The fits of several groups for people: one table, and a test of whether the groups differ.

use super::text::{
    WIDTH, aligned, asymmetric, budget, cause_in_words, clustering, covered, guarantee_in_words, interval_heads,
    is_student, line, used, wrapped,
};
use crate::{
    EqualityTest, Fit, FittedGroup, GroupOutcome, GroupedFit, Warning,
    number::{grouped, p_value, significant},
    options::{Family, Purpose},
    warning::LeftOut,
};

/// The summary of the fits of all groups.
pub fn grouped_summary(fit: &GroupedFit) -> String {
    let guarantee = guarantee_in_words(&fit.guarantee);
    let budget = budget(&fit.guarantee, fit.statement.as_ref());
    let parts = [
        heading(fit),
        sizes(fit),
        table(fit),
        left_out(fit),
        equality(fit),
        reading(fit),
        guarantee,
        budget,
        notes(fit),
    ];
    parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("\n")
}

impl std::fmt::Display for GroupedFit {
    /// The [`grouped_summary`].
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&grouped_summary(self))
    }
}

fn heading(fit: &GroupedFit) -> String {
    let weighted = fit.weights.as_ref().map_or(String::new(), |weights| format!(" weighted by {weights}"));
    let method = fit.fits().next().map_or(String::new(), |(_, one)| format!("; method {}", one.method.name));
    let (rows, unit) = (grouped(fit.rows), fit.guarantee.promise.unit.plural());
    let used = used(fit.rows_used.as_ref());
    let clustered = fit.person.as_ref().map_or(String::new(), |person| format!(", {}", clustering(person)));
    format!(
        "Private {} by group (dplm {})\n\n  {}\n  by {}\n  {rows} {unit}{weighted}{used}{clustered}{method}\n",
        fit.fits().next().map_or(Family::Gaussian, |(_, one)| one.family()).regression(),
        env!("CARGO_PKG_VERSION"),
        fit.formula,
        fit.by,
    )
}

/// How many units each group has, and why one was not fitted.
fn sizes(fit: &GroupedFit) -> String {
    let rows: Vec<Vec<String>> = fit.groups.iter().map(|group| vec![group.level.clone(), size(fit, group)]).collect();
    let refused = fit.groups.iter().filter_map(|group| match &group.outcome {
        GroupOutcome::NotFitted(why) => Some(wrapped(&format!("{} was not fitted: {why}", group.level), WIDTH, "  ")),
        GroupOutcome::Fitted(_) => None,
    });
    format!("Groups:\n{}{}", aligned(&rows, 2), refused.collect::<String>())
}

/// The size of a group, in words.
pub fn size(fit: &GroupedFit, group: &FittedGroup) -> String {
    let (size, unit) = (grouped(group.size), fit.guarantee.promise.unit.plural());
    match group.size_sd {
        Some(sd) => format!("about {size} {unit} (noise sd {})", significant(sd)),
        None => format!("{size} {unit}"),
    }
}

/// One table: under the name of each coefficient, a line for each group.
fn table(fit: &GroupedFit) -> String {
    if fit.fits().next().is_none() {
        return String::new();
    }
    let heads = match fit.purpose {
        Purpose::Prediction => vec!["Estimate".to_owned()],
        Purpose::Inference => interval_heads(are_student(fit), fit.level),
    };
    let mut rows: Vec<Vec<String>> = vec![std::iter::once(String::new()).chain(heads).collect()];
    for name in fit.names() {
        rows.push(vec![name.clone()]);
        rows.extend(fit.fits().map(|(group, one)| {
            let mut cells = line(one, one.coefficient(&name), are_student(fit));
            cells[0] = format!("  {}", group.level);
            cells
        }));
    }
    format!("Coefficients:\n{}", aligned(&rows, 2))
}

/// Whether any coefficient of any group is tested by Student's distribution.
pub fn are_student(fit: &GroupedFit) -> bool {
    fit.fits().any(|(_, one)| is_student(one))
}

/// Why coefficients are not in the model of a group.
fn left_out(fit: &GroupedFit) -> String {
    let each = left_out_in_words(fit).into_iter().map(|one| wrapped(&one, WIDTH, "    ").replacen("    ", "  ", 1));
    let lines: String = each.collect();
    if lines.is_empty() { lines } else { format!("Left out, as this budget cannot resolve them there:\n{lines}") }
}

pub fn left_out_in_words(fit: &GroupedFit) -> Vec<String> {
    let of_fit = |(group, one): (&FittedGroup, &Fit)| -> Vec<String> {
        let words = |left: &LeftOut| format!("{}, {}: {}", left.name, group.level, cause_in_words(one, left));
        one.left_out.iter().map(words).collect()
    };
    fit.fits().flat_map(of_fit).collect()
}

fn equality(fit: &GroupedFit) -> String {
    let tests = fit.equality();
    if tests.is_empty() {
        return String::new();
    }
    let heads = ["", "chi-square", "df", "Pr(>chi-square)"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = std::iter::once(heads).chain(tests.iter().map(test_line)).collect();
    format!("Are they the same in all groups?\n{}", aligned(&rows, 2))
}

/// A test as cells: what it is of, the statistic, its degrees of freedom and the p-value.
pub fn test_line(test: &EqualityTest) -> Vec<String> {
    let what = match &test.names[..] {
        [name] => name.clone(),
        names => format!("all {} together", names.len()),
    };
    vec![what, format!("{:.2}", test.statistic), test.df.to_string(), p_value(test.p_value)]
}

/// What the intervals cover, in words: the same of all groups, or of each.
pub fn covered_in_words(fit: &GroupedFit) -> Vec<String> {
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (group, one) in fit.fits() {
        let words = covered(one);
        match said.iter_mut().find(|(known, _)| *known == words) {
            Some((_, levels)) => levels.push(&group.level),
            None => said.push((words, vec![&group.level])),
        }
    }
    match &said[..] {
        [(words, _)] => vec![format!("In each group: {words}")],
        _ => said.into_iter().map(|(words, levels)| format!("{}: {words}", levels.join(", "))).collect(),
    }
}

fn reading(fit: &GroupedFit) -> String {
    covered_in_words(fit).iter().map(|words| wrapped(words, WIDTH, "")).collect()
}

/// What a reader should know, with the groups that it is about; not what is said of coefficients
/// that were left out already.
pub fn notes_in_words(fit: &GroupedFit) -> Vec<String> {
    let fitted = fit.fits().count();
    let is_new = |warning: &Warning| !matches!(warning, Warning::LeftOut { .. });
    let of_note = |(levels, warning): (Vec<&str>, &Warning)| match levels.len() {
        0 => warning.to_string(),
        count if count == fitted => warning.to_string(),
        _ => format!("{}: {warning}", levels.join(", ")),
    };
    let skewed = fit.fits().filter_map(|(group, one)| Some(format!("{}: {}", group.level, asymmetric(one)?)));
    let told = fit.notes().into_iter().filter(|(_, warning)| is_new(warning)).map(of_note);
    skewed.collect::<Vec<_>>().into_iter().chain(told).collect()
}

fn notes(fit: &GroupedFit) -> String {
    let lines = notes_in_words(fit).into_iter().map(|note| wrapped(&note, WIDTH, "    ").replacen("    ", "  - ", 1));
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("Notes\n{lines}") }
}
