//! Least squares with noise of the shape of the rows themselves (insufficient-statistics
//! perturbation; Brown, Hayase, Hopkins, Kong, Liu, Oh, Perdomo and Smith 2024).
//!
//! Rows are weighted so that none has much leverage, `X'WX` and `theta = (X'WX)^-1 X'Wy` are
//! computed, and `theta` is released with Gaussian noise of covariance `c^2 s (X'WX)^-1`, with `s`
//! the weighted sum of squared residuals. Neither matrix nor `s` is released separately: noise is
//! small in directions in which rows are long, whatever the units, and no scales need be known. The
//! stability of the weights is tested first.
//!
//! # Why it is private, for a row that is zeroed out
//! Rows are `z = (x, y)`, so that `z' (Z'WZ)^-1 z = x' (X'WX)^-1 x + r^2 / s`: one leverage bounds
//! both that of `x` and the residual `r`. A set is *good* at `l` if no row in it has a leverage
//! above `l` among its rows; `S_j` is the largest good set at `l_j`, `1 / l_j = 1 / l_0 - j`, for
//! `j` from 0 to `2 k`. It is unique, since unions of good sets are good.
//!
//! - *Sets.* Without a row, a set that is good at `l` is good at `l / (1 - l)`, the next threshold.
//!   So `S'_j` is in `S_j`, and `S_j` without the row is in `S'_(j+1)`.
//! - *Score.* `min(k, min_j (rows outside S_j) + j)` moves by at most 1. Below `k`, fewer than `k`
//!   rows are outside `S_k`. A test with Laplace noise shows that it is below `k`, except with
//!   probability delta.
//! - *Weights.* A row has weight 1 in `S_(k+1)`, and loses `1 / k` with each further set it is not
//!   in. Weights move by at most `1 / k` for rows outside `S_k`, of which there are at most `k`,
//!   and by at most 1 for the row itself: by 2 in all. All of these are in `S_2k`, which without
//!   these rows has leverages of at most `h = l_2k / (1 - (k + 1) l_2k)`.
//! - *Estimates.* `theta' - theta = -A'^-1 sum d_i x_i r_i` with `d` the changes of weights and
//!   `A = X'WX`, where `|r| sqrt(x' A^-1 x) <= h sqrt(s) / 2`, the largest geometric mean of two
//!   numbers of sum `h`. So `|A^(1/2) (theta' - theta)| <= sqrt(s) h / (1 - 2 h)`, and the
//!   covariances differ by at most `g = 2 h p / (1 - 2 h)` in trace norm.
//! - *Noise.* Gaussians whose means are `mu` apart and whose covariances differ by `g` have a Renyi
//!   divergence of at most `a (mu^2 / 2 + g^2 / (4 (1 - g))) / (1 - a g)` at order `a`.
//!
//! # Where this differs from what was published
//! The paper filters leverages and residuals one after the other, its thresholds grow by
//! `exp(1 / k)`, and constants are those of its proof. Here rows and responses are filtered
//! together, thresholds grow as slowly as the argument allows, and noise has the size that the
//! divergence above requires.

use faer::{Mat, Side};
use rand_core::Rng;

use super::{
    Answer, Peer, Task,
    linear::{moments, norm, normals, regression},
    promise::ZeroOut,
};

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "insufficient-statistics",
    intervals: false,
    fit: |task, rng| {
        let half = task.promise.zero_out().share(0.5);
        let plan = Plan::of(task, &half)?;
        let noise_sd = plan.noise(&half)?;
        let filtered = plan.filter(task);
        let mut exponential = || -((rng.next_u64() >> 11) as f64 + 0.5).ln() + 53.0 * 2f64.ln();
        let laplace = (exponential() - exponential()) / half.epsilon;
        if plan.levels - filtered.score as f64 + laplace <= threshold(&half) {
            return None;
        }
        let Weighted { theta, squares, root } = filtered.regression(task)?;
        let noise = normals(task.features, noise_sd * squares.sqrt(), rng);
        let noise = Mat::from_fn(task.features, 1, |i, _| noise[i]);
        let moved = root * noise;
        Some(Answer::bare(theta.iter().enumerate().map(|(i, theta)| theta + moved[(i, 0)]).collect()))
    },
};

/// The threshold of a noisy distance.
fn threshold(half: &ZeroOut) -> f64 {
    (0.5 / half.delta).ln() / half.epsilon
}

/// The largest leverage of Gaussian rows, over that of the distribution: their second moments are
/// within a fifth of it.
const MARGIN: f64 = 1.2;

/// Public numbers.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// `k`.
    levels: f64,
    /// `1 / l_0`.
    first: f64,
    /// The largest distance between estimates of neighbours, over `sqrt(s)`, and between their
    /// covariances.
    pub shift: f64,
    pub spread: f64,
}

impl Plan {
    /// `None` if there are too few rows for any weights to be stable.
    pub(super) fn of(task: &Task, half: &ZeroOut) -> Option<Plan> {
        // The test passes nearly always if no row stands out.
        let levels = (threshold(half) + 4.0 / half.epsilon).ceil();
        let (rows, columns) = (task.count(), task.features as f64 + 1.0);
        let longest = columns.sqrt() + (2.0 * (rows / 0.05).ln()).sqrt();
        let first = rows / (MARGIN * longest * longest);
        let last = (first - 2.0 * levels).recip();
        let leverage = last / (1.0 - (levels + 1.0) * last);
        let spread = 2.0 * leverage * task.features as f64 / (1.0 - 2.0 * leverage);
        if !(last > 0.0 && (levels + 1.0) * last < 1.0 && leverage < 0.5 && spread < 0.25) {
            return None;
        }
        // From either of two neighbours: the larger covariance exceeds the other by at most this.
        let (shift, spread) = (leverage / (1.0 - 2.0 * leverage) / (1.0 - spread).sqrt(), spread / (1.0 - spread));
        Some(Plan { levels, first, shift, spread })
    }

    /// The standard deviation of the noise, `c`; `None` if no noise suffices.
    pub(super) fn noise(&self, half: &ZeroOut) -> Option<f64> {
        half.shaped_noise(self.shift, self.spread)
    }

    fn count(&self) -> usize {
        self.levels as usize
    }

    /// The nested good sets, from the largest.
    pub(super) fn filter(&self, task: &Task) -> Filtered {
        let scale = task.bounds.row / task.bounds.response;
        let rows: Vec<Vec<f64>> = task.rows().map(|(x, y)| x.iter().copied().chain([scale * y]).collect()).collect();
        let in_table: Vec<bool> = rows.iter().map(|row| norm(row) > 0.0).collect();
        let present = in_table.iter().filter(|here| **here).count();
        // The last set that each row is outside of, plus 1: 0 for a row in all of them.
        let mut outside = vec![0usize; rows.len()];
        let mut inside = in_table;
        let mut left = present;
        let mut score = self.count();
        let mut leverages = leverages(&rows, &inside);
        for level in (0..=2 * self.count()).rev() {
            let most = (self.first - level as f64).recip();
            loop {
                let above: Vec<usize> = (0..rows.len()).filter(|&i| inside[i] && leverages[i] > most).collect();
                if above.is_empty() {
                    break;
                }
                above.iter().for_each(|&i| (inside[i], outside[i]) = (false, level + 1));
                left -= above.len();
                leverages = self::leverages(&rows, &inside);
            }
            if level <= self.count() {
                score = score.min(present - left + level);
            }
        }
        let k = self.count();
        let weight = |outside: usize| (2 * k + 1).saturating_sub(outside.max(k + 1)).min(k) as f64 / k as f64;
        Filtered { weights: outside.into_iter().map(weight).collect(), score }
    }
}

/// `z' (sum z z')^-1 z` of rows that are inside, over these; infinite if they do not span all
/// directions.
fn leverages(rows: &[Vec<f64>], inside: &[bool]) -> Vec<f64> {
    let size = rows[0].len();
    let mut sum = Mat::<f64>::zeros(size, size);
    for (row, _) in rows.iter().zip(inside).filter(|(_, inside)| **inside) {
        (0..size).for_each(|i| (0..=i).for_each(|j| sum[(i, j)] += row[i] * row[j]));
    }
    let Ok(factor) = sum.llt(Side::Lower) else { return vec![f64::INFINITY; rows.len()] };
    let lower = factor.L();
    let of_row = |row: &Vec<f64>| {
        let mut solved = vec![0.0; size];
        for i in 0..size {
            let known: f64 = (0..i).map(|j| lower[(i, j)] * solved[j]).sum();
            solved[i] = (row[i] - known) / lower[(i, i)];
        }
        solved.iter().map(|one| one * one).sum()
    };
    rows.iter().zip(inside).map(|(row, inside)| if *inside { of_row(row) } else { 0.0 }).collect()
}

/// Weights of rows, and their distance from unstable ones.
pub(super) struct Filtered {
    pub weights: Vec<f64>,
    pub score: usize,
}

/// Weighted least squares.
pub(super) struct Weighted {
    pub theta: Vec<f64>,
    /// The weighted sum of squared residuals.
    pub squares: f64,
    /// `(X'WX)^(-1/2)`.
    pub root: Mat<f64>,
}

impl Filtered {
    /// `None` if the weighted rows do not span all directions.
    pub(super) fn regression(&self, task: &Task) -> Option<Weighted> {
        let p = task.features;
        let sum = moments(task, 1.0, |row| self.weights[row]);
        let found = sum.submatrix(0, 0, p, p).to_owned();
        let found = found.self_adjoint_eigen(Side::Lower).ok()?;
        let (vectors, values) = (found.U(), found.S().column_vector());
        if (0..p).any(|i| values[i] <= 0.0) {
            return None;
        }
        let theta = regression(&sum, 1.0, 0.0);
        let squares = sum[(p, p)] - (0..p).map(|i| theta[i] * sum[(i, p)]).sum::<f64>();
        let scaled = Mat::from_fn(p, p, |i, j| vectors[(i, j)] / values[j].sqrt());
        Some(Weighted { theta, squares: squares.max(0.0), root: scaled * vectors.transpose() })
    }
}
