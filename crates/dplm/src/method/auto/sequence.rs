//! The stages of a fit: every decision and everything it spends, in order.

use super::{
    NAME, Plan, START_STEPS, STEP_SIZE, ask::Ask, clip::Threshold, infer::Rights, known::Trust, largest_response,
    start::Start, whiten::White,
};
use crate::{
    Error, MethodSummary, Progress,
    descend::Descent,
    lattice::Design,
    plan::division::Harmless,
    privacy::{Budget, PrivacyError, Spend},
};

/// A fit in progress: its budget, and the interpreter that answers its stages.
pub(super) struct Sequence<'a, A> {
    pub plan: &'a Plan,
    pub design: &'a Design,
    pub budget: &'a mut Budget,
    pub ask: &'a mut A,
    pub response: Response,
    pub progress: Progress<'a>,
}

/// What is publicly known, or was released, of the response of a descent.
#[derive(Clone, Copy)]
pub(super) struct Response {
    /// Its largest absolute value, in the units of the rows.
    pub largest: f64,
    /// The largest share of the rows that may be clipped.
    pub most_clipped: f64,
}

impl Response {
    /// That of the model.
    pub(super) fn of_model(design: &Design) -> Response {
        Response { largest: largest_response(design), most_clipped: 1.0 }
    }
}

/// The descent on the rest of the budget.
pub(super) struct Descended<A: Ask> {
    pub threshold: Threshold,
    pub descent: Descent,
    pub run: A::Run,
}

/// A fit that has spent its budget.
pub(super) struct Ended<A: Ask> {
    pub white: White,
    pub last: Descended<A>,
    pub inferred: Option<A::Inferred>,
}

/// Rows count as no longer than Gaussian ones if the length that few of them exceed is at most this
/// many times that of Gaussian rows: two steps of the ladder of lengths, one since lengths are
/// found from above and one for the noise of its counts.
pub(super) const AS_NORMAL: f64 = 1.189_207_115_002_721;

impl<A: Ask> Sequence<'_, A> {
    /// The least-squares fit of a model, robust where the budget cannot afford a harmless clip.
    pub(super) fn least_squares(mut self) -> Result<Ended<A>, Error> {
        let white = self.whiten()?;
        let harmless = self.harmless(&white);
        let rights = self.reserve(&white, harmless)?;
        let start = self.start(&white)?.widened(harmless);
        let start = self.for_purpose(start, white.features())?;
        let last = self.descend(&white, start)?;
        let inferred = rights.map(|rights| self.ask.infer(&white, &last, rights)).transpose()?;
        Ok(Ended { white, last, inferred })
    }

    /// Cuts a share of the budget.
    pub(super) fn spend(&mut self, what: impl Into<String>, share: f64) -> Result<Spend, PrivacyError> {
        self.budget.spend(what, self.plan.request.rho.share(share))
    }

    /// A clip so wide that the fit is least squares, if the budget can afford one. It is derived
    /// for rows as long as Gaussian ones; longer rows are clipped at smaller residuals, so their
    /// clip must be wider by as much. No clip makes a
    /// fit of shortened rows least squares.
    fn harmless(&self, white: &White) -> Option<Harmless> {
        if self.plan.earlier.is_some() || white.row_length.is_some() {
            return None;
        }
        let (rules, features) = (self.plan.rules(), white.features());
        let tail = rules.about_tail(features, self.plan.request.worth_in_counts(1.0));
        let found = rules.harmless(tail, features)?;
        match white.longer <= AS_NORMAL {
            true => Some(found),
            false => rules.at_any_price.then_some(Harmless { factor: white.longer * found.factor, ..found }),
        }
    }

    /// Sets aside what intervals need, before the clip is chosen, which depends on what the descent
    /// will have.
    fn reserve(&mut self, white: &White, harmless: Option<Harmless>) -> Result<Option<Rights>, Error> {
        if !self.plan.gives_intervals() || white.trust == Some(Trust::Contradicted) {
            return Ok(None);
        }
        let plan = self.plan;
        let (rules, shares) = (plan.rules(), plan.rules().shares());
        let mut cut = |what: &str, share: f64| (share > 0.0).then(|| self.spend(what, share)).transpose();
        let curvature = cut("curvature of the loss", rules.curvature_share(white.radius))?;
        let spread = cut("covariance of the gradients", shares.spread)?;
        // An earlier fit made that test, and a harmless clip needs none.
        let needs_none = plan.earlier.is_some() || harmless.is_some();
        let bend = cut("test of whether clipping biases the fit", if needs_none { 0.0 } else { shares.bend })?;
        Ok(Some(Rights { curvature: curvature.expect("intervals need the curvature"), spread, bend }))
    }

    /// The descent from a start, on the rest of the budget.
    pub(super) fn descend(&mut self, white: &White, start: Start<A::Point>) -> Result<Descended<A>, Error> {
        let (steps, Start { point, threshold }) = (self.plan.rules().steps(&white.moments), start);
        let spend = self.budget.spend_rest(format!("clipped gradients, {steps} steps"))?;
        let descent = self.plan.descent(white.features(), threshold.gamma, steps, spend.to_f64())?;
        let progress = self.progress.part(START_STEPS, START_STEPS + steps);
        let run = self.ask.descend(&descent, &point, spend, progress)?;
        Ok(Descended { threshold, descent, run })
    }
}

impl<A: Ask> Descended<A> {
    /// The descent in numbers.
    pub(super) fn summary(&self, noise_sd: f64, row_length: Option<f64>) -> MethodSummary {
        MethodSummary {
            name: NAME.to_owned(),
            clip: self.threshold.gamma,
            steps: self.descent.steps(),
            step_size: STEP_SIZE,
            noise_sd,
            runs: 1,
            row_length,
        }
    }
}
