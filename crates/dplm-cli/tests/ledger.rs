//! `dplm ledger`, and `fit --ledger` as custodians use it and as accidents find it.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use dplm_ledger::{Entry, Kind, Ledger};

use crate::common::{Directory, Done, text_of};

const FORMULA: &str = "y ~ x1 + x2 + 0";

/// A table and a ledger that holds `rho` for the data set `wages`.
fn directory(rows: u32, rho: &str) -> Directory {
    let directory = Directory::new();
    directory.simulate("data.csv", rows);
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "wages", "--rho", rho]);
    directory
}

fn spend<'a>(rho: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--standardised", "--rho", rho];
    [&fit[..], &["--ledger", "budget.db", "--dataset", "wages"], more].concat()
}

/// How many fits were paid for, after checking that the ledger verifies; what a fit pays for its
/// count of usable rows is not the fit.
fn recorded(directory: &Directory) -> usize {
    let ledger = Ledger::open(directory.path("budget.db")).expect("the ledger opens");
    ledger.verify().expect("the ledger verifies");
    let is_fit = |entry: &&Entry| entry.kind == Kind::Spend && !entry.text.starts_with("usable ");
    ledger.entries().expect("entries").iter().filter(is_fit).count()
}

#[test]
fn a_custodian_opens_grants_spends_shows_and_exports() {
    let directory = directory(900, "0.05");
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "health", "--epsilon", "1", "--delta", "1e-6"]);
    directory.ok(&spend("0.02", &["--json", "fit.json"]));
    directory.ok(&["ledger", "grant", "budget.db", "--dataset", "wages", "--rho", "0.01", "--note", "board, \"May\""]);
    let shown = directory.ok(&["ledger", "show", "budget.db", "--dataset", "wages", "--json", "-"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["dataset"], "wages");
    assert_eq!([&shown["total"], &shown["spent"], &shown["left"]], [0.06, 0.02, 0.04]);
    assert_eq!(shown["entries"].as_array().map(Vec::len), Some(3));
    assert_eq!(shown["entries"][1]["text"], FORMULA);
    let fit: serde_json::Value = serde_json::from_str(&directory.read("fit.json")).expect("JSON");
    assert_eq!([&fit["ledger"]["total"], &fit["ledger"]["left"]], [0.05, 0.03]);
    let text = directory.ok(&["ledger", "show", "budget.db"]).stdout;
    assert!(text.contains("0.8342"), "0.834118 is spent, rounded up: {text}");
    assert!(text.contains("wages") && text.contains("health") && text.contains("board, \"May\""), "{text}");
    let csv = directory.ok(&["ledger", "export", "budget.db", "--csv", "-", "--json", "all.json"]).stdout;
    assert_eq!(csv.lines().count(), 5);
    assert!(csv.contains(",wages,grant,0.01,,,\"board, \"\"May\"\"\","), "{csv}");
    let all: serde_json::Value = serde_json::from_str(&directory.read("all.json")).expect("JSON");
    assert_eq!(all["datasets"].as_array().map(Vec::len), Some(2));
    let verified =
        directory.ok(&["ledger", "verify", "budget.db", "--since", all["last_hash"].as_str().expect("a hash")]);
    assert!(verified.stdout.starts_with("4 entries are in order"), "{}", verified.stdout);
    directory.run(&["ledger", "verify", "budget.db", "--since", "0000"]).assert_refused(1, "a hash that is not there");
    directory.run(&["ledger", "show", "budget.db", "--json", "-"]).assert_refused(1, "two data sets as one");
}

#[test]
fn what_is_refused_spends_nothing() {
    let directory = directory(900, "0.05");
    directory.write("ragged.csv", "y,x1,x2\n1,2,3\n1,2\n");
    directory.write("short.csv", "y,x1,x2\n1,2,3\n");
    let fit = |data: &'static str, more: &[&'static str]| {
        directory.run(&[&["fit", data, "--ledger", "budget.db", "--dataset", "wages"], more].concat())
    };
    let plain = ["--formula", FORMULA, "--standardised", "--rho", "0.01"];
    let bounded = ["--formula", "y[-5..5] ~ x1[-4..4] + x2[-4..4]"];
    let cases: [(&str, i32, Done); 17] = [
        ("formula", 2, fit("data.csv", &["--formula", "y ~", "--rho", "0.01"])),
        ("column", 1, fit("data.csv", &["--formula", "y ~ nope", "--standardised", "--rho", "0.01"])),
        ("no bounds", 2, fit("data.csv", &["--formula", "y ~ x1 + x2", "--rho", "0.01"])),
        ("a category as response", 2, fit("data.csv", &["--formula", "y{a,b} ~ x1[0..1]", "--rho", "0.01"])),
        ("nothing but noise", 2, fit("data.csv", &[&bounded[..], &["--rho", "1e-6"]].concat())),
        ("no interval", 2, fit("data.csv", &[&bounded[..], &["--rho", "0.001"]].concat())),
        ("a page that is no page", 2, fit("data.csv", &[&plain[..], &["--report", "fit.pdf"]].concat())),
        ("seed", 2, fit("data.csv", &[&plain[..], &["--seed", "1"]].concat())),
        ("overdraft", 1, fit("data.csv", &[&plain[..3], &["--rho", "0.051"]].concat())),
        ("ragged", 1, fit("ragged.csv", &plain)),
        ("few rows", 1, fit("short.csv", &plain)),
        ("no data", 1, fit("missing.csv", &plain)),
        ("plan", 2, fit("data.csv", &[&plain[..], &["--interval", "batched", "--steps", "3"]].concat())),
        ("method", 2, fit("data.csv", &[&plain[..], &["--method", "adassp"]].concat())),
        ("output", 1, fit("data.csv", &[&plain[..], &["--json", "no/such/folder.json"]].concat())),
        ("ledger as output", 2, fit("data.csv", &[&plain[..], &["--json", "budget.db"]].concat())),
        ("no name", 2, directory.run(&[&["fit", "data.csv", "--ledger", "budget.db"], &plain[..]].concat())),
    ];
    for (what, status, done) in cases {
        done.assert_refused(status, what);
        assert_eq!(recorded(&directory), 0, "{what}");
    }
    let overdraft = directory.run(&spend("0.06", &[])).stderr;
    assert!(overdraft.contains("0.05 left"), "{overdraft}");
    let other = directory.run(&[
        "fit",
        "data.csv",
        "--ledger",
        "budget.db",
        "--dataset",
        "wage",
        "--formula",
        FORMULA,
        "--standardised",
        "--rho",
        "1",
    ]);
    assert!(other.stderr.contains("it has 'wages'"), "{}", other.stderr);
    directory.ok(&spend("0.05", &[]));
    assert_eq!(recorded(&directory), 1);
}

#[test]
fn every_run_spends_and_another_table_is_noticed() {
    let directory = directory(900, "0.05");
    let first = directory.ok(&spend("0.01", &[]));
    let second = directory.ok(&spend("0.01", &["--report", "page.html"]));
    assert_ne!(first.stdout, second.stdout, "fresh noise");
    assert!(second.stdout.contains("rho = 0.03 of 0.05 left for 'wages'"), "{}", second.stdout);
    assert!(!second.stderr.contains("other columns"), "{}", second.stderr);
    assert!(directory.read("page.html").contains("The budget of wages over time"));
    directory.simulate("data.csv", 901);
    let refused = directory.run(&spend("0.01", &["--json", "third.json"]));
    refused.assert_refused(1, "another table");
    assert!(
        refused.stderr.contains("--other-table") && refused.stderr.contains("nothing was spent"),
        "{}",
        refused.stderr
    );
    assert_eq!(recorded(&directory), 2);
    // Where both fits of the other table were mistakes, nothing is held against this one.
    let copy = fs::read(directory.path("budget.db")).expect("a ledger");
    for entry in ["2", "3"] {
        directory.ok(&["ledger", "reverse", "budget.db", entry, "--reason", "the wrong file"]);
    }
    directory.ok(&spend("0.01", &[]));
    directory.write("budget.db", copy);
    let third = directory.ok(&spend("0.01", &["--other-table", "--json", "third.json"]));
    assert!(third.stderr.contains("other columns or another number of rows"), "{}", third.stderr);
    assert!(directory.read("third.json").contains("other columns or another number of rows"));
    assert_eq!(recorded(&directory), 3);
}

/// The count of usable rows, which a fit pays for first, does not hold the next table to be another
/// one.
#[test]
fn a_fit_of_the_wrong_file_that_is_reversed_leaves_the_name_free() {
    let directory = directory(5000, "1");
    directory.ok(&spend("0.1", &[]));
    directory.simulate("data.csv", 5001);
    directory.run(&spend("0.1", &[])).assert_refused(1, "another table");
    let shown = directory.ok(&["ledger", "show", "budget.db"]).stdout;
    assert!(shown.contains("usable rows of: "), "{shown}");
    directory.ok(&["ledger", "reverse", "budget.db", "3", "--reason", "the wrong file"]);
    directory.ok(&spend("0.1", &[]));
}

/// The hashes have no key, so anyone who can write the file can write another history: only what
/// was kept elsewhere tells.
#[test]
fn fits_that_were_kept_give_another_history_away() {
    let directory = directory(900, "1");
    let first = directory.ok(&spend("0.01", &["--json", "first.json"]));
    assert!(first.stdout.contains("rho = 0.99 of 1 left"), "{}", first.stdout);
    let copy = fs::read(directory.path("budget.db")).expect("a ledger");
    let second = directory.ok(&spend("0.02", &["--json", "second.json", "--report", "page.html"]));
    let entries = Ledger::open(directory.path("budget.db")).expect("open").entries().expect("entries");
    let json: serde_json::Value = serde_json::from_str(&directory.read("second.json")).expect("JSON");
    assert_eq!((&json["ledger"]["entry"], &json["ledger"]["hash"]), (&3.into(), &entries[2].hash.as_str().into()));
    assert!(second.stdout.contains(&entries[2].hash) && directory.read("page.html").contains(&entries[2].hash));
    let verify = ["ledger", "verify", "budget.db"];
    let against = [&verify[..], &["--against", "first.json", "second.json"]].concat();
    let sound = directory.ok(&against).stdout;
    assert!(sound.starts_with("3 entries are in order, and agree with 2 kept records; the last"), "{sound}");

    let refused = |what: &str, sentence: &str| {
        directory.ok(&verify);
        let done = directory.run(&against);
        done.assert_refused(1, what);
        assert!(done.stderr.contains(sentence), "{what}: {}", done.stderr);
    };
    directory.write("budget.db", copy);
    refused("an old copy", "1 of 2 kept records does not match them: second.json: entry 3 is gone");
    fs::remove_file(directory.path("budget.db")).expect("removed");
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "wages", "--rho", "1"]);
    directory.ok(&spend("0.03", &[]));
    refused(
        "another history",
        "2 of 2 kept records do not match them: first.json: entry 2 was changed: it has another rho",
    );
}

#[test]
fn what_is_no_fit_of_the_ledger_is_told_apart() {
    let directory = directory(900, "1");
    directory.ok(&["ledger", "init", "other.db", "--dataset", "health", "--rho", "1"]);
    let fit = ["fit", "data.csv", "--formula", FORMULA, "--standardised", "--rho", "0.01", "--json", "fit.json"];
    let with_other = [&fit[..], &["--ledger", "other.db", "--dataset", "health"]].concat();
    let sentence = |make: &dyn Fn()| {
        make();
        let done = directory.run(&["ledger", "verify", "budget.db", "--against", "fit.json"]);
        done.assert_refused(1, "no fit of the ledger");
        assert!(done.stderr.contains("1 of 1 kept records does not match them: fit.json: "), "{}", done.stderr);
        done.stderr
    };
    assert!(sentence(&|| {}).contains("it could not be read"));
    assert!(sentence(&|| drop(directory.write("fit.json", "y,x1\n1,2\n"))).contains("it is not the JSON of a fit"));
    assert!(sentence(&|| drop(directory.ok(&fit))).contains("the fit was made without a ledger"));
    assert!(sentence(&|| drop(directory.ok(&with_other))).contains("the fit is of another ledger"));
}

#[test]
fn sixteen_at_once_spend_exactly_what_there_is() {
    // Enough for 10 of the 16.
    let directory = directory(900, "0.1");
    let children: Vec<Child> = (0..16).map(|_| directory.start(&spend("0.01", &[]))).collect();
    let answers = children.into_iter().map(Done::when_ended);
    let (mut fits, mut refusals) = (0, 0);
    for done in answers {
        match done.status {
            0 => fits += 1,
            _ => {
                done.assert_refused(1, "overdraft");
                assert!(done.stderr.contains("left"), "{}", done.stderr);
                refusals += 1;
            }
        }
    }
    assert_eq!((fits, refusals, recorded(&directory)), (10, 6, 10));
    let account = Ledger::open(directory.path("budget.db")).expect("open").account("wages").expect("an account");
    assert_eq!((account.spent.to_string(), account.left.to_string()), ("0.1".to_owned(), "0".to_owned()));
}

/// `DPLM_KILLS=200 cargo test -p dplm-cli --test ledger killed` for more moments.
#[test]
fn killed_at_any_moment_no_answer_is_without_its_record() {
    let rounds: u32 = std::env::var("DPLM_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    let directory = directory(5000, "100");
    let slow = ["--steps", "60", "--report", "page.html"];
    let started = Instant::now();
    directory.ok(&spend("0.01", &slow));
    let mut longest = started.elapsed();
    let (mut answers, mut early, mut between) = (1, 0, 0);
    for round in 0..rounds {
        let file = format!("fit-{round}.json");
        let before = recorded(&directory);
        let mut child = directory.start(&spend("0.01", &[&slow[..], &["--json", &file]].concat()));
        thread::sleep(longest.mul_f64(moment(round)));
        child.kill().expect("killed, or done already");
        let output = child.wait_with_output().expect("it ends");
        let written = directory.path(&file).exists();
        if written {
            let json: serde_json::Value = serde_json::from_str(&directory.read(&file)).expect("a result is whole");
            assert_eq!(json["private"], true);
        }
        let answered = written || String::from_utf8_lossy(&output.stdout).contains("Estimate");
        let records = recorded(&directory) - before;
        assert!(records <= 1 && (records == 1 || !answered), "round {round}: an answer without its record");
        answers += u32::from(answered);
        early += u32::from(records == 0);
        between += u32::from(records == 1 && !answered);
        // However busy the machine is, about half of the moments lie before the record and half
        // after.
        longest = longest.mul_f64(if records == 0 { 1.1 } else { 0.91 });
    }
    println!("{rounds} kills: {early} before the record, {between} between record and answer, the rest after");
    assert!(recorded(&directory) as u32 >= answers);
    directory.ok(&spend("0.01", &[]));
}

/// Moments that fill the unit interval evenly: multiples of the golden ratio.
fn moment(round: u32) -> f64 {
    (f64::from(round) * 0.618_033_988_749_895).fract()
}

#[cfg(unix)]
#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let directory = directory(900, "1");
    let length = fs::metadata(directory.path("budget.db")).expect("a ledger").len();
    let (mut refused, mut done) = (0, 0);
    // Files may not grow beyond a number of blocks of 512 bytes: first the journal has no room,
    // then the ledger, then the result.
    for blocks in (0..=length / 512 + 80).step_by(4) {
        let before = recorded(&directory);
        let limit = format!("trap '' XFSZ; ulimit -f {blocks}");
        let attempt =
            Done::when_ended(directory.start_limited(&limit, &spend("0.01", &["--json", "fit.json", "--quiet"])));
        let records = recorded(&directory) - before;
        let answered = directory.path("fit.json").exists();
        assert!(records == 1 || (attempt.status == 1 && !answered && attempt.stdout.is_empty()), "{blocks} blocks");
        match attempt.status {
            0 => done += 1,
            _ => refused += 1,
        }
        let _ = fs::remove_file(directory.path("fit.json"));
        if records == 0 {
            attempt.assert_refused(1, "no room for the record");
            assert!(attempt.stderr.contains("nothing was released"), "{}", attempt.stderr);
        }
    }
    assert!(refused > 0 && done > 0, "{refused} refused, {done} done");
    assert_eq!(directory.names(), ["budget.db", "data.csv"], "nothing is left behind");
    directory.run(&["ledger", "init", "new/budget.db", "--dataset", "d", "--rho", "1"]).assert_refused(1, "no folder");
    let init = ["ledger", "init", "new.db", "--dataset", "d", "--rho", "1"];
    let init = directory.start_limited("trap '' XFSZ; ulimit -f 0", &init);
    Done::when_ended(init).assert_refused(1, "no room for a ledger");
    assert_eq!(directory.names(), ["budget.db", "data.csv"], "no half of a ledger");
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_finds_no_room_is_still_shown() {
    let directory = directory(900, "1");
    let done = directory.run(&spend("0.01", &["--json", "/dev/full"]));
    assert_eq!(done.status, 1);
    assert!(done.stderr.contains("/dev/full could not be written"), "{}", done.stderr);
    assert!(done.stdout.contains("Coefficients"), "the budget is spent, so the answer is not withheld");
    assert_eq!(recorded(&directory), 1);
    // Each result that is lost is named, those elsewhere are written.
    let more = ["--json", "/dev/full", "--report", "page.html", "--trajectory", "/dev/../dev/full"];
    let done = directory.run(&spend("0.01", &more));
    assert_eq!(done.status, 1);
    for place in ["/dev/full could not be written", "and /dev/../dev/full could not be written"] {
        assert!(done.stderr.contains(place), "{}", done.stderr);
    }
    assert!(directory.read("page.html").ends_with("</html>\n"), "what can be written is written");
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_or_file_refuses_and_loses_nothing() {
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    let directory = directory(900, "1");
    let mode =
        |name: &str, mode| fs::set_permissions(directory.path(name), fs::Permissions::from_mode(mode)).expect("mode");
    // Permissions do not bind the administrator, so as such the command is run as nobody, from a
    // copy it may execute.
    let program = directory.path("program");
    // Copied by another process: a test that starts a program meanwhile would inherit a file that
    // is open here, and it could not be executed.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_dplm")).arg(&program).status().expect("cp starts");
    assert!(copied.success());
    mode("program", 0o755);
    let administrator = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&program).expect("there")) == 0;
    let run = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.args(args).current_dir(directory.path("")).stdin(Stdio::null());
        if administrator {
            command.uid(65534).gid(65534);
        }
        Done::from(command.output().expect("it starts"))
    };
    for (folder, ledger) in [(0o555, 0o666), (0o777, 0o444)] {
        mode("budget.db", ledger);
        mode("", folder);
        let refused = run(&spend("0.01", &[]));
        let results = ["--json", "--report", "--trajectory"].map(|option| run(&spend("0.01", &[option, "result"])));
        let shown = run(&["ledger", "show", "budget.db"]);
        mode("", 0o755);
        refused.assert_refused(1, "read-only");
        assert!(refused.stderr.contains("nothing was released"), "{}", refused.stderr);
        assert_eq!(shown.status, 0, "what cannot be written can be read: {}", shown.stderr);
        results.iter().for_each(|done| done.assert_refused(1, "no place for the result, or no record"));
        assert!(!directory.path("result").exists());
        mode("budget.db", 0o644);
        assert_eq!(recorded(&directory), 0);
    }
}

/// What a refusal says is what happened, for reading as well as for spending.
#[test]
fn a_damaged_ledger_is_called_damaged() {
    let directory = directory(900, "1");
    directory.ok(&spend("0.01", &[]));
    let whole = fs::read(directory.path("budget.db")).expect("a ledger");
    let formula = whole.windows(FORMULA.len()).position(|part| part == FORMULA.as_bytes()).expect("the entry");
    let mut edited = whole.clone();
    edited[formula] = b'z';
    let half = whole[..whole.len() / 2].to_vec();
    let cases = [
        (edited, "does not verify (entry 2: it was changed after it was recorded)"),
        (half, "the ledger is damaged"),
        (vec![], "no longer one"),
        (vec![b'?'; 600], "budget.db is not a dplm ledger"),
    ];
    let read = [["ledger", "verify", "budget.db"], ["ledger", "show", "budget.db"]];
    for (bytes, sentence) in cases {
        directory.write("budget.db", bytes);
        let refused = directory.run(&spend("0.01", &[]));
        for done in read.iter().map(|args| directory.run(args)).chain([refused]) {
            done.assert_refused(1, sentence);
            assert!(done.stderr.contains(sentence), "{}", done.stderr);
            assert!(done.stderr.contains("from a copy that lacks no entry"), "{}", done.stderr);
        }
        assert!(!directory.run(&read[0]).stderr.contains("released"), "verifying releases nothing anyway");
    }
    directory.write("budget.db", whole);
    assert_eq!(recorded(&directory), 1);
    let init = directory.run(&["ledger", "init", "no/budget.db", "--dataset", "d", "--rho", "1"]);
    assert!(init.stderr.contains("the folder of no/budget.db does not exist"), "{}", init.stderr);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let directory = directory(900, "1");
    symlink("budget.db", directory.path("link.db")).expect("linked");
    let link = |file: &str| {
        let fit = ["fit", "data.csv", "--formula", FORMULA, "--standardised", "--rho", "0.01"];
        directory.run(&[&fit[..], &["--ledger", file, "--dataset", "wages"]].concat())
    };
    link("link.db").assert_refused(1, "a symbolic link");
    directory
        .run(&["ledger", "init", "link.db", "--dataset", "b", "--rho", "1"])
        .assert_refused(1, "a link to write to");
    symlink("nowhere.db", directory.path("dangling.db")).expect("linked");
    directory
        .run(&["ledger", "init", "dangling.db", "--dataset", "b", "--rho", "1"])
        .assert_refused(1, "a dangling link");
    assert!(!directory.path("nowhere.db").exists());
    // A journal that is a link would be written through.
    directory.write("victim", "kept");
    symlink("victim", directory.path("budget.db-journal")).expect("linked");
    let _ = link("budget.db");
    assert_eq!(directory.read("victim"), "kept");
    fs::remove_file(directory.path("budget.db-journal")).or_else(gone).expect("removed");
    // A folder that is a link is an ordinary thing.
    symlink(directory.path(""), directory.path("folder")).expect("linked");
    let through = link("folder/budget.db");
    assert_eq!(through.status, 0, "{}", through.stderr);
    fs::remove_file(directory.path("folder")).expect("removed");
    fs::hard_link(directory.path("budget.db"), directory.path("second.db")).expect("linked");
    link("second.db").assert_refused(1, "a second name");
    link(text_of(Path::new("."))).assert_refused(1, "a folder");
}

/// What is not there need not be removed.
fn gone(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// A process that waits for another longer than a moment still comes to its turn.
#[test]
fn a_busy_ledger_is_waited_for() {
    let directory = directory(900, "1");
    let holder = rusqlite::Connection::open(directory.path("budget.db")).expect("open");
    holder.execute_batch("BEGIN EXCLUSIVE").expect("held");
    let mut waiting = directory.start(&spend("0.01", &[]));
    thread::sleep(Duration::from_millis(300));
    assert!(waiting.try_wait().expect("a state").is_none(), "it waits");
    holder.execute_batch("COMMIT").expect("let go");
    let done = Done::when_ended(waiting);
    assert_eq!(done.status, 0, "{}", done.stderr);
    assert_eq!(recorded(&directory), 1);
}

/// From the first budget to the page that the board reads.
#[test]
fn the_day_of_a_custodian() {
    let directory = directory(900, "0.1");
    let ledger = |args: &[&str]| directory.run(&[&["ledger"], args].concat());
    directory.ok(&["ledger", "limit", "budget.db", "--dataset", "wages", "--analyst", "Ada", "--rho", "0.03"]);
    spend_refused(&directory, "0.01", &[], 2, "must name its analyst");
    spend_refused(&directory, "0.04", &["--analyst", "Ada"], 1, "Ada may spend 0.03 more of 'wages'");
    let said = ["--analyst", "Ada", "--stated-purpose", "annual report", "--note", "table 3"];
    let check = [&["ledger", "check"], &spend("0.01", &said)[1..]].concat();
    let sound = directory.ok(&check);
    assert!(sound.stdout.contains("Nothing speaks against this fit"), "{}", sound.stdout);
    assert_eq!(recorded(&directory), 0, "a check spends nothing");
    directory.ok(&spend("0.01", &said));
    directory.run(&check).assert_refused(1, "paid for before");
    let again = directory.ok(&spend("0.01", &said));
    assert!(
        again.stderr.contains("entry 3") && again.stderr.contains("has paid for the same plan"),
        "{}",
        again.stderr
    );
    directory.simulate("data.csv", 901);
    let other = directory.run(&check);
    other.assert_refused(1, "another table");
    assert!(other.stderr.contains("number of rows differ from those of entry 4"), "{}", other.stderr);
    assert_eq!(recorded(&directory), 2);

    let reversed = directory.ok(&["ledger", "reverse", "budget.db", "4", "--reason", "made twice"]);
    assert!(reversed.stderr.contains("what was spent stays spent"), "{}", reversed.stderr);
    ledger(&["reverse", "budget.db", "4", "--reason", "again"]).assert_refused(1, "reversed before");
    let record = ["ledger", "record", "budget.db", "--dataset", "wages", "--rho", "0.01", "--what", "a histogram"];
    directory.ok(&[&record[..], &["--analyst", "ADA"]].concat());
    directory.ok(&["ledger", "backup", "budget.db", "copy.db"]);
    directory.ok(&["ledger", "verify", "budget.db", "--against", "copy.db"]);
    let shown = directory.ok(&["ledger", "show", "budget.db", "--json", "-"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!([&shown["spent"], &shown["left"]], [0.03, 0.07]);
    assert_eq!(shown["analysts"][0], serde_json::json!({ "analyst": "Ada", "spent": 0.03, "limit": 0.03 }));
    let fit = &shown["entries"][2];
    assert_eq!([&fit["analyst"], &fit["purpose"], &fit["note"]], ["Ada", "annual report", "table 3"]);
    let reversal = &shown["entries"][4];
    assert!(reversal["about"] == 4 && reversal["text"] == "made twice" && reversal["rho"] == 0.0, "{reversal}");
    let text = directory.ok(&["ledger", "show", "budget.db"]).stdout;
    assert!(text.contains("by Ada; annual report; table 3; reversed by entry 5"), "{text}");
    directory.ok(&["ledger", "report", "budget.db", "--out", "page.html"]);
    assert!(directory.read("page.html").contains("a mistake, by entry 5: made twice"));
    ledger(&["report", "budget.db", "--out", "budget.db"]).assert_refused(2, "the ledger itself");
}

fn spend_refused(directory: &Directory, rho: &str, more: &[&str], status: i32, sentence: &str) {
    let done = directory.run(&spend(rho, more));
    done.assert_refused(status, sentence);
    assert!(done.stderr.contains(sentence), "{}", done.stderr);
    assert_eq!(recorded(directory), 0, "{sentence}");
}

/// The variable names an analyst where the command does not.
#[test]
fn the_environment_names_the_analyst() {
    let directory = directory(900, "0.1");
    let fit = |more: &[&str]| {
        let done = Done::when_ended(directory.start_limited("export DPLM_ANALYST=Grace", &spend("0.01", more)));
        assert_eq!(done.status, 0, "{}", done.stderr);
    };
    fit(&[]);
    fit(&["--analyst", "Ada"]);
    let entries = Ledger::open(directory.path("budget.db")).expect("open").entries().expect("entries");
    let names: Vec<&str> = entries.iter().map(|entry| entry.attribution.analyst.as_str()).collect();
    assert_eq!(names, ["", "Grace", "Ada"]);
}
