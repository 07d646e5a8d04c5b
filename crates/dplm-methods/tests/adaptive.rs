//! Separate clips found privately: near least squares at a large budget, whatever the scale, and as
//! good as a clip that was known.

use dplm::privacy::Mechanism;

use crate::common::{Data, SLOPES, distance, estimates, fit, prediction};

/// Errors are symmetric and columns independent, so clamping moves nothing; sampling error is about
/// `sqrt(3 / 5000)`.
#[test]
fn a_large_budget_comes_near_the_truth() {
    let data = Data::normal(5000, 3, 1);
    let outcome = fit("adaptive-clips", prediction(100.0), &data, 2);
    assert!(distance(&estimates(&outcome), &SLOPES) < 0.09);
}

/// The median of errors of sd 1 is 0.67 and that of rows of three columns 1.54; thresholds are of a
/// ladder of quarter doublings.
#[test]
fn thresholds_follow_the_medians() {
    let data = Data::normal(5000, 3, 1);
    let outcome = fit("adaptive-clips", prediction(2.0), &data, 2);
    let expected = 1.3 * 1.54 * 1.5 * 0.674;
    assert!((0.75..1.35).contains(&(outcome.summary.clip / expected)), "{} {expected}", outcome.summary.clip);
    let kinds: Vec<Mechanism> = outcome.releases.iter().map(|release| release.mechanism).collect();
    assert_eq!(kinds, [Mechanism::Exponential, Mechanism::Gaussian]);
}
