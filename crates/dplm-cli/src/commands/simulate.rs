//! `dplm simulate`: data whose true coefficients are known.

use std::io::Write;

use dplm_simulate::{Format, Population, Setting, fresh_seed, write_table};

use crate::{
    args::SimulateArgs,
    exit::Failure,
    layout,
    output::{Destination, Output},
    printer::Printer,
    progress::Bar,
};

/// Draws the rows, writes them, and prints the true coefficients.
pub fn run(args: SimulateArgs, printer: &Printer) -> Result<(), Failure> {
    let SimulateArgs { rows, features, out, .. } = args;
    let format = format_of(&out)?;
    let seed = args.seed.map_or_else(fresh_seed, Ok).map_err(Failure::refused)?;
    let setting =
        Setting { features, design: args.design, errors: args.errors, noise_sd: args.noise_sd, theta: args.theta };
    let population = setting.draw(seed).map_err(Failure::usage)?;
    write(&population, rows, format, &out, printer)?;
    printer.note(&format!("wrote {} rows of {features} features to {out} (seed {seed})", layout::grouped(rows)));
    match out {
        // The table is there already.
        Destination::Stdout => printer.note(&format!("true coefficients: {}", one_line(population.theta()))),
        Destination::File(_) => printer.result(&truth(population.theta()))?,
    }
    Ok(())
}

fn format_of(out: &Destination) -> Result<Format, Failure> {
    match out {
        Destination::Stdout => Ok(Format::Csv),
        Destination::File(path) => Format::of(path).ok_or_else(|| {
            let ask = "its name must end in .csv, .tsv, .parquet or .arrow";
            Failure::Usage(format!("the format of {out} is not known: {ask}"))
        }),
    }
}

fn write(
    population: &Population,
    rows: u64,
    format: Format,
    out: &Destination,
    printer: &Printer,
) -> Result<(), Failure> {
    let mut output = Output::open(out)?;
    let bar = Bar::new(printer, "simulating");
    let written = write_table(population, rows, format, &mut output, &mut |done, total| {
        let _ = bar.update(done, total);
    });
    written.and_then(|()| output.flush()).map_err(|error| output.unwritten(&error))?;
    output.commit()
}

/// Every digit: these are the numbers an estimate is held against.
fn truth(theta: &[f64]) -> String {
    let width = format!("x{}", theta.len()).len();
    let line = |(j, value): (usize, &f64)| {
        let room = if value.is_sign_negative() { "" } else { " " };
        format!("  {:<width$}  {room}{value}\n", format!("x{}", j + 1))
    };
    format!("True coefficients:\n{}", theta.iter().enumerate().map(line).collect::<String>())
}

fn one_line(theta: &[f64]) -> String {
    theta.iter().map(f64::to_string).collect::<Vec<_>>().join(", ")
}
