//! The content of a result if numbers are missing: the terms that were left out, the target of the
//! intervals.

use dplm::{
    Bounded, Dataset, Fit, NoiseSource, Progress, Reading, Warning,
    formula::Formula,
    method::{Purpose, Request, Target, auto},
    privacy::Rho,
    report::{summary, to_json},
    table::{ReadOptions, Source},
};
use dplm_report::{Cover, to_html};
use serde_json::Value;

/// `z` is `x`, and no row has the level `c`.
fn table() -> Source {
    let mut text = "y,x,z,g\n".to_owned();
    for i in 0..4000u32 {
        let x = f64::from(i * 37 % 101) / 10.1;
        let y = 20.0 + 4.0 * x + f64::from((i * 7919) % 13) - 6.0;
        text += &format!("{y},{x},{x},{}\n", if i % 3 == 0 { "b" } else { "a" });
    }
    Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("rows")
}

fn fit(request: impl FnOnce(Request) -> Request) -> Fit {
    let formula = Formula::parse("y[0..100] ~ x[0..10] + z[0..11] + g{a,b,c}").expect("a formula");
    let mut data = Dataset::read(&table(), &formula, &Reading::default()).expect("data");
    let request = request(Request::new(Rho::checked_from_f64(20.0).expect("a budget")));
    data.fit(&auto::Config::new(request), NoiseSource::Seed(5), Progress::NONE).expect("a fit")
}

fn usual() -> Fit {
    fit(|request| request)
}

fn json(fit: &Fit) -> Value {
    serde_json::from_str(&to_json(fit)).expect("JSON")
}

const LEFT_OUT: [&str; 2] = ["z", "g[c]"];

#[test]
fn what_is_left_out_has_no_number_and_is_named_once() {
    let fit = usual();
    assert_eq!(fit.left_out.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), LEFT_OUT, "in formula order");
    for one in &fit.coefficients {
        let is_left_out = LEFT_OUT.contains(&one.name.as_str());
        assert_eq!(
            (one.estimate.is_none(), one.precision.is_none(), !one.identified),
            (is_left_out, is_left_out, is_left_out)
        );
    }
    for warning in &fit.warnings {
        if let Warning::NotIdentified { names } = warning {
            assert!(LEFT_OUT.iter().all(|left_out| !names.iter().any(|name| name == left_out)), "{warning}");
        }
    }
    assert_eq!(fit.warnings.iter().filter(|warning| warning.to_string().contains("'x'")).count(), 1, "the cause of z");
}

/// A category without rows may be misspelt; a number close to another one is not suspected.
#[test]
fn only_a_level_without_rows_is_a_suspect() {
    let mut request = Request::new(Rho::checked_from_f64(20.0).expect("a budget"));
    request.target = Some(Target::Sample);
    let formula = Formula::parse("y[0..100] ~ x[0..10] + z[0..11] + g{*,B,C}").expect("a formula");
    let mut data = Dataset::read(&table(), &formula, &Reading::default()).expect("data");
    let fit = data.fit(&auto::Config::new(request), NoiseSource::Seed(5), Progress::NONE).expect("a fit");
    let kinds: Vec<&Warning> = fit.warnings.iter().filter(|one| matches!(one, Warning::OtherKind { .. })).collect();
    assert!(
        matches!(kinds[..], [Warning::OtherKind { numbers, categories }] if numbers.is_empty() && categories == &["g"])
    );
    assert!(!usual().warnings.iter().any(|one| matches!(one, Warning::OtherKind { .. })), "b has rows");
}

#[test]
fn rows_of_what_is_left_out_say_so_and_nothing_else() {
    let fit = usual();
    let text = summary(&fit);
    assert!(text.contains("Coefficients: (2 left out)\n"), "{text}");
    for name in LEFT_OUT {
        let row = text.lines().find(|line| line.trim_start().starts_with(name)).expect("a row");
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), [name, "left", "out"]);
    }
    let cause =
        |name: &str| format!("  {name}: {}", fit.left_out.iter().find(|one| one.name == name).expect("there").cause);
    let flowing = text.replace("\n    ", " ");
    assert!(LEFT_OUT.iter().all(|name| flowing.contains(&cause(name))), "{text}");
    assert_eq!(
        flowing.matches("nearly a combination").count(),
        1,
        "the cause stands below the table, not in the notes too"
    );
    let page = to_html(&fit, &Cover::default());
    assert_eq!(page.matches("class=\"unknown\">left out</td>").count(), 2);
    assert_eq!(page.matches("<li><code>z</code>: it is nearly a combination of 'x'").count(), 1, "{page}");
    assert_eq!(page.matches("nearly a combination").count(), 1);
}

#[test]
fn the_json_of_what_is_left_out() {
    let json = json(&usual());
    assert_eq!(json["left_out"], serde_json::json!(LEFT_OUT));
    for one in json["coefficients"].as_array().expect("a list") {
        let is_left_out = LEFT_OUT.contains(&one["name"].as_str().expect("a name"));
        for key in ["estimate", "std_error", "low", "high", "p_value"] {
            assert_eq!(one[key].is_null(), is_left_out, "{one}");
        }
    }
    assert_eq!(json["covariance"]["names"], serde_json::json!(["(Intercept)", "x", "g[b]"]));
}

#[test]
fn predictions_are_those_of_the_model_that_was_fitted() {
    let fit = usual();
    let b = fit.predictor();
    assert_eq!((b[2], b[4]), (0.0, 0.0), "what was left out");
    let rows = "x,z,g\n2,7,a\n3,0,c\n";
    let rows = Source::from_csv_stream(&mut rows.as_bytes(), "rows").expect("rows");
    let found = fit.predict(&rows, &ReadOptions::default()).expect("predictions");
    let (intercept, slope) =
        (fit.coefficients[0].estimate.expect("known"), fit.coefficients[1].estimate.expect("known"));
    assert_eq!(found, [intercept + 2.0 * slope, intercept + 3.0 * slope]);
}

#[test]
fn a_fit_for_prediction_has_every_number() {
    let fit = fit(|request| Request { purpose: Purpose::Prediction, ..request });
    assert!(fit.coefficients.iter().all(|one| one.estimate.is_some() && one.precision.is_none()));
    assert!(fit.covariance().is_none() && json(&fit)["covariance"].is_null());
}

#[test]
fn the_target_in_words() {
    let of = |target| fit(|request| Request { target: Some(target), ..request });
    let without = "in the model without 'z', 'g[c]'";
    for (target, words) in [
        (Target::Population, "the least-squares coefficients of the population"),
        (Target::Sample, "the least-squares coefficients of this data set"),
        (Target::Robust, "the robust (Huber, bounded-influence) coefficients of the population"),
    ] {
        let fit = of(target);
        let text = fit.target_text();
        assert!(text.starts_with(&format!("{words}, {without}")), "{text}");
        let assumes = text.ends_with("; clipping is taken to leave the mean of the errors where it is");
        assert_eq!(assumes, fit.target == Target::Population, "{text}");
        assert_eq!(
            (&json(&fit)["target"], &json(&fit)["target_text"]),
            (&fit.target.name().into(), &text.clone().into())
        );
        let flowing = summary(&fit).replace('\n', " ");
        assert!(flowing.contains(&format!("are for {text}.")), "{flowing}");
        assert!(to_html(&fit, &Cover::default()).contains(&format!("are for {}.", text)));
    }
}

/// If clipping biases the fit the intervals are for robust coefficients, even on request for
/// others.
#[test]
fn a_bent_fit_does_not_claim_least_squares() {
    for (asked, whose) in [(Target::Population, "the population"), (Target::Sample, "this data set")] {
        let mut fit = fit(|request| Request { target: Some(asked), ..request });
        fit.warnings = vec![Warning::Bent { names: vec!["x".into()] }];
        fit.target = Target::Robust;
        fit.left_out.clear();
        assert_eq!(fit.target_text(), format!("the robust (Huber) coefficients of {whose}"));
        assert!(
            to_html(&fit, &Cover::default()).contains(&format!("--target {asked}")),
            "the command asks for what was asked for"
        );
    }
}

#[test]
fn the_page_says_what_was_asked_and_known() {
    let fit = usual();
    let cover = Cover {
        title: Some("Pay & <school>".to_owned()),
        author: Some("The office".to_owned()),
        dataset: Some("wages".to_owned()),
    };
    let page = to_html(&fit, &cover);
    for words in [
        "<title>Pay &amp; &lt;school&gt;</title>",
        "<h1>Pay &amp; &lt;school&gt;</h1>",
        "<dt>Author</dt><dd>The office</dd>",
        "<dt>Data set</dt><dd>wages</dd>",
        "A linear regression of <code>y</code> on <code>x</code>, <code>z</code> and <code>g</code>:",
        "<code>x</code></th><td>explains</td><td>number</td><td>from 0 to 10</td>",
        "<code>g</code></th><td>explains</td><td>category</td><td>a (the reference), b, c</td>",
        "in % of the range of y",
        "as a share of the response's own range, 0 to 100,",
        "Rows spread around the model with a standard deviation of",
    ] {
        assert!(page.contains(words), "{words}");
    }
    let place = |id: &str| page.find(&format!("<h2 id=\"{id}\">")).unwrap_or_else(|| panic!("{id}"));
    let order = ["question", "coefficients", "effects", "quality", "guarantee", "budget", "reproduce", "iterates"];
    assert!(order.windows(2).all(|pair| place(pair[0]) < place(pair[1])));
    let plain = to_html(&fit, &Cover::default());
    assert!(plain.contains(&format!("<h1><code>{}</code></h1>", fit.formula)) && !plain.contains("<dt>Author</dt>"));
}

#[test]
fn released_numbers_of_the_errors_are_on_the_page() {
    let mut fit = usual();
    fit.residual_sd = Some(Bounded { estimate: 3.5, low: 3.4, high: 3.6 });
    fit.r_squared = Some(Bounded { estimate: 0.61, low: 0.6, high: 0.625 });
    let page = to_html(&fit, &Cover::default());
    assert!(page.contains("a standard deviation of 3.5 (from 3.4 to 3.6), in units of y."), "{page}");
    assert!(page.contains("The model explains 61 % (from 60 to 62.5) of the variance"), "{page}");
    assert!(
        summary(&fit)
            .contains("Residual standard error: 3.500 (3.400 to 3.600); R-squared: 0.6100 (0.6000 to 0.6250)\n")
    );
    (fit.residual_sd, fit.r_squared) = (None, None);
    assert!(to_html(&fit, &Cover::default()).contains("There is no estimate of the spread of the errors"));
    assert!(!summary(&fit).contains("Residual standard error"));
    fit.residual_sd = Some(Bounded { estimate: 3.5, low: 3.4, high: 3.6 });
    let json = json(&fit);
    assert_eq!(json["residual_sd"], serde_json::json!({"estimate": 3.5, "low": 3.4, "high": 3.6}));
    assert_eq!(Fit::from_json(&to_json(&fit)).expect("a fit"), fit);
}

#[test]
fn the_covariance_holds_the_standard_errors() {
    let fit = usual();
    let covariance = fit.covariance().expect("for inference");
    for (j, name) in covariance.names.iter().enumerate() {
        let one = fit.coefficients.iter().find(|one| one.name == *name).expect("one of them");
        let error = one.precision.expect("identified").std_error;
        assert!((covariance.values[j][j].sqrt() / error - 1.0).abs() < 1e-9, "{name}");
        assert!((0..j).all(|k| covariance.values[j][k] == covariance.values[k][j]));
    }
    // A row without b has the interval of intercept and slope together.
    let rows = Source::from_csv_stream(&mut "x,z,g\n3,3,a\n".as_bytes(), "rows").expect("rows");
    let found = fit.predict_intervals(&rows, &ReadOptions::default(), 0.95).expect("intervals")[0];
    let (low, high) = found.interval.expect("identified");
    let v = &covariance.values;
    let error = (v[0][0] + 9.0 * v[1][1] + 6.0 * v[0][1]).sqrt();
    assert!(((high - low) / (2.0 * 1.959_963_985 * error) - 1.0).abs() < 0.02, "{low} {high} {error}");
}

#[test]
fn ends_that_are_infinite_are_null() {
    let mut fit = usual();
    fit.coefficients[1].precision.as_mut().expect("identified").high = f64::INFINITY;
    let json = json(&fit);
    assert!(json["coefficients"][1]["high"].is_null() && json["coefficients"][1]["low"].is_number());
    assert!(summary(&fit).contains("inf"));
}

#[test]
fn the_third_edition_of_the_json() {
    let json = json(&usual());
    assert_eq!(json["schema"], 3);
    for key in ["residual_sd", "r_squared"] {
        let [low, estimate, high] = ["low", "estimate", "high"].map(|end| json[key][end].as_f64().expect("a number"));
        assert!(0.0 < low && low < estimate && estimate < high, "{key}");
    }
    assert_eq!(json["units"], serde_json::json!({"unit": "row", "count": 4000}));
    let date = json["date"].as_str().expect("text");
    let shape: String = date.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    assert_eq!(shape, "0000-00-00");
    let bare = self::json(&fit(|request| Request { purpose: Purpose::Prediction, ..request }));
    assert_eq!(bare.as_object().expect("an object").get("r_squared"), Some(&Value::Null), "null, and there");
}

/// What a document has only of some fits.
const OF_SOME: [&str; 8] =
    ["by", "event_studies", "first_stage", "fixed_effects", "ledger", "marginal_effects", "odds_ratios", "weights"];

/// Every key of the document is listed, and every listed key is there.
#[test]
fn the_keys_are_documented() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let document = std::fs::read_to_string(document).expect("the document");
    let mut tables = document.split("A coefficient has");
    let listed = |text: &str| -> Vec<String> {
        let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
        cells.flat_map(|cell| cell.split(['`', ',', ' '])).filter(|key| !key.is_empty()).map(str::to_owned).collect()
    };
    let json = json(&usual());
    for value in [&json, &json["coefficients"][0]] {
        let table = tables.next().expect("a table").split("\n## ").next().expect("a part");
        let mut listed = listed(table);
        let mut keys: Vec<String> = value.as_object().expect("an object").keys().cloned().collect();
        listed.retain(|key| !OF_SOME.contains(&key.as_str()));
        listed.sort();
        keys.sort();
        assert_eq!(listed, keys);
    }
}
