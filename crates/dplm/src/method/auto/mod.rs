//! The automatic method: for tables whose columns are neither centred nor uncorrelated, with errors of unknown scale.
//!
//! The paper's algorithm wants features that are about white and a clip near the size of a gradient. Neither is known of a real table, and
//! both can be found privately:
//!
//! 1. *Whitening.* Second moments are released in one to three rounds, and rows are re-encoded through the matrix found.
//! 2. *Start.* A clip level by noisy counts, and ten steps of descent, to be near the answer.
//! 3. *Clip.* A clip level at the start: about as many rows are clipped as pays for itself at this budget.
//! 4. *Descent.* The paper's Algorithm 1 in the new coordinates, on what is left of the budget.
//! 5. *Curvature and covariance of gradients*, for intervals; not for prediction.
//!
//! Every step is an integer query with Gaussian noise, so the exact (epsilon, delta) conversion holds for the whole fit. A row becomes a
//! re-encoded row by a rule about that row and released numbers only. A row with a missing cell is a row of zeros throughout.
//!
//! Columns without bounds are taken to have unit scale and to lie within six units when the length of a row is looked for; rows beyond
//! that are shortened, not lost.

mod whiten;
mod start;
mod level;
mod clip;
mod belief;
mod infer;
mod shares;
mod entry;

use faer::{Mat, linalg::solvers::Solve};
use rand_core::CryptoRng;

use super::{
    ConfigError, Enough, IntervalMethod, Outcome, Purpose, Request, Target, bare, budget_warnings, with_precision,
};
use crate::{
    Coefficient, Error, MethodSummary, Progress,
    descend::{Descent, Trajectory},
    formula::Kind,
    interval::{Contrast, Inference, Interval},
    lattice::{CELL_SCALE_BITS, Design, Lattice, Outer, Slot, Theta, Whitening},
    privacy::{Budget, Rho, Spend, release},
    rows::Rows,
    warning::Warning,
};
pub(super) use entry::ENTRY;

use belief::{Belief, NoisyMatrix};
use clip::ClipLevel;
use infer::{Law, Sampling};
use whiten::Whitened;

/// What is asked of the method: there is nothing to choose but what is asked of any.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What is asked of any method.
    pub request: Request,
}

/// A checked plan: every number in it is public.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    request: Request,
    rows: u64,
    features: usize,
}

/// Steps to be near the answer, and the size of any step.
const START_STEPS: u32 = 10;
const STEP_SIZE: f64 = 0.5;
/// The curvature is released with rows shortened to this many times `sqrt p`, or more where this much noise on an entry allows it.
const CURVATURE_RADIUS: f64 = std::f64::consts::SQRT_2;
const CURVATURE_NOISE: f64 = 0.03;

/// A column without bounds is taken to lie within this many units.
const STANDARD_RANGE: f64 = 6.0;
/// `n sqrt(rho) / p^1.5` below which intervals would say nothing, and below which some will.
const PREDICTION_ONLY: f64 = 8.0;
const SOME_INTERVALS: f64 = 25.0;
/// A coefficient that moves the response by more than this many times its whole range, over the range of its column, is absurd.
const ABSURD_RANGES: f64 = 5.0;
/// Clipping this share of the rows can make a robust fit differ from least squares.
const NOTABLE_TAIL: f64 = 0.02;

impl Config {
    /// The automatic method.
    pub fn new(request: Request) -> Config {
        Config { request }
    }

    /// Checks what was asked, from public numbers only.
    ///
    /// # Errors
    /// When options make no sense together, or the arithmetic cannot be made exact.
    pub fn plan(self, rows: u64, design: &Design) -> Result<Plan, Error> {
        let Config { request } = self;
        request.check()?;
        if request.purpose == Purpose::Inference && request.interval != IntervalMethod::Newton {
            return Err(ConfigError::OtherIntervals {
                method: "auto",
                offered: IntervalMethod::Newton,
                interval: request.interval,
            }
            .into());
        }
        let features = design.features();
        if rows <= features as u64 {
            return Err(ConfigError::TooFewRows { features, rows }.into());
        }
        let plan = Plan { request, rows, features };
        plan.more_than_noise()?;
        // Any clip will do to learn whether the arithmetic can be made exact.
        plan.descent(1.0, plan.most_steps(), plan.request.rho.to_f64())?;
        Ok(plan)
    }
}

impl Plan {
    /// Refuses what could only be noise: a mean gradient at zero, clipped at the size of the responses, has noise `2 p / (n sqrt(rho))` times
    /// that size, over all coordinates. Where that is 1 or more, an answer of zero is better than any the budget can buy.
    fn more_than_noise(&self) -> Result<(), ConfigError> {
        let needed = 2.0 * self.features as f64;
        if self.precision() >= needed {
            return Ok(());
        }
        // Whoever wants intervals needs more than to be above the noise.
        let enough = match self.request.purpose {
            Purpose::Inference => self.enough_for_intervals(),
            Purpose::Prediction => Enough::times(needed / self.precision(), self.rows, self.request.rho),
        };
        Err(ConfigError::NothingButNoise { features: self.features, rows: self.rows, enough })
    }

    /// Refuses a fit whose every coefficient would come out as not identified, as public numbers already tell.
    ///
    /// # Errors
    /// When intervals are wanted and there would be none.
    pub fn check_intervals(&self) -> Result<(), ConfigError> {
        if self.request.purpose == Purpose::Prediction || self.gives_intervals() {
            return Ok(());
        }
        let (features, rows) = (self.features, self.rows);
        Err(ConfigError::NoIntervals { features, rows, enough: self.enough_for_intervals(), with: "" })
    }

    fn enough_for_intervals(&self) -> Enough {
        enough_for_intervals(self.features, self.rows, self.request.rho)
    }

    /// Whether intervals are wanted and there is a chance of any.
    pub fn gives_intervals(&self) -> bool {
        self.request.purpose == Purpose::Inference && self.strength() >= PREDICTION_ONLY
    }

    fn covers_population(&self) -> bool {
        self.gives_intervals() && self.request.target() != Target::Sample
    }

    /// What public numbers already tell a reader, before anything is spent.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.request.purpose == Purpose::Inference && self.strength() < SOME_INTERVALS {
            let (features, enough) = (self.features, self.enough_for_intervals());
            warnings.push(Warning::BudgetForColumns { features, enough });
        }
        warnings.extend(budget_warnings(&self.request, self.rows));
        warnings
    }

    /// Runs the plan.
    ///
    /// # Guarantee
    /// Spends exactly the budget of the request. Rows are read only through releases.
    ///
    /// # Errors
    /// When rows cannot be read, the noise does not fit, or the run is interrupted.
    pub fn run<R: CryptoRng>(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let mut budget = Budget::new(self.request.rho);
        let mut white = self.whiten(rows, design, &mut budget, rng)?;
        let start = self.start(&mut white, design, &mut budget, rng, progress)?;
        let clip = self.clip(&white, &start, &mut budget, rng)?;
        let extras = self.shares_of_intervals(&mut budget)?;
        let steps = self.steps(&white);
        let spend = budget.spend_rest(format!("clipped gradients, {steps} steps"))?;
        let descent = self.descent(clip.gamma, steps, spend.to_f64())?;
        let run = descent.run(
            white.rows.as_mut(),
            &start.theta,
            spend,
            rng,
            progress.part(START_STEPS, START_STEPS + steps),
        )?;
        let (coefficients, inference) = self.coefficients(design, &white, &descent, &run, extras, rng)?;
        let summary = MethodSummary {
            name: "auto",
            clip: clip.gamma,
            steps,
            step_size: STEP_SIZE,
            noise_sd: run.noise_sd,
            runs: 1,
        };
        Ok(Outcome {
            coefficients,
            trajectories: vec![standardised(&run, &white.whitening)],
            summary,
            releases: budget.releases().to_vec(),
            warnings: self.warnings_of_run(&white, start.at_edge || clip.at_edge, &clip),
            whitening: Some(white.whitening),
            inference,
        })
    }

    fn descent(&self, gamma: f64, steps: u32, rho: f64) -> Result<Descent, Error> {
        let (least, most) = Lattice::CLIP_RANGE.into_inner();
        let gamma = gamma.clamp(least, most);
        Ok(Descent::plan(self.rows, self.features, gamma, steps, STEP_SIZE, self.request.neighbours, rho)?)
    }

    fn shares_of_intervals(&self, budget: &mut Budget) -> Result<Extras, Error> {
        let (rho, shares) = (self.request.rho, self.shares());
        let mut cut =
            |wanted: bool, what: &str, share| wanted.then(|| budget.spend(what, rho.share(share))).transpose();
        let curvature = cut(self.gives_intervals(), "curvature of the loss", shares.curvature)?;
        let spread = cut(self.covers_population(), "covariance of the gradients", shares.spread)?;
        Ok(Extras { curvature, spread })
    }

    /// Releases a sum of outer products as a mean; `unit` is one standardised unit of a vector.
    fn outer<R: CryptoRng>(
        &self,
        rows: &dyn Rows,
        outer: &Outer<'_>,
        unit: f64,
        spend: Spend,
        rng: &mut R,
    ) -> Result<NoisyMatrix, Error> {
        let sum = rows.outer_sum(outer, self.request.neighbours)?;
        let size = sum.size();
        let noisy = release(sum.into_matrix(), spend, rng)?;
        let mean = |value: f64| value / (unit * unit) / self.rows as f64;
        let entry = |j: usize, k: usize| mean(noisy.values[j.max(k) * (j.max(k) + 1) / 2 + j.min(k)] as f64);
        Ok(NoisyMatrix { mean: Mat::from_fn(size, size, entry), noise_sd: mean(noisy.sigma[0] as f64) })
    }

    /// Estimates in their own units, with intervals where they were asked for.
    fn coefficients<R: CryptoRng>(
        &self,
        design: &Design,
        white: &Whitened,
        descent: &Descent,
        run: &Trajectory,
        extras: Extras,
        rng: &mut R,
    ) -> Result<(Vec<Coefficient>, Option<Inference>), Error> {
        let matrix = white.whitening.matrix();
        let contrasts = design.contrasts();
        let late = infer::late_mean(run);
        let names = design.names().iter().cloned();
        let Some(spend) = extras.curvature else {
            let identified = self.request.purpose == Purpose::Prediction;
            let estimate = |(name, contrast): (String, &Contrast)| Coefficient {
                identified,
                ..bare(name, through(contrast, &matrix).of(&late))
            };
            return Ok((names.zip(&contrasts).map(estimate).collect(), None));
        };
        let at = lattice_point(descent, &late);
        let curvature = self.curvature(white, &at, spend, rng)?;
        let sampling = extras.spread.map(|spend| self.sampling(white.rows.as_ref(), &at, spend, rng)).transpose()?;
        let belief = Belief::new(&curvature, &white.expected, run);
        let law = Law::new(run, &late, belief, sampling.as_ref());
        let inference = Inference::new(move |contrasts, level| {
            Ok(contrasts.iter().map(|contrast| law.interval(&through(contrast, &matrix), level)).collect())
        });
        let found = inference.intervals(&contrasts, self.request.level)?;
        let limits = limits(design);
        let sensible = found.into_iter().zip(limits).map(|(interval, limit)| within(interval, limit));
        Ok((names.zip(sensible).map(|(name, interval)| with_precision(name, &interval)).collect(), Some(inference)))
    }

    /// `(1/n) sum z z'` over rows that are not clipped, each shortened to the radius: as long as few rows are cut, and no longer than
    /// keeps the noise low.
    fn curvature<R: CryptoRng>(
        &self,
        white: &Whitened,
        at: &Point<'_>,
        spend: Spend,
        rng: &mut R,
    ) -> Result<NoisyMatrix, Error> {
        let unit = f64::from(CELL_SCALE_BITS).exp2();
        let radius = (self.curvature_radius(white.radius, spend.to_f64()) * unit).ceil() as u64;
        let unclipped = Outer::Unclipped { theta: &at.theta, theta_unit: at.descent.lattice().theta_unit(), radius };
        self.outer(white.rows.as_ref(), &unclipped, unit, spend, rng)
    }

    /// Noise on an entry is `R^2 / (n sqrt(rho))`; `longest` is a length that few rows exceed.
    fn curvature_radius(&self, longest: f64, rho: f64) -> f64 {
        let affordable = (CURVATURE_NOISE * self.rows as f64 * rho.sqrt()).sqrt();
        longest.min(affordable).max(CURVATURE_RADIUS * (self.features as f64).sqrt())
    }

    /// `(1/n) sum g g'` over clipped gradients.
    fn sampling<R: CryptoRng>(
        &self,
        rows: &dyn Rows,
        at: &Point<'_>,
        spend: Spend,
        rng: &mut R,
    ) -> Result<Sampling, Error> {
        let (lattice, clip) = (at.descent.lattice(), at.descent.clip());
        let unit = lattice.gradient_unit() / f64::from(clip.gradient_shift()).exp2();
        let gradients = Outer::Gradient { theta: &at.theta, theta_unit: lattice.theta_unit() };
        let spread = self.outer(rows, &gradients, unit, spend, rng)?;
        Ok(Sampling { spread, rows: self.rows as f64 })
    }

    /// What released numbers tell a reader.
    fn warnings_of_run(&self, white: &Whitened, clip_at_edge: bool, clip: &ClipLevel) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if !white.faint.is_empty() {
            let rows = (22.0 / self.request.rho.to_f64().sqrt()).ceil() as u64;
            warnings.push(Warning::Faint { names: white.faint.clone(), rows });
        }
        if clip_at_edge || white.at_edge {
            warnings.push(Warning::LevelAtEdge);
        }
        if clip.tail > NOTABLE_TAIL && self.request.purpose == Purpose::Inference {
            warnings.push(Warning::Robust { clip: clip.gamma });
        }
        warnings
    }
}

/// What would be enough for most intervals.
pub(super) fn enough_for_intervals(features: usize, rows: u64, rho: Rho) -> Enough {
    Enough::times(SOME_INTERVALS / shares::strength(features, rows, rho), rows, rho)
}

/// Where the curvature is taken, and the descent whose clip and lattice it shares.
struct Point<'a> {
    theta: Theta,
    descent: &'a Descent,
}

fn lattice_point<'a>(descent: &'a Descent, theta: &[f64]) -> Point<'a> {
    Point { theta: descent.lattice().theta(theta), descent }
}

/// The shares for intervals.
struct Extras {
    curvature: Option<Spend>,
    spread: Option<Spend>,
}

/// What is publicly known of the largest norm of a standardised row: bounded columns and groups of levels add at most 1 to its square.
fn largest_norm(design: &Design) -> f64 {
    let columns = design.columns()[1..].iter().map(|column| match column.kind {
        Kind::Standard => STANDARD_RANGE.powi(2),
        Kind::Bounded { .. } | Kind::Levels(_) => 1.0,
    });
    (1.0 + columns.sum::<f64>()).sqrt()
}

/// The largest absolute response, in standardised units.
fn largest_response(design: &Design) -> f64 {
    if design.response().range.0.is_finite() { 1.0 } else { STANDARD_RANGE }
}

/// The largest coefficient, in its own units, that makes sense.
fn limits(design: &Design) -> Vec<f64> {
    let response = 2.0 * design.response().unit * largest_response(design);
    let range = |slot: &Slot| match slot {
        Slot::Intercept => f64::INFINITY,
        Slot::Level { .. } => 1.0,
        Slot::Number { scale, .. } if scale.range.0.is_finite() => scale.range.1 - scale.range.0,
        Slot::Number { .. } => 2.0 * STANDARD_RANGE,
    };
    let limit = |slot: &Slot| match slot {
        Slot::Intercept => f64::INFINITY,
        slot => ABSURD_RANGES * response / range(slot),
    };
    design.slots().iter().map(limit).collect()
}

/// An estimate, or an error, beyond the limit identifies nothing.
fn within(interval: Interval, limit: f64) -> Interval {
    let sensible = interval.estimate.abs() <= limit && interval.std_error <= limit;
    Interval { identified: interval.identified && sensible, ..interval }
}

/// A contrast of standardised parameters as one of whitened ones: `theta = P theta_white`.
fn through(contrast: &Contrast, matrix: &Mat<f64>) -> Contrast {
    let weight = |k: usize| matrix.col_as_slice(k).iter().zip(&contrast.weights).map(|(a, b)| a * b).sum();
    Contrast { weights: (0..matrix.ncols()).map(weight).collect(), offset: contrast.offset }
}

/// The run in standardised units: iterates are `P theta`, gradients `P'^-1 g`. The noise stays as it was in whitened ones.
fn standardised(run: &Trajectory, whitening: &Whitening) -> Trajectory {
    let matrix = whitening.matrix();
    let across = |vectors: &[Vec<f64>]| Mat::from_fn(matrix.nrows(), vectors.len(), |j, t| vectors[t][j]);
    let columns = |matrix: Mat<f64>| (0..matrix.ncols()).map(|t| matrix.col_as_slice(t).to_vec()).collect();
    Trajectory {
        theta: columns(&matrix * across(&run.theta)),
        gradient: columns(matrix.transpose().to_owned().partial_piv_lu().solve(across(&run.gradient))),
        ..*run
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::{Column, Model};

    pub(super) fn design() -> Design {
        let column = |name: &str, kind| Column { name: name.into(), kind };
        Design::new(&Model {
            response: column("y", Kind::Bounded { low: 0.0, high: 100.0 }),
            features: vec![
                column("x", Kind::Bounded { low: -1.0, high: 3.0 }),
                column("z", Kind::Standard),
                column("g", Kind::Levels(vec!["a".into(), "b".into()])),
            ],
            intercept: true,
        })
    }

    #[test]
    fn limits_are_five_ranges_of_the_response_over_the_range_of_the_column() {
        assert_eq!(limits(&design()), [f64::INFINITY, 500.0 / 4.0, 500.0 / 12.0, 500.0]);
        assert_eq!(largest_norm(&design()), (1.0f64 + 1.0 + 36.0 + 1.0).sqrt());
    }

    #[test]
    fn beyond_the_limit_nothing_is_identified() {
        let found =
            |estimate, std_error| Interval { estimate, std_error, low: -9.0, high: 9.0, df: None, identified: true };
        assert!(within(found(-5.0, 1.0), 6.0).identified);
        assert!(!within(found(-7.0, 1.0), 6.0).identified);
        assert!(!within(found(1.0, 7.0), 6.0).identified);
        assert!(!within(found(f64::NAN, 1.0), 6.0).identified);
    }

    #[test]
    fn rows_are_cut_for_the_curvature_only_where_noise_demands_it() {
        let request = Request::new(crate::privacy::Rho::checked_from_f64(0.5).expect("a budget"));
        let plan = Plan { request, rows: 10_000, features: 8 };
        assert_eq!(plan.curvature_radius(6.0, 0.5), 6.0);
        assert!((plan.curvature_radius(6.0, 1e-4) - 4.0).abs() < 1e-12);
        assert!((plan.curvature_radius(60.0, 0.01) - 30f64.sqrt()).abs() < 1e-12);
    }
}
