//! `dplm diagnose`: what whoever may see the rows can see.

mod measure;
mod text;

use dplm::table::DataError;

use crate::{
    args::DiagnoseArgs, exit::Failure, output::Destination, output::Output, printer::Printer, settings::FitSettings,
};

/// Measures everything and prints it, if the word was given.
pub fn run(args: DiagnoseArgs, printer: &Printer) -> Result<(), Failure> {
    if !args.not_private {
        return Err(Failure::usage(
            "a diagnosis shows what the rows are without any privacy: add --not-private if you may see them, and publish nothing of it",
        ));
    }
    let settings = FitSettings::check_diagnosis(args)?;
    let output = settings.json.as_ref().map(Output::open).transpose()?;
    let source = settings.data.open()?;
    let mut dataset = settings.data.read(&source, printer)?;
    check_memory(settings.data.memory, dataset.rows(), dataset.design().features())?;
    let diagnosis = measure::diagnose(&source, &mut dataset, settings.paper, settings.noise, printer)?;
    let shown = settings.json != Some(Destination::Stdout);
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
