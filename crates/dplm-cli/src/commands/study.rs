//! `dplm study`: a main specification and its checks under one budget.

use dplm::{
    Error, Progress, Warning,
    options::Interface,
    report::study_json,
    study::{Study, StudyFit},
    table::Source,
};
use dplm_ledger::PaidError;
use dplm_report::{study_html, study_summary};

use crate::{
    account::{self, Watching},
    args::{ResultArgs, StudyArgs},
    asked::{Asked, check_formats, cover, use_threads},
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
    progress::Bar,
};

/// Reads the study and its data, charges it once, fits every specification and reports all of them.
pub fn run(args: StudyArgs, printer: &Printer) -> Result<(), Failure> {
    let StudyArgs { study, data, options, results } = args;
    let ResultArgs { json, report, cover: about } = results;
    check_formats([(&report, Format::Html), (&json, Format::Json)])?;
    let Asked { run, account, .. } = options.read()?;
    use_threads(&run)?;
    let named = |error: Error| Failure::usage(format!("{}: {}", study.display(), error.sentence(Interface::Command)));
    let plan = Study::read(&study, &options.said).map_err(named)?;
    let mut payer = account::open(&account, run.noise(), plan.request().rho)?;
    let (json, report) = (json.map(opened).transpose()?, report.map(opened).transpose()?);
    let source = Source::open_as(&data.inputs, run.csv.unwrap_or_default())?;
    let prepared = {
        let bar = Bar::new(printer, "reading");
        plan.prepare(&source, &run, Progress::new(&|done, total| bar.update(done, total)))?
    };
    let (whole, watching) = (prepared.charge(), Watching::new(printer));
    let found = payer.pay_for(&whole, &watching, |pay, progress| prepared.run_paid_by::<PaidError>(pay, progress));
    drop(watching);
    let found = account::told(found, &payer.tally())?;
    let shown =
        [&json, &report].iter().all(|place| place.as_ref().is_none_or(|(place, _)| *place != Destination::Stdout));
    warn(&found, shown, printer);
    let write = |place: Option<(Destination, Output)>, text: String| {
        place.map_or(Ok(()), |(_, output)| output.finish_with(&text))
    };
    let written = [
        write(json, study_json(&found)),
        write(report, study_html(&found, &cover(about))),
        if shown { printer.result(&study_summary(&found)) } else { Ok(()) },
    ];
    Failure::of_all(written)
}

fn opened(place: Destination) -> Result<(Destination, Output), Failure> {
    Output::open(&place).map(|output| (place, output))
}

/// What each fit says of itself, by the name of its specification.
fn warn(study: &StudyFit, shown: bool, printer: &Printer) {
    for part in &study.parts {
        for warning in part.fit.warnings.iter().filter(|warning| !(shown && warning.is_note())) {
            let sentence = format!("{}: {warning}", part.name);
            match warning {
                Warning::PartOfStudy { .. } => {}
                Warning::FixedSeed => Printer::alarm(&sentence, shown),
                _ => printer.warning(&sentence, shown),
            }
        }
    }
}
