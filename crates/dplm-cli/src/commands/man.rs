//! `dplm man`: manual pages, made of what `--help` says.

use std::{fs, path::Path};

use clap_mangen::Man;

use crate::{
    args::{Args, ManArgs},
    exit::Failure,
    printer::Printer,
};

/// Prints the page of the program, or writes a page for it and for each command.
pub fn run(args: &ManArgs, printer: &Printer) -> Result<(), Failure> {
    // Names the pages of commands as those of git: dplm-fit.
    let mut command = Args::definition();
    command.build();
    match &args.out {
        Some(folder) => fs::create_dir_all(folder)
            .map_err(|error| Failure::unwritten(&folder.display().to_string(), &error))
            .and_then(|()| write_all(&command, folder)),
        None => printer.result(&page(&command)),
    }
}

fn write_all(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let place = folder.join(format!("{name}.1"));
    fs::write(&place, page(command)).map_err(|error| Failure::unwritten(&place.display().to_string(), &error))?;
    // What 'dplm help' says of a command is on the command's own page.
    let mut listed = command.get_subcommands().filter(|listed| listed.get_name() != "help");
    listed.try_for_each(|listed| write_all(listed, folder))
}

fn page(command: &clap::Command) -> String {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).expect("writing to memory does not fail");
    String::from_utf8_lossy(&page).into_owned()
}
