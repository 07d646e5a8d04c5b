//! `dplm lab`: names, tables, verdicts and exit status.

use crate::common::Desk;

const TINY: [&str; 6] = ["--set", "n=[300,600]", "--set", "repetitions=3", "--set", "steps=4"];

fn run_tiny(desk: &Desk, out: &str) -> String {
    desk.ok(&[&["lab", "run", "cost-low", "--out", out], &TINY[..]].concat()).stdout
}

#[test]
fn the_list_names_the_paper_s_twelve_figures_and_ours() {
    let names = Desk::new().ok(&["lab", "list"]).stdout;
    let names: Vec<&str> = names.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for name in
        ["pn", "pn-aniso", "cost-low", "cost-high-p10", "cost-high-p100", "sqrtp", "bias-variance", "error-clip"]
    {
        assert!(names.contains(&name), "{name}");
    }
    assert!(["intervals", "audit", "oracle"].iter().all(|name| names.contains(name)));
    assert_eq!(names.len(), 15);
}

#[test]
fn a_run_writes_table_picture_and_verdicts() {
    let desk = Desk::new();
    let told = run_tiny(&desk, "out");
    assert!(told.contains("PASS") || told.contains("FAIL"));
    let table = desk.read("out/cost-low.csv");
    assert_eq!(table.lines().next(), Some("n,p,rho,reps,privacy_error,sampling_error,total_error"));
    assert!(desk.read("out/cost-low.svg").starts_with("<svg"));
    let claims: Vec<serde_json::Value> = serde_json::from_str(&desk.read("out/claims.json")).expect("JSON");
    for claim in &claims {
        assert!(["figure", "claim", "measured", "required"].iter().all(|key| claim[key].is_string()), "{claim}");
        assert!(claim["holds"].is_boolean());
    }
    assert_eq!(claims.len(), told.matches("measured:").count());
}

#[test]
fn the_same_seed_gives_the_same_table() {
    let desk = Desk::new();
    run_tiny(&desk, "a");
    run_tiny(&desk, "b");
    desk.ok(&[&["lab", "run", "cost-low", "--out", "c", "--seed", "5"], &TINY[..]].concat());
    let table = |folder: &str| desk.read(&format!("{folder}/cost-low.csv"));
    assert_eq!(table("a"), table("b"));
    assert_ne!(table("a"), table("c"));
}

#[test]
fn check_exits_as_the_claims_do() {
    let desk = Desk::new();
    // Two sizes far below the crossing: that claim cannot hold.
    run_tiny(&desk, "out");
    let done = desk.run(&["lab", "check", "out"]);
    assert_eq!(done.status, 1);
    assert!(done.stdout.contains("FAIL  from some n on sampling dominates"), "{}", done.stdout);
    let done = desk.run(&["lab", "check"]);
    assert_eq!(done.status, i32::from(done.stdout.contains("  FAIL  ")), "{}", done.stderr);
    assert!(done.stdout.contains("claims hold"));
}

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    let desk = Desk::new();
    desk.run(&["lab", "run", "nothing"]).assert_refused(2, "an unknown figure");
    desk.run(&["lab", "run", "pn", "--set", "gamma=3"]).assert_refused(2, "an unknown parameter");
    desk.run(&["lab", "run", "pn", "--set", "rho"]).assert_refused(2, "no value");
    desk.run(&["lab", "check", "nowhere"]).assert_refused(1, "no record");
    assert_eq!(desk.names(), [] as [&str; 0], "nothing is written");
}
