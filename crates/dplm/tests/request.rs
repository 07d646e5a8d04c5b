//! What is asked of a fit: the same for every interface, and the same again from a saved fit.

use dplm::{
    Fit, FitRequest, Fitted, Progress, Receipt, RunOptions,
    formula::Formula,
    options::{IntervalMethod, Opt, Purpose, Target},
    privacy::Neighbours,
    report::to_json,
    request::{AccountOptions, Instead, OPTIONS, OptionKind, OptionSpec, PlanQuestion, Said, Sizes, Value},
    table::Source,
};

fn table() -> Source {
    let row = |i: u32| format!("{}.5,{}.25,{},{},{}\n", i % 9, i % 5, ["a", "b"][i as usize / 3 % 2], i % 3, i / 2);
    let rows: String = (0..4000).map(row).collect();
    Source::from_csv_stream(&mut format!("y,x,g,w,id\n{rows}").as_bytes(), "rows").expect("a table")
}

fn fitted(request: &FitRequest) -> Fitted {
    let mut data = request.check().expect("sound").read(&table(), &seeded(), Progress::NONE).expect("read");
    let prepared = data.prepare(seeded().noise()).expect("planned");
    let receipt = Receipt::by_caller(prepared.charge());
    prepared.run(receipt, Progress::NONE).expect("a fit")
}

fn seeded() -> RunOptions {
    RunOptions::default().seed(5)
}

fn one(request: &FitRequest) -> Fit {
    match fitted(request) {
        Fitted::One(fit) => *fit,
        Fitted::Groups(_) => panic!("one fit"),
    }
}

/// Requests that between them set every option.
fn requests() -> Vec<FitRequest> {
    let model = "y[0..9] ~ x[0..5] + g{a,b}";
    let plain = || FitRequest::new(model).rho(2.0);
    vec![
        plain(),
        plain().weights("w[0..3]").target(Target::Sample).level(0.9),
        plain().person("id").rows_per_person(2).target(Target::Person).neighbours(Neighbours::ZeroOut),
        FitRequest::new(model).epsilon(3.0).delta(1e-5).purpose(Purpose::Prediction),
        FitRequest::new("y ~ x").rho(0.7).standardised(true).clip(4.0).steps(30).step_size(0.25),
        FitRequest::new("y ~ x").rho(0.7).method("dpgd").target(Target::Sample).interval(IntervalMethod::Batched),
        FitRequest::new("y ~ x")
            .rho(0.7)
            .method("dpgd")
            .target(Target::Sample)
            .interval(IntervalMethod::Checkpoints)
            .batches(4)
            .burn_in(3)
            .steps(60),
        plain().by("w{0,1,2}").group_sizes(Sizes::from([("0", 1334), ("1", 1333), ("2", 1333)])),
        plain().by("w{0,1,2}"),
    ]
}

/// A saved fit holds its whole question: asked again under the same seed, it is the same fit.
#[test]
fn what_a_fit_keeps_asks_for_the_same_fit() {
    for request in requests() {
        match fitted(&request) {
            Fitted::One(fit) => {
                let kept = Fit::from_json(&to_json(&fit)).expect("its document").request;
                assert_eq!(one(&kept), *fit, "{request:?}");
            }
            Fitted::Groups(fits) => assert_eq!(fitted(&fits.request), Fitted::Groups(fits.clone()), "{request:?}"),
        }
    }
}

/// Nothing of what was said is lost or added; what was left open is written out.
#[test]
fn what_a_fit_keeps_is_what_was_asked() {
    for request in requests() {
        let kept = match fitted(&request) {
            Fitted::One(fit) => fit.request,
            Fitted::Groups(fits) => fits.request,
        };
        for &option in FitRequest::OPTIONS {
            let (said, found) = (request.value(option), kept.value(option));
            let is_written_out = match option {
                Opt::Rho | Opt::Epsilon => request.epsilon.is_some(),
                Opt::Delta | Opt::Method => said == Some(Value::Nothing),
                // The formula as the program writes it.
                Opt::Formula => Formula::parse(&kept.formula) == Formula::parse(&request.formula),
                // To ask for the paper's method says it too.
                Opt::Standardised => request.method.as_deref() == Some("dpgd"),
                _ => false,
            };
            assert!(said == found || is_written_out, "{option:?}: {said:?} {found:?}");
        }
    }
}

#[test]
fn a_request_is_plain_json_and_unknown_keys_are_refused() {
    for request in requests() {
        let json = serde_json::to_string(&request).expect("plain data serialise");
        assert_eq!(serde_json::from_str::<FitRequest>(&json).expect("read back"), request);
        for &option in FitRequest::OPTIONS {
            assert!(json.contains(&format!("\"{}\":", option.name())), "{option:?} is not written out");
        }
    }
    let usual: FitRequest = serde_json::from_str("{\"formula\": \"y ~ x\"}").expect("the others are usual");
    assert_eq!(usual, FitRequest::new("y ~ x"));
    assert!(serde_json::from_str::<FitRequest>("{\"formulas\": \"y ~ x\"}").is_err());
}

/// Every option of the table is in one of the structures, and takes values of its kind and no
/// other.
#[test]
fn every_option_takes_values_of_its_kind() {
    for spec in OPTIONS {
        let value = match spec.kind {
            OptionKind::Truth => Value::Truth(true),
            OptionKind::Number => Value::Number(0.5),
            OptionKind::Whole | OptionKind::Bytes => Value::Whole(7),
            OptionKind::Text if spec.option == Opt::Csv => Value::Text("semicolon".to_owned()),
            OptionKind::Text => Value::Text("some text".to_owned()),
            OptionKind::Word(words, _) => Value::Text(words().last().expect("a word").0.to_owned()),
            OptionKind::Texts => Value::Texts(vec!["one".to_owned(), "two".to_owned()]),
            OptionKind::Sizes => Value::Sizes(Sizes::from([("a", 3)])),
            OptionKind::Moments => continue,
            OptionKind::Path => Value::Path("a.db".into()),
        };
        assert_eq!(taken(spec, value.clone()).as_ref(), Ok(&value), "{:?}", spec.option);
        let other = if matches!(spec.kind, OptionKind::Truth) { Value::Whole(1) } else { Value::Truth(true) };
        let refusal = taken(spec, other).expect_err("of another kind");
        assert!(refusal.starts_with(&format!("{} must be ", spec.option.name())), "{refusal}");
    }
}

/// The value that an option has once it was said.
fn taken(spec: &OptionSpec, value: Value) -> Result<Value, String> {
    let mut said = Said::from([(spec.option, value)]);
    let told = |error: dplm::request::OptionError| error.to_string();
    let request = FitRequest::from_said(&mut said).map_err(told)?;
    let run = RunOptions::from_said(&mut said).map_err(told)?;
    let account = AccountOptions::from_said(&mut said).map_err(told)?;
    let instead = Instead::from_said(&mut said).map_err(told)?;
    let question = PlanQuestion::from_said(&mut said).map_err(told)?;
    assert!(said.is_empty(), "{:?} belongs nowhere", spec.option);
    let option = spec.option;
    let values = [
        request.value(option),
        run.value(option),
        account.value(option),
        instead.value(option),
        question.value(option),
    ];
    let mut found = values.into_iter().flatten();
    let value = found.next().expect("in one structure");
    assert!(found.next().is_none(), "{option:?} is in two structures");
    Ok(value)
}

/// The word `auto` leaves a number or a word open; a text may be that word itself.
#[test]
fn auto_is_a_choice_and_a_name() {
    let said = |option, word: &str| Said::from([(option, Value::Text(word.to_owned()))]);
    let request = |said: Said| FitRequest::from_said(&mut said.clone()).expect("a value");
    assert_eq!(request(said(Opt::Target, "auto")).target, None);
    assert_eq!(request(said(Opt::Steps, "auto")).steps, None);
    assert_eq!(request(said(Opt::Method, "auto")).method.as_deref(), Some("auto"));
    assert_eq!(request(said(Opt::Person, "auto")).person.as_deref(), Some("auto"));
}

#[test]
fn a_model_file_is_its_formula() {
    let text = "[columns.'.']\nexcept = ['id']\n[columns.y]\nlow = 0\nhigh = 9\n";
    for text in [format!("response = 'y'\n{text}"), "formula = 'log(y[1..9]) ~ x[0..1] * g{a,b}'".to_owned()] {
        let request = FitRequest::from_model_file(&text).expect("a model");
        assert!(request.standardised);
        assert_eq!(Formula::parse(&request.formula), Formula::from_toml(&text), "{}", request.formula);
    }
}
