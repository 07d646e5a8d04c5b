//! Per-row clip bounds in exact integers.

use num_bigint::BigUint;

use super::exact::{large, narrow, nearest};

/// Squared norms keep this many bits; with at most 2^40 rows their sum stays far inside `i128`.
const SQUARE_BITS: u32 = 62;

/// The clip `gamma` as an integer on the lattice of gradients.
///
/// The paper's clipped gradient has a closed form that needs no norm per step:
/// `CLIP_gamma(-x r) = -x clamp(r, -B, B)` with `B = gamma / ||x||` fixed for each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clip {
    gamma: u128,
    gamma_sq: u128,
}

impl Clip {
    /// A clip of `gamma` lattice units.
    pub fn new(gamma: u128) -> Clip {
        assert!(gamma < 1 << 63, "the plan keeps gamma below 2^63");
        Clip { gamma, gamma_sq: gamma * gamma }
    }

    /// The clip itself.
    pub fn gamma(&self) -> u128 {
        self.gamma
    }

    /// Its square, which bounds the squared norm of every row's clipped gradient.
    pub fn gamma_sq(&self) -> BigUint {
        BigUint::from(self.gamma_sq)
    }

    /// How many bits to drop from the coordinates of a clipped gradient so that they fit a cell.
    pub fn gradient_shift(&self) -> u32 {
        let bits = 128 - self.gamma.leading_zeros();
        bits.saturating_sub(super::CELL_RANGE_BITS)
    }

    /// How many bits to drop from the squared norm of a clipped gradient so that sums over all rows
    /// fit `i128`.
    pub fn square_shift(&self) -> u32 {
        (128 - self.gamma_sq.leading_zeros()).saturating_sub(SQUARE_BITS)
    }

    /// The bound `B` of a row with `||X||^2 = norm_sq`.
    ///
    /// # Guarantee
    /// `B` is an integer, and `B^2 norm_sq <= gamma^2` in exact arithmetic; a row of zeros has
    /// `B = 0`. It is the largest such integer that `f32` holds, so at most one part in 2^23 below
    /// `gamma / ||X||`.
    pub fn bound(&self, norm_sq: u64) -> f32 {
        if norm_sq == 0 {
            return 0.0;
        }
        let mut bound = whole_down(nearest(self.gamma.cast_signed()) / nearest(norm_sq.into()).sqrt());
        while !self.allows(bound, norm_sq) {
            bound = whole_down(f64::from(bound.next_down()));
        }
        bound
    }

    /// Whether a residual of `bound` on a row of this norm stays within the clip.
    fn allows(&self, bound: f32, norm_sq: u64) -> bool {
        let bound = large(bound.into());
        (bound * bound).checked_mul(u128::from(norm_sq)).is_some_and(|square| square <= self.gamma_sq)
    }

    /// Whether 128 rows sum exactly in `f64` without splitting residuals.
    pub fn sums_in_one_product(&self) -> bool {
        self.gamma << 7 <= 1 << 53
    }
}

/// The largest whole `f32` not above a nonnegative value.
fn whole_down(value: f64) -> f32 {
    let nearest = narrow(value);
    let below = if f64::from(nearest) > value { nearest.next_down() } else { nearest };
    below.floor()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(gamma: u128, norm_sq: u64) {
        let clip = Clip::new(gamma);
        let bound = clip.bound(norm_sq);
        assert_eq!(bound, bound.floor());
        let exact = BigUint::from(bound as u128);
        assert!(&exact * &exact * norm_sq <= clip.gamma_sq(), "gamma {gamma} norm_sq {norm_sq}");
        let above = BigUint::from(whole_up(bound) as u128);
        assert!(&above * &above * norm_sq > clip.gamma_sq(), "gamma {gamma} norm_sq {norm_sq}: not the largest");
    }

    /// The next whole `f32` above.
    fn whole_up(bound: f32) -> f32 {
        if bound < 16_777_216.0 { bound + 1.0 } else { bound.next_up() }
    }

    #[test]
    fn the_bound_is_the_largest_that_keeps_the_promise() {
        for gamma in [1, 2, 3, 1000, (1 << 46) - 1, 1 << 46, (1 << 62) + 12345] {
            for norm_sq in [1, 2, 3, 4, 999_983, (1 << 38) - 1, 1 << 38, (1 << 38) * 16_000, u64::from(u32::MAX) * 77] {
                check(gamma, norm_sq);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn random_bounds_keep_the_promise(
            (gamma, gamma_bits) in (any::<u64>(), 1..63u32),
            (norm_sq, norm_bits) in (any::<u64>(), 1..58u32),
        ) {
            check(u128::from(gamma >> (64 - gamma_bits)) + 1, (norm_sq >> (64 - norm_bits)) + 1);
        }
    }

    #[test]
    fn a_row_of_zeros_contributes_nothing() {
        assert_eq!(Clip::new(1 << 40).bound(0), 0.0);
    }
}
