//! The `dplm` command as a function, for the program of that name and for the Python package, which
//! installs it too.

mod account;
mod args;
mod exit;
mod places;
mod asked;
mod printer;
mod output;
mod progress;
mod layout;
mod commands;

use std::{ffi::OsString, panic};

use args::{Args, Command};
use exit::Failure;
use printer::Printer;

/// The definition of the program: its commands, and what each of them takes.
pub fn definition() -> clap::Command {
    Args::definition()
}

/// Does what a command line says, the name of the program first, and gives the exit status.
pub fn command_line(words: impl IntoIterator<Item = OsString>) -> u8 {
    let (args, places) = match Args::from_command_line(words) {
        Ok(typed) => typed,
        Err(answer) => return Printer::answer_to_command_line(&answer),
    };
    let printer = Printer::new(args.quiet);
    dplm_gpu::install();
    // The words of a panic could hold a cell, so they are never shown.
    panic::set_hook(Box::new(|_| {}));
    let outcome = panic::catch_unwind(|| places.check().and_then(|()| run(args.command, &printer)));
    printer.exit(outcome.unwrap_or_else(|_| Err(Failure::bug())))
}

fn run(command: Command, printer: &Printer) -> Result<(), Failure> {
    match command {
        Command::Demo(args) => commands::demo::run(&args, printer),
        Command::Fit(args) => commands::fit::run(*args, printer),
        Command::Refine(args) => commands::refine::run(args, printer),
        Command::Study(args) => commands::study::run(args, printer),
        Command::Test(args) => commands::test::run(&args, printer),
        Command::Predict(args) => commands::predict::run(&args, printer),
        Command::Table(args) => commands::table::run(&args),
        Command::Export(args) => commands::export::run(&args),
        Command::Plan(args) => commands::plan::run(&args, printer),
        Command::Moments(args) => commands::moments::run(args, printer),
        Command::Simulate(args) => commands::simulate::run(args, printer),
        Command::Diagnose(args) => commands::diagnose::run(args, printer),
        Command::Ledger(asked) => commands::ledger::run(asked, printer),
        Command::Init(args) => commands::init::run(&args, printer),
        #[cfg(feature = "lab")]
        Command::Lab(asked) => commands::lab::run(asked),
        Command::Completions(args) => commands::completions::run(&args, printer),
        Command::Man(args) => commands::man::run(&args, printer),
    }
}
