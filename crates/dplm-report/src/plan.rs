//! A plan as one page that needs no network: a slider over the budget, and what each coefficient
//! would be known to.

use dplm::{
    number::{grouped, short},
    plan::{AtBudget, Forecast},
};
use serde_json::json;

use crate::{STYLE, svg::escaped};

/// The page of a model, as it was written. The forecast must have a curve.
pub fn plan_page(forecast: &Forecast, model: &str) -> String {
    let replaced = [
        ("{style}", STYLE.to_owned()),
        ("{model}", escaped(model)),
        ("{rows}", grouped(forecast.rows)),
        ("{features}", forecast.features.to_string()),
        ("{method}", forecast.method.to_owned()),
        ("{level}", short(100.0 * forecast.level)),
        ("{version}", forecast.dplm.to_owned()),
        ("{unit}", unit(forecast).to_owned()),
        ("{assumed}", assumed(forecast)),
        // Last, so that no name can be taken for a place to fill.
        ("{data}", data(forecast)),
    ];
    let page = include_str!("plan.html").to_owned();
    replaced.into_iter().fold(page, |page, (place, text)| page.replacen(place, &text, usize::MAX))
}

fn unit(forecast: &Forecast) -> &'static str {
    if forecast.coefficients.is_empty() { "Standardised" } else { "In its own units" }
}

fn assumed(forecast: &Forecast) -> String {
    if forecast.assumed.is_empty() {
        return "<li>columns of unit variance that are not correlated</li>".to_owned();
    }
    forecast.assumed.iter().map(|line| format!("<li>{}</li>", escaped(line))).collect()
}

/// The numbers behind the page; a name cannot end the script it is in.
fn data(forecast: &Forecast) -> String {
    let white = [json!({ "name": "each coefficient", "classical": forecast.classical.std_error })];
    let of_model =
        forecast.coefficients.iter().map(|one| json!({ "name": one.name, "classical": one.classical_error }));
    let coefficients: Vec<_> = if forecast.coefficients.is_empty() { white.into() } else { of_model.collect() };
    let point = |at: &AtBudget| {
        let errors = if at.std_errors.is_empty() { vec![Some(at.std_error)] } else { at.std_errors.clone() };
        json!({
            "rho": at.rho, "epsilon": at.epsilon, "guess": at.guess, "times": at.times_classical, "errors": errors,
            "widening": at.length / (2.0 * z(forecast) * at.std_error),
        })
    };
    let asked = forecast.curve.iter().position(|at| at.rho >= forecast.rho).unwrap_or(0);
    let points: Vec<_> = forecast.curve.iter().map(point).collect();
    let all = json!({ "z": z(forecast), "delta": forecast.delta, "asked": asked, "points": points, "coefficients": coefficients });
    all.to_string().replace('<', "\\u003c")
}

/// Half an interval of least squares, in its standard errors.
fn z(forecast: &Forecast) -> f64 {
    forecast.classical.length / (2.0 * forecast.classical.std_error)
}
