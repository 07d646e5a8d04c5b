//! The command that makes such a fit again.

use crate::{
    Fit, Particulars,
    formula::Kind,
    options::{IntervalMethod, Purpose, Tuning},
};

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
        Purpose::Inference => format!("--interval {}{} --level {}", fit.interval.name(), intervals(fit), fit.level),
    });
    let csv = fit.particulars.csv.to_string();
    words.extend((!csv.is_empty()).then(|| format!("--csv {csv}")));
    words.join(" ")
}

/// What was asked of intervals, where it was: a target that is stated is another fit than one that is left to the method.
fn intervals(fit: &Fit) -> String {
    let Particulars { target, batches, burn_in, .. } = &fit.particulars;
    let target = target.map(|target| format!(" --target {}", target.name()));
    let of_paper = fit.interval != IntervalMethod::Newton;
    let batches = of_paper.then(|| format!(" --batches {batches}"));
    let burn_in = burn_in.filter(|_| of_paper).map(|steps| format!(" --burn-in {steps}"));
    [target, batches, burn_in].into_iter().flatten().collect()
}

/// What must be said of columns without bounds, where it is not said by asking for the paper's method.
fn standardised(fit: &Fit) -> &'static str {
    let bare = fit.design.columns().iter().any(|column| column.kind == Kind::Standard);
    if bare && fit.method.name != "dpgd" { " --standardised" } else { "" }
}

/// What was set by hand; the rest follows from public numbers again.
fn by_hand(fit: &Fit) -> String {
    let Tuning { clip, steps, step_size } = fit.particulars.tuning;
    let steps = steps.map(|steps| format!(" --steps {steps}"));
    let [clip, step_size] =
        [("clip", clip), ("step-size", step_size)].map(|(name, value)| value.map(|value| format!(" --{name} {value}")));
    [clip, steps, step_size].into_iter().flatten().collect()
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
