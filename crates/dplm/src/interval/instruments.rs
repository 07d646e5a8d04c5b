//! The coefficient of a regressor with several instruments: the values that a test of their
//! products does not reject.

use std::f64::consts::FRAC_PI_2;

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::{Contrast, Interval, IntervalError, Joint, ratio::Apart, score};
use crate::{
    matrix::{Eigen, by_row, dot, inverse, quadratic, times},
    theory::student,
};

/// How many values are tried at each of two scales before the ends of the set are sought.
const TRIED: u32 = 512;
/// How often an end is halved, and how often a minimum is narrowed by the golden section.
const HALVINGS: u32 = 60;

/// The products of several instruments with a response and with a regressor, and how sure they are.
///
/// A value `b` of the coefficient is not rejected if the products `m(b)` with the response less `b`
/// times the regressor are within their errors of zero. They are looked at along `D(b)`, what the
/// products with the regressor have beside `m(b)` and therefore independent of it, and in all other
/// directions; the conditional likelihood ratio weighs both by how strong `D(b)` is (Moreira 2003,
/// with covariances as of Kleibergen 2005). Such a set covers at its level however weak the
/// instruments are, and may then be unbounded or in pieces. Where they are strong it is as long as
/// the interval of two-stage least squares, since only the direction counts, in which that is the
/// estimate's own test.
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

/// The products with one direction, and their covariance.
struct Products {
    mean: Vec<f64>,
    covariance: Mat<f64>,
    /// The variance of the noise in a variance.
    noise_var: f64,
}

impl Products {
    /// The squared distance from zero, and the degrees of freedom with which it is known. As for
    /// several contrasts of a descent: Satterthwaite (1946), with symmetric noise that is that of a
    /// Wishart matrix.
    fn distance_sq(&self, precision: &Mat<f64>) -> (f64, f64) {
        let q = self.mean.len();
        let squares = (0..q).map(|j| dot(precision.col_as_slice(j), precision.col_as_slice(j))).sum::<f64>();
        (quadratic(precision, &self.mean), 2.0 / (self.noise_var * squares / q as f64))
    }

    /// The same of one combination of the products.
    fn distance_sq_along(&self, weights: &[f64]) -> (f64, f64) {
        let (variance, square) = (quadratic(&self.covariance, weights), dot(weights, weights));
        (dot(weights, &self.mean).powi(2) / variance, 2.0 * (variance / square).powi(2) / self.noise_var)
    }

    /// The statistic that all of them are zero, on the scale of chi-square.
    fn statistic(&self) -> f64 {
        let (distance_sq, freedom) = self.distance_sq(&inverse(&self.covariance));
        score::chi_square(distance_sq, self.mean.len(), freedom)
    }
}

impl Overidentified {
    /// How many instruments there are.
    pub(crate) fn instruments(&self) -> usize {
        self.moments[0].len()
    }

    /// A covariance between the products with two directions, from those in three: of
    /// `(u + v) / sqrt 2` the cross terms are half. Of rows it is symmetric; of persons with
    /// several rows the part that is not is left out.
    fn between(&self, [a, b]: [[f64; 2]; 2], of: fn(&Variance) -> &Mat<f64>) -> Mat<f64> {
        let (q, weights) = (self.instruments(), weights([a, b]));
        let entry = |j, k| weights.iter().zip(&self.variances).map(|(w, one)| w * of(one)[(j, k)]).sum::<f64>();
        Mat::from_fn(q, q, |j, k| 0.5 * (entry(j, k) + entry(k, j)))
    }

    /// The products with the direction that has these parts along the axes.
    fn products(&self, [c, s]: [f64; 2]) -> Products {
        let twice = [[c, s]; 2];
        let sampling = self.between(twice, |one| &one.sampling);
        // Noise may have made a variance negative.
        let sampling = Eigen::of(sampling.as_ref()).map_or(sampling, |found| found.map(|value| value.max(0.0)));
        let squares = weights(twice).into_iter().zip(&self.variances).map(|(w, one)| (w * one.sampling_sd).powi(2));
        Products {
            mean: self.moments[0].iter().zip(&self.moments[1]).map(|(u, v)| c * u + s * v).collect(),
            covariance: sampling + self.between(twice, |one| &one.noise),
            noise_var: squares.sum(),
        }
    }

    /// The parts of the response less a value of the coefficient times the regressor, with length
    /// 1: the value is the estimate plus `scale` times the tangent of an angle, and infinite at a
    /// right angle.
    fn residual(&self, scale: f64, angle: f64) -> [f64; 2] {
        let (c, s) = if angle.abs() >= FRAC_PI_2 { (0.0, 1.0) } else { (angle.cos(), angle.sin()) };
        let parts = [0, 1].map(|axis| c * self.line[0][axis] + s * scale * self.line[1][axis]);
        parts.map(|part| part / parts[0].hypot(parts[1]))
    }

    /// How far the products with a residual are from zero.
    fn apart(&self, [c, s]: [f64; 2]) -> Apart {
        let (at, across, both) = (self.products([c, s]), self.products([-s, c]), [[c, s], [-s, c]]);
        let shared = self.between(both, |one| &one.sampling) + self.between(both, |one| &one.noise);
        let precision = inverse(&at.covariance);
        let explained = times(&shared, &times(&precision, &at.mean));
        let moved: Vec<f64> = across.mean.iter().zip(explained).map(|(one, explained)| one - explained).collect();
        let (all, freedom) = at.distance_sq(&precision);
        let (along, freedom_along) = at.distance_sq_along(&moved);
        let others = self.instruments() - 1;
        Apart {
            along: score::chi_square(along, 1, freedom_along),
            beside: score::chi_square((all - along).max(0.0), others, freedom),
            // Over the variance without what is explained, which is larger: noise could not make it
            // small.
            strength: Products { mean: moved, ..across }.statistic(),
            products: others + 1,
        }
    }

    /// The statistic that all products are zero, by which instruments may disagree.
    fn statistic(&self, scale: f64, angle: f64) -> f64 {
        self.products(self.residual(scale, angle)).statistic()
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
        let (_, freedom) = at.distance_sq_along(&with);
        (quadratic(&at.covariance, &with).sqrt() / dot(&with, &with), freedom)
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
        let holds = |angle: f64| !self.apart(self.residual(scale, angle)).is_rejected(level);
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
        Ok(Joint { statistic: tested.statistic(0.0), equations: 1, df: None, p_value: tested.p_value(0.0) })
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

/// What counts of the covariances in three directions for that between two.
fn weights([a, b]: [[f64; 2]; 2]) -> [f64; 3] {
    let across = a[0] * b[1] + a[1] * b[0];
    [a[0] * b[0] - 0.5 * across, a[1] * b[1] - 0.5 * across, across]
}

/// A multiple of the coefficient, moved: what a test of it says of any value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tested {
    of: Overidentified,
    weight: f64,
    offset: f64,
}

impl Tested {
    fn apart(&self, null: f64) -> Apart {
        let scale = self.of.natural_scale();
        let apart = (null - self.offset) / self.weight - self.of.estimate;
        self.of.apart(self.of.residual(scale, (apart / scale).atan()))
    }

    /// What is chi-square with one degree of freedom and has the p-value of the test.
    fn statistic(&self, null: f64) -> f64 {
        let apart = self.apart(null);
        let p = apart.p_value();
        if p > 0.0 { student::normal_quantile(p / 2.0).powi(2) } else { apart.ratio() }
    }

    pub(super) fn p_value(&self, null: f64) -> f64 {
        self.apart(null).p_value()
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

    /// With these variances the squared distance is `n |y - b x|^2 / (1 + b^2)`, of which the least
    /// and the largest are eigenvalues; the ratio is what it exceeds the least by, and the strength
    /// what it lacks of both together (Moreira 2003).
    fn p_by_hand(y: [f64; 2], x: [f64; 2], rows: f64, value: f64) -> f64 {
        let [yy, yx, xx] = [dot(&y, &y), dot(&y, &x), dot(&x, &x)].map(|one| rows * one);
        let half = 0.5 * (yy + xx);
        let least = half - (half * half - yy * xx + yx * yx).sqrt();
        let all =
            if value.is_finite() { (yy - 2.0 * value * yx + value * value * xx) / (1.0 + value * value) } else { xx };
        let (ratio, strength) = (all - least, 2.0 * half - all);
        let along = ratio * (ratio + strength - all) / strength;
        Apart { along, beside: all - along, strength, products: 2 }.p_value()
    }

    #[test]
    fn the_set_ends_where_the_test_of_moreira_rejects() {
        for rows in [100.0, 1e4, 1e6] {
            for level in [0.9, 0.99] {
                let (y, x) = ([0.25 + 0.3 / f64::sqrt(rows), 0.5], [0.5, 1.0]);
                let found = set(&two(y, x, rows), level);
                let [(low, high)] = found[..] else { panic!("{found:?}") };
                for end in [low, high] {
                    let p = p_by_hand(y, x, rows, end);
                    assert!((p - (1.0 - level)).abs() < 1e-5, "{end}: {p}");
                }
            }
        }
    }

    /// The same numbers seen along the response and along what is half way to the regressor, whose
    /// products go with each other.
    fn askew(of: &Overidentified, rows: f64) -> Overidentified {
        let half = 0.5f64.sqrt();
        let between = of.moments[0].iter().zip(&of.moments[1]).map(|(u, v)| half * (u + v)).collect();
        let mut askew = of.clone();
        askew.moments[1] = between;
        askew.line = of.line.map(|[c, s]| [c - s, s / half]);
        askew.variances[2].sampling = Mat::from_fn(2, 2, |j, k| if j == k { (1.0 + half) / rows } else { 0.0 });
        askew
    }

    /// The parts of the distance are the same along any two axes.
    #[test]
    fn the_axes_do_not_matter() {
        let (y, x, rows) = ([0.3, 0.5], [0.5, 1.0], 100.0);
        let straight = Tested { of: two(y, x, rows), weight: 1.0, offset: 0.0 };
        let askew = Tested { of: askew(&straight.of, rows), ..straight.clone() };
        for value in [-3.0, 0.2, 0.45, 0.8, 5.0] {
            let [one, other] = [&straight, &askew].map(|of| of.apart(value));
            assert!(
                (one.along - other.along).abs() < 1e-9 && (one.beside - other.beside).abs() < 1e-9,
                "{one:?} {other:?}"
            );
            assert!((straight.p_value(value) - p_by_hand(y, x, rows, value)).abs() < 1e-9, "{value}");
        }
    }

    /// Where instruments are strong a coefficient with this standard error has the usual interval,
    /// whether or not they agree.
    #[test]
    fn strong_instruments_have_the_interval_of_two_stage_least_squares() {
        for apart in [0.0, 2e-4] {
            let of = two([0.5 - apart, 1.0 + apart], [0.5, 1.0], 1e8);
            let (std_error, _) = of.std_error();
            let [(low, high)] = set(&of, 0.95)[..] else { panic!("one piece") };
            assert!(((high - low) / (2.0 * 1.959_964 * std_error) - 1.0).abs() < 1e-3, "{low} {high} {std_error}");
            assert!((0.5 * (low + high) - of.estimate).abs() < 1e-2 * std_error, "{low} {high} {}", of.estimate);
        }
    }

    #[test]
    fn sets_are_unbounded_and_in_two_pieces() {
        // Weak: all but what lies between the ends.
        let (y, x) = ([0.3, 0.2], [0.1, 0.05]);
        let found = set(&two(y, x, 100.0), 0.95);
        let [(start, from), (to, end)] = found[..] else { panic!("{found:?}") };
        assert_eq!((start, end), (f64::NEG_INFINITY, f64::INFINITY));
        for end in [from, to] {
            assert!((p_by_hand(y, x, 100.0, end) - 0.05).abs() < 1e-5, "{found:?}");
        }
        assert!(p_by_hand(y, x, 100.0, f64::INFINITY) > 0.05);
        // Nothing is known.
        assert_eq!(set(&two([0.05, 0.0], [0.0, 0.05], 100.0), 0.95), [(f64::NEG_INFINITY, f64::INFINITY)]);
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
        let joint = Inference::from(of).joint(&[Contrast { weights: vec![0.0, 1.0], offset: -low }]).unwrap();
        assert!((joint.p_value - 0.05).abs() < 1e-9 && (joint.statistic - 3.841_459).abs() < 1e-5, "{joint:?}");
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
