//! What comes out when all is well.

use serde_json::Value;

use crate::common::{Chance, Directory, text_of};

const FIT: [&str; 5] = ["--formula", "y ~ x1 + x2 + 0", "--standardised", "--rho", "0.5"];
/// Every column of a file that declares their types.
const STANDARD: [&str; 3] = ["--formula", "y ~ .", "--standardised"];

#[test]
fn every_format_and_standard_input_give_the_same_fit() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 3000);
    let expected = directory.fit_json(&[&[csv.as_str()], &FIT[..]].concat());
    for name in ["sim.tsv", "sim.parquet", "sim.arrow"] {
        let file = directory.simulate(name, 3000);
        assert_eq!(directory.fit_json(&[&[file.as_str()], &FIT[..]].concat()), expected, "{name}");
    }
    let semicolons = directory.read("sim.csv").replace(',', ";").replace('.', ",");
    let file = directory.write("semicolons.csv", semicolons);
    let said = [file.as_str(), "--csv", "semicolon,decimal-comma"];
    let mut found = directory.fit_json(&[&said, &FIT[..]].concat());
    // How it was written is kept, for a second release.
    assert_eq!(found["fit"]["csv"].take(), "semicolon,decimal-comma");
    found["fit"]["csv"] = expected["fit"]["csv"].clone();
    assert!(found == expected, "the same fit");
    for name in ["sim.csv", "sim.arrow"] {
        let input = std::fs::read(directory.path(name)).expect("the file");
        let done = directory.run_with_input(&[&["fit", "-", "--json", "-", "--seed", "7"], &FIT[..]].concat(), &input);
        assert_eq!(serde_json::from_str::<Value>(&done.stdout).expect("JSON"), expected, "{name}");
    }
}

#[test]
fn threads_and_pieces_do_not_matter() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 20_000);
    let expected = directory.fit_json(&[&[csv.as_str(), "--threads", "1"], &FIT[..]].concat());
    for threads in ["2", "7"] {
        assert_eq!(directory.fit_json(&[&[csv.as_str(), "--threads", threads], &FIT[..]].concat()), expected);
    }
    // More rows than the memory allowed holds.
    assert_eq!(directory.fit_json(&[&[csv.as_str(), "--memory", "1MB"], &FIT[..]].concat()), expected);
    // The same rows in two files of a folder, in another order.
    let text = directory.read("sim.csv");
    let lines: Vec<&str> = text.lines().collect();
    std::fs::create_dir(directory.path("parts")).expect("a folder");
    let part = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    directory.write("parts/a.csv", part(&lines[12_000..]));
    directory.write("parts/b.csv", part(&lines[1..12_000]));
    assert_eq!(directory.fit_json(&[&["parts"], &FIT[..]].concat()), expected);
    assert_eq!(directory.fit_json(&[&["parts/*.csv"], &FIT[..]].concat()), expected);
    assert_eq!(directory.fit_json(&[&["parts/a.csv", "parts/b.csv"], &FIT[..]].concat()), expected);
}

/// The keys that programs rely on.
fn assert_schema(fit: &Value) {
    let number = |of: &Value, key: &str| of[key].as_f64().unwrap_or_else(|| panic!("{key} of {of}"));
    assert_eq!(fit["dplm"], env!("CARGO_PKG_VERSION"));
    assert!(fit["private"].is_boolean() && fit["warnings"].is_array() && fit["rows"].is_u64(), "{fit}");
    let guarantee = &fit["guarantee"];
    let (rho, guess) = (number(guarantee, "rho"), number(guarantee, "guess"));
    // The conversion is exact: below that of Bun and Steinke.
    let simple = rho + 2.0 * (rho * (1.0 / number(guarantee, "delta")).ln()).sqrt();
    let epsilon = number(guarantee, "epsilon");
    assert!(guarantee["definition"] == "zCDP" && rho > 0.0 && epsilon > rho && epsilon < simple, "{guarantee}");
    assert!(guess > 0.5 && guess < 1.0 && guarantee["releases"][0]["what"].is_string(), "{guarantee}");
    let method = &fit["method"];
    assert_eq!(method["name"], "dpgd");
    assert!(["clip", "steps", "step_size", "noise_sd"].iter().all(|key| number(method, key) > 0.0), "{method}");
    let level = number(fit, "level");
    for coefficient in fit["coefficients"].as_array().expect("a list") {
        let [low, estimate, high, error] = ["low", "estimate", "high", "std_error"].map(|key| number(coefficient, key));
        assert!(low < estimate && estimate < high && error > 0.0, "{coefficient}");
        // Student's t with any degrees of freedom reaches further than the Gaussian; at 90 and 95 %
        // that is 1.64 and 1.96.
        let least = if level < 0.95 { 1.64 } else { 1.95 };
        assert!(high - low > 2.0 * least * error, "{coefficient} at {level}");
    }
}

/// Units of 1e-15, as the decimal is written.
fn units(value: &Value) -> u128 {
    (value.as_f64().expect("a number") * 1e15).round() as u128
}

#[test]
fn the_json_of_a_fit() {
    let directory = Directory::new();
    let data = directory.simulate("sim.parquet", 5000);
    let done =
        directory
            .ok(&[&["fit", &data, "--delta", "1e-7", "--json", "fit.json"], &STANDARD[..], &["--rho", "0.137"]]
                .concat());
    let fit: Value = serde_json::from_str(&directory.read("fit.json")).expect("JSON");
    assert_schema(&fit);
    assert_eq!(fit["private"], true);
    assert_eq!(fit["rows"], 5000);
    assert_eq!(fit["guarantee"]["definition"], "zCDP");
    assert_eq!(fit["guarantee"]["neighbours"], "replace-one");
    assert_eq!(fit["guarantee"]["rho"], 0.137);
    assert_eq!(fit["guarantee"]["delta"], 1e-7);
    assert_eq!(fit["interval"], "newton");
    assert_eq!(fit["target"], "population");
    assert_eq!(fit["coefficients"][0]["name"], "(Intercept)");
    let releases = fit["guarantee"]["releases"].as_array().expect("a list");
    assert_eq!(releases.iter().map(|release| units(&release["rho"])).sum::<u128>(), units(&fit["guarantee"]["rho"]));
    assert!(done.stdout.contains("Coefficients:") && done.stdout.contains("(Intercept)"));
    // Not on a screen, so the warnings are told apart from the result.
    assert!(done.stderr.lines().all(|line| line.starts_with("dplm: warning: ")), "{}", done.stderr);
    assert!(done.stderr.contains("not checked"), "{}", done.stderr);
}

#[test]
fn every_interval_method_releases_exactly_rho() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 2000);
    let cases: [&[&str]; 7] = [
        &["--interval", "newton", "--target", "sample"],
        &["--interval", "newton", "--target", "robust"],
        &["--interval", "batched", "--batches", "5", "--burn-in", "10", "--steps", "100"],
        &["--interval", "checkpoints"],
        &["--interval", "independent", "--batches", "3", "--steps", "40"],
        &["--neighbours", "zero-out", "--level", "0.9"],
        &["--clip", "4", "--steps", "30", "--step-size", "0.5"],
    ];
    for options in cases {
        let fit = directory.fit_json(&[&[csv.as_str()], &FIT[..], options].concat());
        assert_schema(&fit);
        let releases = fit["guarantee"]["releases"].as_array().expect("a list");
        assert_eq!(
            releases.iter().map(|release| units(&release["rho"])).sum::<u128>(),
            units(&fit["guarantee"]["rho"]),
            "{options:?}"
        );
        for pair in options.chunks(2) {
            let found = match pair[0] {
                "--interval" => &fit["interval"],
                "--target" => &fit["target"],
                "--neighbours" => &fit["guarantee"]["neighbours"],
                "--level" => &fit["level"],
                "--clip" => &fit["method"]["clip"],
                "--steps" => &fit["method"]["steps"],
                "--step-size" => &fit["method"]["step_size"],
                _ => continue,
            };
            let typed: Value = serde_json::from_str(pair[1]).unwrap_or_else(|_| pair[1].into());
            assert!(*found == typed || found.as_f64() == typed.as_f64() && found.is_number(), "{options:?}: {found}");
        }
    }
}

#[test]
fn epsilon_and_delta_are_kept() {
    let directory = Directory::new();
    let data = directory.simulate("sim.parquet", 2000);
    let fit = directory.fit_json(&[&[data.as_str()], &STANDARD[..], &["--epsilon", "1", "--delta", "1e-6"]].concat());
    assert_eq!(
        directory.fit_json(&[&[data.as_str()], &STANDARD[..], &["--epsilon", "1"]].concat()),
        fit,
        "1e-6 is the default"
    );
    let promised = fit["guarantee"]["epsilon"].as_f64().expect("a number");
    assert!(promised <= 1.0 && promised > 0.999_999, "{promised}");
    assert!((fit["guarantee"]["rho"].as_f64().expect("a number") - 0.02801).abs() < 1e-5);
}

#[test]
fn a_seed_makes_it_reproducible_and_says_so() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 2000);
    // Sentences may be broken anywhere.
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let summary = |options: &[&str]| words(directory.ok(&[&["fit", csv.as_str()], &FIT[..], options].concat()).stdout);
    assert_eq!(summary(&["--seed", "3"]), summary(&["--seed", "3"]));
    assert_ne!(summary(&["--seed", "3"]), summary(&["--seed", "4"]));
    assert_ne!(summary(&[]), summary(&[]));
    assert!(summary(&["--seed", "3"]).contains("not private") && !summary(&[]).contains("not private"));
    assert_eq!(directory.fit_json(&[&[csv.as_str()], &FIT[..]].concat())["private"], false);
}

/// The iterates have no room for it, so it is said beside them, asked to be quiet or not.
#[test]
fn a_seed_is_never_passed_over_in_silence() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 2000);
    let fit = [&["fit", csv.as_str(), "--quiet", "--steps", "3"], &FIT[..]].concat();
    for output in ["--trajectory", "--json"] {
        let seeded = directory.ok(&[&fit[..], &[output, "-", "--seed", "3"]].concat());
        assert!(seeded.stderr.starts_with("dplm: warning: the noise came from a fixed seed"), "{}", seeded.stderr);
        assert_eq!(seeded.stderr.lines().count(), 1);
        assert_eq!(directory.ok(&[&fit[..], &[output, "-"]].concat()).stderr, "");
    }
    let path = directory.ok(&[&fit[..], &["--trajectory", "-", "--seed", "3"]].concat()).stdout;
    assert_eq!((path.lines().next(), path.lines().count()), (Some("step,x1,x2"), 5));
}

/// Rho 0.02 is epsilon 0.834118, and a guess of 53.98 %.
#[test]
fn what_is_promised_is_rounded_up_and_true() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 2000);
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let fit = |more: &[&str]| {
        directory
            .ok(&[&["fit", csv.as_str(), "--rho", "0.02", "--report", "fit.html"], &FIT[..3], more].concat())
            .stdout
    };
    let two_rows = "guesses which of two equally likely rows was in the data correctly at most 54.0 % of the time";
    let factor =
        "changes the probability that the result is among them by at most the factor e^0.8342 (about 2.31), plus 1e-6.";
    let summary = words(fit(&[]));
    assert!(summary.contains("(0.8342, 1e-6)") && summary.contains(factor) && summary.contains(two_rows), "{summary}");
    let page = words(directory.read("fit.html"));
    assert!(page.contains(factor) && page.contains(two_rows) && page.contains("&epsilon; = 0.8342 at"), "{page}");
    let summary = words(fit(&["--neighbours", "zero-out"]));
    assert!(
        summary.contains("whether a row contributed or not, both equally likely, correctly at most 54.0 %"),
        "{summary}"
    );
    assert!(
        summary.contains("removing the contribution of any one row of the data changes the probability"),
        "{summary}"
    );
    let plan = words(directory.ok(&["plan", "--rows", "2000", "--features", "2", "--rho", "0.02"]).stdout);
    assert!(plan.contains("(0.8342, 1e-6)") && plan.contains(two_rows), "{plan}");
    assert!(plan.contains("0.02 0.8342 54.0 %"), "{plan}");
    for text in [summary, page, plan] {
        assert!(!text.contains("0.8341") && !text.contains("odds") && !text.contains("except with"), "{text}");
    }
}

#[test]
fn predictions_have_no_intervals() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 2000);
    let fit = directory.fit_json(&[&[csv.as_str(), "--for", "prediction"], &FIT[..]].concat());
    for coefficient in fit["coefficients"].as_array().expect("a list") {
        assert!(coefficient["estimate"].is_number() && coefficient["low"].is_null() && coefficient["high"].is_null());
    }
    assert_eq!(fit["guarantee"]["releases"].as_array().expect("a list").len(), 2);
}

#[test]
fn the_released_iterates() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 2000);
    directory.ok(&[&["fit", csv.as_str(), "--steps", "12", "--trajectory", "path.csv"], &FIT[..]].concat());
    let text = directory.read("path.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[1], lines.len()), ("step,x1,x2", "0,0,0", 14));
    assert!(lines[13].starts_with("12,"));
}

#[test]
fn quiet_says_nothing_beside_the_result() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 2000);
    let done = directory.ok(&[&["fit", csv.as_str(), "--quiet"], &FIT[..]].concat());
    assert_eq!(done.stderr, "");
    assert!(done.stdout.contains("Coefficients:"));
    let done = directory.ok(&["simulate", "--rows", "5", "--features", "1", "--out", "q.csv", "--quiet"]);
    assert_eq!(done.stderr, "");
    directory.run(&[&["fit", "none.csv", "--quiet"], &FIT[..]].concat()).assert_refused(1, "still says why");
}

#[test]
fn simulated_data() {
    let directory = Directory::new();
    let simulate = |seed: &str, out: &str| {
        directory
            .ok(&[
                "simulate",
                "--rows",
                "2000",
                "--features",
                "3",
                "--design",
                "anisotropic",
                "--errors",
                "student",
                "--seed",
                seed,
                "--out",
                out,
            ])
            .stdout
    };
    let first = simulate("1", "a.csv");
    assert_eq!(first, simulate("1", "b.csv"));
    assert_eq!(directory.read("a.csv"), directory.read("b.csv"));
    assert_ne!(first, simulate("2", "c.csv"));
    assert_eq!(directory.read("a.csv").lines().next(), Some("x1,x2,x3,y"));
    assert_eq!(directory.read("a.csv").lines().count(), 2001);
    let theta: Vec<f64> = first
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().nth(1).expect("a number").parse().expect("a number"))
        .collect();
    assert!((theta.iter().map(|one| one * one).sum::<f64>() - 1.0).abs() < 1e-12);
    let done = directory.ok(&[
        "simulate",
        "--rows",
        "4",
        "--features",
        "2",
        "--theta",
        "3,-4",
        "--noise-sd",
        "0",
        "--out",
        "-",
    ]);
    for line in done.stdout.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
        assert_eq!(cells[2], 3.0 * cells[0] - 4.0 * cells[1]);
    }
    assert!(done.stderr.contains("3, -4"));
}

#[test]
fn a_diagnosis() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 4000);
    // A clip so wide that nothing is clipped: then the law is exact.
    let options = ["--not-private", "--seed", "2", "--clip", "200", "--json", "all.json"];
    let done = directory.ok(&[&["diagnose", csv.as_str()], &FIT[..], &options[..]].concat());
    assert!(done.stdout.starts_with("NOT PRIVATE"));
    let all: Value = serde_json::from_str(&directory.read("all.json")).expect("JSON");
    assert_eq!((&all["private"], &all["fit"]["private"]), (&Value::Bool(false), &Value::Bool(false)));
    let ols = &all["least_squares"];
    assert_eq!((&ols["rows"], &ols["degrees_of_freedom"]), (&4000.into(), &3998.into()));
    assert!((ols["residual_sd"].as_f64().expect("a number") - 1.0).abs() < 0.1);
    for at in all["clipped"].as_array().expect("a list") {
        assert_eq!(at["fraction"], 0.0);
    }
    let condition = &all["no_clipping"];
    assert_eq!(condition["items"].as_array().expect("a list").len(), 4);
    assert_eq!(condition["spectrum_holds"], true);
    assert_eq!(condition["holds_at_paper_c0"], true);
    // The law itself: beyond 1e-6 would be a false alarm once in a million seeds.
    assert!(all["iterates"]["p_value"].as_f64().expect("a number") > 1e-6);
    for (law, ols) in all["iterates"]["coefficients"]
        .as_array()
        .expect("a list")
        .iter()
        .zip(ols["coefficients"].as_array().expect("a list"))
    {
        let (limit, estimate) = (law["limit"].as_f64().expect("a number"), ols["estimate"].as_f64().expect("a number"));
        assert!((limit - estimate).abs() < 1e-3, "rounding to the lattice is far below the noise: {limit} {estimate}");
    }
}

#[test]
fn a_diagnosis_of_clipped_rows() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 4000);
    // Private noise beside what is not private: the whole is not.
    let done = directory.ok(&[&["diagnose", csv.as_str(), "--not-private", "--json", "-"], &FIT[..]].concat());
    let all: Value = serde_json::from_str(&done.stdout).expect("JSON");
    assert_eq!((&all["private"], &all["fit"]["private"]), (&Value::Bool(false), &Value::Bool(false)));
    assert!(done.stderr.contains("do not publish"));
    // The start explains nothing, so more rows are clipped there than near the optimum, noise or
    // not.
    let clipped: Vec<f64> = all["clipped"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|at| at["fraction"].as_f64().expect("a number"))
        .collect();
    assert!(clipped[0] > 1.3 * clipped[clipped.len() - 1] && clipped[clipped.len() - 1] > 0.0, "{clipped:?}");
}

#[test]
fn a_diagnosis_says_what_is_missing() {
    let directory = Directory::new();
    let rows: String = (0..300).map(|i| format!("{},{}\n", (i * 7) % 11, ["a", "b"][i % 2])).collect();
    let data = directory.write("data.csv", format!("y,g\n{rows}"));
    let done = directory.ok(&["diagnose", &data, "--formula", "y[0..11] ~ g{a,b,c}", "--not-private"]);
    assert!(done.stdout.contains("Not available: 'g[c]'"), "{}", done.stdout);
    assert!(done.stdout.contains("clipped"));
}

#[test]
fn a_plan() {
    let directory = Directory::new();
    let options = ["plan", "--rows", "10000", "--features", "10", "--rho", "0.015"];
    let text = directory.ok(&options).stdout;
    assert!(text.contains("This fit") && text.contains("<- asked"), "{text}");
    // A clip far too wide is worth a recommendation.
    assert!(directory.ok(&[&options[..], &["--clip", "50"]].concat()).stdout.contains("Recommended"));
    directory.ok(&[&options[..], &["--json", "plan.json", "--picture", "plan.svg"]].concat());
    let plan: Value = serde_json::from_str(&directory.read("plan.json")).expect("JSON");
    let number = |value: &Value| value.as_f64().expect("a number");
    assert!((number(&plan["classical"]["std_error"]) - 0.01).abs() < 1e-12);
    assert!((number(&plan["epsilon"]) - 0.7147).abs() < 1e-4);
    assert!((number(&plan["guess"]) - 0.534_506_276).abs() < 1e-9);
    assert!(number(&plan["recommended"]["std_error"]) <= number(&plan["fit"]["std_error"]));
    let lengths: Vec<f64> =
        plan["budgets"].as_array().expect("a list").iter().map(|at| number(&at["length"])).collect();
    assert!(lengths.windows(2).all(|pair| pair[1] < pair[0]), "a larger budget gives a shorter interval: {lengths:?}");
    // At the budget found for the share, the share is what was asked.
    let rho = plan["share"]["rho"].to_string();
    let there = directory.ok(&["plan", "--rows", "10000", "--features", "10", "--rho", &rho, "--json", "-"]).stdout;
    let there: Value = serde_json::from_str(&there).expect("JSON");
    let share = number(&there["fit"]["privacy_error"]) / number(&there["fit"]["sampling_error"]);
    assert!((share - 0.5).abs() < 0.02, "{share}");
    let svg = directory.read("plan.svg");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"));
}

/// A plan for a model: the errors that fits of rows as assumed then have, within the quarter that a
/// plan may be off; what will be left out; a budget for a wanted error.
#[test]
fn a_plan_for_a_model_is_kept_by_its_fits() {
    let directory = Directory::new();
    let mut chance = Chance(7);
    let rows: String = (0..20_000)
        .map(|_| {
            let (x, group) = (chance.normal(), if chance.uniform() < 0.3 { "b" } else { "a" });
            let z = 0.6 * x + 0.8 * chance.normal();
            let y = 2.0 + x - 0.5 * z + f64::from(group == "b") + chance.normal();
            format!("{y},{x},{z},{group},{}\n", 500.0 + 1e-4 * chance.normal())
        })
        .collect();
    let data = directory.write("data.csv", format!("y,x,z,g,flat\n{rows}"));
    let formula = "y[-10..15] ~ x[-5..5] + z[-4..4] + g{a,b} + flat[0..1000]";
    let assumed = ["x sd 1", "z sd 1", "g shares 0.7 0.3", "flat sd 0.0001", "errors sd 1", "correlation 0.6"];
    let assumptions = assumed.iter().flat_map(|text| ["--assume", text]);
    let questions = ["--want", "x 0.011", "--effect", "x 0.1", "--json", "-"];
    let options: Vec<&str> = ["plan", "--formula", formula, "--rows", "20000", "--rho", "0.05"]
        .into_iter()
        .chain(assumptions)
        .chain(questions)
        .collect();
    let plan: Value = serde_json::from_str(&directory.ok(&options).stdout).expect("JSON");
    let fit = directory.fit_json(&[&data, "--formula", formula, "--rho", "0.05"]);
    assert_eq!(plan["method"], fit["method"]["name"]);
    assert_eq!(plan["left_out"][0]["name"], "flat");
    assert_eq!(fit["left_out"][0], "flat");
    for (promised, found) in
        plan["coefficients"].as_array().unwrap().iter().zip(fit["coefficients"].as_array().unwrap())
    {
        assert_eq!(promised["name"], found["name"]);
        assert_eq!(promised["identified"], found["identified"], "{promised} {found}");
        if let (Some(promised), Some(error)) = (promised["std_error"].as_f64(), found["std_error"].as_f64()) {
            assert!((0.8..1.25).contains(&(promised / error)), "{promised} {found}");
        }
    }
    let wanted = plan["wants"][0]["rho"].as_f64().expect("a budget does");
    let effect = plan["effects"][0]["significant"].as_f64().expect("identified");
    assert!((0.001..0.05).contains(&wanted) && effect > 0.9, "{wanted} {effect}");
}

#[test]
fn a_standard_error_alone_finds_its_budget() {
    let directory = Directory::new();
    let number = |value: &Value| value.as_f64().expect("a number");
    let asked = ["plan", "--formula", "y[0..100] ~ x[0..20]", "--rows", "10000", "--want"];
    let plan: Value =
        serde_json::from_str(&directory.ok(&[&asked[..], &["x 0.08", "--json", "-"]].concat()).stdout).expect("JSON");
    let (rho, enough) = (number(&plan["rho"]), number(&plan["wants"][0]["rho"]));
    assert!(rho >= enough && rho < 1.11 * enough, "{rho} {enough}");
    assert!(number(&plan["coefficients"][1]["std_error"]) <= 0.08);
    let text = directory.ok(&[&asked[..], &["x 0.08"]].concat()).stdout;
    assert!(text.contains("Standard errors at other budgets") && !text.contains("half ranges"), "{text}");
    let never = directory.run(&[&asked[..], &["x 0.01"]].concat());
    never.assert_refused(2, "sampling alone makes more");
    assert!(never.stderr.contains("at no budget has 'x'"), "{}", never.stderr);
}

/// A dry run looks at no cell: tables of as many rows have the same plan. It spends nothing, and
/// refuses what the fit would refuse.
#[test]
fn a_dry_run_spends_nothing_and_looks_at_no_cell() {
    let directory = Directory::new();
    let table = |cell: &dyn Fn(u32) -> String| {
        let rows: String = (0..3000).map(|i| format!("{},{}\n", cell(i), i % 7)).collect();
        format!("y,x\n{rows}")
    };
    let data = directory.write("data.csv", table(&|i| (i % 11).to_string()));
    let other = directory.write("other.csv", table(&|_| "NA".to_owned()));
    directory.ok(&["ledger", "init", "budget.db", "--dataset", "d", "--rho", "1"]);
    let dry = |data: &str, rho: &str| {
        let pay = ["--ledger", "budget.db", "--dataset", "d"];
        let fit = ["fit", data, "--formula", "y[0..11] ~ x[0..7]", "--rho", rho, "--dry-run"];
        directory.run(&[&fit[..], &pay].concat())
    };
    let done = dry(&data, "0.5");
    assert_eq!((done.status, &dry(&other, "0.5").stdout), (0, &done.stdout), "{}", done.stderr);
    let words = ["3,000 rows", "Std. error", "would cost rho = 0.5", "Nothing was spent"];
    assert!(words.iter().all(|words| done.stdout.contains(words)), "{}", done.stdout);
    let left: Value =
        serde_json::from_str(&directory.ok(&["ledger", "show", "budget.db", "--json", "-"]).stdout).unwrap();
    assert_eq!(left["spent"].as_f64(), Some(0.0));
    assert_eq!(dry(&data, "2").status, 1, "more than the ledger has");
    assert_ne!(dry(&data, "0.000001").status, 0, "a budget that could only be noise");
}

#[test]
fn a_plan_is_what_a_fit_does() {
    let directory = Directory::new();
    directory.ok(&["simulate", "--rows", "10000", "--features", "10", "--seed", "1", "--out", "sim.parquet"]);
    let fit = directory.fit_json(&["sim.parquet", "--formula", "y ~ . + 0", "--standardised", "--rho", "0.015"]);
    let plan = directory.ok(&["plan", "--rows", "10000", "--features", "10", "--rho", "0.015", "--json", "-"]).stdout;
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    for key in ["clip", "steps", "step_size"] {
        assert_eq!(plan["fit"][key], fit["method"][key], "{key}");
    }
    // The shares a plan assumes are those a fit spends.
    let spent: Vec<f64> = fit["guarantee"]["releases"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["rho"].as_f64().expect("a number"))
        .collect();
    let planned = plan["releases"].as_array().expect("a list");
    assert_eq!(spent.len(), planned.len());
    for (spent, part) in spent.iter().zip(planned) {
        assert!((spent / 0.015 - part["share"].as_f64().expect("a number")).abs() < 1e-9, "{spent} {part}");
    }
    let mean = |value: &Value| {
        let errors: Vec<f64> =
            value.as_array().expect("a list").iter().map(|one| one["std_error"].as_f64().expect("a number")).collect();
        errors.iter().sum::<f64>() / errors.len() as f64
    };
    let ratio = mean(&fit["coefficients"]) / plan["fit"]["std_error"].as_f64().expect("a number");
    assert!((0.85..1.2).contains(&ratio), "expected and found standard errors: {ratio}");
}

#[test]
fn the_demo() {
    let done = Directory::new().ok(&["demo"]);
    for part in ["1. The data", "2. The fit", "Guarantee", "3. How good it is", "4. What to try next", "Least squares"]
    {
        assert!(done.stdout.contains(part), "{part}");
    }
    assert_eq!(done.stderr, "");
}

/// The command that a page prints makes the page's fit again, to the last digit where the noise is
/// the same. A target that was not asked for is not in it: a fit for the population at any price is
/// another one.
#[cfg(unix)]
#[test]
fn the_command_of_a_page_makes_its_fit_again() {
    let directory = Directory::new();
    let rows: String = (0..3000u32)
        .map(|i| format!("{},5;{},25;{};{}\n", 2 * (i * 37 % 101) + i * 7919 % 13, i * 37 % 101, i / 2, i % 4))
        .collect();
    directory.write("semicolons.csv", format!("y;x;id;w\n{rows}"));
    directory.write("rows.csv", format!("y;x;id;w\n{rows}").replace(',', ".").replace(';', ","));
    let model = ["--formula", "y[0..250] ~ x[0..110]", "--rho", "2", "--json", "fit.json", "--report", "page.html"];
    for options in [
        &["rows.csv"][..],
        &["rows.csv", "--target", "population", "--level", "0.9"],
        &["rows.csv", "--target", "robust", "--delta", "1e-8", "--neighbours", "zero-out"],
        &["rows.csv", "--person", "id", "--rows-per-person", "2"],
        &["rows.csv", "--weights", "w[0..4]", "--purpose", "prediction"],
        &["rows.csv", "--method", "dpgd", "--interval", "batched", "--batches", "5", "--burn-in", "7"],
        &["rows.csv", "--method", "dpgd", "--clip", "3", "--steps", "40"],
        &["semicolons.csv", "--csv", "semicolon,decimal-comma"],
    ] {
        directory.ok(&[&["fit"], options, &model, &["--seed", "3"]].concat());
        let (page, fit) = (directory.read("page.html"), directory.read("fit.json"));
        let (_, after) = page.split_once("<pre><code>dplm fit DATA ").expect("a command");
        let command = after.split_once("</code>").expect("its end").0;
        let command = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
            .iter()
            .fold(command.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain));
        let again = format!("dplm fit {} {command} --seed 3 --json again.json --report again.html", options[0]);
        let done = directory.run_in_shell(&again);
        assert_eq!(done.status, 0, "{again}: {}", done.stderr);
        assert!(directory.read("again.json") == fit, "{again}");
        assert!(directory.read("again.html") == page, "{again}");
    }
}

#[test]
fn help_reads_well() {
    let directory = Directory::new();
    for command in [
        &[][..],
        &["demo"],
        &["fit"],
        &["test"],
        &["predict"],
        &["plan"],
        &["simulate"],
        &["diagnose"],
        &["init"],
        &["completions"],
        &["man"],
        &["export"],
        &["ledger"],
        &["ledger", "check"],
        &["ledger", "limit"],
        &["ledger", "record"],
        &["ledger", "reverse"],
        &["ledger", "report"],
        &["ledger", "backup"],
        &["ledger", "verify"],
    ] {
        let help = directory.ok(&[command, &["--help"]].concat()).stdout;
        assert!(help.contains("Usage: dplm"), "{command:?}");
        for line in help.lines() {
            assert!(line.chars().count() <= 120, "{command:?}: {line}");
        }
    }
    assert!(directory.ok(&["--version"]).stdout.starts_with("dplm "));
    let bare = directory.run(&[]);
    assert_eq!(bare.status, 2);
    assert!(bare.stderr.contains("Usage: dplm"));
}

#[test]
fn shells_complete_commands_and_options() {
    let directory = Directory::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = directory.ok(&["completions", shell]).stdout;
        assert!(script.contains("--rows-per-person") || script.contains("-l rows-per-person"), "{shell}");
        assert!(script.contains("simulate"), "{shell}");
    }
    directory.run(&["completions", "abacus"]).assert_refused(2, "no shell");
}

#[test]
fn a_fit_in_place_of_an_old_one() {
    let directory = Directory::new();
    let csv = directory.simulate("sim.csv", 2000);
    let json = directory.path("fit.json");
    std::fs::write(&json, "old").expect("written");
    directory.ok(&[&["fit", csv.as_str(), "--json", text_of(&json)], &FIT[..]].concat());
    assert!(directory.read("fit.json").starts_with('{'));
    assert_eq!(directory.names(), ["fit.json", "sim.csv"]);
}
