//! Intervals for the data set's own optimum, from the first steps on: the Newton interval beside
//! the paper's three.

use dplm::{
    descend::Trajectory,
    interval::{
        Batching, Contrast, Coordinates, Curvature, Inference, Interval, IntervalError, Newton, batched_means,
        checkpoints, independent_runs,
    },
};

use super::{DesignName, Finished, Measures, Point, all, cell, ends, gamma, put};
use crate::{
    LabError,
    claim::Claims,
    record::Values,
    stats::Estimate,
    trial::{Data, Descending, LeastSquares, seed},
};

/// The paper's standard setting, at few and many steps.
#[derive(Clone, Debug)]
pub struct Optimum {
    pub p: u32,
    pub n: u64,
    pub rho: f64,
    /// gamma / sqrt(p)
    pub clip: f64,
    pub step_size: f64,
    pub level: f64,
    pub steps: Vec<u32>,
    pub batches: u32,
    pub burn_in: u32,
    pub repetitions: u32,
    pub seed: u64,
}

const NAME: &str = "optimum";

/// The interval methods: two of ours, and the paper's.
const METHODS: [&str; 5] = ["newton", "newton, curvature released", "batched", "checkpoints", "independent"];
const PAPER: [&str; 3] = ["batched", "checkpoints", "independent"];

/// The largest length of the Newton interval relative to the best possible one from the released
/// gradients.
const LONGEST: f64 = 1.03;
/// The same if the curvature is paid for from the same budget.
const LONGEST_RELEASED: f64 = 1.25;
/// An interval method this much below its level still counts as covering when lengths are compared.
const NEARLY: f64 = 0.01;
/// The allowed shortfall of the coverage of the paper's interval methods at the largest number of
/// steps.
const ALLOWANCE: f64 = 0.025;
/// The allowed distance of a mean in standard errors: a false alarm in fifteen thousand.
const STANDARD_ERRORS: f64 = 4.0;

impl Optimum {
    pub fn is_mine(point: &Point) -> bool {
        point.key.starts_with(NAME)
    }

    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.steps.iter().map(|&steps| {
            let parameters = [
                ("p", f64::from(self.p)),
                ("n", self.n as f64),
                ("rho", self.rho),
                ("clip", self.clip),
                ("step_size", self.step_size),
                ("level", self.level),
                ("steps", f64::from(steps)),
                ("batches", f64::from(self.batches)),
                ("burn_in", f64::from(self.burn_in)),
            ];
            Point::new(NAME, &parameters, self.repetitions, self.seed)
        })
    }

    pub fn repeat(&self, point: &Point, repetition: u64) -> Result<Measures, LabError> {
        let steps = point.whole("steps") as u32;
        let words = [self.n, u64::from(steps), repetition];
        let setting = DesignName::Isotropic.setting(self.p);
        let mut data = Data::simulate(&setting, self.n, seed(self.seed, "optimum data", &words))?;
        let ols = data.least_squares()?;
        let noise = |purpose| seed(self.seed, purpose, &words);
        let run = data.descend(&self.descending(steps), noise("optimum run"))?;
        let released = data.newton(&self.descending(steps), self.level, noise("optimum newton"))?;
        let mut found = vec![("newton", ends(&self.newton(&run)?)), ("newton, curvature released", released)];
        if let Ok(batched) = batched_means(&run, &self.batching()) {
            found.push(("batched", ends(&self.intervals(Ok(batched))?)));
            found.push(("checkpoints", ends(&self.intervals(checkpoints(&run, &self.batching()))?)));
        }
        if let Some(independent) = self.independent(&mut data, steps, noise("optimum independent"))? {
            found.push(("independent", ends(&independent)));
        }
        let limit = limit(&run, &ols, self.level);
        Ok(found.into_iter().flat_map(|(name, ends)| score(name, &ends, &ols.theta, limit)).collect())
    }

    pub fn summarise(&self, repetitions: &[Measures]) -> Values {
        let mut values = Values::new();
        for method in METHODS {
            for name in ["coverage", "length"].map(|what| format!("{method}.{what}")) {
                let sample = all(repetitions, &name);
                if !sample.is_empty() {
                    put(&mut values, &name, Estimate::mean(&sample));
                }
            }
        }
        values
    }

    /// Rows of the table: case, rows, clip, steps, repetitions, coverage with its ends, length,
    /// share identified.
    pub fn rows(&self, one: &Finished) -> Vec<Vec<String>> {
        let row = |method: &&str| {
            let coverage = one.estimate(&format!("{method}.coverage"));
            let (low, high) = coverage.interval();
            let place = [one.at("n"), one.at("clip"), one.at("steps"), f64::from(one.point.repetitions)];
            let numbers = [coverage.value, low, high, one.value(&format!("{method}.length")), 1.0];
            let words = std::iter::once(format!("optimum; {}", method.replace(',', ";")));
            words.chain(place.into_iter().chain(numbers).map(cell)).collect()
        };
        METHODS.iter().filter(|method| has(one, method)).map(row).collect()
    }

    pub fn claims(&self, done: &[Finished], claims: &mut Claims) {
        let mine: Vec<&Finished> = done.iter().filter(|one| Optimum::is_mine(&one.point)).collect();
        let Some(last) = mine.last() else { return };
        for (method, longest) in [("newton", LONGEST), ("newton, curvature released", LONGEST_RELEASED)] {
            self.judge_coverage(&mine, method, claims);
            judge_length(&mine, method, longest, claims);
        }
        self.judge_against_the_paper(&mine, claims);
        for method in PAPER {
            let coverage = last.estimate(&format!("{method}.coverage"));
            claims.add(
                format!("the paper's {method} intervals cover the optimum once there are steps enough"),
                along(&mine, method),
                format!("not surely below {:.1} % at the largest number of steps", 100.0 * (self.level - ALLOWANCE)),
                coverage.value + STANDARD_ERRORS * coverage.error >= self.level - ALLOWANCE,
            );
        }
    }

    fn judge_coverage(&self, mine: &[&Finished], method: &str, claims: &mut Claims) {
        let off = |one: &&Finished| {
            let coverage = one.estimate(&format!("{method}.coverage"));
            (coverage.value - self.level).abs() / coverage.error.max(f64::MIN_POSITIVE)
        };
        claims.add(
            format!("{method}: covers the optimum as often as it says, from the first steps on"),
            along(mine, method),
            format!("{:.0} % within {STANDARD_ERRORS} standard errors at every number of steps", 100.0 * self.level),
            mine.iter().all(|one| off(one) <= STANDARD_ERRORS),
        );
    }

    /// Shorter than those of the paper's that cover; shorter ones that do not cover are named.
    fn judge_against_the_paper(&self, mine: &[&Finished], claims: &mut Claims) {
        let (mut closest, mut short) = (f64::INFINITY, Vec::new());
        for one in mine {
            for rival in PAPER.iter().filter(|rival| has(one, rival)) {
                let ratio = one.value(&format!("{rival}.length")) / one.value("newton.length");
                let coverage = one.value(&format!("{rival}.coverage"));
                if coverage >= self.level - NEARLY {
                    closest = closest.min(ratio);
                } else if ratio < 1.0 {
                    short.push(format!("{rival} at {} steps, covering {:.0} %", one.at("steps"), 100.0 * coverage));
                }
            }
        }
        let short = if short.is_empty() { "none".to_owned() } else { short.join(", ") };
        claims.add(
            "newton: shorter than every interval of the paper's that covers",
            format!("those are at least {closest:.3} times as long; shorter but not covering: {short}"),
            "at least as long as Newton's",
            closest >= 1.0,
        );
    }

    fn descending(&self, steps: u32) -> Descending {
        Descending { rho: self.rho, gamma: gamma(self.clip, f64::from(self.p)), steps, step_size: self.step_size }
    }

    fn coordinates(&self) -> Vec<Contrast> {
        Contrast::coordinates(self.p as usize)
    }

    fn batching(&self) -> Batching {
        Batching { batches: self.batches as usize, burn_in: self.burn_in as usize, average_last: 1 }
    }

    /// The whole budget goes to the gradients, and the curvature is estimated from the iterates.
    fn newton(&self, run: &Trajectory) -> Result<Vec<Interval>, LabError> {
        let features = Coordinates::identity(self.p as usize);
        let curvature = Curvature::from_trajectory(run);
        let newton = curvature.and_then(|curvature| Newton::new(run, &features, &curvature, None));
        self.intervals(newton.map(Inference::from))
    }

    fn intervals(&self, inference: Result<Inference, IntervalError>) -> Result<Vec<Interval>, LabError> {
        let found = inference.and_then(|inference| inference.intervals(&self.coordinates(), self.level));
        Ok(found.map_err(dplm::Error::from)?)
    }

    /// Runs that share the steps and the budget, each after a burn-in of at most half its steps;
    /// `None` if a run has one step.
    fn independent(&self, data: &mut Data, total: u32, seed: u64) -> Result<Option<Vec<Interval>>, LabError> {
        let steps = total / self.batches;
        if steps < 2 {
            return Ok(None);
        }
        let runs = data.descends(&self.descending(steps), self.batches, seed)?;
        let burn_in = self.burn_in.min(steps / 2) as usize;
        let batching = Batching { burn_in, average_last: usize::MAX, ..self.batching() };
        Ok(Some(self.intervals(independent_runs(&runs, &batching))?))
    }
}

fn judge_length(mine: &[&Finished], method: &str, longest: f64, claims: &mut Claims) {
    let lengths: Vec<(f64, f64)> =
        mine.iter().map(|one| (one.at("steps"), one.value(&format!("{method}.length")))).collect();
    let words: Vec<String> = lengths.iter().map(|(steps, length)| format!("{length:.3} at {steps}")).collect();
    claims.add(
        format!("{method}: nearly as short as the gradients of the whole budget allow"),
        format!("times 2 z lambda / sqrt(T) on the diagonal of the inverse second moments: {}", words.join(", ")),
        format!("at most {longest} at every number of steps"),
        lengths.iter().all(|(_, length)| *length <= longest),
    );
}

/// The coverage of an interval method at each number of steps, in words.
fn along(mine: &[&Finished], method: &str) -> String {
    let word =
        |one: &&&Finished| format!("{:.1} % at {}", 100.0 * one.value(&format!("{method}.coverage")), one.at("steps"));
    mine.iter().filter(|one| has(one, method)).map(|one| word(&one)).collect::<Vec<_>>().join(", ")
}

fn has(one: &Finished, method: &str) -> bool {
    one.values.contains_key(&format!("{method}.coverage"))
}

/// The mean over coordinates of `2 z lambda / sqrt(T) (Sigma^-1)_jj`.
fn limit(run: &Trajectory, ols: &LeastSquares, level: f64) -> f64 {
    let noise =
        2.0 * dplm::theory::student::normal_quantile(0.5 + level / 2.0) * run.noise_sd / (run.steps() as f64).sqrt();
    noise * Estimate::mean(&ols.inverse_moments).value
}

/// Coverage and length of one data set: coordinates share their run, so their mean is one
/// observation.
fn score(name: &str, ends: &[(f64, f64)], truth: &[f64], limit: f64) -> [(String, Vec<f64>); 2] {
    let p = truth.len() as f64;
    let held = ends.iter().zip(truth).filter(|((low, high), truth)| low <= truth && *truth <= high).count() as f64;
    let length = ends.iter().map(|(low, high)| high - low).sum::<f64>() / p;
    [(format!("{name}.coverage"), vec![held / p]), (format!("{name}.length"), vec![length / limit])]
}
