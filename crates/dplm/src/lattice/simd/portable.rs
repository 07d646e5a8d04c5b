//! Plain loops over eight numbers, which compilers turn into whatever vectors the target has (NEON,
//! SSE2).

use std::array::from_fn;

use super::{FOLDED, LANES, Simd};

/// No instructions beyond those of the target.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Simd for Portable {
    type V = [f64; LANES];

    #[inline(always)]
    fn splat(self, value: f64) -> Self::V {
        [value; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f64; LANES]) -> Self::V {
        *from
    }

    #[inline(always)]
    fn store(self, value: Self::V, to: &mut [f64; LANES]) {
        *to = value;
    }

    #[inline(always)]
    fn widen(self, from: &[f32; LANES]) -> Self::V {
        from_fn(|lane| f64::from(from[lane]))
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn add_folded(self, value: Self::V, to: &mut [f64; FOLDED]) {
        to.iter_mut().enumerate().for_each(|(lane, to)| *to += value[lane] + value[lane + FOLDED]);
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        from_fn(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        from_fn(|lane| a[lane] * b[lane] + c[lane])
    }

    #[inline(always)]
    fn mul_sub_from(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        from_fn(|lane| c[lane] - a[lane] * b[lane])
    }

    #[inline(always)]
    fn limit(self, value: Self::V, bound: Self::V) -> Self::V {
        from_fn(|lane| value[lane].max(-bound[lane]).min(bound[lane]))
    }

    #[inline(always)]
    fn round(self, value: Self::V) -> Self::V {
        value.map(f64::round_ties_even)
    }

    #[inline(always)]
    fn trunc(self, value: Self::V) -> Self::V {
        value.map(f64::trunc)
    }

    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        from_fn(|lane| a[lane] / b[lane])
    }

    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        from_fn(|lane| a[lane].max(b[lane]))
    }

    #[inline(always)]
    fn any_above(self, a: Self::V, b: Self::V) -> bool {
        (0..LANES).any(|lane| a[lane] > b[lane])
    }

    type Part = [f64; LANES / 2];

    const PARTS: usize = 2;

    #[inline(always)]
    fn zero(self) -> Self::Part {
        [0.0; LANES / 2]
    }

    #[inline(always)]
    fn load_part(self, from: &[f64; LANES], part: usize) -> Self::Part {
        from_fn(|lane| from[part * LANES / 2 + lane])
    }

    #[inline(always)]
    fn mul_add_part(self, a: Self::Part, b: Self::Part, c: Self::Part) -> Self::Part {
        from_fn(|lane| a[lane] * b[lane] + c[lane])
    }

    #[inline(always)]
    fn sum_part(self, value: Self::Part) -> f64 {
        value.iter().sum()
    }

    #[inline(always)]
    fn compress(self, from: &[f32; LANES], keep: u8, to: &mut [f32; LANES]) {
        let mut place = 0;
        for (lane, &value) in from.iter().enumerate() {
            // Written whether kept or not: a number that is not kept is overwritten by the next.
            to[place.min(LANES - 1)] = value;
            place += usize::from(keep >> lane & 1);
        }
    }

    #[inline(always)]
    fn prefetch(self, _near: &f32) {}
}
