//! The functional mechanism: least squares from second moments with Laplace noise (Zhang, Zhang,
//! Xiao, Yang and Winslett 2012).
//!
//! The coefficients of the polynomial `sum_i (y_i - x_i' theta)^2` in `theta` are `X'X` and `X'y`;
//! each gets discrete Laplace noise, and the noisy polynomial is minimised. It is the pure form of
//! sufficient statistics (Vu and Slavkovic 2009; Foulds et al. 2016): without delta, at an error
//! that grows with the square of the number of columns in the place of its first power.
//!
//! # Where this differs from what was published
//! - The constant `y'y` is not released: nothing depends on it.
//! - Noise is sized by the norm of a row, `||x|| <= Bx`, and not by the largest entry, for both
//!   relations between neighbours; a well-known library's version takes a sensitivity of zero for
//!   columns that start at zero, and spends the budget of its means twice.
//! - A noisy matrix that is not positive is floored at its noise, where the published repair drops
//!   such directions.
//! - Its budget is stated in rho as all others are: two releases of `epsilon_1` and `epsilon_2` are
//!   `(epsilon_1^2 + epsilon_2^2) / 2`-zCDP, and `epsilon_1 + epsilon_2`-DP.

use dplm::{
    Design, Error,
    lattice::{Lattice, Outer},
    method::{self, Entry, NoisyMatrix, Request},
    privacy::{Mechanism, convert::Conversion, release_by},
};

use crate::{
    asked::{Asked, cell_unit, radius},
    estimate::{Estimate, Given, Recipe, Run, estimates},
    mechanism::Laplace,
};

/// The method as it is listed.
pub const ENTRY: Entry = estimates(
    "functional",
    "least squares from second moments with Laplace noise; estimates only",
    Conversion::Cks,
    |request, tuning| Asked::boxed(&ENTRY, request, tuning, plan),
);

/// Hundredths of the budget for the second moments: there are more of them than of products.
const MOMENTS: u32 = 70;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Functional {
    /// The bound on products of a row and its response.
    clip: f64,
    lattice: Lattice,
}

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.estimating(rows, design, |given| {
        let clip = given.bounds.row * given.bounds.response;
        // Any grid will do for the one point, zero, at which gradients are taken: the coarsest that
        // is exact.
        Ok(Functional { clip, lattice: Lattice::plan(rows, given.features, clip, f64::INFINITY)? })
    })
}

impl Recipe for Functional {
    fn estimate(&self, given: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let Request { rho, neighbours, .. } = given.request;
        let Run { rows, budget, rng, .. } = run;
        let moments = budget.spend_on(Mechanism::Laplace, "second moments", rho.percent(MOMENTS))?;
        let products = budget.spend_on(Mechanism::Laplace, "products with the response", budget.left())?;
        let sum = rows.outer_sum(&Outer::Shrunk { radius: radius(given.bounds.row) }, neighbours)?;
        let size = sum.size();
        let moments = release_by(&sum.into_matrix().sealed(), &Laplace, [moments], *rng)?;
        let moments = NoisyMatrix::of(&moments, size, cell_unit(), given.rows);
        let zero = self.lattice.theta(&vec![0.0; size]);
        let mut rows = rows.clipped(self.lattice.clip(self.clip), None)?;
        let query = rows.negative_gradient_sum(&zero, &self.lattice, neighbours)?;
        let products = release_by(&query.sealed(), &Laplace, [products], *rng)?;
        let mean = |value: f64| value / self.lattice.gradient_unit() / given.rows as f64;
        let right: Vec<f64> = products.values.iter().map(|&value| mean(value as f64)).collect();
        Ok(Estimate::at_once(moments.solve(0.0, &right), self.clip, mean(products.sigma[0] as f64)))
    }
}
