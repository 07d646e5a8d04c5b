//! `dplm fit`: the main job.

use dplm::{
    Fit,
    method::{self, auto},
    report::{summary, to_html, to_json},
};

use crate::{
    args::FitArgs,
    exit::Failure,
    output::{Destination, Output},
    printer::Printer,
    progress::Progress,
    settings::FitSettings,
};

/// Reads, fits and reports.
pub fn run(args: FitArgs, printer: &Printer) -> Result<(), Failure> {
    let settings = FitSettings::check(args)?;
    // Opened before anything is spent: a result that cannot be written down would be lost.
    let outputs = Outputs::open(&settings)?;
    let source = settings.data.open()?;
    let mut dataset = settings.data.read(&source, printer)?;
    let fit = {
        let progress = Progress::new(printer, "fitting");
        let mut watch = |done: u32, of: u32| {
            progress.update(done.into(), of.into());
            Ok(())
        };
        let config = match settings.automatic {
            true => method::Config::from(auto::Config { request: settings.config.request }),
            false => settings.config.into(),
        };
        dataset.fit(config, settings.noise, &mut watch)?
    };
    outputs.report(&fit, printer)
}

/// Where results go.
struct Outputs {
    json: Option<Output>,
    trajectory: Option<Output>,
    report: Option<Output>,
    /// Whether standard output is free for the summary.
    summary: bool,
}

impl Outputs {
    fn open(settings: &FitSettings) -> Result<Outputs, Failure> {
        let FitSettings { json, trajectory, report, .. } = settings;
        Ok(Outputs {
            json: json.as_ref().map(Output::open).transpose()?,
            trajectory: trajectory.as_ref().map(Output::open).transpose()?,
            report: report.as_ref().map(Output::open).transpose()?,
            summary: ![json, trajectory, report].contains(&&Some(Destination::Stdout)),
        })
    }

    /// Reports a fit everywhere. The budget is spent by now, so a file that fails does not keep the others from being written.
    fn report(self, fit: &Fit, printer: &Printer) -> Result<(), Failure> {
        for warning in &fit.warnings {
            printer.warning(&warning.to_string(), self.summary);
        }
        let json = self.json.map_or(Ok(()), |output| output.finish_with(&to_json(fit)));
        let trajectory = self.trajectory.map_or(Ok(()), |output| output.finish_with(&fit.trajectory_csv()));
        let report = self.report.map_or(Ok(()), |output| output.finish_with(&to_html(fit)));
        let shown = if self.summary { printer.result(&summary(fit)) } else { Ok(()) };
        json.and(trajectory).and(report).and(shown)
    }
}
