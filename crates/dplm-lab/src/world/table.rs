//! A real table as a population: rows are drawn from it with replacement.

use std::path::Path;

use dplm::{
    formula::Formula,
    lattice,
    table::{Cells, ReadOptions, Source},
};

use super::{
    Feature,
    design::{Design, Drawn},
    uniform,
};
use crate::LabError;

/// Wages of men in the United States' Current Population Survey of March 1988, as `real/fetch.py`
/// writes them.
const FILE: &str = "cps88.csv";
const COLUMNS: &str =
    "wage[0..100000] ~ education[0..20] + experience[-10..80] + ethnicity{cauc,afam} + parttime{no,yes}";

/// One person.
#[derive(Clone, Copy)]
struct Person {
    log_wage: f64,
    education: f64,
    experience: f64,
    minority: f64,
    part_time: f64,
}

/// Log wages on schooling, experience and indicators, by how experience enters:
/// - `powers`: raw powers 1 to 3;
/// - `legendre`: Legendre polynomials 1 to 3 on the public range;
/// - `wide`: raw powers 1 and 2, the bounds of the second 28 times too wide.
pub(super) fn cps1988(kind: &str, tables: Option<&Path>) -> Result<Option<Design>, LabError> {
    let indicator = |name: &str| Feature::levels(name, &["no", "yes"]);
    let number = Feature::within;
    let experience = match kind {
        "powers" => vec![
            number("experience", 0.0, 60.0),
            number("experience2", 0.0, 3600.0),
            number("experience3", 0.0, 216_000.0),
        ],
        "legendre" => (1..=3).map(|k| number(["p1", "p2", "p3"][k - 1], -1.0, 1.0)).collect(),
        "wide" => vec![number("experience", 0.0, 60.0), number("experience2", 0.0, 100_000.0)],
        _ => return Ok(None),
    };
    let last = if kind == "wide" { "parttime" } else { "minority" };
    let features: Vec<Feature> =
        std::iter::once(number("education", 0.0, 20.0)).chain(experience).chain([indicator(last)]).collect();
    let people = tables.map(read).transpose()?.unwrap_or_default();
    let kind = kind.to_owned();
    let draw = move |rng: &mut rand_chacha::ChaCha8Rng, cells: &mut [f64]| {
        let person = people[(uniform(rng) * people.len() as f64) as usize];
        let mut values = vec![person.education];
        let x = person.experience;
        match kind.as_str() {
            "powers" => values.extend([x, x * x, x.powi(3)]),
            "wide" => values.extend([x, x * x]),
            _ => {
                let u = (x.clamp(0.0, 60.0) - 30.0) / 30.0;
                values.extend([u, (3.0 * u * u - 1.0) / 2.0, (5.0 * u.powi(3) - 3.0 * u) / 2.0]);
            }
        }
        values.push(if kind == "wide" { person.part_time } else { person.minority });
        cells.copy_from_slice(&values);
        Drawn { mean: person.log_wage, drive: (x - 18.0) / 13.0 }
    };
    Ok(Some(Design {
        features,
        response: (3.0, 10.0),
        signal_sd: 0.4,
        error_sd: 0.6,
        alike: false,
        elliptical: false,
        draw: Box::new(draw),
    }))
}

fn read(folder: &Path) -> Result<Vec<Person>, LabError> {
    let file = folder.join(FILE);
    let source = Source::open(&[file.display().to_string()]).map_err(dplm::Error::from)?;
    let formula = Formula::parse(COLUMNS).map_err(dplm::Error::from)?;
    let model = formula.resolve(source.schema()).map_err(dplm::Error::from)?;
    let design = lattice::Design::new(&model);
    let mut people = Vec::new();
    let cell = |cells: &Cells, row: usize| match cells {
        Cells::Numbers(numbers) => numbers[row],
        Cells::Levels(codes) => f64::from(codes[row]),
    };
    let read = source.for_each_block(design.columns(), &ReadOptions::default(), &mut |block| {
        people.extend((0..block.rows).map(|row| Person {
            log_wage: cell(&block.columns[0], row).ln(),
            education: cell(&block.columns[1], row),
            experience: cell(&block.columns[2], row),
            minority: cell(&block.columns[3], row),
            part_time: cell(&block.columns[4], row),
        }));
        Ok(())
    });
    read.map_err(dplm::Error::from)?;
    Ok(people)
}
