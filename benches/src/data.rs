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

/// `y ~ x0 + x1 + ... + 0`, every column standard, the response of this kind.
fn design(features: usize, response: Kind) -> Design {
    let column = |j: usize| Column { name: format!("x{j}"), kind: Kind::Standard };
    let response = Column { name: "y".into(), kind: response };
    Design::new(&Model::of_columns(response, (0..features).map(column).collect(), false))
}

/// The paper's generative setting: standard Gaussian cells, coefficients of length 1, unit error.
pub fn isotropic(rows: usize, features: usize) -> Encoded {
    made(rows, features, Kind::Standard, Cells::Numbers)
}

/// The same with a response of two levels: whether that of the setting is above 0.
pub fn binary(rows: usize, features: usize) -> Encoded {
    let kind = Kind::Levels(vec!["no".into(), "yes".into()]);
    made(rows, features, kind, |y| Cells::Levels(y.into_iter().map(|y| u32::from(y > 0.0)).collect()))
}

fn made(rows: usize, features: usize, response: Kind, write: impl Fn(Vec<f64>) -> Cells) -> Encoded {
    let design = design(features, response);
    let mut builder = MemoryBuilder::new(&design);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    // Normal draws are slow, so a pool of them is used again at changing offsets.
    let pool: Vec<f64> = (0..1 << 20).map(|_| StandardNormal.sample(&mut rng)).collect();
    let mut offset = 0;
    for start in (0..rows).step_by(BATCH) {
        builder.push(&block_of((rows - start).min(BATCH), features, &pool, &mut offset, &write));
    }
    builder.finish()
}

fn block_of(
    rows: usize,
    features: usize,
    pool: &[f64],
    offset: &mut usize,
    write: &impl Fn(Vec<f64>) -> Cells,
) -> Block {
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
    Block { rows, columns: std::iter::once(write(y)).chain(columns.into_iter().map(Cells::Numbers)).collect() }
}
