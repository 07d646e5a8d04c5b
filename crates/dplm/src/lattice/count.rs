//! How many rows, or persons, lie above each of a ladder of thresholds.
//!
//! Whether a row is above a threshold depends on that row only, so one row moves each count by at most one: the claim needs no
//! arithmetic. So it is with a person and all their rows. The rules are in integers all the same, so that every engine counts alike.

use super::{
    BLOCK_ROWS, Clip, Kernel, RowBlock, Theta,
    exact::{natural, nearest},
    kernel,
    outer::is_light,
    unit::{Group, UnitClip, UnitGradients, frobenius_sq},
};

/// What is compared with the thresholds, which ascend. A row of zeros is above none.
pub enum Ladder<'a> {
    /// The norm of a row, in lattice units of a cell; of a person with several rows, the root of `||sum_i x_i x_i'||_F`.
    Norms {
        /// The thresholds.
        radii: &'a [u64],
    },
    /// The norm of a row's gradient at `theta`, or of the sum of a person's: they are above a clip when they would be clipped.
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

    /// Adds to `sums[i]` how many rows of the buffer are above exactly `i` thresholds.
    pub(crate) fn tally(&self, with: Kernel, buffer: &[f32], features: usize, sums: &mut [u64]) {
        for block in RowBlock::all(buffer, features) {
            let norms = kernel::norms_sq(with, block);
            let residual = match self {
                Ladder::Norms { .. } => [0.0; BLOCK_ROWS],
                Ladder::Gradients { theta, theta_unit, .. } | Ladder::Residuals { theta, theta_unit, .. } => {
                    kernel::residuals(with, block, theta, *theta_unit)
                }
            };
            for (&norm_sq, residual) in norms.iter().zip(residual) {
                sums[self.thresholds_below(natural(norm_sq), residual.abs())] += 1;
            }
        }
    }

    /// The same for the persons of a group; `reach` is where their residuals saturate.
    pub(crate) fn tally_group(&self, with: Kernel, (group, reach): (Group<'_>, &[f32; BLOCK_ROWS]), sums: &mut [u64]) {
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
                largest.into_iter().for_each(|residual| sums[self.thresholds_below(1, residual)] += 1);
            }
        }
    }

    /// How many thresholds a row is above.
    fn thresholds_below(&self, norm_sq: u64, residual: f64) -> usize {
        if norm_sq == 0 {
            return 0;
        }
        match self {
            Ladder::Norms { radii } => {
                radii.partition_point(|&radius| u128::from(norm_sq) > u128::from(radius) * u128::from(radius))
            }
            Ladder::Gradients { clips, .. } => clips.partition_point(|clip| residual > f64::from(clip.bound(norm_sq))),
            Ladder::Residuals { sizes, .. } => sizes.partition_point(|&size| residual > nearest(size.into())),
        }
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
