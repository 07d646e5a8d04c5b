//! `dplm predict`: the mean response of new rows, or over a column, from a saved fit. The data of the fit are not read.

use std::fmt::Write;

use dplm::{
    Coverage, Ends, Fit, Over, Prediction, PredictionError, Progress,
    report::over_svg,
    table::{ReadOptions, Source},
};

use crate::{
    args::PredictArgs,
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
    progress::Bar,
    settings::{check_formats, check_outputs},
};

/// Loads the fit, predicts, and writes the table and the picture.
pub fn run(args: &PredictArgs, printer: &Printer) -> Result<(), Failure> {
    let out = args.out.clone().unwrap_or(Destination::Stdout);
    let fit_file = args.saved.fit.to_string_lossy().into_owned();
    check_outputs(
        &[&out].into_iter().chain(&args.picture).collect::<Vec<_>>(),
        &[&args.inputs[..], &[fit_file]].concat(),
    )?;
    check_formats([(&args.out, Format::Csv), (&args.picture, Format::Svg)])?;
    let held = args.at.iter().map(|typed| held(typed)).collect::<Result<Vec<_>, _>>()?;
    let fit = Fit::load(&args.saved.fit)?;
    if args.person_interval && fit.residual_sd.is_none() {
        return Err(dplm::Error::from(PredictionError::NoResidualSd).into());
    }
    let level = args.level.unwrap_or(fit.level);
    let table = match &args.over {
        Some(column) => {
            let coverage = if args.simultaneous { Coverage::Simultaneous } else { Coverage::Pointwise };
            let over = fit.over(column, &held, level, coverage)?;
            tell(&over, printer);
            if let Some(place) = &args.picture {
                Output::open(place)?.finish_with(&over_svg(&over))?;
            }
            let values = over.points.iter().map(|point| (csv_field(&point.value.to_string()), &point.prediction));
            csv(Some(column), values, args.person_interval)
        }
        None => {
            let found = of_rows(&fit, args, level, printer)?;
            csv(None, found.iter().map(|prediction| (String::new(), prediction)), args.person_interval)
        }
    };
    Output::open(&out)?.finish_with(&table)
}

/// A column and the value it is held at.
fn held(typed: &str) -> Result<(String, String), Failure> {
    let parts = typed.split_once('=').map(|(column, value)| (column.trim().to_owned(), value.trim().to_owned()));
    parts.ok_or_else(|| Failure::Usage(format!("--at {typed} holds nothing: write it as COLUMN=VALUE")))
}

fn of_rows(fit: &Fit, args: &PredictArgs, level: f64, printer: &Printer) -> Result<Vec<Prediction>, Failure> {
    let source = Source::open_as(&args.inputs, args.csv.unwrap_or_default())?;
    let bar = Bar::new(printer, "predicting");
    let update = |done, total| bar.update(done, total);
    let options = ReadOptions { strict: args.strict, progress: Progress::new(&update), ..ReadOptions::default() };
    Ok(fit.predict_intervals(&source, &options, level)?)
}

/// Says what the intervals are for, and where the other columns are.
fn tell(over: &Over, printer: &Printer) {
    printer.note(&format!("intervals are {}", over.coverage));
    if !over.held.is_empty() {
        printer.note(&format!("the other columns are held: {}", over.held.join("; ")));
    }
}

/// A line for each prediction, after the value of the column it is over, if any.
fn csv<'a>(column: Option<&str>, lines: impl Iterator<Item = (String, &'a Prediction)>, with_person: bool) -> String {
    let mut text = column.map_or(String::new(), |column| csv_field(column) + ",") + "estimate,std_error,low,high";
    text += if with_person { ",person_low,person_high\n" } else { "\n" };
    for (value, prediction) in lines {
        if column.is_some() {
            text += &value;
            text.push(',');
        }
        let Prediction { estimate, std_error, interval, person, .. } = prediction;
        let numbers = [Some(*estimate).filter(|estimate| !estimate.is_nan()), *std_error];
        let ends = pair(*interval).into_iter().chain(if with_person { pair(*person).to_vec() } else { Vec::new() });
        let cells: Vec<String> = numbers
            .into_iter()
            .chain(ends)
            .map(|number| number.map_or(String::new(), |number| number.to_string()))
            .collect();
        writeln!(text, "{}", cells.join(",")).expect("writing to memory does not fail");
    }
    text
}

fn pair(ends: Ends) -> [Option<f64>; 2] {
    [ends.map(|(low, _)| low), ends.map(|(_, high)| high)]
}

/// Quotes a text that holds a comma, a quote or a line break.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
