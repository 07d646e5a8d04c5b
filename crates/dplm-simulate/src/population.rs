//! A setting with its unknowns drawn, and rows from it.

use std::{io, ops::Range};

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use rand_distr::{Distribution, Exp1, StandardNormal, StudentT};
use rayon::prelude::*;

use crate::{Design, Errors, Setting, SettingError};

/// Rows that share one stream of random words.
const BLOCK_ROWS: u64 = 1024;

/// Degrees of freedom of [`Errors::Student`]: tails so heavy that the fourth moment does not exist.
const STUDENT_DF: f64 = 4.0;

/// The source of rows: the true coefficients, the covariance of the features and the distribution
/// of the errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    theta: Vec<f64>,
    /// A square root of the covariance, p x p row-major; `None` for the identity.
    root: Option<Vec<f64>>,
    errors: Errors,
    noise_sd: f64,
    seed: u64,
}

/// Rows in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// `x[i * p + j]` is row i, feature j.
    pub x: Vec<f64>,
    /// The responses.
    pub y: Vec<f64>,
}

impl Setting {
    /// Draws the unknowns: the coefficients if none are given, and the covariance of an anisotropic
    /// design.
    ///
    /// # Errors
    /// When the setting is invalid.
    pub fn draw(&self, seed: u64) -> Result<Population, SettingError> {
        self.check()?;
        // The coefficients come first, so that they are the same in both designs.
        let mut rng = stream(seed, 0);
        let drawn = on_sphere(self.features, &mut rng);
        let root = match self.design {
            Design::Isotropic => None,
            Design::Anisotropic => Some(anisotropic_root(self.features, &mut rng)),
        };
        let theta = self.theta.clone().unwrap_or(drawn);
        Ok(Population { theta, root, errors: self.errors, noise_sd: self.noise_sd, seed })
    }
}

impl Population {
    /// The true coefficients.
    pub fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.theta.len()
    }

    /// The covariance of the features, p x p row-major.
    pub fn covariance(&self) -> Vec<f64> {
        let p = self.features();
        let entry = |i: usize, j: usize| match &self.root {
            Some(root) => dot(&root[i * p..(i + 1) * p], &root[j * p..(j + 1) * p]),
            None => f64::from(u8::from(i == j)),
        };
        (0..p * p).map(|k| entry(k / p, k % p)).collect()
    }

    /// The first `rows` rows.
    pub fn sample(&self, rows: u64) -> Sample {
        self.rows(0..rows)
    }

    /// The rows with these numbers, counted from 0.
    pub fn rows(&self, range: Range<u64>) -> Sample {
        let blocks = range.start / BLOCK_ROWS..range.end.div_ceil(BLOCK_ROWS);
        let parts: Vec<Sample> = blocks.into_par_iter().map(|block| self.part_of_block(block, &range)).collect();
        Sample {
            x: parts.iter().flat_map(|part| part.x.iter().copied()).collect(),
            y: parts.iter().flat_map(|part| part.y.iter().copied()).collect(),
        }
    }

    /// The requested rows of a block; the rows before them are drawn too, to reach the right place
    /// in the stream.
    fn part_of_block(&self, block: u64, wanted: &Range<u64>) -> Sample {
        let first = block * BLOCK_ROWS;
        let skip = wanted.start.saturating_sub(first) as usize;
        let count = wanted.end.saturating_sub(first).min(BLOCK_ROWS) as usize;
        let mut rng = stream(self.seed, block + 1);
        let mut sample = Sample { x: Vec::with_capacity(count * self.features()), y: Vec::with_capacity(count) };
        for _ in 0..count {
            self.draw_row(&mut rng, &mut sample);
        }
        sample.x.drain(..skip.min(count) * self.features());
        sample.y.drain(..skip.min(count));
        sample
    }

    fn draw_row(&self, rng: &mut ChaCha20Rng, sample: &mut Sample) {
        let start = sample.x.len();
        let normals: Vec<f64> = self.theta.iter().map(|_| StandardNormal.sample(rng)).collect();
        match &self.root {
            None => sample.x.extend(normals),
            Some(root) => sample.x.extend(root.chunks(self.features()).map(|row| dot(row, &normals))),
        }
        sample.y.push(dot(&sample.x[start..], &self.theta) + self.noise_sd * self.errors.draw(rng));
    }
}

impl Errors {
    /// One error of mean 0 and standard deviation 1.
    fn draw(self, rng: &mut ChaCha20Rng) -> f64 {
        match self {
            Errors::Gaussian => StandardNormal.sample(rng),
            Errors::Student => {
                let student = StudentT::new(STUDENT_DF).expect("the degrees of freedom are positive");
                student.sample(rng) * ((STUDENT_DF - 2.0) / STUDENT_DF).sqrt()
            }
            Errors::Skewed => {
                let exponential: f64 = Exp1.sample(rng);
                exponential - 1.0
            }
        }
    }
}

/// A new seed from the operating system.
///
/// # Errors
/// When the system provides no randomness.
pub fn fresh_seed() -> io::Result<u64> {
    getrandom::u64().map_err(|error| io::Error::other(format!("the operating system gave no randomness: {error}")))
}

/// A separate stream of random words for each number.
fn stream(seed: u64, number: u64) -> ChaCha20Rng {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// A uniform point on the unit sphere: the direction of a Gaussian vector.
fn on_sphere(p: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let mut point = normals(p, rng);
    scale_to_unit(&mut point);
    point
}

/// `U L^(1/2)` with U a uniformly random rotation and L as in [`Design::Anisotropic`].
fn anisotropic_root(p: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let roots: Vec<f64> = (0..p)
        .map(|i| match i {
            0 => 2.0,
            1 => 1.0,
            _ => 1.0 + uniform(rng),
        })
        .map(f64::sqrt)
        .collect();
    let rotation = rotation(p, rng);
    (0..p * p).map(|k| rotation[k % p][k / p] * roots[k % p]).collect()
}

/// The columns of a uniformly random orthogonal matrix: Gaussian columns, orthonormalised one after
/// the other.
///
/// A reflection would serve as well as a rotation: the covariance does not depend on the sign of a
/// column.
fn rotation(p: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> = Vec::with_capacity(p);
    for _ in 0..p {
        let mut column = normals(p, rng);
        // The second pass removes the rounding error of the first.
        for _ in 0..2 {
            for other in &columns {
                let along = dot(&column, other);
                column.iter_mut().zip(other).for_each(|(cell, direction)| *cell -= along * direction);
            }
            scale_to_unit(&mut column);
        }
        columns.push(column);
    }
    columns
}

fn normals(count: usize, rng: &mut ChaCha20Rng) -> Vec<f64> {
    (0..count).map(|_| StandardNormal.sample(rng)).collect()
}

/// Uniform on `[0, 1)`, in steps of 2^-53.
fn uniform(rng: &mut ChaCha20Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn scale_to_unit(vector: &mut [f64]) {
    let length = dot(vector, vector).sqrt();
    vector.iter_mut().for_each(|cell| *cell /= length);
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(u, v)| u * v).sum()
}
