//! The share of a plain streaming read of the same bytes that one full pass over the rows reaches.
//!
//! `cargo bench -p dplm --bench pass`

#[path = "common/mod.rs"]
mod common;

use std::hint::black_box;

use common::{Timed, interleaved, isotropic, on_threads};
use dplm::{
    lattice::{Kernel, Lattice},
    rows::{MemoryRows, Rows},
};
use rayon::prelude::*;

/// Cells in each data set: far more than any cache holds.
const CELLS: usize = 60_000_000;
const ROUNDS: usize = 15;

fn main() {
    println!("{:>8} {:>4} {:>10} {:>9} {:>9} {:>7}", "threads", "p", "kernel", "read GB/s", "pass GB/s", "share");
    for features in [10, 50, 100, 500] {
        let mut rows = isotropic(CELLS / features, features);
        let gamma = 5.0 * (features as f64).sqrt();
        let lattice = Lattice::plan(rows.count(), features, gamma, 1.0).expect("the benchmark's plan");
        rows.set_clip(lattice.clip(gamma)).expect("rows in memory");
        let theta = lattice.theta(&vec![0.1; features]);
        // Speeds are per processor: bytes over the processor time of all threads.
        let bytes = rows.count() as f64 * 4.0 * (features + 2) as f64;
        let buffer = buffer_like(&rows);
        for threads in [1, 2] {
            for kernel in Kernel::available() {
                rows.set_kernel(kernel);
                let mut read = || {
                    black_box(read_all(&buffer));
                };
                let mut pass = || drop(black_box(rows.clipped_pull(&theta, &lattice)));
                let work: &mut [Timed] = &mut [&mut read, &mut pass];
                let seconds = on_threads(threads, || interleaved(ROUNDS, work));
                let speed = |seconds: f64| bytes / seconds / 1e9;
                println!(
                    "{threads:>8} {features:>4} {:>10} {:>9.1} {:>9.1} {:>7.2}",
                    kernel.name(),
                    speed(seconds[0]),
                    speed(seconds[1]),
                    seconds[0] / seconds[1]
                );
            }
        }
    }
}

/// As many bytes as the rows and their bounds take, in pieces of the same size.
fn buffer_like(rows: &MemoryRows) -> Vec<Vec<u64>> {
    const PIECE_ROWS: usize = 8192;
    let pieces = (rows.count() as usize).div_ceil(PIECE_ROWS);
    (0..pieces).map(|piece| vec![piece as u64; PIECE_ROWS * (rows.features() + 2) / 2]).collect()
}

/// Reads every byte once and does next to nothing with it.
fn read_all(buffer: &[Vec<u64>]) -> u64 {
    let piece = |words: &Vec<u64>| {
        let mut sums = [0u64; 32];
        for words in words.as_chunks::<32>().0 {
            sums.iter_mut().zip(words).for_each(|(sum, word)| *sum ^= word);
        }
        sums.into_iter().fold(0, |a, b| a ^ b)
    };
    buffer.par_iter().map(piece).reduce(|| 0, |a, b| a ^ b)
}
