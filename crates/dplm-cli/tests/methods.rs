//! Every method by its name: a fit, its report, its file, its budget, and the refusal of what it
//! does not offer.

use dplm::privacy::Mechanisms;

use crate::common::Directory;

const FORMULA: &str = "y[-6..6] ~ x1[-4..4] + x2[-4..4]";
const ONE_FEATURE: &str = "y[-6..6] ~ x1[-4..4]";

#[test]
fn every_method_fits_and_spends_from_a_ledger() {
    let directory = Directory::new();
    let data = directory.simulate("rows.csv", 4000);
    for (number, entry) in (1..).zip(dplm_methods::offered()) {
        let name = entry.name;
        let ledger = format!("{name}.ledger");
        let mechanisms = Mechanisms::of(entry.conversion).name();
        directory.ok(&["ledger", "init", &ledger, "--dataset", "rows", "--rho", "2", "--mechanisms", mechanisms]);
        let purpose = if entry.intervals.is_empty() { "prediction" } else { "inference" };
        let report = format!("{number}.html");
        let options = ["--method", name, "--rho", "1", "--purpose", purpose, "--report", &report, "--ledger", &ledger];
        let formula = if name == "theil-sen" { ONE_FEATURE } else { FORMULA };
        let start = ["fit", &data, "--formula", formula, "--dataset", "rows", "--json", "-"];
        let done = directory.ok(&[&start[..], &options].concat());
        let fit: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
        assert_eq!(fit["method"]["name"], name);
        assert_eq!(fit["guarantee"]["rho"], 1.0, "{name}");
        let slope = fit["coefficients"][1]["estimate"].as_f64().expect("an estimate");
        assert!(slope.abs() < 3.0, "{name}: {slope}");
        assert_eq!(fit["coefficients"][1]["low"].is_null(), entry.intervals.is_empty(), "{name}");
        assert!(directory.read(&report).contains(name), "{name}");
        let account = directory.ok(&["ledger", "show", &ledger, "--dataset", "rows", "--json", "-"]).stdout;
        assert!(account.contains("\"spent\": 1"), "{name}: {account}");
    }
}

/// An epsilon that is asked for is kept, by the conversion that holds for the method; the ledger
/// says the same.
#[test]
fn a_choice_is_converted_by_a_bound_for_any_mechanism() {
    let directory = Directory::new();
    let data = directory.simulate("rows.csv", 4000);
    let init = ["ledger", "init", "a.ledger", "--dataset"];
    directory.ok(&[&init[..], &["rows", "--epsilon", "1", "--mechanisms", "zcdp"]].concat());
    directory.ok(&[&init[..], &["gaussian", "--epsilon", "1"]].concat());
    let asked = ["--method", "adaptive-clips", "--epsilon", "1", "--purpose", "prediction", "--json", "-"];
    let start = ["fit", &data, "--formula", FORMULA, "--ledger", "a.ledger", "--dataset", "rows"];
    let done = directory.ok(&[&start[..], &asked].concat());
    let fit: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    let guarantee = &fit["guarantee"];
    let (rho, epsilon) =
        (guarantee["rho"].as_f64().expect("a number"), guarantee["epsilon"].as_f64().expect("a number"));
    // At (1, 1e-6) the exact curve of Gaussian noise would allow 0.02801.
    assert!((rho - 0.02436).abs() < 1e-5 && epsilon <= 1.0 && epsilon > 0.9999, "{rho} {epsilon}");
    assert_eq!(
        (&guarantee["conversion"], &guarantee["releases"][1]["mechanism"]),
        (&"cks".into(), &"exponential".into())
    );
    assert!(guarantee["text"].as_str().expect("text").contains("holds for every zCDP mechanism"));
    directory.ok(&["ledger", "verify", "a.ledger"]);
    let shown = directory.ok(&["ledger", "show", "a.ledger", "--dataset", "rows"]).stdout;
    // All of what was granted as an epsilon was spent, and no more.
    assert_eq!(shown.matches("1.0000").count(), 2, "{shown}");
    let gaussian = ["fit", &data, "--formula", FORMULA, "--ledger", "a.ledger", "--dataset", "gaussian"];
    let refused = directory.run(&[&gaussian[..], &asked].concat());
    refused.assert_refused(2, "other noise from a Gaussian account");
    assert!(refused.stderr.contains("opened for gaussian mechanisms"), "{}", refused.stderr);
}

/// Half of delta is the test's: an epsilon that is asked for is kept at the other half, and the fit
/// says so. A ledger pays for it only where it keeps delta for tests.
#[test]
fn a_test_is_paid_for_in_delta_too() {
    let directory = Directory::new();
    let data = directory.simulate("rows.csv", 20_000);
    let asked = ["--method", "tukey-tested", "--epsilon", "3", "--purpose", "prediction", "--json", "-"];
    let start = ["fit", &data, "--formula", FORMULA];
    let done = directory.ok(&[&start[..], &asked].concat());
    let fit: serde_json::Value = serde_json::from_str(&done.stdout).expect("JSON");
    let guarantee = &fit["guarantee"];
    let rho = guarantee["rho"].as_f64().expect("a number");
    let at_half = dplm::privacy::convert::rho_cks(3.0, 0.5e-6).expect("a budget");
    assert!((rho / at_half - 1.0).abs() < 1e-6, "{rho} {at_half}");
    assert_eq!((&guarantee["conversion"], &guarantee["releases"][1]["mechanism"]), (&"tested".into(), &"test".into()));
    assert!(guarantee["text"].as_str().expect("text").contains("except for half of delta"));
    directory.ok(&["ledger", "init", "a.ledger", "--dataset", "rows", "--rho", "2"]);
    let refused = directory.run(&[&start[..], &asked, &["--ledger", "a.ledger", "--dataset", "rows"]].concat());
    refused.assert_refused(2, "delta from a ledger");
    assert!(refused.stderr.contains("opened for gaussian mechanisms"), "{}", refused.stderr);
    let account = directory.ok(&["ledger", "show", "a.ledger", "--dataset", "rows", "--json", "-"]).stdout;
    assert!(account.contains("\"spent\": 0"), "{account}");
}

#[test]
fn a_method_for_one_feature_says_so() {
    let directory = Directory::new();
    let data = directory.simulate("rows.csv", 4000);
    let asked = ["--rho", "1", "--purpose", "prediction", "--method", "theil-sen"];
    let done = directory.run(&[&["fit", &data, "--formula", FORMULA][..], &asked].concat());
    done.assert_refused(2, "two features");
    assert!(done.stderr.contains("is for one feature"), "{}", done.stderr);
}

#[test]
fn an_unknown_method_is_refused_with_the_names_there_are() {
    let directory = Directory::new();
    let done = directory.run(&["fit", "rows.csv", "--formula", FORMULA, "--rho", "1", "--method", "magic"]);
    done.assert_refused(2, "an unknown method");
    assert!(dplm_methods::offered().all(|entry| done.stderr.contains(entry.name)), "{}", done.stderr);
}

/// A method that nobody would choose says where it runs.
#[test]
fn a_method_for_comparison_is_the_labs() {
    let directory = Directory::new();
    for name in dplm_methods::COMPARISONS {
        let done = directory.run(&["fit", "rows.csv", "--formula", FORMULA, "--rho", "1", "--method", name]);
        done.assert_refused(2, "a method for comparison");
        assert!(
            done.stderr.contains("private bit for bit") && done.stderr.contains("lab run arena"),
            "{}",
            done.stderr
        );
    }
}
