//! The estimates of a fit in their own units, with intervals where they were asked for, and what
//! released numbers tell a reader.

use super::{
    NAME, STEP_SIZE,
    infer::{self, Bend, Inferred},
    known::Trust,
    likelihood::{self, Doubt, Likely},
    on_rows::OnRows,
    prediction,
    sequence::Ended,
    whiten::White,
};
use crate::{
    Coefficient, Error, MethodSummary,
    descend::Trajectory,
    interval::{Contrast, Inference},
    matrix::{times, transposed_times},
    method::{NotKeptError, Outcome, Purpose, Target, bare, with_precision},
    privacy::{Release, noise::RandomWords},
    warning::{Cause, LeftOut, Warning},
};

/// Weights that are this much smaller than their bound on average lose digits on the lattice.
const LOW_WEIGHT: f64 = 1e4;

impl<R: RandomWords> Ended<OnRows<'_, R>> {
    /// What the fit gives.
    pub(super) fn outcome(self, ask: &OnRows<'_, R>, releases: Vec<Release>) -> Result<Outcome, Error> {
        let Ended { white, last, inferred } = self;
        let (plan, design, run, threshold) = (ask.plan, ask.design, &last.run, last.threshold);
        let summary = last.summary(run.noise_sd, white.row_length);
        let outcome = Outcome::of(plan.request.target(), summary, releases, vec![standardised(run, &white)]);
        let (names, contrasts) = (design.names(), design.contrasts());
        let Some(Inferred { newton, evidence, dropped, bend, quality }) = inferred else {
            let theta = infer::predicted(run, &white.moments, threshold.tail);
            let worth = prediction::worth(plan, &theta, run, threshold.tail, (design, &white));
            let theta = times(&white.whitening.matrix(), &theta);
            let identified = plan.request.purpose == Purpose::Prediction;
            let estimate = |(name, contrast): (&String, &Contrast)| match identified {
                true => bare(name.clone(), contrast.of(&theta)),
                false => Coefficient { name: name.clone(), estimate: None, precision: None, identified },
            };
            let coefficients = names.iter().zip(&contrasts).map(estimate).collect();
            let warnings = contradicted(&white).into_iter().chain(worth.filter(|_| identified)).collect();
            return Ok(Outcome { coefficients, whitening: Some(white.whitening), warnings, ..outcome });
        };
        let left_out = all_left_out(&white, &dropped, names);
        NotKeptError::check(&left_out, &plan.request.keep)?;
        // The test is made where clipping could bias the fit, and no test can show that it does
        // not.
        let clipping = bend.map(|bend| clipping(&bend, threshold.tail, &left_out, names));
        let is_bent = matches!(clipping, Some(Warning::Bent { .. }));
        let inference = Inference::from(newton);
        let found = inference.intervals(&contrasts, plan.request.level)?;
        let coefficients = names.iter().zip(&found).map(|(name, interval)| with_precision(name.clone(), interval));
        let mut warnings = Vec::new();
        warnings.extend((white.trust == Some(Trust::Kept)).then_some(Warning::TrustsMoments));
        warnings.extend((!left_out.is_empty()).then(|| Warning::LeftOut { columns: left_out.clone() }));
        let target = match &plan.earlier {
            _ if clipping.is_some() => Target::Robust,
            Some(earlier) => earlier.target,
            None => plan.request.target(),
        };
        warnings.extend(clipping);
        let weights =
            white.mean_weight.zip(design.weights()).filter(|(mean, weights)| mean * LOW_WEIGHT < weights.most());
        match weights {
            Some((mean, weights)) => warnings.push(Warning::WeightBound { column: weights.name().to_owned(), mean }),
            None if threshold.at_edge || white.at_edge => warnings.push(Warning::LevelAtEdge),
            None => {}
        }
        Ok(Outcome {
            coefficients: coefficients.collect(),
            // A biased fit is not least squares, nor are its residuals.
            quality: quality.filter(|_| !is_bent),
            target,
            warnings,
            whitening: Some(white.whitening),
            inference: Some(inference),
            evidence,
            left_out,
            ..outcome
        })
    }
}

impl Likely {
    /// What the fit gives.
    pub(super) fn outcome<R>(self, ask: &OnRows<'_, R>, releases: Vec<Release>) -> Result<Outcome, Error> {
        let Likely { curved, threshold, descent, run, inferred } = self;
        let (plan, design, white) = (ask.plan, ask.design, curved.white);
        let summary = MethodSummary::new(NAME, threshold.gamma, descent.steps(), STEP_SIZE, run.noise_sd);
        let outcome = Outcome::of(plan.request.target(), summary, releases, vec![standardised(&run, &white)]);
        let outcome = Outcome { whitening: Some(white.whitening.clone()), ..outcome };
        let Some(likelihood::Inferred { newton, doubt, misfit, effects, quality }) = inferred else {
            let theta = times(&white.whitening.matrix(), &infer::predicted(&run, &white.moments, 0.0));
            return Ok(outcome.with_estimates(design, &theta));
        };
        let (names, inference) = (design.names(), Inference::from(newton));
        let marginal_effects =
            effects.map_or(Ok(Vec::new()), |effects| effects.of(&inference, design, plan.request.level))?;
        let left_out = all_left_out(&white, &[], names);
        let mut warnings: Vec<Warning> = Vec::new();
        warnings.extend((!left_out.is_empty()).then(|| Warning::LeftOut { columns: left_out.clone() }));
        warnings.extend(in_doubt(&doubt, names));
        warnings.extend(misfit.map(|(parameters, times)| Warning::Misfit { names: named(&parameters, names), times }));
        warnings.extend((threshold.at_edge || white.at_edge).then_some(Warning::LevelAtEdge));
        let outcome = outcome.with_inference(design, inference, plan.request.level)?;
        Ok(Outcome { marginal_effects, quality, warnings, left_out, ..outcome })
    }
}

/// Why no estimate is given, if none is.
fn in_doubt(doubt: &Doubt, names: &[String]) -> Option<Warning> {
    match doubt {
        Doubt::None => None,
        Doubt::Vague => Some(Warning::Vague),
        Doubt::Separated(parameters) => Some(Warning::Separated { names: named(parameters, names) }),
    }
}

fn named(parameters: &[usize], names: &[String]) -> Vec<String> {
    parameters.iter().map(|&j| names[j].clone()).collect()
}

/// What whitening left out, and what the curvature did not resolve, in formula order.
fn all_left_out(white: &White, dropped: &[usize], names: &[String]) -> Vec<LeftOut> {
    let mut left_out = white.left_out.clone();
    left_out.extend(dropped.iter().map(|&j| LeftOut { name: names[j].clone(), cause: Cause::Weak }));
    left_out.sort_by_key(|one| names.iter().position(|name| *name == one.name));
    left_out
}

/// What to say of a fit that clipping could bias.
fn clipping(bend: &Bend, share: f64, left_out: &[LeftOut], names: &[String]) -> Warning {
    let moved: Vec<String> = bend.moved.iter().map(|&j| names[j].clone()).collect();
    match (moved.is_empty(), is_in_errors(left_out), bend.is_sharp) {
        (false, ..) => Warning::Bent { names: moved },
        (true, true, _) => Warning::ClippedWithout { share },
        (true, false, false) => Warning::ClippedUnseen { share },
        (true, false, true) => Warning::Clipped { share },
    }
}

/// That released numbers contradict the moments that were given, where they do.
fn contradicted(white: &White) -> Option<Warning> {
    (white.trust == Some(Trust::Contradicted)).then_some(Warning::MomentsContradicted)
}

/// Whether what was left out is in the errors of many rows, which are not symmetric then. Where
/// clipping could bias a fit, the test is too weak to be trusted with that. A rare level is in the
/// errors of few.
fn is_in_errors(left_out: &[LeftOut]) -> bool {
    left_out.iter().any(|one| !matches!(one.cause, Cause::RareLevel | Cause::UnseenLevel))
}

/// The run in standardised units: iterates are `P theta`, gradients `Q' g` with `Q` the inverse of
/// `P` on what is in the model. What was left out stays at zero. The noise stays as it was in
/// whitened coordinates.
pub(super) fn standardised(run: &Trajectory, white: &White) -> Trajectory {
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
