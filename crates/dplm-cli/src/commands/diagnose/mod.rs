//! `dplm diagnose`: what users who may see the rows can see.

mod measure;
mod text;

use dplm::{Dataset, Progress, method::dpgd, table::DataError};

use crate::{
    args::DiagnoseArgs,
    asked::{check_formats, checked, use_threads},
    commands::fit::opened,
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
    progress::Bar,
};

/// The paper's standard budget: what a diagnosis looks at when nothing is asked.
const DIAGNOSED_RHO: f64 = 0.015;

/// Measures everything and prints it, if the word was given.
pub fn run(args: DiagnoseArgs, printer: &Printer) -> Result<(), Failure> {
    if !args.not_private {
        return Err(Failure::usage(
            "a diagnosis shows what the rows are without any privacy: add --not-private if you may see them, and publish nothing of it",
        ));
    }
    check_formats([(&args.json, Format::Json)])?;
    let mut asked = args.options.read()?;
    if asked.request.epsilon.is_none() {
        asked.request.rho.get_or_insert(DIAGNOSED_RHO);
    }
    let fit = checked(&asked.request)?;
    use_threads(&asked.run)?;
    let output = args.json.as_ref().map(Output::open).transpose()?;
    let source = opened(&asked, &args.data.inputs)?;
    let mut dataset = {
        let bar = Bar::new(printer, "reading");
        let progress = |done, total| bar.update(done, total);
        Dataset::read(&source, fit.formula(), &fit.reading(&asked.run, Progress::new(&progress)))?
    };
    check_memory(asked.run.memory.map(|bytes| bytes.0), dataset.rows(), dataset.design().features())?;
    let paper = dpgd::Config { request: fit.method().request().clone(), tuning: fit.tuning() };
    let diagnosis = measure::diagnose(&source, &mut dataset, paper, asked.run.noise(), printer)?;
    let shown = args.json != Some(Destination::Stdout);
    printer.warning("nothing of this diagnosis is private: do not publish it", shown);
    if let Some(output) = output {
        let json = serde_json::to_string_pretty(&diagnosis).expect("plain data serialise");
        output.finish_with(&(json + "\n"))?;
    }
    if shown { printer.result(&text::render(&diagnosis)) } else { Ok(()) }
}

/// A diagnosis also holds the rows in the clear, eight bytes a cell beside the four encoded ones.
fn check_memory(limit: Option<u64>, rows: u64, features: usize) -> Result<(), Failure> {
    match limit {
        Some(limit) if rows.saturating_mul(12 * (features as u64 + 1)) > limit => {
            Err(DataError::Memory { limit }.into())
        }
        _ => Ok(()),
    }
}
