//! An interval for one contrast.

pub(super) use crate::contrast::dot;
use crate::theory::student;

/// An interval for one contrast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// The standard error. Where the law of the error is a mixture it is the one that gives the same length.
    pub std_error: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Degrees of freedom of Student's t; `None` where the scale of the noise is known and the normal law serves.
    pub df: Option<f64>,
    /// False when half or more of the variance lies in directions that the released curvature does not resolve.
    /// The ends are then not to be believed; the estimate still serves prediction.
    pub identified: bool,
}

impl Interval {
    /// `high - low`.
    pub fn length(&self) -> f64 {
        self.high - self.low
    }

    /// Whether the interval holds `value`.
    pub fn covers(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// `(estimate - null) / std_error`, a z or a t value according to `df`.
    pub fn statistic(&self, null: f64) -> f64 {
        (self.estimate - null) / self.std_error
    }

    /// Two-sided p-value of the hypothesis that the coefficient equals `null`.
    ///
    /// # Examples
    /// ```
    /// use dplm::interval::Interval;
    /// let found = Interval { estimate: 1.96, std_error: 1.0, low: 0.0, high: 3.92, df: None, identified: true };
    /// assert!((found.p_value(0.0) - 0.05).abs() < 1e-4);
    /// ```
    pub fn p_value(&self, null: f64) -> f64 {
        student::t_two_sided_p(self.statistic(null), self.df.unwrap_or(f64::INFINITY))
    }

    /// `estimate +- quantile * std_error`, Student's t where `df` is given.
    pub(super) fn symmetric(estimate: f64, std_error: f64, df: Option<f64>, level: f64) -> Self {
        let half = df.map_or_else(|| normal_quantile(level), |df| student_quantile(df, level)) * std_error;
        Interval { estimate, std_error, low: estimate - half, high: estimate + half, df, identified: true }
    }
}

/// The normal quantile that leaves half of `1 - level` above it.
pub(super) fn normal_quantile(level: f64) -> f64 {
    student::normal_quantile(0.5 + level / 2.0)
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
    }
}
