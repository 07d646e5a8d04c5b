//! The command that makes such a fit again.

use crate::{Fit, formula::Kind, options::Purpose};

/// `dplm fit` with every option that matters, for a POSIX shell.
pub(super) fn of(fit: &Fit) -> String {
    let guarantee = &fit.guarantee;
    let mut words = vec![
        "dplm fit DATA".to_owned(),
        format!("--formula {}{}", quoted(&fit.formula), standardised(fit)),
        format!(
            "--rho {} --delta {:e} --neighbours {}",
            guarantee.rho,
            guarantee.delta,
            guarantee.promise.neighbours.name()
        ),
        format!("--method {}{}", fit.method.name, by_hand(fit)),
    ];
    words.extend(fit.person.as_ref().map(|person| {
        let rows = person.rows.map_or_else(String::new, |rows| format!(" --rows-per-person {rows}"));
        format!("--person {}{rows}", quoted(&person.column))
    }));
    words.extend(fit.weights.as_ref().map(|weights| format!("--weights {}", quoted(&weights.to_string()))));
    words.extend(fit.group.as_ref().map(|group| format!("--by {}", quoted(&group.by.to_string()))));
    words.push(match fit.purpose {
        Purpose::Prediction => "--purpose prediction".to_owned(),
        Purpose::Inference => {
            format!("--interval {} --target {} --level {}", fit.interval.name(), fit.asked.name(), fit.level)
        }
    });
    words.join(" ")
}

/// What must be said of columns without bounds, where it is not said by asking for the paper's method.
fn standardised(fit: &Fit) -> &'static str {
    let bare = fit.design.columns().iter().any(|column| column.kind == Kind::Standard);
    if bare && fit.method.name != "dpgd" { " --standardised" } else { "" }
}

/// The parameters of the paper's method; other methods find their own.
fn by_hand(fit: &Fit) -> String {
    let method = &fit.method;
    match method.name.as_str() {
        "dpgd" => format!(" --clip {} --steps {} --step-size {}", method.clip, method.steps, method.step_size),
        _ => String::new(),
    }
}

/// A word that the shell takes as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_formula_stays_one_word() {
        assert_eq!(quoted("y ~ `it's`"), "'y ~ `it'\\''s`'");
    }
}
