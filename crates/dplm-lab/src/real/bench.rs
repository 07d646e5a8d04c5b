//! A data set in the clear, as the lattice sees it, with its least-squares fit.

use dplm::{
    formula::Formula,
    lattice::Design,
    rows::{Encoded, MemoryBuilder},
    table::{Block, Cells, ReadOptions, Source},
};
use dplm_theory::clear::Ols;
use faer::{Mat, linalg::solvers::Solve};
use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

use super::synthetic::synthetic;
use crate::LabError;

/// A data set in the clear, standardised as the lattice sees it.
pub(crate) struct Bench {
    pub design: Design,
    pub blocks: Vec<Block>,
    /// Rows without missing cells, one after the other, and their responses.
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    /// Least squares: coefficients, their classical standard errors, and the mean square of the
    /// residuals.
    pub ols: Vec<f64>,
    pub ols_se: Vec<f64>,
    pub mse: f64,
    gram: Mat<f64>,
}

impl Bench {
    /// Reads `file` with `formula`, or simulates the data if the file is called `synthetic`.
    pub(crate) fn open(file: &str, formula: &str) -> Result<Bench, LabError> {
        if file == "synthetic" {
            let (design, block) = synthetic(formula)?;
            return Bench::new(design, vec![block]);
        }
        let source = Source::open(&[file]).map_err(dplm::Error::from)?;
        let formula = Formula::parse(formula).map_err(dplm::Error::from)?;
        let design = Design::new(&formula.resolve(source.schema()).map_err(dplm::Error::from)?);
        let mut blocks = Vec::new();
        let read = source.for_each_block(design.columns(), &ReadOptions::default(), &mut |block| {
            blocks.push(block);
            Ok(())
        });
        read.map_err(dplm::Error::from)?;
        Bench::new(design, blocks)
    }

    fn new(design: Design, blocks: Vec<Block>) -> Result<Bench, LabError> {
        let p = design.features();
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for block in &blocks {
            for (cells, response) in (0..block.rows).filter_map(|row| design.standardised_row(block, row)) {
                x.extend(cells);
                y.push(response);
            }
        }
        let mut ols = Ols::new(p);
        ols.push(&x, &y).map_err(dplm::Error::from)?;
        let fit = ols.finish().map_err(dplm::Error::from)?;
        let rows = y.len() as f64;
        let matrix = faer::MatRef::from_row_major_slice(&x, y.len(), p);
        let gram = matrix.transpose() * matrix * faer::Scale(1.0 / rows);
        let sse: f64 = x.chunks_exact(p).zip(&y).map(|(row, y)| (y - dot(row, &fit.coefficients)).powi(2)).sum();
        let (ols, ols_se) = (fit.coefficients.clone(), fit.std_errors.clone());
        Ok(Bench { design, blocks, x, y, ols, ols_se, mse: sse / rows, gram })
    }

    pub(crate) fn rows(&self) -> Encoded {
        let mut builder = MemoryBuilder::new(&self.design);
        self.blocks.iter().for_each(|block| builder.push(block));
        builder.finish()
    }

    /// A sample of the same size, drawn with replacement: the data set itself is the population.
    pub(crate) fn resampled(&self, rng: &mut ChaCha8Rng) -> Encoded {
        let mut builder = MemoryBuilder::new(&self.design);
        self.resampled_blocks(rng).iter().for_each(|block| builder.push(block));
        builder.finish()
    }

    /// The cells of such a sample.
    pub(crate) fn resampled_blocks(&self, rng: &mut ChaCha8Rng) -> Vec<Block> {
        let total: usize = self.blocks.iter().map(|block| block.rows).sum();
        let mut drawn: Vec<usize> = (0..total).map(|_| (rng.next_u64() % total as u64) as usize).collect();
        drawn.sort_unstable();
        let (mut first, mut blocks) = (0, Vec::new());
        for block in &self.blocks {
            let within =
                drawn.partition_point(|&row| row < first)..drawn.partition_point(|&row| row < first + block.rows);
            let rows: Vec<usize> = drawn[within].iter().map(|row| row - first).collect();
            blocks.push(chosen(block, &rows));
            first += block.rows;
        }
        blocks
    }

    /// The excess of the mean square error over that of least squares, as a share.
    pub(crate) fn excess(&self, theta: &[f64]) -> f64 {
        let p = self.ols.len();
        let apart: Vec<f64> = theta.iter().zip(&self.ols).map(|(a, b)| a - b).collect();
        let row = |j: usize| (0..p).map(|k| self.gram[(j, k)] * apart[k]).sum::<f64>();
        (0..p).map(|j| apart[j] * row(j)).sum::<f64>() / self.mse
    }

    /// Estimates in their own units as standardised ones.
    pub(crate) fn to_standard(&self, own: &[f64]) -> Vec<f64> {
        let (p, contrasts) = (self.ols.len(), self.design.contrasts());
        let weights = Mat::from_fn(p, p, |j, k| contrasts[j].weights[k]);
        let found = weights.partial_piv_lu().solve(Mat::from_fn(p, 1, |j, _| own[j] - contrasts[j].offset));
        found.col_as_slice(0).to_vec()
    }
}

fn chosen(block: &Block, rows: &[usize]) -> Block {
    let columns = block.columns.iter().map(|cells| match cells {
        Cells::Numbers(numbers) => Cells::Numbers(rows.iter().map(|&row| numbers[row]).collect()),
        Cells::Levels(codes) => Cells::Levels(rows.iter().map(|&row| codes[row]).collect()),
    });
    Block { rows: rows.len(), columns: columns.collect() }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
