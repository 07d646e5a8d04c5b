//! Bad input: one sentence, the right exit status, no cell shown, nothing written half.

use serde_json::Value;

use crate::common::{Directory, MARKER};

/// A table of `rows` good rows whose every cell of `z` is the marker.
fn table(rows: usize) -> String {
    let lines = (0..rows).map(|i| format!("{}.5,{},{MARKER}\n", i % 7, i % 5));
    format!("y,x,z\n{}", lines.collect::<String>())
}

const FORMULA: &str = "y[0..10] ~ x[0..5] + z[0..1]";

/// Fits `data` with these options; the JSON target holds something that must stay.
fn refused(directory: &Directory, data: &str, formula: &str, more: &[&str], status: i32) -> String {
    directory.write("fit.json", "before");
    let before = directory.names();
    let options = ["fit", data, "--formula", formula, "--json", "fit.json", "--trajectory", "path.csv"];
    let done = directory.run(&[&options, more].concat());
    done.assert_refused(status, &format!("{data} {formula} {more:?}"));
    assert_eq!(directory.read("fit.json"), "before");
    assert_eq!(directory.names(), before, "nothing is left behind");
    done.stderr
}

const RHO: [&str; 2] = ["--rho", "0.5"];

#[test]
fn files_that_cannot_be_fitted() {
    let directory = Directory::new();
    assert!(refused(&directory, "missing.csv", FORMULA, &RHO, 1).contains("missing.csv"));
    let empty = directory.write("empty.csv", "");
    assert!(refused(&directory, &empty, FORMULA, &RHO, 1).contains("empty"));
    let header = directory.write("header.csv", "y,x,z\n");
    assert!(refused(&directory, &header, FORMULA, &RHO, 1).contains("no rows"));
    let ragged = directory.write("ragged.csv", format!("{}1,{MARKER}\n{}", table(10), &table(3)[6..]));
    assert!(refused(&directory, &ragged, FORMULA, &RHO, 1).contains("line 12"));
    let unknown = directory.write("data.txt", table(10));
    assert!(refused(&directory, &unknown, FORMULA, &RHO, 1).contains(".csv"));
    let cut = directory.write("cut.parquet", "PAR1 and nothing more");
    refused(&directory, &cut, FORMULA, &RHO, 1);
    std::fs::create_dir(directory.path("folder")).expect("a folder");
    refused(&directory, "folder", FORMULA, &RHO, 1);
}

/// Without a GPU, `--device cuda` is one sentence that says what to do; with one, it is a fit. A
/// word that is no device is a wrong command.
#[test]
fn devices_that_are_not_there() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(50));
    assert!(refused(&directory, &data, FORMULA, &["--rho", "0.5", "--device", "tpu"], 2).contains("cuda"));
    let persons = ["--rho", "0.5", "--device", "cuda", "--person", "z"];
    assert!(refused(&directory, &data, "y[0..10] ~ x[0..5]", &persons, 2).contains("leave out the device"));
    let done = directory.run(&["fit", &data, "--formula", "y[0..10] ~ x[0..5]", "--rho", "9", "--device", "cuda"]);
    if done.status != 0 {
        done.assert_refused(2, "--device cuda");
        assert!(done.stderr.contains("leave out the device"), "{}", done.stderr);
    }
}

#[test]
fn columns_that_are_not_there() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(50));
    assert!(refused(&directory, &data, "y[0..10] ~ educ[0..5]", &RHO, 1).contains("'educ'"));
    assert!(refused(&directory, &data, "y[0..10] ~ X[0..5]", &RHO, 1).contains("did you mean 'x'"));
}

#[test]
fn formulas_that_make_no_sense() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(50));
    for (formula, word) in [
        ("y[0..10] ~ x[5..0]", "reversed"),
        ("y[0..10] ~ x[5..5]", "both bounds"),
        ("y[0..10] ~ x[0..", "expected"),
        ("y[0..10]", "expected"),
        ("y[0..10] ~ y", "response"),
        ("y[0..10] ~ lag(x)", "there is no function 'lag'"),
        ("y[0..10] ~ log(x[0..5])", "raise the lower bound of 'x'"),
        ("y[0..10] ~ x{a}", "two levels"),
        ("", "expected"),
    ] {
        let sentence = refused(&directory, &data, formula, &RHO, 2);
        assert!(sentence.contains(word), "{sentence}");
    }
}

#[test]
fn a_caret_stands_under_what_cannot_be_read() {
    let directory = Directory::new();
    let told = refused(&directory, "none.csv", "y[0..10] ~ x[0..5] + x / 2", &RHO, 2);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[1..], ["  y[0..10] ~ x[0..5] + x / 2", "                         ^"], "{told}");
}

/// Everybody's first try, and what to type instead.
#[test]
fn columns_without_bounds() {
    let directory = Directory::new();
    // Refused before anything is read: the file is not there.
    for (formula, named) in [
        ("wage ~ education", "'wage', 'education': write wage[LOW..HIGH], education[LOW..HIGH] with publicly known"),
        ("wage[0..60] ~ education + union{no,yes}", "'education': write education[LOW..HIGH] with publicly known"),
        ("wage[0..60] ~ `years of school`", "'`years of school`': write `years of school`[LOW..HIGH] with"),
        ("wage ~ education[0..20]", "'wage': write wage[LOW..HIGH] with publicly known"),
        ("wage[0..60] ~ .", "'.': name the columns it stands for"),
    ] {
        let sentence = refused(&directory, "none.csv", formula, &RHO, 2);
        assert!(sentence.contains(&format!("no bounds for {named}")), "{sentence}");
        assert!(sentence.contains("--standardised"), "{sentence}");
        for more in [&["--method", "auto"][..], &["--clip", "3"], &["--method", "adassp", "--purpose", "prediction"]] {
            assert_eq!(refused(&directory, "none.csv", formula, &[&RHO, more].concat(), 2), sentence, "{more:?}");
        }
        directory.run(&["diagnose", "none.csv", "--formula", formula, "--not-private"]).assert_refused(2, formula);
    }
    // Who says that they are standardised, by either word, is believed.
    for said in [&["--standardised"][..], &["--method", "dpgd"]] {
        let sentence = refused(&directory, "none.csv", "wage ~ education", &[&RHO, said].concat(), 1);
        assert!(sentence.contains("none.csv"), "{sentence}");
    }
    directory.write("model.toml", "response = 'y'\n[columns.y]\nstandard = true\n[columns.x]\nstandard = true\n");
    directory
        .run(&["fit", "none.csv", "--model", "model.toml", "--rho", "1"])
        .assert_refused(1, "a model file says so itself");
}

#[test]
fn a_category_is_no_response() {
    let directory = Directory::new();
    let sentence = refused(&directory, "none.csv", "parttime{no,yes} ~ educ[0..20]", &RHO, 2);
    assert!(sentence.contains("family binomial") && sentence.contains("write parttime[0..1]"), "{sentence}");
}

/// The budget a refusal asks for.
fn budget_asked_for(sentence: &str) -> &str {
    let rest = sentence.split("rho = ").nth(1).unwrap_or_else(|| panic!("no budget in {sentence}"));
    rest.split(", ").next().expect("a number")
}

#[test]
fn budgets_that_would_identify_nothing() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(500));
    for (formula, rho, more) in [
        (FORMULA, "0.001", &[][..]),
        (FORMULA, "0.00001", &[]),
        ("y ~ x + z", "0.0001", &["--standardised"]),
        (FORMULA, "0.00001", &["--method", "dpgd"]),
    ] {
        let sentence = refused(&directory, &data, formula, &[&["--rho", rho], more].concat(), 2);
        assert!(sentence.contains("the budget is too small for 3 coefficients on 500 rows"), "{sentence}");
        let asked = budget_asked_for(&sentence);
        assert!(asked.trim_start_matches(['0', '.']).len() <= 2 && asked.parse::<f64>().expect("a number") > 0.0);
        directory.ok(&[&["fit", &data, "--formula", formula, "--rho", asked], more].concat());
    }
    // The way out it names.
    let small = ["fit", &data, "--formula", FORMULA, "--rho", "0.001", "--purpose", "prediction"];
    directory.ok(&small);
}

#[test]
fn names_that_promise_another_format() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(500));
    for (option, name, instead) in [
        ("--report", "fit.pdf", "fit.html"),
        ("--report", "fit.report", "fit.html"),
        ("--json", "fit.html", "fit.json"),
        ("--trajectory", "path.json", "path.csv"),
    ] {
        let done = directory.run(&["fit", &data, "--formula", FORMULA, "--rho", "0.5", option, name]);
        done.assert_refused(2, name);
        assert!(done.stderr.contains(&format!("write {instead}")), "{}", done.stderr);
    }
    let plan = ["plan", "--rows", "1000", "--features", "2", "--rho", "1", "--picture", "plan.png"];
    directory.run(&plan).assert_refused(2, "a picture");
    directory.ok(&[
        "fit",
        &data,
        "--formula",
        FORMULA,
        "--rho",
        "0.5",
        "--report",
        "fit.HTM",
        "--json",
        "fit",
        "--quiet",
    ]);
    assert_eq!(directory.names(), ["data.csv", "fit", "fit.HTM"]);
}

/// How many cells can be used was released, and the fit stopped before it spent more.
#[test]
fn a_column_of_another_kind_stops_the_fit_and_is_named() {
    let directory = Directory::new();
    let rows: String = (0..2000).map(|i| format!("{},\"1,{:03}\",{}\n", i % 9, i % 7, ["no", "yes"][i % 2])).collect();
    let data = directory.write("data.csv", format!("y,x,union\n{rows}"));
    // A seed, since pure noise may pass for an estimate once in a while.
    let fit = |formula| ["fit", &data, "--formula", formula, "--rho", "0.5", "--json", "fit.json", "--seed", "1"];
    for (formula, column) in [("y[0..9] ~ x[0..2000]", "x"), ("y[0..9] ~ union[0..1]", "union")] {
        let stopped = directory.run(&fit(formula));
        stopped.assert_refused(1, formula);
        let named = format!("the column '{column}' holds no plain numbers, as text, yes/no and thousands separators");
        assert!(stopped.stderr.contains(&named) && stopped.stderr.contains("; rho = 0.0"), "{}", stopped.stderr);
    }
    assert!(!directory.ok(&fit("y[0..9] ~ union{no,yes}")).stderr.contains("can be used"));
}

#[test]
fn budgets_that_mean_nothing() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(50));
    let cases: [&[&str]; 12] = [
        &["--rho", "0"],
        &["--rho", "-1"],
        &["--rho", "nan"],
        &["--rho", "inf"],
        &["--rho", "much"],
        &["--rho", "0.5", "--delta", "1"],
        &["--rho", "0.5", "--delta", "0"],
        &["--rho", "0.5", "--delta", "-1e-6"],
        &["--epsilon", "1", "--delta", "1.5"],
        &["--epsilon", "0", "--delta", "1e-6"],
        &["--rho", "1", "--epsilon", "1", "--delta", "1e-6"],
        &[],
    ];
    for options in cases {
        refused(&directory, &data, FORMULA, options, 2);
    }
}

#[test]
fn options_that_make_no_sense() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(50));
    let cases: [&[&str]; 21] = [
        &["--level", "1"],
        &["--level", "0"],
        &["--steps", "0"],
        &["--steps", "-5"],
        &["--steps", "2000000"],
        &["--step-size", "0"],
        &["--step-size", "3"],
        &["--clip", "0"],
        &["--clip", "-2"],
        &["--clip", "nan"],
        &["--clip", "1e9"],
        &["--batches", "1"],
        &["--interval", "batched", "--target", "population"],
        &["--interval", "guess"],
        &["--threads", "0"],
        &["--threads", "1000000"],
        &["--memory", "much"],
        &["--memory", "0"],
        &["--seed", "-1"],
        &["--method", "auto", "--clip", "3"],
        &["--method", "adassp"],
    ];
    for options in cases {
        refused(&directory, &data, FORMULA, &[&RHO, options].concat(), 2);
    }
    let sentence = refused(&directory, &data, FORMULA, &[&RHO[..], &["--method", "adassp"]].concat(), 2);
    assert!(sentence.contains("--purpose prediction"), "{sentence}");
}

#[test]
fn more_coefficients_than_rows() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(3));
    assert!(refused(&directory, &data, FORMULA, &RHO, 1).contains("3 rows"));
}

#[test]
fn strict_reading_names_the_column_only() {
    let directory = Directory::new();
    let data = directory.write("data.csv", format!("{}oops{MARKER},1,2\n", table(500)));
    assert!(refused(&directory, &data, FORMULA, &[&RHO[..], &["--strict"]].concat(), 1).contains("'y'"));
    directory.ok(&["fit", &data, "--formula", FORMULA, "--rho", "0.5"]);
}

/// A level that one row has and one that no row has look alike: both are left out, by a test on
/// released numbers.
#[test]
fn a_level_that_never_occurs_is_not_revealed() {
    let directory = Directory::new();
    let fit = |last: &str| {
        let rows: String = (0..399).map(|i| format!("{},{}\n", i % 9, ["a", "b"][i % 2])).collect();
        let data = directory.write("data.csv", format!("y,g\n{rows}3,{last}\n"));
        directory.fit_json(&[&data, "--formula", "y[0..9] ~ g{a,b,c}", "--rho", "0.5"])
    };
    let (never, once) = (fit("a"), fit("c"));
    for fit in [&never, &once] {
        let of =
            |key: &str| fit["coefficients"].as_array().expect("a list").iter().map(|one| one[key].clone()).collect();
        assert_eq!(Value::Array(of("name")), serde_json::json!(["(Intercept)", "g[b]", "g[c]"]));
        assert_eq!(Value::Array(of("identified")), serde_json::json!([true, true, false]));
        assert_eq!(fit["left_out"], serde_json::json!(["g[c]"]));
    }
    assert_eq!(never["warnings"], once["warnings"]);
}

#[test]
fn cells_are_never_shown() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(500));
    directory.ok(&["fit", &data, "--formula", FORMULA, "--rho", "0.5"]);
    // Whatever comes of a column that is nothing like what the formula says of it.
    for formula in [FORMULA, "y[0..10] ~ x[0..5] + z", "z ~ x", "z[0..1] ~ x + y", "y ~ z{a,b}"] {
        directory.write("fit.json", "");
        let done = directory.run(&[
            "fit",
            &data,
            "--formula",
            formula,
            "--standardised",
            "--rho",
            "0.5",
            // Noise of its own would have the marker among its digits once in a while.
            "--seed",
            "1",
            "--json",
            "fit.json",
        ]);
        for text in [&done.stdout, &done.stderr, &directory.read("fit.json")] {
            assert!(!text.contains("987654") && !text.contains("panicked"), "{formula}: {text}");
        }
    }
    let done = directory.ok(&["init", &data]);
    assert!(!done.stdout.contains("987654") && done.stdout.contains("[columns.z]"));
}

#[test]
fn model_files() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(500));
    let by_formula = directory.fit_json(&[&data, "--formula", "y[0..10] ~ x[0..5]", "--rho", "0.5"]);
    let model = "response = \"y\"\nintercept = true\n[columns.y]\nlow = 0\nhigh = 10\n[columns.x]\nlow = 0\nhigh = 5\n";
    directory.write("model.toml", model);
    assert_eq!(directory.fit_json(&[&data, "--model", "model.toml", "--rho", "0.5"]), by_formula);

    directory.run(&["fit", &data, "--model", "none.toml", "--rho", "0.5"]).assert_refused(1, "no model file");
    directory.write("bad.toml", "response = \n");
    directory.run(&["fit", &data, "--model", "bad.toml", "--rho", "0.5"]).assert_refused(2, "not TOML");
    directory.ok(&["init", &data, "--out", "template.toml"]);
    directory.run(&["fit", &data, "--model", "template.toml", "--rho", "0.5"]).assert_refused(2, "blanks left");
    directory.run(&["fit", &data, "--model", "model.toml", "--formula", "y~x", "--rho", "1"]).assert_refused(2, "both");
    directory.run(&["fit", &data, "--rho", "1"]).assert_refused(2, "neither");
}

#[test]
fn a_filled_in_model_is_not_overwritten() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(5));
    directory.write("model.toml", "mine");
    directory.run(&["init", &data, "--out", "model.toml"]).assert_refused(1, "exists");
    assert_eq!(directory.read("model.toml"), "mine");
}

#[test]
fn outputs_that_cannot_be_written_are_refused_before_anything_is_spent() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(50));
    let fit = |json: &str| directory.run(&["fit", &data, "--formula", FORMULA, "--rho", "0.5", "--json", json]);
    fit("no/such/folder.json").assert_refused(1, "no folder");
    fit(".").assert_refused(1, "a folder");
    fit("data.csv").assert_refused(2, "the data themselves");
    assert_eq!(directory.read("data.csv"), table(50));
    directory
        .run(&["fit", &data, "--formula", FORMULA, "--rho", "0.5", "--json", "-", "--trajectory", "-"])
        .assert_refused(2, "two results on standard output");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(50));
    directory.write("target", "kept");
    std::os::unix::fs::symlink(directory.path("target"), directory.path("link.json")).expect("linked");
    directory
        .run(&["fit", &data, "--formula", FORMULA, "--rho", "0.5", "--json", "link.json"])
        .assert_refused(1, "a link");
    assert_eq!(directory.read("target"), "kept");
}

#[test]
fn other_commands() {
    let directory = Directory::new();
    let data = directory.write("data.csv", table(50));
    directory.run(&["diagnose", &data, "--formula", FORMULA, "--rho", "1"]).assert_refused(2, "without the word");
    directory.run(&["simulate", "--rows", "10", "--features", "2", "--out", "a.txt"]).assert_refused(2, "format");
    directory.run(&["simulate", "--rows", "0", "--features", "2", "--out", "a.csv"]).assert_refused(2, "no rows");
    directory.run(&["simulate", "--rows", "10", "--features", "0", "--out", "a.csv"]).assert_refused(2, "no features");
    directory
        .run(&["simulate", "--rows", "9", "--features", "2", "--theta", "1", "--out", "a.csv"])
        .assert_refused(2, "theta");
    directory
        .run(&["simulate", "--rows", "9", "--features", "2", "--noise-sd", "-1", "--out", "a.csv"])
        .assert_refused(2, "sd");
    directory.run(&["simulate", "--rows", "9", "--features", "2", "--out", "no/a.csv"]).assert_refused(1, "folder");
    directory.run(&["plan", "--rows", "10", "--features", "20", "--rho", "1"]).assert_refused(2, "too few rows");
    directory.run(&["plan", "--rows", "100", "--features", "2", "--rho", "0"]).assert_refused(2, "rho");
    directory
        .run(&["plan", "--rows", "100", "--features", "2", "--rho", "1", "--share", "0"])
        .assert_refused(2, "share");
    directory
        .run(&["plan", "--rows", "100", "--features", "2", "--rho", "1", "--noise-sd", "0"])
        .assert_refused(2, "sd");
    directory
        .run(&["plan", "--rows", "100", "--features", "2", "--rho", "1", "--level", "2"])
        .assert_refused(2, "level");
    directory.run(&["init", "none.csv"]).assert_refused(1, "no file");
    directory.run(&["frobnicate"]).assert_refused(2, "no such command");
    directory.run(&["fit", &data, "--frobnicate"]).assert_refused(2, "no such option");
    for (option, here) in [("--cluster", "--person firm"), ("--sep=;", "--csv semicolon"), ("--robust", "never assume")]
    {
        let done = directory.run(&["fit", &data, option]);
        done.assert_refused(2, option);
        assert!(done.stderr.contains(here), "{}", done.stderr);
    }
    assert_eq!(directory.names(), ["data.csv"]);
}
