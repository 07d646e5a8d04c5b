//! Tests of hypotheses, and that they agree with what a fit prints.

use dplm::{
    Coverage, Dataset, Equation, Error, Fit, Hypothesis, HypothesisError, NoiseSource, Progress, Reading,
    formula::Formula,
    interval::IntervalError,
    method::{IntervalMethod, Method, Purpose, Request, auto, dpgd},
    privacy::Rho,
    report::{summary, to_json},
    table::{ReadOptions, Source},
};
use dplm_report::{Cover, to_html};

const FORMULA: &str = "y[0..100] ~ x[0..10] + z[0..1] + g{a,b,c}";

/// `y` does not depend on `z` and on the level `c`.
fn source() -> Source {
    let mut text = "y,x,z,g\n".to_owned();
    for i in 0..6000u32 {
        let (x, z, level) = (f64::from(i * 37 % 101) / 10.1, f64::from(i * 53 % 97) / 97.0, i % 3);
        let y = 20.0 + 4.0 * x + if level == 1 { 10.0 } else { 0.0 } + f64::from((i * 7919) % 13) - 6.0;
        text += &format!("{y},{x},{z},{}\n", ["a", "b", "c"][level as usize]);
    }
    Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("rows")
}

fn request() -> Request {
    Request::new(Rho::checked_from_f64(0.5).expect("a budget"))
}

fn fit(method: &dyn Method) -> Fit {
    let formula = Formula::parse(FORMULA).expect("a formula");
    let mut data = Dataset::read(&source(), &formula, &Reading::default()).expect("data");
    data.fit(method, NoiseSource::Seed(5), Progress::NONE).expect("a fit")
}

fn usual() -> Fit {
    fit(&auto::Config::new(request()))
}

fn batched() -> Fit {
    fit(&dpgd::Config::new(Request { interval: IntervalMethod::Batched, ..request() }))
}

#[test]
fn the_test_of_a_coefficient_is_that_of_the_table() {
    for fit in [usual(), batched()] {
        for one in fit.coefficients.iter().filter(|one| one.identified) {
            let tested = fit.t_test(&fit.hypothesis(&one.name).expect("a name"), fit.level).expect("a test").remove(0);
            let (found, printed) = (tested.precision.expect("identified"), one.precision.expect("identified"));
            assert!((tested.estimate.unwrap() - one.estimate.unwrap()).abs() < 1e-9);
            assert!((found.statistic / printed.statistic - 1.0).abs() < 1e-9 && found.df == printed.df);
            assert!((found.p_value - printed.p_value).abs() < 1e-9 && (found.low - printed.low).abs() < 1e-9);
        }
    }
}

#[test]
fn estimate_error_statistic_and_interval_tell_one_story() {
    let fit = usual();
    let json: serde_json::Value = serde_json::from_str(&to_json(&fit)).expect("JSON");
    let text = summary(&fit);
    for (one, entry) in fit.coefficients.iter().zip(json["coefficients"].as_array().expect("a list")) {
        let (estimate, found) = (one.estimate.expect("identified"), one.precision.expect("identified"));
        assert_eq!(found.statistic, estimate / found.std_error);
        assert_eq!((entry["statistic"].as_f64(), entry["df"].as_f64()), (Some(found.statistic), found.df));
        let line = text.lines().find(|line| line.trim_start().starts_with(&one.name)).map(str::to_owned);
        let t = format!("  {:.2}  ", found.statistic);
        assert!(line.as_ref().is_some_and(|line| line.contains(&t)), "{line:?} {t}");
        // The test of 0 and the interval agree, and both with what a reader computes.
        assert_eq!(found.p_value < 0.05, !(found.low..=found.high).contains(&0.0), "{one:?}");
        assert!(found.is_symmetric(estimate, fit.level), "{one:?}");
    }
    assert!(text.contains("t value") && !text.contains("rely on the interval"), "{text}");
    // Half as long on one side: a reader is told not to compute it.
    let mut skewed = fit.clone();
    let x = &mut skewed.coefficients[1];
    let (estimate, ends) = (x.estimate.expect("identified"), x.precision.as_mut().expect("identified"));
    ends.high = 0.5 * (ends.high + estimate);
    assert!(summary(&skewed).contains("those of 'x' differ"), "{}", summary(&skewed));
}

#[test]
fn a_null_is_rejected_exactly_outside_the_interval() {
    for fit in [usual(), batched()] {
        let of = |null: f64| {
            let typed = fit.hypothesis(&format!("x - 2*z = {null}")).expect("a hypothesis");
            fit.t_test(&typed, 0.9).expect("a test").remove(0)
        };
        let found = of(0.0);
        let (estimate, precision) = (found.estimate.expect("identified"), found.precision.expect("identified"));
        let (x, z) = (fit.coefficients[1].estimate.unwrap(), fit.coefficients[2].estimate.unwrap());
        assert!((estimate - (x - 2.0 * z)).abs() < 1e-9);
        for (end, inside) in [(precision.low, 1e-6), (precision.high, -1e-6)] {
            let (within, beyond) = (of(end + inside), of(end - inside));
            assert!(within.precision.unwrap().p_value > 0.1 && beyond.precision.unwrap().p_value < 0.1);
            assert!((within.estimate.unwrap() - estimate).abs() < 1e-9 && within.null == end + inside);
            assert!((within.precision.unwrap().low - precision.low).abs() < 1e-6, "the interval does not move");
        }
    }
}

#[test]
fn joint_tests_tell_true_hypotheses_from_false_ones() {
    for (fit, df) in [(usual(), None), (batched(), Some(8.0))] {
        let test = |text: &str| fit.wald_test(&fit.hypothesis(text).expect("a hypothesis")).expect("a test");
        let (truth, lie) = (test("z = 0, g[c] = 0").found.unwrap(), test("x = 0, g[b] = 0").found.unwrap());
        assert!(truth.p_value > 0.001 && lie.p_value < 1e-6, "{truth:?} {lie:?}");
        assert_eq!((truth.equations, truth.df), (2, df));
        // One equation: the same test, and about the square of its statistic near the null.
        let (x, error) = (fit.coefficients[1].estimate.unwrap(), fit.coefficients[1].precision.unwrap().std_error);
        let near = format!("x = {}", x - 2.0 * error);
        let alone = fit.t_test(&fit.hypothesis(&near).unwrap(), 0.95).unwrap()[0].precision.unwrap();
        let joint = test(&near).found.unwrap();
        assert!((joint.statistic / alone.statistic.powi(2) - 1.0).abs() < 0.05, "{joint:?} {alone:?}");
        assert!((joint.p_value - alone.p_value).abs() < 1e-9);
    }
}

/// Names as R prints them, for functions and products of columns; predictions over a column follow
/// the same model.
#[test]
fn functions_and_products_are_tested_and_followed() {
    let formula =
        Formula::parse("log1p(y[0..100]) ~ poly(x[0..10], 2) + I(z[0..1]^2) + g{a,b,c}*z").expect("a formula");
    let mut data = Dataset::read(&source(), &formula, &Reading::default()).expect("data");
    let request = Request::new(Rho::checked_from_f64(5.0).expect("a budget"));
    let fit = data.fit(&auto::Config::new(request), NoiseSource::Seed(5), Progress::NONE).expect("a fit");
    let test =
        |text: &str| fit.wald_test(&fit.hypothesis(text).expect(text)).expect("a test").found.expect("identified");
    assert!(test("poly(x, 2)1 = 0, poly(x, 2)2 = 0").p_value < 1e-9);
    assert!(test("g[b]:z = 0, g[c]:z = 0, I(z^2) = 0, z = 0").p_value > 1e-4);
    let band = fit
        .over("z", &[("x".to_owned(), "2".to_owned()), ("g".to_owned(), "b".to_owned())], 0.95, Coverage::Pointwise)
        .expect("a band");
    let text = "x,g,z\n".to_owned() + &band.points.iter().map(|one| format!("2,b,{}\n", one.value)).collect::<String>();
    let rows = Source::from_csv_stream(&mut text.as_bytes(), "rows").expect("rows");
    let found = fit.predict_intervals(&rows, &ReadOptions::default(), 0.95).expect("predictions");
    for (point, row) in band.points.iter().zip(found) {
        assert!((point.prediction.estimate - row.estimate).abs() < 1e-9);
        let (over, row) = (point.prediction.interval.expect("identified"), row.interval.expect("identified"));
        assert!((over.0 - row.0).abs() < 1e-9 && (over.1 - row.1).abs() < 1e-9);
    }
    let names: Vec<String> = fit.effects(0.95).expect("effects").into_iter().map(|one| one.column).collect();
    assert_eq!(names, ["x", "z", "g", "g"]);
    let page = to_html(&fit, &Cover::default());
    assert!(page.contains("own range, 0 to 4.615,"), "of the logarithm");
    assert!(page.contains(
        "on <code>poly(x, 2)</code>, <code>I(z^2)</code>, <code>g</code>, <code>z</code> and <code>g:z</code>:"
    ));
}

#[test]
fn a_saved_fit_tests_alike() {
    let fit = usual();
    let loaded = Fit::from_json(&to_json(&fit)).expect("a fit");
    let typed = fit.hypothesis("x = 4, g[b] - g[c] = 10").expect("a hypothesis");
    assert_eq!(fit.wald_test(&typed).unwrap(), loaded.wald_test(&typed).unwrap());
    assert_eq!(fit.t_test(&typed, 0.99).unwrap(), loaded.t_test(&typed, 0.99).unwrap());
}

#[test]
fn what_was_left_out_or_not_released_has_no_test() {
    let formula = Formula::parse("y[0..100] ~ x[0..10] + g{a,b,d}").expect("a formula");
    let mut data = Dataset::read(&source(), &formula, &Reading::default()).expect("data");
    let mut fitted =
        |request| data.fit(&auto::Config::new(request), NoiseSource::Seed(5), Progress::NONE).expect("a fit");
    let fit = fitted(request());
    assert_eq!(fit.left_out[0].name, "g[d]", "no row has it");
    let typed = fit.hypothesis("x - g[d] = 0, x = 0").expect("a hypothesis");
    let alone = fit.t_test(&typed, 0.95).expect("tests");
    assert!(alone[0].estimate.is_none() && alone[0].precision.is_none() && alone[1].estimate.is_some());
    assert_eq!(fit.wald_test(&typed).expect("a test").found, None);
    let prediction = fitted(Request { purpose: Purpose::Prediction, ..request() });
    let refusal = prediction.t_test(&typed, 0.95).unwrap_err();
    assert!(matches!(refusal, Error::Interval(IntervalError::NotReleased)), "{refusal}");
}

#[test]
fn senseless_hypotheses_are_refused() {
    let fit = usual();
    let repeated = fit.wald_test(&fit.hypothesis("x = 0, z = 0, x + z = 1").unwrap()).unwrap_err();
    assert!(matches!(repeated, Error::Interval(IntervalError::RepeatedEquations)), "{repeated}");
    let short = Equation { text: "x".to_owned(), weights: vec![1.0], value: 0.0 };
    let short = fit.t_test(&Hypothesis::new(vec![short]).unwrap(), 0.95).unwrap_err();
    assert!(matches!(short, Error::Hypothesis(HypothesisError::Weights { expected: 5, found: 1 })), "{short}");
    assert!(fit.t_test(&fit.hypothesis("x").unwrap(), 1.0).is_err());
    let many = (1..=10).map(|k| format!("x + {k}*z = 0")).collect::<Vec<_>>().join(", ");
    let refusal = batched().wald_test(&fit.hypothesis(&many).unwrap()).unwrap_err();
    assert!(matches!(refusal, Error::Interval(IntervalError::TooManyEquations { equations: 10, batches: 10 })));
}
