//! A point near the answer, from which the descent loses few steps, and at which its clip is
//! chosen.

use super::{
    START_STEPS,
    ask::{Ask, Reached},
    clip::{GammaLadder, Threshold},
    sequence::Sequence,
    whiten::White,
};
use crate::{
    Error,
    descend::Trajectory,
    lattice::{Design, Slot},
    matrix::dot,
    plan::{counts, division::Harmless},
    privacy::Spend,
    theory::student::normal_quantile,
};

/// Of the steps near the answer, those that are averaged.
pub(super) const AVERAGED: usize = 5;
/// The noise of the start, in variances of a mean of that many gradients: steps before it add to
/// it.
const NOISE: f64 = 3.0;

/// The share of rows clipped on the way to the start.
const TAIL: f64 = 0.25;
/// Thresholds of the first ladder, four to a factor of two.
const THRESHOLDS: u32 = 48;
/// The part of the residuals' variance that the noise of a start may make up.
const RIVAL: f64 = 0.25;

/// A point near the answer, and the clip threshold of the descent from there.
pub(super) struct Start<P> {
    pub point: P,
    pub threshold: Threshold,
}

impl<P> Start<P> {
    /// The same with a wider clip.
    pub(super) fn widened(self, to: Option<Harmless>) -> Start<P> {
        match to {
            Some(Harmless { factor, tail }) => self.with_clip(factor, tail),
            None => self,
        }
    }

    /// The same with a clip that is `factor` times as wide and that a share `tail` of gradients
    /// exceeds.
    pub(super) fn with_clip(self, factor: f64, tail: f64) -> Start<P> {
        let gamma = factor * self.threshold.gamma;
        Start { threshold: Threshold { gamma, tail, ..self.threshold }, ..self }
    }
}

impl<A: Ask> Sequence<'_, A> {
    /// A point near the answer, and a clip threshold there.
    ///
    /// The first steps are clipped at the size of the responses themselves. If most of the response
    /// is explained, their noise is then as large as the residuals, and a second start from the
    /// first, clipped at the size of the residuals, is worth its price.
    pub(super) fn start(&mut self, white: &White) -> Result<Start<A::Point>, Error> {
        if let Some(earlier) = &self.plan.earlier {
            let threshold = Threshold { gamma: earlier.clip, at_edge: false, tail: 0.0 };
            return Ok(Start { point: self.ask.resume(earlier.end(white)), threshold });
        }
        let (shares, k) = (self.plan.rules().shares(), white.features());
        let origin = self.ask.origin(k);
        let top = 2.0 * white.radius * self.response.largest;
        let ladder = GammaLadder { top, thresholds: THRESHOLDS, per_doubling: 4.0 };
        let spend = self.spend("clip threshold of the start", shares.start_threshold)?;
        let first = self.threshold(&origin, &ladder, TAIL, spend)?;
        let spend = self.spend(format!("start, {START_STEPS} steps"), shares.start)?;
        let mut reached = self.approach(white, &origin, first.gamma, spend)?;
        let mut threshold = self.threshold_at(&reached.point, k, first.gamma)?;
        if rivals(reached.noise_var, &threshold, k) {
            let what = format!("second start, {START_STEPS} steps");
            let spend = self.spend(what, self.plan.choices.second_start)?;
            reached = self.approach(white, &reached.point, threshold.gamma, spend)?;
            threshold = self.threshold_at(&reached.point, k, threshold.gamma)?;
        }
        let at_edge = first.at_edge || threshold.at_edge;
        Ok(Start { point: reached.point, threshold: Threshold { at_edge, ..threshold } })
    }

    /// The clip threshold of the descent, for the budget that the descent will have.
    fn threshold_at(&mut self, at: &A::Point, features: usize, gamma: f64) -> Result<Threshold, Error> {
        let spend = self.spend("clip threshold", self.plan.rules().shares().threshold)?;
        let tail = self.plan.rules().tail(self.budget.left().to_f64(), features).min(self.response.most_clipped);
        self.threshold(at, &GammaLadder::around(gamma), tail, spend)
    }

    /// The threshold that about a share `tail` of the gradients at a point exceeds, or as many as
    /// counts can tell from none.
    pub(super) fn threshold(
        &mut self,
        at: &A::Point,
        ladder: &GammaLadder,
        tail: f64,
        spend: Spend,
    ) -> Result<Threshold, Error> {
        let worth = self.plan.request.worth_in_counts(spend.to_f64());
        let target = counts::target(tail, self.plan.rows, ladder.thresholds as usize, worth);
        self.ask.threshold(at, ladder, target, spend)
    }

    /// A few steps from a point.
    fn approach(
        &mut self,
        white: &White,
        from: &A::Point,
        gamma: f64,
        spend: Spend,
    ) -> Result<Reached<A::Point>, Error> {
        let descent = self.plan.descent(white.features(), gamma, START_STEPS, spend.to_f64())?;
        let all = START_STEPS + self.plan.rules().steps(&white.moments);
        let run = self.ask.descend(&descent, from, spend, self.progress.part(0u32, all))?;
        Ok(self.ask.reached(&run, from, white))
    }
}

/// The variance of the noise of a start in each coordinate, where the last gradients are averaged.
pub(super) fn noise_var(noise_sd: f64, averaged: usize) -> f64 {
    NOISE * noise_sd.powi(2) / averaged as f64
}

/// Where a few steps led, by the mean of the last of them.
pub(super) fn reached(run: &Trajectory, from: &[f64], design: &Design, white: &White) -> Reached<Vec<f64>> {
    let averaged = run.gradient.len().min(AVERAGED);
    let noise_var = noise_var(run.noise_sd, averaged);
    let found = one_more_step(run, averaged);
    // A point reached from zero may be nothing but noise, so it is shrunk; one reached from
    // elsewhere is not.
    let point = match from.iter().all(|&theta| theta == 0.0) {
        true => shrunk(&found, noise_var, constant(design, white).as_deref()),
        false => found,
    };
    Reached { point, noise_var }
}

/// Whether the noise of the start makes up a quarter or more of the variance of the residuals
/// there.
///
/// Rows are about white, so the noise adds the sum of its variances to a residual's; a residual
/// that is clipped with probability `tail` has the standard deviation at which a Gaussian one would
/// be.
fn rivals(noise_var: f64, threshold: &Threshold, features: usize) -> bool {
    let clipped_at = -normal_quantile(0.5 * threshold.tail.clamp(1e-6, 0.9));
    let residual_sd = threshold.gamma / (features as f64).sqrt() / clipped_at;
    features as f64 * noise_var > RIVAL * residual_sd.powi(2)
}

/// The direction in whitened coordinates that changes nothing but the constant, of length one.
pub(super) fn constant(design: &Design, white: &White) -> Option<Vec<f64>> {
    let intercept =
        matches!(design.slots().first(), Some(Slot::Intercept)) && white.coordinates.kept.first() == Some(&0);
    intercept.then(|| {
        let direction = white.coordinates.basis.col_as_slice(0);
        let length = dot(direction, direction).sqrt();
        direction.iter().map(|entry| entry / length).collect()
    })
}

/// The mean of the last iterates, less the mean of their gradients: one more step with less noise.
fn one_more_step(run: &Trajectory, averaged: usize) -> Vec<f64> {
    let steps = run.gradient.len();
    let from = steps - averaged;
    let found = |j: usize| mean_of(&run.theta[from..steps], j) - mean_of(&run.gradient[from..], j);
    (0..run.theta[0].len()).map(found).collect()
}

/// The mean of a coordinate.
fn mean_of(vectors: &[Vec<f64>], j: usize) -> f64 {
    vectors.iter().map(|v| v[j]).sum::<f64>() / vectors.len() as f64
}

/// What is left of a point after its known noise (James and Stein 1961). The constant is not
/// shrunk: it is large in most tables and would be missed.
fn shrunk(found: &[f64], noise_var: f64, constant: Option<&[f64]>) -> Vec<f64> {
    Shrinkage::of(found, noise_var, constant).of_point(found, constant)
}

/// How much of a point is left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shrinkage {
    /// The share of what is not along the constant.
    pub kept: f64,
    /// The squared length of that.
    pub free_sq: f64,
}

impl Shrinkage {
    /// For noise of this variance in each coordinate.
    pub(super) fn of(found: &[f64], noise_var: f64, constant: Option<&[f64]>) -> Shrinkage {
        let fixed = along(found, constant);
        let free_sq: f64 = found.iter().zip(&fixed).map(|(theta, fixed)| (theta - fixed).powi(2)).sum();
        let noise = noise_var * found.len() as f64;
        Shrinkage { kept: (1.0 - noise / free_sq.max(f64::MIN_POSITIVE)).max(0.0), free_sq }
    }

    /// What is left of the point.
    pub(super) fn of_point(self, found: &[f64], constant: Option<&[f64]>) -> Vec<f64> {
        let fixed = along(found, constant);
        found.iter().zip(&fixed).map(|(theta, fixed)| fixed + self.kept * (theta - fixed)).collect()
    }
}

/// The part of a point along the constant.
fn along(found: &[f64], constant: Option<&[f64]>) -> Vec<f64> {
    let length = constant.map_or(0.0, |direction| dot(direction, found));
    (0..found.len()).map(|j| constant.map_or(0.0, |direction| length * direction[j])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that stood still, with this noise.
    fn still(theta: [f64; 2], noise_sd: f64) -> Trajectory {
        Trajectory { theta: vec![theta.to_vec(); 11], gradient: vec![vec![0.0; 2]; 10], step_size: 0.5, noise_sd }
    }

    #[test]
    fn a_start_lost_in_noise_is_not_used_but_for_its_constant() {
        let found = one_more_step(&still([3.0, 4.0], 0.0), 5);
        assert_eq!(shrunk(&found, 0.0, None), [3.0, 4.0]);
        assert_eq!(shrunk(&found, 6000.0, None), [0.0, 0.0]);
        assert_eq!(shrunk(&found, 6000.0, Some(&[0.0, 1.0])), [0.0, 4.0]);
        // Noise of 0.6 in each coordinate, of a length of 25.
        let kept = 1.0 - 2.0 * 0.6 / 25.0;
        let found = shrunk(&found, 0.6, None);
        assert!((found[0] - 3.0 * kept).abs() < 1e-12 && (found[1] - 4.0 * kept).abs() < 1e-12);
    }

    /// A clip of 2 standard deviations on four white coordinates: residuals have variance 1, of
    /// which the noise may make a quarter.
    #[test]
    fn a_second_start_where_noise_makes_up_the_residuals() {
        let threshold = Threshold { gamma: 4.0, at_edge: false, tail: 0.0455 };
        assert!(!rivals(0.06, &threshold, 4) && rivals(0.065, &threshold, 4));
    }
}
