//! Rows that are what is left of the columns of interest and of the response, and what their mean
//! score says.

use faer::Mat;

use super::{
    super::{
        clip::Threshold,
        infer::{Inferred, Point, Rights},
        on_rows::OnRows,
        sequence::Descended,
        start::{Shrinkage, constant},
        whiten::White,
    },
    parts::Parts,
    split::UNEVEN,
};
use crate::{
    Error,
    descend::Trajectory,
    fit::Left,
    interval::{Curvature, Floor, Newton, Sampling, resolve},
    lattice::{Design, Whitening},
    matrix::{diagonal, dot, times},
    method::Target,
    plan::{skewed, white::clip_for_tail},
    privacy::noise::RandomWords,
};

/// A coefficient whose curvature stands less than this far above its noise is not identified.
const RESOLVED: f64 = 5.0;
/// What is seen of the noise of a descent counts this many times, against what is expected of it.
const SEEN: f64 = 1.5;

/// What a descent says, in its coordinates: released numbers.
pub(in crate::method::auto) struct Estimate {
    pub theta: Vec<f64>,
    /// The variance of the noise of each coordinate.
    pub noise_var: f64,
    /// Half the difference of what its earlier and its later steps say, squared.
    pub apart_sq: f64,
}

/// Rows of what is left, and what two descents leave of their errors.
pub(in crate::method::auto) struct Scores {
    /// The coordinates: one for each column of interest.
    pub white: White,
    /// The controls that are in the model.
    pub controls: Vec<usize>,
    /// Where the response was left, in these coordinates.
    pub at: Vec<f64>,
    /// What the product of two errors adds to the variance of each mean score.
    pub added: Vec<f64>,
    /// The standard deviation of the errors that is 1 there.
    pub unit: f64,
    /// What the noise of each column's descent adds to the second moment of what it leaves.
    pub taken: Vec<f64>,
}

/// A column's descent, shrunk.
struct Partial {
    theta: Vec<f64>,
    /// The mean squared error that shrinking leaves, and the part of it that is noise.
    error_sq: f64,
    noise_sq: f64,
}

impl Scores {
    pub(super) fn of(
        parts: &Parts,
        (b, threshold): (&Estimate, &Threshold),
        g: &[Estimate],
        (design, target): (&Design, Target),
    ) -> Scores {
        let m = parts.whole.features();
        let error_sd = threshold.gamma / clip_for_tail(m, 1.0, threshold.tail.clamp(1e-6, 0.9));
        let partial: Vec<Partial> =
            g.iter().enumerate().map(|(place, one)| Partial::of(one, &parts.controls_of(place), design)).collect();
        let whitening = whitening(parts, &times(&parts.whole.whitening.matrix(), &b.theta), &partial, error_sd);
        // What clipping takes from the mean of skewed errors is no error of a robust fit.
        let bend = if target == Target::Robust { 0.0 } else { skewed::excess(threshold.tail) };
        let product = |one: &Partial| {
            let model = UNEVEN * m as f64 * b.noise_var / error_sd.powi(2);
            let seen = SEEN * b.apart_sq / error_sd.powi(2);
            (model.max(seen) + bend.powi(2)) * one.error_sq / m as f64
        };
        let added = partial.iter().map(product).collect();
        let taken = partial.iter().map(|one| one.noise_sq).collect();
        Scores { controls: parts.controls(), ..Scores::of_rows(whitening, &parts.wanted, error_sd, added, taken) }
    }

    /// The same with mean scores of a variance that is larger by this.
    pub(super) fn with_added(mut self, variance: f64) -> Scores {
        self.added.iter_mut().for_each(|added| *added += variance);
        self
    }

    /// Of rows of this many cells that an earlier fit left.
    pub(super) fn again(left: &Left, cells: usize) -> Scores {
        let whitening = Whitening::with_response(left.matrix.as_ref(), &left.response);
        let whitening = if left.matrix.nrows() > cells { whitening.beside_half() } else { whitening };
        Scores::of_rows(whitening, &left.parameters, left.unit, left.added.clone(), left.taken.clone())
    }

    /// Of rows that become these, where `unit` is 1.
    fn of_rows(whitening: Whitening, wanted: &[usize], unit: f64, added: Vec<f64>, taken: Vec<f64>) -> Scores {
        let mut white = White::new(whitening, wanted.to_vec());
        white.coordinates.basis = &white.coordinates.basis * faer::Scale(1.0 / unit);
        let left = white.whitening.response_weights().expect("the response is made anew");
        let b_of_wanted: Vec<f64> = wanted.iter().map(|&j| -left[j] * unit).collect();
        let at = times(&white.coordinates.basis, &b_of_wanted);
        Scores { controls: Vec::new(), unit, at, white, added, taken }
    }

    /// What is enough to ask for them once more.
    pub(super) fn left(&self) -> Left {
        Left {
            parameters: self.white.coordinates.kept.clone(),
            matrix: self.white.whitening.matrix(),
            response: self.white.whitening.response_weights().expect("the response is made anew"),
            unit: self.unit,
            added: self.added.clone(),
            taken: self.taken.clone(),
        }
    }
}

impl Partial {
    /// A column of interest that hardly depends on the controls is left as it is: the noise of its
    /// descent is then all that the descent would add (James and Stein 1961). The response is not
    /// shrunk: two errors that both shrink are aligned.
    fn of(estimate: &Estimate, controls: &White, design: &Design) -> Partial {
        let (constant, m) = (constant(design, controls), estimate.theta.len() as f64);
        let noise_var = estimate.noise_var.max(estimate.apart_sq / m);
        let shrinkage = Shrinkage::of(&estimate.theta, noise_var, constant.as_deref());
        let (noise, kept) = (m * noise_var, shrinkage.kept);
        let signal = (shrinkage.free_sq - noise).max(0.0) + noise * (2.0 / m).sqrt();
        let noise_sq = kept.powi(2) * noise;
        Partial {
            theta: shrinkage.of_point(&estimate.theta, constant.as_deref()),
            error_sq: noise_sq + (1.0 - kept).powi(2) * signal,
            noise_sq,
        }
    }
}

/// `(x_j / s_j - (P_C g_j)'x)` for each column, and the residual of the response over the size of
/// the errors.
fn whitening(parts: &Parts, b: &[f64], partial: &[Partial], error_sd: f64) -> Whitening {
    let mut matrix = Mat::zeros(b.len(), partial.len());
    for (place, one) in partial.iter().enumerate() {
        let of_controls = times(&parts.controls_of(place).whitening.matrix(), &one.theta);
        of_controls.iter().enumerate().for_each(|(j, weight)| matrix[(j, place)] = -weight);
        matrix[(parts.wanted[place], place)] += 1.0 / parts.scales[place];
    }
    let weights: Vec<f64> = b.iter().map(|b| -b / error_sd).chain([1.0 / error_sd]).collect();
    Whitening::with_response(matrix.as_ref(), &weights)
}

impl Estimate {
    /// What `of` says of a run in which a share of the rows was to be clipped, and of its halves
    /// once the start is forgotten, as if they were the whole run.
    pub(in crate::method::auto) fn of(run: &Trajectory, tail: f64, of: impl Fn(&Trajectory) -> Vec<f64>) -> Estimate {
        let (steps, from) = (run.gradient.len(), run.gradient.len() / 4);
        let middle = usize::midpoint(from, steps);
        let part = |from: usize, to: usize| {
            let (theta, gradient) = (run.theta[from..=to].to_vec(), run.gradient[from..to].to_vec());
            of(&Trajectory { theta, gradient, ..*run })
        };
        let (earlier, later) = (part(from, middle), part(middle, steps));
        let apart: Vec<f64> = earlier.iter().zip(&later).map(|(a, b)| 0.5 * (a - b)).collect();
        let noise_var = run.noise_sd.powi(2) / steps as f64 / (1.0 - tail).powi(2);
        let apart_sq = dot(&apart, &apart) * (steps - from) as f64 / steps as f64;
        Estimate { theta: of(run), noise_var, apart_sq }
    }
}

impl<R: RandomWords> OnRows<'_, R> {
    /// Releases the curvature and the covariance of scores, and makes intervals of them; `None` if
    /// no coefficient is identified.
    pub(in crate::method::auto) fn release_for_scores(
        &mut self,
        scores: &Scores,
        last: &Descended<Self>,
        rights: Rights,
    ) -> Result<Option<Inferred>, Error> {
        let Scores { white, at, added, taken, .. } = scores;
        let (k, plan) = (white.features(), self.plan);
        let point = Point { theta: last.descent.lattice().theta(&vec![0.0; k]), descent: &last.descent };
        let noisy = self.curvature(white, &point, rights.curvature)?;
        let spread = self.spread(&point, rights.spread.expect("scores have a variance"))?;
        let mean = &noisy.mean - diagonal(taken);
        let law = Curvature::released(mean.clone(), noisy.noise_sd)?;
        let places = match &plan.earlier {
            // It has settled which are identified.
            Some(earlier) => {
                (0..k).filter(|&place| earlier.newton.kept().contains(&white.coordinates.kept[place])).collect()
            }
            None => resolve(&law, &white.coordinates.basis, &Floor::none(k), RESOLVED).kept,
        };
        if places.is_empty() {
            return Ok(None);
        }
        let coordinates = white.coordinates.only(&places);
        let dropped = (0..k).filter(|place| !places.contains(place)).map(|place| white.coordinates.kept[place]);
        let sampled = if plan.rules().covers_population() { spread.mean } else { Mat::zeros(k, k) };
        let noise_sd = if plan.rules().covers_population() { spread.noise_sd } else { 0.0 };
        let spread = sampled + diagonal(added) * faer::Scale(plan.rows as f64);
        let sampling = Sampling::from_matrix(plan.rows, spread, noise_sd)?;
        let curvature = Curvature::of_scaled_columns(mean, noisy.noise_sd)?;
        // The mean score was taken where the response was left.
        let run = Trajectory { theta: vec![at.clone(), at.clone()], gradient: last.run.gradient.clone(), ..last.run };
        let newton = Newton::new(&run, &coordinates, &curvature, Some(&sampling))?;
        let newton = match &plan.earlier {
            Some(earlier) => earlier.newton.pooled(&newton)?,
            None => newton.withholding(scores.controls.clone()),
        };
        Ok(Some(Inferred { newton, evidence: None, dropped: dropped.collect(), bend: None, quality: None }))
    }
}
