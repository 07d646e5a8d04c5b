//! `dplm moments`: means and covariances of a table that is public.

use dplm::{Error, diagnose, table::ReadOptions};

use crate::{args::MomentsArgs, exit::Failure, output::Output, printer::Printer, settings::formula_in};

/// What the file says of itself.
const ABOUT: &str = "# Means, standard deviations and correlations of the terms of a model, from a table that is public. Not private.\n";

/// Measures and writes them, if the word was given.
pub fn run(args: MomentsArgs, printer: &Printer) -> Result<(), Failure> {
    let MomentsArgs { data, not_private, model, out } = args;
    if !not_private {
        return Err(Failure::usage(
            "moments are those of the table itself, without any privacy: add --not-private if the table is public",
        ));
    }
    let formula = formula_in(model.formula.as_deref(), model.model.as_deref())?;
    let source = dplm::table::Source::open_as(&data.inputs, data.csv.unwrap_or_default())?;
    let model = formula.resolve(source.schema()).map_err(Error::from)?;
    let options = ReadOptions { strict: data.strict, ..ReadOptions::default() };
    let moments = diagnose::moments(&source, &model, &options)?.into_inner();
    let text = format!("{ABOUT}{}", moments.to_toml());
    match out {
        None => printer.result(&text),
        Some(place) => Output::open(&place)?.finish_with(&text),
    }
}
