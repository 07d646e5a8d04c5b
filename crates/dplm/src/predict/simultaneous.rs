//! Intervals that hold all at once.

use crate::{
    interval::{Contrast, chi_square_tail, f_tail},
    matrix::dot,
    theory::student,
};

/// Beyond so many dimensions Bonferroni's intervals are shorter than Scheffé's for all that is drawn.
const MOST_DIMENSIONS: usize = 24;
/// A contrast nearer than this to a combination of others, as a share of its length, adds no dimension.
const LEAST_NEW: f64 = 1e-8;

/// The level at which to make the interval of each contrast, so that all of them hold at once at `level`.
///
/// Scheffé's (1953) intervals hold for every combination of the contrasts, Bonferroni's for these contrasts whatever their dependence: the shorter
/// ones are taken. `df` are the degrees of freedom of Student's t, where the covariance was estimated (Hotelling 1931).
pub(super) fn level_of_each(contrasts: &[Contrast], df: Option<f64>, level: f64) -> f64 {
    let miss = 1.0 - level;
    let each = |z: f64| student::t_two_sided_p(z, df.unwrap_or(f64::INFINITY));
    let bonferroni = miss / contrasts.len().max(1) as f64;
    let scheffe = |dimensions| each(threshold(miss, &|z| scheffe_tail(z, dimensions, df)));
    1.0 - dimensions(contrasts).map_or(bonferroni, |dimensions| scheffe(dimensions).max(bonferroni))
}

/// The probability that some combination of so many dimensions is further than `z` standard errors from the truth.
fn scheffe_tail(z: f64, dimensions: usize, df: Option<f64>) -> f64 {
    let count = dimensions as f64;
    match df {
        None => chi_square_tail(z * z, dimensions),
        Some(df) if count > df => 1.0,
        Some(df) => {
            let left = df + 1.0 - count;
            f_tail(z * z * left / (count * df), count, left)
        }
    }
}

/// Where a tail falls to a probability; infinite where it never does.
fn threshold(probability: f64, tail: &dyn Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e8);
    if tail(high) > probability {
        return f64::INFINITY;
    }
    // Halving leaves neighbouring numbers.
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if tail(middle) > probability { low = middle } else { high = middle }
    }
    high
}

/// The dimension of the space that contrasts span, by Gram and Schmidt's orthogonalisation; none where it is large.
fn dimensions(contrasts: &[Contrast]) -> Option<usize> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for Contrast { weights, .. } in contrasts {
        let mut rest = weights.clone();
        // Twice is enough (Kahan): the first time leaves what rounding left.
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

    fn z(level: f64) -> f64 {
        student::normal_quantile(0.5 + level / 2.0)
    }

    /// Chi-square with 2 degrees of freedom has its 95 % point at 5.991, F with 2 and 8 at 4.459; a normal variable exceeds 2.241 once in 40.
    #[test]
    fn the_shorter_of_two_textbook_intervals_is_taken() {
        assert!((z(level_of_each(&line(41), None, 0.95)).powi(2) - 5.991_46).abs() < 1e-4);
        assert!((z(level_of_each(&separate(2), None, 0.95)) - 2.241_40).abs() < 1e-4);
        assert!((z(level_of_each(&separate(60), None, 0.95)) - z(1.0 - 0.05 / 60.0)).abs() < 1e-9);
        assert!((level_of_each(&line(41)[..1], None, 0.9) - 0.9).abs() < 1e-12);
        let t = student::t_quantile(0.5 + level_of_each(&line(41), Some(9.0), 0.95) / 2.0, 9.0);
        assert!((t * t - 2.0 * 9.0 / 8.0 * 4.458_97).abs() < 1e-3, "{t}");
        // As many dimensions as batches leave Scheffé nothing.
        assert!((level_of_each(&separate(10), Some(9.0), 0.95) - 0.995).abs() < 1e-12);
    }

    /// How often a band holds a whole line, whose intercept and slope have independent normal errors: Scheffé's holds any line at 95 %, also one
    /// that goes on for ever, and this one a little more often; intervals for each point by itself do not.
    ///
    /// 20,000 worlds: bounds are five standard errors of 0.0015 from 95 %.
    #[test]
    fn a_band_holds_everywhere_at_once() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (worlds, points) = (20_000, line(41));
        let levels = [level_of_each(&points, None, 0.95), 0.95];
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
