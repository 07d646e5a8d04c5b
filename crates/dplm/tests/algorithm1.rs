//! The paper's Algorithm 1 in plain floating point compared with ours, given the same noise.

use dplm::{
    Progress,
    descend::{Descent, Trajectory},
    privacy::{Budget, Neighbours, Rho, noise::rounded_gaussian},
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use crate::common::Data;

struct Setting {
    gamma: f64,
    steps: u32,
    step_size: f64,
    rho: f64,
}

fn ours(data: &Data, setting: &Setting, seed: u64) -> (Descent, Trajectory) {
    let Setting { gamma, steps, step_size, rho } = *setting;
    let p = data.features();
    let plan = Descent::plan(data.y.len() as u64, p, gamma, steps, step_size, Neighbours::ReplaceOne, rho).unwrap();
    let spend = Budget::new(Rho::checked_from_f64(rho).unwrap()).spend_rest("gradients").unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let trajectory = plan.run(&mut data.rows(), &vec![0.0; p], spend, &mut rng, Progress::NONE).unwrap();
    (plan, trajectory)
}

/// Algorithm 1 as printed: clip by the norm of the gradient, average, add noise, step.
fn plain(data: &Data, setting: &Setting, noise: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let p = data.features();
    let mut theta = vec![0.0; p];
    let mut iterates = vec![theta.clone()];
    for noise in noise {
        let mut mean = vec![0.0; p];
        for (x, y) in data.x.iter().zip(&data.y) {
            let residual = y - x.iter().zip(&theta).map(|(x, theta)| x * theta).sum::<f64>();
            let gradient: Vec<f64> = x.iter().map(|x| -x * residual).collect();
            let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
            let scale = if norm > setting.gamma { setting.gamma / norm } else { 1.0 };
            mean.iter_mut().zip(&gradient).for_each(|(mean, g)| *mean += g * scale / data.y.len() as f64);
        }
        for ((theta, mean), noise) in theta.iter_mut().zip(&mean).zip(noise) {
            *theta -= setting.step_size * mean - setting.step_size * noise;
        }
        iterates.push(theta.clone());
    }
    iterates
}

/// The noise our run drew, in the units of the mean gradient.
fn noise_of(plan: &Descent, trajectory: &Trajectory, data: &Data, seed: u64) -> Vec<Vec<f64>> {
    let scale = plan.lattice().gradient_unit() * data.y.len() as f64;
    let sigma = (trajectory.noise_sd * scale).round() as u128;
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut draw = || (0..data.features()).map(|_| rounded_gaussian(sigma, &mut rng) as f64 / scale).collect();
    (0..trajectory.steps()).map(|_| draw()).collect()
}

fn largest_gap(a: &[Vec<f64>], b: &[Vec<f64>]) -> f64 {
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn both_give_the_same_iterates_with_and_without_clipping() {
    for (gamma, seed) in [(40.0, 1), (5.0, 2), (0.7, 3)] {
        let setting = Setting { gamma, steps: 30, step_size: 0.25, rho: 0.5 };
        let data = Data::isotropic(1500, 6, seed).on_lattice();
        let (plan, trajectory) = ours(&data, &setting, seed);
        let plain = plain(&data, &setting, &noise_of(&plan, &trajectory, &data, seed));
        // Each step rounds parameters to the grid, and errors contract; a clip bound is too small
        // by up to one part in 2^23.
        let rounding = 4.0 / plan.lattice().theta_unit() + 1e-6 * gamma;
        let gap = largest_gap(&trajectory.theta, &plain);
        assert!(gap <= rounding, "gamma {gamma}: {gap} > {rounding}");
        assert!(gap > 0.0, "the two are different programs");
    }
}

#[test]
fn the_noise_is_the_paper_s() {
    let setting = Setting { gamma: 15.8, steps: 20, step_size: 0.25, rho: 0.015 };
    let data = Data::isotropic(1000, 10, 5);
    let (_, trajectory) = ours(&data, &setting, 5);
    let lambda = (2.0f64 * 20.0 / 0.015).sqrt() * 15.8 / 1000.0;
    assert!((trajectory.noise_sd / lambda - 1.0).abs() < 1e-9);
    assert!(trajectory.noise_sd >= lambda * (1.0 - 1e-13));
}
