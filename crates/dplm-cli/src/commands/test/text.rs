//! Tests for people.

use dplm::{Fit, TTest, WaldTest, options::IntervalMethod, report::interval_heads};

use super::Tested;
use crate::{
    cells,
    layout::{self, p_value, significant},
};

const UNKNOWN: &str = "not identified at this budget";

/// Single hypotheses in one table, joint ones in another, and what they are about.
pub(super) fn render(fit: &Fit, level: f64, tests: &[Tested]) -> String {
    let one = tests.iter().filter_map(|test| if let Tested::One(one) = test { Some(one_line(one)) } else { None });
    let several =
        tests.iter().filter_map(|test| if let Tested::Several(one) = test { Some(joint_line(one)) } else { None });
    let about = format!("These tests are about {}.\n", fit.target_text());
    let heads = std::iter::once(String::new()).chain(interval_heads(fit.interval, level)).collect();
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

fn one_line(test: &TTest) -> Vec<String> {
    match (test.estimate, test.precision) {
        (Some(estimate), Some(found)) => cells![
            test.hypothesis,
            significant(estimate),
            significant(found.std_error),
            format!("{:.2}", found.statistic),
            p_value(found.p_value),
            significant(found.low),
            significant(found.high),
        ],
        _ => cells![test.hypothesis, UNKNOWN],
    }
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
