//! `dplm predict`: the mean response of new rows, or over a column, from a saved fit. The data of
//! the fit are not read.

use std::fmt::Write;

use dplm::{
    Coverage, Ends, Error, Fit, Fitted, GroupError, GroupedFit, Over, Prediction, PredictionError, Progress,
    table::{ReadOptions, Source},
};
use dplm_report::over_svg;
use dplm_simulate::pretend;

use crate::{
    args::PredictArgs,
    asked::check_formats,
    commands::saved::{self, Marks},
    exit::Failure,
    output::{Format, Output},
    printer::Printer,
    progress::Bar,
};

/// Loads the fit, or those of several groups, predicts, and writes the table and the picture.
pub fn run(args: &PredictArgs, printer: &Printer) -> Result<(), Failure> {
    args.out.check_format(Format::Csv)?;
    check_formats([(&args.picture, Format::Svg)])?;
    let held = args.at.iter().map(|typed| held(typed)).collect::<Result<Vec<_>, _>>()?;
    let saved = saved::load(&args.saved)?;
    let predicted = Predicted::of(&saved, args, &held, printer)?;
    let provenance = saved.promise().provenance;
    saved::alarm(provenance);
    // A table for programs keeps its columns: the alarm says what a seed makes of it.
    let csv = Marks { seed: str::to_owned, simulated: pretend::mark_csv };
    Output::open(&args.out)?.finish_with(&csv.on(provenance, predicted.csv(args.person_interval)))
}

/// A table of predictions, each with what it is of.
struct Predicted {
    /// What the first columns hold.
    heads: Vec<String>,
    lines: Vec<(Vec<String>, Prediction)>,
}

impl Predicted {
    fn of(saved: &Fitted, args: &PredictArgs, held: &Held, printer: &Printer) -> Result<Predicted, Failure> {
        check_spread(saved, args.person_interval)?;
        match (saved, &args.over) {
            (Fitted::One(fit), Some(column)) => Predicted::over(fit, column, held, args, printer),
            (Fitted::Groups(groups), Some(column)) => Predicted::over_groups(groups, column, held, args, printer),
            (saved, None) => Predicted::rows(saved, args, printer),
        }
    }

    /// A line for each row, after the cells that identify it.
    fn rows(saved: &Fitted, args: &PredictArgs, printer: &Printer) -> Result<Predicted, Failure> {
        let source = Source::open_as(&args.inputs, args.csv.unwrap_or_default())?;
        let columns = args.id.iter().map(|column| source.written(column)).collect::<Result<Vec<_>, _>>()?;
        let predictions = of_rows(&source, saved, args, printer)?.into_iter().enumerate();
        let cells = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
        let lines = predictions.map(|(row, prediction)| (cells(row), prediction)).collect();
        // Said of any rows, so that it says nothing about these.
        printer.note("where a cell is beyond the bounds of its column, the bound is used, as in the fit");
        Ok(Predicted { heads: args.id.clone(), lines })
    }

    fn over(fit: &Fit, column: &str, held: &Held, args: &PredictArgs, printer: &Printer) -> Result<Predicted, Failure> {
        let over = over(fit, column, held, args)?;
        tell(&over, printer);
        if let Some(place) = &args.picture {
            let picture = Marks { seed: pretend::mark_void_picture, simulated: pretend::mark_picture };
            let provenance = fit.guarantee.promise.provenance;
            Output::open(place)?.finish_with(&picture.on(provenance, over_svg(&over)))?;
        }
        let lines = over.points.into_iter().map(|point| (vec![point.value.to_string()], point.prediction));
        Ok(Predicted { heads: vec![column.to_owned()], lines: lines.collect() })
    }

    /// The same column over every group that was fitted, one after the other.
    fn over_groups(
        groups: &GroupedFit,
        column: &str,
        held: &Held,
        args: &PredictArgs,
        printer: &Printer,
    ) -> Result<Predicted, Failure> {
        if args.picture.is_some() {
            return Err(Failure::usage("a picture is of one group: name it with --group"));
        }
        let mut predicted =
            Predicted { heads: vec![groups.by.name().to_owned(), column.to_owned()], lines: Vec::new() };
        for (place, (group, fit)) in groups.fits().enumerate() {
            let over = over(fit, column, held, args)?;
            if place == 0 {
                tell(&over, printer);
            }
            let cells = |value: String| vec![group.level.clone(), value];
            predicted.lines.extend(over.points.into_iter().map(|one| (cells(one.value.to_string()), one.prediction)));
        }
        Ok(predicted)
    }

    /// A line for each prediction.
    fn csv(&self, with_person: bool) -> String {
        let heads = self.heads.iter().map(|head| csv_field(head) + ",").collect::<String>();
        let person = if with_person { ",person_low,person_high" } else { "" };
        let mut text = format!("{heads}estimate,std_error,low,high{person}\n");
        for (of, prediction) in &self.lines {
            let of = of.iter().map(|cell| csv_field(cell) + ",").collect::<String>();
            writeln!(text, "{of}{}", numbers(prediction, with_person)).expect("writing to memory does not fail");
        }
        text
    }
}

/// Columns, and the values they are held at.
type Held = [(String, String)];

/// Refuses to speak of single persons where no spread of errors was released, and of groups where
/// none was fitted.
fn check_spread(saved: &Fitted, person_interval: bool) -> Result<(), Error> {
    let fits: Vec<&Fit> = match saved {
        Fitted::One(fit) => vec![fit],
        Fitted::Groups(groups) => groups.fits().map(|(_, fit)| fit).collect(),
    };
    match fits.iter().any(|fit| fit.residual_sd.is_some()) {
        _ if fits.is_empty() => Err(GroupError::NoneFitted.into()),
        false if person_interval => Err(PredictionError::NoResidualSd.into()),
        _ => Ok(()),
    }
}

fn over(fit: &Fit, column: &str, held: &Held, args: &PredictArgs) -> Result<Over, Error> {
    let coverage = if args.simultaneous { Coverage::Simultaneous } else { Coverage::Pointwise };
    fit.over(column, held, args.level.unwrap_or(fit.level), coverage)
}

/// A column and the value it is held at.
fn held(typed: &str) -> Result<(String, String), Failure> {
    let parts = typed.split_once('=').map(|(column, value)| (column.trim().to_owned(), value.trim().to_owned()));
    parts.ok_or_else(|| Failure::Usage(format!("--at {typed} holds nothing: write it as COLUMN=VALUE")))
}

fn of_rows(source: &Source, saved: &Fitted, args: &PredictArgs, printer: &Printer) -> Result<Vec<Prediction>, Failure> {
    let bar = Bar::new(printer, "predicting");
    let update = |done, total| bar.update(done, total);
    let options = ReadOptions { strict: args.strict, progress: Progress::new(&update), ..ReadOptions::default() };
    Ok(match saved {
        Fitted::One(fit) => fit.predict_intervals(source, &options, args.level.unwrap_or(fit.level))?,
        Fitted::Groups(groups) => groups.predict_intervals(source, &options, args.level.unwrap_or(groups.level))?,
    })
}

/// Says what the intervals are for, and where the other columns are.
fn tell(over: &Over, printer: &Printer) {
    printer.note(&format!("intervals are {}", over.coverage));
    if !over.held.is_empty() {
        printer.note(&format!("the other columns are held: {}", over.held.join("; ")));
    }
}

/// What a prediction says, as cells; they are empty if nothing can be said.
fn numbers(prediction: &Prediction, with_person: bool) -> String {
    let &Prediction { estimate, std_error, interval, person, .. } = prediction;
    let known = [Some(estimate).filter(|estimate| !estimate.is_nan()), std_error];
    let ends = pair(interval).into_iter().chain(if with_person { pair(person).to_vec() } else { Vec::new() });
    let cells = known.into_iter().chain(ends);
    cells.map(|cell| cell.map_or(String::new(), seven_digits)).collect::<Vec<_>>().join(",")
}

/// As many digits as anyone reads of an estimate: a line is then as wide as its numbers.
fn seven_digits(number: f64) -> String {
    format!("{number:.6e}").parse::<f64>().map_or_else(|_| number.to_string(), |rounded| rounded.to_string())
}

fn pair(ends: Ends) -> [Option<f64>; 2] {
    [ends.map(|(low, _)| low), ends.map(|(_, high)| high)]
}

/// Quotes a text that holds a comma, a quote or a line break.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
