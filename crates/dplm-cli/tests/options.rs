//! What is rendered from the table of options: signatures and parameter lists in Python and R, and
//! docs/options.md. `UPDATE_DOCUMENTS=1` writes it anew.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use dplm::{
    FitRequest,
    request::{Command, Heading, OPTIONS, Opt, OptionKind, OptionSpec, Value},
};

/// What R and Python take from the object of a ledger, and what a signature begins with.
const OF_LEDGER: [Opt; 3] = [Opt::Analyst, Opt::StatedPurpose, Opt::Note];
/// The end of a region between marks; it begins with `<options NAME>`.
const END: &str = "</options>";
/// The head of the rendered part of a docstring, which ends with an empty line.
const OTHER_PARAMETERS: &str = "    Other Parameters\n    ----------------\n";
const WIDTH: usize = 100;
/// How the usage of R's studies ends.
const STUDY_TAIL: &str = "shares = NULL, interest = NULL, simultaneous = FALSE, progress = interactive())";

/// A region by its name, and what renders it.
type Region = (&'static str, fn() -> Vec<String>);

/// A file with regions that are rendered.
struct Rendered {
    file: &'static str,
    /// Between marks, by their names.
    marked: &'static [Region],
    /// After each head of a docstring, in the order of the file.
    parameters: &'static [Command],
}

const RENDERED: &[Rendered] = &[
    Rendered {
        file: "python/dplm/_lm.py",
        marked: &[("LmOptions", typed_dict), ("lm", || signature(Command::Fit))],
        parameters: &[Command::Fit],
    },
    Rendered {
        file: "python/dplm/_tools.py",
        marked: &[("plan", || signature(Command::Plan))],
        parameters: &[Command::Plan],
    },
    Rendered {
        file: "python/dplm/_study.py",
        marked: &[("study", || signature(Command::Study)), ("refine", || signature(Command::Refine))],
        parameters: &[Command::Study, Command::Refine],
    },
    Rendered { file: "r/R/dplm.R", marked: &[("dplm", || formals(Command::Fit))], parameters: &[] },
    Rendered {
        file: "r/R/study.R",
        marked: &[("dplm_study", || formals(Command::Study)), ("dplm_refine", || formals(Command::Refine))],
        parameters: &[],
    },
    Rendered {
        file: "r/man/dplm_study.Rd",
        marked: &[
            ("usage", || usage("dplm_study(specifications, data,", Command::Study, STUDY_TAIL)),
            ("arguments", || items(Command::Study, &[Command::Fit])),
        ],
        parameters: &[],
    },
    Rendered {
        file: "r/man/dplm_refine.Rd",
        marked: &[
            ("usage", || usage("dplm_refine(fit, data,", Command::Refine, "progress = interactive())")),
            ("arguments", || items(Command::Refine, &[Command::Fit])),
        ],
        parameters: &[],
    },
    Rendered { file: "r/R/plan.R", marked: &[("dplm_plan", || formals(Command::Plan))], parameters: &[] },
    Rendered {
        file: "r/man/dplm.Rd",
        marked: &[
            ("usage", || usage("dplm(formula, data,", Command::Fit, "public = NULL, progress = interactive())")),
            ("arguments", || items(Command::Fit, &[])),
        ],
        parameters: &[],
    },
    Rendered {
        file: "r/man/dplm_plan.Rd",
        marked: &[
            ("usage", || usage("dplm_plan(formula = NULL, rows,", Command::Plan, "public = NULL)")),
            ("arguments", || items(Command::Plan, &[Command::Fit])),
        ],
        parameters: &[],
    },
    Rendered { file: "docs/options.md", marked: &[("all", reference)], parameters: &[] },
];

#[test]
fn what_is_said_of_options_is_rendered_from_their_table() {
    for one in RENDERED {
        let (path, text) = read(one.file);
        let mut found = text.clone();
        for (name, render) in one.marked {
            found = between_marks(&found, name, &render());
        }
        found = with_parameters(&found, one.parameters);
        if found != text && env::var_os("UPDATE_DOCUMENTS").is_some() {
            fs::write(path, found).expect("written");
        } else {
            assert!(found == text, "{}: UPDATE_DOCUMENTS=1 renders it from the table of options", one.file);
        }
    }
}

/// Files that name an option, an example, outside of its table and of what is rendered from it: the
/// methods that use it, and what hands it on. A new option is a line of the table, and no file more
/// than these.
const USERS_OF_BURN_IN: [&str; 11] = [
    "crates/dplm-lab/src/experiment/intervals.rs",
    "crates/dplm-lab/src/experiment/optimum.rs",
    "crates/dplm-lab/src/experiment/population.rs",
    "crates/dplm/src/checked.rs",
    "crates/dplm/src/dataset/mod.rs",
    "crates/dplm/src/interval/coverage.rs",
    "crates/dplm/src/interval/mod.rs",
    "crates/dplm/src/interval/paper.rs",
    "crates/dplm/src/method/dpgd.rs",
    "crates/dplm/src/method/error.rs",
    "crates/dplm/src/method/request.rs",
];

#[test]
fn a_new_option_is_one_line() {
    let mut users = BTreeSet::new();
    for folder in ["crates", "python/dplm", "r/R", "r/man", "r/src", "docs"] {
        collect(&root().join(folder), &mut users);
    }
    let expected: BTreeSet<String> = USERS_OF_BURN_IN.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(users, expected, "files that name burn_in");
}

/// The files in a folder that name the option where it is not rendered.
fn collect(folder: &Path, users: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("there") {
        let path = entry.expect("an entry").path();
        let name = path.strip_prefix(root()).expect("within").to_string_lossy().replace('\\', "/");
        let is_source =
            ["rs", "py", "pyi", "R", "Rd", "md"].iter().any(|end| path.extension().is_some_and(|it| it == *end));
        if path.is_dir() {
            let is_elsewhere =
                ["/tests", "/options", "/record", "/definitions", "/target"].iter().any(|end| name.ends_with(end));
            if !is_elsewhere {
                collect(&path, users);
            }
        } else if is_source && !name.ends_with("tests.rs") && hand_written(&name).contains("burn_in") {
            users.insert(name);
        }
    }
}

/// The text of a file without what is rendered.
fn hand_written(name: &str) -> String {
    let text = read(name).1;
    match RENDERED.iter().find(|one| one.file == name) {
        Some(one) => {
            let empty = one.marked.iter().fold(text, |text, (mark, _)| between_marks(&text, mark, &[]));
            let mut parts = empty.split(OTHER_PARAMETERS);
            let first = parts.next().unwrap_or_default().to_owned();
            parts.fold(first, |text, part| text + part.split_once("\n\n").map_or("", |(_, rest)| rest))
        }
        None => text,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(file: &str) -> (PathBuf, String) {
    let path = root().join(file);
    let text = fs::read_to_string(&path).expect("there");
    (path, text)
}

/// The text with these lines between the marks of a name, indented as those are.
fn between_marks(text: &str, name: &str, lines: &[String]) -> String {
    let open = format!("<options {name}>");
    let (mut found, mut is_inside, mut was_found) = (String::new(), false, false);
    for line in text.lines() {
        is_inside &= !line.contains(END);
        if !is_inside {
            found += &format!("{line}\n");
        }
        if line.contains(&open) {
            (is_inside, was_found) = (true, true);
            let indent = &line[..line.len() - line.trim_start().len()];
            lines
                .iter()
                .for_each(|rendered| found += &format!("{indent}{rendered}\n").replace(&format!("{indent}\n"), "\n"));
        }
    }
    assert!(was_found && !is_inside, "the marks of {name}");
    found
}

/// The text with the parameters of these commands under their heads in docstrings.
fn with_parameters(text: &str, commands: &[Command]) -> String {
    let mut parts = text.split(OTHER_PARAMETERS);
    let mut found = parts.next().unwrap_or_default().to_owned();
    let parts: Vec<&str> = parts.collect();
    assert_eq!(parts.len(), commands.len(), "heads of parameters");
    for (part, command) in parts.into_iter().zip(commands) {
        let rest = &part[part.find("\n\n").map_or(0, |at| if part.starts_with('\n') { 0 } else { at + 1 })..];
        found += &format!("{OTHER_PARAMETERS}{}{rest}", parameters(*command));
    }
    found
}

/// The options of a function, the budget first; those before the keywords are written by hand.
fn options(command: Command) -> Vec<&'static OptionSpec> {
    let is_hidden = |spec: &&OptionSpec| spec.option == Opt::Formula || OF_LEDGER.contains(&spec.option);
    let mut found: Vec<&OptionSpec> = OptionSpec::of(command).filter(|spec| !is_hidden(spec)).collect();
    found.sort_by_key(|spec| !matches!(spec.option, Opt::Rho | Opt::Epsilon | Opt::Delta));
    found
}

/// Its default; of a study, null if the study's file may say it.
fn default_of(spec: &OptionSpec, command: Command) -> Value {
    let is_in_file = command == Command::Study && FitRequest::OPTIONS.contains(&spec.option);
    if is_in_file { Value::Nothing } else { (spec.default)() }
}

// Python.

fn python_type(spec: &OptionSpec, command: Command) -> String {
    let plain = match spec.kind {
        OptionKind::Truth => "bool",
        OptionKind::Number => "float",
        OptionKind::Whole if spec.flags.usual.is_some() => return "int | bool".to_owned(),
        OptionKind::Whole | OptionKind::Bytes => "int",
        OptionKind::Text | OptionKind::Word(..) => "str",
        OptionKind::Texts => "Sequence[str]",
        OptionKind::Sizes => "Mapping[str, int]",
        OptionKind::Moments => "MomentsLike",
        OptionKind::Path if spec.option == Opt::Ledger => "Ledger | str | os.PathLike[str]",
        OptionKind::Path => "str | os.PathLike[str]",
    };
    let or_none = if matches!(default_of(spec, command), Value::Nothing) { " | None" } else { "" };
    format!("{plain}{or_none}")
}

fn python_default(spec: &OptionSpec, command: Command) -> String {
    match default_of(spec, command) {
        Value::Nothing if spec.flags.usual.is_some() => "False".to_owned(),
        Value::Truth(true) => "True".to_owned(),
        Value::Truth(false) => "False".to_owned(),
        Value::Texts(texts) if texts.is_empty() => "()".to_owned(),
        Value::Nothing => "None".to_owned(),
        value => plain(&value),
    }
}

/// A number or a text, as every language writes it.
fn plain(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::Text(text) => format!("\"{text}\""),
        other => panic!("{other:?} is no default that is written"),
    }
}

fn signature(command: Command) -> Vec<String> {
    let argument = |spec: &&OptionSpec| {
        let (name, kind) = (spec.option.name(), python_type(spec, command));
        match spec.flags.required {
            true => format!("{name}: {kind},"),
            false => format!("{name}: {kind} = {},", python_default(spec, command)),
        }
    };
    options(command).iter().map(argument).collect()
}

/// The keywords on which does not depend what a fit gives.
fn typed_dict() -> Vec<String> {
    let decides = |spec: &&&OptionSpec| matches!(spec.option, Opt::By | Opt::GroupSizes | Opt::DryRun);
    let key = |spec: &&OptionSpec| format!("{}: {}", spec.option.name(), python_type(spec, Command::Fit));
    options(Command::Fit).iter().filter(|spec| !decides(spec)).map(key).collect()
}

fn parameters(command: Command) -> String {
    let one = |spec: &&OptionSpec| {
        let head = format!("    {} : {}\n", spec.option.name(), python_type(spec, command));
        let lines = wrapped(&spelled(&in_call(spec), |name| format!("`{name}`")), WIDTH - 8);
        head + &lines.iter().map(|line| format!("        {line}\n")).collect::<String>()
    };
    options(command).iter().map(one).collect()
}

// R.

fn r_argument(spec: &OptionSpec, command: Command) -> String {
    let name = spec.option.name();
    if spec.flags.required {
        return name.to_owned();
    }
    let default = match default_of(spec, command) {
        Value::Nothing if spec.flags.usual.is_some() => "FALSE".to_owned(),
        Value::Truth(truth) => truth.to_string().to_uppercase(),
        Value::Texts(texts) if texts.is_empty() => "character()".to_owned(),
        Value::Nothing => "NULL".to_owned(),
        value => plain(&value),
    };
    format!("{name} = {default}")
}

fn r_arguments(command: Command) -> Vec<String> {
    let others = options(command).into_iter().filter(|spec| !spec.flags.required);
    others.map(|spec| r_argument(spec, command) + ",").collect()
}

fn formals(command: Command) -> Vec<String> {
    filled(r_arguments(command), WIDTH - 18)
}

fn usage(head: &str, command: Command, tail: &str) -> Vec<String> {
    let words = [head.to_owned()].into_iter().chain(r_arguments(command)).chain([tail.to_owned()]);
    // Wider lines are cut in printed pages.
    let lines = filled(words, 88);
    let indented = lines.iter().enumerate().map(|(at, line)| if at == 0 { line.clone() } else { format!("  {line}") });
    std::iter::once("\\usage{".to_owned()).chain(indented).chain(["}".to_owned()]).collect()
}

/// What there is to say of each argument, except those that another page describes.
fn items(command: Command, elsewhere: &[Command]) -> Vec<String> {
    let is_elsewhere = |spec: &OptionSpec| elsewhere.iter().any(|other| spec.commands.contains(other));
    let (known, new): (Vec<&OptionSpec>, Vec<&OptionSpec>) =
        options(command).into_iter().partition(|spec| is_elsewhere(spec));
    let names: Vec<&str> = known.iter().map(|spec| spec.option.name()).collect();
    let linked =
        (!names.is_empty()).then(|| format!("\\item{{{}}}{{As for \\code{{\\link{{dplm}}}}.}}", names.join(", ")));
    let one = |spec: &OptionSpec| {
        let text = in_call(spec).replace('\\', "\\\\").replace('%', "\\%").replace('{', "\\{").replace('}', "\\}");
        format!("\\item{{{}}}{{{}}}", spec.option.name(), in_code(&spelled(&text, |name| format!("`{name}`"))))
    };
    linked.into_iter().chain(new.into_iter().map(one)).flat_map(|item| wrapped(&item, WIDTH)).collect()
}

/// What stands between backticks, as Rd writes code.
fn in_code(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts.map(|(place, part)| if place % 2 == 1 { format!("\\code{{{part}}}") } else { part.to_owned() }).collect()
}

// Markdown.

const HEADINGS: [(Heading, &str); 9] = [
    (Heading::Model, "Model"),
    (Heading::Privacy, "Privacy"),
    (Heading::Method, "Method"),
    (Heading::Intervals, "Intervals"),
    (Heading::Question, "The question of a plan"),
    (Heading::Questions, "More questions of a plan"),
    (Heading::Data, "Data"),
    (Heading::Output, "What is made"),
    (Heading::Machine, "Machine"),
];

fn reference() -> Vec<String> {
    HEADINGS.iter().flat_map(|(heading, title)| table(*heading, title)).collect()
}

fn table(heading: Heading, title: &str) -> Vec<String> {
    let head = ["", &format!("## {title}"), "", "| Command line | Python | R | Rust | Default | Of | Meaning |"];
    let rows = OPTIONS.iter().filter(|spec| spec.heading == heading).map(row);
    head.into_iter().map(str::to_owned).chain(["|---|---|---|---|---|---|---|".to_owned()]).chain(rows).collect()
}

fn row(spec: &OptionSpec) -> String {
    let name = spec.option.name();
    let value = match spec.value {
        "" => String::new(),
        value if spec.flags.usual.is_some() => format!("[={value}]"),
        value => format!(" {value}"),
    };
    let typed = format!("`--{}{value}`", name.replace('_', "-"));
    let (python, r) = match spec.option {
        Opt::Analyst | Opt::Note => (format!("`dplm.Ledger({name}=)`"), format!("`dplm_ledger({name} =)`")),
        Opt::StatedPurpose => ("`dplm.Ledger(purpose=)`".to_owned(), "`dplm_ledger(purpose =)`".to_owned()),
        _ => (format!("`{name}=`"), format!("`{name} =`")),
    };
    let default = match (spec.default)() {
        _ if spec.flags.required => "must be given".to_owned(),
        Value::Nothing if spec.flags.auto => "`auto`".to_owned(),
        Value::Truth(false) => "off".to_owned(),
        Value::Truth(true) => "on".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::Text(text) if !text.is_empty() => format!("`{text}`"),
        _ => String::new(),
    };
    let of: Vec<String> = spec.commands.iter().map(named).collect();
    let meaning = spelled(&meaning(spec), |name| format!("`{name}`")).replace('|', "\\|");
    format!("| {typed} | {python} | {r} | `.{name}()` | {default} | {} | {meaning} |", of.join(", "))
}

fn named(command: &Command) -> String {
    match command {
        Command::Account => "ledger init".to_owned(),
        Command::Record => "ledger record".to_owned(),
        command => format!("{command:?}").to_lowercase(),
    }
}

// Texts.

/// What Python and R take in other words than the command line does.
fn in_call(spec: &OptionSpec) -> String {
    let text = meaning(spec).replace(": a number or auto", " [default: chosen]");
    if let OptionKind::Bytes = spec.kind { text.replace(", for instance 2GB or 500MiB", ", in bytes") } else { text }
}

/// The help text as a sentence, and what the reference adds.
fn meaning(spec: &OptionSpec) -> String {
    format!("{}. {}", spec.help(), spec.more()).trim_end().to_owned()
}

/// The text with options, which the table names as the command line does, as `write` does.
fn spelled(text: &str, write: impl Fn(&str) -> String) -> String {
    let mut names: Vec<&str> = OPTIONS.iter().map(|spec| spec.option.name()).collect();
    // The longest first: one name may begin another.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names
        .into_iter()
        .fold(text.to_owned(), |text, name| text.replace(&format!("--{}", name.replace('_', "-")), &write(name)))
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    filled(text.split_whitespace().map(str::to_owned), width)
}

/// Lines of as many of these as there is room for.
fn filled(words: impl IntoIterator<Item = String>, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words {
        let line = lines.last_mut().expect("one");
        match line.is_empty() {
            true => *line = word,
            false if line.chars().count() + 1 + word.chars().count() <= width => *line += &format!(" {word}"),
            false => lines.push(word),
        }
    }
    lines
}

#[test]
fn an_option_is_spelled_by_its_whole_name() {
    assert_eq!(spelled("with --rows-per-person, --rows", |name| format!("<{name}>")), "with <rows_per_person>, <rows>");
    assert_eq!(wrapped("a bc def", 4), ["a bc", "def"]);
    assert_eq!(in_code("a `b` c"), "a \\code{b} c");
}
