//! One seed of one data set at one budget.

use dplm::{
    Progress,
    method::{Outcome, Purpose, Request, Target, auto, dpgd},
    privacy::{Rho, noise::FixedSeed},
    rows::Rows,
};
use dplm_methods::adassp;
use dplm_theory::huber::huber_optimum;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use super::bench::{Bench, dot};
use crate::{LabError, counted::Counted, trial};

/// Wider than any gradient of a standardised table.
const NO_CLIP: f64 = 1e9;

/// The errors of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Score {
    /// Of the automatic method, of AdaSSP and of the paper's method; and of the clipped optimum,
    /// the part that is not noise.
    pub excess: f64,
    pub adassp: f64,
    pub dpgd: f64,
    pub gap: f64,
    /// The median over coefficients of the distance to least squares, in classical standard errors.
    pub error: f64,
    /// Identified coefficients with an interval for this data set, and the number that covered the
    /// stated target.
    pub empirical: Coverage,
    /// The same with an interval for the population, on resampled rows.
    pub population: Coverage,
    /// The median length of the intervals for the population against classical least squares.
    pub width: f64,
    /// The number of passes of the fit for the data set.
    pub passes: f64,
}

/// Coefficients with an interval, and the covered ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coverage {
    pub identified: usize,
    pub covered: usize,
}

/// Fits the data set with default options, once as it is and once, resampled, for the population;
/// and by the other methods. The rows drawn depend on the data set's `name` too, so that lines of
/// the table are independent.
pub(super) fn score(name: &str, bench: &Bench, rho: f64, seed: u64) -> Result<Score, LabError> {
    let mut counted = Counted::new(bench.rows());
    let by_default = fit(bench, &mut counted, rho, seed, None)?;
    let own = fit(bench, &mut bench.rows(), rho, seed, Some(Target::Sample))?;
    let mut rows = bench.resampled(&mut ChaCha8Rng::seed_from_u64(trial::seed(seed, name, &[rho.to_bits()])));
    let sample = fit(bench, &mut rows, rho, seed, None)?;
    let standard = bench.to_standard(&by_default.predictor(&bench.design));
    let optimum = optimum(bench, &by_default, by_default.summary.clip);
    let (adassp, dpgd) = others(bench, rho, seed)?;
    Ok(Score {
        excess: bench.excess(&standard),
        gap: bench.excess(&optimum),
        error: median((0..standard.len()).map(|j| (standard[j] - bench.ols[j]).abs() / bench.ols_se[j]).collect()),
        empirical: coverage(bench, &own),
        population: coverage(bench, &sample),
        width: width(bench, &sample),
        passes: f64::from(counted.passes()),
        adassp,
        dpgd,
    })
}

fn fit(bench: &Bench, rows: &mut dyn Rows, rho: f64, seed: u64, target: Option<Target>) -> Result<Outcome, LabError> {
    let request = Request { target, ..request(rho)? };
    let plan = auto::Config::new(request).plan(bench.y.len() as u64, &bench.design)?;
    Ok(plan.run(rows, &bench.design, &mut FixedSeed::new(seed), Progress::NONE)?)
}

fn request(rho: f64) -> Result<Request, LabError> {
    Ok(Request::new(Rho::checked_from_f64(rho).map_err(dplm::Error::from)?))
}

/// The excess of AdaSSP and of the paper's method, both spending the whole budget on the estimate.
fn others(bench: &Bench, rho: f64, seed: u64) -> Result<(f64, f64), LabError> {
    let request = Request { purpose: Purpose::Prediction, ..request(rho)? };
    let (count, mut rows) = (bench.y.len() as u64, bench.rows());
    let plan = adassp::Config::new(request.clone()).plan(count, &bench.design)?;
    let adassp = plan.run(&mut rows, &mut FixedSeed::new(seed))?.theta;
    let plan = dpgd::Config::new(request).plan(count, &bench.design)?;
    let run = plan.run(&mut rows, &bench.design, &mut FixedSeed::new(seed), Progress::NONE)?;
    Ok((bench.excess(&adassp), bench.excess(&bench.to_standard(&run.predictor(&bench.design)))))
}

/// The optimum of the loss clipped at `clip` on the whole data set in the coordinates of the run,
/// in standardised units.
fn optimum(bench: &Bench, outcome: &Outcome, clip: f64) -> Vec<f64> {
    let matrix = outcome.whitening.as_ref().expect("the automatic method whitens").matrix();
    // Coefficients that were left out have no coordinate, and become zero.
    let (p, kept) = (matrix.nrows(), matrix.ncols());
    let white = |row: &[f64]| -> Vec<f64> { (0..kept).map(|k| dot(matrix.col_as_slice(k), row)).collect() };
    let rows: Vec<f64> = bench.x.chunks_exact(p).flat_map(white).collect();
    let back = |theta: &[f64]| (0..p).map(|j| (0..kept).map(|k| matrix[(j, k)] * theta[k]).sum()).collect();
    huber_optimum(&rows, &bench.y, kept, clip).map_or(vec![f64::NAN; p], |found| back(&found.into_inner().theta))
}

/// Against the target that the fit states: least squares without the terms that were left out, or
/// the robust coefficients at its clip threshold.
fn coverage(bench: &Bench, outcome: &Outcome) -> Coverage {
    let contrasts = bench.design.contrasts();
    let clip = if outcome.target == Target::Robust { outcome.summary.clip } else { NO_CLIP };
    let truth = optimum(bench, outcome, clip);
    let known = outcome.coefficients.iter().zip(&contrasts).filter_map(|(one, contrast)| {
        one.precision.as_ref().map(|found| (found.low..=found.high).contains(&contrast.of(&truth)))
    });
    known.fold(Coverage::default(), |sum, covered| Coverage {
        identified: sum.identified + 1,
        covered: sum.covered + usize::from(covered),
    })
}

/// Without the intercept, which mixes columns.
fn width(bench: &Bench, outcome: &Outcome) -> f64 {
    let contrasts = bench.design.contrasts();
    let skipped = usize::from(matches!(bench.design.slots().first(), Some(dplm::lattice::Slot::Intercept)));
    let ratio = |j: usize| {
        let found = outcome.coefficients[j].precision.as_ref()?;
        Some((found.high - found.low) / (2.0 * 1.96 * contrasts[j].weights[j].abs() * bench.ols_se[j]))
    };
    median((skipped..contrasts.len()).filter_map(ratio).collect())
}

/// The median; NaN for no values.
pub(super) fn median(values: Vec<f64>) -> f64 {
    if values.is_empty() { f64::NAN } else { crate::stats::percentile(&values, 0.5) }
}
