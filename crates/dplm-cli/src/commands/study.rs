//! `dplm study`: a main specification and its checks under one budget.

use dplm::{
    Error, NoiseSource, Progress, Reading, Warning,
    report::{study_html, study_json, study_summary},
    study::{Beside, Study, StudyFit},
    table::{ReadOptions, Source},
};

use crate::{
    account,
    args::{RunArgs, StudyArgs, StudyBeside},
    commands::fit::fitting,
    exit::Failure,
    output::{Destination, Format, Output},
    printer::Printer,
    progress::Bar,
    settings::{account_name, check_formats, check_machine, cover},
};

/// Reads the study and its data, charges it once, fits every specification and reports all of them.
pub fn run(args: StudyArgs, printer: &Printer) -> Result<(), Failure> {
    let StudyArgs { study, data, beside, run } = args;
    let RunArgs { seed, account, json, report, cover: about, machine } = run;
    check_formats([(&report, Format::Html), (&json, Format::Json)])?;
    check_machine(&machine)?;
    let account_name = account_name(account, seed)?;
    let named = |error: Error| Failure::usage(format!("{}: {error}", study.display()));
    let StudyBeside { person, rows_per_person, weights, target } = beside;
    let plan = Study::read(&study, Beside { person, rows_per_person, weights, target }).map_err(named)?;
    let (json, report) = (json.map(opened).transpose()?, report.map(opened).transpose()?);
    let mut payer = account::open(&account_name, plan.request().rho)?;
    let source = Source::open_as(&data.inputs, data.csv.unwrap_or_default())?;
    let prepared = {
        let bar = Bar::new(printer, "reading");
        let update = |done, total| bar.update(done, total);
        let table = ReadOptions { strict: data.strict, progress: Progress::new(&update), ..ReadOptions::default() };
        let reading = Reading { table, memory: machine.memory, device: machine.device, ..Reading::default() };
        plan.prepare(&source, &reading, seed.map_or(NoiseSource::System, NoiseSource::Seed))?
    };
    let whole = prepared.charge();
    let found = fitting(&mut payer, &whole, printer, |pay, progress| prepared.run_paid_by(pay, progress))?;
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
        for warning in &part.fit.warnings {
            let sentence = format!("{}: {warning}", part.name);
            match warning {
                Warning::PartOfStudy { .. } => {}
                Warning::FixedSeed => Printer::alarm(&sentence, shown),
                _ => printer.warning(&sentence, shown),
            }
        }
    }
}
