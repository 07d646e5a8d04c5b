//! The distribution of features, and the mean of the response.

use std::path::Path;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, Poisson};

use super::{Feature, Known, controls as among, normal, outcomes::Cause, table, uniform};
use crate::LabError;

/// A distribution of features, with what an analyst publicly knows of them.
pub struct Design {
    pub(super) features: Vec<Feature>,
    /// Public bounds of the response with errors of the default spread.
    pub(super) response: (f64, f64),
    /// The approximate standard deviation of the response's mean, and that of the errors unless
    /// their name says otherwise.
    pub(super) signal_sd: f64,
    pub(super) error_sd: f64,
    /// Whether the features after the first are exchangeable.
    pub(super) alike: bool,
    /// Whether a column that is left out has a mean linear in the others and is symmetric about it.
    pub(super) elliptical: bool,
    pub(super) draw: Draw,
}

/// Fills the cells of a row.
pub(super) type Draw = Box<dyn Fn(&mut ChaCha8Rng, &mut [f64]) -> Drawn + Send + Sync>;

/// The response's distribution for a row of features.
pub(super) struct Drawn {
    /// The mean of the response.
    pub mean: f64,
    /// The first column, in standard deviations from its mean.
    pub drive: f64,
}

/// Columns of unit variance are publicly known to lie within this of zero.
pub(super) const USUAL: f64 = 5.0;

/// Rows from which the constant of a logit is computed.
const CAUSES: usize = 20_000;

impl Design {
    /// What outcomes depend on, of rows drawn at random.
    pub(super) fn causes(&self) -> Vec<Cause> {
        let (mut rng, mut cells) = (ChaCha8Rng::seed_from_u64(0), vec![0.0; self.features.len()]);
        let mut one = || {
            let drawn = (self.draw)(&mut rng, &mut cells);
            self.cause(&drawn, &cells)
        };
        (0..CAUSES).map(|_| one()).collect()
    }

    /// The same of a row.
    pub(super) fn cause(&self, drawn: &Drawn, cells: &[f64]) -> Cause {
        let is_last = match self.features.last().map(|feature| &feature.known) {
            Some(Known::Levels(levels)) => cells.last() == Some(&((levels.len() - 1) as f64)),
            _ => false,
        };
        (drawn.mean, drawn.drive, is_last)
    }

    /// The identity of a population: the name and, if the distribution depends on it, the number of
    /// rows.
    pub fn identity(text: &str, rows: u64) -> String {
        if text.starts_with("rare") { format!("{text} of {rows}") } else { text.to_owned() }
    }

    /// The design of this name, for tables of `rows` rows; real tables are read from a folder, and
    /// are empty without one.
    ///
    /// # Errors
    /// When there is no such design, or a table cannot be read.
    pub fn named(text: &str, rows: u64, tables: Option<&Path>) -> Result<Design, LabError> {
        let refused = || LabError::Setting { given: format!("design {text}") };
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |word: &str| word.parse::<f64>().map_err(|_| refused());
        Ok(match words[..] {
            ["controls", p] => controls(number(p)? as usize),
            ["loose", factor] => equicorrelated(0.5, 5, USUAL * number(factor)?),
            ["all", "loose", factor] => {
                let factor = number(factor)?;
                Design { response: (-10.0 * factor, 10.0 * factor), ..equicorrelated(0.5, 5, USUAL * factor) }
            }
            ["correlated", r, shrunk] => correlated(number(r)?, number(shrunk)?),
            ["ar", r, p] => autoregressive(number(r)?, number(p)? as usize),
            ["powers"] => powers(),
            ["nearly", "constant"] => nearly_constant(),
            ["duplicate"] => duplicate(),
            ["rare", count] => rare(number(count)? / rows as f64),
            ["equicorrelated", r, p] => equicorrelated(number(r)?, number(p)? as usize, USUAL),
            ["interaction"] => interaction(),
            ["incomes"] => incomes(),
            ["months"] => months(),
            ["hours"] => hours(),
            ["counts"] => counts(),
            ["heavy", p] => heavy(number(p)? as usize),
            ["shares"] => shares(),
            ["age", "squared"] => age_squared(),
            ["far", "corner"] => far_corner(),
            ["two", "groups"] => two_groups(),
            ["pairs", r, p] => among::pairs(number(r)?, number(p)? as usize),
            ["condition", ratio, p] => among::condition(number(ratio)?, number(p)? as usize),
            ["twins", apart, p] => among::nearly_repeated(1, number(apart)?, number(p)? as usize),
            ["triples", apart, p] => among::nearly_repeated(2, number(apart)?, number(p)? as usize),
            ["treated", share] => among::treated(number(share)?),
            ["factors", p] => among::factors(number(p)? as usize),
            ["blocks", p] => among::blocks(number(p)? as usize),
            ["cps1988", kind] => table::cps1988(kind, tables)?.ok_or_else(refused)?,
            _ => return Err(refused()),
        })
    }
}

/// A design with a response of standard deviation about 1 before errors.
pub(super) fn design(features: Vec<Feature>, draw: Draw) -> Design {
    Design { features, response: (-10.0, 10.0), signal_sd: 1.0, error_sd: 1.0, alike: false, elliptical: false, draw }
}

pub(super) fn numbered(count: usize, bound: f64) -> Vec<Feature> {
    (1..=count).map(|j| Feature::within(format!("x{j}"), -bound, bound)).collect()
}

pub(super) fn mean_of(cells: &[f64], weight: f64) -> f64 {
    0.5 + weight * cells.iter().sum::<f64>()
}

/// Independent standard Gaussian columns.
fn controls(p: usize) -> Design {
    let weight = (p as f64).sqrt().recip();
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        cells.fill_with(|| normal(rng));
        Drawn { mean: mean_of(cells, weight), drive: cells[0] }
    };
    Design { alike: true, elliptical: true, ..design(numbered(p, USUAL), Box::new(draw)) }
}

/// Two columns with correlation `r`, the second in units in which it fills a small part of its
/// bounds.
fn correlated(r: f64, shrunk: f64) -> Design {
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let x = normal(rng);
        let z = r * x + (1.0 - r * r).sqrt() * normal(rng);
        cells.copy_from_slice(&[x, z / shrunk]);
        Drawn { mean: 1.0 + x + z, drive: x }
    };
    let features = vec![Feature::within("x", -5.0, 5.0), Feature::within("z", -20.0, 20.0)];
    Design { signal_sd: (2.0 + 2.0 * r).sqrt(), elliptical: true, ..design(features, Box::new(draw)) }
}

/// Neighbouring columns have correlation `r`, others its powers.
fn autoregressive(r: f64, p: usize) -> Design {
    let weight = (p as f64).recip();
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let mut last = normal(rng);
        for cell in cells.iter_mut() {
            *cell = last;
            last = r * last + (1.0 - r * r).sqrt() * normal(rng);
        }
        Drawn { mean: mean_of(cells, weight), drive: cells[0] }
    };
    Design { alike: true, elliptical: true, ..design(numbered(p, USUAL), Box::new(draw)) }
}

/// Mincer's equation: log wages on schooling, raw powers of experience and an indicator.
fn powers() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let education = (13.0 + 2.9 * normal(rng)).round().clamp(0.0, 18.0);
        let experience = (60.0 * uniform(rng) * uniform(rng).sqrt()).floor();
        let minority = f64::from(u8::from(uniform(rng) < 0.08));
        cells.copy_from_slice(&[education, experience, experience.powi(2), experience.powi(3), minority]);
        let growth = 0.12 * experience - 0.0046 * experience.powi(2) + 5.5e-5 * experience.powi(3);
        Drawn { mean: 4.2 + 0.086 * education + growth - 0.18 * minority, drive: (experience - 19.5) / 14.0 }
    };
    let features = vec![
        Feature::within("education", 0.0, 20.0),
        Feature::within("experience", 0.0, 60.0),
        Feature::within("experience2", 0.0, 3600.0),
        Feature::within("experience3", 0.0, 216_000.0),
        Feature::levels("minority", &["no", "yes"]),
    ];
    Design { response: (3.0, 10.0), signal_sd: 0.45, error_sd: 0.55, ..design(features, Box::new(draw)) }
}

/// A column that is nearly constant, far from the middle of its bounds, and depends on its
/// neighbour.
fn nearly_constant() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let x = normal(rng);
        let hidden = 0.8 * x + 0.6 * normal(rng);
        cells.copy_from_slice(&[x, 8.0 + 0.01 * hidden, normal(rng)]);
        Drawn { mean: 0.5 * x + 0.5 * hidden + 0.5 * cells[2], drive: x }
    };
    let features = vec![
        Feature::within("x", -USUAL, USUAL),
        Feature::within("constant", 0.0, 10.0),
        Feature::within("other", -USUAL, USUAL),
    ];
    Design { elliptical: true, ..design(features, Box::new(draw)) }
}

/// A column given twice.
fn duplicate() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let (x, z) = (normal(rng), normal(rng));
        cells.copy_from_slice(&[x, z, x]);
        Drawn { mean: 0.7 * x + 0.7 * z, drive: x }
    };
    let bounded = |name: &str| Feature::within(name, -USUAL, USUAL);
    let features = vec![bounded("x"), bounded("z"), bounded("again")];
    Design { elliptical: true, ..design(features, Box::new(draw)) }
}

/// A category with a level that only this share of the rows has.
fn rare(share: f64) -> Design {
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let x = normal(rng);
        let level = if uniform(rng) < share { 3.0 } else { (3.0 * uniform(rng)).floor() };
        cells.copy_from_slice(&[x, level]);
        Drawn { mean: 0.7 * x + [0.0, 0.5, -0.5, 0.8][level as usize], drive: x }
    };
    let features =
        vec![Feature::within("x", -USUAL, USUAL), Feature::levels("group", &["first", "second", "third", "rare"])];
    design(features, Box::new(draw))
}

/// Columns that share a common part, publicly known to lie within `bound` of zero.
fn equicorrelated(r: f64, p: usize, bound: f64) -> Design {
    let weight = (p as f64).recip();
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let common = r.sqrt() * normal(rng);
        cells.fill_with(|| common + (1.0 - r).sqrt() * normal(rng));
        Drawn { mean: mean_of(cells, weight), drive: cells[0] }
    };
    Design { alike: true, elliptical: true, ..design(numbered(p, bound), Box::new(draw)) }
}

/// Two indicators and their product, which few rows have.
fn interaction() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let (a, b, x) = (f64::from(u8::from(uniform(rng) < 0.15)), uniform(rng), normal(rng));
        let b = f64::from(u8::from(b < if a > 0.0 { 0.5 } else { 0.1 }));
        cells.copy_from_slice(&[x, a, b, a * b]);
        Drawn { mean: 0.6 * x + 0.5 * a - 0.4 * b + 0.7 * a * b, drive: x }
    };
    let level = |name: &str| Feature::levels(name, &["no", "yes"]);
    let features = vec![Feature::within("x", -USUAL, USUAL), level("a"), level("b"), level("both")];
    design(features, Box::new(draw))
}

/// Incomes: skewed columns that their bounds cut off.
fn incomes() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let common = normal(rng);
        let earned = 30.0 * (0.8 * common).exp();
        let saved = 5.0 * (0.6 * common + 1.2 * normal(rng)).exp();
        let age = 20.0 + 50.0 * uniform(rng);
        cells.copy_from_slice(&[earned, saved, age]);
        Drawn { mean: 2.0 + 0.02 * earned.min(150.0) + 0.01 * saved.min(150.0) + 0.01 * age, drive: common }
    };
    let features = vec![
        Feature::within("earned", 0.0, 100.0),
        Feature::within("saved", 0.0, 100.0),
        Feature::within("age", 18.0, 90.0),
    ];
    Design { response: (-5.0, 15.0), signal_sd: 0.7, ..design(features, Box::new(draw)) }
}

/// Months as a category, beside the season and a trend that they nearly repeat.
fn months() -> Design {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let month = (12.0 * uniform(rng)).floor();
        let warmth = 15.0 - 12.0 * (std::f64::consts::TAU * month / 12.0).cos() + 2.0 * normal(rng);
        let year = (5.0 * uniform(rng)).floor();
        cells.copy_from_slice(&[warmth, year, month]);
        Drawn {
            mean: 0.06 * warmth + 0.1 * year + 0.3 * f64::from(u8::from(month > 9.0)),
            drive: (warmth - 15.0) / 8.7,
        }
    };
    let features = vec![
        Feature::within("warmth", -30.0, 50.0),
        Feature::within("year", 0.0, 10.0),
        Feature::levels("month", &MONTHS),
    ];
    Design { signal_sd: 0.6, ..design(features, Box::new(draw)) }
}

/// Traffic by the hour and the month: many columns, of which the reference hour ties all others
/// together.
fn hours() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let (hour, month) = ((24.0 * uniform(rng)).floor(), (12.0 * uniform(rng)).floor());
        let warmth = 0.5 - 0.3 * (std::f64::consts::TAU * month / 12.0).cos() + 0.1 * normal(rng);
        let wet = (0.6 + 0.2 * normal(rng)).clamp(0.0, 1.0);
        cells.copy_from_slice(&[warmth, wet, hour, month]);
        let by_day = 1.0 - (std::f64::consts::TAU * hour / 24.0).cos();
        Drawn { mean: warmth - 0.5 * wet + by_day, drive: by_day - 1.0 }
    };
    let numbered = |count: usize| (0..count).map(|level| level.to_string()).collect::<Vec<_>>();
    let levels = |name: &str, count: usize| {
        Feature::levels(name, &numbered(count).iter().map(String::as_str).collect::<Vec<_>>())
    };
    let features = vec![
        Feature::within("warmth", -0.5, 1.5),
        Feature::within("wet", 0.0, 1.0),
        levels("hour", 24),
        levels("month", 12),
    ];
    Design { signal_sd: 0.75, ..design(features, Box::new(draw)) }
}

/// Counts that are mostly zero, within bounds that allow many.
fn counts() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let frailty = (0.7 * normal(rng)).exp();
        let mut count = |mean: f64| Poisson::new(mean * frailty).expect("a positive mean").sample(rng);
        cells.copy_from_slice(&[count(1.5), count(0.3), count(0.05)]);
        Drawn { mean: 0.3 * cells[0] + 0.4 * cells[1] + 0.5 * cells[2], drive: (cells[0] - 1.9) / 2.2 }
    };
    let bounded = |name: &str| Feature::within(name, 0.0, 50.0);
    design(vec![bounded("visits"), bounded("stays"), bounded("operations")], Box::new(draw))
}

/// Amounts of several kinds: most are zero, the others lognormal, large ones together.
fn heavy(p: usize) -> Design {
    let weight = 0.2 / (p as f64).sqrt();
    let draw = move |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let common = 0.5 * normal(rng);
        cells.fill_with(|| {
            let amount = (common + 1.6 * normal(rng)).exp();
            if uniform(rng) < 0.85 { 0.0 } else { amount.min(MOST_OF_HEAVY) }
        });
        Drawn { mean: mean_of(cells, weight), drive: (cells[0] - 0.6) / 5.0 }
    };
    let features = (1..=p).map(|j| Feature::within(format!("x{j}"), 0.0, MOST_OF_HEAVY)).collect();
    Design { response: (-20.0, 150.0), alike: true, ..design(features, Box::new(draw)) }
}

/// The bound of such amounts: about a hundred of their standard deviations.
const MOST_OF_HEAVY: f64 = 500.0;

/// Shares that add up to one except for a remainder of a few percent.
fn shares() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let parts: [f64; 4] = std::array::from_fn(|_| -uniform(rng).max(1e-300).ln());
        let total = parts.iter().sum::<f64>() * (1.0 + 0.05 * uniform(rng));
        cells.copy_from_slice(&parts.map(|part| part / total));
        Drawn { mean: 2.0 * cells[0] - 2.0 * cells[1] + cells[2], drive: (cells[0] - 0.25) / 0.19 }
    };
    let bounded = |name: &str| Feature::within(name, 0.0, 1.0);
    let features = vec![bounded("food"), bounded("rent"), bounded("travel"), bounded("other")];
    Design { signal_sd: 0.65, ..design(features, Box::new(draw)) }
}

/// Age and its square, both raw.
fn age_squared() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let age = (22.0 + 43.0 * uniform(rng)).floor();
        let union = f64::from(u8::from(uniform(rng) < 0.25));
        cells.copy_from_slice(&[age, age * age, union]);
        Drawn { mean: 0.14 * age - 0.0015 * age * age + 0.2 * union, drive: (age - 43.0) / 12.4 }
    };
    let features = vec![
        Feature::within("age", 18.0, 90.0),
        Feature::within("age2", 324.0, 8100.0),
        Feature::levels("union", &["no", "yes"]),
    ];
    Design { response: (-3.0, 8.0), signal_sd: 0.35, error_sd: 0.6, ..design(features, Box::new(draw)) }
}

/// Columns in a far corner of their bounds.
fn far_corner() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let (pressure, speed) = (normal(rng), normal(rng));
        let moved = 0.5 * pressure + 0.75f64.sqrt() * normal(rng);
        cells.copy_from_slice(&[980.0 + 6.0 * pressure, 3.0 + speed, 0.02 + 0.004 * moved]);
        Drawn { mean: 0.6 * pressure + 0.6 * speed + 0.4 * moved, drive: pressure }
    };
    let features = vec![
        Feature::within("pressure", 0.0, 1000.0),
        Feature::within("speed", 0.0, 60.0),
        Feature::within("depth", 0.0, 1.0),
    ];
    design(features, Box::new(draw))
}

/// A bimodal column, and the indicator of the mode.
fn two_groups() -> Design {
    let draw = |rng: &mut ChaCha8Rng, cells: &mut [f64]| {
        let group = f64::from(u8::from(uniform(rng) < 0.4));
        let height = 3.0 * group - 1.2 + 0.4 * normal(rng);
        cells.copy_from_slice(&[height, group, normal(rng)]);
        Drawn { mean: 0.5 * height - 0.5 * group + 0.5 * cells[2], drive: height / 1.5 }
    };
    let features = vec![
        Feature::within("height", -10.0, 10.0),
        Feature::levels("group", &["left", "right"]),
        Feature::within("other", -USUAL, USUAL),
    ];
    Design { signal_sd: 0.75, ..design(features, Box::new(draw)) }
}
