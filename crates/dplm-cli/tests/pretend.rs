//! `dplm fit --pretend` and `dplm export`.

use crate::common::Directory;

const FORMULA: &str =
    "log(wage[1..60]) ~ educ[0..20] + hired[2000-01-01..2020-12-31] + union{no,yes} + region{\"a, b\",c,*}";

#[test]
fn a_pretended_fit_reads_no_data_and_is_marked_everywhere() {
    let directory = Directory::new();
    let fit = ["fit", "--pretend", "--formula", FORMULA, "--rho", "0.5"];
    let files = ["--json", "fit.json", "--report", "page.html", "--trajectory", "steps.csv"];
    let done = directory.ok(&[&fit[..], &files].concat());
    assert!(done.stdout.contains("10,000 rows") && done.stdout.contains("union[yes]"), "{}", done.stdout);
    assert!(done.stdout.lines().all(|line| line.starts_with("PRETEND |")), "{}", done.stdout);
    assert!(directory.read("steps.csv").lines().all(|line| line.ends_with(",PRETEND")));
    let page = directory.read("page.html");
    assert!(page.contains("<title>PRETEND: ") && page.contains("class=\"pretend\" role=\"alert\">PRETEND: made of"));
    let json: serde_json::Value = serde_json::from_str(&directory.read("fit.json")).expect("JSON");
    assert!(json["pretend"].as_str().is_some_and(|words| words.contains("simulated rows")));
    // What is kept of it can be asked as any fit can.
    let tested = directory.ok(&["test", "fit.json", "educ = 0", "--json", "test.json"]).stdout;
    assert!(tested.lines().all(|line| line.starts_with("PRETEND |")), "{tested}");
    let over = ["predict", "fit.json", "--over", "educ", "--picture", "over.svg"];
    assert!(directory.ok(&over).stdout.lines().all(|line| line.ends_with(",PRETEND")));
    assert!(directory.read("over.svg").contains(">PRETEND: simulated rows</text>"));
    directory.run(&["export", "fit.json", "--for", "opendp"]).assert_refused(2, "a guarantee about nobody");
    let json: serde_json::Value = serde_json::from_str(&directory.read("test.json")).expect("JSON");
    assert!(json["pretend"].is_string());
    directory.run(&["refine", "fit.json", "page.html", "--rho", "1"]).assert_refused(2, "a pretended fit");
    // The data may be named, and are not opened.
    directory.ok(&["fit", "nowhere.csv", "--pretend=2000", "--formula", FORMULA, "--rho", "5"]);
    let misread = directory.run(&["fit", "--pretend", "2000", "--formula", FORMULA, "--rho", "5"]);
    misread.assert_refused(2, "rows that would be taken for data");
    assert!(misread.stderr.contains("--pretend=2000"), "{}", misread.stderr);
}

#[test]
fn every_kind_of_fit_can_be_pretended() {
    let directory = Directory::new();
    let fit = ["fit", "--pretend=8000", "--rho", "5", "--formula", "wage[0..60] ~ educ[0..20] + union{no,yes}"];
    for more in [
        &["--person", "id"][..],
        &["--weights", "w[0..50]"],
        &["--by", "region{north,south}"],
        &["--dry-run"],
        &["--method", "adassp", "--purpose", "prediction"],
    ] {
        directory.ok(&[&fit[..], more].concat());
    }
    directory.ok(&["fit", "--pretend", "--formula", "y ~ x", "--standardised", "--rho", "0.1"]);
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "wages", "--rho", "10"]);
    let with_ledger = [&fit[..], &["--ledger", "budget.db", "--dataset", "wages"]].concat();
    directory.run(&with_ledger).assert_refused(2, "a ledger");
    let seeded = |seed: &str| directory.ok(&[&fit[..], &["--seed", seed, "--json", "-"]].concat()).stdout;
    assert!(seeded("3") == seeded("3") && seeded("3") != seeded("4"), "a seed fixes the rows too");
    directory.run(&["fit", "--pretend=0", "--formula", "y[0..1] ~ x[0..1]", "--rho", "1"]).assert_refused(2, "no rows");
    let dot = ["fit", "--pretend", "--formula", "y ~ .", "--standardised", "--rho", "0.1"];
    directory.run(&dot).assert_refused(2, "columns of no table");
    directory.run(&["fit", "--formula", "y ~ x", "--rho", "0.1"]).assert_refused(2, "no data, and no pretence");
    assert!(directory.ok(&["ledger", "show", "budget.db", "--json", "-"]).stdout.contains("\"spent\": 0.0"));
}

#[test]
fn a_guarantee_is_told_in_the_words_of_other_libraries() {
    let directory = Directory::new();
    let rows = directory.simulate("rows.csv", 2000);
    directory.ok(&["fit", &rows, "--formula", "y[-9..9] ~ x1[-5..5]", "--rho", "0.5", "--json", "fit.json"]);
    let export = |library: &str| -> serde_json::Value {
        serde_json::from_str(&directory.ok(&["export", "fit.json", "--for", library]).stdout).expect("JSON")
    };
    let fit: serde_json::Value = serde_json::from_str(&directory.read("fit.json")).expect("JSON");
    let releases = fit["guarantee"]["releases"].as_array().expect("releases");
    let events = export("dp-accounting")["event"]["events"].clone();
    let events = events.as_array().expect("events");
    assert_eq!(events.len(), releases.len());
    let rho: f64 = events.iter().map(|event| 0.5 / event["noise_multiplier"].as_f64().expect("Gaussian").powi(2)).sum();
    assert!((rho - 0.5).abs() < 1e-12, "{rho}");
    let told = export("opendp");
    assert_eq!([&told["input_metric"], &told["output_measure"]], ["ChangeOneDistance", "ZeroConcentratedDivergence"]);
    assert_eq!((&told["d_in"], &told["d_out"]), (&1.into(), &0.5.into()));
    directory.write("other.json", "{\"a\": 1}");
    for file in ["other.json", "missing.json"] {
        directory.run(&["export", file, "--for", "opendp"]).assert_refused(1, file);
    }
    directory.run(&["export", "fit.json", "--for", "magic"]).assert_refused(2, "an unknown library");
}

#[test]
fn help_and_version_are_asked_for_as_elsewhere() {
    let directory = Directory::new();
    assert!(directory.ok(&["help", "fit"]).stdout.contains("--pretend"));
    assert!(directory.ok(&["man"]).stdout.contains(".SH SYNOPSIS"));
    directory.ok(&["man", "--out", "man1"]);
    assert!(
        directory.read("man1/dplm-fit.1").contains("\\-\\-pretend")
            && directory.read("man1/dplm-ledger-reverse.1").contains("reason")
    );
    assert!(directory.ok(&["help", "ledger", "reverse"]).stdout.contains("--reason"));
    assert!(directory.ok(&["--version"]).stdout.starts_with(concat!("dplm ", env!("CARGO_PKG_VERSION"))));
}
