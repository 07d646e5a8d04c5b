//! The coefficient of a regressor with several instruments: the values that a test of all their
//! products at once does not reject.

use std::f64::consts::FRAC_PI_2;

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::{Contrast, Interval, IntervalError, Joint, chi_square_tail, score};
use crate::matrix::{Eigen, by_row, dot, inverse, quadratic};

/// How many values are tried at each of two scales before the ends of the set are sought.
const TRIED: u32 = 512;
/// How often an end is halved, and how often a minimum is narrowed by the golden section.
const HALVINGS: u32 = 60;

/// The products of several instruments with a response and with a regressor, and how sure they are.
///
/// A value `b` of the coefficient is not rejected if the products `m(b)` with the response less `b`
/// times the regressor are within their errors of zero: if `m' V^-1 m`, which is chi-square with as
/// many degrees of freedom as there are instruments, is no larger than that law allows (Anderson
/// and Rubin 1949, with the covariance `V(b)` of Stock and Wright 2000). Such a set covers at its
/// level however weak the instruments are; it may be unbounded, in pieces, or empty. The estimate
/// is that of two-stage least squares.
///
/// What is left of the response and the regressor beside the controls spans a plane, in which two
/// directions of length 1 at a right angle are the axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overidentified {
    /// Which of the standardised parameters is the coefficient.
    pub(crate) place: usize,
    /// How many of them there are.
    pub(crate) parameters: usize,
    /// The estimate in standardised units.
    pub(crate) estimate: f64,
    /// The response less the estimate times the regressor along the axes, and less the regressor.
    pub(crate) line: [[f64; 2]; 2],
    /// The products of the instruments, which are white, with the two axes.
    pub(crate) moments: [Vec<f64>; 2],
    /// The variance of the products with the first axis, with the second, and with their sum over
    /// the root of 2.
    pub(crate) variances: [Variance; 3],
}

/// The covariance of the products of instruments with one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Variance {
    /// Of the draw of the rows, which noise has reached.
    #[serde(with = "by_row")]
    pub(crate) sampling: Mat<f64>,
    /// The standard deviation of that noise on the diagonal, `sqrt 2` times that off it.
    pub(crate) sampling_sd: f64,
    /// Of the noise in the products themselves.
    #[serde(with = "by_row")]
    pub(crate) noise: Mat<f64>,
}

/// The products with one direction, their covariance, and the degrees of freedom with which that is
/// known.
struct Products {
    mean: Vec<f64>,
    covariance: Mat<f64>,
    freedom: f64,
}

impl Products {
    /// The statistic that all of them are zero, on the scale of chi-square.
    fn statistic(&self) -> f64 {
        let distance_sq = quadratic(&inverse(&self.covariance), &self.mean);
        score::chi_square(distance_sq, self.mean.len(), self.freedom)
    }
}

impl Overidentified {
    /// How many instruments there are.
    pub(crate) fn instruments(&self) -> usize {
        self.moments[0].len()
    }

    /// The products with the direction that has these parts along the axes.
    fn products(&self, [c, s]: [f64; 2]) -> Products {
        let q = self.instruments();
        // (c u + s v)(c u + s v)' by the squares of u, of v and of (u + v) / sqrt 2.
        let weights = [c * c - c * s, s * s - c * s, 2.0 * c * s];
        let sum = |of: fn(&Variance) -> &Mat<f64>| {
            let entry = |j, k| weights.iter().zip(&self.variances).map(|(w, one)| w * of(one)[(j, k)]).sum::<f64>();
            Mat::from_fn(q, q, |j, k| 0.5 * (entry(j, k) + entry(k, j)))
        };
        let sampling = sum(|one| &one.sampling);
        // Noise may have made a variance negative.
        let sampling = Eigen::of(sampling.as_ref()).map_or(sampling, |found| found.map(|value| value.max(0.0)));
        let covariance = sampling + sum(|one| &one.noise);
        let noise_var: f64 = weights.iter().zip(&self.variances).map(|(w, one)| (w * one.sampling_sd).powi(2)).sum();
        // As for several contrasts of a descent: Satterthwaite (1946), with symmetric noise that is
        // that of a Wishart matrix.
        let precision = inverse(&covariance);
        let squares = (0..q).map(|j| dot(precision.col_as_slice(j), precision.col_as_slice(j))).sum::<f64>();
        let mean = (0..q).map(|j| c * self.moments[0][j] + s * self.moments[1][j]).collect();
        Products { mean, covariance, freedom: 2.0 / (noise_var * squares / q as f64) }
    }

    /// The statistic that the coefficient is the estimate plus `scale` times the tangent of an
    /// angle, and that the instruments do not move the regressor at a right angle.
    fn statistic(&self, scale: f64, angle: f64) -> f64 {
        let (c, s) = if angle.abs() >= FRAC_PI_2 { (0.0, 1.0) } else { (angle.cos(), angle.sin()) };
        self.products([0, 1].map(|axis| c * self.line[0][axis] + s * scale * self.line[1][axis])).statistic()
    }

    /// The statistic of the test that the instruments do not move the regressor: chi-square with as
    /// many degrees of freedom as there are.
    pub(crate) fn strength(&self) -> f64 {
        self.products(self.line[1]).statistic()
    }

    /// The products of the instruments with the regressor.
    fn with_regressor(&self) -> Vec<f64> {
        let [c, s] = self.line[1];
        (0..self.instruments()).map(|j| -c * self.moments[0][j] - s * self.moments[1][j]).collect()
    }

    /// The standard error of two-stage least squares, and the degrees of freedom of that.
    fn std_error(&self) -> (f64, f64) {
        let (with, at) = (self.with_regressor(), self.products(self.line[0]));
        (quadratic(&at.covariance, &with).sqrt() / dot(&with, &with), at.freedom)
    }

    /// How far apart the residuals and the regressor are, in units of the coefficient.
    fn natural_scale(&self) -> f64 {
        let [at, along] = self.line.map(|one| one[0].hypot(one[1]));
        at / along
    }

    /// The angles that are tried: evenly at the scale of the standard error, and at that of the
    /// residuals, which is the larger one where instruments are strong.
    fn angles(&self, scale: f64) -> Vec<f64> {
        let step = |k: u32| (f64::from(k) / f64::from(TRIED) - 0.5) * 2.0 * FRAC_PI_2;
        let wide = (1..TRIED).map(|k| (self.natural_scale() / scale * step(k).tan()).atan());
        let mut angles: Vec<f64> = (0..=TRIED).map(step).chain(wide).filter(|angle| angle.is_finite()).collect();
        angles.sort_by(f64::total_cmp);
        angles
    }

    /// The least statistic that any value has: chi-square with one degree of freedom less than
    /// there are instruments, if all are instruments and move the regressor (Hansen 1982).
    pub(crate) fn disagreement(&self) -> f64 {
        let scale = self.std_error().0;
        let angles = self.angles(scale);
        let at = |angle: f64| self.statistic(scale, angle);
        let best = (0..angles.len()).min_by(|a, b| at(angles[*a]).total_cmp(&at(angles[*b]))).unwrap_or(0);
        let (mut low, mut high) = (angles[best.saturating_sub(1)], angles[(best + 1).min(angles.len() - 1)]);
        for _ in 0..HALVINGS {
            let [a, b] = [0.381_966, 0.618_034].map(|share| low + share * (high - low));
            (low, high) = if at(a) < at(b) { (low, b) } else { (a, high) };
        }
        at(0.5 * (low + high)).min(at(angles[best]))
    }

    /// The distances from the estimate that are not rejected, as pieces in order.
    fn pieces(&self, level: f64) -> Vec<(f64, f64)> {
        let scale = self.std_error().0;
        let angles = self.angles(scale);
        // What cannot be computed is not rejected.
        let holds = |angle: f64| {
            let is_rejected = chi_square_tail(self.statistic(scale, angle), self.instruments()) < 1.0 - level;
            !is_rejected
        };
        let held: Vec<bool> = angles.iter().map(|angle| holds(*angle)).collect();
        let distance = |angle: f64| if angle.abs() >= FRAC_PI_2 { angle * f64::INFINITY } else { scale * angle.tan() };
        let end = |place: usize| {
            let (mut from, mut to) = (angles[place - 1], angles[place]);
            for _ in 0..HALVINGS {
                let middle = 0.5 * (from + to);
                if holds(middle) == held[place - 1] { from = middle } else { to = middle }
            }
            distance(0.5 * (from + to))
        };
        let mut pieces = Vec::new();
        let mut start = held[0].then_some(f64::NEG_INFINITY);
        for (place, &is_held) in held.iter().enumerate().skip(1) {
            match (is_held, start) {
                (true, None) => start = Some(end(place)),
                (false, Some(from)) => {
                    pieces.push((from, end(place)));
                    start = None;
                }
                _ => {}
            }
        }
        pieces.extend(start.map(|from| (from, f64::INFINITY)));
        pieces
    }

    /// One interval for each contrast. Only a multiple of the coefficient has one.
    pub(super) fn intervals(&self, contrasts: &[Contrast], level: f64) -> Vec<Interval> {
        contrasts.iter().map(|contrast| self.interval(contrast, level)).collect()
    }

    fn interval(&self, contrast: &Contrast, level: f64) -> Interval {
        let Some(weight) = contrast.only(self.place) else {
            return Interval::by_inversion(f64::NAN, [f64::NAN, 0.0, 0.0], f64::INFINITY, level);
        };
        let tested = Tested { of: self.clone(), weight, offset: contrast.offset };
        let (std_error, freedom) = self.std_error();
        let estimate = weight * self.estimate + contrast.offset;
        Interval::spanning(tested, (estimate, weight.abs() * std_error), freedom, level)
    }

    pub(super) fn joint(&self, contrasts: &[Contrast]) -> Result<Joint, IntervalError> {
        let [one] = contrasts else { return Err(IntervalError::RepeatedEquations) };
        let weight = one.only(self.place).ok_or(IntervalError::RepeatedEquations)?;
        let tested = Tested { of: self.clone(), weight, offset: one.offset };
        let equations = self.instruments();
        Ok(Joint { statistic: tested.statistic(0.0), equations, df: None, p_value: tested.p_value(0.0) })
    }

    pub(super) fn values(&self) -> Vec<f64> {
        (0..self.parameters).map(|place| if place == self.place { self.estimate } else { 0.0 }).collect()
    }

    pub(super) fn covariance_of_all(&self) -> Mat<f64> {
        let at = |j: usize, k: usize| j == self.place && k == self.place;
        let variance = self.std_error().0.powi(2);
        Mat::from_fn(self.parameters, self.parameters, |j, k| if at(j, k) { variance } else { 0.0 })
    }

    pub(super) fn is_for(&self, parameters: usize) -> bool {
        let q = self.instruments();
        let is_square = |one: &Mat<f64>| (one.nrows(), one.ncols()) == (q, q);
        let fits = |one: &Variance| is_square(&one.sampling) && is_square(&one.noise);
        q > 0
            && self.moments[1].len() == q
            && self.variances.iter().all(fits)
            && self.parameters == parameters
            && self.place < parameters
    }
}

/// A multiple of the coefficient, moved: what a test of it says of any value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tested {
    of: Overidentified,
    weight: f64,
    offset: f64,
}

impl Tested {
    fn statistic(&self, null: f64) -> f64 {
        let scale = self.of.natural_scale();
        let apart = (null - self.offset) / self.weight - self.of.estimate;
        self.of.statistic(scale, (apart / scale).atan())
    }

    pub(super) fn p_value(&self, null: f64) -> f64 {
        chi_square_tail(self.statistic(null), self.of.instruments())
    }

    /// The values that are not rejected, as pieces in order.
    pub(super) fn pieces(&self, level: f64) -> Vec<(f64, f64)> {
        let at = |distance: f64| self.weight * (self.of.estimate + distance) + self.offset;
        let mut pieces: Vec<(f64, f64)> =
            self.of.pieces(level).into_iter().map(|(from, to)| (at(from), at(to))).collect();
        if self.weight < 0.0 {
            pieces = pieces.into_iter().rev().map(|(from, to)| (to, from)).collect();
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Inference;

    /// Two instruments in a world without noise: products with the response and the regressor, and
    /// errors of variance 1 that go with those of the regressor.
    fn two(with_response: [f64; 2], with_regressor: [f64; 2], rows: f64) -> Overidentified {
        let identity = |by: f64| Mat::from_fn(2, 2, |j, k| if j == k { by } else { 0.0 });
        let variance = || Variance { sampling: identity(1.0 / rows), sampling_sd: 0.0, noise: identity(0.0) };
        let estimate = dot(&with_response, &with_regressor) / dot(&with_regressor, &with_regressor);
        Overidentified {
            place: 1,
            parameters: 2,
            estimate,
            // The axes are the response and the regressor.
            line: [[1.0, -estimate], [0.0, -1.0]],
            moments: [with_response.to_vec(), with_regressor.to_vec()],
            variances: [variance(), variance(), variance()],
        }
    }

    fn set(of: &Overidentified, level: f64) -> Vec<(f64, f64)> {
        Inference::from(of.clone()).intervals(&[Contrast::coordinate(1, 2)], level).unwrap()[0].pieces(level)
    }

    /// With these variances `m' V^-1 m <= q` is `n |y - b x|^2 <= q (1 + b^2)`.
    fn by_hand(y: [f64; 2], x: [f64; 2], rows: f64, level: f64) -> (f64, [f64; 2]) {
        // With two degrees of freedom the tail is exp(-q / 2).
        let q = -2.0 * (1.0 - level).ln();
        let (a, b, c) = (dot(&x, &x) - q / rows, dot(&x, &y), dot(&y, &y) - q / rows);
        let root = (b * b - a * c).sqrt();
        (a, [(b - root) / a, (b + root) / a])
    }

    #[test]
    fn the_set_is_that_of_the_quadratic() {
        for rows in [100.0, 1e4, 1e10] {
            for level in [0.9, 0.99] {
                let (y, x) = ([0.25 + 0.3 / f64::sqrt(rows), 0.5], [0.5, 1.0]);
                let (lead, ends) = by_hand(y, x, rows, level);
                let found = set(&two(y, x, rows), level);
                assert!(lead > 0.0 && found.len() == 1, "{found:?}");
                let width = ends[1] - ends[0];
                assert!((found[0].0 - ends[0]).abs() < 1e-6 * width, "{found:?} {ends:?}");
                assert!((found[0].1 - ends[1]).abs() < 1e-6 * width, "{found:?} {ends:?}");
            }
        }
    }

    #[test]
    fn sets_are_unbounded_in_two_pieces_and_empty() {
        // Weak: all but what lies between the ends.
        let (y, x) = ([0.3, 0.2], [0.1, 0.05]);
        let (lead, ends) = by_hand(y, x, 100.0, 0.95);
        let found = set(&two(y, x, 100.0), 0.95);
        assert!(lead < 0.0 && found.len() == 2, "{found:?}");
        assert_eq!((found[0].0, found[1].1), (f64::NEG_INFINITY, f64::INFINITY));
        assert!((found[0].1 - ends[1]).abs() < 1e-9 && (found[1].0 - ends[0]).abs() < 1e-9, "{found:?} {ends:?}");
        // Nothing is known.
        assert_eq!(set(&two([0.05, 0.0], [0.0, 0.05], 100.0), 0.95), [(f64::NEG_INFINITY, f64::INFINITY)]);
        // Instruments that contradict each other.
        let none = two([0.5, -0.5], [0.5, 0.5], 1000.0);
        assert_eq!(set(&none, 0.95), []);
        let interval = &Inference::from(none).intervals(&[Contrast::coordinate(1, 2)], 0.95).unwrap()[0];
        assert!(interval.identified && !interval.covers(0.0) && interval.low > interval.high, "{interval:?}");
    }

    #[test]
    fn p_values_meet_the_set_and_multiples_turn_it() {
        let of = two([0.3, 0.5], [0.5, 1.0], 300.0);
        let contrast = Contrast { weights: vec![0.0, -4.0], offset: 1.0 };
        let interval = Inference::from(of.clone()).intervals(&[contrast], 0.95).unwrap().remove(0);
        let [(low, high)] = set(&of, 0.95)[..] else { panic!("one piece") };
        assert!((interval.low - (1.0 - 4.0 * high)).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - (1.0 - 4.0 * low)).abs() < 1e-9, "{interval:?}");
        for end in [interval.low, interval.high] {
            assert!((interval.p_value(end) - 0.05).abs() < 1e-9, "{}", interval.p_value(end));
        }
        assert!(interval.p_value(interval.estimate) > 0.05 && interval.p_value(1e9) < 1e-9);
    }

    /// The statistic at the estimate of two instruments is near its least, which is 0 where they
    /// agree.
    #[test]
    fn instruments_that_agree_do_not_disagree() {
        assert!(two([0.25, 0.5], [0.5, 1.0], 1e4).disagreement() < 1e-9);
        let apart = two([0.30, 0.5], [0.5, 1.0], 1e4);
        let least = (0..40_000).map(|k| f64::from(k) * 1e-4 - 1.5).map(|b| {
            let residual = [0.30 - 0.5 * b, 0.5 - b];
            1e4 * dot(&residual, &residual) / (1.0 + b * b)
        });
        let least = least.fold(f64::INFINITY, f64::min);
        assert!((apart.disagreement() / least - 1.0).abs() < 1e-4, "{} {least}", apart.disagreement());
    }
}
