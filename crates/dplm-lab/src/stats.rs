//! The basic statistics that the claims need.

/// A number and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

impl Estimate {
    /// The mean of a sample.
    pub fn mean(values: &[f64]) -> Estimate {
        let n = values.len() as f64;
        let value = values.iter().sum::<f64>() / n;
        let spread = values.iter().map(|v| (v - value).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        Estimate { value, error: (spread / n).sqrt() }
    }

    /// The ends of the 95 % interval of a Gaussian.
    pub fn interval(&self) -> (f64, f64) {
        (self.value - 1.96 * self.error, self.value + 1.96 * self.error)
    }

    /// Whether the whole 95 % interval lies in the range.
    pub fn surely_within(&self, low: f64, high: f64) -> bool {
        let (from, to) = self.interval();
        low <= from && to <= high
    }

    /// The difference of two independent estimates.
    pub fn minus(&self, other: &Estimate) -> Estimate {
        Estimate { value: self.value - other.value, error: self.error.hypot(other.error) }
    }

    /// The logarithm, its error to first order.
    pub fn ln(&self) -> Estimate {
        Estimate { value: self.value.ln(), error: self.error / self.value }
    }
}

impl std::fmt::Display for Estimate {
    /// The value and half its 95 % interval, to the digits that matter.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let half = 1.96 * self.error;
        let places = if half > 0.0 { (1.0 - half.log10().floor()).clamp(0.0, 6.0) as usize } else { 4 };
        write!(f, "{:.places$} ± {:.places$}", self.value, half)
    }
}

/// A straight line through points with individual errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The slope; its error is the larger of those from the points' errors and from their scatter.
    pub slope: Estimate,
    /// The height at zero.
    pub intercept: f64,
}

impl Line {
    /// Weighted least squares of `y` on `x`.
    pub fn through(points: &[(f64, Estimate)]) -> Line {
        // An error of exactly zero, from a single repetition, would take all the weight.
        let weights: Vec<f64> = points.iter().map(|(_, y)| y.error.max(1e-9).powi(-2)).collect();
        let total: f64 = weights.iter().sum();
        let mean = |value: &dyn Fn(&(f64, Estimate)) -> f64| {
            points.iter().zip(&weights).map(|(point, w)| w * value(point)).sum::<f64>() / total
        };
        let (x_mean, y_mean) = (mean(&|p| p.0), mean(&|p| p.1.value));
        let sxx = mean(&|p| (p.0 - x_mean).powi(2)) * total;
        let sxy = mean(&|p| (p.0 - x_mean) * (p.1.value - y_mean)) * total;
        let slope = sxy / sxx;
        let intercept = y_mean - slope * x_mean;
        let chi_sq = mean(&|p| (p.1.value - intercept - slope * p.0).powi(2)) * total;
        Line { slope: Estimate { value: slope, error: slope_error(sxx, chi_sq, points.len()) }, intercept }
    }

    /// The same in logarithms: the power of x that y follows.
    pub fn log_log(points: &[(f64, Estimate)]) -> Line {
        Line::through(&points.iter().map(|(x, y)| (x.ln(), y.ln())).collect::<Vec<_>>())
    }
}

/// Scatter beyond the points' own errors widens the error.
fn slope_error(sxx: f64, chi_sq: f64, points: usize) -> f64 {
    let freedom = points.saturating_sub(2).max(1) as f64;
    sxx.sqrt().recip() * (chi_sq / freedom).sqrt().max(1.0)
}

/// A percentile, interpolated between the order statistics.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    if sorted[below] == sorted[above] {
        return sorted[below];
    }
    sorted[below] + (place - place.floor()) * (sorted[above] - sorted[below])
}

/// The upper end of the one-sided 95 % interval (Wilson) of a share, given `hits` of `trials`.
pub fn share_at_most(hits: f64, trials: f64) -> f64 {
    let z = 1.645;
    let share = hits / trials;
    let centre = share + z * z / (2.0 * trials);
    let half = z * (share * (1.0 - share) / trials + z * z / (4.0 * trials * trials)).sqrt();
    (centre + half) / (1.0 + z * z / trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_is_found() {
        let points: Vec<_> =
            [1.0f64, 2.0, 5.0, 10.0].map(|x| (x, Estimate { value: 3.0 * x.powf(-0.5), error: 0.01 })).to_vec();
        let line = Line::log_log(&points);
        assert!((line.slope.value + 0.5).abs() < 1e-12);
        assert!((line.intercept - 3f64.ln()).abs() < 1e-12);
        assert!(line.slope.error > 0.0);
    }

    #[test]
    fn scatter_widens_the_error_of_a_slope() {
        let line = |bump: f64| {
            let point =
                |i: usize| (i as f64, Estimate { value: if i.is_multiple_of(2) { bump } else { 0.0 }, error: 0.1 });
            Line::through(&(0..6).map(point).collect::<Vec<_>>())
        };
        assert!(line(1.0).slope.error > 3.0 * line(0.0).slope.error);
    }

    #[test]
    fn a_mean_and_its_error() {
        let found = Estimate::mean(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(found.value, 2.5);
        assert!((found.error - (5.0f64 / 12.0).sqrt()).abs() < 1e-12);
        assert!(found.surely_within(1.0, 4.0) && !found.surely_within(2.0, 3.0));
    }

    #[test]
    fn percentiles_interpolate() {
        assert_eq!(percentile(&[3.0, 1.0, 2.0], 0.5), 2.0);
        assert_eq!(percentile(&[0.0, 1.0], 0.25), 0.25);
        assert_eq!(percentile(&[1.0, f64::INFINITY, f64::INFINITY], 0.9), f64::INFINITY);
    }

    #[test]
    fn no_hits_are_not_certainty() {
        let at_most = share_at_most(0.0, 100.0);
        assert!(at_most > 0.02 && at_most < 0.03);
    }

    #[test]
    fn estimates_print_the_places_that_matter() {
        let found = Estimate { value: 0.123_456, error: 0.012 };
        assert_eq!(found.to_string(), "0.123 ± 0.024");
    }
}
