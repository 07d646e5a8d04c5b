//! A plan for people.

use dplm::{
    method::Family,
    number::two_digits_up,
    plan::{AtBudget, Forecast, ForeseenCoefficient, OtherWay, Outlook, StatedEffect, Want, Way},
};

use crate::{
    cells, layout,
    layout::{grouped, percent, percent_up, short, significant},
};

/// An error that is smaller by less than this is not worth another setting.
const WORTH_SAYING: f64 = 0.98;

/// The whole plan.
pub fn render(forecast: &Forecast) -> String {
    let parts = [
        heading(forecast),
        coefficients(forecast),
        questions(forecast),
        outlooks(forecast),
        share(forecast),
        budgets(forecast),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn heading(forecast: &Forecast) -> String {
    let Forecast { rows, features, method, rho, epsilon, delta, guess, .. } = forecast;
    let about = match forecast.assumed.is_empty() {
        true => "columns of unit variance that are not correlated",
        false => "what is assumed below; say better with --assume",
    };
    format!(
        "What to expect of a private fit\n  \
         From public numbers only: no data are read and nothing is spent. For {about}.\n\n  \
         {} rows, {features} coefficients, method {method}\n  \
         rho {}, which is (epsilon, delta) = ({epsilon}, {delta:e}): someone who knows all other rows guesses which of\n  \
         two equally likely rows was in the data correctly at most {} of the time\n  \
         intervals will be for {}\n",
        grouped(*rows),
        short(*rho),
        percent_up(*guess),
        forecast.target_text(),
    )
}

/// Each coefficient in its own units, and what is assumed.
fn coefficients(forecast: &Forecast) -> String {
    if forecast.coefficients.is_empty() {
        return String::new();
    }
    let line = |one: &ForeseenCoefficient| {
        let shown = |value: Option<f64>| value.map_or("not identified".to_owned(), significant);
        let times = one.std_error.map_or(String::new(), |error| format!("{:.2}", error / one.classical_error));
        cells![
            one.name,
            shown(one.std_error),
            one.length.map_or(String::new(), significant),
            significant(one.classical_error),
            times
        ]
    };
    let length = format!("{} % length", short(100.0 * forecast.level));
    let head = cells!["", "Std. error", length, "Not private", "Times"];
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(forecast.coefficients.iter().map(line)).collect();
    let left_out: String =
        forecast.left_out.iter().map(|one| format!("  {} will be left out: {}.\n", one.name, one.cause)).collect();
    let ways = forecast.other_way.as_ref().map_or(String::new(), |other| ways(other, &forecast.fit));
    let assumed: String = forecast.assumed.iter().map(|line| format!("  {line}\n")).collect();
    format!("Coefficients, in their own units\n{}{left_out}{ways}\nAssumed\n{assumed}", layout::table(&lines))
}

/// The two ways to coefficients of interest, of which the shorter one runs.
fn ways(other: &OtherWay, fit: &Outlook) -> String {
    let (this, that) = match other.way {
        Way::AllCoefficients => ("The controls are partialled out", "fitting all coefficients"),
        Way::PartiallingOut => ("All coefficients are fitted", "partialling the controls out"),
    };
    let times = other.outlook.length / fit.length;
    format!("  {this}; by {that} instead intervals would be {times:.2} times as long.\n")
}

/// What was asked of single coefficients.
fn questions(forecast: &Forecast) -> String {
    let want = |want: &Want| match want.rho {
        Some(rho) => format!(
            "  {} has a standard error of at most {} in nine fits of ten at rho = {}.\n",
            want.name,
            significant(want.std_error),
            two_digits_up(rho)
        ),
        None => format!(
            "  At no budget has {} a standard error of at most {} in nine fits of ten: sampling alone makes about as much.\n",
            want.name,
            significant(want.std_error)
        ),
    };
    let effect = |effect: &StatedEffect| match (effect.right_sign, effect.significant) {
        (Some(sign), Some(found)) => format!(
            "  If {} is {}, its estimate has the right sign with probability {}, and it is significant with probability {} (without\n  privacy {}).\n",
            effect.name,
            significant(effect.size),
            percent(sign),
            percent(found),
            percent(effect.significant_classical)
        ),
        _ => format!("  {} is not identified at this budget.\n", effect.name),
    };
    forecast.wants.iter().map(want).chain(forecast.effects.iter().map(effect)).collect()
}

fn outlooks(forecast: &Forecast) -> String {
    let Forecast { fit, recommended, classical, .. } = forecast;
    let better = recommended.std_error < WORTH_SAYING * fit.std_error;
    let line = |name: &str, value: &dyn Fn(&Outlook) -> String, classical: &str| {
        let recommended = better.then(|| value(recommended));
        [name.to_owned(), value(fit)].into_iter().chain(recommended).chain([classical.to_owned()]).collect::<Vec<_>>()
    };
    let heading = ["", "This fit"].into_iter().chain(better.then_some("Recommended")).chain(["Not private"]);
    let length = format!("Length of a {} % interval", short(100.0 * forecast.level));
    let lines = [
        heading.map(str::to_owned).collect(),
        line("Clip (gamma)", &|one| significant(one.clip), "-"),
        line("Steps", &|one| one.steps.to_string(), "-"),
        line("Rows clipped", &|one| percent(one.clipped), "-"),
        line("Error from privacy", &|one| significant(one.privacy_error), "-"),
        line("Error from sampling", &|one| significant(one.sampling_error), &significant(classical.std_error)),
        line("Standard error", &|one| significant(one.std_error), &significant(classical.std_error)),
        line(&length, &|one| significant(one.length), &significant(classical.length)),
        line("Times the classical length", &|one| format!("{:.2}", one.times_classical), "1.00"),
    ];
    let units = match (forecast.assumed.is_empty(), forecast.family) {
        (true, _) => "in standard deviations of y",
        (false, Family::Binomial) => "in log odds",
        (false, _) => "in half ranges of the response",
    };
    let advice = if better {
        format!(
            "  Use the recommended values with --clip {} --steps {}.\n",
            significant(recommended.clip),
            recommended.steps
        )
    } else {
        String::new()
    };
    format!(
        "{}\n  Errors and lengths are those of one coefficient, {units} per standard deviation of its column.\n{advice}",
        layout::table(&lines),
    )
}

fn share(forecast: &Forecast) -> String {
    let share = &forecast.share;
    let what = format!("the error from privacy is {} % of the error from sampling", short(100.0 * share.share));
    match share.rho {
        Some(rho) => format!("  At rho = {} {what}.\n", short(rho)),
        None => format!("  At no budget {what}.\n"),
    }
}

fn budgets(forecast: &Forecast) -> String {
    let line = |at: &AtBudget| {
        let mark = if at.rho == forecast.rho { "<- asked" } else { "" };
        cells![
            short(at.rho),
            at.epsilon,
            percent_up(at.guess),
            significant(at.std_error),
            significant(at.length),
            format!("{:.2}", at.times_classical),
            mark,
        ]
    };
    let head = cells!["rho", "epsilon", "Guess", "Std. error", "Length", "Times classical"];
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(forecast.budgets.iter().map(line)).collect();
    format!("Other budgets\n{}", layout::table(&lines))
}
