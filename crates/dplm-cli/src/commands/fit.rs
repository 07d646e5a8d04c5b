//! `dplm fit`: the main job.

use dplm::{
    Charge, Design, Error, Fit, GroupedFit, Progress, Receipt, Warning,
    method::{self, ConfigError},
    plan::Question,
    privacy::Rho,
    report::{Cover, grouped_summary, grouped_to_html, grouped_to_json, summary, to_html, to_json},
    table::{ReadOptions, Source},
};
use dplm_ledger::Payer;
use dplm_simulate::pretend;

use crate::{
    account,
    args::FitArgs,
    commands::plan,
    exit::Failure,
    layout::grouped,
    output::{Destination, Output},
    printer::Printer,
    progress::Bar,
    settings::FitSettings,
};

/// Reads, fits and reports.
///
/// What can be refused is refused before the ledger records anything; what is recorded is on disk before noise is drawn.
pub fn run(args: FitArgs, printer: &Printer) -> Result<(), Failure> {
    let settings = FitSettings::check(args)?;
    if settings.dry_run && [&settings.json, &settings.trajectory, &settings.report].iter().any(|place| place.is_some())
    {
        return Err(Failure::usage("a dry run has no result to write: leave out --json, --trajectory and --report"));
    }
    // Opened before anything is spent: a result that cannot be written down would be lost.
    let FitSettings { json, trajectory, report, cover, .. } = &settings;
    let outputs = Outputs { pretend: settings.pretend.is_some(), ..Outputs::open([json, trajectory, report], cover)? };
    let mut payer = payer(&settings)?;
    let source = match settings.pretend {
        Some(rows) => settings.simulate(rows)?,
        None => settings.data.open()?,
    };
    if settings.dry_run {
        return dry_run(&settings, &source, &payer, printer);
    }
    if let Some(groups) = &settings.groups {
        let mut dataset = settings.data.read_groups(&source, groups, printer)?;
        let prepared = dataset.prepare(settings.method.as_ref(), settings.noise)?;
        let whole = prepared.charge();
        let fit = fitting(&mut payer, &whole, printer, |pay, progress| prepared.run_paid_by(pay, progress))?;
        return outputs.report_groups(&fit, printer);
    }
    let mut dataset = settings.data.read(&source, printer)?;
    let prepared = dataset.prepare(settings.method.as_ref(), settings.noise)?.giving_up_rows();
    let whole = prepared.charge();
    let fit = fitting(&mut payer, &whole, printer, |pay, progress| prepared.run_paid_by(pay, progress))?;
    outputs.report(&fit, printer)
}

/// Looks at a fit up to where it would be paid for, and says what its ledger warns of.
///
/// # Errors
/// As [`run`], and where there is something to look at.
pub fn check(args: FitArgs, printer: &Printer) -> Result<(), Failure> {
    let settings = FitSettings::check(args)?;
    let payer = payer(&settings)?;
    if !payer.has_ledger() {
        return Err(Failure::usage(
            "name the ledger that would pay with --ledger, and what it calls the data with --dataset",
        ));
    }
    let source = settings.data.open()?;
    let charge = match &settings.groups {
        Some(groups) => {
            let mut dataset = settings.data.read_groups(&source, groups, printer)?;
            dataset.prepare(settings.method.as_ref(), settings.noise)?.charge()
        }
        None => settings.data.read(&source, printer)?.prepare(settings.method.as_ref(), settings.noise)?.charge(),
    };
    let cautions: Vec<String> =
        payer.cautions(&charge).map_err(account::not_paid)?.iter().map(ToString::to_string).collect();
    if !cautions.is_empty() {
        return Err(Failure::refused(format!("{}; nothing was spent", cautions.join("; and "))));
    }
    let would_pay = would_pay(&payer, charge.rho);
    printer.result(&format!("Nothing speaks against this fit:{would_pay} Nothing was spent.\n"))
}

/// What pays for the fit; simulated rows cost nothing.
fn payer(settings: &FitSettings) -> Result<Payer, Failure> {
    let is_free = settings.pretend.is_some() || settings.dry_run && settings.account_name.dataset.is_none();
    if is_free { Ok(Payer::caller()) } else { account::open(&settings.account_name, settings.method.request().rho) }
}

/// What a fit asks for its payment.
pub type Pay<'a> = &'a mut dyn FnMut(Charge) -> Result<Receipt, Failure>;

/// Pays for a fit and makes it, shows how far it has come, and says what was spent where it fails.
/// A fit pays in parts: where the account could not pay for the `whole`, it pays for none.
pub fn fitting<T>(
    payer: &mut Payer,
    whole: &Charge,
    printer: &Printer,
    fit: impl FnOnce(Pay<'_>, Progress<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let mut cautions = account::check(payer, whole)?;
    let (bar, tally) = (Bar::new(printer, "fitting"), payer.tally());
    let mut pay = |charge| {
        let receipt = account::pay(payer, charge, printer)?;
        // Not before: a refusal, should another process be quicker, stays one sentence.
        cautions.drain(..).for_each(|same| printer.warning(&same.to_string(), false));
        Ok(receipt)
    };
    let fitted = fit(&mut pay, Progress::new(&|done, total| bar.update(done, total)));
    account::told(fitted, &tally)
}

/// The plan, the checks and the cost of a fit that is not made.
fn dry_run(settings: &FitSettings, source: &Source, payer: &Payer, printer: &Printer) -> Result<(), Failure> {
    let paid = would_pay(payer, settings.method.request().rho);
    let text = if settings.data.person.is_some() {
        planned_for_persons(settings, source, printer)?
    } else {
        planned_for_rows(settings, source, printer)?
    };
    let rho = settings.method.request().rho;
    printer.result(&format!("{text}\nDry run: the fit would cost rho = {rho}.{paid} Nothing was spent.\n"))
}

/// Persons are counted by reading whose rows are whose. How much their rows say together depends on how alike they are, so nothing is forecast.
fn planned_for_persons(settings: &FitSettings, source: &Source, printer: &Printer) -> Result<String, Failure> {
    let dataset = settings.data.read(source, printer)?;
    checked_plan(settings, dataset.rows(), dataset.design(), printer)?;
    let (persons, method) = (grouped(dataset.rows()), settings.method.name());
    Ok(format!("{persons} persons, method {method}: there is no forecast for persons with several rows.\n"))
}

fn planned_for_rows(settings: &FitSettings, source: &Source, printer: &Printer) -> Result<String, Failure> {
    let reading = settings.data.reading(ReadOptions::default());
    let design = reading.design(&reading.model(&settings.data.formula, source.schema())?);
    let rows = {
        let bar = Bar::new(printer, "counting rows");
        let update = |done, total| bar.update(done, total);
        let progress = Progress::new(&update);
        source.count_rows(&design.columns()[0], &ReadOptions { progress, ..ReadOptions::default() })?
    };
    let request = settings.method.request();
    checked_plan(settings, rows, &design, printer)?;
    let unforeseen = |what: &str| {
        format!("{} rows, method {}: there is no forecast for {what}.\n", grouped(rows), settings.method.name())
    };
    if settings.groups.is_some() {
        return Ok(unforeseen("groups"));
    }
    if reading.weights.is_some() {
        return Ok(unforeseen("weighted rows"));
    }
    let question = Question::new(rows, request.rho, request.delta, request.level);
    match method::forecast_for(&settings.asked, source.schema(), &question) {
        Ok(forecast) => Ok(plan::text(&forecast)),
        Err(Error::Config(ConfigError::NoForecast)) => Ok(unforeseen("it on such columns")),
        Err(other) => Err(other.into()),
    }
}

/// Makes the plan, and says what it refuses or warns of.
fn checked_plan(settings: &FitSettings, rows: u64, design: &Design, printer: &Printer) -> Result<(), Failure> {
    let (method, _) = method::after_count(settings.method.as_ref(), rows);
    let plan = method.plan(rows, design)?;
    plan.check().map_err(Error::from)?;
    plan.warn().iter().for_each(|warning| printer.warning(&warning.to_string(), false));
    Ok(())
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
        for warning in warnings {
            match warning {
                // The iterates have no room to say it, and a seed voids the guarantee.
                Warning::FixedSeed => Printer::alarm(&warning.to_string(), self.summary),
                _ => printer.warning(&warning.to_string(), self.summary),
            }
        }
    }

    /// Writes every form that was asked for. The budget is spent by now, so a file that fails does not keep the others from being written.
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
