//! `dplm init`: a model file for a person to fill in.

use std::path::Path;

use dplm::{formula::template, table::Source};

use crate::{
    args::InitArgs,
    exit::Failure,
    output::{Destination, Output},
    printer::Printer,
};

/// Prints the template, or writes it to a new file.
pub fn run(args: &InitArgs, printer: &Printer) -> Result<(), Failure> {
    if let Some(path) = &args.out {
        refuse_existing(path)?;
    }
    let template = template(Source::open_as(&args.inputs, args.csv.unwrap_or_default())?.schema());
    match &args.out {
        None => printer.result(&template),
        Some(path) => {
            Output::open(&Destination::File(path.to_path_buf()))?.finish_with(&template)?;
            let path = path.display();
            printer.note(&format!("wrote {path}: fill it in from public knowledge, then run dplm fit --model {path}"));
            Ok(())
        }
    }
}

/// A model that was filled in by hand is not overwritten by an empty one.
fn refuse_existing(path: &Path) -> Result<(), Failure> {
    match path.symlink_metadata() {
        Ok(_) => Err(Failure::Refused(format!("{} exists already: name a new file", path.display()))),
        Err(_) => Ok(()),
    }
}
