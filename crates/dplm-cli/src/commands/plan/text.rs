//! A plan for people.

use dplm::forecast::{AtBudget, Forecast, Outlook};

use crate::{
    cells, layout,
    layout::{grouped, percent, percent_up, short, significant},
};

/// An error that is smaller by less than this is not worth another setting.
const WORTH_SAYING: f64 = 0.98;

/// The whole plan.
pub fn render(forecast: &Forecast) -> String {
    [heading(forecast), outlooks(forecast), share(forecast), budgets(forecast)].join("\n")
}

fn heading(forecast: &Forecast) -> String {
    let Forecast { rows, features, noise_sd, rho, epsilon, delta, guess, .. } = forecast;
    format!(
        "What to expect of a private fit\n  \
         From public numbers only: no data are read and nothing is spent.\n\n  \
         {} rows, {features} coefficients, errors of standard deviation {noise_sd}\n  \
         rho {}, which is (epsilon, delta) = ({epsilon}, {delta:e}): someone who knows all other rows guesses which of\n  \
         two equally likely rows was in the data correctly at most {} of the time\n",
        grouped(*rows),
        short(*rho),
        percent_up(*guess),
    )
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
        "{}\n  Errors and lengths are those of one coefficient, in standard deviations of y per standard deviation of its column.\n{advice}",
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
