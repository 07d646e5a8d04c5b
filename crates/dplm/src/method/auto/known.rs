//! Second moments that are known before the fit.
//!
//! Known moments whiten the columns at no cost. They may be wrong: of another year, of another
//! country, or mistyped. Where the budget allows rounds of whitening, they only take the place of
//! the first: what decides, and what intervals rest on, is released as in any fit, and wrong
//! moments cost precision.
//!
//! A weaker budget cannot tell how columns go together, which is why there are no intervals there.
//! Known moments are then *trusted*, and the fit says so. One release looks at the whitened rows:
//! their second moments are the identity where what is known is right. Where they stand out of the
//! noise of that release, the moments are not those of these rows, and no interval is printed.

use faer::Mat;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{
    ask::Ask,
    left_out::left_out,
    sequence::Sequence,
    whiten::{RESOLVED, White, eigen},
};
use crate::{
    Error,
    interval::{Curvature, Floor, Resolved, resolve},
    lattice::{Design, Whitening},
    matrix::diagonal,
    method::noisy::NoisyMatrix,
    warning::LeftOut,
};

/// Entries of known moments, of columns of unit length, are taken to be right to this: columns that
/// differ by less are one.
const ENTRY_SD: f64 = 1e-5;
/// The mean of the second moments that are seen is believed where it stands this many standard
/// deviations from what was known.
const STANDS_OUT: f64 = 4.0;
/// The largest eigenvalue that noise alone makes is below this many times the edge of its
/// distribution, except in one case of thousands.
const ABOVE_EDGE: f64 = 1.25;
/// No direction is stretched further than this where released moments say that it is shorter than
/// was known.
const LEAST: f64 = 0.1;
/// The share of the check, where a round of whitening would have several times as much.
pub(super) const CHECK: f64 = 0.06;
/// Its false-alarm rate.
const FALSE_ALARM: f64 = 1e-3;
/// Columns that known moments take for one are told apart by released ones, if anything does: no
/// combination is stretched beyond this.
const LEAST_EIGENVALUE: f64 = 1e-4;

/// What is known of the columns of the design matrix.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    /// The second moments, in standardised units.
    moments: Mat<f64>,
    /// The columns in the model: those that differ from the ones before them.
    pub kept: Vec<usize>,
    pub left_out: Vec<LeftOut>,
}

impl Known {
    /// Decides which columns differ.
    pub(super) fn new(moments: Mat<f64>, floor: &Floor, design: &Design) -> Known {
        let p = moments.nrows();
        let lengths: Vec<f64> = (0..p).map(|j| moments[(j, j)].max(f64::MIN_POSITIVE).sqrt()).collect();
        let scaled = Mat::from_fn(p, p, |j, k| moments[(j, k)] / (lengths[j] * lengths[k]));
        let law = Curvature::of_entries(scaled, Mat::full(p, p, ENTRY_SD));
        let basis = diagonal(&lengths);
        let Resolved { mut kept, pivots } = resolve(&law, &basis, floor, RESOLVED);
        if kept.is_empty() {
            kept.push(0);
        }
        let left_out = left_out(&Resolved { kept: kept.clone(), pivots }, &law, &basis, floor, design);
        Known { moments, kept, left_out }
    }

    /// Coordinates in which these columns are white.
    pub(super) fn turn(&self, columns: &[usize]) -> Mat<f64> {
        let (k, p) = (columns.len(), self.moments.nrows());
        let of_kept = Mat::from_fn(k, k, |i, j| self.moments[(columns[i], columns[j])]);
        let lengths: Vec<f64> = (0..k).map(|j| of_kept[(j, j)].max(LEAST_EIGENVALUE).sqrt()).collect();
        let found = eigen(&Mat::from_fn(k, k, |i, j| of_kept[(i, j)] / (lengths[i] * lengths[j])));
        let entry =
            |i: usize, j: usize| found.vectors[(i, j)] / found.values[j].max(LEAST_EIGENVALUE).sqrt() / lengths[i];
        let mut matrix = Mat::zeros(p, k);
        columns.iter().enumerate().for_each(|(i, &row)| (0..k).for_each(|j| matrix[(row, j)] = entry(i, j)));
        matrix
    }
}

impl<A: Ask> Sequence<'_, A> {
    /// Coordinates from known moments that are trusted, unless what is released contradicts them.
    pub(super) fn whiten_on_trust(&mut self, known: &Known) -> Result<White, Error> {
        let k = known.kept.len();
        let mut whitening = Whitening::new(known.turn(&known.kept).as_ref());
        self.ask.whiten(&whitening, false)?;
        let mut radius = self.length_of_whitened(k, "length of rows")?;
        let spend = self.spend("check of the known moments", CHECK)?;
        let seen = self.ask.look().second_moments(radius, spend)?;
        let contradicted = contradicts(&seen);
        if contradicted {
            whitening = Whitening::new((whitening.matrix() * correction(&seen)).as_ref());
            self.ask.whiten(&whitening, true)?;
            radius = self.length_of_whitened(k, "length of rows again")?;
        }
        Ok(White {
            radius,
            longer: radius / self.plan.normal_length(&Mat::identity(k, k)),
            left_out: known.left_out.clone(),
            trust: Some(if contradicted { Trust::Contradicted } else { Trust::Kept }),
            ..White::new(whitening, known.kept.clone())
        })
    }
}

/// What became of moments that were trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Nothing that was released contradicts them.
    Kept,
    /// They are not those of these rows.
    Contradicted,
}

/// Whether second moments that should be the identity are more than noise away from it: all entries
/// together, their mean, or one direction.
///
/// The squares of the entries in units of their variances add up to a chi-square with
/// `k (k + 1) / 2` degrees of freedom.
fn contradicts(seen: &NoisyMatrix) -> bool {
    let k = seen.mean.nrows();
    let apart = less_identity(&seen.mean, 1.0);
    // Each entry off the diagonal stands for half of the pair, whose weight is 2.
    let statistic = apart.squared_norm_l2() / seen.noise_sd.powi(2);
    let law = ChiSquared::new((k * (k + 1)) as f64 / 2.0).expect("one coordinate or more");
    statistic > law.inverse_cdf(1.0 - FALSE_ALARM)
        || (level(seen) - 1.0).abs() > STANDS_OUT * seen.noise_sd / (k as f64).sqrt()
        || eigen(&apart).values.iter().any(|e| e.abs() > ABOVE_EDGE * seen.edge())
}

fn level(seen: &NoisyMatrix) -> f64 {
    let k = seen.mean.nrows();
    (0..k).map(|j| seen.mean[(j, j)]).sum::<f64>() / k as f64
}

fn less_identity(matrix: &Mat<f64>, scale: f64) -> Mat<f64> {
    let k = matrix.nrows();
    Mat::from_fn(k, k, |i, j| matrix[(i, j)] - if i == j { scale } else { 0.0 })
}

/// `C^(-1/2)` where `C` is what the released moments show in place of the identity that was
/// expected.
///
/// Noise of sd `s` fills the eigenvalues up to `b = s sqrt(2k)`. One that stands out at `e` was
/// made by a true one of `t + b^2 / (4 t) = e` (Benaych-Georges and Nadakuditi 2011). What is
/// common to all directions is the median, which one long direction does not move.
fn correction(seen: &NoisyMatrix) -> Mat<f64> {
    let (values, edge) = (eigen(&seen.mean).values, seen.edge());
    let level = (0.5 * (values[(values.len() - 1) / 2] + values[values.len() / 2])).max(LEAST);
    let departure = |e: f64| match e.abs() > ABOVE_EDGE * edge {
        true => 0.5 * (e + e.signum() * (e * e - edge * edge).sqrt()),
        false => 0.0,
    };
    eigen(&less_identity(&seen.mean, level)).map(|e| (level + departure(e)).max(LEAST * level).sqrt().recip())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(diagonal: [f64; 4], noise_sd: f64) -> NoisyMatrix {
        NoisyMatrix { mean: crate::matrix::diagonal(&diagonal), noise_sd }
    }

    #[test]
    fn what_stands_out_of_the_noise_contradicts() {
        assert!(!contradicts(&seen([1.3, 0.8, 1.0, 0.9], 0.2)));
        assert!(contradicts(&seen([9.0, 0.8, 1.0, 1.2], 0.2)), "a direction that is three times as long");
        // A mean is known better than its parts: what is a third as long as was known is seen where
        // no single direction is.
        assert!(contradicts(&seen([0.1, 0.12, 0.1, 0.13], 0.4)));
        assert!(!contradicts(&seen([0.1, 0.12, 0.1, 0.13], 2.0)));
    }

    #[test]
    fn only_what_stands_out_is_corrected() {
        let one = correction(&seen([9.0, 0.8, 1.0, 1.2], 0.2));
        assert!((one[(0, 0)] - 1.0 / 3.0).abs() < 0.01 && (one[(1, 1)] - one[(3, 3)]).abs() < 1e-9);
        let all = correction(&seen([9.0, 9.1, 9.2, 8.7], 0.2));
        assert!((0..4).all(|j| (all[(j, j)] - 1.0 / 3.0).abs() < 0.01));
    }
}
