//! Logistic regression: the walk of a fit whose response is binary.
//!
//! It is that of least squares with three differences, each a rule:
//!
//! 1. *Rows are weighted by what does not depend on their outcome.* A row whose gradient could be
//!    longer than the clip counts `w = gamma / (|z| max(mu, 1 - mu))`
//!    ([`Family`](crate::lattice::Link)). Under the model `E[w (mu - y) z] = 0` whatever `w` is as
//!    a function of `z`, so that the root is the maximum-likelihood coefficient. Clipping the
//!    gradient as it came out would cut rare outcomes more often than common ones.
//! 2. *Few steps.* A mean over iterates that wander by `D` is a mean of gradients over a region in
//!    which the curvature falls off in all directions, by `E v''|D|^2 / 2` of itself, which takes
//!    an estimate towards zero. `T` steps share one budget, so that iterates wander by the noise of
//!    a single step, `sqrt(T)` times that of their mean. Seven steps forget the start, as
//!    `(1/2)^7` is a hundredth.
//! 3. *Few rows are weighted*: as many as noisy counts can just tell from none. Where the logit is
//!    wrong, weights move the coefficients that are estimated away from those of maximum
//!    likelihood; at few rows they do not matter.
//!
//! The curvature of the likelihood takes the place of second moments: rows are whitened once more,
//! each times the root of its variance at the start, which makes the curvature about 1 in all
//! directions.

use faer::Mat;

use super::{
    Earlier, Plan, START_STEPS, STEP_SIZE,
    ask::{Ask, Length},
    bell::{self, logit},
    clip::{GammaLadder, Threshold},
    deviance::{Deviance, Noisy},
    effects::{Averages, Effects},
    infer::{Point, mean},
    on_assumptions::OnAssumptions,
    on_rows::OnRows,
    quality::Quality,
    sequence::Sequence,
    start::{AVERAGED, constant},
    whiten::{LADDER_SPAN, Ladders, TOP_OF_WHITENED, White, eigen},
};
use crate::{
    Error, Progress,
    descend::{Descent, Trajectory, noise_sd},
    interval::{Coordinates, Curvature, Newton, Sampling, SpreadRatio, SpreadRatios, chi_square_tail, without_noise},
    lattice::{Number, Slot, Whitening},
    matrix::{dot, inverse, times, transposed_times},
    method::{ConfigError, noisy::NoisyMatrix},
    plan::{
        Planned,
        counts::{self, CLIP_THRESHOLDS},
    },
    privacy::{Spend, noise::RandomWords, release},
};

/// The mean of the responses, from which the constant starts.
const MEAN_SHARE: f64 = 0.01;
/// The start.
const START_SHARE: f64 = 0.06;
/// Each of three releases: two for average marginal effects, and one for the pseudo R^2.
const EFFECTS_SHARE: f64 = 0.01;
/// Steps after the start; then one more pass, at the point that they lead to, with as much of the
/// budget as all of them.
pub(super) const STEPS: u32 = 7;
/// No step of the start changes the linear function of a typical row by more than this.
const LONGEST_STEP: f64 = 1.0;
/// A direction in which the curvature was lost in noise is taken to be no flatter than this many
/// standard deviations, nor than this share of the mean curvature.
const LEAST_SCALE: f64 = 1.5;
const LEAST_CURVATURE: f64 = 0.3;
/// The largest root of a variance.
const LARGEST_ROOT: f64 = 0.5;
/// The pass at the end contradicts the steps before it where its gradient is as long as it would be
/// with this probability.
const FALSE_ALARM: f64 = 0.01;
/// Where outcomes vary by less than half of what the curvature says they do, for a coefficient,
/// they never contradict the fit: a level, or a combination of columns, has one outcome only. So it
/// is on average over all directions where a combination of columns tells every outcome.
const LEAST_SPREAD: f64 = 0.5;
/// They must be seen to vary at all, too. Noise alone would look like it with a probability of .001
/// for a level, and of .01 for all directions together, where the linear function of a long row
/// must look known as well. A number tells the outcomes of some rows alone only if all others have
/// the same value of it: .05.
const SEEN: f64 = 3.09;
const SEEN_OF_ALL: f64 = 2.33;
const SEEN_OF_NUMBER: f64 = 1.645;
/// Where a combination of columns tells every outcome, the ratio is that of the integrals of
/// `s(-x)^2` and of `s(x) s(-x)` over `x > 0` across it, for the sigmoid `s`: `2 ln 2 - 1`. It is
/// smaller along it.
const SPREAD_OF_ALL: f64 = 2.0 * std::f64::consts::LN_2 - 1.0;
/// In rows of one outcome whose probability is `p` the ratio is `(1 - p) / p`: where the fit gives
/// them at least .9, this much at most.
const SPREAD_OF_ONE: f64 = 0.11;
/// Where they vary by more than this many times that, and by more than this many standard
/// deviations beyond chance, the logit is not the whole truth.
const MOST_SPREAD: f64 = 1.2;
const BEYOND_CHANCE: f64 = 3.0;
/// The linear function of a long row must be known to this, at 95 %: from one half, a probability
/// goes to 0.88.
const KNOWN_TO: f64 = 2.0;
/// The quantile for 95 %.
const QUANTILE: f64 = 1.96;
/// What two releases are called.
const CURVED_LENGTH: &str = "length of rows by curvature";
const CURVED_MOMENTS: &str = "curvature at the start";
/// A clip for questions that have none.
const ANY_CLIP: f64 = 1.0;

/// A fit that has spent its budget.
pub(super) struct Likely {
    pub curved: Curved,
    pub threshold: Threshold,
    pub descent: Descent,
    pub run: Trajectory,
    pub inferred: Option<Inferred>,
}

/// Coordinates in which the curvature of the likelihood is about 1.
pub(super) struct Curved {
    /// In them.
    pub white: White,
    /// Those before, and the length that few rows exceeded there.
    before: Coordinates,
    longest: f64,
    /// The start, and the mean curvature before.
    start: Vec<f64>,
    level: f64,
    /// The mean of the responses of complete rows; `None` if an earlier fit released it.
    response: Option<Noisy>,
}

/// What intervals are made from.
pub(super) struct Inferred {
    pub newton: Newton,
    pub doubt: Doubt,
    /// Standardised parameters along which outcomes vary more than a logit says, and how many times
    /// as much they do at most.
    pub misfit: Option<(Vec<usize>, f64)>,
    pub effects: Option<Effects>,
    pub quality: Option<Quality>,
}

/// Why no estimate is given, if none is.
pub(super) enum Doubt {
    None,
    /// Outcomes never contradict the fit in these standardised parameters.
    Separated(Vec<usize>),
    /// Too little is known of the linear function of a long row.
    Vague,
}

impl Doubt {
    /// The standardised parameters that have no number.
    fn withheld(&self, coordinates: &Coordinates) -> Vec<usize> {
        match self {
            Doubt::None => Vec::new(),
            Doubt::Separated(parameters) => parameters.clone(),
            Doubt::Vague => coordinates.kept.clone(),
        }
    }
}

/// The rights to release what intervals need.
struct Rights {
    curvature: Spend,
    /// Also where the draw of the rows adds nothing to intervals: it shows separation.
    spread: Spend,
    averages: Option<[Spend; 3]>,
}

impl<A: Ask> Sequence<'_, A> {
    /// Sets aside what intervals need.
    fn reserve_for_likelihood(&mut self, white: &White, threshold: &Threshold) -> Result<Option<Rights>, Error> {
        if !self.plan.gives_intervals() {
            return Ok(None);
        }
        let rules = self.plan.rules();
        let curvature = self.spend("curvature of the likelihood", rules.curvature_share(white.radius))?;
        let gamma_sq = threshold.gamma.powi(2);
        let share = rules.spread_share_at(gamma_sq, 1.0 + rules.privacy_variance(gamma_sq));
        let spread = self.spend("covariance of the gradients", share)?;
        let averages = match self.gives_averages(white) {
            true => Some([
                self.spend("mean variance of the response", EFFECTS_SHARE)?,
                self.spend("how that variance changes", EFFECTS_SHARE)?,
                self.spend("mean entropy of the response", EFFECTS_SHARE)?,
            ]),
            false => None,
        };
        Ok(Some(Rights { curvature, spread, averages }))
    }

    /// Average marginal effects and the pseudo R^2 are means over rows: over rows that count alike,
    /// of which whitening has shown how many there are.
    fn gives_averages(&self, white: &White) -> bool {
        self.rows_count_alike() && self.design.has_intercept() && white.found.is_some()
    }

    fn rows_count_alike(&self) -> bool {
        !self.plan.request.has_several_rows() && self.design.weights().is_none()
    }

    /// The right to take the steps, with half of what is left where a pass follows them.
    fn spend_on_steps(&mut self, is_half: bool) -> Result<Spend, Error> {
        let what = format!("gradients, {STEPS} steps");
        Ok(match is_half {
            true => self.budget.spend(what, self.budget.left().share(0.5))?,
            false => self.budget.spend_rest(what)?,
        })
    }

    fn spend_on_mean(&mut self) -> Result<Spend, Error> {
        Ok(self.spend("mean of the response", MEAN_SHARE)?)
    }

    fn spend_on_start(&mut self) -> Result<Spend, Error> {
        Ok(self.spend(format!("start, {START_STEPS} steps"), START_SHARE)?)
    }

    fn spend_on_curvature_at_start(&mut self) -> Result<Spend, Error> {
        let share = self.plan.rules().second_round();
        Ok(self.spend(CURVED_MOMENTS, share)?)
    }

    fn spend_on_threshold(&mut self) -> Result<Spend, Error> {
        let share = self.plan.rules().shares().start_threshold;
        Ok(self.spend("clip threshold", share)?)
    }

    fn spend_on_last_pass(&mut self) -> Result<Spend, Error> {
        Ok(self.budget.spend_rest("gradient where the steps lead")?)
    }
}

impl Sequence<'_, OnAssumptions<'_>> {
    /// What the same stages come to where columns are as assumed: rows are taken to be normal, and
    /// outcomes to vary alike in all of them.
    pub(super) fn likelihood_planned(mut self) -> Result<Planned, Error> {
        let white = self.whiten()?;
        let (plan, k) = (self.plan, white.features());
        drop((self.spend_on_mean()?, self.spend_on_start()?));
        let radius = self.length_of_whitened(k, CURVED_LENGTH)?;
        drop(self.spend_on_curvature_at_start()?);
        let white = White { radius, ..white };
        let spend = self.spend_on_threshold()?;
        let worth = plan.request.worth_in_counts(spend.to_f64());
        let tail = counts::target(0.0, plan.rows, CLIP_THRESHOLDS as usize, worth) / plan.rows as f64;
        let gamma = self.ask.steepest(tail);
        let threshold = Threshold { gamma, at_edge: false, tail };
        let rights = self.reserve_for_likelihood(&white, &threshold)?;
        let spend = self.spend_on_steps(rights.is_some())?;
        let one = noise_sd(plan.rows, gamma, 1, plan.request.neighbours, spend.to_f64());
        // The pass at the end is as precise as the mean of the steps.
        let noise = if rights.is_some() { one / 2f64.sqrt() } else { one };
        if rights.is_some() {
            drop(self.spend_on_last_pass()?);
        }
        let releases = self.budget.releases();
        let counts = |spread: Spend| Some(spread).filter(|_| plan.rules().covers_population());
        Ok(self.ask.planned_likelihood(
            &white,
            &threshold,
            noise,
            rights.map(|one| (one.curvature, counts(one.spread))),
            releases,
        ))
    }
}

impl<R: RandomWords> Sequence<'_, OnRows<'_, R>> {
    /// The maximum-likelihood fit of a model of a binary response.
    pub(super) fn likelihood(mut self) -> Result<Likely, Error> {
        let white = self.whiten()?;
        if let Some(earlier) = self.plan.earlier.as_deref() {
            return self.likelihood_again(white, earlier);
        }
        let response = self.mean_response(&white)?;
        let start = self.likely_start(&white, response.value)?;
        let curved = Curved { response: Some(response), ..self.whiten_by_curvature(white, &start)? };
        let threshold = self.threshold_of_rows(&curved)?;
        let rights = self.reserve_for_likelihood(&curved.white, &threshold)?;
        let (descent, run) = self.descend_likelihood(&curved, &threshold, rights.is_some())?;
        let inferred = rights.map(|rights| self.infer_likelihood(&curved, (&descent, &run), rights)).transpose()?;
        Ok(Likely { curved, threshold, descent, run, inferred })
    }

    /// The model of an earlier fit once more, in its coordinates: a pass at its estimate on all
    /// that is left of the budget, and what intervals need there, pooled with it.
    fn likelihood_again(mut self, white: White, earlier: &Earlier) -> Result<Likely, Error> {
        let (k, start) = (white.features(), earlier.end(&white));
        let (before, longest) = (white.coordinates.clone(), white.radius);
        let radius = self.length_by_curvature(k, &start)?.radius;
        let white = White { radius, ..white };
        let threshold = Threshold { gamma: earlier.clip, at_edge: false, tail: 0.0 };
        let rights = self.reserve_for_likelihood(&white, &threshold)?.ok_or(ConfigError::NotRefinable)?;
        let curved = Curved { white, before, longest, start, level: 1.0, response: None };
        let spend = self.budget.spend_rest("gradient at the earlier estimate")?;
        let descent = self.plan.descent(k, threshold.gamma, 1, spend.to_f64())?;
        let (rows, rng) = self.ask.white();
        let run = descent.run(rows.as_mut(), &curved.start, spend, rng, self.progress)?;
        let inferred = self.infer_again(&curved, earlier, (&descent, &run), rights)?;
        Ok(Likely { curved, threshold, descent, run, inferred: Some(inferred) })
    }

    /// The constant from the mean of the responses, and a few steps from there. Steps are
    /// preconditioned by the curvature that Gaussian rows would have.
    fn likely_start(&mut self, white: &White, share: f64) -> Result<Vec<f64>, Error> {
        let k = white.features();
        let direction = constant(self.design, white);
        let from = match direction {
            Some(_) => white.coordinates.basis.col_as_slice(0).iter().map(|q| q * logit(share)).collect(),
            None => vec![0.0; k],
        };
        // As long as a long row's gradient is before any step.
        let gamma = white.radius.max((k as f64).sqrt()) * share.max(1.0 - share);
        let spend = self.spend_on_start()?;
        let descent = self.plan.descent(k, gamma, START_STEPS, spend.to_f64())?;
        let step = |theta: &[f64], gradient: &[f64]| stepped(theta, gradient, direction.as_deref(), STEP_SIZE);
        let progress = self.progress.part(0u32, START_STEPS + STEPS);
        let (rows, rng) = self.ask.white();
        let run = descent.run_by(&step, rows.as_mut(), &from, spend, rng, progress)?;
        let late = run.gradient.len() - AVERAGED..run.gradient.len();
        Ok(stepped(&mean(&run.theta[late.clone()]), &mean(&run.gradient[late]), direction.as_deref(), 1.0))
    }

    /// A noisy mean of the responses of complete rows, kept as far from 0 and 1 as its noise is.
    fn mean_response(&mut self, white: &White) -> Result<Noisy, Error> {
        let (k, complete) = (white.features(), self.complete(white));
        let spend = self.spend_on_mean()?;
        let descent = self.plan.descent(k, ANY_CLIP, 1, spend.to_f64())?;
        let (mean, sd) = self.ask.number(Number::Outcome, &vec![0.0; k], &descent, spend)?;
        let least = (sd / complete).max(1.0 / self.plan.rows as f64).min(0.25);
        Ok(Noisy { value: (mean / complete).clamp(least, 1.0 - least), noise_sd: sd / complete })
    }

    /// The share of complete rows, as far as whitening has shown it: the second moment of the
    /// constant. Where rows are weighted that is the mean weight, and nothing is known.
    fn complete(&self, white: &White) -> f64 {
        let found = white.found.as_ref().filter(|_| self.design.has_intercept() && self.design.weights().is_none());
        found.map_or(1.0, |found| found.law.quadratic(found.basis.col_as_slice(0)).clamp(0.05, 1.0))
    }

    /// Whitens once more, by the curvature of the likelihood at the start.
    fn whiten_by_curvature(&mut self, white: White, start: &[f64]) -> Result<Curved, Error> {
        let (plan, k) = (self.plan, white.features());
        let length = self.length_by_curvature(k, start)?;
        let tilted = plan.tilted(k, start)?;
        let spend = self.spend_on_curvature_at_start()?;
        let moments = self.ask.through_white(&tilted)?.second_moments(length.radius, spend)?;
        let (turn, level) = turn_of(&moments);
        let to = Whitening::new(turn.as_ref());
        self.ask.turn(&to)?;
        let back = inverse(&to.matrix());
        let (before, longest) = (white.coordinates.clone(), white.radius);
        let coordinates = Coordinates { basis: &back * &before.basis, ..before.clone() };
        let whitening = Whitening::new((white.whitening.matrix() * to.matrix()).as_ref());
        let (radius, at_edge) = (length.radius / level.sqrt(), white.at_edge);
        let white = White { coordinates, whitening, radius, moments: vec![1.0; k], at_edge, ..white };
        Ok(Curved { white, before, longest, start: times(&back, start), level, response: None })
    }

    /// The length that few rows exceed, each times the root of its variance at a point.
    fn length_by_curvature(&mut self, features: usize, at: &[f64]) -> Result<Length, Error> {
        let top = LARGEST_ROOT * TOP_OF_WHITENED * (features as f64).sqrt();
        let ladders = Ladders { top, above: true, below: true };
        let tilted = self.plan.tilted(features, at)?;
        let mut seen = self.ask.through_white(&tilted)?;
        self.plan.length(seen.as_mut(), &ladders, CURVED_LENGTH, self.budget)
    }

    /// The clip that as many rows could exceed as noisy counts can tell from none.
    fn threshold_of_rows(&mut self, curved: &Curved) -> Result<Threshold, Error> {
        let top = LADDER_SPAN * (curved.white.features() as f64 / curved.level).sqrt();
        let ladder = GammaLadder { top, thresholds: CLIP_THRESHOLDS, per_doubling: 8.0 };
        let spend = self.spend_on_threshold()?;
        self.threshold(&curved.start, &ladder, 0.0, spend)
    }

    /// The descent, on half of what is left where a pass follows it.
    fn descend_likelihood(
        &mut self,
        curved: &Curved,
        threshold: &Threshold,
        is_half: bool,
    ) -> Result<(Descent, Trajectory), Error> {
        let spend = self.spend_on_steps(is_half)?;
        let descent = self.plan.descent(curved.white.features(), threshold.gamma, STEPS, spend.to_f64())?;
        let progress = self.progress.part(START_STEPS, START_STEPS + STEPS);
        let (rows, rng) = self.ask.white();
        let run = descent.run(rows.as_mut(), &curved.start, spend, rng, progress)?;
        Ok((descent, run))
    }

    /// A Newton step from the mean iterate, a pass where it leads, and what intervals need there.
    fn infer_likelihood(
        &mut self,
        curved: &Curved,
        (descent, run): (&Descent, &Trajectory),
        rights: Rights,
    ) -> Result<Inferred, Error> {
        let (white, steps) = (&curved.white, Mean::of(run));
        let seen = self.ask.curvature(white, &at(descent, &steps.theta), rights.curvature)?;
        let law = Curvature::of_scaled_columns(seen.mean.clone(), seen.noise_sd)?;
        let (coordinates, dropped) = self.plan.in_model(&law, &white.coordinates, self.design);
        let there = Newton::new(&steps.as_run(), &coordinates, &law, None)?.in_coordinates(&coordinates);
        let spread = self.ask.spread(&at(descent, &there), rights.spread)?;
        let averages = rights.averages.map(|spends| self.ask.averages(&there, descent, spends)).transpose()?;
        let last = Mean::of(&self.last_pass(&there, descent)?);
        let released = self.sampling(&spread)?;
        let alone = Newton::new(&last.as_run(), &coordinates, &law, Some(&released))?;
        let ratios = alone.with_released(&released, &law).spread_ratios(self.plan.rows);
        let pooled = steps.pooled(last, &coordinates.basis);
        let covers_population = self.plan.rules().covers_population();
        let newton = Newton::new(&pooled.as_run(), &coordinates, &law, Some(&released).filter(|_| covers_population))?;
        let averages = averages.map(|averages| averages.among(self.complete(white)));
        let found = newton.in_coordinates(&coordinates);
        let quality = averages.as_ref().zip(curved.response).and_then(|(averages, response)| {
            let moved: Vec<f64> = found.iter().zip(&there).map(|(to, from)| to - from).collect();
            let of_model = Deviance {
                response,
                entropy: averages.entropy,
                change: -dot(&times(&seen.mean, &there), &moved),
                theta: &found,
                constant: white.coordinates.basis.col_as_slice(0),
                gradient_noise_var: pooled.noise_var,
                spread: Some(&spread).filter(|_| covers_population),
                rows: self.plan.rows as f64,
                complete: self.complete(white),
            };
            of_model.quality(self.plan.request.level).filter(|_| coordinates.kept.first() == Some(&0))
        });
        // The steps were made with what was dropped, and no gradient says where they would have led
        // without: a logit is not linear.
        let is_lost = !dropped.is_empty();
        let inferred = self.told(curved, newton, (&coordinates, is_lost), Some(ratios));
        let effects = averages.map(|averages| Effects { there, averages, coordinates });
        Ok(Inferred { effects, quality, ..inferred })
    }

    /// What intervals need at an earlier estimate, pooled with it.
    fn infer_again(
        &mut self,
        curved: &Curved,
        earlier: &Earlier,
        (descent, run): (&Descent, &Trajectory),
        rights: Rights,
    ) -> Result<Inferred, Error> {
        let (white, there) = (&curved.white, &curved.start);
        let seen = self.ask.curvature(white, &at(descent, there), rights.curvature)?;
        let law = Curvature::of_scaled_columns(seen.mean, seen.noise_sd)?;
        let spread = self.ask.spread(&at(descent, there), rights.spread)?;
        let sampling = Some(self.sampling(&spread)?).filter(|_| self.plan.rules().covers_population());
        let newton = Newton::new(&Mean::of(run).as_run(), &white.coordinates, &law, sampling.as_ref())?;
        let pooled = earlier.newton.pooled(&newton)?;
        // What the first release withheld stays so.
        let ratios = sampling.map(|_| pooled.spread_ratios(self.plan.rows));
        Ok(self.told(curved, pooled, (&white.coordinates, false), ratios))
    }

    /// The covariance of the mean gradient that the draw of the rows makes.
    fn sampling(&self, spread: &NoisyMatrix) -> Result<Sampling, Error> {
        Ok(Sampling::from_matrix(self.plan.rows, spread.mean.clone(), spread.noise_sd)?)
    }

    /// An estimate without the numbers that released ones leave in doubt, and what these say of the
    /// model.
    fn told(
        &self,
        curved: &Curved,
        newton: Newton,
        (coordinates, is_lost): (&Coordinates, bool),
        ratios: Option<SpreadRatios>,
    ) -> Inferred {
        let separated = ratios.as_ref().map_or_else(Vec::new, |ratios| self.separated(ratios, &curved.white));
        let doubt = match is_lost || is_vague(&newton, coordinates, curved) {
            true => Doubt::Vague,
            false if separated.is_empty() => Doubt::None,
            false => Doubt::Separated(separated),
        };
        let newton = newton.withholding(doubt.withheld(coordinates));
        let misfit = ratios
            .and_then(|ratios| misfit(&ratios.of_parameters, curved.longest / curved.level.sqrt()))
            .filter(|_| matches!(doubt, Doubt::None) && self.rows_count_alike());
        Inferred { newton, doubt, misfit, effects: None, quality: None }
    }

    /// The parameters in which outcomes are not seen to contradict the fit.
    fn separated(&self, ratios: &SpreadRatios, white: &White) -> Vec<usize> {
        let Some(unit) = self.spread_of_model(white) else { return Vec::new() };
        let least = LEAST_SPREAD * unit;
        let is_complete = ratios.mean < least.max(SPREAD_OF_ALL * unit + SEEN_OF_ALL * ratios.mean_sd);
        let bound = |one: &SpreadRatio| match self.is_of_level(one.parameter) {
            true => SPREAD_OF_ONE * unit + SEEN * one.of_spread_sd,
            false => SEEN_OF_NUMBER * one.of_spread_sd,
        };
        let is_separated = |one: &&SpreadRatio| is_complete || one.value < least.max(bound(one));
        ratios.of_parameters.iter().filter(is_separated).map(|one| one.parameter).collect()
    }

    /// Whether a parameter is that of a level, or of what a level multiplies. Where there are
    /// levels the constant is that of those that have no parameter.
    fn is_of_level(&self, parameter: usize) -> bool {
        let slots = self.design.slots();
        match &slots[parameter] {
            Slot::Intercept => slots.iter().any(Slot::has_level),
            slot => slot.has_level(),
        }
    }

    /// The spread of gradients under the model, in units of the curvature. Where rows are weighted
    /// by `w` it is about `E w^2 / E w`, at least the mean weight; `None` if that is not known.
    fn spread_of_model(&self, white: &White) -> Option<f64> {
        match self.design.weights() {
            None => Some(1.0),
            Some(_) => white.mean_weight.map(|mean| mean / self.design.weight_unit()),
        }
    }

    /// The gradient at a point, on all that is left.
    fn last_pass(&mut self, there: &[f64], descent: &Descent) -> Result<Trajectory, Error> {
        let spend = self.spend_on_last_pass()?;
        let last = self.plan.descent(there.len(), descent.gamma(), 1, spend.to_f64())?;
        let (rows, rng) = self.ask.white();
        last.run(rows.as_mut(), there, spend, rng, Progress::NONE)
    }
}

impl<R: RandomWords> OnRows<'_, R> {
    /// The mean of a number over all rows, complete or not, and the standard deviation of its
    /// noise.
    pub(super) fn number(
        &mut self,
        number: Number,
        at: &[f64],
        descent: &Descent,
        spend: Spend,
    ) -> Result<(f64, f64), Error> {
        let (neighbours, all) = (self.plan.request.neighbours, Number::UNIT as f64 * self.plan.rows as f64);
        let (rows, rng) = self.white();
        let lattice = descent.lattice();
        let rows = rows.clipped(descent.clip(), None)?;
        let sum = rows.number_sum(number, &lattice.theta(at), lattice, neighbours)?;
        let noisy = release(sum, spend, rng)?;
        Ok((noisy.values[0] as f64 / all, noisy.sigma[0] as f64 / all))
    }

    /// The mean variance of the response at a point, how it changes with the point, and the mean
    /// entropy.
    fn averages(&mut self, at: &[f64], descent: &Descent, spends: [Spend; 3]) -> Result<Averages, Error> {
        let [of_variance, of_change, of_entropy] = spends;
        let (variance, noise_sd) = self.number(Number::Variance, at, descent, of_variance)?;
        let (value, entropy_sd) = self.number(Number::Entropy, at, descent, of_entropy)?;
        let entropy = Noisy { value, noise_sd: entropy_sd };
        let (neighbours, rows_in_all) = (self.plan.request.neighbours, self.plan.rows as f64);
        let (rows, rng) = self.white();
        let lattice = descent.lattice();
        let rows = rows.clipped(descent.clip(), None)?;
        let noisy = release(rows.bend_sum(&lattice.theta(at), lattice, neighbours)?, of_change, rng)?;
        let unit = lattice.gradient_unit() * rows_in_all;
        let change = noisy.values.iter().map(|&sum| sum as f64 / unit).collect();
        Ok(Averages { variance, noise_sd, change, entropy, rows: rows_in_all })
    }
}

/// A mean point, the mean gradient there, and the variance of its noise in each coordinate.
struct Mean {
    theta: Vec<f64>,
    gradient: Vec<f64>,
    noise_var: f64,
}

impl Mean {
    fn of(run: &Trajectory) -> Mean {
        let steps = run.gradient.len();
        let noise_var = run.noise_sd.powi(2) / steps as f64;
        Mean { theta: mean(&run.theta[..steps]), gradient: mean(&run.gradient), noise_var }
    }

    /// As a run of one step.
    fn as_run(&self) -> Trajectory {
        let (theta, gradient) = (vec![self.theta.clone(); 2], vec![self.gradient.clone()]);
        Trajectory { theta, gradient, step_size: STEP_SIZE, noise_sd: self.noise_var.sqrt() }
    }

    /// Both, weighed by their precision, if what was found last is what would have been expected:
    /// at `b1 = t1 - M^-1 g1` the gradient is minus the noise of `g1` plus its own where the
    /// curvature is that of the whole way. Otherwise the last alone, which needs no more of it.
    fn pooled(self, last: Mean, basis: &Mat<f64>) -> Mean {
        let of_kept = transposed_times(basis, &last.gradient);
        let gram = inverse(&(basis.transpose() * basis));
        let statistic = dot(&of_kept, &times(&gram, &of_kept)) / (self.noise_var + last.noise_var);
        if chi_square_tail(statistic, of_kept.len()) < FALSE_ALARM {
            return last;
        }
        let weight = last.noise_var / (self.noise_var + last.noise_var);
        let both = |first: &[f64], last: &[f64]| {
            first.iter().zip(last).map(|(a, b)| weight * a + (1.0 - weight) * b).collect::<Vec<f64>>()
        };
        Mean {
            theta: both(&self.theta, &last.theta),
            gradient: both(&self.gradient, &last.gradient),
            noise_var: weight.powi(2) * self.noise_var + (1.0 - weight).powi(2) * last.noise_var,
        }
    }
}

/// Whether too little is known of the linear function of a long row.
fn is_vague(newton: &Newton, coordinates: &Coordinates, curved: &Curved) -> bool {
    let place_of = |j: &usize| curved.before.kept.iter().position(|one| one == j);
    let places: Vec<usize> = coordinates.kept.iter().filter_map(place_of).collect();
    let before = curved.before.only(&places);
    QUANTILE * curved.longest * newton.largest_error(&before.basis) > KNOWN_TO
}

/// `theta - size H^-1 g`, no further than the longest step, `H` the curvature where rows are
/// normal.
fn stepped(theta: &[f64], gradient: &[f64], constant: Option<&[f64]>, size: f64) -> Vec<f64> {
    let move_by = times(&inverse(&bell::curvature(theta, constant)), gradient);
    let length = size * dot(&move_by, &move_by).sqrt();
    let size = size * (LONGEST_STEP / length).min(1.0);
    theta.iter().zip(move_by).map(|(theta, by)| theta - size * by).collect()
}

/// `U e^(-1/2) U'` for moments `U e U'`, and the mean of `e`, freed of what noise does to
/// eigenvalues.
fn turn_of(moments: &NoisyMatrix) -> (Mat<f64>, f64) {
    let found = eigen(&moments.mean);
    let values = without_noise(&found.values, moments.noise_sd);
    let level = (values.iter().sum::<f64>() / values.len() as f64).max(moments.noise_sd).max(f64::MIN_POSITIVE);
    let floor = (LEAST_SCALE * moments.noise_sd).clamp(LEAST_CURVATURE * level, level);
    let k = values.len();
    let turn = Mat::from_fn(k, k, |i, j| found.vectors[(i, j)] / values[j].max(floor).sqrt());
    (turn, level)
}

/// Along which parameters outcomes vary more than a logit says, and how many times as much at most:
/// under the logit each is named with a probability of about .001.
///
/// The draw of the rows moves a ratio by the root of `mean (1 - 2 mu)^2 v (a'z)^4 / n`, where the
/// mean of `v (a'z)^2` is 1. As `(1 - 2 mu)^2` is at most 1, that is at most the root of the
/// largest `(a'z)^2 / n`, and `(a'z)^2` is at most that of the longest row along `a`.
fn misfit(ratios: &[SpreadRatio], longest: f64) -> Option<(Vec<usize>, f64)> {
    let chance = |one: &SpreadRatio| one.of_spread_sd.hypot(one.of_curvature_sd).hypot(longest * one.sampling_sd);
    let is_beyond = |one: &&SpreadRatio| one.value > MOST_SPREAD && one.value - 1.0 > BEYOND_CHANCE * chance(one);
    let beyond: Vec<&SpreadRatio> = ratios.iter().filter(is_beyond).collect();
    let most = beyond.iter().map(|one| one.value).fold(1.0, f64::max);
    (!beyond.is_empty()).then(|| (beyond.iter().map(|one| one.parameter).collect(), most))
}

/// A place where curvature and gradients are looked at.
fn at<'a>(descent: &'a Descent, theta: &[f64]) -> Point<'a> {
    Point { theta: descent.lattice().theta(theta), descent }
}

impl Plan {
    /// The rows of the descent, each times the root of its variance at a point.
    fn tilted(&self, features: usize, at: &[f64]) -> Result<Whitening, Error> {
        let lattice = *self.descent(features, ANY_CLIP, STEPS, self.request.rho.to_f64())?.lattice();
        let same = Whitening::new(Mat::<f64>::identity(features, features).as_ref());
        Ok(same.tilted(lattice.theta(at), &lattice))
    }
}
