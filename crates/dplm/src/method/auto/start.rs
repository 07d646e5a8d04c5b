//! A point near the answer, so that few steps of the descent are lost on the way and a clip can be chosen there.

use faer::{Mat, linalg::solvers::Solve};
use rand_core::CryptoRng;

use super::{Plan, START_STEPS, clip::GammaLadder, infer::mean_of, largest_response, whiten::Whitened};
use crate::{
    Error, Progress,
    descend::Trajectory,
    lattice::{Design, Slot, Whitening},
    privacy::Budget,
};

/// Of the steps near the answer, those that are averaged.
const AVERAGED: usize = 5;
/// The noise of the start, in variances of a mean of that many gradients: steps before it add to it.
const NOISE: f64 = 3.0;

/// The share of rows clipped on the way to the start.
const TAIL: f64 = 0.25;
/// Rungs of the first ladder of clip levels, four to a factor of two.
const RUNGS: u32 = 48;

/// A point near the answer, and the clip level used on the way.
pub(super) struct Start {
    pub theta: Vec<f64>,
    pub gamma: f64,
    pub at_edge: bool,
}

impl Plan {
    /// A point near the answer: a few steps from zero, clipped at a level that a quarter of the rows exceed.
    pub(super) fn start<R: CryptoRng>(
        &self,
        white: &mut Whitened,
        design: &Design,
        budget: &mut Budget,
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Start, Error> {
        let (rho, shares) = (self.request.rho, self.shares());
        let spend = budget.spend("clip level of the start", rho.share(shares.start_level))?;
        let zero = vec![0.0; self.features];
        let top = 2.0 * white.radius * largest_response(design);
        let ladder = GammaLadder { top, rungs: RUNGS, per_doubling: 4.0 };
        let level = self.clip_level(white.rows.as_ref(), &zero, &ladder, TAIL, spend, rng)?;
        let spend = budget.spend(format!("start, {START_STEPS} steps"), rho.share(shares.start))?;
        let descent = self.descent(level.gamma, START_STEPS, spend.to_f64())?;
        let all = START_STEPS + self.steps(white);
        let run = descent.run(white.rows.as_mut(), &zero, spend, rng, progress.part(0u32, all))?;
        let theta = after_start(&run, constant(design, &white.whitening).as_deref());
        Ok(Start { theta, gamma: level.gamma, at_edge: level.at_edge })
    }
}

/// The direction in whitened coordinates that changes nothing but the constant, of length one.
fn constant(design: &Design, whitening: &Whitening) -> Option<Vec<f64>> {
    let intercept = matches!(design.slots().first(), Some(Slot::Intercept));
    intercept.then(|| {
        let unit = Mat::from_fn(whitening.size(), 1, |j, _| if j == 0 { 1.0 } else { 0.0 });
        let direction = whitening.matrix().partial_piv_lu().solve(unit);
        let length = direction.norm_l2();
        direction.col_as_slice(0).iter().map(|entry| entry / length).collect()
    })
}

/// The mean of the last iterates, less the mean of their gradients: one more step with less noise. What is left of it after its
/// known noise (James and Stein) is kept, but for the constant, which is large in most tables and would be missed.
fn after_start(run: &Trajectory, constant: Option<&[f64]>) -> Vec<f64> {
    let steps = run.gradient.len();
    let from = steps.saturating_sub(AVERAGED);
    let found: Vec<f64> = (0..run.theta[0].len())
        .map(|j| mean_of(&run.theta[from..steps], j) - mean_of(&run.gradient[from..], j))
        .collect();
    let along: f64 = constant.map_or(0.0, |direction| direction.iter().zip(&found).map(|(a, b)| a * b).sum());
    let fixed = |j: usize| constant.map_or(0.0, |direction| along * direction[j]);
    let free_sq: f64 = found.iter().enumerate().map(|(j, theta)| (theta - fixed(j)).powi(2)).sum();
    let noise = NOISE * run.noise_sd.powi(2) / (steps - from) as f64 * found.len() as f64;
    let kept = (1.0 - noise / free_sq.max(f64::MIN_POSITIVE)).max(0.0);
    found.iter().enumerate().map(|(j, theta)| fixed(j) + kept * (theta - fixed(j))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::design;
    use super::*;

    /// A run that stood still, with this noise.
    fn still(theta: [f64; 2], noise_sd: f64) -> Trajectory {
        Trajectory { theta: vec![theta.to_vec(); 11], gradient: vec![vec![0.0; 2]; 10], step_size: 0.5, noise_sd }
    }

    #[test]
    fn a_start_lost_in_noise_is_not_used_but_for_its_constant() {
        assert_eq!(after_start(&still([3.0, 4.0], 0.0), None), [3.0, 4.0]);
        assert_eq!(after_start(&still([3.0, 4.0], 100.0), None), [0.0, 0.0]);
        assert_eq!(after_start(&still([3.0, 4.0], 100.0), Some(&[0.0, 1.0])), [0.0, 4.0]);
        // Noise of 3 / 5 in each coordinate, of a length of 25.
        let kept = 1.0 - 2.0 * 0.6 / 25.0;
        let found = after_start(&still([3.0, 4.0], 1.0), None);
        assert!((found[0] - 3.0 * kept).abs() < 1e-12 && (found[1] - 4.0 * kept).abs() < 1e-12);
    }

    #[test]
    fn the_constant_is_a_direction_of_the_whitened_coordinates() {
        let matrix = Mat::from_fn(4, 4, |j, k| if j == k { 2.0 } else { 0.25 * (j as f64 - k as f64) });
        let whitening = Whitening::new(matrix.as_ref());
        let direction = constant(&design(), &whitening).expect("there is a constant");
        let back = whitening.matrix() * Mat::from_fn(4, 1, |j, _| direction[j]);
        assert!(back[(0, 0)] > 0.1 && (1..4).all(|j| back[(j, 0)].abs() < 1e-9));
        assert!((direction.iter().map(|d| d * d).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
