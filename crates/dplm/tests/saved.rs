//! A fit is data: saved, loaded, and the same to the last bit.

use dplm::{
    Dataset, Error, Fit, GroupedFit, LedgerEntry, NoiseSource, Precision, Progress, Reading, Receipt, RunOptions,
    Statement,
    formula::Formula,
    method::{IntervalMethod, Method, Purpose, Request, Target, auto, dpgd},
    privacy::{Neighbours, Promise, Provenance, Rho, Unit, convert::Conversion},
    report::{FitFileError, SavedGuarantee, study_json, to_json},
    study::{Specification, Study},
    table::{ReadOptions, Source},
};
use serde_json::Value;

fn table(rows: u32) -> Source {
    let mut text = "y,x,z,g\n".to_owned();
    for i in 0..rows {
        let (x, b) = (f64::from(i * 37 % 101) / 10.1, i % 3 == 0);
        let y = 20.0 + 4.0 * x + if b { 10.0 } else { 0.0 } + f64::from((i * 7919) % 13) - 6.0;
        text += &format!("{y},{x},{},{}\n", x / 2.0, if b { "b" } else { "a" });
    }
    Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("rows")
}

fn request(rho: f64) -> Request {
    Request::new(Rho::checked_from_f64(rho).expect("a budget"))
}

fn fit(formula: &str, method: &dyn Method) -> Fit {
    let formula = Formula::parse(formula).expect("a formula");
    let mut data = Dataset::read(&table(3000), &formula, &Reading::default()).expect("data");
    let prepared = data.prepare(method, NoiseSource::Seed(5)).expect("a plan");
    let entry = |spends, rho| LedgerEntry { time: "2026-11-16T07:00:00Z".into(), seconds: 1_794_812_400, spends, rho };
    let rho = prepared.charge().rho;
    let entries = vec![entry(false, Rho::LARGEST), entry(true, rho)];
    let statement = Statement { dataset: "rows".into(), entries, entry: 2, hash: "0f".repeat(32), other_table: true };
    let receipt = Receipt::recorded(prepared.charge(), statement);
    prepared.run(receipt, Progress::NONE).expect("a fit")
}

const BOUNDED: &str = "y[0..100] ~ x[0..10] + g{a,b}";
/// `z` is half of `x`, so it is left out.
const COLLINEAR: &str = "y[0..100] ~ x[0..10] + z[0..5] + g{a,b}";

/// One fit by each method, for each purpose, with each interval method; budgets and levels that are
/// not round.
fn fits() -> Vec<Fit> {
    let paper = |interval| dpgd::Config::new(Request { interval, ..request(0.5) });
    let prediction = || Request { purpose: Purpose::Prediction, ..request(0.5) };
    let robust = Request { target: Some(Target::Robust), level: 0.9999, ..request(0.1234567890123456) };
    let mut fits = vec![
        fit(COLLINEAR, &auto::Config::new(request(0.5))),
        fit(COLLINEAR, &auto::Config::new(robust)),
        fit(BOUNDED, &auto::Config::new(request(123.456_789_012_345_67))),
        fit(BOUNDED, &auto::Config::new(prediction())),
        fit("y ~ x + 0", &dpgd::Config::new(prediction())),
    ];
    fits.extend(
        [IntervalMethod::Newton, IntervalMethod::Batched, IntervalMethod::Checkpoints, IntervalMethod::Independent]
            .map(|interval| fit("y ~ x + z", &paper(interval))),
    );
    fits
}

#[test]
fn what_is_saved_is_what_is_loaded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fit.json");
    for fit in fits() {
        fit.save(&path).expect("saved");
        let loaded = Fit::load(&path).expect("loaded");
        assert_eq!(loaded, fit);
        assert_eq!(to_json(&loaded), to_json(&fit));
        assert_eq!(loaded.to_string(), fit.to_string());
        assert_eq!(loaded.covariance(), fit.covariance());
        for level in [0.5, 0.95, 0.999_9] {
            assert_eq!(bits(loaded.intervals(level)), bits(fit.intervals(level)));
        }
        let rows = table(20);
        let options = ReadOptions::default();
        assert_eq!(loaded.predict(&rows, &options).expect("rows"), fit.predict(&rows, &options).expect("rows"));
        let predicted = |fit: &Fit| fit.predict_intervals(&rows, &options, 0.9).map_err(|error| error.to_string());
        assert_eq!(predicted(&loaded), predicted(&fit));
    }
}

/// Ends of intervals as bits, or the refusal in words.
fn bits(ends: Result<Vec<dplm::Ends>, Error>) -> Result<Vec<Option<(u64, u64)>>, String> {
    let bits = |ends: dplm::Ends| ends.map(|(low, high)| (low.to_bits(), high.to_bits()));
    ends.map(|ends| ends.into_iter().map(bits).collect()).map_err(|error| error.to_string())
}

#[test]
fn infinite_ends_are_kept() {
    let fit = fit(BOUNDED, &auto::Config::new(request(0.5)));
    let mut precision = fit.coefficients[0].precision.expect("identified");
    (precision.low, precision.high) = (f64::NEG_INFINITY, f64::INFINITY);
    let text = serde_json::to_string(&precision).expect("JSON");
    assert_eq!(serde_json::from_str::<Precision>(&text).expect("read"), precision);
}

/// The error for a fit's document after a change.
fn refusal(change: impl FnOnce(&mut Value)) -> FitFileError {
    let fit = fit(BOUNDED, &auto::Config::new(request(0.5)));
    let mut document: Value = serde_json::from_str(&to_json(&fit)).expect("JSON");
    change(&mut document);
    Fit::from_json(&document.to_string()).expect_err("refused")
}

#[test]
fn what_is_no_fit_is_refused_in_a_sentence() {
    for text in ["", "{}", "[1, 2]", "y,x\n1,2\n", "{\"dplm\": 3}", "null", "{\"format\": \"dplm\"}"] {
        assert_eq!(Fit::from_json(text), Err(FitFileError::NotAFit), "{text}");
    }
    let newer = refusal(|document| {
        document["schema"] = 99.into();
        document["dplm"] = "9.1.0".into();
        document["fit"] = "of another form".into();
    });
    assert_eq!(newer.to_string(), "this fit was written by a newer version of dplm (9.1.0): update dplm to read it");
    let older = refusal(|document| {
        document.as_object_mut().expect("an object").remove("schema");
    });
    assert_eq!(older, FitFileError::Older);
    let missing = Fit::load("no such folder/fit.json").expect_err("refused").to_string();
    assert!(missing.starts_with("the file could not be read (entity not found)"), "{missing}");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("bytes"), [0xff, 0xfe, 0x00]).expect("written");
    assert!(matches!(Fit::load(folder.path().join("bytes")), Err(Error::FitFile(FitFileError::NotAFit))));
    let fit = fit(BOUNDED, &auto::Config::new(request(0.5)));
    assert!(matches!(fit.save(folder.path().join("no/such")), Err(Error::FitFile(FitFileError::Unwritten { .. }))));
}

/// Each claims something that does not follow from the fit's content: a smaller epsilon, other
/// noise, another number.
#[test]
fn what_does_not_follow_is_refused() {
    type Change = fn(&mut Value);
    let held: [Change; 11] = [
        |fit| fit["guarantee"]["epsilon"] = 0.01.into(),
        |fit| fit["guarantee"]["guess"] = 0.5.into(),
        |fit| fit["guarantee"]["rho"] = "0.1".into(),
        |fit| fit["guarantee"]["delta"] = 1e-3.into(),
        |fit| fit["guarantee"]["releases"][0]["rho"] = "0.001".into(),
        |fit| fit["guarantee"]["releases"][0]["mechanism"] = "exponential".into(),
        |fit| fit["guarantee"]["promise"]["provenance"] = "system".into(),
        |fit| fit["guarantee"]["promise"]["unit"] = "person".into(),
        |fit| fit["guarantee"]["promise"]["person"] = "id".into(),
        |fit| fit["guarantee"]["promise"]["conversion"] = "cks".into(),
        |fit| fit["guarantee"]["promise"]["delta_spent"] = 1e-9.into(),
    ];
    for (place, change) in held.into_iter().enumerate() {
        assert_eq!(refusal(|document| change(&mut document["fit"])), FitFileError::Damaged, "held {place}");
    }
    let read: [Change; 12] = [
        |document| document["guarantee"]["epsilon"] = 0.01.into(),
        |document| document["guarantee"]["rho"] = 0.1.into(),
        |document| document["guarantee"]["text"] = "Nothing can go wrong.".into(),
        |document| document["guarantee"]["conversion"] = "cks".into(),
        |document| document["guarantee"]["releases"][0]["rho"] = 0.001.into(),
        |document| document["private"] = true.into(),
        |document| document["promise"]["provenance"] = "system".into(),
        |document| document["coefficients"][1]["estimate"] = 7.into(),
        |document| document["covariance"]["values"][1][1] = 7.into(),
        |document| document["units"]["count"] = 3001.into(),
        |document| document["weights"] = "w[0..5]".into(),
        |document| document["warnings"] = serde_json::json!([]),
    ];
    for (place, change) in read.into_iter().enumerate() {
        assert_eq!(refusal(change), FitFileError::Damaged, "read {place}");
    }
}

/// Each changes a number wherever it is stated, so that nothing but what it was computed from gives
/// it away.
#[test]
fn what_does_not_follow_from_what_was_released_is_refused() {
    type Change = fn(&mut Value);
    let changes: [Change; 8] = [
        |document| stated_twice(document, "estimate", |estimate| estimate + 0.01),
        |document| stated_twice(document, "std_error", |error| 0.9 * error),
        |document| stated_twice(document, "low", |low| low - 0.01),
        |document| times(&mut document["fit"]["trajectories"][0]["gradient"][3][1], 1.5),
        |document| times(&mut document["fit"]["trajectories"][0]["noise_sd"], 0.9),
        |document| times(&mut document["fit"]["evidence"]["curvature"]["mean"][0][0], 1.01),
        |document| times(&mut document["fit"]["evidence"]["spread"]["noise_sd"], 0.5),
        |document| times(&mut document["fit"]["evidence"]["contrasts"][1]["weights"]["1"], 1.01),
    ];
    for (place, change) in changes.into_iter().enumerate() {
        assert_eq!(refusal(change), FitFileError::Damaged, "change {place}");
    }
}

/// A number of the second coefficient, in both parts of a document that state it.
fn stated_twice(document: &mut Value, what: &str, change: fn(f64) -> f64) {
    let changed = change(document["coefficients"][1][what].as_f64().expect("a number"));
    document["coefficients"][1][what] = changed.into();
    let kept = &mut document["fit"]["coefficients"][1];
    *(if what == "estimate" { &mut kept[what] } else { &mut kept["precision"][what] }) = changed.into();
}

fn times(number: &mut Value, by: f64) {
    *number = (by * number.as_f64().expect("a number")).into();
}

/// A document that another version words differently, extends, or marks is the same fit.
#[test]
fn what_another_version_adds_or_rewords_is_read() {
    let fit = fit(BOUNDED, &auto::Config::new(request(0.5)));
    let mut document: Value = serde_json::from_str(&to_json(&fit)).expect("JSON");
    document["unheard_of"] = "a key of a later version".into();
    document["pretend"] = "a mark".into();
    assert_eq!(Fit::from_json(&document.to_string()).expect("a fit"), fit);
    document["dplm"] = "0.1.7".into();
    document["warnings"] = serde_json::json!(["in other words"]);
    assert_eq!(Fit::from_json(&document.to_string()).expect("a fit"), fit);
}

/// Documents that the command line wrote when the second form was the last.
const SECOND: [(&str, &str, Provenance); 4] = [
    ("persons", include_str!("reference/schema2/persons.json"), Provenance::System),
    ("seeded", include_str!("reference/schema2/seeded.json"), Provenance::Seed),
    ("pretend", include_str!("reference/schema2/pretend.json"), Provenance::Simulated),
    ("tested", include_str!("reference/schema2/tested.json"), Provenance::System),
];

#[test]
fn the_second_form_is_read() {
    for (name, text, provenance) in SECOND {
        let (fit, old) = (Fit::from_json(text).expect(name), serde_json::from_str::<Value>(text).expect("JSON"));
        let Promise { unit, person, neighbours, conversion, delta_spent, provenance: found } = fit.guarantee.promise;
        assert_eq!((found, neighbours), (provenance, Neighbours::ReplaceOne), "{name}");
        assert_eq!(person.as_deref(), (name == "persons").then_some("id"), "{name}");
        assert_eq!(unit == Unit::Person, name == "persons");
        let spent = if name == "tested" { 5e-7 } else { 0.0 };
        assert_eq!((conversion == Conversion::Tested, delta_spent), (name == "tested", spent));
        assert_eq!(fit.guarantee.epsilon.to_f64(), old["guarantee"]["epsilon"].as_f64().expect("a number"));
        let mut edited = old.clone();
        edited["guarantee"]["epsilon"] = 0.01.into();
        assert_eq!(Fit::from_json(&edited.to_string()), Err(FitFileError::Damaged), "{name}");
        let mut edited = old;
        edited["fit"]["guarantee"]["epsilon"] = 0.01.into();
        assert_eq!(Fit::from_json(&edited.to_string()), Err(FitFileError::Damaged), "{name}");
    }
    let groups = GroupedFit::from_json(include_str!("reference/schema2/groups.json")).expect("groups");
    assert!(groups.guarantee.promise.is_private() && groups.get("b").expect("fitted").is_private());
}

/// As a decimal, not as a double near it: the parts add up to the whole for every reader.
#[test]
fn budgets_are_stated_to_the_last_digit() {
    let text = to_json(&fit(BOUNDED, &auto::Config::new(request(123.456_789_012_345_67))));
    let stated = |line: &str| line.trim().strip_prefix("\"rho\": ").map(|rho| rho.trim_end_matches(',').to_owned());
    let all: Vec<String> = text.lines().filter_map(stated).collect();
    let units = |rho: &String| {
        let (whole, fraction) = rho.split_once('.').unwrap_or((rho, ""));
        format!("{whole}{fraction:0<15}").parse::<u64>().expect("plain digits")
    };
    assert_eq!(all[0], Rho::checked_from_f64(123.456_789_012_345_67).expect("a budget").to_string());
    assert_eq!(all[1..].iter().map(units).sum::<u64>(), units(&all[0]), "{all:?}");
}

/// A study states what holds for all of its fits, and each fit states it too.
#[test]
fn the_guarantee_of_a_study_is_that_of_its_fits() {
    let specification = |name: &str, formula: &str| Specification {
        name: name.to_owned(),
        formula: Formula::parse(formula).expect("a formula"),
        share: None,
    };
    let both = vec![specification("main", BOUNDED), specification("bare", "y[0..100] ~ x[0..10]")];
    let study = Study::new(both, request(0.5)).expect("a study");
    let prepared = study.prepare(&table(3000), &RunOptions::default().seed(1), Progress::NONE).expect("a plan");
    let receipt = Receipt::by_caller(prepared.charge());
    let found = prepared.run(receipt, Progress::NONE).expect("fits");
    let text = study_json(&found);
    assert_eq!(SavedGuarantee::from_json(&text).expect("a study").guarantee, found.guarantee);
    let changes: [fn(&mut Value); 4] = [
        |study| study["guarantee"]["epsilon"] = 0.01.into(),
        |study| study["study_guarantee"]["epsilon"] = 0.01.into(),
        |study| study["study_guarantee"]["promise"]["provenance"] = "system".into(),
        |study| study["specifications"][1]["fit"]["guarantee"]["epsilon"] = 0.01.into(),
    ];
    for (place, change) in changes.into_iter().enumerate() {
        let mut document: Value = serde_json::from_str(&text).expect("JSON");
        change(&mut document);
        let refused = SavedGuarantee::from_json(&document.to_string());
        assert_eq!(refused, Err(FitFileError::Damaged), "change {place}");
    }
}

/// Each would panic, or mix up coefficients, once the fit is used.
#[test]
fn parts_that_do_not_go_together_are_refused() {
    let changes: [fn(&mut Value); 11] = [
        |fit| fit["design"] = serde_json::json!("y{a,b} ~ x[0..10] + g{a,b}"),
        |fit| fit["design"] = serde_json::json!("y[0..100] ~ x[99..10] + g{a,b}"),
        |fit| fit["design"] = serde_json::json!("y[0..100] ~ x[0..10] + g{a,b,c}"),
        |fit| fit["coefficients"][0]["name"] = "x".into(),
        |fit| fit["left_out"] = serde_json::json!([{"name": "w", "cause": "weak"}]),
        |fit| drop_last(&mut fit["inference"]["newton"]["estimate"]),
        |fit| drop_last(&mut fit["inference"]["newton"]["noise"]),
        |fit| fit["inference"]["newton"]["kept"][0] = 7.into(),
        |fit| drop_last(&mut fit["trajectories"][0]["gradient"]),
        |fit| drop_last(&mut fit["trajectories"][0]["theta"][1]),
        |fit| fit["level"] = 2.into(),
    ];
    for (place, change) in changes.into_iter().enumerate() {
        assert_eq!(refusal(|document| change(&mut document["fit"])), FitFileError::Damaged, "change {place}");
    }
}

fn drop_last(list: &mut Value) {
    list.as_array_mut().expect("a list").pop().expect("not empty");
}
