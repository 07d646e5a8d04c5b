//! The paper's Algorithm 1: T times sum, release, step. All releases are in the [`Trajectory`].

use crate::{
    Error, Progress,
    lattice::{Clip, Lattice, LatticeError, Link, Theta},
    privacy::{Neighbours, Noisy, Released, Spend, noise::RandomWords, release},
    rows::{ClippedRows, ExpectedSteps, Rows},
};

/// The released iterates of one run, in standardised units. Made from released numbers only.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Trajectory {
    /// The iterates `theta_0 .. theta_T`; `theta_0` is the start.
    pub theta: Vec<Vec<f64>>,
    /// The noisy mean gradients released at each step: `gradient[t]` was taken at `theta[t]`, so
    /// there are T of them.
    pub gradient: Vec<Vec<f64>>,
    /// The step size `eta`.
    pub step_size: f64,
    /// The standard deviation `lambda` of the noise in each coordinate of each gradient.
    pub noise_sd: f64,
}

/// Where a point and the noisy gradient there lead.
pub(crate) type Step<'a> = dyn Fn(&[f64], &[f64]) -> Vec<f64> + 'a;

/// The public parameters of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Descent {
    rows: u64,
    lattice: Lattice,
    clip: Clip,
    steps: u32,
    step_size: f64,
    neighbours: Neighbours,
}

impl Descent {
    /// Fixes the arithmetic of a run of `steps` steps at clip threshold `gamma`, with `rho` to
    /// spend on all of them.
    ///
    /// # Errors
    /// When the arithmetic cannot be made exact; see [`Lattice::plan`].
    pub fn plan(
        rows: u64,
        features: usize,
        gamma: f64,
        steps: u32,
        step_size: f64,
        neighbours: Neighbours,
        rho: f64,
    ) -> Result<Descent, LatticeError> {
        let lambda = noise_sd(rows, gamma, steps, neighbours, rho);
        let lattice = Lattice::plan(rows, features, gamma, step_size * lambda)?;
        Ok(Descent { rows, lattice, clip: lattice.clip(gamma), steps, step_size, neighbours })
    }

    /// The same for responses whose mean is another function of parameters.
    #[must_use]
    pub fn of_link(self, link: Link) -> Descent {
        let (gamma, lattice) = (self.gamma(), self.lattice.of_link(link));
        Descent { lattice, clip: lattice.clip(gamma), ..self }
    }

    /// The integer arithmetic of the run.
    pub fn lattice(&self) -> &Lattice {
        &self.lattice
    }

    /// The integer clip threshold.
    pub fn clip(&self) -> Clip {
        self.clip
    }

    /// The clip threshold, in standardised units.
    pub fn gamma(&self) -> f64 {
        self.clip.gamma() as f64 / self.lattice.gradient_unit()
    }

    /// How many steps it takes.
    pub(crate) fn steps(&self) -> u32 {
        self.steps
    }

    /// A released sum as a mean in standardised units.
    fn mean(&self, sum: f64) -> f64 {
        sum / self.lattice.gradient_unit() / self.rows as f64
    }

    /// A released negative gradient sum, `sum_i X_i clamp(r_i)` at `theta`.
    fn negative_gradient_sum<R: RandomWords>(
        &self,
        rows: &mut dyn ClippedRows,
        theta: &Theta,
        spend: Spend,
        rng: &mut R,
    ) -> Result<Released<Noisy>, Error> {
        let query = rows.negative_gradient_sum(theta, &self.lattice, self.neighbours)?;
        Ok(release(query, spend, rng)?)
    }

    /// Runs Algorithm 1 from `start`.
    ///
    /// # Guarantee
    /// Spends exactly `spend`, an equal part on each step; reads the rows only through [`release`].
    ///
    /// # Paper
    /// Algorithm 1. The noise is added to the integer sum, and parameters are rounded to the
    /// lattice after each step: post-processing, and the next gradient is taken at the rounded
    /// point.
    ///
    /// # Errors
    /// When rows cannot be read or the noise does not fit; nothing is returned then, but the budget
    /// is spent.
    pub fn run<R: RandomWords>(
        &self,
        rows: &mut dyn Rows,
        start: &[f64],
        spend: Spend,
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Trajectory, Error> {
        let plain = |theta: &[f64], gradient: &[f64]| {
            theta.iter().zip(gradient).map(|(theta, g)| theta - self.step_size * g).collect()
        };
        self.run_by(&plain, rows, start, spend, rng, progress)
    }

    /// The same with steps of another kind: where a point and the noisy gradient there lead.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn run_by<R: RandomWords>(
        &self,
        step: &Step<'_>,
        rows: &mut dyn Rows,
        start: &[f64],
        spend: Spend,
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Trajectory, Error> {
        let mut rows = rows.clipped(self.clip, Some(self.forecast(&spend)))?;
        let mut theta = self.lattice.theta(start);
        let mut trajectory = self.empty(&theta);
        for (done, part) in (1u32..).zip(spend.in_parts(self.steps)) {
            let sum = self.negative_gradient_sum(rows.as_mut(), &theta, part, rng)?;
            trajectory.noise_sd = self.mean(sum.sigma[0] as f64);
            theta = self.step(step, &mut trajectory, &sum.values);
            progress.report(done, self.steps)?;
        }
        Ok(trajectory)
    }

    /// What the engine may know about the gradients to come.
    fn forecast(&self, spend: &Spend) -> ExpectedSteps {
        let noise_sd = noise_sd(self.rows, self.gamma(), self.steps, self.neighbours, spend.to_f64());
        ExpectedSteps { steps: self.steps, step_size: self.step_size, noise_sd }
    }

    fn empty(&self, start: &Theta) -> Trajectory {
        Trajectory {
            theta: vec![self.lattice.standardised(start)],
            gradient: Vec::new(),
            step_size: self.step_size,
            noise_sd: 0.0,
        }
    }

    /// Takes a step, rounded to the grid; records where it led and the gradient.
    fn step(&self, step: &Step<'_>, trajectory: &mut Trajectory, negative_sum: &[i128]) -> Theta {
        let gradient: Vec<f64> = negative_sum.iter().map(|&sum| -self.mean(sum as f64)).collect();
        let here = trajectory.theta.last().expect("a trajectory has a start");
        let theta = self.lattice.theta(&step(here, &gradient));
        trajectory.gradient.push(gradient);
        trajectory.theta.push(self.lattice.standardised(&theta));
        theta
    }
}

/// The paper's `lambda = gamma sqrt(2 T / rho) / n`, or half of it when neighbours zero a row out.
pub fn noise_sd(rows: u64, gamma: f64, steps: u32, neighbours: Neighbours, rho: f64) -> f64 {
    let reach = match neighbours {
        Neighbours::ReplaceOne => 2.0,
        Neighbours::ZeroOut => 1.0,
    };
    reach * gamma / rows as f64 * (f64::from(steps) / (2.0 * rho)).sqrt()
}

impl Trajectory {
    /// The number of steps taken.
    pub fn steps(&self) -> usize {
        self.gradient.len()
    }
}
