//! `dplm completions`: what a shell needs to complete commands and options.

use crate::{
    args::{Args, CompletionsArgs},
    exit::Failure,
    printer::Printer,
};

/// Prints the script.
pub fn run(args: &CompletionsArgs, printer: &Printer) -> Result<(), Failure> {
    let (mut script, mut command) = (Vec::new(), Args::definition());
    clap_complete::generate(args.shell, &mut command, "dplm", &mut script);
    printer.result(&String::from_utf8_lossy(&script))
}
