//! `fit --weights`: what is printed, recorded and refused.

use serde_json::Value;

use crate::common::Directory;

const FORMULA: &str = "y[0..10] ~ x[0..5]";

fn directory() -> Directory {
    let directory = Directory::new();
    let rows = (0..3000).map(|i: u32| format!("{}.5,{}.25,{}\n", (i * 5) % 9, i % 5, 1 + i % 4));
    directory.write("data.csv", format!("y,x,w\n{}", rows.collect::<String>()));
    directory
}

#[test]
fn a_weighted_fit_names_its_weights_everywhere() {
    let directory = directory();
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "d", "--rho", "5"]);
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--weights", "w[0..4]"];
    let paid = ["--ledger", "budget.db", "--dataset", "d", "--json", "fit.json", "--report", "fit.html"];
    let done = directory.ok(&[&fit[..], &paid].concat());
    assert!(done.stdout.contains("3,000 rows weighted by w[0..4]"), "{}", done.stdout);
    assert!(done.stdout.contains("weighted least-squares") || done.stdout.contains("weighted robust"));
    let document: Value = serde_json::from_str(&directory.read("fit.json")).expect("JSON");
    assert_eq!(document["weights"], "w[0..4]");
    assert_eq!((&document["residual_sd"], &document["r_squared"]), (&Value::Null, &Value::Null));
    assert!(
        directory.read("fit.html").contains("--weights &#39;w[0..4]&#39;")
            || directory.read("fit.html").contains("--weights 'w[0..4]'")
    );
    let predicted = directory.run(&["predict", "fit.json", "data.csv", "--person-interval"]);
    assert!(predicted.stderr.contains("no residual standard deviation"), "{}", predicted.stderr);
    assert!(directory.ok(&["predict", "fit.json", "data.csv"]).stdout.starts_with("estimate,std_error,low,high"));
}

#[test]
fn what_cannot_be_a_weight_is_refused_and_a_dry_run_spends_nothing() {
    let directory = directory();
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--rho", "1", "--weights"];
    let refused = |weights: &str, status: i32| {
        let done = directory.run(&[&fit[..], &[weights]].concat());
        assert_eq!(done.status, status, "{}", done.stderr);
        done.stderr
    };
    assert!(refused("w[1..4]", 2).contains("write them as w[0..50]"));
    assert!(refused("w", 2).contains("write them as w[0..50]"));
    assert!(refused("v[0..4]", 1).contains("'v'"));
    let dry = directory.ok(&[&fit[..], &["w[0..4]", "--dry-run"]].concat()).stdout;
    assert!(dry.contains("weights: 'w' says nothing") && dry.contains("Nothing was spent"), "{dry}");
}
