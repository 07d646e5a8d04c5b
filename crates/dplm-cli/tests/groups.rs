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
    assert_eq!(shown["entries"].as_array().expect("entries").len(), 3, "opened, the count, the fits: {shown}");
    assert_eq!(shown["left"], 4.0);
}

/// A directory with the fits of two groups in it, and of a third that is too small for one.
fn fitted() -> Directory {
    let directory = directory();
    let by = ["--by", "region{north,south,nowhere}", "--group-sizes", "north=1440,south=1500,nowhere=1"];
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--seed", "1", "--json", "fit.json"];
    directory.ok(&[&fit[..], &by].concat());
    directory
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn hypotheses_are_tested_in_each_group_or_in_one() {
    let directory = fitted();
    let fit = json(&directory.read("fit.json"));
    let all = json(&directory.ok(&["test", "fit.json", "x = 0", "x = 0, (Intercept) = 3", "--json", "-"]).stdout);
    for place in 0..2 {
        let (group, tested) = (&fit["groups"][place], &all["groups"][place]);
        assert_eq!(tested["by"], group["by"]);
        assert_eq!(tested["tests"][0]["estimate"], group["coefficients"][1]["estimate"]);
        assert_eq!(tested["tests"][1]["equations"].as_array().expect("two").len(), 2);
    }
    assert!(all["groups"][2]["not_fitted"].is_string() && all["groups"][2]["tests"].is_null(), "{all}");
    let south = json(&directory.ok(&["test", "fit.json", "x = 0", "--group", "south", "--json", "-"]).stdout);
    assert_eq!(south["tests"][0], all["groups"][1]["tests"][0]);
    let text = directory.ok(&["test", "fit.json", "x = 0"]).stdout;
    assert!(text.contains("region = south\nLinear hypotheses:") && text.contains("It was not fitted: "), "{text}");
}

#[test]
fn rows_are_predicted_by_the_fit_of_their_group() {
    let directory = fitted();
    directory.write("new.csv", "region,x\nsouth,2\nnorth,2\nnowhere,2\nelsewhere,2\nsouth,\n");
    let lines = |args: &[&str]| {
        let table = directory.ok(&[&["predict", "fit.json"], args].concat()).stdout;
        table.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let own = lines(&["new.csv"]);
    let (north, south) = (lines(&["new.csv", "--group", "north"]), lines(&["new.csv", "--group", "south"]));
    assert_eq!((&own[1], &own[2]), (&south[1], &north[2]));
    assert!(own[1] != own[2] && own[3..] == [",,,", ",,,", ",,,"], "{own:?}");
    assert_eq!(north[1], north[4], "one group's fit is for all rows");
    let named = lines(&["new.csv", "--id", "region", "--id", "x"]);
    let before = ["region,x", "south,2", "north,2", "nowhere,2", "elsewhere,2", "south,"];
    assert_eq!(named, before.iter().zip(&own).map(|(cells, line)| format!("{cells},{line}")).collect::<Vec<_>>());
    let over = lines(&["--over", "x"]);
    assert_eq!((over[0].as_str(), over.len()), ("region,x,estimate,std_error,low,high", 1 + 2 * 41));
    let alone = lines(&["--over", "x", "--group", "south"]);
    assert_eq!(over[42..], alone[1..].iter().map(|line| format!("south,{line}")).collect::<Vec<_>>());
    directory.ok(&["predict", "fit.json", "--over", "x", "--group", "south", "--picture", "south.svg"]);
    directory.ok(&["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--seed", "1", "--json", "one.json"]);
    for (args, words) in [
        (&["test", "fit.json", "x = 0", "--group", "west"][..], "its groups are 'north', 'south', 'nowhere'"),
        (&["test", "fit.json", "x = 0", "--group", "nowhere"], "the group 'nowhere' was not fitted"),
        (&["test", "one.json", "x = 0", "--group", "north"], "leave out --group"),
        (&["predict", "fit.json", "--over", "x", "--picture", "all.svg"], "name it with --group"),
        (&["predict", "fit.json", "--over", "x", "--id", "id"], "'--id <COLUMN>'"),
    ] {
        let refused = directory.run(args);
        refused.assert_refused(2, words);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
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
    let dry = directory.ok(&[&fit[..], &["--group-sizes", "north=1440,south=10", "--dry-run"]].concat()).stdout;
    let (north, south) = dry.split_once("region south").expect("a forecast for each group");
    assert!(north.contains("1,440 rows, 2 coefficients") && !south.contains("rows, 2 coefficients"), "{dry}");
    assert!(dry.matches("Nothing was spent").count() == 1, "{dry}");
    let public = directory.ok(&[&fit[..], &["--group-sizes", "north=1440,south=1500"]].concat()).stdout;
    assert!(public.contains("1,440 rows") && !public.contains("about 1,440"), "{public}");
    let persons = directory.ok(&[&fit[..], &["--person", "id"]].concat()).stdout;
    assert!(persons.contains("1,000 persons") && !persons.contains("3,000"), "{persons}");
}
