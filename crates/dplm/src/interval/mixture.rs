//! Mixtures of normal laws: what an interval looks like when the curvature is not known for certain.

use super::contrast::normal_quantile;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use statrs::distribution::{ContinuousCDF, Normal};
use std::f64::consts::PI;

/// A mixture of normal laws in equal shares.
pub(super) struct Mixture {
    /// Mean and standard deviation of each part.
    pub parts: Vec<(f64, f64)>,
}

impl Mixture {
    /// The value below which a share `probability` lies, by Newton steps kept inside a shrinking bracket.
    pub fn quantile(&self, probability: f64) -> f64 {
        let z = normal_quantile(2.0 * probability - 1.0);
        let ends = self.parts.iter().map(|(mean, sd)| mean + z * sd);
        let (mut low, mut high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let mut x = 0.5 * (low + high);
        for _ in 0..200 {
            if high - low <= 1e-12 * (high.abs() + low.abs()) + f64::MIN_POSITIVE {
                break;
            }
            let (below, density) = self.at(x);
            if below < probability {
                low = x
            } else {
                high = x
            }
            let newton = x + (probability - below) / density;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            if (next - x).abs() <= 1e-10 * (high - low).max(x.abs() * 1e-4) {
                return next;
            }
            x = next;
        }
        x
    }

    /// Share below `x`, and density there.
    fn at(&self, x: f64) -> (f64, f64) {
        let standard = Normal::standard();
        let (mut below, mut density) = (0.0, 0.0);
        for (mean, sd) in &self.parts {
            let u = (x - mean) / sd;
            below += standard.cdf(u);
            density += (-0.5 * u * u).exp() / (sd * (2.0 * PI).sqrt());
        }
        let count = self.parts.len() as f64;
        (below / count, density / count)
    }
}

/// Normal draws from a fixed seed: the same releases always give the same interval.
///
/// These draws only evaluate an integral. They protect nothing, so their seed may be public.
pub(super) struct Draws(ChaCha8Rng);

impl Draws {
    pub fn new() -> Self {
        Draws(ChaCha8Rng::seed_from_u64(0x6470_6c6d))
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        Normal::standard().inverse_cdf(self.uniform())
    }

    /// A uniform number strictly between 0 and 1.
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// `count` evenly spread values of a normal law cut off below `floor`, in random order.
    pub fn spread_above(&mut self, mean: f64, sd: f64, floor: f64, count: usize) -> Vec<f64> {
        let standard = Normal::standard();
        if sd == 0.0 {
            return vec![mean.max(floor); count];
        }
        let cut = standard.cdf((floor - mean) / sd).min(1.0 - 1e-12);
        let value = |i: usize| mean + sd * standard.inverse_cdf(cut + (1.0 - cut) * (i as f64 + 0.5) / count as f64);
        let mut values: Vec<f64> = (0..count).map(|i| value(i).max(floor)).collect();
        for i in (1..count).rev() {
            values.swap(i, (self.uniform() * (i + 1) as f64) as usize);
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_is_the_normal_law() {
        let mixture = Mixture { parts: vec![(3.0, 2.0)] };
        assert!((mixture.quantile(0.975) - (3.0 + 2.0 * 1.959_963_985)).abs() < 1e-7);
    }

    /// `Phi(x + 1) / 2 + Phi((x - 1) / 2) / 2 = 0.975`, solved by bisection elsewhere.
    #[test]
    fn two_parts_by_hand() {
        let mixture = Mixture { parts: vec![(-1.0, 1.0), (1.0, 2.0)] };
        assert!((mixture.quantile(0.975) - 4.289708442).abs() < 1e-7);
    }

    #[test]
    fn the_quantile_leaves_the_share_it_says() {
        let mixture = Mixture { parts: vec![(0.0, 1.0), (1.0, 0.1), (-4.0, 30.0), (0.2, 1e-3)] };
        for probability in [0.005, 0.025, 0.5, 0.9, 0.975, 0.9995] {
            let found = mixture.at(mixture.quantile(probability)).0;
            assert!((found - probability).abs() < 1e-8, "{found} for {probability}");
        }
    }

    #[test]
    fn spread_values_have_the_moments_of_the_law() {
        let values = Draws::new().spread_above(2.0, 0.5, 0.0, 400);
        let mean = values.iter().sum::<f64>() / 400.0;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 400.0;
        assert!((mean - 2.0).abs() < 1e-3 && (variance - 0.25).abs() < 5e-3);
    }

    /// The mean of a standard normal law cut off below zero is `sqrt(2 / pi)`.
    #[test]
    fn spread_values_respect_the_floor() {
        let values = Draws::new().spread_above(0.0, 1.0, 0.0, 4000);
        assert!(values.iter().all(|v| *v >= 0.0));
        assert!((values.iter().sum::<f64>() / 4000.0 - (2.0 / PI).sqrt()).abs() < 1e-3);
    }
}
