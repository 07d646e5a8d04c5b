//! `dplm plan`: what accuracy to expect, from public numbers only. No data are read.

mod text;
mod picture;
mod page;

use dplm::{
    method::{self, Asked, Asks, Request},
    plan::Question,
};

use crate::{
    args::{AimArgs, PlanArgs},
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
    settings::{budget, check_formats, formula_in, moments, tuning},
};

pub use text::render as text;

/// Forecasts, and shows it as text, JSON or a picture.
pub fn run(args: &PlanArgs, printer: &Printer) -> Result<(), Failure> {
    check_formats([(&args.json, Format::Json), (&args.picture, Format::Svg), (&args.page, Format::Html)])?;
    // Every number a plan is refused for was typed.
    let forecast = method::forecast(&asked(args)?, &question(args)?).map_err(Failure::usage)?;
    if let Some(place) = &args.json {
        let json = serde_json::to_string_pretty(&forecast).expect("plain data serialise");
        Output::open(place)?.finish_with(&(json + "\n"))?;
    }
    if let Some(place) = &args.picture {
        Output::open(place)?.finish_with(&picture::draw(&forecast))?;
    }
    if let Some(place) = &args.page {
        Output::open(place)?.finish_with(&page::draw(&forecast, &model_in_words(args)))?;
    }
    match [&args.json, &args.picture, &args.page].contains(&&Some(Destination::Stdout)) {
        true => Ok(()),
        false => printer.result(&text::render(&forecast)),
    }
}

fn asked(args: &PlanArgs) -> Result<Asked, Failure> {
    let (rho, delta) = budget(&args.budget)?;
    let model = match args.features {
        Some(features) => Asks::White { features, error_sd: args.noise_sd.unwrap_or(1.0) },
        None => Asks::Formula {
            formula: formula_in(args.formula.as_deref(), args.model.as_deref())?,
            // A plan reads nothing that could be standard or not.
            standardised: true,
            assumptions: args.assume.clone(),
        },
    };
    let moments = moments(args.moments.as_deref())?;
    let request = Request {
        delta,
        neighbours: args.neighbours.neighbours,
        target: args.aim.target,
        moments,
        ..Request::new(rho)
    };
    Ok(Asked { method: args.method.method, request, tuning: tuning(&args.method), model })
}

/// The model as it was given.
fn model_in_words(args: &PlanArgs) -> String {
    match (&args.formula, &args.model, args.features) {
        (Some(formula), ..) => formula.clone(),
        (_, Some(file), _) => file.display().to_string(),
        (.., features) => format!("{} columns of unit variance", features.unwrap_or_default()),
    }
}

fn question(args: &PlanArgs) -> Result<Question, Failure> {
    let (rho, delta) = budget(&args.budget)?;
    let &PlanArgs { rows, share, aim: AimArgs { level, .. }, .. } = args;
    let (wants, effects, curve) =
        (args.want.clone(), args.effect.clone(), args.picture.is_some() || args.page.is_some());
    Ok(Question { rows, rho, delta, level, share, wants, effects, curve })
}
