//! More than one fit of a table: public moments, a second release, several specifications.

use serde_json::Value;

use crate::common::Directory;

const FORMULA: &str = "y[0..100] ~ x[0..10] + z[0..1] + g{a,b}";
const STUDY: &str = "rho = 0.5
interest = 'x'
simultaneous = true
[columns.y]
low = 0
high = 100
[[specification]]
name = 'main'
formula = 'y ~ x[0..10] + z[0..1] + g{a,b}'
[[specification]]
name = 'bare'
formula = 'y ~ x[0..10]'
";

/// A directory with `rows.csv` in it.
fn directory() -> Directory {
    let directory = Directory::new();
    let mut text = "y,x,z,g\n".to_owned();
    for i in 0..4000u32 {
        let (x, z, b) = (f64::from(i * 37 % 101) / 10.1, f64::from(i * 53 % 97) / 97.0, i % 3 == 0);
        let y = 20.0 + 4.0 * x + if b { 10.0 } else { 0.0 } + f64::from((i * 7919) % 13) - 6.0;
        text += &format!("{y},{x},{z},{}\n", if b { "b" } else { "a" });
    }
    directory.write("rows.csv", text);
    directory.write("study.toml", STUDY);
    directory
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn moments_of_a_public_table_serve_a_fit_and_a_plan() {
    let directory = directory();
    let refused = directory.run(&["moments", "rows.csv", "-f", FORMULA]);
    assert!(refused.status == 2 && refused.stderr.contains("--not-private"), "{}", refused.stderr);
    directory.ok(&["moments", "rows.csv", "-f", FORMULA, "--not-private", "--out", "known.toml"]);
    let known = directory.read("known.toml");
    assert!(known.contains("names = [\"x\", \"z\", \"g[b]\"]") && known.contains("Not private"), "{known}");
    let fit = ["fit", "rows.csv", "-f", FORMULA, "--rho", "0.5", "--seed", "5", "--json", "-"];
    let releases = |more: &[&str]| {
        let found = json(&directory.ok(&[&fit[..], more].concat()).stdout);
        let rounds = found["guarantee"]["releases"].as_array().expect("a list").clone();
        rounds.iter().filter(|one| one["what"].as_str().expect("words").starts_with("second moments")).count()
    };
    assert!(releases(&["--moments", "known.toml"]) < releases(&[]), "a round is saved");
    let plan = ["plan", "-f", FORMULA, "--rows", "4000", "--rho", "0.01", "--moments", "known.toml"];
    assert!(directory.ok(&plan).stdout.contains("as the moments given say"));
    directory.write("lacking.toml", "names = ['x']\nmeans = [5]\ncovariance = [[8]]");
    let lacking = directory.run(&[&fit[..], &["--moments", "lacking.toml"]].concat());
    assert!(lacking.status == 2 && lacking.stderr.contains("lack 'z', 'g[b]'"), "{}", lacking.stderr);
    let useless = directory.run(&[&fit[..], &["--moments", "known.toml", "--method", "dpgd"]].concat());
    assert!(useless.status == 2 && useless.stderr.contains("moments are of no use"), "{}", useless.stderr);
}

#[test]
fn a_refined_fit_is_charged_for_what_it_adds() {
    let directory = directory();
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "rows", "--rho", "0.5"]);
    let ledger = ["--ledger", "budget.db", "--dataset", "rows"];
    let fit = ["fit", "rows.csv", "-f", FORMULA, "--rho", "0.3", "--json", "first.json"];
    directory.ok(&[&fit[..], &ledger].concat());
    let refine =
        ["refine", "first.json", "rows.csv", "--rho", "0.2", "--json", "second.json", "--report", "second.html"];
    let text = directory.ok(&[&refine[..], &ledger].concat()).stdout;
    assert!(text.contains("0.5-zCDP") && text.contains("2 runs of"), "{text}");
    let second = json(&directory.read("second.json"));
    // 20000 / 4000^2, rounded up to two digits, was charged before for the count of usable rows.
    assert_eq!(second["ledger"]["charged"], 0.1987);
    assert_eq!((&second["guarantee"]["rho"], &second["ledger"]["spent"]), (&Value::from(0.5), &Value::from(0.5)));
    directory.ok(&["ledger", "verify", "budget.db", "--against", "first.json", "second.json"]);
    let again = directory.run(&[&["refine", "second.json", "rows.csv", "--rho", "0.1"][..], &ledger].concat());
    assert!(again.status == 1 && again.stdout.is_empty(), "{}", again.stderr);
    let itself = directory.run(&["refine", "first.json", "rows.csv", "--rho", "0.1", "--json", "first.json"]);
    assert!(itself.status == 2 && itself.stderr.contains("would be overwritten by --json"), "{}", itself.stderr);
}

#[test]
fn a_study_is_one_charge_and_one_page() {
    let directory = directory();
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "rows", "--rho", "0.5"]);
    let study = ["study", "study.toml", "rows.csv", "--json", "study.json", "--report", "study.html"];
    let ledger = ["--ledger", "budget.db", "--dataset", "rows"];
    let text = directory.ok(&[&study[..], &ledger].concat()).stdout;
    assert!(text.contains("Private study of 2 specifications") && text.contains("97.5 % intervals"), "{text}");
    let found = json(&directory.read("study.json"));
    assert_eq!(found["specifications"][0]["fit"]["guarantee"]["rho"], 0.5);
    assert!(found["specifications"][1]["low"].as_f64() < found["specifications"][1]["high"].as_f64());
    let page = directory.read("study.html");
    assert!(page.contains("<svg") && page.contains("Across specifications") && !page.contains("<script"), "{page}");
    let shown = json(&directory.ok(&["ledger", "show", "budget.db", "--json", "-"]).stdout);
    assert!(shown.to_string().contains("study of 2: main"), "{shown}");
    directory.ok(&["ledger", "verify", "budget.db", "--against", "study.json"]);
    let more = directory.run(&[&["study", "study.toml", "rows.csv"][..], &ledger].concat());
    assert!(more.status == 1 && more.stdout.is_empty(), "the budget is spent: {}", more.stderr);
    directory.write("study.toml", STUDY.replace("'bare'", "'main'"));
    let twice = directory.run(&["study", "study.toml", "rows.csv"]);
    assert!(
        twice.status == 2 && twice.stderr.contains("study.toml: two specifications are called 'main'"),
        "{}",
        twice.stderr
    );
}

/// With a focus each specification pays for its own coefficients of interest, on the budget that
/// all of them share; one that has no controls is fitted whole.
#[test]
fn a_study_has_coefficients_of_interest() {
    let directory = directory();
    let focused =
        STUDY.replace("interest = 'x'\n", "focus = ['x']\n").replace("y ~ x[0..10]'", "y ~ x[0..10] + z[0..1]'");
    let bare = "[[specification]]\nname = 'no controls'\nformula = 'y ~ x[0..10]'\n";
    directory.write("focus.toml", focused.replace("simultaneous = true\n", "") + bare);
    let run = ["study", "focus.toml", "rows.csv", "--seed", "3", "--json", "focus.json", "--report", "focus.html"];
    let text = directory.ok(&run).stdout;
    assert!(text.contains("main: The other 3 coefficients are controls"), "{text}");
    assert!(text.contains("bare: The other 2 coefficients are controls"), "{text}");
    assert!(directory.read("focus.html").contains("bare: The other 2 coefficients are controls"));
    let found = json(&directory.read("focus.json"));
    assert_eq!((&found["interest"], &found["guarantee"]["rho"]), (&Value::from("x"), &Value::from(0.5)));
    let parts = found["specifications"].as_array().expect("a list");
    let names = |part: &Value| -> Vec<String> {
        let shown = part["fit"]["coefficients"].as_array().expect("a list");
        shown.iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(parts.iter().map(names).collect::<Vec<_>>(), [vec!["x"], vec!["x"], vec!["(Intercept)", "x"]]);
    for part in parts {
        // y = 20 + 4 x + ..., and the error that the table repeats is about 3.7.
        let (low, high) = (part["low"].as_f64().expect("an end"), part["high"].as_f64().expect("an end"));
        assert!(low < 4.0 && 4.0 < high && high - low < 0.4, "{low} {high}");
    }
    let releases = found["guarantee"]["releases"].as_array().expect("a list");
    let spent: f64 = releases.iter().map(|one| one["rho"].as_f64().expect("a number")).sum();
    assert!((spent - 0.5).abs() < 1e-12, "{releases:?}");
    for (from, to, says) in [
        ("focus = ['x']\n", "focus = ['x']\ninterest = 'z'\n", "'z' is a control in every specification"),
        ("focus = ['x']", "focus = ['g']", "specification 'bare'"),
        ("focus = ['x']", "focus = 3", "focus must be texts"),
    ] {
        directory.write("refused.toml", directory.read("focus.toml").replacen(from, to, 1));
        let refused = directory.run(&["study", "refused.toml", "rows.csv", "--seed", "3"]);
        assert!(refused.status == 2 && refused.stderr.contains(says), "{}", refused.stderr);
    }
    directory.write("plain.toml", STUDY);
    let beside = directory.ok(&["study", "plain.toml", "rows.csv", "--seed", "3", "--focus", "x"]).stdout;
    assert!(beside.contains("main: The other 3 coefficients are controls"), "{beside}");
}
