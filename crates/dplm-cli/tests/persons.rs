//! `fit --person`: what is printed, recorded and refused.

use serde_json::Value;

use crate::common::Directory;

const FORMULA: &str = "y[0..10] ~ x[0..5]";

/// 1500 persons with one to three rows, 3000 in all, and an identifier that must not be seen again.
fn directory() -> Directory {
    let directory = Directory::new();
    let rows = (0..3000).map(|i: u32| format!("{}.5,{}.25,ssn-77{:04}\n", (i * 5) % 9, i % 5, i * i % 1500));
    directory.write("data.csv", format!("y,x,ssn\n{}", rows.collect::<String>()));
    directory
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn a_fit_names_the_persons_it_protects_and_not_the_rows() {
    let directory = directory();
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--person", "ssn"];
    let done =
        directory.ok(&[&fit[..], &["--rows-per-person", "2", "--json", "fit.json", "--report", "fit.html"]].concat());
    let document = json(&directory.read("fit.json"));
    let persons = document["units"]["count"].as_u64().expect("a number");
    assert!(persons > 100 && persons < 1500);
    assert_eq!(document["units"]["unit"], "person");
    assert_eq!(document["rows"], Value::Null);
    let seen = [done.stdout, done.stderr, directory.read("fit.json"), directory.read("fit.html")].concat();
    assert!(seen.contains(&format!("{persons} persons")) || seen.contains("persons; method auto"), "{seen}");
    assert!(seen.contains("replacing all rows of any one person"), "{seen}");
    assert!(!seen.contains("ssn-77") && !seen.contains("3,000"), "{seen}");
}

/// Memory, threads and the kind of file do not matter.
#[test]
fn the_fit_is_the_same_beyond_memory() {
    let directory = directory();
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--person", "ssn", "--seed", "1", "--json", "-"];
    let all = directory.ok(&fit).stdout;
    assert_eq!(directory.ok(&[&fit[..], &["--memory", "10KB", "--threads", "2"]].concat()).stdout, all);
}

#[test]
fn the_ledger_names_the_unit_and_knows_the_fit_again() {
    let directory = directory();
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "wages", "--rho", "5", "--person", "ssn"]);
    let paid = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--ledger", "budget.db", "--dataset", "wages"];
    directory.ok(&[&paid[..], &["--person", "ssn", "--json", "fit.json"]].concat());
    let shown = json(&directory.ok(&["ledger", "show", "budget.db", "--dataset", "wages", "--json", "-"]).stdout);
    assert_eq!(shown["entries"][1]["neighbours"], "replace-one of persons");
    directory.ok(&["ledger", "verify", "budget.db", "--against", "fit.json"]);
    let text = directory.ok(&["ledger", "show", "budget.db"]).stdout;
    assert!(text.contains("(neighbours: replace-one, of persons by ssn; mechanisms: gaussian)"), "{text}");
    // Fits by row, by another column and by another relation promise something else, in an account
    // of either unit.
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "rows", "--rho", "5"]);
    let by_row = [&paid[..paid.len() - 1], &["rows"]].concat();
    for (command, words) in [
        (paid.to_vec(), "protects persons by 'ssn' and this fit protects single rows"),
        ([&paid[..], &["--person", "ssn", "--neighbours", "zero-out"]].concat(), "four times its rho"),
        ([&by_row[..], &["--person", "ssn"]].concat(), "a replaced row may carry another identifier"),
    ] {
        let refused = directory.run(&command);
        refused.assert_refused(2, words);
        assert!(refused.stderr.contains(words) && refused.stderr.contains("nothing was spent"), "{}", refused.stderr);
    }
    let shown = json(&directory.ok(&["ledger", "show", "budget.db", "--dataset", "wages", "--json", "-"]).stdout);
    assert_eq!((&shown["spent"], &shown["promise"]["person"]), (&1.0.into(), &"ssn".into()));
}

#[test]
fn a_dry_run_counts_persons_and_spends_nothing() {
    let directory = directory();
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--person", "ssn", "--dry-run"];
    let said = directory.ok(&fit).stdout;
    assert!(said.contains(" persons, method auto: there is no forecast for persons with several rows"), "{said}");
    assert!(said.contains("Nothing was spent"), "{said}");
    // A person with one row is a row.
    let one = directory.ok(&[&fit[..], &["--rows-per-person", "1"]].concat()).stdout;
    assert!(one.contains("What to expect of a private fit") && one.contains("Nothing was spent"), "{one}");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let directory = directory();
    let refused = |more: &[&str], status: i32| {
        let done = directory.run(&[&["fit", "data.csv", "--formula", FORMULA, "--rho", "1"], more].concat());
        done.assert_refused(status, &format!("{more:?}"));
        assert!(!done.stderr.contains("ssn-77"), "{}", done.stderr);
        done.stderr
    };
    assert!(refused(&["--person", "ssm"], 1).contains("did you mean 'ssn'"));
    assert!(refused(&["--person", "ssn", "--rows-per-person", "0"], 2).contains("between 1 and 16384"));
    refused(&["--rows-per-person", "3"], 2);
    directory.write("nobody.csv", "y,x,ssn\n1,2,\n1,2,NA\n");
    let nobody = directory.run(&["fit", "nobody.csv", "--formula", FORMULA, "--rho", "1", "--person", "ssn"]);
    nobody.assert_refused(1, "nobody");
    assert!(nobody.stderr.contains("the data 0 persons"), "{}", nobody.stderr);
}

/// 1500 persons with two rows that go together: least squares is clustered, beside a fit of the
/// same persons; all of it is marked as not private.
#[test]
fn a_diagnosis_of_persons_clusters_and_says_so() {
    let directory = Directory::new();
    let y = |i: u32| 2 + i / 2 * 7 % 5 + i % 5 / 2;
    let rows = (0..3000).map(|i: u32| format!("{}.{},{}.25,{}\n", y(i), i % 2, i % 5, i / 2));
    directory.write("data.csv", format!("y,x,ssn\n{}", rows.collect::<String>()));
    let diagnose = ["diagnose", "data.csv", "--formula", FORMULA, "--rho", "1", "--seed", "1", "--not-private"];
    let persons = [&diagnose[..], &["--person", "ssn", "--rows-per-person", "2"]].concat();
    let of_persons = json(&directory.ok(&[&persons[..], &["--json", "-"]].concat()).stdout);
    let of_rows = json(&directory.ok(&[&diagnose[..], &["--json", "-"]].concat()).stdout);
    assert_eq!((&of_persons["private"], &of_persons["units"]["unit"]), (&false.into(), &"person".into()));
    assert_eq!((&of_rows["units"]["unit"], &of_rows["units"]["count"]), (&"row".into(), &3000.into()));
    let slope = |found: &Value, key: &str| found["least_squares"]["coefficients"][1][key].as_f64().expect("found");
    assert!((slope(&of_persons, "estimate") - slope(&of_rows, "estimate")).abs() < 1e-9);
    assert!((slope(&of_persons, "std_error") / slope(&of_rows, "std_error") - 1.0).abs() > 0.01, "clustered");
    assert_eq!(of_persons["least_squares"]["persons"], of_persons["units"]["count"]);
    assert!(of_persons["no_clipping"]["reason"].as_str().expect("why not").contains("persons"));
    let chance = of_persons["iterates"]["p_value"].as_f64().expect("a law");
    assert!(chance > 1e-6, "the law of the iterates holds where nobody is clipped: {chance}");
    let text = directory.ok(&persons).stdout;
    for words in ["NOT PRIVATE", "Persons clipped at each step", "3,000 rows of 1,500 persons", "clustered"] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn a_study_protects_persons_where_its_file_or_the_command_says_so() {
    let directory = directory();
    let study = |head: &str| {
        format!(
            "rho = 1\n{head}\n[[specification]]\nname = 'main'\nformula = '{FORMULA}'\n[[specification]]\n\
             name = 'curved'\nformula = '{FORMULA} + I(x^2)'\n"
        )
    };
    directory.write("rows.toml", study(""));
    directory.write("persons.toml", study("person = 'ssn'\nrows_per_person = 2\nweights = 'x[0..5]'"));
    let options = ["--person", "ssn", "--rows-per-person", "2", "--weights", "x[0..5]"];
    let run = |file: &str, more: &[&str]| {
        directory.run(&[&["study", file, "data.csv", "--seed", "1", "--json", "-"], more].concat())
    };
    let (in_file, beside) = (run("persons.toml", &[]), run("rows.toml", &options));
    assert!(in_file.status == 0 && in_file.stdout == beside.stdout, "{}", beside.stderr);
    let found = json(&in_file.stdout);
    assert_eq!(found["units"]["unit"], "person");
    assert_eq!(found["specifications"][1]["fit"]["units"]["unit"], "person");
    assert_eq!((&found["interest"], &found["interest_stated"]), (&"x".into(), &false.into()));
    for (file, more, words) in [
        ("persons.toml", &options[..2], "the study says 'person' itself"),
        ("rows.toml", &options[2..4], "identifies persons"),
        ("rows.toml", &["--target", "person"], "identifies persons"),
        ("rows.toml", &["--weights", "x"], "weights are numbers from 0"),
    ] {
        let refused = run(file, more);
        refused.assert_refused(2, words);
        assert!(refused.stderr.contains(words), "{words}: {}", refused.stderr);
    }
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "visits", "--rho", "5", "--person", "ssn"]);
    let paid = ["study", "persons.toml", "data.csv", "--ledger", "budget.db", "--dataset", "visits"];
    let text = directory.ok(&paid).stdout;
    assert!(text.contains("persons weighted by x[0..5]") && text.contains("x is followed, as the first"), "{text}");
    let shown = directory.ok(&["ledger", "show", "budget.db", "--json", "-"]).stdout;
    assert_eq!(json(&shown)["entries"][1]["neighbours"], "replace-one of persons", "{shown}");
}
