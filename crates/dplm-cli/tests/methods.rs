//! Every method by its name: a fit, its report, its file, its budget, and the refusal of what it does not offer.

use crate::common::Directory;

const FORMULA: &str = "y[-6..6] ~ x1[-4..4] + x2[-4..4]";

#[test]
fn every_method_fits_and_spends_from_a_ledger() {
    let directory = Directory::new();
    let data = directory.simulate("rows.csv", 4000);
    for (number, entry) in (1..).zip(dplm_methods::all()) {
        let name = entry.name;
        let ledger = format!("{name}.ledger");
        directory.ok(&["ledger", "init", &ledger, "--dataset", "rows", "--rho", "2"]);
        let purpose = if entry.intervals.is_empty() { "prediction" } else { "inference" };
        let report = format!("{number}.html");
        let options = ["--method", name, "--rho", "1", "--purpose", purpose, "--report", &report, "--ledger", &ledger];
        let start = ["fit", &data, "--formula", FORMULA, "--dataset", "rows", "--json", "-"];
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

#[test]
fn an_unknown_method_is_refused_with_the_names_there_are() {
    let directory = Directory::new();
    let done = directory.run(&["fit", "rows.csv", "--formula", FORMULA, "--rho", "1", "--method", "magic"]);
    done.assert_refused(2, "an unknown method");
    assert!(dplm_methods::all().all(|entry| done.stderr.contains(entry.name)), "{}", done.stderr);
}
