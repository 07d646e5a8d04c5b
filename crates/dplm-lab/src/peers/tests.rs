//! The accounting of each peer against an independent computation, and the error or coverage of
//! each against its theory.

use dplm::method::PublicBounds;
use faer::Mat;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::{
    Answer, PEERS, Promise, Task,
    insufficient::Plan,
    linear::{inverse, normal, symmetric_noise, wishart},
    promise::{ZeroOut, bootstrap_epsilon, projection_delta, sampled_epsilon, shaped_epsilon, wishart_delta},
};

const SLOPES: [f64; 3] = [0.5, -0.3, 0.2];

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Standard Gaussian rows and errors.
fn task(rows: usize, rho: f64, seed: u64) -> Task {
    let mut rng = rng(seed);
    let x: Vec<f64> = (0..3 * rows).map(|_| normal(&mut rng)).collect();
    let mean = |row: &[f64]| row.iter().zip(SLOPES).map(|(x, slope)| x * slope).sum::<f64>();
    let y = x.chunks_exact(3).map(|row| mean(row) + normal(&mut rng)).collect();
    let bounds = PublicBounds { row: 6.0, response: 8.0, error_sd: 1.0 };
    Task::new(x, y, bounds, true, Promise::of(rho, 1e-6).unwrap())
}

fn fit(name: &str, task: &Task, seed: u64) -> Option<Answer> {
    let peer = PEERS.iter().find(|peer| peer.name == name).expect("a peer");
    let found = (peer.fit)(task, &mut rng(seed))?;
    assert_eq!(found.ends.iter().any(Option::is_some), peer.intervals, "{name}");
    Some(found)
}

fn distance(theta: &[f64], truth: &[f64]) -> f64 {
    theta.iter().zip(truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// `dplm fit` knows exactly these names as the lab's.
#[test]
fn the_names_are_those_that_a_fit_refuses() {
    let names: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
    assert_eq!(names, dplm_methods::LAB_ONLY);
    for name in names {
        let refusal = dplm_methods::find(name).unwrap_err().to_string();
        assert!(refusal.contains("not private bit for bit") && refusal.contains("lab run arena"), "{refusal}");
    }
}

/// Rows beyond their public bounds are clamped: nothing else makes sensitivities true.
#[test]
fn rows_and_responses_are_bounded() {
    let bounds = PublicBounds { row: 1.0, response: 2.0, error_sd: 1.0 };
    let task = Task::new(vec![3.0, 4.0, 0.3, 0.4], vec![9.0, -9.0], bounds, true, Promise::of(0.1, 1e-6).unwrap());
    assert_eq!((task.x, task.y), (vec![0.6000000000000001, 0.8, 0.3, 0.4], vec![2.0, -2.0]));
}

/// At a large budget every peer finds the slopes. Sampling error is about `sqrt(3 / 20000)`;
/// Wishart noise has at least some sixty degrees of freedom, however large epsilon is, since it
/// must hide a row except with probability delta: `2 Bx^2 sqrt(60) / n` in an entry, and a few
/// times that in all.
#[test]
fn a_large_budget_comes_near_the_truth() {
    let task = task(20_000, 20.0, 1);
    for peer in PEERS {
        let found = fit(peer.name, &task, 2).unwrap_or_else(|| panic!("{} refused", peer.name));
        let error = distance(&found.theta, &SLOPES);
        assert!(error < 0.15, "{}: {error}", peer.name);
    }
}

/// The privacy loss of Wishart noise from its density, drawn as matrices: the weighted share beyond
/// epsilon is the closed form. 200 000 draws put a share near 0.01 within 0.001, except with
/// probability one in a million.
#[test]
fn the_law_of_wishart_noise_is_that_of_its_density() {
    let (columns, degrees, epsilon) = (3, 14.0, 0.3);
    let mut rng = rng(3);
    let (mut added, mut removed) = (0.0, 0.0);
    let draws = 200_000;
    for _ in 0..draws {
        let noise = wishart(columns, degrees, &mut rng);
        // For `v` the first unit vector: `ln det(W - v v') - ln det W = ln(1 - v' W^-1 v)`, and the
        // traces differ by 1.
        let share = inverse(&noise, 0.0)[(0, 0)];
        let power = (degrees - columns as f64 - 1.0) / 2.0;
        let loss = if share < 1.0 { -power * (1.0 - share).ln() - 0.5 } else { f64::INFINITY };
        added += (1.0 - (epsilon - loss).exp()).max(0.0);
        let loss = 0.5 - power * share.ln_1p();
        removed += (1.0 - (epsilon - loss).exp()).max(0.0);
    }
    let expected = wishart_delta(degrees - columns as f64 + 1.0, epsilon);
    let found = f64::max(added, removed) / f64::from(draws);
    assert!((found - expected).abs() < 0.003, "{found} {expected}");
}

/// A valid published calibration requires more: `d + 28 ln(4 / delta) / epsilon^2` degrees of
/// freedom (Sheffet 2019).
#[test]
fn fewer_degrees_of_freedom_than_published_keep_the_promise() {
    let promise = ZeroOut { epsilon: 1.0, delta: 1e-6 };
    let found = promise.wishart_degrees(10);
    let published = 10.0 + 28.0 * (4e6f64).ln();
    assert!(found < published / 5.0 && found > 20.0, "{found} {published}");
    assert!(wishart_delta(found - 9.0, 1.0) <= 1e-6 && wishart_delta(found - 10.0, 1.0) > 1e-6);
}

/// Draws along the one direction in which the two distributions differ, scored by the ratio of
/// their densities.
#[test]
fn the_law_of_projections_is_that_of_their_densities() {
    let (count, share, epsilon) = (40, 0.1, 0.2);
    let mut rng = rng(4);
    let (mut narrow, mut wide) = (0.0, 0.0);
    let draws = 100_000;
    for _ in 0..draws {
        let square: f64 = (0..count).map(|_| normal(&mut rng).powi(2)).sum();
        let log_ratio = |square: f64| {
            let log_density = |variance: f64| -0.5 * (f64::from(count) * variance.ln() + square / variance);
            log_density(1.0) - log_density(1.0 + share)
        };
        narrow += (1.0 - (epsilon - log_ratio(square)).exp()).max(0.0);
        wide += (1.0 - (epsilon + log_ratio(square * (1.0 + share))).exp()).max(0.0);
    }
    let found = f64::max(narrow, wide) / f64::from(draws);
    let expected = projection_delta(f64::from(count), share, epsilon);
    assert!((found - expected).abs() < 0.003, "{found} {expected}");
}

/// If every row is sampled, the accountant is that of the Gaussian mechanism, `a / (2 s^2)` at
/// order `a`; and a tenth of the rows costs far less. The figure of the tutorial of the moments
/// accountant (Abadi et al. 2016): a rate of 0.01, noise 4 and 10 000 steps have epsilon 1.26 at
/// delta 10^-5.
#[test]
fn the_accountant_of_sampled_steps() {
    let whole = sampled_epsilon(1.0, 10.0, 4.0, 1e-6);
    let rho = 4.0 / 200.0;
    let cks = dplm::privacy::convert::epsilon_cks(rho, 1e-6).unwrap();
    assert!((whole / cks - 1.0).abs() < 0.01, "{whole} {cks}");
    assert!(sampled_epsilon(0.1, 10.0, 4.0, 1e-6) < 0.2 * whole);
    let published = sampled_epsilon(0.01, 4.0, 10_000.0, 1e-5);
    assert!(published < 1.26 && published > 0.9, "{published}");
}

/// The mean square of the number of times a row is drawn is `2 - 1 / n`, so that a replicate costs
/// at least twice a release of the table; it costs less than a release with the row twice, whose
/// square is 4, as long as orders are low.
#[test]
fn the_accountant_of_bootstrap_samples() {
    let found = bootstrap_epsilon(10_000.0, 200.0, 25.0, 1e-6);
    let times = |square: f64| dplm::privacy::convert::epsilon_cks(square * 25.0 / (2.0 * 200.0 * 200.0), 1e-6).unwrap();
    assert!(times(2.0) <= found && found <= times(4.0), "{found} {} {}", times(2.0), times(4.0));
}

/// The intervals of a peer over independent fits cover the slopes about as often as its publication
/// says: those that account for noise and sampling at 95 %, the spread of iterates far less.
#[test]
fn intervals_cover_as_published() {
    for (name, rho, range) in [
        ("objective-sandwich", 5.0, 0.90..=1.0),
        ("parametric-bootstrap", 5.0, 0.90..=0.99),
        ("little-bootstraps", 5.0, 0.88..=1.0),
        ("rank-intervals", 5.0, 0.95..=1.0),
        ("checkpoint-spread", 5.0, 0.0..=0.7),
        ("growing-batches", 5.0, 0.0..=0.9),
    ] {
        let held: Vec<bool> = (0..60)
            .flat_map(|seed| {
                let found = fit(name, &task(3000, rho, 100 + seed), seed).expect("a fit");
                let ends = found.ends.into_iter().map(|ends| ends.expect("an interval"));
                ends.zip(SLOPES).map(|((low, high), slope)| low <= slope && slope <= high).collect::<Vec<_>>()
            })
            .collect();
        let share = held.iter().filter(|held| **held).count() as f64 / held.len() as f64;
        assert!(range.contains(&share), "{name}: {share}");
    }
}

/// A table that is far from the proposed set fails the test, whatever the draw: the smallest
/// eigenvalue is short by half of all rows.
#[test]
fn a_table_outside_what_is_proposed_is_refused() {
    let bounds = PublicBounds { row: 2.0, response: 8.0, error_sd: 1.0 };
    let dependent: Vec<f64> = (0..2000).flat_map(|i| [f64::from(i % 3), f64::from(i % 3)]).collect();
    let promise = Promise::of(1.0, 1e-6).unwrap();
    let task = Task::new(dependent, vec![0.5; 2000], bounds, true, promise);
    assert!((0..50).all(|seed| fit("propose-test-release", &task, seed).is_none()));
}

/// Symmetric noise has the variance on its diagonal and half of it off it, so that its density
/// depends on the Frobenius norm alone. A mean square of 4000 draws is within a tenth, except with
/// probability one in a million.
#[test]
fn symmetric_noise_is_spherical() {
    let mut rng = rng(6);
    let draws: Vec<Mat<f64>> = (0..4000).map(|_| symmetric_noise(2, 3.0, &mut rng)).collect();
    let mean_square = |i: usize, j: usize| draws.iter().map(|m| m[(i, j)].powi(2)).sum::<f64>() / 4000.0;
    assert!((mean_square(0, 0) / 9.0 - 1.0).abs() < 0.12 && (mean_square(0, 1) / 4.5 - 1.0).abs() < 0.12);
    assert_eq!(draws[0][(0, 1)], draws[0][(1, 0)]);
}

/// The divergence of order `a` of two Gaussian distributions, from their densities on a fine grid.
fn divergence_of_normals(order: f64, mean: f64, variance: f64) -> f64 {
    let log_density = |x: f64, mean: f64, variance: f64| -0.5 * ((x - mean).powi(2) / variance + variance.ln());
    let step = 1e-3;
    let term = |k: i32| {
        let x = f64::from(k) * step;
        let log = order * log_density(x, 0.0, 1.0) + (1.0 - order) * log_density(x, mean, variance);
        log.exp() * step / (2.0 * std::f64::consts::PI).sqrt()
    };
    (-30_000..30_000).map(term).sum::<f64>().ln() / (order - 1.0)
}

/// The bound on the divergence of noise whose shape differs holds for variances on either side, and
/// is not far above it.
#[test]
fn the_divergence_of_shaped_noise_is_bounded() {
    let (mu, spread): (f64, f64) = (0.3, 0.05);
    for order in [2.0, 5.0, 9.0] {
        let bound = order * (mu * mu / 2.0 + spread * spread / (4.0 * (1.0 - spread))) / (1.0 - order * spread);
        let found = [1.0 - spread, 1.0 + spread].map(|variance| divergence_of_normals(order, mu, variance));
        assert!(found.iter().all(|found| *found <= bound), "{order}: {found:?} {bound}");
        assert!(found[0] > 0.8 * bound, "{order}: {found:?} {bound}");
    }
    let gaussian = dplm::privacy::convert::epsilon_cks(mu * mu / 2.0, 1e-6).unwrap();
    assert!((shaped_epsilon(mu, 0.0, 1e-6) / gaussian - 1.0).abs() < 0.02);
    assert!(shaped_epsilon(mu, 0.02, 1e-6) > 1.1 * gaussian);
}

/// A row that is zeroed out, whatever its content, moves the score by at most 1, the estimate by at
/// most the plan's bound in the shape of the noise, and that shape by at most its bound. Rows have
/// several lengths, so that some are outside some of the sets.
#[test]
fn a_row_moves_weighted_least_squares_no_further_than_planned() {
    let half = ZeroOut { epsilon: 1.0, delta: 1e-2 };
    let (mut most, mut moved_weights) = (0f64, 0);
    for seed in 0..40 {
        let mut rng = rng(seed);
        let (rows, p) = (6000, 2);
        let mut x: Vec<f64> = (0..p * rows).map(|_| normal(&mut rng)).collect();
        let mut y: Vec<f64> = (0..rows).map(|row| 0.5 * x[p * row] + normal(&mut rng)).collect();
        // A few rows whose leverage is near the thresholds, and one that is zeroed out later.
        for row in 0..3 {
            let long = 7.3 + 0.15 * f64::from(row as u8) + 0.01 * seed as f64;
            (x[p * row], x[p * row + 1], y[row]) = (long, 0.0, 0.5 * long);
        }
        (x[p * 9], x[p * 9 + 1], y[9]) =
            [(5.0, 0.0, 7.5), (0.0, 0.0, 7.0), (4.0, 4.0, 6.0), (60.0, 0.0, 0.0)][seed as usize % 4];
        let bounds = PublicBounds { row: 100.0, response: 100.0, error_sd: 1.0 };
        let task =
            |x: &[f64], y: &[f64]| Task::new(x.to_vec(), y.to_vec(), bounds, true, Promise::of(1.0, 1e-6).unwrap());
        let one = task(&x, &y);
        (x[p * 9], x[p * 9 + 1], y[9]) = (0.0, 0.0, 0.0);
        let other = task(&x, &y);
        let plan = Plan::of(&one, &half).expect("enough rows");
        let [before, after] = [&one, &other].map(|task| plan.filter(task));
        assert!(before.score.abs_diff(after.score) <= 1, "{} {}", before.score, after.score);
        moved_weights += before.weights.iter().zip(&after.weights).filter(|(one, other)| one != other).count();
        let [found, next] = [(&before, &one), (&after, &other)].map(|(of, task)| of.regression(task).unwrap());
        let off: Vec<f64> = found.theta.iter().zip(&next.theta).map(|(a, b)| a - b).collect();
        for (at, other) in [(&found, &next), (&next, &found)] {
            // In coordinates in which one covariance is the identity.
            let unit = inverse(&at.root, 0.0);
            let length: f64 = (0..p).map(|i| (0..p).map(|j| unit[(i, j)] * off[j]).sum::<f64>().powi(2)).sum::<f64>();
            let apart = (length / at.squares).sqrt();
            assert!(apart <= plan.shift, "{seed}: {apart} of {}", plan.shift);
            most = most.max(apart / plan.shift);
            let turned = &unit * &other.root * (other.squares / at.squares).sqrt();
            let shape = &turned * turned.transpose();
            let values = shape.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
            let trace: f64 = values.iter().map(|value| (value - 1.0).abs()).sum();
            assert!(trace <= plan.spread, "{seed}: {trace} of {}", plan.spread);
        }
    }
    assert!(most > 0.2 && moved_weights > 20, "{most} {moved_weights}");
}

/// At a budget where its noise is most of the error, the squared error is `c^2 s tr (X'X)^-1`, with
/// `s = n` and `X'X = n I`, and that of sampling. Forty fits of three coefficients: a relative sd
/// of 0.13.
#[test]
fn its_error_is_that_of_its_noise() {
    let (rows, fits) = (30_000, 40);
    let mut ratio = 0.0;
    for seed in 0..fits {
        let task = task(rows, 0.3, 900 + seed);
        let half = task.promise.zero_out().share(0.5);
        let noise = Plan::of(&task, &half).and_then(|plan| plan.noise(&half)).expect("enough rows");
        let found = fit("insufficient-statistics", &task, seed).expect("a fit");
        ratio += distance(&found.theta, &SLOPES).powi(2) / (3.0 * (noise * noise + 1.0 / rows as f64)) / fits as f64;
    }
    assert!((0.6..1.5).contains(&ratio), "{ratio}");
}

/// No units or correlations need be known: columns of condition number 10^8 and a response in
/// thousands are fitted as well.
#[test]
fn noise_has_the_shape_of_the_rows() {
    let plain = task(20_000, 1.0, 5);
    let mix = |row: &[f64]| [row[0], row[0] + 1e-4 * row[1], 1e3 * row[2]];
    let x: Vec<f64> = plain.x.chunks_exact(3).flat_map(mix).collect();
    let y: Vec<f64> = plain.y.iter().map(|y| 1e3 * y).collect();
    let bounds = PublicBounds { row: 1e6, response: 1e6, error_sd: 1.0 };
    let mixed = Task::new(x, y, bounds, true, plain.promise);
    let [one, other] = [&plain, &mixed].map(|task| fit("insufficient-statistics", task, 3).expect("a fit").theta);
    // Back in the units of the first; the same seed draws other noise in other coordinates, with
    // the same distribution.
    let back = [1e-3 * (other[0] + other[1]), 1e-7 * other[1], other[2]];
    let error = |theta: &[f64]| distance(theta, &SLOPES);
    assert!(error(&one) < 0.2 && error(&back) < 0.2, "{one:?} {back:?}");
}
