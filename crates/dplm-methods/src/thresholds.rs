//! Medians of the lengths of rows and of residuals, chosen by the exponential mechanism: where
//! separate clips lie.

use dplm::{
    Error,
    lattice::{Ladder, LatticeError},
    method::PublicBounds,
    privacy::{Neighbours, Spend, noise::NoiseRng, release_by},
    rows::Rows,
};

use crate::{asked::radius, mechanism::Nearest, steps::Steps};

/// Thresholds above the medians: few rows are shrunk, and about a third of residuals clamped where
/// they are Gaussian.
pub(crate) const ROW_OVER_MEDIAN: f64 = 1.3;
pub(crate) const RESIDUAL_OVER_MEDIAN: f64 = 1.5;

/// How many thresholds a ladder has to a doubling, and how many doublings below its top it ends.
const TO_A_DOUBLING: u32 = 4;
const DOUBLINGS: u32 = 12;

/// How medians are chosen, and the arithmetic of gradients that are clipped at multiples of them;
/// public.
#[derive(Clone, Debug)]
pub(crate) struct Medians {
    bounds: PublicBounds,
    neighbours: Neighbours,
    pub(crate) arithmetic: Steps,
}

/// Residuals are searched up to twice the largest response.
fn top_of_residuals(bounds: &PublicBounds) -> f64 {
    2.0 * bounds.response
}

/// Thresholds up to `top`, each a quarter of a doubling above the one before.
fn ladder(top: f64) -> Vec<f64> {
    let steps = TO_A_DOUBLING * DOUBLINGS;
    (0..=steps).map(|step| top * (f64::from(step) / f64::from(TO_A_DOUBLING) - f64::from(DOUBLINGS)).exp2()).collect()
}

impl Medians {
    /// How many ranks a choice is off by, but once in twenty times, at most: `2 / epsilon ln(20 k)`
    /// for `k` thresholds, `epsilon = sqrt(8 rho)`.
    pub(crate) fn ranks_off(rho: f64) -> f64 {
        let thresholds = f64::from(TO_A_DOUBLING * DOUBLINGS + 1);
        2.0 * (20.0 * thresholds).ln() / (8.0 * rho).sqrt()
    }

    /// For `rows` rows at a time.
    pub(crate) fn plan(
        rows: u64,
        features: usize,
        bounds: PublicBounds,
        neighbours: Neighbours,
    ) -> Result<Medians, LatticeError> {
        let largest = ROW_OVER_MEDIAN * bounds.row * RESIDUAL_OVER_MEDIAN * top_of_residuals(&bounds);
        Ok(Medians { bounds, neighbours, arithmetic: Steps::plan(rows, features, largest, neighbours)? })
    }

    /// A length near the median of the rows'.
    pub(crate) fn of_rows(&self, rows: &dyn Rows, spend: Spend, rng: &mut NoiseRng) -> Result<f64, Error> {
        let ladder = ladder(self.bounds.row);
        let radii: Vec<u64> = ladder.iter().map(|&length| radius(length)).collect();
        Ok(ladder[self.middle(rows, &Ladder::Norms { radii: &radii }, spend, rng)?])
    }

    /// A size near the median of the residuals'.
    pub(crate) fn of_residuals(
        &self,
        rows: &dyn Rows,
        theta: &[f64],
        spend: Spend,
        rng: &mut NoiseRng,
    ) -> Result<f64, Error> {
        let ladder = ladder(top_of_residuals(&self.bounds));
        let unit = self.arithmetic.residual_unit();
        let sizes: Vec<u64> = ladder.iter().map(|&size| (size * unit).ceil() as u64).collect();
        let (theta, theta_unit) = (self.arithmetic.theta(theta), self.arithmetic.theta_unit());
        let residuals = Ladder::Residuals { theta: &theta, theta_unit, sizes: &sizes };
        Ok(ladder[self.middle(rows, &residuals, spend, rng)?])
    }

    /// The place of a threshold that about half of the rows are above.
    fn middle(&self, rows: &dyn Rows, ladder: &Ladder<'_>, spend: Spend, rng: &mut NoiseRng) -> Result<usize, Error> {
        let counts = rows.tail_counts(ladder, self.neighbours)?.sealed();
        Ok(release_by(&counts, &Nearest { rank: rows.count() / 2 }, [spend], rng)?.into_inner())
    }
}
