//! A joint test of several contrasts.

use faer::Mat;
use statrs::function::{beta::beta_reg, gamma::gamma_ur};

use super::{IntervalError, score};
use crate::{
    matrix::{Eigen, dot},
    theory::student,
};

/// A joint test that several contrasts are all zero.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Joint {
    /// The statistic: chi-square, or F for the spread of several estimates.
    pub statistic: f64,
    /// The number of contrasts: the degrees of freedom, for F those of the numerator.
    pub equations: usize,
    /// The degrees of freedom of F's denominator; `None` for chi-square.
    pub df: Option<f64>,
    /// The probability of a statistic at least this large if all contrasts are zero.
    pub p_value: f64,
}

impl Joint {
    /// The test of `apart`, Gaussian with mean zero and this covariance under the hypothesis. The
    /// covariance is as precise as one estimated with `freedom` degrees of freedom.
    pub(super) fn of(apart: &[f64], covariance: &Mat<f64>, freedom: f64) -> Result<Joint, IntervalError> {
        let equations = apart.len();
        let statistic = score::chi_square(mahalanobis_sq(apart, covariance)?, equations, freedom);
        Ok(Joint { statistic, equations, df: None, p_value: chi_square_tail(statistic, equations) })
    }

    /// The same if the covariance is that of the mean of `batches` Gaussian vectors, estimated from
    /// them (Hotelling 1931).
    pub(super) fn hotelling(apart: &[f64], covariance: &Mat<f64>, batches: usize) -> Result<Joint, IntervalError> {
        let equations = apart.len();
        if equations >= batches {
            return Err(IntervalError::TooManyEquations { equations, batches });
        }
        let df = (batches - equations) as f64;
        let statistic = mahalanobis_sq(apart, covariance)? * df / (equations as f64 * (batches as f64 - 1.0));
        Ok(Joint { statistic, equations, df: Some(df), p_value: f_tail(statistic, equations as f64, df) })
    }
}

/// An equation closer than this to a combination of others, as a share of its variance, repeats
/// them.
const LEAST_NEW: f64 = 1e-9;

/// `x' S^-1 x`.
fn mahalanobis_sq(x: &[f64], covariance: &Mat<f64>) -> Result<f64, IntervalError> {
    let sd: Vec<f64> = (0..x.len()).map(|j| covariance[(j, j)].sqrt()).collect();
    let correlation = Mat::from_fn(x.len(), x.len(), |j, k| covariance[(j, k)] / (sd[j] * sd[k]));
    let Eigen { values, vectors } = Eigen::of(correlation.as_ref()).ok_or(IntervalError::RepeatedEquations)?;
    if values[0] < LEAST_NEW {
        return Err(IntervalError::RepeatedEquations);
    }
    let scaled: Vec<f64> = x.iter().zip(&sd).map(|(x, sd)| x / sd).collect();
    Ok(values.iter().enumerate().map(|(k, value)| dot(vectors.col_as_slice(k), &scaled).powi(2) / value).sum())
}

/// The probability that a chi-square variable exceeds `x`.
pub(crate) fn chi_square_tail(x: f64, df: usize) -> f64 {
    match (df, x > 0.0) {
        // Bit for bit as in the test of one contrast.
        (1, _) => student::t_two_sided_p(x.sqrt(), f64::INFINITY),
        (_, true) => gamma_ur(df as f64 / 2.0, x / 2.0),
        (_, false) => 1.0,
    }
}

/// The probability that an F variable exceeds `x`.
pub(crate) fn f_tail(x: f64, numerator: f64, denominator: f64) -> f64 {
    let share = denominator / (denominator + numerator * x);
    beta_reg(denominator / 2.0, numerator / 2.0, share)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::SeedableRng;

    use super::super::{Contrast, Coordinates, Curvature, Inference, Newton, simulate::normal};
    use super::*;
    use crate::{
        descend::Trajectory,
        matrix::{diagonal, inverse},
    };

    /// With two degrees of freedom the tail is `exp(-x/2)`, with four `(1 + x/2) exp(-x/2)`; with
    /// one it is that of a squared standard Gaussian.
    #[test]
    fn tails_are_those_of_the_textbook() {
        for x in [0.1, 1.0, 5.991_464_547, 40.0, 300.0] {
            let half = (-x / 2.0f64).exp();
            assert!((chi_square_tail(x, 2) / half - 1.0).abs() < 1e-9, "{x}");
            assert!((chi_square_tail(x, 4) / (half * (1.0 + x / 2.0)) - 1.0).abs() < 1e-9, "{x}");
            assert_eq!(chi_square_tail(x, 1), student::t_two_sided_p(x.sqrt(), f64::INFINITY));
            // F with 2 and d degrees of freedom: (1 + 2 x / d)^(-d/2); with 1 and d it is Student's
            // t squared.
            assert!((f_tail(x, 2.0, 7.0) / (1.0 + 2.0 * x / 7.0).powf(-3.5) - 1.0).abs() < 1e-9, "{x}");
            assert!((f_tail(x, 1.0, 7.0) / student::t_two_sided_p(x.sqrt(), 7.0) - 1.0).abs() < 1e-9, "{x}");
        }
        assert_eq!((chi_square_tail(0.0, 3), f_tail(0.0, 3.0, 5.0)), (1.0, 1.0));
    }

    #[test]
    fn equations_that_repeat_each_other_are_refused() {
        let repeated = Mat::from_fn(2, 2, |j, k| [1.0, 3.0][j] * [1.0, 3.0][k]);
        assert_eq!(Joint::of(&[1.0, 3.0], &repeated, f64::INFINITY), Err(IntervalError::RepeatedEquations));
        let none = diagonal(&[1.0, 0.0]);
        assert_eq!(Joint::of(&[1.0, 3.0], &none, f64::INFINITY), Err(IntervalError::RepeatedEquations));
        let two = Joint::hotelling(&[0.0, 0.0], &diagonal(&[1.0, 1.0]), 2);
        assert_eq!(two, Err(IntervalError::TooManyEquations { equations: 2, batches: 2 }));
    }

    /// The rejection rate at 5 % of a true hypothesis about three coefficients, or two of them,
    /// when the noise of the curvature is a quarter of it in two directions. If the curvature is
    /// treated as known, far more are rejected.
    ///
    /// 12,000 worlds; each bound has a false-alarm rate of one in a million, at 4.9 standard errors
    /// of 0.002.
    #[test]
    fn a_joint_test_keeps_its_level_where_the_curvature_is_weak() {
        let (worlds, mut rng) = (12_000, ChaCha8Rng::seed_from_u64(7));
        let hypothesis: Vec<Contrast> =
            (0..3).rev().map(|j| Contrast { offset: -OPT[j], ..Contrast::coordinate(j, 3) }).collect();
        let mut rejected = [0; 3];
        for _ in 0..worlds {
            let newton = weak_world(&mut rng);
            let apart: Vec<f64> = newton.parameters().iter().zip(OPT).map(|(found, truth)| found - truth).collect();
            let inverse = inverse(&newton.curvature);
            let as_if_known = Joint::of(&apart, &(&inverse * &newton.noise * &inverse), f64::INFINITY).unwrap();
            let inference = Inference::from(newton);
            let tests =
                [inference.joint(&hypothesis).unwrap(), inference.joint(&hypothesis[..2]).unwrap(), as_if_known];
            rejected.iter_mut().zip(tests).for_each(|(count, test)| *count += u32::from(test.p_value < 0.05));
        }
        let [all, two, as_if_known] = rejected.map(|count| f64::from(count) / f64::from(worlds));
        assert!((all - 0.05).abs() < 0.0098 && (two - 0.05).abs() < 0.0098, "sizes {all}, {two}");
        assert!(as_if_known > 0.0598, "the curvature taken as known: {as_if_known}, so this world shows nothing");
    }

    const OPT: [f64; 3] = [2.0, -3.0, 1.0];

    /// One step from zero in a world of curvature 1, 0.4, 0.4, with an uncertainty of 0.1.
    fn weak_world(rng: &mut ChaCha8Rng) -> Newton {
        let (truth, noise_sd, sd) = ([1.0, 0.4, 0.4], 0.02, 0.1);
        let gradient = (0..3).map(|j| -truth[j] * OPT[j] + noise_sd * normal(rng)).collect();
        let draws = Mat::from_fn(3, 3, |_, _| normal(rng));
        let noise = |j: usize, k: usize| {
            if j == k { sd * draws[(j, j)] } else { sd / 2f64.sqrt() * draws[(j.max(k), j.min(k))] }
        };
        let released = Mat::from_fn(3, 3, |j, k| if j == k { truth[j] } else { 0.0 } + noise(j, k));
        let run = Trajectory { theta: vec![vec![0.0; 3]; 2], gradient: vec![gradient], step_size: 0.5, noise_sd };
        Newton::new(&run, &Coordinates::identity(3), &Curvature::released(released, sd).unwrap(), None).unwrap()
    }

    #[test]
    fn scales_do_not_matter() {
        let covariance = Mat::from_fn(2, 2, |j, k| if j == k { 2.0 } else { 1.0 });
        let found = Joint::of(&[1.0, 2.0], &covariance, f64::INFINITY).unwrap();
        assert!((found.statistic - 2.0).abs() < 1e-12, "{found:?}");
        let scales = [1e-8, 1e7];
        let scaled = Mat::from_fn(2, 2, |j, k| covariance[(j, k)] * scales[j] * scales[k]);
        let found = Joint::of(&[1e-8, 2e7], &scaled, f64::INFINITY).unwrap();
        assert!((found.statistic - 2.0).abs() < 1e-9, "{found:?}");
    }
}
