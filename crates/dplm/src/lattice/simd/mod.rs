//! Eight numbers at a time: the only unsafe code of the crate.
//!
//! A kernel is written once, against [`Simd`], and runs on whichever instructions the processor
//! has. The arithmetic of the lattice is exact, so every choice gives the same bits; only the time
//! differs.

#![allow(unsafe_code, reason = "processor intrinsics, each used only behind a token that proves the processor has it")]

mod portable;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use portable::Portable;

/// How many `f64` a vector holds, on every processor.
pub(super) const LANES: usize = 8;

/// How many entries a table has: a power of two, so that every place masked by it is in the table.
pub(super) const TABLE_ENTRIES: usize = 1 << 13;

/// How many `f64` a running sum has.
pub(super) const FOLDED: usize = 4;

/// Which instructions the sums over rows use. The choice never changes a bit of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel(Instructions);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instructions {
    Portable,
    #[cfg(target_arch = "aarch64")]
    Neon,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86::Avx512),
}

impl Kernel {
    /// The fastest this processor has. Asking the processor is slow on virtual machines, so it is
    /// asked once.
    pub fn best() -> Kernel {
        static BEST: OnceLock<Kernel> = OnceLock::new();
        *BEST.get_or_init(Kernel::fastest)
    }

    fn fastest() -> Kernel {
        let pays = |kernel: &Kernel| match kernel.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(simd) => simd.pays(),
            _ => true,
        };
        Kernel::available().into_iter().rfind(pays).expect("the portable kernel is always there")
    }

    /// All this processor has, the slowest first.
    pub fn available() -> Vec<Kernel> {
        let mut kernels = vec![Instructions::Portable];
        #[cfg(target_arch = "aarch64")]
        kernels.push(Instructions::Neon);
        #[cfg(target_arch = "x86_64")]
        {
            kernels.extend(x86::Avx2::detect().map(Instructions::Avx2));
            kernels.extend(x86::Avx512::detect().map(Instructions::Avx512));
        }
        kernels.into_iter().map(Kernel).collect()
    }

    /// What the instructions are called.
    pub fn name(self) -> &'static str {
        match self.0 {
            Instructions::Portable => "portable",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "NEON",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(_) => "AVX-512",
        }
    }

    /// Runs a piece of work compiled for these instructions.
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            Instructions::Portable => work.run(Portable),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => work.run(neon::Neon),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(simd) => simd.run(work),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(simd) => simd.run(work),
        }
    }
}

/// A piece of work that can be compiled for any instructions. Mark `run` `#[inline(always)]`, and
/// all it calls.
pub(super) trait Work {
    /// What it gives.
    type Output;

    /// Does the work.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Vectors of eight `f64`. A value of the type proves that the processor has the instructions.
pub(super) trait Simd: Copy {
    /// Eight numbers.
    type V: Copy;

    fn splat(self, value: f64) -> Self::V;
    fn load(self, from: &[f64; LANES]) -> Self::V;
    fn store(self, value: Self::V, to: &mut [f64; LANES]);
    /// Eight `f32` as `f64`.
    fn widen(self, from: &[f32; LANES]) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// Adds both halves of a vector to a running sum.
    fn add_folded(self, value: Self::V, to: &mut [f64; FOLDED]);
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a b + c`, for numbers with which neither operation rounds.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `c - a b`, for numbers with which neither operation rounds.
    fn mul_sub_from(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `value` limited to `-bound ..= bound`.
    fn limit(self, value: Self::V, bound: Self::V) -> Self::V;
    /// Each to the nearest whole number, ties to even.
    fn round(self, value: Self::V) -> Self::V;
    /// Each to the whole number towards zero.
    fn trunc(self, value: Self::V) -> Self::V;
    /// The nearest to each quotient.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// The larger of each pair.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// Whether any of `a` is above its number of `b`.
    fn any_above(self, a: Self::V, b: Self::V) -> bool;

    /// Both parts of the entries at eight places, whole numbers below [`TABLE_ENTRIES`].
    #[inline(always)]
    fn look_up(self, table: &[[f32; 2]; TABLE_ENTRIES], places: Self::V) -> (Self::V, Self::V) {
        // A whole number below 2^13 is the last bits of its sum with 2^52.
        const BITS: f64 = 4_503_599_627_370_496.0;
        let mut bits = [0.0; LANES];
        self.store(self.add(places, self.splat(BITS)), &mut bits);
        let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
        for ((bits, first), second) in bits.iter().zip(&mut first).zip(&mut second) {
            let place = usize::try_from(bits.to_bits() & (TABLE_ENTRIES as u64 - 1)).unwrap_or(0);
            [*first, *second] = table[place];
        }
        (self.widen(&first), self.widen(&second))
    }

    /// One register; `PARTS` of them make eight numbers.
    type Part: Copy;
    /// How many registers eight numbers take.
    const PARTS: usize;

    fn zero(self) -> Self::Part;
    fn load_part(self, from: &[f64; LANES], part: usize) -> Self::Part;
    /// `a b + c`, for numbers with which neither operation rounds.
    fn mul_add_part(self, a: Self::Part, b: Self::Part, c: Self::Part) -> Self::Part;
    /// The sum of the numbers in a register, for numbers with which it does not round.
    fn sum_part(self, value: Self::Part) -> f64;

    /// Moves the numbers whose bits are set in `keep` to the front, in order; what follows them is
    /// left open.
    fn compress(self, from: &[f32; LANES], keep: u8, to: &mut [f32; LANES]);

    /// Asks for the cache line that holds the number; costs nothing if it is not wanted after all.
    fn prefetch(self, near: &f32);
}
