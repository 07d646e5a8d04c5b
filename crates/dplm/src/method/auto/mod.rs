//! The automatic method: for tables whose columns are neither centred nor uncorrelated, with errors of unknown scale.
//!
//! The paper's algorithm wants features that are about white and a clip near the size of a gradient. Neither is known of a real table, and
//! both can be found privately:
//!
//! 1. *Whitening.* Second moments are released in up to five rounds, each in the coordinates the one before made, while a column is not
//!    resolved and a round is cheap. What the budget cannot resolve then is left out of the model, in formula order.
//! 2. *Start.* A clip threshold by noisy counts, and ten steps of descent, to be near the answer; once more where the first start's own noise
//!    is as large as what is left of the response.
//! 3. *Clip.* A threshold at the start: about as many rows are clipped as pays for itself at this budget and target.
//! 4. *Descent.* The paper's Algorithm 1 in the new coordinates, on what is left of the budget.
//! 5. *Curvature, covariance of gradients, and a test of whether clipping bends the fit*, for intervals; not for prediction.
//!
//! The releases that decide which columns are in the model are not used for intervals, so that a column's having passed says nothing about the
//! error of its coefficient.
//!
//! Every step is an integer query with Gaussian noise, so the exact (epsilon, delta) conversion holds for the whole fit. A row becomes a
//! re-encoded row by a rule about that row and released numbers only. A row with a missing cell is a row of zeros throughout.
//!
//! Columns without bounds are taken to have unit scale and to lie within six units when the length of a row is looked for; rows beyond
//! that are shortened, not lost.

mod whiten;
mod known;
mod again;
mod learn;
mod left_out;
mod start;
mod threshold;
mod clip;
mod infer;
mod quality;
mod foresee;
mod entry;

use std::sync::Arc;

use crate::privacy::noise::RandomWords;

use super::{
    ConfigError, Enough, IntervalMethod, Outcome, Purpose, Request, Target, bare, budget_warnings, with_precision,
};
use crate::{
    Coefficient, Error, MethodSummary, Progress,
    descend::{Descent, Trajectory},
    interval::{Contrast, Inference},
    lattice::{Design, Lattice},
    matrix::{times, transposed_times},
    plan::{
        Choices,
        division::{Harmless, Rules},
        strength,
    },
    privacy::Budget,
    rows::Rows,
    warning::{Cause, LeftOut, Warning},
};
pub(crate) use again::Earlier;
pub(super) use entry::ENTRY;
pub(crate) use learn::{LEARNING, Learned};
pub(crate) use quality::Quality;

use infer::{Bend, Inferred, Rights};
use known::{Known, Trust};
use start::Start;
use whiten::Whitened;

/// What is asked of the method: there is nothing to tune.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What is asked of any method.
    pub request: Request,
    /// How the budget is divided; for those who study the method.
    pub choices: Choices,
    /// A fit of the same model that this one is to be pooled with.
    earlier: Option<Arc<Earlier>>,
    /// Whether second moments are released elsewhere, for this model and others; and those, once they are.
    shares_moments: bool,
    learned: Option<Arc<Learned>>,
}

/// A checked plan: every number in it is public.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    request: Request,
    choices: Choices,
    rows: u64,
    features: usize,
    known: Option<Known>,
    earlier: Option<Arc<Earlier>>,
    shares_moments: bool,
    learned: Option<Arc<Learned>>,
}

/// The method's name on the command line and in reports.
pub(crate) const NAME: &str = ENTRY.name;

/// Steps to be near the answer, and the size of any step.
const START_STEPS: u32 = 10;
const STEP_SIZE: f64 = 0.5;

/// A column without bounds is taken to lie within this many units.
const STANDARD_RANGE: f64 = 6.0;
/// Where few rows are longer than this many times the length that as many normal ones exceed, rows are as long as normal ones: two steps of the ladder on which
/// lengths are looked for, one since they are found from above and one for the noise of its counts.
const AS_NORMAL: f64 = 1.189_207_115_002_721;
/// Weights that are this much smaller than their bound on average lose digits on the lattice.
const LOW_WEIGHT: f64 = 1e4;

impl Config {
    /// The automatic method.
    pub fn new(request: Request) -> Config {
        Config { request, choices: Choices::DEFAULT, earlier: None, shares_moments: false, learned: None }
    }

    /// The same after a fit of the same model on the same rows, to be pooled with it.
    pub(crate) fn after(self, earlier: Earlier) -> Config {
        Config { earlier: Some(Arc::new(earlier)), ..self }
    }

    /// The same with second moments that were released before.
    pub(crate) fn knowing(self, learned: Arc<Learned>) -> Config {
        Config { learned: Some(learned), shares_moments: true, ..self }
    }

    /// The same for a plan that will have such moments.
    pub(crate) fn sharing_moments(self) -> Config {
        Config { shares_moments: true, ..self }
    }

    /// Checks what was asked, from public numbers only.
    ///
    /// # Errors
    /// When options make no sense together, or the arithmetic cannot be made exact.
    pub fn plan(self, rows: u64, design: &Design) -> Result<Plan, Error> {
        let Config { request, choices, earlier, shares_moments, learned } = self;
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
            return Err(ConfigError::TooFewRows { features, rows, unit: request.unit() }.into());
        }
        if request.moments.is_some() && design.weights().is_some() {
            return Err(ConfigError::MomentsOfWeighted.into());
        }
        let moments = request.moments.as_ref().map(|moments| moments.of(design)).transpose()?;
        earlier.as_ref().map_or(Ok(()), |earlier| earlier.check(rows, design))?;
        let mut plan = Plan { request, choices, rows, features, known: None, earlier, shares_moments, learned };
        plan.known = moments.map(|moments| Known::new(moments, &plan.floor_of_known(design), design));
        plan.more_than_noise()?;
        // Any clip will do to learn whether the arithmetic can be made exact.
        plan.descent(features, 1.0, plan.rules().most_steps(), plan.request.rho.to_f64())?;
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
            Purpose::Prediction => {
                Enough::times(needed / self.precision(), self.rows, self.request.rho).of(self.request.unit())
            }
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

    /// What public numbers say of how to divide the budget.
    fn rules(&self) -> Rules {
        let Request { rho, neighbours, .. } = self.request;
        let target = self.gives_intervals().then(|| self.request.target());
        let asked = self.request.target.filter(|_| self.earlier.is_none());
        let at_any_price = matches!(asked, Some(Target::Population | Target::Sample));
        Rules { rows: self.rows, features: self.features, rho, neighbours, target, at_any_price, choices: self.choices }
    }

    /// Known moments, where the budget is too weak to do without trusting them.
    fn trusted(&self) -> Option<&Known> {
        self.known.as_ref().filter(|_| self.rules().is_weak())
    }

    /// `n sqrt(rho)`.
    fn precision(&self) -> f64 {
        strength::precision(self.rows, self.request.rho.to_f64())
    }

    /// The `n sqrt(rho)` below which there would be no intervals, and that below which only some.
    fn needed(&self) -> (f64, f64) {
        strength::needed(self.features, self.known.is_some() || self.shares_moments)
    }

    fn enough_for_intervals(&self) -> Enough {
        let times = self.needed().1 / self.precision();
        Enough::times(times, self.rows, self.request.rho).of(self.request.unit())
    }

    /// Whether intervals are wanted and there is a chance of any.
    pub fn gives_intervals(&self) -> bool {
        let has_enough = self.earlier.is_some() || self.precision() >= self.needed().0;
        self.request.purpose == Purpose::Inference && has_enough
    }

    /// What public numbers already tell a reader, before anything is spent.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.request.purpose == Purpose::Inference && self.precision() < self.needed().1 {
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
    pub fn run<R: RandomWords>(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let mut budget = Budget::new(self.request.rho);
        let mut white = match &self.earlier {
            Some(earlier) => self.whiten_as(earlier, rows, &mut budget, rng)?,
            None => self.whiten(rows, design, &mut budget, rng)?,
        };
        let harmless = self.harmless(&white);
        let rights = self.rights(&white, harmless, &mut budget)?;
        let start = match &self.earlier {
            Some(earlier) => earlier.start(&white),
            None => self.start(&mut white, design, &mut budget, rng, progress)?,
        };
        let start = start.widened(harmless);
        let steps = self.rules().steps(&white.moments);
        let spend = budget.spend_rest(format!("clipped gradients, {steps} steps"))?;
        let features = white.coordinates.kept.len();
        let descent = self.descent(features, start.threshold.gamma, steps, spend.to_f64())?;
        let progress = progress.part(START_STEPS, START_STEPS + steps);
        let run = descent.run(white.rows.as_mut(), &start.theta, spend, rng, progress)?;
        let summary = MethodSummary {
            name: "auto".to_owned(),
            clip: start.threshold.gamma,
            steps,
            step_size: STEP_SIZE,
            noise_sd: run.noise_sd,
            runs: 1,
        };
        let inferred = rights
            .map(|rights| self.infer(&mut white, &descent, &run, (rights, start.threshold.tail), design, rng))
            .transpose()?;
        let releases = budget.releases().to_vec();
        let trajectories = vec![standardised(&run, &white)];
        self.outcome(
            design,
            white,
            &start,
            &run,
            inferred,
            Outcome::of(self.request.target(), summary, releases, trajectories),
        )
    }

    fn descent(&self, features: usize, gamma: f64, steps: u32, rho: f64) -> Result<Descent, Error> {
        let (least, most) = Lattice::CLIP_RANGE.into_inner();
        let gamma = gamma.clamp(least, most);
        Ok(Descent::plan(self.rows, features, gamma, steps, STEP_SIZE, self.request.neighbours, rho)?)
    }

    /// What intervals need is set aside before the clip is chosen, which depends on what the descent will have.
    fn rights(
        &self,
        white: &Whitened,
        harmless: Option<Harmless>,
        budget: &mut Budget,
    ) -> Result<Option<Rights>, Error> {
        if !self.gives_intervals() || white.trust == Some(Trust::Contradicted) {
            return Ok(None);
        }
        let (rho, shares) = (self.request.rho, self.rules().shares());
        let mut cut = |what: &str, share: f64| (share > 0.0).then(|| budget.spend(what, rho.share(share))).transpose();
        let curvature = self.rules().curvature_share(white.radius);
        let curvature = cut("curvature of the loss", curvature)?.expect("intervals need the curvature");
        let spread = cut("covariance of the gradients", shares.spread)?;
        // An earlier fit made that test, and a harmless clip needs none.
        let bend = if self.earlier.is_some() || harmless.is_some() { 0.0 } else { shares.bend };
        let bend = cut("test of whether clipping bends the fit", bend)?;
        Ok(Some(Rights { curvature, spread, bend }))
    }

    /// Estimates in their own units, with intervals where they were asked for.
    fn outcome(
        &self,
        design: &Design,
        white: Whitened,
        start: &Start,
        run: &Trajectory,
        inferred: Option<Inferred>,
        outcome: Outcome,
    ) -> Result<Outcome, Error> {
        let (names, contrasts) = (design.names(), design.contrasts());
        let mut left_out = white.left_out.clone();
        let Some(Inferred { newton, dropped, bend, quality }) = inferred else {
            let theta = infer::predicted(run, &white.moments, start.threshold.tail);
            let theta = times(&white.whitening.matrix(), &theta);
            let identified = self.request.purpose == Purpose::Prediction;
            let estimate = |(name, contrast): (&String, &Contrast)| match identified {
                true => bare(name.clone(), contrast.of(&theta)),
                false => Coefficient { name: name.clone(), estimate: None, precision: None, identified },
            };
            let coefficients = names.iter().zip(&contrasts).map(estimate).collect();
            let warnings = contradicted(&white).into_iter().collect();
            return Ok(Outcome { coefficients, whitening: Some(white.whitening), warnings, ..outcome });
        };
        left_out.extend(dropped.iter().map(|&j| LeftOut { name: names[j].clone(), cause: Cause::Weak }));
        left_out.sort_by_key(|one| names.iter().position(|name| *name == one.name));
        // The test is made where clipping could bend the fit, and no test can show that it does not.
        let clipping = bend.map(|bend| clipping(&bend, start, &left_out, names));
        let is_bent = matches!(clipping, Some(Warning::Bent { .. }));
        let inference = Inference::from(newton);
        let found = inference.intervals(&contrasts, self.request.level)?;
        let coefficients = names.iter().zip(&found).map(|(name, interval)| with_precision(name.clone(), interval));
        Ok(Outcome {
            coefficients: coefficients.collect(),
            // A bent fit is not least squares, nor are its residuals.
            quality: quality.filter(|_| !is_bent),
            target: match &self.earlier {
                _ if clipping.is_some() => Target::Robust,
                Some(earlier) => earlier.target,
                None => self.request.target(),
            },
            warnings: self.warnings_of_run(&white, start, &left_out, clipping, design),
            whitening: Some(white.whitening),
            inference: Some(inference),
            left_out,
            ..outcome
        })
    }

    /// A clip so wide that the fit is least squares, where the budget can afford one. It is derived for rows as long as normal ones: longer ones are clipped at
    /// smaller residuals, by a clip that must be so much wider.
    fn harmless(&self, white: &Whitened) -> Option<Harmless> {
        if self.earlier.is_some() {
            return None;
        }
        let (rules, features) = (self.rules(), white.coordinates.kept.len());
        let tail = rules.about_tail(features, self.request.worth_in_counts(1.0));
        let found = rules.harmless(tail, features)?;
        match white.longer <= AS_NORMAL {
            true => Some(found),
            false => rules.at_any_price.then_some(Harmless { factor: white.longer * found.factor, ..found }),
        }
    }

    /// What released numbers tell a reader.
    fn warnings_of_run(
        &self,
        white: &Whitened,
        start: &Start,
        left_out: &[LeftOut],
        clipping: Option<Warning>,
        design: &Design,
    ) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if white.trust == Some(Trust::Kept) {
            warnings.push(Warning::TrustsMoments);
        }
        if !left_out.is_empty() {
            warnings.push(Warning::LeftOut { columns: left_out.to_vec() });
        }
        warnings.extend(clipping);
        let weights =
            white.mean_weight.zip(design.weights()).filter(|(mean, weights)| mean * LOW_WEIGHT < weights.most());
        match weights {
            Some((mean, weights)) => warnings.push(Warning::WeightBound { column: weights.name().to_owned(), mean }),
            None if start.threshold.at_edge || white.at_edge => warnings.push(Warning::LevelAtEdge),
            None => {}
        }
        warnings
    }
}

/// What to say of a fit that clipping could bend.
fn clipping(bend: &Bend, start: &Start, left_out: &[LeftOut], names: &[String]) -> Warning {
    let share = start.threshold.tail;
    let moved: Vec<String> = bend.moved.iter().map(|&j| names[j].clone()).collect();
    match (moved.is_empty(), is_in_errors(left_out), bend.is_sharp) {
        (false, ..) => Warning::Bent { names: moved },
        (true, true, _) => Warning::ClippedWithout { share },
        (true, false, false) => Warning::ClippedUnseen { share },
        (true, false, true) => Warning::Clipped { share },
    }
}

/// That released numbers contradict the moments that were given, where they do.
fn contradicted(white: &Whitened) -> Option<Warning> {
    (white.trust == Some(Trust::Contradicted)).then_some(Warning::MomentsContradicted)
}

/// Whether what was left out is in the errors of many rows, which are not symmetric then. Where clipping could bend a fit, the test is too weak to be
/// trusted with that. A rare level is in the errors of few.
fn is_in_errors(left_out: &[LeftOut]) -> bool {
    left_out.iter().any(|one| !matches!(one.cause, Cause::RareLevel | Cause::UnseenLevel))
}

/// What is publicly known of the largest norm of a standardised row, weighted as it is.
fn largest_norm(design: &Design) -> f64 {
    (design.largest_weight() * (1.0 + design.terms_norm_sq(STANDARD_RANGE))).sqrt()
}

/// The largest absolute response, in standardised units and weighted as it is.
fn largest_response(design: &Design) -> f64 {
    let largest = if design.response().range.0.is_finite() { 1.0 } else { STANDARD_RANGE };
    largest * design.largest_weight().sqrt()
}

/// The run in standardised units: iterates are `P theta`, gradients `Q' g` with `Q` the inverse of `P` on what is in the model. What was left out
/// stays at zero. The noise stays as it was in whitened coordinates.
fn standardised(run: &Trajectory, white: &Whitened) -> Trajectory {
    let matrix = white.whitening.matrix();
    let coordinates = &white.coordinates;
    let gradient = |g: &Vec<f64>| {
        let mut full = vec![0.0; coordinates.parameters];
        let kept = transposed_times(&coordinates.basis, g);
        coordinates.kept.iter().zip(kept).for_each(|(&j, value)| full[j] = value);
        full
    };
    Trajectory {
        theta: run.theta.iter().map(|theta| times(&matrix, theta)).collect(),
        gradient: run.gradient.iter().map(gradient).collect(),
        ..*run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_for_the_curvature_only_where_noise_demands_it() {
        let request = Request::new(crate::privacy::Rho::checked_from_f64(0.5).expect("a budget"));
        let plan = Plan {
            request,
            choices: Choices::DEFAULT,
            rows: 10_000,
            features: 8,
            known: None,
            earlier: None,
            shares_moments: false,
            learned: None,
        };
        assert_eq!(plan.curvature_radius(6.0, 8, 0.5), 6.0);
        assert!((plan.curvature_radius(6.0, 8, 1e-4) - 4.0).abs() < 1e-12);
        assert!((plan.curvature_radius(60.0, 8, 0.01) - 10.0).abs() < 1e-12);
    }
}
