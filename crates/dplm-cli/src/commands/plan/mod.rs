//! `dplm plan`: what accuracy to expect, from public numbers only. No data are read.

mod text;
mod picture;

use dplm::forecast::{Forecast, Question};

use crate::{
    args::PlanArgs,
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
    settings::{budget, check_formats},
};

/// Forecasts, and shows it as text, JSON or a picture.
pub fn run(args: &PlanArgs, printer: &Printer) -> Result<(), Failure> {
    if let (Some(json), Some(picture)) = (&args.json, &args.picture)
        && json == picture
    {
        return Err(Failure::Usage(format!("two results cannot both go to {json}: name two places")));
    }
    check_formats([(&args.json, Format::Json), (&args.picture, Format::Svg)])?;
    // Every number a plan is refused for was typed.
    let forecast = Forecast::new(&question(args)?).map_err(Failure::usage)?;
    if let Some(place) = &args.json {
        let json = serde_json::to_string_pretty(&forecast).expect("plain data serialise");
        Output::open(place)?.finish_with(&(json + "\n"))?;
    }
    if let Some(place) = &args.picture {
        Output::open(place)?.finish_with(&picture::draw(&forecast))?;
    }
    match [&args.json, &args.picture].contains(&&Some(Destination::Stdout)) {
        true => Ok(()),
        false => printer.result(&text::render(&forecast)),
    }
}

fn question(args: &PlanArgs) -> Result<Question, Failure> {
    let (rho, delta) = budget(&args.budget)?;
    let &PlanArgs { rows, features, noise_sd, level, share, .. } = args;
    let (clip, steps, curve) = (args.clip.given(), args.steps.given(), args.picture.is_some());
    Ok(Question { rows, features, rho, delta, clip, steps, noise_sd, level, share, curve })
}
