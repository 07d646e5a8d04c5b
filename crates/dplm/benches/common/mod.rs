//! What the benchmarks share: data, and times that can be compared.
#![allow(dead_code, reason = "each benchmark uses its own part of this")]

use std::time::{Duration, Instant};

use dplm::{
    formula::{Column, Kind, Model},
    lattice::Design,
    rows::{MemoryBuilder, MemoryRows},
    table::{Block, Cells},
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// A thing to time.
pub type Timed<'a> = &'a mut dyn FnMut();

/// `y ~ x0 + x1 + ... + 0`, every column standard.
pub fn standard_design(features: usize) -> Design {
    let column = |name: String| Column { name, kind: Kind::Standard };
    Design::new(&Model {
        response: column("y".into()),
        features: (0..features).map(|j| column(format!("x{j}"))).collect(),
        intercept: false,
    })
}

/// The paper's generative setting: standard normal cells, `theta*` of length 1, unit error.
pub fn isotropic(rows: usize, features: usize) -> MemoryRows {
    let design = standard_design(features);
    let mut builder = MemoryBuilder::new(&design);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    // Normal draws are slow, so a pool of them is used again at changing offsets.
    let pool: Vec<f64> = (0..1 << 20).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut offset = 0;
    for start in (0..rows).step_by(1 << 14) {
        let count = (rows - start).min(1 << 14);
        builder.push(&block_of(count, features, &pool, &mut offset));
    }
    builder.finish()
}

fn block_of(rows: usize, features: usize, pool: &[f64], offset: &mut usize) -> Block {
    let mut draw = || {
        *offset = (*offset + 7919 * 13) % (pool.len() - rows);
        pool[*offset..*offset + rows].to_vec()
    };
    let columns: Vec<Vec<f64>> = (0..features).map(|_| draw()).collect();
    let mut y = draw();
    let slope = 1.0 / (features as f64).sqrt();
    for column in &columns {
        y.iter_mut().zip(column).for_each(|(y, x)| *y += slope * x);
    }
    Block { rows, columns: std::iter::once(y).chain(columns).map(Cells::Numbers).collect() }
}

/// So many threads.
pub fn threads(count: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads")
}

/// The median seconds that each takes of the processor, all threads together: other load on the machine then hardly counts. Taken in
/// turn, so that what is left of it meets all alike.
pub fn interleaved(rounds: usize, work: &mut [Timed<'_>]) -> Vec<f64> {
    let mut seconds = vec![Vec::new(); work.len()];
    for _ in 0..rounds {
        for (run, seconds) in work.iter_mut().zip(&mut seconds) {
            let start = processor_time();
            run();
            seconds.push((processor_time() - start).as_secs_f64());
        }
    }
    seconds.into_iter().map(median).collect()
}

/// What this process has used of the processors so far.
pub fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Processor and wall-clock seconds of one run.
pub fn once<T>(work: impl FnOnce() -> T) -> (T, f64, f64) {
    let (processor, wall) = (processor_time(), Instant::now());
    let result = work();
    (result, (processor_time() - processor).as_secs_f64(), wall.elapsed().as_secs_f64())
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
