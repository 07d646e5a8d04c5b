//! A ledger that must pay for every fit: named by the environment, or by a file of settings.

use crate::common::Directory;

const FIT: [&str; 6] = ["fit", "data.csv", "--formula", "y[-9..9] ~ x1[-4..4]", "--rho", "0.01"];
const PAID: [&str; 2] = ["--dataset", "rows"];

fn directory() -> Directory {
    let directory = Directory::new();
    directory.simulate("data.csv", 2000);
    directory.write("study.toml", "rho = 0.1\n[[specification]]\nname = 'main'\nformula = 'y[-9..9] ~ x1[-4..4]'\n");
    for ledger in ["budget.db", "other.db"] {
        directory.ok(&["ledger", "init", ledger, "--dataset", "rows", "--rho", "1"]);
    }
    directory
}

fn spent(directory: &Directory, ledger: &str) -> f64 {
    let shown = directory.ok(&["ledger", "show", ledger, "--json", "-"]).stdout;
    serde_json::from_str::<serde_json::Value>(&shown).expect("JSON")["spent"].as_f64().expect("a number")
}

#[test]
fn every_command_that_spends_is_paid_from_it() {
    let directory = directory();
    let run = |args: &[&str]| directory.run_with(("DPLM_LEDGER", "budget.db"), args);
    let study = ["study", "study.toml", "data.csv"];
    let refine = ["refine", "fit.json", "data.csv", "--rho", "0.1"];
    let ok = |args: &[&str]| {
        let done = run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.stderr);
    };
    ok(&[&FIT[..], &PAID, &["--purpose", "prediction"]].concat());
    assert_eq!(spent(&directory, "budget.db"), 0.01);
    let first = ["fit", "data.csv", "--formula", "y[-9..9] ~ x1[-4..4]", "--rho", "0.1", "--json", "fit.json"];
    ok(&[&first[..], &PAID].concat());
    for command in [&FIT[..], &study, &refine, &[&FIT[..], &["--seed", "1"]].concat()] {
        let refused = run(command);
        refused.assert_refused(2, "nothing named");
        assert!(refused.stderr.contains("must be paid from the ledger budget.db"), "{}", refused.stderr);
    }
    let seeded = run(&[&FIT[..], &PAID, &["--seed", "1"]].concat());
    seeded.assert_refused(2, "a seed");
    for (more, words) in [
        (&["--ledger", "other.db", "--dataset", "rows"][..], "leave out --ledger"),
        (&["--dataset", "rows", "--json", "budget.db"], "which is the ledger, would be overwritten"),
        (&["--dataset", "rows", "--json", "budget.db-journal"], "belongs to the ledger"),
    ] {
        let refused = run(&[&FIT[..], more].concat());
        refused.assert_refused(2, words);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    assert!((spent(&directory, "budget.db") - 0.11).abs() < 1e-12);
    ok(&[&study[..], &PAID].concat());
    ok(&[&refine[..], &PAID].concat());
    assert!((spent(&directory, "budget.db") - 0.31).abs() < 1e-12);
    // What spends nothing needs no ledger.
    ok(&[&FIT[..], &["--pretend", "--seed", "1"]].concat());
    ok(&[&FIT[..], &["--dry-run"]].concat());
    ok(&["demo"]);
    assert!((spent(&directory, "budget.db") - 0.31).abs() < 1e-12 && spent(&directory, "other.db") == 0.0);
}

#[test]
fn a_file_of_settings_names_it_too_and_a_mistake_there_does_not_switch_it_off() {
    let directory = directory();
    std::fs::create_dir_all(directory.path("config/dplm")).expect("made");
    let settings = |text: &str| directory.write("config/dplm/settings.toml", text);
    let run = |args: &[&str]| directory.run_with(("XDG_CONFIG_HOME", "config"), args);
    settings("ledger = 'budget.db'\n");
    run(&FIT).assert_refused(2, "nothing named");
    assert_eq!(run(&[&FIT[..], &PAID, &["--purpose", "prediction"]].concat()).status, 0);
    assert_eq!(spent(&directory, "budget.db"), 0.01);
    settings("leger = 'budget.db'\n");
    let refused = run(&FIT);
    refused.assert_refused(2, "a mistake");
    assert!(refused.stderr.contains("settings.toml cannot be read"), "{}", refused.stderr);
}
