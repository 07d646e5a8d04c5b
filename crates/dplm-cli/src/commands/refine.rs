//! `dplm refine`: a second release of a model that was fitted before, pooled with the first.

use dplm::{Dataset, Fit, NoiseSource, Progress, Reading, Refinement, table::ReadOptions, table::Source};

use crate::{
    account,
    args::{RefineArgs, RunArgs},
    commands::{
        fit::{Outputs, fitting},
        saved::is_pretended,
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
    if is_pretended(&saved.fit) {
        return Err(Failure::Usage(format!(
            "{} was made of simulated rows, and cannot be pooled with a fit of data: fit the data first",
            saved.fit.display()
        )));
    }
    let (rho, _) = budget(&asked)?;
    check_machine(&machine)?;
    let account_name = account_name(account, seed)?;
    let refinement = Refinement::new(Fit::load(&saved.fit)?, rho).map_err(Failure::usage)?;
    let outputs = Outputs::open([&json, &None, &report], &cover(about))?;
    let mut payer = account::open(&account_name, rho)?;
    payer.check_refinement(refinement.statement()).map_err(account::not_paid)?;
    let source = Source::open_as(&data.inputs, data.csv.unwrap_or_default())?;
    let mut dataset = {
        let bar = Bar::new(printer, "reading");
        let update = |done, total| bar.update(done, total);
        let table = ReadOptions { strict: data.strict, progress: Progress::new(&update), ..ReadOptions::default() };
        let reading = Reading {
            table,
            memory: machine.memory,
            device: machine.device,
            person: refinement.person().cloned(),
            weights: refinement.weights().cloned(),
        };
        Dataset::read(&source, &refinement.formula()?, &reading)?
    };
    let noise = seed.map_or(NoiseSource::System, NoiseSource::Seed);
    let prepared = dataset.prepare(refinement.method(), noise)?.giving_up_rows();
    let second = fitting(&mut payer, printer, |pay, progress| prepared.run_paid_by(pay, progress))?;
    outputs.report(&refinement.join(second)?, printer)
}
