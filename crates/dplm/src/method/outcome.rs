//! What a fit by any method gives.

use super::{Request, Target, auto::Quality};
use crate::{
    Coefficient, FirstStage, Focus, MarginalEffect, MethodSummary, Precision,
    descend::Trajectory,
    interval::{Evidence, Inference, Interval, IntervalError},
    lattice::{Design, Whitening},
    predict::predictor,
    privacy::Release,
    warning::{LeftOut, Warning},
};

/// What a run of the plan gave: released numbers only.
#[non_exhaustive]
pub struct Outcome {
    /// The estimates in their own units.
    pub coefficients: Vec<Coefficient>,
    /// The released iterates.
    pub trajectories: Vec<Trajectory>,
    /// The method and its parameters.
    pub summary: MethodSummary,
    /// What the budget was spent on.
    pub releases: Vec<Release>,
    /// What released numbers tell a reader.
    pub warnings: Vec<Warning>,
    /// The released coordinates the descent ran in, where it whitened: `theta = P theta_white`.
    pub whitening: Option<Whitening>,
    /// How intervals are made from what was released, if anything was released for them.
    pub inference: Option<Inference>,
    /// What that was computed from, where the steps were in coordinates of the method.
    pub(crate) evidence: Option<Evidence>,
    /// Coefficients that the budget could not resolve, so that the model was fitted without them.
    pub left_out: Vec<LeftOut>,
    /// Which coefficients are of interest, where only some are, and what is said of the others.
    pub(crate) focus: Option<Focus>,
    /// How the instruments move the regressor, where there are any.
    pub(crate) first_stage: Option<FirstStage>,
    /// How well the model fits, where that was released.
    pub(crate) quality: Option<Quality>,
    /// Average marginal effects, of a binary response.
    pub marginal_effects: Vec<MarginalEffect>,
    /// What the intervals are for: what was asked for, or the robust coefficients where a released
    /// test shows that clipping biases the fit.
    pub target: Target,
}

impl Outcome {
    /// An outcome without coefficients yet.
    pub fn of(
        target: Target,
        summary: MethodSummary,
        releases: Vec<Release>,
        trajectories: Vec<Trajectory>,
    ) -> Outcome {
        Outcome {
            coefficients: Vec::new(),
            trajectories,
            summary,
            releases,
            warnings: Vec::new(),
            whitening: None,
            inference: None,
            evidence: None,
            left_out: Vec::new(),
            focus: None,
            first_stage: None,
            quality: None,
            marginal_effects: Vec::new(),
            target,
        }
    }

    /// Whether a coefficient is that of a control, which is in the model and not estimated for a
    /// reader.
    pub(crate) fn is_control(&self, name: &str) -> bool {
        let is_left_out = self.left_out.iter().any(|one| one.name == name);
        self.focus.as_ref().is_some_and(|focus| !is_left_out && focus.coefficients.iter().all(|one| one != name))
    }

    /// The outcome with estimates from standardised parameters, and without intervals.
    #[must_use]
    pub fn with_estimates(self, design: &Design, theta: &[f64]) -> Outcome {
        let names = design.names().iter().cloned();
        let coefficients = names.zip(design.contrasts()).map(|(name, contrast)| bare(name, contrast.of(theta)));
        Outcome { coefficients: coefficients.collect(), ..self }
    }

    /// The outcome of a fit whose test failed: nothing is identified.
    #[must_use]
    pub fn of_failed_test(self, design: &Design) -> Outcome {
        self.without_numbers(design, Warning::TestFailed)
    }

    /// The outcome of a fit in which nothing is identified, and why.
    #[must_use]
    pub(super) fn without_numbers(self, design: &Design, why: Warning) -> Outcome {
        Outcome { warnings: vec![why], ..self.of_nothing(design) }
    }

    /// The outcome in which nothing is identified.
    #[must_use]
    pub(crate) fn of_nothing(self, design: &Design) -> Outcome {
        let unknown =
            |name: &String| Coefficient { name: name.clone(), estimate: None, precision: None, identified: false };
        Outcome { coefficients: design.names().iter().map(unknown).collect(), ..self }
    }

    /// The outcome with estimates and intervals at a level from what was released for them.
    ///
    /// # Errors
    /// When the level is not a probability, or what was released is for another number of features.
    pub fn with_inference(self, design: &Design, inference: Inference, level: f64) -> Result<Outcome, IntervalError> {
        let intervals = inference.intervals(&design.contrasts(), level)?;
        let names = design.names().iter().cloned();
        let coefficients = names.zip(intervals).map(|(name, interval)| with_precision(name, &interval)).collect();
        Ok(Outcome { coefficients, inference: Some(inference), ..self })
    }

    /// The coefficients that predictions are made with; see
    /// [`Fit::predictor`](crate::Fit::predictor). Where nothing was released for intervals and
    /// nothing is identified, which a fit is refused for beforehand, those of the late iterates.
    pub fn predictor(&self, design: &Design) -> Vec<f64> {
        let found = predictor(&self.coefficients, self.inference.as_ref(), design);
        match self.trajectories.first().filter(|_| self.inference.is_none()) {
            None => found,
            Some(run) => {
                let late = mean_of_late(run);
                let of_late = design.contrasts().into_iter().map(|contrast| contrast.of(&late));
                found.into_iter().zip(of_late).map(|(found, late)| if found.is_nan() { late } else { found }).collect()
            }
        }
    }
}

/// An estimate without an interval.
pub(super) fn bare(name: String, estimate: f64) -> Coefficient {
    Coefficient { name, estimate: Some(estimate), precision: None, identified: true }
}

/// An estimate with its interval, where it is identified.
pub(super) fn with_precision(name: String, interval: &Interval) -> Coefficient {
    let &Interval { estimate, identified, .. } = interval;
    Coefficient {
        name,
        estimate: identified.then_some(estimate),
        precision: identified.then(|| Precision::of(interval, 0.0)),
        identified,
    }
}

/// The mean of the last three quarters of the iterates: an early stop where the descent is slow.
pub fn mean_of_late(trajectory: &Trajectory) -> Vec<f64> {
    let late = &trajectory.theta[trajectory.theta.len() / 4..];
    let mean = |j: usize| late.iter().map(|theta| theta[j]).sum::<f64>() / late.len() as f64;
    (0..late[0].len()).map(mean).collect()
}

/// What a reader should know of the guarantee itself.
pub fn budget_warnings(request: &Request, rows: u64) -> Vec<Warning> {
    let &Request { delta, rho, .. } = request;
    let mut warnings = Vec::new();
    if delta * rows as f64 > 0.1 {
        warnings.push(Warning::LargeDelta { delta, rows });
    }
    if rho.to_f64() > 1.0 {
        warnings.push(Warning::LargeBudget { rho });
    }
    warnings
}
