//! A second release of the same model, pooled with the first.

use std::sync::Arc;

use dplm::{
    Dataset, Error, Fit, GroupedDataset, NoiseSource, Person, Progress, Reading, Receipt, Refinement, RunOptions,
    formula::{By, Formula},
    method::{ConfigError, IntervalMethod, Purpose, Request, Target, auto, dpgd},
    moments::Moments,
    options::Choice,
    privacy::{Neighbours, Rho},
    report::to_json,
    study::{Specification, Study},
    table::Source,
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

const FORMULA: &str = "y[-25..25] ~ x[-9..9] + z[-9..9] + g{a,b}";
const TRUTH: [f64; 4] = [1.0, 1.0, -0.5, 2.0];

/// `y = 1 + x - z / 2 + 2 [g = b] + 2 error`, x and z correlated.
fn table(rows: usize, seed: u64) -> Source {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,x,z,g\n".to_owned();
    for row in 0..rows {
        let (x, b) = (2.0 * normal(), row % 3 == 0);
        let z = 0.5 * x + 1.5 * normal();
        let y = 1.0 + x - 0.5 * z + if b { 2.0 } else { 0.0 } + 2.0 * normal();
        text += &format!("{y},{x},{z},{}\n", if b { "b" } else { "a" });
    }
    Source::from_csv_stream(&mut text.as_bytes(), "rows").unwrap()
}

fn rho(rho: f64) -> Rho {
    Rho::checked_from_f64(rho).unwrap()
}

fn data(source: &Source) -> Dataset {
    Dataset::read(source, &Formula::parse(FORMULA).unwrap(), &Reading::default()).unwrap()
}

fn first(data: &mut Dataset, budget: f64, seed: u64) -> Fit {
    data.fit(&auto::Config::new(Request::new(rho(budget))), NoiseSource::Seed(seed), Progress::NONE).unwrap()
}

fn refined(data: &mut Dataset, fit: &Fit, more: f64, seed: u64) -> Result<Fit, Error> {
    let refinement = Refinement::new(fit.clone(), rho(more))?;
    let prepared = refinement.prepare(data, NoiseSource::Seed(seed))?;
    assert_eq!(prepared.charge().rho, rho(more), "only the second is charged");
    let receipt = Receipt::by_caller(prepared.charge());
    refinement.join(prepared.run(receipt, Progress::NONE)?)
}

fn lengths(fit: &Fit) -> f64 {
    let slopes = fit.reported().filter(|one| one.name != "(Intercept)");
    slopes.map(|one| one.precision.unwrap()).map(|ends| (ends.high - ends.low).ln()).sum()
}

/// 60 data sets with 4 intervals of 95 %: fewer than 85 % cover with probability below 1e-6. They
/// are as short as those of one fit at the whole budget, within a tenth, on geometric average.
#[test]
fn pooled_intervals_cover_and_are_as_short_as_one_fit_at_the_whole_budget() {
    let (budget, more, rows) = (0.02, 0.02, 4000);
    let found: Vec<(usize, f64, f64)> = (0..60u64)
        .into_par_iter()
        .map(|seed| {
            let mut data = data(&table(rows, seed));
            let one = first(&mut data, budget, seed);
            let both = refined(&mut data, &one, more, 1000 + seed).unwrap();
            let whole = first(&mut data, budget + more, 2000 + seed);
            let covers = |(one, truth): (&dplm::Coefficient, f64)| {
                one.precision.is_some_and(|ends| (ends.low..=ends.high).contains(&truth))
            };
            let covering = both.coefficients.iter().zip(TRUTH).filter(|one| covers(*one)).count();
            (covering, lengths(&both) - lengths(&whole), lengths(&both) - lengths(&one))
        })
        .collect();
    let covering: usize = found.iter().map(|one| one.0).sum();
    let mean = |of: fn(&(usize, f64, f64)) -> f64| (found.iter().map(of).sum::<f64>() / 180.0).exp();
    let (of_whole, of_one) = (mean(|one| one.1), mean(|one| one.2));
    println!("{covering} of 240 cover; length {of_whole:.3} of one fit at the whole budget, {of_one:.3} of the first");
    assert!(covering >= 204, "{covering} of 240");
    assert!(of_whole < 1.1 && of_one < 0.95, "{of_whole} {of_one}");
}

#[test]
fn a_refined_fit_adds_up_and_is_refined_again() {
    let mut data = data(&table(3000, 1));
    let one = first(&mut data, 0.02, 1);
    let two = refined(&mut data, &one, 0.03, 2).unwrap();
    let three = refined(&mut data, &two, 0.05, 3).unwrap();
    for (fit, total) in [(&two, 0.05), (&three, 0.1)] {
        assert_eq!(fit.guarantee.rho, rho(total));
        let spent: u64 = fit.guarantee.releases.iter().map(|release| release.rho.units()).sum();
        assert_eq!(spent, rho(total).units());
        assert_eq!(Fit::from_json(&to_json(fit)).unwrap(), *fit);
    }
    assert!(two.guarantee.epsilon > one.guarantee.epsilon && three.method.runs == 3);
    assert!(lengths(&three) < lengths(&one) && lengths(&two) < lengths(&one));
    assert!(two.guarantee.releases.iter().any(|release| release.what == "curvature of the loss, refinement"));
    assert!(
        !two.guarantee
            .releases
            .iter()
            .any(|release| release.what.contains("moments") && release.what.contains("refinement"))
    );
    assert_eq!((two.residual_sd, two.target), (one.residual_sd, one.target));
}

#[test]
fn what_cannot_be_refined_is_refused_before_anything_is_spent() {
    let mut data = data(&table(3000, 1));
    let prediction = Request { purpose: Purpose::Prediction, ..Request::new(rho(0.1)) };
    let predicting = data.fit(&auto::Config::new(prediction), NoiseSource::Seed(1), Progress::NONE).unwrap();
    let paper = dpgd::Config::new(Request::new(rho(0.5)));
    let papers = data.fit(&paper, NoiseSource::Seed(1), Progress::NONE).unwrap();
    for fit in [predicting, papers] {
        assert_eq!(Refinement::new(fit, rho(0.1)).unwrap_err(), ConfigError::NotRefinable);
    }
    let one = first(&mut data, 0.1, 1);
    let refusal = refined(&mut self::data(&table(3001, 1)), &one, 0.1, 2).unwrap_err();
    assert!(matches!(refusal, Error::Config(ConfigError::OtherFit)), "{refusal}");
    let other = Formula::parse("y[-25..25] ~ x[-9..9] + z[-8..9] + g{a,b}").unwrap();
    let mut other = Dataset::read(&table(3000, 1), &other, &Reading::default()).unwrap();
    assert!(matches!(refined(&mut other, &one, 0.1, 2).unwrap_err(), Error::Config(ConfigError::OtherFit)));
}

/// The request of a first fit: a table, its reading options, and the model.
#[derive(Clone)]
struct Question {
    name: &'static str,
    formula: &'static str,
    request: Request,
    weights: Option<&'static str>,
    by: Option<(&'static str, &'static str)>,
    csv: &'static str,
}

/// The allowed distance of the pooled fit from one fit at the total budget, in standard errors of
/// the population.
const CLOSE: f64 = 0.25;
/// The same with standard errors of the noise alone: of four differences of two fits each.
const CLOSE_TO_SAMPLE: f64 = 6.0;
const PLAIN: &str = "y[-40..40] ~ x[-9..9] + z[-9..9] + g{a,b}";

fn plain(name: &'static str) -> Question {
    Question { name, formula: PLAIN, request: Request::new(rho(1.0)), weights: None, by: None, csv: "" }
}

/// A request for each option that a refined fit may have: every variant of those that are words.
fn questions() -> Vec<Question> {
    let asked = |name, change: &dyn Fn(&mut Request)| {
        let mut question = plain(name);
        change(&mut question.request);
        question
    };
    let persons = |rows, counts_once| Some(Person { rows, counts_once, ..Person::new("id") });
    let known =
        "names = ['x', 'z', 'g[b]']\nmeans = [0, 0, 0.33]\ncovariance = [[4, 2, 0], [2, 3.25, 0], [0, 0, 0.22]]";
    let moments = Arc::new(Moments::from_toml(known).unwrap());
    let mut all = vec![
        plain("nothing else"),
        asked("level", &|request| request.level = 0.8),
        asked("delta", &|request| request.delta = 1e-9),
        asked("moments", &|request| request.moments = Some(moments.clone())),
        asked("person", &|request| request.person = persons(None, false)),
        asked("rows per person", &|request| request.person = persons(Some(2), false)),
        asked("keep", &|request| request.keep = vec!["x".to_owned()]),
        asked("focus", &|request| request.focus = vec!["x".to_owned()]),
        asked("focus of persons", &|request| {
            (request.focus, request.person) = (vec!["x, g".to_owned()], persons(None, false));
        }),
        asked("batches", &|request| (request.batches, request.burn_in) = (7, Some(3))),
        Question { weights: Some("w[0..5]"), ..plain("weights") },
        Question { by: Some(("region{north,south}", "south")), ..plain("a group") },
        Question { csv: "semicolon,decimal-comma", ..plain("csv") },
        Question { formula: "sy ~ sx + g{a,b}", ..plain("standardised") },
    ];
    all.extend(Neighbours::ALL.iter().map(|&one| asked("neighbours", &|request| request.neighbours = one)));
    all.extend(Target::ALL.iter().map(|&target| {
        asked("target", &|request| {
            request.target = Some(target);
            request.person = persons(None, true).filter(|_| target == Target::Person);
        })
    }));
    let mut together = asked("all at once", &|request| {
        (request.neighbours, request.level, request.person) = (Neighbours::ZeroOut, 0.9, persons(Some(2), true));
        request.target = Some(Target::Person);
    });
    (together.weights, together.by) = (Some("w[0..5]"), Some(("region{north,south}", "south")));
    all.push(together);
    all
}

/// The requests above cover every field, except those that no refined fit can have.
#[test]
fn every_option_is_asked_about() {
    let (usual, all) = (Request::new(rho(1.0)), questions());
    let differs = |of: &dyn Fn(&Request) -> bool| all.iter().any(|one| of(&one.request));
    let Request {
        rho: _,
        delta,
        neighbours,
        purpose: _,
        interval: _,
        target,
        level,
        batches,
        burn_in,
        person,
        focus,
        moments,
        keep,
        one_of_groups: _,
    } = usual;
    assert!(differs(&|one| one.delta != delta) && differs(&|one| one.neighbours != neighbours));
    assert!(differs(&|one| one.target != target) && differs(&|one| (one.level - level).abs() > 0.0));
    assert!(differs(&|one| one.batches != batches) && differs(&|one| one.burn_in != burn_in));
    assert!(differs(&|one| one.person != person) && differs(&|one| one.moments != moments));
    assert!(differs(&|one| one.keep != keep) && differs(&|one| one.focus != focus));
    let Reading { table: _, memory: _, person: _, weights: _, device: _ } = Reading::default();
    assert!(all.iter().any(|one| one.weights.is_some()) && all.iter().any(|one| !one.csv.is_empty()));
    assert!(IntervalMethod::ALL.iter().filter(|&&one| one == IntervalMethod::Newton).count() == 1);
}

/// Slopes differ by weight, by region, and between the first rows of a person and the others;
/// errors have a long tail.
fn text(rows: u32) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,x,z,g,w,id,region,sy,sx\n".to_owned();
    for row in 0..rows {
        let (x, b, w, south) = (2.0 * normal(), row % 3 == 0, f64::from(row % 5 + 1), row / 4 % 5 < 2);
        let (z, first) = (0.5 * x + 1.5 * normal(), row / 3000 == 0);
        let slope = 0.2 + 0.15 * w + if south { 0.8 } else { 0.0 } + if first { 0.4 } else { 0.0 };
        let tail = if row % 25 == 0 { 12.0 } else { 0.0 };
        let y = 1.0 + slope * x - 0.5 * z + if b { 2.0 } else { 0.0 } + 2.0 * normal() + tail;
        let (region, id) = (if south { "south" } else { "north" }, row % 1500);
        text += &format!("{y},{x},{z},{},{w},{id},{region},{},{}\n", if b { "b" } else { "a" }, y / 5.0, x / 2.0);
    }
    text
}

fn opened(folder: &std::path::Path, csv: &str) -> Source {
    let path = folder.join(format!("rows{}.csv", csv.len()));
    let text = text(6000);
    let text = if csv.is_empty() { text } else { text.replace(',', ";").replace('.', ",") };
    std::fs::write(&path, text).unwrap();
    Source::open_as(&[path], csv.parse().unwrap_or_default()).unwrap()
}

fn asked(question: &Question, source: &Source, budget: f64, seed: u64) -> Fit {
    let weights = question.weights.map(|weights| weights.parse().unwrap());
    let reading = Reading { person: question.request.person.clone(), weights, ..Reading::default() };
    let formula = Formula::parse(question.formula).unwrap();
    let method = auto::Config::new(Request { rho: rho(budget), ..question.request.clone() });
    let noise = NoiseSource::Seed(seed);
    match question.by {
        None => Dataset::read(source, &formula, &reading).unwrap().fit(&method, noise, Progress::NONE).unwrap(),
        Some((by, level)) => {
            let by: By = by.parse().unwrap();
            let mut groups = GroupedDataset::read(source, &formula, &reading, &by, None).unwrap();
            groups.fit(&method, noise, Progress::NONE).unwrap().fit_of(level).unwrap().clone()
        }
    }
}

fn asked_again(first: &Fit, source: &Source, more: f64, seed: u64) -> Result<Fit, Error> {
    let refinement = Refinement::new(first.clone(), rho(more))?;
    let mut data = refinement.read(source, &RunOptions::default(), Progress::NONE)?;
    let prepared = refinement.prepare(&mut data, NoiseSource::Seed(seed))?;
    let receipt = Receipt::by_caller(prepared.charge());
    refinement.join(prepared.run(receipt, Progress::NONE)?)
}

/// The largest distance between two fits, in standard errors.
fn apart(one: &Fit, other: &Fit) -> f64 {
    let of = |fit: &Fit| fit.reported().map(|one| (one.estimate, one.precision)).collect::<Vec<_>>();
    let distance = of(one).into_iter().zip(of(other)).map(|(one, other)| {
        (one.0.expect("identified") - other.0.expect("identified")).abs() / other.1.expect("identified").std_error
    });
    distance.fold(0.0, f64::max)
}

/// The request that a fit states.
fn stated(fit: &Fit) -> impl PartialEq + std::fmt::Debug {
    let group = fit.group.as_ref().map(|group| (group.by.clone(), group.level.clone(), group.units));
    let of_rows = (fit.formula.clone(), fit.person.clone(), fit.weights.clone(), group, fit.design.clone());
    let of_method = (fit.purpose, fit.asked, fit.interval, fit.level, fit.method.name.clone());
    (
        of_rows,
        of_method,
        fit.guarantee.promise.clone(),
        fit.guarantee.delta,
        fit.request.clone().rho(None::<f64>),
        fit.csv,
    )
}

/// At budgets this large a dropped option shows: without its weights the slope of `x` is many
/// standard errors away, and so it is on the rows of both regions.
#[test]
fn a_refined_fit_answers_the_question_of_the_first() {
    let folder = tempfile::tempdir().unwrap();
    for question in questions() {
        let source = opened(folder.path(), question.csv);
        let first = Fit::from_json(&to_json(&asked(&question, &source, 200.0, 1))).unwrap();
        let refined = asked_again(&first, &source, 800.0, 2).unwrap();
        let whole = asked(&question, &source, 1000.0, 3);
        let distance = apart(&refined, &whole);
        let longer = lengths(&refined) - lengths(&whole);
        println!("{:<16} {distance:.4} {longer:.4}", question.name);
        let close = if first.asked == Target::Sample { CLOSE_TO_SAMPLE } else { CLOSE };
        assert!(distance < close, "{}: {distance}", question.name);
        assert_eq!(stated(&refined), stated(&whole), "{}", question.name);
        assert_eq!(refined.guarantee.rho, rho(1000.0));
        assert!(longer.abs() < if first.asked == Target::Sample { 3.0 } else { 0.3 }, "{}: {longer}", question.name);
        assert_eq!(Fit::from_json(&to_json(&refined)).unwrap(), refined);
    }
    let plain = asked(&plain("nothing else"), &opened(folder.path(), ""), 1000.0, 3);
    for question in questions().iter().filter(|one| ["weights", "a group", "rows per person"].contains(&one.name)) {
        let distance = apart(&plain, &asked(question, &opened(folder.path(), ""), 1000.0, 3));
        assert!(distance > 4.0 * CLOSE, "{}: dropped, it would not show: {distance}", question.name);
    }
}

/// The rows of a group can be refined in the same table only, and with the same groups.
#[test]
fn a_group_is_refined_on_its_own_table() {
    let folder = tempfile::tempdir().unwrap();
    let source = opened(folder.path(), "");
    let question = Question { by: Some(("region{north,south}", "south")), ..plain("a group") };
    let first = asked(&question, &source, 5.0, 1);
    let refinement = Refinement::new(first.clone(), rho(1.0)).unwrap();
    let longer = Source::from_csv_stream(&mut text(6001).as_bytes(), "rows").unwrap();
    let refusal = refinement.read(&longer, &RunOptions::default(), Progress::NONE).err().expect("refused");
    assert!(matches!(refusal, Error::Config(ConfigError::OtherFit)), "{refusal}");
    let mut data = refinement.read(&source, &RunOptions::default(), Progress::NONE).unwrap();
    let charge = refinement.prepare(&mut data, NoiseSource::Seed(1)).unwrap().charge();
    assert!(charge.table.starts_with("6000 rows, in groups by region{north,south}: y, x"), "{}", charge.table);
    assert!(refinement.method().request().one_of_groups);
    assert!(charge.plan.contains("\"group\":\"south\",\"refines\":\"5\""), "{}", charge.plan);
    // All rows are not those of the group.
    let formula = Formula::parse(PLAIN).unwrap();
    let mut all = Dataset::read(&source, &formula, &Reading::default()).unwrap();
    assert!(refinement.prepare(&mut all, NoiseSource::Seed(1)).is_err());
}

#[test]
fn what_is_void_about_nobody_or_of_a_study_is_refused() {
    let source = table(3000, 1);
    let mut data = data(&source);
    let private = data.fit(&auto::Config::new(Request::new(rho(0.1))), NoiseSource::System, Progress::NONE).unwrap();
    let void = first(&mut data, 0.1, 1);
    for (fit, noise) in [(private, NoiseSource::Seed(2)), (void, NoiseSource::System)] {
        let refusal = Refinement::new(fit, rho(0.1)).unwrap().prepare(&mut data, noise).err().expect("refused");
        assert!(refusal.to_string().contains("seed"), "{refusal}");
    }
    let mut nobody = self::data(&table(3000, 1).simulated());
    let refusal = Refinement::new(first(&mut nobody, 0.1, 1), rho(0.1)).unwrap_err();
    assert_eq!(refusal, ConfigError::RefinesSimulated);
    let formula = Formula::parse(FORMULA).unwrap();
    let specifications = vec![Specification { name: "main".to_owned(), formula, share: None }];
    let study = Study::new(specifications, Request::new(rho(0.5))).unwrap();
    let prepared = study.prepare(&source, &RunOptions::default().seed(1), Progress::NONE).unwrap();
    let receipt = Receipt::by_caller(prepared.charge());
    let part = prepared.run(receipt, Progress::NONE).unwrap().parts.remove(0).fit;
    assert_eq!(Refinement::new(part, rho(0.1)).unwrap_err(), ConfigError::RefinesPartOfStudy);
}
