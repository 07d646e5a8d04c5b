//! How many rows, or persons, lie above each of a ladder of thresholds.
//!
//! Whether a row is above a threshold depends on that row only, so one row moves each count by at
//! most one: the claim needs no arithmetic. So it is with a person and all their rows. The rules
//! are in integers all the same, so that every engine counts alike.

use super::{
    BLOCK_ROWS, Clip, Kernel, RowBlock, Theta,
    exact::{natural, nearest, power},
    kernel::{self, ROUNDING},
    outer::is_light,
    simd::{Simd, Work},
    unit::{UnitClip, UnitGradients, UnitGroup, frobenius_sq},
};

/// A bound is at most a part in 2^23 below the quotient it stands for, so a row this much below a
/// threshold is not above it.
const SHORT_OF: f64 = 1.0 / power(22);

/// What is compared with the thresholds, which ascend. A row of zeros is above none.
pub enum Ladder<'a> {
    /// The norm of a row, in lattice units of a cell; of a person with several rows, the root of
    /// `||sum_i x_i x_i'||_F`.
    Norms {
        /// The thresholds.
        radii: &'a [u64],
    },
    /// The norm of a row's gradient at `theta`, or of the sum of a person's: they are above a clip
    /// when they would be clipped. Of a binary response it is the largest that the gradient could
    /// be.
    Gradients {
        /// Where gradients are taken.
        theta: &'a Theta,
        /// The unit of `theta`.
        theta_unit: f64,
        /// The thresholds.
        clips: &'a [Clip],
    },
    /// The size of a row's residual at `theta`, or of the largest of a person's.
    Residuals {
        /// Where residuals are taken.
        theta: &'a Theta,
        /// The unit of `theta`.
        theta_unit: f64,
        /// The thresholds, in lattice units of a residual.
        sizes: &'a [u64],
    },
}

impl Ladder<'_> {
    /// How many thresholds there are.
    pub fn len(&self) -> usize {
        match self {
            Ladder::Norms { radii } => radii.len(),
            Ladder::Gradients { clips, .. } => clips.len(),
            Ladder::Residuals { sizes, .. } => sizes.len(),
        }
    }

    /// Whether there are no thresholds.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds to `sums[i]` how many rows of the buffer, which have these squared norms, are above
    /// exactly `i` thresholds.
    pub(crate) fn tally(&self, with: Kernel, (buffer, features): (&[f32], usize), norms_sq: &[f64], sums: &mut [u64]) {
        let estimates = self.estimates();
        let surely_below: Vec<f64> = estimates.iter().map(|estimate| estimate * (1.0 + ROUNDING)).collect();
        for (block, norms) in RowBlock::all(buffer, features).zip(norms_sq.as_chunks().0) {
            let residual = match self {
                Ladder::Norms { .. } => [0.0; BLOCK_ROWS],
                Ladder::Gradients { theta, theta_unit, .. } => kernel::sizes(with, block, theta, *theta_unit),
                Ladder::Residuals { theta, theta_unit, .. } => kernel::residuals(with, block, theta, *theta_unit),
            };
            let (lengths, below) =
                with.run(CountBelow { ladder: self, norms, residual: &residual, estimates: &surely_below });
            for row in 0..BLOCK_ROWS {
                if norms[row] == 0.0 {
                    sums[0] += 1;
                    continue;
                }
                // Estimates decide nearly every row; where they cannot, the integers do.
                let mut below = usize::try_from(below[row]).expect("a number of thresholds");
                while below < estimates.len()
                    && estimates[below] * (1.0 - SHORT_OF) <= lengths[row]
                    && self.is_above(below, natural(norms[row]), residual[row].abs())
                {
                    below += 1;
                }
                sums[below] += 1;
            }
        }
    }

    /// The thresholds as floats.
    fn estimates(&self) -> Vec<f64> {
        match self {
            Ladder::Norms { radii } => radii.iter().map(|&radius| nearest(radius.into())).collect(),
            Ladder::Gradients { clips, .. } => clips.iter().map(|clip| nearest(clip.gamma().cast_signed())).collect(),
            Ladder::Residuals { sizes, .. } => sizes.iter().map(|&size| nearest(size.into())).collect(),
        }
    }

    /// The same for the persons of a group; `reach` is where their residuals saturate.
    pub(crate) fn tally_group(
        &self,
        with: Kernel,
        (group, reach): (UnitGroup<'_>, &[f32; BLOCK_ROWS]),
        sums: &mut [u64],
    ) {
        match self {
            Ladder::Norms { radii } => {
                for square in frobenius_sq(with, group) {
                    sums[radii.partition_point(|&radius| !is_light(square, radius))] += 1;
                }
            }
            Ladder::Gradients { theta, theta_unit, clips } => {
                let Some(widest) = clips.last().map(UnitClip::new) else { return };
                let clips: Vec<UnitClip> = clips.iter().map(|clip| UnitClip::on_grid(clip, widest.shift())).collect();
                let mut gradients = UnitGradients::default();
                gradients.take(with, (group, reach), (theta, *theta_unit), &widest);
                for lane in 0..BLOCK_ROWS {
                    sums[clips.partition_point(|clip| !gradients.is_within(lane, clip))] += 1;
                }
            }
            Ladder::Residuals { theta, theta_unit, .. } => {
                let mut largest = [0f64; BLOCK_ROWS];
                for block in group.blocks() {
                    let residual = kernel::residuals(with, block, theta, *theta_unit);
                    let norms = kernel::norms_sq(with, block);
                    for ((largest, residual), norm) in largest.iter_mut().zip(residual).zip(norms) {
                        // Rows of zeros fill a person up and have no residual.
                        *largest = if norm > 0.0 { largest.max(residual.abs()) } else { *largest };
                    }
                }
                let below = |residual: f64| (0..self.len()).take_while(|&i| self.is_above(i, 1, residual)).count();
                largest.into_iter().for_each(|residual| sums[below(residual)] += 1);
            }
        }
    }

    /// Whether a row that is not all zeros is above a threshold.
    fn is_above(&self, threshold: usize, norm_sq: u64, residual: f64) -> bool {
        match self {
            Ladder::Norms { radii } => u128::from(norm_sq) > u128::from(radii[threshold]).pow(2),
            Ladder::Gradients { clips, .. } => residual > f64::from(clips[threshold].bound(norm_sq)),
            Ladder::Residuals { sizes, .. } => residual > nearest(sizes[threshold].into()),
        }
    }
}

/// What is compared with the thresholds, nearly, of each row of a block, and how many estimates are
/// below it: each row is held against all, which costs less than a search that nobody can foresee.
struct CountBelow<'a> {
    ladder: &'a Ladder<'a>,
    norms: &'a [f64; BLOCK_ROWS],
    residual: &'a [f64; BLOCK_ROWS],
    estimates: &'a [f64],
}

impl Work for CountBelow<'_> {
    type Output = ([f64; BLOCK_ROWS], [u64; BLOCK_ROWS]);

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Self::Output {
        let (mut lengths, mut below) = ([0.0; BLOCK_ROWS], [0; BLOCK_ROWS]);
        for ((length, norm), residual) in lengths.iter_mut().zip(self.norms).zip(self.residual) {
            *length = match self.ladder {
                Ladder::Norms { .. } => norm.sqrt(),
                Ladder::Gradients { .. } => norm.sqrt() * residual.abs(),
                Ladder::Residuals { .. } => residual.abs(),
            };
        }
        for &estimate in self.estimates {
            for (below, &length) in below.iter_mut().zip(&lengths) {
                *below += u64::from(estimate < length);
            }
        }
        (lengths, below)
    }
}

/// From "above exactly i thresholds" to "above threshold i".
pub(crate) fn above(tally: &[i128]) -> Vec<u64> {
    let whole = |&count: &i128| count.try_into().expect("a number of rows");
    let mut counts: Vec<u64> = tally[1..].iter().map(whole).collect();
    for i in (1..counts.len()).rev() {
        counts[i - 1] += counts[i];
    }
    counts
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::lattice::Lattice;

    /// Counts as the rules say, in integers alone.
    fn counted(ladder: &Ladder<'_>, rows: &[(u64, f64)]) -> Vec<u64> {
        let mut sums = vec![0; ladder.len() + 1];
        for &(norm_sq, residual) in rows {
            let is_above = |&i: &usize| norm_sq > 0 && ladder.is_above(i, norm_sq, residual);
            sums[(0..ladder.len()).take_while(is_above).count()] += 1;
        }
        sums
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]
        /// Small cells make norms and gradients fall on thresholds and beside them; large ones make
        /// bounds lose digits.
        #[test]
        fn estimates_count_as_integers_do(
            bits in 1..=19u32,
            cells in vec(-1.0..=1.0f64, 3 * BLOCK_ROWS),
            offsets in vec(0..4u128, 12),
        ) {
            let buffer: Vec<f32> = cells.iter().map(|cell| (cell * power(bits)).round() as f32).collect();
            let lattice = Lattice::plan(BLOCK_ROWS as u64, 2, 1.0, 0.1).expect("a small lattice");
            let theta = lattice.theta(&[0.0, 0.0]);
            let block = RowBlock::all(&buffer, 2).next().expect("one block");
            let residual = kernel::residuals(Kernel::best(), block, &theta, lattice.theta_unit());
            let norms = kernel::norms_sq(Kernel::best(), block);
            let rows: Vec<(u64, f64)> = norms.iter().zip(residual).map(|(&n, r)| (n as u64, r.abs())).collect();
            // Thresholds at what some rows have, and just beside it.
            let lengths = rows.iter().map(|&(norm, residual)| (norm as f64).sqrt() * residual);
            let mut gammas: Vec<u128> =
                lengths.zip(&offsets).map(|(length, &offset)| (length as u128 + offset).clamp(1, (1 << 62) - 1)).collect();
            gammas.sort_unstable();
            let clips: Vec<Clip> = gammas.iter().map(|&gamma| Clip::new(gamma)).collect();
            let mut radii: Vec<u64> = rows.iter().zip(&offsets).map(|((norm, _), &o)| norm.isqrt() + o as u64).collect();
            radii.sort_unstable();
            let mut sizes: Vec<u64> = rows.iter().zip(&offsets).map(|((_, r), &o)| *r as u64 + o as u64).collect();
            sizes.sort_unstable();
            let (theta, theta_unit) = (&theta, lattice.theta_unit());
            for ladder in [
                Ladder::Norms { radii: &radii },
                Ladder::Gradients { theta, theta_unit, clips: &clips },
                Ladder::Residuals { theta, theta_unit, sizes: &sizes },
            ] {
                let mut sums = vec![0; ladder.len() + 1];
                ladder.tally(Kernel::best(), (&buffer, 2), &norms, &mut sums);
                prop_assert_eq!(sums, counted(&ladder, &rows));
            }
        }
    }
}
