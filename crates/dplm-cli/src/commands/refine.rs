//! `dplm refine`: a second release of a model that was fitted before, pooled with the first.

use dplm::{Fit, NoiseSource, Progress, Reading, Refinement, report::Saved, table::ReadOptions, table::Source};

use crate::{
    account,
    args::{RefineArgs, RunArgs, SavedFits},
    commands::{
        fit::{Outputs, fitting},
        saved,
    },
    exit::Failure,
    output::Format,
    printer::Printer,
    progress::Bar,
    settings::{account_name, budget, check_formats, check_machine, cover},
};

/// Reads the fit and its data, spends more on them, and reports both together.
pub fn run(args: RefineArgs, printer: &Printer) -> Result<(), Failure> {
    let RefineArgs { saved, data, budget: asked, run } = args;
    let RunArgs { seed, account, json, report, cover: about, machine } = run;
    check_formats([(&report, Format::Html), (&json, Format::Json)])?;
    let (rho, _) = budget(&asked)?;
    check_machine(&machine)?;
    let account_name = account_name(account, seed)?;
    let noise = seed.map_or(NoiseSource::System, NoiseSource::Seed);
    let refinement = Refinement::new(one_fit(&saved)?, rho).map_err(Failure::usage)?;
    refinement.check_noise(noise).map_err(Failure::usage)?;
    let outputs = Outputs::open([&json, &None, &report], &cover(about))?;
    let mut payer = account::open(&account_name, rho)?;
    payer.check_refinement(refinement.statement()).map_err(account::not_paid)?;
    let source = Source::open_as(&data.inputs, data.csv.unwrap_or(refinement.csv()))?;
    let mut dataset = {
        let bar = Bar::new(printer, "reading");
        let update = |done, total| bar.update(done, total);
        let table = ReadOptions { strict: data.strict, progress: Progress::new(&update), ..ReadOptions::default() };
        let reading = Reading { table, memory: machine.memory, device: machine.device, ..Reading::default() };
        refinement.read(&source, &reading)?
    };
    let prepared = refinement.prepare(&mut dataset, noise)?.giving_up_rows();
    let second = fitting(&mut payer, printer, |pay, progress| prepared.run_paid_by(pay, progress))?;
    outputs.report(&refinement.join(second)?, printer)
}

/// The fit that is refined: the one of the file, or that of the group that is named.
fn one_fit(saved: &SavedFits) -> Result<Fit, Failure> {
    match saved::load(saved)? {
        Saved::One(fit) => Ok(*fit),
        Saved::Groups(groups) => {
            let (column, levels) = (groups.by.name(), groups.by.levels().join(", "));
            Err(Failure::Usage(format!(
                "{} has a fit for each {column}: name one with --group, of {levels}",
                saved.fit.display()
            )))
        }
    }
}
