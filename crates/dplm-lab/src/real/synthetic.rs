//! Designs that are hard in one way each.

use dplm::{
    formula::{Column, Kind, Model},
    lattice::Design,
    table::{Block, Cells},
};
use faer::Mat;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};

use super::bench::dot;
use crate::LabError;

/// Levels of the group with rare ones.
const LEVELS: i32 = 8;

/// The kind of difficulty, and its degree.
struct Kinds<'a> {
    what: &'a str,
    number: f64,
    rows: usize,
    features: usize,
}

impl Kinds<'_> {
    /// `kind rows features`, or `kind:number rows features`.
    fn parse(text: &str) -> Result<Kinds<'_>, LabError> {
        let refused = || LabError::Setting { given: text.to_owned() };
        let [kind, rows, features] = text.split_whitespace().collect::<Vec<_>>()[..] else { return Err(refused()) };
        let (what, number) = kind.split_once(':').unwrap_or((kind, "1"));
        let number = number.parse().map_err(|_| refused())?;
        let (rows, features) = (rows.parse().map_err(|_| refused())?, features.parse().map_err(|_| refused())?);
        Ok(Kinds { what, number, rows, features })
    }

    /// The claimed bounds of the columns.
    fn width(&self) -> f64 {
        match self.what {
            "loose" => 6.0 * self.number,
            "poly" => 15.0,
            _ => 6.0,
        }
    }

    fn columns(&self, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
        let (p, normal) = (self.features, |rng: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(rng) });
        let mut x: Vec<Vec<f64>> = (0..self.rows).map(|_| (0..p).map(|_| normal(rng)).collect()).collect();
        match self.what {
            // Eigenvalues from 1 to 1 / number, rotated.
            "condition" => {
                let turn = Mat::from_fn(p, p, |_, _| normal(rng)).qr().compute_thin_Q();
                let length: Vec<f64> = (0..p).map(|j| self.number.powf(-0.5 * j as f64 / (p - 1) as f64)).collect();
                for row in &mut x {
                    *row = (0..p).map(|j| (0..p).map(|k| turn[(j, k)] * length[k] * row[k]).sum()).collect();
                }
            }
            // A column and its square.
            "poly" => x.iter_mut().for_each(|row| {
                row[0] = row[0].clamp(-2.0, 2.0) + 3.0;
                row[1] = row[0] * row[0] / 3.0;
            }),
            "heavyx" => x.iter_mut().for_each(|row| {
                let length = student(rng).abs().max(0.2);
                row.iter_mut().for_each(|cell| *cell *= length);
            }),
            _ => {}
        }
        x
    }

    fn error(&self, rng: &mut ChaCha8Rng) -> f64 {
        match self.what {
            "heavy" => student(rng) / 3f64.sqrt(),
            "skew" => {
                let waiting: f64 = Exp1.sample(rng);
                waiting - 1.0
            }
            _ => StandardNormal.sample(rng),
        }
    }

    /// A geometric distribution of levels, the rarest with about `number` rows.
    fn codes(&self) -> Vec<u32> {
        let ratio = (self.number / self.rows as f64).powf(1.0 / f64::from(LEVELS - 1));
        let level = |share: f64| (0..LEVELS).rev().find(|&level| share < ratio.powi(level)).unwrap_or(0);
        (0..self.rows).map(|row| level((row as f64 + 0.5) / self.rows as f64) as u32).collect()
    }
}

fn student(rng: &mut ChaCha8Rng) -> f64 {
    StudentT::new(3.0).expect("3 degrees of freedom are positive").sample(rng)
}

/// `y = sum x_j / sqrt p + error`: a design with bounds and its rows.
pub(super) fn synthetic(text: &str) -> Result<(Design, Block), LabError> {
    let kinds = Kinds::parse(text)?;
    let mut rng = ChaCha8Rng::seed_from_u64(20_240_607);
    let (x, p, width) = (kinds.columns(&mut rng), kinds.features, kinds.width());
    let truth = vec![1.0 / (p as f64).sqrt(); p];
    let y = x.iter().map(|row| dot(row, &truth) + kinds.error(&mut rng)).collect();
    let bounded = |name: String, width: f64| Column { name, kind: Kind::Bounded { low: -width, high: width } };
    let mut features: Vec<Column> = (0..p).map(|j| bounded(format!("x{j}"), width)).collect();
    let mut columns = vec![Cells::Numbers(y)];
    columns.extend((0..p).map(|j| Cells::Numbers(x.iter().map(|row| row[j]).collect())));
    if kinds.what == "rare" {
        columns.push(Cells::Levels(kinds.codes()));
        let levels = (0..LEVELS).map(|level| format!("l{level}")).collect();
        features.push(Column { name: "g".into(), kind: Kind::Levels(levels) });
    }
    let response = bounded("y".into(), if kinds.what == "heavyx" { 30.0 } else { width });
    let design = Design::new(&Model::of_columns(response, features, kinds.what != "paper"));
    Ok((design, Block { rows: kinds.rows, columns }))
}
