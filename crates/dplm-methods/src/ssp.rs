//! Sufficient statistics: least squares from noisy second moments.
//!
//! `X'X` and `X'y` are released once, and `theta = (X'X)^-1 X'y` is what least squares would be of
//! the noisy ones (Vu and Slavkovic 2009; Foulds, Geumlek, Welling and Chaudhuri 2016; "analyze
//! Gauss", Dwork, Talwar, Thakurta and Zhang 2014). Noise is Gaussian and symmetric.
//!
//! # Intervals
//! With noise `N` on the second moments and `w` on the products, `A (theta - beta) = w - N beta`
//! and what the draw of the rows adds, exactly, `A` the noisy moments. That distribution is known
//! except for `beta` itself, and the [Newton interval](dplm::interval::Newton) is the set of values
//! it does not reject. Ferrando, Wang and Sheldon (2022) simulate the same distribution by a
//! parametric bootstrap at the estimate, and Sheffet (2017) bounds it; the inversion needs neither,
//! and says so where the moments cannot be told from singular ones.
//!
//! # Where this differs from what was published
//! The public code of the bootstrap adds a ninth of the noise its epsilon asks for, takes the
//! residual variance from rows in the clear, and fills a triangle with noise where a symmetric
//! matrix needs `sqrt 2` less off its diagonal.

use dplm::{
    Design, Enough, Error, MethodSummary, Progress, Warning,
    descend::Descent,
    interval::{Coordinates, Curvature, Inference, Newton},
    lattice::Outer,
    method::{
        self, ConfigError, Entry, IntervalMethod, NoisyMatrix, Outcome, PublicBounds, Request, Target, budget_warnings,
        release_spread,
    },
    privacy::{Budget, Neighbours, Rho, convert::Conversion, noise::NoiseRng},
    rows::Rows,
};

use crate::{
    asked::{Asked, cell_unit, radius},
    estimate::estimates,
};

/// The method as it is listed.
pub const ENTRY: Entry = Entry {
    intervals: &[IntervalMethod::Newton],
    ..estimates("ssp", "least squares from noisy second moments", Conversion::Exact, |request, tuning| {
        Asked::boxed(&ENTRY, request, tuning, plan)
    })
};

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct Plan {
    request: Request,
    rows: u64,
    features: usize,
    /// Whether intervals are wanted, and whether they are for the population.
    intervals: bool,
    population: bool,
    bounds: PublicBounds,
    /// The products with the response are the gradient at zero: a descent of one step.
    products: Descent,
}

/// Hundredths of the budget for the second moments, and for the spread of the residuals where the
/// population is asked for.
const MOMENTS: u32 = 45;
const SPREAD: u32 = 10;

/// Where the noise on an entry is this small a part of the largest curvature there can be, most
/// coefficients are identified.
const CLEAR_MOMENTS: f64 = 1.0 / 15.0;

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.least_squares_only()?;
    let Asked { request, .. } = asked.clone();
    let (features, bounds) = (design.features(), PublicBounds::of(rows, design, &request));
    let intervals = asked.wants_intervals();
    let population = intervals && request.target() != Target::Sample;
    let gamma = bounds.row * bounds.response;
    let products = Descent::plan(rows, features, gamma, 1, 1.0, request.neighbours, request.rho.to_f64())?;
    Ok(Box::new(Plan { request, rows, features, intervals, population, bounds, products }))
}

impl method::Plan for Plan {
    fn check(&self) -> Result<(), ConfigError> {
        let drowned = self.relative_noise();
        if !self.intervals || drowned < 1.0 {
            return Ok(());
        }
        let &Plan { features, rows, .. } = self;
        let enough = Enough::times(drowned / CLEAR_MOMENTS, rows, self.request.rho).of(self.request.unit());
        Err(ConfigError::NoIntervals { features, rows, enough, with_auto: false })
    }

    fn warn(&self) -> Vec<Warning> {
        budget_warnings(&self.request, self.rows)
    }

    fn run(
        &self,
        rows: &mut dyn Rows,
        design: &Design,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Outcome, Error> {
        let Request { rho, neighbours, level, .. } = self.request;
        let mut budget = Budget::new(rho);
        let moments = budget.spend("second moments", self.moments_rho())?;
        let spread =
            self.population.then(|| budget.spend("spread of the residuals", rho.percent(SPREAD))).transpose()?;
        let products = budget.spend_rest("products with the response")?;
        let shrunk = Outer::Shrunk { radius: radius(self.bounds.row) };
        let moments = NoisyMatrix::release(rows, &shrunk, cell_unit(), neighbours, moments, rng)?;
        let run = self.products.run(rows, &vec![0.0; self.features], products, rng, progress)?;
        let negative: Vec<f64> = run.gradient[0].iter().map(|g| -g).collect();
        let theta = moments.solve(0.0, &negative);
        let lattice = self.products.lattice();
        let at = lattice.theta(&theta);
        let rows = rows.clipped(self.products.clip(), None)?;
        let spread = spread
            .map(|spend| {
                release_spread(
                    rows.as_ref(),
                    (&at, lattice),
                    self.products.clip(),
                    (&self.request, design.weights().is_some()),
                    spend,
                    rng,
                )
            })
            .transpose()?;
        let summary = MethodSummary::new(ENTRY.name, self.products.gamma(), 1, 1.0, run.noise_sd);
        let outcome = Outcome::of(self.request.target(), summary, budget.releases(), Vec::new());
        if !self.intervals {
            return Ok(outcome.with_estimates(design, &theta));
        }
        let curvature = Curvature::released(moments.mean, moments.noise_sd)?;
        let newton = Newton::new(&run, &Coordinates::identity(self.features), &curvature, spread.as_ref())?;
        Ok(outcome.with_inference(design, Inference::from(newton), level)?)
    }
}

impl Plan {
    fn moments_rho(&self) -> Rho {
        self.request.rho.percent(MOMENTS)
    }

    /// The noise on an entry of the second moments over the largest curvature there can be:
    /// `sqrt(delta_sq / (2 rho)) / (n Bx^2)`, where `delta_sq` is `2 Bx^4`, or half of it when
    /// neighbours zero a row out.
    fn relative_noise(&self) -> f64 {
        let delta_sq = match self.request.neighbours {
            Neighbours::ReplaceOne => 2.0,
            Neighbours::ZeroOut => 1.0,
        };
        (delta_sq / (2.0 * self.moments_rho().to_f64())).sqrt() / self.rows as f64
    }
}
