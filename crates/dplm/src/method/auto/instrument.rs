//! One regressor with instruments, by second moments of all columns together.
//!
//! Controls `w`, instruments `z`, the regressor `x` and the response `y` are whitened together and
//! the second moments `M` of rows, of which few are shortened, are released. With `a` what is new
//! in `z` beside `w`, in these moments, the estimate from one instrument is `b = a'My / a'Mx`, and
//! a value `b0` is not rejected where `(a'M(y - b0 x))^2 <= z^2 var(b0)` (Anderson and Rubin 1949).
//! That holds however weak the instrument is. Several instruments are in `instruments.rs`.
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
    NAME, Plan,
    ask::Ask,
    clip::GammaLadder,
    infer::Point,
    on_rows::OnRows,
    sequence::Sequence,
    whiten::{White, length_exceeded_by},
};
use crate::{
    Disagreement, Error, FirstStage, MethodSummary, Piece, Progress,
    formula::MomentNames,
    interval::{Inference, Instrumented, Overidentified, chi_square_tail},
    lattice::{Design, Whitening},
    matrix::{Eigen, columns, dot, inverse, quadratic, times, transposed_times},
    method::{Outcome, noisy::NoisyMatrix, with_precision},
    plan::counts::CLIP_THRESHOLDS,
    privacy::{Budget, Spend, noise::RandomWords},
    rows::Rows,
    warning::Warning,
};

/// The share of the budget for the covariance of the moments, and for the length it is clipped at:
/// of the error of an interval the covariance makes little, as it enters by its root.
const SPREAD_SHARE: f64 = 0.1;
const LENGTH_SHARE: f64 = 0.01;
/// About what is left of the budget for the second moments.
const SHARE_OF_MOMENTS: f64 = 0.75;
/// Where that length is looked for, in units of white columns.
const TOP: f64 = 128.0;
/// Rows are clipped at this many times the length that few exceed.
const WIDER: f64 = 2.0;
/// What the residual is multiplied by as a column, so that its own square adds little to the length
/// of a gradient. A power of two.
pub(super) const SMALL: f64 = 1.0 / 16.0;

/// Where columns are among those that were kept.
struct Places {
    instruments: Vec<usize>,
    regressor: usize,
    response: usize,
    controls: Vec<usize>,
}

impl Places {
    /// `None` if the budget does not resolve the regressor, the response, or any instrument.
    fn of(kept: &[usize], all: &Design, names: &MomentNames) -> Option<Places> {
        let place = |name: &String| kept.iter().position(|&slot| all.names()[slot] == *name);
        let instruments: Vec<usize> = names.instruments.iter().filter_map(place).collect();
        let (regressor, response) = (place(&names.regressor)?, place(&names.response)?);
        let is_control = |place: &usize| !instruments.contains(place) && ![regressor, response].contains(place);
        let controls = (0..kept.len()).filter(is_control).collect();
        (!instruments.is_empty()).then_some(Places { instruments, regressor, response, controls })
    }
}

/// What is new beside the controls in the instruments, whose second moments are those of white
/// columns, in the response and in the regressor.
pub(super) struct New {
    /// One column for each instrument.
    pub instruments: Mat<f64>,
    pub of: [Vec<f64>; 2],
    /// The root mean squares of the latter two.
    pub size: [f64; 2],
    /// Their products with the instruments.
    pub moments: [Vec<f64>; 2],
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
        let instruments: Vec<Vec<f64>> = places.instruments.iter().map(|&place| new(place)).collect();
        let instruments = Mat::from_fn(basis.nrows(), instruments.len(), |j, k| instruments[k][j]);
        let of_instruments = Eigen::of((instruments.transpose() * moments * &instruments).as_ref())?;
        if of_instruments.values[0] <= 0.0 {
            return None;
        }
        let instruments = instruments * of_instruments.map(|value| value.sqrt().recip());
        let of = [new(places.response), new(places.regressor)];
        let [response, regressor] = of.each_ref().map(|one| length(moments, one));
        let with = moments * &instruments;
        Some(New {
            size: [response?, regressor?],
            moments: of.each_ref().map(|one| transposed_times(&with, one)),
            instruments,
            of,
        })
    }

    /// The covariance that noise with this standard deviation, smaller by `sqrt 2` off the
    /// diagonal, gives the products of one instrument.
    fn of_noise(&self, noise_sd: f64) -> Mat<f64> {
        let a = self.instruments.col_as_slice(0);
        let square = dot(a, a);
        let entry = |u: &[f64], v: &[f64]| 0.5 * noise_sd * noise_sd * (square * dot(u, v) + dot(a, u) * dot(a, v));
        Mat::from_fn(2, 2, |j, k| entry(&self.of[j], &self.of[k]))
    }

    /// Rows to `(e_y, e_x, a)`, the first two about 1 and the last small, where there is one
    /// instrument.
    fn whitening(&self) -> Whitening {
        let column = |row: usize, k: usize| match k {
            2 => SMALL * self.instruments[(row, 0)],
            _ => self.of[k][row] / self.size[k],
        };
        Whitening::new(Mat::from_fn(self.instruments.nrows(), 3, column).as_ref())
    }
}

/// The root mean square of a direction; `None` if noise has left none.
pub(super) fn length(moments: &Mat<f64>, direction: &[f64]) -> Option<f64> {
    Some(quadratic(moments, direction)).filter(|square| *square > 0.0).map(f64::sqrt)
}

/// What was found of the coefficient.
pub(super) enum Found {
    ByOne(Instrumented),
    BySeveral(Box<Overidentified>),
}

impl Found {
    /// The first stage: the chi-square statistic, its degrees of freedom, and whether the
    /// instruments disagree.
    fn first_stage(&self) -> (f64, usize, Option<Disagreement>) {
        match self {
            Found::ByOne(found) => (found.strength(), 1, None),
            Found::BySeveral(found) => {
                let (statistic, df) = (found.disagreement(), found.instruments() - 1);
                let disagreement = Disagreement { statistic, df, p_value: chi_square_tail(statistic, df) };
                (found.strength(), found.instruments(), Some(disagreement))
            }
        }
    }
}

impl From<Found> for Inference {
    fn from(found: Found) -> Inference {
        match found {
            Found::ByOne(found) => found.into(),
            Found::BySeveral(found) => (*found).into(),
        }
    }
}

/// The rights to release what the intervals of instruments need.
pub(super) struct Rights {
    /// For the length at which each covariance is clipped, and for that covariance.
    pub of_each: Vec<(Spend, Spend)>,
}

impl Plan {
    /// Releases the moments of a model with instruments, and what its intervals need.
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
        found: Option<Found>,
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
        let (statistic, df, disagreement) = found.first_stage();
        let (inference, level) = (Inference::from(found), self.request.level);
        let intervals = inference.intervals(&design.contrasts(), level)?;
        let of_regressor = intervals.iter().find(|one| one.identified);
        let first_stage = FirstStage {
            regressor: design.model().endogenous().unwrap_or_default(),
            instruments: design.model().instruments(),
            statistic,
            df,
            p_value: chi_square_tail(statistic, df),
            set: of_regressor.iter().flat_map(|one| one.pieces(level)).map(Piece::of).collect(),
            disagreement,
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
    fn instrumented(&mut self, white: &White, design: &Design) -> Result<(Option<Found>, MethodSummary), Error> {
        let radius = self.length_of_whitened(white.features(), "length of rows")?;
        let names = design.model().moment_names().expect("the model has an instrument");
        let places = Places::of(&white.coordinates.kept, self.design, &names);
        let rights = places.as_ref().map(|places| self.rights(places.instruments.len())).transpose()?;
        let rest = self.budget.spend_rest("second moments of all columns")?;
        let moments = self.ask.look().second_moments(radius, rest)?;
        let summary = MethodSummary::new(NAME, radius, 0, 0.0, moments.noise_sd);
        let new = places.as_ref().and_then(|places| New::of(&moments.mean, &white.coordinates.basis, places));
        let Some((rights, new)) = rights.zip(new) else { return Ok((None, summary)) };
        let place = design.names().iter().position(|name| *name == names.regressor).expect("a term of the model");
        let parameters = (place, design.features());
        let found = match new.instruments.ncols() {
            1 => Some(Found::ByOne(self.by_one(&new, &moments, rights, parameters)?)),
            _ => self.by_several(&new, &moments, rights, parameters)?.map(|found| Found::BySeveral(Box::new(found))),
        };
        Ok((found, summary))
    }

    /// Sets aside what intervals need.
    fn rights(&mut self, instruments: usize) -> Result<Rights, Error> {
        if instruments > 1 {
            return self.rights_of_several();
        }
        let length = self.spend("length of the instrument's moments", LENGTH_SHARE)?;
        let spread = self.spend("covariance of the instrument's moments", SPREAD_SHARE)?;
        Ok(Rights { of_each: vec![(length, spread)] })
    }

    fn by_one(
        &mut self,
        new: &New,
        moments: &NoisyMatrix,
        rights: Rights,
        parameters: (usize, usize),
    ) -> Result<Instrumented, Error> {
        self.ask.turn(&new.whitening())?;
        // The residual is what the point takes away from a response of 0.
        let right = rights.of_each.into_iter().next().expect("one covariance");
        let spread = self.covariance_at(&[0.0, 0.0, 1.0 / SMALL], right)?;
        Ok(self.plan.instrumented(new, (moments, &spread), parameters))
    }

    /// The covariance of gradients at a point, of which few are clipped.
    pub(super) fn covariance_at(&mut self, at: &[f64], (length, spread): (Spend, Spend)) -> Result<NoisyMatrix, Error> {
        let ladder = GammaLadder { top: TOP, thresholds: CLIP_THRESHOLDS, per_doubling: 8.0 };
        let gamma = WIDER * self.threshold(&at.to_vec(), &ladder, 0.0, length)?.gamma;
        let descent = self.plan.descent(at.len(), gamma, 1, spread.to_f64())?;
        let at = Point { theta: descent.lattice().theta(at), descent: &descent };
        self.ask.spread(&at, spread)
    }
}

impl Plan {
    /// By how many percent a set is expected to be longer than the interval of two-stage least
    /// squares in the clear, where instruments are strong, rows are as long as Gaussian ones and
    /// errors of one size: the noise of the moments beside their sampling error. `None` for
    /// weighted rows and persons with several, whose length depends on how alike these are.
    pub(super) fn longer_set(&self, design: &Design) -> Option<u32> {
        if self.request.has_several_rows() || design.weights().is_some() {
            return None;
        }
        let (rho, rows) = (self.request.rho.to_f64(), self.rows as f64);
        let of_length = self.request.rho.share(self.rules().shares().length).to_f64();
        let white = Mat::identity(self.features, self.features);
        let length = length_exceeded_by(&white, 1.0, self.rows_cut(of_length) / rows);
        let noise_sd = length * length / (rows * (rho * SHARE_OF_MOMENTS).sqrt());
        let times = (1.0 + 0.5 * rows * noise_sd * noise_sd).sqrt();
        Some((100.0 * (times - 1.0)).round() as u32)
    }

    /// How much of the covariance of a row counts for that of a mean.
    pub(super) fn per_row(&self) -> f64 {
        if self.rules().covers_population() { 1.0 / self.rows as f64 } else { 0.0 }
    }

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
        let (per_row, noise) = (self.per_row(), new.of_noise(moments.noise_sd));
        let covariance = Mat::from_fn(2, 2, |j, k| per_row * new.size[j] * new.size[k] * two[(j, k)] + noise[(j, k)]);
        let [y, x] = [new.moments[0][0], new.moments[1][0]];
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
