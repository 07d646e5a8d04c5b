//! What was typed: names and shapes only. What it means the library checks.

mod common;
pub mod options;
mod fit;
mod saved;
mod plan;
mod ledger;
#[cfg(feature = "lab")]
mod lab;
mod tools;

use std::ffi::OsString;

use clap::{
    ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use dplm::options::Choice;

use crate::places::{self, Places};

pub use common::{CoverArgs, DataArgs, ResultArgs, SavedFits};
pub use fit::{DiagnoseArgs, FitArgs, MomentsArgs, RefineArgs, StudyArgs};
#[cfg(feature = "lab")]
pub use lab::{LabCommand, LabRunArgs};
pub use ledger::{
    LedgerBackupArgs, LedgerCommand, LedgerExportArgs, LedgerGrantArgs, LedgerInitArgs, LedgerLimitArgs,
    LedgerRecordArgs, LedgerReportArgs, LedgerReverseArgs, LedgerShowArgs, LedgerVerifyArgs, PromiseOf,
};
pub use options::Options;
pub use plan::PlanArgs;
pub use saved::{ExportArgs, Library, PredictArgs, TableArgs, TestArgs};
pub use tools::{CompletionsArgs, DemoArgs, InitArgs, ManArgs, SimulateArgs};

/// Linear regression under differential privacy, with honest error bars.
#[derive(Debug, Parser)]
#[command(
    name = "dplm",
    version = env!("DPLM_VERSION"),
    arg_required_else_help = true,
    disable_help_flag = true,
    after_help = "Start with 'dplm demo'. Each command explains itself: 'dplm fit --help'.\n\n\
                  Exit status: 0 done; 1 refused or failed (data, budget, files); 2 the command was wrong."
)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print results and errors only: no progress, notes or warnings, except that of a seed
    #[arg(long, short, global = true, display_order = 1000)]
    pub quiet: bool,
    /// Print this help
    // The short form for both spellings: one line an option fits on a screen.
    #[arg(long, short, global = true, display_order = 1001, action = ArgAction::HelpShort)]
    help: Option<bool>,
}

impl Args {
    /// The definition of the program: its commands and what they take.
    pub fn definition() -> clap::Command {
        places::hinted(Args::command())
    }

    /// Reads a command line, the name of the program first, and finds the places in it.
    ///
    /// # Errors
    /// The parser's own answer: help, the version, or what is wrong.
    pub fn from_command_line(words: impl IntoIterator<Item = OsString>) -> Result<(Args, Places), clap::Error> {
        let mut definition = Args::definition();
        let typed = definition.try_get_matches_from_mut(words)?;
        let args = Args::from_arg_matches(&typed).map_err(|error| error.format(&mut definition))?;
        Ok((args, Places::of(&definition, &typed)))
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Fit data it makes itself, and explain what comes out
    #[command(after_help = DEMO)]
    Demo(DemoArgs),
    /// Fit a linear regression privately
    #[command(after_help = FIT)]
    Fit(Box<FitArgs>),
    /// Spend more on a model that was fitted before, and pool both fits
    #[command(after_help = REFINE)]
    Refine(RefineArgs),
    /// Fit a main specification and its checks under one budget
    #[command(after_help = STUDY)]
    Study(StudyArgs),
    /// Test hypotheses about the coefficients of a saved fit
    #[command(after_help = TEST)]
    Test(TestArgs),
    /// Predict the mean response of new rows, or over a column, from a saved fit
    #[command(after_help = PREDICT)]
    Predict(PredictArgs),
    /// Write saved results side by side, for a paper
    #[command(after_help = TABLE)]
    Table(TableArgs),
    /// Write the guarantee of a saved result in the words of other libraries
    #[command(after_help = EXPORT)]
    Export(ExportArgs),
    /// What accuracy to expect, from public numbers only
    #[command(after_help = PLAN)]
    Plan(PlanArgs),
    /// Write the means and covariances of a table that is public, for fits of other tables
    #[command(after_help = MOMENTS)]
    Moments(MomentsArgs),
    /// Write simulated data to a file
    #[command(after_help = SIMULATE)]
    Simulate(SimulateArgs),
    /// Look at the data without privacy: least squares, clipping, the law of the iterates
    #[command(after_help = DIAGNOSE)]
    Diagnose(DiagnoseArgs),
    /// Keep the privacy budget of data sets in a file
    #[command(subcommand, after_help = LEDGER)]
    Ledger(LedgerCommand),
    /// Print a model file for a person to fill in
    #[command(after_help = INIT)]
    Init(InitArgs),
    #[cfg(feature = "lab")]
    /// The paper's experiments: data, pictures, and a verdict for each claim
    #[command(subcommand, after_help = LAB)]
    Lab(LabCommand),
    /// Print what a shell needs to complete commands and options
    #[command(after_help = COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write those of all commands
    #[command(after_help = MAN)]
    Man(ManArgs),
}

const DEMO: &str = "\
Simulates 10,000 rows with 10 features, fits them privately at rho = 0.015, and explains the result.
Takes about a second and writes no file.";

const FIT: &str = "\
The formula is R's, with the public facts about each column written into it:
  name[lo..hi]   a number with public bounds; values outside are moved to the bound
  name{a,b,c}    a category with public levels; the first is the reference
  + 0            leaves out the intercept
Bounds and levels must come from public knowledge, never from the data. With --standardised also:
  name           a number that is already centred and of about unit variance
  .              every other numeric column of a Parquet or Arrow file, taken as such

Examples:
  dplm fit survey.csv --formula 'earnings[0..200000] ~ age[18..90] + region{north,south}' --rho 0.015
  dplm fit survey.parquet --model model.toml --epsilon 1 --json fit.json
  dplm fit --pretend --formula 'earnings[0..200000] ~ age[18..90]' --rho 0.015 --report page.html";

const REFINE: &str = "\
Fits the model of a saved fit again on the same data, from where that fit ended, and pools both by their precision. The
result promises what both budgets together promise, is about as precise as one fit at that budget, and can be refined
again. A ledger is charged for the second fit only: the first was paid for. Weights, persons, target, level and the
dialect of text are those of the first fit; the fit of a group, named with --group, has the rows of that group.

Examples:
  dplm fit wages.csv --formula 'wage[0..60] ~ educ[0..20] + exper[0..45]' --rho 0.01 --json fit.json
  dplm refine fit.json wages.csv --rho 0.02 --json refined.json
  dplm refine regions.json wages.csv --group north --rho 0.02 --json north.json";

const STUDY: &str = "\
A study is a TOML file: a budget, and a [[specification]] with a name, a formula and (if it should not be the usual one)
a share for each model. What is known of columns is written in the formulas or once under [columns.NAME]. Second moments
are released once for all specifications; of the rest the first one, the main one, gets half and the others what is left,
unless shares say otherwise. A ledger is charged once, for the whole study, before any noise is drawn. The file may also
say person, rows_per_person, weights and target, as the options of 'dplm fit' do; or they are given here.

Example of a file:
  rho = 0.1
  interest = 'educ'       # followed across specifications
  simultaneous = true     # its intervals hold in all of them at once
  person = 'id'           # protects persons with all their rows
  [[specification]]
  name = 'main'
  formula = 'wage[0..60] ~ educ[0..20] + exper[0..45]'
  [[specification]]
  name = 'without exper'
  formula = 'wage[0..60] ~ educ[0..20]'

Example:
  dplm study wages.toml wages.csv --report study.html";

const COMPLETIONS: &str = "\
Examples:
  dplm completions bash > ~/.local/share/bash-completion/completions/dplm
  dplm completions zsh > ~/.zfunc/_dplm";

const MAN: &str = "\
Examples:
  dplm man | man -l -
  dplm man --out ~/.local/share/man/man1     # then: man dplm-fit";

const TEST: &str = "\
A hypothesis is a linear equation in the coefficients, named as the fit prints them; without '=' it is tested against 0.
Equations separated by commas are tested together, by a chi-square test. Nothing is spent and no data are read. Of the
fits of several groups (--by) each is tested, or that of one --group.

Examples:
  dplm fit wages.csv --formula 'wage[0..60] ~ educ[0..20] + exper[0..45] + union{no,yes}' --rho 0.1 --json fit.json
  dplm test fit.json 'educ = 1' 'educ - 2*exper' 'exper = 0, union[yes] = 0'";

const PREDICT: &str = "\
The rows need the model's features and not its response, and cells are read as they were in the fit. The result is a
table (CSV) with a line for each row: the mean response of all rows like it, its standard error and its interval.
Lines are empty where a cell is missing; --id puts columns of the rows before them. With --over no rows are read: a
number goes over its public bounds, a category over its levels. Other numbers are held at the middle of their bounds
and other categories averaged, each level alike, unless --at says otherwise. Nothing is spent, and the data of the fit
are not needed. With the fits of several groups (--by) each row is predicted by that of its own group, or all rows by
that of one --group; --over goes through all of them.

Examples:
  dplm predict fit.json new.csv --id id --out predicted.csv
  dplm predict fit.json --over exper --at educ=12 --at union=yes --picture exper.svg";

const EXPORT: &str = "\
dp-accounting: the events that an accountant of Google's library composes, by the names of its classes. opendp: the
metric, the measure and the distances of one measurement, and the mechanisms in it. The file is that of a fit, of
several groups or of a study. Nothing is spent and no data are read.

Example:
  dplm export fit.json --for dp-accounting";

const PLAN: &str = "\
No data are read and nothing is spent: the method that would run says what it would do with the budget. How far columns
spread within their bounds nobody knows beforehand. Assumed are, and printed: three standard deviations from the
middle of the bounds to either end, equally common levels, no correlation, and errors as spread as the response. Say
better with --assume: 'NAME sd S', 'NAME mean M sd S', 'NAME shares A B ...', 'correlation R', 'R2 R', 'errors sd S'.
With --features, figures are for the paper's method on columns of unit variance that are not correlated.

Examples:
  dplm plan --formula 'pay[0..200000] ~ age[18..90]' --rows 10000 --rho 0.015 --assume 'pay sd 30000' --page plan.html
  dplm plan --formula 'pay[0..200000] ~ age[18..90]' --rows 10000 --rho 0.015 --want 'age 40' --effect 'age 300'
  dplm plan --features 10 --rows 10000 --rho 0.015 --picture plan.svg";

const TABLE: &str = "\
Columns are fits, those of groups, or the specifications of a study. Notes below the table say what the coefficients
are, and what was promised to whom. LaTeX needs the package booktabs.

Examples:
  dplm table short.json long.json --to latex --stars --out wages.tex
  dplm table study.json --to docx --intervals --names 'Main,No controls' --out wages.docx
  dplm table short.json long.json --to svg --out wages.svg";

const MOMENTS: &str = "\
Second moments that are public spare a fit what it would spend to find them: at a weak budget that is the difference
between intervals and none. This writes those of the terms of a model from a table that is public itself: an earlier
wave, a public-use file, another country. Nothing about it is private: never use the table that the fit is to protect.

Example:
  dplm moments public-2019.csv --formula 'pay[0..200000] ~ age[18..90] + educ[0..20]' --not-private --out pay.toml
  dplm fit survey-2024.csv --formula 'pay[0..200000] ~ age[18..90] + educ[0..20]' --rho 0.005 --moments pay.toml";

const SIMULATE: &str = "\
Writes a table with columns x1 to xP and y = x'theta + error, and prints the true coefficients theta. The setting is the
paper's: theta uniform on the unit sphere, Gaussian features, independent errors of mean zero. Rows are written as they
are drawn, so any number of them fits in little memory. Student errors have 4 degrees of freedom, skewed ones are
exponential; both are scaled to the standard deviation asked for.

Example:
  dplm simulate --rows 10000 --features 10 --out sim.parquet
  dplm fit sim.parquet --formula 'y ~ . + 0' --standardised --rho 0.015";

const DIAGNOSE: &str = "\
For users who may see the rows anyway: nothing it prints may be published. Shows least squares as lm would, then a
fit with the options given (rho 0.015 if none is): how many rows each step clipped, the paper's No-Clipping Condition
item by item, and the exact distribution of the iterates beside what happened.

Example:
  dplm diagnose sim.parquet --formula 'y ~ . + 0' --standardised --rho 0.015 --not-private";

const INIT: &str = "\
The template holds the names of the columns, and their types where the file declares them, with every bound and level
left blank. Fill it in from public knowledge and give it to 'dplm fit --model'. No value of the data is printed.";

const LEDGER: &str = "\
A budget outlives any one fit. Open a ledger once, and name it in every fit of the data: what a fit spends is recorded
on disk before any noise is drawn, more than is left is refused, and every run spends, a repeated one too.

Examples:
  dplm ledger init budget.db --dataset wages --rho 0.1
  dplm fit wages.csv --formula 'pay[0..200000] ~ age[18..90]' --rho 0.015 --ledger budget.db --dataset wages
  dplm ledger show budget.db";

#[cfg(feature = "lab")]
const LAB: &str = "\
Runs the experiments of the paper on simulated data: a table, a picture and a verdict for each claim. Stopped, it goes
on where it was when run again with the same folder. Definitions are small files; --set changes any number in them.

Examples:
  dplm lab run pn coverage --quick --out results
  dplm lab run cost-low --set rho=0.1 --set repetitions=20 --out mine
  dplm lab check";

/// The words of an option, as the library lists them.
fn words<T: Choice>() -> impl TypedValueParser<Value = T> {
    let listed = |value: &T| PossibleValue::new(value.word()).aliases(value.synonyms().iter().copied());
    PossibleValuesParser::new(T::ALL.iter().map(listed)).try_map(|word| word.parse())
}

/// A number.
fn number(text: &str) -> Result<f64, String> {
    let share = || format!("{}e-2", text.strip_suffix('%')?.trim_end()).parse::<f64>().ok();
    text.parse().map_err(|_| match share() {
        Some(share) => format!("write it as {share}, without %"),
        None => "give a number such as 0.1 or 1e-6".to_owned(),
    })
}

/// A whole number, which may be written as `1e6` or `1_000_000`.
fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, &'static str> {
    let digits = text.replace('_', "");
    let number = digits.parse().ok().or_else(|| digits.parse().ok().and_then(exactly));
    number.and_then(|number| T::try_from(number).ok()).ok_or("give a whole number such as 1000 or 1e6")
}

/// A number without a fraction, as long as all such numbers are told apart.
fn exactly(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(1u32 << 31) * f64::from(1u32 << 22)).contains(&number);
    is_whole.then_some(number as u64)
}

/// How many rows there are.
fn rows(text: &str) -> Result<u64, &'static str> {
    whole(text).ok().filter(|&rows| rows > 0).ok_or("give a number of rows such as 1000 or 1e6")
}

/// How many coefficients a model has that is known by their number alone.
fn features(text: &str) -> Result<u32, &'static str> {
    whole(text).ok().filter(|features| (1..=100_000).contains(features)).ok_or("give a whole number from 1 to 100000")
}

/// A size such as `2GB`, in bytes.
fn bytes(text: &str) -> Result<u64, &'static str> {
    const HELP: &str = "give a size such as 2GB or 500MiB";
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(HELP),
    };
    let bytes = number.parse::<f64>().map_err(|_| HELP)? * unit as f64;
    if bytes >= 1.0 && bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(HELP) }
}

#[cfg(test)]
mod tests {
    use std::{any::TypeId, path::PathBuf};

    use dplm::{
        FitRequest,
        options::{Purpose, Target},
    };

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Args::definition().debug_assert();
    }

    /// A path that is not of a type of `places` would not be seen by the check of what a run reads
    /// and writes.
    #[test]
    fn no_argument_is_a_bare_path() {
        fn check(command: &clap::Command) {
            for argument in command.get_arguments() {
                let is = argument.get_value_parser().type_id();
                let is_bare = is == TypeId::of::<PathBuf>() || is == TypeId::of::<OsString>();
                assert!(!is_bare, "{} of dplm {}", argument.get_id(), command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Args::definition());
    }

    #[test]
    fn words_are_those_of_the_library_and_old_ones_are_accepted() {
        let parsed = |more: &[&str]| Args::try_parse_from([&["dplm", "fit", "rows.csv", "-f", "y ~ x"], more].concat());
        let typed =
            ["--target", "ols", "--for", "prediction", "--method", "adassp", "--clip", "auto", "--steps", "1e3"];
        let Ok(Args { command: Command::Fit(fit), .. }) = parsed(&typed) else { panic!("a fit") };
        let asked = FitRequest::from_said(&mut fit.options.said.clone()).expect("an option each");
        let expected = FitRequest::new("y ~ x").target(Target::Sample).purpose(Purpose::Prediction).method("adassp");
        assert_eq!(asked, expected.steps(1000));
        let refusal = parsed(&["--target", "truth"]).expect_err("no such word").to_string();
        assert!(refusal.contains("population, sample, robust, person"), "{refusal}");
        assert!(parsed(&["--steps", "automatic"]).expect_err("no number").to_string().contains("a number or auto"));
    }

    #[test]
    fn sizes() {
        for (text, size) in
            [("2GB", 2_000_000_000), ("1.5kb", 1500), ("3 MiB", 3 << 20), ("1GiB", 1 << 30), ("7", 7), ("10B", 10)]
        {
            assert_eq!(bytes(text), Ok(size), "{text}");
        }
        for text in ["", "GB", "-1GB", "1XB", "nan", "0", "0.1B", "1e3", "99999999999TB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn whole_numbers() {
        for (text, number) in [("7", 7), ("1e6", 1_000_000), ("1_000_000", 1_000_000), ("2.5E3", 2500), ("0", 0)] {
            assert_eq!(whole::<u64>(text), Ok(number), "{text}");
        }
        assert_eq!(whole::<u64>("18446744073709551615"), Ok(u64::MAX));
        for text in ["", "_", "-1", "1.5", "1e-3", "1e17", "nan", "inf", "many", "10%"] {
            assert!(whole::<u64>(text).is_err(), "{text}");
        }
        assert!(whole::<u32>("1e10").is_err() && rows("0").is_err());
        assert_eq!((features("1e5"), features("100001").is_err()), (Ok(100_000), true));
    }

    #[test]
    fn numbers() {
        assert_eq!((number("0.015"), number("1e-6")), (Ok(0.015), Ok(1e-6)));
        assert_eq!(number("10%"), Err("write it as 0.1, without %".to_owned()));
        assert_eq!(number("5.6 %"), Err("write it as 0.056, without %".to_owned()));
        assert!(number("much").is_err() && number("").is_err());
    }

    /// Every option that wants a number says what to type in place of a word.
    #[test]
    fn what_is_no_number_is_answered_with_what_to_type() {
        fn check(command: &clap::Command) {
            for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                let words = [command.get_name().to_owned(), format!("--{option}=10%")];
                let Err(refusal) = command.clone().try_get_matches_from(words) else { continue };
                let refusal = refusal.to_string();
                let is_bare = ["invalid digit", "invalid float", "is not in"].iter().any(|bare| refusal.contains(bare));
                assert!(!is_bare, "{refusal}");
            }
            command.get_subcommands().for_each(check);
        }
        check(&Args::definition());
    }
}
