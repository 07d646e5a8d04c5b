//! The lemma on the iterates' distribution, on the program itself: without clipping, theta_t is Gaussian around least squares with the
//! mean and covariance the paper gives.

use dplm::{
    Progress,
    descend::Descent,
    privacy::{Budget, Neighbours, Rho, noise::FixedSeed},
    theory::law::IterateLaw,
};
use faer::{Mat, Side, linalg::solvers::Solve};

use crate::common::Data;

const FEATURES: usize = 3;
const ROWS: usize = 400;
const STEPS: u32 = 12;
const RUNS: u64 = 3000;
const GAMMA: f64 = 80.0;

fn final_iterates(data: &Data) -> (f64, Vec<Vec<f64>>) {
    let plan = Descent::plan(ROWS as u64, FEATURES, GAMMA, STEPS, 0.25, Neighbours::ReplaceOne, 5.0).unwrap();
    let mut rows = data.rows();
    let mut lambda = 0.0;
    let mut run = |seed| {
        let spend = Budget::new(Rho::checked_from_f64(5.0).unwrap()).spend_rest("gradients").unwrap();
        let mut rng = FixedSeed::new(seed);
        let run = plan.run(&mut rows, &[0.0; FEATURES], spend, &mut rng, Progress::NONE).unwrap();
        lambda = run.noise_sd;
        run.theta.last().unwrap().clone()
    };
    let iterates = (0..RUNS).map(&mut run).collect();
    (lambda, iterates)
}

fn second_moments(data: &Data) -> (Mat<f64>, Vec<f64>) {
    let n = data.y.len() as f64;
    let entry = |i, j| data.x.iter().map(|x: &Vec<f64>| x[i] * x[j]).sum::<f64>() / n;
    let sigma = Mat::from_fn(FEATURES, FEATURES, entry);
    let cross = Mat::from_fn(FEATURES, 1, |i, _| data.x.iter().zip(&data.y).map(|(x, y)| x[i] * y).sum::<f64>() / n);
    let theta = sigma.llt(Side::Lower).unwrap().solve(&cross);
    (sigma, (0..FEATURES).map(|i| theta[(i, 0)]).collect())
}

/// `L^-1 (theta - mean)` with `L L'` the covariance the lemma gives: independent standard normals if it is right.
fn whitened(iterates: &[Vec<f64>], mean: &[f64], covariance: &[f64]) -> Vec<Vec<f64>> {
    let covariance = Mat::from_fn(FEATURES, FEATURES, |i, j| covariance[i * FEATURES + j]);
    let factor = covariance.llt(Side::Lower).unwrap();
    let solve = |theta: &Vec<f64>| {
        let mut z = vec![0.0; FEATURES];
        for i in 0..FEATURES {
            let known: f64 = (0..i).map(|j| factor.L()[(i, j)] * z[j]).sum();
            z[i] = (theta[i] - mean[i] - known) / factor.L()[(i, i)];
        }
        z
    };
    iterates.iter().map(solve).collect()
}

/// Nine averages of about standard normals, each compared with 5.5 standard errors: false alarms in less than 1e-6 of seeds.
#[test]
fn iterates_follow_the_lemma() {
    let data = Data::isotropic(ROWS, FEATURES, 21).on_lattice();
    let (lambda, iterates) = final_iterates(&data);
    let (sigma, theta_hat) = second_moments(&data);
    let sigma: Vec<f64> = (0..FEATURES * FEATURES).map(|k| sigma[(k / FEATURES, k % FEATURES)]).collect();
    let law = IterateLaw::new(&sigma, &theta_hat, &[0.0; FEATURES], 0.25, lambda).unwrap();
    let z = whitened(&iterates, &law.mean(STEPS as usize), &law.covariance(STEPS as usize));
    let root = (RUNS as f64).sqrt();
    for i in 0..FEATURES {
        let mean = z.iter().map(|z| z[i]).sum::<f64>() / root;
        assert!(mean.abs() < 5.5, "mean of coordinate {i}: {mean}");
        for j in 0..=i {
            let (expected, sd) = if i == j { (1.0, 2f64.sqrt()) } else { (0.0, 1.0) };
            let moment = z.iter().map(|z| z[i] * z[j] - expected).sum::<f64>() / root / sd;
            assert!(moment.abs() < 5.5, "moment {i},{j}: {moment}");
        }
    }
}
