//! The only place that writes to the terminal.
//!
//! Results go to standard output; progress, notes, warnings and errors to standard error, and
//! `--quiet` silences all of those but errors and the warning that a result is not private.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use dplm::options::{Interface, of_other_programs};

use crate::exit::Failure;

/// Writes results, notes and errors.
pub struct Printer {
    quiet: bool,
}

impl Printer {
    /// A printer that keeps its notes to itself when `quiet`.
    pub fn new(quiet: bool) -> Printer {
        Printer { quiet }
    }

    /// Prints a result.
    ///
    /// # Errors
    /// When standard output cannot be written to.
    pub fn result(&self, text: &str) -> Result<(), Failure> {
        let mut stream = Printer::stream();
        stream
            .write_all(text.as_bytes())
            .and_then(|()| stream.flush())
            .map_err(|error| Failure::unwritten("standard output", &error))
    }

    /// Standard output as a stream of bytes, for results that are files.
    pub fn stream() -> BufWriter<Stdout> {
        BufWriter::new(io::stdout())
    }

    /// Says something in passing.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            Printer::tell(text);
        }
    }

    /// Warns of something. One that is on the same screen already, as part of the result, is not
    /// repeated.
    pub fn warning(&self, text: &str, shown: bool) {
        if !self.quiet {
            Printer::alarm(text, shown);
        }
    }

    /// Prints a warning that no user may miss: like [`warning`](Self::warning), but also when
    /// quiet.
    pub fn alarm(text: &str, shown: bool) {
        let seen = shown && io::stdout().is_terminal() && io::stderr().is_terminal();
        if !seen {
            Printer::tell(&format!("warning: {text}"));
        }
    }

    /// Whether progress is shown: on a terminal, unless quiet.
    pub fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// The exit status of a command, with a sentence on standard error if it failed.
    pub fn exit(&self, outcome: Result<(), Failure>) -> u8 {
        match outcome {
            Ok(()) => 0,
            Err(failure) => {
                if !matches!(failure, Failure::Closed) {
                    Printer::tell(&failure.to_string());
                }
                if let Failure::Formula { shown, .. } = &failure {
                    shown.iter().for_each(|line| Printer::write(&format!("  {line}")));
                }
                failure.status()
            }
        }
    }

    /// Answers a command line that asks for help or the version, or that was wrong.
    pub fn answer_to_command_line(answer: &clap::Error) -> u8 {
        use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
        match answer.kind() {
            DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand => {
                // Nothing can be done if the help cannot be written.
                let _ = answer.print();
                u8::from(answer.use_stderr()) * 2
            }
            _ => {
                Printer::tell(&one_sentence(&answer.to_string()));
                2
            }
        }
    }

    /// One line on standard error. Names from a command line or a header may hold anything, so
    /// control characters are taken out.
    fn tell(text: &str) {
        Printer::write(&format!("dplm: {text}"));
    }

    /// One line on standard error, whatever the text holds.
    fn write(text: &str) {
        let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        // Nothing can be done if standard error is closed.
        let _ = writeln!(io::stderr(), "{line}");
    }
}

/// The first paragraph of an error of the command-line parser on one line, with what to type
/// instead, the parser's tip, or where to look.
fn one_sentence(text: &str) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = text.split("\n\n").next().unwrap_or_default();
    let sentence = words(first.strip_prefix("error: ").unwrap_or(first));
    let unknown = sentence.strip_prefix("unexpected argument '--").and_then(|rest| rest.split('\'').next());
    if let Some(answer) = unknown.and_then(|name| of_other_programs(&name.replace('-', "_"), Interface::Command)) {
        return answer;
    }
    let mut tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    // That an option could be passed as a value is never what was meant.
    match tips.find(|tip| !tip.starts_with("to pass")) {
        Some(tip) => format!("{sentence}: {}", words(tip)),
        None => format!("{sentence}: see {} --help", command_of(text)),
    }
}

/// The command that an error's usage line is about.
fn command_of(text: &str) -> String {
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or("dplm");
    let names = usage.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-']));
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parser_errors_become_one_sentence() {
        let text = "error: the following required arguments were not provided:\n  --rows <N>\n  --out <FILE>\n\nUsage: dplm simulate --rows <N>\n";
        assert_eq!(
            one_sentence(text),
            "the following required arguments were not provided: --rows <N> --out <FILE>: see dplm simulate --help"
        );
        let text =
            "error: unexpected argument '--roh' found\n\n  tip: a similar argument exists: '--rho'\n\nUsage: x\n";
        assert_eq!(one_sentence(text), "unexpected argument '--roh' found: a similar argument exists: '--rho'");
        let text = "error: unexpected argument '--cluster' found\n\nUsage: dplm fit\n";
        assert!(one_sentence(text).starts_with("there is no --cluster: "), "{}", one_sentence(text));
    }
}
