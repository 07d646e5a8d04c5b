//! Small tables, and fits of them by any method of the crate.

pub mod twin;

use dplm::{
    Design, Error, NoiseSource, Progress,
    formula::{Column, Formula, Kind, Model},
    method::{Outcome, Purpose, Request, Tuning},
    privacy::Rho,
    rows::{Encoded, MemoryBuilder, Rows},
    table::{Block, Cells},
};
use faer::{Mat, Side, linalg::solvers::Solve};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Standardised columns in the clear, row by row.
#[derive(Clone)]
pub struct Data {
    pub x: Vec<Vec<f64>>,
    pub y: Vec<f64>,
}

/// The slopes of simulated tables; columns beyond them have none.
pub const SLOPES: [f64; 3] = [0.5, -0.3, 0.2];

impl Data {
    /// Standard Gaussian columns and errors.
    pub fn normal(rows: usize, features: usize, seed: u64) -> Data {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let x: Vec<Vec<f64>> = (0..rows).map(|_| (0..features).map(|_| normal()).collect()).collect();
        let mean = |row: &Vec<f64>| row.iter().zip(SLOPES).map(|(x, slope)| x * slope).sum::<f64>();
        let y = x.iter().map(|row| mean(row) + normal()).collect();
        Data { x, y }
    }

    pub fn features(&self) -> usize {
        self.x[0].len()
    }

    pub fn replaced(&self, row: usize, x: &[f64], y: f64) -> Data {
        let mut other = self.clone();
        other.x[row] = x.to_vec();
        other.y[row] = y;
        other
    }

    /// `y ~ x0 + x1 + ... + 0`, with what is publicly known of each column written behind its name.
    pub fn formula(&self, known: &str) -> Formula {
        let columns: Vec<String> = (0..self.features()).map(|j| format!("x{j}{known}")).collect();
        Formula::parse(&format!("y{known} ~ {} + 0", columns.join(" + "))).expect("a formula")
    }

    pub fn rows(&self, design: &Design) -> Encoded {
        let column = |j: usize| Cells::Numbers(self.x.iter().map(|row| row[j]).collect());
        let columns = std::iter::once(Cells::Numbers(self.y.clone())).chain((0..self.features()).map(column));
        let mut builder = MemoryBuilder::new(design);
        builder.push(&Block { rows: self.y.len(), columns: columns.collect() });
        builder.finish()
    }

    /// Least squares in the clear, by the normal equations.
    pub fn least_squares(&self) -> Vec<f64> {
        let p = self.features();
        let sum = |f: &dyn Fn(usize) -> f64| (0..self.y.len()).map(f).sum::<f64>();
        let moments = Mat::from_fn(p, p, |i, j| sum(&|row| self.x[row][i] * self.x[row][j]));
        let products = Mat::from_fn(p, 1, |i, _| sum(&|row| self.x[row][i] * self.y[row]));
        let solution = moments.llt(Side::Lower).expect("columns are not dependent").solve(&products);
        (0..p).map(|i| solution[(i, 0)]).collect()
    }
}

/// The design of a [formula](Data::formula): every column is standard, or known to lie between -4
/// and 4.
pub fn design(formula: &Formula, features: usize) -> Design {
    let kind = if formula.has_bounds() { Kind::Bounded { low: -4.0, high: 4.0 } } else { Kind::Standard };
    let column = |name: String| Column { name, kind: kind.clone() };
    let features = (0..features).map(|j| column(format!("x{j}"))).collect();
    Design::new(&Model::of_columns(column("y".to_owned()), features, false))
}

pub fn request(rho: f64) -> Request {
    Request::new(Rho::checked_from_f64(rho).expect("a budget"))
}

pub fn prediction(rho: f64) -> Request {
    Request { purpose: Purpose::Prediction, ..request(rho) }
}

/// Fits rows by the method of this name.
pub fn fit_rows(
    name: &str,
    (request, tuning): (Request, Tuning),
    formula: &Formula,
    rows: &mut dyn Rows,
    seed: u64,
) -> Result<Outcome, Error> {
    let entry = dplm_methods::all().find(|entry| entry.name == name).expect("a method");
    let method = dplm::method::choose(Some(*entry), request, tuning, formula, true)?;
    let design = design(formula, rows.features());
    let plan = method.plan(rows.count(), &design)?;
    plan.check()?;
    let mut rng = NoiseSource::Seed(seed).open().expect("a seed");
    plan.run(rows, &design, &mut rng, Progress::NONE)
}

/// Fits a table of standard columns.
pub fn fit(name: &str, request: Request, data: &Data, seed: u64) -> Outcome {
    let formula = data.formula("");
    let mut rows = data.rows(&design(&formula, data.features()));
    fit_rows(name, (request, Tuning::default()), &formula, &mut rows, seed).expect("a fit")
}

pub fn estimates(outcome: &Outcome) -> Vec<f64> {
    outcome.coefficients.iter().map(|one| one.estimate.unwrap_or(f64::NAN)).collect()
}

pub fn distance(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}
