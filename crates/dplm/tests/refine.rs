//! A second release of the same model, pooled with the first.

use dplm::{
    Dataset, Error, Fit, NoiseSource, Progress, Reading, Receipt, Refinement,
    formula::Formula,
    method::{ConfigError, Purpose, Request, auto, dpgd},
    privacy::Rho,
    report::to_json,
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
    let prepared = data.prepare(refinement.method(), NoiseSource::Seed(seed))?;
    assert_eq!(prepared.charge().rho, rho(more), "only the second is charged");
    let receipt = Receipt::by_caller(prepared.charge());
    refinement.join(prepared.run(receipt, Progress::NONE)?)
}

fn lengths(fit: &Fit) -> f64 {
    fit.coefficients[1..].iter().map(|one| one.precision.unwrap()).map(|ends| (ends.high - ends.low).ln()).sum()
}

/// 60 data sets with 4 intervals of 95 %: fewer than 85 % cover with probability below 1e-6. As short as one fit at the whole budget, within a
/// tenth, on geometric average.
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
