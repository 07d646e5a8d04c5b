//! The minimiser of a perturbed loss (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and
//! Thakurta 2012), and its intervals from a noisy Hessian and a noisy covariance of gradients
//! (Wang, Kifer and Lee 2019).
//!
//! `sum_i h(y_i - x_i' theta) + ridge |theta|^2 / 2 + b' theta` is minimised, with `h` a smooth
//! Huber loss, whose slope is bounded, and `b` Gaussian.
//!
//! # Accounting
//! For a row that is zeroed out the density of the minimiser changes by a determinant, at most
//! `1 + |x|^2 / ridge`, and by the density of `b`, which moves along `x` by at most the clip
//! threshold: the loss is at most `ln(1 + |x|^2 / ridge) + (k |b' x| + k^2 / 2 ...)`, a tail of one
//! Gaussian number on both sides. The published bound for Gaussian `b` is
//! `sqrt(8 ln(2 / delta) + 4 epsilon) / epsilon`, and larger.

use faer::Mat;
use rand_chacha::ChaCha20Rng;

use super::{
    Answer, NORMAL, Peer, Task,
    linear::{dot, inverse, norm, normals, solve, symmetric_noise, times},
    promise::{ZeroOut, objective_delta},
};

/// The part of epsilon for the determinant, which sets the ridge.
const DETERMINANT: f64 = 0.25;

/// The slope of the loss turns at this many assumed standard deviations of the errors.
const TURN: f64 = 2.0;

/// The peer's entry.
pub const PEER: Peer = Peer {
    name: "objective",
    intervals: false,
    fit: |task, rng| Some(Answer::bare(minimise(task, &task.promise.zero_out(), rng).theta)),
};

/// With intervals: half of the promise for the minimiser, a quarter each for the Hessian and the
/// covariance.
pub const WITH_INTERVALS: Peer = Peer { name: "objective-sandwich", intervals: true, fit: sandwich };

struct Minimum {
    theta: Vec<f64>,
    ridge: f64,
    noise_sd: f64,
}

/// `psi(r)` and its derivative, of the pseudo-Huber loss: at most `turn` and at most 1.
fn slope(residual: f64, turn: f64) -> (f64, f64) {
    let root = (residual / turn).hypot(1.0);
    (residual / root, root.powi(-3))
}

/// The largest `mu` that keeps the promise beside the determinant.
fn mu(promise: &ZeroOut) -> f64 {
    let kept = |mu: f64| objective_delta(mu, DETERMINANT * promise.epsilon, promise.epsilon) <= promise.delta;
    let (mut low, mut high) = (1e-9, 1e3);
    for _ in 0..80 {
        let middle = f64::sqrt(low * high);
        *(if kept(middle) { &mut low } else { &mut high }) = middle;
    }
    low
}

fn minimise(task: &Task, promise: &ZeroOut, rng: &mut ChaCha20Rng) -> Minimum {
    let (p, turn) = (task.features, TURN * task.bounds.error_sd);
    let ridge = task.bounds.row.powi(2) / (DETERMINANT * promise.epsilon).exp_m1();
    let noise_sd = turn * task.bounds.row / mu(promise);
    let linear = normals(p, noise_sd, rng);
    let mut theta = vec![0.0; p];
    for _ in 0..200 {
        let (mut gradient, mut hessian) = (vec![0.0; p], vec![0.0; p * p]);
        for (x, y) in task.rows() {
            let residual = y - dot(x, &theta);
            let (psi, _) = slope(residual, turn);
            // A parabola with `psi / r` bounds the loss from above and touches it, so each step
            // descends, from any start.
            let weight = (residual / turn).hypot(1.0).recip();
            for i in 0..p {
                gradient[i] += psi * x[i];
                let by = weight * x[i];
                hessian[i * p..=i * p + i].iter_mut().zip(x).for_each(|(sum, x)| *sum += by * x);
            }
        }
        (0..p).for_each(|i| gradient[i] -= ridge * theta[i] + linear[i]);
        let entry = |i: usize, j: usize| hessian[i.max(j) * p + i.min(j)] + if i == j { ridge } else { 0.0 };
        let step = solve(&Mat::from_fn(p, p, entry), &gradient, ridge);
        theta.iter_mut().zip(&step).for_each(|(theta, by)| *theta += by);
        if norm(&step) < 1e-9 * (1.0 + norm(&theta)) {
            break;
        }
    }
    Minimum { theta, ridge, noise_sd }
}

fn sandwich(task: &Task, rng: &mut ChaCha20Rng) -> Option<Answer> {
    let (p, promise) = (task.features, task.promise.zero_out());
    let turn = TURN * task.bounds.error_sd;
    let found = minimise(task, &promise.share(0.5), rng);
    let quarter = promise.share(0.25).mu();
    let (mut hessian, mut spread) = (Mat::<f64>::zeros(p, p), Mat::<f64>::zeros(p, p));
    for (x, y) in task.rows() {
        let (psi, bend) = slope(y - dot(x, &found.theta), turn);
        for i in 0..p {
            for j in 0..p {
                hessian[(i, j)] += bend * x[i] * x[j];
                spread[(i, j)] += psi * psi * x[i] * x[j];
            }
        }
    }
    // One row that is zeroed out moves the Hessian by its length squared, the covariance by that
    // times the largest slope squared.
    let sd = task.bounds.row.powi(2) / quarter;
    hessian += symmetric_noise(p, sd, rng);
    spread += symmetric_noise(p, sd * turn * turn, rng);
    let raised = Mat::from_fn(p, p, |i, j| hessian[(i, j)] + if i == j { found.ridge } else { 0.0 });
    let inner = Mat::from_fn(p, p, |i, j| spread[(i, j)] + if i == j { found.noise_sd.powi(2) } else { 0.0 });
    let inverse = inverse(&raised, found.ridge);
    let error = |j: usize| {
        let column: Vec<f64> = (0..p).map(|i| inverse[(i, j)]).collect();
        dot(&column, &times(&inner, &column)).max(0.0).sqrt()
    };
    let errors: Vec<f64> = (0..p).map(error).collect();
    Some(Answer::with_errors(found.theta, &errors, NORMAL))
}
