//! One regressor with one instrument, by second moments of all columns together.
//!
//! Controls `w`, the instrument `z`, the regressor `x` and the response `y` are whitened together
//! and the second moments `M` of rows, of which few are shortened, are released. With `a` what is
//! new in `z` beside `w`, in these moments, the estimate is `b = a'My / a'Mx`, and a value `b0` is
//! not rejected where `(a'M(y - b0 x))^2 <= z^2 var(b0)` (Anderson and Rubin 1949). That holds
//! however weak the instrument is.
//!
//! The variance has two parts. Of `a'M(y - b0 x)`, the noise of `M` moves `a'E(e_y - b0 e_x)`, with
//! `e` what is new in `y` and `x` beside `w`: what noise does to the projections is of second
//! order, since `a` and `e` are orthogonal to `w`. Sampling moves it by the mean of
//! `a_i (e_y - b0 e_x)_i`, whose 2 x 2 covariance is a release of its own: that of clipped
//! gradients of rows `(e_y, e_x)` with the residual `a`. It is clipped at twice the length that
//! counts find, since a covariance that is cut short makes intervals short. Persons with several
//! rows contribute the sum over their rows, so that it is clustered.

use faer::Mat;

use super::{
    NAME, Plan, ask::Ask, clip::GammaLadder, infer::Point, on_rows::OnRows, sequence::Sequence, whiten::White,
};
use crate::{
    Error, FirstStage, MethodSummary, Progress,
    interval::{Inference, Instrumented},
    lattice::{Design, Whitening},
    matrix::{Eigen, columns, dot, inverse, quadratic, times, transposed_times},
    method::{Outcome, noisy::NoisyMatrix, with_precision},
    plan::counts::CLIP_THRESHOLDS,
    privacy::{Budget, noise::RandomWords},
    rows::Rows,
    theory::student::t_two_sided_p,
    warning::Warning,
};

/// The share of the budget for the covariance of the moments, and for the length it is clipped at:
/// of the error of an interval the covariance makes little, as it enters by its root.
const SPREAD_SHARE: f64 = 0.1;
const LENGTH_SHARE: f64 = 0.01;
/// Where that length is looked for, in units of white columns.
const TOP: f64 = 128.0;
/// Rows are clipped at this many times the length that few exceed.
const WIDER: f64 = 2.0;
/// What the residual is multiplied by as a column, so that its own square adds little to the length
/// of a gradient. A power of two.
const SMALL: f64 = 1.0 / 16.0;

/// Where columns are among those that were kept.
struct Places {
    instrument: usize,
    regressor: usize,
    response: usize,
    controls: Vec<usize>,
}

impl Places {
    /// `None` if the budget does not resolve one of the three.
    fn of(kept: &[usize], all: &Design, names: &[String; 3]) -> Option<Places> {
        let place = |name: &String| kept.iter().position(|&slot| all.names()[slot] == *name);
        let [instrument, regressor, response] = names.each_ref().map(place);
        let (instrument, regressor, response) = (instrument?, regressor?, response?);
        let is_control = |place: &usize| ![instrument, regressor, response].contains(place);
        let controls = (0..kept.len()).filter(is_control).collect();
        Some(Places { instrument, regressor, response, controls })
    }
}

/// What is new beside the controls in the instrument, whose second moment is 1, in the response and
/// in the regressor.
struct New {
    instrument: Vec<f64>,
    of: [Vec<f64>; 2],
    /// The root mean squares of the latter two.
    size: [f64; 2],
    /// Their products with the instrument.
    moments: [f64; 2],
}

impl New {
    /// `None` if noise has left nothing of one of them.
    fn of(moments: &Mat<f64>, basis: &Mat<f64>, places: &Places) -> Option<New> {
        let controls = columns(basis, &places.controls);
        let gram = inverse(&(controls.transpose() * moments * &controls));
        let new = |place: usize| {
            let column = basis.col_as_slice(place);
            let shared = times(&controls, &times(&gram, &transposed_times(&controls, &times(moments, column))));
            column.iter().zip(shared).map(|(column, shared)| column - shared).collect::<Vec<f64>>()
        };
        let size =
            |direction: &[f64]| Some(quadratic(moments, direction)).filter(|square| *square > 0.0).map(f64::sqrt);
        let instrument = new(places.instrument);
        let length = size(&instrument)?;
        let instrument: Vec<f64> = instrument.iter().map(|one| one / length).collect();
        let of = [new(places.response), new(places.regressor)];
        let with = times(moments, &instrument);
        Some(New {
            size: [size(&of[0])?, size(&of[1])?],
            moments: of.each_ref().map(|one| dot(&with, one)),
            instrument,
            of,
        })
    }

    /// The covariance that noise with this standard deviation, smaller by `sqrt 2` off the
    /// diagonal, gives the products.
    fn of_noise(&self, noise_sd: f64) -> Mat<f64> {
        let (a, square) = (&self.instrument, dot(&self.instrument, &self.instrument));
        let entry = |u: &[f64], v: &[f64]| 0.5 * noise_sd * noise_sd * (square * dot(u, v) + dot(a, u) * dot(a, v));
        Mat::from_fn(2, 2, |j, k| entry(&self.of[j], &self.of[k]))
    }

    /// Rows to `(e_y, e_x, a)`, the first two about 1 and the last small.
    fn whitening(&self) -> Whitening {
        let column = |row: usize, k: usize| match k {
            2 => SMALL * self.instrument[row],
            _ => self.of[k][row] / self.size[k],
        };
        Whitening::new(Mat::from_fn(self.instrument.len(), 3, column).as_ref())
    }
}

impl Plan {
    /// Releases the moments of a model with an instrument, and what its intervals need.
    pub(super) fn run_instrumented<R: RandomWords>(
        &self,
        rows: &mut dyn Rows,
        (design, all): (&Design, &Design),
        rng: &mut R,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let mut budget = Budget::new(self.request.rho);
        let ask = &mut OnRows::new(self, all, rows, rng);
        let mut sequence = self.sequence(all, &mut budget, ask, progress);
        let white = sequence.whiten()?;
        let (found, summary) = sequence.instrumented(&white, design)?;
        self.instrumented_outcome(found, (summary, &white), design, budget)
    }

    fn instrumented_outcome(
        &self,
        found: Option<Instrumented>,
        (summary, white): (MethodSummary, &White),
        design: &Design,
        budget: Budget,
    ) -> Result<Outcome, Error> {
        let outcome = Outcome::of(self.request.target(), summary, budget.releases(), Vec::new());
        let left_out = white.left_out.clone();
        let warnings = [
            (!left_out.is_empty()).then(|| Warning::LeftOut { columns: left_out.clone() }),
            white.at_edge.then_some(Warning::LevelAtEdge),
        ];
        let outcome = Outcome { warnings: warnings.into_iter().flatten().collect(), left_out, ..outcome };
        let Some(found) = found else { return Ok(outcome.of_nothing(design)) };
        let contrasts = design.contrasts();
        let strength = found.strength();
        let inference = Inference::from(found);
        let intervals = inference.intervals(&contrasts, self.request.level)?;
        let model = design.model();
        let first_stage = FirstStage {
            regressor: model.endogenous().unwrap_or_default(),
            instrument: model.instrument().unwrap_or_default(),
            statistic: strength,
            p_value: t_two_sided_p(strength.sqrt(), f64::INFINITY),
            excluded: intervals.iter().find(|one| one.identified).and_then(|one| one.excluded(self.request.level)),
        };
        let named = design.names().iter().cloned().zip(&intervals);
        Ok(Outcome {
            coefficients: named.map(|(name, interval)| with_precision(name, interval)).collect(),
            first_stage: Some(first_stage),
            inference: Some(inference),
            ..outcome
        })
    }
}

impl<R: RandomWords> Sequence<'_, OnRows<'_, R>> {
    fn instrumented(&mut self, white: &White, design: &Design) -> Result<(Option<Instrumented>, MethodSummary), Error> {
        let (plan, features) = (self.plan, white.features());
        let radius = self.length_of_whitened(features, "length of rows")?;
        let names = design.model().moment_names().expect("the model has an instrument");
        let places = Places::of(&white.coordinates.kept, self.design, &names);
        let rights = match places {
            None => None,
            Some(_) => Some((
                self.spend("length of the instrument's moments", LENGTH_SHARE)?,
                self.spend("covariance of the instrument's moments", SPREAD_SHARE)?,
            )),
        };
        let rest = self.budget.spend_rest("second moments of all columns")?;
        let moments = self.ask.look().second_moments(radius, rest)?;
        let summary = MethodSummary::new(NAME, radius, 0, 0.0, moments.noise_sd);
        let new = places.as_ref().and_then(|places| New::of(&moments.mean, &white.coordinates.basis, places));
        let Some(((length, spread), new)) = rights.zip(new) else { return Ok((None, summary)) };
        self.ask.turn(&new.whitening())?;
        // The residual is what the point takes away from a response of 0.
        let at = vec![0.0, 0.0, 1.0 / SMALL];
        let ladder = GammaLadder { top: TOP, thresholds: CLIP_THRESHOLDS, per_doubling: 8.0 };
        let gamma = WIDER * self.threshold(&at, &ladder, 0.0, length)?.gamma;
        let descent = plan.descent(at.len(), gamma, 1, spread.to_f64())?;
        let at = Point { theta: descent.lattice().theta(&at), descent: &descent };
        let spread = self.ask.spread(&at, spread)?;
        let place = design.names().iter().position(|name| *name == names[1]).expect("a term of the model");
        Ok((Some(plan.instrumented(&new, (&moments, &spread), (place, design.features()))), summary))
    }
}

impl Plan {
    /// The ratio of the two products and the variance of each value that it may have.
    fn instrumented(
        &self,
        new: &New,
        (moments, spread): (&NoisyMatrix, &NoisyMatrix),
        (place, parameters): (usize, usize),
    ) -> Instrumented {
        let two = Mat::from_fn(2, 2, |j, k| spread.mean[(j, k)]);
        // Noise may have made a variance negative.
        let two = Eigen::of(two.as_ref()).map_or(two, |found| found.map(|value| value.max(0.0)));
        let per_row = if self.rules().covers_population() { 1.0 / self.rows as f64 } else { 0.0 };
        let noise = new.of_noise(moments.noise_sd);
        let covariance = Mat::from_fn(2, 2, |j, k| per_row * new.size[j] * new.size[k] * two[(j, k)] + noise[(j, k)]);
        let [y, x] = new.moments;
        let estimate = y / x;
        let of_sizes = new.size[0].powi(2) + (estimate * new.size[1]).powi(2);
        Instrumented {
            place,
            parameters,
            moments: [y, x],
            covariance: [covariance[(0, 0)], covariance[(0, 1)], covariance[(1, 1)]],
            covariance_sd: per_row * spread.noise_sd * of_sizes,
        }
    }
}
