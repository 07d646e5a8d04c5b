//! The share of a plain streaming read of the same bytes that one full pass over the rows reaches.
//!
//! `cargo bench -p dplm --bench pass`

#[path = "common/mod.rs"]
mod common;

use std::hint::black_box;

use common::{Timed, interleaved, isotropic, threads};
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
        for count in [1, 2] {
            let pool = threads(count);
            for kernel in Kernel::available() {
                rows.set_kernel(kernel);
                let work: &mut [Timed] = &mut [&mut || pool.install(|| _ = black_box(read_all(&rows))), &mut || {
                    pool.install(|| _ = black_box(rows.clipped_pull(&theta, &lattice)))
                }];
                let seconds = interleaved(ROUNDS, work);
                let speed = |seconds: f64| bytes / seconds / 1e9;
                println!(
                    "{count:>8} {features:>4} {:>10} {:>9.1} {:>9.1} {:>7.2}",
                    kernel.name(),
                    speed(seconds[0]),
                    speed(seconds[1]),
                    seconds[0] / seconds[1]
                );
            }
        }
    }
}

/// Reads every byte once and does next to nothing with it.
fn read_all(rows: &MemoryRows) -> u32 {
    let read = |cells: &&[f32]| {
        let mut sums = [0u32; 64];
        for cells in cells.as_chunks::<64>().0 {
            sums.iter_mut().zip(cells).for_each(|(sum, cell)| *sum ^= cell.to_bits());
        }
        sums.into_iter().fold(0, |a, b| a ^ b)
    };
    rows.buffers().into_inner().par_iter().map(read).reduce(|| 0, |a, b| a ^ b)
}
