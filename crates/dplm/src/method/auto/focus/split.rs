//! How the budget is divided between descents and scores, and where scores are clipped: rules about
//! public numbers, and the number of columns that whitening resolved.

use super::super::{Plan, START_STEPS, STEP_SIZE, clip::Threshold};
use crate::{
    method::Target,
    plan::{
        division::Rules,
        noise::edge,
        white::{Norms, Setting, Shares, clip_for_tail},
    },
};

/// The shares of the descents that are tried: each of the two kinds gets one.
const EACH: [f64; 10] = [0.05, 0.08, 0.11, 0.15, 0.20, 0.25, 0.30, 0.34, 0.38, 0.42];
/// What a descent keeps of its share for its steps, and the scores of theirs for the mean score.
const OF_DESCENT: f64 = 0.75;
const OF_SCORES: f64 = 0.75;
/// The shares of what whitening leaves where the controls become indices: of each of the two kinds
/// of them. The fit given the indices has the other half.
pub(super) const OF_INDEX: f64 = 0.25;
/// Where least squares is meant, the descent of the response clips no more than this: what clipping
/// takes from the mean of skewed errors counts times the error of the other descent.
const CLIPPED_FOR_LEAST_SQUARES: f64 = 0.05;
/// The product of two errors, where the released second moments are off by what remains of their
/// noise.
pub(super) const UNEVEN: f64 = 1.25;
/// A robust clip is this many times the one of least variance: a wider one biases the fit less and
/// costs nothing to speak of.
const WIDER: f64 = 1.5;
/// A product of two Gaussian numbers has tails like `exp(-t)`: beyond `ln(n) / 2 + 2` they hold
/// about `exp(-2) / sqrt(n)` of the mean, a seventh of what sampling adds to it.
fn harmless(rows: u64) -> f64 {
    (rows as f64).ln() / 2.0 + 2.0
}
/// The share of scores that a search for that clip starts from.
const TAIL_OF_HARMLESS: f64 = 0.01;
/// The smallest eigenvalue of what is kept must stand clear of noise by the law of Tracy and Widom
/// (1994): it must exceed the edge and `BEYOND_EDGE` times the edge's fluctuation, times a margin
/// with which noise alone passes with probability .002.
const BEYOND_EDGE: f64 = 2.33;
const MARGIN: f64 = 1.15;
/// What is kept is about white: rounds go on until noise alone is below this part of it.
const CLEAR: f64 = 0.6;
/// Shares of a round of whitening: of any, of one that is not the last, and the most for the last.
const LEAST_ROUND: f64 = 0.02;
pub(super) const USUAL_ROUND: f64 = 0.05;
const MOST_OF_ROUND: f64 = 0.35;

/// How what whitening leaves is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split {
    /// The share of the descent of the response, and of all others together.
    pub each: f64,
}

/// Where scores are clipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoreClip {
    /// What that makes the intervals for.
    pub target: Target,
    /// The share of scores beyond the threshold that is looked for.
    pub tail: f64,
    /// The clip, in standard deviations of normal residuals and white columns.
    clip: f64,
}

impl Split {
    /// The shares that promise the least variance, for what is left of the budget.
    pub(super) fn of(plan: &Plan, left: f64, features: usize, k: usize) -> Split {
        let variance = |each: f64| {
            let of_response = descent_noise(plan, each * left, features, most_clipped(plan));
            let of_columns = descent_noise(plan, each * left / k as f64, features, 1.0);
            let rho = (1.0 - 2.0 * each) * left;
            let of_scores = score_variance(plan, OF_SCORES * rho, k, ScoreClip::of(plan, rho, k).clip);
            of_scores + UNEVEN * features as f64 * of_response * of_columns
        };
        let best = EACH.into_iter().min_by(|a, b| variance(*a).total_cmp(&variance(*b)));
        Split { each: best.expect("there are some") }
    }
}

/// The largest share of rows that the descent of the response clips.
pub(super) fn most_clipped(plan: &Plan) -> f64 {
    if plan.partials_out == Some(Target::Robust) { 1.0 } else { CLIPPED_FOR_LEAST_SQUARES }
}

/// The variance of a coordinate of a descent, in units of its errors'.
fn descent_noise(plan: &Plan, rho: f64, features: usize, most_clipped: f64) -> f64 {
    let rules = Rules { features, ..plan.rules() };
    let tail = Rules { target: Some(Target::Population), at_any_price: false, ..rules }.tail(rho, features);
    let gamma = clip_for_tail(features, 1.0, tail.min(most_clipped).clamp(1e-6, 0.9));
    let steps = plan.choices.steps as u32 + START_STEPS;
    setting(plan, OF_DESCENT * rho, features, gamma, steps)
        .expected()
        .map_or(f64::INFINITY, |expected| expected.privacy_error.powi(2))
}

/// The variance of a coefficient from its mean score, in units of the errors' over the column's.
fn score_variance(plan: &Plan, rho: f64, k: usize, gamma: f64) -> f64 {
    let expected = setting(plan, rho, k, gamma, 1).expected_among(&Norms::of(k));
    let sampling = f64::from(u8::from(plan.rules().covers_population()));
    expected.map_or(f64::INFINITY, |one| one.privacy_error.powi(2) + sampling * one.sampling_error.powi(2))
}

/// The clip of scores that promises the least variance, widened.
fn robust_clip(plan: &Plan, rho: f64, k: usize) -> f64 {
    let unit = (k as f64).sqrt();
    let clips = (0..=24).map(|step| unit * 0.5 * 2f64.powf(f64::from(step) / 6.0));
    let variance = |gamma: &f64| score_variance(plan, OF_SCORES * rho, k, *gamma);
    WIDER * clips.min_by(|a, b| variance(a).total_cmp(&variance(b))).expect("there are some")
}

fn setting(plan: &Plan, rho: f64, features: usize, gamma: f64, steps: u32) -> Setting {
    Setting {
        rows: plan.rows,
        features,
        rho,
        neighbours: plan.request.neighbours,
        gamma,
        steps,
        step_size: STEP_SIZE,
        error_sd: 1.0,
        signal: 0.0,
        shares: Shares::NONE,
    }
}

impl ScoreClip {
    /// So wide that it is harmless for least squares, and the most precise one otherwise.
    pub(super) fn of(plan: &Plan, rho: f64, k: usize) -> ScoreClip {
        let target = plan.partials_out.unwrap_or(Target::Robust);
        if target == Target::Robust {
            let clip = robust_clip(plan, rho, k);
            return ScoreClip { target, tail: tail_of(clip, k), clip };
        }
        ScoreClip { target, tail: TAIL_OF_HARMLESS, clip: harmless(plan.rows) * (k as f64).sqrt() }
    }

    /// The clip, from the threshold that was found: as many times it as normal scores would have
    /// it.
    pub(super) fn gamma_at(&self, found: &Threshold, k: usize) -> f64 {
        found.gamma * self.clip / clip_for_tail(k, 1.0, found.tail)
    }
}

/// The share of white rows with normal residuals whose gradients are longer than this.
fn tail_of(clip: f64, k: usize) -> f64 {
    let (mut low, mut high) = (1e-9f64, 0.9);
    for _ in 0..50 {
        let middle = (low * high).sqrt();
        if clip_for_tail(k, 1.0, middle) > clip { low = middle } else { high = middle }
    }
    high
}

/// What the smallest eigenvalue of `columns` columns must exceed, where noise on the diagonal has
/// this standard deviation.
pub(super) fn clear_of_noise(columns: usize, noise_sd: f64) -> f64 {
    MARGIN * (edge(columns, noise_sd) + BEYOND_EDGE * noise_sd * (columns as f64).powf(-1.0 / 6.0))
}

impl Plan {
    /// The share of a round of whitening in which few rows are longer than `radius`, after which
    /// all that is kept can stand clear of noise.
    fn certifying_share(&self, radius: f64) -> f64 {
        let noise_sd = CLEAR / clear_of_noise(self.features, 1.0);
        let length_sq = radius.powi(2).max(2.0 * self.features as f64);
        self.rules().matrix_share(length_sq, noise_sd).max(LEAST_ROUND)
    }

    /// The share of another round, while what is kept does not stand clear and the round is within
    /// its limit.
    pub(super) fn round_for_focus(&self, rounds: usize, radius: f64, stands_clear: bool) -> Option<f64> {
        let share = self.certifying_share(if rounds == 1 { 0.0 } else { radius });
        match rounds {
            1 => Some(share.min(USUAL_ROUND)),
            _ if stands_clear || rounds + 1 >= self.rules().most_rounds() => None,
            2 => Some(share.min(USUAL_ROUND)),
            _ => Some(share.min(MOST_OF_ROUND)),
        }
    }

    /// The variance of the noise of an index, over that of the errors: one descent for both halves
    /// of the units, in twice as many columns.
    pub(super) fn noise_of_index(&self, k: usize) -> f64 {
        let left = (1.0 - 2.0 * USUAL_ROUND) * self.request.rho.to_f64();
        let features = 2 * self.features;
        features as f64 * descent_noise(self, OF_INDEX * left / k as f64, features, 1.0)
    }

    /// How many times `n sqrt(rho)` there is of what would let the controls become indices.
    ///
    /// Where controls explain half of the response and half of a column, indices whose noise is a
    /// share `d` of the errors each miss about this share, and both together `d^2` of the
    /// confounding that there is. That may be one standard error, `1 / sqrt(n)`.
    pub(super) fn room_for_indices(&self, k: usize) -> f64 {
        let for_index = ((self.rows as f64).powf(-0.25) / self.noise_of_index(k)).sqrt();
        for_index.min(self.room_for_scores(k) * (1.0 - 2.0 * OF_INDEX).sqrt())
    }

    /// How many times `n sqrt(rho)` there is of what would let the controls be told apart; below 1
    /// there are too many.
    pub(super) fn room_for_controls(&self) -> f64 {
        (MOST_OF_ROUND / self.certifying_share(0.0)).sqrt()
    }
}
