//! What the integration tests share: small data sets and their rows.
#![allow(dead_code, reason = "each test file uses its own part of this")]

use dplm::{
    formula::{Column, Kind, Model},
    lattice::Design,
    rows::{MemoryBuilder, MemoryRows},
    table::{Block, Cells},
};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// A data set in the clear, row by row.
#[derive(Clone)]
pub struct Data {
    pub x: Vec<Vec<f64>>,
    pub y: Vec<f64>,
}

impl Data {
    /// The paper's generative setting with `theta*` along the diagonal and unit error.
    pub fn isotropic(rows: usize, features: usize, seed: u64) -> Data {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
        let x: Vec<Vec<f64>> = (0..rows).map(|_| (0..features).map(|_| normal()).collect()).collect();
        let slope = 1.0 / (features as f64).sqrt();
        let y = x.iter().map(|row| slope * row.iter().sum::<f64>() + normal()).collect();
        Data { x, y }
    }

    /// The same data with cells already on the lattice, so that encoding loses nothing.
    pub fn on_lattice(mut self) -> Data {
        let round = |value: &mut f64| *value = (*value * 4096.0).round() / 4096.0;
        self.x.iter_mut().flatten().for_each(round);
        self.y.iter_mut().for_each(round);
        self
    }

    pub fn features(&self) -> usize {
        self.x.first().map_or(0, Vec::len)
    }

    /// As the table would give it: the response first.
    pub fn block(&self) -> Block {
        let column = |j: usize| Cells::Numbers(self.x.iter().map(|row| row[j]).collect());
        let mut columns = vec![Cells::Numbers(self.y.clone())];
        columns.extend((0..self.features()).map(column));
        Block { rows: self.y.len(), columns }
    }

    pub fn rows(&self) -> MemoryRows {
        let design = standard_design(self.features());
        let mut builder = MemoryBuilder::new(&design);
        builder.push(&self.block());
        builder.finish()
    }

    /// Row `i` replaced by row `j` of `other`.
    pub fn replaced(&self, i: usize, other: &Data, j: usize) -> Data {
        let mut copy = self.clone();
        copy.x[i].clone_from(&other.x[j]);
        copy.y[i] = other.y[j];
        copy
    }
}

/// `y ~ x0 + x1 + ... + 0`, every column standard.
pub fn standard_model(features: usize) -> Model {
    let column = |name: String| Column { name, kind: Kind::Standard };
    Model {
        response: column("y".into()),
        features: (0..features).map(|j| column(format!("x{j}"))).collect(),
        intercept: false,
    }
}

pub fn standard_design(features: usize) -> Design {
    Design::new(&standard_model(features))
}
