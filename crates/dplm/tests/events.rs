//! Event studies: effects by period, intervals that hold for all of them at once, and a test of the
//! time before.

use std::fmt::Write;

use dplm::{
    EventEffects, Fit, Lm, Person, Warning,
    formula::Formula,
    report::{summary, to_json},
    table::{ReadOptions, Source},
};
use dplm_report::{Cover, to_html};
use dplm_theory::clear::least_squares_of_persons;
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

const FORMULA: &str = "y[-12..12] ~ i(period{1,2,3,4,5,6}, treated{no,yes}, ref = 3) | id + period";
/// What the event does to the treated, in periods 4 to 6; a trend before it adds to each period.
const EFFECT: f64 = 0.5;

/// Persons in six periods, half of whom are treated, whose own constants differ; one row in nine is
/// not there.
fn table(persons: u32, trend: f64, seed: u64) -> Source {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,period,treated,id\n".to_owned();
    for person in 0..persons {
        let treated = person % 2 == 1;
        let constant = normal() + f64::from(u8::from(treated));
        for period in (1..=6).filter(|period| (person + period) % 9 != 0) {
            let effect = if period > 3 { EFFECT } else { 0.0 } + trend * (f64::from(period) - 3.0);
            let y = constant + 0.2 * f64::from(period) + if treated { effect } else { 0.0 } + 0.7 * normal();
            writeln!(text, "{y},{period},{},{person}", if treated { "yes" } else { "no" }).unwrap();
        }
    }
    Source::from_csv_stream(&mut text.as_bytes(), "event").expect("a table")
}

fn asked(rho: f64) -> Lm<'static> {
    dplm::lm(FORMULA).person("id").rows_per_person(6).rho(rho).seed(3)
}

fn study(fit: &Fit) -> EventEffects {
    fit.event_studies(0.95).unwrap().remove(0)
}

#[test]
fn a_fit_is_least_squares_with_constants_of_persons_and_periods() {
    let source = table(6000, 0.0, 1);
    let fit = asked(1000.0).fit_table(&source).unwrap();
    let model = Formula::parse(FORMULA).unwrap().resolve(source.schema()).unwrap();
    let by_hand = least_squares_of_persons(&source, &model, &Person::new("id"), &ReadOptions::default());
    let by_hand = by_hand.unwrap().into_inner();
    assert_eq!(fit.coefficients[0].name, "period::1:treated");
    for (one, (coefficient, error)) in fit.coefficients.iter().zip(by_hand.coefficients.iter().zip(&by_hand.std_errors))
    {
        let found = one.precision.as_ref().expect("identified").std_error / error;
        assert!((0.97..1.03).contains(&found), "{}: {found}", one.name);
        assert!((one.estimate.unwrap() - coefficient).abs() < 0.05 * error, "{}", one.name);
    }
}

/// Of 24 bands of 95 % more than 5 fail with probability 2e-3; so do tests of the time before at
/// 5 %.
#[test]
fn bands_hold_for_all_periods_and_a_trend_is_found() {
    let found: Vec<(bool, f64, f64)> = (0..24)
        .into_par_iter()
        .map(|seed| {
            let fits =
                [0.0, 0.25].map(|trend| asked(0.5).seed(seed).fit_table(&table(3000, trend, 100 + seed)).unwrap());
            let [event, with_trend] = fits.each_ref().map(study);
            let truth = |place: usize| if place > 2 { EFFECT } else { 0.0 };
            let holds = |(place, effect): (usize, &Option<dplm::PeriodEffect>)| {
                effect.as_ref().is_none_or(|one| one.together.0 <= truth(place) && truth(place) <= one.together.1)
            };
            assert!(event.effects.iter().flatten().all(|one| one.together.0 < one.interval.0));
            let p_value = |event: &EventEffects| event.before.expect("identified").p_value;
            (event.effects.iter().enumerate().all(holds), p_value(&event), p_value(&with_trend))
        })
        .collect();
    assert!(found.iter().filter(|(holds, ..)| !holds).count() <= 5, "{found:?}");
    assert!(found.iter().filter(|(_, before, _)| *before < 0.05).count() <= 5, "{found:?}");
    assert!(found.iter().filter(|(.., trend)| *trend < 0.05).count() >= 18, "{found:?}");
}

#[test]
fn results_show_the_periods() {
    let source = table(3000, 0.0, 7);
    let fit = asked(0.5).fit_table(&source).unwrap();
    let document: serde_json::Value = serde_json::from_str(&to_json(&fit)).unwrap();
    let event = &document["event_studies"][0];
    assert_eq!((event["period"].as_str(), event["reference"].as_str()), (Some("period"), Some("3")));
    assert_eq!(
        (event["effects"][2]["estimate"].as_f64(), &event["effects"][2]["name"]),
        (Some(0.0), &serde_json::Value::Null)
    );
    assert_eq!(event["effects"][3]["estimate"], document["coefficients"][2]["estimate"]);
    assert_eq!(event["before"]["df"], 2);
    assert_eq!(Fit::from_json(&to_json(&fit)).unwrap(), fit);
    let page = to_html(&fit, &Cover::default());
    assert!(page.contains("Effects by period") && page.contains("treated at the same time"), "{page}");
    assert!(summary(&fit).contains("all coefficients before the reference (period 3) are 0: chi-square"));
    assert!(fit.warnings.iter().all(|warning| !matches!(warning, Warning::EventWithoutPeriods { .. })));
    let alone = FORMULA.replace(" + period", "");
    let fit = dplm::lm(&alone).person("id").rho(0.5).seed(3).fit_table(&source).unwrap();
    assert!(fit.warnings.contains(&Warning::EventWithoutPeriods { period: "period".to_owned() }));
}

/// The effect of being treated for none, one, two or three periods, which is another for those
/// treated later.
const BY_COHORT: [[f64; 4]; 2] = [[0.4, 0.8, 1.2, 1.6], [0.2, 0.2, 0.2, 0.2]];
const OF_COHORTS: &str = "y[-12..12] ~ i(period{1,2,3,4,5,6}, cohort{never,3,5}, ref = 2) | id + period";

/// A third of the persons is never treated, a third from the third period on, a third from the
/// fifth.
fn staggered(persons: u32, seed: u64) -> Source {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,period,cohort,id\n".to_owned();
    for person in 0..persons {
        let (constant, cohort) = (normal() + f64::from(person % 3), (person % 3) as usize);
        for period in 1..=6usize {
            let since = [None, period.checked_sub(3), period.checked_sub(5)][cohort];
            let effect = since.map_or(0.0, |since| BY_COHORT[cohort - 1][since]);
            let y = constant + 0.2 * period as f64 + effect + 0.7 * normal();
            writeln!(text, "{y},{period},{},{person}", ["never", "3", "5"][cohort]).unwrap();
        }
    }
    Source::from_csv_stream(&mut text.as_bytes(), "staggered").expect("a table")
}

/// Averages over cohorts are the weighted means of their coefficients, at a budget whose noise does
/// not count, and are near those of the effects. Of seven averages one is more than 4.5 standard
/// errors off with probability 5e-5.
#[test]
fn cohorts_are_averaged_alike_or_by_shares() {
    let source = staggered(6000, 1);
    let by_shares = OF_COHORTS.replace("ref = 2)", "ref = 2, shares = {3,1})");
    for (formula, shares) in [(OF_COHORTS, [0.5, 0.5]), (by_shares.as_str(), [0.75, 0.25])] {
        let fit = dplm::lm(formula).person("id").rows_per_person(6).rho(1000.0).seed(3).fit_table(&source).unwrap();
        let studies = fit.event_studies(0.95).unwrap();
        let [_, _, average] = &studies[..] else { panic!("two cohorts and their average") };
        assert_eq!(average.study.levels, ["-4", "-2", "-1", "0", "1", "2", "3"]);
        for (place, (names, effect)) in average.study.coefficients.iter().zip(&average.effects).enumerate() {
            let effect = effect.as_ref().expect("identified");
            let truth = match place {
                0..3 => 0.0,
                3 | 4 => shares[0] * BY_COHORT[0][place - 3] + shares[1] * BY_COHORT[1][place - 3],
                _ => BY_COHORT[0][place - 3],
            };
            let error = (effect.interval.1 - effect.interval.0) / (2.0 * 1.96);
            assert!((effect.estimate - truth).abs() < 4.5 * error, "{place}: {effect:?} {truth}");
            // An average is the weighted sum, with the interval of the test of that.
            let alone = [1.0];
            let weights = if names.len() == 1 { &alone[..] } else { &shares[..] };
            let sum: Vec<String> = names.iter().zip(weights).map(|(name, share)| format!("{share} * {name}")).collect();
            let test =
                fit.t_test(&fit.hypothesis(&format!("{} = 0", sum.join(" + "))).unwrap(), 0.95).unwrap().remove(0);
            assert!((test.estimate.unwrap() - effect.estimate).abs() < 1e-9, "{place}");
            assert!((test.precision.unwrap().low - effect.interval.0).abs() < 1e-9, "{place}");
        }
        says_what_averages_are(&fit, shares);
    }
}

fn says_what_averages_are(fit: &Fit, shares: [f64; 2]) {
    let average = fit.event_studies(0.95).unwrap().remove(2);
    assert!(average.before.expect("identified").p_value > 1e-4);
    let shown = summary(fit).split_whitespace().collect::<Vec<_>>().join(" ");
    let counted = if shares[0] == 0.5 { "each counted alike" } else { "by their shares" };
    assert!(shown.contains(counted), "{shown}");
    assert!(shown.contains("period since cohort"), "{shown}");
    let document: serde_json::Value = serde_json::from_str(&to_json(fit)).unwrap();
    assert_eq!(document["event_studies"][2]["effects"][4]["names"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["event_studies"][2]["effects"][4]["weights"], serde_json::json!(shares));
    assert_eq!(document["event_studies"][2]["reference"], serde_json::Value::Null);
    assert_eq!(Fit::from_json(&to_json(fit)).unwrap(), *fit);
    let page = to_html(fit, &Cover::default());
    assert!(page.contains("The average over cohorts") && !page.contains("treated at the same time"), "{page}");
}
