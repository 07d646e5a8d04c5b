//! The paper's method: Algorithm 1 on standardised columns, with public parameters.

use super::{
    ConfigError, Enough, Entry, IntervalMethod, Method, Outcome, Purpose, Request, Target, Tuning, budget_warnings,
    mean_of_late,
    noisy::{NoisyMatrix, release_spread},
    request::MOST_STEPS,
};
use crate::{
    Error, MethodSummary, Progress,
    descend::{Descent, Trajectory, noise_sd},
    interval::{
        Batching, Coordinates, Curvature, Inference, IntervalError, Newton, Sampling, batched_means, checkpoints,
        independent_runs,
    },
    lattice::{CELL_SCALE_BITS, ClippedOuter, Design, Lattice, Theta},
    options::Choice,
    plan::{
        Assumed, Foretold, Planned,
        noise::{edge, matrix_noise_sd},
        steps::steps_between,
        strength::enough_for_intervals,
        white::{Setting, Shares, row_bound_sq},
    },
    privacy::{
        Budget, Neighbours, Spend,
        convert::Conversion,
        noise::{NoiseRng, RandomWords},
    },
    rows::{ClippedRows, Rows},
    warning::Warning,
};

/// The method as the registry lists it.
pub(super) const ENTRY: Entry = Entry {
    name: "dpgd",
    about: "the paper's gradient descent, on columns that are well scaled",
    intervals: IntervalMethod::ALL,
    tunable: true,
    assumes_standard: true,
    conversion: Conversion::Exact,
    whitens: false,
    suits: |_| true,
    configure: |request, tuning| Box::new(Config { request, tuning }),
};

/// What is asked of the method.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What is asked of any method.
    pub request: Request,
    /// Parameters set by hand.
    pub tuning: Tuning,
}

/// A checked plan: every number in it is public.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    request: Request,
    rows: u64,
    clip: f64,
    steps: u32,
    runs: u32,
    step_size: f64,
    burn_in: u32,
    /// Steps between estimates that the coverage theorem asks for.
    needed: u32,
    scale: Scaling,
    shares: Shares,
    descent: Descent,
}

/// A forecast takes the coefficients to be at this distance from zero, in standardised units: the
/// paper's unit sphere.
const SIGNAL: f64 = 1.0;

/// The paper's burn-in.
const BURN_IN: u32 = 20;

/// A step is stable where it is less than twice the inverse of the largest curvature, and noise
/// grows along it the faster the closer it is.
const MOST_OF_CURVATURE: f64 = 1.5;
/// Where eigenvalues are this many times what noise moves them by, the weakest of columns that are
/// not correlated are found.
const CLEAR_CURVATURE: f64 = 3.0;

impl Config {
    /// The paper's method with automatic parameters.
    pub fn new(request: Request) -> Config {
        Config { request, tuning: Tuning::default() }
    }

    /// Fills in what was not asked for and checks the whole, from public numbers only.
    ///
    /// # Errors
    /// When options make no sense together, or the arithmetic cannot be made exact.
    pub fn plan(self, rows: u64, design: &Design) -> Result<Plan, Error> {
        let Config { request, tuning } = self;
        request.check()?;
        tuning.check()?;
        let Tuning { clip, steps, step_size } = tuning;
        let features = design.features();
        if rows <= features as u64 {
            return Err(ConfigError::TooFewRows { features, rows, unit: request.unit() }.into());
        }
        let scale = Scaling::of(design, request.rows_per_person());
        let step_size = step_size.unwrap_or(scale.step_size);
        let (best_clip, best_steps) = match (clip, steps) {
            // Nothing is left to look for.
            (Some(clip), Some(steps)) => (clip, steps),
            _ => {
                let best = scale.best_setting(rows, request.rho.to_f64(), request.neighbours, step_size)?;
                (best.gamma * scale.rows.sqrt(), best.steps)
            }
        };
        let clip = clip.unwrap_or(best_clip);
        // A longer run has noisier steps and forgets its start sooner, so the noise of a short one
        // is on the safe side.
        let lambda = noise_sd(rows, clip, request.batches, request.neighbours, request.rho.to_f64());
        let steps =
            steps.unwrap_or_else(|| auto_steps(&request, best_steps, |m| scale.steps_between(m, step_size, lambda)));
        let burn_in = checked_burn_in(&request, steps)?;
        let runs = if intervals_by(&request) == Some(IntervalMethod::Independent) { request.batches } else { 1 };
        let shares = shares(&request, rows, features, clip / scale.rows.sqrt(), scale.error_sd);
        let rho = request.rho.share(shares.descent()).to_f64() / f64::from(runs);
        let descent = Descent::plan(rows, features, clip, steps, step_size, request.neighbours, rho)?;
        let needed =
            scale.steps_between(request.batches, step_size, noise_sd(rows, clip, steps, request.neighbours, rho));
        Ok(Plan { request, rows, clip, steps, runs, step_size, burn_in, needed, scale, shares, descent })
    }
}

impl Method for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn request(&self) -> &Request {
        &self.request
    }

    fn tuning(&self) -> Tuning {
        self.tuning
    }

    fn with_request(&self, request: Request) -> Box<dyn Method> {
        Box::new(Config { request, ..self.clone() })
    }

    fn check(&self) -> Result<(), Error> {
        self.request.check()?;
        self.tuning.check()
    }

    fn plan(&self, rows: u64, design: &Design) -> Result<Box<dyn super::Plan>, Error> {
        Ok(Box::new(self.clone().plan(rows, design)?))
    }
}

impl super::Plan for Plan {
    fn check(&self) -> Result<(), ConfigError> {
        self.check_intervals()
    }

    fn warn(&self) -> Vec<Warning> {
        self.warnings()
    }

    fn foresee(&self, design: &Design, assumed: &Assumed) -> Result<Planned, Error> {
        self.foresee(design, assumed)
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        self.run(rows, design, rng, progress)
    }
}

/// Which intervals are made, if any.
fn intervals_by(request: &Request) -> Option<IntervalMethod> {
    (request.purpose == Purpose::Inference).then_some(request.interval)
}

/// The shares of the budget that the Newton interval needs beside the gradients.
fn shares(request: &Request, rows: u64, features: usize, clip: f64, error_sd: f64) -> Shares {
    if intervals_by(request) != Some(IntervalMethod::Newton) {
        return Shares::NONE;
    }
    let shares = Shares::recommended(rows, features, request.rho.to_f64(), clip, error_sd);
    match request.target() {
        Target::Population | Target::Robust | Target::Person => shares,
        Target::Sample => Shares { gradient_spread: 0.0, ..shares },
    }
}

/// What public facts about the columns say of sizes, in standardised units.
///
/// A person with k rows is as a row of `sqrt k` times the length: gradients are `sqrt k` times as
/// long where errors are independent, the curvature is k times as large, and a step is that much
/// shorter. In parameters `sqrt k theta` everything is as it is for rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scaling {
    features: usize,
    /// Rows of a person; 1 where each row stands for itself.
    rows: f64,
    /// Whether every column has bounds or levels.
    bounded: bool,
    /// Whether rows are weighted; weights are taken to be about 1 on average.
    weighted: bool,
    /// The norm of a typical row, or of a person's rows together: at their bounds where there are
    /// bounds, else of unit variances.
    row_norm: f64,
    /// The norm rows are shrunk to when the curvature is released.
    radius: f64,
    /// The standard deviation of the errors: 1 for a standard response; a bounded one is scaled to
    /// -1 to 1 and taken to have 1/4.
    error_sd: f64,
    /// The paper's 1/4, or less where bounds allow a curvature for which that would not be stable:
    /// the largest eigenvalue of the second moments is at most the largest squared norm of a row.
    step_size: f64,
}

impl Scaling {
    fn of(design: &Design, rows_per_person: u32) -> Scaling {
        let (features, rows) = (design.features(), f64::from(rows_per_person));
        let bound_sq = design.row_norm_sq();
        Scaling {
            features,
            rows,
            bounded: bound_sq.is_some(),
            weighted: design.weights().is_some(),
            row_norm: (rows * bound_sq.unwrap_or(features as f64)).sqrt(),
            radius: (rows * design.largest_weight() * bound_sq.unwrap_or_else(|| row_bound_sq(features))).sqrt(),
            error_sd: if design.response().range.0.is_finite() { 0.25 } else { 1.0 },
            step_size: bound_sq.map_or(0.25, |bound_sq| (1.5 / bound_sq).min(0.25)) / rows,
        }
    }

    /// The clip and the number of steps that public numbers recommend for the population, as for
    /// rows.
    fn best_setting(
        &self,
        rows: u64,
        rho: f64,
        neighbours: Neighbours,
        step_size: f64,
    ) -> Result<Setting, IntervalError> {
        let step_size = step_size * self.rows;
        let gamma = 2.0 * self.row_norm / self.rows.sqrt() * self.error_sd;
        let shares = Shares::recommended(rows, self.features, rho, gamma, self.error_sd);
        let Scaling { features, error_sd, .. } = *self;
        let setting =
            Setting { rows, features, rho, neighbours, gamma, steps: 1, step_size, error_sd, signal: error_sd, shares };
        setting.with_best_clip_and_steps()
    }

    /// The steps between estimates that the coverage theorem asks for, where columns are as well
    /// scaled as the formula says.
    fn steps_between(&self, batches: u32, step_size: f64, noise_sd: f64) -> u32 {
        let (step_size, noise_sd) = (step_size * self.rows, noise_sd / self.rows.sqrt());
        steps_between(self.error_sd, batches, self.features, step_size, noise_sd)
    }

    /// The largest eigenvalue that the curvature can have: its trace is at most the mean of the
    /// squared norms of rows.
    fn largest_curvature(&self) -> f64 {
        self.row_norm.powi(2)
    }

    /// The length of a typical gradient.
    fn typical_gradient(&self) -> f64 {
        self.row_norm * self.error_sd
    }
}

/// The recommended steps for Newton; for the paper's intervals, what the coverage theorem asks for
/// between estimates.
fn auto_steps(request: &Request, best: u32, between: impl Fn(u32) -> u32) -> u32 {
    let batches = request.batches;
    match intervals_by(request) {
        None | Some(IntervalMethod::Newton) => best,
        Some(IntervalMethod::Batched | IntervalMethod::Checkpoints) => BURN_IN + batches * between(batches),
        Some(IntervalMethod::Independent) => between(batches),
    }
}

fn checked_burn_in(request: &Request, steps: u32) -> Result<u32, ConfigError> {
    if !(1..=MOST_STEPS).contains(&steps) {
        return Err(ConfigError::Steps);
    }
    let (asked, batches) = (request.burn_in, request.batches);
    match intervals_by(request) {
        Some(IntervalMethod::Batched | IntervalMethod::Checkpoints) => {
            let burn_in = asked.unwrap_or(BURN_IN.min(steps / 2));
            let kept =
                steps.checked_sub(burn_in).filter(|&kept| kept > 0).ok_or(ConfigError::BurnIn { burn_in, steps })?;
            if kept < batches { Err(ConfigError::TooFewSteps { kept, batches }) } else { Ok(burn_in) }
        }
        _ => match asked {
            Some(burn_in) if burn_in >= steps => Err(ConfigError::BurnIn { burn_in, steps }),
            asked => Ok(asked.unwrap_or(0)),
        },
    }
}

/// The rights to release, cut from the budget before anything is read.
struct Rights {
    curvature: Option<Spend>,
    spread: Option<Spend>,
    gradients: Vec<Spend>,
}

impl Plan {
    /// The public parameters, for reports.
    pub fn summary(&self) -> MethodSummary {
        let rho = self.request.rho.share(self.shares.descent()).to_f64() / f64::from(self.runs);
        MethodSummary {
            name: ENTRY.name.to_owned(),
            clip: self.clip,
            steps: self.steps,
            step_size: self.step_size,
            noise_sd: noise_sd(self.rows, self.clip, self.steps, self.request.neighbours, rho),
            runs: self.runs,
            row_length: None,
        }
    }

    /// Runs the plan.
    ///
    /// # Guarantee
    /// Spends exactly the budget of the request. Rows are read only through releases.
    ///
    /// # Errors
    /// When rows cannot be read, the noise does not fit, or the run is interrupted.
    pub fn run<R: RandomWords>(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let mut budget = Budget::new(self.request.rho);
        let rights = self.rights(&mut budget)?;
        let start = vec![0.0; design.features()];
        let mut trajectories = Vec::new();
        for (run, spend) in (0u64..).zip(rights.gradients) {
            let (before, total) = (run * u64::from(self.steps), u64::from(self.runs) * u64::from(self.steps));
            trajectories.push(self.descent.run(rows, &start, spend, rng, progress.part(before, total))?);
        }
        let extras = self.release_extras(rows, &trajectories[0], rights.curvature, rights.spread, rng)?;
        let overshoots = extras.curvature.as_ref().and_then(|curvature| self.overshoots(curvature));
        let summary = MethodSummary { noise_sd: trajectories[0].noise_sd, ..self.summary() };
        let inference = self.inference(&trajectories, extras)?;
        let late = mean_of_late(&trajectories[0]);
        let outcome = Outcome::of(self.request.target(), summary, budget.releases(), trajectories);
        match (inference, overshoots) {
            (None, _) => Ok(outcome.with_estimates(design, &late)),
            (Some(_), Some(why)) => Ok(outcome.without_numbers(design, why)),
            (Some(inference), None) => Ok(outcome.with_inference(design, inference, self.request.level)?),
        }
    }

    /// The arithmetic of the descent.
    pub fn descent(&self) -> &Descent {
        &self.descent
    }

    /// The plan in numbers, for columns of unit variance that are not correlated.
    ///
    /// # Errors
    /// When columns have bounds: how far they spread within them decides how fast the descent is;
    /// and where rows are weighted or persons have several.
    fn foresee(&self, design: &Design, assumed: &Assumed) -> Result<Planned, Error> {
        let Scaling { features, bounded, .. } = self.scale;
        if bounded || design.weights().is_some() || self.request.has_several_rows() || !assumed.is_white() {
            return Err(ConfigError::NoForecast.into());
        }
        let setting = Setting {
            rows: self.rows,
            features,
            rho: self.request.rho.to_f64(),
            neighbours: self.request.neighbours,
            gamma: self.clip,
            steps: self.steps,
            step_size: self.step_size,
            error_sd: assumed.error_sd,
            signal: SIGNAL,
            shares: self.shares,
        };
        let foretold = |setting: Setting| -> Result<Foretold, Error> {
            let Setting { gamma: clip, steps, step_size, .. } = setting;
            Ok(Foretold { clip, steps, step_size, errors: setting.expected()? })
        };
        let mut budget = Budget::new(self.request.rho);
        let _ = self.rights(&mut budget)?;
        Ok(Planned {
            of_interest: None,
            other_way: None,
            method: ENTRY.name,
            target: self.request.target(),
            descent: foretold(setting)?,
            recommended: Some(foretold(setting.with_best_clip_and_steps()?)?),
            releases: budget.releases(),
            kept: (0..features).collect(),
            left_out: Vec::new(),
        })
    }

    /// What public numbers already tell a reader.
    pub fn warnings(&self) -> Vec<Warning> {
        let Request { rho, .. } = self.request;
        let noise = self.noise_of_estimate();
        let mut warnings = Vec::new();
        if noise > 0.5 {
            warnings.push(Warning::BudgetTooSmall {
                noise,
                enough: Enough::times(noise / 0.1, self.rows, rho).of(self.request.unit()),
            });
        }
        if self.request.purpose == Purpose::Inference {
            warnings.push(Warning::Robust { clip: self.clip });
        }
        if intervals_by(&self.request).is_some_and(|method| method != IntervalMethod::Newton) {
            warnings.push(Warning::AssumedUncorrelated);
        }
        if let Some(steps) = self.steps_between_estimates().filter(|&steps| steps < self.needed) {
            warnings.push(Warning::ShortRun { steps, needed: self.needed });
        }
        warnings.extend(budget_warnings(&self.request, self.rows));
        warnings
    }

    /// Refuses Newton intervals whose curvature would drown: every coefficient would come out as
    /// not identified.
    ///
    /// # Errors
    /// When intervals are wanted and there would be none.
    pub fn check_intervals(&self) -> Result<(), ConfigError> {
        let drowned = self.drowned();
        if intervals_by(&self.request) != Some(IntervalMethod::Newton) || drowned < 1.0 {
            return Ok(());
        }
        let Scaling { features, bounded, .. } = self.scale;
        let (rows, rho) = (self.rows, self.request.rho);
        // Columns with bounds have curvatures far below the largest one, which the automatic method
        // finds its way around.
        let (enough, with_auto) = match bounded {
            true => (enough_for_intervals(features, rows, rho), true),
            false => (Enough::times(CLEAR_CURVATURE * drowned, rows, rho), false),
        };
        let enough = enough.of(self.request.unit());
        Err(ConfigError::NoIntervals { features, rows, enough, with_auto })
    }

    /// The noise of the curvature, over what hides every direction. Of columns of unit variance
    /// that is noise that moves eigenvalues by as much as they are, since correlated columns then
    /// look like others; of columns with bounds it is noise on each entry as large as the largest
    /// eigenvalue there can be, above which none stands but by chance.
    fn drowned(&self) -> f64 {
        let (Scaling { features, bounded, rows, .. }, noise) = (self.scale, self.curvature_noise());
        if bounded { noise / self.scale.largest_curvature() } else { edge(features, noise) / rows }
    }

    /// The standard deviation of the noise on a diagonal entry of the released curvature,
    /// `sqrt(delta_sq / (2 rho))` over rows.
    fn curvature_noise(&self) -> f64 {
        let rho = self.request.rho.share(self.shares.curvature).to_f64();
        matrix_noise_sd(self.rows, self.scale.radius.powi(2), self.request.neighbours, rho)
    }

    /// How far apart the estimates of the paper's intervals are.
    fn steps_between_estimates(&self) -> Option<u32> {
        match intervals_by(&self.request)? {
            IntervalMethod::Newton => None,
            IntervalMethod::Batched | IntervalMethod::Checkpoints => {
                Some((self.steps - self.burn_in) / self.request.batches)
            }
            IntervalMethod::Independent => Some(self.steps),
        }
    }

    /// The standard error that noise alone gives a coefficient of a column of unit variance:
    /// `lambda / sqrt(T)` over the rows of a person.
    fn noise_of_estimate(&self) -> f64 {
        self.summary().noise_sd / self.scale.rows / (f64::from(self.steps) * f64::from(self.runs)).sqrt()
    }

    fn rights(&self, budget: &mut Budget) -> Result<Rights, Error> {
        let rho = self.request.rho;
        let mut cut = |what: &str, share: f64| (share > 0.0).then(|| budget.spend(what, rho.share(share))).transpose();
        let curvature = cut("curvature of the loss", self.shares.curvature)?;
        let spread = cut("spread of the gradients", self.shares.gradient_spread)?;
        let what = match self.runs {
            1 => format!("clipped gradients, {} steps", self.steps),
            runs => format!("clipped gradients, {runs} runs of {} steps", self.steps),
        };
        Ok(Rights { curvature, spread, gradients: budget.spend_rest(what)?.in_parts(self.runs) })
    }

    /// What the Newton interval needs besides the iterates, released at their mean.
    fn release_extras<R: RandomWords>(
        &self,
        rows: &mut dyn Rows,
        trajectory: &Trajectory,
        curvature: Option<Spend>,
        spread: Option<Spend>,
        rng: &mut R,
    ) -> Result<Extras, Error> {
        let lattice = self.descent.lattice();
        let theta = lattice.theta(&mean_of_late(trajectory));
        let rows = rows.clipped(self.descent.clip(), None)?;
        let curvature =
            curvature.map(|spend| self.curvature(rows.as_ref(), &theta, lattice, spend, rng)).transpose()?;
        let spread = spread
            .map(|spend| {
                release_spread(
                    rows.as_ref(),
                    (&theta, lattice),
                    self.descent.clip(),
                    (&self.request, self.scale.weighted),
                    spend,
                    rng,
                )
            })
            .transpose()?;
        Ok(Extras { curvature, spread })
    }

    /// `(1/n) sum x x'` over rows that are not clipped at `theta`, each shrunk to the radius.
    fn curvature<R: RandomWords>(
        &self,
        rows: &dyn ClippedRows,
        theta: &Theta,
        lattice: &Lattice,
        spend: Spend,
        rng: &mut R,
    ) -> Result<Curvature, Error> {
        let unit = f64::from(CELL_SCALE_BITS).exp2();
        let radius = (self.scale.radius * unit).ceil() as u64;
        let unclipped = ClippedOuter::Unclipped { theta, theta_unit: lattice.theta_unit(), radius };
        let noisy = NoisyMatrix::release_clipped(rows, &unclipped, unit, self.request.neighbours, spend, rng)?;
        let released = Curvature::of_any_columns(noisy.mean, noisy.noise_sd)?;
        Ok(released.with_clip(self.clip / self.scale.typical_gradient()))
    }

    /// Whether the curvature, as far as it was released, is too large for the steps: the iterates
    /// then run to and fro across what gradients are linear in.
    fn overshoots(&self, curvature: &Curvature) -> Option<Warning> {
        let step_size = MOST_OF_CURVATURE / curvature.largest();
        (self.step_size > step_size).then_some(Warning::Overshoots { step_size })
    }

    /// What intervals are made from; none when only a prediction was asked for.
    fn inference(&self, runs: &[Trajectory], extras: Extras) -> Result<Option<Inference>, IntervalError> {
        let Some(method) = intervals_by(&self.request) else { return Ok(None) };
        let Request { batches, .. } = self.request;
        let batching = Batching { batches: batches as usize, burn_in: self.burn_in as usize, ..Batching::default() };
        match method {
            IntervalMethod::Newton => {
                let curvature = extras.curvature.as_ref().expect("released for Newton");
                let coordinates = Coordinates::identity(curvature.features());
                Newton::new(&runs[0], &coordinates, curvature, extras.spread.as_ref()).map(Inference::from)
            }
            IntervalMethod::Batched => batched_means(&runs[0], &batching),
            IntervalMethod::Checkpoints => checkpoints(&runs[0], &batching),
            IntervalMethod::Independent => independent_runs(runs, &batching),
        }
        .map(Some)
    }
}

struct Extras {
    curvature: Option<Curvature>,
    spread: Option<Sampling>,
}
