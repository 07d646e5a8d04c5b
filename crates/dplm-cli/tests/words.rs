//! The project's words: `words.txt` lists those it does not use, and prose has at most 100 columns.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

const WIDTH: usize = 100;
const FOLDERS: [&str; 5] = ["crates", "python", "r", "docs", "benches"];
/// Build outputs, and files that programs write.
const NOT_PROSE: [&str; 15] = [
    "target",
    "node_modules",
    "__pycache__",
    "vendor",
    "golden",
    "reference",
    "bombs",
    "corpus",
    "record",
    "grids",
    "figures",
    "man",
    "dplm.Rcheck",
    "000-wrappers.R",
    "words.rs",
];

/// A fault in a file.
#[derive(Debug, PartialEq)]
struct Offence {
    line: usize,
    what: String,
}

/// How a kind of file marks its prose.
#[derive(Clone, Copy)]
enum Kind {
    Markdown,
    Rust,
    /// Python, R and TOML.
    Hashes,
}

impl Kind {
    fn of(path: &Path) -> Option<Kind> {
        match path.extension()?.to_str()? {
            "md" => Some(Kind::Markdown),
            "rs" => Some(Kind::Rust),
            "py" | "pyi" | "R" | "toml" => Some(Kind::Hashes),
            _ => None,
        }
    }
}

/// A line of a file: its words without markers, and whether it must fit the width.
struct Line<'a> {
    words: &'a str,
    is_narrow: bool,
}

/// The lines of a file. Code keeps its words, since messages are in it, but may be wider.
fn lines(text: &str, kind: Kind) -> Vec<Line<'_>> {
    let (mut fence, mut after_blank, mut docstring, mut example) = (false, true, None, false);
    let line = |text: &'static str| Line { words: text, is_narrow: false };
    text.lines()
        .map(|whole| {
            let trimmed = whole.trim();
            let (marker, words) = unmarked(trimmed, kind);
            if words.starts_with("```") {
                fence = !fence;
                return line("");
            }
            let is_comment = !marker.is_empty();
            if matches!(kind, Kind::Rust) && !is_comment {
                fence = false;
            }
            let margin = docstring.unwrap_or(0) + 4;
            let indent = whole.len() - whole.trim_start().len();
            let is_indented_code = indent >= margin && after_blank && !is_item(trimmed);
            after_blank = trimmed.is_empty() || is_indented_code;
            if matches!(kind, Kind::Markdown) {
                return match fence || is_indented_code {
                    true => line(""),
                    false => Line { words, is_narrow: !is_fixed(words) },
                };
            }
            let quotes = matches!(kind, Kind::Hashes) && trimmed.matches("\"\"\"").count() % 2 == 1;
            let is_documentation = docstring.is_some() || trimmed.starts_with("\"\"\"");
            let is_code_there = docstring.is_some() && is_indented_code;
            if quotes {
                docstring = if docstring.is_some() { None } else { Some(indent) };
            }
            example = words.starts_with(">>>") || example && is_documentation && !trimmed.is_empty();
            let is_code = fence || example || is_code_there;
            let is_prose = (is_comment || is_documentation) && !is_code && !is_fixed(words);
            Line { words: words.trim_end_matches('\\'), is_narrow: is_prose }
        })
        .collect()
}

/// The comment marker of a line, and the rest.
fn unmarked(line: &str, kind: Kind) -> (&str, &str) {
    let markers: &[&str] = match kind {
        Kind::Markdown => &[],
        Kind::Rust => &["///", "//!", "//"],
        Kind::Hashes => &["#'", "#:", "#"],
    };
    let marker = markers.iter().find(|marker| line.starts_with(**marker)).map_or("", |marker| *marker);
    (marker, line[marker.len()..].trim())
}

fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|one: char| one.is_ascii_digit());
    line.starts_with("- ") || line.starts_with("* ") || (number.len() < line.len() && number.starts_with(". "))
}

/// Whether a line cannot be wrapped: a table, a heading, an image, markup, or a link's definition.
fn is_fixed(words: &str) -> bool {
    let is_definition = words.starts_with('[') && words.contains("]: ");
    is_definition || ["|", "#", "![", "<!--"].iter().any(|start| words.starts_with(start)) || !can_be_broken(words)
}

/// Whether a blank stands outside code spans and links, which stay on one line.
fn can_be_broken(words: &str) -> bool {
    let mut rest = words.trim_start_matches(|one: char| "-*0123456789. ".contains(one));
    while let Some(at) = rest.find([' ', '`', '[']) {
        let after = &rest[at + 1..];
        rest = match &rest[at..=at] {
            " " => return true,
            "`" => after.split_once('`').map_or("", |(_, rest)| rest),
            _ => match after.find("](") {
                Some(middle) => after[middle..].split_once(')').map_or("", |(_, rest)| rest),
                None => after,
            },
        };
    }
    false
}

/// Words that must not occur, with what to write instead.
fn listed() -> Vec<(String, String)> {
    let lines = include_str!("words.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let parts = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    parts.map(|parts| (parts[0].to_lowercase(), format!("write '{}': {}", parts[1], parts[2]))).collect()
}

/// Every offence in a file.
fn offences(text: &str, kind: Kind, listed: &[(String, String)]) -> Vec<Offence> {
    let lines = lines(text, kind);
    let mut found = Vec::new();
    for (number, (whole, line)) in text.lines().zip(&lines).enumerate() {
        if line.is_narrow && whole.chars().count() > WIDTH {
            found.push(Offence { line: number + 1, what: format!("wider than {WIDTH} columns") });
        }
    }
    let (mut joined, mut starts) = (String::new(), Vec::new());
    for line in &lines {
        starts.push(joined.len());
        line.words.to_lowercase().split_whitespace().for_each(|word| {
            joined.push_str(word);
            joined.push(' ');
        });
    }
    let is_part = |one: Option<char>| one.is_some_and(|one| one.is_alphanumeric() || one == '_');
    for (word, instead) in listed {
        for (at, _) in joined.match_indices(word.as_str()) {
            let (before, after) = (joined[..at].chars().next_back(), joined[at + word.len()..].chars().next());
            if !is_part(before) && !is_part(after) {
                let line = starts.partition_point(|start| *start <= at);
                found.push(Offence { line, what: format!("'{word}': {instead}") });
            }
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files with prose, by their paths from the root.
fn files() -> BTreeSet<PathBuf> {
    let mut waiting: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    let mut found: BTreeSet<PathBuf> = names(Path::new("")).into_iter().map(PathBuf::from).collect();
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    while let Some(path) = waiting.pop() {
        let file = root().join(&path);
        if !file.is_dir() {
            found.extend(Kind::of(&path).filter(|_| !file.is_symlink()).map(|_| path));
            continue;
        }
        let names = names(&path).into_iter();
        let is_prose = |name: &String| !name.starts_with('.') && !NOT_PROSE.contains(&name.as_str());
        waiting.extend(names.filter(is_prose).map(|name| path.join(name)));
    }
    found
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder of the repository");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn prose_uses_the_words_of_the_project_and_fits_the_width() {
    let listed = listed();
    let mut faults = Vec::new();
    for path in files() {
        let Some(kind) = Kind::of(&path) else { continue };
        let text = fs::read_to_string(root().join(&path)).expect("text");
        let found = offences(&text, kind, &listed).into_iter();
        faults.extend(found.map(|one| format!("{}:{}: {}", path.display(), one.line, one.what)));
    }
    assert!(faults.is_empty(), "{} offences\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn offences_are_found_where_prose_stands_and_nowhere_else() {
    let listed = [("clip level".to_owned(), "write 'clip threshold'".to_owned())];
    let found = |text: &str, kind| offences(text, kind, &listed).iter().map(|one| one.line).collect::<Vec<_>>();
    const NOWHERE: [usize; 0] = [];
    let long = "word ".repeat(25);
    assert_eq!(found("/// The clip level.\nlet clip_level = 1;", Kind::Rust), [1]);
    assert_eq!(found("/// The Clip\n    /// level of a row.", Kind::Rust), [1], "across lines");
    assert_eq!(found("let message = \"the clip \\\n    level\";", Kind::Rust), [1], "in a message");
    assert_eq!(found(&format!("//! {long}\n// {long}\nlet x = \"{long}\";"), Kind::Rust), [1, 2]);
    assert_eq!(found(&format!("/// ```\n/// {long}\n/// ```\n/// | {long} |\n/// [x]: {long}"), Kind::Rust), NOWHERE);
    assert_eq!(found(&format!("{long}\n```\n{long}\nclip level\n```\n\n    {long}\n- {long}"), Kind::Markdown), [1, 8]);
    assert_eq!(found(&format!("| {long} |\n# {long}\n`{long}`"), Kind::Markdown), NOWHERE);
    assert_eq!(found(&format!("\"\"\"Text.\n\n    {long}\n    {long}\n{long}\n\"\"\""), Kind::Hashes), [5]);
    assert_eq!(found(&format!("x = 1\n\"\"\"{long}\n{long}\n>>> {long}\n\"\"\"\n# {long}"), Kind::Hashes), [2, 3, 6]);
}
