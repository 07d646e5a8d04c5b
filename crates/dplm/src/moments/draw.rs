//! Draws rows with given moments of some columns, to compute the moments of terms that are
//! functions of them.
//!
//! Numbers are drawn from the Gaussian with these moments and clamped to their bounds. Categories
//! follow: given the columns drawn before it, a level has the probability predicted by its linear
//! regression on them, so that shares and covariances are as requested as far as probabilities
//! between 0 and 1 allow.

use faer::Mat;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::{Moments, names_of};
use crate::{
    formula::{Column, Kind},
    lattice::Design,
    matrix::{Eigen, dot, times},
    table::{Block, Cells},
    theory::student::normal_quantile,
};

/// Rows drawn: enough for second moments within about 1 %.
const DRAWS: usize = 20_000;
/// Always the same draws.
const SEED: u64 = 1;
/// Eigenvalues of covariances below this share of the largest count as zero.
const SINGULAR: f64 = 1e-9;

/// The second moments of the columns of a design matrix, in standardised units. Every column is
/// named in the moments.
pub(super) fn second_moments(moments: &Moments, design: &Design) -> Mat<f64> {
    let block = block(moments, design);
    let p = design.features();
    let mut sum = Mat::<f64>::zeros(p, p);
    for (row, _) in (0..DRAWS).filter_map(|row| design.standardised_row(&block, row)) {
        for j in 0..p {
            (0..=j).for_each(|k| sum[(j, k)] += row[j] * row[k]);
        }
    }
    Mat::from_fn(p, p, |j, k| sum[(j.max(k), j.min(k))] / DRAWS as f64)
}

/// Rows of the columns that a design reads. Columns of the response alone are at the middle of
/// their bounds: they are in no term.
fn block(moments: &Moments, design: &Design) -> Block {
    let needed = design.predictors();
    let mut drawn = Drawn::new(moments);
    let is_level = |column: &&Column| matches!(column.kind, Kind::Levels(_));
    let (levels, numbers): (Vec<&Column>, Vec<&Column>) = needed.iter().partition(is_level);
    drawn.draw_numbers(&numbers);
    let codes: Vec<Vec<u32>> = levels.iter().map(|column| drawn.draw_levels(column)).collect();
    let cells = |column: &Column| {
        let is_it = |one: &&&Column| one.name == column.name;
        if let Some(place) = levels.iter().position(|one| is_it(&one)) {
            return Cells::Levels(codes[place].clone());
        }
        Cells::Numbers(drawn.number(column))
    };
    Block { rows: DRAWS, columns: design.columns().iter().map(cells).collect() }
}

/// The draws so far: for each position among the moments, a value in every row.
struct Drawn<'a> {
    moments: &'a Moments,
    /// Positions among the moments, in the order they were drawn.
    places: Vec<usize>,
    values: Vec<Vec<f64>>,
    rng: ChaCha8Rng,
}

impl<'a> Drawn<'a> {
    fn new(moments: &'a Moments) -> Drawn<'a> {
        Drawn { moments, places: Vec::new(), values: Vec::new(), rng: ChaCha8Rng::seed_from_u64(SEED) }
    }

    fn place(&self, name: &str) -> usize {
        self.moments.place(name).expect("every column is named")
    }

    fn covariance(&self, rows: &[usize], columns: &[usize]) -> Mat<f64> {
        Mat::from_fn(rows.len(), columns.len(), |j, k| self.moments.covariance[(rows[j], columns[k])])
    }

    fn draw_numbers(&mut self, columns: &[&Column]) {
        self.places = columns.iter().map(|column| self.place(&column.name)).collect();
        let covariance = self.covariance(&self.places, &self.places);
        let root = Eigen::of(covariance.as_ref()).map(|found| found.map(|value| value.max(0.0).sqrt()));
        let root = root.expect("moments are finite");
        self.values = vec![Vec::with_capacity(DRAWS); columns.len()];
        for _ in 0..DRAWS {
            let scores: Vec<f64> = columns.iter().map(|_| normal_quantile(uniform(&mut self.rng))).collect();
            for (place, apart) in times(&root, &scores).into_iter().enumerate() {
                self.values[place].push(self.moments.means[self.places[place]] + apart);
            }
        }
    }

    /// The codes of the levels, given the earlier draws.
    fn draw_levels(&mut self, column: &Column) -> Vec<u32> {
        let places: Vec<usize> = names_of(column).iter().map(|name| self.place(name)).collect();
        let before = self.covariance(&self.places, &self.places);
        let slopes = pseudo_inverse(&before) * self.covariance(&self.places, &places);
        let means: Vec<f64> = self.places.iter().map(|&place| self.moments.means[place]).collect();
        let mut codes = Vec::with_capacity(DRAWS);
        for row in 0..DRAWS {
            let apart: Vec<f64> = self.values.iter().zip(&means).map(|(values, mean)| values[row] - mean).collect();
            let likely =
                |k: usize| (self.moments.means[places[k]] + dot(slopes.col_as_slice(k), &apart)).clamp(0.0, 1.0);
            let shares: Vec<f64> = (0..places.len()).map(likely).collect();
            codes.push(chosen(&shares, uniform(&mut self.rng)));
        }
        for (level, place) in (1..).zip(places) {
            self.places.push(place);
            self.values.push(codes.iter().map(|&code| f64::from(u8::from(code == level))).collect());
        }
        codes
    }

    /// The cells of a number, within its bounds.
    fn number(&self, column: &Column) -> Vec<f64> {
        let (low, high) = column.kind.bounds().unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let drawn = self.moments.place(&column.name).and_then(|place| self.places.iter().position(|&one| one == place));
        match drawn {
            Some(place) => self.values[place].iter().map(|value| value.clamp(low, high)).collect(),
            None => vec![if low.is_finite() { low / 2.0 + high / 2.0 } else { 0.0 }; DRAWS],
        }
    }
}

/// The level at which the cumulative shares pass `u`; the first level has the remaining share.
fn chosen(shares: &[f64], u: f64) -> u32 {
    let total: f64 = shares.iter().sum::<f64>().max(1.0);
    let mut sum = 0.0;
    let place = shares.iter().position(|share| {
        sum += share / total;
        u < sum
    });
    place.map_or(0, |place| place as u32 + 1)
}

fn pseudo_inverse(matrix: &Mat<f64>) -> Mat<f64> {
    let Some(found) = Eigen::of(matrix.as_ref()) else { return Mat::zeros(matrix.nrows(), matrix.ncols()) };
    let least = SINGULAR * found.values.last().copied().unwrap_or(0.0);
    found.map(|value| if value > least { value.recip() } else { 0.0 })
}

/// Uniform between 0 and 1, both excluded.
fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}
