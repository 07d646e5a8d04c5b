//! How many bits everything has, and the proof that they suffice.

use super::{
    Clip, Link,
    exact::{large, log2_up},
    family::PROBABILITY_BITS,
};

/// A cell of 1 is this power of two on the lattice.
pub const CELL_SCALE_BITS: u32 = 12;
/// Cells saturate at this power of two: at 128 standardised units.
pub const CELL_RANGE_BITS: u32 = 19;
/// Parameters saturate at 2^6 = 64 standardised units.
const THETA_RANGE_BITS: u32 = 6;
/// The finest and the coarsest grid of parameters.
const THETA_SCALE_BITS: std::ops::RangeInclusive<u32> = 14..=24;
/// Integers up to 2^53 are exact in `f64`.
const EXACT_BITS: u32 = 53;
/// A block has 2^7 rows.
const BLOCK_BITS: u32 = 7;
/// Sums over rows are taken in `i128`; with at most 2^40 rows they stay far inside.
const ROW_BITS: u32 = 40;

/// The integer arithmetic of one descent, fixed by public numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lattice {
    features: usize,
    theta_bits: u32,
    link: Link,
}

/// A point on the lattice of parameters: integers, held exactly in `f64`; and what the mean of a
/// response is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Theta {
    pub(super) integers: Vec<f64>,
    pub(super) link: Link,
}

/// Why the arithmetic cannot be made exact.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LatticeError {
    /// There is nothing to fit.
    #[error("the model has no coefficients; add a column or an intercept")]
    NoFeatures,
    /// Residuals would not be exact.
    #[error(
        "the model has {features} coefficients and at most {most} can be fitted exactly; use fewer columns or levels"
    )]
    TooManyFeatures {
        /// How many were asked.
        features: usize,
        /// How many there can be.
        most: usize,
    },
    /// Sums would not be exact.
    #[error("the data have more than 2^40 rows, which is more than sums are exact for")]
    TooManyRows,
    /// The clip is not a usable number.
    #[error("the clip must be between {least} and {most} in standardised units")]
    ClipOutOfRange {
        /// The smallest clip the lattice resolves.
        least: f64,
        /// The largest clip it holds.
        most: f64,
    },
}

impl Lattice {
    /// The smallest and largest clip, in standardised units.
    pub const CLIP_RANGE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

    /// Chooses bits for `rows` rows of `features` coefficients and clip `gamma`, or says why there
    /// are none.
    ///
    /// `step_noise` is the standard deviation `eta lambda` that one step adds to a parameter; the
    /// grid of parameters is kept at least eight times finer when there is room, so that rounding a
    /// parameter is lost in the noise. (It is never an error: a gradient is taken at the rounded
    /// point, exactly.)
    ///
    /// # Guarantee
    /// With the bits chosen, for any cells whatever:
    /// - `|2^s Y - X . Theta| <= 2^19 2^s + features 2^19 2^(s+6) <= 2^53`, so residuals are exact
    ///   in `f64` in any order;
    /// - a coordinate of a row's clipped gradient is at most `gamma`, and either
    ///   `2^7 gamma <= 2^53`, so that a block sums exactly, or the kernel splits residuals into
    ///   halves for which `2^19 2^26 2^7 <= 2^53`;
    /// - `rows gamma <= 2^40 2^62 < 2^127`, so `i128` holds every sum.
    pub fn plan(rows: u64, features: usize, gamma: f64, step_noise: f64) -> Result<Lattice, LatticeError> {
        if features == 0 {
            return Err(LatticeError::NoFeatures);
        }
        if rows > 1 << ROW_BITS {
            return Err(LatticeError::TooManyRows);
        }
        if !Lattice::CLIP_RANGE.contains(&gamma) {
            let (least, most) = Lattice::CLIP_RANGE.into_inner();
            return Err(LatticeError::ClipOutOfRange { least, most });
        }
        let room = Lattice::room_for_theta(features)?.min(room_for_clip(gamma));
        let wanted = one_product_bits(gamma).max(bits_finer_than(step_noise));
        let theta_bits = wanted.clamp(*THETA_SCALE_BITS.start(), (*THETA_SCALE_BITS.end()).min(room));
        Ok(Lattice { features, theta_bits, link: Link::Identity })
    }

    /// The same for responses whose mean is another function of parameters.
    ///
    /// # Guarantee
    /// `X . Theta` is below 2^53 as a residual is. A coordinate of a row's gradient is at most
    /// `gamma`, which is `2^(12 + 20)` lattice units for each of its own and at most 2^52, whatever
    /// the parameters' bits.
    #[must_use]
    pub const fn of_link(self, link: Link) -> Lattice {
        Lattice { link, ..self }
    }

    /// What the mean of a response is.
    pub const fn link(&self) -> Link {
        self.link
    }

    /// The largest scale of parameters for which residuals stay below 2^53.
    fn room_for_theta(features: usize) -> Result<u32, LatticeError> {
        let count_bits = (features + 1).next_power_of_two().trailing_zeros();
        let spent = CELL_RANGE_BITS + THETA_RANGE_BITS + count_bits;
        let room = EXACT_BITS.saturating_sub(spent);
        if room < *THETA_SCALE_BITS.start() {
            let most = (1 << (EXACT_BITS - CELL_RANGE_BITS - THETA_RANGE_BITS - THETA_SCALE_BITS.start())) - 1;
            return Err(LatticeError::TooManyFeatures { features, most });
        }
        Ok(room)
    }

    /// The arithmetic of these bits, where it is one that [`Lattice::plan`] may choose.
    pub fn of_bits(features: usize, theta_bits: u32) -> Option<Lattice> {
        let room = Lattice::room_for_theta(features).ok().filter(|_| features > 0)?;
        let is_planned = THETA_SCALE_BITS.contains(&theta_bits) && theta_bits <= room;
        is_planned.then_some(Lattice { features, theta_bits, link: Link::Identity })
    }

    /// How many bits a parameter has after the point.
    pub const fn theta_bits(&self) -> u32 {
        self.theta_bits
    }

    /// How many coefficients a row has.
    pub const fn features(&self) -> usize {
        self.features
    }

    /// The integer clip: the largest lattice number not above `gamma`.
    pub fn clip(&self, gamma: f64) -> Clip {
        // The product is exact: multiplying by a power of two.
        Clip::new(large((gamma * self.gradient_unit()).floor()))
    }

    /// One standardised unit of a gradient, in lattice units.
    pub fn gradient_unit(&self) -> f64 {
        let residual_bits = match self.link {
            Link::Identity => CELL_SCALE_BITS + self.theta_bits,
            Link::Logistic => PROBABILITY_BITS,
        };
        exp2(CELL_SCALE_BITS + residual_bits)
    }

    /// One standardised unit of a parameter, in lattice units.
    pub fn theta_unit(&self) -> f64 {
        exp2(self.theta_bits)
    }

    /// Rounds parameters to the grid; what is beyond 64 units saturates, and NaN becomes 0. This is
    /// post-processing.
    pub fn theta(&self, standardised: &[f64]) -> Theta {
        assert_eq!(standardised.len(), self.features, "one parameter for each coefficient");
        let largest = exp2(self.theta_bits + THETA_RANGE_BITS);
        let round = |value: &f64| (value * self.theta_unit()).round_ties_even().clamp(-largest, largest);
        let integers = standardised.iter().map(round).map(|value| if value.is_nan() { 0.0 } else { value });
        Theta { integers: integers.collect(), link: self.link }
    }

    /// A point by its integers, where they are integers within the range of parameters.
    pub fn theta_of(&self, integers: Vec<f64>) -> Option<Theta> {
        let largest = exp2(self.theta_bits + THETA_RANGE_BITS);
        let is_sound = |value: &f64| value.fract() == 0.0 && value.abs() <= largest;
        let is_point = integers.len() == self.features && integers.iter().all(is_sound);
        is_point.then_some(Theta { integers, link: self.link })
    }

    /// The parameters in standardised units, exactly.
    pub fn standardised(&self, theta: &Theta) -> Vec<f64> {
        theta.integers.iter().map(|value| value / self.theta_unit()).collect()
    }
}

impl Theta {
    /// The lattice integers.
    pub fn integers(&self) -> &[f64] {
        &self.integers
    }

    /// What the mean of a response is there.
    pub fn link(&self) -> Link {
        self.link
    }
}

/// The scale at which `2^7 gamma <= 2^53`: one product per cell suffices then.
fn one_product_bits(gamma: f64) -> u32 {
    let bits = (EXACT_BITS - BLOCK_BITS - 2 * CELL_SCALE_BITS).cast_signed() - log2_up(gamma);
    bits.max(0).cast_unsigned()
}

/// The largest scale at which `gamma` stays below 2^62.
fn room_for_clip(gamma: f64) -> u32 {
    62 - 2 * CELL_SCALE_BITS - log2_up(gamma).max(0).cast_unsigned()
}

/// The scale at which the grid is eight times finer than `noise`.
fn bits_finer_than(noise: f64) -> u32 {
    if noise > 0.0 { log2_up(8.0 / noise).max(0).cast_unsigned() } else { 0 }
}

fn exp2(bits: u32) -> f64 {
    f64::from(bits).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residuals_fit_for_every_width() {
        for features in [1, 2, 10, 100, 1000, 10_000, 16_383] {
            let lattice = Lattice::plan(1000, features, 5.0 * (features as f64).sqrt(), 1e-3).unwrap();
            let cell = exp2(CELL_RANGE_BITS);
            let theta = lattice.theta(&vec![1e9; features]);
            let largest = cell * lattice.theta_unit() + cell * theta.integers().iter().sum::<f64>();
            assert!(largest <= exp2(EXACT_BITS), "{features}: {largest}");
        }
    }

    #[test]
    fn one_product_is_exact_when_it_is_chosen() {
        for gamma in [0.3, 1.0, 15.8, 16.0, 50.0, 200.0] {
            let lattice = Lattice::plan(1000, 10, gamma, 1.0).unwrap();
            assert!(lattice.clip(gamma).sums_in_one_product(), "{gamma}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(matches!(Lattice::plan(1000, 0, 1.0, 1.0), Err(LatticeError::NoFeatures)));
        assert!(matches!(Lattice::plan(1000, 20_000, 1.0, 1.0), Err(LatticeError::TooManyFeatures { .. })));
        assert!(matches!(Lattice::plan(u64::MAX, 10, 1.0, 1.0), Err(LatticeError::TooManyRows)));
        for gamma in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-9] {
            assert!(matches!(Lattice::plan(10, 1, gamma, 1.0), Err(LatticeError::ClipOutOfRange { .. })));
        }
    }

    #[test]
    fn the_limit_named_in_the_refusal_is_the_limit() {
        let Err(LatticeError::TooManyFeatures { most, .. }) = Lattice::plan(10, 1 << 20, 1.0, 1.0) else { panic!() };
        assert!(Lattice::plan(10, most, 1.0, 1.0).is_ok());
        assert!(Lattice::plan(10, most + 1, 1.0, 1.0).is_err());
    }

    #[test]
    fn the_clip_stays_below_two_to_the_62() {
        for gamma in [1e-6, 0.1, 1.0, 3.0, 1e3, 1e6] {
            let lattice = Lattice::plan(1 << 40, 1, gamma, 1e-9).unwrap();
            assert!((1 << 20..1 << 62).contains(&lattice.clip(gamma).gamma()), "{gamma}");
        }
    }

    #[test]
    fn parameters_round_to_the_grid_and_saturate() {
        let lattice = Lattice::plan(1000, 4, 1.0, 1e-3).unwrap();
        let theta = lattice.theta(&[0.3, -1e300, f64::NAN, f64::INFINITY]);
        let back = lattice.standardised(&theta);
        assert!((back[0] - 0.3).abs() <= 0.5 / lattice.theta_unit());
        assert_eq!(&back[1..], &[-64.0, 0.0, 64.0]);
    }
}
