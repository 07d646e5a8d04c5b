//! A likelihood ratio with a nuisance parameter, and its law given how well that is known (Moreira
//! 2003).
//!
//! Products of several instruments with a residual are zero on average at the true coefficient. How
//! far they are from it splits into a part along the direction in which the instruments move the
//! regressor, chi-square with one degree of freedom, and the rest, in which the instruments
//! disagree. Only the first says something of the coefficient where instruments are strong, and
//! where they are weak it says little; the likelihood ratio weighs both. It is below `m` exactly if
//!
//! ```text
//! along / m + beside / (m + strength) <= 1
//! ```
//!
//! so that its tail, given the strength, is an integral over the Gaussian distribution.

use std::f64::consts::{FRAC_PI_2, PI};

use super::chi_square_tail;

/// At how many angles the integrand is looked at. With 256 the probability is within 1e-5.
const ANGLES: u32 = 256;

/// How far products are from zero, over their errors: three squares.
#[derive(Clone, Copy, Debug)]
pub(super) struct Apart {
    /// Along the direction in which the instruments move the regressor.
    pub along: f64,
    /// In all directions at a right angle to that.
    pub beside: f64,
    /// How far the products with the regressor are from zero, of what does not go with the others.
    pub strength: f64,
    /// How many products there are.
    pub products: usize,
}

impl Apart {
    /// The likelihood ratio: `along` where the strength is infinite, all of the distance where it
    /// is zero.
    pub(super) fn ratio(&self) -> f64 {
        let Apart { along, beside, strength, .. } = *self;
        let rest = along + beside - strength;
        if rest > 0.0 {
            return 0.5 * (rest + (rest * rest + 4.0 * along * strength).sqrt());
        }
        // The same, where this is a difference of large numbers.
        let share = 1.0 - (along + beside) / strength;
        if along > 0.0 { 2.0 * along / (share + (share * share + 4.0 * along / strength).sqrt()) } else { 0.0 }
    }

    /// The probability of a ratio at least this large, given the strength.
    pub(super) fn p_value(&self) -> f64 {
        let (ratio, others) = (self.ratio(), self.products - 1);
        if others == 0 || ratio <= 0.0 {
            return chi_square_tail(ratio, self.products);
        }
        // The part along is the square of a Gaussian variable `sqrt(ratio) sin(angle)`.
        let at = |k: u32| {
            let (sin, cos) = ((f64::from(k) + 0.5) / f64::from(ANGLES) * PI - FRAC_PI_2).sin_cos();
            let density = (-0.5 * ratio * sin * sin).exp() * (ratio / (2.0 * PI)).sqrt() * cos;
            density * chi_square_tail((ratio + self.strength) * cos * cos, others)
        };
        chi_square_tail(ratio, 1) + (0..ANGLES).map(at).sum::<f64>() * PI / f64::from(ANGLES)
    }

    /// Whether a test at this level rejects. What cannot be computed is not rejected.
    pub(super) fn is_rejected(&self, level: f64) -> bool {
        let (ratio, error) = (self.ratio(), 1.0 - level);
        // The law is between two that are simpler.
        let is_possible = chi_square_tail(ratio, 1) < error;
        is_possible && (chi_square_tail(ratio, self.products) < error || self.p_value() < error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(along: f64, beside: f64, strength: f64) -> Apart {
        Apart { along, beside, strength, products: 3 }
    }

    /// The ratio of the definition, `S - r + sqrt((S + r)^2 - 4 r J)`, halved.
    #[test]
    fn the_ratio_is_that_of_moreira() {
        for (along, beside, strength) in [(3.0, 2.0, 1.0), (3.0, 2.0, 40.0), (0.5, 9.0, 2.0), (2.0, 0.0, 7.0)] {
            let total: f64 = along + beside;
            let by_hand = 0.5 * (total - strength + ((total + strength).powi(2) - 4.0 * strength * beside).sqrt());
            let found = apart(along, beside, strength).ratio();
            assert!((found - by_hand).abs() < 1e-12, "{found} {by_hand}");
            let edge = along / found + beside / (found + strength);
            assert!((edge - 1.0).abs() < 1e-12, "{edge}");
        }
        assert_eq!(apart(3.0, 2.0, 0.0).ratio(), 5.0);
        assert!((apart(3.0, 2.0, 1e18).ratio() - 3.0).abs() < 1e-12);
        assert_eq!(apart(0.0, 2.0, 5.0).ratio(), 0.0);
    }

    /// A chi-square variable with two degrees of freedom exceeds `x` with probability
    /// `exp(-x / 2)`, so that the tail is an integral over one Gaussian variable, summed here as it
    /// stands.
    #[test]
    fn the_tail_is_the_integral_over_both_parts() {
        for (along, beside, strength) in [(2.0, 2.0, 0.5), (3.0, 1.0, 4.0), (4.0, 3.0, 30.0), (5.0, 0.1, 1e3)] {
            let of = apart(along, beside, strength);
            let ratio = of.ratio();
            let step = 1e-4;
            let density = |z: f64| {
                let beside = (1.0 - z * z / ratio).max(0.0) * (ratio + strength);
                (-0.5 * (z * z + beside)).exp() / (2.0 * PI).sqrt()
            };
            let by_hand = (-100_000..100_000).map(|k| density((f64::from(k) + 0.5) * step)).sum::<f64>() * step;
            assert!((of.p_value() - by_hand).abs() < 1e-5, "{} {by_hand}", of.p_value());
            assert_eq!(of.is_rejected(0.95), by_hand < 0.05);
        }
    }

    #[test]
    fn the_law_is_between_those_of_one_product_and_of_all() {
        let all = apart(4.0, 3.0, 0.0);
        assert!((all.p_value() - chi_square_tail(7.0, 3)).abs() < 1e-5);
        let strong = apart(4.0, 3.0, 1e12);
        assert!((strong.p_value() - chi_square_tail(4.0, 1)).abs() < 1e-5);
        assert!(!apart(f64::NAN, 1.0, 1.0).is_rejected(0.95));
    }
}
