//! `dplm lab`: names, tables, verdicts and exit status.

use crate::common::Directory;

const TINY: [&str; 6] = ["--set", "n=[300,600]", "--set", "repetitions=3", "--set", "steps=4"];

fn run_tiny(directory: &Directory, out: &str) -> String {
    directory.ok(&[&["lab", "run", "cost-low", "--out", out], &TINY[..]].concat()).stdout
}

#[test]
fn the_list_names_every_definition() {
    let listed = Directory::new().ok(&["lab", "list"]).stdout;
    let mut listed: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    listed.sort_unstable();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../dplm-lab/definitions");
    let name_of = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.expect("readable").path().file_stem().expect("a name").to_str().expect("UTF-8").to_owned()
    };
    let mut defined: Vec<String> = std::fs::read_dir(folder).expect("definitions").map(name_of).collect();
    defined.sort_unstable();
    assert_eq!(listed, defined);
}

#[test]
fn a_run_writes_table_picture_and_verdicts() {
    let directory = Directory::new();
    let told = run_tiny(&directory, "out");
    assert!(told.contains("PASS") || told.contains("FAIL"));
    let table = directory.read("out/cost-low.csv");
    assert_eq!(table.lines().next(), Some("n,p,rho,reps,privacy_error,sampling_error,total_error"));
    assert!(directory.read("out/cost-low.svg").starts_with("<svg"));
    let claims: Vec<serde_json::Value> = serde_json::from_str(&directory.read("out/claims.json")).expect("JSON");
    for claim in &claims {
        assert!(["figure", "claim", "measured", "required"].iter().all(|key| claim[key].is_string()), "{claim}");
        assert!(claim["holds"].is_boolean());
    }
    assert_eq!(claims.len(), told.matches("measured:").count());
}

#[test]
fn the_same_seed_gives_the_same_table() {
    let directory = Directory::new();
    run_tiny(&directory, "a");
    run_tiny(&directory, "b");
    directory.ok(&[&["lab", "run", "cost-low", "--out", "c", "--seed", "5"], &TINY[..]].concat());
    let table = |folder: &str| directory.read(&format!("{folder}/cost-low.csv"));
    assert_eq!(table("a"), table("b"));
    assert_ne!(table("a"), table("c"));
}

#[test]
fn check_exits_as_the_claims_do() {
    let directory = Directory::new();
    // Two sizes far below the crossing: that claim cannot hold.
    run_tiny(&directory, "out");
    let done = directory.run(&["lab", "check", "out"]);
    assert_eq!(done.status, 1);
    assert!(done.stdout.contains("FAIL  from some n on sampling dominates"), "{}", done.stdout);
    let done = directory.run(&["lab", "check"]);
    assert_eq!(done.status, i32::from(done.stdout.contains("  FAIL  ")), "{}", done.stderr);
    assert!(done.stdout.contains("claims hold"));
}

#[test]
fn what_is_wrong_is_said_in_one_sentence() {
    let directory = Directory::new();
    directory.run(&["lab", "run", "nothing"]).assert_refused(2, "an unknown figure");
    directory.run(&["lab", "run", "pn", "--set", "gamma=3"]).assert_refused(2, "an unknown parameter");
    directory.run(&["lab", "run", "pn", "--set", "rho"]).assert_refused(2, "no value");
    directory.run(&["lab", "check", "nowhere"]).assert_refused(1, "no record");
    assert_eq!(directory.names(), [] as [&str; 0], "nothing is written");
}
