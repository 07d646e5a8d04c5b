//! Fits of disjoint batches, and how many batches a budget asks for: what the methods of deepest
//! points share.

use dplm::{
    Enough, Error,
    method::ConfigError,
    privacy::{Mechanism, release_by},
};

use crate::{
    estimate::{Given, Run},
    mechanism::{Batching, Deepest, DeepestTested, Failure, Medians},
};

/// Readings beyond this many standardised units saturate. A coefficient is a few units at most
/// where columns are not nearly dependent.
pub(crate) const LIMIT: f64 = 16.0;

/// Readings are rounded to whole numbers of 2^-16.
const UNIT: f64 = 65536.0;

/// The logarithm of how much longer a side of the public box is than that of a box in the middle of
/// the fits: `ln(2 LIMIT / 0.08)`.
const LOG_SIDE: f64 = 6.0;

/// With fewer batches than these the deepest point is hardly a middle.
const FEWEST: f64 = 20.0;

/// The most layers of depth that are told apart: with more, weights would take more memory than
/// rows.
const MOST_LAYERS: f64 = 4096.0;

/// Chances fall by no more than `exp(-20)` with each layer, since they are whole numbers of 2^-32.
const STEEPEST: f64 = 20.0;

/// Readings of a method that tests saturate at this many standardised units, which no regression
/// reaches.
pub(crate) const FAR: f64 = 1_073_741_824.0;

/// More batches than these are not asked for by a method that tests: weights would take more memory
/// than rows.
const MOST_TESTED: f64 = 8192.0;

/// Reads off the coefficients themselves.
pub(crate) fn coefficients(features: usize) -> Vec<Vec<f64>> {
    Batching::of_coefficients(1, features, 1.0, 1).readings
}

/// How many changes of rows a test must be sure of to pass nearly always: its threshold, and four
/// scales of its noise.
fn changes_tested(delta: f64, rho: f64) -> f64 {
    let scale = (2.0 * rho).sqrt().recip().ceil();
    scale * ((2.0 / delta).log2().ceil() * std::f64::consts::LN_2 + 4.0)
}

/// How many layers deeper points must lie to outweigh those at the edge by half of delta, where the
/// edge is ten times as far out in each of the readings.
fn layers_tested(delta: f64, together: f64, rate: f64) -> f64 {
    ((2.0 / delta).ln() + 10f64.ln() * together) / rate
}

/// How many batches there are, and what each fit is read at; public.
#[derive(Clone, Debug)]
pub(crate) struct Batches {
    pub batching: Batching,
    /// How many of the deepest layers are told apart.
    layers: usize,
    /// How many batches it takes for points in the middle to outweigh all others.
    needed: f64,
}

impl Batches {
    /// As many batches as keep the error of each choice below that of sampling, of at least
    /// `rows_each` rows; `together` readings are chosen at a time, for a budget of `rho`.
    pub(crate) fn plan(rows: u64, rows_each: u64, readings: Vec<Vec<f64>>, together: usize, rho: f64) -> Batches {
        // Chances fall by `exp(-rate)` with each layer.
        let (rate, together) = ((2.0 * rho).sqrt(), together as f64);
        let needed = (4.0 * (LOG_SIDE * together + 4.0) / rate).max(FEWEST);
        let wanted = (2.0 * needed).max(16.0 * (together / rate).powi(2));
        let batches = wanted.min((rows / rows_each) as f64).max(1.0) as usize;
        // Everything below the last layer together is less likely than a point in the middle by
        // `exp(-30)`.
        let layers = ((together * (2.0 * LIMIT * UNIT).ln() + 30.0) / rate.min(STEEPEST)).ceil();
        let batching = Batching { batches, readings, unit: UNIT, limit: (LIMIT * UNIT) as i64 };
        Batches { batching, layers: layers.min(MOST_LAYERS) as usize, needed }
    }

    /// As many batches as let a test of depth pass nearly always, or as keep the error of the
    /// choice below that of sampling; readings are hardly bounded.
    pub(crate) fn plan_tested(
        rows: u64,
        rows_each: u64,
        readings: Vec<Vec<f64>>,
        delta: f64,
        rho: (f64, f64),
    ) -> Batches {
        let (together, rate) = (readings.len() as f64, (2.0 * rho.1).sqrt());
        let needed = changes_tested(delta, rho.0) + layers_tested(delta, together, rate);
        // The test is of points at a quarter of the batches. Where three sixteenths are used up
        // either way, what is drawn from lies between the seventh and the ninth sixteenth, and
        // normal fits spread ten times as far at the outer end as there.
        let needed = needed * 16.0 / 3.0;
        let wanted = (1.1 * needed).max(16.0 * (together / rate).powi(2)).min(MOST_TESTED);
        let batches = wanted.min((rows / rows_each) as f64).max(1.0) as usize;
        let batching = Batching { batches, readings, unit: UNIT, limit: (FAR * UNIT) as i64 };
        Batches { batching, layers: batches, needed }
    }

    /// Refuses a number of batches from which any point might be drawn: what the published test
    /// would find out by a share of the budget.
    pub(crate) fn check(&self, given: &Given) -> Result<(), ConfigError> {
        let factor = self.needed / self.batching.batches as f64;
        if factor <= 1.0 {
            return Ok(());
        }
        let &Given { features, rows, ref request, .. } = given;
        let enough = Enough::times(factor, rows, request.rho).of(request.unit());
        Err(ConfigError::NothingButNoise { features, rows, enough })
    }

    /// The median of each reading, in standardised units, for all that is left of the budget.
    pub(crate) fn medians(&self, what: &str, run: &mut Run<'_>) -> Result<Vec<f64>, Error> {
        let what = format!("medians of {} {what}", self.batching.batches);
        let spend = run.budget.spend_on(Mechanism::Exponential, what, run.budget.left())?;
        let moments = run.rows.custom()?.batch_moments(self.batching.batches)?;
        let shares = spend.in_parts(self.batching.readings.len() as u32);
        Ok(standardised(&release_by(&moments, &Medians(self.deepest()), shares, run.rng)?))
    }

    /// A point deep among all readings, in standardised units, for all that is left of the budget.
    pub(crate) fn middle(&self, what: &str, run: &mut Run<'_>) -> Result<Vec<f64>, Error> {
        let spend = run.budget.spend_on(Mechanism::Exponential, what, run.budget.left())?;
        let moments = run.rows.custom()?.batch_moments(self.batching.batches)?;
        Ok(standardised(&release_by(&moments, &self.deepest(), [spend], run.rng)?))
    }

    /// The same after a test of half of delta that has `percent` hundredths of the budget, without
    /// a box; `None` if the test fails.
    pub(crate) fn tested_middle(
        &self,
        percent: u32,
        given: &Given,
        run: &mut Run<'_>,
    ) -> Result<Option<Vec<f64>>, Error> {
        let what = format!("a test of the depth of {} fits", self.batching.batches);
        let test = run.budget.spend_on(Mechanism::Test, what, given.request.rho.percent(percent))?;
        let choice = run.budget.spend_on(Mechanism::Exponential, "a deep point of them", run.budget.left())?;
        let moments = run.rows.custom()?.batch_moments(self.batching.batches)?;
        let failure = Failure::half_of(given.request.delta);
        let deepest = DeepestTested { batching: &self.batching, failure };
        let point = release_by(&moments, &deepest, [test, choice], run.rng)?.into_inner();
        Ok(point.map(|point| standardised(&point)))
    }

    fn deepest(&self) -> Deepest<'_> {
        Deepest { batching: &self.batching, most: self.layers }
    }
}

fn standardised(point: &[i64]) -> Vec<f64> {
    point.iter().map(|&at| at as f64 / UNIT).collect()
}
