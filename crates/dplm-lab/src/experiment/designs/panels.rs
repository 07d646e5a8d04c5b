//! Persons with several rows.

use std::fmt::Write;

use dplm::{
    Person,
    formula::Formula,
    table::{ReadOptions, Source},
};
use dplm_theory::clear::least_squares_of_persons;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use super::Trial;

const SLOPES: [f64; 2] = [0.6, -0.4];
/// What waves add to the first.
const WAVES: [f64; 8] = [0.0, 0.0, 0.3, 0.0, -0.5, 0.0, 0.0, 0.0];
/// What the four periods add to those who are treated.
const EFFECTS: [f64; 4] = [0.0, 0.0, 0.5, 0.8];
/// How alike errors are from one row to the next.
const FOLLOWS: f64 = 0.5;

/// Errors of one person: each is half the one before.
struct Errors<'a> {
    last: f64,
    normal: &'a mut dyn FnMut() -> f64,
}

impl Errors<'_> {
    fn next(&mut self) -> f64 {
        self.last = FOLLOWS * self.last + (1.0 - FOLLOWS * FOLLOWS).sqrt() * (self.normal)();
        self.last
    }
}

/// Constants that go with `x`, errors that follow each other, one to eight rows of each person, and
/// a missing cell here and there; half of the persons have one row where they are `alone`.
pub(super) fn panel(persons: u64, seed: u64, alone: bool) -> Result<Trial, dplm::Error> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,x,z,wave,id\n".to_owned();
    for person in 0..persons {
        let constant = normal();
        let rows = if alone && person % 2 == 0 { 1 } else { 1 + person / 2 % 8 };
        let from = person / 8 % 3;
        let mut errors = Errors { last: normal(), normal: &mut normal };
        for wave in from..(from + rows).min(8) {
            let (x, z) = (0.8 * constant + (errors.normal)(), (errors.normal)());
            let y = 2.0 * constant + SLOPES[0] * x + SLOPES[1] * z + WAVES[wave as usize] + errors.next();
            let z = if (person + wave) % 23 == 5 { String::new() } else { z.to_string() };
            writeln!(text, "{y},{x},{z},{wave},p{person}").expect("a text can be written");
        }
    }
    let formula = "y[-12..12] ~ x[-6..6] + z[-4..4] + wave{0,1,2,3,4,5,6,7} | id";
    judged(&text, formula, 8, &[&SLOPES[..], &WAVES[1..]].concat())
}

/// Four periods of each person; every other one is treated from the third on, and treated persons
/// differ from the others.
pub(super) fn event_study(persons: u64, seed: u64) -> Result<Trial, dplm::Error> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut text = "y,period,treated,id\n".to_owned();
    for person in 0..persons {
        let treated = person % 2;
        let constant = normal() + treated as f64;
        let mut errors = Errors { last: normal(), normal: &mut normal };
        for (period, effect) in EFFECTS.into_iter().enumerate() {
            let effect = if treated == 1 { effect } else { 0.0 };
            let y = constant + 0.2 * period as f64 + effect + errors.next();
            writeln!(text, "{y},{},{treated},p{person}", period + 1).expect("a text can be written");
        }
    }
    // The coefficients are in the order of the formula: events, then periods.
    let truths = [EFFECTS[0], EFFECTS[2], EFFECTS[3], 0.2, 0.4, 0.6];
    judged(&text, "y[-8..10] ~ i(period{1,2,3,4}, treated{0,1}, ref = 2) | id + period", 4, &truths)
}

/// A table of persons, with the standard errors of clustered least squares.
fn judged(text: &str, formula: &str, rows: u32, truths: &[f64]) -> Result<Trial, dplm::Error> {
    let source = Source::from_csv_stream(&mut text.as_bytes(), "a panel")?;
    let model = Formula::parse(formula)?.resolve(source.schema())?;
    let clear = least_squares_of_persons(&source, &model, &Person::new("id"), &ReadOptions::default())?.into_inner();
    let names = model.coefficient_names().into_iter();
    let judged = names.zip(truths).zip(clear.std_errors).map(|((name, truth), error)| (name, *truth, error));
    Ok(Trial { judged: judged.collect(), source, formula: formula.to_owned(), persons: Some(("id", rows)) })
}
