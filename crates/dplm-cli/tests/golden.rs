//! What must not change by accident: the numbers of seeded fits, plans, help texts and refusals, as
//! files in `tests/golden`. `UPDATE_GOLDEN=1` writes them anew; each line that changes is a line of
//! the change log, or a mistake.

use std::{env, fs, path::PathBuf};

use clap::Command;
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::common::Directory;

/// How far numbers may be apart that other processors compute: released integers are the same, and
/// what is computed from them differs in the last digits.
const ROUNDING: f64 = 1e-9;

const FORMULA: &str = "y[0..60] ~ x[0..10] + z[-4..4] + g{a,b,c}";

/// Fits by name: what follows `dplm`, with `F` for the formula above.
const FITS: [(&str, &str); 27] = [
    ("auto", "fit rows.csv -f F --rho 0.5"),
    ("auto at a weak budget", "fit rows.csv -f F --rho 0.01 --purpose prediction"),
    ("auto at a large budget", "fit rows.csv -f F --rho 100"),
    ("auto by epsilon", "fit rows.csv -f F --epsilon 2 --delta 1e-8"),
    ("auto, zero-out", "fit rows.csv -f F --rho 0.5 --neighbours zero-out"),
    ("auto for the population", "fit rows.csv -f F --rho 0.5 --target population"),
    ("auto for the sample", "fit rows.csv -f F --rho 0.5 --target sample"),
    ("auto, robust", "fit rows.csv -f F --rho 0.5 --target robust --level 0.9"),
    ("auto for prediction", "fit rows.csv -f F --rho 0.5 --purpose prediction"),
    ("auto with moments", "fit rows.csv -f F --rho 0.1 --moments known.toml"),
    ("auto with weights", "fit rows.csv -f F --rho 1 --weights w[0..3]"),
    ("auto by persons", "fit rows.csv -f F --rho 1 --person id --rows-per-person 3"),
    ("auto by persons, once each", "fit rows.csv -f F --rho 2 --person id --target person"),
    ("auto by persons, zero-out", "fit rows.csv -f F --rho 1 --person id --neighbours zero-out"),
    ("terms", "fit rows.csv -f y[0..60]~poly(x[0..10],2)+x:z[-4..4]+I(z^2) --rho 5"),
    ("a transformed response", "fit rows.csv -f log(y[1..60])~x[0..10]+bs(z[-4..4],df=4) --rho 5"),
    ("the paper's method", "fit rows.csv -f z~w --method dpgd --standardised --rho 0.5 --clip 9 --steps 30"),
    ("the paper's method, batched", "fit rows.csv -f F --method dpgd --rho 0.5 --interval batched --target sample"),
    ("the paper's method, checkpoints", "fit rows.csv -f F --method dpgd --rho 0.5 --interval checkpoints"),
    ("the paper's method, independent", "fit rows.csv -f F --method dpgd --rho 0.5 --interval independent --batches 5"),
    ("adassp", "fit rows.csv -f F --method adassp --rho 0.5 --purpose prediction"),
    ("ssp", "fit rows.csv -f F --method ssp --rho 0.5 --purpose prediction"),
    ("adaptive clips", "fit rows.csv -f F --method adaptive-clips --rho 5 --purpose prediction"),
    ("groups", "fit rows.csv -f y[0..60]~x[0..10]+z[-4..4] --rho 2 --by g{a,b,c}"),
    ("groups of public sizes", "fit rows.csv -f y[0..60]~x[0..10] --rho 2 --by g{a,b} --group-sizes a=1500,b=1500"),
    ("a study", "study study.toml rows.csv"),
    ("refined", "refine first.json rows.csv --rho 0.5"),
];

const PLANS: [&str; 8] = [
    "plan -f F --rows 10000 --rho 0.015",
    "plan -f F --rows 3000 --epsilon 1",
    "plan -f F --rows 100000 --rho 0.1 --target population --level 0.9",
    "plan -f F --rows 10000 --rho 0.1 --neighbours zero-out",
    "plan -f y~x --rows 10000 --rho 0.1 --method dpgd",
    "plan -f F --rows 10000 --rho 0.05 --moments known.toml",
    "plan --features 10 --rows 10000 --rho 0.015",
    "plan -f F --rows 10000 --rho 0.1 --delta 1e-9",
];

const REFUSED: [&str; 36] = [
    "fit rows.csv -f F --rho 1 --method functional",
    "fit",
    "fit rows.csv",
    "fit rows.csv -f F",
    "fit rows.csv -f F --rho 0",
    "fit rows.csv -f F --rho 1 --epsilon 1",
    "fit rows.csv -f F --rho 1 --delta 2",
    "fit rows.csv -f F --rho 10%",
    "fit rows.csv -f y~x --rho 1",
    "fit rows.csv -f y[0..60]~nothing[0..1] --rho 1",
    "fit rows.csv -f y[60..0]~x[0..10] --rho 1",
    "fit rows.csv -f log(y[0..60])~x[0..10] --rho 1",
    "fit rows.csv -f y[0..60]~. --rho 1",
    "fit none.csv -f F --rho 1",
    "fit rows.csv -f F --rho 0.00001",
    "fit rows.csv -f F --rho 1 --level 2",
    "fit rows.csv -f F --rho 1 --method magic",
    "fit rows.csv -f F --rho 1 --family poisson",
    "fit rows.csv -f F --rho 1 --method auto --steps 3",
    "fit rows.csv -f F --rho 1 --interval batched --target population --method dpgd",
    "fit rows.csv -f F --rho 1 --target person",
    "fit rows.csv -f F --rho 1 --rows-per-person 3",
    "fit rows.csv -f F --rho 1 --group-sizes a=1",
    "fit rows.csv -f F --rho 1 --by g{a,b}",
    "fit rows.csv -f F --rho 1 --ledger none.db --dataset d",
    "fit rows.csv -f F --rho 1 --ledger none.db",
    "fit rows.csv -f F --rho 1 --json rows.csv",
    "fit rows.csv -f F --rho 1 --json fit.html",
    "fit rows.csv -f F --rho 1 --threads 0",
    "fit rows.csv -f F --rho 1 --moments none.toml",
    "refine rows.csv rows.csv --rho 1",
    "study none.toml rows.csv",
    "test first.json nothing",
    "predict first.json rows.csv --over x",
    "plan --rows 100",
    "ledger init rows.csv --dataset d --rho 1",
];

/// A table that arithmetic makes: no generator, so that nothing but the program can change a
/// number.
fn directory() -> Directory {
    let directory = Directory::new();
    let mut rows = "y,x,z,g,id,w\n".to_owned();
    for i in 0..4000u32 {
        let (x, z) = (f64::from(i * 37 % 101) / 10.1, f64::from(i * 53 % 97) / 12.125 - 4.0);
        let error = f64::from((i * 7919) % 13) - 6.0;
        let group = ["a", "b", "c"][(i % 7) as usize % 3];
        let y = 20.0 + 2.0 * x + z + if group == "b" { 5.0 } else { 0.0 } + error;
        rows += &format!("{y},{x},{z},{group},{},{}\n", i / 2, i % 4);
    }
    directory.write("rows.csv", rows);
    let specification =
        |name: &str, formula: &str| format!("[[specification]]\nname = '{name}'\nformula = '{formula}'\n");
    let study = specification("main", FORMULA) + &specification("short", "y[0..60] ~ x[0..10]");
    directory.write("study.toml", "rho = 1\n".to_owned() + &study);
    directory.ok(&["moments", "rows.csv", "-f", FORMULA, "--not-private", "--out", "known.toml"]);
    directory.ok(&words("fit rows.csv -f F --rho 0.5 --seed 1 --json first.json"));
    directory
}

fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().map(|word| if word == "F" { FORMULA } else { word }).collect()
}

/// What a fit tells that does not depend on the day or the version: every number, and where it came
/// from.
fn numbers(document: &Value) -> Value {
    const KEYS: [&str; 12] = [
        "coefficients",
        "covariance",
        "left_out",
        "residual_sd",
        "r_squared",
        "rows_used",
        "target",
        "method",
        "warnings",
        "promise",
        "equality",
        "interest",
    ];
    let mut kept = Map::new();
    for key in KEYS {
        if let Some(value) = document.get(key) {
            kept.insert(key.to_owned(), value.clone());
        }
    }
    kept.insert("releases".to_owned(), document["guarantee"]["releases"].clone());
    if let Some(runs) = document["fit"]["trajectories"].as_array() {
        let ends = runs.iter().map(|run| run["theta"].as_array().and_then(|run| run.last().cloned()));
        kept.insert("ends".to_owned(), ends.collect());
    }
    for key in ["groups", "specifications"] {
        if let Some(parts) = document.get(key).and_then(Value::as_array) {
            let parts =
                parts.iter().map(|part| numbers(part.get("fit").filter(|_| key == "specifications").unwrap_or(part)));
            kept.insert(key.to_owned(), parts.collect());
        }
    }
    Value::Object(kept)
}

/// Compares what is found with a file, or writes that anew.
fn check(file: &str, found: &Value) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        let text = serde_json::to_string_pretty(found).expect("plain data serialise");
        fs::write(path, text + "\n").expect("written");
        return;
    }
    let text = fs::read_to_string(&path).expect("UPDATE_GOLDEN=1 makes the file");
    let mut apart = Vec::new();
    compare("", &serde_json::from_str(&text).expect("JSON"), found, &mut apart);
    assert!(
        apart.is_empty(),
        "{file}: UPDATE_GOLDEN=1 writes what is meant\n{}",
        apart[..apart.len().min(20)].join("\n")
    );
}

/// The places where two documents differ, numbers by more than rounding.
fn compare(place: &str, kept: &Value, found: &Value, apart: &mut Vec<String>) {
    match (kept, found) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            names.for_each(|name| {
                let of = |map: &Map<String, Value>| map.get(name).cloned().unwrap_or(Value::Null);
                compare(&format!("{place}/{name}"), &of(one), &of(other), apart);
            });
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter()
                .zip(other)
                .enumerate()
                .for_each(|(i, (one, other))| compare(&format!("{place}/{i}"), one, other, apart));
        }
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().expect("a number"), other.as_f64().expect("a number"));
            if (one - other).abs() > ROUNDING * one.abs().max(1.0) {
                apart.push(format!("{place}: {one} was kept, {other} found"));
            }
        }
        _ if kept == found => {}
        _ => apart.push(format!("{place}: {kept} was kept, {found} found")),
    }
}

#[test]
fn fits_are_what_they_were() {
    let directory = directory();
    let fit = |(name, command): &(&str, &str)| {
        let done = directory.ok(&[&words(command)[..], &["--seed", "7", "--json", "-"]].concat());
        ((*name).to_owned(), numbers(&serde_json::from_str(&done.stdout).expect("JSON")))
    };
    check("fits.json", &Value::Object(FITS.par_iter().map(fit).collect::<Vec<_>>().into_iter().collect()));
}

#[test]
fn plans_are_what_they_were() {
    let directory = directory();
    let plan = |command: &&str| {
        let done = directory.ok(&[&words(command)[..], &["--json", "-"]].concat());
        ((*command).to_owned(), serde_json::from_str(&done.stdout).expect("JSON"))
    };
    check("plans.json", &Value::Object(PLANS.iter().map(plan).collect()));
}

#[test]
fn refusals_are_what_they_were() {
    let directory = directory();
    let refusal = |command: &&str| {
        let done = directory.run(&words(command));
        assert_ne!(done.status, 0, "{command}");
        ((*command).to_owned(), json!({ "status": done.status, "says": done.stderr.trim_end() }))
    };
    check("refusals.json", &Value::Object(REFUSED.iter().map(refusal).collect()));
}

#[test]
fn help_is_what_it_was() {
    fn names(command: &Command, path: &[String], all: &mut Vec<Vec<String>>) {
        all.push(path.to_vec());
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            names(sub, &[path, &[sub.get_name().to_owned()]].concat(), all);
        }
    }
    let mut all = Vec::new();
    names(&dplm_cli::definition(), &[], &mut all);
    let directory = Directory::new();
    let help = |path: &Vec<String>| {
        let words: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let lines: Vec<Value> = directory.ok(&words).stdout.lines().map(|line| line.trim_end().into()).collect();
        (format!("dplm {}", path.join(" ")), Value::Array(lines))
    };
    check("help.json", &Value::Object(all.iter().map(help).collect()));
}
