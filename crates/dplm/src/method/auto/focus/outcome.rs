//! The estimates of a fit with coefficients of interest, and what it says of the others.

use super::{
    super::{NAME, STEP_SIZE, infer::Inferred, on_rows::OnRows},
    Focused, Scored, Wanted,
};
use crate::{
    Coefficient, Error, Focus, MethodSummary,
    interval::{Contrast, Inference},
    lattice::Design,
    method::{Outcome, Target, with_precision},
    privacy::{Release, noise::RandomWords},
    warning::{Cause, LeftOut, Warning},
};

impl<R: RandomWords> Focused<OnRows<'_, R>> {
    /// What the fit gives.
    pub(in crate::method::auto) fn outcome(
        self,
        ask: &OnRows<'_, R>,
        wanted: &Wanted,
        releases: Vec<Release>,
    ) -> Result<Outcome, Error> {
        let (plan, design, target) = (ask.plan, ask.design, self.target);
        let (summary, share, at_edge) = (self.summary(), self.share_clipped(), self.at_edge);
        let left = self.scored.as_ref().map(|scored| scored.scores.left());
        let focus = Some(Focus { left, ..wanted.told(design, self.not_controlled_for(wanted, design)) });
        // An earlier fit has said what is not in the model, and what clipping may bend.
        let is_again = plan.earlier.is_some();
        let left_out = if is_again { Vec::new() } else { self.all_left_out(wanted, design) };
        let inferred = self.scored.and_then(|scored| scored.inferred);
        let inference = inferred.map(|one| Inference::from(one.newton));
        let coefficients = wanted.estimated(design, inference.as_ref(), plan.request.level)?;
        let is_bent = target == Target::Robust && plan.request.target() != Target::Robust && !is_again;
        let warnings = [
            (!left_out.is_empty()).then(|| Warning::LeftOut { columns: left_out.clone() }),
            is_bent.then_some(Warning::ClippedUnseen { share }),
            at_edge.then_some(Warning::LevelAtEdge),
        ];
        let warnings = warnings.into_iter().flatten().collect();
        let outcome = Outcome::of(target, summary, releases, Vec::new());
        Ok(Outcome { coefficients, warnings, inference, left_out, focus, ..outcome })
    }

    /// The mean score in numbers, and the steps of the descent of the response.
    fn summary(&self) -> MethodSummary {
        let (clip, noise_sd) = match &self.scored {
            Some(Scored { last, .. }) => (last.threshold.gamma, last.run.noise_sd),
            None => (0.0, 0.0),
        };
        MethodSummary::new(NAME, clip, self.steps, STEP_SIZE, noise_sd)
    }

    /// The share of scores that was to be clipped.
    fn share_clipped(&self) -> f64 {
        self.scored.as_ref().map_or(0.0, |scored| scored.last.threshold.tail)
    }

    /// The controls that are not in the model, by name.
    fn not_controlled_for(&self, wanted: &Wanted, design: &Design) -> Vec<String> {
        let is_wanted = |name: &String| wanted.parameters.iter().any(|&j| design.names()[j] == *name);
        self.left_out.iter().map(|one| one.name.clone()).filter(|name| !is_wanted(name)).collect()
    }

    /// What is not in the model, in formula order: controls, and columns of interest that cannot be
    /// told from them.
    fn all_left_out(&self, wanted: &Wanted, design: &Design) -> Vec<LeftOut> {
        let (names, mut left_out) = (design.names(), self.left_out.clone());
        let lost: &[usize] = match self.scored.as_ref().and_then(|scored| scored.inferred.as_ref()) {
            Some(Inferred { dropped, .. }) => dropped,
            None => &wanted.parameters,
        };
        for &j in lost {
            if left_out.iter().all(|one| one.name != names[j]) {
                left_out.push(LeftOut { name: names[j].clone(), cause: Cause::Weak });
            }
        }
        left_out.sort_by_key(|one| names.iter().position(|name| *name == one.name));
        left_out
    }
}

impl Wanted {
    /// All coefficients, with numbers for those of interest.
    fn estimated(&self, design: &Design, inference: Option<&Inference>, level: f64) -> Result<Vec<Coefficient>, Error> {
        let (names, contrasts) = (design.names(), design.contrasts());
        let blank =
            |name: &String| Coefficient { name: name.clone(), estimate: None, precision: None, identified: false };
        let mut coefficients: Vec<Coefficient> = names.iter().map(blank).collect();
        let Some(inference) = inference else { return Ok(coefficients) };
        let of_interest: Vec<Contrast> = self.coefficients.iter().map(|&place| contrasts[place].clone()).collect();
        for (&place, interval) in self.coefficients.iter().zip(inference.intervals(&of_interest, level)?) {
            coefficients[place] = with_precision(names[place].clone(), &interval);
        }
        Ok(coefficients)
    }
}
