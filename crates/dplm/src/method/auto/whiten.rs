//! Rounds of private whitening: each measures second moments in the coordinates that the one before made.
//!
//! Noise on second moments is the same in every direction, so a direction much shorter than the others drowns in it. One
//! round stretches what it resolves to length one and the rest as far as its noise allows; the next one sees further.

use faer::{Mat, Side};
use rand_core::CryptoRng;

use super::{
    Plan,
    belief::{Expected, NoisyMatrix},
    level,
};
use crate::{
    Error,
    lattice::{CELL_SCALE_BITS, Design, Ladder, Outer, Slot, Whitening},
    privacy::{Budget, Spend},
    rows::Rows,
};

/// Where whitening ended.
pub(super) struct Whitened {
    pub whitening: Whitening,
    /// The rows in the final coordinates.
    pub rows: Box<dyn Rows>,
    /// The norm that few rows exceeded in the last round.
    pub radius: f64,
    /// What the last round says of second moments in the final coordinates.
    pub expected: Expected,
    /// Names of coefficients of which the first round saw hardly any variation.
    pub faint: Vec<String>,
    /// Whether the length of rows was found at the lower end of its ladder.
    pub at_edge: bool,
}

/// One round: released second moments in known coordinates.
struct Round {
    moments: NoisyMatrix,
    radius: f64,
    at_edge: bool,
}

/// One lattice unit of a cell.
const UNIT: f64 = (1u32 << CELL_SCALE_BITS) as f64;
/// The share of directions at the floor from which a third round pays.
const MANY: f64 = 0.5;
/// Rungs of the ladder of lengths, eight to a factor of two.
const RUNGS: u32 = 33;
/// In whitened coordinates rows have norm `sqrt p` on average: the ladder starts this far above.
const TOP_OF_WHITENED: f64 = 3.0;
/// The last round stretches no direction beyond this: a level with a few rows would otherwise become a row of enormous length.
const LEAST_FLOOR: f64 = 0.3;

impl Plan {
    /// Finds coordinates in which rows are about equally long in every direction.
    ///
    /// # Guarantee
    /// Rows are read through releases only, each paid for by `budget`.
    pub(super) fn whiten<R: CryptoRng>(
        &self,
        rows: &dyn Rows,
        design: &Design,
        budget: &mut Budget,
        rng: &mut R,
    ) -> Result<Whitened, Error> {
        let identity = Whitening::new(Mat::<f64>::identity(self.features, self.features).as_ref());
        let mut current = rows.whitened(&identity)?;
        let mut shares = self.shares().rounds(if self.is_weak() { 1 } else { 2 });
        let first = self.round(current.as_ref(), super::largest_norm(design), 1, shares[0], budget, rng)?;
        let faint = faint(&first, design);
        let spread = first.moments.noise_sd * (2.0 * self.features as f64).sqrt();
        let (mut whitening, mut expected) = turned(&identity, &first.moments, spread);
        if shares.len() > 1 && many_floored(&expected) {
            shares = self.shares().rounds(3);
        }
        let (mut radius, mut at_edge) = (first.radius, first.at_edge);
        for (number, &share) in shares.iter().enumerate().skip(1) {
            current = rows.whitened(&whitening)?;
            let top = TOP_OF_WHITENED * (self.features as f64).sqrt();
            let round = self.round(current.as_ref(), top, number + 1, share, budget, rng)?;
            let spread = round.moments.noise_sd * (2.0 * self.features as f64).sqrt();
            let last = number + 1 == shares.len();
            let floor = if last { spread.clamp(LEAST_FLOOR, 1.0) } else { spread.min(1.0) };
            (whitening, expected) = turned(&whitening, &round.moments, floor);
            (radius, at_edge) = (round.radius, at_edge || round.at_edge);
        }
        Ok(Whitened { rows: rows.whitened(&whitening)?, whitening, radius, expected, faint, at_edge })
    }

    fn round<R: CryptoRng>(
        &self,
        rows: &dyn Rows,
        top: f64,
        number: usize,
        (level_share, moments_share): (f64, f64),
        budget: &mut Budget,
        rng: &mut R,
    ) -> Result<Round, Error> {
        let rho = self.request.rho;
        let spend = budget.spend(format!("length of rows, round {number}"), rho.share(level_share))?;
        let (radius, at_edge) = self.length(rows, top, spend, rng)?;
        let spend = budget.spend(format!("second moments, round {number}"), rho.share(moments_share))?;
        let moments = self.outer(rows, &Outer::Shrunk { radius }, UNIT, spend, rng)?;
        Ok(Round { moments, radius: radius as f64 / UNIT, at_edge })
    }

    /// A norm that few rows exceed, in lattice units, and whether it may be smaller still. The top of the ladder is no sign of anything: bounds
    /// allow no longer rows at first, and later ones are shortened.
    fn length<R: CryptoRng>(&self, rows: &dyn Rows, top: f64, spend: Spend, rng: &mut R) -> Result<(u64, bool), Error> {
        let rung = |i: u32| (top * UNIT * (-f64::from(i) / 8.0).exp2()).ceil() as u64;
        let radii: Vec<u64> = (0..RUNGS).rev().map(rung).collect();
        let counts = rows.tail_counts(&Ladder::Norms { radii: &radii }, self.request.neighbours)?;
        let target = level::target(0.0, self.rows, radii.len(), spend.to_f64());
        let level = level::search(&counts, target, spend, rng)?;
        Ok((radii[level.rung], level.rung == 0))
    }
}

/// `P U max(e, floor)^(-1/2)` for moments `U e U'`, and what they are in the new coordinates.
fn turned(before: &Whitening, moments: &NoisyMatrix, floor: f64) -> (Whitening, Expected) {
    let found = moments.mean.self_adjoint_eigen(Side::Lower).expect("a finite symmetric matrix");
    let (vectors, values) = (found.U(), found.S().column_vector());
    let scales: Vec<f64> = values.iter().map(|value| value.max(floor)).collect();
    let turn = Mat::from_fn(vectors.nrows(), vectors.ncols(), |j, k| vectors[(j, k)] / scales[k].sqrt());
    let moments_after = values.iter().zip(&scales).map(|(value, scale)| value.max(0.0) / scale).collect();
    let expected = Expected { moments: moments_after, scales, noise_sd: moments.noise_sd };
    (Whitening::new((before.matrix() * turn).as_ref()), expected)
}

/// Whether so many directions stopped at the floor that another round pays: bounds are loose, or columns nearly collinear.
fn many_floored(expected: &Expected) -> bool {
    let floored = expected.moments.iter().filter(|&&moment| moment < 1.0).count();
    floored as f64 >= (MANY * expected.moments.len() as f64).max(2.0)
}

/// Coefficients whose column varies by less than twice the noise: bounds too wide, a constant column, or a rare level.
fn faint(round: &Round, design: &Design) -> Vec<String> {
    let NoisyMatrix { mean, noise_sd } = &round.moments;
    let intercept = matches!(design.slots().first(), Some(Slot::Intercept));
    let variance = |j: usize| if intercept { mean[(j, j)] - mean[(0, j)].powi(2) } else { mean[(j, j)] };
    let columns = design.names().iter().enumerate().skip(usize::from(intercept));
    columns.filter(|(j, _)| variance(*j) < 2.0 * noise_sd).map(|(_, name)| name.clone()).collect()
}
