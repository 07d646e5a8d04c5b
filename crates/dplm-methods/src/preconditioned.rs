//! AdaSSP after private preconditioning (Milionis, Kalavasis, Fotakis and Ioannidis 2022; Kamath, Li, Singhal and Ullman 2019).
//!
//! A few rounds of noisy second moments find coordinates in which rows are about equally long in every direction: each round shortens rows to what standard ones have, releases their
//! moments `M`, and turns to `(M + edge I)^(-1/2)`. In these coordinates AdaSSP's noise, which is as large as the square of the longest row, is small in every direction.
//!
//! # Where this differs from what was published
//! - Kamath et al. are given bounds `I <= Sigma <= K I` and take `log K` rounds; here there are three, from the public bounds of the columns, and what is lost in noise is taken to be
//!   as large as it.
//! - [`dplm::method::auto`] whitens by the same idea, chooses lengths and rounds as it goes, and then descends.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    lattice::{Outer, Whitening},
    method::{self, Entry, NoisyMatrix, Outcome, PublicBounds, Request, Target, adassp, budget_warnings},
    privacy::{Budget, Spend, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};
use faer::{Mat, Side};

use crate::asked::{Asked, cell_unit, radius};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    name: "preconditioned-adassp",
    about: "noisy second moments with a ridge, in coordinates found privately; estimates only",
    intervals: &[],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Exact,
    whitens: false,
    suits: |_| false,
    configure: |request, tuning| Box::new(Asked { entry: &ENTRY, request, tuning, plan }),
};

/// Rounds, and hundredths of the budget for all of them.
const ROUNDS: u32 = 3;
const PRECONDITIONING: u32 = 30;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    /// The longest row before any round, and what standard rows have after one.
    first_row: f64,
    later_row: f64,
    response: f64,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    let (request, features) = (asked.request.clone(), design.features());
    let bounds = PublicBounds::of(rows, design, &request);
    // As for standard columns: all rows are within it with probability 0.95, if they are normal.
    let later_row = (features as f64).sqrt() + (2.0 * (rows as f64 / 0.05).ln()).sqrt();
    Ok(Box::new(Plan { request, rows, features, first_row: bounds.row, later_row, response: bounds.response }))
}

impl method::Plan for Plan {
    fn warn(&self) -> Vec<Warning> {
        budget_warnings(&self.request, self.rows)
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        _progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let mut budget = Budget::new(self.request.rho);
        let what = format!("second moments for preconditioning, {ROUNDS} rounds");
        let rounds = budget.spend(what, self.request.rho.percent(PRECONDITIONING))?;
        let turned = self.coordinates(rows, rounds, rng)?;
        let mut white = rows.whitened(&turned)?;
        // AdaSSP has all that is left, and lists what it spends it on.
        let request = Request { rho: budget.left(), ..self.request.clone() };
        let (row_bound, response_bound) = (Some(self.later_row), Some(self.response));
        let config = adassp::Config { row_bound, response_bound, ..adassp::Config::new(request) };
        let found = config.plan(self.rows, design)?.run(white.as_mut(), design, rng)?;
        let matrix = turned.matrix();
        let along = |j: usize| found.theta.iter().enumerate().map(|(k, theta)| matrix[(j, k)] * theta).sum();
        let theta: Vec<f64> = (0..self.features).map(along).collect();
        let summary = MethodSummary::new(ENTRY.name, found.summary.clip, 1, 1.0, found.summary.noise_sd);
        let releases = budget.releases().iter().cloned().chain(found.releases).collect();
        Ok(Outcome::of(Target::Sample, summary, releases, Vec::new()).with_estimates(design, &theta))
    }
}

impl Plan {
    /// Coordinates in which rows are about equally long in every direction.
    fn coordinates(&self, rows: &dyn Rows, spend: Spend, rng: &mut NoiseRng) -> Result<Whitening, Error> {
        let mut turned = Whitening::new(Mat::identity(self.features, self.features).as_ref());
        for (round, part) in spend.in_parts(ROUNDS).into_iter().enumerate() {
            let white = rows.whitened(&turned)?;
            let longest = if round == 0 { self.first_row } else { self.later_row };
            let shrunk = Outer::Shrunk { radius: radius(longest) };
            let noisy = NoisyMatrix::release(white.as_ref(), &shrunk, cell_unit(), self.request.neighbours, part, rng)?;
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
