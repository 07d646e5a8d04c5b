//! What every command says of a fit follows from its promise; and a fit is its whole question.

use dplm::{
    options::Choice,
    privacy::{Provenance, convert::Conversion},
};
use serde_json::Value;

use crate::common::{Directory, Done};

const FORMULA: &str = "y[0..12] ~ x[0..10] + g{a,b}";

/// Slopes differ by weight, by region and with the number of a person's row.
fn rows(separator: char) -> String {
    let mut text = "y,x,g,w,id,region\n".to_owned();
    for i in 0..6000u32 {
        let (x, w, south, first) = (f64::from(i * 37 % 101) / 10.1, i % 5 + 1, i / 4 % 5 < 2, i < 3000);
        let slope = 0.1 + 0.06 * f64::from(w) + if south { 0.2 } else { 0.0 } + if first { 0.15 } else { 0.0 };
        let y = 1.0 + slope * x + if i % 3 == 0 { 1.5 } else { 0.0 } + f64::from(i * 7919 % 13) / 6.0;
        let (g, region) = (if i % 3 == 0 { "a" } else { "b" }, if south { "south" } else { "north" });
        text += &format!("{y:.4},{x:.3},{g},{w},{},{region}\n", i % 1500);
    }
    if separator == ';' { text.replace(',', ";").replace('.', ",") } else { text }
}

fn directory() -> Directory {
    let directory = Directory::new();
    directory.write("rows.csv", rows(','));
    directory.write("other.csv", rows(';'));
    directory.write("new.csv", "x,g\n2,a\n3,b\n");
    directory.write("moments.toml", "names = ['x', 'g[b]']\nmeans = [5, 0.67]\ncovariance = [[8.4, 0], [0, 0.22]]\n");
    directory
}

fn json(directory: &Directory, file: &str) -> Value {
    serde_json::from_str(&directory.read(file)).expect("JSON")
}

/// Options of a fit that a second release of it must keep, without being told again.
const OPTIONS: [&[&str]; 13] = [
    &[],
    &["--weights", "w[0..5]"],
    &["--person", "id"],
    &["--person", "id", "--rows-per-person", "2"],
    &["--person", "id", "--target", "person"],
    &["--target", "sample"],
    &["--target", "robust"],
    &["--neighbours", "zero-out"],
    &["--level", "0.8"],
    &["--delta", "1e-9"],
    &["--moments", "moments.toml"],
    &["--by", "region{north,south}"],
    &["--csv", "semicolon,decimal-comma"],
];

/// At so large a budget the pooled fit and one fit at the sum differ by noise alone, and a dropped
/// option by much more.
#[test]
fn a_refined_fit_answers_the_question_of_the_first() {
    let directory = directory();
    for options in OPTIONS {
        let data = if options.contains(&"--csv") { "other.csv" } else { "rows.csv" };
        let group: &[&str] = if options.contains(&"--by") { &["--group", "south"] } else { &[] };
        let fit = |rho: &str, seed: &str, file: &str| {
            let fit = ["fit", data, "-f", FORMULA, "--rho", rho, "--seed", seed, "--json", file];
            directory.ok(&[&fit[..], options].concat());
        };
        fit("200", "1", "first.json");
        fit("1000", "2", "whole.json");
        let refine = ["refine", "first.json", data, "--rho", "800", "--seed", "3", "--json", "second.json"];
        directory.ok(&[&refine[..], group].concat());
        let (second, whole) = (json(&directory, "second.json"), json(&directory, "whole.json"));
        let whole = if group.is_empty() {
            whole["fit"].clone()
        } else {
            whole["grouped_fit"]["groups"][1]["outcome"]["fitted"].clone()
        };
        let second = &second["fit"];
        for part in ["formula", "rows", "person", "weights", "asked", "interval", "level", "csv", "group"] {
            let (found, expected) = (&second[part], &whole[part]);
            // The size of a group is released anew.
            assert!(found == expected || part == "rows" && !group.is_empty(), "{options:?} {part}: {found} {expected}");
        }
        // The second says what it adds by itself.
        let asked = |fit: &Value| {
            let mut request = fit["request"].clone();
            request["rho"] = Value::Null;
            request
        };
        assert_eq!(asked(second), asked(&whole), "{options:?}");
        assert_eq!(second["guarantee"]["promise"], whole["guarantee"]["promise"], "{options:?}");
        assert_eq!(second["guarantee"]["delta"], whole["guarantee"]["delta"], "{options:?}");
        for (one, other) in
            second["coefficients"].as_array().unwrap().iter().zip(whole["coefficients"].as_array().unwrap())
        {
            let distance = one["estimate"].as_f64().unwrap() - other["estimate"].as_f64().unwrap();
            let error = other["precision"]["std_error"].as_f64().unwrap();
            let close = if options.contains(&"sample") { 6.0 } else { 0.3 };
            assert!(distance.abs() < close * error, "{options:?}: {distance} of {error}");
        }
    }
}

#[test]
fn the_groups_of_a_file_are_refined_one_by_one() {
    let directory = directory();
    let fit = ["fit", "rows.csv", "-f", FORMULA, "--rho", "1", "--by", "region{north,south}", "--json", "groups.json"];
    directory.ok(&fit);
    let refused = directory.run(&["refine", "groups.json", "rows.csv", "--rho", "1"]);
    assert!(refused.status == 2 && refused.stderr.contains("--group, of north, south"), "{}", refused.stderr);
}

/// What a saved fit promises, and how it is made.
struct Case {
    provenance: Provenance,
    conversion: Conversion,
    file: String,
}

/// A fit of every provenance by a method of every conversion that a method has.
fn cases(directory: &Directory) -> Vec<Case> {
    let mut cases = Vec::new();
    for &provenance in Provenance::ALL {
        for conversion in [Conversion::Exact, Conversion::Cks, Conversion::Tested] {
            let how: &[&str] = match conversion {
                Conversion::Exact => &[],
                Conversion::Cks => &["--method", "tukey", "--purpose", "prediction"],
                Conversion::Tested => &["--method", "tukey-tested", "--purpose", "prediction"],
                Conversion::Simple => unreachable!("no method is converted by it"),
            };
            let whose: &[&str] = match provenance {
                Provenance::System => &["rows.csv"],
                Provenance::Seed => &["rows.csv", "--seed", "1"],
                Provenance::Simulated => &["--pretend=6000"],
            };
            let file = format!("{provenance}-{conversion:?}.json");
            let fit = ["fit", "-f", "y[0..12] ~ x[0..10]", "--rho", "5", "--json", &file];
            let written = format!("{provenance}-{conversion:?}.html");
            directory.ok(&[&fit[..], whose, how, &["--report", &written]].concat());
            cases.push(Case { provenance, conversion, file });
        }
    }
    cases
}

/// Whether a text says what its provenance asks, and nothing else.
fn says(provenance: Provenance, text: &str) -> bool {
    let lower = text.to_lowercase();
    let (void, nobody) = (lower.contains("fixed seed"), lower.contains("simulated rows"));
    match provenance {
        Provenance::System => !void && !nobody,
        Provenance::Seed => void,
        Provenance::Simulated => nobody,
    }
}

fn check_document(case: &Case, document: &Value) {
    let name = &case.file;
    assert_eq!(document["private"].as_bool(), Some(case.provenance == Provenance::System), "{name}: {document}");
    assert_eq!(document["promise"]["provenance"], case.provenance.name(), "{name}");
    let conversion = serde_json::to_value(case.conversion).expect("a word");
    assert_eq!(document["promise"]["conversion"], conversion, "{name}");
    let spent = document["promise"]["delta_spent"].as_f64().expect("a number");
    assert_eq!(spent, if case.conversion == Conversion::Tested { 5e-7 } else { 0.0 }, "{name}");
}

/// What follows from the promise of a fit of one provenance, whatever its conversion.
#[test]
fn what_is_said_follows_from_the_promise() {
    let directory = directory();
    for case in cases(&directory) {
        let (file, provenance) = (case.file.as_str(), case.provenance);
        check_document(&case, &json(&directory, file));
        assert!(says(provenance, &directory.read(&file.replace(".json", ".html"))), "the page of {file}");
        check_tests(&directory, &case);
        check_predictions(&directory, &case);
        check_exports(&directory, &case);
        check_refined(&directory, &case);
    }
}

fn check_tests(directory: &Directory, case: &Case) {
    let done = directory.run(&["test", &case.file, "x = 0", "--json", "test.json"]);
    match case.conversion {
        Conversion::Exact => {
            assert!(says(case.provenance, &done.stdout), "{}: {}", case.file, done.stdout);
            check_document(case, &json(directory, "test.json"));
        }
        // Their methods make no intervals.
        Conversion::Cks | Conversion::Tested | Conversion::Simple => done.assert_refused(2, &case.file),
    }
}

fn check_predictions(directory: &Directory, case: &Case) {
    let done: Done = directory.run(&["predict", &case.file, "--over", "x", "--picture", "over.svg", "--quiet"]);
    match case.conversion {
        Conversion::Exact => {
            let told = match case.provenance {
                Provenance::System | Provenance::Seed => done.stderr,
                Provenance::Simulated => done.stdout.replace("PRETEND", "simulated rows"),
            };
            assert!(says(case.provenance, &told), "{}: {told}", case.file);
            assert!(says(case.provenance, &directory.read("over.svg")), "the picture of {}", case.file);
        }
        Conversion::Cks | Conversion::Tested | Conversion::Simple => done.assert_refused(2, &case.file),
    }
}

/// No accountant is told what does not hold; and of a test it is told that it may fail.
fn check_exports(directory: &Directory, case: &Case) {
    for library in ["dp-accounting", "opendp"] {
        let done = directory.run(&["export", &case.file, "--for", library]);
        match case.provenance {
            Provenance::System => {}
            Provenance::Seed | Provenance::Simulated => {
                done.assert_refused(2, &case.file);
                assert!(says(case.provenance, &done.stderr), "{}", done.stderr);
                continue;
            }
        }
        if (library, case.conversion) == ("dp-accounting", Conversion::Tested) {
            // None of its events has a delta.
            done.assert_refused(2, &case.file);
            continue;
        }
        let told: Value = serde_json::from_str(&done.stdout).expect("JSON");
        assert_eq!(told["promise"], json(directory, &case.file)["promise"]);
        match (library, case.conversion) {
            ("opendp", Conversion::Tested) => assert_eq!(told["d_out"], serde_json::json!([5.0, 5e-7]), "{told}"),
            ("opendp", _) => assert_eq!(told["d_out"], 5.0, "{told}"),
            (_, _) => assert_eq!(told["event"]["class"], "ComposedDpEvent"),
        }
    }
}

/// Only what is private is refined as it is; what is void with a seed, and stays void.
fn check_refined(directory: &Directory, case: &Case) {
    let refine = |more: &[&str]| {
        let refine = ["refine", &case.file, "rows.csv", "--rho", "1", "--json", "refined.json"];
        directory.run(&[&refine[..], more].concat())
    };
    let (plain, seeded) = (refine(&[]), refine(&["--seed", "2"]));
    match (case.conversion, case.provenance) {
        (Conversion::Exact, Provenance::System) => {
            assert!(plain.status == 0 && says(Provenance::System, &plain.stdout), "{}", plain.stderr);
            seeded.assert_refused(2, &case.file);
        }
        (Conversion::Exact, Provenance::Seed) => {
            plain.assert_refused(2, &case.file);
            assert!(seeded.status == 0 && says(Provenance::Seed, &seeded.stdout), "{}", seeded.stderr);
            check_document(case, &json(directory, "refined.json"));
        }
        (_, _) => {
            plain.assert_refused(2, &case.file);
            seeded.assert_refused(2, &case.file);
        }
    }
}

/// Studies and groups have one promise for all their fits, and export one guarantee or none.
#[test]
fn several_fits_say_it_too() {
    let directory = directory();
    directory.write("study.toml", format!("rho = 5\n[[specification]]\nname = 'main'\nformula = '{FORMULA}'\n"));
    for (provenance, more) in [(Provenance::System, &[][..]), (Provenance::Seed, &["--seed", "1"])] {
        directory.ok(&[&["study", "study.toml", "rows.csv", "--json", "study.json"][..], more].concat());
        let fit = ["fit", "rows.csv", "-f", FORMULA, "--rho", "5", "--by", "region{north,south}"];
        directory.ok(&[&fit[..], &["--json", "groups.json"], more].concat());
        for file in ["study.json", "groups.json"] {
            let case = Case { provenance, conversion: Conversion::Exact, file: file.to_owned() };
            check_document(&case, &json(&directory, file));
            check_exports(&directory, &case);
        }
        let case = Case { provenance, conversion: Conversion::Exact, file: "groups.json".to_owned() };
        let tested = directory.ok(&["test", "groups.json", "x = 0", "--json", "test.json"]);
        assert!(says(provenance, &tested.stdout), "{}", tested.stdout);
        check_document(&case, &json(&directory, "test.json"));
        let predicted = directory.ok(&["predict", "groups.json", "--over", "x"]);
        assert!(says(provenance, &predicted.stderr), "{}", predicted.stderr);
    }
}
