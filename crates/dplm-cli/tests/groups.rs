//! `fit --by`: what is printed, recorded and refused.

use serde_json::Value;

use crate::common::Directory;

const FORMULA: &str = "y[0..10] ~ x[0..5]";

/// Two groups of 1500 rows, and a few rows in none.
fn directory() -> Directory {
    let directory = Directory::new();
    let region = |i: u32| if i.is_multiple_of(50) { "elsewhere" } else { ["north", "south"][i as usize % 2] };
    let rows = (0..3000).map(|i: u32| format!("{}.5,{}.25,{},{}\n", (i * 5) % 9, i % 5, region(i), i / 3));
    directory.write("data.csv", format!("y,x,region,id\n{}", rows.collect::<String>()));
    directory
}

#[test]
fn groups_are_reported_together_and_charged_once() {
    let directory = directory();
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "d", "--rho", "5"]);
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--by", "region{north,south}"];
    let paid = ["--ledger", "budget.db", "--dataset", "d", "--json", "fit.json", "--report", "fit.html"];
    let done = directory.ok(&[&fit[..], &paid].concat());
    assert!(
        done.stdout.contains("3,000 rows") && done.stdout.contains("Are they the same in all groups?"),
        "{}",
        done.stdout
    );
    let document: Value = serde_json::from_str(&directory.read("fit.json")).expect("JSON");
    assert_eq!(document["groups"].as_array().expect("groups").len(), 2);
    assert_eq!(document["groups"][1]["by"]["region"], "south");
    assert_eq!(document["groups"][1]["coefficients"][1]["name"], "x");
    assert_eq!(document["ledger"]["dataset"], "d");
    assert_eq!(document["groups"][0]["ledger"]["hash"], document["ledger"]["hash"]);
    let page = directory.read("fit.html");
    assert!(page.contains("Each coefficient across groups") && page.contains("north") && page.contains("south"));
    let shown: Value =
        serde_json::from_str(&directory.ok(&["ledger", "show", "budget.db", "--json", "-"]).stdout).expect("JSON");
    assert_eq!(shown["entries"].as_array().expect("entries").len(), 2, "{shown}");
    assert_eq!(shown["left"], 4.0);
    let tested = directory.run(&["test", "fit.json", "x = 0"]);
    assert!(tested.status == 1 && tested.stderr.contains("several groups"), "{}", tested.stderr);
}

#[test]
fn what_groups_cannot_do_is_refused_and_a_dry_run_spends_nothing() {
    let directory = directory();
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--by", "region{north,south}"];
    let refused = |more: &[&str], status: i32| {
        let done = directory.run(&[&fit[..], more].concat());
        assert_eq!(done.status, status, "{}", done.stderr);
        done.stderr
    };
    assert!(refused(&["--trajectory", "t.csv"], 2).contains("leave out --trajectory"));
    assert!(refused(&["--group-sizes", "north=3"], 2).contains("north=1000,south=1000"));
    let bare = directory.run(&["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--by", "region"]);
    assert!(bare.status == 2 && bare.stderr.contains("region{north,south}"), "{}", bare.stderr);
    let dry = directory.ok(&[&fit[..], &["--dry-run"]].concat()).stdout;
    assert!(dry.contains("no forecast for groups") && dry.contains("Nothing was spent"), "{dry}");
    let public = directory.ok(&[&fit[..], &["--group-sizes", "north=1440,south=1500"]].concat()).stdout;
    assert!(public.contains("1,440 rows") && !public.contains("about 1,440"), "{public}");
    let persons = directory.ok(&[&fit[..], &["--person", "id"]].concat()).stdout;
    assert!(persons.contains("1,000 persons") && !persons.contains("3,000"), "{persons}");
}
