//! `dplm moments`: means and covariances of a table that is public.

use dplm::{Error, formula::Formula, table::ReadOptions};
use dplm_theory::clear;

use crate::{args::MomentsArgs, commands::fit::opened, exit::Failure, output::Output, printer::Printer};

/// What the file says of itself.
const ABOUT: &str = "# Means, standard deviations and correlations of the terms of a model, from a table that is public. Not private.\n";

/// Measures and writes them, if the word was given.
pub fn run(args: MomentsArgs, printer: &Printer) -> Result<(), Failure> {
    let MomentsArgs { data, not_private, options, out } = args;
    if !not_private {
        return Err(Failure::usage(
            "moments are those of the table itself, without any privacy: add --not-private if the table is public",
        ));
    }
    let asked = options.read()?;
    let formula = Formula::parse(&asked.request.formula);
    let formula = formula.map_err(|error| Failure::formula(&asked.request.formula, &error))?;
    let source = opened(&asked, &data.inputs)?;
    let model = formula.resolve(source.schema()).map_err(Error::from)?;
    let options = ReadOptions { strict: asked.run.strict, ..ReadOptions::default() };
    let moments = clear::moments(&source, &model, &options)?.into_inner();
    let text = format!("{ABOUT}{}", moments.to_toml());
    match out {
        None => printer.result(&text),
        Some(place) => Output::open(&place)?.finish_with(&text),
    }
}
