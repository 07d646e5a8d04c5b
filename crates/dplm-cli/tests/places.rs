//! What a run reads is never replaced by what it writes. The cases are those of the definitions of
//! the commands: every input of each with every output.

use std::{collections::BTreeMap, fs};

use clap::{Arg, Command};

use crate::common::Directory;

const FORMULA: &str = "y[0..10]~x[0..5]";
const STUDY: &str = "rho = 5
[[specification]]
name = 'main'
formula = 'y[0..10] ~ x[0..5]'
[[specification]]
name = 'bare'
formula = 'y[0..10] ~ 1'
";
const MODEL: &str = "response = 'y'\n[columns.y]\nlow = 0\nhigh = 10\n[columns.x]\nlow = 0\nhigh = 5\n";

/// What an argument is to the run.
#[derive(PartialEq)]
enum Role {
    Input,
    Output,
    Neither,
}

/// Says of every argument that takes a value what it is. A new one has to be added here.
fn role(command: &str, id: &str) -> Role {
    match (command, id) {
        ("ledger export", "csv") => Role::Output,
        (
            _,
            "inputs" | "fit" | "model" | "moments" | "ledger" | "study" | "file" | "against" | "record" | "results",
        ) => Role::Input,
        (_, "json" | "trajectory" | "report" | "page" | "picture" | "out" | "copy") => Role::Output,
        _ if NEITHER.split_whitespace().any(|known| known == id) => Role::Neither,
        _ => panic!("say whether '{id}' of dplm {command} is an input, an output or neither"),
    }
}

const NEITHER: &str = "
    analyst assume at author batches budget burn_in by clip csv data_name dataset delta design device effect entry
    epsilon errors family features focus formula group group_sizes hypotheses id interval keep level library
    mechanisms memory method names neighbours noise_sd note over person pretend purpose quiet reason rho rows
    rows_per_person seed set share shell since stated_purpose step_size steps target theta threads title to want
    weights what
";

/// A directory with a file for every input.
fn directory() -> Directory {
    let directory = Directory::new();
    let rows: String = (0..1000).map(|i| format!("{}.5,{}\n", i % 7, i % 5)).collect();
    directory.write("rows.csv", format!("y,x\n{rows}"));
    directory.write("study.toml", STUDY);
    directory.write("model.toml", MODEL);
    for command in [
        "fit rows.csv --rho 1 --model model.toml --json fit.json",
        "moments rows.csv --model model.toml --not-private --out known.toml",
        "ledger init budget.db --dataset rows --rho 1000",
        "ledger init budget.db --dataset others --rho 1000",
    ] {
        directory.ok(&words(command));
    }
    directory
}

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

/// The file of the directory that an input is.
fn file_of(command: &str, input: &str) -> &'static str {
    match input {
        "inputs" => "rows.csv",
        "fit" | "results" => "fit.json",
        "model" => "model.toml",
        "moments" => "known.toml",
        "study" => "study.toml",
        "ledger" | "file" => "budget.db",
        _ => panic!("say what file '{input}' of dplm {command} is"),
    }
}

/// A command that reads an input, complete except for the output.
fn invocation(command: &str, input: &str, output: &str) -> String {
    let ledger = match (command, input) {
        ("ledger check", _) => "--ledger budget.db --dataset others",
        (_, "ledger") => "--ledger budget.db --dataset rows",
        _ => "",
    };
    let model = if input == "model" { "--model model.toml" } else { &format!("-f {FORMULA}") };
    let moments = if input == "moments" { "--moments known.toml" } else { "" };
    match command {
        "fit" | "ledger check" => format!("{command} rows.csv --rho 1 {model} {moments} {ledger}"),
        "refine" => format!("refine fit.json rows.csv --rho 1 {ledger}"),
        "study" => format!("study study.toml rows.csv {ledger}"),
        "test" => "test fit.json x".to_owned(),
        "predict" if output == "picture" => "predict fit.json --over x".to_owned(),
        "predict" => "predict fit.json rows.csv".to_owned(),
        "table" => "table fit.json".to_owned(),
        "export" => "export fit.json --for opendp".to_owned(),
        "plan" => format!("plan --rows 1000 --rho 1 {model} {moments}"),
        "moments" => format!("moments rows.csv --not-private {model}"),
        "diagnose" => format!("diagnose rows.csv --not-private --rho 1 {model}"),
        "init" => "init rows.csv".to_owned(),
        "ledger show" => "ledger show budget.db --dataset rows".to_owned(),
        "ledger report" | "ledger export" | "ledger backup" => format!("{command} budget.db"),
        _ => panic!("say how dplm {command} is typed"),
    }
}

/// Pairs that no run has, each with the reason.
fn is_impossible(command: &str, input: &str, output: &str) -> bool {
    match (command, input, output) {
        // Only a column is drawn, for which no rows are read: the parser refuses both at once.
        ("predict", "inputs", "picture") => true,
        // A record may be drawn where it lies: figures are added, under names of their own.
        ("lab draw", "record", "out") => true,
        _ => false,
    }
}

/// A name that each output could have.
fn new_name(command: &str, output: &str) -> &'static str {
    match (command, output) {
        (_, "report" | "page") | ("ledger report", _) => "new.html",
        (_, "trajectory" | "csv") | ("predict", "out") => "new.csv",
        ("table", _) => "new.md",
        (_, "picture") => "new.svg",
        ("moments" | "init", _) => "new.toml",
        ("ledger backup", _) => "new.db",
        _ => "new.json",
    }
}

/// Every command that has no commands of its own, by the words that it is typed with.
fn commands() -> Vec<(String, Vec<Arg>)> {
    fn collect(above: &str, command: &Command, found: &mut Vec<(String, Vec<Arg>)>) {
        for command in command.get_subcommands() {
            let name = format!("{above} {}", command.get_name()).trim().to_owned();
            let valued = |argument: &&Arg| argument.get_action().takes_values();
            match command.has_subcommands() {
                true => collect(&name, command, found),
                false => found.push((name, command.get_arguments().filter(valued).cloned().collect())),
            }
        }
    }
    let mut found = Vec::new();
    collect("", &dplm_cli::definition(), &mut found);
    found
}

/// Every file, with its bytes.
fn contents(directory: &Directory) -> BTreeMap<String, Vec<u8>> {
    let bytes = |name: String| fs::read(directory.path(&name)).map(|bytes| (name, bytes)).expect("readable");
    directory.names().into_iter().filter(|name| directory.path(name).is_file()).map(bytes).collect()
}

/// The words that send an output to a place.
fn sent<'a>(command: &'a str, option: Option<&'a str>, place: &'a str) -> Vec<&'a str> {
    words(command).into_iter().chain(option).chain([place]).collect()
}

#[test]
fn no_result_replaces_what_it_was_made_of() {
    let directory = directory();
    let mut tried = 0;
    for (command, arguments) in commands() {
        let ids = |wanted: Role| {
            let is = |argument: &&Arg| role(&command, argument.get_id().as_str()) == wanted;
            arguments.iter().filter(is).collect::<Vec<&Arg>>()
        };
        for output in ids(Role::Output) {
            for input in ids(Role::Input) {
                let pair = [input, output].map(|argument| argument.get_id().as_str());
                if !is_impossible(&command, pair[0], pair[1]) {
                    check_pair(&directory, &command, pair[0], output);
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 40, "{tried}");
}

/// An output is refused where it is the input, whatever it is called; elsewhere the command does
/// what it should.
fn check_pair(directory: &Directory, command: &str, input: &str, output: &Arg) {
    let typed = invocation(command, input, output.get_id().as_str());
    let option = output.get_long().map(|name| format!("--{name}"));
    let file = file_of(command, input);
    let new = new_name(command, output.get_id().as_str());
    directory.ok(&sent(&typed, option.as_deref(), new));
    // A check and a dry run write nothing.
    let _ = fs::remove_file(directory.path(new));
    fs::hard_link(directory.path(file), directory.path("hard")).expect("linked");
    let relative = format!("./{file}");
    let absolute = directory.path(file).display().to_string();
    let mut names = vec![file, &relative, &absolute, "hard"];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(file, directory.path("soft")).expect("linked");
        names.push("soft");
    }
    let before = contents(directory);
    for name in names {
        let words = sent(&typed, option.as_deref(), name);
        let done = directory.run(&words);
        done.assert_refused(2, &words.join(" "));
        let said = done.stderr.contains(file) && done.stderr.contains("would be overwritten by");
        assert!(said, "{words:?}: {}", done.stderr);
        assert!(contents(directory) == before, "{words:?} changed a file");
    }
    for link in ["hard", "soft"] {
        let _ = fs::remove_file(directory.path(link));
    }
}

#[test]
fn folders_and_patterns_are_the_files_in_them() {
    let directory = directory();
    fs::create_dir(directory.path("dd")).expect("a folder");
    let rows = directory.read("rows.csv");
    directory.write("dd/a.csv", &rows);
    directory.write("dd/b.csv", rows.replace("0.5,0", "0.5,1"));
    let both = || (directory.read("dd/a.csv"), directory.read("dd/b.csv"));
    let before = both();
    fs::hard_link(directory.path("dd/b.csv"), directory.path("hard.csv")).expect("linked");
    let fit = format!("--rho 1 -f {FORMULA}");
    for data in ["dd", "./dd/", "dd/*.csv", "d?/[ab].csv", "**/b.csv"] {
        for command in [format!("fit {data} {fit} --trajectory"), format!("predict fit.json {data} --out")] {
            for name in ["dd/b.csv", "dd/../dd/b.csv", "hard.csv"] {
                let done = directory.run(&sent(&command, None, name));
                done.assert_refused(2, &command);
                assert!(done.stderr.contains("which holds the data, would be overwritten"), "{}", done.stderr);
            }
        }
    }
    for data in ["dd", "dd/*.csv", "d?/*"] {
        let command = format!("fit {data} {fit} --trajectory");
        let done = directory.run(&sent(&command, None, "dd/new.csv"));
        done.assert_refused(2, &command);
        assert!(done.stderr.contains("would be read as data with"), "{}", done.stderr);
        assert!(!directory.path("dd/new.csv").exists());
        directory.ok(&words(&format!("fit {data} {fit} --json dd/new.json")));
        fs::remove_file(directory.path("dd/new.json")).expect("a result");
    }
    assert_eq!(both(), before);
}

#[test]
fn what_belongs_to_a_ledger_is_kept() {
    let directory = directory();
    let before = contents(&directory);
    for name in ["budget.db-journal", "./budget.db-wal", "budget.db-shm"] {
        for command in [
            format!("fit rows.csv --rho 1 -f {FORMULA} --ledger budget.db --dataset rows --json"),
            "ledger export budget.db --csv".to_owned(),
            "ledger backup ./budget.db".to_owned(),
        ] {
            let done = directory.run(&sent(&command, None, name));
            done.assert_refused(2, &command);
            assert!(done.stderr.contains("which belongs to the ledger, would be overwritten"), "{}", done.stderr);
            assert!(contents(&directory) == before);
        }
    }
}

#[test]
fn two_results_go_to_two_places() {
    let directory = directory();
    directory.write("old.json", "before");
    fs::hard_link(directory.path("old.json"), directory.path("hard.json")).expect("linked");
    fs::create_dir(directory.path("dd")).expect("a folder");
    let before = contents(&directory);
    let places =
        [("new", "new"), ("new", "./dd/../new"), ("old.json", "hard.json"), ("-", "-"), ("no/new", "./no/new")];
    for (one, other) in places {
        for command in [
            format!("fit rows.csv --rho 1 -f {FORMULA} --json {one} --trajectory {other}"),
            format!("plan --rows 1000 --rho 1 -f {FORMULA} --json {one} --page {other}"),
            format!("ledger export budget.db --json {one} --csv {other}"),
            format!("study study.toml rows.csv --json {one} --report {other}"),
            format!("predict fit.json --over x --out {one} --picture {other}"),
        ] {
            let done = directory.run(&words(&command));
            done.assert_refused(2, &command);
            assert!(done.stderr.contains("cannot both go to"), "{command}: {}", done.stderr);
            assert!(contents(&directory) == before);
        }
    }
    let done = directory.run(&words("predict fit.json --over x --picture -"));
    done.assert_refused(2, "the table goes to standard output too");
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_never_overwritten() {
    let directory = directory();
    let fit = format!("--rho 1 -f {FORMULA} --json /dev/null --trajectory /dev/null");
    directory.ok(&words(&format!("fit rows.csv {fit}")));
    directory.run(&words(&format!("fit /dev/null {fit}"))).assert_refused(1, "there are no rows in it");
    for name in ["-", "/dev/stdin"] {
        let done =
            directory.run_with_input(&words(&format!("fit {name} {fit}")), directory.read("rows.csv").as_bytes());
        assert_eq!(done.status, 0, "{name}: {}", done.stderr);
    }
}
