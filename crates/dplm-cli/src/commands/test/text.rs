//! Tests for people.

use dplm::{
    Fit, TTest, WaldTest,
    options::IntervalMethod,
    report::{are_student, interval_cells, interval_heads},
};

use super::Tested;
use crate::{
    cells,
    layout::{self, p_value},
};

const UNKNOWN: &str = "not identified at this budget";

/// Single hypotheses in one table, joint ones in another, and what they are about.
pub(super) fn render(fit: &Fit, level: f64, tests: &[Tested]) -> String {
    let singles =
        tests.iter().filter_map(|test| if let Tested::One(one) = test { one.precision.as_ref() } else { None });
    let is_student = are_student(singles);
    let one = tests
        .iter()
        .filter_map(|test| if let Tested::One(one) = test { Some(one_line(one, is_student)) } else { None });
    let several =
        tests.iter().filter_map(|test| if let Tested::Several(one) = test { Some(joint_line(one)) } else { None });
    let about = format!("These tests are about {}.\n", fit.target_text());
    let heads = std::iter::once(String::new()).chain(interval_heads(is_student, level)).collect();
    section("Linear hypotheses", heads, one.collect())
        + &section("Joint hypotheses", joint_heads(fit.interval), several.collect())
        + &about
}

fn section(title: &str, heads: Vec<String>, lines: Vec<Vec<String>>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let all: Vec<Vec<String>> = std::iter::once(heads).chain(lines).collect();
    format!("{title}:\n{}\n", layout::table(&all))
}

fn one_line(test: &TTest, is_student: bool) -> Vec<String> {
    let found = test.estimate.zip(test.precision);
    let cells =
        found.map_or(vec![UNKNOWN.to_owned()], |(estimate, found)| interval_cells(is_student, estimate, &found));
    std::iter::once(test.hypothesis.clone()).chain(cells).collect()
}

fn joint_heads(interval: IntervalMethod) -> Vec<String> {
    match interval {
        IntervalMethod::Newton => cells!["", "Chisq", "Df", "Pr(>Chisq)"],
        _ => cells!["", "F", "Df", "Pr(>F)"],
    }
}

fn joint_line(test: &WaldTest) -> Vec<String> {
    let hypothesis = test.hypothesis.join(", ");
    let Some(found) = test.found else { return cells![hypothesis, UNKNOWN] };
    let df = found.df.map_or(found.equations.to_string(), |df| format!("{}, {df}", found.equations));
    cells![hypothesis, format!("{:.2}", found.statistic), df, p_value(found.p_value)]
}
