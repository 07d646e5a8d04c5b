//! A plan for people.

use dplm::{
    number::two_digits_up,
    plan::{AtBudget, Forecast, ForeseenCoefficient, OtherWay, Outlook, StatedEffect, Want, Way},
};

use crate::{
    cells, layout,
    layout::{grouped, percent, percent_up, short, significant},
};

/// An error that is smaller by less than this is not worth another setting.
const WORTH_SAYING: f64 = 0.98;

/// How wide standard errors may be beside the other columns of the table of budgets, and how wide
/// each is at least.
const ROOM: usize = 56;
const NUMBER: usize = 8;

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
    let length = format!("{} % length", short(100.0 * forecast.level));
    let head = cells!["", "Std. error", length, "Not private", "Times"];
    if forecast.coefficients.is_empty() {
        let Forecast { fit, classical, .. } = forecast;
        let errors = [fit.std_error, fit.length, classical.std_error].map(significant);
        let each = cells!["each", errors[0], errors[1], errors[2], format!("{:.2}", fit.times_classical)];
        return format!("Coefficients, of columns and a response of unit variance\n{}", layout::table(&[head, each]));
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
    let Forecast { fit, recommended, .. } = forecast;
    let better = recommended.std_error < WORTH_SAYING * fit.std_error;
    let line = |name: &str, value: &dyn Fn(&Outlook) -> String| {
        let recommended = better.then(|| value(recommended));
        [name.to_owned(), value(fit)].into_iter().chain(recommended).collect::<Vec<_>>()
    };
    let heading = ["", "This fit"].into_iter().chain(better.then_some("Recommended"));
    let lines = [
        heading.map(str::to_owned).collect(),
        line("Clip (gamma)", &|one| significant(one.clip)),
        line("Steps", &|one| one.steps.to_string()),
        line("Rows clipped", &|one| percent(one.clipped)),
        line("Error from privacy, of that from sampling", &|one| percent(one.privacy_error / one.sampling_error)),
        line("Times the classical length", &|one| format!("{:.2}", one.times_classical)),
    ];
    let advice = if better {
        format!(
            "  Use the recommended values with --clip {} --steps {}.\n",
            significant(recommended.clip),
            recommended.steps
        )
    } else {
        String::new()
    };
    format!("{}{advice}", layout::table(&lines))
}

fn share(forecast: &Forecast) -> String {
    let share = &forecast.share;
    let what = format!("the error from privacy is {} % of the error from sampling", short(100.0 * share.share));
    match share.rho {
        Some(rho) => format!("  At rho = {} {what}.\n", short(rho)),
        None => format!("  At no budget {what}.\n"),
    }
}

/// What other budgets would buy: for each coefficient of a model that has room on the screen, in
/// its own units.
fn budgets(forecast: &Forecast) -> String {
    let names = names_that_fit(forecast);
    let line = |at: &AtBudget| {
        let times = at.std_error / forecast.classical.std_error;
        let facts = cells![short(at.rho), at.epsilon, percent_up(at.guess), format!("{times:.2}")];
        let errors = names.iter().map(|&(place, _)| match at.std_errors.get(place) {
            Some(error) => error.map_or("-".to_owned(), significant),
            None => significant(at.std_error),
        });
        let mark = (at.rho == forecast.rho).then(|| "<- asked".to_owned());
        facts.into_iter().chain(errors).chain(mark).collect()
    };
    let head = cells!["rho", "epsilon", "Guess", "Times"];
    let head = head.into_iter().chain(names.iter().map(|(_, name)| (*name).to_owned())).collect();
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(forecast.budgets.iter().map(line)).collect();
    format!("Standard errors at other budgets\n{}", layout::table(&lines))
}

/// The columns of the table of budgets: those asked about first, then the others but the constant.
fn names_that_fit(forecast: &Forecast) -> Vec<(usize, &str)> {
    let Forecast { coefficients, wants, effects, .. } = forecast;
    if coefficients.is_empty() {
        return vec![(0, "each")];
    }
    let asked = |name: &str| wants.iter().any(|one| one.name == name) || effects.iter().any(|one| one.name == name);
    let mut names: Vec<(usize, &str)> = coefficients.iter().map(|one| one.name.as_str()).enumerate().collect();
    names.retain(|(_, name)| *name != "(Intercept)" || asked(name));
    names.sort_by_key(|(_, name)| !asked(name));
    let mut room = ROOM;
    names.retain(|(_, name)| {
        let width = name.chars().count().max(NUMBER) + 2;
        let fits = width <= room;
        room = if fits { room - width } else { 0 };
        fits
    });
    names
}
