//! An interval for one contrast.

use std::sync::Arc;

use super::{instruments::Tested, score};
use crate::theory::student;

/// An interval for one contrast: the set of values that a test does not reject.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The estimate; always inside, except for several instruments, whose set may not hold it.
    pub estimate: f64,
    /// The standard error.
    pub std_error: f64,
    /// The lower end; minus infinity if the budget cannot bound it at this level.
    pub low: f64,
    /// The upper end; infinity if the budget cannot bound it at this level.
    pub high: f64,
    /// The degrees of freedom of Student's t; `None` if the test statistic is Gaussian.
    pub df: Option<f64>,
    /// False if the released numbers cannot bound the contrast: there is then no number to print.
    /// It does not depend on the level.
    pub identified: bool,
    /// The variance of the estimate's error if the contrast exceeds the estimate by `t`:
    /// `v0 + v1 t + v2 t^2`.
    variance: [f64; 3],
    /// The degrees of freedom with which that variance is known: infinite if it is exact.
    freedom: f64,
    /// The test of several instruments, of which the interval spans the set.
    set: Option<Arc<Tested>>,
}

/// A contrast is identified if its interval is bounded at this z value (99.7 %), whatever the
/// level.
const IDENTIFIED_AT: f64 = 3.0;
/// From here on Student's 95 % quantile is the Gaussian one to four digits: it is longer by the
/// factor `1 + (z^2 + 1) / (4 df)`.
const AS_GOOD_AS_GAUSSIAN: f64 = 1e4;

impl Interval {
    /// `high - low`.
    pub fn length(&self) -> f64 {
        self.high - self.low
    }

    /// Whether the interval contains `value`.
    pub fn covers(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// `(estimate - null) / std_error`: a z value, or a t value with
    /// [`degrees_of_freedom`](Self::degrees_of_freedom).
    pub fn statistic(&self, null: f64) -> f64 {
        (self.estimate - null) / self.std_error
    }

    /// The degrees of freedom with which the standard error is known; `None` if Student's
    /// distribution is Gaussian to the digits that are printed.
    pub fn degrees_of_freedom(&self) -> Option<f64> {
        self.df.or(Some(self.freedom).filter(|freedom| *freedom < AS_GOOD_AS_GAUSSIAN))
    }

    /// `(estimate - null) / sd` on the Gaussian scale, with the standard deviation that holds under
    /// the null; smaller if that is not known exactly.
    pub(super) fn score(&self, null: f64) -> f64 {
        let [v0, v1, v2] = self.variance;
        let apart = null - self.estimate;
        let distance_sq = apart * apart / (v0 + v1 * apart + v2 * apart * apart);
        -apart.signum() * score::chi_square(distance_sq, 1, self.freedom).sqrt()
    }

    /// The two-sided p-value of the hypothesis that the contrast equals `null`. It is below
    /// `1 - level` exactly if the interval at that level does not contain `null`; or, where it only
    /// spans the values that are not rejected, if none of its [pieces](Self::pieces) does.
    pub fn p_value(&self, null: f64) -> f64 {
        if let Some(tested) = &self.set {
            return tested.p_value(null);
        }
        student::t_two_sided_p(self.score(null), self.df.unwrap_or(f64::INFINITY))
    }

    /// The degrees of freedom with which the variance of the estimate's error is known: infinite if
    /// it is exact.
    pub(crate) fn freedom(&self) -> f64 {
        self.freedom
    }

    /// `estimate +- quantile * std_error`, with Student's t quantile if `df` is given.
    pub(crate) fn symmetric(estimate: f64, std_error: f64, df: Option<f64>, level: f64) -> Self {
        let half = df.map_or_else(|| normal_quantile(level), |df| student_quantile(df, level)) * std_error;
        let variance = [std_error * std_error, 0.0, 0.0];
        Interval {
            estimate,
            std_error,
            low: estimate - half,
            high: estimate + half,
            df,
            identified: true,
            variance,
            freedom: f64::INFINITY,
            set: None,
        }
    }

    /// The same with the standard error over all values that the contrast may have; not identified
    /// if that is unknown.
    pub(super) fn with(self, std_error: f64, is_lost: bool) -> Self {
        Interval { std_error, identified: self.identified && !is_lost, ..self }
    }

    /// The same interval, which says something although it may be unbounded.
    pub(super) fn although_unbounded(self) -> Self {
        Interval { identified: self.estimate.is_finite(), ..self }
    }

    /// The values that are not rejected, as intervals that do not touch, in order: none, one, or
    /// several, of which the first and the last may be unbounded.
    pub fn pieces(&self, level: f64) -> Vec<(f64, f64)> {
        match (&self.set, self.excluded(level)) {
            (Some(tested), _) => tested.pieces(level),
            (None, Some((from, to))) => vec![(f64::NEG_INFINITY, from), (to, f64::INFINITY)],
            (None, None) => vec![(self.low, self.high)],
        }
    }

    /// The interval that spans the set of several instruments: reversed ends if it is empty.
    pub(super) fn spanning(tested: Tested, (estimate, std_error): (f64, f64), freedom: f64, level: f64) -> Interval {
        let pieces = tested.pieces(level);
        Interval {
            low: pieces.first().map_or(f64::INFINITY, |piece| piece.0),
            high: pieces.last().map_or(f64::NEG_INFINITY, |piece| piece.1),
            set: Some(Arc::new(tested)),
            freedom,
            ..Interval::symmetric(estimate, std_error, None, level)
        }
        .although_unbounded()
    }

    /// The ends of the values that are rejected, if those that are not are all others.
    fn excluded(&self, level: f64) -> Option<(f64, f64)> {
        let [v0, v1, v2] = self.variance;
        let z_sq = score::distance_sq(normal_quantile(level).powi(2), self.freedom);
        let (lead, half) = (1.0 - z_sq * v2, z_sq * v1 / 2.0);
        let square = half * half + lead * z_sq * v0;
        let ends = [1.0, -1.0].map(|sign| self.estimate + (half + sign * square.sqrt()) / lead);
        (lead < 0.0 && square > 0.0).then_some((ends[0], ends[1]))
    }

    /// All values at a distance `t` from the estimate with `t^2 <= z^2 (v0 + v1 t + v2 t^2)`. `z`
    /// exceeds the Gaussian quantile if the variance is only as precise as one estimated with
    /// `freedom` degrees of freedom.
    pub(crate) fn by_inversion(estimate: f64, variance: [f64; 3], freedom: f64, level: f64) -> Self {
        let [v0, v1, v2] = variance;
        let distance_sq = |z: f64| score::distance_sq(z * z, freedom);
        let z_sq = distance_sq(normal_quantile(level));
        let lead = 1.0 - z_sq * v2;
        let root = ((z_sq * v1).powi(2) / 4.0 + lead * z_sq * v0).sqrt();
        let ends = [-root, root].map(|root| (z_sq * v1 / 2.0 + root) / lead);
        // If the quadratic opens downwards, the values not rejected do not form an interval.
        let [low, high] = if lead > 0.0 { ends } else { [f64::NEG_INFINITY, f64::INFINITY] };
        let bounded = v2 * distance_sq(IDENTIFIED_AT) < 1.0 && v0 > 0.0 && (v0 + v1).is_finite();
        Interval {
            estimate,
            std_error: v0.sqrt(),
            low: estimate + low,
            high: estimate + high,
            df: None,
            identified: bounded && estimate.is_finite(),
            variance,
            freedom,
            set: None,
        }
    }
}

/// The Gaussian quantile that leaves half of `1 - level` above it.
pub(crate) fn normal_quantile(level: f64) -> f64 {
    student::normal_quantile(0.5 + level / 2.0)
}

/// The factor by which an interval is longer if its variance is only as precise as one estimated
/// with `freedom` degrees of freedom.
pub(crate) fn lengthening(level: f64, freedom: f64) -> f64 {
    let z = normal_quantile(level);
    score::distance_sq(z * z, freedom).sqrt() / z
}

/// The Student t quantile that leaves half of `1 - level` above it.
pub(super) fn student_quantile(df: f64, level: f64) -> f64 {
    student::t_quantile(0.5 + level / 2.0, df)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values: Abramowitz and Stegun, tables 26.1 and 26.10.
    #[test]
    fn quantiles_agree_with_published_tables() {
        assert!((normal_quantile(0.95) - 1.959_963_985).abs() < 1e-8);
        assert!((normal_quantile(0.99) - 2.575_829_304).abs() < 1e-8);
        for (df, level, value) in
            [(1.0, 0.95, 12.706), (4.0, 0.95, 2.776), (9.0, 0.95, 2.262), (9.0, 0.99, 3.250), (30.0, 0.9, 1.697)]
        {
            assert!((student_quantile(df, level) - value).abs() < 6e-4, "t with {df} df at {level}");
        }
    }

    #[test]
    fn a_p_value_meets_its_interval_at_the_edge() {
        for df in [None, Some(9.0)] {
            let interval = Interval::symmetric(1.0, 0.3, df, 0.9);
            assert!((interval.p_value(interval.low) - 0.1).abs() < 1e-6);
            assert!((interval.p_value(interval.high) - 0.1).abs() < 1e-6);
            assert_eq!(interval.p_value(1.0), 1.0);
        }
        for freedom in [8.0, 200.0, f64::INFINITY] {
            let interval = Interval::by_inversion(1.0, [0.09, 0.01, 0.02], freedom, 0.9);
            assert!(interval.low < 1.0 && 1.0 < interval.high && interval.length() > 2.0 * 1.64 * 0.3);
            assert!((interval.p_value(interval.low) - 0.1).abs() < 1e-9);
            assert!((interval.p_value(interval.high) - 0.1).abs() < 1e-9);
        }
    }
}
