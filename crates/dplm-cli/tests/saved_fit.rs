//! What may be asked of a saved fit: tests and predictions. Neither reads the data of the fit.

use serde_json::Value;

use crate::common::{Directory, MARKER};

const FORMULA: &str = "y[0..100] ~ x[0..10] + `z, 1`[0..1] + g{a,b,c}";

/// A directory with `fit.json` in it and its data gone.
fn fitted() -> Directory {
    let directory = Directory::new();
    let mut text = "y,x,\"z, 1\",g\n".to_owned();
    for i in 0..4000u32 {
        let (x, z, level) = (f64::from(i * 37 % 101) / 10.1, f64::from(i * 53 % 97) / 97.0, i % 3);
        let y = 20.0 + 4.0 * x + if level == 1 { 10.0 } else { 0.0 } + f64::from((i * 7919) % 13) - 6.0;
        text += &format!("{y},{x},{z},{}\n", ["a", "b", "c"][level as usize]);
    }
    directory.write("rows.csv", text);
    directory.ok(&["fit", "rows.csv", "-f", FORMULA, "--rho", "0.5", "--seed", "5", "--json", "fit.json"]);
    std::fs::remove_file(directory.path("rows.csv")).expect("removed");
    directory
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn hypotheses_are_tested_alone_and_together() {
    let directory = fitted();
    let asked = ["test", "fit.json", "x = 0", "`z, 1` = 0, g[c] = 0", "2*x - g[b] = -2", "--level", "0.9"];
    let text = directory.ok(&asked).stdout;
    for words in
        ["Linear hypotheses:", "t value", "5 %", "Joint hypotheses:", "Pr(>Chisq)", "`z, 1` = 0, g[c] = 0", "<0.001"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.ends_with(".\n") && text.contains("These tests are about the robust (Huber) coefficients"), "{text}");
    let found = json(&directory.ok(&[&asked[..], &["--json", "-"]].concat()).stdout);
    let fit = json(&directory.read("fit.json"));
    let (x, tests) = (&fit["coefficients"][1], &found["tests"]);
    assert_eq!(found["level"], 0.9);
    let close = |a: &Value, b: &Value| (a.as_f64().unwrap() / b.as_f64().unwrap() - 1.0).abs() < 1e-9;
    assert!(["estimate", "statistic", "std_error"].iter().all(|key| close(&tests[0][key], &x[key])), "{tests} {x}");
    assert_eq!((&tests[0]["null"], &tests[0]["identified"]), (&Value::from(0.0), &Value::from(true)));
    assert!(tests[0]["low"].as_f64() > x["low"].as_f64(), "a lower level is a shorter interval");
    let joint = &tests[1];
    assert_eq!((&joint["df"], &joint["distribution"]), (&Value::from(2), &Value::from("chi-square")));
    assert_eq!(joint["equations"], serde_json::json!(["`z, 1` = 0", "g[c] = 0"]));
    assert!((0.0..=1.0).contains(&joint["p_value"].as_f64().unwrap()) && joint["statistic"].as_f64().unwrap() >= 0.0);
    assert_eq!(tests[2]["null"], -2.0);
}

#[test]
fn what_the_budget_cannot_tell_has_no_number() {
    let directory = Directory::new();
    directory.write("rows.csv", "y,x,g\n1,1,a\n2,2,a\n3,3,a\n".repeat(300));
    directory.ok(&[
        "fit",
        "rows.csv",
        "-f",
        "y[0..9] ~ x[0..9] + g{a,d}",
        "--rho",
        "1",
        "--seed",
        "1",
        "--json",
        "one.json",
    ]);
    let found = directory.ok(&["test", "one.json", "g[d] = 0", "g[d] = 0, x = 0"]).stdout;
    assert_eq!(found.matches("not identified at this budget").count(), 2, "{found}");
    let found = json(&directory.ok(&["test", "one.json", "g[d] = 0", "--json", "-"]).stdout);
    assert_eq!((&found["tests"][0]["p_value"], &found["tests"][0]["identified"]), (&Value::Null, &Value::from(false)));
}

#[test]
fn senseless_questions_are_refused() {
    let directory = fitted();
    directory.write("new.csv", "x,\"z, 1\",g\n".to_owned() + &"1,0.5,a\n2,0.7,b\n".repeat(200));
    directory.ok(&[
        "fit",
        "new.csv",
        "-f",
        "x[0..9] ~ `z, 1`[0..9]",
        "--rho",
        "1",
        "--seed",
        "1",
        "--for",
        "prediction",
        "--json",
        "bare.json",
    ]);
    for (args, status, words) in [
        (&["test", "fit.json", "age = 0"][..], 2, "no coefficient is named 'age'"),
        (&["test", "fit.json", "x = 0, x = 0"], 2, "repeat or contradict"),
        (&["test", "fit.json", "x ="], 2, "(at character 4)"),
        (&["test", "fit.json", "x", "--level", "2"], 2, "between 0 and 1"),
        (&["test", "none.json", "x"], 1, "could not be read"),
        (&["test", "new.csv", "x"], 1, "this is not a fit"),
        (&["test", "bare.json", "(Intercept)"], 2, "released nothing to make intervals from"),
        (&["test", "fit.json", "x", "--json", "out.csv"], 2, "would hold JSON"),
        (&["predict", "fit.json"], 2, "were not provided"),
        (&["predict", "fit.json", "new.csv", "--over", "x"], 2, "cannot be used with"),
        (&["predict", "fit.json", "new.csv", "--at", "x=1"], 2, "cannot be used with"),
        (&["predict", "fit.json", "new.csv", "--simultaneous"], 2, "cannot be used with"),
        (&["predict", "fit.json", "new.csv", "--out", "new.csv"], 2, "would be overwritten"),
        (&["predict", "fit.json", "new.csv", "--out", "fit.json"], 2, "would be overwritten"),
        (&["predict", "bare.json", "new.csv", "--person-interval"], 2, "no residual standard deviation"),
        (&["predict", "bare.json", "new.csv"], 2, "released nothing to make intervals from"),
        (&["predict", "fit.json", "--over", "y"], 2, "the model has no predictor 'y': its predictors are 'x'"),
        (
            &["predict", "fit.json", "--over", "x", "--at", "g=d"],
            2,
            "'d' is not a level of 'g': its levels are 'a', 'b', 'c'",
        ),
        (&["predict", "fit.json", "--over", "g", "--at", "x=high"], 2, "'x' holds numbers, but 'high' is not one"),
        (&["predict", "fit.json", "--over", "g", "--at", "g=a"], 2, "cannot be held"),
        (&["predict", "fit.json", "--over", "g", "--at", "x"], 2, "COLUMN=VALUE"),
    ] {
        let done = directory.run(args);
        done.assert_refused(status, &args.join(" "));
        assert!(done.stderr.contains(words), "{args:?}: {}", done.stderr);
    }
}

/// Predictions of a few tens are printed with seven digits.
const DIGITS: f64 = 2e-5;

/// The numbers of a line; empty for an empty line.
fn numbers(line: &str) -> Vec<Option<f64>> {
    line.split(',').map(|cell| (!cell.is_empty()).then(|| cell.parse().expect("a number"))).collect()
}

#[test]
fn new_rows_are_predicted_from_any_format() {
    let directory = fitted();
    directory.write("new.csv", format!("g,x,\"z, 1\"\nb,2,0\na,{MARKER},0\na,,0\n"));
    let found = directory.ok(&["predict", "fit.json", "new.csv"]).stdout;
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!((lines[0], lines.len()), ("estimate,std_error,low,high", 4));
    let fit = json(&directory.read("fit.json"));
    let b: Vec<f64> = (0..5).map(|j| fit["coefficients"][j]["estimate"].as_f64().expect("identified")).collect();
    let first: Vec<f64> = numbers(lines[1]).into_iter().map(|number| number.expect("there")).collect();
    assert!((first[0] - (b[0] + 2.0 * b[1] + b[3])).abs() < DIGITS && first[2] < first[0] && first[0] < first[3]);
    let second = numbers(lines[2])[0].expect("there");
    assert!((second - (b[0] + 10.0 * b[1])).abs() < DIGITS, "moved to the bound");
    assert_eq!(numbers(lines[3]), [None; 4], "a cell is missing");
    directory.write("new.tsv", "g\tx\tz, 1\nb\t2\t0\n");
    directory.ok(&["predict", "fit.json", "new.tsv", "--level", "0.99", "--out", "out.csv"]);
    let wide = directory.read("out.csv").lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(numbers(&wide[1])[2].unwrap() < first[2] && numbers(&wide[1])[0].unwrap() == first[0]);
    directory.write("semi.csv", "g;x;z, 1\nb;2,0;0\n");
    let semicolons = directory.ok(&["predict", "fit.json", "semi.csv", "--csv", "semicolon,decimal-comma"]).stdout;
    assert_eq!(semicolons.lines().nth(1), Some(lines[1]));
    directory.run(&["predict", "fit.json", "new.csv", "--strict"]).assert_refused(1, "a missing cell");
}

#[test]
fn a_column_is_followed_over_its_bounds_and_levels() {
    let directory = fitted();
    let band = directory.ok(&["predict", "fit.json", "--over", "x", "--at", "g=b", "--picture", "band.svg"]);
    assert!(band.stderr.contains("the other columns are held: z, 1 = 0.5; g = b"), "{}", band.stderr);
    let lines: Vec<&str> = band.stdout.lines().collect();
    assert_eq!((lines[0], lines.len()), ("x,estimate,std_error,low,high", 42));
    directory.write("ends.csv", "g,x,\"z, 1\"\nb,0,0.5\nb,10,0.5\n");
    let ends = directory.ok(&["predict", "fit.json", "ends.csv"]).stdout;
    for (over, row) in [lines[1], lines[41]].iter().zip(ends.lines().skip(1)) {
        for (a, b) in numbers(over)[1..].iter().zip(numbers(row)) {
            assert!((a.unwrap() - b.unwrap()).abs() < 1e-9, "{over} {row}");
        }
    }
    assert!(band.stderr.contains("intervals are each for its own point"), "{}", band.stderr);
    let wide = directory.ok(&["predict", "fit.json", "--over", "x", "--at", "g=b", "--simultaneous"]);
    assert!(wide.stderr.contains("intervals are for all points at once"), "{}", wide.stderr);
    for (wide, each) in wide.stdout.lines().zip(&lines).skip(1) {
        let (wide, each) = (numbers(wide), numbers(each));
        assert!(wide[1] == each[1] && wide[3] < each[3] && wide[4] > each[4], "{wide:?} {each:?}");
    }
    let beyond = directory.ok(&["predict", "fit.json", "--over", "g", "--at", "x=1000"]).stderr;
    assert!(beyond.contains("x = 10, its bound, as 1000 is beyond it"), "{beyond}");
    let picture = directory.read("band.svg");
    assert!(
        picture.contains("<polygon")
            && picture.contains("The mean of y over x")
            && picture.contains("at z, 1 = 0.5, g = b")
    );
    // Over levels the differences are the coefficients.
    let means = directory.ok(&["predict", "fit.json", "--over", "g", "--picture", "means.svg", "--quiet"]);
    let fit = json(&directory.read("fit.json"));
    let lines: Vec<&str> = means.stdout.lines().collect();
    let estimate = |line: &str| line.split(',').nth(1).unwrap().parse::<f64>().unwrap();
    assert!(
        means.stderr.lines().all(|line| line.contains("fixed seed"))
            && lines[1].starts_with("a,")
            && lines[3].starts_with("c,"),
        "{lines:?}"
    );
    let difference = estimate(lines[2]) - estimate(lines[1]);
    assert!((difference - fit["coefficients"][3]["estimate"].as_f64().unwrap()).abs() < DIGITS);
    assert_eq!(directory.read("means.svg").matches("<circle").count(), 3);
    // Levels of others are averaged alike.
    let averaged = directory.ok(&["predict", "fit.json", "--over", "z, 1", "--at", "x=5"]).stdout;
    let mean = (estimate(lines[1]) + estimate(lines[2]) + estimate(lines[3])) / 3.0;
    let middle = averaged.lines().nth(21).expect("the middle").split(',').nth(1).unwrap().parse::<f64>().unwrap();
    assert!((middle - mean).abs() < DIGITS);
    assert!(averaged.starts_with("\"z, 1\",estimate"));
}

#[test]
fn a_person_is_spread_around_the_mean() {
    let directory = fitted();
    directory.write("new.csv", "g,x,\"z, 1\"\nb,2,0\na,,1\n");
    let found = directory.ok(&["predict", "fit.json", "new.csv", "--person-interval"]).stdout;
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[0], "estimate,std_error,low,high,person_low,person_high");
    let one: Vec<f64> = numbers(lines[1]).into_iter().flatten().collect();
    let sd = json(&directory.read("fit.json"))["residual_sd"]["estimate"].as_f64().expect("released");
    let half = 1.96 * (sd * sd + one[1] * one[1]).sqrt();
    assert!((one[4] - (one[0] - half)).abs() < 0.05 && (one[5] - (one[0] + half)).abs() < 0.05, "{one:?} {sd}");
    assert_eq!(numbers(lines[2]), [None; 6]);
}

#[test]
fn a_page_has_the_title_it_is_given() {
    let directory = Directory::new();
    let rows = directory.simulate("rows.csv", 500);
    let fit = ["fit", &rows, "-f", "y[-5..5] ~ x1[-5..5]", "--rho", "1", "--seed", "1"];
    let cover = ["--title", "Two <columns>", "--author", "The office", "--data-name", "made up"];
    directory.ok(&[&fit[..], &cover, &["--report", "fit.html"]].concat());
    let page = directory.read("fit.html");
    for words in ["<h1>Two &lt;columns&gt;</h1>", "<dd>The office</dd>", "<dd>made up</dd>"] {
        assert!(page.contains(words), "{words}");
    }
    for pair in cover.chunks(2) {
        directory.run(&[&fit[..], pair].concat()).assert_refused(2, pair[0]);
    }
}
