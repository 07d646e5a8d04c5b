//! Several specifications under one budget.

use dplm::{
    Error, Progress, Receipt, RunOptions,
    privacy::Rho,
    report::study_json,
    study::{Study, StudyFit},
    table::Source,
};
use dplm_report::{Cover, study_html, study_summary};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

/// `y = 1 + x - z / 2 + 2 error`, with x and z correlated: without z the coefficient of x is 0.75.
fn table(rows: usize, seed: u64) -> Source {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,x,z,w\n".to_owned();
    for _ in 0..rows {
        let x = 2.0 * normal();
        let z = 0.5 * x + 1.5 * normal();
        text += &format!("{},{x},{z},{}\n", 1.0 + x - 0.5 * z + 2.0 * normal(), normal());
    }
    Source::from_csv_stream(&mut text.as_bytes(), "rows").unwrap()
}

const HEAD: &str = "rho = 0.1\ninterest = 'x'\n[columns.y]\nlow = -25\nhigh = 25\n[columns.x]\nlow = -9\nhigh = 9\n";
const MAIN: &str = "[[specification]]\nname = 'main'\nformula = 'y ~ x + z[-9..9]'\n";
const BARE: &str = "[[specification]]\nname = 'bare'\nformula = 'y ~ x'\n";
const LONG: &str = "[[specification]]\nname = 'long'\nformula = 'y ~ x + z[-9..9] + w[-6..6] + I(x^2)'\n";
const TRUTH: [f64; 3] = [1.0, 0.75, 1.0];

fn run(text: &str, source: &Source, seed: u64) -> Result<StudyFit, Error> {
    let prepared = Study::from_toml(text)?.prepare(source, &RunOptions::default().seed(seed), Progress::NONE)?;
    let receipt = Receipt::by_caller(prepared.charge());
    prepared.run(receipt, Progress::NONE)
}

/// 40 studies with 3 intervals of 95 %: fewer than 82 % cover with probability below 1e-6.
#[test]
fn the_intervals_of_every_specification_cover() {
    let text = format!("{HEAD}{MAIN}{BARE}{LONG}");
    let covering: Vec<usize> = (0..40u64)
        .into_par_iter()
        .map(|seed| {
            let found = run(&text, &table(4000, seed), seed).unwrap();
            let covers = |(place, truth): (usize, f64)| {
                let (_, (low, high)) = found.followed(&found.parts[place]).unwrap().expect("identified");
                (low..=high).contains(&truth)
            };
            TRUTH.into_iter().enumerate().filter(|one| covers(*one)).count()
        })
        .collect();
    let covering: usize = covering.iter().sum();
    println!("{covering} of 120 cover");
    assert!(covering >= 99, "{covering} of 120");
}

#[test]
fn what_is_spent_adds_up_and_every_fit_says_so() {
    let found = run(&format!("{HEAD}{MAIN}{BARE}{LONG}"), &table(4000, 1), 1).unwrap();
    let rho = Rho::checked_from_f64(0.1).unwrap();
    for guarantee in found.parts.iter().map(|part| &part.fit.guarantee).chain([&found.guarantee]) {
        let spent: u64 = guarantee.releases.iter().map(|release| release.rho.units()).sum();
        assert_eq!((guarantee.rho, spent), (rho, rho.units()));
    }
    let [main, bare, long] = &found.parts[..] else { panic!("three fits") };
    assert!((main.rho.to_f64() / bare.rho.to_f64() - 2.0).abs() < 1e-6 && bare.rho == long.rho);
    assert!(
        found
            .guarantee
            .releases
            .iter()
            .any(|release| release.what == "second moments, round 1, for all specifications")
    );
    assert!(
        main.fit.guarantee.releases.iter().filter(|release| release.what.starts_with("second moments")).count() >= 2
    );
    assert!(main.fit.to_string().contains("the specification 'main' of a study of 3"));
    let (text, json) = (study_summary(&found), study_json(&found));
    for words in
        ["Private study of 3 specifications", "x, with 95 % intervals", "without", "I(x^2)", "for all specifications"]
    {
        assert!(words == "without" || text.contains(words), "{words}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["specifications"][1]["name"], "bare");
    assert_eq!(json["specifications"][0]["fit"]["guarantee"]["rho"], 0.1);
    let page = study_html(&found, &Cover::default());
    assert!(page.contains("class=\"dot\"") && page.contains("Across specifications") && !page.contains("NaN"));
}

#[test]
fn simultaneous_intervals_are_longer_by_bonferroni() {
    let source = table(4000, 1);
    let alone = run(&format!("{HEAD}{MAIN}{BARE}"), &source, 1).unwrap();
    let together = run(&format!("simultaneous = true\n{HEAD}{MAIN}{BARE}"), &source, 1).unwrap();
    assert!((together.interest_level() - 0.975).abs() < 1e-12 && alone.interest_level() == 0.95);
    for (one, other) in alone.parts.iter().zip(&together.parts) {
        assert_eq!(
            one.fit.coefficients, other.fit.coefficients,
            "only the coefficient that is followed has other intervals"
        );
        let length = |study: &StudyFit, part| study.followed(part).unwrap().map(|(_, (low, high))| high - low).unwrap();
        let ratio = length(&together, other) / length(&alone, one);
        assert!(
            (1.1..1.25).contains(&ratio),
            "2.241 / 1.960, and a little more where the curvature is uncertain: {ratio}"
        );
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_a_sentence() {
    let share = |share: &str, text: &str| text.replace("formula", &format!("share = {share}\nformula"));
    let source = table(500, 1);
    for (text, words) in [
        (HEAD.to_owned(), "no specification"),
        (format!("{HEAD}{MAIN}{MAIN}"), "two specifications are called 'main'"),
        (format!("{HEAD}{}{}", share("0.7", MAIN), share("0.6", BARE)), "add up to 1"),
        (format!("{HEAD}{}{}", share("1.0", MAIN), BARE), "add up to 1"),
        (format!("{HEAD}{}{BARE}", share("-0.1", MAIN)), "above 0"),
        (format!("{HEAD}{MAIN}").replace("'x'", "'q'"), "'q' to follow"),
        (format!("{HEAD}{MAIN}").replace("interest = 'x'", "simultaneous = true"), "name it with interest"),
        (format!("{HEAD}{MAIN}").replace("rho = 0.1\n", ""), "budget"),
        (format!("{HEAD}{MAIN}").replace("y ~ x", "y ~ ~ x"), "specification 'main'"),
        (format!("{HEAD}{MAIN}").replace("name", "nom"), "in line"),
        (format!("{HEAD}{MAIN}").replace("interest", "intrest"), "'intrest' is neither"),
        (format!("{HEAD}{MAIN}").replace("rho = 0.1", "rho = 'low'"), "in line 1: rho must be a number"),
        (format!("formula = 'y ~ x'\n{HEAD}{MAIN}"), "'formula' is neither"),
        (format!("{HEAD}{MAIN}{}", BARE.replace("y ~ x", "y ~ x + nowhere[0..1]")), "nowhere"),
        (format!("{HEAD}{MAIN}{LONG}").replace("rho = 0.1", "rho = 0.0001"), "the budget is too small"),
    ] {
        let refusal = run(&text, &source, 1).expect_err(&text).to_string();
        assert!(refusal.contains(words), "{words}: {refusal}");
    }
}

/// Persons with six rows each, whose x is constant and whose errors have an intra-class correlation
/// of 0.8: `y = 1 + x + error`. Persons with a low x have a weight of 3.
fn persons(count: usize, seed: u64) -> Source {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,x,z,w,id\n".to_owned();
    for id in 0..count {
        let (x, own) = (2.0 * normal(), 1.8 * normal());
        let weight = if x < 0.0 { 3.0 } else { 1.0 };
        for _ in 0..6 {
            text += &format!("{},{x},{},{weight},{id}\n", 1.0 + x + own + 0.9 * normal(), normal());
        }
    }
    Source::from_csv_stream(&mut text.as_bytes(), "rows").unwrap()
}

/// 40 studies with 2 intervals of 95 %: fewer than 80 % cover with probability below 1e-6, if they
/// were independent; intervals that assume independent rows would cover in half of them.
#[test]
fn a_study_of_persons_covers_where_rows_go_together() {
    let text = format!("person = 'id'\nrows_per_person = 6\nweights = 'w[0..3]'\n{HEAD}{MAIN}{BARE}");
    let of_study = |seed: u64| {
        let found = run(&text, &persons(4000, seed), seed).unwrap();
        assert_eq!(found.guarantee.promise.unit, dplm::privacy::Unit::Person);
        let covers = |part| {
            let (_, (low, high)) = found.followed(part).unwrap().expect("identified");
            (low..=high).contains(&1.0)
        };
        found.parts.iter().filter(|part| covers(part)).count()
    };
    let covering: usize = (0..40u64).into_par_iter().map(of_study).sum();
    println!("{covering} of 80 cover");
    assert!(covering >= 64, "{covering} of 80");
}

/// With one row per person the numbers are those of the study of rows, to the last bit.
#[test]
fn persons_with_one_row_are_rows() {
    let lines: String = (0..3000).map(|i| format!("{},{},{},{i}\n", i % 17, i % 7, (i * i) % 5)).collect();
    let source = Source::from_csv_stream(&mut format!("y,x,z,id\n{lines}").as_bytes(), "rows").unwrap();
    let (rows, persons) = (format!("{HEAD}{MAIN}{BARE}"), format!("person = 'id'\n{HEAD}{MAIN}{BARE}"));
    let (rows, persons) = (run(&rows, &source, 1).unwrap(), run(&persons, &source, 1).unwrap());
    for (one, other) in rows.parts.iter().zip(&persons.parts) {
        assert_eq!(one.fit.coefficients, other.fit.coefficients);
        assert_eq!(one.fit.guarantee.releases, other.fit.guarantee.releases);
    }
}

#[test]
fn the_coefficient_that_is_followed_is_named_or_the_first_that_all_have() {
    let source = table(4000, 1);
    let unnamed = HEAD.replace("interest = 'x'\n", "");
    let other = "[[specification]]\nname = 'other'\nformula = 'y ~ w[-6..6] + x'\n";
    let found = run(&format!("{unnamed}{LONG}{other}"), &source, 1).unwrap();
    let interest = found.interest.as_ref().expect("x, and w");
    assert!(interest.name == "x" && !interest.stated, "{interest:?}");
    assert!(found.followed(&found.parts[1]).unwrap().is_some());
    let (text, page) = (study_summary(&found), study_html(&found, &Cover::default()));
    for words in [&text, &page] {
        assert!(words.contains("x is followed, as the first coefficient that all specifications have"), "{words}");
    }
    let apart = "[[specification]]\nname = 'apart'\nformula = 'y ~ w[-6..6]'\n";
    let found = run(&format!("{unnamed}{BARE}{apart}"), &source, 1).unwrap();
    assert_eq!(found.interest, None);
    assert!(!study_html(&found, &Cover::default()).contains("Across specifications"));
}
