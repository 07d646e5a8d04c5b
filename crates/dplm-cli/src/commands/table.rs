//! `dplm table`: saved results side by side, for a paper.

use dplm::report;
use dplm_report::{Table, TableError, TableForm, TableOptions};

use crate::{
    args::TableArgs,
    commands::saved::unread,
    exit::Failure,
    output::{Destination, Format, Output},
    places::InputFile,
};

/// Reads the results and writes their table.
pub fn run(args: &TableArgs) -> Result<(), Failure> {
    args.out.check_format(format(args.to))?;
    if args.to == TableForm::Docx && args.out == Destination::Stdout {
        return Err(Failure::usage("a document is not text to print: name a file, as in --out table.docx"));
    }
    let documents = args.results.iter().map(read).collect::<Result<Vec<String>, Failure>>()?;
    let TableArgs { title, names, stars, intervals, .. } = args;
    let options = TableOptions { title: title.clone(), names: names.clone(), stars: *stars, intervals: *intervals };
    let table = Table::of(&documents, &options).map_err(|error| refusal(error, &args.results))?;
    Output::open(&args.out)?.finish_with_bytes(&table.to_bytes(args.to))
}

fn format(form: TableForm) -> Format {
    match form {
        TableForm::Latex => Format::Latex,
        TableForm::Html => Format::Html,
        TableForm::Csv => Format::Csv,
        TableForm::Docx => Format::Docx,
        TableForm::Svg => Format::Svg,
        _ => Format::Markdown,
    }
}

fn read(path: &InputFile) -> Result<String, Failure> {
    report::read(path).map_err(|error| unread(path, error))
}

fn refusal(error: TableError, results: &[InputFile]) -> Failure {
    match error {
        TableError::File { place, error } => unread(&results[place - 1], error),
        error => Failure::usage(error),
    }
}
