//! The answers that rows would give if columns are as assumed: without noise, and with the size of
//! the noise that there would be.
//!
//! Rows are assumed to be as long as Gaussian ones, and errors to be Gaussian. The descent is that
//! of the formulas for a clipped descent on white rows ([`white`](crate::plan::white)).

use faer::Mat;

use super::{
    NAME, Plan, STEP_SIZE,
    ask::{Ask, Length, Look, Reached},
    clip::{GammaLadder, Threshold},
    focus::{Estimate, Focused, Scores, Wanted},
    infer::Rights,
    likelihood::STEPS,
    sequence::{Descended, Ended},
    start,
    whiten::{Found, LADDER_SPAN, White, length_exceeded_by, share_longer_than},
};
use crate::{
    Error, Progress,
    descend::{Descent, noise_sd},
    interval::{expected_uncertainty_sq, lengthening},
    lattice::Whitening,
    matrix::{dot, inverse, times, transposed_times},
    method::{ConfigError, Target, noisy::NoisyMatrix},
    plan::{
        Assumed, Foretold, Planned,
        noise::matrix_noise_sd,
        white::{self, Expected, Norms, Setting},
    },
    privacy::{Release, Spend},
};

/// Noise that the last round leaves in the whitening counts no more than this.
const MOST_UNEVEN: f64 = 1.0;

/// Columns as they are assumed to be.
pub(super) struct OnAssumptions<'a> {
    plan: &'a Plan,
    assumed: &'a Assumed,
    /// The second moments of the original columns, and of the coordinates of the descent.
    original: Mat<f64>,
    white: Mat<f64>,
    /// How long gradients are there.
    norms: Norms,
    /// The response there.
    response: Regressed,
}

/// A response as it is assumed to be.
struct Regressed {
    /// Its root mean square, and that of what the columns leave of it.
    rms: f64,
    error_sd: f64,
    /// The coefficients of the columns, where they are known.
    theta: Option<Vec<f64>>,
}

/// How far a point is from the answer.
pub(super) enum Away {
    /// As far as zero is.
    Zero,
    /// What that adds to the variance of a residual.
    By(f64),
}

/// A descent that is foreseen.
pub(super) struct Course {
    setting: Setting,
    noise_sd: f64,
}

/// What is foreseen of intervals.
pub(super) struct Outlook {
    /// How many times as long they are for what is not known of curvature and covariance.
    longer: f64,
    /// Whether clipping could bias the fit, so that it is not called least squares.
    may_bend: bool,
}

impl<'a> OnAssumptions<'a> {
    pub(super) fn new(plan: &'a Plan, assumed: &'a Assumed) -> OnAssumptions<'a> {
        let original = assumed.moments(plan.features);
        let response = Regressed::of_model(assumed);
        OnAssumptions { plan, assumed, norms: Norms::of(plan.features), white: original.clone(), original, response }
    }

    /// The response that a change of coordinates makes.
    fn response_of(&self, to: &Whitening) -> Regressed {
        let Some(weights) = to.response_weights() else { return Regressed::of_model(self.assumed) };
        let (of_model, cells) = weights.split_last().expect("a weight for the response");
        if *of_model != 0.0 {
            let error_sd = of_model.abs() * self.assumed.error_sd;
            return Regressed { rms: error_sd, error_sd, theta: None };
        }
        let along = times(&self.moments_for(to), cells);
        let rms_sq = dot(cells, &along);
        let along = transposed_times(&to.matrix(), &along);
        let theta = times(&inverse(&self.white), &along);
        let error_sd = (rms_sq - dot(&theta, &along)).max(0.0).sqrt();
        Regressed { rms: rms_sq.sqrt(), error_sd, theta: Some(theta) }
    }

    fn looking(&self, moments: Mat<f64>) -> Looking<'a> {
        Looking { plan: self.plan, moments, unlike: self.assumed.weighing.unlike }
    }

    fn seen_through(&self, to: &Whitening) -> Mat<f64> {
        let matrix = to.matrix();
        matrix.transpose() * self.moments_for(to) * &matrix
    }

    /// The second moments of what it re-encodes: rows, or rows beside a copy that is zero for half
    /// of them.
    fn moments_for(&self, to: &Whitening) -> Mat<f64> {
        let (moments, p) = (&self.original, self.original.nrows());
        let half = |j: usize| if j < p { 1.0f64 } else { 0.5 };
        match to.is_beside_half() {
            false => moments.clone(),
            true => Mat::from_fn(2 * p, 2 * p, |j, k| half(j).min(half(k)) * moments[(j % p, k % p)]),
        }
    }

    /// The variance that being away adds to a residual.
    fn distance_sq(&self, point: &Away) -> f64 {
        match point {
            Away::Zero => (self.response.rms.powi(2) - self.response.error_sd.powi(2)).max(0.0),
            Away::By(distance_sq) => *distance_sq,
        }
    }

    fn noise_of_matrix(&self, length: f64, spend: &Spend) -> f64 {
        matrix_noise_sd(self.plan.rows, length.powi(2), self.plan.request.neighbours, spend.to_f64())
    }

    /// How much longer uncertainty about the released curvature makes intervals.
    fn widening(&self, white: &White, curvature: f64, spend: &Spend) -> f64 {
        let features = white.features();
        let radius = self.plan.curvature_length(white, spend.to_f64());
        let noise_sd = self.noise_of_matrix(radius, spend);
        (1.0 + 3.0 * expected_uncertainty_sq(noise_sd, curvature, features)).sqrt()
    }

    /// How much longer uncertainty about the covariance of gradients makes intervals.
    fn lengthening(&self, errors: &Expected, clip: f64, spend: &Spend) -> f64 {
        let uncertainty = self.noise_of_matrix(clip, spend) / (self.plan.rows as f64 * errors.curvature.powi(2));
        let variance = errors.privacy_error.powi(2) + errors.sampling_error.powi(2);
        lengthening(self.plan.request.level, 2.0 * (variance / uncertainty).powi(2))
    }

    /// The errors of the descent, of a sample where no population is meant.
    fn errors(&self, last: &Descended<Self>) -> Result<Expected, Error> {
        let errors = last.run.setting.expected_among(&self.norms)?;
        let sampling_error = if self.plan.rules().covers_population() { errors.sampling_error } else { 0.0 };
        Ok(Expected { sampling_error, clipped: last.threshold.tail, ..errors })
    }
}

impl OnAssumptions<'_> {
    /// The clip of a logit that a share `tail` of rows could exceed: in coordinates in which the
    /// curvature is 1 a row is `|z| / sqrt v` long, and its largest residual is that of the
    /// commoner outcome.
    pub(super) fn steepest(&self, tail: f64) -> f64 {
        let variance = self.assumed.error_sd.powi(-2);
        let commoner = 0.5 + (0.25 - variance).max(0.0).sqrt();
        length_exceeded_by(&self.white, self.assumed.weighing.unlike, tail) * commoner * self.assumed.error_sd
    }

    /// The plan of a logit in numbers: `noise` is that of a coordinate of the mean gradient where
    /// the curvature is 1.
    pub(super) fn planned_likelihood(
        &self,
        white: &White,
        threshold: &Threshold,
        noise: f64,
        rights: Option<(Spend, Option<Spend>)>,
        releases: Vec<Release>,
    ) -> Planned {
        let (plan, error_sd) = (self.plan, self.assumed.error_sd);
        let classical_error = error_sd / (plan.rows as f64).sqrt();
        let errors = Expected {
            curvature: 1.0,
            clipped: threshold.tail,
            privacy_error: noise * error_sd,
            sampling_error: if plan.rules().covers_population() { classical_error } else { 0.0 },
            classical_error,
            widening: 1.0,
        };
        let widening = rights.map_or(1.0, |(curvature, spread)| {
            let in_curved =
                Expected { privacy_error: noise, sampling_error: errors.sampling_error / error_sd, ..errors };
            let spread = spread.map_or(1.0, |spend| self.lengthening(&in_curved, threshold.gamma, &spend));
            spread * self.widening(white, 1.0, &curvature)
        });
        Planned {
            method: NAME,
            target: plan.request.target(),
            descent: Foretold {
                clip: threshold.gamma,
                steps: STEPS,
                step_size: STEP_SIZE,
                errors: Expected { widening, ..errors },
            },
            recommended: None,
            releases,
            left_out: white.left_out.clone(),
            kept: white.coordinates.kept.clone(),
            of_interest: None,
            other_way: None,
        }
    }
}

impl Ask for OnAssumptions<'_> {
    type Point = Away;
    type Run = Course;
    type Inferred = Outlook;

    fn rows_in_unit(&self) -> Option<u32> {
        self.plan.request.person.as_ref().and_then(|person| person.rows)
    }

    fn through<'s>(&'s mut self, to: &'s Whitening) -> Result<Box<dyn Look + 's>, Error> {
        Ok(Box::new(self.looking(self.seen_through(to))))
    }

    fn whiten(&mut self, to: &Whitening, _last: bool) -> Result<(), Error> {
        self.white = self.seen_through(to);
        self.norms = Norms::weighted(self.white.ncols(), &self.assumed.weighing);
        self.response = self.response_of(to);
        Ok(())
    }

    fn look(&mut self) -> Box<dyn Look + '_> {
        Box::new(self.looking(self.white.clone()))
    }

    fn origin(&self, _features: usize) -> Away {
        Away::Zero
    }

    /// An earlier fit ended near the answer.
    fn resume(&self, _theta: Vec<f64>) -> Away {
        Away::By(0.0)
    }

    fn threshold(&mut self, at: &Away, ladder: &GammaLadder, target: f64, _spend: Spend) -> Result<Threshold, Error> {
        let (gammas, tail) = (ladder.gammas(), target / self.plan.rows as f64);
        let residual_sd = (self.response.error_sd.powi(2) + self.distance_sq(at)).sqrt();
        let gamma = self.norms.clip_for_tail(residual_sd, tail);
        Ok(Threshold { gamma: gamma.clamp(gammas[0], gammas[gammas.len() - 1]), at_edge: false, tail })
    }

    fn shares_above(&mut self, at: &Away, gammas: &[f64], _spend: Spend) -> Result<Vec<f64>, Error> {
        let residual_sd = (self.assumed.error_sd.powi(2) + self.distance_sq(at)).sqrt();
        Ok(gammas.iter().map(|&gamma| self.norms.share_above(residual_sd, gamma)).collect())
    }

    fn descend(&mut self, by: &Descent, from: &Away, spend: Spend, _progress: Progress<'_>) -> Result<Course, Error> {
        let (rows, neighbours, rho) = (self.plan.rows, self.plan.request.neighbours, spend.to_f64());
        let (gamma, steps) = (by.gamma(), by.steps());
        let setting = Setting {
            rows,
            features: self.white.ncols(),
            rho,
            neighbours,
            gamma,
            steps,
            step_size: STEP_SIZE,
            error_sd: self.response.error_sd.max(f64::MIN_POSITIVE),
            signal: self.distance_sq(from).sqrt(),
            shares: white::Shares::NONE,
        };
        Ok(Course { setting, noise_sd: noise_sd(rows, gamma, steps, neighbours, rho) })
    }

    fn reached(&self, run: &Course, from: &Away, white: &White) -> Reached<Away> {
        let noise_var = start::noise_var(run.noise_sd, start::AVERAGED);
        let noise = white.features() as f64 * noise_var;
        let left = match from {
            // What is reached from zero is shrunk (James and Stein 1961).
            Away::Zero => noise * self.distance_sq(from) / (noise + self.distance_sq(from)),
            Away::By(_) => noise,
        };
        Reached { point: Away::By(left), noise_var }
    }

    fn infer(&mut self, white: &White, last: &Descended<Self>, rights: Rights) -> Result<Outlook, Error> {
        let errors = self.errors(last)?;
        let widening = self.widening(white, errors.curvature, &rights.curvature);
        let spread = rights.spread.map_or(1.0, |spend| self.lengthening(&errors, last.threshold.gamma, &spend));
        Ok(Outlook { longer: widening * spread, may_bend: rights.bend.is_some() })
    }

    fn estimate(&self, last: &Descended<Self>, white: &White) -> Estimate {
        let features = white.features();
        let expected = last.run.setting.expected_among(&self.norms);
        let noise_var = expected.map_or(f64::INFINITY, |one| one.privacy_error.powi(2));
        let theta = self.response.theta.clone().unwrap_or_else(|| vec![0.0; features]);
        Estimate { theta, noise_var, apart_sq: noise_var * features as f64 }
    }

    fn infer_scores(
        &mut self,
        scores: &Scores,
        last: &Descended<Self>,
        rights: Rights,
    ) -> Result<Option<Outlook>, Error> {
        self.infer(&scores.white, last, rights).map(Some)
    }
}

impl Regressed {
    fn of_model(assumed: &Assumed) -> Regressed {
        Regressed { rms: assumed.response_rms, error_sd: assumed.error_sd, theta: None }
    }
}

impl<'a> Focused<OnAssumptions<'a>> {
    /// The plan in numbers.
    pub(super) fn planned(
        self,
        ask: &OnAssumptions<'a>,
        wanted: &Wanted,
        releases: Vec<Release>,
    ) -> Result<Planned, Error> {
        let Focused { left_out, kept, target, scored, steps, .. } = self;
        let scored = scored.ok_or(ConfigError::NoForecast)?;
        let (last, unit) = (&scored.last, scored.scores.unit);
        let errors = ask.errors(last)?;
        let added = scored.scores.added.iter().sum::<f64>() / scored.scores.added.len() as f64;
        let errors = Expected {
            privacy_error: unit * errors.privacy_error.hypot(added.sqrt() / errors.curvature),
            sampling_error: unit * errors.sampling_error,
            classical_error: unit * errors.classical_error,
            widening: scored.inferred.map_or(1.0, |one| one.longer),
            ..errors
        };
        let clip = last.threshold.gamma;
        Ok(Planned {
            method: NAME,
            target,
            descent: Foretold { clip, steps, step_size: STEP_SIZE, errors },
            recommended: None,
            releases,
            left_out,
            kept,
            of_interest: Some(wanted.coefficients.clone()),
            other_way: None,
        })
    }
}

impl<'a> Ended<OnAssumptions<'a>> {
    /// The plan in numbers.
    pub(super) fn planned(self, ask: &OnAssumptions<'a>, releases: Vec<Release>) -> Result<Planned, Error> {
        let Ended { white, last, inferred } = self;
        let errors = ask.errors(&last)?;
        let uneven = white.found.as_ref().map_or(0.0, |found| unevenness(found, white.features()));
        let errors = Expected {
            privacy_error: errors.privacy_error * (1.0 + uneven).sqrt(),
            widening: inferred.as_ref().map_or(1.0, |one| one.longer),
            ..errors
        };
        let (clip, steps) = (last.threshold.gamma, last.descent.steps());
        let may_bend = inferred.is_some_and(|one| one.may_bend);
        Ok(Planned {
            method: NAME,
            target: if may_bend { Target::Robust } else { ask.plan.request.target() },
            descent: Foretold { clip, steps, step_size: STEP_SIZE, errors },
            recommended: None,
            releases,
            left_out: white.left_out,
            kept: white.coordinates.kept,
            of_interest: ask.plan.wanted.as_ref().map(|wanted| wanted.coefficients.clone()),
            other_way: None,
        })
    }
}

/// Rows with these second moments.
struct Looking<'a> {
    plan: &'a Plan,
    moments: Mat<f64>,
    /// How unlike their weights are.
    unlike: f64,
}

impl Look for Looking<'_> {
    fn length(&mut self, top: f64, cut: f64, _spend: Spend) -> Result<Length, Error> {
        let length = length_exceeded_by(&self.moments, self.unlike, cut / self.plan.rows as f64);
        let radius = length.clamp(top / LADDER_SPAN, top);
        Ok(Length { radius, at_edge: length < radius, is_beyond: length > radius })
    }

    fn shares_longer(&mut self, radii: &[f64], _spend: Spend) -> Result<Vec<f64>, Error> {
        Ok(radii.iter().map(|&radius| share_longer_than(&self.moments, self.unlike, radius)).collect())
    }

    fn second_moments(&mut self, radius: f64, spend: Spend) -> Result<NoisyMatrix, Error> {
        let neighbours = self.plan.request.neighbours;
        let noise_sd = matrix_noise_sd(self.plan.rows, radius.powi(2), neighbours, spend.to_f64());
        Ok(NoisyMatrix { mean: self.moments.clone(), noise_sd })
    }
}

/// The variance of the eigenvalues, about one, that the noise of the rounds leaves in the
/// whitening: of a symmetric matrix whose entries off the diagonal have variance `s^2` it is
/// `k s^2` (Wigner). The noise of the descent counts more by that share.
fn unevenness(found: &Found, features: usize) -> f64 {
    let sd = found.law.entry_sd();
    let p = sd.nrows();
    let pairs = (p * p - p).max(1) as f64;
    let off_diagonal = (0..p).flat_map(|j| (0..p).map(move |k| (j, k))).filter(|(j, k)| j != k);
    let variance = off_diagonal.map(|at| sd[at].powi(2)).sum::<f64>() / pairs;
    (features as f64 * variance).min(MOST_UNEVEN)
}
