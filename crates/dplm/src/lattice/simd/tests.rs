//! Every operation of every kernel against plain arithmetic, on slices that end where their
//! allocation does: a read or a write beyond them is seen by Miri and by sanitizers
//! (CONTRIBUTING.md says how to run them).

use super::*;

/// Integers as large as the kernels have, some of them halfway between multiples of 2^27.
fn numbers(seed: u64) -> Box<[f64; LANES]> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 32) as i32 >> 6) as f64 / 4.0
    };
    Box::new(std::array::from_fn(|_| next()))
}

fn cells(seed: u64) -> Box<[f32; LANES]> {
    Box::new(numbers(seed).map(|number| (number as i32 >> 5) as f32))
}

/// The results of all operations, one after the other.
struct Everything {
    seed: u64,
}

impl Work for Everything {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f64> {
        let [a, b, c] = [0, 1, 2].map(|index| simd.load(&numbers(self.seed + index)));
        let bound = simd.widen(&Box::new(cells(self.seed).map(f32::abs)));
        let vectors = [
            simd.splat(numbers(self.seed)[3]),
            a,
            simd.widen(&cells(self.seed)),
            simd.add(a, b),
            simd.mul(a, b),
            simd.mul_add(a, b, c),
            simd.mul_sub_from(a, b, c),
            simd.limit(a, bound),
            simd.round(a),
            simd.trunc(a),
            simd.div(a, simd.add(bound, simd.splat(1.0))),
            simd.max(a, b),
        ];
        let mut results = Vec::new();
        for vector in vectors {
            let mut stored = Box::new([0.0; LANES]);
            simd.store(vector, &mut stored);
            results.extend_from_slice(&stored[..]);
        }
        let mut folded = Box::new([1.0, 2.0, 3.0, 4.0]);
        simd.add_folded(a, &mut folded);
        results.extend_from_slice(&folded[..]);
        results.push(parts(simd, self.seed));
        results.push(f64::from(u8::from(simd.any_above(a, b))));
        results
    }
}

#[inline(always)]
fn parts<S: Simd>(simd: S, seed: u64) -> f64 {
    let [a, b] = [0, 1].map(|index| numbers(seed + index));
    let mut sum = simd.zero();
    for part in 0..S::PARTS {
        sum = simd.mul_add_part(simd.load_part(&a, part), simd.load_part(&b, part), sum);
    }
    simd.sum_part(sum)
}

#[test]
fn every_kernel_computes_the_same() {
    for seed in 0..if cfg!(miri) { 3 } else { 1000 } {
        let expected = Portable.run_here(Everything { seed });
        for kernel in Kernel::available() {
            assert_eq!(kernel.run(Everything { seed }), expected, "{} at {seed}", kernel.name());
        }
    }
}

impl Portable {
    fn run_here<W: Work>(self, work: W) -> W::Output {
        work.run(self)
    }
}

/// Moves numbers to the front, and asks for them beforehand.
struct Compress<'a> {
    from: &'a [f32; LANES],
    keep: u8,
}

impl Work for Compress<'_> {
    type Output = Vec<f32>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Vec<f32> {
        let mut to = Box::new([0.0; LANES]);
        simd.prefetch(&self.from[LANES - 1]);
        simd.compress(self.from, self.keep, &mut to);
        to[..self.keep.count_ones() as usize].to_vec()
    }
}

#[test]
fn every_kernel_moves_the_same_numbers_to_the_front() {
    let from = Box::new(std::array::from_fn(|lane| lane as f32 + 1.0));
    for keep in (0..=u8::MAX).step_by(if cfg!(miri) { 37 } else { 1 }) {
        let kept = |lane: &usize| keep >> lane & 1 == 1;
        let expected: Vec<f32> = (0..LANES).filter(kept).map(|lane| lane as f32 + 1.0).collect();
        for kernel in Kernel::available() {
            assert_eq!(kernel.run(Compress { from: &from, keep }), expected, "{} {keep}", kernel.name());
        }
    }
}
