//! Outcomes of which there are two: how probable they are, and the maximum-likelihood coefficients
//! of a logit.

use std::{collections::BTreeMap, sync::Mutex};

use dplm::theory::student::normal_cdf;
use faer::{Mat, linalg::solvers::DenseSolveCore};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Coefficients, Moments, Sample, World, normal, uniform};

/// The law of outcomes by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcomes {
    link: Link,
    /// The share of outcomes that are one, about.
    share: f64,
    /// Rows of a person, who share a part of their linear function.
    pub(super) rows_of_person: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Link {
    /// `logit S`: a logit, with a share S of ones.
    Logit,
    /// `probit S`: the Gaussian distribution function.
    Probit,
    /// `cloglog S`: `1 - exp(-exp(eta))`.
    Cloglog,
    /// `curved logit S`: with a term `(s^2 - 1) / 2` that the model lacks.
    Curved,
    /// `separated S`: the linear function tells every outcome.
    Separated,
    /// `certain logit S`: a logit, but in the last level all outcomes are one.
    Certain,
}

/// Linear functions have this standard deviation.
const STRENGTH: f64 = 1.0;
/// So has what rows of a person share.
const SHARED: f64 = 1.0;

impl Outcomes {
    pub(super) fn named(words: &[&str]) -> Option<Outcomes> {
        let (rows_of_person, words) = match words {
            ["persons", rows, rest @ ..] => (Some(rows.parse().ok()?), rest),
            all => (None, all),
        };
        let (link, share) = match words {
            ["logit", share] => (Link::Logit, share),
            ["probit", share] => (Link::Probit, share),
            ["cloglog", share] => (Link::Cloglog, share),
            ["curved", "logit", share] => (Link::Curved, share),
            ["separated", share] => (Link::Separated, share),
            ["certain", "logit", share] => (Link::Certain, share),
            _ => return None,
        };
        let share = share.parse().ok().filter(|share| (0.001..0.999).contains(share))?;
        Some(Outcomes { link, share, rows_of_person })
    }

    /// The probability of one where the linear function is `eta`, and the first column `s` standard
    /// deviations from its mean.
    fn probability(self, eta: f64, s: f64, is_last_level: bool) -> f64 {
        let logit = |eta: f64| 1.0 / (1.0 + (-eta).exp());
        match self.link {
            Link::Certain if is_last_level => 1.0,
            Link::Logit | Link::Certain => logit(eta),
            Link::Probit => normal_cdf(eta),
            Link::Cloglog => -(-eta.exp()).exp_m1(),
            Link::Curved => logit(eta + (s * s - 1.0) / 2.0),
            Link::Separated => f64::from(u8::from(eta > 0.0)),
        }
    }
}

/// Where the mean of a design's response lies and how much it varies, and the constant that gives
/// the share of ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    law: Outcomes,
    centre: f64,
    unit: f64,
    constant: f64,
}

/// A row as far as outcomes depend on it: the mean of the design's response, the first column in
/// standard deviations, and whether the last column is at its last level.
pub(super) type Cause = (f64, f64, bool);

impl Chance {
    /// From causes of rows drawn at random.
    pub(super) fn of(law: Outcomes, causes: &[Cause]) -> Chance {
        let count = causes.len() as f64;
        let centre = causes.iter().map(|cause| cause.0).sum::<f64>() / count;
        let variance = causes.iter().map(|cause| (cause.0 - centre).powi(2)).sum::<f64>() / count;
        let at = |constant: f64| Chance { law, centre, unit: STRENGTH / variance.sqrt(), constant };
        let share = |chance: &Chance| causes.iter().map(|&cause| chance.of_row(cause, 0.0)).sum::<f64>() / count;
        let (mut low, mut high) = (-15.0, 15.0);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if share(&at(middle)) < law.share { low = middle } else { high = middle }
        }
        at(low)
    }

    fn of_row(&self, (mean, s, is_last_level): Cause, shared: f64) -> f64 {
        let eta = self.constant + self.unit * (mean - self.centre) + shared;
        self.law.probability(eta, s, is_last_level)
    }

    /// An outcome; `shared` is what the rows of a person have in common.
    pub(super) fn draw(&self, cause: Cause, shared: f64, rng: &mut ChaCha8Rng) -> f64 {
        f64::from(u8::from(uniform(rng) < self.of_row(cause, shared)))
    }

    /// What the rows of a new person have in common; zero if each row is another person's.
    pub(super) fn shared(&self, row: u64, last: f64, rng: &mut ChaCha8Rng) -> f64 {
        match self.law.rows_of_person {
            None => 0.0,
            Some(rows) if row.is_multiple_of(u64::from(rows)) => SHARED * normal(rng),
            Some(_) => last,
        }
    }
}

/// Rows with outcomes of which there are two.
pub struct Logits {
    moments: Moments,
    /// Scaled columns, row by row.
    cells: Vec<f32>,
    outcomes: Vec<f32>,
    rows_of_person: usize,
    found: Mutex<BTreeMap<Vec<String>, Coefficients>>,
}

/// Newton's method has converged where no step is longer; a coefficient that still grows after the
/// last has no maximum-likelihood value.
const CONVERGED: f64 = 1e-6;
const STEPS: usize = 30;
const HALVINGS: i32 = 10;
/// Rows that a thread sums at a time.
const CHUNK: usize = 1 << 12;

impl Logits {
    pub(super) fn new(world: &World, sample: &Sample) -> Logits {
        let (mut moments, mut cells, mut outcomes) = (Moments::new(world.features()), Vec::new(), Vec::new());
        world.for_each_row(sample, |row, response| {
            moments.add(row, response);
            cells.extend(moments.scaled(row).map(|cell| cell as f32));
            outcomes.push(response as f32);
        });
        let rows_of_person = world.rows_of_person().unwrap_or(1) as usize;
        Logits { moments, cells, outcomes, rows_of_person, found: Mutex::default() }
    }

    /// The maximum-likelihood coefficients of a logit without the columns that are left out, and
    /// their standard errors by the sandwich formula, of persons where there are any.
    pub(super) fn coefficients(&self, left_out: &[String]) -> Coefficients {
        let lock = || self.found.lock().expect("nobody panics while holding it");
        if let Some(known) = lock().get(left_out) {
            return known.clone();
        }
        let found = self.maximum_likelihood(&self.moments.kept(left_out));
        lock().insert(left_out.to_vec(), found.clone());
        found
    }

    /// By Newton's method, each step halved until the likelihood grows.
    fn maximum_likelihood(&self, kept: &[usize]) -> Coefficients {
        let mut theta = vec![0.0; kept.len()];
        let mut last = vec![f64::INFINITY; kept.len()];
        let mut sums = self.sums(kept, &theta);
        for _ in 0..STEPS {
            let step = sums.hessian.partial_piv_lu().inverse() * &sums.gradient;
            let moved = |size: f64| (0..kept.len()).map(|j| theta[j] + size * step[(j, 0)]).collect::<Vec<f64>>();
            last = (0..kept.len()).map(|j| step[(j, 0)]).collect();
            let mut tries = (0..HALVINGS).map(|k| 0.5f64.powi(k)).map(moved).map(|to| (self.sums(kept, &to), to));
            let grows = |(there, _): &(Sums, Vec<f64>)| there.log_likelihood >= sums.log_likelihood - CONVERGED;
            let Some((there, to)) = tries.find(grows) else { break };
            (sums, theta) = (there, to);
            if last.iter().all(|step| step.abs() < CONVERGED) {
                break;
            }
        }
        let inverse = sums.hessian.partial_piv_lu().inverse();
        let covariance = &inverse * &sums.spread * &inverse;
        let has_converged: Vec<bool> = last.iter().map(|step| step.abs() < CONVERGED).collect();
        self.moments.in_own_units(kept, &theta, &covariance, &has_converged)
    }

    fn sums(&self, kept: &[usize], theta: &[f64]) -> Sums {
        let width = self.cells.len() / self.outcomes.len();
        let rows = CHUNK / self.rows_of_person * self.rows_of_person;
        let chunks = self.cells.par_chunks(rows * width).zip(self.outcomes.par_chunks(rows));
        let of_chunk = |(cells, outcomes): (&[f32], &[f32])| {
            let mut sums = Sums::zeros(kept.len());
            let persons = cells.chunks(self.rows_of_person * width).zip(outcomes.chunks(self.rows_of_person));
            persons.for_each(|(cells, outcomes)| sums.add_person((cells, width), outcomes, (kept, theta)));
            sums
        };
        // One after the other, so that sums round alike whatever the threads do.
        chunks.map(of_chunk).collect::<Vec<_>>().into_iter().fold(Sums::zeros(kept.len()), Sums::plus)
    }
}

/// Of all rows at a point: the gradient, the curvature, the sum of squares of gradients, of persons
/// where there are any, and the log-likelihood.
struct Sums {
    gradient: Mat<f64>,
    hessian: Mat<f64>,
    spread: Mat<f64>,
    log_likelihood: f64,
}

impl Sums {
    fn zeros(k: usize) -> Sums {
        Sums { gradient: Mat::zeros(k, 1), hessian: Mat::zeros(k, k), spread: Mat::zeros(k, k), log_likelihood: 0.0 }
    }

    fn plus(self, other: Sums) -> Sums {
        Sums {
            gradient: self.gradient + other.gradient,
            hessian: self.hessian + other.hessian,
            spread: self.spread + other.spread,
            log_likelihood: self.log_likelihood + other.log_likelihood,
        }
    }

    fn add_person(&mut self, (cells, width): (&[f32], usize), outcomes: &[f32], (kept, theta): (&[usize], &[f64])) {
        let k = kept.len();
        let (mut score, mut row) = (vec![0.0; k], vec![0.0; k]);
        for (cells, &outcome) in cells.chunks_exact(width).zip(outcomes) {
            row.iter_mut().zip(kept).for_each(|(cell, &column)| *cell = f64::from(cells[column]));
            let eta: f64 = row.iter().zip(theta).map(|(cell, theta)| cell * theta).sum();
            let (mean, outcome) = (1.0 / (1.0 + (-eta).exp()), f64::from(outcome));
            self.log_likelihood += outcome * eta - eta.max(0.0) - (-eta.abs()).exp().ln_1p();
            score.iter_mut().zip(&row).for_each(|(sum, cell)| *sum += (outcome - mean) * cell);
            for j in 0..k {
                let weighed = mean * (1.0 - mean) * row[j];
                (0..k).for_each(|l| self.hessian[(l, j)] += weighed * row[l]);
            }
        }
        for j in 0..k {
            self.gradient[(j, 0)] += score[j];
            (0..k).for_each(|l| self.spread[(l, j)] += score[j] * score[l]);
        }
    }
}
