//! `dplm refine`: a second release of a model that was fitted before, pooled with the first.

use dplm::{Fit, Fitted, Progress, Refinement, privacy::convert::Conversion, table::Source};
use dplm_ledger::PaidError;

use crate::{
    account::{self, Watching},
    args::{RefineArgs, ResultArgs, SavedFits},
    asked::{Asked, check_formats, cover, use_threads},
    commands::{fit::Outputs, saved},
    exit::Failure,
    output::Format,
    printer::Printer,
    progress::Bar,
};

/// Reads the fit and its data, spends more on them, and reports both together.
pub fn run(args: RefineArgs, printer: &Printer) -> Result<(), Failure> {
    let RefineArgs { saved, data, options, results } = args;
    let ResultArgs { json, report, cover: about } = results;
    check_formats([(&report, Format::Html), (&json, Format::Json)])?;
    let Asked { request, run, account, .. } = options.read()?;
    let (rho, _) = request.budget(Conversion::Exact).map_err(Failure::of_request)?;
    use_threads(&run)?;
    let noise = run.noise();
    let refinement = Refinement::new(one_fit(&saved)?, rho).map_err(Failure::of_request)?;
    refinement.check_noise(noise).map_err(Failure::of_request)?;
    let mut payer = account::open(&account, noise, rho)?;
    let outputs = Outputs::open([&json, &None, &report], &cover(about))?;
    payer.check_refinement(refinement.statement()).map_err(account::not_paid)?;
    let source = Source::open_as(&data.inputs, run.csv.unwrap_or(refinement.csv()))?;
    let mut dataset = {
        let bar = Bar::new(printer, "reading");
        refinement.read(&source, &run, Progress::new(&|done, total| bar.update(done, total)))?
    };
    let prepared = refinement.prepare(&mut dataset, noise)?.giving_up_rows();
    let (whole, watching) = (prepared.charge(), Watching::new(printer));
    let second = payer.pay_for(&whole, &watching, |pay, progress| prepared.run_paid_by::<PaidError>(pay, progress));
    drop(watching);
    let second = account::told(second, &payer.tally())?;
    outputs.report(&refinement.join(second)?, printer)
}

/// The fit that is refined: the one of the file, or that of the group that is named.
fn one_fit(saved: &SavedFits) -> Result<Fit, Failure> {
    match saved::load(saved)? {
        Fitted::One(fit) => Ok(*fit),
        Fitted::Groups(groups) => {
            let (column, levels) = (groups.by.name(), groups.by.levels().join(", "));
            Err(Failure::Usage(format!(
                "{} has a fit for each {column}: name one with --group, of {levels}",
                saved.fit.display()
            )))
        }
    }
}
