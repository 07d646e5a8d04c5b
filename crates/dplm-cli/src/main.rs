//! The `dplm` command: linear regression under differential privacy.

mod args;
mod exit;
mod settings;
mod printer;
mod output;
mod progress;
mod layout;
mod commands;

use std::process::ExitCode;

use args::{Args, Command};
use printer::Printer;

fn main() -> ExitCode {
    let args = match Args::from_command_line() {
        Ok(args) => args,
        Err(answer) => return Printer::answer_to_command_line(&answer),
    };
    let printer = Printer::new(args.quiet);
    let outcome = match args.command {
        Command::Demo(args) => commands::demo::run(&args, &printer),
        Command::Fit(args) => commands::fit::run(args, &printer),
        Command::Plan(args) => commands::plan::run(&args, &printer),
        Command::Simulate(args) => commands::simulate::run(args, &printer),
        Command::Diagnose(args) => commands::diagnose::run(args, &printer),
        Command::Init(args) => commands::init::run(&args, &printer),
        Command::Lab(asked) => commands::lab::run(asked),
    };
    printer.exit(outcome)
}
