//! Rows to measure on.

use dplm::{
    formula::{Column, Kind, Model},
    lattice::Design,
    rows::{Encoded, MemoryBuilder},
    table::{Block, Cells},
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// Rows made at a time.
const BATCH: usize = 1 << 14;

/// `y ~ x0 + x1 + ... + 0`, every column standard.
fn standard_design(features: usize) -> Design {
    let column = |name: String| Column { name, kind: Kind::Standard };
    Design::new(&Model::of_columns(column("y".into()), (0..features).map(|j| column(format!("x{j}"))).collect(), false))
}

/// The paper's generative setting: standard Gaussian cells, coefficients of length 1, unit error.
pub fn isotropic(rows: usize, features: usize) -> Encoded {
    let design = standard_design(features);
    let mut builder = MemoryBuilder::new(&design);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    // Normal draws are slow, so a pool of them is used again at changing offsets.
    let pool: Vec<f64> = (0..1 << 20).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut offset = 0;
    for start in (0..rows).step_by(BATCH) {
        builder.push(&block_of((rows - start).min(BATCH), features, &pool, &mut offset));
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
