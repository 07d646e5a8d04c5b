//! Least squares on sums of bins (BinAgg; Lin, Slavkovic and Bhoomireddy 2026).
//!
//! Rows are divided into bins by cuts of their features, found by noisy counts; the number of rows
//! of each bin and the sums of their features and responses are released. With `s_k`, `t_k` and
//! `c_k` these, `t_k = s_k' beta` plus errors of variance proportional to `c_k`, so that
//! `beta = (sum s_k s_k' / c_k - B)^-1 sum s_k t_k / c_k`, where `B` is what noise in the features
//! adds to the first sum on average. What is released has one vector for each bin, and not a
//! product of features, so that its noise grows with the length of a row and not with its square.
//!
//! # Where this differs from what was published
//! - The public code adds noise of one share of the budget to each of the sums of the features,
//!   which together cost `p` shares; here one release has the noise that its norm asks for. It
//!   subtracts `B / K`, with `K` bins, where its paper has `B`, so that the correction vanishes
//!   with many bins. Rows on a cut are counted twice.
//! - The tree of bins there is PrivTree, whose noise is Laplace's and whose privacy is pure. Here a
//!   bin is cut while its noisy count promises that the halves' sums will stand out from their
//!   noise; each level of the tree is one release of counts, and everything is Gaussian.
//! - Intervals there are asymptotic in the number of bins, and none are given here.

use dplm::{
    Design, Error, Progress,
    lattice::Slot,
    method::{self, ConfigError, Entry, Request},
    privacy::{Neighbours, Spend, convert::Conversion, noise::NoiseRng, release},
    rows::Rows,
};
use faer::{Mat, Side};

use crate::{
    asked::{Asked, cell_unit, radius},
    estimate::{Estimate, Given, Recipe, Run, estimates},
    query::{BinCounts, BinSums, Bins},
};

/// The method as it is listed.
pub const ENTRY: Entry =
    estimates("binagg", "least squares on noisy sums of bins; estimates only", Conversion::Exact, |request, tuning| {
        Asked::boxed(&ENTRY, request, tuning, plan)
    });

/// Hundredths of the budget for finding the bins, and for the counts of those that were found;
/// their sums have the rest.
const TREE: u32 = 10;
const COUNTS: u32 = 15;

/// The most cuts of a column, and the most levels of cuts.
const CUTS_PER_COLUMN: usize = 3;
const MOST_LEVELS: usize = 12;

/// A bin is cut while its rows times the width of the cut range are this many times the noise of a
/// sum: the means of its halves are then a quarter of the width or so from its middle, and their
/// sums twice the noise.
const STANDS_OUT: f64 = 16.0;

/// Standard columns are cut as if they were within so much of zero.
const STANDARD_RANGE: f64 = 2.0;

/// A checked plan: every number in it is public.
#[derive(Clone, Debug)]
struct BinAgg {
    /// The largest norm of features and response together.
    row: f64,
    /// The range of each column that can be cut.
    ranges: Vec<(usize, (f64, f64))>,
    levels: usize,
    /// The standard deviation of the noise in each sum.
    noise_sd: f64,
}

/// A bin that may be cut: its number, and what is left of each range.
type Open = (usize, Vec<(f64, f64)>);

fn plan(asked: &Asked, rows: u64, design: &Design) -> Result<Box<dyn method::Plan>, Error> {
    asked.rows_only()?;
    asked.estimating(rows, design, |given| {
        let row = given.bounds.row.hypot(given.bounds.response);
        let ranges: Vec<(usize, (f64, f64))> =
            design.slots().iter().enumerate().filter_map(|(j, slot)| Some((j, range_of(slot)?))).collect();
        let levels = (CUTS_PER_COLUMN * ranges.len()).clamp(1, MOST_LEVELS);
        Ok(BinAgg { row, ranges, levels, noise_sd: noise_sd(&given.request, row) })
    })
}

/// `2 R / sqrt(2 rho)`, `R` the largest norm of a row, or half of it when neighbours zero a row
/// out.
fn noise_sd(request: &Request, row: f64) -> f64 {
    let reach = match request.neighbours {
        Neighbours::ReplaceOne => 2.0,
        Neighbours::ZeroOut => 1.0,
    };
    let rho = request.rho.percent(100 - TREE - COUNTS).to_f64();
    reach * row / (2.0 * rho).sqrt()
}

/// Where the cells of a column lie, for the most part.
fn range_of(slot: &Slot) -> Option<(f64, f64)> {
    match slot {
        Slot::Intercept => None,
        Slot::Number { scale, .. } if scale.range.0.is_infinite() => Some((-STANDARD_RANGE, STANDARD_RANGE)),
        _ if slot.is_level() => Some((0.0, 1.0)),
        _ => Some((-1.0, 1.0)),
    }
}

impl Recipe for BinAgg {
    /// Refuses where not even one cut of every column would leave bins whose sums stand out.
    fn check(&self, given: &Given) -> Result<(), ConfigError> {
        let bins = (self.ranges.len() as f64).exp2() / 2.0;
        let most = self.ranges.iter().map(|(_, range)| self.fewest(*range)).fold(0.0, f64::max);
        let factor = most * bins / given.rows as f64;
        if factor <= 1.0 {
            return Ok(());
        }
        let &Given { features, rows, .. } = given;
        let enough = dplm::Enough::times(factor, rows, given.request.rho).of(given.request.unit());
        Err(ConfigError::NothingButNoise { features, rows, enough })
    }

    fn estimate(&self, given: &Given, run: &mut Run<'_>) -> Result<Estimate, Error> {
        let Request { rho, neighbours, .. } = given.request;
        let Run { rows, budget, rng, progress, .. } = run;
        let tree = budget.spend(format!("bins, {} levels", self.levels), rho.percent(TREE))?;
        let counts = budget.spend("rows in each bin", rho.percent(COUNTS))?;
        let sums = budget.spend_rest("sums of each bin")?;
        let bins = self.find_bins(*rows, neighbours, tree, rng, *progress)?;
        let found = rows.custom()?;
        let counts = release(found.sum(&BinCounts(&bins), neighbours)?, counts, *rng)?;
        let all = BinSums { bins: &bins, radius: radius(self.row) };
        let sums = release(found.sum(&all, neighbours)?, sums, *rng)?;
        let counts: Vec<f64> = counts.values.iter().map(|&count| count as f64).collect();
        let values: Vec<f64> = sums.values.iter().map(|&sum| sum as f64 / cell_unit()).collect();
        let noise_sd = sums.sigma[0] as f64 / cell_unit();
        let theta = weighted_least_squares(&counts, &values, noise_sd, given.features);
        Ok(Estimate::at_once(theta, self.row, noise_sd / given.rows as f64))
    }
}

impl BinAgg {
    /// The fewest rows of a bin whose range is cut.
    fn fewest(&self, (low, high): (f64, f64)) -> f64 {
        STANDS_OUT * self.noise_sd / (high - low)
    }

    /// Cuts bins level by level, the columns taking turns, while their noisy counts promise that
    /// the halves will stand out.
    fn find_bins(
        &self,
        rows: &dyn Rows,
        neighbours: Neighbours,
        spend: Spend,
        rng: &mut NoiseRng,
        progress: Progress<'_>,
    ) -> Result<Bins, Error> {
        let mut bins = Bins::whole();
        let mut open: Vec<Open> = vec![(0, self.ranges.iter().map(|(_, range)| *range).collect())];
        for (level, part) in spend.in_parts(self.levels as u32).into_iter().enumerate() {
            let counts = release(rows.custom()?.sum(&BinCounts(&bins), neighbours)?, part, rng)?;
            let turn = level % self.ranges.len();
            let stands_out = |open: &Open| counts.values[open.0] as f64 > self.fewest(open.1[turn]);
            let (wide, small): (Vec<Open>, Vec<Open>) = open.into_iter().partition(stands_out);
            let halves = wide.into_iter().flat_map(|bin| self.halves(&mut bins, bin, turn));
            open = halves.collect();
            open.extend(small);
            progress.report(level as u32 + 1, self.levels as u32)?;
        }
        Ok(bins)
    }

    fn halves(&self, bins: &mut Bins, (bin, ranges): Open, turn: usize) -> [Open; 2] {
        let (low, high) = ranges[turn];
        let middle = 0.5 * (low + high);
        let (mut below, mut above) = (ranges.clone(), ranges);
        below[turn] = (low, middle);
        above[turn] = (middle, high);
        let new = bins.count();
        bins.cut(bin, self.ranges[turn].0, (middle * cell_unit()) as f32);
        [(bin, below), (new, above)]
    }
}

/// Counts below this are mostly noise, and the bins of no use.
const FEWEST: f64 = 2.0;

/// `(sum s s' / c - noise^2 sum 1 / c)^-1 sum s t / c`, over bins with sums `(s, t)` of features
/// and response and counts `c`. Directions in which the matrix is below its own noise are taken to
/// be as large as that.
fn weighted_least_squares(counts: &[f64], sums: &[f64], noise_sd: f64, features: usize) -> Vec<f64> {
    let mut moments = Mat::<f64>::zeros(features, features);
    let (mut right, mut variance) = (Mat::<f64>::zeros(features, 1), 0.0);
    let bins = counts.iter().zip(sums.chunks_exact(features + 1));
    for (count, sum) in bins.filter(|(count, _)| **count >= FEWEST) {
        let (s, t) = sum.split_at(features);
        for i in 0..features {
            (0..features).for_each(|j| moments[(i, j)] += s[i] * s[j] / count);
            moments[(i, i)] -= noise_sd * noise_sd / count;
            right[(i, 0)] += s[i] * t[0] / count;
        }
        // Of an entry of the diagonal: `(s + e)^2` varies by `4 s^2 e^2 + 2 e^4`.
        let mean_square = s.iter().map(|s| s * s).sum::<f64>() / features as f64;
        variance += noise_sd.powi(2) * (4.0 * mean_square + 2.0 * noise_sd.powi(2)) / (count * count);
    }
    let found = moments.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix has eigenvalues");
    let turned = found.U().transpose() * right;
    let floor = variance.sqrt().max(f64::MIN_POSITIVE);
    let scaled = Mat::from_fn(features, 1, |i, _| turned[(i, 0)] / found.S().column_vector()[i].max(floor));
    let theta = found.U() * scaled;
    (0..features).map(|i| theta[(i, 0)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three bins on the line `t = 2 c - s`, of different sizes, without noise.
    #[test]
    fn bins_on_a_line_give_the_line() {
        let counts = [10.0, 40.0, 25.0];
        let slopes = [0.5, -1.0, 3.0];
        let sums: Vec<f64> =
            counts.iter().zip(slopes).flat_map(|(c, x): (&f64, f64)| [*c, c * x, 2.0 * c - c * x]).collect();
        let found = weighted_least_squares(&counts, &sums, 0.0, 2);
        assert!((found[0] - 2.0).abs() < 1e-9 && (found[1] + 1.0).abs() < 1e-9, "{found:?}");
    }
}
