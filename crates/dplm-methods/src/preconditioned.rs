//! AdaSSP after private preconditioning (Milionis, Kalavasis, Fotakis and Ioannidis 2022; Kamath,
//! Li, Singhal and Ullman 2019).
//!
//! A few rounds of noisy second moments find coordinates in which rows are about equally long in
//! every direction: each round shortens rows to what standard ones have, releases their moments
//! `M`, and turns to `(M + edge I)^(-1/2)`. In these coordinates AdaSSP's noise, which is as large
//! as the square of the longest row, is small in every direction.
//!
//! # Where this differs from what was published
//! - Kamath et al. are given bounds `I <= Sigma <= K I` and take `log K` rounds; here there are
//!   three, from the public bounds of the columns, and what is lost in noise is taken to be as
//!   large as it.
//! - [`dplm::method::auto`] whitens by the same idea, chooses lengths and rounds as it goes, and
//!   then descends.

use dplm::{
    Design, Error,
    lattice::{Outer, Whitening},
    method::{self, Entry, NoisyMatrix, Request},
    privacy::{Spend, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};
use faer::{Mat, Side};

use crate::{
    adassp,
    asked::{Asked, cell_unit, radius},
    estimate::{Estimate, Given, Recipe, Run, estimates},
};

/// The method as it is listed.
pub const ENTRY: Entry = estimates(
    "preconditioned-adassp",
    "noisy second moments with a ridge, in coordinates found privately; estimates only",
    Conversion::Exact,
    |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
);

/// Rounds, and hundredths of the budget for all of them.
const ROUNDS: u32 = 3;
const PRECONDITIONING: u32 = 30;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Preconditioned {
    /// What standard rows have as their longest, after a round.
    later_row: f64,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    asked.estimating(rows, design, |given| {
        // As for standard columns: all rows are within it with probability 0.95, if they are
        // normal.
        let later_row = (given.features as f64).sqrt() + (2.0 * (rows as f64 / 0.05).ln()).sqrt();
        Ok(Preconditioned { later_row })
    })
}

impl Recipe for Preconditioned {
    fn estimate(&self, given: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let what = format!("second moments for preconditioning, {ROUNDS} rounds");
        let rounds = run.budget.spend(what, given.request.rho.percent(PRECONDITIONING))?;
        let turned = self.coordinates(given, run.rows, rounds, run.rng)?;
        let mut white = run.rows.whitened(&turned)?;
        // AdaSSP has all that is left, and lists what it spends it on.
        let request = Request { rho: run.budget.left(), ..given.request.clone() };
        let (row_bound, response_bound) = (Some(self.later_row), Some(given.bounds.response));
        let config = adassp::Config { row_bound, response_bound, ..adassp::Config::new(request) };
        let found = config.plan(given.rows, run.design)?.run(white.as_mut(), run.rng)?;
        let matrix = turned.matrix();
        let along = |j: usize| found.theta.iter().enumerate().map(|(k, theta)| matrix[(j, k)] * theta).sum();
        let theta = (0..given.features).map(along).collect();
        let estimate = Estimate::at_once(theta, found.summary.clip, found.summary.noise_sd);
        Ok(Estimate { also: found.releases, ..estimate })
    }
}

impl Preconditioned {
    /// Coordinates in which rows are about equally long in every direction.
    fn coordinates(
        &self,
        given: &Given,
        rows: &dyn Rows,
        spend: Spend,
        rng: &mut NoiseRng,
    ) -> Result<Whitening, Error> {
        let mut turned = Whitening::new(Mat::identity(given.features, given.features).as_ref());
        for (round, part) in spend.in_parts(ROUNDS).into_iter().enumerate() {
            let white = rows.whitened(&turned)?;
            let longest = if round == 0 { given.bounds.row } else { self.later_row };
            let shrunk = Outer::Shrunk { radius: radius(longest) };
            let neighbours = given.request.neighbours;
            let noisy = NoisyMatrix::release(white.as_ref(), &shrunk, cell_unit(), neighbours, part, rng)?;
            let next = turned.matrix() * inverse_root(&noisy);
            turned = Whitening::new(next.as_ref());
        }
        Ok(turned)
    }
}

/// `M^(-1/2)`, directions below the edge of the noise taken to be as large as it.
fn inverse_root(noisy: &NoisyMatrix) -> Mat<f64> {
    let found = noisy.mean.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
    let (vectors, values) = (found.U(), found.S().column_vector());
    let floor = noisy.edge();
    let size = noisy.mean.nrows();
    let scaled = Mat::from_fn(size, size, |i, j| vectors[(i, j)] / values[j].max(floor).sqrt());
    scaled * vectors.transpose()
}
