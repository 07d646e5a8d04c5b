//! Simultaneous intervals.

use crate::{
    interval::{Contrast, Interval, chi_square_tail, f_tail},
    matrix::dot,
    theory::student,
};

/// With more dimensions Bonferroni's intervals are shorter than Scheffé's for everything that is
/// drawn.
const MOST_DIMENSIONS: usize = 24;
/// A contrast nearer than this to a combination of others, as a share of its length, adds no
/// dimension.
const LEAST_NEW: f64 = 1e-8;

/// The level of each contrast's interval at which all of them hold at once with probability
/// `level`.
///
/// Scheffé's (1953) intervals hold for every combination of the contrasts, Bonferroni's for these
/// contrasts whatever their dependence: the shorter ones are used. `intervals` are those of each
/// contrast alone.
pub(crate) fn level_of_each(contrasts: &[Contrast], intervals: &[Interval], level: f64) -> f64 {
    let (miss, law) = (1.0 - level, Law::of(intervals));
    let each = |z: f64| student::t_two_sided_p(z, law.df.unwrap_or(f64::INFINITY));
    let bonferroni = miss / contrasts.len().max(1) as f64;
    let scheffe = |dimensions| each(threshold(miss, &|z| law.scheffe_tail(z, dimensions)));
    1.0 - dimensions(contrasts).map_or(bonferroni, |dimensions| scheffe(dimensions).max(bonferroni))
}

/// The distribution of an estimate's distance from the truth, in standard errors.
#[derive(Clone, Copy)]
struct Law {
    /// The degrees of freedom of Student's t, if the covariance is the spread of several estimates.
    df: Option<f64>,
    /// The degrees of freedom with which the variance is known otherwise.
    freedom: f64,
}

impl Law {
    /// The distribution of the interval whose variance is known least precisely.
    fn of(intervals: &[Interval]) -> Law {
        let freedoms = intervals.iter().filter(|one| one.identified).map(Interval::freedom);
        Law { df: intervals.iter().find_map(|one| one.df), freedom: freedoms.fold(f64::INFINITY, f64::min) }
    }

    /// The probability that some combination in this many dimensions has a test statistic beyond
    /// `z`.
    ///
    /// If variances are known with `v` degrees of freedom, one contrast at a distance `t` has the
    /// statistic `(v - 1/2) ln(1 + t^2/v)`, and `q` contrasts together have
    /// `(v - q/2) ln(1 + t^2/v)` (Bartlett 1954). If they are the spread of several estimates the
    /// distribution is Hotelling's (1931).
    fn scheffe_tail(self, z: f64, dimensions: usize) -> f64 {
        let count = dimensions as f64;
        match self.df {
            None if self.freedom <= count / 2.0 => 1.0,
            None if self.freedom.is_infinite() => chi_square_tail(z * z, dimensions),
            None => chi_square_tail(z * z * (self.freedom - count / 2.0) / (self.freedom - 0.5), dimensions),
            Some(df) if count > df => 1.0,
            Some(df) => {
                let left = df + 1.0 - count;
                f_tail(z * z * left / (count * df), count, left)
            }
        }
    }
}

/// The point where a tail falls to a probability; infinite if it never does.
fn threshold(probability: f64, tail: &dyn Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e8);
    if tail(high) > probability {
        return f64::INFINITY;
    }
    // Bisection ends at neighbouring floating-point numbers.
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if tail(middle) > probability { low = middle } else { high = middle }
    }
    high
}

/// The dimension of the span of the contrasts, by Gram-Schmidt orthogonalisation; `None` if it is
/// large.
fn dimensions(contrasts: &[Contrast]) -> Option<usize> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for Contrast { weights, .. } in contrasts {
        let mut rest = weights.clone();
        // Twice is enough (Kahan): the second pass removes the rounding error of the first.
        for axis in basis.iter().chain(&basis) {
            let along = dot(&rest, axis);
            rest.iter_mut().zip(axis).for_each(|(rest, axis)| *rest -= along * axis);
        }
        let length = dot(&rest, &rest).sqrt();
        if length > LEAST_NEW * dot(weights, weights).sqrt() {
            rest.iter_mut().for_each(|entry| *entry /= length);
            basis.push(rest);
        }
        if basis.len() > MOST_DIMENSIONS {
            return None;
        }
    }
    Some(basis.len().max(1))
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    fn line(points: u32) -> Vec<Contrast> {
        let at = |k: u32| vec![1.0, 2.0 * f64::from(k) / f64::from(points - 1) - 1.0, 0.0];
        (0..points).map(|k| Contrast { weights: at(k), offset: 3.0 }).collect()
    }

    fn separate(count: usize) -> Vec<Contrast> {
        (0..count).map(|j| Contrast::coordinate(j, count)).collect()
    }

    /// The level of each contrast if variances are known.
    fn known(contrasts: &[Contrast], level: f64) -> f64 {
        level_of_each(contrasts, &[Interval::symmetric(0.0, 1.0, None, level)], level)
    }

    fn z(level: f64) -> f64 {
        student::normal_quantile(0.5 + level / 2.0)
    }

    /// Chi-square with 2 degrees of freedom has its 95 % point at 5.991, F with 2 and 8 at 4.459; a
    /// normal variable exceeds 2.241 once in 40.
    #[test]
    fn the_shorter_of_two_textbook_intervals_is_taken() {
        assert!((z(known(&line(41), 0.95)).powi(2) - 5.991_46).abs() < 1e-4);
        assert!((z(known(&separate(2), 0.95)) - 2.241_40).abs() < 1e-4);
        assert!((z(known(&separate(60), 0.95)) - z(1.0 - 0.05 / 60.0)).abs() < 1e-9);
        assert!((known(&line(41)[..1], 0.9) - 0.9).abs() < 1e-12);
        let of_ten = [Interval::symmetric(0.0, 1.0, Some(9.0), 0.95)];
        let t = student::t_quantile(0.5 + level_of_each(&line(41), &of_ten, 0.95) / 2.0, 9.0);
        assert!((t * t - 2.0 * 9.0 / 8.0 * 4.458_97).abs() < 1e-3, "{t}");
        // With as many dimensions as batches, Scheffé's intervals are unbounded.
        assert!((level_of_each(&separate(10), &of_ten, 0.95) - 0.995).abs() < 1e-12);
    }

    /// Two contrasts whose variances are known with 20 degrees of freedom: the interval of each
    /// reaches as far as Hotelling's distribution for two, whose tail is
    /// `(1 + t^2 / v)^(-(v - 1) / 2)`.
    #[test]
    fn variances_that_are_known_up_to_noise_are_paid_for() {
        let interval = |level| Interval::by_inversion(0.0, [1.0, 0.0, 0.0], 20.0, level);
        let level = level_of_each(&line(41), &[interval(0.95), interval(0.95)], 0.95);
        let reached = interval(level).high;
        let expected = (20.0 * (0.05f64.powf(-2.0 / 19.0) - 1.0)).sqrt();
        assert!((reached / expected - 1.0).abs() < 1e-6, "{reached}, not {expected}");
        let unknown = Interval::by_inversion(0.0, [1.0, 0.0, 0.0], 0.9, 0.95);
        assert!((level_of_each(&line(41), &[unknown], 0.95) - (1.0 - 0.05 / 41.0)).abs() < 1e-12, "Bonferroni is left");
    }

    /// The probability that a band contains a whole line whose intercept and slope have independent
    /// Gaussian errors. Scheffé's band contains it at 95 % even over an infinite range, and over
    /// this finite range slightly more often; pointwise intervals do not.
    ///
    /// 20,000 worlds: bounds are five standard errors of 0.0015 from 95 %.
    #[test]
    fn a_band_holds_everywhere_at_once() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (worlds, points) = (20_000, line(41));
        let levels = [known(&points, 0.95), 0.95];
        let mut held = [0; 2];
        for _ in 0..worlds {
            let error = [normal(&mut rng), normal(&mut rng), 0.0];
            let apart =
                |point: &Contrast| dot(&point.weights, &error).abs() / dot(&point.weights, &point.weights).sqrt();
            let furthest = points.iter().map(apart).fold(0.0, f64::max);
            held.iter_mut().zip(levels).for_each(|(held, level)| *held += u32::from(furthest < z(level)));
        }
        let [together, each] = held.map(|held| f64::from(held) / f64::from(worlds));
        assert!((0.9425..0.985).contains(&together), "{together}");
        assert!(each < 0.92, "{each}");
    }

    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        student::normal_quantile((rng.next_u64() as f64 + 0.5) / 2f64.powi(64))
    }
}
