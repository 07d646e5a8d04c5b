//! What the method will do, and how precise it will be, for what is assumed of the columns.
//!
//! The rounds of whitening are made on the assumed second moments, by the same rules and with the noise that each would have; what is left
//! of the budget then goes through the law of a clipped descent on white rows ([`white`](crate::plan::white)).

use faer::Mat;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{
    Plan, START_STEPS, STEP_SIZE,
    known::{self, Known},
    left_out::left_out,
    start,
    whiten::{Found, Round, TOP_OF_WHITENED},
};
use crate::{
    Error,
    descend::noise_sd,
    interval::{Resolved, expected_uncertainty_sq, lengthening},
    lattice::Design,
    method::{Purpose, Target, noisy::NoisyMatrix},
    plan::{
        Assumed, Foretold, Planned, PlannedRelease,
        counts::{self, CLIP_THRESHOLDS},
        division::{Harmless, Shares},
        noise::matrix_noise_sd,
        white::{self, Setting, clip_for_tail},
    },
    warning::LeftOut,
};

/// Noise that the last round leaves in the whitening counts no more than this.
const MOST_UNEVEN: f64 = 1.0;

/// The budget as it is spent, a share at a time.
#[derive(Default)]
struct Ledger(Vec<PlannedRelease>);

impl Ledger {
    fn spend(&mut self, what: impl Into<String>, share: f64) -> f64 {
        if share > 0.0 {
            self.0.push(PlannedRelease { what: what.into(), share });
        }
        share
    }

    fn left(&self) -> f64 {
        1.0 - self.0.iter().map(|release| release.share).sum::<f64>()
    }
}

/// Whitened rows, as they are foreseen.
struct White {
    kept: Vec<usize>,
    left_out: Vec<LeftOut>,
    /// The second moment of each coordinate.
    moments: Vec<f64>,
    radius: f64,
    /// How uneven noise leaves them.
    uneven: f64,
}

/// A start, as it is foreseen.
struct Start {
    /// The variance of the residuals there.
    residual_var: f64,
    /// The variance of its noise in each coordinate.
    noise_var: f64,
    clip: f64,
    tail: f64,
}

impl Start {
    fn widened(self, to: Option<Harmless>) -> Start {
        match to {
            Some(Harmless { factor, tail }) => Start { clip: factor * self.clip, tail, ..self },
            None => self,
        }
    }
}

impl Plan {
    /// The plan in numbers.
    ///
    /// # Errors
    /// When the budget leaves nothing for the descent.
    pub(super) fn foresee(&self, design: &Design, assumed: &Assumed) -> Result<Planned, Error> {
        let mut ledger = Ledger::default();
        let White { kept, left_out, moments, radius, uneven } = match self.trusted() {
            Some(known) => self.trusted_white(known, &mut ledger),
            None => self.assumed_white(design, assumed, &mut ledger),
        };
        let (features, shares) = (kept.len(), self.rules().shares());
        // Rows are taken to be as long as normal ones.
        let tail = self.rules().about_tail(features, self.request.worth_in_counts(1.0));
        let harmless = self.rules().harmless(tail, features);
        let curvature = self.reserve(radius, &shares, harmless, &mut ledger);
        let start = self.foreseen_start(features, assumed, &shares, &mut ledger).widened(harmless);
        let steps = self.rules().steps(&moments);
        let left = ledger.left();
        ledger.spend(format!("clipped gradients, {steps} steps"), left);
        let errors = self.errors(features, &start, steps, left, assumed)?;
        let errors = white::Expected {
            privacy_error: errors.privacy_error * (1.0 + uneven).sqrt(),
            widening: self.widening(curvature, radius, features, errors.curvature)
                * self.lengthening_by_spread(&shares, start.clip, &errors),
            ..errors
        };
        Ok(Planned {
            method: super::ENTRY.name,
            target: if harmless.is_some() { self.request.target() } else { Target::Robust },
            descent: Foretold { clip: start.clip, steps, step_size: STEP_SIZE, errors },
            recommended: None,
            releases: ledger.0,
            left_out,
            kept,
        })
    }

    /// What the rounds would make of rows with the moments assumed.
    fn assumed_white(&self, design: &Design, assumed: &Assumed, ledger: &mut Ledger) -> White {
        let rounds = self.assumed_rounds(design, &assumed.moments(self.features), ledger);
        let found = Found::of(&rounds, self.floor(design));
        let resolved = match self.request.purpose {
            Purpose::Inference => found.resolve(),
            Purpose::Prediction => Resolved { kept: (0..self.features).collect(), pivots: Vec::new() },
        };
        White {
            left_out: left_out(&resolved, &found.law, &found.basis, &found.floor, design),
            moments: found.turn(&resolved.kept).moments,
            radius: rounds.last().expect("there is a first round").radius,
            uneven: unevenness(&found, resolved.kept.len()),
            kept: resolved.kept,
        }
    }

    /// Rows that known moments whiten.
    fn trusted_white(&self, known: &Known, ledger: &mut Ledger) -> White {
        let k = known.kept.len();
        let length = ledger.spend("length of rows", self.rules().shares().length);
        ledger.spend("check of the known moments", known::CHECK);
        let cut = self.rows_cut(self.request.rho.to_f64() * length) / self.rows as f64;
        White {
            kept: known.kept.clone(),
            left_out: known.left_out.clone(),
            moments: vec![1.0; k],
            radius: length_exceeded_by(&Mat::identity(k, k), cut),
            uneven: 0.0,
        }
    }

    fn assumed_rounds(&self, design: &Design, assumed: &Mat<f64>, ledger: &mut Ledger) -> Vec<Round> {
        let (matrix, top, share) = self.first_coordinates(design);
        let mut rounds = vec![self.assumed_round(matrix, top, assumed, 1, share, ledger)];
        while let Some(share) = self.next_round(&rounds, design) {
            let matrix = rounds.last().expect("there is a first round").turned();
            let top = TOP_OF_WHITENED * (self.features as f64).sqrt();
            rounds.push(self.assumed_round(matrix, top, assumed, rounds.len() + 1, share, ledger));
        }
        rounds
    }

    fn assumed_round(
        &self,
        matrix: Mat<f64>,
        top: f64,
        assumed: &Mat<f64>,
        number: usize,
        share: f64,
        ledger: &mut Ledger,
    ) -> Round {
        let rho = self.request.rho.to_f64();
        let mean = matrix.transpose() * assumed * &matrix;
        let length = ledger.spend(format!("length of rows, round {number}"), self.rules().shares().length);
        let cut = self.rows_cut(rho * length) / self.rows as f64;
        let radius = length_exceeded_by(&mean, cut).min(top);
        let share = ledger.spend(format!("second moments, round {number}"), share);
        let noise_sd = matrix_noise_sd(self.rows, radius.powi(2), self.request.neighbours, rho * share);
        Round { matrix, moments: NoisyMatrix { mean, noise_sd }, radius, at_edge: false }
    }

    /// Sets aside what intervals need, and gives the share of the curvature.
    fn reserve(&self, radius: f64, shares: &Shares, harmless: Option<Harmless>, ledger: &mut Ledger) -> f64 {
        if !self.gives_intervals() {
            return 0.0;
        }
        let curvature = ledger.spend("curvature of the loss", self.rules().curvature_share(radius));
        ledger.spend("covariance of the gradients", shares.spread);
        let bend = if harmless.is_some() { 0.0 } else { shares.bend };
        ledger.spend("test of whether clipping bends the fit", bend);
        curvature
    }

    fn foreseen_start(&self, features: usize, assumed: &Assumed, shares: &Shares, ledger: &mut Ledger) -> Start {
        let error_var = assumed.error_sd.powi(2);
        ledger.spend("clip threshold of the start", shares.start_threshold);
        let share = ledger.spend(format!("start, {START_STEPS} steps"), shares.start);
        let first = clip_for_tail(features, assumed.response_sd, start::TAIL);
        let mut found = self.foreseen_threshold(features, self.start_noise(first, share), error_var, shares, ledger);
        if features as f64 * found.noise_var > start::RIVAL * found.residual_var {
            let share = ledger.spend(format!("second start, {START_STEPS} steps"), self.choices.second_start);
            let noise_var = self.start_noise(found.clip, share);
            found = self.foreseen_threshold(features, noise_var, error_var, shares, ledger);
        }
        found
    }

    fn start_noise(&self, clip: f64, share: f64) -> f64 {
        let rho = share * self.request.rho.to_f64();
        let lambda = noise_sd(self.rows, clip, START_STEPS, self.request.neighbours, rho);
        start::NOISE * lambda.powi(2) / start::AVERAGED as f64
    }

    fn foreseen_threshold(
        &self,
        features: usize,
        noise_var: f64,
        error_var: f64,
        shares: &Shares,
        ledger: &mut Ledger,
    ) -> Start {
        let rho = self.request.rho.to_f64();
        let share = ledger.spend("clip threshold", shares.threshold);
        let tail = self.rules().tail(rho * ledger.left(), features);
        let tail = counts::target(tail, self.rows, CLIP_THRESHOLDS as usize, rho * share) / self.rows as f64;
        let residual_var = error_var + features as f64 * noise_var;
        Start { residual_var, noise_var, clip: clip_for_tail(features, residual_var.sqrt(), tail), tail }
    }

    fn errors(
        &self,
        features: usize,
        start: &Start,
        steps: u32,
        share: f64,
        assumed: &Assumed,
    ) -> Result<white::Expected, Error> {
        let setting = Setting {
            rows: self.rows,
            features,
            rho: share * self.request.rho.to_f64(),
            neighbours: self.request.neighbours,
            gamma: start.clip,
            steps,
            step_size: STEP_SIZE,
            error_sd: assumed.error_sd,
            signal: (features as f64 * start.noise_var).sqrt(),
            shares: white::Shares::NONE,
        };
        let errors = setting.expected()?;
        let sampling_error = if self.rules().covers_population() { errors.sampling_error } else { 0.0 };
        Ok(white::Expected { sampling_error, clipped: start.tail, ..errors })
    }

    /// How much longer uncertainty about the released curvature makes intervals.
    fn widening(&self, share: f64, radius: f64, features: usize, curvature: f64) -> f64 {
        if share == 0.0 {
            return 1.0;
        }
        let rho = share * self.request.rho.to_f64();
        let radius = self.curvature_radius(radius, features, rho);
        let noise_sd = matrix_noise_sd(self.rows, radius.powi(2), self.request.neighbours, rho);
        (1.0 + 3.0 * expected_uncertainty_sq(noise_sd, curvature, features)).sqrt()
    }

    /// How much longer uncertainty about the covariance of gradients makes intervals.
    fn lengthening_by_spread(&self, shares: &Shares, clip: f64, errors: &white::Expected) -> f64 {
        if shares.spread == 0.0 {
            return 1.0;
        }
        let rho = shares.spread * self.request.rho.to_f64();
        let noise_sd = matrix_noise_sd(self.rows, clip.powi(2), self.request.neighbours, rho);
        let uncertainty = noise_sd / (self.rows as f64 * errors.curvature.powi(2));
        let variance = errors.privacy_error.powi(2) + errors.sampling_error.powi(2);
        lengthening(self.request.level, 2.0 * (variance / uncertainty).powi(2))
    }
}

/// A length that a share `tail` of rows with these second moments exceeds: their squared length is taken for a multiple of a chi-square with the
/// same mean and variance (Satterthwaite 1946), as it would be for normal rows.
pub(super) fn length_exceeded_by(moments: &Mat<f64>, tail: f64) -> f64 {
    let p = moments.nrows();
    let trace: f64 = (0..p).map(|j| moments[(j, j)]).sum();
    let square: f64 = (0..p).flat_map(|j| (0..p).map(move |k| (j, k))).map(|at| moments[at].powi(2)).sum();
    let freedom = (trace * trace / square.max(f64::MIN_POSITIVE)).max(1.0);
    let law = ChiSquared::new(freedom).expect("positive");
    (trace / freedom * law.inverse_cdf(1.0 - tail.clamp(1e-9, 0.5))).sqrt()
}

/// The variance of the eigenvalues, about one, that the noise of the rounds leaves in the whitening: of a symmetric matrix whose entries off
/// the diagonal have variance `s^2` it is `k s^2` (Wigner). The noise of the descent counts so much more.
fn unevenness(found: &Found, features: usize) -> f64 {
    let sd = found.law.entry_sd();
    let p = sd.nrows();
    let pairs = (p * p - p).max(1) as f64;
    let off_diagonal = (0..p).flat_map(|j| (0..p).map(move |k| (j, k))).filter(|(j, k)| j != k);
    let variance = off_diagonal.map(|at| sd[at].powi(2)).sum::<f64>() / pairs;
    (features as f64 * variance).min(MOST_UNEVEN)
}
