//! AdaSSP: least squares from noisy second moments, with a ridge chosen privately. The paper's
//! comparison.
//!
//! Three releases, a third of the budget each: the smallest eigenvalue of `X'X`, then `X'X` itself,
//! then `X'y`. The ridge is as large as the noise in `X'X` asks for, less what the smallest
//! eigenvalue is known to be. There are no intervals: the ridge shrinks the estimate towards zero
//! by an amount that is not public.

use dplm::{
    Design, Error, MethodSummary, Progress, Warning,
    lattice::{CELL_SCALE_BITS, Clip, Lattice, Outer},
    method::{self, ConfigError, Entry, Method, PublicBounds, Request, Target, Tuning, budget_warnings, solve_floored},
    privacy::{
        Budget, Noisy, Release, Sensitive,
        convert::Conversion,
        noise::{NoiseRng, RandomWords},
        release, release_by,
    },
    rows::Rows,
};
use faer::{Mat, Side, linalg::solvers::Solve};

use crate::mechanism::LeastEigenvalue;

/// The chance, allowed for each bound on the noise, that it fails.
const FAILURE: f64 = 0.05;

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    name: "adassp",
    about: "noisy second moments with a ridge; estimates only, for comparison",
    intervals: &[],
    tunable: false,
    assumes_standard: false,
    conversion: Conversion::Exact,
    whitens: false,
    suits: |_| false,
    configure: |request, _| Box::new(Config::new(request)),
};

/// What is asked of the method; `None` chooses from public numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The part of the request that all methods have. Intervals are never made, even if it asks for
    /// them.
    pub request: Request,
    /// The largest norm `Bx` of a row, in standardised units; longer rows are shrunk to it.
    pub row_bound: Option<f64>,
    /// The largest response `By`, in standardised units.
    pub response_bound: Option<f64>,
}

/// A checked plan: every number in it is public.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    request: Request,
    rows: u64,
    row_bound: f64,
    response_bound: f64,
    radius: u64,
    lattice: Lattice,
    clip: Clip,
}

/// What a run of the plan gave: released numbers only.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The estimates in standardised units.
    pub theta: Vec<f64>,
    /// The ridge that was added to `X'X`, in standardised units.
    pub ridge: f64,
    /// The method and its parameters: `clip` is `Bx By`, `noise_sd` that of a coordinate of
    /// `X'y / n`.
    pub summary: MethodSummary,
    /// What the budget was spent on.
    pub releases: Vec<Release>,
}

impl Config {
    /// The method with bounds from public numbers.
    pub fn new(request: Request) -> Config {
        Config { request, row_bound: None, response_bound: None }
    }

    /// Fills in what was not asked for and checks the whole, from public numbers only.
    ///
    /// # Errors
    /// When options make no sense, or the arithmetic cannot be made exact.
    pub fn plan(self, rows: u64, design: &Design) -> Result<Plan, Error> {
        let Config { request, row_bound, response_bound } = self;
        request.check()?;
        let features = design.features();
        if rows <= features as u64 {
            return Err(ConfigError::TooFewRows { features, rows, unit: request.unit() }.into());
        }
        let public = PublicBounds::of(rows, design, &request);
        let (row_bound, response_bound) = (row_bound.unwrap_or(public.row), response_bound.unwrap_or(public.response));
        if !usable(row_bound) || !usable(response_bound) {
            return Err(ConfigError::Bounds.into());
        }
        // Any grid will do for the one point, zero, at which gradients are taken: the coarsest that
        // is exact.
        let lattice = Lattice::plan(rows, features, row_bound * response_bound, f64::INFINITY)?;
        let clip = lattice.clip(row_bound * response_bound);
        let radius = (row_bound * cell_unit()).ceil() as u64;
        Ok(Plan { request, rows, row_bound, response_bound, radius, lattice, clip })
    }
}

impl Method for Config {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn request(&self) -> &Request {
        &self.request
    }

    fn with_request(&self, request: Request) -> Box<dyn Method> {
        Box::new(Config { request, ..self.clone() })
    }

    fn plan(&self, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
        ENTRY.check(&self.request, &Tuning::default())?;
        Ok(Box::new(self.clone().plan(rows, design)?))
    }
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
    ) -> Result<method::Outcome, Error> {
        let Outcome { theta, summary, releases, .. } = self.run(rows, rng)?;
        Ok(method::Outcome::of(Target::Sample, summary, releases, Vec::new()).with_estimates(design, &theta))
    }
}

/// Bounds outside this range are a mistake, and would leave the lattice.
fn usable(bound: f64) -> bool {
    (1e-3..=1e5).contains(&bound)
}

fn cell_unit() -> f64 {
    f64::from(CELL_SCALE_BITS).exp2()
}

/// What was released, in standardised units.
struct Statistics {
    least_eigenvalue: f64,
    least_eigenvalue_sd: f64,
    moments: Mat<f64>,
    /// Standard deviation of the noise on the diagonal of `moments`.
    moments_sd: f64,
    cross: Mat<f64>,
    cross_sd: f64,
}

impl Plan {
    /// The largest norm of a row that is not shrunk, in standardised units.
    pub fn row_bound(&self) -> f64 {
        self.row_bound
    }

    /// The largest response that is not cut, in standardised units.
    pub fn response_bound(&self) -> f64 {
        self.response_bound
    }

    /// Runs the plan.
    ///
    /// With bounds `Bx`, `By`, noise standard deviations `s` and p features:
    /// `known = max(0, eigenvalue - s_eigenvalue sqrt(2 ln 20))`,
    /// `ridge = max(0, s_moments sqrt(p ln(40 p^2)) - known)`, `theta = (X'X + ridge I)^-1 X'y`,
    /// all noisy.
    ///
    /// # Guarantee
    /// Spends exactly the budget of the request. Rows are read only through releases. Noise is
    /// symmetric: smaller by `sqrt(2)` off the diagonal of `X'X`.
    ///
    /// # Paper
    /// Wang (2018), Algorithm 2, in its zCDP form. A row enters `X'X` shrunk to norm `Bx`, and
    /// `X'y` as its product `x y` clipped to norm `Bx By`, which clips no more than shrinking `x`
    /// and cutting `y` would.
    ///
    /// # Errors
    /// When rows cannot be read or the noise does not fit.
    pub fn run<R: RandomWords>(&self, rows: &mut dyn Rows, rng: &mut R) -> Result<Outcome, Error> {
        let mut budget = Budget::new(self.request.rho);
        let third = self.request.rho.percent(33);
        let eigenvalue = budget.spend("smallest eigenvalue of the second moments", third)?;
        let moments = budget.spend("second moments", third)?;
        let cross = budget.spend_rest("products with the response")?;
        let sum = rows.outer_sum(&Outer::Shrunk { radius: self.radius }, self.request.neighbours)?;
        let eigenvalue = release_by(&sum.sealed(), &LeastEigenvalue, [eigenvalue], rng)?;
        let moments = release(sum.into_matrix(), moments, rng)?;
        let cross = release(self.cross(rows)?, cross, rng)?;
        let statistics = self.statistics(&eigenvalue, &moments, &cross);
        let ridge = statistics.ridge();
        let theta = statistics.solve(ridge);
        let summary = self.summary(statistics.cross_sd / self.rows as f64);
        Ok(Outcome { theta, ridge, summary, releases: budget.releases() })
    }

    fn summary(&self, noise_sd: f64) -> MethodSummary {
        let clip = self.row_bound * self.response_bound;
        MethodSummary::new(ENTRY.name, clip, 1, 1.0, noise_sd)
    }

    /// `sum_i CLIP(x_i y_i)`: the negative gradient sum at parameters of zero.
    fn cross(&self, rows: &mut dyn Rows) -> Result<Sensitive, Error> {
        let zero = self.lattice.theta(&vec![0.0; self.lattice.features()]);
        rows.clipped(self.clip, None)?.negative_gradient_sum(&zero, &self.lattice, self.request.neighbours)
    }

    /// From integers to standardised units.
    fn statistics(&self, eigenvalue: &Noisy, moments: &Noisy, cross: &Noisy) -> Statistics {
        let square = |value: f64| value / cell_unit().powi(2);
        let product = |value: f64| value / self.lattice.gradient_unit();
        let size = self.lattice.features();
        let entry = |i: usize, j: usize| square(moments.values[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)] as f64);
        Statistics {
            least_eigenvalue: square(eigenvalue.values[0] as f64),
            least_eigenvalue_sd: square(eigenvalue.sigma[0] as f64),
            moments: Mat::from_fn(size, size, entry),
            moments_sd: square(moments.sigma[0] as f64),
            cross: Mat::from_fn(size, 1, |i, _| product(cross.values[i] as f64)),
            cross_sd: product(cross.sigma[0] as f64),
        }
    }
}

impl Statistics {
    /// What makes `X'X` safe to invert.
    fn ridge(&self) -> f64 {
        let features = self.moments.nrows() as f64;
        let known = self.least_eigenvalue - self.least_eigenvalue_sd * (2.0 * FAILURE.recip().ln()).sqrt();
        let wanted = self.moments_sd * (features * (2.0 * features * features / FAILURE).ln()).sqrt();
        (wanted - known.max(0.0)).max(0.0)
    }

    /// `(X'X + ridge I)^-1 X'y`. Where the noise leaves a direction that is not positive, it is
    /// taken to be as large as the noise.
    fn solve(&self, ridge: f64) -> Vec<f64> {
        let size = self.moments.nrows();
        let raised = Mat::from_fn(size, size, |i, j| self.moments[(i, j)] + if i == j { ridge } else { 0.0 });
        let solution = match raised.llt(Side::Lower) {
            Ok(factor) => factor.solve(&self.cross),
            Err(_) => solve_floored(&raised, &self.cross, self.moments_sd),
        };
        (0..size).map(|i| solution[(i, 0)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use dplm::{
        formula::{Column, Kind, Model},
        privacy::{Rho, noise::FixedSeed},
        rows::{Encoded, MemoryBuilder},
        table::{Block, Cells},
    };
    use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// Columns, the response first.
    type Columns = Vec<Vec<f64>>;

    fn design(features: usize) -> Design {
        let column = |name: String| Column { name, kind: Kind::Standard };
        let features = (0..features).map(|j| column(format!("x{j}"))).collect();
        Design::new(&Model::of_columns(column("y".into()), features, false))
    }

    fn rows_of(columns: &Columns) -> Encoded {
        let design = design(columns.len() - 1);
        let mut builder = MemoryBuilder::new(&design);
        let cells = columns.iter().cloned().map(Cells::Numbers).collect();
        builder.push(&Block { rows: columns[0].len(), columns: cells });
        builder.finish()
    }

    /// The paper's setting with every slope the same.
    fn gaussian(rows: usize, features: usize, seed: u64) -> Columns {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut column = || -> Vec<f64> { (0..rows).map(|_| StandardNormal.sample(&mut rng)).collect() };
        let mut columns: Columns = (0..=features).map(|_| column()).collect();
        let slope = 1.0 / (features as f64).sqrt();
        for row in 0..rows {
            let mean: f64 = columns[1..].iter().map(|x| slope * x[row]).sum();
            columns[0][row] += mean;
        }
        columns
    }

    fn plan(rho: f64, rows: usize, features: usize) -> Plan {
        let request = Request::new(Rho::checked_from_f64(rho).unwrap());
        Config::new(request).plan(rows as u64, &design(features)).unwrap()
    }

    fn fit(rho: f64, rows: usize, features: usize) -> Outcome {
        let mut data = rows_of(&gaussian(rows, features, 3));
        plan(rho, rows, features).run(&mut data, &mut FixedSeed::new(4)).unwrap()
    }

    fn distance(theta: &[f64], slope: f64) -> f64 {
        theta.iter().map(|t| (t - slope).powi(2)).sum::<f64>().sqrt()
    }

    /// Sampling error alone is about `sqrt(4 / 4000)`; five times that fails one seed in far more
    /// than 1e6.
    #[test]
    fn a_large_budget_gives_least_squares() {
        let found = fit(900.0, 4000, 4);
        assert_eq!(found.ridge, 0.0);
        assert!(distance(&found.theta, 0.5) < 0.16, "{:?}", found.theta);
    }

    #[test]
    fn a_small_budget_shrinks_towards_zero() {
        let found = fit(0.001, 1000, 4);
        assert!(found.ridge > 1000.0);
        assert!(distance(&found.theta, 0.0) < 1.5);
    }

    #[test]
    fn releases_add_up_to_the_budget() {
        let found = fit(0.05, 1000, 3);
        let units: u64 = found.releases.iter().map(|release| release.rho.units()).sum();
        assert_eq!(units, Rho::checked_from_f64(0.05).unwrap().units());
        assert_eq!(found.releases.len(), 3);
    }

    #[test]
    fn the_noise_is_what_the_budget_asks_for() {
        let found = fit(0.05, 1000, 3);
        let plan = plan(0.05, 1000, 3);
        // Sensitivity 2 Bx By, and 34 percent of rho for the products.
        let sd = 2.0 * plan.row_bound() * plan.response_bound() / (2.0f64 * 0.05 * 0.34).sqrt() / 1000.0;
        assert!((found.summary.noise_sd / sd - 1.0).abs() < 1e-6, "{} {sd}", found.summary.noise_sd);
    }

    #[test]
    fn senseless_bounds_are_refused() {
        for bound in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let request = Request::new(Rho::checked_from_f64(0.1).unwrap());
            let config = Config { row_bound: Some(bound), ..Config::new(request) };
            assert!(matches!(config.plan(100, &design(2)), Err(Error::Config(ConfigError::Bounds))));
        }
    }
}
