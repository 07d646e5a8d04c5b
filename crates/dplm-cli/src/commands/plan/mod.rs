//! `dplm plan`: what accuracy to expect, from public numbers only. No data are read.

mod text;
mod picture;

use dplm::Error;
use dplm_report::plan_page;

use crate::{
    args::PlanArgs,
    asked::{Asked, check_formats},
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
};

pub use text::render as text;

/// Forecasts, and shows it as text, JSON or a picture.
pub fn run(args: &PlanArgs, printer: &Printer) -> Result<(), Failure> {
    check_formats([(&args.json, Format::Json), (&args.picture, Format::Svg), (&args.page, Format::Html)])?;
    let asked = args.options.read()?;
    let curve = args.picture.is_some() || args.page.is_some();
    // Every number a plan is refused for was typed.
    let forecast = asked.request.forecast(&asked.question, curve, dplm_methods::METHODS);
    let forecast = forecast.map_err(|error| refused(&asked, error))?;
    if let Some(place) = &args.json {
        let json = serde_json::to_string_pretty(&forecast).expect("plain data serialise");
        Output::open(place)?.finish_with(&(json + "\n"))?;
    }
    if let Some(place) = &args.picture {
        Output::open(place)?.finish_with(&picture::draw(&forecast))?;
    }
    if let Some(place) = &args.page {
        Output::open(place)?.finish_with(&plan_page(&forecast, &model_in_words(args, &asked)))?;
    }
    match [&args.json, &args.picture, &args.page].contains(&&Some(Destination::Stdout)) {
        true => Ok(()),
        false => printer.result(&text::render(&forecast)),
    }
}

/// A plan is refused for what was typed; a mistake in the formula is shown where it is.
fn refused(asked: &Asked, error: Error) -> Failure {
    match &error {
        Error::Formula(mistake) => Failure::formula(&asked.request.formula, mistake),
        _ => Failure::of_request(error),
    }
}

/// The model as it was given.
fn model_in_words(args: &PlanArgs, asked: &Asked) -> String {
    match (&args.options.model, asked.question.features) {
        (Some(file), _) => file.display().to_string(),
        (None, Some(features)) => format!("{features} columns of unit variance"),
        (None, None) => asked.request.formula.clone(),
    }
}
