//! The paper's three interval methods: independent runs, checkpoints, batched means.
//!
//! All three form a list `theta^(1) .. theta^(m)` and treat it as a Gaussian sample:
//! `mean +- t_{alpha/2, m-1} sd / sqrt(m)`, where `sd` has the divisor `m - 1`.

use faer::Mat;

use super::{Contrast, Inference, Interval, IntervalError, Joint, check_contrasts, check_run};
use crate::descend::Trajectory;

/// How the iterates of a run are divided into estimates.
///
/// The default is the paper's: 10 batches after a burn-in of 20 iterates, and the last iterate of
/// each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batching {
    /// The number `m` of batches or checkpoints.
    pub batches: usize,
    /// Iterates dropped at the beginning of a run; the start `theta_0` is never used.
    pub burn_in: usize,
    /// The number of last iterates that are averaged in place of a final iterate (checkpoints,
    /// independent runs).
    ///
    /// 1 is that of the paper's text and of its theorem. The paper's experiments average "the final
    /// few"; any number up to `usize::MAX` is allowed, and one larger than the number of iterates
    /// means all of them.
    pub average_last: usize,
}

impl Default for Batching {
    fn default() -> Self {
        Batching { batches: 10, burn_in: 20, average_last: 1 }
    }
}

/// Batched means: the iterates after the burn-in in `m` batches of equal length; the mean of each
/// is an estimate.
///
/// Iterates that do not fill the batches are dropped at the beginning, where the start matters
/// most. The interval covers if batches are long compared with the autocorrelation of the iterates,
/// about `1 / (eta h)` steps.
///
/// # Paper
/// Section 4, "All Iterates/Batched Means", equation (CI_def).
///
/// # Errors
/// When the batches or the burn-in do not fit the run.
pub fn batched_means(run: &Trajectory, batching: &Batching) -> Result<Inference, IntervalError> {
    let estimates: Vec<_> = batches(run, batching)?.map(mean).collect();
    from_estimates(estimates)
}

/// Checkpoints: the last iterate (or the mean of the last few) of each of `m` equal stretches after
/// the burn-in.
///
/// # Paper
/// Section 4, "Checkpoints", equation (CI_def); covered by the theorem "Coverage" for
/// `average_last = 1`.
///
/// # Errors
/// When the batches or the burn-in do not fit the run.
pub fn checkpoints(run: &Trajectory, batching: &Batching) -> Result<Inference, IntervalError> {
    let estimates: Vec<_> = batches(run, batching)?.map(|batch| mean_of_last(batch, batching.average_last)).collect();
    from_estimates(estimates)
}

/// Independent runs: the final iterate (or the mean of the last few) of each run; `m` is the number
/// of runs.
///
/// With a large `average_last`, each run contributes the mean of all its iterates after the
/// burn-in, as in the paper's figures.
///
/// # Guarantee
/// None is added: the caller has paid for every run, usually a share `rho / m` each.
///
/// # Paper
/// Section 4, "Independent Runs", equation (CI_def); covered by the theorem "Coverage" for
/// `average_last = 1`.
///
/// # Errors
/// When there are fewer than two runs, or the burn-in does not fit them.
pub fn independent_runs(runs: &[Trajectory], batching: &Batching) -> Result<Inference, IntervalError> {
    let final_of = |run| Ok(mean_of_last(kept(run, batching)?, batching.average_last));
    let estimates: Vec<_> = runs.iter().map(final_of).collect::<Result<_, IntervalError>>()?;
    from_estimates(estimates)
}

/// The iterates after the burn-in.
fn kept<'a>(run: &'a Trajectory, batching: &Batching) -> Result<&'a [Vec<f64>], IntervalError> {
    check_run(run)?;
    if batching.average_last == 0 {
        return Err(IntervalError::NothingToAverage);
    }
    let (steps, burn_in) = (run.gradient.len(), batching.burn_in);
    if burn_in >= steps { Err(IntervalError::BurnInTooLong { burn_in, steps }) } else { Ok(&run.theta[1 + burn_in..]) }
}

/// The kept iterates in equal batches; the remainder is dropped at the beginning.
fn batches<'a>(
    run: &'a Trajectory,
    batching: &Batching,
) -> Result<impl Iterator<Item = &'a [Vec<f64>]>, IntervalError> {
    let (iterates, batches) = (kept(run, batching)?, batching.batches);
    if batches < 2 {
        return Err(IntervalError::TooFewBatches { batches });
    }
    if iterates.len() < batches {
        return Err(IntervalError::TooFewIterates { kept: iterates.len(), batches });
    }
    Ok(iterates[iterates.len() % batches..].chunks_exact(iterates.len() / batches))
}

/// The mean of the last `k` iterates, or of all if there are fewer.
fn mean_of_last(iterates: &[Vec<f64>], k: usize) -> Vec<f64> {
    mean(&iterates[iterates.len().saturating_sub(k)..])
}

pub(super) fn mean(vectors: &[Vec<f64>]) -> Vec<f64> {
    let coordinate = |j: usize| vectors.iter().map(|v| v[j]).sum::<f64>() / vectors.len() as f64;
    (0..vectors[0].len()).map(coordinate).collect()
}

fn from_estimates(estimates: Vec<Vec<f64>>) -> Result<Inference, IntervalError> {
    match estimates.len() {
        batches if batches < 2 => Err(IntervalError::TooFewBatches { batches }),
        _ => Ok(Inference::Student { estimates }),
    }
}

/// Equation (CI_def) for each contrast.
pub(super) fn student_intervals(
    estimates: &[Vec<f64>],
    contrasts: &[Contrast],
    level: f64,
) -> Result<Vec<Interval>, IntervalError> {
    check_contrasts(contrasts, estimates[0].len())?;
    Ok(contrasts.iter().map(|contrast| student_interval(estimates, contrast, level)).collect())
}

fn student_interval(estimates: &[Vec<f64>], contrast: &Contrast, level: f64) -> Interval {
    let m = estimates.len() as f64;
    let values: Vec<f64> = estimates.iter().map(|theta| contrast.of(theta)).collect();
    let centre = values.iter().sum::<f64>() / m;
    let variance = values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (m - 1.0);
    Interval::symmetric(centre, (variance / m).sqrt(), Some(m - 1.0), level)
}

/// Hotelling's test that all contrasts are zero.
pub(super) fn joint(estimates: &[Vec<f64>], contrasts: &[Contrast]) -> Result<Joint, IntervalError> {
    let values: Vec<Vec<f64>> = estimates.iter().map(|one| contrasts.iter().map(|c| c.of(one)).collect()).collect();
    Joint::hotelling(&mean(&values), &covariance_of_mean(&values), estimates.len())
}

/// The covariance of the mean of the estimates: their sample covariance over their number.
pub(super) fn covariance_of_mean(estimates: &[Vec<f64>]) -> Mat<f64> {
    let (m, centre) = (estimates.len() as f64, mean(estimates));
    let products = |j: usize, k: usize| estimates.iter().map(move |one| (one[j], one[k]));
    Mat::from_fn(centre.len(), centre.len(), |j, k| {
        products(j, k).map(|(a, b)| (a - centre[j]) * (b - centre[k])).sum::<f64>() / (m - 1.0) / m
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of one coordinate whose iterates are `0, 1, 2, ..`.
    fn counting(steps: usize) -> Trajectory {
        let theta: Vec<_> = (0..=steps).map(|t| vec![t as f64]).collect();
        Trajectory { theta, gradient: vec![vec![-1.0]; steps], step_size: 1.0, noise_sd: 1.0 }
    }

    fn interval(inference: Result<Inference, IntervalError>) -> Interval {
        inference.unwrap().intervals(&[Contrast::coordinate(0, 1)], 0.95).unwrap().remove(0)
    }

    fn batching(batches: usize, burn_in: usize, average_last: usize) -> Batching {
        Batching { batches, burn_in, average_last }
    }

    /// Batches 4-6, 7-9, 10-12 (3 is left over): means 5, 8, 11, sd 3, t(2) = 4.302653.
    #[test]
    fn batched_means_by_hand() {
        let found = interval(batched_means(&counting(12), &batching(3, 2, 1)));
        assert_eq!((found.estimate, found.df), (8.0, Some(2.0)));
        assert!((found.std_error - 3f64.sqrt()).abs() < 1e-12);
        assert!((found.length() - 2.0 * 4.302_653 * 3f64.sqrt()).abs() < 1e-4);
    }

    #[test]
    fn checkpoints_take_the_end_of_each_stretch() {
        let last = interval(checkpoints(&counting(12), &batching(3, 2, 1)));
        assert_eq!(last.estimate, 9.0);
        let two = interval(checkpoints(&counting(12), &batching(3, 2, 2)));
        assert_eq!(two.estimate, 8.5);
    }

    #[test]
    fn checkpoints_averaging_all_are_batched_means() {
        let all = batching(3, 2, usize::MAX);
        assert_eq!(checkpoints(&counting(12), &all), batched_means(&counting(12), &all));
    }

    #[test]
    fn independent_runs_use_each_final_iterate() {
        let runs = [counting(4), counting(6), counting(8)];
        let last = interval(independent_runs(&runs, &batching(10, 0, 1)));
        assert_eq!((last.estimate, last.df), (6.0, Some(2.0)));
        let kept = interval(independent_runs(&runs, &batching(10, 2, usize::MAX)));
        assert_eq!(kept.estimate, (3.5 + 4.5 + 5.5) / 3.0);
    }

    #[test]
    fn a_contrast_is_applied_to_every_estimate() {
        let contrast = [Contrast { weights: vec![-2.0], offset: 1.0 }];
        let plain = interval(batched_means(&counting(12), &batching(3, 2, 1)));
        let inference = batched_means(&counting(12), &batching(3, 2, 1)).unwrap();
        let found = inference.intervals(&contrast, 0.95).unwrap().remove(0);
        assert!((found.estimate - (1.0 - 2.0 * plain.estimate)).abs() < 1e-12);
        assert!((found.length() - 2.0 * plain.length()).abs() < 1e-9);
    }

    #[test]
    fn wrong_inputs_are_refused_in_one_sentence() {
        let run = counting(12);
        let refusal = |b: Batching| batched_means(&run, &b).unwrap_err();
        assert_eq!(refusal(batching(1, 0, 1)), IntervalError::TooFewBatches { batches: 1 });
        assert_eq!(refusal(batching(2, 12, 1)), IntervalError::BurnInTooLong { burn_in: 12, steps: 12 });
        assert_eq!(refusal(batching(10, 3, 1)), IntervalError::TooFewIterates { kept: 9, batches: 10 });
        assert_eq!(refusal(batching(2, 0, 0)), IntervalError::NothingToAverage);
        let empty = Trajectory { theta: vec![vec![0.0]], gradient: vec![], step_size: 1.0, noise_sd: 1.0 };
        assert_eq!(batched_means(&empty, &batching(2, 0, 1)), Err(IntervalError::NoSteps));
        let single = independent_runs(&[counting(3)], &batching(9, 0, 1));
        assert_eq!(single, Err(IntervalError::TooFewBatches { batches: 1 }));
        let found = batched_means(&run, &batching(2, 0, 1)).unwrap();
        let one = [Contrast::coordinate(0, 1)];
        assert_eq!(found.intervals(&one, 1.0), Err(IntervalError::Level { level: 1.0 }));
        assert!(found.intervals(&one, f64::NAN).unwrap_err().to_string().contains("not between 0 and 1"));
        let wide = found.intervals(&Contrast::coordinates(2), 0.95);
        assert!(matches!(wide, Err(IntervalError::Features { expected: 1, found: 2, .. })));
    }
}
