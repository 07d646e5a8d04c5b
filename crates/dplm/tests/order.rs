//! The crates are listed in an order, and none depends on a later one. The modules of the library's
//! crates are declared in an order, and none uses a later one, nor do the modules within them;
//! ARCHITECTURE.md lists them in that order.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

/// The crates of the library: what is asked and read, what is computed, what is shown.
const LIBRARY: [&str; 3] = ["crates/dplm-input", "crates/dplm", "crates/dplm-report"];

/// The one exception: the library's error names the errors of all modules.
const ERRORS: &str = "error";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source(of: &str) -> PathBuf {
    root().join(of).join("src")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The modules that `lib.rs` declares, in order.
fn declared(lib: &str) -> Vec<&str> {
    let names = lib.lines().filter_map(|line| {
        let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        line.strip_prefix("mod ")
    });
    names.filter_map(|name| name.strip_suffix(';')).collect()
}

/// The files of a module, each with its depth below the root of the crate.
fn files(source: &Path, module: &str) -> Vec<(PathBuf, usize)> {
    let alone = source.join(module).with_extension("rs");
    if alone.is_file() { vec![(alone, 1)] } else { files_in(&source.join(module), 1) }
}

fn files_in(folder: &Path, depth: usize) -> Vec<(PathBuf, usize)> {
    let mut found = Vec::new();
    let declares = fs::read_to_string(folder.join("mod.rs")).unwrap_or_default();
    for entry in fs::read_dir(folder).expect("a module is a file or a folder").map(Result::unwrap) {
        let path = entry.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("plain names").to_owned();
        if path.is_dir() {
            found.extend(files_in(&path, depth + 1));
        } else if path.extension().is_some_and(|end| end == "rs") && !is_for_tests(&declares, &stem) {
            found.push((path, if stem == "mod" { depth } else { depth + 1 }));
        }
    }
    found
}

/// Whether a module is compiled for tests only, which may use anything.
fn is_for_tests(declares: &str, stem: &str) -> bool {
    stem == "tests" || declares.contains(&format!("#[cfg(test)]\nmod {stem};"))
}

/// The code without comments, and without test-only code, which may use anything.
fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut code = lines.collect::<Vec<_>>().join("\n");
    while let Some(start) = code.find("#[cfg(test)]\nmod ") {
        let brace = code[start..].find(['{', ';']).map(|at| start + at).expect("a module has a body");
        let end = if code[brace..].starts_with('{') { closing(&code, brace) } else { brace + 1 };
        code.replace_range(start..end, "");
    }
    code
}

/// The position of the brace that closes the one at `start`.
fn closing(text: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, letter) in text[start..].char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return start + at + 1;
        }
    }
    text.len()
}

/// The names that the code uses from the root of the crate: the first name of each path there.
fn taken(code: &str, depth: usize) -> Vec<String> {
    taken_from(code, &["crate::".to_owned(), "super::".repeat(depth)])
}

/// The first name of each path that begins with one of these.
fn taken_from(code: &str, beginnings: &[String]) -> Vec<String> {
    let places = |beginning: &String| {
        let found = code.match_indices(beginning.as_str()).map(|(at, found)| (at, at + found.len()));
        found.collect::<Vec<(usize, usize)>>()
    };
    // What `::` stands before is the middle of another path.
    let begins = beginnings.iter().flat_map(places).filter(|(start, _)| !code[..*start].ends_with("::"));
    begins.fold(Vec::new(), |mut names, (_, at)| {
        match code[at..].starts_with('{') {
            true => names.extend(first_names(&code[at..closing(code, at)])),
            false => names.push(first_name(&code[at..])),
        }
        names
    })
}

fn first_name(path: &str) -> String {
    path.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

/// The first name of each path between braces, ignoring inner ones.
fn first_names(group: &str) -> Vec<String> {
    let (mut depth, mut outer) = (0, String::new());
    for letter in group.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            letter if depth == 1 => outer.push(letter),
            _ => {}
        }
    }
    outer.split(',').map(|path| first_name(path.trim())).filter(|name| !name.is_empty()).collect()
}

/// Where each name lives that a module offers at its root.
fn homes(lib: &str) -> HashMap<String, String> {
    let lib = lib.replace("\n    ", "").replace("\n}", "}");
    let uses = lib.lines().filter_map(|line| {
        let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
        line.strip_prefix("use ")?.strip_suffix(';')
    });
    let mut homes = HashMap::new();
    for path in uses {
        let names = match path.find('{') {
            Some(at) => first_names(&path[at..]),
            None => vec![path.rsplit("::").next().expect("a path has an end").to_owned()],
        };
        homes.extend(names.into_iter().map(|name| (name, first_name(path))));
    }
    homes
}

/// The uses of later modules of a crate by those before them, and how many uses there are.
fn later_in(source: &Path) -> (Vec<String>, usize) {
    let lib = read(&source.join("lib.rs"));
    let (order, homes) = (declared(&lib), homes(&lib));
    assert!(order.len() > 5 && homes.len() > 1, "the declarations are found: {order:?}");
    let place = |module: &str| order.iter().position(|name| *name == module);
    let (mut back, mut uses) = (Vec::new(), 0);
    for (here, module) in order.iter().enumerate().filter(|(_, module)| **module != ERRORS) {
        for (file, depth) in files(source, module) {
            for name in taken(&code(&read(&file)), depth) {
                let home = homes.get(&name).map_or(name.as_str(), String::as_str);
                uses += 1;
                if place(home).is_some_and(|there| there > here) {
                    back.push(format!("{}: {name} is in {home}, which comes after {module}", file.display()));
                }
            }
        }
    }
    (back, uses)
}

#[test]
fn no_module_uses_a_later_one() {
    let found = LIBRARY.map(|of| later_in(&source(of)));
    let back: Vec<&String> = found.iter().flat_map(|(back, _)| back).collect();
    assert!(back.is_empty(), "{back:#?}");
    assert!(found.iter().all(|(_, uses)| *uses > 10), "paths are found");
}

/// Modules whose own modules still use each other in circles.
const TANGLED: [&str; 6] = ["table", "lattice", "interval", "plan", "method", "dataset"];

/// The uses of later modules within a module, by those before them.
fn later_within(source: &Path, module: &str) -> Vec<String> {
    // What is for tests only is nobody's before or after.
    let text = read(&source.join(module).join("mod.rs")).replace("#[cfg(test)]\npub(crate) mod ", "#[cfg(test)]\n");
    let (text, homes) = (code(&text), homes(&text));
    let order = declared(&text);
    let place = |name: &str| order.iter().position(|one| *one == name);
    let mut back = Vec::new();
    for (here, name) in order.iter().enumerate() {
        for (file, depth) in files(source, &format!("{module}/{name}")) {
            let beginnings = [format!("crate::{module}::"), "super::".repeat(depth)];
            for taken in taken_from(&code(&read(&file)), &beginnings) {
                let home = homes.get(&taken).map_or(taken.as_str(), String::as_str);
                if place(home).is_some_and(|there| there > here) {
                    back.push(format!("{}: {taken} is in {module}/{home}, which comes after {name}", file.display()));
                }
            }
        }
    }
    back
}

#[test]
fn no_module_within_a_module_uses_a_later_one() {
    for of in LIBRARY {
        let lib = read(&source(of).join("lib.rs"));
        for module in declared(&lib).into_iter().filter(|module| source(of).join(module).join("mod.rs").is_file()) {
            let back = later_within(&source(of), module);
            let is_tangled = of != LIBRARY[2] && TANGLED.contains(&module);
            assert_eq!(back.is_empty(), !is_tangled, "{of}/{module}: {}", back.join("\n"));
        }
    }
}

#[test]
fn the_error_takes_nothing_but_errors() {
    let text = code(&read(&source(LIBRARY[1]).join("error.rs")));
    let start = text.find("use crate::").expect("it names the errors of others") + "use crate::".len();
    let group = &text[start..closing(&text, start)];
    let types =
        group.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.starts_with(char::is_uppercase));
    for name in types {
        // Advice is what errors say, as data.
        let is_said = ["Interrupted", "Advice", "Advised", "Interface"].contains(&name);
        assert!(name.ends_with("Error") || is_said, "{name} is no error");
    }
}

/// The part of ARCHITECTURE.md below a heading.
fn section(heading: &str) -> String {
    let architecture = read(&root().join("ARCHITECTURE.md"));
    let below = architecture.split(heading).nth(1).unwrap_or_else(|| panic!("the section {heading}"));
    below.split("\n#").next().expect("it has an end").to_owned()
}

/// The paths in the first cells of the lines of a table.
fn first_cells(section: &str) -> Vec<&str> {
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    cells.flat_map(|cell| cell.split(['`', ',', ' '])).filter(|path| !path.is_empty()).collect()
}

#[test]
fn the_document_lists_the_modules_in_order() {
    for of in LIBRARY {
        let section = section(&format!("### `{of}`"));
        let paths = first_cells(&section);
        for path in &paths {
            assert!(source(of).join(path).exists(), "ARCHITECTURE.md names {path}, which is not there");
        }
        let listed: Vec<&str> = paths.iter().map(|path| path.trim_end_matches('/').trim_end_matches(".rs")).collect();
        assert_eq!(listed, declared(&read(&source(of).join("lib.rs"))));
    }
}

/// The crates of this workspace that a crate is built from.
fn dependencies(manifest: &str) -> Vec<&str> {
    let table = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default();
    table
        .lines()
        .filter_map(|line| line.split([' ', '.', '=']).next())
        .filter(|name| name.starts_with("dplm"))
        .collect()
}

#[test]
fn no_crate_depends_on_a_later_one() {
    let section = section("## The crates");
    let crates: Vec<&str> =
        first_cells(&section).into_iter().filter(|path| root().join(path).join("Cargo.toml").is_file()).collect();
    let members = read(&root().join("Cargo.toml"));
    let members = members.split("\nmembers = [").nth(1).expect("members").split(']').next().expect("an end");
    assert_eq!(crates.len(), members.split(',').count(), "{crates:?}");
    let place = |name: &str| crates.iter().position(|path| path.strip_prefix("crates/") == Some(name));
    for (here, path) in crates.iter().enumerate() {
        for name in dependencies(&read(&root().join(path).join("Cargo.toml"))) {
            assert!(place(name).is_some_and(|there| there < here), "{path} depends on {name}, which comes after it");
        }
    }
    assert_eq!(place("dplm-input"), Some(0), "{crates:?}");
}
