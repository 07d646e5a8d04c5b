//! One repetition of an experiment: data, and the library's own methods on them.

use dplm::{
    Error, Progress,
    descend::{Descent, Trajectory},
    formula::{Column, Kind, Model},
    lattice::{CELL_SCALE_BITS, Design},
    method::{IntervalMethod, Purpose, Request, Target, Tuning, auto, dpgd},
    privacy::{Budget, Neighbours, PrivacyError, Rho, noise::FixedSeed},
    rows::{Encoded, MemoryBuilder, Rows},
    table::{Block, Cells},
    theory::student::t_quantile,
};
use dplm_methods::adassp;
use dplm_simulate::{Population, Sample, Setting};
use faer::{Mat, Side, linalg::solvers::Solve};

use crate::LabError;

/// Cells simulated at a time, so that only the encoded rows are held.
const BATCH_CELLS: u64 = 1 << 20;

/// Simulated rows, encoded as a fit would encode them, and their source.
pub struct Data {
    rows: Encoded,
    design: Design,
    population: Population,
}

/// The request for one run of the paper's algorithm, in standardised units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Descending {
    /// The whole budget.
    pub rho: f64,
    /// The clip threshold `gamma`.
    pub gamma: f64,
    /// The number of steps.
    pub steps: u32,
    /// The step size `eta`.
    pub step_size: f64,
}

/// Ordinary least squares on the encoded rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LeastSquares {
    /// The coefficients.
    pub theta: Vec<f64>,
    /// Their classical standard errors.
    pub std_errors: Vec<f64>,
    /// The diagonal of the inverse of the second moments.
    pub inverse_moments: Vec<f64>,
    /// Rows minus coefficients.
    pub degrees_of_freedom: f64,
}

impl Data {
    /// Simulates `rows` rows of a setting; the seed fixes the unknowns and the rows.
    ///
    /// # Errors
    /// When the setting is invalid.
    pub fn simulate(setting: &Setting, rows: u64, seed: u64) -> Result<Data, LabError> {
        Data::of_kind(setting, rows, seed, &Kind::Standard)
    }

    /// The same rows, known only to lie within `bound` of zero in every column.
    ///
    /// # Errors
    /// When the setting is invalid.
    pub fn simulate_within(setting: &Setting, rows: u64, seed: u64, bound: f64) -> Result<Data, LabError> {
        Data::of_kind(setting, rows, seed, &Kind::Bounded { low: -bound, high: bound })
    }

    fn of_kind(setting: &Setting, rows: u64, seed: u64, kind: &Kind) -> Result<Data, LabError> {
        let population = setting.draw(seed)?;
        let design = design(setting.features, kind);
        let mut builder = MemoryBuilder::new(&design);
        let step = (BATCH_CELLS / setting.features as u64).max(1);
        for start in (0..rows).step_by(step as usize) {
            builder.push(&block(&population.rows(start..(start + step).min(rows)), setting.features));
        }
        let rows = builder.finish();
        Ok(Data { rows, design, population })
    }

    /// The true coefficients.
    pub fn theta(&self) -> &[f64] {
        self.population.theta()
    }

    /// The same rows in the clear.
    pub fn sample(&self) -> Sample {
        self.population.sample(self.rows.count())
    }

    /// Least squares, from the exact second moments of the encoded rows.
    ///
    /// Simulated columns are far from dependent, so solving the normal equations loses no relevant
    /// accuracy.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn least_squares(&self) -> Result<LeastSquares, LabError> {
        least_squares_of(&self.rows)
    }

    /// One run of Algorithm 1 from zero.
    ///
    /// # Errors
    /// When the plan is refused.
    pub fn descend(&mut self, asked: &Descending, seed: u64) -> Result<Trajectory, LabError> {
        Ok(self.descends(asked, 1, seed)?.remove(0))
    }

    /// Independent runs that share the budget equally.
    ///
    /// # Errors
    /// When the plan is refused.
    pub fn descends(&mut self, asked: &Descending, runs: u32, seed: u64) -> Result<Vec<Trajectory>, LabError> {
        let plan = self.plan(asked, runs)?;
        let spend = Budget::new(rho(asked.rho)?).spend_rest("gradients").map_err(Error::from)?;
        let (start, mut rng) = (vec![0.0; self.rows.features()], FixedSeed::new(seed));
        let mut run = |part| plan.run(&mut self.rows, &start, part, &mut rng, Progress::NONE);
        Ok(spend.in_parts(runs).into_iter().map(&mut run).collect::<Result<_, Error>>()?)
    }

    /// The share of gradients clipped at each step of a run.
    ///
    /// # Errors
    /// When the plan is refused.
    pub fn clipped(&mut self, asked: &Descending, run: &Trajectory) -> Result<Vec<f64>, LabError> {
        let plan = self.plan(asked, 1)?;
        let rows = self.rows.clipped(plan.clip(), None)?;
        let (lattice, count) = (plan.lattice(), rows.count() as f64);
        let share = |theta: &Vec<f64>| -> Result<f64, Error> {
            let clipped = rows.clipped_count(&lattice.theta(theta), lattice)?.into_inner();
            Ok(clipped as f64 / count)
        };
        Ok(run.theta[..run.steps()].iter().map(share).collect::<Result<_, Error>>()?)
    }

    fn plan(&self, asked: &Descending, runs: u32) -> Result<Descent, LabError> {
        let Descending { rho, gamma, steps, step_size } = *asked;
        let (n, p) = (self.rows.count(), self.rows.features());
        let share = rho / f64::from(runs);
        Ok(Descent::plan(n, p, gamma, steps, step_size, Neighbours::ReplaceOne, share).map_err(Error::from)?)
    }

    /// Newton intervals for the optimum on these rows: the default method, with the curvature paid
    /// from the same budget.
    ///
    /// # Errors
    /// When the plan is refused.
    pub fn newton(&mut self, asked: &Descending, level: f64, seed: u64) -> Result<Vec<(f64, f64)>, LabError> {
        let found = self.intervals(asked, Target::Sample, level, seed)?;
        // A coefficient that is not identified has no interval; an infinite one expresses that.
        Ok(found.into_iter().map(|ends| ends.unwrap_or((f64::NEG_INFINITY, f64::INFINITY))).collect())
    }

    /// Newton intervals for the true coefficients; `None` if a coefficient is not identified.
    ///
    /// # Errors
    /// When the plan is refused.
    pub fn population(
        &mut self,
        asked: &Descending,
        level: f64,
        seed: u64,
    ) -> Result<Vec<Option<(f64, f64)>>, LabError> {
        self.intervals(asked, Target::Population, level, seed)
    }

    fn intervals(
        &mut self,
        asked: &Descending,
        target: Target,
        level: f64,
        seed: u64,
    ) -> Result<Vec<Option<(f64, f64)>>, LabError> {
        let request =
            Request { interval: IntervalMethod::Newton, target: Some(target), level, ..Request::new(rho(asked.rho)?) };
        let tuning = Tuning { clip: Some(asked.gamma), steps: Some(asked.steps), step_size: Some(asked.step_size) };
        let config = dpgd::Config { request, tuning };
        let plan = config.plan(self.rows.count(), &self.design)?;
        let outcome = plan.run(&mut self.rows, &self.design, &mut FixedSeed::new(seed), Progress::NONE)?;
        Ok(outcome.coefficients.iter().map(|one| one.precision.map(|p| (p.low, p.high))).collect())
    }

    /// The coefficients from the automatic method.
    ///
    /// # Errors
    /// When the plan is refused.
    pub fn automatic(&mut self, budget: f64, purpose: Purpose, seed: u64) -> Result<Vec<f64>, LabError> {
        let config = auto::Config::new(Request { purpose, ..Request::new(rho(budget)?) });
        let plan = config.plan(self.rows.count(), &self.design)?;
        let outcome = plan.run(&mut self.rows, &self.design, &mut FixedSeed::new(seed), Progress::NONE)?;
        Ok(outcome.predictor(&self.design))
    }

    /// The coefficients from the paper's method at a clip threshold, with defaults for everything
    /// else.
    ///
    /// # Errors
    /// When the plan is refused.
    pub fn at_clip(&mut self, budget: f64, gamma: f64, seed: u64) -> Result<Vec<f64>, LabError> {
        let request = Request { purpose: Purpose::Prediction, ..Request::new(rho(budget)?) };
        let config = dpgd::Config { request, tuning: Tuning { clip: Some(gamma), ..Tuning::default() } };
        let plan = config.plan(self.rows.count(), &self.design)?;
        let outcome = plan.run(&mut self.rows, &self.design, &mut FixedSeed::new(seed), Progress::NONE)?;
        Ok(outcome.predictor(&self.design))
    }

    /// The coefficients from AdaSSP, with bounds for Gaussian columns of standard deviation at most
    /// `column_sd`.
    ///
    /// # Errors
    /// When the plan is refused.
    pub fn adassp(&mut self, budget: f64, column_sd: f64, seed: u64) -> Result<adassp::Outcome, LabError> {
        let n = self.rows.count();
        let standard = adassp::Config::new(Request::new(rho(budget)?));
        let bounds = standard.clone().plan(n, &self.design)?;
        // The response has variance 2 where columns have variance 1, and at most 1 + column_sd^2
        // here.
        let response_sd = ((1.0 + column_sd * column_sd) / 2.0).sqrt();
        let config = adassp::Config {
            row_bound: Some(column_sd * bounds.row_bound()),
            response_bound: Some(response_sd * bounds.response_bound()),
            ..standard
        };
        let plan = config.plan(n, &self.design)?;
        Ok(plan.run(&mut self.rows, &mut FixedSeed::new(seed))?)
    }
}

impl LeastSquares {
    /// The lengths of the classical intervals.
    pub fn lengths(&self, level: f64) -> Vec<f64> {
        let quantile = t_quantile(0.5 + level / 2.0, self.degrees_of_freedom);
        self.std_errors.iter().map(|error| 2.0 * quantile * error).collect()
    }
}

/// Least squares, from the exact second moments of encoded rows, in standardised units.
///
/// # Errors
/// When rows cannot be read.
pub fn least_squares_of(rows: &dyn Rows) -> Result<LeastSquares, LabError> {
    let (sums, p) = (rows.moments()?.into_inner(), rows.features());
    let unit = f64::from(2 * CELL_SCALE_BITS).exp2();
    let entry = |i: usize, j: usize| sums.entry(i, j) as f64 / unit;
    let factor = Mat::from_fn(p, p, entry).llt(Side::Lower).expect("simulated columns are not dependent");
    let theta = factor.solve(&Mat::from_fn(p, 1, |i, _| entry(i, p)));
    let inverse = factor.solve(Mat::<f64>::identity(p, p));
    let explained: f64 = (0..p).map(|i| theta[(i, 0)] * entry(i, p)).sum();
    let degrees_of_freedom = (rows.count() - p as u64) as f64;
    let variance = (entry(p, p) - explained) / degrees_of_freedom;
    Ok(LeastSquares {
        theta: (0..p).map(|i| theta[(i, 0)]).collect(),
        inverse_moments: (0..p).map(|i| rows.count() as f64 * inverse[(i, i)]).collect(),
        std_errors: (0..p).map(|i| (variance * inverse[(i, i)]).sqrt()).collect(),
        degrees_of_freedom,
    })
}

/// The Euclidean distance.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// A different seed for every purpose: the words are mixed so that seeds of neighbouring points are
/// unrelated.
pub fn seed(base: u64, purpose: &str, words: &[u64]) -> u64 {
    let letters = purpose.bytes().map(u64::from);
    letters.chain(words.iter().copied()).fold(mix(base), |state, word| mix(state ^ mix(word)))
}

/// The finaliser of SplitMix64.
fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn rho(value: f64) -> Result<Rho, Error> {
    Rho::checked_from_f64(value).map_err(|error: PrivacyError| error.into())
}

/// `y ~ x1 + x2 + ... + 0`, every column of the same kind.
fn design(features: usize, kind: &Kind) -> Design {
    let column = |name: String| Column { name, kind: kind.clone() };
    Design::new(&Model::of_columns(
        column("y".into()),
        (1..=features).map(|j| column(format!("x{j}"))).collect(),
        false,
    ))
}

/// As a table would give it: column by column, the response first.
fn block(sample: &Sample, features: usize) -> Block {
    let column = |j: usize| Cells::Numbers(sample.x.iter().skip(j).step_by(features).copied().collect());
    let response = Cells::Numbers(sample.y.clone());
    Block { rows: sample.y.len(), columns: std::iter::once(response).chain((0..features).map(column)).collect() }
}

#[cfg(test)]
mod tests {
    use dplm_theory::clear::Ols;

    use super::*;

    #[test]
    fn least_squares_agrees_with_the_library_s_own() {
        let data = Data::simulate(&Setting::new(4), 3000, 5).unwrap();
        let mut ols = Ols::new(4);
        let sample = data.sample();
        ols.push(&sample.x, &sample.y).unwrap();
        let theirs = ols.finish().unwrap();
        let ours = data.least_squares().unwrap();
        // Cells are rounded to 2^-12; the mean of 3000 such errors is far below 1e-5.
        assert!(distance(&ours.theta, &theirs.coefficients) < 1e-4);
        assert!(distance(&ours.std_errors, &theirs.std_errors) < 1e-5);
        assert_eq!(ours.degrees_of_freedom as usize, theirs.degrees_of_freedom);
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let asked = Descending { rho: 0.5, gamma: 8.0, steps: 5, step_size: 0.25 };
        let run = |seed| Data::simulate(&Setting::new(3), 500, 9).unwrap().descend(&asked, seed).unwrap();
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn a_wide_clip_clips_nothing_and_a_narrow_one_nearly_all() {
        let mut data = Data::simulate(&Setting::new(3), 500, 9).unwrap();
        let mut share = |gamma| {
            let asked = Descending { rho: 5.0, gamma, steps: 3, step_size: 0.25 };
            let run = data.descend(&asked, 1).unwrap();
            data.clipped(&asked, &run).unwrap()
        };
        assert_eq!(share(500.0), [0.0; 3]);
        assert!(share(0.01).iter().all(|&share| share > 0.9));
    }

    #[test]
    fn seeds_of_neighbouring_points_differ() {
        let all: std::collections::BTreeSet<u64> =
            (0..50).flat_map(|a| (0..50).map(move |b| seed(1, "data", &[a, b]))).collect();
        assert_eq!(all.len(), 2500);
        assert_ne!(seed(1, "data", &[3]), seed(1, "noise", &[3]));
    }
}
