//! NEON, which every 64-bit ARM processor has.

use std::{arch::aarch64::*, array::from_fn};

use super::{FOLDED, LANES, Simd, portable::Portable};

/// Two numbers make a register.
const PER_PART: usize = 2;
const REGISTERS: usize = LANES / PER_PART;

/// NEON needs no proof: it is part of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Neon;

impl Simd for Neon {
    type V = [float64x2_t; REGISTERS];

    #[inline(always)]
    fn splat(self, value: f64) -> Self::V {
        // SAFETY: NEON is part of the target; registers only.
        [unsafe { vdupq_n_f64(value) }; REGISTERS]
    }

    #[inline(always)]
    fn load(self, from: &[f64; LANES]) -> Self::V {
        from_fn(|part| self.load_part(from, part))
    }

    #[inline(always)]
    fn store(self, value: Self::V, to: &mut [f64; LANES]) {
        for (to, value) in to.as_chunks_mut::<PER_PART>().0.iter_mut().zip(value) {
            // SAFETY: NEON is part of the target; the store fills an array of two `f64`.
            unsafe { vst1q_f64(to.as_mut_ptr(), value) }
        }
    }

    #[inline(always)]
    fn widen(self, from: &[f32; LANES]) -> Self::V {
        let (low, high) = from.split_at(LANES / 2);
        // SAFETY: NEON is part of the target; each load reads four `f32` of a slice of four.
        unsafe {
            let (low, high) = (vld1q_f32(low.as_ptr()), vld1q_f32(high.as_ptr()));
            [
                vcvt_f64_f32(vget_low_f32(low)),
                vcvt_high_f64_f32(low),
                vcvt_f64_f32(vget_low_f32(high)),
                vcvt_high_f64_f32(high),
            ]
        }
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: NEON is part of the target; registers only.
        from_fn(|part| unsafe { vaddq_f64(a[part], b[part]) })
    }

    #[inline(always)]
    fn add_folded(self, value: Self::V, to: &mut [f64; FOLDED]) {
        for (part, to) in to.as_chunks_mut::<PER_PART>().0.iter_mut().enumerate() {
            // SAFETY: NEON is part of the target; the load reads and the store fills an array of
            // two `f64`.
            unsafe {
                let halves = vaddq_f64(value[part], value[part + REGISTERS / 2]);
                vst1q_f64(to.as_mut_ptr(), vaddq_f64(vld1q_f64(to.as_ptr()), halves));
            }
        }
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: NEON is part of the target; registers only.
        from_fn(|part| unsafe { vmulq_f64(a[part], b[part]) })
    }

    #[inline(always)]
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        from_fn(|part| self.mul_add_part(a[part], b[part], c[part]))
    }

    #[inline(always)]
    fn mul_sub_from(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // SAFETY: NEON is part of the target; registers only.
        from_fn(|part| unsafe { vfmsq_f64(c[part], a[part], b[part]) })
    }

    #[inline(always)]
    fn limit(self, value: Self::V, bound: Self::V) -> Self::V {
        // Compared and chosen, not by minimum and maximum, which Miri does not know.
        // SAFETY: NEON is part of the target; registers only.
        from_fn(|part| unsafe {
            let (high, low) = (bound[part], vnegq_f64(bound[part]));
            let raised = vbslq_f64(vcltq_f64(value[part], low), low, value[part]);
            vbslq_f64(vcgtq_f64(raised, high), high, raised)
        })
    }

    #[inline(always)]
    fn round(self, value: Self::V) -> Self::V {
        if cfg!(miri) {
            // Miri does not know the instruction; everything around it is checked all the same.
            let mut numbers = [0.0; LANES];
            self.store(value, &mut numbers);
            return self.load(&numbers.map(f64::round_ties_even));
        }
        // SAFETY: NEON is part of the target; registers only.
        value.map(|part| unsafe { vrndnq_f64(part) })
    }

    #[inline(always)]
    fn trunc(self, value: Self::V) -> Self::V {
        // SAFETY: NEON is part of the target; registers only.
        value.map(|part| unsafe { vrndq_f64(part) })
    }

    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: NEON is part of the target; registers only.
        from_fn(|part| unsafe { vdivq_f64(a[part], b[part]) })
    }

    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        // Compared and chosen, as above.
        // SAFETY: NEON is part of the target; registers only.
        from_fn(|part| unsafe { vbslq_f64(vcgtq_f64(a[part], b[part]), a[part], b[part]) })
    }

    #[inline(always)]
    fn any_above(self, a: Self::V, b: Self::V) -> bool {
        let [mut left, mut right] = [[0.0; LANES]; 2];
        self.store(a, &mut left);
        self.store(b, &mut right);
        Portable.any_above(left, right)
    }

    type Part = float64x2_t;

    const PARTS: usize = REGISTERS;

    #[inline(always)]
    fn zero(self) -> Self::Part {
        // SAFETY: NEON is part of the target; registers only.
        unsafe { vdupq_n_f64(0.0) }
    }

    #[inline(always)]
    fn load_part(self, from: &[f64; LANES], part: usize) -> Self::Part {
        let pair = &from[part * PER_PART..][..PER_PART];
        // SAFETY: NEON is part of the target; the load reads a slice of two `f64`.
        unsafe { vld1q_f64(pair.as_ptr()) }
    }

    #[inline(always)]
    fn mul_add_part(self, a: Self::Part, b: Self::Part, c: Self::Part) -> Self::Part {
        // SAFETY: NEON is part of the target; registers only.
        unsafe { vfmaq_f64(c, a, b) }
    }

    #[inline(always)]
    fn sum_part(self, value: Self::Part) -> f64 {
        // SAFETY: NEON is part of the target; registers only.
        unsafe { vgetq_lane_f64::<0>(value) + vgetq_lane_f64::<1>(value) }
    }

    #[inline(always)]
    fn compress(self, from: &[f32; LANES], keep: u8, to: &mut [f32; LANES]) {
        Portable.compress(from, keep, to);
    }

    #[inline(always)]
    fn prefetch(self, _near: &f32) {
        // There is no stable intrinsic for it; these processors read ahead well by themselves.
    }
}
