//! A few coefficients of many, by private partialling-out (Frisch and Waugh 1933, Lovell 1963).
//!
//! For the coefficients of columns `x_K` among controls `x_C`, let `u = x_K - G'x_C` be what is
//! left of the columns and `r = y - x'b` what is left of the response, for any `G` and `b` that
//! were released. With second moments `S` of the rows
//!
//! ```text
//! b_K + (E u u')^-1 E u r  =  theta_K + (E u u')^-1 D' S_CC d,
//! ```
//!
//! `theta` being least squares, `D` how far `G` is from the regression of `x_K` on the controls,
//! and `d` how far the part of `x'b` that controls explain is from theirs. It is exact. What two
//! descents do wrong counts by the *product* of their errors, while the noise of the scores `u r`,
//! which makes the interval, has no part that grows with the number of controls.
//!
//! The stages are those of the automatic method: rounds of whitening; a descent of the response on
//! all columns, and of each column of interest on the controls; then rows are re-encoded once more,
//! to `(u; r)`, and one clipped gradient of these at zero is the mean score, its curvature `E u u'`
//! and the covariance of clipped gradients its sampling variance.

mod wanted;
mod parts;
mod indices;
mod split;
mod scores;
mod outcome;
mod choice;

pub(super) use scores::{Estimate, Scores};
pub(super) use wanted::Wanted;
pub(crate) use wanted::places_of;

use super::{
    Earlier, Plan,
    ask::Ask,
    clip::{GammaLadder, Threshold},
    infer::Rights,
    sequence::{Descended, Response, Sequence},
    whiten::{Found, White},
};
use crate::{
    Error,
    method::{ConfigError, NotKeptError, Request, Target},
    privacy::Rho,
    warning::LeftOut,
};
use parts::Parts;
use split::{ScoreClip, Split, most_clipped};

/// Parts of what the scores are given: their threshold, the curvature and the covariance.
const THRESHOLD: f64 = 0.03;
const CURVATURE: f64 = 0.08;
const SPREAD: f64 = 0.06;
/// The curvature shortens only rows longer than this many times the length that few exceed: with
/// one column, few are too many, and what shortening takes from the curvature makes intervals
/// longer.
const BEYOND: f64 = std::f64::consts::SQRT_2;
/// A treatment that few rows have leaves large residuals in those: no more of them are clipped than
/// this.
const CLIPPED_OF_LEVEL: f64 = 0.01;
const CLIPPED_OF_NUMBER: f64 = 0.10;
/// A response that is a column is taken to be no larger than this many standard deviations of what
/// is new in it.
const RANGE: f64 = 6.0;
const LARGEST: f64 = 128.0;

/// A fit of a few coefficients that has spent its budget.
pub(super) struct Focused<A: Ask> {
    /// The parameters in the model, and what is not.
    pub kept: Vec<usize>,
    pub left_out: Vec<LeftOut>,
    /// Whether a length of rows was found at an end of its ladder.
    pub at_edge: bool,
    pub target: Target,
    /// The descent of the response, whose residuals scores are made of.
    pub steps: u32,
    /// `None` if no coefficient of interest can be told from the controls.
    pub scored: Option<Scored<A>>,
}

/// What scores came to.
pub(super) struct Scored<A: Ask> {
    pub scores: Scores,
    pub last: Descended<A>,
    pub inferred: Option<A::Inferred>,
}

/// Where scores are clipped.
enum Clip {
    /// Where counts find it.
    Sought(ScoreClip),
    /// Where they were clipped before.
    Known(f64),
}

/// A descent and what it says.
struct Regressed<A: Ask> {
    estimate: Estimate,
    last: Descended<A>,
}

impl<A: Ask> Sequence<'_, A> {
    /// The coefficients of interest, all others being controls.
    pub(super) fn partialled_out(mut self, wanted: &Wanted) -> Result<Focused<A>, Error> {
        if let Some(earlier) = &self.plan.earlier {
            return self.once_more(earlier);
        }
        let parts = self.parts(wanted)?;
        let (k, left) = (parts.wanted.len(), self.budget.left());
        if k == 0 {
            let _ = self.budget.spend_rest("nothing, since no coefficient of interest can be told apart")?;
            return Ok(Focused::of(parts, self.plan.request.target(), 0, None));
        }
        let split = Split::of(self.plan, left.to_f64(), parts.whole.features(), k);
        let response = Response { most_clipped: most_clipped(self.plan), ..Response::of_model(self.design) };
        let b = self.regress(&parts.whole, response, left.share(split.each), "response on all columns")?;
        let mut g = Vec::new();
        for (place, &j) in parts.wanted.iter().enumerate() {
            let (white, response) = (parts.controls_of(place), self.response_of(&parts, place));
            let what = format!("{} on the controls", self.design.names()[j]);
            g.push(self.regress(&white, response, left.share(split.each / k as f64), &what)?.estimate);
        }
        let clip = ScoreClip::of(self.plan, self.budget.left().to_f64(), k);
        let steps = b.last.descent.steps();
        let scores = Scores::of(&parts, (&b.estimate, &b.last.threshold), &g, (self.design, clip.target));
        let scores = scores.with_added(self.plan.added_by_crossing());
        let scored = self.scored(scores, Clip::Sought(clip))?;
        Ok(Focused::of(parts, clip.target, steps, Some(scored)))
    }

    /// The mean score of the rows that an earlier fit left, clipped as there. Noise alone sets both
    /// mean scores apart: what the regressions did wrong is the same in both, and so is the sample.
    fn once_more(mut self, earlier: &Earlier) -> Result<Focused<A>, Error> {
        let left = earlier.left.as_ref().ok_or(ConfigError::NotRefinable)?;
        let scores = Scores::again(left, self.plan.features);
        let scored = self.scored(scores, Clip::Known(earlier.clip))?;
        let (kept, left_out) = (left.parameters.clone(), Vec::new());
        Ok(Focused { kept, left_out, at_edge: false, target: earlier.target, steps: 1, scored: Some(scored) })
    }

    /// The controls that can be told apart, and the columns of interest that can be told from them.
    fn parts(&mut self, wanted: &Wanted) -> Result<Parts, Error> {
        let (plan, design) = (self.plan, self.design);
        let rounds = self.rounds()?;
        let found = Found::of(&rounds, plan.floor_of(&rounds, design));
        let last = rounds.last().expect("there was a first round");
        let at_edge = rounds.iter().any(|round| round.at_edge);
        let parts = Parts::of(&found, wanted, plan, design).seen(last.radius, at_edge);
        NotKeptError::check(&parts.left_out, &plan.request.keep)?;
        Ok(parts)
    }

    /// What is known of a column as a response.
    fn response_of(&self, parts: &Parts, place: usize) -> Response {
        let is_level = self.design.slots()[parts.wanted[place]].is_level();
        Response {
            largest: (RANGE / parts.scales[place]).min(LARGEST),
            most_clipped: if is_level { CLIPPED_OF_LEVEL } else { CLIPPED_OF_NUMBER },
        }
    }

    /// A start and a descent on a part of the budget.
    fn regress(&mut self, white: &White, response: Response, rho: Rho, what: &str) -> Result<Regressed<A>, Error> {
        self.ask.whiten(&white.whitening, false)?;
        let plan = self.plan.of_part(rho, white.features());
        let mut budget = self.budget.part(rho)?;
        let (design, progress) = (self.design, self.progress);
        let mut part = Sequence { plan: &plan, design, budget: &mut budget, ask: &mut *self.ask, response, progress };
        let start = part.start(white)?;
        let last = part.descend(white, start)?;
        let estimate = part.ask.estimate(&last, white);
        self.budget.join(budget, |release| format!("{release} ({what})"));
        Ok(Regressed { estimate, last })
    }

    /// The mean score on what is left of the budget, with what its interval needs.
    fn scored(&mut self, mut scores: Scores, clip: Clip) -> Result<Scored<A>, Error> {
        self.ask.whiten(&scores.white.whitening, false)?;
        let (rho, k) = (self.budget.left(), scores.white.features());
        let plan = self.plan.of_part(rho, k);
        let mut budget = self.budget.part(rho)?;
        let (design, response, progress) = (self.design, self.response, self.progress);
        let mut part = Sequence { plan: &plan, design, budget: &mut budget, ask: &mut *self.ask, response, progress };
        scores.white.radius = BEYOND * part.length_of_whitened(k, "length of rows")?;
        let (last, rights) = part.mean_score(k, clip)?;
        let inferred = part.ask.infer_scores(&scores, &last, rights)?;
        self.budget.join(budget, |release| format!("{release} (scores)"));
        Ok(Scored { scores, last, inferred })
    }

    /// One clipped gradient at zero, which is the mean score.
    fn mean_score(&mut self, k: usize, clip: Clip) -> Result<(Descended<A>, Rights), Error> {
        let origin = self.ask.origin(k);
        let threshold = match clip {
            Clip::Known(gamma) => Threshold { gamma, at_edge: false, tail: 0.0 },
            Clip::Sought(clip) => {
                let spend = self.spend("clip threshold", THRESHOLD)?;
                let found = self.threshold(&origin, &GammaLadder::around((k as f64).sqrt()), clip.tail, spend)?;
                Threshold { gamma: clip.gamma_at(&found, k), ..found }
            }
        };
        let curvature = self.spend("curvature of the loss", CURVATURE)?;
        let spread = self.spend("covariance of the gradients", SPREAD)?;
        let spend = self.budget.spend_rest("clipped gradient, 1 step")?;
        let descent = self.plan.descent(k, threshold.gamma, 1, spend.to_f64())?;
        let run = self.ask.descend(&descent, &origin, spend, self.progress)?;
        Ok((Descended { threshold, descent, run }, Rights { curvature, spread: Some(spread), bend: None }))
    }
}

impl<A: Ask> Focused<A> {
    fn of(parts: Parts, target: Target, steps: u32, scored: Option<Scored<A>>) -> Focused<A> {
        let Parts { whole, left_out, at_edge, .. } = parts;
        Focused { kept: whole.coordinates.kept, left_out, at_edge, target, steps, scored }
    }
}

impl Plan {
    /// The same for a descent of `features` columns on a part of the budget. Descents only come
    /// near: what they clip is chosen for precision, whatever intervals are for.
    fn of_part(&self, rho: Rho, features: usize) -> Plan {
        let request = Request { rho, target: None, ..self.request.clone() };
        Plan { request, features, known: None, wanted: None, partials_out: None, by_indices: false, ..self.clone() }
    }
}

#[cfg(test)]
mod tests;
