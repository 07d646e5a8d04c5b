//! A plan for people.

use super::forecast::{AtBudget, Forecast, Outlook};
use crate::{
    cells, layout,
    layout::{grouped, percent, short, significant},
};

/// The whole plan.
pub fn render(forecast: &Forecast) -> String {
    [heading(forecast), outlooks(forecast), share(forecast), budgets(forecast)].join("\n")
}

fn heading(forecast: &Forecast) -> String {
    let Forecast { rows, features, noise_sd, rho, epsilon, delta, .. } = forecast;
    format!(
        "What to expect of a private fit\n  \
         From public numbers only: no data are read and nothing is spent.\n\n  \
         {} rows, {features} coefficients, errors of standard deviation {noise_sd}\n  \
         rho {}, which is (epsilon, delta) = ({}, {delta:e})\n",
        grouped(*rows),
        short(*rho),
        significant(*epsilon),
    )
}

fn outlooks(forecast: &Forecast) -> String {
    let Forecast { fit, recommended, classical, .. } = forecast;
    let both = |name: &str, value: &dyn Fn(&Outlook) -> String, without: String| {
        vec![name.to_owned(), value(fit), value(recommended), without]
    };
    let dash = || "-".to_owned();
    let lines = [
        cells!["", "This fit", "Recommended", "Not private"],
        both("Clip (gamma)", &|one| significant(one.clip), dash()),
        both("Steps", &|one| one.steps.to_string(), dash()),
        both("Rows clipped", &|one| percent(one.clipped), dash()),
        both("Error from privacy", &|one| significant(one.privacy_error), dash()),
        both("Error from sampling", &|one| significant(one.sampling_error), significant(classical.std_error)),
        both("Standard error", &|one| significant(one.std_error), significant(classical.std_error)),
        both(
            &format!("Length of a {} % interval", short(100.0 * forecast.level)),
            &|one| significant(one.length),
            significant(classical.length),
        ),
        both("Times the classical length", &|one| format!("{:.2}", one.times_classical), "1.00".to_owned()),
    ];
    format!(
        "{}\n  Errors and lengths are those of one coefficient, in standard deviations of y per standard deviation of its column.\n  \
         Use the recommended values with --clip {} --steps {}.\n",
        layout::table(&lines),
        significant(recommended.clip),
        recommended.steps,
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
            significant(at.epsilon),
            significant(at.std_error),
            significant(at.length),
            format!("{:.2}", at.times_classical),
            mark,
        ]
    };
    let head = cells!["rho", "epsilon", "Std. error", "Length", "Times classical"];
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(forecast.budgets.iter().map(line)).collect();
    format!("Other budgets, with the clip and the steps of this fit\n{}", layout::table(&lines))
}
