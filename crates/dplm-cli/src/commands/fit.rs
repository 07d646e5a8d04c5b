//! `dplm fit`: the main job.

use dplm::{
    CheckedFit, Fit, Fitted, Foreseen, ForeseenGroup, GroupedFit, Progress, Warning,
    privacy::Rho,
    report::{grouped_summary, grouped_to_json, summary, to_json},
    table::Source,
};
use dplm_ledger::{Payer, RowsFrom, paid_fit};
use dplm_report::{Cover, grouped_to_html, to_html};
use dplm_simulate::pretend;

use crate::{
    account::{self, Watching},
    args::FitArgs,
    asked::{Asked, check_formats, checked, cover, use_threads},
    commands::plan,
    exit::Failure,
    layout::grouped,
    output::{Destination, Format, Output},
    places::DataInput,
    printer::Printer,
    progress::Bar,
};

/// Reads, fits and reports.
///
/// What can be refused is refused before the ledger records anything; what is recorded is on disk
/// before noise is drawn.
pub fn run(args: FitArgs, printer: &Printer) -> Result<(), Failure> {
    let FitArgs { data, options, json, trajectory, report, cover: about } = args;
    check_formats([(&report, Format::Html), (&json, Format::Json), (&trajectory, Format::Csv)])?;
    let asked = options.read()?;
    let (pretend, is_dry) = (asked.instead.pretend, asked.instead.dry_run);
    if is_dry && [&json, &trajectory, &report].iter().any(|place| place.is_some()) {
        return Err(Failure::usage("a dry run has no result to write: leave out --json, --trajectory and --report"));
    }
    if asked.request.by.is_some() && trajectory.is_some() {
        return Err(Failure::usage("there is no table of the iterates of several groups: leave out --trajectory"));
    }
    check_pretence(pretend, &data.inputs)?;
    let fit = checked(&asked.request)?;
    use_threads(&asked.run)?;
    let mut payer = payer(&asked, &fit)?;
    // Opened before anything is spent: a result that cannot be written down would be lost.
    let outputs =
        Outputs { pretend: pretend.is_some(), ..Outputs::open([&json, &trajectory, &report], &cover(about))? };
    let source = match pretend {
        Some(rows) => simulated(&fit, rows, asked.run.seed)?,
        None => opened(&asked, &data.inputs)?,
    };
    if is_dry {
        return dry_run(&fit.assuming(&asked.question, &asked.instead)?, &asked, &source, &payer, printer);
    }
    let fitted = {
        let watching = Watching::new(printer);
        paid_fit(&fit, RowsFrom::Table(&source), &asked.run, &mut payer, &watching)
    };
    match account::told(fitted, &payer.tally())? {
        Fitted::One(fit) => outputs.report(&fit, printer),
        Fitted::Groups(fits) => outputs.report_groups(&fits, printer),
    }
}

/// Looks at a fit up to where it would be paid for, and says what its ledger warns of.
///
/// # Errors
/// As [`run`], and where there is something to look at.
pub fn check(args: FitArgs, printer: &Printer) -> Result<(), Failure> {
    let asked = args.options.read()?;
    let fit = checked(&asked.request)?;
    use_threads(&asked.run)?;
    let payer = payer(&asked, &fit)?;
    if !payer.has_ledger() {
        return Err(Failure::usage(
            "name the ledger that would pay with --ledger, and what it calls the data with --dataset",
        ));
    }
    let source = opened(&asked, &args.data.inputs)?;
    let mut data = {
        let bar = Bar::new(printer, "reading");
        fit.read(&source, &asked.run, Progress::new(&|done, total| bar.update(done, total)))?
    };
    let charge = data.prepare(asked.run.noise())?.charge();
    let cautions: Vec<String> =
        payer.cautions(&charge).map_err(account::not_paid)?.iter().map(ToString::to_string).collect();
    if !cautions.is_empty() {
        return Err(Failure::refused(format!("{}; nothing was spent", cautions.join("; and "))));
    }
    let would_pay = would_pay(&payer, charge.rho);
    printer.result(&format!("Nothing speaks against this fit:{would_pay} Nothing was spent.\n"))
}

/// The table that was named.
///
/// # Errors
/// When it cannot be opened.
pub fn opened(asked: &Asked, inputs: &[DataInput]) -> Result<Source, Failure> {
    Ok(Source::open_as(inputs, asked.run.csv.unwrap_or_default())?)
}

/// What pays for the fit; simulated rows cost nothing.
fn payer(asked: &Asked, fit: &CheckedFit) -> Result<Payer, Failure> {
    let Asked { account, instead, .. } = asked;
    let is_free = instead.pretend.is_some() || instead.dry_run && account.dataset.is_none();
    // A dry run spends nothing, so that a seed takes nothing from a ledger.
    let noise = if instead.dry_run { dplm::NoiseSource::System } else { asked.run.noise() };
    if is_free { Ok(Payer::caller()) } else { account::open(account, noise, fit.rho()) }
}

/// Refuses a number of rows that would be taken for the name of data, which a pretended fit does
/// not open.
fn check_pretence(pretend: Option<u64>, inputs: &[DataInput]) -> Result<(), Failure> {
    let names = inputs.iter().map(|input| input.to_string_lossy());
    match names.filter(|_| pretend.is_some()).find(|name| name.parse::<u64>().is_ok()) {
        Some(rows) => Err(Failure::usage(format!("write --pretend={rows} to simulate {rows} rows"))),
        None => Ok(()),
    }
}

/// Simulated rows in place of the data.
fn simulated(fit: &CheckedFit, rows: u64, seed: Option<u64>) -> Result<Source, Failure> {
    let asked = pretend::Asked { formula: fit.formula(), person: fit.person(), weights: fit.weights(), by: fit.by() };
    Ok(pretend::source(&asked, rows, seed)?)
}

/// The plan, the checks and the cost of a fit that is not made.
fn dry_run(fit: &CheckedFit, asked: &Asked, source: &Source, payer: &Payer, printer: &Printer) -> Result<(), Failure> {
    let found = {
        let bar = Bar::new(printer, "counting rows");
        fit.dry_run(source, &asked.run, Progress::new(&|done, total| bar.update(done, total)))?
    };
    found.warnings.iter().for_each(|warning| printer.warning(&warning.to_string(), false));
    let text = match &found.foreseen {
        Ok(Foreseen::One(forecast)) => plan::text(forecast),
        Ok(Foreseen::Groups(groups)) => groups.iter().map(of_group).collect::<Vec<_>>().join("\n"),
        Err(why) => {
            let (units, unit) = (grouped(found.units), found.unit.plural());
            format!("{units} {unit}, method {}: {why}.\n", found.method)
        }
    };
    let (rho, paid) = (found.rho, would_pay(payer, found.rho));
    printer.result(&format!("{text}\nDry run: the fit would cost rho = {rho}.{paid} Nothing was spent.\n"))
}

fn of_group(group: &ForeseenGroup) -> String {
    let text = match &group.forecast {
        Ok(forecast) => plan::text(forecast),
        Err(refused) => format!("{refused}\n"),
    };
    format!("{} {}\n{text}", group.column, group.level)
}

/// What the ledger has for a fit that is not made; that it is enough was checked when it was
/// opened.
fn would_pay(payer: &Payer, rho: Rho) -> String {
    payer.name().map_or(String::new(), |(file, dataset)| {
        format!(" {} has enough left for rho = {rho} of '{dataset}'.", file.display())
    })
}

/// Where results go.
pub struct Outputs {
    json: Option<Output>,
    trajectory: Option<Output>,
    report: Option<Output>,
    cover: Cover,
    /// Whether standard output is free for the summary.
    summary: bool,
    /// Whether the rows were simulated, so that everything is marked.
    pretend: bool,
}

impl Outputs {
    /// Opens the places of the JSON, of the iterates and of the page.
    pub fn open(places: [&Option<Destination>; 3], cover: &Cover) -> Result<Outputs, Failure> {
        let [json, trajectory, report] = places;
        Ok(Outputs {
            json: json.as_ref().map(Output::open).transpose()?,
            trajectory: trajectory.as_ref().map(Output::open).transpose()?,
            report: report.as_ref().map(Output::open).transpose()?,
            cover: cover.clone(),
            summary: !places.contains(&&Some(Destination::Stdout)),
            pretend: false,
        })
    }

    /// Reports a fit everywhere.
    pub fn report(self, fit: &Fit, printer: &Printer) -> Result<(), Failure> {
        self.warn(&fit.warnings, printer);
        self.write(printer, |form| match form {
            Form::Json => to_json(fit),
            Form::Trajectory => fit.trajectory_csv(),
            Form::Page(cover) => to_html(fit, cover),
            Form::Summary => summary(fit),
        })
    }

    /// Reports the fits of all groups everywhere.
    fn report_groups(self, fit: &GroupedFit, printer: &Printer) -> Result<(), Failure> {
        let warnings: Vec<Warning> = fit.notes().into_iter().map(|(_, warning)| warning.clone()).collect();
        self.warn(&warnings, printer);
        self.write(printer, |form| match form {
            Form::Json => grouped_to_json(fit),
            Form::Trajectory => unreachable!("refused before anything is read"),
            Form::Page(cover) => grouped_to_html(fit, cover),
            Form::Summary => grouped_summary(fit),
        })
    }

    fn warn(&self, warnings: &[Warning], printer: &Printer) {
        for warning in warnings.iter().filter(|warning| !(self.summary && warning.is_note())) {
            match warning {
                // The iterates have no room to say it, and a seed voids the guarantee.
                Warning::FixedSeed => Printer::alarm(&warning.to_string(), self.summary),
                _ => printer.warning(&warning.to_string(), self.summary),
            }
        }
    }

    /// Writes every form that was asked for. The budget is spent by now, so a file that fails does
    /// not keep the others from being written.
    fn write(self, printer: &Printer, text: impl Fn(Form<'_>) -> String) -> Result<(), Failure> {
        let marked = |form: Form<'_>, mark| pretend::marked_if(self.pretend, text(form), mark);
        let json = self.json.map_or(Ok(()), |output| output.finish_with(&marked(Form::Json, pretend::mark_json)));
        let trajectory =
            self.trajectory.map_or(Ok(()), |output| output.finish_with(&marked(Form::Trajectory, pretend::mark_csv)));
        let report = self
            .report
            .map_or(Ok(()), |output| output.finish_with(&marked(Form::Page(&self.cover), pretend::mark_page)));
        let shown = if self.summary { printer.result(&marked(Form::Summary, pretend::mark_text)) } else { Ok(()) };
        Failure::of_all([json, trajectory, report, shown])
    }
}

/// A form that a result is written in.
enum Form<'a> {
    Json,
    Trajectory,
    Page(&'a Cover),
    Summary,
}
