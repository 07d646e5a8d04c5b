//! Estimates and intervals from what the descent released, and whether clipping biases them away
//! from least squares.

use crate::privacy::noise::RandomWords;
use faer::Mat;

use super::{
    Plan,
    on_rows::OnRows,
    quality::Quality,
    sequence::Descended,
    whiten::{UNIT, White},
};
use crate::{
    Error, Progress,
    descend::{Descent, Trajectory},
    interval::{Coordinates, Curvature, Evidence, Floor, Newton, Sparse, resolve},
    lattice::{ClippedOuter, Design, Theta},
    matrix::{inverse, times, transposed_times},
    method::noisy::NoisyMatrix,
    plan::white::clip_for_tail,
    privacy::Spend,
    theory::student::normal_quantile,
};

/// The curvature is released with rows shortened to this many times `sqrt p`, or more where this
/// much noise on an entry allows it.
const CURVATURE_RADIUS: f64 = std::f64::consts::SQRT_2;
const CURVATURE_NOISE: f64 = 0.1;
/// A column whose curvature stands less than this far above its noise would make every interval
/// unbounded: it is left out after all.
const RESOLVED: f64 = 3.0;
/// The test for bias by clipping is made at a clip this many times as wide: at a quarter of it a
/// gradient is little more than the sign of a residual, which one row moves little, so that skewed
/// errors stand out. At a wider clip its noise would be ten times that of the estimate.
const NARROWER: f64 = 0.25;
/// The curvature at that clip is at most this share of the second moments for normal errors clipped
/// at 3.3 standard deviations or less.
const STEEPEST: f64 = 0.6;
/// Errors as skewed as exponential ones must be seen with this probability, or a fit that clipping
/// could bias is not called least squares.
const SURELY_SEEN: f64 = 0.9;
/// Its false-alarm rate. A false alarm costs a sentence, since both coefficients are the same then;
/// a fit that is biased without saying so has intervals for something else.
const FALSE_ALARM: f64 = 0.05;

/// The rights to release what intervals need.
pub(super) struct Rights {
    pub curvature: Spend,
    pub spread: Option<Spend>,
    pub bend: Option<Spend>,
}

/// What intervals are made from.
pub(super) struct Inferred {
    pub newton: Newton,
    /// What that was computed from; `None` if it was pooled with an earlier fit's.
    pub evidence: Option<Evidence>,
    /// Standardised parameters that were in the descent and could not be resolved by the curvature.
    pub dropped: Vec<usize>,
    /// What the test for bias by clipping saw; `None` if it was not made.
    pub bend: Option<Bend>,
    /// How well the model fits, where that was released.
    pub quality: Option<Quality>,
}

/// What the test of whether clipping biases the fit saw.
pub(super) struct Bend {
    /// Standardised parameters that clipping moves; empty if the test does not reject.
    pub moved: Vec<usize>,
    /// Whether it would have seen errors as skewed as exponential ones.
    pub is_sharp: bool,
}

/// Where the curvature is taken, and the descent whose clip and lattice it shares.
pub(super) struct Point<'a> {
    pub theta: Theta,
    pub descent: &'a Descent,
}

/// What is estimated, whether the first parameter is the constant, about how large errors are, and
/// the share of rows that was to be clipped.
struct Estimate<'a> {
    newton: &'a Newton,
    coordinates: &'a Coordinates,
    has_intercept: bool,
    error_sd: f64,
    tail: f64,
}

impl<R: RandomWords> OnRows<'_, R> {
    /// Releases what intervals need at the end of a run in which a share of the rows was to be
    /// clipped, and makes them.
    pub(super) fn release_for_intervals(
        &mut self,
        white: &White,
        last: &Descended<Self>,
        rights: Rights,
    ) -> Result<Inferred, Error> {
        let (plan, design) = (self.plan, self.design);
        let Descended { threshold, descent, run } = last;
        let (at, tail) = (Point { theta: descent.lattice().theta(&late_mean(run)), descent }, threshold.tail);
        let error_sd = descent.gamma() / clip_for_tail(white.features(), 1.0, tail);
        let noisy = self.curvature(white, &at, rights.curvature)?;
        let spread = rights.spread.map(|spend| self.spread(&at, spend)).transpose()?;
        let Coordinates { kept, basis, .. } = white.coordinates.clone();
        let evidence = Evidence {
            kept,
            basis,
            curvature: noisy.as_released(),
            spread: spread.as_ref().map(NoisyMatrix::as_released),
            contrasts: Sparse::of(&design.contrasts()),
        };
        let curvature = evidence.curvature()?;
        let (coordinates, dropped) = plan.in_model(&curvature, &white.coordinates, design);
        let newton = evidence.newton(run, &coordinates, &curvature, plan.rows)?;
        let (newton, evidence) = match &plan.earlier {
            Some(earlier) => (earlier.newton.pooled(&newton)?, None),
            None => (newton, Some(evidence)),
        };
        let has_intercept = design.has_intercept() && coordinates.kept.first() == Some(&0);
        let estimate = Estimate { newton: &newton, coordinates: &coordinates, has_intercept, error_sd, tail };
        let bend = rights.bend.map(|spend| self.bend(&estimate, descent, spend)).transpose()?;
        // The gradient of a person with several rows is no residual, nor is that of a weighted row.
        let rows_in_unit = self.white().0.rows_in_unit();
        let of_rows = rows_in_unit.is_none_or(|most| most == 1) && design.weights().is_none();
        let spread = spread.as_ref().filter(|_| of_rows);
        let quality = spread.and_then(|spread| plan.quality(white, spread, descent.gamma(), &newton, design));
        Ok(Inferred { newton, evidence, dropped, bend, quality })
    }

    /// `(1/n) sum z z'` over rows that are not clipped, each shortened to the radius: as long as
    /// few rows are cut, and no longer than keeps the noise low.
    pub(super) fn curvature(&mut self, white: &White, at: &Point<'_>, spend: Spend) -> Result<NoisyMatrix, Error> {
        let longest = self.plan.curvature_length(white, spend.to_f64());
        let radius = (longest * UNIT).ceil() as u64;
        let theta_unit = at.descent.lattice().theta_unit();
        let unclipped = ClippedOuter::Unclipped { theta: &at.theta, theta_unit, radius };
        self.release_mean(at, &unclipped, UNIT, spend)
    }

    /// `(1/n) sum g g'` over clipped gradients.
    pub(super) fn spread(&mut self, at: &Point<'_>, spend: Spend) -> Result<NoisyMatrix, Error> {
        let (lattice, clip) = (at.descent.lattice(), at.descent.clip());
        let unit = lattice.gradient_unit() / f64::from(clip.gradient_shift()).exp2();
        let gradients = ClippedOuter::Gradient { theta: &at.theta, theta_unit: lattice.theta_unit() };
        self.release_mean(at, &gradients, unit, spend)
    }

    fn release_mean(
        &mut self,
        at: &Point<'_>,
        outer: &ClippedOuter<'_>,
        unit: f64,
        spend: Spend,
    ) -> Result<NoisyMatrix, Error> {
        let neighbours = self.plan.request.neighbours;
        let (rows, rng) = self.white();
        let rows = rows.clipped(at.descent.clip(), None)?;
        NoisyMatrix::release_clipped(rows.as_ref(), outer, unit, neighbours, spend, rng)
    }

    /// The parameters that clipping moves away from least squares, by a test on the mean gradient
    /// at the estimate under a narrower clip.
    ///
    /// Where errors are symmetric that gradient is zero on average at any clip, and clipping makes
    /// no bias. Its covariance is that of its own noise, of sampling (a clipped gradient is no
    /// longer than the clip) and, through the curvature, of the estimate. Second moments in
    /// whitened coordinates are near one, so that the gradient, seen from the kept parameters, is
    /// also the direction of their bias.
    fn bend(&mut self, estimate: &Estimate<'_>, descent: &Descent, spend: Spend) -> Result<Bend, Error> {
        let Estimate { newton, coordinates, has_intercept, error_sd, tail } = *estimate;
        let theta = newton.parameters();
        let kept: Vec<f64> = coordinates.kept.iter().map(|&j| theta[j]).collect();
        let at = times(&coordinates.basis, &kept);
        let narrow = self.plan.descent(at.len(), NARROWER * descent.gamma(), 1, spend.to_f64())?;
        let (rows, rng) = self.white();
        let seen = narrow.run(rows.as_mut(), &at, spend, rng, Progress::NONE)?;
        let gram = coordinates.basis.transpose() * &coordinates.basis;
        let inverse_gram = inverse(&gram);
        let shift = times(&inverse_gram, &transposed_times(&coordinates.basis, &seen.gradient[0]));
        let noise = seen.noise_sd.powi(2) + narrow.gamma().powi(2) / (at.len() as f64 * self.plan.rows as f64);
        let of_estimate = newton.covariance();
        let entry = |j: usize, k: usize| STEEPEST.powi(2) * of_estimate[(j, k)] + noise * inverse_gram[(j, k)];
        let covariance = Mat::from_fn(kept.len(), kept.len(), entry);
        let precision = inverse(&covariance);
        // The constant, which skewed errors move before anything else, by the estimate that is most
        // precise if no other coefficient moves.
        let ratio = |place: usize| match place {
            0 if has_intercept => times(&precision, &shift)[0].abs() / precision[(0, 0)].sqrt(),
            _ => shift[place].abs() / covariance[(place, place)].sqrt(),
        };
        let moved = (0..kept.len()).filter(|&place| ratio(place) > limit(place, kept.len(), has_intercept));
        let per_row = NARROWER * descent.gamma() / (error_sd * (at.len() as f64).sqrt());
        // Such errors move the fit itself by the share clipped, so that less of it is seen from
        // there.
        let seen = error_sd * (exponential_shift(per_row) - STEEPEST * tail) * precision[(0, 0)].sqrt();
        let is_sharp = seen > limit(0, kept.len(), has_intercept) - normal_quantile(1.0 - SURELY_SEEN);
        Ok(Bend { moved: moved.map(|place| coordinates.kept[place]).collect(), is_sharp })
    }
}

impl Plan {
    /// The coordinates of the columns that the curvature resolves, and the standardised parameters
    /// of the others.
    pub(super) fn in_model(
        &self,
        curvature: &Curvature,
        all: &Coordinates,
        design: &Design,
    ) -> (Coordinates, Vec<usize>) {
        let places = self.resolved(curvature, all, design);
        let dropped = (0..all.kept.len()).filter(|place| !places.contains(place)).map(|place| all.kept[place]);
        (all.only(&places), dropped.collect())
    }

    /// The kept columns that the curvature resolves, by their places; all of them where an earlier
    /// fit has decided which are in the model.
    fn resolved(&self, curvature: &Curvature, all: &Coordinates, design: &Design) -> Vec<usize> {
        if self.earlier.is_some() {
            return (0..all.kept.len()).collect();
        }
        let needs = needs_among(&all.kept, &design.margins());
        let first = places_among(&all.kept, &self.kept_terms(design));
        let floor = Floor { needs, first, has_constant: design.has_intercept(), ..Floor::none(all.kept.len()) };
        let places = resolve(curvature, &all.basis, &floor, RESOLVED).kept;
        if places.is_empty() { vec![0] } else { places }
    }

    /// The length to which rows are shortened for the curvature, unless they have been shortened
    /// already.
    pub(super) fn curvature_length(&self, white: &White, rho: f64) -> f64 {
        white.row_length.unwrap_or_else(|| self.curvature_radius(white.radius, white.features(), rho))
    }

    /// Noise on an entry is `R^2 / (n sqrt(rho))`; `longest` is a length that few rows exceed.
    pub(super) fn curvature_radius(&self, longest: f64, features: usize, rho: f64) -> f64 {
        let affordable = (CURVATURE_NOISE * self.rows as f64 * rho.sqrt()).sqrt();
        longest.min(affordable).max(CURVATURE_RADIUS * (features as f64).sqrt())
    }
}

/// How far a coefficient must be off to be named: half of the false alarms are the constant's, and
/// the others share the rest.
fn limit(place: usize, kept: usize, has_intercept: bool) -> f64 {
    let share = match (has_intercept && kept > 1, place) {
        (true, 0) => 0.5,
        (true, _) => 0.5 / (kept - 1) as f64,
        (false, _) => 1.0 / kept as f64,
    };
    -normal_quantile(FALSE_ALARM * share / 2.0)
}

/// The mean of errors that follow a centred exponential distribution of standard deviation 1,
/// clipped at `clip`, or at 1 where that is less: `c - 2 sinh(c) / e`.
fn exponential_shift(clip: f64) -> f64 {
    let clip = clip.min(1.0);
    clip - 2.0 * clip.sinh() / std::f64::consts::E
}

/// What each of the kept columns can only be kept with, by its place among them.
fn needs_among(kept: &[usize], needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    kept.iter().map(|&j| places_among(kept, &needs[j])).collect()
}

/// The places of some columns among those that are kept.
fn places_among(kept: &[usize], columns: &[usize]) -> Vec<usize> {
    columns.iter().filter_map(|column| kept.iter().position(|one| one == column)).collect()
}

/// The first steps, one in `SKIPPED_PART`, are still on their way.
const SKIPPED_PART: usize = 10;

/// The mean of the iterates after the first.
pub(super) fn late_mean(run: &Trajectory) -> Vec<f64> {
    mean(&run.theta[run.theta.len() / SKIPPED_PART..])
}

/// An estimate without intervals: one Newton step from the mean iterate in the directions that were
/// stretched to full length, where the curvature is about the share of rows that are not clipped.
/// In the other directions the descent has hardly moved, and a step would divide noise by noise:
/// they keep the mean of the late iterates, which shrinks them.
pub(super) fn predicted(run: &Trajectory, moments: &[f64], tail: f64) -> Vec<f64> {
    let steps = run.gradient.len();
    let (theta, gradient, late) = (mean(&run.theta[..steps]), mean(&run.gradient), late_mean(run));
    let stepped = |j: usize| theta[j] - gradient[j] / (1.0 - tail);
    (0..late.len()).map(|j| if moments[j] >= 1.0 { stepped(j) } else { late[j] }).collect()
}

pub(super) fn mean(vectors: &[Vec<f64>]) -> Vec<f64> {
    let coordinate = |j: usize| vectors.iter().map(|v| v[j]).sum::<f64>() / vectors.len() as f64;
    (0..vectors[0].len()).map(coordinate).collect()
}
