//! AVX2 with FMA, and AVX-512.

use std::arch::x86_64::*;

use super::{FOLDED, LANES, Simd, Work};

/// Proof that the processor has AVX2 and FMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx2(());

/// Proof that the processor has AVX-512F, DQ and VL, and AVX2 and FMA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx512(());

impl Avx2 {
    /// The proof, if there is one. This is the only place where it is made.
    pub(super) fn detect() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
    }

    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx2,fma")]
        fn with_features<W: Work>(simd: Avx2, work: W) -> W::Output {
            work.run(simd)
        }
        // SAFETY: `self` exists only after `detect` found these features.
        unsafe { with_features(self, work) }
    }
}

impl Avx512 {
    /// The proof, if there is one. This is the only place where it is made.
    pub(super) fn detect() -> Option<Avx512> {
        let all = Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        all.then_some(Avx512(()))
    }

    /// Whether the processor does eight numbers in one go. The first AMD processors with AVX-512
    /// (family 19h) do four and four, and are quicker with AVX2.
    pub(super) fn pays(self) -> bool {
        let (leaf, signature) = (__cpuid(0), __cpuid(1).eax);
        let is_amd = [leaf.ebx, leaf.edx, leaf.ecx] == [*b"Auth", *b"enti", *b"cAMD"].map(u32::from_le_bytes);
        let family = ((signature >> 8) & 0xf) + ((signature >> 20) & 0xff);
        !(is_amd && family == 0x19)
    }

    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx2,fma,avx512f,avx512dq,avx512vl")]
        fn with_features<W: Work>(simd: Avx512, work: W) -> W::Output {
            work.run(simd)
        }
        // SAFETY: `self` exists only after `detect` found these features.
        unsafe { with_features(self, work) }
    }
}

/// One operation on both halves of an AVX2 pair.
macro_rules! halves {
    ($operation:ident, $($value:expr),+) => {
        // SAFETY: `self` exists only after `detect` found AVX2 and FMA, and the operation reads and
        // writes registers only.
        unsafe { ($operation($($value.0),+), $operation($($value.1),+)) }
    };
}

impl Simd for Avx2 {
    type V = (__m256d, __m256d);

    #[inline(always)]
    fn splat(self, value: f64) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX2; registers only.
        let half = unsafe { _mm256_set1_pd(value) };
        (half, half)
    }

    #[inline(always)]
    fn load(self, from: &[f64; LANES]) -> Self::V {
        let (low, high) = from.split_at(LANES / 2);
        // SAFETY: `self` exists only after `detect` found AVX2; each load reads four `f64` of a
        // slice of four, and need not be aligned.
        unsafe { (_mm256_loadu_pd(low.as_ptr()), _mm256_loadu_pd(high.as_ptr())) }
    }

    #[inline(always)]
    fn store(self, value: Self::V, to: &mut [f64; LANES]) {
        let (low, high) = to.split_at_mut(LANES / 2);
        // SAFETY: `self` exists only after `detect` found AVX2; each store fills a slice of four
        // `f64`, and need not be aligned.
        unsafe {
            _mm256_storeu_pd(low.as_mut_ptr(), value.0);
            _mm256_storeu_pd(high.as_mut_ptr(), value.1);
        }
    }

    #[inline(always)]
    fn widen(self, from: &[f32; LANES]) -> Self::V {
        let (low, high) = from.split_at(LANES / 2);
        // SAFETY: `self` exists only after `detect` found AVX2; each load reads four `f32` of a
        // slice of four, and need not be aligned.
        unsafe { (_mm256_cvtps_pd(_mm_loadu_ps(low.as_ptr())), _mm256_cvtps_pd(_mm_loadu_ps(high.as_ptr()))) }
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_add_pd, a, b)
    }

    #[inline(always)]
    fn add_folded(self, value: Self::V, to: &mut [f64; FOLDED]) {
        // SAFETY: `self` exists only after `detect` found AVX2; the load reads and the store fills
        // the four `f64`, unaligned.
        unsafe {
            let sum = _mm256_add_pd(_mm256_loadu_pd(to.as_ptr()), _mm256_add_pd(value.0, value.1));
            _mm256_storeu_pd(to.as_mut_ptr(), sum);
        }
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_mul_pd, a, b)
    }

    #[inline(always)]
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        halves!(_mm256_fmadd_pd, a, b, c)
    }

    #[inline(always)]
    fn mul_sub_from(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        halves!(_mm256_fnmadd_pd, a, b, c)
    }

    #[inline(always)]
    fn limit(self, value: Self::V, bound: Self::V) -> Self::V {
        let sign = self.splat(-0.0);
        let below = halves!(_mm256_xor_pd, bound, sign);
        let raised = halves!(_mm256_max_pd, value, below);
        halves!(_mm256_min_pd, raised, bound)
    }

    #[inline(always)]
    fn round(self, value: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX2; registers only.
        unsafe {
            let nearest = |half| _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(half);
            (nearest(value.0), nearest(value.1))
        }
    }

    #[inline(always)]
    fn trunc(self, value: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX2; registers only.
        unsafe {
            let cut = |half| _mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(half);
            (cut(value.0), cut(value.1))
        }
    }

    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_div_pd, a, b)
    }

    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        halves!(_mm256_max_pd, a, b)
    }

    #[inline(always)]
    fn any_above(self, a: Self::V, b: Self::V) -> bool {
        // SAFETY: `self` exists only after `detect` found AVX2; registers only.
        unsafe {
            let above = |a, b| _mm256_cmp_pd::<_CMP_GT_OQ>(a, b);
            _mm256_movemask_pd(_mm256_or_pd(above(a.0, b.0), above(a.1, b.1))) != 0
        }
    }

    type Part = __m256d;

    const PARTS: usize = 2;

    #[inline(always)]
    fn zero(self) -> Self::Part {
        // SAFETY: `self` exists only after `detect` found AVX2; registers only.
        unsafe { _mm256_setzero_pd() }
    }

    #[inline(always)]
    fn load_part(self, from: &[f64; LANES], part: usize) -> Self::Part {
        let half = &from[part * LANES / 2..][..LANES / 2];
        // SAFETY: `self` exists only after `detect` found AVX2; the load reads a slice of four
        // `f64`, and need not be aligned.
        unsafe { _mm256_loadu_pd(half.as_ptr()) }
    }

    #[inline(always)]
    fn mul_add_part(self, a: Self::Part, b: Self::Part, c: Self::Part) -> Self::Part {
        // SAFETY: `self` exists only after `detect` found FMA; registers only.
        unsafe { _mm256_fmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn sum_part(self, value: Self::Part) -> f64 {
        // SAFETY: `self` exists only after `detect` found AVX2; registers only.
        unsafe {
            let pairs = _mm_add_pd(_mm256_castpd256_pd128(value), _mm256_extractf128_pd::<1>(value));
            _mm_cvtsd_f64(_mm_add_sd(pairs, _mm_unpackhi_pd(pairs, pairs)))
        }
    }

    #[inline(always)]
    fn compress(self, from: &[f32; LANES], keep: u8, to: &mut [f32; LANES]) {
        // SAFETY: `self` exists only after `detect` found AVX2; the loads read eight `f32` and
        // eight `u32`, the store fills eight `f32`, unaligned.
        unsafe {
            let places = _mm256_loadu_si256(PLACES[usize::from(keep)].as_ptr().cast());
            _mm256_storeu_ps(to.as_mut_ptr(), _mm256_permutevar8x32_ps(_mm256_loadu_ps(from.as_ptr()), places));
        }
    }

    #[inline(always)]
    fn prefetch(self, near: &f32) {
        prefetch(near);
    }
}

impl Simd for Avx512 {
    type V = __m512d;

    #[inline(always)]
    fn splat(self, value: f64) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_set1_pd(value) }
    }

    #[inline(always)]
    fn load(self, from: &[f64; LANES]) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; the load reads the eight `f64`,
        // and need not be aligned.
        unsafe { _mm512_loadu_pd(from.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, value: Self::V, to: &mut [f64; LANES]) {
        // SAFETY: `self` exists only after `detect` found AVX-512; the store fills the eight `f64`,
        // and need not be aligned.
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), value) }
    }

    #[inline(always)]
    fn widen(self, from: &[f32; LANES]) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; the load reads the eight `f32`,
        // and need not be aligned.
        unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from.as_ptr())) }
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_add_pd(a, b) }
    }

    #[inline(always)]
    fn add_folded(self, value: Self::V, to: &mut [f64; FOLDED]) {
        // SAFETY: `self` exists only after `detect` found AVX-512 and AVX2; the load reads and the
        // store fills the four `f64`, unaligned.
        unsafe {
            let halves = _mm256_add_pd(_mm512_castpd512_pd256(value), _mm512_extractf64x4_pd::<1>(value));
            _mm256_storeu_pd(to.as_mut_ptr(), _mm256_add_pd(_mm256_loadu_pd(to.as_ptr()), halves));
        }
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_mul_pd(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_fmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn mul_sub_from(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_fnmadd_pd(a, b, c) }
    }

    #[inline(always)]
    fn limit(self, value: Self::V, bound: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512 (the exclusive or is DQ's);
        // registers only.
        unsafe { _mm512_min_pd(_mm512_max_pd(value, _mm512_xor_pd(bound, _mm512_set1_pd(-0.0))), bound) }
    }

    #[inline(always)]
    fn round(self, value: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_roundscale_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(value) }
    }

    #[inline(always)]
    fn trunc(self, value: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_roundscale_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(value) }
    }

    #[inline(always)]
    fn div(self, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_div_pd(a, b) }
    }

    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_max_pd(a, b) }
    }

    #[inline(always)]
    fn any_above(self, a: Self::V, b: Self::V) -> bool {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b) != 0 }
    }

    type Part = __m512d;

    const PARTS: usize = 1;

    #[inline(always)]
    fn zero(self) -> Self::Part {
        self.splat(0.0)
    }

    #[inline(always)]
    fn load_part(self, from: &[f64; LANES], _part: usize) -> Self::Part {
        self.load(from)
    }

    #[inline(always)]
    fn mul_add_part(self, a: Self::Part, b: Self::Part, c: Self::Part) -> Self::Part {
        self.mul_add(a, b, c)
    }

    #[inline(always)]
    fn sum_part(self, value: Self::Part) -> f64 {
        // SAFETY: `self` exists only after `detect` found AVX-512; registers only.
        unsafe { _mm512_reduce_add_pd(value) }
    }

    #[inline(always)]
    fn compress(self, from: &[f32; LANES], keep: u8, to: &mut [f32; LANES]) {
        // SAFETY: `self` exists only after `detect` found AVX2; the loads read eight `f32` and
        // eight `u32`, the store fills eight `f32`, unaligned.
        unsafe {
            let places = _mm256_loadu_si256(PLACES[usize::from(keep)].as_ptr().cast());
            _mm256_storeu_ps(to.as_mut_ptr(), _mm256_permutevar8x32_ps(_mm256_loadu_ps(from.as_ptr()), places));
        }
    }

    #[inline(always)]
    fn prefetch(self, near: &f32) {
        prefetch(near);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "there are eight lanes")]
/// For each set of eight bits, the places of those that are set, in order.
static PLACES: [[u32; LANES]; 256] = {
    let mut table = [[0; LANES]; 256];
    let mut keep = 0;
    while keep < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < LANES {
            if keep >> lane & 1 == 1 {
                table[keep][count] = lane as u32;
                count += 1;
            }
            lane += 1;
        }
        keep += 1;
    }
    table
};

#[inline(always)]
fn prefetch(near: &f32) {
    // SAFETY: SSE is part of x86-64; a prefetch touches no memory the program can see, and the
    // address is a valid reference anyway.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(near).cast()) }
}
